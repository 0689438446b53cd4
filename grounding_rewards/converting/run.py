"""Convert the files of a data set: read batches, convert them, write them, and report on them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from grounding_rewards.converting.filters import Selection
from grounding_rewards.converting.layouts import IMAGES, MESSAGES, Layout, over
from grounding_rewards.converting.prompts import further_fields
from grounding_rewards.converting.samples import ColumnNames, Reading, Sample, read_rows
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import ConvertError, PictureError, near
from grounding_rewards.tables import layouts as benchmarks
from grounding_rewards.tables.arrow_rows import Inferred, holds_bytes, refuse_bytes
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.columns import (
    NONE,
    OWN,
    Survey,
    columns_read,
    find_columns,
    guess_note,
    role,
)
from grounding_rewards.tables.contents import PARQUET, stem_of
from grounding_rewards.tables.image_files import Image, ImageFiles
from grounding_rewards.tables.layouts import place_named
from grounding_rewards.tables.opening import open_rows
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rows import Batch, Note, Table, first_rows, in_parts, value_at
from grounding_rewards.tables.training_sets import BY_FIELDS, Shape
from grounding_rewards.tables.writing import IMAGES_FEATURE, KeptColumns, write_table
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.suspects import SuspectTargets, described
from grounding_rewards.targets.target import Target

LISTED = 20
SOURCE = "data_source"
_PROMPT = "prompt"
_ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bytes: pa.binary()}
_NUMBERS = re.compile(r"-?[0-9][-+0-9.,e ]*")


@dataclass
class Converted:
    """Counts and problems of one conversion."""

    guesses: Mapping[str, str] = field(default_factory=dict)  # guessed columns, by role
    space: str | None = None  # the space of targets that do not name one
    split: str | None = None  # the split of the input, if it has splits
    left_out: Sequence[str] = ()  # columns whose names the trainer needs
    files: Sequence[str] = ()  # names of the input's files, if it has several
    rows: int = 0
    written: int = 0
    # number, place and problem of each row that cannot be converted
    problems: list[tuple[int, str, str]] = field(default_factory=list)
    # number of samples that are left out, by source and reason
    filtered: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    suspects: list[SuspectTargets] = field(default_factory=list)
    spaces: Counter[str] = field(default_factory=Counter)  # number of targets by space
    without_size: int = 0  # number of rows whose image has no known size
    turned: int = 0  # number of images that their EXIF data ask to turn
    relative: int = 0  # number of images with relative paths
    imageless: int = 0  # number of rows without an image
    # the chance that no place of pixels on larger screens passes 1000, as a logarithm; of places anywhere on them
    within_thousand: float = 0.0
    firsts: dict[int, int] = field(default_factory=dict)  # the first row of each sample's name, by the name's hash
    repeats: int = 0  # rows whose name an earlier one has
    repeated: list[tuple[int, int]] = field(default_factory=list)  # the first of them, each after its namesake
    reporting: Reporting = SILENT

    def count(self, samples: Sequence[Sample]) -> None:
        """Count samples that are written."""
        self.written += len(samples)
        self.spaces.update(str(sample.target.space) for sample in samples if sample.target.space is not None)
        self.without_size += sum(sample.target.image_size is None for sample in samples)
        self.turned += sum(sample.turned for sample in samples)
        self.relative += sum(image.relative for sample in samples for image in sample.images)
        self.imageless += sum(not sample.images for sample in samples)
        self.within_thousand += sum(_within_thousand(sample.target) for sample in samples)
        for sample in samples:  # whose names would take more memory than their hashes
            first = self.firsts.setdefault(hash(sample.name), sample.index)
            if first != sample.index:
                self.repeats += 1
                self.repeated += [(first, sample.index)][: _SHOWN - len(self.repeated)]

    def count_left(self, source: str, left: Mapping[str, int]) -> None:
        """Count what a layout left out, note what filters did, and check that something is left."""
        counts = sum(self.filtered.values(), Counter[str]())
        said = ", ".join(f"{count:,} {why}" for why, count in counts.most_common())
        if not self.written and said:
            raise ConvertError(f"no sample is left: {said}")
        if said:
            self.reporting.note(f"left out by filters: {said}; {self.written:,} samples stay")
        if left:
            self.filtered[source].update(left)

    def list_problems(self, *, all_in_json: bool, but_first: bool = False) -> None:
        """Note the first rows that cannot be converted, in one line those whose problems differ in numbers alone."""
        alike: dict[str, list[tuple[int, str, str]]] = {}
        for problem in self.problems:
            alike.setdefault(_NUMBERS.sub("0", problem[2]), []).append(problem)
        for each in [*alike.values()][but_first:LISTED]:
            _, place, why = each[0]
            self.reporting.note(f"{f'{len(each)} rows, first ' if len(each) > 1 else ''}{place}: {why}")
        if len(alike) > LISTED:
            left = sum(map(len, [*alike.values()][LISTED:]))
            self.reporting.note(f"and {left} more rows{'' if all_in_json else '; --json has all of them'}")

    def not_written(self, box_format: BoxFormat | None) -> str:
        """Return the error for rows that cannot be converted; ``box_format`` as far as an option declares it."""
        count = f"{len(self.problems)} of {self.rows} rows cannot be converted, so nothing is written; "
        boxes = next((each for each in self.suspects if each.certain), None)
        foreign = sum("option target_space" in why for _, _, why in self.problems)
        if foreign > _FEW * self.rows:  # and of the others many only happen to fit
            return f"{count}{foreign} of them do not fit the targets' space: give another --target-space, or fix them"
        if boxes is None or box_format is not None:
            return f"{count}fix them, or leave them out by --skip-bad"
        # To leave out those that cannot be corners would keep those of the same format that can, and misread them.
        wire = 'write them as {"bbox": [x, y, w, h]} and ' if boxes.own_form else ""
        return f"{count}if boxes are x y w h, {wire}give --box-format xywh (or cxcywh, yxyx, xxyy, yyxx), else fix them"

    def as_json(self) -> dict[str, Any]:
        """Return plain values, for scripts."""
        kept = {name: value for name, value in vars(self).items() if name not in _NOT_IN_JSON}
        problems = [{"row": row, "place": place, "why": why} for row, place, why in self.problems]
        rows = [list(pair) for pair in self.repeated]
        return {**kept, "problems": problems, "repeated_ids": {"count": self.repeats, "rows": rows}}


_FEW = 0.05
"""Share of rows whose targets may lie in another space by a mistake of their own."""

_NOT_IN_JSON = ("firsts", "imageless", "within_thousand", "relative", "repeated", "repeats", "reporting", "suspects")
_SHOWN = 5
_RARE = math.log(1e-6)


def _within_thousand(target: Target) -> float:
    """Return the logarithm of the share of a screen within 1000 pixels; infinity where a place passes them."""
    if target.space is not CoordSpace.PIXEL or target.image_size is None or not target.regions:
        return 0.0
    if max(max(region.numbers) for region in target.regions) > 1000:
        return math.inf
    return sum(math.log(1000 / side) for side in target.image_size if side > 1000)


class NotConvertedError(ConvertError):
    """Rows cannot be converted, so that nothing is written; ``result`` has their problems."""

    def __init__(self, message: str, result: Converted) -> None:
        super().__init__(message)
        self.result = result


def note_input(result: Converted, table: Table) -> None:
    """Note the files that are read, where a directory has several."""
    if len(result.files) > 1:
        more = f" and {len(result.files) - 3} more" if len(result.files) > 3 else ""
        result.reporting.note(
            f"reads {len(result.files)} files one after the other: {', '.join(result.files[:3])}{more}"
        )
    if skipped := getattr(table, "skipped", ()):
        result.reporting.note(f"skips files without rows: {', '.join(skipped)}")


def note_columns(result: Converted, layout: Layout, reading: Reading, remarks: Sequence[str]) -> None:
    """Note the guessed columns, and those left out."""
    for each, column in result.guesses.items():
        if column == reading.unnamed and each == "source" and reading.columns.source is None:
            result.reporting.note(f"source: {column}, by the name of the input; --source names another")
            continue
        space = f", in {result.space}" if each == "target" and result.space else ""
        result.reporting.note(guess_note(each, column, space))
    left_out = f"left out, for {layout.name} has columns of these names: {', '.join(result.left_out)}"
    for text in (*remarks, *([left_out] if result.left_out else [])):
        result.reporting.note(text)


def note_samples(result: Converted, layout: Layout, reading: Reading, *, fields: bool, looked_up: str | None) -> None:
    """Note and warn about the rows that were written."""
    first, second = result.repeated[0] if result.repeated else (0, 0)
    here = f"which were looked up in {looked_up}" if looked_up else "which were not looked up"
    opened = (
        f"{layout.name} opens them by datasets, which does so, and sizes are those of what it sees"
        if fields or layout.decoded
        else f"{layout.name} opens paths as they are stored, and sizes are those"
    )
    wants_images = layout.decoded and not layout.alone and not fields and bool(reading.columns.image)
    note, warn = result.reporting.note, result.reporting.warn
    remarks = [
        (result.problems, warn, f"{len(result.problems)} of {result.rows} rows cannot be converted, and are left out"),
        *((True, warn, text) for text in described(result.suspects)),
        (result.repeats, warn, f"{result.repeats} rows have the id of an earlier one, the first are rows {first} and "
         f"{second}: they count as one sample"),
        (result.imageless and result.imageless == result.written, warn,
         "no row has an image; name their column by --image-column"),
        (result.within_thousand < _RARE, warn,
         "no coordinate passes 1000, on larger screens: if these are thousandths, give --target-space thousandths"),
        (result.without_size and not layout.decoded, note,
         f"{result.without_size} rows say no image size, which recipes need to convert pixels; name it by "
         "--image-size-column"),
        (result.relative, warn, f"{result.relative} images have relative paths, {here}; {layout.name} looks them up "
         "where it is started; --image-root makes them whole"),
        (result.turned, note,
         f"{result.turned} images say in their EXIF data that they are to be turned or mirrored; {opened}"),
        (wants_images, note, f"{IMAGES} holds paths, and {layout.name} wants images, which JSON cannot say: write "
         "Parquet, or cast the column: cast_column('images', List(Image()))"),
    ]  # fmt: skip
    for holds, say, text in remarks:
        if holds:
            say(text)


@dataclass(frozen=True)
class MergedColumns:
    """Columns that are written again."""

    types: Mapping[str, Any]  # their Arrow types
    merged: Sequence[str] = ()  # those in which fields of the input stay
    found: Mapping[str, Any] = field(default_factory=dict)  # inferred types of their fields, where the input has none

    def merge(self, row: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
        """Merge our columns of a row over its own."""
        return {**ours, **{name: over(self._fitted(name, row.get(name)), ours[name]) for name in self.merged}}

    def _fitted(self, name: str, cell: Any) -> Any:
        inferred = self.found.get(name)
        if inferred is None or not isinstance(cell, Mapping):
            return cell
        return {inferred.name(key): inferred.fitted(key, value) for key, value in _filled(cell).items()}


def merged_columns(
    form: Layout, table: Table, reading: Reading, merged: Sequence[str], fields: bool, parquet: bool, note: Note
) -> MergedColumns:
    """Return the columns of a layout's rows, in which fields of the ``merged`` columns of the input stay."""
    types = {name: arrow_type(kind) for name, kind in form.types.items()}
    if reading.columns.image and not form.embedded:
        types[IMAGES] = arrow_type([{"bytes": bytes, "path": str}] if fields else [str])
    schema = table.schema
    if not parquet:
        if schema is not None and merged:
            refuse_bytes(table.path, [schema.field(name) for name in merged])
        return MergedColumns(types, merged)
    inferred = {} if schema is not None else {name: _inferred(table, name, note) for name in merged}
    for name in merged:
        theirs = _fields(schema.field(name).type) if schema is not None else inferred[name].encodable_types
        types[name] = pa.struct(over(theirs, _fields(types[name])))
    if _PROMPT in types:
        further = _further_types(table, schema, reading.columns.instruction)
        types[_PROMPT] = pa.list_(pa.struct({**_fields(arrow_type(MESSAGES[0])), **further}))
    return MergedColumns(types, merged, inferred)


