"""Extreme and missing numbers in a rollout table, to the last bit."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.pool.aggregate import stats_of
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
