"""Likelihood of landing near a target."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.checks.landing import Landing, chance

CLICK = gr.recipe("click", response_space="pixel", point_radius=5)
BELL = (7.978846 + 1.994711) / 2  # at the centre, on each axis
CENTRE = np.log1p(BELL**2 / (0.04 * 0.04))  # of a target of 40 x 20 on a screen of 1000 x 500


def landing(responses, targets, size=(1000, 500)):
    rollouts = CLICK.prepare(responses, targets, image_sizes=list(size), bad_target="abstain")
    return Landing.of(rollouts.targets, CLICK.space).hit_by(rollouts.predictions.xy, rollouts.targets.valid)


def likelihoods(responses, targets, **size):
    there = landing(responses, targets, **size)
    return there.log_likelihoods()


def test_distances_count_in_sides_of_the_target():
    box, wide = [400, 200, 440, 220], [200, 100, 600, 300]
    rows = likelihoods(["(420, 210)", "(430, 210)", "(500, 200)", "(900, 400)", "no"], [box, box, wide, box, box])
    assert rows[0] == pytest.approx(CENTRE, abs=1e-3)
    # A quarter of the width to the right of both, of which the second is ten times as wide and high.
    beside = BELL * 1.994711 / 2 * np.exp(-0.5 * 1.25**2)
    assert rows[1:3] == pytest.approx([np.log1p(beside / 0.04**2), np.log1p(beside / 0.4**2)], abs=1e-3)
    assert rows[3] == pytest.approx(0.0, abs=1e-12)
    assert rows[4] == 0.0


@pytest.mark.parametrize(("xs", "share"), [((505, 435), 1.0), ((490, 435), 0.5), ((490, 450), 0.0)])
def test_points_lie_in_the_box_of_another_row_by_chance(xs, share):
    places = landing([f"({x}, 210)" for x in xs], [[400, 200, 440, 220], [500, 200, 540, 220]])
    assert places.by_chance() == share
    assert landing(["(420, 210)"], [[400, 200, 440, 220]]).by_chance() is None


def test_the_nearest_of_several_places_counts():
    places = {"regions": [{"bbox": [0, 0, 40, 20]}, {"bbox": [400, 200, 440, 220]}]}
    assert likelihoods(["(420, 210)"], [places])[0] == pytest.approx(CENTRE, abs=1e-3)
    there = landing(["(420, 210)"], [places])
    assert there.distances().tolist() == pytest.approx([0.0], abs=1e-12)


def test_sides_of_each_kind_of_place_in_shares_of_the_screen():
    targets = [
        {"bbox": [400, 200, 440, 220]},
        {"bbox": [400, 200, 400, 220]},
        {"polygon": [100, 100, 200, 100, 150, 150]},
        {"circle": [500, 250, 50]},
        {"point": [500, 250]},
        {"refusal": True},
    ]
    sides = landing(["(1, 1)"] * 6, targets).sides
    expected = [[0.04, 0.04], [0.002, 0.04], [0.1, 0.1], [0.1, 0.2], [0.02, 0.02], [np.inf, np.inf]]
    assert sides == pytest.approx(np.array(expected), rel=1e-12)


def test_boxes_that_reach_outside_their_screen_and_unusable_targets_are_outside():
    targets = [[900, 400, 1000, 500], [900, 400, 1009, 500], [900, 400, 1020, 500], ["no box"]]
    assert landing(["(1, 1)"] * 4, targets).outside.tolist() == [False, False, True, True]
    rollouts = CLICK.prepare(["(1, 1)"], [[900, 400, 1020, 500]])  # nobody says how large the screen is
    assert Landing.of(rollouts.targets, CLICK.space).outside.tolist() == [False]


def test_few_gains_are_never_clear():
    assert chance(np.full(9, 7.0)) > 0.001 > chance(np.full(10, 7.0))
    assert chance(np.array([])) == 0.5


@settings(max_examples=30)
@given(st.floats(0.1, 20), st.integers(0, 1000), st.integers(0, 500))
def test_screens_of_another_size_change_nothing(scale, x, y):
    box = np.array([400.0, 200, 440, 220])
    here = likelihoods([f"({x}, {y})"], [box.tolist()])[0]
    there = likelihoods([f"({x * scale}, {y * scale})"], [(box * scale).tolist()], size=(1000 * scale, 500 * scale))[0]
    assert there == pytest.approx(here, rel=1e-6, abs=1e-9)
