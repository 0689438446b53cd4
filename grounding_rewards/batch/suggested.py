"""Recipes that come closest to a reward function, by the rows on which they agree with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, get_args

import numpy as np

from grounding_rewards import catalogue
from grounding_rewards.arrays import Floats
from grounding_rewards.batch.table_scorer import Scoring, TableScorer
from grounding_rewards.checks.other_readings import Row, RowSample, prepared
from grounding_rewards.coords.resizing import size_table
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import GroundingRewardsError, RecipeError
from grounding_rewards.parsing.reading import Answers
from grounding_rewards.stats.intervals import wilson
from grounding_rewards.tables.rows import Table
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.wrapping import WrappedScores

MOST = 5  # number of recipes that are returned
_TUNED = 8  # recipes whose options are tried
_ALIKE = 1e-9
_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5)
_OTHER_ROWS = frozenset({"groups", "trajectories"})


@dataclass(frozen=True)
class Suggestion:
    """A recipe with its options, and how far it agrees with a reward function on rows."""

    recipe: str  # its name
    options: Mapping[str, Any]
    rows: int  # number of rows of the sample
    right: int  # rows that both call right, or both wrong
    alike: int  # those of them with the same total
    correlation: float  # of the totals
    kinds: int  # number of kinds of target that it judges

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the share of rows on whose success both agree."""
        low, high = wilson(self.right, self.rows)
        return float(low), float(high)

    @property
    def rank(self) -> tuple[float, ...]:
        """Return what puts the best first; of those that agree alike, the plainest."""
        return -self.right, -self.alike, -round(self.correlation, 9), len(self.options), self.kinds

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "options": dict(self.options), "interval": list(self.interval)}


@dataclass(frozen=True, eq=False)
class _Judged:
    """Rows of a sample, with what the reward function made of them."""

    rows: Sequence[Row]
    total: Floats
    right: Floats
    box_format: BoxFormat | None
    fault: str  # what the function did in place of returning a number, on the first row where it did; "" for nothing

    def rank(self, found: Suggestion) -> tuple[float, ...]:
        """Return what puts the best first: of a function that calls no row right, or each, the totals alone say it."""
        return found.rank[0 if 0 < np.count_nonzero(self.right) < len(self.right) else 2 :]

    def best(self, name: str, tried: Iterable[Mapping[str, Any]], *others: Suggestion) -> Suggestion | None:
        """Return what comes closest of a recipe with some options, and of others; None where no option fits."""
        found = (self.compared(name, options) for options in tried)
        return min([*others, *(each for each in found if each)], key=self.rank, default=None)

    def compared(self, name: str, options: Mapping[str, Any]) -> Suggestion | None:
        """Score the rows by a recipe; None where it cannot be built so, lacks what a row alone has not, or fits all."""
        try:
            built = catalogue.recipe(name, **options)
            if built.label_free or built.needs & _OTHER_ROWS:
                return None
            scores = built.evaluate(prepared(built, self.rows, self.box_format))
        except (GroundingRewardsError, KeyError, TypeError):  # a verifier may need columns that are absent here
            return None
        total, right = scores.total * scores.valid, scores.acc > 0
        same = right == (self.right > 0)
        alike = same & (np.abs(total - self.total) <= _ALIKE)
        if np.ptp(total) <= _ALIKE:
            return None
        correlation = float(np.corrcoef(total, self.total)[0, 1])
        counts = len(total), int(same.sum()), int(alike.sum())
        return Suggestion(name, dict(options), *counts, correlation, len(built.accepts))


def suggest(
    table: Table, scoring: Scoring, target_space: str | None, *, advance: Callable[[float], None]
) -> list[Suggestion]:
    """Return the recipes that agree most with a reward function on a sample of a table's rows, the closest first."""
    judged = _judged(scoring.of(table), advance=lambda done: advance(0.3 * done))
    if len(judged.rows) < 2 or np.ptp(judged.total) <= _ALIKE:
        raise RecipeError(
            f"{scoring.recipe.name}: gives all of {len(judged.rows)} rows the same total, which fits anything; "
            f"{judged.fault or 'give it rows with right and wrong responses'}"
        )
    names = catalogue.list_recipes()
    found = list[Suggestion]()
    for place, name in enumerate(names):
        shown = catalogue.shown_with(name)  # options without which it cannot be built
        own = {} if target_space is None else {"target_space": target_space}
        spaces = [{"response_space": str(each)} for each in CoordSpace]
        if "response_space" in shown:  # a recipe of ours, of which several answers are none: no space would fit them
            more = [{}, *({"answers": each} for each in get_args(Answers))]
        else:
            spaces, more = [{}, *spaces], [{}]
        best = judged.best(name, ({**shown, **own, **space, **each} for space in spaces for each in more))
        found += [best] if best else []
        advance(0.3 + 0.4 * place / len(names))
    closest = sorted(found, key=judged.rank)[:_TUNED]
    for place, each in enumerate(closest):
        closest[place] = _tuned(each, judged)
        advance(0.7 + 0.3 * place / _TUNED)
    return sorted(closest, key=judged.rank)[:MOST]


def _tuned(best: Suggestion, judged: _Judged) -> Suggestion:
    """Try other values of some options, one after the other, and keep what agrees more."""
    choices: dict[str, Sequence[Any]] = {"answers": get_args(Answers)}
    if "format_weight" in signature(catalogue.builder(best.recipe)).parameters:
        choices["format_weight"] = _WEIGHTS
    for option, values in choices.items():
        best = judged.best(best.recipe, ({**best.options, option: value} for value in values), best) or best
    return best


def _judged(scorer: TableScorer, *, advance: Callable[[float], None]) -> _Judged:
    """Score all rows by the function, and keep a sample of them."""
    sample, total, right, count, fault = RowSample(), list[Floats](), list[Floats](), 0, ""
    for batch in scorer.batches(whole=False):
        scored = scorer.score(batch)
        if scored.sizes[0] is None:  # other spaces may need what this one does not
            sizes = scorer.needed_sizes(batch)
            known = None if sizes is None else size_table(sizes)
            scored = replace(scored, sizes=(known, scored.sizes[1]))
        sample.add(scored, len(batch), count)
        total.append(scored.scores.total * scored.scores.valid)
        right.append(scored.scores.acc)
        if isinstance(scored.scores, WrappedScores) and not fault:
            fault = next(iter(f"it {each}" for each in scored.scores.faults.values()), "")
        count += len(batch)
        advance(batch.done)
    rows = sample.rows
    kept = [row.number for row in rows]
    totals, rights = (np.concatenate([np.zeros(0), *each])[kept] for each in (total, right))
    return _Judged(rows, totals, rights, scorer.box_format, fault)
