"""Published layouts of training sets: their rows become rows of an image, an instruction and a target each."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from msgspec import ValidationError, convert

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.coords.resizing import model_image_size
from grounding_rewards.coords.spaces import PIXEL, CoordSpace
from grounding_rewards.errors import ConvertError, PictureError, SpaceError, TableError, TargetError, near, short_repr
from grounding_rewards.literals import numbers_of, unique_keys
from grounding_rewards.tables.columns import GUESSED, NONE
from grounding_rewards.tables.image_files import ImageFiles, looks_like_images, read_images
from grounding_rewards.tables.prompts import image_path, prompt_text
from grounding_rewards.tables.rows import Batch, Note, Table, first_rows, value_at
from grounding_rewards.tables.writing import with_features
from grounding_rewards.targets.box_format import BoxFormat, corners
from grounding_rewards.targets.read import read_target
from grounding_rewards.targets.shapes import corners_of, places_of
from grounding_rewards.targets.suspects import untrainable
from grounding_rewards.targets.target import Box, Region, Target
from grounding_rewards.targets.write import to_wire

Row = Mapping[str, Any]

_AT_ONCE = 256  # rows with lists that are read at once
_SPEAKERS = {"human": "asked", "user": "asked", "gpt": "answer", "assistant": "answer"}
_CLICKS = ("", "click", "double_click", "right_click", "long_press", "hover")
_IMAGE = re.compile(r"\s*<image>\s*")
_NOWHERE = {"-100", "-100.0", "-1", "-1.0"}
"""Numbers of places that stand for none."""
_FILE = "file:"
_SEEN = {"code": "as code that reads it has it", "card": "as its card says", "recalled": "recalled, and unchecked"}


@dataclass(frozen=True)
class TrainingSet:
    """A published layout; paths are names of columns, or of fields in them, with dots."""

    name: str
    has: tuple[str, ...]  # paths that it is recognised by
    instruction: tuple[str, ...] = ("instruction",)  # paths, the first of which that is there counts
    place: tuple[str, ...] = ("bbox",)  # the path of the place, or several whose numbers stand one after the other
    space: CoordSpace | None = None  # None where an option says it
    # the path of images; after ``file:`` that of the name of an image file without folder and suffix
    image: str = "image"
    explode: tuple[str, ...] = ()  # paths of lists that become a row an item; of conversations a row for each answer
    lacks: tuple[str, ...] = ()  # columns that tell another layout
    within: tuple[float, ...] = ()  # least and largest number of places
    says: Mapping[str, str] = field(default_factory=dict)  # patterns that some of the rows have, by path
    only: Mapping[str, str] = field(default_factory=dict)  # patterns of fields, by path; other rows are no grounding
    form: BoxFormat = BoxFormat.XYXY
    scale: Any = 1  # what numbers are multiplied by; a table by the value of the field ``scale_by``
    scale_by: str = ""
    max_pixels: int = 0  # bound of Qwen2.5-VL's processor, where numbers are pixels of what it made of an image
    size: str = ""  # the path of the image's size
    id: str = ""
    source: str = ""
    empty_refuses: bool = False  # True where a row without a place is to be refused
    screens: bool = False  # True where each screenshot has a file of its own
    drop: tuple[str, ...] = ()  # columns that say the same again
    published: str = ""  # the files that are so
    seen: str = "code"  # how it is known: from code, from the data set's card, or recalled and unchecked

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Return the columns that it reads."""
        paths = [*self.has, *self.instruction, *self.place, *self.explode, *self.only, *self.size.split(",")]
        paths += [self.image.removeprefix(_FILE), self.scale_by, self.id, self.source]
        return tuple(dict.fromkeys(path.partition(".")[0] for path in paths if path))

    @cached_property
    def new(self) -> tuple[str, ...]:
        """Return the columns that it makes."""
        image = self.image and self.image not in GUESSED["image"]
        said = {"instruction": self.name, "target": self.name, "image": image, "id": self.id, "source": self.source}
        return tuple(name for name, there in said.items() if there)

    @property
    def gone(self) -> frozenset[str]:
        """Return the columns of the file that its rows do not have."""
        return frozenset({*self.new, *self.drop, *(_tops(self.explode) if self.name else ())})

    @property
    def note(self) -> str:
        """Return the note that says what the layout means."""
        where = f" in {self.space}" if self.space else ""
        return f"rows as in {self.name}: {' + '.join(self.place)}{where}, {_SEEN[self.seen]}; --layout names another"

    def fits(self, rows: Sequence[Row]) -> bool:
        """Return True where some of the rows have its fields, and all numbers of places lie where they should."""
        found, said, numbers = False, {*self.says}, list[float]()
        for row in rows:
            with suppress(TableError):
                for item, _ in self.items(row):
                    found = found or all(value_at(item, path) is not None for path in self.has)
                    said -= {path for path in said if re.search(self.says[path], str(value_at(item, path)))}
                    numbers += self.numbers(item)
        low, high = self.within or (0, 0)
        return found and not said and (not self.within or bool(numbers and low <= min(numbers) <= max(numbers) <= high))

    def numbers(self, item: Row) -> list[float]:
        """Return the numbers of a row's place, as they stand there."""
        places = _places([value_at(item, path) for path in self.place]) or []
        lists = [numbers for place in places for numbers in place.values() if isinstance(numbers, list)]
        return [n for numbers in lists for n in numbers if type(n) in (int, float)]

    def items(self, row: Row) -> list[tuple[Row, str]]:
        """Return a row for each item of its lists, and the place of each for errors."""
        rows: list[tuple[Row, str]] = [(row, "")]
        for path in self.explode:
            top, _, rest = path.partition(".")
            rows = [
                ({**each, top: {**each[top], rest: item} if rest else item}, f"{where}, {path} {number}")
                for each, where in rows
                for number, item in enumerate(_listed(path, value_at(each, path)))
            ]
        return rows

    def sample(self, item: Row, shape: Shape, root: str, number: str) -> dict[str, Any] | str:
        """Return the columns that a row gets, or why it is left out; ``number`` tells apart items with one id."""
        if not self.name:  # lists are all that is known
            return {}
        if not all(re.search(pattern, str(value_at(item, path))) for path, pattern in self.only.items()):
            return "no grounding"
        asked = next((text for path in self.instruction if (text := _text(value_at(item, path)))), "")
        image = self._image(item, root)
        target = self._target(item, image, shape, root)
        if not asked or not image:
            return f"no {'image' if asked else 'instruction'}"
        if isinstance(target, str):
            return target
        name, source = value_at(item, self.id or None), value_at(item, self.source or None)
        made = {
            "instruction": asked, "target": json.dumps(target), "image": image,
            "id": None if name is None else f"{name}{number}", "source": None if source is None else str(source),
        }  # fmt: skip
        return {column: made[column] for column in self.new}

    def _image(self, item: Row, root: str) -> Any:
        image = value_at(item, self.image.removeprefix(_FILE))
        if not self.image.startswith(_FILE) or image is None:
            base64 = isinstance(image, str) and self.image.endswith("base64")
            return f"data:image/png;base64,{image}" if base64 else image
        name = str(image).rpartition("/")[2]
        if name not in (files := _image_files(root)):
            raise TableError(f"image: no file {name!r:.80} of any suffix in {root}; name its folder by --image-root")
        return files[name]

    def _target(self, item: Row, image: Any, shape: Shape, root: str) -> dict[str, Any] | str:
        """Return a target in the wire form, or why the row is left out."""
        places = _places([value_at(item, path) for path in self.place])
        if places is None or (not places and self.empty_refuses):
            return {"refusal": True}
        if not places or any(_NOWHERE.issuperset(map(str, numbers)) for place in places for numbers in place.values()):
            return "no place"
        space, factors, size = shape.space or self.space, (1.0, 1.0), read_size(value_at(item, self.size or None))
        if shape.space is None and self.max_pixels:
            space, size = PIXEL, size or self._size(image, shape, root)
            seen = model_image_size(int(size[0]), int(size[1]), "qwen2_5_vl", max_pixels=self.max_pixels)
            factors = size[0] / seen[0], size[1] / seen[1]
        elif shape.space is None:
            by = str(value_at(item, self.scale_by or None))
            if self.scale_by and by not in self.scale:
                raise TableError(f"{self.scale_by}: got {by!r:.80}; expected one of {', '.join(self.scale)}")
            factors = (float(self.scale[by] if self.scale_by else self.scale),) * 2
        try:
            written = [{kind: _cornered(numbers, self.form) for kind, numbers in place.items()} for place in places]
            target = _read_target(written, space)
        except TargetError as error:
            if error.inverted:
                return "inverted"
            raise TableError(f"target, {error.problem}") from None
        target = target if factors == (1.0, 1.0) else target.changed(_scaled(each, factors) for each in target.regions)
        return untrainable(target, size) or to_wire(target)

    def _size(self, image: Any, shape: Shape, root: str) -> tuple[float, float]:
        try:
            info = replace(shape.images, root=root).look(read_images(image)[-1], turning=False)
        except (ConvertError, PictureError) as error:
            raise TableError(
                f"{error}; {self.name} has pixels of resized images, so that their size is needed"
            ) from None
        if info is None:
            raise TableError(f"image: its size is needed, for {self.name} has pixels of resized images")
        return info.size


