import pytest

from grounding_rewards.combine import best, weighted
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import CorrectRefusal, FalseClick, FalseRefusal, Hit
from tests.verifiers.judging import judge, rollouts

REFUSAL, BOX = {"refusal": True}, {"bbox": [0, 0, 9, 9]}


def test_only_a_refusal_where_nothing_fits_is_right():
    reasons = [Reason.REFUSED, Reason.REFUSED, Reason.OK, Reason.OK, Reason.EMPTY, Reason.MALFORMED, Reason.NO_ANSWER]
    targets = [REFUSAL, BOX, REFUSAL, BOX, REFUSAL, REFUSAL, REFUSAL]
    points = [None, None, (1, 1), (1, 1), None, None, None]
    assert CorrectRefusal()(rollouts(points, targets, reasons=reasons)).tolist() == [1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("verifier", [CorrectRefusal(), FalseRefusal(), FalseClick()])
def test_each_reason_on_each_kind_of_target(verifier):
    rewarded = {
        CorrectRefusal: ({Reason.REFUSED}, set()),
        FalseRefusal: (set(), {Reason.REFUSED}),
        FalseClick: ({Reason.OK, Reason.OUT_OF_IMAGE}, set()),
    }[type(verifier)]
    for target, reasons in zip((REFUSAL, BOX), rewarded, strict=True):
        scores = judge(verifier, [None] * len(Reason), target, reasons=list(Reason))
        assert dict(zip(Reason, scores, strict=True)) == {reason: float(reason in reasons) for reason in Reason}


def test_a_refusal_where_an_action_is_asked_for_is_false():
    assert judge(FalseRefusal(), [None], {"action": "wait"}, reasons=[Reason.REFUSED]) == [1]


def test_mistakes_can_cost():
    outcome = best(hit=Hit(), refusal=CorrectRefusal())
    reward = weighted(outcome=(1.0, outcome), false_refusal=(-0.25, FalseRefusal()), false_click=(-0.5, FalseClick()))
    assert (reward.low, reward.high) == (-0.75, 1)
    reasons = [Reason.OK, Reason.OK, Reason.REFUSED, Reason.EMPTY]
    points = [(5, 5), (50, 50), None, None]
    assert judge(reward, points, BOX, reasons=reasons) == [1, 0, -0.25, 0]
    assert judge(reward, points, REFUSAL, reasons=reasons) == [-0.5, -0.5, 1, 0]
