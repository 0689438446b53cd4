"""A rollout table grouped by sample."""

import csv
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool import aggregate, sample_stats
from grounding_rewards.pool.aggregate import ALL, stats_of
from grounding_rewards.tables import rollout_table
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import write_rows

TARGET = json.dumps({"bbox": [20, 10, 40, 30], "space": "pixel"})


def table(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_rollouts([path])


@pytest.mark.parametrize(
    "size", ["200x100", " 200 × 100", "[200, 100]", "200X100.0", "(200, 100)", "200, 100", "200 100"]
)
@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet", "r.csv"])
def test_a_size_may_be_a_text(tmp_path, size, name):
    rows = [{"sample_id": each, "acc": 1, "image_size": size, "target": TARGET} for each in "ab"]
    write_rows(tmp_path / name, *rows)
    if name == "r.csv":
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    assert stats_of(open_rollouts([tmp_path / name])).target_area.tolist() == [0.02, 0.02]


def test_everything_that_a_rollout_says_is_counted(tmp_path):
    seen = {
        "sample_id": "a", "image_size": [200, 100], "target": TARGET, "source": "web", "round": 1, "temperature": 1.1,
    }  # fmt: skip
    rows = [
        {
            **seen, "rollout": 0, "acc": 1, "total": 0.75, "x_unit": 0.1, "y_unit": 0.2, "reason": "OK",
            "temperature": 1.1,
        },
        {
            **seen, "rollout": 1, "acc": 0, "total": 0.25, "x_unit": 0.3, "y_unit": 0.2, "reason": "OK",
            "temperature": 1.1,
        },
        {**seen, "rollout": 2, "acc": None, "total": 9.0, "reason": "NO_ANSWER", "response": "?"},
        {"sample_id": "b", "acc": True, "temperature": 1.1, "response": "(1, 2)"},
        {"sample_id": "b", "acc": False, "temperature": 1.4, "response": "(1, 2)"},
    ]  # fmt: skip
    stats = stats_of(table(tmp_path / "r.jsonl", rows))
    found = {name: np.asarray(getattr(stats, name)).tolist() for name in ALL}
    across = np.hypot(200, 100)
    expected = {
        "sample_id": ["a", "b"], "n": [2, 2], "num_correct": [1, 1], "unscored": [1, 0], "mean": [0.5, None],
        "variance": [0.0625, None], "lowest": [0.25, None], "highest": [0.75, None], "parse_rate": [2 / 3, None],
        "clicks": [2, 0], "x_unit": [0.2, None], "y_unit": [0.2, None], "dispersion": [20 / across, None],
        "target_area": [0.02, None], "target_diagonal": [np.hypot(20, 20) / across, None], "distinct": [-1, 1],
        "cells": [2, 1], "cell_entropy": [np.log(2), 0.0], "cell_rarity": [1.0, 2**-0.5],
        "item_difficulty": [None, None], "source": ["web", None], "round": [1, -1], "temperature": [1.1, None],
    }  # fmt: skip
    for name, column in expected.items():
        for value, meant in zip(found[name], column, strict=True):
            if meant is None and name != "source":
                assert np.isnan(value), name
            else:
                assert value == pytest.approx(meant, abs=1e-9), name


def test_responses_and_dispersion_count_scored_rollouts_alone_as_cells_do(tmp_path):
    seen = {"sample_id": "a", "image_size": [100, 100], "y_unit": 0.5}
    scored = [
        {**seen, "acc": 1, "x_unit": 0.25, "response": "one"},
        {**seen, "acc": 0, "x_unit": 0.75, "response": "two"},
    ]
    others = [{**seen, "acc": None, "x_unit": x, "response": f"response {x}"} for x in (0.01, 0.99)]
    stats = stats_of(table(tmp_path / "r.jsonl", [*scored, *others]))
    assert (stats.distinct.tolist(), stats.cells.tolist(), stats.clicks.tolist()) == ([2], [2], [4])
    assert stats.dispersion.tolist() == pytest.approx([0.25 / 2**0.5])
    unscored = stats_of(table(tmp_path / "unscored.jsonl", [scored[0], *others]))
    assert (unscored.distinct.tolist(), np.isnan(unscored.dispersion).tolist()) == ([1], [True])


def test_rounds_and_temperatures_can_be_chosen_and_samples_counted_by_any_column(tmp_path):
    rows = [
        {"sample_id": "a", "round": number, "acc": number - 1, "temperature": 1.1 * number, "app": ["x", 1]}
        for number in (1, 2)
    ]
    rollouts = table(tmp_path / "r.jsonl", rows)
    assert stats_of(rollouts).n.tolist() == [2]
    assert stats_of(rollouts, rounds=[1]).num_correct.tolist() == [0]
    assert stats_of(rollouts, temperature=2.2).num_correct.tolist() == [1]
    assert stats_of(rollouts, by="app").source.tolist() == ['["x",1]']
    for options, error, message in (
        ({"rounds": [3]}, PoolError, "no rollouts of round 3; rounds that are there: 1, 2"),
        ({"temperature": 1.2}, PoolError, r"no rollouts at temperature 1.2; temperatures that are there: 1.1, 2.2"),
        ({"by": "apps"}, TableError, "no column 'apps'; did you mean 'app'"),
    ):
        with pytest.raises(error, match=message):
            stats_of(rollouts, **options)
    bare = table(tmp_path / "bare.jsonl", [{"sample_id": "a", "acc": 1}])
    with pytest.raises(TableError, match="no column 'round'"):
        stats_of(bare, rounds=[1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"sample_id": "a", "acc": 1, "total": float("inf")}], "total of a rollout of sample 'a': got inf"),
        ([{"sample_id": "a", "acc": 1, "rollout": 3}] * 2, "sample 'a', rollout 3 is there 2 times; expected each"),
        ([{"sample_id": "a", "acc": 1, "rollout": each} for each in (1, 65, 129, 65)], "rollout 65 is there 2 times"),
    ],
)
def test_what_is_no_verdict_or_is_there_twice_is_an_error(tmp_path, rows, message):
    with pytest.raises(PoolError, match=message):
        stats_of(table(tmp_path / "r.jsonl", rows))


