from grounding_rewards.combine import best, weighted
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import CorrectRefusal, FalseClick, FalseRefusal, Hit
from tests.verifiers.judging import judge

REFUSAL, BOX = {"refusal": True}, {"bbox": [0, 0, 9, 9]}


def test_mistakes_can_cost():
    outcome = best(hit=Hit(), refusal=CorrectRefusal())
    reward = weighted(outcome=(1.0, outcome), false_refusal=(-0.25, FalseRefusal()), false_click=(-0.5, FalseClick()))
    assert (reward.low, reward.high) == (-0.75, 1)
    reasons = [Reason.OK, Reason.OK, Reason.REFUSED, Reason.EMPTY]
    points = [(5, 5), (50, 50), None, None]
    assert judge(reward, points, BOX, reasons=reasons) == [1, 0, -0.25, 0]
    assert judge(reward, points, REFUSAL, reasons=reasons) == [-0.5, -0.5, 1, 0]
