"""Order and unit of x and y in responses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.axes import Axes, axes_named

BOX = {"bbox": [1400, 250, 1480, 290], "image_size": [1920, 1080], "model_image_size": [1316, 728]}
FACTORS = st.floats(0.01, 100).map(lambda factor: float(f"{factor:.6g}"))


@pytest.mark.parametrize(
    ("space", "axes", "answer", "other"),
    [
        ("pixel", "yx", "(270, 1440)", "(1440, 270)"),
        ("pixel", "x/2,y/1.5", "(2880, 405)", "(1440, 270)"),
        ("pixel", "y/1.5,x/2", "(405, 2880)", "(2880, 405)"),
        ("thousandths", "yx", "(250, 750)", "(750, 250)"),
        ("thousandths", "yx", '{"bbox_2d": [240, 740, 260, 760]}', '{"bbox_2d": [740, 240, 760, 260]}'),
        ("unit", "x/100,y/100", "(75, 25)", "(0.75, 0.25)"),
        ("unit", "percent", "(75, 25)", "(0.75, 0.25)"),
        ("unit", "x/1024,y/768", "(768, 192)", "(192, 768)"),
        ("thousandths", "x+0.5,y+0.5", "(749.5, 249.5)", "(249.5, 749.5)"),
        ("thousandths", "y-0.5/2,x/2", "(500.5, 1500)", "(1500, 500.5)"),
        ("model_pixel", " y, x ", "(182, 987)", "(987, 182)"),
    ],
)
def test_a_click_as_it_is_written_hits(space, axes, answer, other):
    recipe = gr.recipe("click", response_space=space, axes=axes)
    scores = recipe.score([answer, other], [BOX] * 2)
    assert scores.acc.tolist() == [1.0, 0.0]
    assert scores.predictions.xy[0] == pytest.approx([1440, 270])
    assert gr.recipe(recipe.to_dict()) == recipe


def test_all_answers_and_the_end_of_a_drag_are_turned():
    several = '<think>A bar.</think>\n[{"point_2d": [270, 1440], "label": "a"}, {"point_2d": [5, 9], "label": "b"}]'
    recipe = gr.recipe("infigui-g1", response_space="model_pixel", target_space="pixel", axes="yx")
    assert recipe.prepare([several], [BOX]).predictions.points.tolist() == [[1440, 270], [9, 5]]
    drag = "Action: drag(start_box='(270,1440)', end_box='(20,30)')"
    read = gr.recipe("action", response_space="pixel", axes="yx").prepare([drag], [BOX]).predictions
    assert (read.xy.tolist(), read.arguments.to.tolist()) == ([[1440, 270]], [[30, 20]])


def test_the_default_is_no_option():
    recipe = gr.recipe("click", response_space="pixel", axes="xy")
    assert (recipe, recipe.options) == (gr.recipe("click", response_space="pixel"), (("response_space", "pixel"),))


@pytest.mark.parametrize("axes", ["xx", "x", "", "x/0,y", "x/-1,y", "x/1e999,y", "x/a,y", "xyx", 5, None, ["x", "y"]])
def test_what_is_no_axes_is_an_error(axes):
    with pytest.raises(gr.RecipeError, match=r"option axes: got .*; expected xy, yx, or each with a number above 0"):
        gr.recipe("click", response_space="pixel", axes=axes)


@given(
    st.booleans(),
    st.tuples(FACTORS, FACTORS),
    st.tuples(*[st.sampled_from([0.0, 0.5, -1.0])] * 2),
    st.lists(st.floats(-1e4, 1e4), min_size=4, max_size=4),
)
def test_names_and_numbers_come_back(y_first, scale, offset, numbers):
    axes, places = Axes(y_first, scale, offset), np.array([numbers])
    assert axes_named(str(axes)) == axes
    for columns in (places, places[:, :2]):
        assert axes.read(axes.write(columns)) == pytest.approx(columns)
