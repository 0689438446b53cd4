"""Where the recipe of BTL-UI departs from the published code, told from the lines alone."""

from __future__ import annotations

import json
import re

from grounding_rewards.recipes.common import Line, text_of
from grounding_rewards.scoring import Deviation

_FORM = re.compile(
    r"\s*<blink>\s*```json(.*?)```\s*</blink>\s*<think>.*?</think>\s*<link>\s*```(js·?on)(.*?)```\s*</link>", re.DOTALL
)


def _fence(line: Line) -> str:
    """The word of the link's fence of a line written as documented, blanks in front aside; "" of another line."""
    found = _FORM.match(text_of(line))
    if not found:
        return ""
    try:
        _, (item,) = json.loads(found[1]), json.loads(found[3])
    except (ValueError, TypeError, RecursionError):
        return ""
    documented = isinstance(item, dict) and ("point_2d" in item or {"Plan", "Action"} <= set(item))
    return found[2] if documented else ""


def _has_documented_fence(line: Line) -> bool:
    return _fence(line) == "json"


def _has_leading_space(line: Line) -> bool:
    return text_of(line)[:1].isspace() and _fence(line) != ""


def _without_leading_space(line: Line) -> Line:
    return {**line, "response": text_of(line).lstrip()}


def _value(line: Line) -> dict[str, float]:
    """The format is paid; look and link are as published."""
    return {"format": 1.0}


DEVIATIONS = (
    Deviation(
        "documented-fence",
        "The format is paid for a link in a ```json fence, as the prompt documents it; the source asks for a fence "
        "with a dot in the middle of the word, so that the documented answer never gets a tenth of the reward.",
        _has_documented_fence,
        _value,
    ),
    Deviation(
        "leading-space",
        "White space in front of <blink> does not matter to the format; the source pays it 0.",
        _has_leading_space,
        same_as=_without_leading_space,
    ),
)
