"""One rollout to explain, with the rollouts that its score depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.rollouts import Rollouts, Scores
from grounding_rewards.scoring import Example, Recipe

Size = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """One row among those that its score depends on: alone, or with the rest of its group or trajectory.

    Attributes:
        responses: n responses; None counts as empty.
        targets: their targets, in any form that the recipe reads.
        row: the one to explain.
        image_sizes: width and height of the original images; None where only the targets may say.
        model_image_sizes: the same of the images that the model saw.
        groups: which sample each response belongs to; None where every row is its own group.
        token_lengths: how many tokens each response has, where that is known.
        extras: each row's further columns, by name.
        names: what each row is called, such as its number in a file; None where they are counted from 0.

    Raises:
        RecipeError: lengths differ, or there is no such row.

    >>> from grounding_rewards import recipe
    >>> case = Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],))
    >>> case.score(recipe("gelato")).acc, case.score(recipe("gelato"), "(900, 900)").acc
    (array([1.]), array([0.]))
    """

    responses: tuple[str | None, ...]
    targets: tuple[Any, ...]
    row: int = 0
    image_sizes: tuple[Size | None, ...] | None = None
    model_image_sizes: tuple[Size | None, ...] | None = None
    groups: tuple[Any, ...] | None = None
    token_lengths: tuple[int, ...] | None = None
    extras: tuple[Mapping[str, Any], ...] | None = None
    names: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        rows = len(self.responses)
        for name, column in vars(self).items():
            if name != "row" and column is not None and len(column) != rows:
                raise RecipeError(f"{name}: got {len(column)}; expected one for each of {rows} responses")
        if not 0 <= self.row < rows:
            raise RecipeError(f"row: got {self.row}; expected one from 0 to {rows - 1}")

    @classmethod
    def of(cls, example: Example) -> Case:
        """A recipe's example, with the rest of its group behind it."""
        rows = 1 + len(example.group)
        return cls(
            (example.response, *example.group),
            (example.target,) * rows,
            image_sizes=example.image_size and (example.image_size,) * rows,
            model_image_sizes=example.model_image_size and (example.model_image_size,) * rows,
            groups=(0,) * rows,
        )

    @property
    def response(self) -> str | None:
        """The response to explain."""
        return self.responses[self.row]

    @property
    def target(self) -> Any:
        """Its target, as it came."""
        return self.targets[self.row]

    def answering(self, response: str | None) -> Case:
        """The same with another response in the row to explain; its length in tokens is no longer known."""
        responses = list(self.responses)
        responses[self.row] = response
        return replace(self, responses=tuple(responses), token_lengths=None)

    def score(self, recipe: Recipe, response: str | None = None) -> Scores:
        """The scores of all rows, with another response in the row to explain where one is given.

        Raises:
            TargetError: the target of the row to explain cannot be used; others abstain.
            RecipeError: something that the recipe needs is missing.
        """
        case = self if response is None else self.answering(response)
        scores = recipe.judge(case._rollouts(recipe))
        self._check(scores.errors)
        return scores

    def rollouts(self, recipe: Recipe) -> Rollouts:
        """What the recipe's verifiers see of all rows.

        Raises:
            TargetError: the target of the row to explain cannot be used; others abstain.
            RecipeError: something that the recipe needs is missing.
        """
        found = self._rollouts(recipe)
        self._check(found.targets.errors)
        return found

    def _rollouts(self, recipe: Recipe) -> Rollouts:
        return recipe.rollouts(list(self.responses), list(self.targets), **self.given(), bad_target="abstain")

    def name(self, row: int) -> int:
        """What a row is called."""
        return row if self.names is None else self.names[row]

    def _check(self, errors: Mapping[int, TargetError]) -> None:
        error = errors.get(self.row)
        if error is not None:
            raise error.named(self.name(self.row))

    def given(self) -> dict[str, Any]:
        """What ``Recipe.score`` takes beside responses and targets, by keyword."""
        sizes = {"image_sizes": self.image_sizes, "model_image_sizes": self.model_image_sizes}
        listed = {name: None if column is None else list(column) for name, column in sizes.items()}
        names = dict.fromkeys(name for row in self.extras or () for name in row)
        extras = {name: [row.get(name) for row in self.extras or ()] for name in names}
        return {**listed, "groups": self.groups, "token_lengths": self.token_lengths, "extras": extras}
