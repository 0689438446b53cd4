"""Targets of rows: in columns named after their places, or in a benchmark's layout, recognised by its fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import MISSING, TableError, TargetError
from grounding_rewards.literals import literal
from grounding_rewards.tables.rows import column_of, fields_of, numbers_of, value_at
from grounding_rewards.tables.sample_ids import from_json
from grounding_rewards.targets.box_format import FOUR, BoxFormat
from grounding_rewards.targets.read import PLACES
from grounding_rewards.targets.shapes import spread
from grounding_rewards.targets.typed import Boxes

if TYPE_CHECKING:
    from grounding_rewards.scoring import Recipe

Row = Mapping[str, Any]

_CLEAR = 0.2
"""Share of boxes that cannot be corners, above which all are x y w h; nine in ten are in ScreenSpot's own files."""


class Layout(Struct, frozen=True):
    """Layout of a benchmark's rows."""

    name: str  # what notes call it
    fields: frozenset[str]  # columns by which it is recognised
    target: str  # the column of places
    box_format: BoxFormat  # how it writes boxes
    space: CoordSpace  # the space of its places
    # further columns, by attribute of ``Columns``
    columns: Mapping[str, str] = {}
    # makes a target's place of a row
    place: Callable[[Row], dict[str, Any]] = lambda row: {"bbox": _numbers(row, "bbox")}
    # False where the first rows show that it is another layout with the same fields
    fits: Callable[[Sequence[Row]], bool] = lambda rows: True
    # a question about the first rows, where they can be read in two ways; "" for none
    doubt: Callable[[Sequence[Row]], str] = lambda rows: ""
    # True where ``place`` is made for boxes in ``box_format`` alone: in another it is no such layout
    own_boxes: bool = False
    more: str = ""  # further words of the note

    @property
    def reads(self) -> frozenset[str]:
        """Return the columns of which a target is made."""
        return self.fields & {self.target, "box_type"}

    def wire(self, row: Row, space: CoordSpace | None) -> dict[str, Any] | TargetError:
        """Return the wire form of a row's target, or its error; ``space`` is None for one that says none."""
        try:
            place = self.place(row)
        except TargetError as error:
            return error
        return place if space is None or {"refusal", "space"} & {*place} else {**place, "space": str(space)}

    def note(self, box_format: BoxFormat | None, space: CoordSpace | None) -> str:
        """Return the note that says what the layout means; ``box_format`` and ``space`` as far as options name them."""
        boxes = FOUR[box_format or self.box_format].removeprefix("4 numbers ")
        where = _SPACES.get(space or self.space, f"the space {space or self.space}")
        flag = "" if box_format or self.own_boxes else "; --box-format names another"
        return f"rows as in {self.name}: {self.target} is {boxes} in {where}{self.more}{flag}"


def space_named(recipe: Recipe | None) -> CoordSpace | None:
    """Return the space of targets that an option of a recipe names, which goes before a layout's."""
    return recipe.target_space if recipe is not None and "target_space" in dict(recipe.options) else None


_SPACES = {CoordSpace.PIXEL: "pixels", CoordSpace.UNIT: "shares of the image, 0 to 1"}


def layout_of(
    rows: Sequence[Row],
    columns: Collection[str],
    box_format: BoxFormat | None = None,
    target: str = "",
    layouts: Sequence[Layout] | None = None,
) -> Layout | None:
    """Return the layout that rows with these columns have; None for one that is not known.

    ``box_format`` is the declared format of boxes, and ``target`` the column of targets, "" where none is named: one
    of another column has no layout, and the layout's own name does not say how its boxes are written. ``layouts`` are
    those to try, ``LAYOUTS`` without any.
    """
    known = (each for each in layouts or LAYOUTS if target in ("", each.target) and each.fields <= {*columns})
    layout = next(
        (each for each in known if each.fits(rows) and (not each.own_boxes or box_format in (None, each.box_format))),
        None,
    )
    if layout is not None and box_format is None and (question := layout.doubt(rows)):
        raise TableError(question)
    return layout


def lacking(layouts: Sequence[Layout], columns: Collection[str]) -> str:
    """Return the error of rows that have none of some layouts: what they lack of the one that is nearest."""
    nearest = min(layouts, key=lambda each: len(each.fields - {*columns}))
    lost = sorted(nearest.fields - {*columns})
    names = f"no column{'s' if len(lost) > 1 else ''} {', '.join(lost)}"
    why = names if lost else f"its boxes are {FOUR[nearest.box_format]} in {_SPACES[nearest.space]}"
    return f"rows are not as in {nearest.name}: {why}; --target-column names another target"


def _numbers(row: Row, name: str) -> Any:
    """Return a field of numbers, also those that the text of a CSV file holds."""
    value = row.get(name)
    if isinstance(value, str):
        value = literal(value)
    if not isinstance(value, list):
        raise TargetError(0, name, MISSING if value is None else value, "a list of numbers")
    return value


