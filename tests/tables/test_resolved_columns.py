"""Columns that scoring reads: named, own, guessed, of a layout, and two for one thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.errors import TableError
from grounding_rewards.tables.columns import GUESSED, OWN, Columns, resolve
from grounding_rewards.tables.opening import open_table
from tests.cli.command import write_rows

BOX = {"bbox": [90, 40, 110, 60]}
ROW = {"response": "(100, 50)", "target": BOX}


def found(tmp_path: Path, *rows: dict[str, Any], **named: str) -> Any:
    return resolve(open_table(write_rows(tmp_path / "in.jsonl", *rows)), Columns(**named))


def test_own_names_are_taken_without_a_word(tmp_path):
    row = {**ROW, "prediction": "other", "bbox": [1, 2, 3, 4], "sample_id": "a", "id": 1, "image_size": [200, 100]}
    assert found(tmp_path, row) == found(tmp_path, {**row, "resolution": [3, 4]})
    assert (found(tmp_path, row).columns, found(tmp_path, row).notes) == (OWN, ())


@pytest.mark.parametrize("name", ["prediction", "pred", "output", "completion", "generated_text", "raw_response"])
def test_a_response_by_another_name_is_a_note_that_names_the_flag(tmp_path, name):
    got = found(tmp_path, {name: "(100, 50)", "target": BOX})
    assert (got.columns.response, got.guessed) == (name, {"response"})
    assert got.notes == (f"response: column {name}, by its name; --response-column names another",)


def test_what_a_flag_names_wins_silently(tmp_path):
    row = {"response": "x", "mine": "(100, 50)", "truth": BOX, "target": "no", "w": 200, "h": 100, "about": {"id": 7}}
    got = found(tmp_path, row, response="mine", target="truth", image_size="w,h", id="about.id")
    assert vars(got.columns) == {
        **vars(OWN), "response": "mine", "target": "truth", "image_size": "w,h", "id": "about.id",
    }  # fmt: skip
    assert (got.notes, got.guessed) == ((), frozenset())


def test_a_column_that_is_named_for_one_thing_is_no_guess_for_another(tmp_path):
    got = found(tmp_path, {"answer": "(1, 2)", "bbox": [1, 2, 3, 4]}, response="answer")
    assert (got.columns.response, got.columns.target) == ("answer", "bbox")


POLYGON = {"response": "(20, 15)", "polygon": [[10, 10], [50, 10], [50, 50], [10, 50]], "image_size": [99, 99]}
CORNER = {"response": "(80, 80)", "gt_bbox_xywh": [60, 60, 30, 30], "image_size": [99, 99]}


@pytest.mark.parametrize("recipe", ["click", "gelato"])
def test_each_row_may_have_its_place_in_another_column(tmp_path, recipe):
    table = open_table(write_rows(tmp_path / "in.jsonl", POLYGON, CORNER, {**CORNER, "response": "(20, 15)"}))
    notes = list[str]()
    named = gr.recipe(recipe, response_space="pixel", target_space="pixel")
    scorer = Scoring(named, Columns(), on_note=notes.append).of(table)
    assert notes == ["target: column polygon,gt_bbox_xywh, by its name, x y w h; --target-column names another"]
    (batch,) = scorer.batches(whole=False)
    assert [*scorer.score(batch).scores.acc] == [1, 1, 0]


def test_a_row_with_places_in_two_columns_is_a_question_and_an_error_where_both_are_named(tmp_path):
    both = {**POLYGON, **CORNER}
    with pytest.raises(TableError, match=r"Give --target-column, polygon,gt_bbox_xywh where each row has one of them"):
        found(tmp_path, both)
    table = open_table(tmp_path / "in.jsonl")
    scorer = Scoring(gr.recipe("click", response_space="pixel"), Columns(target="polygon,gt_bbox_xywh")).of(table)
    (batch,) = scorer.batches(whole=False)
    with pytest.raises(TableError, match=r"row 0 .* expected one of polygon,gt_bbox_xywh in a row; --target-column"):
        scorer.score(batch)


def test_fields_and_pairs_are_guessed(tmp_path):
    row = {"pred": "(1, 2)", "reward_model": {"ground_truth": BOX}, "extra_info": {"id": "q"}, "width": 4, "height": 5}
    columns = found(tmp_path, row).columns
    assert (columns.target, columns.id, columns.image_size) == (
        "reward_model.ground_truth", "extra_info.id", "width,height",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("row", "named", "message"),
    [
        (
            {"prediction": "a", "output": "b", "target": BOX}, {},
            "which column holds the response: prediction or output? Give --response-column",
        ),
        (
            {"response": "a", "bbox": [1], "answer": [2]}, {},
            "which column holds the target: answer or bbox? Give --target-column",
        ),
        (
            {"text": "a", "target": BOX}, {},
            "no column 'response' (--response-column). It has: text, target",
        ),
        (
            {"pred": 12, "target": BOX}, {},
            "no column 'response' (--response-column). It has: pred, target; response: not column pred, which holds "
            "12; --response-column names one",
        ),
        (
            {"response": "a", "truth": [1, 2, 3, 4]}, {},
            "no column 'target' (--target-column). It has: response, truth",
        ),
        (
            {**ROW, "prediction": "a"}, {"response": "predicton"},
            "no column 'predicton' (--response-column); did you mean 'prediction'? It has: response, target, "
            "prediction",
        ),
        (
            {**ROW, "about": {"name": 1}}, {"id": "about.id"},
            "no column 'about.id' (--id-column); did you mean 'about'? There are: response, target, about, target.bbox",
        ),
        (ROW, {"image_size": "w,h"}, "no column 'w' (--image-size-column). There are: response, target"),
        (ROW, {"image": "shot"}, "no column 'shot' (--image-column). It has: response, target"),
        ({"pred": "a", "target": BOX}, {"response": "none"}, "no column 'response' (--response-column)"),
    ],
)  # fmt: skip
def test_one_error_names_the_flag(tmp_path, row, named, message):
    with pytest.raises(TableError) as caught:
        found(tmp_path, row, **named)
    assert str(caught.value).startswith(f"{tmp_path / 'in.jsonl'}: {message}")


def test_a_column_of_something_else_is_no_guess_and_said_where_nothing_else_fits(tmp_path):
    good = {**ROW, "width": 200, "height": 100}
    got = found(tmp_path, {**good, "resolution": "1080p"})
    assert got.columns.image_size == "width,height"
    assert got.notes == ("image-size: column width,height, by its name; --image-size-column names another",)
    assert found(tmp_path, {**ROW, "resolution": "1080p"}).notes == (
        "image-size: not column resolution, which holds '1080p'; --image-size-column names one",
    )
    got = found(tmp_path, {"pred": [1, 2], "raw_response": "(1, 2)", "target": BOX})
    assert got.columns.response == "raw_response"


def test_none_prevents_a_guess(tmp_path):
    got = found(tmp_path, {**ROW, "id": 7, "resolution": [3, 4]}, id="none", image_size="none")
    assert (got.columns.id, got.columns.image_size, got.notes) == ("none", "none", ())
    size = {**ROW, "response": "(500, 500)", "image_size": [2000, 1000]}
    size["target"] = {**BOX, "image_size": [200, 100]}
    assert score(tmp_path, size).acc.tolist() == [0.0]
    assert score(tmp_path, size, columns=Columns(image_size="none")).acc.tolist() == [1.0]


def test_a_recipe_without_targets_asks_for_none(tmp_path):
    table = open_table(write_rows(tmp_path / "in.jsonl", {"pred": "a", "bbox": 1, "answer": 2}))
    assert resolve(table, Columns(), label_free=True).columns.response == "pred"


def test_parquet_reads_no_images_to_guess(tmp_path, monkeypatch):
    rows = [{"output": "(100, 50)", "bbox": [90, 40, 110, 60], "image": {"bytes": b"x", "path": None}, "other": 1}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    table = open_table(tmp_path / "in.parquet")
    asked: list[Any] = []
    batches = table.batches
    monkeypatch.setattr(table, "batches", lambda columns, **more: asked.extend(columns) or batches(columns, **more))
    columns = resolve(table, Columns()).columns
    assert (columns.response, columns.target, columns.image) == ("output", "bbox", "image")
    assert not {"image", "other"} & {*asked}


def test_rows_without_guesses_are_read_once(tmp_path, monkeypatch):
    table = open_table(write_rows(tmp_path / "in.jsonl", {**ROW, "sample_id": "a", "note": "x"}))
    monkeypatch.setattr(table, "batches", None)
    assert resolve(table, Columns()).columns == OWN


def score(tmp_path: Path, *rows: dict[str, Any], columns: Columns | None = None) -> gr.Scores:
    table = open_table(write_rows(tmp_path / "in.jsonl", *rows))
    scorer = Scoring(gr.recipe("click", response_space="thousandths"), columns or Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    return scorer.score(batch).scores


def test_a_guessed_size_stands_in_for_that_of_the_target_alone(tmp_path):
    rows = [
        {"response": "(500, 500)", "target": {**BOX, "image_size": [200, 100]}, "resolution": [2000, 1000]},
        {"response": "(500, 500)", "target": BOX, "resolution": [200, 100]},
        {"response": "(500, 500)", "target": BOX, "resolution": [2000, 1000]},
    ]
    assert score(tmp_path, *rows).acc.tolist() == [1.0, 1.0, 0.0]


def test_a_guessed_name_stands_in_for_that_of_the_target_alone(tmp_path):
    target = {**BOX, "image_size": [200, 100]}
    rows = [{"response": "(500, 500)", "target": {**target, "id": "a"}, "id": number} for number in range(3)]
    rows += [{"response": "(500, 500)", "target": target, "id": 9}]
    table = open_table(write_rows(tmp_path / "in.jsonl", *rows))
    scorer = Scoring(gr.recipe("click", response_space="pixel"), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    assert scorer.samples(batch, scorer.read_targets(scorer.targets(batch))) == ["a", "a", "a", "9"]


ROLES = {"response": GUESSED["response"], "target": GUESSED["target"][2:-1], "image_size": GUESSED["image-size"][:2]}
XY = st.integers(0, 99)


@given(st.lists(st.tuples(XY, XY, XY, XY), min_size=1, max_size=9), st.data())
def test_rows_score_alike_whatever_their_columns_are_called(tmp_path_factory, numbers, data):
    folder = tmp_path_factory.mktemp("rows")
    rows = [
        {"response": f"({10 * x}, {10 * y})", "target": {"bbox": [a, b, a + 9, b + 9]}, "image_size": [120, 110]}
        for x, y, a, b in numbers
    ]
    names = {own: data.draw(st.sampled_from(others)) for own, others in ROLES.items()}
    renamed = [{names[own]: value for own, value in row.items()} for row in rows]
    assert score(folder, *renamed).total.tolist() == score(folder, *rows).total.tolist()


def test_targets_that_convert_wrote_go_before_the_columns_they_were_made_of(tmp_path):
    row = {"response": "(500, 500)", "reward_model": {"ground_truth": BOX}, "bbox": [0, 0, 1, 1]}
    assert score(tmp_path, {**row, "image_size": [200, 100]}).acc.tolist() == [1.0]


def test_a_column_of_bare_polygons_or_points_is_named_after_them(tmp_path):
    row = {"response": "(500, 600)", "polygon": [80, 80, 120, 80, 100, 40], "image_size": [200, 100]}
    assert score(tmp_path, row, {**row, "response": "(100, 100)"}).acc.tolist() == [1.0, 0.0]


def test_errors_of_values_name_the_flag_of_a_column_that_was_named_or_guessed(tmp_path):
    rows = [{"pred": "a", "target": BOX, "resolution": [200, 100]}] * 70
    with pytest.raises(TableError, match=r"pred: got int 5; expected a string or null; --response-column names anoth"):
        score(tmp_path, *rows, {**rows[0], "pred": 5})
    with pytest.raises(TableError, match=r"resolution: got 'big'; .* or null; --image-size-column names another$"):
        score(tmp_path, *rows, {**rows[0], "resolution": "big"})
