"""The size that a model saw, by pipeline."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.register import processors, space_of
from grounding_rewards.coords.resizing import Resizing, model_image_size, pipelines
from grounding_rewards.errors import ResizeError

HERE = Path(__file__).parents[1]
BOUNDS = ("min_pixels", "max_pixels", "processor_min_pixels", "processor_max_pixels")
SCREENS = (
    (1280, 720), (1366, 768), (1440, 900), (1536, 864), (1600, 900), (1680, 1050), (1920, 1080), (1920, 1200),
    (2560, 1440), (2560, 1600), (2880, 1800), (3840, 2160), (1080, 1920), (1080, 2400),
)  # fmt: skip
PIPELINES = [name for name in pipelines() if name != "phi_ground"]  # which has no bounds
by_bounds = st.sampled_from(PIPELINES)
sides = st.integers(1, 8000)


def resized(width, height, pipeline, **bounds):
    """The size, or (None, None) where the pipeline refuses."""
    try:
        return model_image_size(width, height, pipeline, **bounds)
    except ResizeError:
        return None, None


def groups():
    """Return sizes as real code resized them: EasyR1, qwen_vl_utils 0.0.14 for verl, the processors of transformers.

    Recorded with transformers 5.23; tests/trainers compares with the version that is installed, now 5.10.
    """
    lines = (HERE / "golden" / "resize.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_equals_what_the_real_code_made_of_a_size():
    for group in groups():
        bounds = {name: group[name] for name in BOUNDS}
        wrong = [
            (width, height, expected)
            for width, height, *expected in group["sizes"]
            if list(resized(width, height, group["pipeline"], **bounds)) != expected
        ]
        assert group["sizes"], group["pipeline"]
        assert not wrong, (group["pipeline"], bounds)


def test_the_recorded_sizes_cover_every_pipeline_and_refusals():
    assert {group["pipeline"] for group in groups()} == {name for name in PIPELINES if "qwen2_vl" not in name}
    assert all(
        any(row[2] is None for group in groups() if group["pipeline"] == name for row in group["sizes"])
        for name in ("easyr1+qwen2_5_vl", "easyr1+qwen3_vl", "verl+qwen2_5_vl", "verl+qwen3_vl", "qwen2_5_vl")
    )


def test_verl_resizes_twice_and_six_of_fourteen_common_screens_show_it():
    once = {screen: model_image_size(*screen, "qwen2_5_vl", max_pixels=2007040) for screen in SCREENS}
    twice = {screen: model_image_size(*screen, "verl+qwen2_5_vl", processor_max_pixels=2007040) for screen in SCREENS}
    assert {screen: (once[screen], twice[screen]) for screen in SCREENS if once[screen] != twice[screen]} == {
        (1920, 1080): ((1876, 1036), (1876, 1064)),
        (1920, 1200): ((1792, 1120), (1792, 1092)),
        (2560, 1600): ((1792, 1120), (1764, 1120)),
        (2880, 1800): ((1792, 1120), (1792, 1092)),
        (1080, 1920): ((1036, 1876), (1064, 1876)),
        (1080, 2400): ((924, 2100), (952, 2100)),
    }


def test_the_default_bounds_are_the_checkpoints():
    # 28 x 28 is below 3136 pixels, 32 x 32 below 65536.
    assert model_image_size(28, 28, "qwen2_5_vl") == (56, 56)
    assert model_image_size(32, 32, "qwen3_vl") == (256, 256)
    assert model_image_size(8000, 8000, "qwen2_5_vl") == (3584, 3584)  # 3584² = 12845056
    assert model_image_size(8000, 8000, "qwen3_vl") == (4096, 4096)  # 4096² = 16777216


def test_verls_first_step_has_bounds_of_its_own_in_tokens():
    # 16384 · 28² is the checkpoint's bound too; a processor with wider bounds shows the first step's.
    wide = {"processor_min_pixels": 1, "processor_max_pixels": 10**9}
    assert model_image_size(8000, 8000, "verl+qwen2_5_vl", **wide) == (3584, 3584)
    assert model_image_size(8000, 8000, "verl+qwen3_vl", **wide) == (4096, 4096)
    assert model_image_size(1, 1, "verl+qwen2_5_vl", **wide) == (56, 56)
    assert model_image_size(1, 1, "verl+qwen3_vl", **wide) == (64, 64)


@pytest.mark.parametrize(
    ("size", "pipeline", "bounds", "message"),
    [
        ((201, 1), "qwen2_5_vl", {}, "'qwen2_5_vl' refuses an image of 201 x 1: one side is 201.0 times the other"),
        ((1, 201), "verl+qwen3_vl", {}, "'verl\\+qwen3_vl' refuses an image of 1 x 201: one side is 201.0 times"),
        (
            (6000, 30), "easyr1+qwen2_5_vl", {"min_pixels": 262144, "max_pixels": 4194304},
            "6000 x 30, which its first step made 7240 x 36: one side is 201.1 times.* crop or pad",
        ),
        ((6000, 30), "verl+qwen2_5_vl", {}, "6000 x 30, which its first step made 5992 x 28: one side is 214.0 times"),
        ((5, 1000), "verl+qwen2_5_vl", {"min_pixels": 3136, "max_pixels": 20000}, "5 x 1000: it would become 0 x 1988"),
        ((3, 500), "easyr1+qwen2_5_vl", {"max_pixels": 100}, "3 x 500: it would become 0 x 129"),
    ],
)  # fmt: skip
def test_what_a_pipeline_refuses_is_an_error_that_says_what_it_had_become(size, pipeline, bounds, message):
    with pytest.raises(ResizeError, match=message) as caught:
        model_image_size(*size, pipeline, **bounds)
    assert isinstance(caught.value, gr.SpaceError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("name", "near"),
    [("qwen25_vl", "'qwen2_5_vl'"), ("verl+qwen_3_vl", "'verl+qwen3_vl'"), ("llava", "There are"), (None, "qwen")],
)
def test_an_unknown_pipeline_is_an_error_with_near_names(name, near):
    with pytest.raises(gr.SpaceError, match="unknown pipeline") as caught:
        model_image_size(10, 10, name)
    assert near in str(caught.value)


@pytest.mark.parametrize(
    "side", [0, -5, 1.5, float("nan"), float("inf"), True, "10", None, [10], 10**13, np.float64(0.5)]
)
def test_a_side_that_is_not_a_whole_number_from_1_is_an_error(side):
    with pytest.raises(gr.SpaceError, match=r"width: got .* expected a whole number from 1"):
        model_image_size(side, 10, "qwen2_5_vl")
    with pytest.raises(gr.SpaceError, match="height: got"):
        model_image_size(10, side, "qwen2_5_vl")


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("bound", [0, -1, 2.5, "1003520", True])
def test_a_bound_that_is_not_a_whole_number_from_1_is_an_error_that_names_it(name, bound):
    for pipeline in ("qwen3_vl", "verl+qwen3_vl", "easyr1+qwen3_vl"):
        with pytest.raises(gr.SpaceError, match=f"^{name}: got"):
            model_image_size(10, 10, pipeline, **{name: bound})


def test_numbers_of_numpy_and_whole_floats_are_read():
    expected = model_image_size(1920, 1080, "verl+qwen2_5_vl", 3136, 1003520)
    given_in_numpy = model_image_size(np.int64(1920), np.float32(1080), "verl+qwen2_5_vl", np.int32(3136), 1003520.0)
    assert given_in_numpy == expected == (1316, 728)
    assert all(type(side) is int for side in given_in_numpy)


def test_a_pipeline_that_resizes_once_has_one_upper_bound():
    for bounds in ({"max_pixels": 1003520}, {"processor_max_pixels": 1003520}, dict.fromkeys(BOUNDS[1::2], 1003520)):
        assert model_image_size(1920, 1080, "qwen2_5_vl", **bounds) == (1316, 728)
    with pytest.raises(gr.SpaceError, match="got max_pixels 5000 and processor_max_pixels 6000; give one"):
        model_image_size(10, 10, "qwen2_5_vl", max_pixels=5000, processor_max_pixels=6000)


def test_verl_takes_no_image_whose_bounds_contradict_each_other():
    with pytest.raises(gr.SpaceError, match=r"bounds of 3136 to 1000 pixels in the image dict.* set min_pixels"):
        model_image_size(10, 10, "verl+qwen2_5_vl", max_pixels=1000)
    # The processor takes them, first the upper one, and nothing after it: no launch means that.
    with pytest.raises(gr.SpaceError, match=r"^min_pixels: got 5000, above max_pixels 1000; expected 1000 or less$"):
        model_image_size(500, 500, "qwen2_5_vl", min_pixels=5000, max_pixels=1000)


def test_models_have_pipelines_of_their_names_and_the_space_they_answer_in():
    assert {name: space_of(name) for name in processors()} == {
        "qwen2_vl": "thousandths", "qwen2_5_vl": "model_pixel", "qwen3_vl": "thousandths", "phi_ground": "model_pixel",
    }  # fmt: skip
    models = [name for name in processors() if name != "phi_ground"]
    assert {*PIPELINES} == {f"{trainer}{name}" for trainer in ("", "easyr1+", "verl+") for name in models}


def test_a_canvas_holds_the_image_at_its_upper_left_corner():
    sizes = [(1920, 1080), (2560, 1600), (1080, 2400), (1008, 672), (100, 60)]
    expected = [(1008, 567), (1008, 630), (302, 672), (1008, 672), (1008, 604)]
    assert [model_image_size(*size, "phi_ground") for size in sizes] == expected
    assert Resizing("phi_ground").canvas == (1008, 672)
    with pytest.raises(gr.SpaceError, match=r"'phi_ground' fits images into .1008, 672.: got max_pixels; leave it out"):
        Resizing("phi_ground", max_pixels=1003520)
    with pytest.raises(gr.SpaceError, match=r"unknown pipeline 'verl.phi_ground'"):
        Resizing("verl+phi_ground")
    with pytest.raises(ResizeError, match=r"refuses an image of 2000 x 1: it would become 1008 x 0; leave the image"):
        model_image_size(2000, 1, "phi_ground")


@given(sides, sides, st.sampled_from(["", "easyr1+", "verl+"]), st.integers(1, 10**7))
def test_qwen2_vl_is_resized_as_its_successor(width, height, trainer, bound):
    bounds = {"processor_max_pixels": bound, "min_pixels": 3136 if trainer else None}
    assert resized(width, height, f"{trainer}qwen2_vl", **bounds) == resized(
        width, height, f"{trainer}qwen2_5_vl", **bounds
    )


@given(sides, sides, by_bounds)
def test_sides_are_multiples_of_the_models_factor_within_the_checkpoints_bounds(width, height, pipeline):
    seen_width, seen_height = resized(width, height, pipeline)
    factor, least, most = (32, 65536, 16777216) if pipeline.endswith("qwen3_vl") else (28, 3136, 12845056)
    if seen_width is None:
        # Rounding in verl's first step can lengthen a strip beyond what its second takes.
        assert max(width, height) > (130 if pipeline.startswith("verl") else 200) * min(width, height)
    else:
        assert seen_width % factor == seen_height % factor == 0
        assert least <= seen_width * seen_height <= most


@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=20), by_bounds)
def test_a_table_is_its_rows(rows, pipeline):
    table, refused = Resizing(pipeline, max_pixels=500_000).sizes(np.array(rows, dtype=float))
    expected = [resized(*row, pipeline, max_pixels=500_000) for row in rows]
    assert [tuple(row) if not np.isnan(row).any() else (None, None) for row in table.tolist()] == expected
    assert sorted(refused) == [row for row, size in enumerate(expected) if size[0] is None]


def test_rows_without_a_size_are_unknown_and_rows_that_are_refused_say_why():
    table, refused = Resizing("qwen2_5_vl").sizes([(1920, 1080), None, (201, 1), (10.5, 3), (np.nan, 5)])
    assert table[0].tolist() == [1932, 1092]
    assert np.isnan(table[1:]).all()
    assert sorted(refused) == [2, 3]
    assert "201 x 1" in refused[2]
    assert refused[3] == "width: got 10.5; expected a whole number from 1"


def test_an_empty_table_is_one():
    for empty in ([], np.zeros((0, 2))):
        table, refused = Resizing("qwen3_vl").sizes(empty)
        assert table.shape == (0, 2)
        assert refused == {}


@pytest.mark.parametrize("table", [[1, 2, 3], [[1, 2, 3]], "large", [[1, 2], [3]], [["a", "b"]], 7])
def test_a_table_of_another_shape_is_an_error(table):
    with pytest.raises(gr.SpaceError, match=r"image sizes: got .* expected \[width, height\] for each image"):
        Resizing("qwen3_vl").sizes(table)


def test_settings_of_a_table_raise_even_where_it_has_no_rows():
    with pytest.raises(gr.SpaceError, match="max_pixels"):
        Resizing("qwen3_vl", max_pixels=0).sizes([])
    with pytest.raises(gr.SpaceError, match="unknown pipeline"):
        Resizing("qwen").sizes([])
