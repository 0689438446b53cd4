"""n rows to their scores: columns in, one call of the recipe, columns out; trainers and files go the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from msgspec.structs import replace as replaced
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.catalogue import RecordedName, recorded_recipe
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.coords.spaces import UNIT, CoordSpace, convert
from grounding_rewards.errors import TargetError
from grounding_rewards.parsing.responses import read_responses
from grounding_rewards.rollouts import Reason, Rollouts, Scores
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import BadTarget, Targets
from grounding_rewards.targets.target import Target
from grounding_rewards.targets.write import to_wire

Rows = NDArray[np.int64] | None
"""(m,) numbers of some rows of a batch; None for all."""

Sizes = Sequence[tuple[float, float] | None]
Groups = Callable[[Recipe, Targets, Rows], Any]

SCORES = ("total", "acc", "valid", "parsed", "in_image")  # columns of scored rows beside the recipes' parts
_OK = np.int8(Reason.OK)  # to compare a column with a member of an enum takes several times as long
_REASONS = np.array([*(reason.name for reason in Reason), None], dtype=np.object_)  # None at -1: nothing scored the row


@dataclass(eq=False)  # frozen ones, as those below, take three times as long to make
class Inputs:
    """Inputs of scoring n rows."""

    responses: Sequence[str | None]
    targets: Sequence[Any]
    # further columns; what is no column, such as a trainer's state, is every row's
    extras: Mapping[str, Any] | None = None
    # n sizes of the original images from outside of targets, None for none; or a function of targets that returns them
    image_sizes: Sizes | Callable[[Targets], Sizes | None] | None = None
    model_image_sizes: Sizes | None = None  # the same of the images that the model saw
    # (n,) which sample each row belongs to; or a function that says so of a recipe that compares rows
    groups: Groups | Any = None
    token_lengths: Sequence[int] | None = None  # (n,) lengths of the responses
    box_format: BoxFormat | None = None  # how boxes of targets are written, as in ``Targets.from_list``

    def take(self, rows: Rows) -> Inputs:
        """Return some of the rows; all for None."""
        if rows is None:
            return self
        numbers = rows.tolist()

        def some(column: Any) -> Any:
            if isinstance(column, np.ndarray) and column.ndim:  # without dimensions it is one value, every row's
                return column[rows]
            return [column[row] for row in numbers] if isinstance(column, list | tuple) else column

        columns = {**vars(self), "responses": list(self.responses), "targets": list(self.targets)}
        extras = self.extras and {name: some(column) for name, column in self.extras.items()}
        return Inputs(**{**{name: some(column) for name, column in columns.items()}, "extras": extras})


@dataclass(eq=False)
class RecipeSlice:
    """The rows of a batch that one recipe scored."""

    recipe: Recipe
    inputs: Inputs  # what it was given of them
    rollouts: Rollouts  # what its verifiers saw
    scores: Scores
    rows: Rows = None  # which rows of the batch they are
    # (m, 2) image sizes and model image sizes that came beside the targets' own; None where none did
    sizes: tuple[Floats | None, Floats | None] = (None, None)
    # True where the rows name that recipe; where they name none it stands in, and their targets cannot be used
    routed: bool = True

    @property
    def xy_unit(self) -> Floats:
        """(m, 2) the point answered, in shares of the image; NaN where there is none, or the size is unknown."""
        sizes = self.rollouts.image_sizes, self.rollouts.model_image_sizes
        return convert(self.scores.predictions.xy, self.recipe.space, UNIT, *sizes)

    @property
    def columns(self) -> dict[str, Floats]:
        """Numbers of m rows by name; a target that cannot be used has a total of 0.0."""
        scores = self.scores
        return {
            "total": np.where(scores.valid > 0, scores.total, 0.0) if scores.errors else scores.total,
            "acc": scores.acc,
            "valid": scores.valid,
            "parsed": scores.predictions.parsed.astype(np.float64),
            "in_image": (scores.reason == _OK).astype(np.float64),
            **scores.parts,
        }


def score_rows(
    recipe: Recipe, inputs: Inputs, bad_target: BadTarget, *, rows: Rows = None, outside_first: bool = True
) -> RecipeSlice:
    """Score rows with one recipe; sizes from outside override those in targets, or only stand in for them."""
    whole = read_responses(inputs.responses)
    if (texts := recipe.ended(whole)) is not whole:
        inputs = replace(inputs, responses=texts)
    targets = recipe.read_targets(inputs.targets, bad_target=bad_target, warn=False, box_format=inputs.box_format)
    if callable(inputs.image_sizes):
        inputs = replace(inputs, image_sizes=inputs.image_sizes(targets))
    own = (None, None) if outside_first else (targets.known_image_sizes, targets.known_model_image_sizes)
    image_sizes = _outside("image_sizes", inputs.image_sizes, own[0])
    model_image_sizes = _outside("model_image_sizes", inputs.model_image_sizes, own[1])
    groups = inputs.groups
    if callable(groups):
        groups = groups(recipe, targets, rows) if "groups" in recipe.needs else None
    rollouts = recipe.prepare(
        texts, targets, image_sizes=image_sizes, model_image_sizes=model_image_sizes, groups=groups,
        token_lengths=inputs.token_lengths, extras=inputs.extras, bad_target=bad_target,
    )  # fmt: skip
    return RecipeSlice(recipe, inputs, rollouts, recipe.evaluate(rollouts), rows, (image_sizes, model_image_sizes))


def _outside(name: str, sizes: Any, first: Floats | None) -> Floats | None:
    """Sizes from outside, where the targets' own do not go first; None where there are none."""
    if sizes is None or not any(size is not None for size in sizes):
        return None
    outside = read_sizes(name, sizes, len(sizes))
    return outside if first is None else np.where(np.isnan(first), outside, first)


