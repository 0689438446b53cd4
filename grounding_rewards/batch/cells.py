"""Targets of rows, whichever columns they stand in: one column, those of a benchmark, and one that says refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from grounding_rewards.batch.layouts import Layout, Row
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import TargetError
from grounding_rewards.tables.columns import is_refusal, place_named, places_of
from grounding_rewards.tables.rows import column_of, fields_of, numbers_of
from grounding_rewards.tables.sample_ids import from_json
from grounding_rewards.targets.read import PLACES
from grounding_rewards.targets.shapes import spread
from grounding_rewards.targets.typed import Boxes

_SPACES = [*map(str, CoordSpace)]
_NOWHERE = ([0, 0, 0, 0], [-1, -1, -1, -1])  # boxes that data sets write where there is none
_NO_PLACE = (
    'a box with an area; of a row that is to be refused write {"refusal": true}, or name the column that says so by '
    "--refusal-column"
)


class TargetCells(Struct, frozen=True):
    """Columns of which targets are made."""

    column: str = ""  # the column of targets; "" for none
    refusal: str = ""  # the column that says which rows are to be refused; "" for none
    layout: Layout | None = None  # the benchmark's layout, whose columns go before ``column``
    own_form: bool = False  # True where bare values are in a recipe's own form first

    @property
    def reads(self) -> frozenset[str]:
        """The columns that are read beside that of targets."""
        return frozenset({self.refusal} - {""}) | (self.layout.reads if self.layout else frozenset())

    @property
    def place(self) -> str | None:
        """The kind of place of bare lists, where the column of targets is named after one."""
        kind, written = place_named(self.column)
        return None if self.layout or (self.own_form and not written) else kind

    @property
    def rewritten(self) -> bool:
        """True where a target alone, without its column's name and the other columns, would be another one."""
        several = bool(places_of(self.column))
        return self.layout is not None or bool(self.refusal) or several or self.place not in (None, "bbox")

    def values(self, rows: Sequence[Row], space: CoordSpace | None) -> Sequence[Any]:
        """Return each row's target or error; ``space`` is that of a layout's, None to name none."""
        if self.layout is not None:
            values: list[Any] = [self.layout.wire(row, space) for row in rows]
        elif several := places_of(self.column):
            cells = [replace(self, column=name, refusal="").values(rows, space) for name in several]
            values = [_only(row, self.column) for row in zip(*cells, strict=True)]
        elif not self.refusal and (boxes := self._boxes(rows)) is not None:
            return boxes
        else:
            values = column_of(rows, self.column)
        if self.refusal:
            flags = map(is_refusal, column_of(rows, self.refusal))
            values = [_refused(value, flag) for value, flag in zip(values, flags, strict=True)]
        return values if self.layout is not None else self._placed(values)

    def _boxes(self, rows: Sequence[Row]) -> Boxes | None:
        """Return the boxes of a column that holds nothing else, or else their images' sizes, and one space of all."""

        def made(places: Sequence[int]) -> list[Any]:
            some: Any = rows
            taken = some.take(places) if hasattr(rows, "take") else [rows[place] for place in places]
            return self._placed(column_of(taken, self.column))

        objects, count = fields_of(rows, self.column)
        if objects:
            spaces = column_of(objects, "space") if count > len(objects) else [None]
            space = CoordSpace(spaces[0]) if spaces[0] in _SPACES and spaces.count(spaces[0]) == len(spaces) else None
            left = count - len(objects) * (1 if space is None else 2)
            size = numbers_of(objects, "image_size", 2) if left == len(objects) else None
            box = numbers_of(objects, "bbox", 4) if left == (0 if size is None else len(size)) else None
            beside = None if size is None else {"image_size": size}
            return None if box is None else Boxes(box, made, beside, space, named=True)
        box = None
        if self.place is None or (self.place == "bbox" and not self.own_form):
            box = numbers_of(rows, self.column, 4, texts=not self.own_form)
        if box is None:
            return None
        left, top, right, bottom = box.T
        if ((left == top) & (top == right) & (right == bottom)).any():  # equal numbers may be no place
            return None
        return Boxes(box, made)

    def _placed(self, values: list[Any]) -> list[Any]:
        """Return bare values as the places that their column is named after."""
        named, place = place_named(self.column)[0] is not None, self.place
        if self.own_form and not named:
            return values
        return [self._bare(value, place, named) if type(value) in (list, str) else value for value in values]

    def _bare(self, value: Any, place: str | None, named: bool) -> Any:
        """Return a bare value as the place that its column is named after, and a list of places as these."""
        if type(value) is str:
            return {place: value} if place and not value.lstrip().startswith("{") else value
        if value in _NOWHERE and not self.own_form:
            return TargetError(0, place or "target", value, _NO_PLACE)
        if self.own_form and value and named and all(type(each) is list for each in value):
            value = value[0] if len(value) == 1 else spread({"bbox": value})
        return value if place is None or type(value) is not list else {place: value}


def _only(values: Sequence[Any], columns: str) -> Any:
    """Return the one place of a row that several columns may hold; None without any."""
    there = [value for value in values if value is not None]
    if len(there) > 1:
        expected = f"one of {columns} in a row; --target-column names the one to read"
        return TargetError(0, "target", there, expected)
    return there[0] if there else None


def _refused(value: Any, flag: bool | None) -> Any:
    """Return a refusal where the flag says so, or says nothing beside no place; else the value."""
    if not flag and (flag is not None or not (value is None or value in _NOWHERE)):
        return value
    own = from_json(value) if isinstance(value, str) else value
    beside = own if isinstance(own, Mapping) else {}
    return {**{key: each for key, each in beside.items() if key not in (*PLACES, "regions")}, "refusal": True}
