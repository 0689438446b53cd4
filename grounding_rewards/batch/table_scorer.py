"""Score batches of a table: names of its columns, sizes of its images, and errors that say where something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, cast, get_args

import numpy as np

from grounding_rewards.arrays import nowhere
from grounding_rewards.batch.score_rows import Inputs, RecipeSlice, Sizes, score_rows
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import MISSING, ConvertError, PictureError, RecipeError, TableError, TargetError
from grounding_rewards.literals import literal
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.columns import LISTS, NONE, Columns, columns_read, has, resolve
from grounding_rewards.tables.image_files import ImageFiles, read_images
from grounding_rewards.tables.layouts import Layout, TargetCells, place_named, space_named
from grounding_rewards.tables.prompts import response_text
from grounding_rewards.tables.rows import Batch, Note, Table, joined, numbers_of, require_column, value_at
from grounding_rewards.tables.sample_ids import name_of
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import BadTarget, Targets

_TEXTS = {str, type(None)}


@dataclass(frozen=True)
class RowImages:
    """Images of the rows of a table."""

    files: ImageFiles  # the folder of the images, and bounds on them
    column: str  # the column of images
    note: Note  # takes, once, where sizes were read
    unknown: str = ""  # why no column of images is known; "" where one is
    _noted: list[str] = field(default_factory=list, repr=False, compare=False)

    @property
    def read(self) -> bool:
        """Return True once a size was read."""
        return bool(self._noted)

    def filled(
        self, batch: Batch, sizes: Sizes | None, errors: Mapping[int, TargetError], recipe: Recipe
    ) -> tuple[Sizes | None, dict[int, str]]:
        """Return sizes with those of images in rows whose errors miss one, and why other rows have none."""
        # Without a way to resize it an image's size does not say that of the image that the model saw.
        fields = {"image_size", "model_image_size"} if recipe.resizing else {"image_size"}
        known: list[Any] = [None] * len(batch) if sizes is None else list(sizes)
        why, found = dict[int, str](), False
        for row, error in errors.items():
            if error.came is MISSING and error.field in fields:
                try:
                    known[row], found = self._size(batch, row), True
                except (ConvertError, PictureError) as problem:
                    why[row] = str(problem)
        if not found:
            return sizes, why
        self.noted(
            f"image sizes: of the images in column {self.column}, in {self.files.root}; --image-column, "
            "--image-root or --image-size-column name others"
        )
        return known, why

    def noted(self, text: str) -> None:
        """Take, once, where sizes were read, here or on a worker."""
        if not self.read:
            self._noted.append(text)
            self.note(text)

    def known(self, batch: Batch, rows: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the sizes of some rows' images, as far as these can be read."""
        sizes = dict[int, tuple[float, float]]()
        some = batch.take(rows, whole=False)
        for place, row in enumerate(rows):
            with suppress(ConvertError, PictureError):
                sizes[row] = self._size(some, place)
        return sizes

    def _size(self, batch: Batch, row: int) -> tuple[float, float]:
        """Return the size of a row's image, of several of the last one, as stored."""
        value = value_at(batch.rows[row], self.column)
        if value is None and self.unknown:
            raise ConvertError(self.unknown)
        image = read_images(value)[-1]
        info = self.files.look(image, turning=False)
        if info is None:
            raise PictureError(f"image: {image.path!r:.80} is an address on a network, which is not read")
        return info.size


