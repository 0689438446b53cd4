"""Runs that end early go on: the same rows, byte for byte, and nothing is asked twice but shards in flight."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from grounding_rewards.engines import engine
from grounding_rewards.engines.rollout import checkpoint_of, roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError, TableError
from grounding_rewards.tables.manifests import digest
from tests.engines import seeded
from tests.engines.seeded import Answering, Scripted
from tests.engines.test_rollout import CLICK, contents, data

WORDS = ["go", "easy", "hard", "refused", "stop", "move", "open", "close"]
SETTINGS = RolloutSettings(n=2, most=4, shard_rows=2)


def test_a_server_that_goes_down_ends_the_run_and_the_same_call_goes_on(tmp_path):
    source, log = data(tmp_path, *WORDS), tmp_path / "asked"
    roll_out(source, Scripted("m", log=str(log)), tmp_path / "whole", settings=SETTINGS, recipe=CLICK)
    whole = log.read_text().split()
    log.unlink()
    engine = Scripted("m", log=str(log), down_after=4)
    with pytest.raises(EngineError) as caught:
        roll_out(source, engine, tmp_path / "out", settings=SETTINGS, recipe=CLICK)
    made = len(list((tmp_path / ".out.unfinished").glob("*.parquet")))
    assert 0 < made < 4
    assert str(caught.value) == (
        f"the server is down; {made} of 4 shards are there, and the same command goes on with the others"
    )
    done = roll_out(source, Scripted("m", log=str(log)), tmp_path / "out", settings=SETTINGS, recipe=CLICK)
    assert (done.made, done.found) == (4 - made, made)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    asked = log.read_text().split()
    assert {*asked} == {*whole}
    assert len(asked) - len(whole) <= 2 * 4  # responses of one shard


def test_nothing_is_asked_of_a_run_that_is_complete(tmp_path):
    source = data(tmp_path, *WORDS)
    roll_out(source, Scripted("m"), tmp_path / "out", settings=SETTINGS, recipe=CLICK)
    before = contents(tmp_path / "out")
    done = roll_out(source, Scripted("m", dies_after=0), tmp_path / "out", settings=SETTINGS, recipe=CLICK)
    assert (done.made, done.found, contents(tmp_path / "out")) == (0, 4, before)


@pytest.mark.parametrize("batches", [2, 5])
def test_batches_at_once_change_nothing(tmp_path, batches):
    source = data(tmp_path, *WORDS)
    roll_out(source, Scripted("m"), tmp_path / "one", settings=SETTINGS, recipe=CLICK)
    engine = Scripted("m", batches=batches, pace=0.01)
    roll_out(source, engine, tmp_path / "many", settings=SETTINGS, recipe=CLICK)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


@dataclass(frozen=True)
class Meeting(Scripted):
    """Answers once two batches are in flight."""

    patience: float = 20.0

    @contextmanager
    def start(self) -> Iterator[Answering]:
        running, barrier = Answering(self), threading.Barrier(2, timeout=self.patience)

        class Met(Answering):
            def __call__(self, requests):
                barrier.wait()
                return running(requests)

        yield Met(self)


def test_as_many_batches_are_in_flight_as_the_engine_takes(tmp_path):
    settings = RolloutSettings(n=2, shard_rows=2)
    roll_out(data(tmp_path, *WORDS), Meeting("m", batches=2), tmp_path / "out", settings=settings)
    with pytest.raises(EngineError, match="BrokenBarrierError"):
        roll_out(data(tmp_path, *WORDS), Meeting("m", batches=1, patience=0.1), tmp_path / "alone", settings=settings)


def test_progress_counts_what_was_there(tmp_path):
    source, counts = data(tmp_path, *WORDS), list[tuple[int, int]]()
    settings = RolloutSettings(n=1, shard_rows=3)
    with pytest.raises(EngineError):
        roll_out(source, Scripted("m", down_after=1), tmp_path / "out", settings=settings)
    roll_out(source, Scripted("m"), tmp_path / "out", settings=settings, count=lambda *now: counts.append(now))
    assert counts == [(3, 8), (3, 8), (6, 8), (8, 8)]


def test_data_that_change_meanwhile_end_the_run(tmp_path):
    source: Path = data(tmp_path, *WORDS)

    def grow(done: int, samples: int) -> None:
        with source.open("a") as file:
            file.write("\n")

    with pytest.raises(TableError, match="was written to while it was read"):
        roll_out(source, Scripted("m"), tmp_path / "out", settings=SETTINGS, recipe=CLICK, count=grow)
    assert not (tmp_path / "out").exists()


def test_an_engine_of_other_code_is_another_one(tmp_path):
    source, code = data(tmp_path, *WORDS), Path(seeded.__file__).read_text()
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(code)
    names = [f"{tmp_path / name}.py:Scripted" for name in ("one", "two")]
    done = roll_out(source, engine(names[0], model="m"), tmp_path / "out", settings=SETTINGS, recipe=CLICK)
    assert done.manifest["code"] == [{"path": str(tmp_path / "one.py"), "sha256": digest(tmp_path / "one.py")}]
    known = {"out": tmp_path / "out", "settings": SETTINGS, "recipe": CLICK}
    assert roll_out(source, engine(names[1], model="m"), **known).made == 0
    (tmp_path / "three.py").write_text(code.replace("(5, 5)", "(6, 6)"))
    with pytest.raises(TableError, match="was made with other code, or with what these held before"):
        roll_out(source, engine(f"{tmp_path / 'three.py'}:Scripted", model="m"), **known)
    with pytest.raises(TableError, match="was made with other code"):
        roll_out(source, engine(names[0], model="m"), engine_name=f"{tmp_path / 'three.py'}:Scripted", **known)


def test_the_file_of_a_module_that_holds_the_engine_is_recorded(tmp_path):
    done = roll_out(data(tmp_path, "go"), Scripted("m"), tmp_path / "out", settings=SETTINGS, recipe=CLICK)
    assert [each["path"] for each in done.manifest["code"]] == [seeded.__file__]


def test_shards_with_a_problem_are_asked_again_where_the_caller_says_so(tmp_path):
    source, out, log = data(tmp_path, *WORDS), tmp_path / "out", tmp_path / "asked"
    known = {"out": out, "settings": RolloutSettings(n=2, shard_rows=2), "recipe": CLICK}
    roll_out(source, Scripted("m", refuses="hard refused stop"), **known)
    before = contents(out)
    with pytest.raises(EngineError, match="the server is down; 3 of 4 shards are there"):
        roll_out(source, Scripted("m", down_after=1), again=True, **known)
    assert {name: (out / name).read_bytes() for name in before} == before
    assert roll_out(source, Scripted("m"), **known).made == 0
    done = roll_out(source, Scripted("m", log=str(log)), again=True, **known)
    assert (done.made, done.found, len(log.read_text().split())) == (2, 2, 8)
    roll_out(source, Scripted("m"), **{**known, "out": tmp_path / "whole"})
    assert contents(out) == contents(tmp_path / "whole")
    assert {*before} == {*contents(out)}
    roll_out(data(tmp_path, "go"), Scripted("m"), tmp_path / "clean", recipe=CLICK)
    clean = roll_out(data(tmp_path, "go"), Scripted("m", dies_after=0), tmp_path / "clean", recipe=CLICK, again=True)
    assert (clean.made, [*contents(tmp_path / "clean")]) == (0, ["_rollout.manifest.json", "rollouts-000000.parquet"])
    with pytest.raises(EngineError, match="again: got a shard"):
        roll_out(source, Scripted("m"), again=True, shard=(0, 2), **known)


@pytest.mark.parametrize("damaged", [b"", b"PAR1"])
def test_a_damaged_shard_is_made_again_with_a_warning(tmp_path, damaged):
    source, out, warnings = data(tmp_path, *WORDS), tmp_path / "out", list[str]()
    known = {"out": out, "settings": RolloutSettings(n=2, shard_rows=2), "recipe": CLICK, "warn": warnings.append}
    with pytest.raises(EngineError):
        roll_out(source, Scripted("m", down_after=3), **known)
    shards = sorted(out.with_name(".out.unfinished").glob("*.parquet"))
    shards[0].write_bytes(damaged)
    shutil.copy(shards[2], shards[1])  # its samples would be there twice, and others not at all
    done = roll_out(source, Scripted("m"), again=True, **known)
    assert (done.made, done.found) == (3, 1)
    roll_out(source, Scripted("m"), **{**known, "out": tmp_path / "whole"})
    assert contents(out) == contents(tmp_path / "whole")
    assert [text for text in warnings if "made again" in text] == [
        f"{out}: {each.name} is not what was written; it is made again" for each in shards[:2]
    ]
    (out / shards[2].name).write_bytes(damaged)
    with pytest.raises(TableError, match=f"{shards[2].name} is not what _rollout.manifest.json says"):
        roll_out(source, Scripted("m"), again=True, **known)
    assert roll_out(source, Scripted("m"), overwrite=True, **known).made == 4


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
