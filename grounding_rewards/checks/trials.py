"""Hypotheses of wrong settings, and how n rows do under each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.checks.landing import Landing, chance
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.coords.resizing import PIPELINES, RESIZING, Resizing
from grounding_rewards.coords.spaces import MODEL_PIXEL, MODELS, PIXEL, SPACES
from grounding_rewards.errors import GroundingRewardsError, RecipeError
from grounding_rewards.scoring import Recipe
from grounding_rewards.stats.intervals import sign_test
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.write import to_wire

Role = Literal["response_space", "target_space", "box_format", "model"]
Also = tuple[tuple[str, str | None], ...]

LEVEL = 0.001  # of a thousand right settings one may be doubted, were every model as bad as chance
_ROWS = 512
_LEAST_HITS = 0.05  # of the rows: where hardly any answer hits, something else is wrong
_ALIKE = 0.05  # above this, the chance that as many hits are lost as gained
_STRAY = 0.05  # of the boxes of a right format reach outside the screen, at most
_PAIRINGS = 8  # neighbours with which a row changes its point, for a mean that varies little


@dataclass(frozen=True, eq=False)
class Trial:
    """One value for one setting: the recipe and the targets read with it, and further settings that it needs."""

    role: Role
    value: str
    recipe: Recipe
    targets: Targets
    also: Also = ()


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of n rows in a trial: (n,) hits, usable targets, and where they land."""

    trial: Trial
    hits: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    landing: Landing


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to try hypotheses on.

    Attributes:
        recipe: the recipe, with what is declared.
        responses: n texts.
        raw: n targets as written; in the wire form, where they were read before.
        as_written: whether they are as written, so that the format of boxes can be doubted.
        image_sizes: (n, 2) sizes of images that do not stand in targets; NaN where unknown.
        model_image_sizes: (n, 2) the same of the images that the model saw.
    """

    recipe: Recipe
    responses: Sequence[str | None]
    raw: Sequence[Any]
    as_written: bool
    image_sizes: Floats
    model_image_sizes: Floats

    @classmethod
    def picked(cls, recipe: Recipe, responses: Any, targets: Any, image_sizes: Any, model_image_sizes: Any) -> Rows:
        """Pick at most 512 rows, spread evenly."""
        count = len(responses)
        if len(targets) != count:
            raise RecipeError(f"{recipe.name}: got {count} responses and {len(targets)} targets; expected one for each")
        picked = np.unique(np.linspace(0, count - 1, min(count, _ROWS)).round().astype(np.int64))
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
            responses=[responses[row] for row in picked.tolist()],
            raw=raw,
            as_written=as_written,
            image_sizes=some("image_sizes", image_sizes),
            model_image_sizes=some("model_image_sizes", model_image_sizes),
        )

    def targets(self, box_format: BoxFormat | None) -> Targets:
        """Read targets without a space where they name none; unreadable ones are kept as unusable."""
        native = self.recipe.native if self.as_written else None
        return Targets.from_list(self.raw, native=native, bad_target="abstain", box_format=box_format)

    def outcome(self, trial: Trial) -> Outcome | None:
        """Score the rows in a trial; None where its success cannot be judged."""
        rollouts = trial.recipe.prepare(
            self.responses, trial.targets, image_sizes=self.image_sizes, model_image_sizes=self.model_image_sizes,
            bad_target="abstain",
        )  # fmt: skip
        try:
            scores = trial.recipe.evaluate(rollouts)
        except GroundingRewardsError:  # a custom verifier may need columns that are absent here
            return None
        valid = scores.valid > 0
        return Outcome(trial, scores.acc > 0, valid, Landing.of(rollouts, valid))

    def codes(self, screens: Floats) -> NDArray[np.int64]:
        """Return a code for each row's target, (n,), equal for equal targets on screens of one size, in their order."""
        keys = [(*screen, repr(target)) for screen, target in zip(screens.tolist(), self.raw, strict=True)]
        known = {key: code for code, key in enumerate(sorted(dict.fromkeys(keys), key=lambda key: key[:2]))}
        return np.array([known[key] for key in keys], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcomes of the same rows, compared target by target.

    Gains of one target are averaged, for the rollouts of one sample are correlated.

    Attributes:
        targets: (n,) code of each row's target, from 0, targets on screens of one size side by side.
        sides: (n, 2) sides of each row's target in the smallest reading of boxes. Box formats are compared in these: in
            its own, one that makes boxes large would bring every point near.
    """

    targets: NDArray[np.int64]
    sides: Floats

    @classmethod
    def of(cls, rows: Rows, outcomes: Sequence[Outcome], declared: Outcome) -> Comparison:
        """Compare outcomes with each other and with what is declared."""
        formats = [each.landing.sides for each in outcomes if each.trial.role == "box_format"]
        return cls(rows.codes(declared.landing.screens), np.minimum.reduce([declared.landing.sides, *formats]))

    def likelihood(self, outcome: Outcome) -> float:
        """Return the log-likelihood of all rows. Rounded, for scales of spaces leave the last bits to chance."""
        ((_, sides),) = self._measured(outcome)
        return round(float(outcome.landing.log_likelihoods(sides).sum()), 6)

    def clear(self, other: Outcome, declared: Outcome, level: float) -> bool:
        """Return True where the other outcome's gains are too large for chance."""
        gains = self._mean(self._gains(other, declared))
        return float(gains.sum()) >= -math.log(level) and chance(gains) < level

    def prefers(self, other: Outcome, declared: Outcome, level: float) -> bool:
        """Return True where the other outcome is clearly better, and nothing else explains it."""
        if other.hits.sum() < _LEAST_HITS * other.valid.sum() or not self.clear(other, declared, level):
            return False
        nearer, farther = self.nearer(other, declared)
        return nearer > farther and self._plausible(other, declared) and self._beyond_pairing(other, declared, level)

    def _plausible(self, other: Outcome, declared: Outcome) -> bool:
        """Return True where it hits more, or as often within chance.

        Boxes of another format may instead lie inside the screen clearly more often: wrong ones may be large, so that
        all answers hit.
        """
        more = bool(other.hits.sum() > declared.hits.sum())
        if other.trial.role != "box_format":
            gained, lost = self._votes(other.hits.astype(np.float64) - declared.hits)
            return more or sign_test(lost, gained) >= _ALIKE
        outside, before = other.landing.outside, declared.landing.outside
        inside = outside.mean() <= _STRAY and sign_test(*self._votes(before.astype(np.float64) - outside)) < LEVEL
        return inside or (more and bool(outside.sum() <= before.sum()))

    def nearer(self, other: Outcome, declared: Outcome) -> tuple[int, int]:
        """Count the distinct targets whose rows land nearer in the other outcome, and farther away."""
        near, far = (each.landing.distances(sides) for each, sides in self._measured(other, declared))
        return self._votes((near < far).astype(np.float64) - (near > far))

    def _votes(self, votes: Floats) -> tuple[int, int]:
        sums = np.bincount(self.targets, weights=votes)
        return int((sums > 0).sum()), int((sums < 0).sum())

    def _beyond_pairing(self, other: Outcome, declared: Outcome, level: float) -> bool:
        """Return True where gains are clear beyond those with the points of other rows, as of a model that is blind."""
        gains = self._gains(other, declared)
        for away in range(1, _PAIRINGS + 1):
            gains = gains - self._gains(other, declared, self._rows_of_neighbours(away)) / _PAIRINGS
        return chance(self._mean(gains)) < level

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

    def _gains(self, other: Outcome, declared: Outcome, source: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """Return the gain of each row, (n,), with the points of the rows ``source``."""
        new, old = (
            each.landing.moved(source).log_likelihoods(sides) for each, sides in self._measured(other, declared)
        )
        return new - old

    def _measured(self, *outcomes: Outcome) -> list[tuple[Outcome, Floats]]:
        """Return outcomes with the sides in which they are compared."""
        formats = any(each.trial.role == "box_format" for each in outcomes)
        return [(each, self.sides if formats else each.landing.sides) for each in outcomes]


def trials(rows: Rows, targets: Targets, box_format: BoxFormat | None) -> Iterator[Trial]:
    """Yield the hypotheses: other spaces, box formats and pipelines than declared; ``targets`` as read with these."""
    recipe = rows.recipe
    for space in SPACES:
        if space != recipe.response_space:
            yield Trial("response_space", space, replace(recipe, response_space=space), targets)
    for space in SPACES:
        if None in targets.spaces and space != recipe.target_space:
            yield Trial("target_space", space, replace(recipe, target_space=space), targets)
    # Where sizes are unknown no other space can be tried, and boxes that are read too large fit any answers.
    read = np.array([target is not None for target in targets.rows], dtype=np.bool_)
    unknown = read & np.isnan(np.fmax(rows.image_sizes, targets.image_sizes)[:, 0])
    sized = 2 * unknown.sum() <= read.sum()
    for written in BoxFormat if rows.as_written and sized else ():
        if written != (box_format or BoxFormat.XYXY):
            again = rows.targets(written)
            if again.rows != targets.rows:  # as they are where none is a box of four numbers, or all in the native form
                yield Trial("box_format", written, recipe, again)
    if np.isnan(np.fmax(rows.model_image_sizes, targets.model_image_sizes)).any():
        yield from _pipelines(recipe, targets)


def _pipelines(recipe: Recipe, targets: Targets) -> Iterator[Trial]:
    """Yield pipelines with their own bounds; those whose model answers in pixels of the resized image come first."""
    own = recipe.resizing
    if recipe.response_space not in (PIXEL, MODEL_PIXEL) or (recipe.response_space == PIXEL and own):
        return
    without = tuple((name, None) for name in RESIZING[1:] if own and getattr(own, name) is not None)
    trainer = own.model.rpartition("+")[0] if own else None
    for answers in (True, False):
        for name in PIPELINES:
            prefix, _, model = name.rpartition("+")
            if (MODELS[model] == MODEL_PIXEL) != answers or trainer not in (None, prefix) or Resizing(name) == own:
                continue
            if answers or recipe.response_space == MODEL_PIXEL:
                changed = replace(recipe, response_space=MODEL_PIXEL, resizing=Resizing(name))
                # A model's name sets its own response space, unless another is declared beside it.
                space: Also = () if answers and recipe.response_space == MODEL_PIXEL else (_RESIZED,)
                yield Trial("model", name, changed, targets, (*space, *without))


_RESIZED = ("response_space", str(MODEL_PIXEL))
