"""Detect a wrong coordinate space: score the same rows with responses or targets in other spaces.

The same rows are scored as declared and then under each *hypothesis*: the responses in another space, or the targets
that name none in another. A hypothesis is better where all of these hold:

- it has at least twice the hits (``Scores.acc``) of the declared spaces;
- it has at least twice the hits expected by chance: those of each response against the targets of other rows, the
  mean of three rearrangements. A model that always clicks one place gains nothing;
- P(X >= wins) < 0.001 / h for X ~ Binomial(wins + losses, 1/2), with h the number of hypotheses, and wins and losses
  the numbers of *distinct targets* whose rows have more and fewer hits than as declared. The rollouts of one sample
  count once, for they are correlated. It takes 10 wins at least, 13 with six hypotheses;
- it does not bring the points of clearly more distinct targets (the same test, at 0.001) farther from the centre of
  the place. A model that always narrowly misses also hits now and then under a space in which it misses by far.

Rows whose target is unusable under a space are no hits under it. Only the recipe's ``success`` counts.

Where responses and targets share a space other than the declared one, either hypothesis can fit: then ``better`` is
the one with most hits, of equal ones that of the responses, and ``rivals`` has the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import SPACES, CoordSpace
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import BBOX, CIRCLE, POINT, POLYGON, Recipe
from grounding_rewards.stats.intervals import sign_test
from grounding_rewards.targets.columns import Targets

Role = Literal["response_space", "target_space"]

_LEVEL = 0.001
_TIMES = 2
_SHIFTS = (0.25, 0.5, 0.75)  # in shares of the rows
_PLACES = {BBOX, POLYGON, CIRCLE, POINT}
_WHOSE = {"response_space": "responses", "target_space": "targets"}


@dataclass(frozen=True)
class Hypothesis:
    """Another value for one option, and its hits.

    Attributes:
        role: the option.
        space: another value for it.
        hits: number of hits with it.
    """

    role: Role
    space: CoordSpace
    hits: int

    def __str__(self) -> str:
        return f"{_WHOSE[self.role]} fit {self.space}"


@dataclass(frozen=True)
class SpaceFit:
    """Result of the search; ``str`` makes a sentence of it.

    Attributes:
        declared: the space declared for responses.
        declared_target: the space declared for targets that name none.
        rows: number of rows with a usable target, as declared or under a hypothesis.
        hits: number of hits as declared.
        hypotheses: the hypotheses that the known sizes allow to judge.
        better: the hypothesis that is better, if there is one.
        rivals: others that are better than what is declared, with at least half the hits of ``better``.
        why: the reason for no hypothesis; "" where there are some.
    """

    declared: CoordSpace
    declared_target: CoordSpace
    rows: int = 0
    hits: int = 0
    hypotheses: tuple[Hypothesis, ...] = ()
    better: Hypothesis | None = None
    rivals: tuple[Hypothesis, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"no other space was tried: {self.why}"
        if self.better is None:
            return f"no space fits clearly better than the declared ones ({self.hits} of {self.rows} hit)"
        declared = self.declared if self.better.role == "response_space" else self.declared_target
        also = "".join(f"; or else {rival} ({rival.hits})" for rival in self.rivals)
        counts = f"({self.better.hits} of {self.rows} hit)"
        return f"{self.better} better {counts} than the declared {declared} ({self.hits}){also}"


def fit_spaces(
    recipe: Recipe,
    responses: Sequence[str | None],
    targets: Any,
    *,
    image_sizes: Any = None,
    model_image_sizes: Any = None,
) -> SpaceFit:
    """Look for a space that responses or targets fit clearly better than the declared one, by the rule above.

    Args:
        recipe: the recipe, with the declared spaces.
        responses: n texts, as of ``Recipe.score``.
        targets: n targets. Unusable ones do not count. ``Targets`` that were read with a space are tried in no other.
        image_sizes: as of ``Recipe.score``.
        model_image_sizes: as of ``Recipe.score``. Without them, and none in the targets, ``model_pixel`` is not tried,
            unless it is the space of the targets.

    Returns:
        The result. Nothing is tried for recipes that judge no places, compare nothing with targets, or whose success
        needs more than responses and targets.

    Raises:
        TypeError: a response is neither a string nor None.
        RecipeError: lengths differ.

    >>> from grounding_rewards import recipe
    >>> boxes = [[x, y, x + 40, y + 30] for x in (200, 300, 400) for y in (90, 290, 490, 690)]
    >>> answers = [f"({(x1 + 20) / 1.92:.0f}, {(y1 + 15) / 1.08:.0f})" for x1, y1, *_ in boxes]  # thousandths
    >>> print(fit_spaces(recipe("click", response_space="pixel"), answers, boxes, image_sizes=[1920, 1080]))
    responses fit thousandths better (12 of 12 hit) than the declared pixel (0)
    """
    judge = replace(recipe, reward=recipe.success)  # shaped rewards also favour near misses
    sizes = {"image_sizes": image_sizes, "model_image_sizes": model_image_sizes}
    rows = _Rows(responses, _read(judge, targets), sizes)
    unfit = SpaceFit(recipe.response_space, recipe.target_space)
    if why := _unfit(judge):
        return replace(unfit, why=why)
    declared = rows.outcome(judge)
    if declared is None:
        return replace(unfit, why="its success needs more than responses, targets and sizes")
    outcomes = map(rows.outcome, _others(judge, rows.targets))
    others = [outcome for outcome in outcomes if outcome and outcome.valid.any()]
    level = _LEVEL / max(1, len(others))  # Bonferroni: each hypothesis is one more chance to be wrong
    clear = [
        other
        for other in others
        if rows.prefer(other, declared, level) and other.hits.sum() >= _TIMES * rows.by_chance(other.recipe)
    ]
    # Stable: of equal hits those of responses stay first.
    better = [_hypothesis(other, judge) for other in sorted(clear, key=lambda other: -other.hits.sum())]
    return replace(
        unfit,
        rows=int(np.logical_or.reduce([other.valid for other in (declared, *others)]).sum()),
        hits=int(declared.hits.sum()),
        hypotheses=tuple(_hypothesis(other, judge) for other in others),
        better=better[0] if better else None,
        rivals=tuple(rival for rival in better[1:] if _TIMES * rival.hits >= better[0].hits),
    )


def _unfit(recipe: Recipe) -> str:
    """Return the reason for which a recipe cannot judge spaces; "" where it can."""
    if recipe.label_free:
        return f"{recipe.name} compares nothing with targets"
    if not recipe.accepts & _PLACES:
        return f"{recipe.name} judges no places"
    return f"success under {recipe.name} depends on other rows" if "groups" in recipe.needs else ""


def _read(recipe: Recipe, targets: Any) -> Targets:
    """Read targets without a space where they name none; unreadable ones are kept as unusable."""
    if isinstance(targets, Targets):  # read with a space already, which none can take back
        return targets
    return Targets.from_list(targets, native=recipe.native, bad_target="abstain", label_free=recipe.label_free)


def _others(recipe: Recipe, targets: Targets) -> list[Recipe]:
    """Return the recipe under each hypothesis."""
    others = [replace(recipe, response_space=space) for space in SPACES if space != recipe.response_space]
    if None in targets.spaces:
        others += [replace(recipe, target_space=space) for space in SPACES if space != recipe.target_space]
    return others


@dataclass(frozen=True, eq=False)
class _Outcome:
    """Result of n rows under a recipe: (n,) hits, usable targets, distances of points from places."""

    recipe: Recipe
    hits: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    distance: Floats


def _hypothesis(outcome: _Outcome, declared: Recipe) -> Hypothesis:
    hits, other = int(outcome.hits.sum()), outcome.recipe
    if other.response_space != declared.response_space:
        return Hypothesis("response_space", other.response_space, hits)
    return Hypothesis("target_space", other.target_space, hits)


def _distances(rollouts: Rollouts) -> Floats:
    """Return each point's distance to the centre of the nearest place, (n,), in the recipe's space; NaN without one."""
    regions, nearest = rollouts.targets.regions, np.full(len(rollouts), np.nan)
    away = rollouts.predictions.xy[regions.row] - (regions.box[:, :2] + regions.box[:, 2:]) / 2
    np.fmin.at(nearest, regions.row, np.hypot(away[:, 0], away[:, 1]))  # NaN, of rows without a point, never wins
    return nearest


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to try the hypotheses on."""

    responses: Sequence[str | None]
    targets: Targets
    sizes: Mapping[str, Any]

    def outcome(self, recipe: Recipe, responses: Sequence[str | None] | None = None) -> _Outcome | None:
        """Score the rows under a hypothesis; None where its success cannot be judged."""
        texts = self.responses if responses is None else responses
        rollouts = recipe.prepare(texts, self.targets, **self.sizes, bad_target="abstain")
        try:
            scores = recipe.evaluate(rollouts)
        except GroundingRewardsError:  # a custom verifier may need columns that are absent here
            return None
        return _Outcome(recipe, scores.acc > 0, scores.valid > 0, _distances(rollouts))

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Return a code for each row's target, (n,), equal for equal targets."""
        known: dict[Any, int] = {}
        same = [
            (target.id, target.regions, target.image_size) if target else row  # an unreadable one is like no other
            for row, target in enumerate(self.targets.rows)
        ]
        return np.array([known.setdefault(key, len(known)) for key in same], dtype=np.int64)

    def prefer(self, other: _Outcome, declared: _Outcome, level: float) -> bool:
        """True where clearly more distinct targets prefer a hypothesis to the declared spaces."""
        if other.hits.sum() < max(1, _TIMES * declared.hits.sum()):  # cheap, and true of most: before the tests
            return False
        more, fewer = self._votes(other.hits.astype(np.float64) - declared.hits.astype(np.float64))
        nearer, farther = self._votes(np.sign(np.nan_to_num(declared.distance - other.distance)))  # NaN is no vote
        return sign_test(more, fewer) < level and sign_test(farther, nearer) >= _LEVEL

    def _votes(self, votes: Floats) -> tuple[int, int]:
        """Count the distinct targets with votes above 0 in sum, and below."""
        sums = np.bincount(self._codes, weights=votes)
        return int((sums > 0).sum()), int((sums < 0).sum())

    def by_chance(self, recipe: Recipe) -> float:
        """Return the mean number of hits of responses paired with other rows' targets."""
        order = np.argsort(self._codes, kind="stable")  # rows of one target side by side
        counts = []
        for share in _SHIFTS:
            source = np.empty_like(order)
            source[order] = np.roll(order, int(len(order) * share))
            outcome = self.outcome(recipe, [self.responses[row] for row in source.tolist()])
            counts.append(outcome.hits.sum() if outcome else math.inf)  # never better than chance
        return float(np.mean(counts))
