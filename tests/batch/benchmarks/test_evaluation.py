"""Figures of a benchmark made up here, as anybody may write one: any order and any files, the same figures."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.batch.benchmarks import Benchmark, Total
from grounding_rewards.batch.benchmarks.benchmark import mean_of
from grounding_rewards.batch.benchmarks.evaluation import BenchmarkResult, evaluate_benchmark
from grounding_rewards.batch.benchmarks.files import open_benchmark
from grounding_rewards.batch.columns import Columns
from grounding_rewards.batch.layouts import OSWORLD_G
from grounding_rewards.batch.table_scorer import TableScorer
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


def evaluated(files: dict[str, list[dict[str, object]]], benchmark: Benchmark = OWN) -> BenchmarkResult:
    with tempfile.TemporaryDirectory() as folder:
        paths = [write_rows(Path(folder, f"{name}.jsonl"), *rows) for name, rows in files.items()]
        table = open_benchmark(benchmark, paths)
        scorer = TableScorer(gr.recipe("click", response_space="pixel"), Columns(), layouts=benchmark.layouts)
        return evaluate_benchmark(benchmark, table, scorer.of(table))


def test_a_mean_counts_its_cells_alike_and_refusals_where_the_total_does():
    rows = {
        "run-a": [row("a", 0, right=False)], "run-b": [row("b", 0, right=True)],
        "run-c": [row("c", 0, right=True), row("c", 1, right=False)],
    }  # fmt: skip
    mean, places, everything = evaluated(rows).figures
    assert (mean.accuracy, mean.interval, mean.cells) == (0.5, None, {"a": (0, 1), "b": (1, 1), "c": (1, 2)})
    assert (places.correct, places.n, places.accuracy) == (1, 3, 1 / 3)
    assert (everything.correct, everything.n, everything.accuracy) == (2, 4, 0.5)
    mean, places, everything = evaluated(rows, replace(OWN, negative_refuses=False)).figures
    assert (mean.share, everything.correct) == (1 / 6, 1)


def test_a_cell_of_another_number_of_rows_leaves_no_figure():
    rows = {"a": [row("a", 0, right=True), row("a", 1, right=True)], "b": [row("b", 0, right=True)]}
    mean, _, everything = evaluated({**rows, "c": [row("c", 0, right=True)]}).figures
    assert (mean.accuracy, mean.share, mean.missing) == (None, 1.0, "2 rows of kind a, which has 1")
    assert everything.accuracy == 1.0
    mean, places, _ = evaluated({"rows": [row(kind, n, right=True) for n, kind in enumerate(HITS)]}).figures
    assert (mean.accuracy, mean.share, mean.missing) == (None, None, "no row says its kind")
    assert places.accuracy == 1.0


@settings(deadline=None, max_examples=40)
@given(st.permutations(range(4)), st.lists(st.booleans(), min_size=4, max_size=4), st.integers(1, 3))
def test_figures_do_not_depend_on_the_order_of_files_or_on_how_often_each_row_is_there(order, right, times):
    named = [(f"{place}-{kind}", row(kind, place, right=right[place])) for place, kind in enumerate(HITS)]
    files = {name: [each] for name, each in named}
    shuffled = {named[place][0]: [named[place][1]] * times for place in order}
    first, second = evaluated(files), evaluated(shuffled)
    assert [each.accuracy for each in first.figures] == [each.accuracy for each in second.figures]
    assert all(each.accuracy is not None and 0 <= each.accuracy <= 1 for each in first.figures)
    assert first.figures[2].accuracy == sum(right) / 4
