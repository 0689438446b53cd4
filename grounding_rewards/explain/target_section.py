"""A target as read, and the same in the wire form, which every recipe reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from grounding_rewards.errors import TargetError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.labels import plain
from grounding_rewards.explain.sections import Place, Told
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.read import read_target
from grounding_rewards.targets.target import Action, Region, RegionKind, Target
from grounding_rewards.targets.write import to_wire

MOST_PLACES = 16
"""So many places of a target are tried out one by one."""

_BESIDE = ("image_size", "model_image_size", "id", "task", "trajectory", "step", "num_steps", "extra")


def told(recipe: Recipe, case: Case) -> Told:
    """The target of a case's row as the recipe reads it.

    Raises:
        TargetError: it cannot be read.
    """
    target = _read(recipe, case.target, label_free=recipe.label_free)
    placed = target.regions or target.ends
    return Told(
        form="wire" if in_source_form(recipe, case.target) is None else "native",
        space=target.space.value if placed and target.space else None,
        places=tuple(_place(region) for region in target.regions),
        refusal=target.refusal,
        action=_action(target.action) if target.action else None,
        actions=tuple(_action(action) for action in target.actions),
        says={name: plain(getattr(target, name)) for name in _BESIDE if getattr(target, name) is not None},
        compared=not recipe.label_free,
    )


def alone(recipe: Recipe, case: Case) -> tuple[float, ...]:
    """What the row would earn if each place of its target were the only one; nothing where there are not several."""
    target = _read(recipe, case.target)
    if not 1 < len(target.regions) <= MOST_PLACES or target.actions:
        return ()
    found = []
    for region in target.regions:
        targets = list(case.targets)
        targets[case.row] = to_wire(replace(target, regions=(region,)))
        found.append(float(replace(case, targets=tuple(targets)).score(recipe).total[case.row]))
    return tuple(found)


def in_wire_form(recipe: Recipe, case: Case) -> Case:
    """The same case with targets that every recipe reads, those alone left as they are that this one cannot read.

    >>> from grounding_rewards import recipe
    >>> in_wire_form(recipe("gelato"), Case(("(1, 2)",), ([0.1, 0.1, 0.3, 0.2],))).target
    {'bbox': [0.1, 0.1, 0.3, 0.2], 'space': 'unit'}
    """
    return replace(case, targets=tuple(_rewritten(recipe, target) for target in case.targets))


def complaint(error: Exception) -> str:
    """What is wrong with a target, without which one it is; any other error as it is.

    >>> complaint(TargetError("a", "bbox", [3, 1], "4 numbers x1 y1 x2 y2"))
    "field 'bbox': got [3, 1]; expected 4 numbers x1 y1 x2 y2"
    """
    return error.problem if isinstance(error, TargetError) else str(error)


def _read(recipe: Recipe, value: Any, *, label_free: bool = False) -> Target:
    return read_target(value, native=recipe.native, space=recipe.target_space, label_free=label_free)


def _rewritten(recipe: Recipe, value: Any) -> Any:
    try:
        return to_wire(_read(recipe, value))
    except TargetError:
        return value


def in_source_form(recipe: Recipe, value: Any) -> Any:
    """A target as the recipe's source writes it, with lists for tuples and arrays; None where it is written otherwise.

    >>> from grounding_rewards import recipe
    >>> in_source_form(recipe("gelato"), "[0.1, 0.1, 0.3, 0.2]")
    [0.1, 0.1, 0.3, 0.2]
    >>> in_source_form(recipe("gelato"), {"bbox": [0.1, 0.1, 0.3, 0.2]}) is None
    True
    """
    for each in (_listed(value), _decoded(value)):
        if _is_native(recipe, each):
            return each
    return None


def _is_native(recipe: Recipe, value: Any) -> bool:
    """Whether the source's own reader takes it, and it is no mapping of the wire form besides."""
    try:
        if recipe.native is None or recipe.native.read(value) is None:
            return False
        if isinstance(value, Mapping):
            read_target(value)
    except TargetError:
        return True
    except Exception:  # a source's own reader, and a value that it was not made for
        return False
    return not isinstance(value, Mapping)


def _decoded(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None


def _listed(value: Any) -> Any:
    """Lists in place of tuples and arrays, as rows of JSON have them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value


def _place(region: Region) -> Place:
    kind = RegionKind(region.kind).name.lower()
    return Place(kind, region.numbers, region.point, _action(region.action) if region.action else None)


def _action(action: Action) -> dict[str, Any]:
    """An action's fields, those alone that it has."""
    found = {each.name: getattr(action, each.name) for each in fields(action)}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in found.items() if value is not None
    }
