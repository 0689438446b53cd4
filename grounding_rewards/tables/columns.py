"""Find the columns of a table: named by options, else by their own names, a benchmark's layout or a guess."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec import Struct

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import TableError, near
from grounding_rewards.tables.image_files import looks_like_images
from grounding_rewards.tables.layouts import (
    LAYOUTS,
    Layout,
    is_refusal,
    lacking,
    layout_of,
    place_named,
    places_of,
    plain_name,
    without_format,
)
from grounding_rewards.tables.prompts import prompt_text, response_text
from grounding_rewards.tables.rows import Table, first_rows, number, require_column, value_at
from grounding_rewards.targets.box_format import FOUR, BoxFormat
from grounding_rewards.targets.read import TARGET_KEYS

NONE = "none"
"""Value of an option for no column."""

GUESSED: dict[str, tuple[str, ...]] = {
    "response": (
        "response", "responses", "prediction", "pred", "predict", "output", "completion", "generation",
        "generated_text", "model_response", "model_output", "raw_response", "raw_output", "model_prediction",
        "model_answer", "response_text", "output_text", "predictions", "outputs", "completions", "generations",
        "filtered_resps", "resps", "choices",
    ),
    "target": (
        "target", "reward_model.ground_truth", "ground_truth", "answer", "solution", "bbox", "box", "gt_bbox",
        "bounding_box", "normalized_bbox", "polygon", "x1,y1,x2,y2",
    ),
    "instruction": ("prompt", "messages", "problem", "instruction", "question", "query", "prompt_to_evaluate"),
    "image": (
        "images", "image", "image_path", "img_path", "img_filename", "file_name", "screenshot", "screenshot_path",
        "img",
    ),
    "image-size": (
        "image_size", "img_size", "extra_info.image_size", "resolution", "width,height", "image_width,image_height",
        "img_width,img_height", "screen_size", "screen_resolution", "screen_width,screen_height",
    ),
    "model-image-size": ("model_image_size",),
    "id": ("sample_id", "id", "extra_info.id"),
    "token-length": ("token_length",),
    "refusal": ("refusal", "is_refusal", "box_type"),
    "source": ("data_source", "source"),
}  # fmt: skip
"""Names of columns that are taken without an option, by role, in order of preference; the first is the role's own."""

_SEVERAL = {"image-size": 2, "target": 4}
"""Columns that hold one value of a role together: width and height, the corners of a box."""

_ONE_ONLY = ("response", "target", "instruction", "image")
_ALONE = ("prompt_to_evaluate", "resps", "choices")
"""Names that count without another one alone, for copies of UI-Vision and of lmms-eval's logs have one, too."""
LISTS = ("filtered_resps", "resps", "choices", "predictions", "outputs", "completions", "generations")
"""Columns of responses whose cells are lists, also as the texts of CSV."""
_NESTED = ("response", "target", "instruction", "image", "image-size", "refusal")
"""Roles whose columns may be fields of a column, where none of the table's own has a usual name."""
_ANSWER = re.compile(r"(?!gt_|ground_truth_|target_|expected_|reference_|gold_)\w+_(?:infer|response|prediction|pred)")
_GROUND_TRUTH = "reward_model.ground_truth"
_PACKED = {"target": (_GROUND_TRUTH, "reward_spec.ground_truth", "answer", "label"), "instruction": ("input",)}
"""Columns of trainers' rows in which `convert` packs targets and conversations: what it made them of may still stand
beside them, targets without their space."""

_WHAT = {"target": "the target", "instruction": "the instruction, a text or a conversation"}


class ChosenColumns(NamedTuple):
    """Columns by role, those of them that were guessed from their names, and notes."""

    columns: dict[str, str]
    guesses: dict[str, str]
    notes: list[str]


