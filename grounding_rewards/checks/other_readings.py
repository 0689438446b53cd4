"""Other dialects and recipes that read responses which a recipe does not read, tried on some rows of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.catalogue import SHARED, own_options, recipe
from grounding_rewards.checks.landing import Landing
from grounding_rewards.coords.resizing import RESIZING
from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL
from grounding_rewards.errors import MISSING, GroundingRewardsError
from grounding_rewards.parsing.texts import without_end
from grounding_rewards.plugins.registry import registry
from grounding_rewards.rollouts import CLICKED, Reason, Rollouts
from grounding_rewards.scoring import ACTION, Recipe
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.typed import Boxes

if TYPE_CHECKING:
    from grounding_rewards.batch.score_rows import RecipeSlice
    from grounding_rewards.checks.space_fit import SpaceFit

SIZE = 512
"""Rows that are kept at most."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: its multiples spread evenly, and have no period


class Row(NamedTuple):
    """A row with its result.

    ``key`` decides which rows are kept, ``number`` counts rows from 0, and ``sizes`` are those of the image and of the
    image that the model saw, from outside of the target: (2, 2), NaN where unknown.
    """

    key: int
    number: int
    response: str | None
    target: Any
    sizes: Floats
    reason: Reason
    right: bool


@dataclass(eq=False)
class RowSample:
    """The rows with the smallest keys: the same ones however many batches they came in."""

    _rows: list[Row] = field(default_factory=list)
    _below: int = (1 << 64) - 1

    def add(self, scored: RecipeSlice, count: int, start: int) -> None:
        """Offer the first rows of a batch that begins at row number ``start``."""
        keys, chosen = _keys(count, start), self.kept(count, start)
        if not len(chosen):
            return
        unknown = np.full((len(scored.scores), 2), np.nan)
        sizes = np.stack([unknown if each is None else each for each in scored.sizes], axis=1)
        rows, targets = chosen.tolist(), scored.inputs.targets
        some = targets.take(rows) if isinstance(targets, Boxes) else [targets[row] for row in rows]
        for row, target in zip(rows, some, strict=True):
            reason, right = Reason(int(scored.scores.reason[row])), bool(scored.scores.acc[row] > 0)
            response = scored.inputs.responses[row]
            self._rows.append(Row(int(keys[row]), start + row, response, target, sizes[row], reason, right))
        self._cut()

    def join(self, other: RowSample) -> None:
        """Offer the rows that another sample keeps."""
        self._rows += other._rows
        self._cut()

    def _cut(self) -> None:
        if len(self._rows) > SIZE:
            self._rows = sorted(self._rows, key=lambda row: row.key)[:SIZE]
            self._below = self._rows[-1].key

    def kept(self, count: int, start: int) -> NDArray[np.int64]:
        """Return the places of those of the first ``count`` rows that are kept; as for ``add``."""
        keys = _keys(count, start)
        chosen = np.flatnonzero(keys < self._below)
        return chosen[np.argsort(keys[chosen])[:SIZE]]

    @property
    def rows(self) -> list[Row]:
        """The rows, in order."""
        return sorted(self._rows, key=lambda row: row.number)


def _keys(count: int, start: int) -> NDArray[np.uint64]:
    return np.arange(start + 1, start + count + 1, dtype=np.uint64) * _GOLDEN


_NEARLY = 0.9
_LEAST_RIGHT = 0.05  # of what a form reads, where nothing else is right
_INSIDE = 0.9  # of what a form reads lies in the image, where no answer tells which form is right
_TRIED = 4  # forms that are tried with other spaces, too
_OURS = ("click", "action")
_GENERAL = ("auto", "auto_action")
_SIZES = np.full((2, 2), 1000.0)  # any: shares of an image do not depend on its size