def _places(values: Sequence[Any]) -> list[dict[str, Any]] | None:
    """Return the places of one value, or of several with their numbers in a row; None to refuse."""
    value: Any = values[0]
    if len(values) == 1 and type(value) is list and len(value) == 4 and {*map(type, value)} <= {int, float}:
        return [{"bbox": value}]  # as most are
    if len(values) > 1:
        value = [n for each in values for n in (each if isinstance(each, list) else [each])]
    if isinstance(value, str) and not numbers_of(value):
        from grounding_rewards.parsing import AUTO  # whose patterns take long

        _, _, acts = AUTO.one(value, "first")
        if acts and acts[0].name == "refusal":
            return None
        value = list(acts[0].place) if acts and acts[0].name in _CLICKS else None
    if isinstance(value, Mapping):
        value = {key: each for key, each in value.items() if each is not None}
        value = corners_of(value) or value
    if value is None or value == []:
        return []
    return places_of(value, "point") or places_of(value) or [{"bbox": value}]


def _read_target(places: Sequence[Mapping[str, Any]], space: CoordSpace | None) -> Target:
    """Read the target of some places; a lone box in order needs no careful reader."""
    with suppress(ValidationError, UnicodeEncodeError):
        box = convert(places[0].get("bbox"), Box) if len(places) == 1 else None
        if box and box[0] <= box[2] and box[1] <= box[3]:
            return Target(bbox=box, space=space)
    return read_target(places[0] if len(places) == 1 else {"regions": places}, space=space)


