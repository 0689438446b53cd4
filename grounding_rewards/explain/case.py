"""One rollout to explain, with the rollouts that its score depends on, and what a recipe reads from its response."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.explain.explanation import Numbers, ReadResponse, plain
from grounding_rewards.parsing.responses import MAX_LENGTH, answer_texts, parse, read_responses
from grounding_rewards.rollouts import PARSED, Predictions, Reason, Rollouts, Scores
from grounding_rewards.scoring import Example, Recipe, turned
from grounding_rewards.targets.box_format import BoxFormat

Size = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """One row among those that its score depends on: alone, or with the rest of its group or trajectory.

    Raises:
        RecipeError: lengths differ, or there is no such row.

    >>> from grounding_rewards import recipe
    >>> case = Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],))
    >>> case.score(recipe("gelato")).acc, case.score(recipe("gelato"), "(900, 900)").acc
    (array([1.]), array([0.]))
    """

    responses: tuple[str | None, ...]  # n responses; None counts as empty
    targets: tuple[Any, ...]  # their targets, in any form that the recipe reads
    row: int = 0  # the one to explain
    # width and height of the original images; None where only the targets may say
    image_sizes: tuple[Size | None, ...] | None = None
    model_image_sizes: tuple[Size | None, ...] | None = None  # the same of the images that the model saw
    # which sample each response belongs to; None where every row is its own group
    groups: tuple[Any, ...] | None = None
    token_lengths: tuple[int, ...] | None = None  # how many tokens each response has, where that is known
    extras: tuple[Mapping[str, Any], ...] | None = None  # each row's further columns, by name
    # the name of each row, such as its number in a file; None where they are counted from 0
    names: tuple[int, ...] | None = None
    box_format: BoxFormat | None = None  # how boxes of targets are written, as in `Targets.from_list`

    def __post_init__(self) -> None:
        rows = len(self.responses)
        for name, column in vars(self).items():
            if name not in ("row", "box_format") and column is not None and len(column) != rows:
                raise RecipeError(f"{name}: got {len(column)}; expected one for each of {rows} responses")
        if not 0 <= self.row < rows:
            raise RecipeError(f"row: got {self.row}; expected one from 0 to {rows - 1}")

    @classmethod
    def of(cls, example: Example) -> Case:
        """Return a recipe's example, with the rest of its group behind it."""
        rows = 1 + len(example.group)
        sizes, model_sizes = (size and (size,) * rows for size in (example.image_size, example.model_image_size))
        return cls((example.response, *example.group), (example.target,) * rows, 0, sizes, model_sizes, (0,) * rows)

    @property
    def response(self) -> str | None:
        """The response to explain."""
        return self.responses[self.row]

    @property
    def target(self) -> Any:
        """Its target, as it came."""
        return self.targets[self.row]

    def name(self, row: int) -> int:
        """Return the name of a row."""
        return row if self.names is None else self.names[row]

    def answering(self, response: str | None) -> Case:
        """Put another response into the row to explain; its length in tokens is no longer known."""
        responses = list(self.responses)
        responses[self.row] = response
        return replace(self, responses=tuple(responses), token_lengths=None)

    def size(self, recipe: Recipe) -> Size | None:
        """Return the image size of the row to explain as it or its target says it; raise as ``sized`` does."""
        target = recipe.read_targets([self.target], warn=False, box_format=self.box_format).rows[0]
        return (self.image_sizes and self.image_sizes[self.row]) or (target.image_size if target else None)

    def sized(self, recipe: Recipe, size: Size, origin: str) -> Case:
        """Give the image size, that of the file ``origin``, to the row to explain and the rest of its group.

        A TargetError where the target cannot be read, or says another size.
        """
        sizes, known = list(self.image_sizes or [None] * len(self.responses)), self.size(recipe)
        if known is not None:
            if tuple(known) != size:  # the screenshot is another one, or of another scale
                came, expected = [f"{w:.0f} x {h:.0f}" for w, h in (known, size)]
                raise TargetError(self.row, "image_size", came, f"{expected}, the size of {origin}")
            return self
        for row in range(len(sizes)):
            # One sample has one image; other groups have theirs.
            if row == self.row or (self.groups is not None and self.groups[row] == self.groups[self.row]):
                sizes[row] = sizes[row] or size
        return replace(self, image_sizes=tuple(sizes))

    def score(self, recipe: Recipe, response: str | None = None) -> Scores:
        """Score all rows, with another response in the row to explain if it is not None; raise as ``rollouts``."""
        case = self if response is None else self.answering(response)
        scores = recipe.evaluate(case.rollouts(recipe, checked=False))
        self._check(scores.errors)
        return scores

    def rollouts(self, recipe: Recipe, *, checked: bool = True) -> Rollouts:
        """Return the rollouts that verifiers get; ``checked=False`` lets the row to explain abstain as others do."""
        read = recipe.read_targets(list(self.targets), bad_target="abstain", warn=False, box_format=self.box_format)
        rollouts = recipe.prepare(list(recipe.ended(self.responses)), read, **self.arguments(), bad_target="abstain")
        if checked:
            self._check(rollouts.targets.errors)
        return rollouts

    def _check(self, errors: Mapping[int, TargetError]) -> None:
        if self.row in errors:
            raise errors[self.row].named(self.name(self.row))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``Recipe.score`` beside responses and targets, by keyword."""
        sizes = {"image_sizes": self.image_sizes, "model_image_sizes": self.model_image_sizes}
        listed = {name: None if column is None else list(column) for name, column in sizes.items()}
        names = dict.fromkeys(name for row in self.extras or () for name in row)  # rows of JSON may lack columns
        extras = {name: [row.get(name) for row in self.extras or ()] for name in names}
        return {**listed, "groups": self.groups, "token_lengths": self.token_lengths, "extras": extras}


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
    Reason.BAD_TARGET: "the target cannot be used, so that the response is not scored",
    Reason.UNKNOWN_ACTION: "an action was read, and the vocabulary does not have its name",
}
"""Each reason in a sentence."""


def read_response(recipe: Recipe, response: str | None, reason: Reason) -> ReadResponse:
    """Read one response, of which the reason is known by the image's size, as a recipe does; whatever the text."""
    whole = read_responses(recipe.ended([response]))
    response = whole.values[0]
    answer, _ = answer_texts(whole, recipe.thinking)
    length, kept = len(response), len(answer.values[0])
    parsed = _parsed(recipe, response, recipe.answers)
    dialect = int(parsed.dialect[0])
    return ReadResponse(
        reason=reason.name,
        meaning=MEANINGS[reason],
        dialect=parsed.dialects[dialect] if dialect >= 0 else None,
        tried=parsed.dialects,
        space=recipe.response_space.value,
        answers=recipe.answers,
        thinking=recipe.thinking,
        left_out=length - kept,
        cut=max(0, kept - MAX_LENGTH),
        action=str(parsed.actions[0]) or None,
        arguments={name: plain(value) for name, value in parsed.arguments.by_row(1)[0].items()},
        point=numbers_of(parsed.xy[0]),
        box=numbers_of(parsed.box[0]),
        found=_points(parsed if recipe.answers == "all" else _parsed(recipe, response, "all")),
    )


def numbers_of(values: Any) -> Numbers | None:
    """Return a row of numbers, None where one of them is missing."""
    numbers = tuple(float(value) for value in values)
    return None if any(map(math.isnan, numbers)) else numbers


def _parsed(recipe: Recipe, response: str | None, answers: Any) -> Predictions:
    read = parse([response], recipe.dialect, space=recipe.response_space, answers=answers, thinking=recipe.thinking)
    return turned(read, recipe.axes)


def _points(every: Predictions) -> tuple[Numbers | None, ...]:
    """Return the points of all answers, where there are several."""
    if every.points is None or Reason(every.reason[0]) not in PARSED or len(every.points) < 2:
        return ()
    return tuple(map(numbers_of, every.points))