@dataclass(frozen=True)
class Reading:
    """Another reading of responses."""

    recipe: Recipe  # the recipe that reads them
    settings: Mapping[str, Any]  # what to set for it
    how: str = ""  # how they are read, such as "by tool_call"
    count: int = 0  # number of responses that it reads
    without: tuple[str, ...] = ()  # options that it does not take
    lacks: str = ""  # what its targets lack, such as "image_size"; "" for nothing
    # Number of responses that are right then, and not by a place on the very border of their target, as the first
    # corner of a box is.
    right: int = 0
    inside: int = 0  # number of responses that lie in their image


def other_reading(
    unfit: Recipe, rows: Sequence[Row], box_format: BoxFormat | None, accuracy: float = 0.0
) -> Reading | None:
    """Return a reading of at least half of the rows, which a recipe does not read; None where there is none.

    The recipe with another policy of several answers is tried first, then with another dialect, then our own recipes.
    Most of what a reading reads must be about as right as what the recipe reads, whose share of right responses is
    ``accuracy``, perhaps with other spaces. Where nothing is right, only general forms are an answer to that.
    """
    targets = Targets.from_list([row.target for row in rows], native=unfit.native, bad_target="abstain")
    own_space = all(target.space is not None for target in targets.rows if target is not None)
    for readings in (_policies(unfit, rows), _dialects(unfit), _recipes(unfit, own_space=own_space)):
        tried = [replace(each, **_outcome(each, rows, box_format)) for each in readings]
        most = max((each.count for each in tried), default=0)
        enough = [each for each in tried if each.count and each.count >= max(_NEARLY * most, len(rows) / 2)]
        enough = [each for each in enough if not each.lacks] or enough
        if not any(_holds(each, accuracy) for each in enough):
            fits = [fitted(each.recipe, rows, box_format).better for each in enough[:_TRIED]]
            enough[:_TRIED] = [
                replace(each, right=fit.hits) if fit else each for each, fit in zip(enough, fits, strict=False)
            ]
        best = max(enough, key=lambda each: each.right, default=None)
        if best is None:
            continue
        if _holds(best, accuracy):
            return best
        general = (
            each for each in enough if each.recipe.dialect.name in _GENERAL and each.inside >= _INSIDE * each.count
        )
        if not accuracy and (first := next(general, None)) is not None:
            return first
    return None


def _holds(reading: Reading, accuracy: float) -> bool:
    """Return True where enough of what is read is right."""
    return reading.right >= max(1.0, max(accuracy / 2, _LEAST_RIGHT) * reading.count)


def fitted(judge: Recipe, rows: Sequence[Row], box_format: BoxFormat | None) -> SpaceFit:
    """Look for spaces that rows fit clearly better than a recipe's own."""
    from grounding_rewards.checks.space_fit import fit_spaces  # which rows that are all right do without

    sizes = _sizes(rows)
    return fit_spaces(
        judge, [row.response for row in rows], [row.target for row in rows],
        image_sizes=sizes[:, 0], model_image_sizes=sizes[:, 1], box_format=box_format,
    )  # fmt: skip


def _sizes(rows: Sequence[Row]) -> Floats:
    return np.array([row.sizes for row in rows]).reshape(-1, 2, 2)


def prepared(judge: Recipe, rows: Sequence[Row], box_format: BoxFormat | None, sizes: Floats | None = None) -> Rollouts:
    """Return what verifiers see of rows; targets that cannot be used abstain. ``sizes`` stand in for unknown ones."""
    targets = judge.read_targets([row.target for row in rows], bad_target="abstain", warn=False, box_format=box_format)
    known = _sizes(rows)
    if sizes is not None:
        own = np.stack([targets.image_sizes, targets.model_image_sizes], axis=1)
        known = np.fmax(np.where(np.isnan(known), own, known), np.where(np.isnan(own), sizes, np.nan))
    return judge.prepare(
        [row.response for row in rows], targets, image_sizes=known[:, 0], model_image_sizes=known[:, 1],
        groups=np.arange(len(rows)), bad_target="abstain",
    )  # fmt: skip


