"""One target's JSON wire form, read tolerantly and checked strictly; docs/reference/targets.md has all of its keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, get_type_hints

import numpy as np
from msgspec import ValidationError, convert
from msgspec.structs import replace

from grounding_rewards.actions import normalised
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace, as_space
from grounding_rewards.errors import MISSING, SpaceError, TargetError, near
from grounding_rewards.literals import literal, unique_keys
from grounding_rewards.targets.box_format import FOUR, BoxFormat, corners, inverted
from grounding_rewards.targets.shapes import corners_of, places_of, spread
from grounding_rewards.targets.target import NONE, Action, Listed, NativeForm, Region, RegionKind, Target, placed

PLACES = {kind.name.lower(): kind for kind in RegionKind}
_NUMBERS = {int, float}
_SCALARS = {str, int, float, bool}
DIRECTIONS = ("up", "down", "left", "right")
TARGET_KEYS = (
    *PLACES, "regions", "refusal", "action", "space", "image_size", "model_image_size",
    "id", "task", "trajectory", "step", "num_steps", "extra",
)  # fmt: skip
_ACTION_KEYS = ("name", "text", "direction", "to", "button", "keys", "app", "status", "duration")
_NAMES = ("id", "task", "trajectory", "step", "num_steps")
_OWN_RULES = ("to", "duration")
_TYPES: dict[type[Target | Action], dict[str, Any]] = {
    kind: get_type_hints(kind, include_extras=True) for kind in (Target, Action)
}
_NAMED, _COUNTED = "a string or a whole number", "a whole number from 0 (and at most 2**53)"
_EXPECTED = {
    "refusal": "true or false", "id": _NAMED, "trajectory": _NAMED, "step": _COUNTED, "num_steps": _COUNTED,
    "name": 'the action\'s name, such as "click"', "direction": f"one of {', '.join(DIRECTIONS)}",
    "keys": 'a key or a list of keys, such as ["ctrl", "c"]',
}  # fmt: skip
"""Values that fields take, in errors; others take a string."""
_WIRE = '{"bbox": [x1, y1, x2, y2]} or another place, {"refusal": true} or {"action": ...}'


def read_target(
    value: Any,
    *,
    row: int = 0,
    native: NativeForm | None = None,
    space: CoordSpace | None = None,
    label_free: bool = False,
    box_format: BoxFormat | None = None,
) -> Target:
    """Read one target."""
    return read_with_form(value, row, native, space, label_free, box_format)[0]


def read_with_form(
    value: Any,
    row: int,
    native: NativeForm | None,
    space: CoordSpace | None,
    label_free: bool = False,
    box_format: BoxFormat | None = None,
) -> tuple[Target, bool]:
    """Read one target as ``read_target`` does; return True beside it where it was in the ``native`` form."""
    if isinstance(value, TargetError):  # of a row of which no target can be made
        raise value.named(row)
    if label_free and (value is None or (isinstance(value, str) and not value.lstrip().startswith(("{", "[")))):
        return Target(space=space), False
    try:
        fields, own = _as_mapping(value, row, native)
    except RecursionError:
        raise TargetError(row, "target", "deeply nested lists", f"{_WIRE}") from None
    reader = _Reader(row, own, BoxFormat.XYXY if own or box_format is None else box_format)
    with suppress(TargetError):
        name = reader.typed(fields, "id")
        reader.sample = row if name is None else str(name)
    return reader.target(fields, space, label_free), own


def _as_mapping(value: Any, row: int, native: NativeForm | None) -> tuple[dict[str, Any], bool]:
    """Convert a value into the wire form's dict, the native form first; True beside it of that."""
    plain = _plain(value)
    read = _own(plain, row, native)
    if read is None and isinstance(plain, str):  # after the native form, which may itself be a text
        plain = _from_json(plain, row)
        read = _own(plain, row, native)
    if read is not None:
        return read, True
    if isinstance(plain, Mapping):
        return dict(plain), False
    if native:
        raise TargetError(row, "target", value, f"{native.description}, or {_WIRE}")
    if isinstance(plain, list):
        fields = spread({"bbox": plain})
        if "regions" in fields or "polygon" in fields or len(fields["bbox"]) == 4:
            return dict(fields), False
        hint = '; write a polygon as {"polygon": [x1, y1, ...]}' if len(plain) > 4 else f"; or {_WIRE}"
        raise TargetError(row, "target", value, f"4 numbers x1 y1 x2 y2 in a bare list{hint}")
    raise TargetError(row, "target", MISSING if value is None else value, _WIRE)


