"""``record=DIR``: what each trainer's rows become in a rollout table."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs
from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards_adapters import _scorer, easyr1
from grounding_rewards_adapters import verl as verl_adapter
from grounding_rewards_adapters._record import Recording
from grounding_rewards_adapters.trl import reward_funcs

UNIT = [0.0, 0.0, 0.5, 0.5]
PIXEL = {"bbox": [10, 10, 30, 20]}
BAD = {"bbox": [0.5, 0.5, 0.1, 0.1], "id": "bad"}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: dict[Any, Any] = {}
    monkeypatch.setattr(_scorer, "_SCORERS", made)
    yield
    close(*made.values())


def close(*scorers: _scorer.Scorer) -> None:
    for scorer in scorers:
        if scorer._recording is not None:
            scorer._recording.recorder.close()


def rows(directory: Path) -> list[dict[str, Any]]:
    """Return the rows that were recorded, without the columns that are null."""
    close(*_scorer._SCORERS.values())
    found = sorted(read_rollouts(directory).to_pylist(), key=lambda row: row["rollout"])
    return [{name: value for name, value in row.items() if value is not None and name != "rollout"} for row in found]


def call(directory: Path, text: str, truth: Any, extra: Any = None, **options: Any) -> dict[str, float]:
    given = {"recipe": "gelato", "record": str(directory), **options}
    return verl_adapter.compute_score("clicks", text, truth, extra, **given)


def test_a_row_of_verl(tmp_path: Path) -> None:
    extra = {"index": 4, "image_size": np.array([200, 100]), "round": 2, "temperature": 0.5, "global_steps": 7}
    truth = {"bbox": UNIT, "trajectory": "t1", "step": 3}
    call(tmp_path, "(250, 250)", json.dumps(truth), extra)
    call(tmp_path, "no idea", {"bbox": np.array(UNIT), "id": 12, "polygon": None})
    call(tmp_path, "(250, 500)", BAD)
    assert rows(tmp_path) == [
        {
            "sample_id": sample_id(source="clicks", target=truth, index=4), "round": 2, "recipe": "gelato",
            "response": "(250, 250)", "total": 1.0, "acc": 1.0, "reason": "OK", "x_unit": 0.25, "y_unit": 0.25,
            "target": json.dumps(truth), "image_size": [200.0, 100.0], "source": "clicks", "temperature": 0.5,
            "trajectory": "t1", "step": 3, "train_step": 7, "distance": 1.0, "format": 1.0,
        },
        {
            "sample_id": "12", "recipe": "gelato", "response": "no idea", "total": 0.0, "acc": 0.0,
            "reason": "NO_ANSWER", "target": '{"bbox": [0.0, 0.0, 0.5, 0.5], "id": 12, "polygon": null}',
            "source": "clicks", "distance": 0.0, "format": 0.0,
        },
        {
            "sample_id": "bad", "recipe": "gelato", "response": "(250, 500)", "reason": "BAD_TARGET",
            "x_unit": 0.25, "y_unit": 0.5, "target": json.dumps(BAD), "source": "clicks",
        },
    ]  # fmt: skip


def test_rows_of_easyr1(tmp_path: Path) -> None:
    answers = [UNIT, UNIT, [0.5, 0.5, 1.0, 1.0]]
    given = [{"response": "(250, 250)", "response_length": 6, "ground_truth": answer} for answer in answers]
    easyr1.compute_score(given, recipe="gelato", record=str(tmp_path))
    found = rows(tmp_path)
    assert [row["total"] for row in found] == [1.0, 1.0, 0.0]
    assert [row["token_length"] for row in found] == [6, 6, 6]
    assert [row["sample_id"] for row in found] == [sample_id(target=answer) for answer in answers]
    assert [row["target"] for row in found] == ["[0.0, 0.0, 0.5, 0.5]"] * 2 + ["[0.5, 0.5, 1.0, 1.0]"]


def test_rows_of_trl(tmp_path: Path) -> None:
    (reward,) = reward_funcs("gelato", record=str(tmp_path))
    asked = [
        [{"role": "user", "content": [{"type": "image", "image": object()}, {"type": "text", "text": text}]}]
        for text in ("Close the tab", "Close the tab", "Open it")
    ]
    scores = reward(
        prompts=asked, completions=["(250, 250)", "?", "(250, 250)"], completion_ids=[[1, 2, 3], [4], [5, 6]],
        target=[UNIT] * 3, image_path=["a.png", "a.png", "b.png"], id=[None, None, np.int64(8)],
        trainer_state=SimpleNamespace(global_step=5),
    )  # fmt: skip
    close(reward.scorer)
    assert scores == [1.0, 0.0, 1.0]
    found = rows(tmp_path)
    first = sample_id(image="a.png", instruction="Close the tab", target=UNIT)
    assert [row["sample_id"] for row in found] == [first, first, "8"]
    assert [row["train_step"] for row in found] == [5, 5, 5]
    assert [row["token_length"] for row in found] == [3, 1, 2]
    assert [row["response"] for row in found] == ["(250, 250)", "?", "(250, 250)"]


def test_rows_of_several_recipes_have_the_parts_of_their_own(tmp_path: Path) -> None:
    routes = {"data_source": {"pixels": {"name": "composite", "response_space": "pixel", "parts": {"hit": 1.0}}}}
    verl_adapter.compute_score_batch(
        ["pixels", "other", "pixels", "other"],
        ["(20, 15)", "(250, 250)", "(20, 15)", "(250, 250)"],
        [PIXEL, UNIT, {"bbox": [3, 3, 1, 1]}, BAD],
        recipe="gelato", routes=routes, record=str(tmp_path),
    )  # fmt: skip
    scored = ("recipe", "total", "acc", "reason", "hit", "distance", "format")
    assert [{name: row[name] for name in scored if name in row} for row in rows(tmp_path)] == [
        {"recipe": "composite", "total": 1.0, "acc": 1.0, "reason": "OK", "hit": 1.0},
        {"recipe": "gelato", "total": 1.0, "acc": 1.0, "reason": "OK", "distance": 1.0, "format": 1.0},
        {"recipe": "composite", "reason": "BAD_TARGET"},
        {"recipe": "gelato", "reason": "BAD_TARGET"},
    ]


def test_places_are_shares_of_the_image_where_its_size_is_known(tmp_path: Path) -> None:
    options = {"recipe": "click", "response_space": "pixel"}
    call(tmp_path, "(20, 15)", {**PIXEL, "image_size": [200, 100], "model_image_size": [196, 84]}, **options)
    call(tmp_path, "(20, 15)", PIXEL, **options)
    known, unknown = rows(tmp_path)
    assert (known["x_unit"], known["y_unit"], known["image_size"]) == (0.1, 0.15, [200.0, 100.0])
    assert known["model_image_size"] == [196.0, 84.0]
    assert not {"x_unit", "y_unit", "image_size", "model_image_size"} & unknown.keys()


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({"sample_id": "s", "id": "i", "index": 1}, "s"),
        ({"id": np.int64(3)}, "3"),
        ({"id": 3.0}, "3"),
        ({"id": float("nan"), "index": np.int64(1)}, sample_id(source="clicks", target=UNIT, index=1)),
        ({"uid": "another at every step", "index": 1}, sample_id(source="clicks", target=UNIT, index=1)),
        (
            {"index": 1, "split": "train", "raw_prompt": "Close"},
            sample_id(source="clicks", target=UNIT, index=1, split="train"),
        ),
        ({"split": "train", "instruction": "Close"}, sample_id(source="clicks", instruction="Close", target=UNIT)),
        ({"image_path": "a.png", "index": 1}, sample_id(source="clicks", image="a.png", target=UNIT)),
        ({"images": [{"path": "a.png"}]}, sample_id(source="clicks", image=["a.png"], target=UNIT)),
        ({"instruction": "Close", "prompt": "x"}, sample_id(source="clicks", instruction="Close", target=UNIT)),
        ({"image": object(), "source": "mine"}, sample_id(source="mine", target=UNIT)),
    ],
)
def test_what_names_a_sample(tmp_path: Path, extra: dict[str, Any], named: str) -> None:
    call(tmp_path, "?", UNIT, extra)
    assert [row["sample_id"] for row in rows(tmp_path)] == [named]


@pytest.mark.parametrize(
    ("target", "extra", "lines"),
    [
        (UNIT, {}, 1),
        (UNIT, {"split": "train"}, 1),
        (UNIT, {"index": 1}, 0),
        (UNIT, {"image_path": "a.png"}, 0),
        (UNIT, {"instruction": "Close"}, 0),
        ({"bbox": UNIT, "id": "a"}, {}, 0),
    ],
)
def test_samples_of_which_nothing_but_targets_is_known_are_named_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, target: Any, extra: dict[str, Any], lines: int
) -> None:
    for text in ("?", "(250, 250)"):
        call(tmp_path, text, target, extra)
    assert len({row["sample_id"] for row in rows(tmp_path)}) == 1
    assert [record.message for record in caplog.records] == [
        "record: samples without an id are named by their target alone, so that equal targets count as one "
        "sample; give each an id (`grounding-rewards convert` does)"
    ] * lines


@pytest.mark.parametrize("target", [{"bbox": [float("nan")] * 4}, object(), {"extra": {1, 2}}, "\ud800", [[]], b"\xff"])
def test_no_target_ends_recording(tmp_path: Path, target: Any) -> None:
    call(tmp_path, "(250, 250)", UNIT)
    call(tmp_path, "\ud800", target, {"prompts": object(), "index": object(), "temperature": "hot"})
    found = rows(tmp_path)
    assert len(found) == 2
    assert found[1]["reason"] == "BAD_TARGET"
    assert "total" not in found[1]
    json.loads(found[1].get("target", "null"))


def test_what_goes_wrong_is_logged_once_and_never_raised(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recording = Recording(str(tmp_path), ["hit"])
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            recording.add(None, Inputs(["?"], [UNIT]))  # type: ignore[arg-type]
    (message,) = [record.message for record in caplog.records]
    assert message.startswith("rollouts cannot be recorded (AttributeError: 'NoneType' object has no attribute")
    recording.recorder.close()


def test_a_directory_that_cannot_be_written_is_an_error_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    complaint = r"record: .*file: rollouts cannot be written there .*; set record to another directory, or leave it out"
    with pytest.raises(gr.RecipeError, match=complaint):
        reward_funcs("gelato", record=str(tmp_path / "file"))


def test_a_part_under_a_name_of_the_table_is_an_error_before_training(tmp_path: Path) -> None:
    with pytest.raises(gr.RecipeError, match="record: part 'target': another column of a rollout table has this name"):
        Recording(str(tmp_path), ["target"])


def test_a_pickled_reward_records_in_files_of_its_own(tmp_path: Path) -> None:
    (reward,) = reward_funcs("gelato", record=str(tmp_path))
    reward(completions=["(250, 250)"], target=[UNIT])
    copied = pickle.loads(pickle.dumps(reward))
    copied(completions=["?"], target=[UNIT])
    close(copied.scorer)
    assert [row["response"] for row in rows(tmp_path)] == ["?"]
    close(reward.scorer)
    assert sorted(row["response"] for row in rows(tmp_path)) == ["(250, 250)", "?"]
    assert len(list(tmp_path.glob("*.parquet"))) == 2