def arrow_type(kind: Any) -> Any:
    """Return the Arrow type of a column, from its type in ``Layout.types``."""
    if isinstance(kind, list):
        return pa.list_(arrow_type(kind[0]))
    if isinstance(kind, dict):
        return pa.struct({name: arrow_type(each) for name, each in kind.items()})
    return _ARROW[kind]


def _inferred(table: Table, name: str, note: Note) -> Inferred:
    batches = table.batches([name], whole=False)
    filled = ([_filled(row[name]) for row in batch.rows if isinstance(row.get(name), Mapping)] for batch in batches)
    return Inferred.of(filled, note, f"{name}.")


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without empty objects, for which Parquet has no type."""
    return {key: value for key, value in fields.items() if value != {}}


def _further_types(table: Table, schema: Any, column: str) -> dict[str, Any]:
    """Return the types of the fields of messages beside role and content."""
    if schema is not None:
        kind = _type_at(schema, column)
        one = getattr(kind, "value_type", None)
        return {name: each for name, each in _fields(one).items() if name not in ("role", "content")}

    def messages(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        content = value_at(row, column)
        return [each for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []

    batches = table.batches([column.partition(".")[0], column], whole=False)  # a column may be called a.b itself
    further = ([further_fields(each) for row in batch.rows for each in messages(row)] for batch in batches)
    types = Inferred.of(further, lambda text: None)
    if types.as_json:
        raise ConvertError(
            f"instruction: {', '.join(sorted(types.as_json))} of its messages has no one Parquet type; write JSON lines"
        )
    return types.encodable_types


def _type_at(schema: Any, name: str) -> Any:
    if name in schema.names:
        return schema.field(name).type
    top, *rest = name.split(".")
    kind = schema.field(top).type if top in schema.names else None
    for each in rest:
        kind = _fields(kind).get(each)
    return kind


def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields of a struct's type; none of another type's."""
    if kind is None or not pa.types.is_struct(kind):
        return {}
    return {kind.field(place).name: kind.field(place).type for place in range(kind.num_fields)}