def _cornered(numbers: Any, form: BoxFormat) -> Any:
    """Return the numbers of a box by corners; those of anything else as they are."""
    with suppress(TypeError, ValueError):
        return numbers if form is BoxFormat.XYXY or len(numbers) != 4 else [*corners(tuple(numbers), form)]
    return numbers


def _scaled(region: Region, factors: tuple[float, float]) -> Region:
    numbers = tuple(round(number * factors[place % 2], 9) for place, number in enumerate(region.numbers))
    return Region(region.kind, numbers)


def _text(value: Any) -> str:
    """Return an instruction: a text, the first of several, or those of messages; without places of images."""
    if isinstance(value, str) and value.startswith("[{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, list) and value and isinstance(value[0], str):
        value = value[0]
    return _IMAGE.sub(" ", prompt_text(value) or "").strip()


def _listed(path: str, value: Any) -> list[Any]:
    """Return the items of a list, also of one that a text holds; of a conversation its turns."""
    if isinstance(value, str):
        try:
            value = json.loads(value, object_pairs_hook=unique_keys)
        except (ValueError, RecursionError) as error:
            raise TableError(
                f"{path}: got {value!r:.80}; expected a list, or the JSON of one ({error!s:.80})"
            ) from None
    if value is None:
        return []
    wrong = [each for each in value if not isinstance(each, Mapping | str)] if isinstance(value, list) else [value]
    if wrong:
        raise TableError(f"{path}: got {short_repr(wrong[0])}; expected a list of objects")
    spoken = [each for each in value if isinstance(each, Mapping) and {"from", "role"} & {*each}]
    return _turns(spoken) if spoken and len(spoken) == len(value) else value


def _turns(messages: Sequence[Row]) -> list[dict[str, Any]]:
    """Return questions and answers of a conversation, with further fields of the answers; several in a row are one."""
    turns, asked = list[dict[str, Any]](), ""
    for message in messages:
        kind = _SPEAKERS.get(str(message.get("from") or message.get("role")), "")
        text = prompt_text(message.get("value") if message.get("value") is not None else message.get("content")) or ""
        if kind == "asked":
            asked, before = text, None
        elif kind == "answer" and asked:
            if before is None:
                turns.append(before := {"asked": asked, "answer": ""})
            before |= {key: each for key, each in message.items() if each is not None}
            before["answer"] = f"{before['answer']}\n{text}".strip()
    return turns


@lru_cache(maxsize=4)
def _image_files(root: str) -> dict[str, str]:
    """Return the paths of all images in a folder, by their names without folder and suffix."""
    found = (os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)
    return {Path(path).stem: path for path in found if looks_like_images(path)}


@cache
def training_sets() -> tuple[TrainingSet, ...]:
    """Return the published layouts, several of one name where its files differ."""
    return _read(Path(__file__).parent / "training_sets.toml")


def _read(path: Path) -> tuple[TrainingSet, ...]:
    """Read layouts from a file."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: cannot be read as a file of layouts ({error})") from None
    return _layouts(f"{path}, ", tables)


def _layouts(where: str, tables: Mapping[str, Any]) -> tuple[TrainingSet, ...]:
    """Return layouts by name, each of a table or of several."""
    every = [(name, row) for name, rows in tables.items() for row in (rows if isinstance(rows, list) else [rows])]
    return tuple(_made(f"{where}{name}", name, row) for name, row in every)


def _made(where: str, name: str, row: Any) -> TrainingSet:
    try:
        given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        paths = {key: (own,) if isinstance(own := given[key], str) else tuple(own) for key in _PATHS if key in given}
        own = {"space": CoordSpace(given["space"])} if "space" in given else {}
        return TrainingSet(name, **{**given, **paths, **own, "form": BoxFormat(given.get("form", "xyxy"))})
    except (TypeError, ValueError, AttributeError) as error:
        raise TableError(f"{where}: {error}; expected keys and values as in training_sets.toml") from None


_PATHS = ("has", "instruction", "place", "explode")


@dataclass(frozen=True)
class Shape:
    """Options that say in which layout the rows of a file are."""

    layout: str = ""  # a layout's name, or a file of one's own (.toml); "none" for none, "" for the one that fits
    explode: tuple[str, ...] = ()  # paths of lists that become a row an item, where no layout says it
    space: CoordSpace | None = None  # the space of places, in place of a layout's
    images: ImageFiles = field(default_factory=ImageFiles)

    def of(self, table: Table, *, tolerant: bool = False, note: Note = lambda text: None) -> Table:
        """Return a table with its rows in a layout that is named, or that they surely have; else the table."""
        root = self.images.of(table.path).root
        if self.explode:
            lacking = [path for path in self.explode if path.partition(".")[0] not in table.columns]
            if lacking:
                known = ", ".join(table.columns)
                raise TableError(f"{table.path}: no column {lacking[0]!r} (--explode). It has: {known}")
            plain = TrainingSet("", (), (), (), image="", explode=self.explode)
            return ShapedTable(table, plain, self, root, tolerant, note)
        layout = None if self.layout == NONE else self._layout(table)
        if layout is None:
            return table
        note(layout.note)
        return ShapedTable(table, layout, self, root, tolerant, note)

    def _layout(self, table: Table) -> TrainingSet | None:
        """Return the layout of a table; None where its rows have none that is known, or are ours."""
        there = {*table.columns}
        if not self.layout and {"target", "sample_id", "response"} & there:
            return None
        known = self._known()
        some = [each for each in known if _tops(each.has) <= there and not {*each.lacks} & there]
        rows = first_rows(table, {name for each in some for name in each.reads}) if some else []
        fit = [each for each in some if each.fits(rows)]
        fit = [each for each in fit if not any({*each.has} < {*other.has} for other in fit)]
        if len({each.name for each in fit}) > 1:
            numbers = [n for row in rows for item, _ in fit[0].items(row) for n in fit[0].numbers(item)]
            names = ", ".join(f"{each.name} ({each.space or 'any space'})" for each in fit)
            raise TableError(
                f"{table.path}: which layout is it? Its fields are those of {names}, and numbers of its first places "
                f"are {min(numbers, default=0):g} to {max(numbers, default=0):g}; give --layout"
            )
        if not fit and self.layout:
            lost = sorted(_tops(known[0].has) - there)
            why = f"no column {', '.join(lost)}" if lost else f"none of the first has {', '.join(known[0].has)}"
            raise TableError(f"{table.path}: rows are not as in {self.layout}: {why}")
        return fit[0] if fit else None

    def _known(self) -> Sequence[TrainingSet]:
        if self.layout.endswith(".toml"):
            return _read(Path(self.layout))
        from grounding_rewards.plugins.registry import registry  # which rows with targets do without

        every = (*training_sets(), *_layouts("layout ", registry().layouts))
        known = [each for each in every if self.layout in ("", each.name)]
        if not known:
            names = [*dict.fromkeys(each.name for each in every), NONE]
            raise TableError(
                f"--layout: got {self.layout!r:.80}; expected a file of layouts (.toml) or one of {', '.join(names)}"
                f"{near(self.layout, names)}"
            )
        return known


BY_FIELDS = Shape()
"""The layout that rows surely have by their fields, if any."""


def _tops(paths: Sequence[str]) -> set[str]:
    return {path.partition(".")[0] for path in paths}


class ShapedTable:
    """A table whose rows are made of those of another one; rows that train nothing are left out, and counted."""

    def __init__(self, table: Table, layout: TrainingSet, shape: Shape, root: str, tolerant: bool, note: Note) -> None:
        self.table, self.layout, self.shape, self.root, self.tolerant = table, layout, shape, root, tolerant
        self.path, self._note = table.path, note
        for name in {"tables", "split", "skipped"} & {*vars(table)}:  # of a folder
            setattr(self, name, getattr(table, name))
        self.columns = (*(name for name in table.columns if name not in layout.gone), *layout.new)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema; None where rows come with keys of their own."""
        if self.table.schema is None:
            return None
        import pyarrow as pa  # which JSON does without

        kept = {each.name: each.type for each in self.table.schema if each.name not in self.layout.gone}
        metadata = with_features(self.table.schema.metadata, kept.keys() - self.new, {})
        return pa.schema([*(kept | self.new).items()], metadata)

    @cached_property
    def new(self) -> dict[str, Any]:
        """The Arrow types of the columns that it makes, by name: those of a layout, or lists that are items now."""
        import pyarrow as pa

        types = dict[str, Any]()
        for path in () if self.layout.name else self.layout.explode:
            top, _, rest = path.partition(".")
            try:
                types[top] = _item_type(types.get(top, self.table.schema.field(top).type), rest)
            except (AttributeError, KeyError, TypeError):
                raise TableError(
                    f"{self.path}: --explode {path}: got a column of {self.table.schema.field(top).type}; expected "
                    "lists of objects or texts"
                ) from None
        return {**types, **dict.fromkeys(self.layout.new, pa.string())}

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        reads = None if columns is None else [*columns, *self.layout.reads]
        at_once = min(size or _AT_ONCE, _AT_ONCE) if self.layout.explode else size
        start, every, left = 0, 0, Counter[str]()
        self.left = left
        for batch in self.table.batches(reads, whole=whole, size=at_once):
            made = self._made(batch, start, columns, left)
            every, start = every + len(batch), start + len(made)
            if len(made):
                yield made
        counts = ", ".join(f"{count:,} {why}" for why, count in left.most_common())
        if not start:
            raise TableError(f"{self.path}: no row can be trained on: of {every:,} are left out {counts}")
        if left:
            self._note(f"left out, for no answer to them can be judged: {counts}; {start:,} rows stay")
            self._note = lambda text: None

    def contents(self) -> Iterator[dict[str, Any]]:
        """Yield what names the sample of each row, where no row has a name: the same as in rollouts on them."""
        image = self.layout.image if self.layout.image in GUESSED["image"] else "image"
        for batch in self.batches(["instruction", "target", image, "source"], whole=False):
            for row in batch.rows:
                said = {name: row.get(name) for name in ("instruction", "target", "source")}
                yield {**said, "image": image_path(value_at(row, image))}

    def _made(self, batch: Batch, start: int, columns: Sequence[str] | None, left: Counter[str]) -> Batch:
        """Return the rows that are made of a batch, and count those that are left out."""
        made, unread = list[tuple[int, Row, str]](), dict[int, str]()
        for index, row in enumerate(batch.rows):
            why = batch.unread.get(index, "")
            for item, where in [(why, "")] if why else self._items(row, batch.place(index), left):
                if isinstance(item, str):
                    unread[len(made)] = item
                made.append((index, {} if isinstance(item, str) else item, batch.place(index) + where))
        rows: Any = [item for _, item, _ in made]
        arrow: Any = rows
        if self.schema is not None:
            arrow = self._arrow(batch.whole, [index for index, _, _ in made], rows)
            from grounding_rewards.tables.arrow_rows import ArrowRows

            rows = ArrowRows(arrow.select([each for each in arrow.schema.names if columns is None or each in columns]))
        places = [where for _, _, where in made]
        return Batch(start, rows, arrow, batch.done, unread=unread, texts=batch.texts, places=places)

    def _items(self, row: Row, place: str, left: Counter[str]) -> list[tuple[Row | str, str]]:
        """Return the rows that one row becomes, or why one cannot be read, with their places in it."""
        kept = list[tuple[Row | str, str]]()
        try:
            items = self.layout.items(row)
        except TableError as error:
            return [(self._wrong(error, place), "")]
        if not items:
            left["with an empty list"] += 1
        for number, (item, where) in enumerate(items):
            try:
                new = self.layout.sample(item, self.shape, self.root, f"-{number}" if len(items) > 1 else "")
            except (TableError, SpaceError) as error:
                kept.append((self._wrong(error, f"{place}{where}"), where))
                continue
            if isinstance(new, str):
                left[new] += 1
            else:
                kept.append(({**{name: item[name] for name in item if name not in self.layout.gone}, **new}, where))
        return kept

    def _wrong(self, error: Exception, place: str) -> str:
        """Return why a row cannot be read, or raise that where rows must be readable."""
        if not self.tolerant:
            raise TableError(f"{self.path}, {place}: {error}") from None
        return str(error)

    def _arrow(self, batch: Any, origins: Sequence[int], rows: Sequence[Row]) -> Any:
        """Return the rows as Arrow, in which columns that are not new stay what they are."""
        import pyarrow as pa

        names = [name for name in batch.schema.names if name not in self.layout.gone | self.new.keys()]
        kept = batch.select(names).take(pa.array(origins, pa.int64()))
        arrays = dict(zip(names, kept.columns, strict=True))
        arrays |= {name: pa.array([row.get(name) for row in rows], kind) for name, kind in self.new.items()}
        fields = [each for each in self.schema if each.name in arrays]
        schema = pa.schema(fields, self.schema.metadata)
        return pa.RecordBatch.from_arrays([arrays[each.name] for each in fields], schema=schema)


def _item_type(kind: Any, path: str) -> Any:
    """Return the Arrow type of a list's items, or of an object whose field, at ``path``, holds the list."""
    import pyarrow as pa

    own = kind if path else kind.value_type
    if pa.types.is_string(own):
        return own
    fields = {each.name: each.type for each in own}
    if path:
        return pa.struct({**fields, path: _item_type(fields[path], "")})
    return pa.struct(fields | dict.fromkeys(("asked", "answer") if {"from", "role"} & {*fields} else (), pa.string()))
