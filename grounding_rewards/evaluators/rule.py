"""One step of a benchmark, a rule by which an evaluator judges it, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct

from grounding_rewards.actions import Act

Size = tuple[float, float] | None
"""Width and height of the screenshot in pixels; None where it is not known."""

Box = tuple[float, float, float, float]
"""x1, y1, x2, y2 in shares of the screen."""

_NOTHING: Mapping[str, float] = MappingProxyType({})


class StepVerdict(NamedTuple):
    """The verdict on one step; a part is None where the rule has none, or its evaluator stops with an error.

    Attributes:
        type: True where the type of the action is right.
        place: True where the place is right.
        step: True where the whole step is right.
        score: the step's score where the evaluator has one between 0 and 1.
        read: False where the evaluator reads no action from the answer.
        parts: further scores of the step, by type of action or by name, such as ``op_f1``.
    """

    type: bool | None = None
    place: bool | None = None
    step: bool | None = None
    score: float | None = None
    read: bool = True
    parts: Mapping[str, float] = _NOTHING


STOPPED = StepVerdict(read=False)
"""The evaluator itself stops with an error."""

Judge = Callable[[Any, Any, Size, Mapping[str, Any]], StepVerdict]


STOPS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors with which an evaluator stops at what is missing, or is of another kind than its code takes."""


class Step(Struct, frozen=True):
    """One step of a benchmark in this package's words: names as ``actions.ACTIONS``, places in shares of the screen.

    Attributes:
        act: the right action; its scroll directions say which way the view goes.
        boxes: candidate boxes of the screen or of the right place.
        image_size: width and height in pixels.
        others: further right actions.
    """

    act: Act
    boxes: tuple[Box, ...] = ()
    image_size: Size = None
    others: tuple[Act, ...] = ()


class StepRule(Struct, frozen=True):
    """A rule by which an evaluator judges steps of a benchmark.

    Attributes:
        name: its name, as ``--rule`` has it.
        source: repository, commit and file of the evaluator.
        code: (response, gold, image size, options) -> verdict; response and gold in the evaluator's own forms.
        answer: an action with its place in shares of the screen, and the image size -> the evaluator's form of answers.
        gold: a step -> the evaluator's form of what is right.
        text: True where the own form of answers is a model's text, False where it is decoded JSON.
        faults: what the evaluator gets wrong, and this rule with it, since its published figures are those.
        also: further names, but for those with the benchmark's before or after.
        space: the space of the places in its own form, where answers in other spaces have that form, too.
    """

    name: str
    source: str
    code: Judge
    answer: Callable[[Act, Size], Any]
    gold: Callable[[Step], Any]
    text: bool = True
    faults: str = ""
    also: tuple[str, ...] = ()
    space: str = ""

    def judge(self, response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
        """Return the verdict on a response, ``STOPPED`` where the evaluator stops."""
        try:
            return self.code(response, gold, size, options)
        except STOPS:
            return STOPPED
