"""``convert --source`` and ``--source-column``: the data set's name, from the converted row to the rollout table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards_adapters import _scorer, easyr1, trl, verl
from tests.cli.command import read_rows, write_rows

ROWS = [
    {"instruction": "Save", "bbox": [10, 10, 30, 20], "image_size": [100, 100], "origin": "web"},
    {"instruction": "Open", "bbox": [10, 10, 30, 20], "image_size": [100, 100], "origin": "desktop"},
]
OPTIONS: dict[str, Any] = {"recipe": "click", "response_space": "pixel", "diagnose": False}


@pytest.fixture(params=[".jsonl", ".parquet"])
def converted(run, tmp_path, request):
    """Convert rows, and return those that were written."""

    def convert(trainer: str, rows: list[dict[str, Any]], *words: str) -> list[dict[str, Any]]:
        source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / f"{trainer}{request.param}"
        done = run("convert", source, "--out", out, "--for", trainer, "--target-space", "pixel", *words)
        assert done.code == 0, done.err
        written: list[dict[str, Any]] = read_rows(out) if out.suffix == ".jsonl" else pq.read_table(out).to_pylist()
        return written

    return convert


def recorded(trainer: str, rows: list[dict[str, Any]], folder: Path, **options: Any) -> list[dict[str, Any]]:
    """Score converted rows as a trainer does, and return the rollouts that were recorded."""
    options = {**OPTIONS, "record": str(folder), **options}
    answers = ["(20, 15)"] * len(rows)
    if trainer == "verl":
        verl.compute_score_batch(
            [row["data_source"] for row in rows], answers, [row["reward_model"]["ground_truth"] for row in rows],
            [row["extra_info"] for row in rows], **options,
        )  # fmt: skip
    elif trainer == "easyr1":
        inputs = [{"response": "(20, 15)", "response_length": 3, "ground_truth": row["answer"]} for row in rows]
        easyr1.compute_score(inputs, **options)
    else:
        (reward,) = trl.reward_funcs(**options)
        reward(completions=answers, **{name: [row[name] for row in rows] for name in rows[0]})
        reward.scorer._recording.recorder.close()
    for scorer in _scorer._SCORERS.values():
        if scorer._recording is not None:
            scorer._recording.recorder.close()
    return sorted(read_rollouts(folder).to_pylist(), key=lambda row: row["rollout"])


@pytest.mark.parametrize("trainer", ["verl", "trl", "easyr1"])
def test_a_source_reaches_the_rollout_table(converted, tmp_path, trainer):
    rows = converted(trainer, ROWS, "--source-column", "origin")
    assert [row["source"] for row in recorded(trainer, rows, tmp_path / "column")] == ["web", "desktop"]
    rows = converted(trainer, ROWS, "--source", "clicks")
    scored = recorded(trainer, rows, tmp_path / "option")
    assert [(row["source"], row["acc"]) for row in scored] == [("clicks", 1.0)] * 2


def test_a_named_source_goes_before_a_column_of_that_name(converted, tmp_path):
    rows = converted("trl", [{**row, "source": "old"} for row in ROWS], "--source", "new")
    assert [row["source"] for row in rows] == ["new", "new"]


def test_easyr1_keeps_the_targets_own_fields(converted):
    target = {"bbox": [10, 10, 30, 20], "space": "pixel", "image_size": [100, 100], "extra": {"ui_type": "icon"}}
    (row,) = converted("easyr1", [{"instruction": "Save", "target": target}], "--source", "web")
    assert json.loads(row["answer"])["extra"] == {"ui_type": "icon", "source": "web"}


def test_easyr1_has_no_place_beside_own_fields_that_are_no_object(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"instruction": "Save", "target": {"bbox": [1, 2, 3, 4], "extra": "x"}})
    words = "convert", source, "--out", tmp_path / "o.jsonl", "--for", "easyr1", "--target-space", "pixel"
    assert run(*words).code == 0
    message = "target, field 'extra': got 'x'; expected an object, in which EasyR1's rows name their source"
    assert message in run(*words, "--source", "web").err


def test_a_source_that_is_found_by_its_name_is_packed_as_one_that_an_option_names(converted):
    (row,) = converted("easyr1", [{**ROWS[0], "source": "web"}])
    assert json.loads(row["answer"])["extra"] == {"source": "web"}


@pytest.mark.parametrize(("places", "said"), [([500, 900], True), ([500, 1100], False)])
def test_places_of_larger_screens_that_never_pass_1000_are_named(run, tmp_path, places, said):
    rows = [
        {"instruction": str(n), "bbox": [x, 10, x + 9, 20], "image_size": [1920, 1080], "image": "a.png"}
        for n in range(12)
        for x in places
    ]
    words = ("--for", "verl", "--target-space", "pixel", "--no-image-check", "--out", tmp_path / "out.jsonl")
    result = run("convert", write_rows(tmp_path / "in.jsonl", *rows), *words)
    warning = "no coordinate passes 1000, on larger screens: if these are thousandths, give --target-space thousandths"
    assert (warning in result.err) == said
    assert "no row has an image" not in result.err


def test_rows_that_all_lack_an_image_are_named(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *ROWS)
    result = run("convert", source, "--for", "trl", "--target-space", "pixel", "--out", tmp_path / "out.jsonl")
    assert "warning: no row has an image; name their column by --image-column" in result.err


@pytest.mark.parametrize("trainer", ["trl", "easyr1"])
def test_rows_without_a_source_name_none(converted, trainer):
    (row,) = converted(trainer, ROWS[:1], "--source-column", "none")
    assert "source" not in row
    assert "extra" not in json.loads(row["target" if trainer == "trl" else "answer"])


@pytest.mark.parametrize("trainer", ["verl", "easyr1"])
def test_fields_of_targets_can_be_recorded(converted, tmp_path, trainer):
    target = {"bbox": [10, 10, 30, 20], "space": "pixel", "image_size": [100, 100], "extra": {"ui_type": "icon"}}
    rows = converted(trainer, [{"instruction": "Save", "target": target}])
    (row,) = recorded(trainer, rows, tmp_path / "records", record_columns=["ui_type"])
    assert row["ui_type"] == "icon"
