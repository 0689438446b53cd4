"""Detect a wrong setting: a coordinate space, a box format or the size a model saw that answers fit better.

The same rows are read as declared and under each *hypothesis*, one other value for one setting:

- ``response_space``: responses in another space;
- ``target_space``: targets that name none in another space;
- ``box_format``: boxes of targets written in another format. A recipe's own form of targets ignores it;
- ``model``: images resized by another pipeline with its own bounds, or by the recipe's without the bounds that were
  set. Tried where responses are in ``model_pixel``, or in ``pixel`` with no ``model``, and only where rows do not say
  their ``model_image_size``.

Each row has a log-likelihood of landing near the centre of its target, with distances in shares of the target's sides
(``landing.Landing``), and gains what that grows by under a hypothesis. Unlike hits it tells spaces apart that differ by
one in a hundred. With h the number of hypotheses that differ, one is better where all of these hold:

- its gains, averaged over the rollouts of each *distinct target*, are larger than chance at 0.001 / h
  (``landing.chance``), which takes 10 targets, or 13 with six hypotheses, and their sum is at least log(h / 0.001);
- so are its gains less those with the points of eight other rows on screens of like sizes. A model that always clicks
  one place gains nothing;
- it brings the points of more distinct targets nearer to the centre than farther away. A model that always narrowly
  misses also lands now and then where it should under a wrong setting;
- it hits (``Scores.acc`` of the recipe's ``success``) in 5 % of the rows, and not on clearly fewer distinct targets
  than as declared (sign test at 0.001). In place of the latter a box format, for wrong ones make boxes large and easily
  hit, has no more rows than as declared with a box that reaches outside the screen.

Rows whose target is unusable under a hypothesis, and rows without a point, are like misses.

``better`` is the likeliest of them; ``rivals`` are not clearly less likely. Where responses and targets share a space
other than the declared one, either hypothesis can fit: then ``better`` is that of the responses.

At most 512 rows are looked at, spread evenly, so that a million take no longer: a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grounding_rewards.checks.trials import LEVEL, Also, Comparison, Outcome, Role, Rows, Trial, trials
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.scoring import BBOX, CIRCLE, POINT, POLYGON, Recipe
from grounding_rewards.targets.box_format import as_box_format

_CLOSE = 0.1  # shares of hits this close are shown with a decimal
_PLACES = {BBOX, POLYGON, CIRCLE, POINT}
_FITS = {
    "response_space": "answers fit {}",
    "target_space": "targets fit {}",
    "box_format": "boxes fit {}",
    "model": "answers fit images resized as by {}",
}


@dataclass(frozen=True)
class Hypothesis:
    """Another value for one setting, and its hits.

    Attributes:
        role: the setting.
        value: another value for it.
        hits: number of hits with it.
        also: settings that must change with it, with their values; None for a bound that must go.
    """

    role: Role
    value: str
    hits: int
    also: Also = ()

    def __str__(self) -> str:
        without = " and ".join(name for name, value in self.also if value is None)
        return _FITS[self.role].format(self.value) + (f" without {without}" if without else "")


@dataclass(frozen=True)
class SpaceFit:
    """Result of the search; ``str`` makes a sentence of it.

    Attributes:
        declared: the space declared for responses.
        declared_target: the space declared for targets that name none.
        rows: number of rows, of those looked at, with a usable target, as declared or under a hypothesis.
        hits: number of hits among them as declared.
        hypotheses: the hypotheses that the known sizes allow to judge.
        better: the hypothesis that is better, if there is one.
        rivals: others that are better than what is declared, and not clearly worse than ``better``.
        nearer: numbers of distinct targets whose responses land nearer under ``better``, and farther away.
        why: the reason for no hypothesis; "" where there are some.
    """

    declared: CoordSpace
    declared_target: CoordSpace
    rows: int = 0
    hits: int = 0
    hypotheses: tuple[Hypothesis, ...] = ()
    better: Hypothesis | None = None
    rivals: tuple[Hypothesis, ...] = ()
    nearer: tuple[int, int] = (0, 0)
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"no other space was tried: {self.why}"
        if self.better is None:
            return f"nothing fits clearly better than what is declared ({self.hits} of {self.rows} hit)"
        close = self.better.hits - self.hits < _CLOSE * self.rows
        fit, declared = (f"{100 * hits / self.rows:.{int(close)}f} %" for hits in (self.better.hits, self.hits))
        nearer = f"; nearer to {self.nearer[0]} targets and farther from {self.nearer[1]}" if close else ""
        also = "".join(f"; or else {rival}" for rival in self.rivals)
        return f"{self.better} better ({fit} hit against {declared} as declared{nearer}){also}"


def fit_spaces(
    recipe: Recipe,
    responses: Sequence[str | None],
    targets: Any,
    *,
    image_sizes: Any = None,
    model_image_sizes: Any = None,
    box_format: str | None = None,
) -> SpaceFit:
    """Look for a setting that responses and targets fit clearly better than the declared one, by the rule above.

    Args:
        recipe: the recipe, with the declared spaces.
        responses: n texts, as of ``Recipe.score``.
        targets: n targets. Unusable ones do not count. ``Targets`` were read in a format and perhaps with a space, and
            are tried in no other.
        image_sizes: as of ``Recipe.score``.
        model_image_sizes: as of ``Recipe.score``. Without them, none in the targets and no ``model`` of the recipe,
            ``model_pixel`` is tried only with the sizes that models make of images.
        box_format: the format in which targets write boxes, as declared; as of ``Targets.from_list``.

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
    unfit, written = SpaceFit(recipe.response_space, recipe.target_space), as_box_format(box_format)
    judge = replace(recipe, reward=recipe.success)  # shaped rewards may need further columns
    if why := _unfit(judge):
        return replace(unfit, why=why)
    rows = Rows.picked(judge, responses, targets, image_sizes, model_image_sizes)
    declared = rows.outcome(Trial("response_space", judge.response_space, judge, rows.targets(written)))
    if declared is None:
        return replace(unfit, why="its success needs more than responses, targets and sizes")
    others = _distinct(map(rows.outcome, trials(rows, declared.trial.targets, written)))
    compare = Comparison.of(rows, others, declared)
    # Bonferroni: each hypothesis under which points land elsewhere is one more chance to be wrong.
    level = LEVEL / max(1, len({compare.likelihood(other) for other in others}))
    clear = [other for other in others if compare.prefers(other, declared, level)]
    fit = replace(
        unfit,
        rows=int(np.logical_or.reduce([other.valid for other in (declared, *others)]).sum()),
        hits=int(declared.hits.sum()),
        hypotheses=tuple(map(_hypothesis, others)),
    )
    if not clear:
        return fit
    best, rivals = _ranked(clear, compare)
    return replace(
        fit,
        better=_hypothesis(best),
        rivals=tuple(map(_hypothesis, rivals)),
        nearer=compare.nearer(best, declared),
    )