def find_columns(
    rows: Sequence[Mapping[str, Any]],
    named: Mapping[str, str | None],
    *,
    needed: Collection[str] = (),
    dropped: Collection[str] = (),
) -> ChosenColumns:
    """Find the columns."""
    there = _available(rows)
    offered = [name for name in there if _top(name) not in dropped]
    columns, guesses, notes = dict[str, str](), dict[str, str](), list[str]()
    for role, column in named.items():
        if column is None:
            guessed, remarks = _guess(role, offered, rows)
            notes += remarks
            if guessed:
                columns[role] = guesses[role] = guessed
        elif column in there or column not in ("", NONE):  # a column may be called none
            _check(column, role, there)
            columns[role] = column
    if lacking := [role for role in needed if role not in columns]:
        which = ", and which ".join(_WHAT[role] for role in lacking)
        flags = " and ".join(f"--{role}-column" for role in lacking)
        raise TableError(f"which column holds {which}? Give {flags}; there are: {', '.join(there)}")
    if "image" not in columns and "image" in named and named["image"] is None:
        notes += _images(offered, rows)
    return ChosenColumns(columns, guesses, notes)


def guess_note(role: str, column: str, more: str = "") -> str:
    """Return the note of a column that was guessed."""
    written = place_named(column)[1] if role == "target" else None
    said = f", {FOUR[written].removeprefix('4 numbers ')}" if written else ""
    return f"{role}: column {column}, by its name{said}{more}; --{role}-column names another"


def columns_read(names: Iterable[str | None]) -> tuple[str, ...]:
    """Return the columns to read for these names: all that a name may stand for."""
    every = (each for name in names if name for each in (name, *map(_top, name.split(","))))
    return tuple(dict.fromkeys(every))