@pytest.mark.parametrize("name", [None, ""])
def test_a_parquet_file_with_a_nameless_rollout_is_an_error(tmp_path, name):
    pq.write_table(pa.table({"sample_id": ["a", name], "acc": [1, 0]}), tmp_path / "r.parquet")
    with pytest.raises(PoolError, match="some rollouts have no sample_id; expected the name of the sample in each"):
        stats_of(open_rollouts([tmp_path / "r.parquet"]))


def test_rollouts_whose_numbers_agree_modulo_64_are_not_taken_for_one(tmp_path):
    rows = [
        {"sample_id": "a", "acc": 1, "round": number, "rollout": each}
        for number in (0, 64)
        for each in range(0, 640, 64)
    ]
    assert stats_of(table(tmp_path / "r.jsonl", [*rows, {"sample_id": "a", "acc": 1}] * 1)).n.tolist() == [21]


ROLLOUTS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([0, 1, None]), st.none() | st.floats(-1e3, 1e3)),
    min_size=1,
    max_size=30,
)


@pytest.mark.slow
@settings(max_examples=25)
@given(rows=ROLLOUTS, seed=st.integers(0, 9))
def test_it_is_what_the_arrays_say_and_the_order_of_rows_changes_no_bit(tmp_path_factory, rows, seed):
    path = tmp_path_factory.mktemp("rollouts") / "r.jsonl"
    written = [{"sample_id": sample, "acc": acc, "total": total} for sample, acc, total in rows]
    found = stats_of(table(path, written))
    expected = sample_stats(*([row[field] for row in rows] for field in range(3)))
    expected = expected.taken(np.argsort(expected.sample_id.astype(str)))
    for name in ("sample_id", "n", "num_correct", "unscored"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(found.variance, expected.variance, atol=1e-6)
    np.testing.assert_array_equal(found.spread, expected.spread)
    mixed = [written[place] for place in np.random.default_rng(seed).permutation(len(written))]
    again = stats_of(table(path, mixed))
    for name in ALL:
        assert repr(np.asarray(getattr(again, name)).tolist()) == repr(np.asarray(getattr(found, name)).tolist())


def test_without_names_the_counts_are_the_same(tmp_path):
    rows = [{"sample_id": f"s{each % 7}", "acc": each % 2, "total": 0.1} for each in range(50)]
    rollouts = table(tmp_path / "r.jsonl", rows)
    bare = stats_of(rollouts, columns=())
    assert bare.sample_id.tolist() == [None] * 7
    assert sorted(bare.n.tolist()) == sorted(stats_of(rollouts).n.tolist())
    assert np.isnan(bare.mean).all()
    assert stats_of(rollouts).mean.tolist() == [0.1] * 7
    assert stats_of(rollouts).variance.tolist() == [0.0] * 7


@pytest.mark.parametrize("columns", [ALL, ()])
def test_every_column_asked_for_or_none_what_is_wrong_is_found(tmp_path, columns):
    def refused(message, *rows):
        with pytest.raises(PoolError, match=message):
            stats_of(table(tmp_path / "r.jsonl", rows), columns=columns)

    first = {"sample_id": "a", "acc": 1, "round": 1, "rollout": 65}
    refused("acc of a rollout of sample 'a': got 0.5; expected 0 or 1", first, {**first, "acc": 0.5, "rollout": 2})
    odd = {**first, "acc": 2}
    refused("acc of a rollout of sample 'a': got 2; expected 0 or 1", odd, *[{**odd, "rollout": n} for n in range(5)])
    refused("acc of a rollout of sample 'a': got -1; expected 0 or 1", {**first, "acc": -1})
    refused("sample 'a', round 1, rollout 65 is there 2 times", first, {**first, "acc": 0})
    pq.write_table(pa.table({"sample_id": ["a", None], "acc": [1, 1]}), tmp_path / "r.parquet")
    with pytest.raises(PoolError, match="some rollouts have no sample_id"):
        stats_of(open_rollouts([tmp_path / "r.parquet"]), columns=columns)
    later = [{**first, "rollout": 1}, {**first, "rollout": 3, "acc": 0}, {**first, "round": 2, "acc": None}]
    found = stats_of(table(tmp_path / "r.jsonl", [first, *later]), columns=columns)
    assert (found.n.tolist(), found.num_correct.tolist(), found.unscored.tolist()) == ([3], [2], [1])
    unnumbered = [{"sample_id": "a", "acc": 1, "rollout": None}] * 3
    assert stats_of(table(tmp_path / "r.jsonl", unnumbered), columns=columns).n.tolist() == [3]


def test_sources_are_looked_at_where_they_are_asked_for(tmp_path):
    rows = [{"sample_id": "a", "acc": 1, "source": each} for each in ("web", "app")]
    assert stats_of(table(tmp_path / "r.jsonl", rows), columns=()).source.tolist() == [None]
    with pytest.raises(PoolError, match="sample 'a' has several values of source, 'app' and 'web'"):
        stats_of(table(tmp_path / "r.jsonl", rows), columns=["source"])


def test_statistics_that_come_in_several_batches(tmp_path, monkeypatch):
    names = np.repeat([f"s{each:05d}" for each in range(5000)], 2)
    rows = {"sample_id": names, "acc": np.arange(10000) % 3 == 0, "source": np.where(names < "s03000", "a", None)}
    pq.write_table(pa.table(rows), tmp_path / "r.parquet")
    found = stats_of(open_rollouts([tmp_path / "r.parquet"]))
    monkeypatch.setattr(rollout_table, "_ROWS", 2048)
    again = stats_of(open_rollouts([tmp_path / "r.parquet"]))
    assert again.sample_id.tolist() == found.sample_id.tolist() == names[::2].tolist()
    assert again.num_correct.tolist() == found.num_correct.tolist()
    assert again.source.tolist() == found.source.tolist() == ["a"] * 3000 + [None] * 2000
    rows["acc"] = np.where(np.arange(10000) == 9999, 0.5, 1.0)
    pq.write_table(pa.table(rows), tmp_path / "r.parquet")
    with pytest.raises(PoolError, match=r"acc of a rollout of sample 's04999': got 0\.5"):
        stats_of(open_rollouts([tmp_path / "r.parquet"]))


@pytest.mark.timeout(30)
def test_a_table_answers_on_after_an_error(tmp_path):
    rows = [{"sample_id": "a", "acc": 1, "round": 4, "target": '{"bbox": [1, 1, 2, 2]}', "image_size": [9, 9]}]
    rollouts = table(tmp_path / "r.jsonl", rows)
    with pytest.raises(ValueError, match="unknown space 'nowhere'") as caught:
        stats_of(rollouts, target_space="nowhere")
    assert (rollouts.rounds(), caught.type.__name__) == ({4: 1}, "SpaceError")  # while the error holds its frames


def test_what_is_not_scored_changes_no_number(tmp_path):
    scored = [{"sample_id": "a", "acc": 1, "total": each} for each in (0.001, 0.002)]
    found = stats_of(table(tmp_path / "r.jsonl", [*scored, {"sample_id": "b", "acc": None, "total": 1e13}]))
    assert found.mean.tolist()[0] == pytest.approx(0.0015, abs=1e-15)
    assert found.variance.tolist()[0] == pytest.approx(2.5e-7, abs=1e-12)
    assert np.isnan([found.mean[1], found.variance[1]]).all()


def test_the_mean_of_equal_totals_is_theirs_whatever_else_is_asked_for(tmp_path):
    rows = [{"sample_id": "a", "acc": 1, "total": 0.9783548583709967}] * 6
    for columns in (["mean"], ["mean", "lowest"], ALL):
        assert stats_of(table(tmp_path / "r.jsonl", rows), columns=columns).mean.tolist() == [0.9783548583709967]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rounds": [1.5]}, "rounds: got 1.5; expected whole numbers"),
        ({"rounds": [None]}, "rounds: got None; expected whole numbers"),
        ({"temperature": float("nan")}, "temperature: got nan; expected a finite number"),
        ({"columns": ["meen"]}, "columns: got 'meen'; did you mean 'mean'? expected a list of these: sample_id, n, "),
        ({"columns": "mean"}, "columns: got 'mean'; expected a list of these: sample_id, n, "),
        (
            {"rounds": [1], "temperature": 2.0},
            "r.jsonl: no rollouts of round 1 at temperature 2; rounds that are there: 1, 2; temperatures that are "
            "there in these rounds: 1",
        ),
        ({"rounds": []}, "r.jsonl: no rollouts of round (none); rounds that are there: 1, 2"),
        ({"temperature": 3.0}, "r.jsonl: no rollouts at temperature 3; temperatures that are there: 1, 2"),
    ],
)
def test_what_cannot_be_asked_for(tmp_path, asked, message):
    rows = [{"sample_id": "a", "acc": 1, "round": each, "temperature": each} for each in (1, 2)]
    with pytest.raises(PoolError, match=re.escape(message)):
        stats_of(table(tmp_path / "r.jsonl", rows), **asked)


