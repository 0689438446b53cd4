"""Terms of AgentCPM-GUI's reward: the keys of a response's object beside those of the target's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.parsing.json5 import Json5Error
from grounding_rewards.parsing.published import (
    COMPACT_KEYS,
    FENCE,
    compact_json,
    is_compact_action,
    is_fenced,
)
from grounding_rewards.parsing.texts import as_texts, contains
from grounding_rewards.recipes.published._agentcpm_gui_targets import Form, forms_of
from grounding_rewards.rollouts import Predictions, Rollouts
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers.terms import Term
from grounding_rewards.verifiers.text import similarity

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

FENCED, EXTRA, MISSING = 0.05, 0.1, 0.3
INSIDE, CENTRED = 0.95, 0.05
NEAR = 10.0
SHORTEST, LONGEST = 150.0, 5000.0

_BITS = {key: 1 << place for place, key in enumerate(COMPACT_KEYS)}
_UNKNOWN = 1 << len(_BITS)  # any other key of a target, which no response has
_COUNTS = np.array([mask.bit_count() for mask in range(2 * _UNKNOWN)])  # by mask: how many keys it stands for


@dataclass(frozen=True)
class SameKeys(Term):
    """1.0 where the response has the target's keys and no others, 0.0 where not, -1.0 where it is no valid action.

    For a free text, ``similarity`` of the whole response with it. Of several alternatives the best.
    """

    low = -1.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        forms = forms_of(rollouts.targets)
        keys, wanted = _keys(rollouts, forms)
        return _best(rollouts, forms, (keys == wanted).astype(np.float64))


@dataclass(frozen=True)
class KeysAndValues(Term):
    """Agreement of values and keys with the target's, -1.0 where the response is no valid action.

    The mean over the target's keys of how right each value is, 0.0 where it is missing, less 0.3 for each key missing,
    0.1 for each that the target has not, and 0.05 for a fence. Right is POINT in the target's box, both cut to whole
    pixels of the original image, by 0.95 + 0.05 · (1 - d / 1000)³, d the larger of the distances in x and y, in pixels,
    to the middle of the box; without a box by 1 where both are at most 10 thousandths off, and elsewhere by
    1 - (|dx| + |dy|) / 2000, in thousandths, from 0; duration by 1 above 150 and up to 5000; TYPE by ``similarity``;
    every other value by 1 where it is equal, else 0. For a free text, ``similarity`` of the whole response
    with it. Of several alternatives the best.
    """

    # The worst: five keys are missing, one is there instead, in a fence.
    low = -(5 * MISSING + EXTRA + FENCED)

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives, forms = rollouts.targets.alternatives, forms_of(rollouts.targets)
        keys, wanted = _keys(rollouts, forms)
        sums = np.zeros(len(forms))
        for key, rows in _common(keys, wanted):
            sums[rows] += _right(key, rollouts, rows, forms)
        scores = sums / np.maximum(_COUNTS[wanted], 1)
        scores -= EXTRA * _COUNTS[keys & ~wanted] + MISSING * _COUNTS[wanted & ~keys]
        scores -= FENCED * alternatives.each(_are_fenced(rollouts))
        return _best(rollouts, forms, np.maximum(scores, self.low))


@dataclass(frozen=True)
class SchemaKept(Term):
    """1.0 where the response keeps to the schema (0.5 in a fence), 0.3 where it is other JSON5, else 0.0."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        texts, parsed = as_texts(rollouts.text), rollouts.predictions.parsed
        scores = np.where(_are_fenced(rollouts), 0.5, 1.0)
        for row in np.flatnonzero(~parsed).tolist():
            scores[row] = _schema_score(texts.values[row])
        return scores


