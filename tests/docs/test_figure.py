"""Pictures of recipes in docs: panels, outlines, marks, places."""

from __future__ import annotations

import pytest

import grounding_rewards as gr
from docs.gallery.figure import layout, plot, shaped
from grounding_rewards.explain import Case
from grounding_rewards.explain.plot.picture import picture

CLICK = gr.recipe("click", response_space="pixel")


def drawn(response, bbox, size=(1000, 500)):
    figure = plot(picture(CLICK, Case((response,), ({"bbox": bbox},), image_sizes=(size,)), cells=100))
    return figure, [axes for axes in figure.axes if axes.images]


def found(axes, label):
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return line.get_xydata().tolist()


def test_the_whole_screen_and_a_closer_view_with_target_and_answer():
    figure, (whole, closer) = drawn("(120, 110)", [100, 100, 140, 120])
    assert whole.images[0].get_extent() == [0.0, 1000.0, 500.0, 0.0]
    assert closer.images[0].get_extent() == [20.0, 220.0, 210.0, 10.0]
    for axes in (whole, closer):
        assert found(axes, "target") == [[100, 100], [140, 100], [140, 120], [100, 120], [100, 100]]
        assert found(axes, "the answer") == [[120, 110]]
    texts = [text.get_text() for text in figure.texts]
    assert texts == ["click", "the answer: total 1, acc 1, OK; range of the recipe 0 to 1"]
    assert [text.get_text() for text in figure.legends[0].texts] == ["target", "the answer"]
    assert {axes.images[0].get_clim() for axes in (whole, closer)} == {(0.1, 1.0)}


def test_a_flat_screen_is_stretched_and_looked_at_closely():
    figure, (whole, closer) = drawn("(6000, 10)", [5980, 4, 6040, 16], (10_000, 20))
    for axes in (whole, closer):
        at = axes.get_position()
        assert at.width * figure.get_figwidth() / (at.height * figure.get_figheight()) == pytest.approx(5.0, rel=0.01)
    assert whole.get_position().x0 == closer.get_position().x0
    assert closer.get_xlabel() == "pixels; the narrow side is stretched"


@pytest.mark.parametrize("aspects", [[[2.0]], [[0.45, 1.0]], [[9.0], [1.0]], [[500.0], [0.01]]])
def test_panels_keep_their_shape_and_do_not_touch(aspects):
    found = layout(aspects)
    width, height = found.size
    places = [place for row in found.panels for place in row]
    for aspect, place in zip([each for row in aspects for each in row], places, strict=True):
        assert place[2] * width / (place[3] * height) == pytest.approx(shaped(aspect), rel=0.01)
    for number, (x, y, w, h) in enumerate([*places, found.bar]):
        assert min(x, y) > 0
        assert max(x + w, y + h) < 1
        for a, b, c, d in places[:number]:
            assert x >= a + c or a >= x + w or y >= b + d or b >= y + h
