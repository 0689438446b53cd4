"""Batches of a table are scored, and errors, warnings and findings name the file and the row."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.batch import table_scorer
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.errors import TableError
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts
from grounding_rewards.tables import layouts as cells_of_targets
from grounding_rewards.tables.arrow_rows import ArrowRows
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.tables.layouts import TargetCells
from grounding_rewards.tables.opening import open_table
from grounding_rewards.targets.target import Target
from grounding_rewards.targets.typed import Boxes
from tests.cli.command import write_rows

BOX = {"bbox": [10, 10, 30, 20]}


def score(
    path: Path, recipe: gr.Recipe, *rows: dict[str, Any], diagnosis: Diagnosis | None = None, **settings: Any
) -> gr.Scores:
    """Write rows, and return the scores of the one batch that they make."""
    table = open_table(write_rows(path, *rows))
    scorer = replace(Scoring(recipe, Columns(), **settings).of(table), diagnosis=diagnosis)
    (batch,) = scorer.batches(whole=False)
    return scorer.score(batch).scores


def voting() -> gr.Recipe:
    return gr.recipe("composite", response_space="pixel", parts={"vote": {"verifier": "consensus", "weight": 1.0}})


def test_a_finding_names_the_row_where_it_is_and_not_the_first(tmp_path: Path) -> None:
    rows = [{"response": "(20, 15)", "target": {**BOX, "action": name}} for name in ("click", "click", "clik")]
    recipe = gr.recipe("action", response_space="pixel")
    diagnosis = Diagnosis(recipe)
    score(tmp_path / "in.jsonl", recipe, *rows, diagnosis=diagnosis)
    (finding,) = diagnosis.findings()
    assert (finding.code, finding.rows) == ("unknown-action", (2,))
    assert f"(first: {tmp_path / 'in.jsonl'}, row 2 (line 3))" in finding.message


@pytest.mark.parametrize(("names", "warned"), [(["a"], 0), (["a", "b"], 1), (["a", "a"], 0)])
def test_samples_of_one_rollout_each_are_a_warning_where_there_are_several(
    tmp_path: Path, names: list[str], warned: int
) -> None:
    texts: list[str] = []
    rows = [{"response": "(20, 15)", "target": BOX, "sample_id": name} for name in names]
    score(tmp_path / "in.jsonl", voting(), *rows, on_warning=texts.append)
    assert texts == ["composite compares the rollouts of one sample, and no sample here has two"] * warned


def test_a_response_of_no_tokens_has_a_length(tmp_path: Path) -> None:
    lengths = {"verifier": f"{__file__}:lengths", "weight": 1.0, "low": 0, "high": 9}
    recipe = gr.recipe("composite", response_space="pixel", parts={"length": lengths})
    rows = [{"response": text, "target": BOX, "token_length": count} for text, count in (("", 0), ("(20, 15)", 7))]
    assert score(tmp_path / "in.jsonl", recipe, *rows).total.tolist() == [0, 7]
    with pytest.raises(TableError, match="token_length: got -1; expected how many tokens"):
        score(tmp_path / "in.jsonl", recipe, {**rows[0], "token_length": -1})


def lengths(rollouts: gr.Rollouts) -> list[float]:
    return rollouts.token_lengths.astype(float)


@pytest.mark.parametrize("column", [True, False])
def test_a_missing_size_names_the_option_of_its_column_only_where_the_file_has_none(
    tmp_path: Path, column: bool
) -> None:
    recipe = gr.recipe("click", response_space="thousandths")
    rows = [
        {"response": "(20, 15)", "target": BOX},
        {"response": "(20, 15)", "target": {**BOX, "image_size": [99, 99]}},
    ]
    with pytest.raises(TableError, match=r"row 0 \(line 1\).* field 'image_size': got nothing") as caught:
        score(tmp_path / "in.jsonl", recipe, *[{**row, **({"image_size": None} if column else {})} for row in rows])
    assert ("(--image-size-column)" in str(caught.value)) is not column


def test_a_column_that_first_occurs_in_a_later_batch_is_among_the_extras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grounding_rewards.tables.text_rows.BATCH_ROWS", 1)
    bonus = {"verifier": f"{__file__}:bonus", "weight": 1.0, "low": 0, "high": 1}
    rows = [{"response": "(20, 15)", "target": BOX, **more} for more in ({}, {"bonus": 0.25})]
    table = open_table(write_rows(tmp_path / "in.jsonl", *rows))
    recipe = gr.recipe("composite", response_space="pixel", parts={"bonus": bonus})
    scorer = Scoring(recipe, Columns()).of(table)
    totals = [scorer.score(batch).scores.total.tolist() for batch in scorer.batches(whole=False)]
    assert totals == [[0.0], [0.25]]


def bonus(rollouts: gr.Rollouts) -> list[float]:
    return rollouts.extras.get("bonus", [0.0] * len(rollouts))


NUMBERS = st.sampled_from([0, 1, 5, 9, 40, 800, -1]) | st.sampled_from([0.25, 0.5, -0.0, float("nan"), 1e13])
KINDS = [pa.float64(), pa.float32(), pa.int64()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    boxes=st.lists(st.tuples(*[NUMBERS] * 4), min_size=1, max_size=4), kind=st.sampled_from(KINDS),
    fixed=st.booleans(), odd=st.sampled_from([[], [None], [[1, 2, 3]], [[1, 2, None, 4]]]),
    column=st.sampled_from(["bbox", "answer", "bbox_xyxy", "polygon"]), recipe=st.sampled_from(["click", "gelato"]),
)  # fmt: skip
def test_lists_of_arrow_are_read_as_their_values_are(tmp_path, boxes, kind, fixed, odd, column, recipe):
    if kind == pa.int64():
        boxes = [[int(number) if number == number else 0 for number in box] for box in boxes]
    lists = pa.array([*map(list, boxes), *odd], pa.list_(kind))
    lists = lists.cast(pa.list_(kind, 4)) if fixed and not odd else lists
    sizes, texts = pa.array([[90, 80]] * len(lists)), ["(0.5, 0.5)"] * len(lists)
    pq.write_table(pa.table({"response": texts, column: lists, "image_size": sizes}), tmp_path / "in.parquet")
    built = gr.recipe("click", response_space="unit", target_space="pixel") if recipe == "click" else gr.recipe(recipe)

    def scored() -> Any:
        table = open_table(tmp_path / "in.parquet")
        scorer = Scoring(built, Columns(target=column), "abstain").of(table)
        (batch,) = scorer.batches(whole=False)
        scores = scorer.score(batch).scores
        errors = {row: str(error) for row, error in scores.errors.items()}
        return [column.tolist() for column in (scores.total, scores.acc, scores.reason)], errors

    one = scored()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ArrowRows, "numbers", lambda self, name, width: None)
        assert one == scored()


SIDES = st.sampled_from([90, 80.5, 1, 0, -3, 2**53, 1e13])
OBJECTS = st.fixed_dictionaries(
    {"bbox": st.lists(NUMBERS, min_size=4, max_size=4)},
    optional={"image_size": st.lists(SIDES, min_size=2, max_size=2), "id": st.just("a"), "refusal": st.none()},
)
ODD = [None, [1, 2, 3, 4], {"bbox": [1, 2, 3]}, {"bbox": [1, 2, None, 4]}, {"bbox": [True, 2, 3, 4]}, {"box": [1, 2]}]
ODD += [{"bbox": [1, 2, 3, 10**400]}, {"bbox": [1, 2, 3, 4], "image_size": "90x80"}, {"refusal": True}]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    objects=st.lists(OBJECTS, min_size=1, max_size=4), odd=st.sampled_from([[], *([each] for each in ODD)]),
    column=st.sampled_from(["target", "answer", "bbox"]), recipe=st.sampled_from(["click", "gelato", "gta1"]),
    space=st.sampled_from([None, "unit", "pixel", "thousandths", "Pixel", ["unit"]]), but_one=st.booleans(),
)  # fmt: skip
def test_objects_of_boxes_and_sizes_are_read_as_their_values_are(
    tmp_path, format, objects, odd, column, recipe, space, but_one
):
    if space is not None:
        objects = [each if but_one and not place else {**each, "space": space} for place, each in enumerate(objects)]
    rows = [{"response": "(0.5, 0.5)", column: each} for each in [*objects, *odd]]
    path = write_rows(tmp_path / "in.jsonl", *rows)
    if format == "parquet":
        try:
            pq.write_table(pa.Table.from_pylist(rows), path := tmp_path / "in.parquet")
        except (pa.ArrowException, OverflowError):  # of no one type
            return
    built = gr.recipe("click", response_space="unit", target_space="pixel") if recipe == "click" else gr.recipe(recipe)

    def scored() -> Any:
        table = open_table(path)
        scorer = Scoring(built, Columns(target=column), "abstain").of(table)
        (batch,) = scorer.batches(whole=False)
        read = scorer.read_targets(scorer.targets(batch))
        scores = scorer.score(batch).scores
        errors = {row: str(error) for row, error in scores.errors.items()}
        columns = [column.tolist() for column in (scores.total, scores.acc, scores.reason, read.image_sizes)]
        return repr((columns, errors, [*read.rows], [*scorer.targets(batch)], read.own_form, read.spaces))

    one = scored()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TargetCells, "_boxes", lambda self, rows: None)
        assert one == scored()


TEXTS = [
    "[1, 2, 3, 4], [5, 6, 7, 8]",
    "[]",
    "[1 2 3 4]",
    "(1, 2, 3, 4)",
    " [1, 2, 3, 4]",
    "[NaN, 2, 3, 4]",
    '["1", 2, 3, 4]',
]
TEXTS += [
    "[7, 7, 7, 7]",
    "[4, 3, 2, 1]",
    "[1, 1e400, 3, 4]",
    "[[1, 2, 3, 4]]",
    '{"bbox": [1, 2, 3, 4]}',
    "",
    "90x80",
    "[90, 80]",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    boxes=st.lists(st.lists(NUMBERS, min_size=4, max_size=4), min_size=1, max_size=4),
    size=st.lists(SIDES, min_size=2, max_size=2), odd=st.lists(st.sampled_from(TEXTS), max_size=1),
    column=st.sampled_from(["target", "answer", "bbox"]), recipe=st.sampled_from(["click", "gelato", "gta1", "se-gui"]),
)  # fmt: skip
def test_texts_of_boxes_and_sizes_are_read_as_each_is(tmp_path, boxes, size, odd, column, recipe):
    cells = [*map(json.dumps, boxes), *odd]
    sizes = [json.dumps(size)] * len(boxes) + odd
    rows = zip(cells, sizes, strict=True)
    path = write_rows(tmp_path / "in.jsonl", *({"response": "(2, 2)", column: a, "image_size": b} for a, b in rows))
    built = gr.recipe("click", response_space="pixel", target_space="pixel") if recipe == "click" else gr.recipe(recipe)

    def scored() -> Any:
        table = open_table(path)
        scorer = Scoring(built, Columns(target=column), "abstain").of(table)
        (batch,) = scorer.batches(whole=False)
        scores = scorer.score(batch).scores
        errors = {row: str(error) for row, error in scores.errors.items()}
        columns = [column.tolist() for column in (scores.total, scores.acc, scores.reason)]
        return repr((columns, errors, [*scorer.targets(batch)], scorer.sizes(batch, "image_size")))

    one = scored()
    with pytest.MonkeyPatch.context() as patched:
        for module in (table_scorer, cells_of_targets):
            patched.setattr(module, "numbers_of", lambda *_, **__: None)
        assert one == scored()


@pytest.mark.parametrize("space", [{}, {"space": "pixel"}], ids=["declared", "named"])
@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_a_column_of_objects_is_two_arrays(tmp_path, name, space):
    rows = [{"response": "(2, 3)", "target": {"bbox": [1, 2, 3, 4.5], "image_size": [90, 80], **space}}]
    path = write_rows(tmp_path / "in.jsonl", *rows)
    if name == "in.parquet":
        pq.write_table(pa.Table.from_pylist(rows), path := tmp_path / name)
    table = open_table(path)
    target_space = "unit" if space else "pixel"
    scorer = Scoring(gr.recipe("click", response_space="pixel", target_space=target_space), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    targets = scorer.targets(batch)
    assert isinstance(targets, Boxes)
    assert [*targets] == [{"bbox": [1, 2, 3, 4.5], "image_size": [90, 80], **space}]
    read = scorer.read_targets(targets)
    assert isinstance(read.rows, Boxes)
    assert read.rows[0] == Target(bbox=(1.0, 2.0, 3.0, 4.5), image_size=(90.0, 80.0), space="pixel")
    assert read.image_sizes.tolist() == [[90.0, 80.0]]
    assert scorer.score(batch).scores.acc.tolist() == [1.0]


def test_sizes_that_targets_say_need_no_targets_of_their_own(tmp_path):
    target = {"bbox": [1, 2, 3, 4.5], "image_size": [90, 80]}
    table = open_table(write_rows(tmp_path / "in.jsonl", {"response": "", "target": target, "resolution": [9, 8]}))
    scorer = Scoring(gr.recipe("click", response_space="pixel", target_space="pixel"), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    read = scorer.read_targets(scorer.targets(batch)).changed(rows=())
    assert scorer.image_sizes(batch, read) == [None]
    assert scorer.image_sizes(batch, read.changed(known_image_sizes=None)) == [(9.0, 8.0)]


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_objects_of_several_spaces_are_each_in_its_own(tmp_path, name):
    spaces = ["unit", "pixel", "unit"]
    targets = [{"bbox": [0, 0, 1, 1], "image_size": [90, 80], "space": space} for space in spaces]
    rows = [{"response": "(45, 40)", "target": each} for each in targets]
    path = write_rows(tmp_path / "in.jsonl", *rows)
    if name == "in.parquet":
        pq.write_table(pa.Table.from_pylist(rows), path := tmp_path / name)
    table = open_table(path)
    scorer = Scoring(gr.recipe("click", response_space="pixel", target_space="pixel"), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    assert scorer.score(batch).scores.acc.tolist() == [1.0, 0.0, 1.0]


def test_a_column_of_boxes_is_one_array(tmp_path):
    pq.write_table(pa.table({"response": ["(2, 3)"], "bbox": [[1, 2, 3, 4]]}), tmp_path / "in.parquet")
    table = open_table(tmp_path / "in.parquet")
    scorer = Scoring(gr.recipe("click", response_space="pixel", target_space="pixel"), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    targets = scorer.targets(batch)
    assert isinstance(targets, Boxes)
    assert [*targets] == [{"bbox": [1, 2, 3, 4]}]
    assert isinstance(scorer.read_targets(targets).rows, Boxes)
    assert pickle.loads(pickle.dumps(targets)) == [{"bbox": [1, 2, 3, 4]}]
    assert scorer.score(batch).scores.acc.tolist() == [1.0]


@pytest.mark.parametrize(("kind", "stays"), [("string", True), ("large_string", True), ("dictionary", False)])
def test_responses_of_parquet_stay_in_arrow(tmp_path: Path, kind: str, stays: bool) -> None:
    texts = [f"({at}, 15)" for at in range(VECTOR_ROWS)]
    column = pa.array(texts).dictionary_encode() if kind == "dictionary" else pa.array(texts, getattr(pa, kind)())
    targets = pa.array([BOX] * len(texts))
    pq.write_table(pa.table({"response": column, "target": targets}), tmp_path / "in.parquet")
    table = open_table(tmp_path / "in.parquet")
    scorer = Scoring(gr.recipe("click", response_space="pixel"), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    scored = scorer.score(batch)
    responses = scored.inputs.responses
    assert (type(responses) is Texts, getattr(responses, "is_listed", True)) == (stays, not stays)
    assert scored.scores.acc.tolist() == [float(10 <= at <= 30) for at in range(VECTOR_ROWS)]


def test_a_null_among_responses_of_parquet_is_no_text(tmp_path: Path) -> None:
    rows = [{"response": None if at == 7 else "(20, 15)", "target": BOX} for at in range(VECTOR_ROWS)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    table = open_table(tmp_path / "in.parquet")
    scorer = Scoring(gr.recipe("click", response_space="pixel"), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    scored = scorer.score(batch)
    assert (scored.inputs.responses[7], scored.scores.acc[7], scored.scores.acc.sum()) == (None, 0.0, VECTOR_ROWS - 1)


def test_a_null_in_a_guessed_column_of_images_is_no_lack_of_a_column(tmp_path: Path) -> None:
    row = {"response": "(20, 15)", "target": {"bbox": [10, 10, 30, 20]}}
    rows = [{**row, "image": "a.png", "image_size": [100, 100]}, {**row, "image": None, "image_size": None}]
    recipe = gr.recipe("click", response_space="thousandths")
    with pytest.raises(TableError, match=r"row 1 .* image: got nothing; expected a path") as caught:
        score(tmp_path / "in.jsonl", recipe, *rows, image_files=ImageFiles())
    assert "no column of a usual name" not in str(caught.value)