def clicked(sample: str, x: float | None, y: float | None = 0.0, **further: object) -> dict[str, object]:
    return {"sample_id": sample, "acc": 0, "x_unit": x, "y_unit": y, **further}


def test_answers_are_cells_and_those_without_a_point_are_one_more(tmp_path):
    rows = [
        *(clicked("a", x) for x in (0.0, 0.031, 0.032, 1.0, 1.7)),  # 0.03125 is the border of the first cell
        clicked("a", 0.0, 0.5),
        clicked("a", None, None),
        clicked("a", None, 0.5),
        clicked("a", 0.7, acc=None),  # was not scored
        *[clicked("b", 0.5)] * 4,
        clicked("c", 0.5, acc=None),
    ]
    stats = stats_of(table(tmp_path / "r.jsonl", rows))
    # two in the first cell, two in the last column (beyond the border is the border), two without a point
    assert stats.cells.tolist() == [5, 1, -1]
    assert stats.cell_entropy[:2] == pytest.approx([3 * 0.25 * np.log(4) + 2 * 0.125 * np.log(8), 0.0], abs=1e-11)
    assert stats.cell_rarity[:2] == pytest.approx([(3 * 2 / 2**0.5 + 2) / 8, 0.5], abs=1e-11)
    assert np.isnan(stats.cell_entropy[2])
    assert np.isnan(stats.cell_rarity[2])


