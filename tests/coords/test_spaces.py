"""Coordinate spaces: names, extents, and conversion in one step."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.resizing import Resizing, pipelines
from grounding_rewards.coords.spaces import (
    CoordSpace,
    as_space,
    convert,
    extents,
    sizes_needed,
)

PIXEL, MODEL, UNIT, THOUSANDTHS = CoordSpace.PIXEL, CoordSpace.MODEL_PIXEL, CoordSpace.UNIT, CoordSpace.THOUSANDTHS
SCREEN = np.array([[1920.0, 1080.0]])
SEEN = np.array([[960.0, 540.0]])
UNKNOWN = np.array([[np.nan, np.nan]])


def test_the_four_spaces_have_these_names():
    assert [str(space) for space in CoordSpace] == ["pixel", "model_pixel", "unit", "thousandths"]


@pytest.mark.parametrize("name", ["pixels", "Unit", "", " unit", None, 1, 0.5, [], "norm"])
def test_an_unknown_space_is_an_error_that_lists_the_four(name):
    with pytest.raises(gr.SpaceError, match="pixel, model_pixel, unit, thousandths"):
        as_space(name)


def test_a_space_reads_by_name_and_as_itself():
    assert as_space("thousandths") is THOUSANDTHS
    assert as_space(THOUSANDTHS) is THOUSANDTHS


def test_only_unit_and_thousandths_fix_their_extent():
    assert [space.extent for space in CoordSpace] == [None, None, 1.0, 1000.0]
    assert [space.size_field for space in CoordSpace] == ["image_size", "model_image_size", None, None]


def test_sizes_are_needed_only_where_a_conversion_reads_them():
    for spaces, into, fields in [
        ((PIXEL, PIXEL), PIXEL, ()),
        ((UNIT, THOUSANDTHS), UNIT, ()),
        ((PIXEL, THOUSANDTHS), PIXEL, ("image_size",)),
        ((THOUSANDTHS,), MODEL, ("model_image_size",)),
        ((PIXEL, MODEL), PIXEL, ("image_size", "model_image_size")),
        ((UNIT, MODEL), UNIT, ("model_image_size",)),
        ((None, PIXEL), PIXEL, ()),
        ((None, UNIT), PIXEL, ("image_size",)),
    ]:
        assert sizes_needed(*spaces, into=into) == fields, (spaces, into, fields)


def test_a_point_converts_to_literal_values():
    for point, source, into, expected in [
        ([500, 250], THOUSANDTHS, PIXEL, [960, 270]),
        ([500, 250], THOUSANDTHS, MODEL, [480, 135]),
        ([0.5, 0.25], UNIT, PIXEL, [960, 270]),
        ([0.5, 0.25], UNIT, THOUSANDTHS, [500, 250]),
        ([960, 270], PIXEL, UNIT, [0.5, 0.25]),
        ([960, 270], PIXEL, MODEL, [480, 135]),
        ([480, 135], MODEL, PIXEL, [960, 270]),
        ([480, 135], MODEL, UNIT, [0.5, 0.25]),
        ([7, 7], MODEL, MODEL, [7, 7]),
    ]:
        assert convert(np.array([point], dtype=float), source, into, SCREEN, SEEN).tolist() == [expected], point


def test_thousandths_divide_exactly_into_unit():
    # 9 * 0.001 is 0.009000000000000001; 9 / 1000 is the 0.009 that targets are written in.
    assert convert(np.array([[405.0, 9.0]]), THOUSANDTHS, UNIT, UNKNOWN, UNKNOWN).tolist() == [[0.405, 0.009]]
    assert gr.recipe("gelato").score("(9, 9)", [0.0, 0.0, 0.009, 0.009]).acc.tolist() == [1]


def test_into_other_spaces_the_factor_is_one_quotient():
    # The contract says x * (W / w): one rounding of the factor, one of the product.
    x, screen = 333.0, np.array([[1366.0, 768.0]])
    converted = convert(np.array([[x, x]]), THOUSANDTHS, PIXEL, screen, UNKNOWN)
    assert converted.tolist() == [[x * (1366.0 / 1000.0), x * (768.0 / 1000.0)]]


def test_a_box_converts_corner_by_corner_with_each_side_by_its_own_axis():
    box = np.array([[100.0, 200.0, 300.0, 400.0]])
    assert convert(box, THOUSANDTHS, PIXEL, SCREEN, UNKNOWN).tolist() == [[192, 216, 576, 432]]
    assert convert(box, THOUSANDTHS, UNIT, UNKNOWN, UNKNOWN).tolist() == [[0.1, 0.2, 0.3, 0.4]]


def test_an_unknown_size_gives_nan_and_nothing_else_does():
    assert np.isnan(convert(np.array([[1.0, 1.0]]), UNIT, PIXEL, UNKNOWN, SEEN)).all()
    assert np.isfinite(convert(np.array([[1.0, 1.0]]), UNIT, MODEL, UNKNOWN, SEEN)).all()


def test_rows_convert_by_their_own_sizes():
    sizes = np.array([[100.0, 200.0], [10.0, 20.0]])
    points = np.array([[0.5, 0.5], [0.5, 0.5]])
    unknown = np.full((2, 2), np.nan)
    assert convert(points, UNIT, PIXEL, sizes, unknown).tolist() == [[50, 100], [5, 10]]


def test_extents_are_rows_of_width_and_height():
    assert extents(UNIT, SCREEN, SEEN).tolist() == [[1, 1]]
    assert extents(THOUSANDTHS, SCREEN, SEEN).tolist() == [[1000, 1000]]
    assert extents(PIXEL, SCREEN, SEEN).tolist() == [[1920, 1080]]
    assert extents(MODEL, SCREEN, SEEN).tolist() == [[960, 540]]


@settings(max_examples=100)
@given(
    st.lists(st.floats(1e-9, 1) | st.sampled_from([0.0, -0.5, 1.5]), min_size=4, max_size=4),
    st.sampled_from(list(CoordSpace)),
    st.sampled_from(list(CoordSpace)),
    st.integers(1, 8000),
    st.integers(1, 8000),
    st.sampled_from([name for name in pipelines() if "+" in name]),
)
def test_there_and_back_is_the_same_point_and_the_same_box(shares, source, into, width, height, pipeline):
    sizes = np.array([[width, height]], dtype=float)
    seen, refused = Resizing(pipeline, max_pixels=1003520).sizes(sizes)
    assume(not refused)
    box = convert(np.array([shares]), UNIT, source, sizes, seen)
    for place in (box, box[:, :2]):
        there = convert(place, source, into, sizes, seen)
        assert convert(there, into, source, sizes, seen) == pytest.approx(place, rel=1e-12, abs=0)
    # By way of a third space, too.
    third = convert(convert(box, source, into, sizes, seen), into, UNIT, sizes, seen)
    assert third == pytest.approx(np.array([shares]), rel=1e-12, abs=0)
