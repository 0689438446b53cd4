"""Extreme and missing numbers in a rollout table, to the last bit."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards import advantages
from grounding_rewards.groups.exploration import mean_bonus
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.stats import sample_stats
from grounding_rewards.tables.rollout_table import open_rollouts


def stats(folder, rows):
    pq.write_table(pa.Table.from_pylist(rows), folder / "rollouts.parquet")
    return stats_of(open_rollouts([folder / "rollouts.parquet"]))


@pytest.mark.parametrize(("far", "counted"), [(5000.0, 1000.0), (-5000.0, -1000.0), (1e300, 1000.0)])
def test_clicks_count_as_no_farther_out_than_a_thousand_images(tmp_path, far, counted):
    click = {"sample_id": "a", "acc": 0, "y_unit": 0.5, "image_size": [30.0, 40.0]}
    found = stats(tmp_path, [click | {"x_unit": far}, click | {"x_unit": 0.0}])
    assert found.x_unit.tolist() == [counted / 2]
    assert found.dispersion.tolist() == [500 * 30 / 50]


@pytest.mark.parametrize("size", [[30.0, 0.0], [0.0, 40.0], [30.0, -40.0], [-30.0, 40.0], [30.0, math.inf]])
def test_clicks_on_an_image_without_an_area_have_no_dispersion(tmp_path, size):
    click = {"sample_id": "a", "acc": 0, "y_unit": 0.5, "image_size": size}
    found = stats(tmp_path, [click | {"x_unit": 0.2}, click | {"x_unit": 0.4}])
    assert found.clicks.tolist() == [2]
    assert math.isnan(found.dispersion[0])


def test_parse_rates_are_of_the_rollouts_that_say_a_reason(tmp_path):
    reasons = ["OK", "NO_ANSWER", "OUT_OF_IMAGE", "MALFORMED", None, "cut short"]
    found = stats(tmp_path, [{"sample_id": "a", "acc": 0, "reason": reason} for reason in reasons])
    assert found.parse_rate.tolist() == [0.5]


def test_the_mean_of_equal_totals_is_that_total_whatever_others_are(tmp_path):
    rows = [{"sample_id": "a", "acc": 0, "total": 0.1}] * 10 + [{"sample_id": "b", "acc": 1, "total": 1e6}]
    assert stats(tmp_path, rows).mean.tolist() == [0.1, 1e6]


@pytest.mark.parametrize("name", ["a*.parquet", "a?.parquet", "a[x].parquet", "a]*[x.parquet"])
def test_a_file_whose_name_looks_like_a_pattern_is_that_file_alone(tmp_path, name):
    for each in (name, "ax.parquet", "a]yx.parquet"):
        pq.write_table(pa.table({"sample_id": [each], "acc": [1]}), tmp_path / each)
    assert stats_of(open_rollouts([tmp_path / name])).sample_id.tolist() == [name]


@pytest.mark.parametrize("n", [3, 6, 7, 10, 13])
def test_values_that_are_alike_differ_by_exactly_nothing(tmp_path, n):
    # Sums of squares less squares of sums, and differences of logarithms, leave a rounding whose root is no small one.
    values = [0.1, 0.7, 1 / 3, 1.1, 1e-3, -0.3, 123456789.3, 1e-300]
    names = [name for name in "abcdefgh" for _ in range(n)]
    totals = np.repeat(values, n)
    click = {"acc": 1, "x_unit": 0.1, "y_unit": 0.7, "image_size": [1000.0, 700.0]}
    found = stats(
        tmp_path, [{**click, "sample_id": a, "total": b} for a, b in zip(names, totals.tolist(), strict=True)]
    )
    again = sample_stats(names, [1] * len(names), totals)
    assert (found.mean.tolist(), again.mean.tolist()) == (values, values)
    differences = [found.variance, found.dispersion, found.cell_entropy, again.variance]
    assert [column.tolist() for column in differences] == [[0.0] * 8] * 4
    group = np.repeat(np.arange(8), n)
    forms = [
        advantages.grpo(totals, group), advantages.dr_grpo(totals, group), advantages.leave_one_out(totals, group),
        advantages.mc_grpo(totals, group, mad_floor=0.1), advantages.gdpo({"hit": totals}, group),
        advantages.difficulty(totals, group, np.full(len(totals), 0.5)), mean_bonus([n] * len(totals), group),
    ]  # fmt: skip
    assert [np.abs(form).max() for form in forms] == [0.0] * len(forms)
