"""Check that a recipe keeps its promises, whatever the response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason, Scores
from grounding_rewards.scoring import BBOX, CIRCLE, POINT, POLYGON, REFUSAL, Example, Recipe
from grounding_rewards.testing._checks import brief, close, members, quietly, same_bits, survives_copies
from grounding_rewards.testing.hostile import hostile_responses, shapes_of

_WIRE = {"space": "pixel", "image_size": [1024, 512], "model_image_size": [512, 256]}  # for any space
_PLACES: dict[str, tuple[dict[str, Any], ...]] = {
    BBOX: (
        {"bbox": [500, 370, 524, 398]},
        {"bbox": [512, 384, 512, 384]},
        {"regions": [{"bbox": [0, 0, 9, 9]}, {"bbox": [9, 9, 900, 500]}]},
    ),
    POLYGON: ({"polygon": [0, 0, 900, 0, 0, 500]},),
    CIRCLE: ({"circle": [512, 384, 9]},),
    POINT: ({"point": [512, 384]},),
    REFUSAL: ({"refusal": True},),
    "action": ({"action": {"name": "type", "text": "hello"}}, {"action": {"name": "scroll", "direction": "up"}}),
}

_SHORT = 10_000
_REASONS = [int(reason) for reason in Reason if reason != Reason.BAD_TARGET]  # the targets here are good

Columns = dict[str, NDArray[Any]]


def check_recipe(
    recipe: Recipe,
    targets: Sequence[Any] | None = None,
    *,
    image_sizes: Any = None,
    model_image_sizes: Any = None,
    responses: Sequence[str | None] | None = None,
    seed: int = 0,
) -> None:
    """Check what every recipe promises, on ``hostile_responses`` and on its own example made hostile.

    Checked for each response: scoring neither raises, warns, prints nor changes the targets; all scores are finite
    float64, the total is within ``low`` and ``high``, ``acc`` 0 or 1, and the keys are ``Recipe.parts``. A response
    alone (its group alone, where the recipe needs groups) scores as in a large batch, in a small one and in another
    order, to the last bit (but for rounding where it needs groups). The recipe can be pickled, and copies equal it.

    Args:
        recipe: what to check.
        targets: in its native form or the wire form; without them its example's, and one of each kind it accepts.
        image_sizes: (2,) size of the images that ``targets`` belong to, where these do not say.
        model_image_sizes: (2,) the same of the images that the model saw.
        responses: texts to score in place of the hostile ones.
        seed: decides the other order, and the groups.

    Raises:
        AssertionError: a promise is broken; names the recipe, the response and the target.

    >>> from grounding_rewards import recipe
    >>> check_recipe(recipe("gta1"), [[[100, 100, 300, 200], 1.08, 1.92]])
    """
    if targets is None:
        examples = examples_of(recipe)
    else:
        examples = [Example("", target, image_sizes, model_image_sizes) for target in targets]
    if not examples:
        raise AssertionError(f"{recipe!r}: there is no target to check it with; give targets=")
    survives_copies(repr(recipe), recipe)
    texts = hostile_responses() if responses is None else list(responses)
    if recipe.example:
        texts += shapes_of(recipe.example.response, 2000).values()  # its own format, which the corpus may lack
    for example in examples:
        # The long ones follow once, and not for each target.
        check = _Check(recipe, [(text, example) for text in texts if len(text or "") < _SHORT], seed)
        check.score(range(len(check.cases)), "in a batch")
    _Check(recipe, [(text, examples[row % len(examples)]) for row, text in enumerate(texts)], seed).agreement()


def examples_of(recipe: Recipe) -> list[Example]:
    """Return the recipe's own example, and a target in the wire form of each kind that it accepts.

    Of a recipe without labels, the kinds are no target at all, and one with no more than a name and sizes.
    """
    own = [recipe.example] if recipe.example else []
    if recipe.label_free:
        return [*own, Example("", None, (1024, 512), (512, 256)), Example("", {"id": "a7", **_WIRE})]
    places = [place for kind, some in _PLACES.items() if kind in recipe.accepts for place in some]
    step = {"trajectory": "t1", "step": 0} if "trajectories" in recipe.needs else {}
    return own + [Example("", {**place, **_WIRE, **step}) for place in places]


@dataclass(frozen=True)
class _Check:
    recipe: Recipe
    cases: list[tuple[str | None, Example]]
    seed: int

    @property
    def groups(self) -> list[int] | None:
        """Return a group for each case where the recipe needs one, of about four cases each."""
        if "groups" not in self.recipe.needs:
            return None
        rng = np.random.default_rng(self.seed)  # a new one: the same groups each time they are asked for
        codes: list[int] = rng.integers(len(self.cases) // 4 + 1, size=len(self.cases)).tolist()
        return codes

    def agreement(self) -> None:
        """Check for equal scores alone, in small batches, in a large one and in another order."""
        everything = range(len(self.cases))
        batch = self.score(everything, "in a batch")
        for rows in members(self.groups, len(self.cases)):
            self.agree(batch, rows, "alone")
        if self.groups is None:  # cutting a batch would cut groups
            for start in range(0, len(self.cases), VECTOR_ROWS - 1):
                self.agree(batch, everything[start : start + VECTOR_ROWS - 1], "in a small batch")
        order = np.random.default_rng(self.seed).permutation(len(self.cases)).tolist()
        self.agree(batch, order, "in another order")

    def agree(self, batch: Columns, rows: Sequence[int], how: str) -> None:
        """Check that the chosen cases score as in the batch."""
        equal = same_bits if self.groups is None else close
        for name, column in self.score(rows, how).items():
            for place in np.flatnonzero(~equal(batch[name][list(rows)], column))[:1]:
                both = f"{batch[name][rows[place]]} in a batch and {column[place]} {how}"
                raise AssertionError(f"{self.recipe!r}: {name} is {both} for {self.case(rows[place])}")

    def score(self, rows: Sequence[int], how: str) -> Columns:
        """Return the columns of these cases, each checked by itself; errors name the case."""
        try:
            return self.sound(rows, how)
        except AssertionError:
            for row in rows if len(rows) > 1 else ():  # finds the case, whose error is raised here
                self.sound([row], "alone")
            raise

    def sound(self, rows: Sequence[int], how: str) -> Columns:
        examples = [self.cases[row][1] for row in rows]
        targets, groups = [example.target for example in examples], self.groups
        before = repr(targets)  # texts, for targets may hold arrays
        name = f"{self.recipe!r} on " + (self.case(rows[0]) if len(rows) == 1 else f"{len(rows)} responses")
        scores = quietly(
            f"{name}, {how},",
            lambda: self.recipe.score(
                [self.cases[row][0] for row in rows],
                targets,
                image_sizes=[example.image_size for example in examples],
                model_image_sizes=[example.model_image_size for example in examples],
                groups=groups and [groups[row] for row in rows],
            ),
        )
        if repr(targets) != before:
            raise AssertionError(f"{name} changes its targets")
        columns = _columns(name, self.recipe, scores, len(rows))
        for what, wrong in _faults(self.recipe, columns):
            for place in np.flatnonzero(wrong)[:1]:
                values = ", ".join(f"{key} {column[place]}" for key, column in columns.items())
                raise AssertionError(f"{self.recipe!r} {what}: {values} for {self.case(rows[place])}")
        return columns

    def case(self, row: int) -> str:
        response, example = self.cases[row]
        return f"response {brief(response)} and target {brief(example.target)}"


def _columns(name: str, recipe: Recipe, scores: Scores, rows: int) -> Columns:
    """Return all columns by name, checked for names, types and shapes."""
    if tuple(scores.parts) != recipe.parts:
        raise AssertionError(f"{name} has parts {tuple(scores.parts)}: expected {recipe.parts}")
    floats: Columns = {"total": scores.total, "acc": scores.acc, "valid": scores.valid, **scores.parts}
    for key, column in floats.items():
        if not isinstance(column, np.ndarray) or column.dtype != np.float64 or column.shape != (rows,):
            raise AssertionError(f"{name} returns {key} {brief(column)}: expected float64 of shape ({rows},)")
    return {**floats, "reason": scores.reason}


def _faults(recipe: Recipe, columns: Columns) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each possible fault with the rows that have it."""
    total = columns["total"]
    yield "returns a number that is not finite", ~np.all([np.isfinite(column) for column in columns.values()], axis=0)
    yield f"returns a total outside {recipe.low} to {recipe.high}", (total < recipe.low) | (total > recipe.high)
    yield "returns an acc that is neither 0 nor 1", ~np.isin(columns["acc"], (0.0, 1.0))
    yield "calls a usable target not valid", columns["valid"] != 1.0
    yield "returns no reason", ~np.isin(columns["reason"], _REASONS)
