"""Two recipes on the same rows: where they agree, what groups of rollouts see of the difference, and its causes."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.batch.score_rows import Inputs, RecipeSlice, score_rows
from grounding_rewards.batch.table_scorer import Scoring, TableScorer
from grounding_rewards.coords.spaces import SPACES, CoordSpace, convert
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.groups.spread import NO_SIGNAL, varied
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.rows import Batch, Table

Bools = NDArray[np.bool_]

CAUSES = {
    "raises": "one of them raises, hangs or exits",
    "no number": "one of them returns no finite number within its bounds",
    "target": "the target can be used by one of them alone",
    "several answers": "several answers, of which each takes its own",
    "out of image": "the answer lies outside the image",
    "spaces": "they agree on the response without blanks around and within the answer",
    "format": "they agree on the answer alone, without what stands around it",
    "other space": "they agree where places are read in another space",
    "border": "the answer lies on the border of the target",
    "total": "both call it right, or both wrong, and only the totals differ",
    "other": "none of these",
}
"""Causes of a difference, in the order in which they are tried."""

SHOWN = 10  # rows of a cause that are shown

_ALIKE = 1e-9
_NUMERAL = re.compile(r"-?[0-9.]+")
_BLANKS = re.compile(r"(?<=[\[(,:{])\s+|\s+(?=[\]),:}])")


@dataclass(frozen=True)
class DifferingRow:
    """A row on which two recipes differ."""

    place: str  # where it stands
    response: str | None
    totals: tuple[float, float]  # of the one and the other recipe
    right: tuple[bool, bool]
    said: tuple[str, str]  # the reason of each, or what a function did in place of returning a number


@dataclass(frozen=True)
class Agreement:
    """Agreement of two recipes on rows."""

    recipes: tuple[str, str]  # their names
    rows: int  # number of rows
    alike: int  # rows with the same total
    # Rows by success of the first, then of the second: ``success[1][0]`` counts those that the first alone calls
    # right.
    success: tuple[tuple[int, int], tuple[int, int]]
    correlation: float  # of the totals, over rows that both could score; NaN where one of them never varies
    groups: int  # samples with several rollouts
    reordered: int  # those of them in which two rollouts change places
    lost: int  # those that have a signal by the first recipe alone
    gained: int  # those that have one by the second alone
    causes: dict[str, int] = field(default_factory=dict)  # rows by cause
    examples: dict[str, list[DifferingRow]] = field(default_factory=dict)  # the first rows of each cause
    seconds: tuple[float, float] = (0.0, 0.0)  # of each recipe, for all rows

    @property
    def differing(self) -> int:
        """Number of rows that differ in total or success, or on which one function alone fails."""
        return sum(self.causes.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; None for NaN."""
        return {**asdict(self), "correlation": None if self.correlation != self.correlation else self.correlation}


def compare_recipes(
    table: Table, one: Scoring, other: Scoring, *, clock: Callable[[], float], advance: Callable[[float], None]
) -> Agreement:
    """Score the rows of a table by two recipes, and compare; memory holds one batch, and three numbers a row."""
    scorers = one.of(table), other.of(table)
    causes, rows, seconds = dict[str, int](), dict[str, list[DifferingRow]](), [0.0, 0.0]
    totals, right, valid, names = list[list[Floats]](), list[list[Bools]](), list[Bools](), list[Hashable]()
    wants = [(bool(each.recipe.needs & {"groups", "trajectories"}), each.recipe.reads_extras) for each in scorers]
    for batch in scorers[int(wants[1] > wants[0])].batches(whole=True):  # which do for both
        scored = list[RecipeSlice]()
        for place, scorer in enumerate(scorers):
            begin = clock()
            scored.append(scorer.score(batch))
            seconds[place] += clock() - begin
        pair = scored[0], scored[1]
        totals.append([np.where(each.scores.valid > 0, each.scores.total, 0.0) for each in pair])
        right.append([each.scores.acc > 0 for each in pair])
        valid.append(np.logical_and(*[each.scores.valid > 0 for each in pair]))
        names += _names(scorers[0], batch, pair[0])
        for row, cause in _causes(pair, totals[-1], right[-1]):
            causes[cause] = causes.get(cause, 0) + 1
            if len(rows.setdefault(cause, [])) < SHOWN:
                score, hit = (tuple(each[row].item() for each in both) for both in (totals[-1], right[-1]))
                said = _said(pair[0], row), _said(pair[1], row)
                where = f"{table.path}, {batch.place(row)}"
                rows[cause].append(DifferingRow(where, pair[0].inputs.responses[row], score, hit, said))
        advance(batch.done)
    both = [np.concatenate([each[place] for each in totals]) for place in (0, 1)]
    hits = [np.concatenate([each[place] for each in right]) for place in (0, 1)]
    count = [[int(np.count_nonzero((hits[0] == a) & (hits[1] == b))) for b in (False, True)] for a in (False, True)]
    return Agreement(
        (one.recipe.name, other.recipe.name), len(both[0]), int(np.count_nonzero(np.abs(both[0] - both[1]) <= _ALIKE)),
        ((count[0][0], count[0][1]), (count[1][0], count[1][1])), _correlation(both, np.concatenate(valid)),
        *_of_groups(both, names), {name: causes[name] for name in CAUSES if name in causes}, rows,
        (seconds[0], seconds[1]),
    )  # fmt: skip