def _own(value: Any, row: int, native: NativeForm | None) -> dict[str, Any] | None:
    """Read a value by the recipe's own reader; where that raises, the value does not fit."""
    try:
        return native.read(value) if native else None
    except Exception as error:
        description = native.description if native else _WIRE
        raise TargetError(row, "target", value, f"{description} ({type(error).__name__}: {error!s:.80})") from error


def _from_json(text: str, row: int) -> Any:
    try:
        # json alone keeps the last of two equal keys: of two boxes, one would be lost in silence.
        return _plain(json.loads(text, object_pairs_hook=unique_keys))
    except (ValueError, RecursionError) as error:
        read = literal(text) if "'" in text else text
        places = places_of(read if isinstance(read, str) else [])
        if not isinstance(read, str) or places:
            return _plain(places[0] if places else read)
        raise TargetError(row, "target", text, f"JSON of a target ({error}), such as {_WIRE}") from None


def _plain(value: Any) -> Any:
    """Convert numpy to Python, and drop the None-filled keys that Arrow adds."""
    if type(value) in _SCALARS or (type(value) is list and _NUMBERS.issuperset(map(type, value))):
        return value
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, np.longdouble):  # which tolist() leaves as it is
        return float(value)
    if isinstance(value, list | tuple):
        return [item if type(item) in (int, float) else _plain(item) for item in value]
    if isinstance(value, Mapping):
        return {
            key: item if key == "extra" else _plain(item)
            for key, item in value.items()
            if item is not None and (key == "extra" or not _is_hollow(item))
        }  # fmt: skip
    return value


def _is_hollow(value: Any) -> bool:
    """Return True for a mapping of None alone, which Arrow writes for a row that lacks what other rows have."""
    if type(value) in _SCALARS or not isinstance(value, Mapping):
        return False
    return bool(value) and all(item is None for item in value.values())


