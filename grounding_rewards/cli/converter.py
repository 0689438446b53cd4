"""The files of ``convert``: reads batches, has them converted, writes them, and says what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grounding_rewards.cli import terminal
from grounding_rewards.cli.image_files import measure
from grounding_rewards.converting import Form, Reading, Sample, Truths, Wording, find_columns, read_rows
from grounding_rewards.converting.form import IMAGES, images_of, images_type
from grounding_rewards.converting.repeated import Names
from grounding_rewards.errors import ConvertError, near
from grounding_rewards.tables import Batch, Table, write_table
from grounding_rewards.tables.files import PARQUET, schema_of
from grounding_rewards.tables.folders import open_rows
from grounding_rewards.tables.kept import IMAGES_FEATURE, KeptColumns

LISTED = 20
SOURCE = "data_source"
_FIRST = 16


@dataclass
class Converted:
    """What was found on the way.

    Attributes:
        guesses: columns that no option named, by role.
        left_out: columns whose names the trainer needs.
        rows: how many rows there were.
        problems: number, place and trouble of each row that cannot be converted.
        without_size: rows whose image has no known size.
        repeated: rows with the name of an earlier one.
    """

    guesses: Mapping[str, str]
    left_out: Sequence[str]
    rows: int = 0
    problems: list[tuple[int, str, str]] = field(default_factory=list)
    without_size: int = 0
    repeated: int = 0


@dataclass(frozen=True)
class Converter:
    """Settings of one conversion; those of ``grounding-rewards convert``, whose help explains them."""

    form: Form
    truths: Callable[[str | None], Truths]
    given: Mapping[str, str | None]
    wording: Wording
    source: str | None = None
    split: str | None = None
    folder: str | None = None
    dropped: tuple[str, ...] = ()
    skip_bad: bool = False
    label_free: bool = False

    def run(self, file: Path, out: Path) -> Converted:
        """Convert a file or a directory.

        Raises:
            ConvertError: columns cannot be told, or rows cannot be converted and ``skip_bad`` is False.
            TableError: the input cannot be read, or the output not be written.
        """
        table = open_rows(file, self.split)
        if file.is_dir() and out.absolute().is_relative_to(file.absolute()):
            raise ConvertError(f"{out}: lies in the input, of which it would become a part; write somewhere else")
        reading, guesses = self._reading(table, file)
        fields = self._as_fields(table, reading, out)
        kept = self._kept(table, reading, fields)
        found = Converted(guesses, self._in_the_way(table, reading))
        self._say_before(found, reading)
        notes, names = self._paths_note(reading, fields), Names()
        with (
            terminal.progress(f"converting {file.name}") as advance,
            write_table(
                out, like=kept, new=self._types(reading, fields), note=notes.append, metadata=kept.metadata
            ) as writer,
        ):
            for batch in table.batches(reading.columns.read):
                samples, new = self._convert(batch, reading, fields, found)
                if samples:
                    stay = [sample.index - batch.start for sample in samples]
                    writer.write(kept.cut(batch, None if len(stay) == len(batch) else stay), new)
                    names.add(samples)
                advance(batch.done)
            self._refuse(found)
        self._say_after(found, names, notes)
        return found

    def _reading(self, table: Table, file: Path) -> tuple[Reading, dict[str, str]]:
        rows = next(table.batches(size=None if schema_of(table) is None else _FIRST)).rows
        given = {role: name for role, name in self.given.items() if name is not None}
        columns, guesses = find_columns(rows, given, optional={"target"} if self.label_free else ())
        if self.source is not None:
            guesses.pop("source", None)
        reading = Reading(
            columns, self.truths(columns.target), self.wording, measure, self.folder, self.source,
            unnamed=file.stem, split=self.split or "", chosen=frozenset(given),
        )  # fmt: skip
        return reading, guesses

    def _as_fields(self, table: Table, reading: Reading, out: Path) -> bool:
        """Whether images are written with their bytes, or as what ``datasets`` opens, and not as paths."""
        column, schema = reading.columns.image, schema_of(table)
        parquet = out.suffix.lower() in PARQUET
        if column is not None and schema is not None:
            from grounding_rewards.tables.parquet import holds_bytes, refuse_bytes

            top = schema.field(column if column in schema.names else column.partition(".")[0])
            if holds_bytes(top.type):
                if not parquet:
                    refuse_bytes(table.path, [top])
                return True
        return self.form.decoded and parquet

    def _types(self, reading: Reading, fields: bool) -> dict[str, Any]:
        images = {IMAGES: images_type(fields)} if reading.columns.image else {}
        return {**self.form.types(), **images}

    def _kept(self, table: Table, reading: Reading, fields: bool) -> KeptColumns:
        for name in self.dropped:
            if name not in table.columns:
                hint = near(name, table.columns) or "."
                raise ConvertError(f"no column {name!r} (--drop-column){hint} There are: {', '.join(table.columns)}")
        image = reading.columns.image
        gone = {*self._types(reading, fields), *self.form.reserved, *self.dropped, *([image] if image else [])}
        return KeptColumns(table, gone, {IMAGES: IMAGES_FEATURE} if fields and image else {})

    def _in_the_way(self, table: Table, reading: Reading) -> list[str]:
        """Columns that were not asked to go, hold nothing that is packed, and yet make room."""
        names = {*self._types(reading, False), *self.form.reserved}
        packed = {*reading.columns.read, *self.dropped}
        return [name for name in table.columns if name in names and name not in packed]

    def _convert(
        self, batch: Batch, reading: Reading, fields: bool, found: Converted
    ) -> tuple[list[Sample], dict[str, list[Any]]]:
        """The samples of a batch that can be converted, and the new columns."""
        read = read_rows(batch.rows, reading, batch.start)
        problems, samples, rows = dict(read.problems), list[Sample](), list[dict[str, Any]]()
        for place, sample in enumerate(read.samples):
            if sample is None:
                continue
            try:
                row = self.form.row(sample)
            except ConvertError as error:
                problems[place] = str(error)
                continue
            samples.append(sample)
            rows.append({**row, IMAGES: images_of(sample.pictures, fields)})
        found.rows += len(batch)
        found.problems += [(batch.start + place, batch.place(place), problems[place]) for place in sorted(problems)]
        found.without_size += sum(sample.target.image_size is None for sample in samples)
        if not samples and len(found.problems) == found.rows:
            self._list(found)
            first = found.problems[0]
            raise ConvertError(f"not one of the first {found.rows} rows can be converted: {first[1]}: {first[2]}")
        return samples, {name: [row[name] for row in rows] for name in self._types(reading, fields)}

    def _refuse(self, found: Converted) -> None:
        if found.problems and not self.skip_bad:
            self._list(found)
            raise ConvertError(
                f"{len(found.problems)} of {found.rows} rows cannot be converted, so nothing is written; mend them, or "
                "leave them out by --skip-bad"
            )

    def _list(self, found: Converted) -> None:
        for _, place, why in found.problems[:LISTED]:
            terminal.note(f"{place}: {why}")
        if len(found.problems) > LISTED:
            terminal.note(f"and {len(found.problems) - LISTED} more rows")

    def _say_before(self, found: Converted, reading: Reading) -> None:
        for role, column in found.guesses.items():
            space = f", in {reading.truths.space}" if role == "target" and reading.truths.space else ""
            terminal.note(f"{role}: column {column}, by its name{space}; --{role}-column names another")
        if SOURCE in self.form.types() and reading.source is None and reading.columns.source is None:
            terminal.note(f"source: {reading.unnamed}, by the name of the input; --source names another")
        if found.left_out:
            terminal.note(f"left out, for {self.form.name} has columns of these names: {', '.join(found.left_out)}")

    def _say_after(self, found: Converted, names: Names, notes: Sequence[str]) -> None:
        if found.problems:
            self._list(found)
        found.repeated, pair = names.repeated()
        if pair:
            terminal.note(
                f"{found.repeated} rows have the id of an earlier one, the first are rows {pair[0]} and {pair[1]}: "
                "they count as one sample"
            )
        if found.without_size and not self.form.decoded:
            terminal.note(
                f"{found.without_size} rows say no image size, which recipes need to convert pixels; name it by "
                "--image-size-column"
            )
        for text in notes:
            terminal.note(text)

    def _paths_note(self, reading: Reading, fields: bool) -> list[str]:
        """What to say where images are paths and the trainer wants pictures."""
        if not self.form.decoded or fields or not reading.columns.image:
            return []
        return [
            f"{IMAGES} holds paths, and {self.form.name} wants pictures, which JSON cannot say: write Parquet, or cast "
            "the column: cast_column('images', List(Image()))"
        ]
