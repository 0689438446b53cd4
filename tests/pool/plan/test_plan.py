"""The plan of methods: measures of weights, the comparison, its files and its page."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.plugins.registry import PATHS
from grounding_rewards.pool import SampleStats, plan, sample_stats
from grounding_rewards.pool.command import count_rollouts
from grounding_rewards.pool.methods import Choice
from grounding_rewards.pool.plan import (
    _AT_ONCE,
    Candidate,
    candidates,
    compare,
    in_per_cent,
    overlaps,
    page_of,
    plan_rollouts,
)
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.pool.stats import PASS_RATES, pass_rate_bins
from tests.cli.command import write_rows
from tests.pool.made import counted as stats
from tests.pool.made import plainly
from tests.pool.plan.made import ROWS, SELECTED, Short, five, five_rollouts

WEIGHTS = st.lists(st.floats(0, 1e300), min_size=1, max_size=30).filter(any)


def measures(*given):
    return plainly(plan.measures(*given))


@pytest.mark.parametrize(("n", "bins"), [
    (1, [0, 6]),
    (2, [0, 3, 6]),
    (4, [0, 2, 3, 4, 6]),
    (5, [0, 2, 3, 3, 4, 6]),
    (8, [0, 1, 2, 2, 3, 4, 4, 5, 6]),
    (10, [0, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6]),
])  # fmt: skip
def test_ranges_of_pass_rates_are_symmetric(n, bins):
    assert pass_rate_bins(stats(range(n + 1), n)).tolist() == bins


def test_a_sample_without_a_scored_rollout_is_in_no_range():
    assert PASS_RATES[pass_rate_bins(stats([0], 0))[0]] == "unmeasured"
    only = measures(stats([0, 0], np.array([0, 4])), np.array([1.0, 0.0]))
    assert (only.zero_share, only.mean_p, only.zero_signal_share) == (0.0, None, None)


def test_totals_are_equal_up_to_a_millionth():
    spread = replace(stats([1, 1, 1], 2), lowest=np.zeros(3), highest=np.array([1e-6, 2e-6, np.nan]))
    assert measures(spread, np.array([1.0, 2.0, 4.0])).zero_signal_share == pytest.approx(1 / 3)


def test_sums_of_the_largest_weights_are_finite():
    largest = measures(stats([0, 4], 4), np.array([1.7e308, 1.7e308]))
    assert (largest.effective, largest.zero_share, largest.mean_p) == (2.0, 0.5, 0.5)
    assert overlaps([np.array([1.7e308, 1.7e308]), np.array([0.0, 1.0])])[0].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("share", "text"), [(0.01, "1"), (0.0099, "<1"), (0.995, "99"), (1 - 2e-9, "99"), (1 - 1e-10, "100"), (1.0, "100")]
)
def test_overlaps_in_per_cent(share, text):
    assert in_per_cent(share) == text


@given(WEIGHTS, st.data())
def test_measures_are_shares_of_any_weights(weights, data):
    right = data.draw(st.lists(st.integers(0, 8), min_size=len(weights), max_size=len(weights)))
    of = measures(stats(right, 8), np.array(weights))
    assert 1 - 1e-9 <= of.effective <= of.kept + 1e-9
    assert sum(of.by_pass_rate) == pytest.approx(1.0)
    assert of.by_pass_rate[0] == pytest.approx(of.zero_share)
    assert -1e-9 <= of.mean_p <= 1 + 1e-9
    assume(max(weights) >= 2e-323)
    more = measures(stats(right, 8), np.array(weights) / 4)
    assert more.kept <= of.kept  # the smallest float has no fourth
    assert more.mean_p == pytest.approx(of.mean_p)


@given(st.integers(1, 20).flatmap(lambda m: st.lists(
    st.lists(st.floats(0, 1e300), min_size=m, max_size=m).filter(any), min_size=1, max_size=4,
)))  # fmt: skip
def test_overlaps_are_symmetric_and_from_0_to_1(weights):
    shared = overlaps([np.array(each) for each in weights])
    assert np.array_equal(shared, shared.T)
    assert (shared >= 0).all()
    assert (shared <= 1).all()
    assert (np.diag(shared) == 1).all()


def test_many_samples_come_in_parts():
    m = 2 * _AT_ONCE + 5
    first = (np.arange(m) < m // 2).astype(np.float64)
    assert overlaps([first, np.ones(m), 1 - first])[0] == pytest.approx([1, first.mean(), 0])


def test_without_methods_there_are_no_overlaps():
    assert overlaps([]).shape == (0, 0)


SELECTORS = ["unsolved", "learnability"]


def rows_of(made):
    return {method.label: found for method, found in made.rows}


def test_each_row_has_the_figures_of_its_weights(made_up):
    rows = rows_of(compare(five(), candidates([*SELECTORS, "further", "first"]), five_rollouts()))
    figures = {
        name: tuple(row[each] for each in ("kept", "rollouts", "zero_share", "mean_p", "effective"))
        for name, row in rows.items()
    }
    assert figures == {
        "control": (4, None, 0.25, 0.4375, 4.0),
        "next": (3, None, pytest.approx(1 / 3), 0.25, 3.0),
        "unsolved": (4, None, 0.25, 0.25, 4.0),
        "learnability": (2, None, 0.0, pytest.approx(11 / 28), 1.96),
        "further": (2, 4, 0.75, 0.0625, 1.6),
        "first": (4, 8, 0.25, 0.5, 4.0),
    }
    signal = {name: row["zero_signal_share"] for name, row in rows.items()}
    third = pytest.approx(1 / 3)
    assert signal == {
        "control": 0.5, "next": third, "unsolved": third, "learnability": 0.0, "further": 0.75, "first": 0.5,
    }  # fmt: skip
    assert rows["control"]["by_pass_rate"] == [0.25, 0, 0.25, 0.25, 0, 0, 0.25, 0]
    assert rows["unsolved"]["by_pass_rate"] == [0.25, 0, 0.25, 0.25, 0, 0, 0, 0.25]
    assert rows["further"]["by_pass_rate"] == [0.75, 0, 0.25, 0, 0, 0, 0, 0]


def test_overlap_is_the_weight_in_common(made_up):
    made = compare(five(), candidates([*SELECTORS, "further", "first"]), five_rollouts())
    third = 1 / 3
    assert np.allclose(made.overlap, [
        [1.0, 0.75, 0.75, 0.5, 0.5, 1.0],
        [0.75, 1.0, 0.75, 2 * third, third + 0.25, 0.75],
        [0.75, 0.75, 1.0, 0.5, 0.5, 0.75],
        [0.5, 2 * third, 0.5, 1.0, 0.25, 0.5],
        [0.5, third + 0.25, 0.5, 0.25, 1.0, 0.5],
        [1.0, 0.75, 0.75, 0.5, 0.5, 1.0],
    ])  # fmt: skip


def test_a_bare_comparison_takes_every_built_in_method(made_up):
    chosen = {each.name: each for each in candidates()}
    assert set(chosen) == {*SELECTED, "further", "budget", "first", "short", "raising"}
    missing = ("budget", "every", "min_rollouts", "source")
    assert {name: chosen[name].needs for name in missing} == {
        "budget": ("budget",), "every": ("selectors",), "min_rollouts": ("n",), "source": ("exclude or only",),
    }  # fmt: skip
    kinds = {each.kind for each in chosen.values()}
    assert kinds == {"selector", "allocation", "choice"}


def test_one_of_several_arguments_is_enough():
    specs = [{"name": "d3s", "keep": 2}, {"name": "d3s", "share": 0.5}, {"name": "source", "only": ["web"]}]
    assert [each.needs for each in candidates(specs)] == [(), (), ()]


def test_rows_that_methods_are_compared_with_have_other_names():
    assert not {"control", "next", "all"} & set(PATHS["methods"])


def test_methods_that_cannot_run_are_left_out_with_the_reason(made_up):
    band = {"name": "band", "low_rate": 0.8, "high_rate": 0.9}
    made = compare(five(), candidates(["raising", "budget", "min_rollouts", band, "mean_band"]), five_rollouts())
    assert [method.name for method, _ in made.rows] == ["control", "next", "mean_band"]
    assert [(each.label, each.needs, each.reason) for each in made.left_out] == [
        ("raising", (), r"choice Raising() raised KeyError: 'no\nnumber'"),
        ("budget", ("budget",), ""),
        ("min_rollouts", ("n",), ""),
        ("band(low_rate=0.8, high_rate=0.9)", (), "keeps nothing: all weights are 0"),
    ]


def test_negative_weights_keep_nothing(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("def less(stats): return [-0.5] * len(stats)\ndef same(stats): return [0.5] * len(stats)\n")
    own = [{"name": f"{file}:{name}", "low": -1, "high": 1} for name in ("less", "same")]
    made = compare(five(), candidates(own))
    assert made.rows[-1][1]["kept"] == 5
    assert [each.reason for each in made.left_out] == [
        "keeps nothing: sample 'a' has the weight -0.5, and a pool is drawn by weights from 0"
    ]


def test_choices_need_rollouts(made_up):
    (left,) = compare(five(), candidates(["first"])).left_out
    assert left.reason == "needs rollouts; these are statistics of samples"
    other = replace(five_rollouts(), sample_id=np.array(list("abcdf"), dtype=object))
    with pytest.raises(PoolError, match="rollouts of sample 'f', of which there are no statistics"):
        compare(five(), candidates(["first"]), other)


def test_one_method_with_two_sets_of_arguments_is_two_methods(made_up):
    specs = ["first", {"name": "first", "keep": 1}, "first"]
    made = compare(five(), candidates(specs), five_rollouts())
    assert {label: row["rollouts"] for label, row in rows_of(made).items() if "first" in label} == {
        "first": 8, "first(keep=1)": 4,
    }  # fmt: skip


def test_all_stands_for_every_built_in_method(made_up):
    bare, more = candidates(), candidates(["all", {"name": "budget", "budget": 3}])
    assert [each.label for each in candidates(["all"])] == [each.label for each in bare]
    assert [each.label for each in more if each.name == "budget"] == ["budget(budget=3)"]
    assert len(more) == len(bare)


def test_a_selectors_own_error_is_the_reason(tmp_path):
    (tmp_path / "own.py").write_text(
        "from grounding_rewards.errors import PoolError\n"
        "def picky(stats): raise PoolError('no sample has a\\n difficulty')\n"
        "def broken(stats): raise KeyError('x')\n"
    )
    own = [{"name": f"{tmp_path}/own.py:{name}", "low": 0, "high": 1} for name in ("picky", "broken")]
    picky, broken = compare(five(), candidates(own)).left_out
    assert picky.reason == "no sample has a difficulty"
    assert broken.reason == f"selector {tmp_path}/own.py:broken raised KeyError: 'x'"


def test_a_choice_that_ends_the_program_is_left_out():
    def leaving(*words):
        def leave(rollouts):
            raise SystemExit(*words)

        return Candidate("leave", "choice", built=leave)

    made = compare(five(), [leaving("no more"), leaving()], five_rollouts())
    for each, said in zip(made.left_out, ("SystemExit: no more", "SystemExit:"), strict=True):
        assert each.reason.startswith("choice <function ")
        assert each.reason.endswith(f" raised {said}")


def test_rollouts_may_number_the_samples_otherwise(made_up):
    rollouts, first = five_rollouts(), candidates([{"name": "first", "keep": 1}])
    keeps_two = [replace(each, built=lambda some: Choice(np.array([0, 4]))) for each in first]
    back = replace(rollouts, sample_id=rollouts.sample_id[::-1], sample=4 - rollouts.sample)
    for numbered in (rollouts, back):
        assert compare(five(), keeps_two, numbered).weights[-1].tolist() == [1, 1, 0, 0, 0]


def test_the_next_pool_is_that_of_seed_0_and_progress_goes_by_methods():
    shown: list[float] = []
    stats = sample_stats([f"s{place:02}" for place in range(40) for _ in range(2)], ([0, 0] * 3 + [1, 0]) * 10)
    made = compare(stats, candidates(SELECTORS), advance=shown.append)
    drawn = [np.bincount(next_pool(stats, seed=seed).kept, minlength=40).tolist() for seed in (0, 1)]
    assert made.weights[1].tolist() == drawn[0] != drawn[1]
    assert shown == [0.0, 0.25, 0.5, 0.75]


def test_without_a_measured_sample_there_is_nothing_to_compare():
    with pytest.raises(PoolError, match="no sample has a scored rollout"):
        compare(sample_stats(["a"], [None]), candidates(["unsolved"]))


def test_without_a_sometimes_solved_sample_there_is_no_next_pool():
    made = compare(sample_stats(["a", "b"], [0, 1]), candidates(["unsolved"]))
    assert [method.name for method, _ in made.rows] == ["control", "unsolved"]
    assert made.rows[0][1]["zero_signal_share"] is None  # without totals
    assert made.left_out[0].reason.startswith("1 never-solved samples and no positive one left to train on")


def test_json_has_everything(made_up):
    plain = compare(five(), candidates(["further", "short", "budget"])).to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["samples"], plain["measured"], plain["rollouts"]) == (5, 4, 18)
    assert plain["methods"][2] == {
        "name": "further", "kind": "allocation", "arguments": {}, "rollouts": 4, "kept": 2, "effective": 1.6,
        "zero_share": 0.75, "mean_p": 0.0625, "zero_signal_share": 0.75,
        "by_pass_rate": [0.75, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0], "overlap": pytest.approx([0.5, 7 / 12, 1.0]),
    }  # fmt: skip
    assert plain["left_out"][1] == {
        "name": "budget", "kind": "allocation", "arguments": {}, "needs": ["budget"], "reason": None,
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12), st.randoms())
def test_the_order_of_samples_changes_nothing(counts, shuffled):
    n = np.array([max(pair) for pair in counts])
    right = np.array([min(pair) for pair in counts])
    if not n.any():
        return
    names = np.array([f"s{place}" for place in range(len(n))], dtype=object)
    stats = SampleStats(names, n, right, lowest=np.where(right < n, 0.0, 1.0), highest=np.where(right > 0, 1.0, 0.0))
    chosen = candidates(["unsolved", "learnability", "band"])
    order = shuffled.sample(range(len(n)), len(n))
    one, other = (compare(each, chosen) for each in (stats, stats.taken(order)))
    assert [method.name for method, _ in one.rows] == [method.name for method, _ in other.rows]
    assert np.allclose(one.overlap, other.overlap)
    for (_, a), (_, b) in zip(one.rows, other.rows, strict=True):
        assert a["kept"] == b["kept"]
        assert np.allclose(a["by_pass_rate"], b["by_pass_rate"])
        assert a["effective"] == pytest.approx(b["effective"])


METHODS = ["learnability", "further", "first", "short"]


@pytest.fixture
def file(tmp_path):
    return write_rows(tmp_path / "r.jsonl", *ROWS)


def test_a_choice_says_which_column_the_rollouts_lack(made_up, file):
    made, rounds = plan_rollouts([file], METHODS)
    assert [method.name for method, _ in made.rows] == ["control", "next", "learnability", "further", "first"]
    assert [each.reason for each in made.left_out] == ["the rollouts have no column token_length"]
    assert rounds == [None]


def test_a_wrong_value_leaves_out_those_that_need_its_column(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr(Short, "needs", ("entropy",))
    pq.write_table(pa.Table.from_pylist([{**row, "entropy": float("inf")} for row in ROWS]), tmp_path / "r.parquet")
    made, _ = plan_rollouts([tmp_path / "r.parquet"], METHODS)
    assert made.rows[-1][0].name == "first"
    assert [(each.label, each.reason) for each in made.left_out] == [
        ("short", "entropy of row 0: got inf; expected a finite number, or null")
    ]


def test_the_order_of_rollouts_changes_nothing(made_up, file, tmp_path):
    shuffled = random.Random(0).sample(ROWS, len(ROWS))
    one, other = (plan_rollouts([each])[0] for each in (file, write_rows(tmp_path / "s.jsonl", *shuffled)))
    assert one.to_json() == other.to_json()
    assert np.array_equal(one.overlap, other.overlap)


def test_statistics_say_as_much_but_for_choices(made_up, file, tmp_path):
    count_rollouts([file], tmp_path / "stats.parquet")
    made, rounds = plan_rollouts([file], METHODS[:2])
    again, none = plan_rollouts([tmp_path / "stats.parquet"], METHODS)
    assert again.to_json()["methods"] == made.to_json()["methods"]
    assert {each.reason for each in again.left_out} == {"needs rollouts; these are statistics of samples"}
    assert (rounds, none) == ([None], [])
    with pytest.raises(TableError, match="holds statistics of samples, which do not go with --round; give rollouts"):
        plan_rollouts([tmp_path / "stats.parquet"], METHODS, rounds=[1])


def test_rollouts_are_read_only_for_choices(made_up, file, monkeypatch):
    monkeypatch.setattr("grounding_rewards.pool.plan.read_columns", lambda *_, **__: pytest.fail("read"))
    plan_rollouts([file], ["learnability", "further", "short"])


def test_rounds_choose_rollouts(made_up, tmp_path):
    rows = [{**row, "round": number} for row in ROWS for number in (1, 2)]
    made, rounds = plan_rollouts([write_rows(tmp_path / "r.jsonl", *rows)], ["first"], rounds=[2])
    assert (made.rollouts, made.rows[-1][1]["rollouts"], rounds) == (18, 8, [2])


def test_clicks_may_be_named_by_their_element_or_their_place(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr(Short, "needs", ("answer",))
    for more, reasons in (
        ({}, ["the rollouts have no clicks"]), ({"x_unit": 0.5}, ["the rollouts have no clicks"]),
        ({"x_unit": 0.5, "y_unit": 0.5}, []), ({"answer_key": "menu"}, []),
    ):  # fmt: skip
        file = write_rows(tmp_path / "r.jsonl", *({**row, **more} for row in ROWS))
        assert [each.reason for each in plan_rollouts([file], ["short"])[0].left_out] == reasons


def test_unreadable_rollouts_are_an_error(tmp_path):
    with pytest.raises(PoolError, match="acc of a rollout of sample 'a': got 2; expected 0 or 1"):
        plan_rollouts([write_rows(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 2})])


def test_bars_are_shares_and_cells_are_overlaps(made_up):
    shown = page_of(compare(five(), candidates(["unsolved", "further", "first"]), five_rollouts()))
    (bars,), (heat,) = (section["blocks"] for section in shown["sections"])
    assert [row["label"] for row in bars["rows"]] == ["1: control", "2: next", "3: unsolved", "4: further", "5: first"]
    shares = [{bars["key"][part][0]: share for part, share, *_ in row["parts"]} for row in bars["rows"]]
    assert {name for row in shares for name in row} == {"never", "0.2 to 0.4", "0.4 to 0.6", "always", "unmeasured"}
    assert [row.get("always", 0) for row in shares] == [0.25, 0, 0, 0, 0.25]
    assert shares[3]["never"] == 0.75
    (overlap,) = heat["matrices"]
    assert [cell[0] for cell in overlap["rows"][0]["cells"]] == ["100", "75", "75", "50", "100"]
    assert overlap["columns"] == ["1", "2", "3", "4", "5"]
