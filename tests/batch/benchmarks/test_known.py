"""Benchmarks by name: their numbers fit each other, and their files are known by their names."""

from __future__ import annotations

import re

import pytest

from grounding_rewards.batch.benchmarks import BENCHMARKS, Benchmark, benchmark, name_of
from grounding_rewards.batch.benchmarks.evaluation import _labels_of
from grounding_rewards.errors import RecipeError, TableError

EVERY = pytest.mark.parametrize("known", BENCHMARKS.values(), ids=BENCHMARKS)


def test_rows_of_the_headlines():
    assert {name: known.totals[0].rows for name, known in BENCHMARKS.items()} == {
        "screenspot": 1272, "screenspot-v2": 1272, "screenspot-pro": 1581, "osworld-g": 510, "osworld-g-refined": 510,
        "osworld-g-refusal": 564, "ui-vision": 5479, "mmbench-gui-l2": 3594, "showdown-clicks": 557,
    }  # fmt: skip


@EVERY
def test_cells_are_all_rows_of_groups_that_are_counted(known: Benchmark):
    groups = {name_of(group) for group in known.groups}
    means = [total for total in known.totals if total.cells]
    assert {total.group for total in means} <= groups
    assert all(sum(total.cells.values()) == total.rows for total in means)
    assert len({total.name for total in known.totals}) == len(known.totals)


@pytest.mark.parametrize(
    ("name", "stem", "labels"),
    [
        ("screenspot", "screenspot_mobile", {"platform": "mobile"}),
        ("screenspot-v2", "screenspot_web_v2", {"platform": "web"}),
        ("screenspot-pro", "android_studio_macos", {}),
        ("osworld-g", "OSWorld-G", {}),
        ("osworld-g-refined", "OSWorld-G_refined", {}),
        ("osworld-g-refusal", "OSWorld-G", {}),
        ("ui-vision", "element_grounding_spatial", {"kind": "spatial"}),
        ("mmbench-gui-l2", "L2_annotations", {}),
        ("showdown-clicks", "data", {}),
    ],
)
def test_names_of_files(name, stem, labels):
    chosen = [each for each in (stem, "classification_result") if re.fullmatch(BENCHMARKS[name].files, each)]
    assert chosen == [stem]
    assert _labels_of(BENCHMARKS[name], stem) == labels


@pytest.mark.parametrize(
    ("name", "stem", "labels"),
    [
        ("screenspot", "GTA1-Desktop-answers", {"platform": "desktop"}),
        ("screenspot", "webvoyager", {}),
        ("screenspot", "ui-tars-desktop_screenspot_mobile", {"platform": "mobile"}),
        ("screenspot-v2", "web-agent-screenspot_desktop_v2-run-mobile", {"platform": "desktop"}),
        ("screenspot", "web_screenspot_webvoyager", {"platform": "web"}),
        ("screenspot", "mobile-mobile-7b", {"platform": "mobile"}),
    ],
)
def test_names_of_answers_say_what_those_of_annotations_do_and_a_model_s_name_says_none_beside_them(name, stem, labels):
    assert _labels_of(BENCHMARKS[name], stem) == labels


@pytest.mark.parametrize("column", ["grounding_type", "group"])
def test_mai_ui_s_copy_of_mmbench_calls_the_grounding_type_a_group(column):
    known = BENCHMARKS["mmbench-gui-l2"]
    assert column in known.columns
    assert known.label({column: "basic"}, ("grounding_type",)) == "basic"


def test_a_name_of_two_platforms_is_an_error():
    text = "ui-tars-desktop_mobile: its name says desktop and mobile; expected one platform, as in names of "
    with pytest.raises(TableError, match=f"^{text}ScreenSpot-v2: rename the file$"):
        _labels_of(BENCHMARKS["screenspot-v2"], "ui-tars-desktop_mobile")


def test_a_name_that_is_none():
    with pytest.raises(RecipeError, match=r"^--benchmark: got 'ui_vision'; expected one of .*mean 'ui-vision'\?$"):
        benchmark("ui_vision")
    with pytest.raises(RecipeError, match=r"^aitw is a benchmark of whole actions: use evaluate_steps\(rows, 'aitw', "):
        benchmark("aitw")
