"""The audit of rewards: known exploits are found, honest rewards are not accused, and the command says both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.testing import Earned, Screens, audit


def earned(name: str, **options: object) -> dict[str, Earned]:
    return {row.policy: row for row in audit(gr.recipe(name, **options))}


@pytest.mark.parametrize(
    ("name", "options", "policy", "least"),
    [
        ("infigui-g1", {}, "shotgun", 0.35),  # fifty places cost 0.02
        ("se-gui", {}, "centre", 0.5),  # a reward of distance alone
        ("se-gui", {}, "uniform", 0.4),
        ("agentcpm-gui", {}, "uniform", 0.8),  # far misses
        ("ui-r1", {}, "form alone", 0.6),
        ("gui-g2", {}, "whole screen", 0.3),
        ("gui-rcpo", {"response_space": "thousandths", "target_space": "pixel"}, "corner", 0.99),  # agreement alone
        ("click", {"response_space": "pixel", "format_weight": 0.5}, "corner", 0.49),
    ],
)
def test_known_exploits_are_found(name: str, options: dict[str, object], policy: str, least: float) -> None:
    row = earned(name, **options)[policy]
    assert row.farms
    assert row.share > least
    assert row.acc < 0.05
    assert row.interval[0] <= row.share <= row.interval[1]


@pytest.mark.parametrize(
    ("name", "options"),
    [("gelato", {}), ("gta1", {}), ("ui-ins", {}), ("groundnext", {}), ("click", {"response_space": "unit"})],
)
def test_rewards_of_right_answers_alone_are_not_farmed(name: str, options: dict[str, object]) -> None:
    rows = audit(gr.recipe(name, **options))
    assert [row.policy for row in rows if row.farms] == []
    assert (rows[-1].policy, rows[-1].acc, rows[-1].share) == ("honest", 1.0, 1.0)
    assert [row.share for row in rows[:-1]] == sorted((row.share for row in rows[:-1]), reverse=True)


def test_boxes_are_played_where_boxes_are_read() -> None:
    assert {"whole screen", "inverted"} <= earned("gui-g2").keys()
    assert not {"whole screen", "inverted"} & earned("gta1").keys()


def test_the_same_seed_plays_the_same() -> None:
    recipe = gr.recipe("se-gui")
    assert audit(recipe) == audit(recipe)
    assert audit(recipe) != audit(recipe, seed=1)


def test_targets_are_played_as_given() -> None:
    """A box around the middle of its screen is hit by all who click there."""
    screens = Screens(np.array([[1000.0, 800.0]] * 5), np.array([[400.0, 300.0, 600.0, 500.0]] * 5))
    centre = next(row for row in audit(gr.recipe("click", response_space="pixel"), screens) if row.policy == "centre")
    assert (centre.total, centre.acc, centre.share, centre.farms) == (1.0, 1.0, 1.0, False)


def test_a_policy_is_measured_by_what_an_honest_one_can_hit() -> None:
    """No thousandth of a screen lies in a tiny target, which an honest policy misses as well."""
    tiny, middle, other = [4, 4, 6, 6], [4000, 4000, 6000, 6000], [100, 100, 300, 300]
    click = gr.recipe("click", response_space="thousandths", format_weight=0)
    wide = np.full((400, 2), 10_000.0)
    played = {row.policy: row for row in audit(click, Screens(wide, np.array([tiny, tiny, middle, other] * 100)))}
    assert (played["honest"].acc, played["centre"].acc, played["centre"].share) == (0.5, 0.25, 0.5)
    assert not played["centre"].farms
    with pytest.raises(gr.RecipeError, match="click: answers with the target itself earn 0, with which nothing can"):
        audit(click, Screens(wide, np.array([tiny] * 400)))


def test_drawn_targets_have_the_sizes_of_benchmarks_and_stay_on_their_screens() -> None:
    drawn = Screens.drawn(2000)
    extent = drawn.boxes[:, 2:] - drawn.boxes[:, :2]
    areas = extent.prod(axis=1) / drawn.sizes.prod(axis=1)
    assert 0.0004 < np.median(areas) < 0.002
    assert (extent >= 7).all()
    assert (drawn.boxes >= 0).all()
    assert (drawn.boxes[:, 2:] <= drawn.sizes + 1).all()


def test_a_reward_without_an_example_says_so() -> None:
    bare = replace(gr.recipe("gta1"), example=None)
    with pytest.raises(gr.RecipeError, match="gta1: has no example, in whose form policies answer; give it one"):
        audit(bare)