def _boxes(rows: Sequence[Row]) -> list[list[float]]:
    """Return the boxes of rows that can be read: four numbers."""
    boxes = []
    for row in rows:
        try:
            box = _numbers(row, "bbox")
        except TargetError:
            continue
        if len(box) == 4 and all(type(each) in (int, float) for each in box):
            boxes.append(box)
    return boxes


def _corners_or_sizes(rows: Sequence[Row]) -> str:
    boxes = _boxes(rows)
    sizes = sum(box[2] <= box[0] or box[3] <= box[1] for box in boxes)
    if not boxes or sizes > _CLEAR * len(boxes):
        return ""
    few = f"all but {sizes}" if sizes else "all"
    return (
        f"rows have the fields of ScreenSpot, whose boxes are x y w h, and {few} of the first {len(boxes)} could be "
        "x1 y1 x2 y2, as in converted copies: which are they? Give --box-format xywh or xyxy"
    )


def _within_unit(rows: Sequence[Row]) -> bool:
    boxes = _boxes(rows)
    return bool(boxes) and all(0 <= each <= 1 for box in boxes for each in box)


def _by_box_type(row: Row, name: str) -> dict[str, Any]:
    kind = row.get("box_type")
    if kind == "refusal":
        return {"refusal": True}
    if kind not in ("bbox", "polygon"):
        raise TargetError(0, "box_type", MISSING if kind is None else kind, "bbox, polygon or refusal")
    return {kind: _numbers(row, name)}


def _claw_place(row: Row) -> dict[str, Any]:
    place = _by_box_type({**row, "box_type": row.get("box_type") or "bbox"}, "answer")
    return _corners_in_any_order(place) if "bbox" in place else place


def _lists_of_numbers(rows: Sequence[Row]) -> bool:
    """Return True where the answers that are there are lists: other data sets have texts and objects by this name."""
    answers = [answer for row in rows if (answer := row.get("answer")) is not None]
    return bool(answers) and all(isinstance(answer, list) for answer in answers)


def _shares_or_pixels(row: Row) -> dict[str, Any]:
    """Return a box that is in shares of the image where all its numbers lie in 0..1, else in pixels."""
    box = _numbers(row, "bbox")
    shares = all(type(each) not in (int, float) or 0 <= each <= 1 for each in box)
    return {"bbox": box} if shares else {"bbox": box, "space": str(CoordSpace.PIXEL)}


def _mmbench_place(row: Row) -> dict[str, Any]:
    box = _numbers(row, "bbox")
    edges = [0 if each == -1 else each for each in box]
    if any(type(each) in (int, float) and each < 0 for each in edges):
        raise TargetError(0, "bbox", row["bbox"], "numbers from 0, or -1 for an edge that lies at 0")
    return {**_shares_or_pixels({"bbox": box}), "bbox": edges}  # a box with a -1 is in pixels, as not all lie in 0..1


def _corners_in_any_order(row: Row) -> dict[str, Any]:
    box = _numbers(row, "bbox")
    if len(box) != 4 or any(type(each) not in (int, float) for each in box):
        return {"bbox": box}  # the error of the target shows it
    return {"bbox": [*map(min, box[:2], box[2:]), *map(max, box[:2], box[2:])]}


_SCREENSPOT = frozenset(("bbox", "data_type", "data_source"))

SCREENSPOT = Layout(
    "ScreenSpot", _SCREENSPOT | {"img_filename"}, "bbox", BoxFormat.XYWH, CoordSpace.PIXEL,
    {"image": "img_filename"}, doubt=_corners_or_sizes,
)  # fmt: skip
SCREENSPOT_HUB = Layout(
    "ScreenSpot on the Hugging Face hub", _SCREENSPOT | {"file_name"}, "bbox", BoxFormat.XYXY, CoordSpace.UNIT,
    {"image": "image"}, fits=_within_unit,
)  # fmt: skip
SCREENSPOT_PRO = Layout(
    "ScreenSpot-Pro", frozenset(("img_filename", "bbox", "img_size", "ui_type")), "bbox", BoxFormat.XYXY,
    CoordSpace.PIXEL, {"image": "img_filename", "image_size": "img_size", "id": "id"},
)  # fmt: skip
OSWORLD_G = Layout(
    "OSWorld-G", frozenset(("box_type", "box_coordinates")), "box_coordinates", BoxFormat.XYWH, CoordSpace.PIXEL,
    {"image": "image_path", "id": "id"}, place=lambda row: _by_box_type(row, "box_coordinates"),
    more=", or a polygon's corners, or a refusal, as box_type says",
)  # fmt: skip
UI_VISION = Layout(
    "UI-Vision", frozenset(("image_path", "image_size", "prompt_to_evaluate", "bbox")), "bbox", BoxFormat.XYXY,
    CoordSpace.PIXEL, {"image": "image_path"}, place=_corners_in_any_order, own_boxes=True,
    more=", its corners in any order",
)  # fmt: skip
MMBENCH_GUI = Layout(
    "MMBench-GUI L2", frozenset(("image_path", "image_size", "bbox", "grounding_type", "app_name")), "bbox",
    BoxFormat.XYXY, CoordSpace.UNIT, {"image": "image_path"}, place=_mmbench_place, own_boxes=True,
    more=" (in pixels where not all 4 lie there; -1 is 0)",
)  # fmt: skip