def _outcome(reading: Reading, rows: Sequence[Row], box_format: BoxFormat | None) -> dict[str, Any]:
    """Return what a reading reads: by the dialect of most rows, with the number of right ones."""
    judge = reading.recipe
    try:
        rollouts = prepared(judge, rows, box_format)
        errors = rollouts.targets.errors
        lacking = {row: error.field for row, error in errors.items() if error.came is MISSING}
        if lacking and not {judge.response_space, judge.target_space} & {PIXEL, MODEL_PIXEL}:
            rollouts = prepared(judge, rows, box_format, _SIZES)
        right = judge.evaluate(rollouts).acc > 0
    except GroundingRewardsError:
        return {"count": 0}
    predictions = rollouts.predictions
    usable = rollouts.targets.valid.copy()
    usable[list(lacking)] = True
    read = np.isin(predictions.reason, CLICKED) & usable
    if ACTION not in judge.accepts:
        read &= ~np.isnan(predictions.xy[:, 0])
    names = Counter(predictions.dialects[each] for each in predictions.dialect[read].tolist() if each >= 0)
    commonest = names.most_common(1)[0][0] if names else judge.dialect.name
    on_border = Landing.of(rollouts.targets, judge.space).hit_by(predictions.xy, usable).on_border()
    return {
        "count": int(read.sum()),
        "how": reading.how or f"by {commonest}",
        "lacks": next(iter(lacking.values()), ""),
        "right": int((read & right & ~on_border).sum()),
        "inside": int((read & (predictions.reason == Reason.OK)).sum()),
    }


def _policies(unfit: Recipe, rows: Sequence[Row]) -> Iterator[Reading]:
    texts = [row.response or "" for row in rows] if unfit.trim is False else []
    ended = [text[len(without_end(text)) :].strip() for text in texts]
    if tokens := [each for each, _ in Counter(filter(None, ended)).most_common(1)]:
        yield Reading(replace(unfit, trim=True), {"trim": True}, f"without {tokens[0]:.60} at their end")
    for policy in ("last", "first") if unfit.answers == "only" else ():
        how = f"where the {policy} of several answers counts"
        yield Reading(replace(unfit, answers=policy), {"answers": policy}, how)


def _dialects(unfit: Recipe) -> Iterator[Reading]:
    """Yield the recipe with other dialects, the general ones first, where it has an option for them."""
    names = [name for name in registry().parsers if name not in _GENERAL]
    for name in (*_GENERAL, *names) if takes(unfit, "dialect") else ():
        if (built := _built(unfit.name, {**dict(unfit.options), "dialect": name})) is not None:
            yield Reading(built, {"dialect": name})


def takes(built: Recipe, option: str) -> bool:
    """Return True where a recipe has an option of its own."""
    try:
        return option in own_options(built.name)
    except GroundingRewardsError:  # it was built by hand
        return False


def _recipes(unfit: Recipe, *, own_space: bool) -> Iterator[Reading]:
    """Yield our own recipes that judge the same things, with the settings of responses and targets that they share.

    A published one is another reward, whatever it reads. ``own_space``: targets name their space, which an option is
    not to replace.
    """
    own = dict(unfit.options)
    shared: dict[str, Any] = {} if own_space else {"target_space": unfit.target_space}
    if "model" not in own or "response_space" in own:
        shared["response_space"] = unfit.response_space
    shared |= {name: own[name] for name in RESIZING if name in own}
    for name in ("action",) if ACTION in unfit.accepts else _OURS:
        built = None if name == unfit.name or unfit.label_free else _built(name, shared)
        if built is not None:
            changed = {key: value for key, value in built.options if own.get(key) != value}
            without = tuple(each for each in own if each not in (*SHARED, *own_options(name)))
            yield Reading(built, {"recipe": name, **changed}, without=without)


def _built(name: str, options: Mapping[str, Any]) -> Recipe | None:
    try:
        return recipe(name, **options)
    except GroundingRewardsError:  # it needs further options, or its plugin does not fit
        return None