def _available(rows: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    """Return the names of columns, and of the fields in them, in order."""
    names: dict[str, None] = {}
    for row in rows:
        for name, value in row.items():
            names[str(name)] = None
            if isinstance(value, Mapping):
                names.update(dict.fromkeys(f"{name}.{key}" for key in value))
    return names


def offered(role: str, there: Iterable[str]) -> list[list[str]]:
    """Return the columns that may have a role: names of data sets, then ones like them, then fields of columns."""
    names = dict.fromkeys(there)
    usual = [name for name in GUESSED[role] if names.keys() >= {*name.split(",")}]
    top = {plain_name(name): name for name in names if "." not in name}
    if role == "target":
        boxes = [name for like, name in top.items() if place_named(name)[0] and like not in usual]
        boxes.sort(key=lambda name: list(BoxFormat).index(place_named(name)[1] or BoxFormat.XYXY))
        usual += [name for name in boxes if place_named(name)[0] in ("bbox", "polygon")]
    parts = [name.split(",") for name in GUESSED[role]]
    like = [",".join(top[part] for part in each) for each in parts if top.keys() >= {*each}]
    if role == "target":
        like += [name for name in boxes if name not in usual]
    if role == "response":
        like += [name for plain, name in top.items() if _ANSWER.fullmatch(plain)]
    tiers = [usual, [name for name in dict.fromkeys(like) if name not in usual]]
    if role in _NESTED:
        tiers.append([each for parent, own in _fields(names).items() for each in _within(role, parent, own)])
    return [tier for tier in tiers if tier]


def _fields(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the fields of columns by column."""
    fields: dict[str, list[str]] = {}
    for parent, dot, name in (each.partition(".") for each in names):
        if dot:
            fields.setdefault(parent, []).append(name)
    return fields


def _within(role: str, parent: str, fields: Sequence[str]) -> list[str]:
    """Return what may have a role in one column: fields of it, or itself where it holds targets in the wire form."""
    found = next(iter(offered(role, fields)), [])
    if role == "image-size" and {"x", "left", "x1"} & {*fields}:  # sides of a box
        return []
    if found and role in ("target", "refusal") and {*TARGET_KEYS} >= {*fields}:
        return [parent] if role == "target" else []
    return [",".join(f"{parent}.{part}" for part in name.split(",")) for name in found]


def _guess(role: str, there: Collection[str], rows: Sequence[Mapping[str, Any]]) -> tuple[str | None, list[str]]:
    """Guess a column by its name and values, and note those whose values do not fit."""
    for name in _PACKED.get(role, ()):
        values = [value for row in rows if (value := value_at(row, name)) is not None]
        if values and all(_is_packed(role, each) for each in values):
            return name, []
    notes = list[str]()
    for names in offered(role, there):
        fitting = list[str]()
        for name in names:
            parts = name.split(",")
            if name in _ALONE and fitting:
                continue
            unfit = next(
                (v for row in rows for part in parts if not _fits(role, v := value_at(row, part), len(parts))), None
            )
            if unfit is None:
                fitting.append(name)
            else:
                notes.append(f"{role}: not column {name}, which holds {unfit!r:.60}; --{role}-column names one")
        fitting = _best(role, fitting, rows)
        both = ",".join(places_of(",".join(fitting))) if role == "target" else ""
        if both and all(sum(value_at(row, name) is not None for name in fitting) < 2 for row in rows):
            return both, notes
        if role in _ONE_ONLY and len(fitting) > 1 and fitting[0] != _GROUND_TRUTH:
            more = f", {both} where each row has one of them" if both else ""
            raise TableError(f"which column holds the {role}: {' or '.join(fitting)}? Give --{role}-column{more}")
        if fitting:
            return fitting[0], notes
    return None, notes


def _is_packed(role: str, value: Any) -> bool:
    """Return True for a conversation, or for a target as the text that `convert` writes, with its name in it."""
    if role == "instruction":
        return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)
    try:
        wire = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(wire, Mapping) and {*TARGET_KEYS} >= wire.keys() >= {"id"}


def _best(role: str, names: list[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns without parsed answers beside texts, formats of one box, and what prompts were made of."""
    if role == "instruction":
        asked = {name: [prompt_text(value_at(row, name)) for row in rows] for name in names}
        return [
            name
            for place, name in enumerate(names)
            if not any(_holds(asked[other], asked[name]) for other in names[:place])
        ]
    if role == "response":
        values = {name: [value_at(row, name) for row in rows] for name in names}
        texts = [name for name in names if not any(isinstance(each, list | Mapping) for each in values[name])]
        return texts or names
    if role == "target":
        wire = [name for name in names if {_is_object(value_at(row, name)) for row in rows} - {None} == {True}]
        names = wire if len(wire) == 1 else names  # what `convert` writes, beside what it was made of
        stems = {name: without_format(name) for name in names}
        return [name for place, name in enumerate(names) if stems[name] not in [stems[each] for each in names[:place]]]
    return names


def _holds(prompts: Sequence[str | None], texts: Sequence[str | None]) -> bool:
    """Return True where each text stands in its prompt, and there are some."""
    pairs = [(prompt, text) for prompt, text in zip(prompts, texts, strict=True) if prompt or text]
    return bool(pairs) and all(prompt and text and text in prompt for prompt, text in pairs)


def _is_object(value: Any) -> bool | None:
    """Return True for an object or the text of one; None for nothing."""
    return None if value is None else isinstance(value, Mapping) or str(value).lstrip().startswith("{")


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "id": lambda value: isinstance(value, str | int) and not isinstance(value, bool),
    "refusal": lambda value: is_refusal(value) is not None,
    "response": lambda value: response_text(value) is not None,
    "source": lambda value: isinstance(value, str),
    "image-size": lambda value: read_size(value) is not None,
}


def _fits(role: str, value: Any, parts: int) -> bool:
    """True for a value that fits the role of a column."""
    if value is None or role not in _FITS:
        return True
    # Of two columns each is checked alone, as the side of a square.
    return _FITS[role]([number(value)] * 2 if role == "image-size" and parts > 1 else value)


def _images(there: Collection[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Note a column that looks like images, where no column of images is named."""
    for name in there:
        if any(looks_like_images(value_at(row, name)) for row in rows):
            return [
                f"image: no column of a usual name, so that rows go without; {name} looks like one: --image-column "
                f"{name}, or --image-column {NONE}"
            ]
    return []


def _check(named: str, role: str, there: Collection[str]) -> None:
    several = named.count(",") + 1 == _SEVERAL.get(role) or (role == "target" and bool(places_of(named)))
    parts = named.split(",") if several and named not in there else [named]
    for name in parts:
        if name not in there:
            hint = near(name, there) or "."
            raise TableError(f"no column {name!r} (--{role}-column){hint} There are: {', '.join(there) or 'none'}")


def _top(name: str) -> str:
    return name.partition(".")[0]


class Survey:
    """Survey of columns: keeps a few values of each column, however many rows there are."""

    def __init__(self) -> None:
        self._values: dict[str, dict[type, Any]] = {}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows to the survey."""
        for row in rows:
            for name, value in row.items():
                kinds = self._values.setdefault(name, {})
                if isinstance(value, dict):
                    fields = kinds.setdefault(dict, {})
                    fields.update({key: each for key, each in value.items() if fields.get(key) is None})
                else:
                    kinds.setdefault(type(value), value)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns, in order of appearance."""
        return tuple(self._values)

    def objects(self, name: str) -> bool:
        """True for a column of objects and nulls alone."""
        kinds = {*self._values.get(name, ())} - {type(None)}
        return kinds == {dict}

    def rows(self) -> list[dict[str, Any]]:
        """Return made-up rows with all names, and of each column a value of each type."""
        columns = {name: [*kinds.values()] for name, kinds in self._values.items()}
        longest = max(map(len, columns.values()), default=0)
        return [
            {name: values[place] for name, values in columns.items() if place < len(values)} for place in range(longest)
        ]


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns: each attribute stands for what the column holds; "" for one that is still open.

    ``a.b`` is the field b of the column a, ``a,b`` are two columns with a width and a height (four with a box), or
    with places of two kinds, of which each row has one; "none" is no column.
    """

    response: str = ""
    target: str = ""
    image_size: str = ""
    model_image_size: str = ""
    id: str = ""
    token_length: str = ""
    image: str = ""
    refusal: str = ""

    def another(self, field: str) -> str:
        """Return the end of an error about what a column holds: the flag that names another, if it was named so."""
        return "" if getattr(self, field) == getattr(OWN, field) else f"; --{role(field)}-column names another"

    def over(self, others: Mapping[str, str]) -> Columns:
        """Return these names, and others in place of those that are open."""
        return Columns(**{field: name or others.get(field, "") for field, name in vars(self).items()})


def role(field: str) -> str:
    """Return the role of an attribute of ``Columns``, as options name it."""
    return field.replace("_", "-")


OWN = Columns(**{**{field: GUESSED[role(field)][0] for field in vars(Columns())}, "refusal": NONE})
"""Names that are taken without a word: those of a rollout table, mostly."""


class ResolvedColumns(Struct, frozen=True):
    """Columns of one table."""

    columns: Columns  # a name for each; its own where the table has none
    layout: Layout | None = None  # the benchmark's layout that says where targets are
    # attributes of ``columns`` that were guessed: what targets say themselves goes before them
    guessed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()  # a line for each guess, and for the layout
    no_image: str = ""  # why no column of images is known


def resolve(
    table: Table,
    columns: Columns,
    *,
    label_free: bool = False,
    answered: bool = True,
    box_format: BoxFormat | None = None,
    layouts: Sequence[Layout] | None = None,
) -> ResolvedColumns:
    """Resolve the columns of a table that have no name yet; responses are still to come unless it is ``answered``."""
    there = frozenset(table.columns)
    named = _named(table, columns, label_free=label_free)
    rows = _first_rows(table, named, there, layouts or LAYOUTS)
    try:
        layout = layout_of(rows, there, box_format, named.target, layouts)
        if layout is None and layouts and not named.target:
            raise TableError(lacking(layouts, there))
        if layout is not None:
            own = {field: name for field, name in layout.columns.items() if has(table, name)}
            named = named.over({"target": layout.target, **own})
        asked = {role(field): name or None for field, name in vars(named).items() if name or field != "image"}
        # A column named for one thing is no guess for another.
        taken = there.intersection([*vars(named).values(), *(layout.reads if layout else ())])
        chosen, guesses, remarks = find_columns(rows, asked, dropped=taken)
    except TableError as error:
        raise TableError(f"{table.path}: {error}") from None
    needed = [name for name, read in (("response", answered), ("target", not label_free)) if read]
    _check_needed(table, needed, chosen, remarks)
    image, no_image = ("", "") if named.image else _image(rows)
    notes = [guess_note(name, column) for name, column in guesses.items()]
    notes += [text for text in remarks if text.partition(":")[0] not in guesses]
    fields = {name.replace("-", "_"): column for name, column in chosen.items()}
    refused = {field: name for field, name in vars(columns).items() if name == NONE}
    known = Columns(**fields).over({"image": image, **refused}).over(vars(OWN))
    return ResolvedColumns(known, layout, frozenset(name.replace("-", "_") for name in guesses), tuple(notes), no_image)


def _named(table: Table, columns: Columns, *, label_free: bool) -> Columns:
    """Return the columns with those of their own names, which are taken before any guess."""
    for field, name in vars(columns).items():
        if name not in ("", NONE) and not {".", ","} & {*name}:
            require_column(table, name, f"--{role(field)}-column")
    joined_by = {"id": getattr(table, "id", "")}  # of a joined table
    named = columns.over(joined_by).over({field: name for field, name in vars(OWN).items() if name in table.columns})
    return named.over({"target": NONE, "refusal": NONE}) if label_free else named


def has(table: Table, name: str) -> bool:
    """Return True where a table has a column, or those in which ``a.b`` or ``a,b`` stand."""
    return name in table.columns or (
        bool({".", ","} & {*name}) and all(part.partition(".")[0] in table.columns for part in name.split(","))
    )


def _first_rows(
    table: Table, named: Columns, there: frozenset[str], layouts: Sequence[Layout]
) -> Sequence[Mapping[str, Any]]:
    """Return a row of nulls in every column, and the first rows where a guess, a field or a layout depends on them."""
    empty: dict[str, Any] = dict.fromkeys(table.columns)
    fields = [name for name in vars(named).values() if name not in there]
    roles = [role(field) for field, name in vars(named).items() if not name and field != "image"]
    likely = [name for each in roles for tier in offered(each, there) for name in tier]
    known = (each.fields for each in layouts if each.fields <= there and named.target in ("", each.target))
    read = {*columns_read([*fields, *likely, *_with_fields(table, roles)])}.union(*known)
    return [empty, *(first_rows(table, read) if there & read else ())]


def _with_fields(table: Table, roles: Sequence[str]) -> Sequence[str]:
    """Return the columns that may have fields of these roles."""
    schema = table.schema
    if not {"response", "target"} & {*roles}:
        return ()
    if schema is None:
        return table.columns
    from grounding_rewards.tables.arrow_rows import holds_bytes  # pyarrow, which JSON does without

    return [each.name for each in schema if hasattr(each.type, "fields") and not holds_bytes(each.type)]


def _check_needed(table: Table, needed: Sequence[str], chosen: Mapping[str, str], remarks: Sequence[str]) -> None:
    """Check that the columns are there without which nothing can be scored."""
    for name in needed:
        if chosen.get(name) is None:
            try:
                require_column(table, name, f"--{name}-column")
            except TableError as error:
                why = [text for text in remarks if text.startswith(name)]
                if {*needed} & chosen.keys():  # one of the two is there
                    why.append("where it is in another file, join the two: ANNOTATIONS --predictions ANSWERS")
                raise TableError("; ".join([str(error), *why])) from None


def _image(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the column of images, "" where none is known, and why: most scores do without."""
    try:
        chosen, _, remarks = find_columns(rows, {"image": None})
    except TableError as error:
        return "", str(error)
    if chosen:
        return chosen["image"], ""
    return "", "; ".join(remarks) or "no column of a usual name holds images (--image-column)"
