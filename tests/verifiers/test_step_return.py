"""Returns of trajectories from any verifiers."""

import math

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import affine
from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.verifiers import Hit, StepReturn
from tests.verifiers.judging import rollouts

BOX = [0, 0, 10, 10]


def steps(*numbers, trajectory="t"):
    return [{"bbox": BOX, "trajectory": trajectory, "step": number} for number in numbers]


def returned(verifier, hits, targets, **more):
    return verifier(rollouts([(5, 5) if hit else (50, 50) for hit in hits], targets, **more)).tolist()


def test_hits_add_up_until_the_first_miss():
    assert returned(StepReturn(Hit(), Hit(), gamma=0.5), [1, 1, 0, 1], steps(0, 1, 2, 3)) == [1.5, 1.0, 0.0, 1.0]


def test_rewards_below_0_add_up_too():
    reward = affine("hit", Hit(), scale=2.0, shift=-1.0)
    verifier = StepReturn(reward, Hit(), gamma=0.5)
    assert returned(verifier, [1, 0, 0], steps(0, 1, 2)) == [0.5, -1.0, -1.0]
    assert (verifier.low, verifier.high) == (-2.0, 2.0)


def test_a_reward_that_is_never_0_has_bounds_of_one_step():
    verifier = StepReturn(affine("hit", Hit(), shift=1.0), Hit(), gamma=0.75)
    assert (verifier.low, verifier.high) == (1.0, 8.0)


def test_rollouts_are_distinguished_by_their_order_or_by_name():
    verifier = StepReturn(Hit(), Hit(), gamma=0.5)
    targets, hits = steps(0, 0, 1, 1), [1, 0, 1, 1]
    assert returned(verifier, hits, targets) == [1.5, 0.0, 1.0, 1.0]
    assert returned(verifier, [1, 0, 0, 1], targets, extras={"rollout": ["a", "b", "b", "a"]}) == [1.5, 0.0, 0.0, 1.0]
    assert returned(verifier, [1, 0, 0, 1], targets, extras={"rollout": np.array([1, 2, 1, 2])}) == [1.0, 0.0, 0.0, 1.0]


def test_short_rollouts_have_to_be_named():
    verifier, targets = StepReturn(Hit(), Hit(), gamma=0.5), steps(0, 0, 1)
    for hits in ([0, 1, 1], [1, 1, 1], [0, 0, 0]):
        with pytest.raises(RecipeError, match=r"extras\['rollout'\]"):
            returned(verifier, hits, targets)
    assert returned(verifier, [0, 1, 1], targets, extras={"rollout": [0, 1, 1]}) == [0.0, 1.5, 1.0]


def test_long_sums_stay_within_the_bounds():
    for gamma in (0.3, 0.9, 0.999):
        verifier = StepReturn(Hit(), Hit(), gamma=gamma)
        found = returned(verifier, [1] * 3000, steps(*range(3000)))
        assert max(found) <= verifier.high
        assert math.isclose(found[0], min(verifier.high, sum(gamma**k for k in range(3000))), rel_tol=1e-9)


@pytest.mark.parametrize("field", ["trajectory", "step"])
def test_a_step_without_its_place_is_an_error(field):
    target = {key: value for key, value in steps(0)[0].items() if key != field}
    with pytest.raises(TargetError, match=rf"row 1, field '{field}': got nothing"):
        returned(StepReturn(Hit(), Hit()), [1, 1], [*steps(0), target])


def test_rollouts_that_do_not_fit_are_an_error():
    verifier = StepReturn(Hit(), Hit())
    with pytest.raises(RecipeError, match=r"extras\['rollout'\]: got 1; expected one for each of 2 rows"):
        returned(verifier, [1, 1], steps(0, 1), extras={"rollout": [1]})


def test_a_row_that_cannot_be_used_ends_no_run():
    answer = '<think>a</think><action>{"action": "wait"}</action>'
    rows = [{"action": "wait", "trajectory": "a", "step": step} for step in (0, 1, 0, 1)]
    rows[3] = {"action": "wait"}
    scores = gr.recipe("ui-s1", returns=True).score([answer] * 4, rows, bad_target="abstain")
    assert scores.valid.tolist() == [1, 1, 1, 0]
    assert scores.total[:3].tolist() == [1.5, 1.0, 1.0]
