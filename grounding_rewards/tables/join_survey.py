"""One reading of annotations and predictions before they are joined: samples by id, and columns that differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grounding_rewards.coords.image_header import ENOUGH, image_size
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables.base import Note, Table, number
from grounding_rewards.tables.files import schema_of
from grounding_rewards.tables.join_ids import IdColumns, Key, alike, keys_of, shown
from grounding_rewards.tables.sample_ids import from_json, plain

MADE = "sample_id"
"""Column that holds an id of several columns as one text, where annotations have none of this name."""

RENAMED = "pred."
"""Text before the name of a prediction's column that differs from the annotations' of that name."""

_SHORT = 1 << 12
"""Bytes that hold the size of most images."""


@dataclass(eq=False)
class Sample:
    """An annotation, its place for errors, the number of predictions that name it, and annotations that repeat it."""

    row: dict[str, Any]
    place: str
    predicted: int = 0
    repeats: list[Sample] = field(default_factory=list)

    @property
    def every(self) -> tuple[Sample, ...]:
        """Return the annotation and those that repeat it."""
        return (self, *self.repeats)


@dataclass(frozen=True, eq=False)
class JoinSurvey:
    """Result of ``survey``.

    Attributes:
        samples: annotations by their ids, in order.
        predictions: number of predictions.
        strays: ids of predictions that name no annotation; None for null.
        columns: names of the columns of joined rows.
        names: names in joined rows of the columns of predictions; empty for one that annotations have.
        bytes: columns that hold bytes, such as images.
        texts: whether values of either table are texts, as in CSV.
        usual: how many predictions most samples have.
    """

    samples: Mapping[Key, Sample]
    predictions: int
    strays: Sequence[Key | None]
    columns: tuple[str, ...]
    names: Mapping[str, str]
    bytes: frozenset[str]
    texts: bool
    usual: int = 1

    def sample(self, key: Key | None) -> Sample | None:
        """Return the annotation of an id."""
        return None if key is None else self.samples.get(key)


def survey(
    annotations: Table,
    predictions: Table,
    ids: IdColumns,
    predicted: Collection[str],
    note: Note,
    alike: Sequence[str] = (),
    *,
    texts: bool = False,
) -> JoinSurvey:
    """Read annotations into memory, and predictions once; the arguments are those of ``matched``."""
    texts = texts or any(next(iter(table.batches(size=1, whole=False))).texts for table in (annotations, predictions))
    images = _columns_of_bytes(annotations) | _columns_of_bytes(predictions)
    samples = _samples(annotations, ids.annotations, images, note, alike, texts=texts)
    every = [each for sample in samples.values() for each in sample.every]
    ours = dict.fromkeys(name for sample in every for name in sample.row)
    compared = [name for name in ours if name not in {*predicted, *ids.predictions, *images}]
    theirs, differing, count, strays = _compared(predictions, ids.predictions, compared, samples, texts=texts)
    if len(strays) == count and not texts and _of_digits(samples, strays):
        return survey(annotations, predictions, ids, predicted, note, alike, texts=True)
    if len(strays) == count:
        raise _no_match(annotations, predictions, ids, samples, strays)
    gone = {name for name in ours if name in predicted and (name in theirs or name == "response")}
    for sample in every:
        for name in gone:
            sample.row.pop(name, None)
    names = _names([name for name in ours if name not in gone], theirs, ids, differing)
    _report(annotations, predictions, sorted(gone - theirs.keys()), {name: names[name] for name in differing}, note)
    columns = dict.fromkeys([*(name for name in ours if name not in gone), *filter(None, names.values())])
    numbers = Counter(each.predicted for each in samples.values() if each.predicted and not each.repeats)
    usual = numbers.most_common(1)[0][0] if numbers else 1
    return JoinSurvey(samples, count, strays, tuple(columns), names, frozenset(images), texts, usual)


def _samples(
    table: Table, ids: Sequence[str], images: Collection[str], note: Note, alike: Sequence[str], *, texts: bool
) -> dict[Key, Sample]:
    """Return annotations by their ids, with the first bytes of their images alone.

    Of one id, those that are equal in all columns of ``alike`` are all kept; without any, equal ones are one.

    Raises:
        TableError: one has no id, or that of another one, which differs.
    """
    samples, twice = dict[Key, Sample](), 0
    for batch in table.batches(whole=False):
        for index, key in enumerate(keys_of(table, batch, ids, texts=texts)):
            place, name = batch.place(index), ", ".join(ids)
            if key is None:
                raise TableError(f"{table.path}, {place}: {name}: got null; expected the id of the sample (--id)")
            row = {name: _begun(value) if name in images else value for name, value in batch.rows[index].items()}
            if len(key) > 1:
                row.setdefault(MADE, json.dumps(key, ensure_ascii=False))
            first = samples.setdefault(key, sample := Sample(row, place))
            if first is sample:
                continue
            if alike and not any(_differ(first.row.get(each), row.get(each)) for each in alike):
                first.repeats.append(sample)
            elif _differ(first.row, row):
                raise TableError(
                    f"{table.path}, {place}: {name}: {shown(key)} is in {first.place}, too, and the rows differ; "
                    "expected one row a sample: remove one, or tell them apart by several columns: --id COLUMN,COLUMN"
                )
            twice += 1
    if twice:
        end = "count as often" if alike else "count once"
        columns = ", ".join(alike) if alike else "every column"
        note(f"{table.path}: {twice} of {len(samples) + twice} rows repeat another one in {columns}, and {end}")
    return samples


def _compared(
    table: Table, ids: Sequence[str], columns: Sequence[str], samples: Mapping[Key, Sample], *, texts: bool
) -> tuple[dict[str, None], set[str], int, list[Key | None]]:
    """Mark the samples that predictions name.

    Returns:
        Columns of predictions, those of ``columns`` that differ from annotations, the number of rows, and the ids of
        those that name no sample.
    """
    theirs, differing = dict.fromkeys(table.columns), set[str]()
    count, strays = 0, list[Key | None]()
    for batch in table.batches([*ids, *columns], whole=False):
        count += len(batch)
        for row, key in zip(batch.rows, keys_of(table, batch, ids, texts=texts), strict=True):
            if not row.keys() <= theirs.keys():  # each row of JSON may bring keys of its own
                theirs |= dict.fromkeys(row)
            if key is None or key not in samples:
                strays.append(key)
                continue
            sample = samples[key]
            sample.predicted += 1
            for name in columns:
                if name not in row or name in differing:
                    continue
                if all(_differ(each.row.get(name), row[name], texts=texts) for each in sample.every):
                    differing.add(name)
    return theirs, differing, count, strays


def _names(
    ours: Collection[str], theirs: Collection[str], ids: IdColumns, differing: Collection[str]
) -> dict[str, str]:
    names = dict[str, str]()
    for name in theirs:
        names[name] = "" if name in ours or name in ids.predictions else name
        if name in differing:
            names[name] = RENAMED + name
            while names[name] in {*ours, *theirs}:
                names[name] = RENAMED + names[name]
    return names


def _report(
    annotations: Table, predictions: Table, gone: Sequence[str], renamed: Mapping[str, str], note: Note
) -> None:
    for name in gone:
        note(f"column {name} of {annotations.path} is left out: responses are those of {predictions.path}")
    if renamed:
        pairs = ", ".join(f"{name} as {other}" for name, other in sorted(renamed.items()))
        note(f"columns of {predictions.path} that differ from those of {annotations.path} are renamed: {pairs}")


def _of_digits(samples: Mapping[Key, Sample], strays: Sequence[Key | None]) -> bool:
    """Return True where ids are numbers in one table and would be those of the other as texts."""
    sides = [[*samples], [key for key in strays if key is not None]]
    return any(all(isinstance(part, int) for key in side for part in key) for side in sides) and alike(*sides)


def _no_match(
    annotations: Table, predictions: Table, ids: IdColumns, samples: Mapping[Key, Sample], strays: Sequence[Key | None]
) -> TableError:
    key = next((each for each in strays if each is not None), None)
    digits = "; digits are texts in one of them and numbers in the other: write both as texts, or name"
    return TableError(
        f"{predictions.path}: no row names a sample of {annotations.path}: {', '.join(ids.predictions)} is "
        f"{shown(key)} here, {', '.join(ids.annotations)} is {shown(next(iter(samples)))} there"
        f"{digits if alike(samples, strays) else '; name'} the columns that hold the same in both by --id"
    )


def _differ(ours: Any, theirs: Any, *, texts: bool = False) -> bool:
    """Return True where a value contradicts an annotation's; nothing contradicts nothing."""
    if ours == theirs or theirs is None or theirs != theirs:
        return False
    if texts:
        ours, theirs = (number(from_json(each)) if isinstance(each, str) else each for each in (ours, theirs))
    try:
        return bool(plain(ours) != plain(theirs))
    except (PoolError, RecursionError):  # dates and the like, which are equal only if they are
        return True


def _columns_of_bytes(table: Table) -> set[str]:
    schema = schema_of(table)
    if schema is None:
        return set()
    from grounding_rewards.tables.parquet import holds_bytes  # pyarrow, which JSON does without

    return {field.name for field in schema if holds_bytes(field.type)}


def _begun(value: Any) -> Any:
    """Return a value with the beginning of what bytes it holds: the header of an image, which has its size."""
    if isinstance(value, bytes):
        short = value[:_SHORT]
        return short if image_size(short) else value[:ENOUGH]
    if isinstance(value, dict):
        return {key: _begun(item) for key, item in value.items()}
    return [_begun(item) for item in value] if isinstance(value, list) else value
