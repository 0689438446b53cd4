"""The picture of a comparison says what its numbers say, with labels that can be read."""

from __future__ import annotations

from itertools import pairwise

import pytest

from grounding_rewards.pool.plan import candidates, compare
from grounding_rewards.pool.plan.figure import draw, write_picture
from tests.pool.plan.made import five, five_rollouts

BANDS = [{"name": "band", "low_rate": 0.1, "high_rate": 0.5 + place / 100} for place in range(1, 22)]


def test_bars_are_shares_and_cells_are_overlaps(made_up):
    figure = draw(compare(five(), candidates(["unsolved", "further", "first"]), five_rollouts()))
    bars, cells = figure.axes
    assert [each.get_text() for each in bars.get_yticklabels()] == [
        "control  1", "next  2", "unsolved  3", "further  4", "first  5",
    ]  # fmt: skip
    shares = {each.get_label(): [bar.get_width() for bar in each] for each in bars.containers}
    assert list(shares) == ["never", "0.2 to 0.4", "0.4 to 0.6", "always", "unmeasured"]
    assert shares["always"] == [0.25, 0, 0, 0, 0.25]
    assert shares["never"][3] == 0.75
    assert [each.get_text() for each in cells.texts[:5]] == ["100", "75", "75", "50", "100"]
    assert [each.get_text() for each in figure.legends[0].get_texts()] == list(shares)


@pytest.mark.parametrize("specs", [["unsolved"], BANDS], ids=["few", "many"])
def test_nothing_is_cut_off_and_labels_do_not_overlap(specs):
    figure = draw(compare(five(), candidates(specs)))
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box.x0 > -2
        assert box.y0 > -2
        assert box.x1 < width + 2
        assert box.y1 < height + 2
        for axis in (axes.xaxis, axes.yaxis):
            labels = [each.get_window_extent() for each in axis.get_ticklabels() if each.get_visible()]
            inside = [each for each in labels if each.width and each.height]
            assert not any(one.overlaps(other) for one, other in pairwise(inside))
    legend = figure.legends[0].get_window_extent()
    assert legend.x1 < width + 2
    assert all(not legend.overlaps(axes.get_window_extent()) for axes in figure.axes)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_comparison_is_the_same_file(tmp_path, suffix):
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for file in files:
        write_picture(compare(five(), candidates(["unsolved"])), file)
    assert files[0].read_bytes() == files[1].read_bytes()
