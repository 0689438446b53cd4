"""Right answers by sample: their names, images and targets, and rollouts that are there twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.batch.samples import Answers
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.checks.paired import SampleScores
from grounding_rewards.errors import TableError
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.opening import open_table
from tests.cli.command import write_rows

BOX = {"bbox": [10, 10, 30, 20]}
HIT, MISS = "(20, 15)", "(200, 15)"


def row(sample: Any = "a", response: str = HIT, **fields: Any) -> dict[str, Any]:
    return {"sample_id": sample, "response": response, "target": BOX, **fields}


def by_sample(path: Path, recipe: gr.Recipe | None = None, by: tuple[str, ...] = (), **options: Any) -> SampleScores:
    table = open_table(path)
    recipe = recipe or gr.recipe("click", response_space="pixel")
    answers = Answers(Scoring(recipe, Columns(), **options).of(table), by, paired=True)
    assert sum(len(batch) for batch, _ in answers.batches()) > 0
    return answers.samples.scores("file")


def test_numbered_rollouts_are_counted_by_sample(tmp_path: Path) -> None:
    rows = [row("a", HIT, rollout=0), row("b", MISS, rollout=0), row("a", MISS, rollout=1), row("a", HIT, rollout=2)]
    scores = by_sample(write_rows(tmp_path / "in.jsonl", *rows))
    assert (scores.names, scores.correct.tolist(), scores.n.tolist()) == (["a", "b"], [2, 0], [3, 1])


@pytest.mark.parametrize(
    ("rollouts", "rounds"),
    [
        ([None, None], [None, None]), ([0, 0], [None, None]), ([0, None], [None, None]), ([0, 1, 1], [1, 1, 1]),
        ([[0], [1], [1]], [1, 1, 1]), ([0, 0], [np.nan, np.nan]), ([0, 0], [np.nan, None]), ([0, 1, 1.0], [1, 1, 1]),
    ],
)  # fmt: skip
def test_a_sample_that_is_there_twice_is_an_error(tmp_path: Path, rollouts: list[Any], rounds: list[Any]) -> None:
    rows = [row(7, rollout=each, round=number) for each, number in zip(rollouts, rounds, strict=True)]
    path = write_rows(tmp_path / "in.jsonl", *rows)
    last = len(rows) - 1
    with pytest.raises(TableError) as caught:
        by_sample(path)
    assert str(caught.value) == (
        f"{path}, row {last} (line {last + 1}): sample '7' is in row 0 (line 1) already; expected one row a sample, or "
        "rollouts with numbers in a column rollout; --consensus makes one answer of several"
    )


def test_the_same_number_in_another_round_is_another_rollout(tmp_path: Path) -> None:
    scores = by_sample(write_rows(tmp_path / "in.jsonl", row(rollout=0, round=1), row(rollout=0, round=2)))
    assert scores.n.tolist() == [2]


def test_names_are_a_column_s_a_target_s_or_made_of_content(tmp_path: Path) -> None:
    target = {"sample_id": None, "response": HIT, "target": {**BOX, "id": "t"}}
    assert by_sample(write_rows(tmp_path / "in.jsonl", row("a"), row(7.0), target)).names == ["a", "7", "t"]
    content = {"response": HIT, "target": BOX, "instruction": "Close", "image": "shots/1.png"}
    made = [{**content, "instruction": each} for each in ("Close", "Open", "Close")]
    names = by_sample(write_rows(tmp_path / "first.jsonl", *made[:2])).names
    columns = pa.table({name: [each[name] for each in made[1:]] for name in ("response", "instruction", "image")})
    pq.write_table(columns.append_column("target", pa.array([BOX] * 2)), tmp_path / "second.parquet")
    assert by_sample(tmp_path / "second.parquet").names == names[::-1]
    assert len({*names}) == 2


def test_images_are_known_by_path_or_content(tmp_path: Path) -> None:
    images = ["1.png", ["1.png"], {"path": "1.png"}, "2.png", None, []]
    rows = [row(sample, image=image) for sample, image in enumerate(images)]
    scores = by_sample(write_rows(tmp_path / "in.jsonl", *rows))
    assert scores.images == ["1.png", "1.png", "1.png", "2.png", None, None]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    held = [{"bytes": each, "path": None} for each in (b"one", b"one", b"two")]
    table = {"sample_id": ["a", "b", "c"], "response": [HIT] * 3, "target": [BOX] * 3, "image": pa.array(held, kind)}
    pq.write_table(pa.table(table), tmp_path / "in.parquet")
    one, same, other = by_sample(tmp_path / "in.parquet").images
    assert one == same != other
    assert by_sample(write_rows(tmp_path / "in.jsonl", row("a"))).images == [None]


def test_fields_are_those_of_a_sample_s_first_row(tmp_path: Path) -> None:
    rows = [row("a", kind=["icon"], rollout=0), row("b", kind=None, rollout=0), row("a", kind="text", rollout=1)]
    scores = by_sample(write_rows(tmp_path / "in.jsonl", *rows), by=("kind",))
    assert dict(scores.by) == {"kind": [["icon"], None]}


def test_bad_targets_count_no_rollout(tmp_path: Path) -> None:
    rows = [row("a"), {**row("b"), "target": {"bbox": [1]}}]
    scores = by_sample(write_rows(tmp_path / "in.jsonl", *rows), bad_target="abstain")
    assert (scores.correct.tolist(), scores.n.tolist()) == ([1, 0], [1, 0])


TARGETS = [
    BOX, {"bbox": [10, 10, 30, 21]}, {"refusal": True}, {"regions": [BOX, {"bbox": [10, 10, 30, 15]}]},
    {**BOX, "action": "double_click"}, {"circle": [20, 15, 5]}, {"polygon": [10, 10, 30, 10, 20, 15, 30, 20, 10, 20]},
    {"polygon": [10, 10, 30, 10, 25, 15, 30, 20, 10, 20]}, {"bbox": [15, 10, 25, 20]},
    {"regions": [BOX, {"bbox": [10, 10, 30, 16]}]}, {"refusal": True, "action": "double_click"},
    {"action": "double_click"},
]  # fmt: skip


def numbers(path: Path, *targets: Any, **fields: Any) -> Any:
    rows = [{**row(sample), "target": target, **fields} for sample, target in enumerate(targets)]
    return by_sample(write_rows(path, *rows), gr.recipe("action", response_space="pixel")).targets


def test_different_targets_have_different_numbers(tmp_path: Path) -> None:
    read = np.nan_to_num(numbers(tmp_path / "in.jsonl", *TARGETS), nan=-1.0)
    assert len(np.unique(read, axis=0)) == len(TARGETS)


def test_one_place_has_the_same_numbers_however_its_corners_are_written(tmp_path: Path) -> None:
    ring = [(10, 10), (30, 10), (20, 15), (30, 20), (10, 20)]
    rings = [ring, ring[2:] + ring[:2], ring[::-1]]
    polygons = [{"polygon": [number for corner in each for number in corner]} for each in rings]
    first, *others = numbers(tmp_path / "in.jsonl", *polygons).tolist()
    assert [pytest.approx(first)] * 2 == others
    box, polygon = numbers(tmp_path / "in.jsonl", BOX, {"polygon": [10, 10, 30, 10, 30, 20, 10, 20]}).tolist()
    assert box == pytest.approx(polygon)


def test_one_target_in_two_spaces_and_two_models_has_the_same_numbers(tmp_path: Path) -> None:
    sized = {"image_size": [100, 50]}
    unit = {"bbox": [0.1, 0.2, 0.3, 0.4], "space": "unit", "id": "other", "extra": 1}
    first, second = numbers(tmp_path / "in.jsonl", BOX, unit, **sized)
    assert first.tolist() == pytest.approx(second.tolist())
    recipe = gr.recipe("gta1", response_space="model_pixel", target_space="pixel")
    models = [
        by_sample(write_rows(tmp_path / "in.jsonl", row(**sized, model_image_size=size)), recipe).targets.tolist()
        for size in ([100, 50], [400, 150])
    ]
    assert models[0] == [pytest.approx(models[1][0])]
