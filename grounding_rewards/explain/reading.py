"""What was read from a response, as it stands there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from grounding_rewards.explain.labels import plain
from grounding_rewards.explain.sections import Numbers, Read
from grounding_rewards.parsing.parse import MAX_LENGTH, answer_texts, parse, read_responses
from grounding_rewards.rollouts import PARSED, Predictions, Reason
from grounding_rewards.scoring import Recipe

MEANINGS: Mapping[Reason, str] = {
    Reason.OK: "an answer was read, and it does not lie outside the image",
    Reason.EMPTY: "there is no text, or nothing but white space",
    Reason.NO_ANSWER: "there is text, but nothing in it looks like an answer in this dialect",
    Reason.SEVERAL_ANSWERS: "there is more than one answer, and only a single one counts",
    Reason.TOO_MANY: "there are more answers than are read at all (256)",
    Reason.MALFORMED: "an answer was begun, but it cannot be read",
    Reason.OUT_OF_IMAGE: "an answer was read, and it lies outside the image",
    Reason.REFUSED: "the response says that nothing on the screen fits",
    Reason.UNFINISHED: "the thinking was never closed, so that there is no answer",
    Reason.BAD_TARGET: "the target cannot be used, so that nothing is paid",
    Reason.UNKNOWN_ACTION: "an action was read, and the vocabulary does not have its name",
}
"""What each reason says, in a sentence."""


def read(recipe: Recipe, response: str | None, reason: Reason | None = None) -> Read:
    """What a recipe reads from a response. Whatever the text, this returns.

    Args:
        recipe: whose dialect and policies count.
        response: the text; None counts as empty.
        reason: what became of it once the image's size was known; None where that is not.

    >>> from grounding_rewards import recipe
    >>> found = read(recipe("gta1"), "(1, 2) or (3, 4)")
    >>> found.reason, found.point, found.found
    ('SEVERAL_ANSWERS', None, ((1.0, 2.0), (3.0, 4.0)))
    """
    whole = read_responses([response])
    answer, _ = answer_texts(whole, recipe.thinking)
    length, kept = len(whole.values[0]), len(answer.values[0])
    one = _parsed(recipe, response, recipe.answers)
    why = Reason(one.reason[0]) if reason is None else reason
    answered = int(one.dialect[0])
    return Read(
        reason=why.name,
        meaning=MEANINGS[why],
        dialect=one.dialects[answered] if answered >= 0 else None,
        tried=one.dialects,
        space=recipe.response_space.value,
        answers=recipe.answers,
        thinking=recipe.thinking,
        left_out=length - kept,
        cut=max(0, kept - MAX_LENGTH),
        action=str(one.actions[0]) or None,
        arguments={name: plain(value) for name, value in one.arguments.by_row(1)[0].items()},
        point=numbers_of(one.xy[0]),
        box=numbers_of(one.box[0]),
        found=_found(recipe, response, one),
    )


def numbers_of(values: Any) -> Numbers | None:
    """A row of numbers, None where it holds none.

    >>> numbers_of([1.0, 2.0]), numbers_of([math.nan, math.nan])
    ((1.0, 2.0), None)
    """
    found = tuple(float(value) for value in values)
    return None if any(math.isnan(value) for value in found) else found


def _parsed(recipe: Recipe, response: str | None, answers: Any) -> Predictions:
    return parse([response], recipe.dialect, space=recipe.response_space, answers=answers, thinking=recipe.thinking)


def _found(recipe: Recipe, response: str | None, one: Predictions) -> tuple[Numbers | None, ...]:
    """The points of all answers, where there are several."""
    several = one if recipe.answers == "all" else _parsed(recipe, response, "all")
    if several.points is None or Reason(several.reason[0]) not in PARSED or len(several.points) < 2:
        return ()
    return tuple(numbers_of(point) for point in several.points)
