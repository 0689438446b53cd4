"""Alternatives of targets as one table: every place with its action, and actions that need no place."""

from __future__ import annotations

from collections.abc import Sequence
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
        return replace(self, arguments=with_directions(self.names, replace(self.arguments, to=ends), moves))


def alternatives_of(targets: Sequence[Target | None]) -> Alternatives:
    """Collect the alternatives of n targets, in their own spaces."""
    owners, places, starts, actions, extras, place = [], [], [], list[Action | None](), [], 0
    for row, target in enumerate(targets):
        if target is None:
            continue
        mine: list[tuple[int, Action | None]] = [
            (place + index, region.action or target.action) for index, region in enumerate(target.regions)
        ]
        if not target.regions and target.action is not None:
            mine.append((-1, target.action))
        mine += [(-1, action) for action in target.actions]
        for index, action in mine:
            starts.append(_start(target, index - place if index >= 0 else -1, action))  # index counts the places of all
            owners.append(row)
            places.append(index)
            actions.append(action)
            extras.append(target.extra)
        place += len(target.regions)
    fields = [_arguments(action, extra) for action, extra in zip(actions, extras, strict=True)]
    return Alternatives(
        row=np.array(owners, dtype=np.int64),
        place=np.array(places, dtype=np.int64),
        starts=np.array(starts, dtype=np.float64).reshape(-1, 2),
        names=objects([action.name if action else "" for action in actions]),
        arguments=Arguments(**columns(fields, ends=4)),
        one_per_row=owners == list(range(len(targets))),
    )


def bare_places(targets: Sequence[Target | None], regions: Regions) -> Alternatives:
    """Return the alternatives of n targets that ask for places alone, those of ``regions``."""
    count, arguments = len(regions.row), NO_ARGUMENTS
    if any([target is not None and target.extra is not None for target in targets]):  # noqa: C419 (twice as quick)
        arguments = Arguments(raw=objects([getattr(targets[row], "extra", None) for row in regions.row.tolist()]))
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
