"""Hashes of checkpoints, by which a run notices that its model has changed."""

import pytest

from grounding_rewards.engines.rollout import checkpoint_of, roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import TableError
from tests.engines.seeded import Scripted
from tests.engines.test_rollout import data

LARGE = 40 << 20


def folder(path, **files):
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)
    return str(path)


def test_a_checkpoint_is_known_by_its_files_and_not_by_its_place(tmp_path):
    first = checkpoint_of(folder(tmp_path / "a", config=b"{}", weights=b"1" * 70_000))
    assert first == checkpoint_of(folder(tmp_path / "b", config=b"{}", weights=b"1" * 70_000))
    others = [
        folder(tmp_path / "c", config=b"{}", weights=b"1" * 69_999 + b"2"),
        folder(tmp_path / "d", config=b"{}", weights=b"1" * 70_001),
        folder(tmp_path / "e", config=b"{}", weight=b"1" * 70_000),
        folder(tmp_path / "f", config=b"{}"),
    ]
    assert len({first, *map(checkpoint_of, others)}) == 5
    assert checkpoint_of(str(tmp_path / "none")) is None


def test_hidden_files_and_folders_are_no_part_of_it(tmp_path):
    model = folder(tmp_path / "a", config=b"{}")
    before = checkpoint_of(model)
    (tmp_path / "a" / ".lock").write_text("x")
    folder(tmp_path / "a" / "logs", log=b"x")
    assert checkpoint_of(model) == before


def test_pieces_of_a_large_file_are_read_from_its_start_to_its_end(tmp_path):
    model = tmp_path / "a"
    before = checkpoint_of(folder(model, weights=bytes(LARGE)))
    step = LARGE // 256
    for place in (0, step * 100, step * 255):
        with (model / "weights").open("r+b") as file:
            file.seek(place)
            file.write(b"x")
        after = checkpoint_of(str(model))
        assert after != before
        before = after


def test_a_run_does_not_go_on_with_other_weights_in_the_same_place(tmp_path):
    source, model = data(tmp_path, "go", "stop"), folder(tmp_path / "model", weights=b"first")
    settings = RolloutSettings(n=1)
    roll_out(source, Scripted(model), tmp_path / "out", settings=settings)
    assert roll_out(source, Scripted(model), tmp_path / "out", settings=settings).made == 0
    (tmp_path / "model" / "weights").write_bytes(b"other")
    with pytest.raises(TableError, match="was made with checkpoint"):
        roll_out(source, Scripted(model), tmp_path / "out", settings=settings)