DECIDING = 256
"""Number of rows, none of them convertible, after which the columns or the space must be wrong."""
_FIRST = 16
_HINT = "; name the folder of relative paths by --image-root, or give --no-image-check where images lie elsewhere"


@dataclass(frozen=True)
class Converter:
    """Settings of one conversion: the options of ``grounding-rewards convert``."""

    layout: Layout
    columns: Mapping[str, str | None]  # those that are named, by role
    reading: Reading = field(default_factory=Reading)  # as far as options say it, without columns
    images: ImageFiles = field(default_factory=ImageFiles)
    dropped: tuple[str, ...] = ()
    skip_bad: bool = False
    image_check: bool = True
    all_in_json: bool = False
    encoding: str | None = None
    shape: Shape = BY_FIELDS
    selection: Selection = field(default_factory=Selection)
    stored: Callable[[Image], Image] | None = None  # writes an image in bytes to a file; None leaves it in its row
    reporting: Reporting = SILENT

    def run(
        self, file: Path, out: Path, opened: Callable[[Path], AbstractContextManager[IO[bytes]]] = atomic_file
    ) -> Converted:
        """Convert a file or a directory into a file, which ``opened`` opens."""
        table = open_rows(
            file, self.reading.split, tolerant=True, encoding=self.encoding, note=self.reporting.note, shape=self._shape
        )
        if self.layout.embedded and _is_parquet(out):
            raise ConvertError(f"{out}: {self.layout.name} reads JSON lines; write a file that ends in .jsonl")
        if file.is_dir() and out.absolute().is_relative_to(file.absolute()):
            raise ConvertError(f"{out}: lies in the input, of which it would become a part; write somewhere else")
        files = [str(part.path.relative_to(table.path)) for part in getattr(table, "tables", ())]
        result = Converted(split=getattr(table, "split", None), files=files, reporting=self.reporting)
        if not file.name.startswith("."):  # as the sets of a mixture are
            note_input(result, table)
        survey = self._survey(table, file, result)
        reading, remarks = self._reading(survey, self._benchmark(table, survey), file, result)
        sourced = self.layout.sourced if reading.source is not None or reading.columns.source is not None else None
        images = replace(self.images.of(file), hint=_HINT)
        stored = images.in_url if self.layout.embedded else self.stored
        return replace(self, layout=sourced or self.layout, stored=stored)._write(
            table, survey, reading, remarks, result, images, file, out, opened
        )

    def _write(
        self, table: Table, survey: Survey, reading: Reading, remarks: Sequence[str], result: Converted,
        images: ImageFiles, file: Path, out: Path, opened: Callable[[Path], AbstractContextManager[IO[bytes]]],
    ) -> Converted:  # fmt: skip
        """Write the rows of a table, read as ``reading`` says."""
        fields = self._as_fields(table, reading, out)
        turning = fields or self.layout.decoded
        reading = replace(reading, look=partial(images.look, turning=turning, files=self.image_check))
        merged = [name for name in self.layout.merged if survey.objects(name) and name not in self.dropped]
        image = [reading.columns.image] if reading.columns.image else []
        if not self.layout.alone:  # as in mixtures, which name columns by no option
            # columns whose names the trainer needs, though nothing of them is packed
            needed = {*self.layout.types, *([IMAGES] if image else []), *self.layout.taken(survey.names)}
            packed = {*reading.columns.read, *self.dropped, *merged}
            result.left_out = [name for name in survey.names if name in needed - packed]
            note_columns(result, self.layout, reading, remarks)
        new = merged_columns(self.layout, table, reading, merged, fields, _is_parquet(out), result.reporting.note)
        alone = survey.names if self.layout.alone else ()
        gone = {*new.types, *self.layout.taken(survey.names), *self.dropped, *image, *alone}
        kept = KeptColumns(table, gone, {IMAGES: IMAGES_FEATURE} if fields and image else {})
        own = columns_read(self.selection.where)
        read = [*dict.fromkeys((*reading.columns.read, *sorted(reading.cells.reads), *merged, *own))]
        selection = replace(self.selection, root=images.root, name=self.selection.name or file.name)
        compared = self._compared(table, read, reading, selection, file) if selection.compares else lambda row: ""
        with (
            self.reporting.progress(f"converting {file.name}") as advance,
            write_table(
                out, like=kept, new=new.types, note=result.reporting.note, metadata=kept.metadata, opened=opened
            ) as writer,
        ):
            for batch in in_parts(table.batches(read)):
                samples, rows = self._convert(batch, reading, new, fields, selection, compared, result)
                if samples:
                    stay = [sample.index - batch.start for sample in samples]
                    columns = {name: [row[name] for row in rows] for name in new.types}
                    writer.write(kept.cut(batch, None if len(stay) == len(batch) else stay), columns)
                    result.count(samples)
                self._check_wiring(result)
                advance(batch.done)
            self._check_wiring(result, ended=True)
            result.list_problems(all_in_json=self.all_in_json)
            if result.problems and not self.skip_bad:
                result.written = 0
                raise NotConvertedError(result.not_written(self.reading.box_format), result)
            result.count_left(reading.source or reading.unnamed, getattr(table, "left", {}))
        looked_up = images.root if self.image_check else None
        note_samples(result, self.layout, reading, fields=fields, looked_up=looked_up)
        return result

    def _compared(
        self, table: Table, read: Sequence[str], reading: Reading, selection: Selection, file: Path
    ) -> Callable[[int], str]:
        """Return why rows are left out by filters that compare all of them."""

        def samples() -> Iterator[tuple[Mapping[str, Any], Sample]]:
            for batch in table.batches(read, whole=False):
                for row, sample in zip(batch.rows, read_rows(batch.rows, reading, batch.start).samples, strict=True):
                    if sample is not None:
                        yield row, sample
                advance(batch.done)

        with self.reporting.progress(f"comparing {file.name}") as advance:
            return selection.compared(samples())

    def _survey(self, table: Table, file: Path, result: Converted) -> Survey:
        """Survey the columns: by the schema, else by all rows."""
        survey, schema = Survey(), table.schema
        if schema is not None:
            # The schema has all names, also of fields of structs; a few rows have the kinds of values.
            empty = {each.name: dict.fromkeys(_fields(each.type)) or None for each in schema}
            survey.add([empty, *next(table.batches(size=_FIRST)).rows])
            return survey
        with self.reporting.progress(f"looking at {file.name}") as advance:
            for batch in table.batches():
                survey.add(batch.rows)
                if not survey.names:  # no line could be read so far
                    result.rows += len(batch)
                    result.problems += [(batch.start + row, batch.place(row), why) for row, why in batch.unread.items()]
                    self._check_wiring(result)
                advance(batch.done)
        if not survey.names:
            self._check_wiring(result, ended=True)
        result.rows, result.problems = 0, []  # all rows are counted again as they are converted
        return survey

    def _benchmark(self, table: Table, survey: Survey) -> benchmarks.Layout | None:
        """Return the benchmark's layout that rows have; None where targets have another column."""
        target = self.columns.get("target") or (OWN.target if OWN.target in survey.names else "")
        fields = {name for each in benchmarks.LAYOUTS if each.fields <= {*survey.names} for name in each.fields}
        if not fields:
            return None
        return benchmarks.layout_of(first_rows(table, fields), survey.names, self.reading.box_format, target)

    @property
    def _shape(self) -> Shape:
        """The form of rows, as far as options say; rows whose target has a name are read as they are."""
        named = NONE if self.columns.get("target") is not None else ""
        layout, images = self.shape.layout or named, replace(self.images, hint=_HINT)
        return replace(self.shape, layout=layout, space=self._named_space, images=images)

    @property
    def _named_space(self) -> CoordSpace | None:
        """The space of targets that an option names."""
        return self.reading.space or benchmarks.space_named(self.reading.recipe)

    def _reading(
        self, survey: Survey, benchmark: benchmarks.Layout | None, file: Path, result: Converted
    ) -> tuple[Reading, list[str]]:
        """Return the reading of rows, and notes on columns that are not read."""
        for name in self.dropped:
            if name not in survey.names:
                hint = near(name, survey.names) or "."
                raise ConvertError(f"no column {name!r} (--drop-column){hint} There are: {', '.join(survey.names)}")
        given = self.reading
        named = dict(self.columns) if given.source is None else {**self.columns, "source": ""}
        if benchmark is not None:
            result.reporting.note(benchmark.note(given.box_format, self._named_space))
            for field, name in {**benchmark.columns, "target": benchmark.target}.items():
                if named.get(role(field)) is None and name in survey.names and getattr(OWN, field) not in survey.names:
                    named[role(field)] = name
        needed = ("instruction",) if given.label_free else ("target", "instruction")
        dropped = {*self.dropped, *(benchmark.reads if benchmark else ())}
        chosen, guesses, remarks = find_columns(survey.rows(), named, needed=needed, dropped=dropped)
        columns = ColumnNames(**{role.replace("-", "_"): column for role, column in chosen.items()})
        # Options go before a benchmark's layout, and that before a recipe's own form.
        space, box_format = self._named_space, given.box_format
        if benchmark is not None:
            space, box_format = space or benchmark.space, box_format or benchmark.box_format
        else:
            box_format = box_format or place_named(columns.target or "")[1]
        # A file's name need not be UTF-8; a text of a row must be.
        unnamed = stem_of(file).encode("utf-8", "backslashreplace").decode()
        if SOURCE in self.layout.types and given.source is None and columns.source is None:
            guesses["source"] = unnamed
        reading = replace(
            given, columns=columns, space=space, box_format=box_format, benchmark=benchmark, unnamed=unnamed,
            folder=None if self.layout.embedded else self.images.root or None,
            chosen=frozenset(role for role, name in self.columns.items() if name is not None),
        )  # fmt: skip
        result.guesses = guesses
        result.space = None if reading.target_space is None else str(reading.target_space)
        return reading, remarks

    def _as_fields(self, table: Table, reading: Reading, out: Path) -> bool:
        """True where images are written with their bytes, or as fields of ``datasets``; False for paths."""
        column, schema = reading.columns.image, table.schema
        if self.stored is not None:
            return False
        if column is not None and schema is not None:
            top = schema.field(column if column in schema.names else column.partition(".")[0])
            if holds_bytes(top.type):
                if not _is_parquet(out):
                    refuse_bytes(table.path, [top])
                return True
        return self.layout.decoded and _is_parquet(out)

    def _convert(
        self, batch: Batch, reading: Reading, new: MergedColumns, fields: bool, selection: Selection,
        compared: Callable[[int], str], result: Converted,
    ) -> tuple[list[Sample], list[dict[str, Any]]]:  # fmt: skip
        """Convert a batch: its samples, and their new columns."""
        read = read_rows(batch.rows, reading, batch.start)
        problems, samples, rows = {**read.problems, **batch.unread}, list[Sample](), list[dict[str, Any]]()
        for place, sample in enumerate(read.samples):
            if sample is None:
                if place not in batch.unread and selection.imageless(batch.rows[place], reading.columns.image):
                    result.filtered[reading.source or reading.unnamed]["no image"] += 1
                    del problems[place]
                continue
            try:
                if why := selection.reason(batch.rows[place], sample) or compared(sample.index):
                    result.filtered[sample.source][why] += 1
                    continue
                if self.stored is not None:
                    sample = replace(sample, images=tuple(map(self.stored, sample.images)))
                row = new.merge(batch.rows[place], self.layout.row(sample))
            except (ConvertError, PictureError) as error:
                problems[place] = str(error)
                continue
            samples.append(sample)
            rows.append({**row, IMAGES: [image.as_field() if fields else image.path for image in sample.images]})
        result.rows += len(batch)
        result.problems += [(batch.start + place, batch.place(place), problems[place]) for place in sorted(problems)]
        result.suspects += [replace(each, first=batch.place(each.row)) for each in read.suspects]
        return samples, rows

    def _check_wiring(self, result: Converted, *, ended: bool = False) -> None:
        """Stop where no row can be converted: then settings are wrong, not rows."""
        if result.rows and len(result.problems) == result.rows and (ended or result.rows >= DECIDING):
            result.list_problems(all_in_json=self.all_in_json, but_first=True)  # which the error names
            _, place, why = result.problems[0]
            raise NotConvertedError(f"not one of the first {result.rows} rows can be converted: {place}: {why}", result)


def _is_parquet(out: Path) -> bool:
    return out.suffix.lower() in PARQUET
