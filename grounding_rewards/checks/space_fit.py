"""Detect a wrong setting: a space, order or scale of answers, a box format or a model that the rows fit better.

The same rows are read as declared and under each *hypothesis*, a ``Trial`` of one or two other settings:

- ``response_space``: responses in another space;
- ``axes``: responses write y before x, or on another scale, x and y apart: a family's, or fitted to the rows;
- ``model``: images resized by another pipeline, with its own bounds, a family's, or those that a fitted scale leads to.
  Tried where rows do not say their ``model_image_size``;
- ``target_space``: targets that name none in another space;
- ``box_format``: boxes of targets written in another format. A recipe's own form of targets ignores it.

Two at once are tried where no single one lets half of the rows hit.

Each row has a log-likelihood of landing near the centre of its target (``landing.Landing``), and gains what that grows
by under a hypothesis. Unlike hits it tells spaces apart that differ by one in a hundred. With h the number of
hypotheses, one is better where all of these hold:

- its gains, averaged over the rollouts of each *distinct target*, are larger than chance at 0.001 (``landing.chance``),
  which takes 10 targets, and their sum is at least log(h / 0.001);
- so are its gains less those with the points of other rows on screens of like sizes, and their sum lies five standard
  deviations beyond. A model that always clicks one place gains nothing.
  A box format may in place of both hold most of the points that miss as declared, more often than it holds such points
  of other rows, or the same points on the other side of the declared centre (``_holds_the_misses``): boxes x y w h near
  the upper left corner are boxes as corners, too;
- it brings the points of more distinct targets nearer to the centre than farther away. A model that always narrowly
  misses also lands now and then where it should under a wrong setting;
- it hits (``Scores.acc`` of the recipe's ``success``) in 5 % of the rows, 20 % for a fitted scale, and more often than
  as declared, or as often within chance. A box format, of which wrong ones make boxes large and easily hit, may instead
  have clearly more boxes inside the screen, and hardly any outside.

Rows whose target is unusable under a hypothesis, and rows without a point, are like misses.

``better`` is the likeliest of them, and of those that are not clearly less likely the simplest; ``rivals`` are further
ones as simple. There is none where a hypothesis that is not better, for it may be chance, is clearly likelier.

At most 512 rows are looked at, spread evenly, so that a million take no longer: a fraction of a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.checks.landing import Landing, bounded, chance, scales
from grounding_rewards.coords.axes import Axes, axes_named
from grounding_rewards.coords.families import alike, resizing_of
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.coords.register import families, space_of
from grounding_rewards.coords.resizing import RESIZING, Resizing, pipelines
from grounding_rewards.coords.spaces import MODEL_PIXEL, SPACES, CoordSpace, as_space
from grounding_rewards.errors import GroundingRewardsError, RecipeError
from grounding_rewards.rollouts import Reason, Rollouts
from grounding_rewards.scoring import BBOX, CIRCLE, POINT, POLYGON, Recipe, into_space, turned
from grounding_rewards.stats.intervals import sign_test
from grounding_rewards.targets.box_format import BoxFormat, as_box_format
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.write import to_wire

Settings = Mapping[str, Any]

LEVEL = 0.001  # of a thousand right settings one may be doubted, were every model as bad as chance
ROWS = 512
_LEAST_HITS = 0.05  # of the rows: where hardly any answer hits, something else is wrong
_LEAST_SCALED = 0.2  # the same of a scale, which is fitted to the rows
_ALIKE = 0.05  # above this, the chance that as many hits are lost as gained
_MISSES = 0.01  # of a scale: models that answer in 0-1000 are off by as much as 999 is
_STRAY = 0.05  # of the boxes of a right format reach outside the screen, at most
_PAIRINGS = 16  # neighbours with which a row changes its point
_ORDERS = (BoxFormat.YXYX, BoxFormat.XXYY, BoxFormat.YYXX)
_BEYOND = 5.0  # standard deviations of those pairings by which gains are beyond them


class Trial(Struct, frozen=True, eq=False):
    """A hypothesis: settings other than the declared ones, and the recipe and the targets read with them."""

    settings: Settings  # what is set otherwise, the main one first; None for a bound that must go
    recipe: Recipe  # the recipe with them
    targets: Targets  # the targets as read with them
    changes: int = 1  # number of separate mistakes
    # 0; or where a number of it was fitted to the rows, 1 for a usual scale or a family's, 2 for a bound, 3 for any.
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
    _ready: dict[Any, tuple[Targets, Landing]] = field(default_factory=dict, init=False)

    @cached_property
    def answers(self) -> Rollouts:
        """Answers as responses write them."""
        plain = replace(self.recipe, response_space=self.recipe.space, axes="xy")
        nothing = Targets.from_list([None] * len(self.raw), bad_target="abstain")
        answers = plain.prepare(self.responses, nothing, bad_target="abstain")
        reason = answers.predictions.reason
        written = replace(answers.predictions, reason=np.where(reason == Reason.OUT_OF_IMAGE, Reason.OK, reason))
        return replace(answers, predictions=written)

    @classmethod
    def picked(cls, recipe: Recipe, responses: Any, targets: Any, image_sizes: Any, model_image_sizes: Any) -> Rows:
        """Pick at most 512 rows, spread evenly."""
        count = len(responses)
        if len(targets) != count:
            raise RecipeError(f"{recipe.name}: got {count} responses and {len(targets)} targets; expected one for each")
        picked = np.linspace(0, count - 1, min(count, ROWS)).round().astype(np.int64)  # at least 1 apart
        as_written = not isinstance(targets, Targets)
        raw = [(targets if as_written else targets.rows)[row] for row in picked.tolist()]
        if not as_written:
            raw = [row and to_wire(row) for row in raw]
            image_sizes = targets.known_image_sizes if image_sizes is None else image_sizes
            model_image_sizes = targets.known_model_image_sizes if model_image_sizes is None else model_image_sizes

        def some(name: str, sizes: Any) -> Floats:
            return nowhere(len(picked), 2) if sizes is None else read_sizes(name, sizes, count)[picked]

        sizes = some("image_sizes", image_sizes), some("model_image_sizes", model_image_sizes)
        return cls(recipe, raw, as_written, *sizes, [responses[row] for row in picked.tolist()])

    def targets(self, box_format: BoxFormat | None) -> Targets:
        """Read targets without a space where they name none; unreadable ones are kept as unusable."""
        native = self.recipe.native if self.as_written else None
        return Targets.from_list(self.raw, native=native, bad_target="abstain", box_format=box_format)

    def outcome(self, trial: Trial) -> Outcome:
        """Return where the rows land in a trial."""
        recipe = trial.recipe
        sized = trial.targets.sized(recipe.resizing, self.image_sizes, self.model_image_sizes)
        # Many pipelines come to the same sizes.
        key = id(trial.targets), recipe.target_space, recipe.response_space, sized.model_image_sizes.tobytes()
        if key not in self._ready:
            ready = sized.prepare(recipe.requirements, bad_target="abstain")
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


class Comparison(Struct, frozen=True, eq=False):
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
        gains = self.clear(other, self.declared, level) and self._beyond_pairing(other)
        if not gains and not self._holds_the_misses(other):
            return False
        nearer, farther = self.nearer(other)
        least = _LEAST_SCALED if other.trial.fitted else _LEAST_HITS
        enough = bool(other.hits.sum() >= max(1, least * other.valid.sum()))
        return nearer > farther and enough and self._plausible(other)

    def _plausible(self, other: Outcome) -> bool:
        """Return True where it hits more, or as often within chance; clearly more, where both sides change their space.

        Both sides may share any space, and the smaller a screen is to them, the more their hits seem to say. Boxes of
        another format may instead lie inside the screen clearly more often: wrong ones may be large, so that all
        answers hit.
        """
        more = bool(other.hits.sum() > self.declared.hits.sum())
        gained, lost = self._votes(other.hits.astype(np.float64) - self.declared.hits)
        if {"target_space"} < other.trial.settings.keys():
            return sign_test(gained, lost) < _ALIKE
        if "box_format" not in other.trial.settings:
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
        gains, paired = self._gains(other), [self._gains(other, rows) for rows in self._neighbours()]
        if not paired:
            return False
        sums = np.array([each.sum() for each in paired])
        beyond = gains.sum() > sums.mean() + _BEYOND * sums.std()
        return bool(beyond) and chance(gains - np.mean(paired, axis=0)) < LEVEL

    def _holds_the_misses(self, other: Outcome) -> bool:
        """Return True where boxes in another format hold most of what misses as declared, more often than by chance.

        That is more often than they hold other rows' points that miss, and than points on the other side of the
        declared centre, where the misses of an inexact model lie as often.
        """
        if other.trial.settings.keys() != {"box_format"}:
            return False
        declared = self.declared.landing
        (misses, held), (_, across) = self._misses(other, declared), self._misses(other, declared.mirrored())
        if 2 * held < misses or sign_test(held, across) >= LEVEL:
            return False
        from scipy.special import bdtrc

        paired = np.array([self._misses(other, declared.moved(rows)) for rows in self._neighbours()]).sum(axis=0)
        return bool(bdtrc(held - 1, misses, paired[1] / max(1, paired[0])) < LEVEL)

    def _misses(self, other: Outcome, points: Landing) -> tuple[int, int]:
        """Count the distinct targets whose points miss as declared, and those that other boxes hold."""
        missed = ~points.inside() & ~np.isnan(points.points).any(axis=1)
        held = missed & replace(other.landing, points=points.points).inside()
        return math.ceil(self._mean(missed.astype(np.float64)).sum()), int(self._mean(held.astype(np.float64)).sum())

    def _neighbours(self) -> Iterator[NDArray[np.int64]]:
        """Yield pairings: for each row one of the target 1, 2, ... codes away, (n,), on a screen of the same size."""
        order, counts = np.argsort(self.targets, kind="stable"), np.bincount(self.targets)
        starts, turn = np.cumsum(counts) - counts, np.empty_like(order)
        turn[order] = np.arange(len(order)) - np.repeat(starts, counts)
        for away in range(1, min(_PAIRINGS + 1, len(counts))):
            neighbours = (self.targets + away) % len(counts)
            yield order[starts[neighbours] + turn % counts[neighbours]]

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
    unknown = bool(np.isnan(np.fmax(rows.model_image_sizes, targets.model_image_sizes)).any())
    if unknown:
        yield from _pipelines(recipe, targets)
    yield from _of_families(recipe, targets, unknown)


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


def _of_families(recipe: Recipe, targets: Targets, unknown: bool) -> Iterator[Trial]:
    """Yield how families answer by an axis or by bounds of their own; these are tried where sizes are ``unknown``."""
    own, tried = axes_named(recipe.axes), {(recipe.response_space, recipe.axes, recipe.resizing)}
    for family in families().values():
        space, axes = as_space(family.options["response_space"]), family.options.get("axes", "xy")
        resizing = resizing_of(family) if space == MODEL_PIXEL else None
        bounds = resizing is not None and resizing != Resizing(resizing.model)
        scaled = max(abs(each - 1) for each in axes_named(axes).scale) > _MISSES
        if not (scaled or bounds) or (resizing and not unknown) or (space, axes, resizing) in tried:
            continue
        tried.add((space, axes, resizing))
        named = {} if space == recipe.response_space else {"response_space": str(space)}
        turned = axes_named(axes).y_first != own.y_first
        changes = 1 + (turned and bool(named))
        named = {**(_named(recipe, resizing) if resizing else named), **({} if axes == recipe.axes else {"axes": axes})}
        changed = replace(recipe, response_space=space, axes=axes, resizing=resizing or recipe.resizing)
        yield Trial(named, changed, targets, changes, 1)


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


_CLOSE = 0.1  # shares of hits this close are shown with a decimal
_NAMED = 4  # families that are named at most; of more, the numbers say too little
_JUDGED = 8  # likeliest hypotheses that are judged
_PLACES = {BBOX, POLYGON, CIRCLE, POINT}
_SIMPLE = ("response_space", "model", "axes", "box_format", "target_space")
"""Settings in the order in which one is preferred that is as likely as others."""


@dataclass(frozen=True)
class Hypothesis:
    """Other values for some settings, and the hits."""

    # Each setting with another value, the main one first; None for a bound that must go.
    settings: tuple[tuple[str, Any], ...]
    hits: int  # number of hits with them

    @property
    def role(self) -> str:
        """The main setting."""
        return self.settings[0][0]

    @property
    def value(self) -> Any:
        """Another value for the main setting."""
        return self.settings[0][1]

    def __str__(self) -> str:
        named = dict(self.settings)
        answers, boxes, targets = _answers(named), named.get("box_format"), named.get("target_space")
        parts = [f"answers fit {answers}" if answers else "", f"boxes fit {boxes}" if boxes else ""]
        return " and ".join(filter(None, [*parts, f"targets fit {targets}" if targets else ""]))


def _answers(named: Settings) -> str:
    """Return what answers fit, in words."""
    fits = list[str]()
    if model := named.get("model"):
        bounds = [(name, value) for name, value in named.items() if name.endswith("_pixels")]
        kept = " and ".join(f"{name} {value}" for name, value in bounds if value is not None)
        without = " and ".join(name for name, value in bounds if value is None)
        fits.append(
            f"images resized as by {model}{f' with {kept}' if kept else ''}{f' without {without}' if without else ''}"
        )
    elif space := named.get("response_space"):
        fits.append(space)
    if axes := named.get("axes"):
        read = axes_named(axes)
        if read.scale != (1.0, 1.0):
            fits.append(f"a scale of {read.scale[0]:g} in x and {read.scale[1]:g} in y")
        if read.y_first or read == Axes():
            fits.append("y before x" if read.y_first else "x before y")
    return " with ".join(fits)


@dataclass(frozen=True)
class SpaceFit:
    """Result of the search; ``str`` makes a sentence of it."""

    declared: CoordSpace  # the space declared for responses
    rows: int = 0  # number of rows, of those looked at, with a usable target, as declared or under a hypothesis
    hits: int = 0  # number of hits among them as declared
    tried: tuple[Hypothesis, ...] = ()  # those that the known sizes allow to judge
    better: Hypothesis | None = None  # the hypothesis that is better, if there is one
    # Others as simple that are better than what is declared, and not clearly worse than better.
    rivals: tuple[Hypothesis, ...] = ()
    # Numbers of distinct targets whose responses land nearer under better, and farther away.
    nearer: tuple[int, int] = (0, 0)
    # Width and height of the images that the model saw over those of the originals, where all are alike.
    seen: tuple[float, float] | None = None
    families: tuple[str, ...] = ()  # model families that answer as better says, which these rows do not tell apart
    why: str = ""  # the reason for no hypothesis; "" where there are some

    def __str__(self) -> str:
        if self.why:
            return f"no other space was tried: {self.why}"
        if self.better is None:
            return f"nothing fits clearly better than what is declared ({self.hits} of {self.rows} hit)"
        close = self.better.hits - self.hits < _CLOSE * self.rows
        fit, declared = (f"{100 * hits / self.rows:.{int(close)}f} %" for hits in (self.better.hits, self.hits))
        nearer = f"; nearer to {self.nearer[0]} targets and farther from {self.nearer[1]}" if close else ""
        seen = self.seen and f"; answers are scaled by {self.seen[0]:.3f} and {self.seen[1]:.3f}"
        also = "".join(f"; or else {rival}" for rival in self.rivals)
        apart = ", which these rows do not tell apart" if len(self.families) > 1 else ""
        names = " and ".join(filter(None, [", ".join(self.families[:-1]), *self.families[-1:]]))
        named = f", as those of {names}{apart}," if 0 < len(self.families) <= _NAMED else ""
        return f"{self.better}{named} better ({fit} hit against {declared} as declared{nearer}{seen or ''}){also}"


def fit_spaces(
    recipe: Recipe,
    responses: Sequence[str | None],
    targets: Any,
    *,
    image_sizes: Any = None,
    model_image_sizes: Any = None,
    box_format: str | None = None,
) -> SpaceFit:
    """Look for settings that responses and targets fit clearly better than the declared ones, by the rule above.

    Args:
        recipe: the recipe, with the declared spaces.
        responses: n texts, as in ``Recipe.score``.
        targets: n targets. Unusable ones do not count. ``Targets`` were read in a format and perhaps with a space, and
            are tried in no other.
        image_sizes: as in ``Recipe.score``.
        model_image_sizes: as in ``Recipe.score``. Without them, none in the targets and no ``model`` of the recipe,
            ``model_pixel`` is tried only with the sizes that models make of images.
        box_format: the format in which targets write boxes, as declared; as in ``Targets.from_list``.

    Returns:
        The result. Nothing is tried for recipes that judge no places, compare nothing with targets, or whose success
        needs more than responses and targets.

    Raises:
        TypeError: a response is neither a string nor None.
        RecipeError: lengths differ, or there is no such box format.

    >>> from grounding_rewards import recipe
    >>> boxes = [[x, y, x + 40, y + 30] for x in (200, 300, 400, 500) for y in (90, 290, 490, 690)]
    >>> answers = [f"({(x1 + 20) / 1.92:.0f}, {(y1 + 15) / 1.08:.0f})" for x1, y1, *_ in boxes]  # thousandths
    >>> print(fit_spaces(recipe("click", response_space="pixel"), answers, boxes, image_sizes=[1920, 1080]))
    answers fit thousandths better (100 % hit against 0 % as declared)
    """
    unfit, written = SpaceFit(recipe.response_space), as_box_format(box_format)
    judge = replace(recipe, reward=recipe.success)  # shaped rewards may need further columns
    if why := _unfit(judge):
        return replace(unfit, why=why)
    rows = Rows.picked(judge, responses, targets, image_sizes, model_image_sizes)
    declared = rows.outcome(Trial({}, judge, rows.targets(written), 0))
    try:
        hits = int(declared.hits.sum())
    except GroundingRewardsError:  # a custom verifier may need columns that are absent here
        return replace(unfit, why="its success needs more than responses, targets and sizes")
    compare = Comparison(rows.codes(declared.landing.screens), declared)
    answers, others = list(of_responses(rows, declared)), list(of_targets(rows, declared, written))
    outcome = cache(rows.outcome)  # a trial is a key by its identity
    outcomes = _distinct(map(outcome, [*answers, *others]))
    best, rivals = _best(outcomes, compare)
    if 2 * max(hits, 0 if best is None else int(best.hits.sum())) < len(declared.valid):
        answers += of_scales(rows, declared)
        joint = [one.joined(other) for one, other in product(answers, others) if one.changes == 1 and one.fitted != 2]
        outcomes = _distinct(map(outcome, [*answers, *others, *joint]))
        best, rivals = _best(outcomes, compare)
    fit = replace(
        unfit,
        rows=int(np.logical_or.reduce([each.valid for each in (declared, *outcomes)]).sum()),
        hits=hits,
        tried=tuple(map(_hypothesis, outcomes)),
    )
    if best is None:
        return fit
    other, named = best.trial.recipe, {"axes", "model"} & best.trial.settings.keys()  # dozens have a space alone
    sizes = best.rollouts.targets.image_sizes
    some = np.unique(sizes[~np.isnan(sizes).any(axis=1)], axis=0)[:64]  # of the known ones, each once
    return replace(
        fit,
        better=_hypothesis(best),
        rivals=tuple(map(_hypothesis, rivals)),
        nearer=compare.nearer(best),
        seen=_seen(best),
        families=alike(str(other.response_space), other.axes, other.resizing, some) if named else (),
    )


def _best(outcomes: Sequence[Outcome], compare: Comparison) -> tuple[Outcome | None, list[Outcome]]:
    """Return the simplest of the likeliest outcomes that are clearly better, and others like it."""
    likely = {id(each): compare.likelihood(each) for each in outcomes}
    # Each hypothesis under which points land elsewhere is one more chance to be wrong.
    level = LEVEL / max(1, len(set(likely.values())))
    ranked = sorted(outcomes, key=lambda each: -likely[id(each)])
    clear = list[Outcome]()
    for each in ranked:
        if len(clear) < _JUDGED and compare.prefers(each, level):
            clear.append(each)
    if not clear or any(compare.clear(each, clear[0], LEVEL) for each in ranked[: ranked.index(clear[0])]):
        return None, []
    first, *others = clear
    near = (each for each in others if each.landing.alike(first.landing) or not compare.clear(first, each, LEVEL))
    as_good = [first, *near]
    fewest = min(each.trial.changes for each in as_good)
    simple = [each for each in as_good if each.trial.changes == fewest]
    place = {name: number for number, name in enumerate(_SIMPLE)}
    best = min(
        simple,
        key=lambda each: (
            each.trial.fitted, each.landing.outside.sum(),
            min(place[name] for name in each.trial.settings if name in place),
        ),
    )  # fmt: skip
    kinds = {tuple(best.trial.settings)}
    rivals = list[Outcome]()
    for each in simple:
        if tuple(each.trial.settings) not in kinds and not each.trial.fitted:
            kinds.add(tuple(each.trial.settings))
            rivals.append(each)
    return best, rivals


def _hypothesis(outcome: Outcome) -> Hypothesis:
    return Hypothesis(tuple(outcome.trial.settings.items()), int(outcome.hits.sum()))


def _seen(best: Outcome) -> tuple[float, float] | None:
    """Return the scale of images that a pipeline makes, where all of them are scaled alike."""
    targets = best.rollouts.targets
    if "model" not in best.trial.settings:
        return None
    scales = np.unique((targets.model_image_sizes / targets.image_sizes)[best.valid].round(3), axis=0)
    return (float(scales[0, 0]), float(scales[0, 1])) if len(scales) == 1 else None


def _distinct(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return those with a usable row, and of pipelines and scales that come to the same the first."""
    kept: dict[Any, Outcome] = {}
    for outcome in outcomes:
        if outcome.valid.any():
            settings = outcome.trial.settings
            resized = "model" in settings or outcome.trial.fitted
            alike = outcome.landing.points.tobytes() if resized else tuple(settings.items())
            kept.setdefault(alike, outcome)
    return list(kept.values())


def _unfit(recipe: Recipe) -> str:
    """Return the reason for which a recipe cannot judge spaces; "" where it can."""
    if recipe.reads_itself:
        return f"{recipe.name} reads responses itself"
    if recipe.label_free:
        return f"{recipe.name} compares nothing with targets"
    if not recipe.accepts & _PLACES:
        return f"{recipe.name} judges no places"
    return f"success under {recipe.name} depends on other rows" if "groups" in recipe.needs else ""
