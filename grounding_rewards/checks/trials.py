"""Hypotheses of wrong settings: each is tried on n rows, and says where they land."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.checks.landing import Landing, chance
from grounding_rewards.checks.scale_fit import bounded, scales
from grounding_rewards.coords.axes import Axes, axes_named
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.coords.register import space_of
from grounding_rewards.coords.resizing import RESIZING, Resizing, pipelines
from grounding_rewards.coords.spaces import MODEL_PIXEL, SPACES
from grounding_rewards.errors import RecipeError
from grounding_rewards.rollouts import Reason, Rollouts
from grounding_rewards.scoring import Recipe, into_space, turned
from grounding_rewards.stats.intervals import sign_test
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.write import to_wire

Settings = Mapping[str, Any]

LEVEL = 0.001  # of a thousand right settings one may be doubted, were every model as bad as chance
ROWS = 512
_LEAST_HITS = 0.05  # of the rows: where hardly any answer hits, something else is wrong
_LEAST_SCALED = 0.2  # the same of a scale, which is fitted to the rows
_ALIKE = 0.05  # above this, the chance that as many hits are lost as gained
_STRAY = 0.05  # of the boxes of a right format reach outside the screen, at most
_PAIRINGS = 16  # neighbours with which a row changes its point
_ORDERS = (BoxFormat.YXYX, BoxFormat.XXYY, BoxFormat.YYXX)
_BEYOND = 5.0  # standard deviations of those pairings by which gains are beyond them


@dataclass(frozen=True, eq=False)
class Trial:
    """A hypothesis: settings other than the declared ones, and the recipe and the targets read with them."""

    settings: Settings  # what is set otherwise, the main one first; None for a bound that must go
    recipe: Recipe  # the recipe with them
    targets: Targets  # the targets as read with them
    changes: int = 1  # number of separate mistakes
    # 0; or where a number of it was fitted to the rows, 1 for a usual scale, 2 for a bound, 3 for any scale.
    fitted: int = 0

    def joined(self, other: Trial) -> Trial:
        """Return both, where the other one is about targets alone."""
        recipe = replace(self.recipe, target_space=other.recipe.target_space)
        return Trial({**self.settings, **other.settings}, recipe, other.targets, self.changes + 1, self.fitted)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of n rows in a trial: the rollouts as verifiers see them, (n,) usable targets, and where they land."""

    trial: Trial
    rollouts: Rollouts
    valid: NDArray[np.bool_]
    landing: Landing

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """(n,) True where the recipe calls it a success."""
        hits: NDArray[np.bool_] = self.trial.recipe.evaluate(self.rollouts).acc > 0
        return hits


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to try hypotheses on."""

    recipe: Recipe  # the recipe, with what is declared
    raw: Sequence[Any]  # n targets as written; in the wire form, where they were read before
    as_written: bool  # True where they are as written, so that the format of boxes can be doubted
    image_sizes: Floats  # (n, 2) sizes of images that do not stand in targets; NaN where unknown
    model_image_sizes: Floats  # (n, 2) the same of the images that the model saw
    responses: Sequence[str | None] = ()
    answers: Rollouts = field(init=False)  # what is written in the responses, read once
    _ready: dict[Any, tuple[Targets, Landing]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        plain = replace(self.recipe, response_space=self.recipe.space, axes="xy")
        nothing = Targets.from_list([None] * len(self.raw), bad_target="abstain")
        answers = plain.prepare(self.responses, nothing, bad_target="abstain")
        reason = answers.predictions.reason
        written = replace(answers.predictions, reason=np.where(reason == Reason.OUT_OF_IMAGE, Reason.OK, reason))
        object.__setattr__(self, "answers", replace(answers, predictions=written))

    @classmethod
    def picked(cls, recipe: Recipe, responses: Any, targets: Any, image_sizes: Any, model_image_sizes: Any) -> Rows:
        """Pick at most 512 rows, spread evenly."""
        count = len(responses)
        if len(targets) != count:
            raise RecipeError(f"{recipe.name}: got {count} responses and {len(targets)} targets; expected one for each")
        picked = np.unique(np.linspace(0, count - 1, min(count, ROWS)).round().astype(np.int64))
        as_written = not isinstance(targets, Targets)
        raw = [(targets if as_written else targets.rows)[row] for row in picked.tolist()]
        if not as_written:
            raw = [row and to_wire(row) for row in raw]
            image_sizes = targets.known_image_sizes if image_sizes is None else image_sizes
            model_image_sizes = targets.known_model_image_sizes if model_image_sizes is None else model_image_sizes

        def some(name: str, sizes: Any) -> Floats:
            return nowhere(len(picked), 2) if sizes is None else read_sizes(name, sizes, count)[picked]

        return cls(
            recipe,
            raw=raw,
            as_written=as_written,
            image_sizes=some("image_sizes", image_sizes),
            model_image_sizes=some("model_image_sizes", model_image_sizes),
            responses=[responses[row] for row in picked.tolist()],
        )

    def targets(self, box_format: BoxFormat | None) -> Targets:
        """Read targets without a space where they name none; unreadable ones are kept as unusable."""
        native = self.recipe.native if self.as_written else None
        return Targets.from_list(self.raw, native=native, bad_target="abstain", box_format=box_format)

    def outcome(self, trial: Trial) -> Outcome:
        """Return where the rows land in a trial."""
        recipe = trial.recipe
        key = id(trial.targets), recipe.target_space, recipe.response_space, recipe.resizing
        if key not in self._ready:
            ready = trial.targets.prepare(
                recipe.requirements, image_sizes=self.image_sizes, model_image_sizes=self.model_image_sizes,
                bad_target="abstain",
            )  # fmt: skip
            self._ready[key] = ready, Landing.of(ready, recipe.space)
        ready, places = self._ready[key]
        written = replace(self.answers.predictions, space=recipe.response_space)
        predictions = into_space(turned(written, recipe.axes), recipe.space, ready)
        rollouts = replace(self.answers, predictions=predictions, targets=ready)
        return Outcome(trial, rollouts, ready.valid, places.hit_by(predictions.xy, ready.valid))

    def codes(self, screens: Floats) -> NDArray[np.int64]:
        """Return a code for each row's target, (n,), equal for equal targets on screens of one size, in their order."""
        keys = [(*screen, repr(target)) for screen, target in zip(screens.tolist(), self.raw, strict=True)]
        known = {key: code for code, key in enumerate(sorted(dict.fromkeys(keys), key=lambda key: key[:2]))}
        return np.array([known[key] for key in keys], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcomes of the same rows, compared target by target: gains of one target are averaged, for they are alike."""

    targets: NDArray[np.int64]  # (n,) code of each row's target, from 0, targets on screens of one size side by side
    declared: Outcome  # the outcome of what is declared

    def likelihood(self, outcome: Outcome) -> float:
        """Return the log-likelihood of all rows. Rounded, for scales of spaces leave the last bits to chance."""
        return round(float(outcome.landing.log_likelihoods().sum()), 6)

    def clear(self, other: Outcome, than: Outcome, level: float) -> bool:
        """Return True where one outcome's gains over another are too large for chance."""
        gains = self._mean(other.landing.log_likelihoods() - than.landing.log_likelihoods())
        return float(gains.sum()) >= -math.log(level) and chance(gains) < LEVEL

    def prefers(self, other: Outcome, level: float) -> bool:
        """Return True where an outcome is clearly better than the declared one, and nothing else explains it."""
        if not self.clear(other, self.declared, level):
            return False
        nearer, farther = self.nearer(other)
        least = _LEAST_SCALED if other.trial.fitted else _LEAST_HITS
        return (
            nearer > farther
            and self._beyond_pairing(other)
            and bool(other.hits.sum() >= max(1, least * other.valid.sum()))
            and self._plausible(other)
        )

    def _plausible(self, other: Outcome) -> bool:
        """Return True where it hits more, or as often within chance.

        Boxes of another format may instead lie inside the screen clearly more often: wrong ones may be large, so that
        all answers hit.
        """
        more = bool(other.hits.sum() > self.declared.hits.sum())
        if "box_format" not in other.trial.settings:
            gained, lost = self._votes(other.hits.astype(np.float64) - self.declared.hits)
            return more or (sign_test(lost, gained) >= _ALIKE and not other.trial.fitted)
        outside, before = other.landing.outside, self.declared.landing.outside
        inside = outside.mean() <= _STRAY and sign_test(*self._votes(before.astype(np.float64) - outside)) < LEVEL
        return inside or (more and bool(outside.sum() <= before.sum()))

    def nearer(self, other: Outcome) -> tuple[int, int]:
        """Count the distinct targets whose rows land nearer in an outcome than as declared, and farther away."""
        near, far = other.landing.distances(), self.declared.landing.distances()
        return self._votes((near < far).astype(np.float64) - (near > far))

    def _votes(self, votes: Floats) -> tuple[int, int]:
        sums = np.bincount(self.targets, weights=votes)
        return int((sums > 0).sum()), int((sums < 0).sum())

    def _beyond_pairing(self, other: Outcome) -> bool:
        """Return True where gains are clear beyond those with the points of other rows, as a blind model has them."""
        gains, paired = self._gains(other), []
        for away in range(1, min(_PAIRINGS, int(self.targets.max(initial=0))) + 1):
            paired.append(self._gains(other, self._rows_of_neighbours(away)))
        if not paired:
            return False
        sums = np.array([each.sum() for each in paired])
        beyond = gains.sum() > sums.mean() + _BEYOND * sums.std()
        return bool(beyond) and chance(gains - np.mean(paired, axis=0)) < LEVEL

    def _rows_of_neighbours(self, away: int) -> NDArray[np.int64]:
        """Return for each row one of the target so many codes away, (n,): its screen is of the same size, or near."""
        order, counts = np.argsort(self.targets, kind="stable"), np.bincount(self.targets)
        starts, neighbours = np.cumsum(counts) - counts, (self.targets + away) % len(counts)
        turn = np.empty_like(order)
        turn[order] = np.arange(len(order)) - np.repeat(starts, counts)
        rows: NDArray[np.int64] = order[starts[neighbours] + turn % counts[neighbours]]
        return rows

    def _mean(self, gains: Floats) -> Floats:
        means: Floats = np.bincount(self.targets, weights=gains) / np.bincount(self.targets)
        return means

    def _gains(self, other: Outcome, source: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """Return the mean gain of each target, with the points of the rows ``source``."""
        new, old = (each.landing.moved(source).log_likelihoods() for each in (other, self.declared))
        return self._mean(new - old)


def of_responses(rows: Rows, declared: Outcome) -> Iterator[Trial]:
    """Yield hypotheses about responses: another space, y before x, both, another pipeline, another scale."""
    recipe, targets = rows.recipe, declared.trial.targets
    own = axes_named(recipe.axes)
    turned_axes = str(replace(own, y_first=not own.y_first))
    for space in SPACES:
        other = replace(recipe, response_space=space)
        named = {} if space == recipe.response_space else {"response_space": str(space)}
        if named:
            yield Trial(named, other, targets)
        yield Trial({**named, "axes": turned_axes}, replace(other, axes=turned_axes), targets, 1 + len(named))
    if np.isnan(np.fmax(rows.model_image_sizes, targets.model_image_sizes)).any():
        yield from _pipelines(recipe, targets)


def of_scales(rows: Rows, declared: Outcome) -> Iterator[Trial]:
    """Yield hypotheses about responses on another scale: a constant one, and bounds of known pipelines."""
    recipe, targets = rows.recipe, declared.trial.targets
    sizes = np.fmax(rows.image_sizes, targets.image_sizes)
    unknown = bool(np.isnan(np.fmax(rows.model_image_sizes, targets.model_image_sizes)).any())
    for y_first in (False, True):
        written = Axes(y_first).read(rows.answers.predictions.xy)
        for space, scale, usual in scales(written, declared.landing, sizes):
            axes = str(Axes(y_first, scale))
            named = {"axes": axes, **({} if space == recipe.response_space else {"response_space": str(space)})}
            changed = replace(recipe, response_space=space, axes=axes)
            yield Trial(named, changed, targets, 1 + (y_first != axes_named(recipe.axes).y_first), 1 if usual else 3)
        axes = str(Axes(y_first))
        order = {} if axes == recipe.axes else {"axes": axes}
        for resizing in bounded(recipe.resizing, written, declared.landing, sizes) if unknown else ():
            changed = replace(recipe, response_space=MODEL_PIXEL, axes=axes, resizing=resizing)
            yield Trial({**_named(recipe, resizing), **order}, changed, targets, 1 + len(order), 2)


def of_targets(rows: Rows, declared: Outcome, box_format: BoxFormat | None) -> Iterator[Trial]:
    """Yield hypotheses about targets: another space of those that name none, boxes in another format.

    Corners in another order are hardly ever hit, so that they are tried where few are.
    """
    recipe, targets = rows.recipe, declared.trial.targets
    for space in SPACES:
        if None in targets.spaces and space != recipe.target_space:
            yield Trial({"target_space": str(space)}, replace(recipe, target_space=space), targets)
    # Where sizes are unknown no other space can be tried, and boxes that are read too large fit any answers.
    read = np.array([target is not None for target in targets.rows], dtype=np.bool_)
    unknown = read & np.isnan(np.fmax(rows.image_sizes, targets.image_sizes)[:, 0])
    sized, few = 2 * unknown.sum() <= read.sum(), 2 * declared.hits.sum() < len(read)
    for written in BoxFormat if rows.as_written and sized else ():
        if written != (box_format or BoxFormat.XYXY) and (few or written not in _ORDERS):
            again = rows.targets(written)
            if again.rows != targets.rows:  # as they are where none is a box of four numbers, or all in the native form
                yield Trial({"box_format": str(written)}, recipe, again)


def _pipelines(recipe: Recipe, targets: Targets) -> Iterator[Trial]:
    """Yield pipelines with their own bounds; those whose model answers in pixels of the resized image come first."""
    own = recipe.resizing
    trainer = own.model.rpartition("+")[0] if own else None
    for answers in (True, False):
        for name in pipelines():
            prefix = name.rpartition("+")[0]
            if (space_of(name) == MODEL_PIXEL) != answers or trainer not in (None, prefix) or Resizing(name) == own:
                continue
            if answers or recipe.response_space == MODEL_PIXEL:
                changed = replace(recipe, response_space=MODEL_PIXEL, resizing=Resizing(name))
                yield Trial(_named(recipe, Resizing(name)), changed, targets)


def _named(recipe: Recipe, resizing: Resizing) -> Settings:
    """Return the settings of a pipeline, for responses in pixels of the image that it makes."""
    own = vars(recipe.resizing) if recipe.resizing else {}
    bounds = {name: value for name in RESIZING[1:] if (value := getattr(resizing, name)) != own.get(name)}
    # A model's name sets its own response space, unless another is declared beside it.
    implied = space_of(resizing.model) == MODEL_PIXEL and (
        recipe.response_space == MODEL_PIXEL or "response_space" not in dict(recipe.options)
    )
    space = {} if implied else {"response_space": str(MODEL_PIXEL)}
    return {"model": resizing.model, **space, **bounds}