@dataclass(eq=False)
class ScoredBatch:
    """n scored rows by recipe, with the names of all parts that any of the recipes has; ``count`` is n."""

    slices: Sequence[RecipeSlice]
    parts: Sequence[str]
    count: int

    def __len__(self) -> int:
        return self.count

    @cached_property
    def columns(self) -> dict[str, Floats]:
        """Numbers of n rows by name, finite and always the same names; 0.0 where a row has none of a name."""
        columns = [each.columns for each in self.slices]
        names = (*SCORES, *self.parts)
        # Mostly one recipe has scored all rows: nothing is joined or copied.
        if len(columns) == 1 and self.slices[0].rows is None and tuple(columns[0]) == names:
            return columns[0]
        return {name: self._join([each.get(name) for each in columns], 0.0) for name in names}

    @property
    def reason(self) -> NDArray[np.int8]:
        """(n,) ``Reason``."""
        return self.column(lambda each: each.scores.reason)

    def column(self, of: Callable[[RecipeSlice], NDArray[Any]], fill: Any = 0.0) -> NDArray[Any]:
        """Join what each slice has, (m,) or (m, k), to a column of n rows; ``fill`` stands in rows of none."""
        return self._join([of(each) for each in self.slices], fill)

    def _join(self, columns: Sequence[NDArray[Any] | None], fill: Any) -> NDArray[Any]:
        known = [(each.rows, column) for each, column in zip(self.slices, columns, strict=True) if column is not None]
        if len(known) == 1 and known[0][0] is None:
            return known[0][1]
        like = known[0][1] if known else np.zeros(0)
        joined = np.full((self.count, *like.shape[1:]), fill, dtype=like.dtype)
        for rows, column in known:
            joined[rows] = column
        return joined

    @cached_property
    def errors(self) -> Mapping[int, TargetError]:
        """Errors of targets that could not be used, by row."""
        errors: dict[int, TargetError] = {}
        for each in self.slices:
            for row, error in each.scores.errors.items():
                own = row if each.rows is None else int(each.rows[row])
                # Without an id the error names its row of the slice, and not of the batch.
                errors[own] = error if own == row else error.named(own)
        return dict(sorted(errors.items()))

    @property
    def targets(self) -> list[Any]:
        """(n,) the targets as read; None where unreadable."""
        rows: list[Any] = self.column(lambda each: np.fromiter(each.rollouts.targets.rows, np.object_), None).tolist()
        return rows

    def recorded_targets(self, texts: Sequence[str | None]) -> list[str | None]:
        """Return n targets, given as JSON, as a rollout table holds them: see ``recorded_targets``."""
        recorded = list(texts)
        for each in self.slices:
            rows = range(self.count) if each.rows is None else each.rows.tolist()
            read = each.rollouts.targets.rows
            for row, text in zip(rows, recorded_targets(each.recipe, [texts[at] for at in rows], read), strict=True):
                recorded[row] = text
        return recorded

    def named(self, of: Callable[[Recipe], str]) -> list[Any]:
        """Return (n,) what a text says of the recipe of each row; None in rows of none."""
        texts = np.array([*(of(each.recipe) for each in self.slices), None], dtype=np.object_)  # None at -1, as below
        places = [np.full(len(each.scores), place) for place, each in enumerate(self.slices)]
        names: list[Any] = texts[self._join(places, -1)].tolist()
        return names

    def rollout_columns(self) -> dict[str, Any]:
        """Return what a rollout table says of n scored rows; NaN and None where it says nothing."""
        xy = self.column(lambda each: each.xy_unit, np.nan)
        usable = [_usable(each) for each in self.slices]
        names = "total", "acc", *self.parts
        return {
            **{name: self._join([each.get(name) for each in usable], np.nan) for name in names},
            "recipe": self.named(lambda recipe: recipe.name),
            "reason": _REASONS[self.column(lambda each: each.scores.reason, -1)].tolist(),
            "x_unit": xy[:, 0],
            "y_unit": xy[:, 1],
            "image_size": self.column(lambda each: each.rollouts.image_sizes, np.nan),
            "model_image_size": self.column(lambda each: each.rollouts.model_image_sizes, np.nan),
        }


def _usable(scored: RecipeSlice) -> dict[str, Floats]:
    """The numbers of m rows, NaN where the target could not be used."""
    columns, valid = scored.columns, scored.scores.valid > 0
    return {name: np.where(valid, each, np.nan) for name, each in columns.items()} if scored.scores.errors else columns


def marked(recipe: Recipe) -> dict[str, bool]:
    """Mark the ``acc`` of a recipe that looks at no target, in JSON; nothing for others."""
    return {"label_free": True} if recipe.label_free else {}


def forgets_space(recipe: Recipe) -> bool:
    """Return True where a recipe's name does not say the space of its targets: an option has set it, or needs to."""
    return _space_of(recipe.name) != recipe.target_space


@lru_cache
def _space_of(name: str) -> CoordSpace | None:
    known = recorded_recipe(RecordedName(name))
    return None if known is None else known.target_space


def recorded_targets(recipe: Recipe, texts: Sequence[str | None], read: Sequence[Target | None]) -> list[str | None]:
    """Return targets as JSON that name their space, where the recipe's name does not say it."""
    if not forgets_space(recipe):
        return list(texts)
    return [
        text
        if target is None or not (target.regions or target.ends)
        else dumps(to_wire(replaced(target, space=target.space or recipe.target_space))).decode()
        for text, target in zip(texts, read, strict=True)
    ]