CLAWGUI = Layout(
    "ClawGUI-Eval", frozenset(("answer", "image_size", "task_type", "box_type")), "answer", BoxFormat.XYXY,
    CoordSpace.PIXEL, {"image_size": "image_size"}, place=_claw_place, fits=_lists_of_numbers, own_boxes=True,
    more=", its corners in any order, or a polygon's corners, or a refusal, as box_type says",
)  # fmt: skip

LAYOUTS = (SCREENSPOT_PRO, SCREENSPOT, SCREENSPOT_HUB, OSWORLD_G, UI_VISION, MMBENCH_GUI, CLAWGUI)
"""Layouts, in the order in which they are tried: copies of ScreenSpot-v2 in the form of Pro keep some of its fields."""

SCREENSPOT_V2_HUB = Layout(
    "ScreenSpot-v2 on the Hugging Face hub", SCREENSPOT_HUB.fields, "bbox", BoxFormat.XYXY, CoordSpace.UNIT,
    {"image": "image"}, place=_shares_or_pixels, own_boxes=True, more=" (in pixels where not all 4 lie there)",
)  # fmt: skip
SHOWDOWN = Layout(
    "Showdown-Clicks", frozenset(("id", "image", "instruction", "x1", "y1", "x2", "y2", "width", "height")),
    "x1,y1,x2,y2", BoxFormat.XYXY, CoordSpace.PIXEL, {"image": "image", "image_size": "width,height", "id": "id"},
    place=lambda row: {"bbox": value_at(row, "x1,y1,x2,y2")},
)  # fmt: skip
"""Layouts of benchmarks that are named: by their fields alone, rows could be others'."""


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+")
_FORMATS = {
    **{str(each): each for each in BoxFormat}, "ltrb": BoxFormat.XYXY, "x1y1x2y2": BoxFormat.XYXY,
    "ltwh": BoxFormat.XYWH, "coco": BoxFormat.XYWH,
}  # fmt: skip
_BOX = re.compile(
    r"(?:(?:gt|ground_truth|target|true|label|gold|reference|normalized)_)?(?P<kind>bbox|bboxes|box|boxes|bounding_box|"
    r"polygon|point|circle)(?:_(?:gt|ground_truth|target|coords|coordinates|2d|normalized|norm|px|pixels?))?"
    f"(?:_(?P<format>{'|'.join(_FORMATS)}))?"
)
_FORMAT = re.compile(f"_(?:{'|'.join(_FORMATS)})$")
_REFUSED, _PLACED = {"true", "1", "1.0", "yes", "refusal"}, {"false", "0", "0.0", "no", *PLACES}


@cache
def place_named(column: str) -> tuple[str | None, BoxFormat | None]:
    """Return the kind of place that a column is named after, and the format of boxes that its name says."""
    if several := places_of(column):
        return None, next((written for each in several if (written := place_named(each)[1])), None)
    match = _BOX.fullmatch(plain_name(column.rpartition(".")[2]))
    if match is None:
        return None, None
    kind = match["kind"] if match["kind"] in PLACES else "bbox"
    return kind, _FORMATS.get(match["format"]) if kind == "bbox" else None


def places_of(column: str) -> tuple[str, ...]:
    """Return the columns that a name joins, each of another kind of place, of which a row has one; else none."""
    names = tuple(column.split(","))
    kinds = [place_named(name)[0] for name in names] if len(names) > 1 else []
    return names if kinds and None not in kinds and len({*kinds}) == len(kinds) else ()


def plain_name(name: str) -> str:
    """Return a column's name in lower case, with underscores between its words."""
    return _HUMP.sub("_", name).casefold()


def without_format(name: str) -> str:
    """Return a column's plain name without the format of boxes at its end."""
    return _FORMAT.sub("", plain_name(name))


def is_refusal(value: Any) -> bool | None:
    """Return what a cell says of a refusal; None where it says nothing of it."""
    word = str(value).strip().casefold()
    return True if word in _REFUSED else False if word in _PLACED else None


_NAMES = [*map(str, CoordSpace)]  # of spaces
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
            space = CoordSpace(spaces[0]) if spaces[0] in _NAMES and spaces.count(spaces[0]) == len(spaces) else None
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
