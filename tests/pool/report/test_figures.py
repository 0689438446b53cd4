"""The figures say what the numbers say, and nothing in them lies over something else."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.text import Text

from grounding_rewards.pool.report.data import report
from grounding_rewards.pool.report.figures import bars, curves, heat, sample
from grounding_rewards.pool.report.figures.style import legible
from grounding_rewards.pool.report.pictures import drawings
from grounding_rewards.pool.report.rounds import Round, by_source
from grounding_rewards.pool.report.rounds import histogram as counted
from grounding_rewards.pool.transitions import transitions
from tests.pool.report.made import HOSTILE, shown, stats
from tests.pool.report.test_data import whole

BOX = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]])


def texts(figure):
    """Return all texts of a figure."""
    return [each.get_text() for each in figure.findobj(Text) if each.get_text() and each.get_visible()]


def written(axes):
    """Return the texts of a panel."""
    return [each.get_text() for each in axes.texts]


def heights(bars):
    """Return the heights of bars."""
    return [round(float(bar.get_height()), 9) for bar in bars]


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


def test_bars_of_right_rollouts_are_shares_with_their_counts_on_the_same_axes(figures):
    first, second = figures["num-correct.png"].axes[:2]
    assert heights(first.containers[0]) == [0.4, 0, 0, 0, 0]
    assert heights(first.containers[1]) == [0, 0.2, 0.2, 0, 0]
    assert heights(first.containers[2]) == [0, 0, 0, 0, 0.2]
    assert written(first) == ["2", "1", "1", "1"]
    assert first.get_ylim()[1] > 0.44  # room for the count on top
    assert (first.get_xlim(), first.get_ylim()) == (second.get_xlim(), second.get_ylim())


def test_names_that_look_alike_when_shortened_are_numbered():
    def titles(*names):
        alike = [counted(Round(name, stats([2, 8], [1, 0]))) for name in names]
        return [axes.get_title(loc="left") for axes in bars.num_correct(alike).axes]

    assert titles("rollouts-of-round-1-of-the-month", "rollouts-of-round-2-of-the-month") == [
        "\u2026ts-of-round-1-of-the\u2026: 2 samples", "\u2026ts-of-round-2-of-the\u2026: 2 samples",
    ]  # fmt: skip
    assert titles(*(f"{'a' * 30}{each * 40}{'b' * 30}" for each in "cd")) == [
        "\u2026cccccccccc\u2026ccccccccc\u2026: 2 samples", "\u2026dddddddddd\u2026ddddddddd\u2026: 2 samples",
    ]  # fmt: skip


def test_the_heat_map_writes_counts_and_shares_and_colours_shares(figures):
    figure = figures["transition-1.png"]
    seen, chance = figure.axes[:2]
    assert written(seen) == ["1\n50 %", "1\n50 %", "1\n100 %", "1\n100 %", "1\n100 %"]
    shares = seen.images[0].get_array()
    assert shares[0].tolist() == [0.5, 0.5, 0, 0, 0]
    assert shares.mask[3].all()
    assert chance.images[0].get_array()[0].sum() == pytest.approx(1.0)
    assert [each.get_text() for each in seen.get_yticklabels()] == ["0  (2)", "1  (1)", "2  (1)", "3  (0)", "4  (1)"]
    assert figure.get_suptitle().endswith("\n5 samples in both, temperature 1.1 before and 1.7 after")
    assert [each.get_color() for each in seen.texts[:3]] == ["black", "black", "black"]
    assert chance.texts[-2].get_color() == "white"


def test_large_maps_stand_below_each_other_without_empty_ends_or_texts():
    rng = np.random.default_rng(0)
    large = [stats([40] * 20, [*rng.integers(0, 30, 19), 32]) for _ in range(2)]
    seen, chance, _ = heat.heat_map(transitions(*large).to_json(), "a", "b").axes
    assert written(seen) == []
    assert seen.get_position().y0 > chance.get_position().y0
    assert seen.images[0].get_array().shape[0] == 33
    assert seen.get_xlabel() == "right rollouts after, of 40"


def test_pools_have_no_room_for_more_samples_than_there_are(figures):
    (axes,) = figures["pools.png"].axes
    assert axes.get_xlim() == (0.0, 50.0)
    assert axes.get_title(loc="left") == "pool 2\n15 of 50 samples kept, 20.0 % of them never solved"
    assert written(axes) == ["50", "48  (-2)", "42  (-6)", "15  (-27)", "15"]
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert bars == [(0, 50), (50, 0), (0, 48), (48, 2), (0, 42), (42, 6), (0, 15), (15, 27), (0, 3), (3, 12)]


def test_temperatures_have_marks_of_their_own_and_labels_apart():
    accuracies = {0.7: 10, 1.0: 40, 1.7: 39, 1.75: 2, 1.8: 38}
    by_temperature = {warm: stats([2] * 40, [2] * right + [0] * (40 - right)) for warm, right in accuracies.items()}
    for each in by_temperature.values():
        each.sample_id[:] = range(40)
    found = report("", [], by_temperature=by_temperature).temperature
    figure = curves.temperatures(found)
    figure.draw_without_rendering()
    accuracy, paired, shares = figure.axes
    marks = {bars.get_label(): bars.lines[0].get_marker() for bars in accuracy.containers}
    assert [(name, mark) for name, mark in marks.items() if not name.startswith("_")] == [
        ("lower accuracy", "v"), ("held", "o"), ("collapsed", "X"), ("above one that collapsed", "D"),
    ]  # fmt: skip
    assert [round(float(bars.lines[0].get_ydata()[0]), 3) for bars in paired.containers] == [
        -0.75, 0.0, -0.025, -0.95, -0.05,
    ]  # fmt: skip
    boxes = [label.get_window_extent() for label in shares.get_xticklabels()]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_bars_of_sources_are_shares_and_the_smallest_sources_share_one():
    lines = by_source(stats([1] * 70, [1] * 69 + [0], source=[f"s{min(place, 40)}" for place in range(70)]))
    axes = bars.sources(lines, "round").axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 30
    assert "12 other sources  (n = 12)" in labels
    assert "s40  (n = 30)" in labels
    ends = [bar.get_x() + bar.get_width() for bar in axes.containers[2]]
    assert ends == pytest.approx([1.0] * 30)


def test_of_a_round_without_scores_nothing_is_drawn():
    empty, other = Round("none", stats([0, 0], [0, 0])), Round("some", stats([2], [1]))
    found = report("none", [empty])
    assert list(drawings(found)) == []
    assert found.missing["num_correct"].endswith("of which some are scored (column acc)")
    assert [each["round"] for each in report("one", [empty, other]).num_correct] == ["some"]


def test_sizes_of_rounds_lie_beside_each_other_and_signals_have_a_mark(figures):
    above, below = figures["target-sizes.png"].axes
    first, second = ([round(float(at), 9) for at in bars.lines[0].get_xdata()] for bars in above.containers)
    assert first == [-0.07, 1.93, 2.93, 5.93]
    assert second == [0.07, 2.07, 3.07, 6.07]
    assert written(below) == ["1", "0", "1", "2", "0", "0", "1"]
    (bars,) = figures["no-signal.png"].axes
    assert [list(line.get_xdata()) for line in bars.lines] == [[0.4]]


def test_clicks_that_agree_are_seen_closely(figures):
    whole_screen, target, clicks = figures["suspect-1.png"].axes
    assert [axes.get_title(loc="left") for axes in (whole_screen, target, clicks)] == [
        "the whole screen", "1: around the target, 100 px wide", "2: around the clicks, 15 px wide",
    ]  # fmt: skip
    assert whole_screen.get_xlim() == (0.0, 200.0)
    assert {line.get_label() for line in whole_screen.lines} == {"target", "2 wrong clicks"}
    low, high = clicks.get_xlim()
    assert low < 160 < 162 < high < 200


def test_a_sample_without_a_target_or_clicks_is_drawn_and_one_without_both_is_not():
    bare = shown(clicks=np.zeros((0, 2)), right=np.zeros(0, bool), outlines=(), image_size=None)
    assert list(drawings(report("", [], hardest=[bare]))) == []
    seen = replace(bare, image=np.zeros((2, 2), np.uint8))
    (drawing,) = drawings(report("", [], hardest=[seen]))
    assert (drawing.file, drawing.alt) == ("hardest-1.png", "Sample b: its screenshot.")
    (axes,) = sample.sample(seen).axes
    assert axes.get_xlim() == (0.0, 16 / 9)
    point = shown(outlines=(np.array([[0.5, 0.5]]),), right=np.array([True, False]))
    (drawing,) = drawings(report("", [], hardest=[point]))
    assert drawing.alt == "Sample b: its target; 2 clicks, 1 of them right; an empty screen."
    assert {line.get_label() for line in sample.sample(point).axes[0].lines} == {
        "target",
        "1 wrong click",
        "1 right click",
    }


def box(x, y, size):
    return np.array([[x, y], [x + size, y], [x + size, y + size], [x, y + size]])


@pytest.mark.parametrize(("size", "y"), [((1920.0, 1080.0), 0.0), ((3840.0, 1080.0), 0.14), ((5000.0, 400.0), 0.45)])
def test_the_number_of_a_frame_is_on_the_screen_and_no_title_lies_over_another(size, y):
    figure = sample.sample(shown(outlines=(box(0.5, y, 0.01),), image_size=size))
    figure.draw_without_rendering()
    whole_screen, target, clicks = figure.axes
    for mark in whole_screen.texts:
        extent, screen = mark.get_window_extent(), whole_screen.get_window_extent()
        assert screen.y0 <= extent.y0 < extent.y1 <= screen.y1
    titles = [next(each for each in axes.findobj(Text) if axes.get_title(loc="left") == each.get_text())
              for axes in (target, clicks)]  # fmt: skip
    first, second = (each.get_window_extent() for each in titles)
    assert first.x1 < second.x0
    assert second.x1 <= figure.bbox.width


def test_a_point_of_no_hits_is_whole_and_rounds_have_markers_of_their_own():
    lines = [
        {"area_from": 0.0, "area_to": 1e-4, "samples": 2, "accuracy": 0.0, "accuracy_low": 0.0, "accuracy_high": 0.5}
    ]
    above, _ = curves.sizes([("1", lines), ("2", lines)]).axes
    points = [bars.lines[0] for bars in above.containers]
    assert [each.get_clip_on() for each in points] == [False, False]
    assert [each.get_marker() for each in points] == ["o", "s"]


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
    text = "".join(texts(figures["sources.png"]))
    assert "\u65e5" not in text
    assert "\x1b" not in text
