"""The figures say what the numbers say, and nothing in them lies over something else."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text

from grounding_rewards.pool.report.data import report
from grounding_rewards.pool.report.drawing import drawings
from grounding_rewards.pool.report.figures import heat, histogram, sample, sources
from grounding_rewards.pool.report.figures.style import legible
from grounding_rewards.pool.report.groups import by_source
from grounding_rewards.pool.report.rounds import Round
from grounding_rewards.pool.report.rounds import histogram as counted
from grounding_rewards.pool.transitions import transitions
from tests.pool.report.made import HOSTILE, shown, stats
from tests.pool.report.test_data import whole

BOX = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]])


def texts(figure):
    """What is written in a figure."""
    return [each.get_text() for each in figure.findobj(Text) if each.get_text() and each.get_visible()]


def written(axes):
    """What is written into a panel."""
    return [each.get_text() for each in axes.texts]


@pytest.fixture(scope="module")
def figures():
    """Every figure of a report whose names are hostile, drawn."""
    found = {}
    for drawing in drawings(whole()):
        found[drawing.file] = drawing.draw()
        found[drawing.file].draw_without_rendering()
    return found


def test_there_is_a_figure_of_each_section(figures):
    assert list(figures) == [
        "num-correct.png", "transition-1.png", "sources.png", "target-sizes.png", "no-signal.png", "temperatures.png",
        "pools.png", "hardest-1.png", "suspect-1.png",
    ]  # fmt: skip


def test_no_two_labels_of_an_axis_overlap_and_none_is_cut_off(figures):
    for name, figure in figures.items():
        width, height = figure.bbox.size
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                shown_labels = [label for label in axis.get_ticklabels() if label.get_visible() and label.get_text()]
                boxes = [label.get_window_extent() for label in shown_labels]
                inside = [box for box in boxes if box.width and box.height]
                assert not any(a.overlaps(b) for a, b in pairwise(inside)), name
            box = axes.get_tightbbox()
            assert box is None or (box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2), name


def test_bars_of_right_rollouts_are_the_counts(figures):
    first, _ = figures["num-correct.png"].axes[:2]
    assert [bar.get_height() for bar in first.containers[0]] == [2, 0, 0, 0, 0]
    assert [bar.get_height() for bar in first.containers[1]] == [0, 1, 1, 0, 0]
    assert [bar.get_height() for bar in first.containers[2]] == [0, 0, 0, 0, 1]
    assert written(first) == ["2", "1", "1", "1"]
    assert first.get_ylim()[1] > 2.2  # room for the count on top


def test_the_heat_map_writes_counts_and_colours_shares(figures):
    seen, chance = figures["transition-1.png"].axes[:2]
    assert written(seen) == ["1", "1", "1", "1", "1"]
    shares = seen.images[0].get_array()
    assert shares[0].tolist() == [0.5, 0.5, 0, 0, 0]
    assert shares.mask[3].all()
    assert chance.images[0].get_array()[0].sum() == pytest.approx(1.0)


def test_large_maps_have_no_counts_and_stand_below_each_other():
    rng = np.random.default_rng(0)
    large = [stats([40] * 20, rng.integers(0, 41, 20)) for _ in range(2)]
    seen, chance, _ = heat.heat_map(transitions(*large).to_json(), "a", "b").axes
    assert written(seen) == []
    assert seen.get_position().y0 > chance.get_position().y0


def test_bars_of_sources_are_shares_and_the_smallest_sources_share_one():
    lines = by_source(stats([1] * 70, [1] * 69 + [0], source=[f"s{min(place, 40)}" for place in range(70)]))
    axes = sources.sources(lines, "round").axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 30
    assert "12 smaller sources  (n = 12)" in labels
    assert "s40  (n = 30)" in labels
    ends = [bar.get_x() + bar.get_width() for bar in axes.containers[2]]
    assert ends == pytest.approx([1.0] * 30)


def test_a_round_without_scores_can_be_drawn():
    empty = Round("none", stats([0, 0], [0, 0]))
    assert histogram.num_correct([counted(empty)])
    assert [each.section for each in drawings(report("none", [empty]))] == ["num_correct"]


def test_sizes_of_rounds_lie_beside_each_other_and_signals_have_a_mark(figures):
    above, below = figures["target-sizes.png"].axes
    assert len(above.containers) == 2
    assert written(below) == ["1", "0", "1", "2", "0", "0", "1"]
    (bars,) = figures["no-signal.png"].axes
    assert [list(line.get_xdata()) for line in bars.lines] == [[0.4]]


def test_clicks_that_agree_are_seen_closely(figures):
    whole_screen, target, clicks = figures["suspect-1.png"].axes
    assert [axes.get_title(loc="left") for axes in (whole_screen, target, clicks)] == [
        "the whole screen", "1: around the target", "2: around the clicks",
    ]  # fmt: skip
    assert whole_screen.get_xlim() == (0.0, 200.0)
    assert {line.get_label() for line in whole_screen.lines} == {"target", "wrong clicks"}
    low, high = clicks.get_xlim()
    assert low < 160 < 162 < high < 200


def test_a_sample_without_clicks_size_or_target_is_drawn():
    bare = shown(clicks=np.zeros((0, 2)), right=np.zeros(0, bool), outlines=(), image_size=None)
    (axes,) = sample.sample(bare).axes
    assert axes.get_xlim() == (0.0, 16 / 9)
    point = shown(outlines=(np.array([[0.5, 0.5]]),), right=np.array([True, False]))
    assert {line.get_label() for line in sample.sample(point).axes[0].lines} == {
        "target",
        "wrong clicks",
        "right clicks",
    }


@pytest.mark.parametrize(("light", "shade"), [(200, 0.35 + 0.65 * 200 / 255), (20, 0.35 + 0.65 * 235 / 255)])
def test_a_screenshot_lies_below_and_a_dark_one_is_inverted(light, shade):
    image = np.full((100, 200), light, np.uint8)
    whole_screen, *_ = sample.sample(shown(image=image)).axes
    drawn = np.asarray(whole_screen.images[0].get_array())
    assert (drawn.shape, float(drawn.min()), float(drawn.max())) == (
        (100, 200),
        pytest.approx(shade),
        pytest.approx(shade),
    )


def test_of_a_large_screenshot_as_much_is_drawn_as_can_be_seen():
    image = np.arange(1001 * 2801, dtype=np.uint32).reshape(1001, 2801).astype(np.uint8)
    large = replace(shown(image=image), image_size=(2801.0, 1001.0))
    whole_screen, _, clicks = sample.sample(large).axes
    assert whole_screen.images[0].get_array().shape == (500, 1400)
    x1, x2, y2, y1 = clicks.images[0].get_extent()
    left, right = clicks.get_xlim()
    lower, upper = clicks.get_ylim()
    assert x1 <= left < right <= x2 + 2
    assert y1 <= upper < lower <= y2 + 2


def test_names_from_anywhere_can_be_drawn(figures):
    assert legible(HOSTILE, 60) == r"<script>alert('\$x\$')</script> □□ & " + '"q" □[31m'
    assert legible(" \n ") == "(empty)"
    assert len(legible("a" * 99, 20)) == 20
    told = "".join(texts(figures["sources.png"]))
    assert "\u65e5" not in told
    assert "\x1b" not in told