class _Reader:
    """Reader of one sample's fields; every error names the sample."""

    def __init__(self, sample: str | int, own_form: bool, box_format: BoxFormat) -> None:
        self.sample, self.own_form, self.box_format = sample, own_form, box_format

    def fail(self, field: str, came: Any, expected: str) -> TargetError:
        return TargetError(self.sample, field, came, expected)

    def target(self, fields: Mapping[str, Any], default: CoordSpace | None, label_free: bool = False) -> Target:
        fields = spread(fields)
        self.known(fields, TARGET_KEYS, "a target")
        refusal = bool(self.typed(fields, "refusal"))
        regions, actions = self.regions(fields)
        action = self.action(fields["action"], placed=bool(regions)) if "action" in fields else None
        if refusal and any({*region.numbers} not in ({0.0}, {-1.0}) for region in regions):
            raise self.fail("refusal", True, "no place beside a refusal; drop one of the two")
        if not (refusal or regions or action or actions or label_free):
            raise self.fail("target", dict(fields), _WIRE)
        regions = () if refusal else regions  # all of them stand for no place
        space = self.space(fields.get("space"))
        for region in regions if space in (CoordSpace.UNIT, CoordSpace.THOUSANDTHS) else ():
            if region.kind == RegionKind.CIRCLE:
                raise self.fail("circle", list(region.numbers), f"a pixel space; a circle in {space} is no circle")
        return Target(
            image_size=self.size(fields, "image_size"), model_image_size=self.size(fields, "model_image_size"),
            refusal=refusal, action=action, space=space or default, extra=fields.get("extra"),
            actions=Listed(actions) or NONE, **placed(regions),
            **{name: self.typed(fields, name) for name in _NAMES if name in fields},
        )  # fmt: skip

    def known(self, fields: Mapping[str, Any], keys: tuple[str, ...], where: str, prefix: str = "") -> None:
        for key in fields:
            if key not in keys:
                hint = near(key, keys) or '; put your own fields under "extra" of the target'
                raise self.fail(f"{prefix}{key}", fields[key], f"one of the keys of {where} ({', '.join(keys)}){hint}")

    def regions(self, fields: Mapping[str, Any]) -> tuple[tuple[Region, ...], tuple[Action, ...]]:
        """Read the places, and the actions in their list that need none."""
        if "regions" in fields:
            extra = [key for key in PLACES if key in fields]
            if extra:
                raise self.fail(extra[0], fields[extra[0]], "no place beside `regions`; move it into the list")
            return self.region_list(fields["regions"])
        region = self.region(fields, "")
        return ((region,) if region else ()), ()

    def region_list(self, value: Any) -> tuple[tuple[Region, ...], tuple[Action, ...]]:
        if not isinstance(value, list) or not value:
            raise self.fail("regions", value, 'a list of places such as [{"bbox": [x1, y1, x2, y2]}]')
        regions, actions = [], []
        for index, item in enumerate(value):
            where = f"regions[{index}]"
            bare = isinstance(item, list) and (len(item) == 4 or any(isinstance(each, list) for each in item))
            place = {"bbox": item} if bare else item
            place = spread(place) if isinstance(place, Mapping) else place
            if not isinstance(place, Mapping):
                raise self.fail(where, item, 'a place such as {"bbox": [x1, y1, x2, y2]}')
            self.known(place, (*PLACES, "action"), "a place", f"{where}.")
            region = self.region(place, f"{where}.")
            action = self.action(place["action"], f"{where}.action", region is not None) if "action" in place else None
            if region is not None:
                regions.append(replace(region, action=action))
            elif action is not None:
                actions.append(action)
            else:
                raise self.fail(where, item, 'a place such as {"bbox": [x1, y1, x2, y2]}, or an action')
        return tuple(regions), tuple(actions)

    def region(self, fields: Mapping[str, Any], prefix: str) -> Region | None:
        names = [name for name in PLACES if name in fields]
        if not names:
            return None
        if len(names) > 1 and names != ["bbox", "point"]:
            raise self.fail(prefix + names[1], fields[names[1]], "one place; list several under `regions`")
        name = names[0]
        numbers = getattr(self, f"_{name}")(prefix + name, fields[name])
        point = self._point(prefix + "point", fields["point"]) if len(names) == 2 else None
        if point and not (numbers[0] <= point[0] <= numbers[2] and numbers[1] <= point[1] <= numbers[3]):
            raise self.fail(prefix + "point", fields["point"], f"a point inside the bbox {fields['bbox']}")
        return Region(PLACES[name], numbers, point)

    def _bbox(self, field: str, value: Any) -> tuple[float, ...]:
        keyed = corners_of(value) if isinstance(value, Mapping) else None
        written = self.box_format if keyed is None else BoxFormat.XYXY
        box = self.numbers(field, value if keyed is None else keyed, 4, FOUR[written])
        if written is not BoxFormat.XYXY:
            box = corners(box, written)
            if max(map(abs, box)) > COORDINATE_LIMIT:
                raise self.fail(field, value, f"a box within ±{COORDINATE_LIMIT:.0e}")
        x1, y1, x2, y2 = box
        if x1 > x2 or y1 > y2:
            if written is not BoxFormat.XYXY:
                ordered = "with x1 <= x2 and y1 <= y2" if "1" in FOUR[written] else "with w and h from 0"
                raise self.fail(field, value, f"{FOUR[written]} {ordered}, the declared box format")
            raise inverted(self.sample, field, value, box, own_form=self.own_form)
        return box

    def _polygon(self, field: str, value: Any) -> tuple[float, ...]:
        flat = self.numbers(field, value, None, "a flat list x1 y1 x2 y2 x3 y3 ... of at least 3 points")
        if len(flat) < 6 or len(flat) % 2:
            raise self.fail(field, value, "an even count of numbers, at least 6: x1 y1 x2 y2 x3 y3 ...")
        # All corners on one line: every offset from the first is parallel to one of them, and the area is 0.
        offsets = [(x - flat[0], y - flat[1]) for x, y in zip(flat[2::2], flat[3::2], strict=True)]
        a, b = next((offset for offset in offsets if offset != (0.0, 0.0)), (0.0, 0.0))
        if all(a * d == b * c for c, d in offsets):
            raise self.fail(field, value, "points that enclose an area; these lie on one line")
        return flat

    def _circle(self, field: str, value: Any) -> tuple[float, ...]:
        circle = self.numbers(field, value, 3, "3 numbers x y r")
        if circle[2] <= 0:
            raise self.fail(field, value, "a radius above 0 as the third number")
        return circle

    def _point(self, field: str, value: Any) -> tuple[float, float]:
        x, y = self.numbers(field, value, 2, "2 numbers x y")
        return (x, y)

    def numbers(self, field: str, value: Any, count: int | None, expected: str) -> tuple[float, ...]:
        """Read finite numbers; strings, booleans and nested lists are errors."""
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise self.fail(field, value, expected)
        if {int}.issuperset(map(type, value)) and value and max(map(abs, value)) <= COORDINATE_LIMIT:
            return tuple(map(float, value))  # a fast path with the result of the general one below
        return tuple([self.number(field, item, value, expected) for item in value])

    def number(self, field: str, item: Any, came: Any, expected: str) -> float:
        if type(item) is float and -COORDINATE_LIMIT <= item <= COORDINATE_LIMIT:
            return item + 0.0  # -0.0 + 0.0 is 0.0
        if type(item) not in (int, float):  # by type, because True is an int
            kind = "a nested list" if isinstance(item, list) else f"of type {type(item).__name__}"
            raise self.fail(field, came, f"{expected}, as numbers ({item!r:.40} is {kind})")
        try:
            number = float(item)
        except OverflowError:
            number = math.inf
        if not abs(number) <= COORDINATE_LIMIT:  # not >, which NaN would pass
            raise self.fail(field, came, f"{expected}, all of them finite (and within ±{COORDINATE_LIMIT:.0e})")
        return number

    def space(self, value: Any) -> CoordSpace | None:
        try:
            return None if value is None else as_space(value)
        except SpaceError:
            raise self.fail("space", value, f"one of {', '.join(CoordSpace)}") from None

    def size(self, fields: Mapping[str, Any], field: str) -> tuple[float, float] | None:
        if field not in fields:
            return None
        value = fields[field]
        known = read_size(value) if not isinstance(value, list) or len(value) == 1 else None
        size = self.numbers(field, list(known or ()) or value, 2, "[width, height]")
        if min(size) < 1:
            raise self.fail(field, fields[field], "[width, height], both above 0: at least 1 pixel")
        return (size[0], size[1])

    def typed(self, fields: Mapping[str, Any], name: str, prefix: str = "", of: type[Target | Action] = Target) -> Any:
        """Read a field by its type in ``Target`` or ``Action``; None where it is not there."""
        value = fields.get(name)
        if _EXPECTED.get(name) is _COUNTED and isinstance(value, float) and value.is_integer():
            value = int(value)  # as pandas has it beside missing ones
        try:
            return None if value is None else convert(value, _TYPES[of][name])
        except (ValidationError, UnicodeEncodeError):
            raise self.fail(f"{prefix}{name}", fields[name], _EXPECTED.get(name, "a string")) from None

    def action(self, value: Any, where: str = "action", placed: bool = False) -> Action:
        if isinstance(value, list):
            return self.in_order(value, where, placed)
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping):
            raise self.fail(where, value, 'a name such as "click", or {"name": ..., "text": ...}')
        self.known(value, _ACTION_KEYS, "an action", f"{where}.")
        if not value.get("name"):
            raise self.fail(f"{where}.name", value.get("name", MISSING), _EXPECTED["name"])
        value = {**value, "keys": [value["keys"]]} if isinstance(value.get("keys"), str) else value
        plain = {name: self.typed(value, name, f"{where}.", Action) for name in _ACTION_KEYS if name not in _OWN_RULES}
        duration = None
        if "duration" in value:
            duration = self.number(f"{where}.duration", value["duration"], value["duration"], "a length of time")
            if duration < 0:
                raise self.fail(f"{where}.duration", value["duration"], "a length of time from 0")
        return Action(to=self.action_to(value, where), duration=duration, **plain)

    def in_order(self, value: list[Any], where: str, placed: bool) -> Action:
        """Read actions that are one step: a click before a text types it at the place, Enter behind it a line break."""
        actions = [self.action(each, f"{where}[{index}]") for index, each in enumerate(value)]
        names = [normalised(each.name, {"keys": each.keys, "text": each.text})[0] for each in actions]
        at = names.index("type") if "type" in names else -1
        if at < 0 or names[:at] not in ([], ["click"]) or names[at + 1 :] not in ([], ["enter"]):
            raise self.fail(where, value, "a text to type, with a click before it, Enter behind it, or both")
        if at and not placed:
            raise self.fail(where, value, "the place of the click beside its list")
        text = f"{actions[at].text or ''}\n" if len(names) > at + 1 else actions[at].text
        return replace(actions[at], text=text)

    def action_to(self, fields: Mapping[str, Any], where: str) -> tuple[float, ...] | None:
        if "to" not in fields:
            return None
        ends = "2 numbers x y, or 4 numbers x1 y1 x2 y2"
        count = len(fields["to"]) if isinstance(fields["to"], list) else 2
        if count == 4:
            return self._bbox(f"{where}.to", fields["to"])
        return self.numbers(f"{where}.to", fields["to"], 2, ends)
