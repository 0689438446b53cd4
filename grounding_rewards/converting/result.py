"""Result of ``convert``: counts, problems and notes, for stderr and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grounding_rewards.converting import Layout, Reading, Sample
from grounding_rewards.converting.layout import IMAGES
from grounding_rewards.converting.samples import SampleNames
from grounding_rewards.errors import ConvertError
from grounding_rewards.tables import Table
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.targets.findings import Finding, described

LISTED = 20
SOURCE = "data_source"


@dataclass
class Converted:
    """Counts, problems and notes of one conversion.

    Attributes:
        guesses: columns that no option named, by role.
        space: the space of targets that do not name one.
        split: the split that was read, where the input has splits.
        left_out: columns whose names the trainer needs.
        files: names of the files that were read, where there are several.
        rows: how many rows there were.
        written: how many are in the output.
        problems: number, place and trouble of each row that cannot be converted.
        notes: what was said on stderr besides problems.
        findings: what looks wrong with targets.
        warnings: what was warned of.
        spaces: how many targets are in which space.
        without_size: rows whose image has no known size.
        turned: images that their EXIF data say to turn.
        relative: images whose paths are relative.
        repeated: how many rows have the name of an earlier one, and the first of them, each after its namesake.
        reporting: where notes and warnings are shown.
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
    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    spaces: Counter[str] = field(default_factory=Counter)
    without_size: int = 0
    turned: int = 0
    relative: int = 0
    repeated: tuple[int, Sequence[tuple[int, int]]] = (0, ())
    reporting: Reporting = SILENT

    def note(self, text: str) -> None:
        """Say something, and keep it."""
        self.notes.append(text)
        self.reporting.note(text)

    def warn(self, text: str) -> None:
        """Warn of something, and keep it."""
        self.warnings.append(text)
        self.reporting.warn(text)

    def count(self, samples: Sequence[Sample]) -> None:
        """Take note of samples that are written."""
        self.spaces.update(str(sample.target.space) for sample in samples if sample.target.space is not None)
        self.without_size += sum(sample.target.image_size is None for sample in samples)
        self.turned += sum(sample.turned for sample in samples)
        self.relative += sum(image.relative for sample in samples for image in sample.images)

    def list_problems(self, *, all_in_json: bool) -> None:
        """Note the first rows that cannot be converted."""
        for _, place, why in self.problems[:LISTED]:
            self.reporting.note(f"{place}: {why}")
        if len(self.problems) > LISTED:
            where = "" if all_in_json else "; --json has all of them"
            self.reporting.note(f"and {len(self.problems) - LISTED} more rows{where}")

    def as_json(self) -> dict[str, Any]:
        """Return plain values, for scripts."""
        count, pairs = self.repeated
        return {
            "split": self.split,
            "files": list(self.files),
            "rows": self.rows,
            "written": self.written,
            "problems": [{"row": row, "place": place, "why": why} for row, place, why in self.problems],
            "guesses": dict(self.guesses),
            "space": self.space,
            "spaces": dict(self.spaces),
            "left_out": list(self.left_out),
            "without_size": self.without_size,
            "turned": self.turned,
            "repeated_ids": {"count": count, "rows": [list(pair) for pair in pairs]},
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


class NotConvertedError(ConvertError):
    """Rows cannot be converted, so that nothing is written; ``result`` has their problems."""

    def __init__(self, message: str, found: Converted) -> None:
        super().__init__(message)
        self.found = found


def note_input(found: Converted, table: Table) -> None:
    """Note the files that are read, where a directory has several."""
    skipped = list(getattr(table, "skipped", ()))
    if len(found.files) > 1:
        more = f" and {len(found.files) - 3} more" if len(found.files) > 3 else ""
        found.note(f"reads {len(found.files)} files one after the other: {', '.join(found.files[:3])}{more}")
    if skipped:
        found.note(f"skips files without rows: {', '.join(skipped)}")


def note_columns(found: Converted, form: Layout, reading: Reading, remarks: Sequence[str]) -> None:
    """Note the guessed columns, and those left out."""
    for role, column in found.guesses.items():
        if column == reading.unnamed and role == "source" and reading.columns.source is None:
            found.note(f"source: {column}, by the name of the input; --source names another")
            continue
        space = f", in {found.space}" if role == "target" and found.space else ""
        found.note(f"{role}: column {column}, by its name{space}; --{role}-column names another")
    for text in remarks:
        found.note(text)
    if found.left_out:
        found.note(f"left out, for {form.name} has columns of these names: {', '.join(found.left_out)}")


def note_samples(
    found: Converted, form: Layout, reading: Reading, names: SampleNames, *, fields: bool, looked_up: str | None
) -> None:
    """Note and warn about the rows that were written."""
    if found.problems:
        found.warn(f"{len(found.problems)} of {found.rows} rows cannot be converted, and are left out")
    for text in described(found.findings):
        found.warn(text)
    found.repeated = names.repeated()
    count, pairs = found.repeated
    if count:
        first, second = pairs[0]
        found.warn(
            f"{count} rows have the id of an earlier one, the first are rows {first} and {second}: they count as one "
            "sample"
        )
    if found.without_size and not form.decoded:
        found.note(
            f"{found.without_size} rows say no image size, which recipes need to convert pixels; name it by "
            "--image-size-column"
        )
    if found.relative:
        here = f"which were looked up in {looked_up}" if looked_up else "which were not looked up"
        found.warn(
            f"{found.relative} images have relative paths, {here}; {form.name} looks them up where it is started; "
            "--image-root makes them whole"
        )
    if found.turned:
        opened = (
            f"{form.name} opens them by datasets, which does so, and sizes are those of what it sees"
            if fields or form.decoded
            else f"{form.name} opens paths as they are stored, and sizes are those"
        )
        found.note(f"{found.turned} images say in their EXIF data that they are to be turned or mirrored; {opened}")
    if form.decoded and not fields and reading.columns.image:
        found.note(
            f"{IMAGES} holds paths, and {form.name} wants images, which JSON cannot say: write Parquet, or cast the "
            "column: cast_column('images', List(Image()))"
        )
