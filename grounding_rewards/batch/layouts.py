"""Layouts in which benchmarks write their annotations, recognised by their fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import MISSING, TableError, TargetError
from grounding_rewards.literals import literal
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.rows import value_at
from grounding_rewards.targets.box_format import FOUR, BoxFormat

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
    # further columns, by attribute of ``batch.columns.Columns``
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