def _ranked(clear: Sequence[Outcome], compare: Comparison) -> tuple[Outcome, list[Outcome]]:
    """Return the likeliest outcome and those that are not clearly worse."""
    best = max(clear, key=compare.likelihood)
    alike = [other for other in clear if other is best or not compare.clear(best, other, LEVEL)]
    if best.trial.role == "target_space":  # where both share another space, their likelihoods differ by roundings alone
        best = next((other for other in alike if other.trial.role == "response_space"), best)
    return best, [other for other in alike if other is not best]


def _hypothesis(outcome: Outcome) -> Hypothesis:
    trial = outcome.trial
    return Hypothesis(trial.role, str(trial.value), int(outcome.hits.sum()), trial.also)


def _distinct(outcomes: Iterable[Outcome | None]) -> list[Outcome]:
    """Return those with a usable row, and of pipelines that resize alike the first."""
    kept: dict[Any, Outcome] = {}
    for outcome in outcomes:
        if outcome and outcome.valid.any():
            trial = outcome.trial
            alike = outcome.landing.points.tobytes() if trial.role == "model" else (trial.role, trial.value)
            kept.setdefault(alike, outcome)
    return list(kept.values())


def _unfit(recipe: Recipe) -> str:
    """Return the reason for which a recipe cannot judge spaces; "" where it can."""
    if recipe.label_free:
        return f"{recipe.name} compares nothing with targets"
    if not recipe.accepts & _PLACES:
        return f"{recipe.name} judges no places"
    return f"success under {recipe.name} depends on other rows" if "groups" in recipe.needs else ""