@dataclass(frozen=True)
class Scoring:
    """Settings by which rows of tables are scored; ``of`` returns the scorer of one."""

    recipe: Recipe
    columns: Columns  # those without names are looked for in each table
    bad_target: str = "raise"
    box_format: BoxFormat | None = None  # how boxes are written, as in ``Targets.from_list``
    image_files: ImageFiles | None = None  # reads sizes that rows lack, by default in the folder of the table
    layouts: Sequence[Layout] | None = None  # of a benchmark that is named, as in ``resolve``
    answered: bool = True  # False where responses are still to come
    on_note: Note = field(default=lambda text: None, repr=False, compare=False)
    on_warning: Note = field(default=lambda text: None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.bad_target not in (choices := get_args(BadTarget)):
            raise RecipeError(f"bad_target: got {self.bad_target!r:.60}; expected one of {', '.join(choices)}")

    def of(self, table: Table) -> TableScorer:
        """Return the scorer of one table, which knows its columns."""
        found = resolve(
            table, self.columns, label_free=self.recipe.label_free, answered=self.answered,
            box_format=self.box_format, layouts=self.layouts,
        )  # fmt: skip
        columns, layout, box_format, images = found.columns, found.layout, self.box_format, None
        for text in (*([layout.note(box_format, space_named(self.recipe))] if layout else ()), *found.notes):
            self.on_note(text)
        box_format = box_format or (layout and layout.box_format) or place_named(columns.target)[1]
        if self.image_files is not None:
            images = RowImages(self.image_files.of(table.path), columns.image, self.on_note, found.no_image)
        own = vars(replace(self, columns=columns, box_format=box_format))
        return TableScorer(**own, table=table, layout=layout, guessed=found.guessed, images=images)


@dataclass(frozen=True, kw_only=True)
class TableScorer(Scoring):
    """Score batches of a table; errors name the file and the row."""

    table: Table = field(compare=False)
    layout: Layout | None = None  # the benchmark's layout; None for a table of none
    # attributes of ``columns`` that were guessed: what targets say themselves goes before them
    guessed: frozenset[str] = frozenset()
    images: RowImages | None = field(default=None, repr=False)
    diagnosis: Diagnosis | None = field(default=None, repr=False, compare=False)

    def where(self, batch: Batch, row: int) -> str:
        """Return the file and the place of a row of a batch, for errors."""
        return f"{self.table.path}, {batch.place(row)}"

    def used(self) -> dict[str, str]:
        """Return the columns that are read of a table, by role, for JSON."""
        names = {name: column for name, column in vars(self.columns).items() if has(self.table, column)}
        if self.images is None or not self.images.read:
            names.pop("image", None)
        return names

    def noting(self, note: Note) -> TableScorer:
        """Return the same, with another place for its notes and warnings."""
        images = self.images and replace(self.images, note=note, _noted=[])
        return replace(self, images=images, on_note=note, on_warning=note)

    def batches(self, *, by: Sequence[str] = (), whole: bool) -> Iterator[Batch]:
        """Return the table's batches with what scoring reads, and ``by``; one batch where rows are compared."""
        for name in by:
            require_column(self.table, name, "--by")
        if "groups" in self.recipe.needs and not has(self.table, self.columns.target):
            require_column(self.table, self.columns.id, "--id-column")
        columns = None if self.recipe.reads_extras else [*self.reads(), *by]
        if not self.recipe.needs & {"groups", "trajectories"}:
            return self.table.batches(columns, whole=whole)
        # A directory has a batch a file at least, and a row is to be compared with those of other files, too.
        return iter([joined(self.table.batches(columns, whole=whole, size=np.iinfo(np.int32).max))])

    def reads(self) -> tuple[str, ...]:
        """Return the columns of a table that scoring reads."""
        names = {**vars(self.columns), **({} if self._reads_images() else {"image": ""})}
        return columns_read([*names.values(), *sorted(self.cells.reads)])

    def _reads_images(self) -> bool:
        """Return True where images may be needed; their bytes are not read for the few rows that lack a size."""
        targets = space_named(self.recipe) or (self.layout.space if self.layout else self.recipe.target_space)
        one = len({self.recipe.space, self.recipe.response_space, targets}) == 1 and "screen" not in self.recipe.needs
        if self.images is None or (one and self.diagnosis is None):
            return False
        schema, top = self.table.schema, self.columns.image.partition(".")[0]
        if schema is None or top not in schema.names or not (one or has(self.table, self.columns.image_size)):
            return True
        from grounding_rewards.tables.arrow_rows import holds_bytes  # pyarrow, which JSON does without

        return not holds_bytes(schema.field(top).type)

    def score(self, batch: Batch, *, groups: Sequence[Hashable] | None = None) -> RecipeSlice:
        """Score a batch; ``groups`` says which rows to compare, by a key for each row; None for those of one sample."""
        reads_extras, extras = self.recipe.reads_extras, None
        if reads_extras:  # rows of JSON may have keys that the first batch, which names the columns, lacks
            extras = {name: batch.column(name) for name in dict.fromkeys([*self.table.columns, *chain(*batch.rows)])}
        inputs = Inputs(
            self.responses(batch),
            self.targets(batch),
            extras=extras,
            image_sizes=lambda read: self.image_sizes(batch, read, array=True),
            model_image_sizes=self.sizes(batch, self.columns.model_image_size, array=True),
            groups=(lambda _, targets, __: self.samples(batch, targets)) if groups is None else groups,
            token_lengths=self.lengths(batch) if reads_extras else None,
            box_format=self.box_format,
        )
        scored = score_rows(self.recipe, inputs, "abstain")  # under "raise", too: the error below names the file
        if scored.scores.errors and self.images is not None:
            scored = self._sized(self.images, batch, inputs, scored)
        if self.bad_target == "raise" and scored.scores.errors:
            raise self.bad_target_error(batch, *next(iter(scored.scores.errors.items())))
        self.diagnose(batch, scored)
        return scored

    def diagnose(self, batch: Batch, scored: RecipeSlice) -> None:
        """Count a batch that was scored in the diagnosis, if there is one."""
        if self.diagnosis is not None:
            self.diagnosis.add(
                self._with_sizes(self.diagnosis, batch, scored), place=lambda row: self.where(batch, row)
            )

    def _with_sizes(self, diagnosis: Diagnosis, batch: Batch, scored: RecipeSlice) -> RecipeSlice:
        """Return scored rows with the sizes by which a diagnosis tries other spaces, where no score needed them."""
        unknown = np.isnan(scored.rollouts.image_sizes[:, 0])
        if self.images is None or not self.columns.image or not unknown.any():
            return scored
        rows = [row for row in diagnosis.sample.kept(len(batch), diagnosis.number).tolist() if unknown[row]]
        read = self.images.known(batch, rows)
        beside = nowhere(len(batch), 2) if scored.sizes[0] is None else scored.sizes[0].copy()
        beside[list(read)] = list(read.values()) or nowhere(0, 2)
        return replace(scored, sizes=(beside, scored.sizes[1]))

    def _sized(self, images: RowImages, batch: Batch, inputs: Inputs, scored: RecipeSlice) -> RecipeSlice:
        """Return the scores with sizes of images where rows lack them; errors say why there are none."""
        known: Any = scored.inputs.image_sizes
        sizes, why = images.filled(batch, known, scored.scores.errors, self.recipe)
        if sizes is not known:
            again = replace(inputs, image_sizes=sizes, groups=scored.rollouts.groups)
            scored = score_rows(self.recipe, again, "abstain")
        errors = {
            row: TargetError(error.sample, error.field, error.came, f"{error.expected}; {why[row]}")
            if row in why
            else error
            for row, error in scored.scores.errors.items()
        }
        return replace(scored, scores=replace(scored.scores, errors=errors))

    def targets(self, batch: Batch) -> Sequence[Any]:
        """Return the targets of a batch; see ``TargetCells.values``."""
        space = self.layout.space if self.layout and not space_named(self.recipe) else None
        return self.cells.values(batch.rows, space)

    @property
    def cells(self) -> TargetCells:
        """The columns of which targets are made."""
        refusal = "" if self.columns.refusal == NONE else self.columns.refusal
        return TargetCells(self.columns.target, refusal, self.layout, self.recipe.native is not None)

    def read_targets(self, targets: Sequence[Any]) -> Targets:
        """Read targets as ``score`` does; those that cannot be read abstain."""
        return self.recipe.read_targets(targets, bad_target="abstain", warn=False, box_format=self.box_format)

    def responses(self, batch: Batch) -> Sequence[str | None]:
        """Return the column of responses, each a text or None."""
        name, rows = self.columns.response, cast(Any, batch.rows)
        if len(batch) >= VECTOR_ROWS and hasattr(rows, "text_array") and (texts := rows.text_array(name)) is not None:
            return Texts(None, texts)
        responses = batch.column(name)
        if batch.texts and name in LISTS:  # cells of CSV
            responses = [literal(text) if isinstance(text, str) else text for text in responses]
        for row, cell in enumerate(responses) if not {*map(type, responses)} <= _TEXTS else ():
            if cell is None or isinstance(cell, str):
                continue
            responses[row] = response_text(cell)
            if responses[row] is None:
                several = isinstance(cell, list) and len(cell) > 1
                came = f"{len(cell)} responses" if several else f"{type(cell).__name__} {cell!r:.60}"
                raise TableError(
                    f"{self.where(batch, row)}: {name}: got {came}; expected a string or null"
                    f"{', one in a row' if several else ''}{self.columns.another('response')}"
                )
        return responses

    def samples(self, batch: Batch, targets: Targets) -> list[Hashable]:
        """Return each row's sample, by its column, else the ``id`` of its target; one of its own without."""
        names: list[Hashable] = []
        stands_in = "id" in self.guessed
        for row, sample in enumerate(batch.column(self.columns.id)):
            target = targets.rows[row]
            if stands_in and target is not None and target.id is not None:
                sample = target.id
            if sample is None:
                sample = targets.errors[row].sample if target is None else target.id
                if target is None and sample == row:  # the error has only the row's number to name it by
                    names.append(("unread", row))  # no text, and so no other row's name
                    continue
            name = name_of(sample)
            if name is None:
                came = "null" if sample is None else f"{sample!r:.60}"
                raise TableError(
                    f"{self.where(batch, row)}: {self.columns.id}: got {came}; expected the sample's name, a "
                    f"text or a whole number, in this column (--id-column) or as id of the target: {self.recipe.name} "
                    "compares the rollouts of one sample"
                )
            names.append(name)
        if 1 < len(names) == len(set(names)):
            self.on_warning(f"{self.recipe.name} compares the rollouts of one sample, and no sample here has two")
        return names

    def lengths(self, batch: Batch) -> list[int] | None:
        """Return the column of lengths in tokens, or None where no row has one."""
        name = self.columns.token_length
        return token_lengths(batch.numbers(name), lambda row: f"{self.where(batch, row)}: {name}")

    def sizes(self, batch: Batch, name: str, *, array: bool = False) -> Sizes | None:
        """Return a column of sizes, an ``array`` if it may be one; None where no row has one that can be used."""
        known = numbers_of(batch.rows, name, 2, texts=True)
        if known is not None and ((known >= 1) & (known <= COORDINATE_LIMIT)).all():
            return cast(Sizes, known) if array else [(wide, high) for wide, high in known.tolist()]
        sizes, values = list[tuple[float, float] | None](), batch.column(name)
        if values.count(None) == len(values):
            return None
        for row, value in enumerate(values):
            size = read_size(value)
            if size is None and value is not None and self.bad_target == "raise":
                came = f"{value!r:.60}"
                field = "image_size" if name == self.columns.image_size else "model_image_size"
                raise TableError(
                    f"{self.where(batch, row)}: {name}: got {came}; expected [width, height] or null"
                    f"{self.columns.another(field)}"
                )
            sizes.append(size)
        return sizes if any(sizes) else None

    def image_sizes(self, batch: Batch, read: Targets, *, array: bool = False) -> Sizes | None:
        """Return the column of image sizes, or None where no row has one; of a guess only what targets do not say."""
        sizes = self.sizes(batch, self.columns.image_size, array=array)
        if sizes is None or "image_size" not in self.guessed or read.known_image_sizes is None:
            return sizes
        unsaid = np.isnan(read.known_image_sizes[:, 0]).tolist()
        return [size if own else None for size, own in zip(sizes, unsaid, strict=True)]

    def needed_sizes(self, batch: Batch) -> Sizes | None:
        """Return the image sizes of a batch as ``score`` knows them: of the column, where they are needed of images."""
        read = self.read_targets(self.targets(batch))
        sizes = self.image_sizes(batch, read)
        if self.images is None:
            return sizes
        model_sizes, rows = self.sizes(batch, self.columns.model_image_size), len(batch)
        ready = self.recipe.prepare(
            [None] * rows, read, image_sizes=sizes, model_image_sizes=model_sizes,
            groups=range(rows), bad_target="abstain",
        )  # fmt: skip
        return self.images.filled(batch, sizes, ready.targets.errors, self.recipe)[0]

    def bad_target_error(self, batch: Batch, row: int, error: TargetError) -> TableError:
        """Return the error of one row's target, with the place of that row in the file."""
        name = value_at(batch.rows[row], self.columns.id)
        named = error.named(batch.number(row) if name is None else str(name))
        hints = [str(named)]
        if self.layout is not None:
            hints.append(f"rows were read as in {self.layout.name}; --target-column names another target")
        if error.field.endswith("image_size") and not has(self.table, size := getattr(self.columns, error.field, "")):
            computed = ", or --pipeline, which computes it" if error.field.startswith("model") else ""
            hints.append(f"the file has no column {size!r} (--{error.field.replace('_', '-')}-column{computed})")
        return TableError(f"{self.where(batch, row)}: {'; '.join([*hints, *fixes(error)])}")


def fixes(error: TargetError) -> list[str]:
    """Return the flags that make another target fit."""
    if error.expected.endswith("judges nothing else"):
        return ["--recipe names another, such as click"]
    return ["on the command line --target-space SPACE"] if error.expected.endswith("option target_space") else []


def token_lengths(lengths: Sequence[Any], place: Callable[[int], str]) -> list[int] | None:
    """Return lengths in tokens, or None where no row has one; ``place`` names a row's, for errors."""
    if all(length is None for length in lengths):
        return None
    for row, length in enumerate(lengths):
        # True is no length; fractions, NaN and infinities differ from what // makes of them
        if type(length) not in (int, float) or length != length // 1 or not 0 <= length <= COORDINATE_LIMIT:
            came = "null" if length is None else f"{length!r:.60}"
            raise TableError(
                f"{place(row)}: got {came}; expected how many tokens the response has, a whole number from 0, in every "
                "row or in none"
            )
    return [int(length) for length in lengths]
