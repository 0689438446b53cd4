"""CoAT's rules of AITZ: the fault of its clicks, forms of answers, and texts."""

from __future__ import annotations

from typing import Any

import pytest

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.judging import step_rule
from grounding_rewards.evaluators.rule import STOPPED, Step, StepVerdict

COAT, CLICK = step_rule("aitz", "coat"), step_rule("aitz", "coat-click")
SIZE = (400.0, 800.0)
NODE = (0.2, 0.1, 0.4, 0.2)


@pytest.mark.parametrize("place", [(0.3, 0.15), (0.333, 0.121), NODE, (0.25, 0.11, 0.4, 0.2)], ids=str)
def test_clicks_are_right_where_the_gold_is_given_and_else_in_the_corner(place: tuple[float, ...]) -> None:
    act = Act("click", place)
    gold = COAT.gold(Step(act, (NODE,), SIZE))
    assert COAT.judge(COAT.answer(act, SIZE), gold, SIZE, {}) == StepVerdict(True, False, False)
    assert CLICK.judge(CLICK.answer(act, SIZE), gold, SIZE, {}) == StepVerdict(True, True, True)
    assert COAT.judge(COAT.answer(Act("click", (0.0, 0.0)), SIZE), gold, SIZE, {}).step
    assert CLICK.judge(CLICK.answer(Act("click", (0.9, 0.9)), SIZE), gold, SIZE, {}).place is False
    assert CLICK.judge(CLICK.answer(act, SIZE), gold, None, {}) == STOPPED


@pytest.mark.parametrize(
    ("text", "right", "same"),
    [
        ("abcdefghiX", "abcdefghij", True),  # .9
        ("abcdefghXX", "abcdefghij", False),  # .8 is not above .8
        ("redhat", "red hat", True),
        ("Red", "red hat", False),
        ("hat", "red hat", True),
        ("", "red hat", True),
        ("x" * 1_000_000, "red hat", False),
    ],
    ids=["nine of ten", "eight of ten", "space", "case", "part", "empty", "long"],
)
def test_texts(text: str, right: str, same: bool) -> None:
    gold = {"coat_action_desc": 'input text "x"', "result_action_text": right}
    for names in ((text, right), (right, text)):
        answer = {"ACTION": "input", "ARGS": {"text": names[0]}}
        assert COAT.judge(answer, {**gold, "result_action_text": names[1]}, None, {}).step is same


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"action_predict": {"COA": {"txt": {"ACTION": "PRESS_BACK", "ARGS": {}}}}}, StepVerdict(True, None, True)),
        ({"ACTION": "press_the", "ARGS": {}}, StepVerdict(True, None, False)),
        ({"ACTION": "press", "ARGS": {}}, STOPPED),
        ({"ACTION": "click", "ARGS": {"bbox": [1, 2]}}, STOPPED),
        ({"ACTION": "click", "ARGS": {"bbox": "1, 2"}}, STOPPED),
        ({"ACTION": "click", "ARGS": {"bbox": [1, 2, 3, 10**400]}}, STOPPED),
        ({"ACTION": None, "ARGS": None}, StepVerdict(False, None, False, read=False)),
        ({"ACTION": 1}, STOPPED),
        (COAT.answer(Act("hover"), SIZE), StepVerdict(False, None, False, read=False)),
        (COAT.answer(Act("click", (0.5, 0.5)), SIZE), StepVerdict(False, None, False)),
        (None, STOPPED),
        ("click", STOPPED),
    ],
)
def test_forms_of_answers(answer: Any, verdict: StepVerdict) -> None:
    assert COAT.judge(answer, {"coat_action_desc": "press the back button"}, SIZE, {}) == verdict
    assert COAT.judge(answer, {"coat_action_desc": ""}, SIZE, {}) == STOPPED
