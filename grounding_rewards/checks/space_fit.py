"""Detect a wrong setting: a space, order or scale of answers, a box format or a model that the rows fit better.

The same rows are read as declared and under each *hypothesis* (``trials``), one or two other settings:

- ``response_space``: responses in another space;
- ``axes``: responses write y before x, or on another scale, x and y apart, which is fitted to the rows;
- ``model``: images resized by another pipeline, with its own bounds or those that a fitted scale leads to. Tried where
  rows do not say their ``model_image_size``;
- ``target_space``: targets that name none in another space;
- ``box_format``: boxes of targets written in another format. A recipe's own form of targets ignores it.

Two at once are tried where no single one lets half of the rows hit.

Each row has a log-likelihood of landing near the centre of its target (``landing.Landing``), and gains what that grows
by under a hypothesis. Unlike hits it tells spaces apart that differ by one in a hundred. With h the number of
hypotheses, one is better where all of these hold:

- its gains, averaged over the rollouts of each *distinct target*, are larger than chance at 0.001 (``landing.chance``),
  which takes 10 targets, and their sum is at least log(h / 0.001);
- so are its gains less those with the points of other rows on screens of like sizes, and their sum lies five standard
  deviations beyond. A model that always clicks one place gains nothing;
- it brings the points of more distinct targets nearer to the centre than farther away. A model that always narrowly
  misses also lands now and then where it should under a wrong setting;
- it hits (``Scores.acc`` of the recipe's ``success``) in 5 % of the rows, 20 % for a fitted scale, and more often than
  as declared, or as often within chance. A box format, of which wrong ones make boxes large and easily hit, may instead
  have clearly more boxes inside the screen, and hardly any outside.

Rows whose target is unusable under a hypothesis, and rows without a point, are like misses.

``better`` is the likeliest of them, and of those that are not clearly less likely the simplest; ``rivals`` are further
ones as simple.

At most 512 rows are looked at, spread evenly, so that a million take no longer: a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from grounding_rewards.checks.trials import (
    LEVEL,
    Comparison,
    Outcome,
    Rows,
    Settings,
    Trial,
    of_responses,
    of_scales,
    of_targets,
)
from grounding_rewards.coords.axes import Axes, axes_named
from grounding_rewards.coords.families import alike
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.scoring import BBOX, CIRCLE, POINT, POLYGON, Recipe
from grounding_rewards.targets.box_format import as_box_format

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
    declared_target: CoordSpace  # the space declared for targets that name none
    rows: int = 0  # number of rows, of those looked at, with a usable target, as declared or under a hypothesis
    hits: int = 0  # number of hits among them as declared
    # The hypotheses that the known sizes allow to judge, by their settings.
    tried: tuple[tuple[tuple[str, Any], ...], ...] = ()
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
        named = f", as those of {' and '.join(self.families)}," if 0 < len(self.families) <= _NAMED else ""
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
    unfit, written = SpaceFit(recipe.response_space, recipe.target_space), as_box_format(box_format)
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
    outcomes = _distinct(map(rows.outcome, [*answers, *others]))
    best, rivals = _best(outcomes, compare)
    if 2 * max(hits, 0 if best is None else int(best.hits.sum())) < len(declared.valid):
        answers += of_scales(rows, declared)
        joint = [one.joined(other) for one, other in product(answers, others) if one.changes == 1 and one.fitted != 2]
        outcomes = _distinct(map(rows.outcome, [*answers, *others, *joint]))
        best, rivals = _best(outcomes, compare)
    fit = replace(
        unfit,
        rows=int(np.logical_or.reduce([each.valid for each in (declared, *outcomes)]).sum()),
        hits=hits,
        tried=tuple(tuple(each.trial.settings.items()) for each in outcomes),
    )
    if best is None:
        return fit
    return replace(
        fit,
        better=_hypothesis(best),
        rivals=tuple(map(_hypothesis, rivals)),
        nearer=compare.nearer(best),
        seen=_seen(best),
        families=_families(best.trial),
    )


def _families(trial: Trial) -> tuple[str, ...]:
    """Return the families that answer as a trial reads: none where it says a space alone, as dozens have it."""
    recipe = trial.recipe
    if not {"axes", "model"} & trial.settings.keys():
        return ()
    return alike(str(recipe.response_space), recipe.axes, recipe.resizing)


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
    if not clear:
        return None, []
    alike = [
        each
        for each in clear
        if each is clear[0] or each.landing.alike(clear[0].landing) or not compare.clear(clear[0], each, LEVEL)
    ]
    fewest = min(each.trial.changes for each in alike)
    simple = [each for each in alike if each.trial.changes == fewest]
    best = min(simple, key=lambda each: (each.trial.fitted, each.landing.outside.sum(), _place(each)))
    kinds = {tuple(best.trial.settings)}
    rivals = list[Outcome]()
    for each in simple:
        if tuple(each.trial.settings) not in kinds and not each.trial.fitted:
            kinds.add(tuple(each.trial.settings))
            rivals.append(each)
    return best, rivals


def _place(outcome: Outcome) -> int:
    return min(_SIMPLE.index(name) for name in outcome.trial.settings if name in _SIMPLE)


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
    if recipe.label_free:
        return f"{recipe.name} compares nothing with targets"
    if not recipe.accepts & _PLACES:
        return f"{recipe.name} judges no places"
    return f"success under {recipe.name} depends on other rows" if "groups" in recipe.needs else ""
