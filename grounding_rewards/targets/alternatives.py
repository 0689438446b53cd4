"""Alternatives of targets as one table: every place with its action, and actions that need no place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import (
    ARGUMENTS,
    NO_ARGUMENTS,
    Arguments,
    Objects,
    columns,
    normalised,
    objects,
    with_directions,
)
from grounding_rewards.arrays import Floats, nowhere, read_only
from grounding_rewards.targets.regions import PerSample, Regions, bounding_box
from grounding_rewards.targets.target import Action, Target

_NOWHERE = (float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class Alternatives(PerSample):
    """Right answers, k rows in sample order; a refusal and a target that cannot be read have none."""

    row: NDArray[np.int64]  # (k,) the sample that each belongs to, ascending
    place: NDArray[np.int64]  # (k,) index into ``Targets.regions``; -1 where the action needs no place
    names: Objects  # (k,) the action as the target has it; "" is a place alone, which asks for a click
    arguments: Arguments  # the action's arguments; ``to`` is (k, 4), and ``raw`` the target's ``extra``
    one_per_row: bool  # True where every sample has exactly one
    starts: Floats  # (k, 2) where a drag or swipe with another end begins, in the target's own space; NaN elsewhere
    # True where each is a place alone, in the order of ``Targets.regions``: most targets are, and are quicker
    bare: bool = False

    def __post_init__(self) -> None:
        read_only(self.row, self.place, self.names, self.starts)
        if self.arguments is not NO_ARGUMENTS:
            read_only(*vars(self.arguments).values())

    def __len__(self) -> int:
        return len(self.row)

    def place_scores(self, scores: NDArray[Any]) -> Floats:
        """Spread scores of places, (m,) in the order of ``Targets.regions``, to (k,); 0.0 where there is no place."""
        if self.bare:
            return scores
        if not len(scores):  # without any place, the index -1 below would raise
            return np.zeros(len(self))
        return np.where(self.place >= 0, scores[self.place], 0.0)

    @cached_property
    def canonical(self) -> Alternatives:
        """Names and arguments in the shared vocabulary, by ``actions.normalised``; "" is ``click``."""
        if self.bare:
            return replace(self, names=np.full(len(self), "click", dtype=np.object_))
        names, fields = [], []
        for name, arguments in zip(self.names.tolist(), self.arguments.by_row(len(self), ARGUMENTS), strict=True):
            name, arguments = normalised(name or "click", arguments)
            names.append(name)
            fields.append(arguments)
        return replace(self, names=objects(names), arguments=Arguments(**columns(fields, ends=4)))

    def with_ends(self, ends: Floats, moves: Floats) -> Alternatives:
        """Replace the ends of drags by those in another space, and add the directions of ``moves`` in pixels."""
        return replace(self, arguments=with_directions(self.names, self.arguments.changed(to=ends), moves))


def alternatives_of(targets: Mapping[int, Target | None], regions: Regions, rows: int) -> Alternatives:
    """Collect the alternatives of ``rows`` samples, in their own spaces: of targets by row, the others lone boxes."""
    given = np.fromiter(targets, np.int64, len(targets))
    lone = np.flatnonzero(~np.isin(regions.row, given))
    owners, places = regions.row[lone].tolist(), lone.tolist()
    starts: list[tuple[float, ...]] = [_NOWHERE] * len(lone)
    actions, extras = list[Action | None]([None]) * len(lone), [None] * len(lone)
    for (row, target), first in zip(targets.items(), np.searchsorted(regions.row, given).tolist(), strict=True):
        if target is None:
            continue
        mine: list[tuple[int, Action | None]] = [
            (index, region.action or target.action) for index, region in enumerate(target.regions)
        ]
        if not target.regions and target.action is not None:
            mine.append((-1, target.action))
        mine += [(-1, action) for action in target.actions]
        for index, action in mine:
            starts.append(_start(target, index, action))
            owners.append(row)
            places.append(first + index if index >= 0 else -1)
            actions.append(action)
            extras.append(target.extra)
    fields = [_arguments(action, extra) for action, extra in zip(actions, extras, strict=True)]
    samples = np.array(owners, dtype=np.int64)
    order = np.argsort(samples, kind="stable")
    return Alternatives(
        row=samples[order],
        place=np.array(places, dtype=np.int64)[order],
        starts=np.array(starts, dtype=np.float64).reshape(-1, 2)[order],
        names=objects([action.name if action else "" for action in actions])[order],
        arguments=Arguments(**{name: column[order] for name, column in columns(fields, ends=4).items()}),
        one_per_row=samples[order].tolist() == list(range(rows)),
    )


def bare_places(targets: Mapping[int, Target | None], regions: Regions, rows: int) -> Alternatives:
    """Return the alternatives of ``rows`` samples that ask for places alone, those of ``regions``."""
    count, arguments = len(regions.row), NO_ARGUMENTS
    extras = {row: target.extra for row, target in targets.items() if target is not None and target.extra is not None}
    if extras:
        arguments = Arguments(raw=objects([extras.get(row) for row in regions.row.tolist()]))
    return Alternatives(
        row=regions.row,
        place=np.arange(count),
        starts=nowhere(count, 2),
        names=np.full(count, "", dtype=np.object_),
        arguments=arguments,
        one_per_row=regions.one_per_row,
        bare=True,
    )


def _start(target: Target, place: int, action: Action | None) -> tuple[float, ...]:
    """Return the centre of a target's place, for a drag or a swipe that ends elsewhere."""
    if action is None or action.to is None or place < 0:
        return _NOWHERE
    x1, y1, x2, y2 = bounding_box(target.regions[place])
    return (x1 + x2) / 2, (y1 + y2) / 2


def _arguments(action: Action | None, extra: Any) -> dict[str, Any]:
    if action is None:
        return {"raw": extra}
    to = action.to if action.to is None or len(action.to) == 4 else action.to * 2  # a point as a box: x, y, x, y
    return {
        "text": action.text, "direction": action.direction, "button": action.button, "app": action.app,
        "status": action.status, "keys": action.keys, "to": to, "duration": action.duration, "raw": extra,
    }  # fmt: skip
