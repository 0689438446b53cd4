"""Answers in tags, and targets written as such answers are, a box in place of the point; clicks without a place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from grounding_rewards.errors import MISSING
from grounding_rewards.parsing.texts import SPACE
from grounding_rewards.targets.read import PLACES
from grounding_rewards.verifiers import JudgedFormat

CLICK = "click"
"""The action that always has a place; the numbers of others are zeros where they have none."""

SOLUTION = "<answer>[{'action': 'click' ,'coordinate': [100, 100, 300, 200] }]</answer>"
"""A solution, for examples."""

SIZES = (1000, 800), (500, 400)
"""The sizes of the original image and of the one the model saw, for examples."""

_TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_NAME = re.compile(r"""["']action["']\s*:\s*(?:["'](\w+)["']|(\w+))""")
_NUMERAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_PLACES = {*PLACES, "regions"}
_LIST = re.compile(r"\[([^\[\]{}]*)\]")


def read_solution(value: Any) -> tuple[str, list[Any]] | None:
    """The action of a solution, and what stands in its first list; None for what is no solution.

    What is no number stays text, for the reader of targets to complain about.
    """
    answer = _TAGS.search(value) if isinstance(value, str) else None
    named = _NAME.search(answer[1]) if answer else None
    if answer is None or named is None:
        return None
    listed = _LIST.search(answer[1])
    return named[1] or named[2], [_number(part) for part in listed[1].split(",")] if listed else [answer[1]]


def _number(text: str) -> float | str:
    return float(text) if _NUMERAL.fullmatch(text.strip()) else text


def thinks_then_answers(text: str, thought: str, answer: str, *, must: bool = True) -> bool:
    """Test a whole text for tags of thinking, which need not be there unless they ``must``, then tags of an answer.

    >>> [thinks_then_answers(text, "think", "a") for text in ("<think>-</think> <a>1</a>", "<think><a>1</a>")]
    [True, False]
    """
    opened = text.startswith(f"<{thought}>") and re.compile(rf"</{thought}>\s*<{answer}>").search(text)
    return bool(opened or (not must and text.startswith(f"<{answer}>"))) and text.endswith(f"</{answer}>")


def _is_thought(text: str) -> bool:
    """Think tags, then answer tags, and nothing around them but white space."""
    return thinks_then_answers(text.strip(), "think", "answer")


_USUAL = rf"^{SPACE}<think>[^<]*</think>{SPACE}<answer>[^<]*</answer>{SPACE}$"
THOUGHT = JudgedFormat(_is_thought, ("<think>", "</think>", "<answer>", "</answer>"), _USUAL)
"""The form of a response that thinks and then answers, and holds no more."""


def clicks_with_places(fields: Mapping[str, Any], *, any_case: bool = False) -> dict[str, Any] | None:
    """A target of the wire form, with a box that is missing wherever a click has no place; None where all have one.

    A text beside such a click is left out: what is wrong is the place.
    """
    action = fields.get("action")
    name = action.get("name") if isinstance(action, Mapping) else action
    if isinstance(name, str) and (name.lower() if any_case else name) == CLICK and not _PLACES & fields.keys():
        return {**{key: each for key, each in fields.items() if key != "input_text"}, "bbox": MISSING}
    regions = fields.get("regions")
    if not isinstance(regions, list):
        return None
    placed = [clicks_with_places(each, any_case=any_case) if isinstance(each, Mapping) else None for each in regions]
    if not any(placed):
        return None
    return {**fields, "regions": [new or old for new, old in zip(placed, regions, strict=True)]}
