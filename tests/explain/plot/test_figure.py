"""Contents of a picture: panels, outlines, marks, scale."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import grounding_rewards as gr
from grounding_rewards.errors import PictureError
from grounding_rewards.explain import Case
from grounding_rewards.explain.plot.figure import plot, scale
from grounding_rewards.explain.plot.layout import layout, shaped
from grounding_rewards.explain.plot.panel import colours, lines
from grounding_rewards.explain.plot.picture import picture

CLICK = gr.recipe("click", response_space="pixel")
STRICT = gr.recipe("click", response_space="pixel", format_weight=0.0)
SCREEN = ((1000, 500),)
LARGE, SMALL = {"bbox": [100, 100, 500, 300]}, {"bbox": [100, 100, 140, 120]}


def drawn(response, target, *recipes, image=None):
    """A picture, coarse to be quick."""
    case = Case((response,), (target,), image_sizes=SCREEN, model_image_sizes=SCREEN)
    return plot([picture(each, case, cells=200) for each in recipes or (CLICK,)], image)


def panels(figure):
    """The axes that show maps."""
    return [axes for axes in figure.axes if axes.images]


def found(figure, label, panel=0):
    """The coordinates of a line of a panel."""
    (line,) = [line for line in panels(figure)[panel].lines if line.get_label() == label]
    return line.get_xydata().tolist()


def texts(figure):
    return [text.get_text() for text in figure.texts]


def heads(figure):
    """Return the title of each panel."""
    return [axes.get_title(loc="left") for axes in panels(figure)]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].texts]


def test_the_whole_screen_with_target_and_answer():
    figure = drawn("(200, 150)", LARGE)
    (panel,) = panels(figure)
    assert panel.images[0].get_extent() == [0.0, 1000.0, 500.0, 0.0]
    assert (panel.get_xlim(), panel.get_ylim()) == ((0.0, 1000.0), (500.0, 0.0))
    assert found(figure, "target") == [[100, 100], [500, 100], [500, 300], [100, 300], [100, 100]]
    assert found(figure, "the answer") == [[200, 150]]
    assert panel.images[0].get_array().max() == 1.0
    assert texts(figure) == ["click", "the answer: total 1, acc 1, OK; range of the recipe 0 to 1"]
    assert [text.get_text() for text in figure.legends[0].texts] == ["target", "the answer"]


def test_a_small_target_gets_a_second_panel():
    figure = drawn("(120, 110)", SMALL)
    whole, closer = panels(figure)
    assert closer.images[0].get_extent() == [20.0, 220.0, 210.0, 10.0]
    assert found(figure, "the answer", 1) == [[120, 110]]
    frames = [line.get_xydata()[0].tolist() for line in whole.lines if line.get_label() not in ("target", "the answer")]
    assert frames == [[20.0, 10.0]]


def test_a_box_is_drawn_as_a_box_and_places_that_are_no_boxes_too():
    figure = drawn("[100,120,300,200]", LARGE, gr.recipe("gui-g2"))
    assert found(figure, "the answer") == [[100, 120], [300, 120], [300, 200], [100, 200], [100, 120]]
    figure = drawn("(1, 1)", {"polygon": [0, 0, 500, 0, 0, 400]})
    assert found(figure, "target") == [[0, 0], [500, 0], [0, 400], [0, 0]]
    regions = {"regions": [LARGE, {"circle": [700, 300, 150]}]}
    (panel,) = panels(drawn("(1, 1)", regions))
    assert [line.get_label() for line in panel.lines] == ["target", "target", "the answer"]
    assert len(panel.lines[1].get_xydata()) == 73


def test_the_rest_of_the_group_is_marked():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    case = Case(("(200, 150)", "(210, 155)", "(700, 400)"), (None,) * 3, image_sizes=SCREEN * 3, groups=(0,) * 3)
    figure = plot([picture(recipe, case, cells=100)])
    assert found(figure, "other answers of the group") == [[210, 155], [700, 400]]
    assert found(figure, "agreed on by the group") == [[185, 130], [225, 130], [225, 175], [185, 175], [185, 130]]
    assert legend(figure) == ["agreed on by the group", "the answer", "other answers of the group"]
    assert panels(figure)[1].images[0].get_extent() == [137.5, 272.5, 220.0, 85.0]
    assert found(figure, "other answers of the group", 1) == [[210, 155]]  # the third lies outside the closer view


def test_boxes_without_a_target_are_seen_whole_from_close_by():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    said = ("[100,100,200,150]", "[110,105,210,150]", "[600,400,700,450]")
    figure = plot([picture(recipe, Case(said, (None,) * 3, image_sizes=SCREEN * 3, groups=(0,) * 3), cells=60)])
    left, right, bottom, top = panels(figure)[1].images[0].get_extent()
    assert (left, right, bottom, top) == (0.0, 300.0, 300.0, 0.0)  # three times the width of the answer
    assert figure.axes[-1].get_ylabel() == "total for a box of the answer's size there"


def test_marks_at_the_border_are_whole_and_marks_that_cannot_be_seen_are_in_no_legend():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")

    def others(*points):
        case = Case(("(200, 150)", *points), (None,) * 2, image_sizes=SCREEN * 2, groups=(0, 0))
        return plot([picture(recipe, case, cells=50)])

    figure = others("(0, 0)")
    (line,) = [line for line in panels(figure)[0].lines if line.get_label() == "other answers of the group"]
    assert (line.get_clip_on(), line.get_xydata().tolist()) == (False, [[0, 0]])
    assert legend(others("(2000, 0)")) == ["the answer"]


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        ("nothing", "the answer: total 0, acc 0, NO_ANSWER; range of the recipe 0 to 1"),
        ("(2000, 0)", "the answer outside the picture: total 0.1, acc 0, OUT_OF_IMAGE; range of the recipe 0 to 1"),
    ],
)
def test_an_answer_that_cannot_be_seen_is_not_marked(response, verdict):
    figure = drawn(response, LARGE)
    assert texts(figure)[1] == verdict
    assert legend(figure) == ["target"]


def test_a_map_of_the_recipes_own_example_says_so():
    assert heads(drawn("(200, 150)", LARGE)) == [""]
    assert heads(drawn("(1, 1) (2, 2)", LARGE)) == ["map of the recipe's own example"]
    assert heads(drawn("no", SMALL, CLICK, STRICT)) == ["map of the recipe's own example"] * 2 + ["a closer view"] * 2


def test_cells_that_are_finer_than_answers_are_said():
    target = {"bbox": [100, 100, 110, 105], "space": "pixel"}
    case = Case(("(30, 55)",), (target,), image_sizes=((4000, 2000),))
    shown = picture(gr.recipe("gelato"), case, cells=400)
    lone, both = plot([shown]), plot([shown, shown])
    assert heads(lone) == ["", "a closer view"]
    assert panels(lone)[0].get_xlabel() == "pixels; answers in steps of 4 x 2"
    assert heads(both) == [""] * 2 + ["a closer view; answers in steps of 4 x 2"] * 2


def test_many_recipes_stand_in_rows_of_three():
    case = Case(("(200, 150)",), (LARGE,), image_sizes=SCREEN)
    one = picture(CLICK, case, cells=50)
    for many, rows in ((3, [3]), (4, [2, 2]), (5, [3, 2]), (7, [3, 3, 1])):
        figure = plot([replace(one, name=str(number)) for number in range(many)])
        tops = [round(axes.get_position().y1, 6) for axes in panels(figure)]
        assert [tops.count(top) for top in dict.fromkeys(tops)] == rows
        assert figure.get_figwidth() < 10
        named = {text.get_text(): text.get_position() for text in figure.texts}
        for number, axes in enumerate(panels(figure)):
            x, y = named[str(number)]
            assert x == pytest.approx(axes.get_position().x0)
            assert 0 < (y - axes.get_position().y1) * figure.get_figheight() < 0.6
        assert [bool(axes.get_xlabel()) for axes in panels(figure)].count(True) == 1


def test_a_flat_screen_is_stretched_and_looked_at_closely():
    case = Case(("(6000, 10)",), ({"bbox": [5980, 4, 6040, 16]},), image_sizes=((10_000, 20),))
    figure = plot([picture(CLICK, case, cells=100)])
    whole, closer = panels(figure)
    assert closer.images[0].get_extent() == [5860.0, 6160.0, 20.0, 0.0]
    for axes in (whole, closer):
        at = axes.get_position()
        assert at.width * figure.get_figwidth() / (at.height * figure.get_figheight()) == pytest.approx(5.0, rel=0.01)
    assert whole.get_position().x0 == closer.get_position().x0
    assert closer.get_xlabel() == "pixels; the narrow side is stretched"
    assert panels(drawn("(120, 110)", SMALL))[0].get_xlabel() == "pixels"


def test_several_recipes_stand_side_by_side_on_one_scale():
    pixel = {"response_space": "pixel", "target_space": "pixel"}
    infigui = gr.recipe("infigui-g1", **pixel)
    figure = drawn("(120, 110)", SMALL, CLICK, gr.recipe("gelato", **pixel), infigui)
    shown = panels(figure)
    assert len(shown) == 6
    assert {axes.images[0].get_clim() for axes in shown} == {(-1.0, 2.0)}
    assert len({round(axes.get_position().y0, 6) for axes in shown[:3]}) == 1
    assert [text for text in texts(figure) if "total" not in text] == ["click", "gelato", "infigui-g1"]
    assert len(figure.axes) == 7  # one colour bar
    ticks = figure.axes[-1].get_yticklabels()
    assert (ticks[0].get_text(), ticks[-1].get_text()) == (
        "-1",
        "2",
    )  # infigui-g1's total for a text that it cannot read


def test_the_scale_runs_over_the_totals_of_the_maps():
    case = Case(("(200, 150)",), (LARGE,), image_sizes=SCREEN)
    assert scale([picture(CLICK, case, cells=50)]) == (0.1, 1.0)
    flat = Case(("(200, 150)",), ({"refusal": True},), image_sizes=SCREEN)
    assert scale([picture(STRICT, flat, cells=50)]) == (0.0, 1.0)
    assert scale([picture(CLICK, flat, cells=50)]) == (0.1, 1.0)
    unread = Case(("nothing",), (LARGE,), image_sizes=SCREEN)
    assert scale([picture(CLICK, unread, cells=50)]) == (0.0, 1.0)  # the answer's total is on it, too


@pytest.mark.parametrize("shade", [0, 255])
def test_a_screenshot_lies_below_the_map_in_pale_shades(shade):
    image = np.full((50, 100, 3), shade, dtype=np.uint8)
    image[:10] = 255 - shade
    (axes,) = panels(drawn("(200, 150)", LARGE, image=image))
    below, _ = axes.images
    assert below.get_extent() == [0.0, 1000.0, 500.0, 0.0]
    assert np.unique(below.get_array().round(6)).tolist() == [0.4, 1.0]
    assert below.get_array()[-1, 0] == 1.0
    assert axes.get_xlabel() == ("pixels" if shade else "pixels; the dark screenshot is shown inverted")


def test_a_screenshot_needs_a_screen():
    recipe = gr.recipe("gelato-pixel")
    case = Case(("(2, 3)",), ([1, 2, 30, 40],))
    with pytest.raises(PictureError, match=r"gelato-pixel: a screenshot cannot .* give the target's model_image_size"):
        plot([picture(recipe, case, cells=50)], np.zeros((5, 5)))


def test_colours_get_lighter_all_the_way():
    red, green, blue, _ = colours(False)(np.linspace(0, 1, 256)).T
    lightness = 0.299 * red + 0.587 * green + 0.114 * blue
    assert (np.diff(lightness) > 0).all()
    assert lightness[-1] - lightness[0] > 0.7


def test_over_a_screenshot_the_scale_goes_from_clear_to_dark_all_the_way():
    *shades, solid = colours(True)(np.linspace(0, 1, 256)).T
    red, green, blue = (1 - solid + solid * shade for shade in shades)  # on white
    lightness = 0.299 * red + 0.587 * green + 0.114 * blue
    assert solid[0] == 0.0
    assert (np.diff(lightness) < 0).all()
    assert lightness[0] - lightness[-1] > 0.4
    assert solid[-1] == 0.5  # half of the screen below still shows
    shown = drawn("(2, 3)", LARGE, image=np.full((50, 100), 255))
    lowest = panels(shown)[0].images[1].to_rgba(np.array([[0.1]]), norm=True)
    assert lowest[0, 0, 3] == 0.0


def test_marks_are_white_with_a_black_edge():
    case = Case(("(200, 150)",), (LARGE,), image_sizes=SCREEN)
    for line in lines(picture(CLICK, case, cells=50).scene):
        assert line.get_color() == "white"
        stroke = line.get_path_effects()[0]
        assert stroke._gc["foreground"] == "black"


@pytest.mark.parametrize(
    "aspects", [[[2.0]], [[0.45, 1.0]], [[1.8] * 3, [1.0] * 3], [[0.4, 3.0], [None, 1.0]], [[9.0]], [[500.0], [0.01]]]
)
@pytest.mark.parametrize("titled", [(), (True, True)])
def test_panels_keep_their_shape_and_do_not_touch(aspects, titled):
    found = layout(aspects, titled)
    width, height = found.size
    places = [place for row in found.panels for place in row if place]
    for aspect, place in zip([each for row in aspects for each in row if each], places, strict=True):
        assert place[2] * width / (place[3] * height) == pytest.approx(shaped(aspect), rel=0.01)
    for number, (x, y, w, h) in enumerate([*places, found.bar]):
        assert x > 0
        assert y > 0
        assert x + w < 1
        assert y + h < 1
        for a, b, c, d in places[:number]:
            assert x >= a + c or a >= x + w or y >= b + d or b >= y + h


def test_nothing_to_draw_and_nothing_to_draw_with_are_errors(monkeypatch):
    with pytest.raises(PictureError, match="got no pictures"):
        plot([])
    shown = picture(CLICK, Case(("(200, 150)",), (LARGE,), image_sizes=SCREEN), cells=50)
    assert isinstance(plot([shown]), Figure)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PictureError, match=r"pip install 'grounding-rewards\[report\]'"):
        plot([shown])