def test_an_answer_key_goes_before_the_cell_and_rounds_are_counted_apart(tmp_path):
    rows = [
        clicked("a", x, round=number, answer_key=key)
        for x, number, key in ((0.1, 1, "ok"), (0.9, 1, "ok"), (0.1, 1, None), (0.1, 2, "ok"))
    ]
    rollouts = table(tmp_path / "r.jsonl", rows)
    assert [stats_of(rollouts, rounds=rounds).cells.tolist() for rounds in ([1], [2], None)] == [[2], [1], [2]]
    assert stats_of(rollouts, columns=["cells"]).cells.tolist() == [2]
    bare = stats_of(table(tmp_path / "bare.jsonl", [{"sample_id": "a", "acc": 1}]))
    assert (bare.cells.tolist(), np.isnan(bare.cell_entropy).tolist()) == ([-1], [True])


def test_samples_keep_their_answers_in_any_order_of_columns(tmp_path):
    rows = [clicked(f"s{place % 7}", place / 40, place % 3 / 3, rollout=place) for place in range(40)]
    whole = stats_of(table(tmp_path / "a.jsonl", rows))
    other = stats_of(table(tmp_path / "b.jsonl", rows[::-1]), columns=["cell_entropy", "cells"])
    assert whole.cell_entropy.tolist() == other.cell_entropy.tolist()
    assert whole.cells.tolist() == other.cells.tolist()


def test_points_that_are_no_shares_of_the_image_are_a_warning(tmp_path):
    warned: list[str] = []
    thousandths = table(tmp_path / "a.jsonl", [clicked("a", 700.0, 300.0), clicked("b", 1.0, 500.0)])
    stats_of(thousandths, warn=warned.append)
    assert [text.partition(";")[0] for text in warned] == ["2 of 2 samples have clicks beyond 2 in x_unit or y_unit"]
    stats_of(table(tmp_path / "b.jsonl", [clicked("a", 700.0), clicked("b", 1.0)]), warn=warned.append)
    assert len(warned) == 1  # one of two


def test_answers_of_samples_whose_names_have_one_hash_count_apart(tmp_path, monkeypatch):
    clicks = [("b", 0.1), ("a", 0.1), ("b", 0.9), ("c", None)]
    rows = [{"sample_id": name, "acc": 1, "x_unit": x, "y_unit": 0.5} for name, x in clicks]
    assert stats_of(table(tmp_path / "r.jsonl", rows)).cells.tolist() == [1, 2, 1]
    monkeypatch.setattr(aggregate, "HASH", "1::UBIGINT")
    assert stats_of(table(tmp_path / "r.jsonl", rows)).cells.tolist() == [1, 2, 1]