def _names(scorer: TableScorer, batch: Batch, scored: RecipeSlice) -> list[Hashable]:
    """Return the sample of each row; None where nothing names it."""
    names: list[Hashable] = []
    for cell, target in zip(batch.column(scorer.columns.id), scored.rollouts.targets.rows, strict=True):
        own = None if target is None else target.id
        names.append(cell if isinstance(cell, str | int) else own)
    return names


def _correlation(totals: Sequence[Floats], valid: Bools) -> float:
    one, other = totals[0][valid], totals[1][valid]
    if len(one) < 2 or one.min() == one.max() or other.min() == other.max():
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def _of_groups(totals: Sequence[Floats], names: Sequence[Hashable]) -> tuple[int, int, int, int]:
    """Return how many samples have several rollouts, and how many change their order, lose and gain their signal."""
    named = [row for row, name in enumerate(names) if name is not None]
    codes: dict[Hashable, int] = {}
    group = np.array([codes.setdefault(names[row], len(codes)) for row in named], dtype=np.int64)
    one, other = totals[0][named], totals[1][named]
    before, after = (np.unique(group[varied(each, group)]) for each in (one, other)) if named else (group, group)
    order = np.lexsort((one, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    several = reordered = 0
    for rows in np.split(order, starts[1:]) if named else ():
        several += len(rows) > 1
        left, now = one[rows], other[rows]
        highest = np.maximum.accumulate(now)  # a later one that is above by the first, and below one by the other
        steps = np.searchsorted(left, left - NO_SIGNAL)  # rows clearly lower by the first recipe
        reordered += bool(np.any((steps > 0) & (highest[np.maximum(steps - 1, 0)] > now + NO_SIGNAL)))
    return several, reordered, len(np.setdiff1d(before, after)), len(np.setdiff1d(after, before))


def _fault(scored: RecipeSlice, row: int) -> str:
    return str(getattr(scored.scores, "faults", {}).get(row, ""))


def _said(scored: RecipeSlice, row: int) -> str:
    if scored.recipe.reads_itself:
        return _fault(scored, row)
    error = scored.scores.errors.get(row)
    return str(error) if error else Reason(int(scored.scores.reason[row])).name


def _causes(
    pair: tuple[RecipeSlice, RecipeSlice], totals: Sequence[Floats], right: Sequence[Bools]
) -> Iterator[tuple[int, str]]:
    """Yield the rows that differ, each with the first cause that explains it."""
    differs = (np.abs(totals[0] - totals[1]) > _ALIKE) | (right[0] != right[1])
    failed = [{*getattr(each.scores, "faults", ())} for each in pair]
    differs[sorted(failed[0] ^ failed[1])] = True  # in a trainer that ends a run
    rest = np.flatnonzero(differs)
    found = dict[int, str]()
    for cause, rows in _explained(pair, rest, right[0] != right[1]):
        found.update((row, cause) for row in rows if row not in found)
    yield from sorted(found.items())


def _explained(
    pair: tuple[RecipeSlice, RecipeSlice], rows: NDArray[np.int64], success: Bools
) -> Iterator[tuple[str, Iterable[int]]]:
    """Yield each cause with the rows that it explains, the cheapest first; rescoring asks only for what is left."""
    faults = {row: [_fault(each, row) for each in pair] for row in rows.tolist()}
    raised = [row for row, both in faults.items() if any(text and not text.startswith("returned") for text in both)]
    yield "raises", raised
    yield "no number", [row for row, both in faults.items() if any(both)]
    valid = [each.scores.valid > 0 for each in pair]
    yield "target", rows[valid[0][rows] != valid[1][rows]].tolist()
    readers = [each for each in pair if not each.recipe.reads_itself]
    for cause, reasons in (
        ("several answers", (Reason.SEVERAL_ANSWERS, Reason.TOO_MANY)), ("out of image", (Reason.OUT_OF_IMAGE,)),
    ):  # fmt: skip
        for each in readers:
            yield cause, rows[np.isin(each.scores.reason[rows], reasons)].tolist()
    left = [row for row, both in faults.items() if not any(both)]
    yield "spaces", _agreeing(pair, left, lambda row, text: _BLANKS.sub("", text.strip()))
    for each in readers:
        yield "format", _agreeing(pair, left, partial(_alone, each))
        missed = [row for row in left if success[row] and not each.scores.acc[row] > 0]
        other = pair[1] if each is pair[0] else pair[0]
        unseen = [row for row in left if other.recipe.reads_itself and each.scores.acc[row] > other.scores.acc[row]]
        for space in SPACES:
            if space is not each.recipe.response_space:
                yield "other space", _elsewhere(each, missed, space)
                yield "other space", _agreeing(pair, unseen, partial(_moved, each, space), (other,))
        yield "border", [row for row in left if success[row] and _on_border(each, row)]
    yield "total", [row for row in rows.tolist() if not success[row]]
    yield "other", rows.tolist()


def _agreeing(
    pair: tuple[RecipeSlice, RecipeSlice],
    rows: Sequence[int],
    written: Callable[[int, str], str],
    only: tuple[RecipeSlice, ...] = (),
) -> list[int]:
    """Return the rows on which both agree once responses are written otherwise, or one's success if it is ``only``."""
    texts = {row: (text, written(row, text)) for row in rows if (text := pair[0].inputs.responses[row]) is not None}
    changed = np.array([row for row, (text, new) in texts.items() if text != new], dtype=np.int64)
    if not len(changed):
        return []
    new = [texts[row][1] for row in changed.tolist()]
    both = [
        _again(each.recipe, replace(each.inputs.take(changed), responses=new))
        if not only or each in only
        else (each.scores.total[changed], each.scores.acc[changed] > 0)
        for each in pair
    ]
    right = np.logical_or(*[each.scores.acc[changed] > 0 for each in pair])  # agreeing on nothing explains nothing
    agree = (
        (both[0][1] == both[1][1]) & (both[0][1] | ~right) & (bool(only) | (np.abs(both[0][0] - both[1][0]) <= _ALIKE))
    )
    agreeing: list[int] = changed[agree].tolist()
    return agreeing


def _elsewhere(reader: RecipeSlice, rows: Sequence[int], space: Any) -> list[int]:
    """Return the rows that a recipe calls right where it reads places in another space."""
    some = np.array(rows, dtype=np.int64)
    if not len(some):
        return []
    try:
        _, right = _again(replace(reader.recipe, response_space=space), reader.inputs.take(some))
    except GroundingRewardsError:  # a space that the recipe's rows cannot be read in
        return []
    hit: list[int] = some[right].tolist()
    return hit


def _again(recipe: Recipe, inputs: Inputs) -> tuple[Floats, Bools]:
    scores = score_rows(recipe, replace(inputs, groups=np.arange(len(inputs.responses))), "abstain").scores
    return np.where(scores.valid > 0, scores.total, 0.0), scores.acc > 0


def _alone(reader: RecipeSlice, row: int, text: str) -> str:
    """Return the place in a response by itself, as it stands there."""
    places = re.findall(r"[\[(]\s*-?[0-9.]+(?:\s*,\s*-?[0-9.]+)+\s*[\])]", text)
    return places[-1] if len(places) == 1 and reader.scores.predictions.parsed[row] else text


def _moved(reader: RecipeSlice, space: CoordSpace, row: int, text: str) -> str:
    """Return a response with its place as it would stand in another space."""
    rollouts, place = reader.rollouts, _alone(reader, row, text)
    sizes = rollouts.image_sizes[[row]], rollouts.model_image_sizes[[row]]
    xy = convert(reader.scores.predictions.xy[[row]], reader.recipe.space, space, *sizes)[0]
    if len(_NUMERAL.findall(place)) != 2 or np.isnan(xy).any():
        return text
    new = iter(f"{each:.4f}" if space is CoordSpace.UNIT else f"{each:.0f}" for each in xy)
    return text.replace(place, _NUMERAL.sub(lambda match: next(new, match[0]), place))


def _on_border(reader: RecipeSlice, row: int) -> bool:
    regions = reader.rollouts.targets.regions
    boxes, (x, y) = regions.box[regions.row == row], reader.scores.predictions.xy[row]
    return bool(len(boxes) and (np.isclose(boxes[:, 0::2], x).any() or np.isclose(boxes[:, 1::2], y).any()))
