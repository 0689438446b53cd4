"""UI-S1's discounted returns of the steps of a rollout."""

import math

import pytest

import grounding_rewards as gr
from tests.recipes.published.test_ui_s1 import TYPE, WAIT, answer, native


def steps(*matched, trajectory="alarm", start=0):
    """Responses and targets of one rollout."""
    responses = [answer(action="wait" if right else "terminate") for right in matched]
    targets = [native(WAIT, trajectory=trajectory, step=start + step) for step in range(len(matched))]
    return responses, targets


def test_returns_add_up_the_steps_that_follow():
    recipe = gr.recipe("ui-s1", returns=True, gamma=0.5)
    scores = recipe.score(*steps(1, 1, 0, 1))
    last = 0.1 + 0.9 * 0.1
    assert scores.total.tolist() == pytest.approx([1 + 0.5 * (1 + 0.5 * last), 1 + 0.5 * last, last, 1.0], abs=1e-12)
    assert scores.parts["step_return"].tolist() == scores.total.tolist()
    assert scores.parts["step_reward"].tolist() == [0.25, 0.25, 0, 0.25]
    assert scores.acc.tolist() == [1, 1, 0, 1]
    assert (recipe.low, recipe.high) == (0.0, 2.0)


def test_returns_of_several_rollouts_and_trajectories_in_any_order():
    recipe = gr.recipe("ui-s1", returns=True)
    first, second, other = steps(1, 1), steps(0, 1), steps(1, 1, 1, trajectory=7, start=3)
    responses, targets = [[*a, *b, *c] for a, b, c in zip(first, second, other, strict=True)]
    whole = recipe.score(responses, targets).total
    assert whole.tolist() == pytest.approx([1.5, 1.0, 0.19, 1.0, 1.75, 1.5, 1.0], abs=1e-12)
    # Backwards the second attempt at each step is the first: the attempts are still the same two.
    assert recipe.score(responses[::-1], targets[::-1]).total.tolist() == pytest.approx(whole[::-1].tolist())
    targets[1] = native(TYPE, trajectory="alarm", step=1)  # the first attempt's second step is now wrong
    for names, first in ((["a", "a", "b", "b"], 1.0 + 0.5 * 0.19), (["a", "b", "b", "a"], 1.5)):
        named = recipe.score(responses, targets, extras={"rollout": [*names, "x", "x", "x"]}).total
        assert named.tolist() == pytest.approx([first, 0.19, 0.19, 1.0, 1.75, 1.5, 1.0], abs=1e-12)


def test_returns_need_the_place_of_each_step():
    recipe = gr.recipe("ui-s1", returns=True)
    assert recipe.needs == {"trajectories"}
    for lacking in ("trajectory", "step"):
        target = {key: value for key, value in steps(1)[1][0].items() if key != lacking}
        with pytest.raises(gr.TargetError, match=rf"row 0, field '{lacking}': got nothing"):
            recipe.score(answer(action="wait"), target)
    with pytest.raises(gr.RecipeError, match="extras"):
        recipe.score(*steps(1, 1), extras={"rollout": ["a"]})
    responses, targets = steps(1, 1)
    for text in (responses[0], "", None):  # the wiring is wrong, whatever was answered
        with pytest.raises(gr.RecipeError, match=r"rollouts: step 1 .*extras\['rollout'\]"):
            recipe.score([*responses, text], [*targets, targets[0]])
    with pytest.raises(gr.RecipeError, match="same step of one rollout"):
        recipe.score(["", ""], steps(1)[1] * 2, extras={"rollout": ["a", "a"]})


def test_a_row_whose_target_cannot_be_used_ends_a_return():
    recipe = gr.recipe("ui-s1", returns=True)
    responses, targets = steps(1, 1, 1)
    targets[1] = native({"action": "type"}, trajectory="alarm", step=1)
    scores = recipe.score(responses, targets, bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([1.0, 0.0, 1.0], [1, 0, 1])


def test_a_long_rollout_stays_within_its_bounds():
    recipe = gr.recipe("ui-s1", returns=True, gamma=0.9)
    scores = recipe.score(*steps(*[1] * 2000))
    assert scores.total.max() <= recipe.high
    assert math.isclose(scores.total[0], 10.0)
