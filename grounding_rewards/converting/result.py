"""Result of ``convert``: counts, problems and notes, for stderr and JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grounding_rewards.converting import Layout, Reading, Sample
from grounding_rewards.converting.layout import IMAGES
from grounding_rewards.converting.samples import SampleNames
from grounding_rewards.errors import ConvertError
from grounding_rewards.tables import Table
from grounding_rewards.tables.columns import guess_note
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.suspects import SuspectTargets, described

LISTED = 20
SOURCE = "data_source"
_NUMBERS = re.compile(r"-?[0-9][-+0-9.,e ]*")


@dataclass
class Converted:
    """Counts, problems and notes of one conversion.

    Attributes:
        guesses: guessed columns, by role.
        space: the space of targets that do not name one.
        split: the split of the input, if it has splits.
        left_out: columns whose names the trainer needs.
        files: names of the input's files, if it has several.
        rows: number of rows read.
        written: number of rows written.
        problems: number, place and problem of each row that cannot be converted.
        notes: notes, without problems.
        suspects: suspicious targets.
        warnings: warnings.
        spaces: number of targets by space.
        without_size: number of rows whose image has no known size.
        turned: number of images that their EXIF data ask to turn.
        relative: number of images with relative paths.
        repeated: number of rows with an earlier one's name, and the first of them, each after its namesake.
        reporting: takes notes and warnings.
    """

    guesses: Mapping[str, str] = field(default_factory=dict)
    space: str | None = None
    split: str | None = None
    left_out: Sequence[str] = ()
    files: Sequence[str] = ()
    rows: int = 0
    written: int = 0
    problems: list[tuple[int, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    suspects: list[SuspectTargets] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    spaces: Counter[str] = field(default_factory=Counter)
    without_size: int = 0
    turned: int = 0
    relative: int = 0
    repeated: tuple[int, Sequence[tuple[int, int]]] = (0, ())
    reporting: Reporting = SILENT

    def note(self, text: str) -> None:
        """Keep and report a note."""
        self.notes.append(text)
        self.reporting.note(text)

    def warn(self, text: str) -> None:
        """Keep and report a warning."""
        self.warnings.append(text)
        self.reporting.warn(text)

    def count(self, samples: Sequence[Sample]) -> None:
        """Count samples that are written."""
        self.spaces.update(str(sample.target.space) for sample in samples if sample.target.space is not None)
        self.without_size += sum(sample.target.image_size is None for sample in samples)
        self.turned += sum(sample.turned for sample in samples)
        self.relative += sum(image.relative for sample in samples for image in sample.images)

    def list_problems(self, *, all_in_json: bool, but_first: bool = False) -> None:
        """Note rows that cannot be converted: in one line those whose problems differ in numbers alone.

        Only the first problems are listed; ``but_first`` leaves the very first one out.
        """
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
        count, pairs = self.repeated
        kept = {name: value for name, value in vars(self).items() if name not in _NOT_IN_JSON}
        problems = [{"row": row, "place": place, "why": why} for row, place, why in self.problems]
        return {**kept, "problems": problems, "repeated_ids": {"count": count, "rows": [list(pair) for pair in pairs]}}


_FEW = 0.05
"""Share of rows whose targets may lie in another space by a mistake of their own."""

_NOT_IN_JSON = ("relative", "repeated", "reporting", "suspects")


class NotConvertedError(ConvertError):
    """Rows cannot be converted, so that nothing is written; ``result`` has their problems."""

    def __init__(self, message: str, result: Converted) -> None:
        super().__init__(message)
        self.result = result


def note_input(result: Converted, table: Table) -> None:
    """Note the files that are read, where a directory has several."""
    skipped = list(getattr(table, "skipped", ()))
    if len(result.files) > 1:
        more = f" and {len(result.files) - 3} more" if len(result.files) > 3 else ""
        result.note(f"reads {len(result.files)} files one after the other: {', '.join(result.files[:3])}{more}")
    if skipped:
        result.note(f"skips files without rows: {', '.join(skipped)}")


def note_columns(result: Converted, layout: Layout, reading: Reading, remarks: Sequence[str]) -> None:
    """Note the guessed columns, and those left out."""
    for role, column in result.guesses.items():
        if column == reading.unnamed and role == "source" and reading.columns.source is None:
            result.note(f"source: {column}, by the name of the input; --source names another")
            continue
        space = f", in {result.space}" if role == "target" and result.space else ""
        result.note(guess_note(role, column, space))
    for text in remarks:
        result.note(text)
    if result.left_out:
        result.note(f"left out, for {layout.name} has columns of these names: {', '.join(result.left_out)}")


def note_samples(
    result: Converted, layout: Layout, reading: Reading, names: SampleNames, *, fields: bool, looked_up: str | None
) -> None:
    """Note and warn about the rows that were written."""
    if result.problems:
        result.warn(f"{len(result.problems)} of {result.rows} rows cannot be converted, and are left out")
    for text in described(result.suspects):
        result.warn(text)
    result.repeated = names.repeated()
    count, pairs = result.repeated
    if count:
        first, second = pairs[0]
        result.warn(
            f"{count} rows have the id of an earlier one, the first are rows {first} and {second}: they count as one "
            "sample"
        )
    if result.without_size and not layout.decoded:
        result.note(
            f"{result.without_size} rows say no image size, which recipes need to convert pixels; name it by "
            "--image-size-column"
        )
    if result.relative:
        here = f"which were looked up in {looked_up}" if looked_up else "which were not looked up"
        result.warn(
            f"{result.relative} images have relative paths, {here}; {layout.name} looks them up where it is started; "
            "--image-root makes them whole"
        )
    if result.turned:
        opened = (
            f"{layout.name} opens them by datasets, which does so, and sizes are those of what it sees"
            if fields or layout.decoded
            else f"{layout.name} opens paths as they are stored, and sizes are those"
        )
        result.note(f"{result.turned} images say in their EXIF data that they are to be turned or mirrored; {opened}")
    if layout.decoded and not fields and reading.columns.image:
        result.note(
            f"{IMAGES} holds paths, and {layout.name} wants images, which JSON cannot say: write Parquet, or cast the "
            "column: cast_column('images', List(Image()))"
        )
