"""Figures of a benchmark made up here, as anybody may write one: any order and any files, the same figures."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import grounding_rewards as gr
from grounding_rewards.batch.benchmarks import BENCHMARKS, Benchmark, Total, mean_of
from grounding_rewards.batch.benchmarks.evaluation import evaluate_benchmark, open_benchmark
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.layouts import OSWORLD_G
from tests.cli.command import write_rows

HITS = ["a", "b", "c", "c"]
OWN = Benchmark(
    "own",
    "Own",
    (OSWORLD_G,),
    (mean_of("mean", "kind", {"a": 1, "b": 1, "c": 2}), Total("places", 3, refusals=False), Total("all", 4)),
    groups=(("kind",),),
    named=r"(?P<kind>[abc])$",
    negative_refuses=True,
)


def row(kind: str, place: int, *, right: bool) -> dict[str, object]:
    """Return a row, that of the kind b to be refused."""
    refusal = kind == "b"
    answer = ("(-3, -2)" if refusal else "(15, 25)") if right else "(500, 500)"
    box = {"box_type": "refusal" if refusal else "bbox", "box_coordinates": [0] * 4 if refusal else [10, 20, 9, 9]}
    return {**box, "id": f"{kind}{place}", "image_size": [1000, 1000], "response": answer}


CLICK = gr.recipe("click", response_space="pixel")


def evaluated(
    files: dict[str, list[dict[str, object]]], benchmark: Benchmark = OWN, recipe: gr.Recipe = CLICK, **options: str
) -> SimpleNamespace:
    with tempfile.TemporaryDirectory() as folder:
        paths = [write_rows(Path(folder, f"{name}.jsonl"), *rows) for name, rows in files.items()]
        table = open_benchmark(benchmark, paths)
        scorer = Scoring(recipe, Columns(), layouts=benchmark.layouts, **options)
        evaluation, figures, *_ = evaluate_benchmark(benchmark, scorer.of(table))
        return SimpleNamespace(evaluation=evaluation, figures=figures)


def test_a_mean_counts_its_cells_alike_and_refusals_where_the_total_does():
    rows = {
        "run-a": [row("a", 0, right=False)], "run-b": [row("b", 0, right=True)],
        "run-c": [row("c", 0, right=True), row("c", 1, right=False)],
    }  # fmt: skip
    mean, places, everything = evaluated(rows).figures
    assert (mean.accuracy, mean.interval, mean.cells) == (0.5, None, {"a": (0, 1), "b": (1, 1), "c": (1, 2)})
    assert (places.correct, places.rows, places.accuracy) == (1, 3, 1 / 3)
    assert (everything.correct, everything.rows, everything.accuracy) == (2, 4, 0.5)
    mean, places, everything = evaluated(rows, structs.replace(OWN, negative_refuses=False)).figures
    assert (mean.share, everything.correct) == (1 / 6, 1)


def test_a_cell_of_another_number_of_rows_leaves_no_figure():
    rows = {"a": [row("a", 0, right=True), row("a", 1, right=True)], "b": [row("b", 0, right=True)]}
    mean, _, everything = evaluated({**rows, "c": [row("c", 0, right=True)]}).figures
    assert (mean.accuracy, mean.share, mean.missing) == (None, 1.0, "2 rows of kind a, which has 1")
    assert everything.accuracy == 1.0
    mean, places, _ = evaluated({"rows": [row(kind, n, right=True) for n, kind in enumerate(HITS)]}).figures
    assert (mean.accuracy, mean.share, mean.missing) == (None, None, "no row says its kind")
    assert places.accuracy == 1.0


@pytest.mark.parametrize(("answer", "right"), [("(-0.5, -0.5)", 1), ("(0, 0)", 0), ("(0, -1)", 0), ("(-1, 5)", 0)])
def test_both_coordinates_below_zero_are_a_refusal_by_click(answer, right):
    rows = {"b": [{**row("b", 0, right=True), "response": answer}]}
    assert evaluated(rows).evaluation.correct == right
    assert evaluated(rows, recipe=replace(CLICK, name="mine")).evaluation.correct == 0


def test_a_bad_target_stays_one_whatever_is_answered():
    bad = {**row("a", 0, right=True), "box_coordinates": [5000, 20, 9, 9], "response": "(-1, -1)"}
    counts = evaluated({"a": [bad, row("a", 1, right=True)]}, bad_target="abstain").evaluation
    assert (counts.not_valid, counts.reasons) == (1, {"OK": 1, "BAD_TARGET": 1})


def test_refusals_are_no_rows_of_a_total_without_them():
    rows = [row(kind, place, right=True) for place, kind in enumerate("accb")]
    rows[1] = rows[0]
    _, places, everything = evaluated({"rows": [*rows, row("b", 7, right=True)]}).figures
    assert places.missing == "1 of 3 rows are missing, and others come more than once"
    assert everything.missing == "5 rows, which are not the benchmark's 4, each as often"


def test_totals_without_refusals_count_places_alone_whatever_a_recipe_takes_as_a_refusal():
    missed = {**row("a", 0, right=False), "response": "(1, 1)"}
    failed = {**row("b", 1, right=True), "response": '{"action": "terminate", "status": "failure"}'}
    own = structs.replace(OWN, totals=(*OWN.totals[1:], Total("cells", 2, "kind", {"a": 1, "b": 1}, refusals=False)))
    counts = evaluated({"rows": [missed, failed]}, own, gr.recipe("action", response_space="pixel"))
    assert [(each.correct, each.rows) for each in counts.figures] == [(0, 1), (1, 2), (0, 1)]
    assert asdict(counts.evaluation.refusals) == {"targets": 1, "correct": 1, "false_clicks": 0, "false_refusals": 0}
    in_files = evaluated({"a": [missed], "b": [failed]}, own, gr.recipe("action", response_space="pixel"))
    assert in_files.figures[2].cells == {"a": (0, 1), "b": (0, 0)}


def test_names_tell_samples_apart_before_the_key_and_rows_without_either_are_samples_each():
    named = [{**row("a", 0, right=True), "sample_id": name} for name in "wxyz"]
    assert [each.missing for each in evaluated({"rows": named}).figures[2:]] == [""]
    alike = [{**row("a", place, right=True), "sample_id": "w"} for place in range(4)]
    text = "3 of 4 rows are missing, and others come more than once"
    assert [each.missing for each in evaluated({"rows": alike}).figures[2:]] == [text]
    unnamed = [{**row("a", 0, right=True), "id": None, "image_path": "a.png"} for _ in range(4)]
    for key in (("id",), ("image_path", "id")):
        assert [each.missing for each in evaluated({"rows": unnamed}, structs.replace(OWN, key=key)).figures[2:]] == [
            ""
        ]
    twice = evaluated({"rows": unnamed * 2}).figures[2]
    assert (twice.accuracy, twice.rows) == (1.0, 8)


def test_the_first_column_that_says_something_is_a_field_s_value():
    label = BENCHMARKS["screenspot"].label
    assert label({"data_type": None, "ui_type": "icon", "platform": "web"}, ("platform", "type")) == "web / icon"
    assert label({"data_type": "text", "ui_type": "icon"}, ("type",)) == "text"


@settings(max_examples=40)
@given(st.permutations(range(4)), st.lists(st.booleans(), min_size=4, max_size=4), st.integers(1, 3))
def test_figures_do_not_depend_on_the_order_of_files_or_on_how_often_each_row_is_there(order, right, times):
    named = [(f"{place}-{kind}", row(kind, place, right=right[place])) for place, kind in enumerate(HITS)]
    files = {name: [each] for name, each in named}
    shuffled = {named[place][0]: [named[place][1]] * times for place in order}
    first, second = evaluated(files), evaluated(shuffled)
    assert [each.accuracy for each in first.figures] == [each.accuracy for each in second.figures]
    assert all(each.accuracy is not None and 0 <= each.accuracy <= 1 for each in first.figures)
    assert first.figures[2].accuracy == sum(right) / 4