@dataclass(frozen=True)
class FullMatch(Term):
    """1.0 where the keys are the target's and every value is right: the point a hit, a text equal. Else 0.0.

    A point hits the target's box, borders included, where both are cut to whole pixels of the original image; without
    a box it is at most 10 thousandths off on either axis.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        forms = forms_of(rollouts.targets)
        keys, wanted = _keys(rollouts, forms)
        right = keys == wanted
        for key, rows in _common(keys, wanted):
            right[rows] &= _right(key, rollouts, rows, forms, full=True) == 1.0
        return np.maximum(_best(rollouts, forms, right.astype(np.float64), full=True), 0.0)


def _keys(rollouts: Rollouts, forms: Sequence[Form]) -> tuple[Rows, Rows]:
    """The keys that responses have, and that targets want, as bits: (k,) each."""
    keys = [() if isinstance(form, str) else tuple(form) for form in forms]
    known = {each: sum({_BITS.get(key, _UNKNOWN) for key in each}) for each in set(keys)}
    wanted = [known[each] for each in keys]
    return rollouts.targets.alternatives.each(_said(rollouts.predictions)), np.array(wanted, dtype=np.int64)


_NONE = np.array(None, dtype=np.object_)


def _said(predictions: Predictions) -> Rows:
    arguments = predictions.arguments
    keys = _BITS["POINT"] * ~np.isnan(predictions.xy[:, 0])
    for key, name in (*COMPACT_KEYS.items(), ("to", "direction")):
        column = getattr(arguments, name, None)
        if column is not None:
            first = column if column.ndim == 1 else column[:, 0]
            there = np.not_equal(first, _NONE) if first.dtype == np.object_ else ~np.isnan(first)
            keys = keys | _BITS[key] * there.astype(np.int64)
    return keys


def _common(keys: Rows, wanted: Rows) -> list[tuple[str, Rows]]:
    """The keys that any response has of those its target wants, and where."""
    both = keys & wanted
    held = int(np.bitwise_or.reduce(both)) if len(both) else 0
    return [(key, (both & bit).nonzero()[0]) for key, bit in _BITS.items() if held & bit]


def _best(rollouts: Rollouts, forms: Sequence[Form], scores: Floats, full: bool = False) -> Floats:
    """The scores (k,) of valid actions, -1 of others, and those of free texts; of several alternatives the best."""
    alternatives = rollouts.targets.alternatives
    scores = np.where(alternatives.each(rollouts.predictions.parsed), scores, -1.0)
    for index, form in enumerate(forms):
        if isinstance(form, str):
            text = rollouts.text[int(alternatives.row[index])]
            scores[index] = float(text == form) if full else similarity(text, form)
    return alternatives.best(scores, len(rollouts))


def _are_fenced(rollouts: Rollouts) -> Bools:
    """Return True for responses in a fence, thinking before it aside: (n,)."""
    texts = as_texts(rollouts.text)
    fenced = contains(texts, FENCE)
    for row in np.flatnonzero(fenced).tolist():
        text = texts.values[row]
        fenced[row] = is_fenced(text) or is_fenced(text.rpartition("</think>")[2])
    return fenced


def _schema_score(text: str) -> float:
    """The score of a text that is no action: it may still be JSON5, or an object without an action."""
    try:
        value = compact_json(text)
    except Json5Error:
        return 0.0
    if not is_compact_action(value):
        return 0.3
    return 0.5 if is_fenced(text) else 1.0


def _right(key: str, rollouts: Rollouts, rows: Rows, forms: Sequence[Form], full: bool = False) -> Floats:
    """Score one key's value in the rows that have it; with ``full`` 1.0 or 0.0."""
    wanted = [cast(dict[str, Any], forms[row])[key] for row in rows.tolist()]
    if key == "POINT":
        return _points_right(rollouts, rows, wanted, full)
    values = _column(rollouts, key, rows)
    if key == "duration":
        return ((values > SHORTEST) & (values <= LONGEST)).astype(np.float64)
    pairs = zip(values.tolist(), wanted, strict=True)
    if key == "TYPE" and not full:
        return np.array([similarity(text, right) for text, right in pairs])
    return np.array([float(value == right) for value, right in pairs])


def _column(rollouts: Rollouts, key: str, rows: Rows) -> NDArray[Any]:
    """One key's values as they are said; ``to`` is a direction or a pair."""
    count = len(rollouts)
    arguments, each = rollouts.predictions.arguments, rollouts.targets.alternatives.each
    values: NDArray[Any] = each(arguments.column("direction" if key == "to" else COMPACT_KEYS[key], count))[rows]
    if key == "to" and arguments.to is not None:
        ends = each(arguments.to)[rows].tolist()
        column = [way if way is not None else end for way, end in zip(values.tolist(), ends, strict=True)]
        values = np.empty(len(rows), dtype=np.object_)  # np.array would make a table of pairs
        values[:] = column
    return values


def _points_right(rollouts: Rollouts, rows: Rows, wanted: Sequence[Sequence[float]], full: bool) -> Floats:
    """Score points, in thousandths; where the target has a box, a hit counts in pixels of the image."""
    alternatives, regions = rollouts.targets.alternatives, rollouts.targets.regions
    points, right = alternatives.each(rollouts.predictions.xy)[rows], np.array(wanted, dtype=np.float64)
    away = np.abs(points - right)
    places = alternatives.place[rows]
    boxed = places >= 0 if regions.boxes_only else (places >= 0) & (regions.kind[places] == RegionKind.BBOX)
    hit = (away <= NEAR).all(axis=1) | ((places < 0) & np.isnan(right[:, 0]))
    shares = np.ones(len(rows))
    if np.count_nonzero(boxed):
        sizes = alternatives.each(rollouts.targets.image_sizes)[rows[boxed]]
        hit[boxed], shares[boxed] = _in_boxes(points[boxed], regions.box[places[boxed]], sizes)
    if full:
        return hit.astype(np.float64)
    return np.fmax(np.where(hit, shares, 1.0 - (away[:, 0] + away[:, 1]) / 2000.0), 0.0)  # NaN is 0.0


def _in_boxes(points: Floats, boxes: Floats, sizes: Floats) -> tuple[Bools, Floats]:
    """Score each point in its box. Points are cut to whole pixels, as in the source."""
    unknown = np.isnan(sizes)
    if np.count_nonzero(unknown):
        sizes = np.where(unknown, 1000.0, sizes)  # thousandths stand for pixels then
    pixels = np.floor(points / 1000.0 * sizes)
    low, high = _pixels(boxes[:, :2], sizes), _pixels(boxes[:, 2:], sizes)
    inside = ((low <= pixels) & (pixels <= high)).all(axis=1)
    left = 1.0 - np.abs(pixels - (low + high) / 2.0).max(axis=1) / 1000.0
    return np.asarray(inside), INSIDE + CENTRED * (left * left * left)


def _pixels(edges: Floats, sizes: Floats) -> Floats:
    """Edges in pixels, to the last digit as they were before they were brought into thousandths."""
    return (edges * (sizes / 1000.0)).round(6)
