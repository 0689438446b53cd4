"""Data of a run of rollouts: samples of a table, with their names, targets, instructions and images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from grounding_rewards.arrays import Ints
from grounding_rewards.batch.rescore import renamed
from grounding_rewards.batch.rollout_scorer import RolloutScorer
from grounding_rewards.batch.table_scorer import Scoring, TableScorer
from grounding_rewards.catalogue import recipe as recipe_named
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import ConvertError, EngineError, PoolError, TableError
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.arrow_rows import FEW_ROWS, ParquetTable, holds_bytes
from grounding_rewards.tables.columns import GUESSED, NONE, OWN, Columns, find_columns, guess_note
from grounding_rewards.tables.image_files import ImageFiles, read_images
from grounding_rewards.tables.launches import PREFIX
from grounding_rewards.tables.layouts import Row, layout_of, space_named
from grounding_rewards.tables.manifests import fingerprint, refuse_stream
from grounding_rewards.tables.opening import files_of_table, open_rows
from grounding_rewards.tables.rollout_columns import COLUMNS, CORRECT, FURTHER, IMAGE_HASH, ZOOMED, fields
from grounding_rewards.tables.rollout_source import RolloutFile, state_of, types_of
from grounding_rewards.tables.rows import Batch, Note, Table, column_of, first_rows, joined
from grounding_rewards.tables.sample_ids import plain
from grounding_rewards.tables.training_sets import BY_FIELDS, Shape
from grounding_rewards.targets.box_format import BoxFormat, as_box_format

_BY_DEFAULT, _FILES = Columns(), ImageFiles()


@dataclass(frozen=True, eq=False)
class Data:
    """Samples of a table."""

    # the table with its further columns, and what reads names, targets and sizes of its rows in the rollouts' schema
    reader: RolloutScorer
    instruction: str  # the column of instructions
    image: str  # that of images; "" for rows of text alone
    files: ImageFiles  # where images are
    image_root: str = ""  # their folder, where the caller names one; "" for that of the data
    encoding: str | None = None  # of the texts of the data; None for UTF-8

    @property
    def hashes(self) -> bool:
        """Return True where rollouts have a hash of their images in place of these."""
        return IMAGE_HASH in self.reader.schema.names and IMAGE_HASH not in self.table.columns

    @property
    def table(self) -> Table:
        """The table."""
        return self.reader.source.table

    def identity(self) -> dict[str, Any]:
        """Return what the run reads, for its manifest."""
        columns = self.reader.scorer.columns
        names = {"instruction": self.instruction, "image": self.image}
        names |= {name: getattr(columns, name) for name in ("target", "image_size", "id")}
        box_format = self.reader.scorer.box_format
        return {
            "data": [fingerprint(self.table.path, list(files_of_table(self.table)))],
            "columns": names,
            "image_root": self.image_root or None,
            "max_image_bytes": self.files.max_image_bytes,
            "max_image_pixels": self.files.max_image_pixels,
            "box_format": box_format and str(box_format),
            **({"encoding": self.encoding} if self.encoding else {}),
        }


def open_data(
    path: Path,
    *,
    split: str | None = None,
    encoding: str | None = None,
    shape: Shape = BY_FIELDS,
    columns: Columns = _BY_DEFAULT,
    instruction: str | None = None,
    recipe: Recipe | None,
    box_format: str | None = None,
    image_files: ImageFiles = _FILES,
    zoomed: bool = False,
    note: Note,
    warn: Note,
) -> Data:
    """Open the data of a run."""
    refuse_stream(path)
    layout, boxes = NONE if columns.target and not shape.layout else shape.layout, as_box_format(box_format)
    shape = replace(shape, layout=layout, space=space_named(recipe), images=image_files)
    table = open_rows(path, split, encoding=encoding, note=note, shape=shape)
    rows = [dict.fromkeys(table.columns), *first_rows(table)]
    read = _reading(path, rows, columns, boxes) if recipe is None or recipe.label_free else recipe
    named = replace(columns, response=NONE)
    scorer = Scoring(read, named, "abstain", boxes, answered=False, on_note=note, on_warning=warn).of(table)
    asked = {"instruction": instruction, "image": scorer.columns.image or None}
    if scorer.columns.image == OWN.image and OWN.image not in table.columns:  # the name of no column
        asked["image"] = None
    there = {*table.columns}  # of a table of rollouts, whose problems are no instructions beside others
    others = there.intersection(GUESSED["instruction"]) - {"problem"}
    dropped = ("problem",) if others and {*FURTHER, "rollout", "policy"} <= there else ()
    try:
        chosen, guesses, remarks = find_columns(rows, asked, needed=("instruction",), dropped=dropped)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    guessed = [guess_note(role, name) for role, name in guesses.items() if name != GUESSED[role][0]]
    for text in (*guessed, *remarks):
        note(text)
    image = chosen.get("image", "")
    in_rows = any(map(_has_bytes, column_of(rows, image)))
    if zoomed and not image:
        raise EngineError(f"--zoom: {path} has no images to take crops of; --image-column names their column")
    own = {**FURTHER, **(ZOOMED if zoomed else {})}
    source, schema = _source(table, scorer, recipe, image.partition(".")[0], own, note, in_rows=in_rows)
    reader = RolloutScorer(scorer, source, schema, image=image, instruction=chosen["instruction"], reads=recipe)
    return Data(reader, chosen["instruction"], image, image_files.of(path), image_files.root, encoding)


def _has_bytes(images: Any) -> bool:
    """Return True for images whose bytes are in the row itself, as data URLs are."""
    with suppress(ConvertError):
        return any(image.data is not None for image in read_images(images))
    return False


def _reading(path: Path, rows: Sequence[Row], columns: Columns, box_format: BoxFormat | None) -> Recipe:
    """Return a recipe that reads targets in the general form, where there are any; it scores nothing."""
    target = columns.target
    if not target:
        try:
            layout = layout_of(rows, rows[0].keys(), box_format)
            target = layout.target if layout else find_columns(rows, {"target": None}).columns.get("target", NONE)
        except TableError as error:
            raise TableError(f"{path}: {error}") from None
    return replace(recipe_named("click", response_space="pixel"), label_free=target == NONE)


def _source(
    table: Table,
    scorer: TableScorer,
    recipe: Recipe | None,
    image: str,
    own: Mapping[str, str],
    note: Note,
    *,
    in_rows: bool,
) -> tuple[RolloutFile, Any]:
    """Return the table with the further columns that are kept, and the schema of the rollouts."""
    parts = () if recipe is None else recipe.parts
    taken = {name.casefold() for name in (*COLUMNS, CORRECT, *FURTHER, *ZOOMED, *parts)}
    ours = {name for name in table.columns if name.casefold() in taken} - {*COLUMNS}
    own_types = table.schema or ()
    held = [each.name for each in own_types if holds_bytes(each.type)]
    held += [image] if in_rows and image not in held else []
    if held:
        note(f"columns that hold bytes, such as images, are not written: {', '.join(held)}")
    if ours:
        note(f"columns whose names a rollout table needs are not written: {', '.join(sorted(ours))}")
    gone = {*ours, *held, *renamed(scorer)}
    source = RolloutFile.of(table, gone, state_of(table), note)
    further = types_of([source])
    hashes = [(IMAGE_HASH, pa.string())] if image in held and IMAGE_HASH not in table.columns else []
    scores = [(name, pa.float64()) for name in parts]
    return source, pa.schema([*fields(), *further.items(), *fields(own), *hashes, *scores])


def plan_of(data: Data, settings: RolloutSettings, allocated: Mapping[str, int] | None, *, warn: Note) -> Plan:
    """Plan the shards. All rows are read once, so that what cannot be read is an error before a model is loaded."""
    wanted, survey = list[int](), _Survey(data)
    for batch in data.table.batches():
        for name, first in survey.add(batch):
            number = settings.n if allocated is None else allocated.get(name, 0)
            wanted.append((number or 0) if first else 0)
    survey.check_targets()
    if survey.repeated:
        warn(f"{survey.repeated} rows repeat an earlier one, with its name, and are left out: one sample is asked once")
    lacking = [name for name in allocated or () if name not in survey]
    if lacking:
        raise EngineError(
            f"--allocate: {data.table.path} lacks {len(lacking)} of {len(allocated or ())} samples, such as "
            f"{lacking[0]!r:.80}; give the data whose rollouts were counted, and --id-column as they were named"
        )
    return Plan(np.array(wanted, dtype=np.int64), settings.shard_rows)


class _Survey:
    """Names of all rows, as hashes, and errors of their targets."""

    def __init__(self, data: Data) -> None:
        self.data, self.repeated = data, 0
        self._rows: dict[bytes, tuple[int, bytes]] = {}
        self._read, self._error = 0, ""

    def __contains__(self, name: str) -> bool:
        return _hashed(name) in self._rows

    def add(self, batch: Batch) -> Iterator[tuple[str, bool]]:
        """Yield the name of each row, and True for the first row with it."""
        samples = self.data.reader.unscored(batch)
        columns = ("sample_id", "target", "image_size")
        names, targets, sizes = (samples.column(name).to_pylist() for name in columns)
        self._check_targets(batch)
        instructions = batch.column(self.data.instruction)
        images = batch.column(self.data.image) if self.data.image else [None] * len(batch)
        for row, (name, target) in enumerate(zip(names, targets, strict=True)):
            image, at = images[row], batch.number(row)
            with suppress(PoolError):
                image = image if image is None else plain(image)  # bytes of images as their hashes
            content = _hashed(f"{instructions[row]!r}\n{image!r}\n{sizes[row]}\n{target}")
            number, first = self._rows.setdefault(_hashed(name), (at, content))
            if first != content:
                raise TableError(
                    f"{self.data.table.path}, {batch.place(row)}: sample {name!r:.80} is in row {number} already, with "
                    "another instruction, image, image size or target; name a column that tells them apart by "
                    "--id-column, or --id-column none"
                )
            self.repeated += number != at
            yield name, number == at

    def _check_targets(self, batch: Batch) -> None:
        """Count the targets that can be used, but for sizes of images, which are read later."""
        table, scorer, recipe = self.data.table, self.data.reader.scorer, self.data.reader.reads
        if recipe is not None and recipe.label_free:
            return
        read = scorer.read_targets(scorer.targets(batch))
        errors = dict(read.errors)
        if recipe is not None:
            ready = scorer.recipe.prepare(
                [None] * len(batch), read, image_sizes=scorer.image_sizes(batch, read),
                model_image_sizes=scorer.sizes(batch, scorer.columns.model_image_size), groups=range(len(batch)),
                bad_target="abstain",
            )  # fmt: skip
            errors |= {row: each for row, each in ready.targets.errors.items() if not each.field.endswith("image_size")}
        self._read += len(batch) - len(errors)
        if errors and not self._error:
            error = scorer.bad_target_error(batch, *next(iter(errors.items())))
            self._error = str(error).removeprefix(f"{table.path}, ")

    def check_targets(self) -> None:
        """Check that some target can be used: where none can, settings are wrong, not rows."""
        if self._error and not self._read:
            raise TableError(f"{self.data.table.path}: no target can be used, the first is {self._error}")


def _hashed(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


@dataclass(frozen=True, eq=False)
class Plan:
    """Shards of a run."""

    wanted: Ints  # (rows,) responses that each row of the data gets at each temperature; 0 for a row that is left out
    size: int  # samples of a shard; the last one has fewer

    @property
    def samples(self) -> int:
        """The number of samples."""
        return int((self.wanted > 0).sum())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the shards."""
        return tuple(f"{PREFIX}{number:06d}.parquet" for number in range(-(-self.samples // self.size)))

    def of(self, number: int) -> int:
        """Return the number of samples of a shard."""
        return min(self.size, self.samples - number * self.size)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows of one shard, and the responses that each gets at each temperature."""

    number: int
    batch: Batch
    wanted: Sequence[int]


def stretches(table: Table, plan: Plan, numbers: Collection[int]) -> Iterator[Stretch]:
    """Yield the stretches of some shards, by ``numbers``, in one pass over the table, of Parquet from the first on."""
    if not numbers:
        return
    held, count, number, batches = list[Batch](), 0, 0, table.batches()
    if isinstance(table, ParquetTable) and (number := min(numbers)):
        first = int(np.flatnonzero(plan.wanted)[number * plan.size])
        batches = table.between([*range(first, table.rows, FEW_ROWS), table.rows])
    for batch in batches:
        rows = [row for row in range(len(batch)) if plan.wanted[batch.start + row]]
        while rows:
            part, rows = rows[: plan.size - count], rows[plan.size - count :]
            count += len(part)
            if number in numbers:
                held.append(batch.take(part))
            if count == plan.of(number):
                if held:
                    places = [part.number(row) for part in held for row in range(len(part))]
                    whole = replace(joined(held), start=held[0].start)
                    yield Stretch(number, whole, [int(plan.wanted[row]) for row in places])
                held, count, number = [], 0, number + 1
        if number > max(numbers):
            return
