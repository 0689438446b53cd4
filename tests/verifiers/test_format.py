import pytest

from grounding_rewards.columns import Reason
from grounding_rewards.verifiers import Format
from tests.verifiers.judging import judge

BOX = {"bbox": [0, 0, 1, 1]}


def test_an_answer_in_the_image_or_not_and_a_refusal_are_well_formed():
    paid = {Reason.OK, Reason.OUT_OF_IMAGE, Reason.REFUSED}
    scores = judge(Format(), [None] * len(Reason), BOX, reasons=list(Reason))
    assert dict(zip(Reason, scores, strict=True)) == {reason: float(reason in paid) for reason in Reason}


@pytest.mark.parametrize("copies", [1, 30])
def test_a_pattern_judges_the_text_instead(copies):
    text = ["<answer>1</answer>", "answer", "<answer></answer>\n", None or ""] * copies
    scores = judge(Format("^<answer>[0-9]*</answer>"), [None] * len(text), BOX, text=text)
    assert scores == [1, 0, 1, 0] * copies
