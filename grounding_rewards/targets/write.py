"""Write one target in its JSON wire form, which ``read.read_target`` reads back as the same target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding_rewards.targets.read import PLACES
from grounding_rewards.targets.target import Action, Region, Target

_PLACE_NAMES = {kind: name for name, kind in PLACES.items()}
_BESIDE = ("image_size", "model_image_size", "id", "task", "trajectory", "step", "num_steps", "extra")


def to_wire(target: Target) -> dict[str, Any]:
    """Write a target."""
    wire = _places(target)
    if target.refusal:
        wire["refusal"] = True
    if target.action is not None:
        wire["action"] = _action(target.action)
    if target.space is not None:
        wire["space"] = str(target.space)
    for name in _BESIDE:
        value = getattr(target, name)
        if value is not None:
            wire[name] = plain_numbers(value) if name.endswith("size") else value
    return wire


def plain_numbers(numbers: Sequence[float]) -> list[float]:
    """List numbers, whole ones without a point."""
    return [int(number) if float(number).is_integer() else float(number) for number in numbers]


def _places(target: Target) -> dict[str, Any]:
    if len(target.regions) == 1 and target.regions[0].action is None and not target.actions:
        return _place(target.regions[0])
    listed = [*map(_place, target.regions), *({"action": _action(action)} for action in target.actions)]
    return {"regions": listed} if listed else {}


def _place(region: Region) -> dict[str, Any]:
    place: dict[str, Any] = {_PLACE_NAMES[region.kind]: plain_numbers(region.numbers)}
    if region.point is not None:
        place["point"] = plain_numbers(region.point)
    if region.action is not None:
        place["action"] = _action(region.action)
    return place


def _action(action: Action) -> str | dict[str, Any]:
    values = {name: getattr(action, name) for name in action.__struct_fields__}
    wire = {name: _written(value) for name, value in values.items() if value is not None}
    return action.name if len(wire) == 1 else wire


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [item if isinstance(item, str) else plain_numbers([item])[0] for item in value]
    return value
