from grounding_rewards.columns import Reason
from grounding_rewards.verifiers import CorrectRefusal
from tests.verifiers.judging import rollouts


def test_only_a_refusal_where_nothing_fits_is_right():
    refusal, box = {"refusal": True}, {"bbox": [0, 0, 9, 9]}
    reasons = [Reason.REFUSED, Reason.REFUSED, Reason.OK, Reason.OK, Reason.EMPTY, Reason.MALFORMED, Reason.NO_ANSWER]
    targets = [refusal, box, refusal, box, refusal, refusal, refusal]
    points = [None, None, (1, 1), (1, 1), None, None, None]
    assert CorrectRefusal()(rollouts(points, targets, reasons=reasons)).tolist() == [1, 0, 0, 0, 0, 0, 0]
