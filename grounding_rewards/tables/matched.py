"""Annotations in one file and predictions in another, joined by the id of samples into one table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize

from grounding_rewards.coords.image_sizes import ENOUGH, image_size
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.opening import files_of_table
from grounding_rewards.tables.rows import BATCH_ROWS, Batch, Note, Table, in_parts, number, require_column
from grounding_rewards.tables.sample_ids import from_json, name_of, plain

Key = tuple[str | int, ...]
"""An id: a value of each of its columns."""

PREDICTED = frozenset((
    *GUESSED["response"], "predictions", "model_image_size", "token_length", "round", "rollout", "recipe", "total",
    "acc", "correct", "reason", "x_unit", "y_unit", "temperature", "policy", "train_step",
))  # fmt: skip
"""Columns that say something of a prediction: where both tables have one, it is that of the predictions."""

ROW = "ROW"
"""Stands for a column of row numbers, counted from 0; the ids of predictions may count them from 1."""

MADE = "sample_id"
"""Column that holds an id of several columns as one text, or a row number, where annotations have none of this name."""

_COUNTING = ("sample_id", "id", "index", "idx", "doc_id", "question_id")
"""Columns in which predictions have the row numbers of annotations."""

_SHORT = 1 << 12
"""Bytes that hold the size of most images."""


@dataclass(eq=False)
class _Sample:
    """An annotation, its place for errors, the number of its predictions, and it with those that repeat it."""

    row: dict[str, Any]
    place: str
    predicted: int = 0
    every: list[_Sample] = field(default_factory=list)


@dataclass(frozen=True)
class JoinCounts:
    """Counts of a join."""

    annotations: int  # samples; one that is there twice counts once
    predictions: int  # rows of predictions
    without_prediction: int  # samples that no prediction names
    without_annotation: int  # predictions that name no sample

    @property
    def further(self) -> int:
        """Number of predictions that are not the first of their sample."""
        return self.predictions - self.without_annotation - (self.annotations - self.without_prediction)


class MatchedTable:
    """Annotations and predictions as one table.

    A row for each prediction, in their order, with the columns of both; then one for each annotation without any, whose
    response is null, so that it counts as wrong. Predictions that name no annotation are left out.

    A text and a whole number of the same digits are two ids, unless all ids of one table are numbers, or one of them is
    CSV, whose cells are texts. Two Unicode forms of one text (NFC, NFD) are one id where a table has but one of them.

    A column of both is one where values are equal. Where they differ, ``predicted`` are the predictions'; of all others
    the annotations' stays, and the predictions' is called ``pred.NAME``. ``response`` is never the annotations'.
    """

    schema = None

    def __init__(
        self, annotations: Table, predictions: Table, id: str | None = None, *,
        predicted: Collection[str] = PREDICTED, alike: Sequence[str] = (), unanswered: bool = True,
        note: Note = lambda text: None, warn: Note = lambda text: None,
    ) -> None:  # fmt: skip
        self.annotations, self.predictions, self.unanswered = annotations, predictions, unanswered
        self.path, self.inputs = annotations.path, (annotations.path, predictions.path)
        self.ours, self.theirs, self._guessed = _id_columns(id, annotations, predictions, note)
        numbered = [len(self.ours) == 1 and _is_row(self.ours[0], annotations), _is_row(self.theirs[0], predictions)]
        self._counted, in_order = numbered == [True, False], numbered == [True, True]
        both = (annotations, predictions)
        self._texts = any(next(iter(table.batches(size=1, whole=False))).texts for table in both)
        self._bytes = frozenset(name for table in both for name in _columns_of_bytes(table))
        self._samples, self._folded, self._digits = self._read(alike, note), dict[Key, _Sample](), False
        strays = self._compare(frozenset(predicted) - {*self.ours}, note)
        if in_order and self._rows != len(self._samples):
            raise TableError(
                f"{predictions.path}: got {self._rows} rows for the {len(self._samples)} of {self.path}; expected one "
                "a row, in one order (--id ROW): name columns of ids by --id"
            )
        missing = [key for key, sample in self._samples.items() if not sample.predicted]
        if missing:
            end = "they count as wrong" if unanswered else "they are left out"
            count = f"{len(missing)} of {len(self._samples)} samples have no prediction"
            warn(f"{count}, such as {_shown(missing)}: {end}")
        if strays:
            count = f"{len(strays)} of {self._rows} predictions belong to no sample of {annotations.path}"
            warn(f"{count}, such as {_shown(strays)}: they are left out")
        self.counts = JoinCounts(len(self._samples), self._rows, len(missing), len(strays))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files of both, also of those that are directories."""
        return files_of_table(self.annotations) + files_of_table(self.predictions)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not written, because they hold bytes, such as images."""
        return tuple(sorted(self._bytes))

    @property
    def id(self) -> str:
        """The column that names the sample; for an id of several columns, it holds all of them as JSON."""
        several = len(self.ours) > 1 or _is_row(self.ours[0], self.annotations)
        return MADE if several else self.ours[0]

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        start, turns, wanted = 0, Counter[int](), None
        if columns is not None and not whole:
            wanted = [*self.theirs, *(key for key, name in self._names.items() if name in {*columns})]
        batches = self.predictions.batches(wanted, whole=False, size=size)
        for batch in batches if size else in_parts(batches):  # each row with all that its annotation says
            rows, places = list[dict[str, Any]](), list[str]()
            for index, key in enumerate(self._keys(self.predictions, batch, self.theirs)):
                if (sample := self._named(key)) is not None:
                    pairs = ((self._names.get(name, name), value) for name, value in batch.rows[index].items())
                    own = {name: value for name, value in pairs if name}
                    for each in self._answered(sample, turns):
                        rows.append({**each.row, **own})
                        places.append(f"{each.place}, with {self.predictions.path}, {batch.place(index)}")
            if rows:
                yield self._batch(start, rows, places, batch.done, whole)
                start += len(rows)
        samples = self._samples.values()
        left = (each for one in samples if self.unanswered and not one.predicted for each in one.every)
        nothing = dict.fromkeys(name for name in self._names.values() if name)
        while some := list(islice(left, size or BATCH_ROWS)):
            places = [f"{each.place}, without a prediction" for each in some]
            yield self._batch(start, [{**each.row, **nothing} for each in some], places, 1.0, whole)
            start += len(some)

    def _batch(self, start: int, rows: list[dict[str, Any]], places: list[str], done: float, whole: bool) -> Batch:
        written = rows
        if whole and self._bytes:
            written = [{name: value for name, value in row.items() if name not in self._bytes} for row in rows]
        return Batch(start, rows, written, done, texts=self._texts, places=places)

    def _answered(self, sample: _Sample, turns: Counter[int]) -> Sequence[_Sample]:
        """Return the annotations that the next prediction of a sample answers: all, or the one whose turn it is."""
        several = len(sample.every)
        if several == 1 or sample.predicted != several * self._usual:
            return sample.every
        turns[id(sample)] += 1  # as many as if the annotations were asked one by one
        return (sample.every[(turns[id(sample)] - 1) % several],)

    def _keys(self, table: Table, batch: Batch, names: Sequence[str]) -> list[Key | None]:
        """Return the id of each row; None where a part of it is null."""
        rows = range(len(batch))
        columns = [
            [*map(_part, map(batch.number, rows) if _is_row(name, table) else batch.column(name))] for name in names
        ]
        keys = list[Key | None]()
        for row, key in enumerate(zip(*columns, strict=True)):
            if _NO_ID in key:
                name = names[key.index(_NO_ID)]
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {name}: got {batch.rows[row][name]!r:.60}; expected the id of "
                    "a sample (--id), a text or a whole number"
                )
            keys.append(None if None in key else key)
        return keys

    def _read(self, alike: Sequence[str], note: Note) -> dict[Key, _Sample]:
        """Read annotations; of one id, equal ones are one, or all are kept that are equal in the columns ``alike``."""
        samples, twice, file = dict[Key, _Sample](), 0, self.annotations.path
        for batch in self.annotations.batches(whole=False):
            for index, key in enumerate(self._keys(self.annotations, batch, self.ours)):
                where = f"{file}, {batch.place(index)}: {', '.join(self.ours)}"
                if key is None:
                    raise TableError(f"{where}: got null; expected the id of the sample (--id)")
                row = {
                    name: _begun(value) if name in self._bytes else value for name, value in batch.rows[index].items()
                }
                if len(key) > 1 or _is_row(self.ours[0], self.annotations):
                    row.setdefault(MADE, json.dumps(key, ensure_ascii=False) if len(key) > 1 else key[0])
                sample = _Sample(row, batch.place(index))
                first = samples.setdefault(key, sample)
                same = bool(alike) and not any(_differ(first.row.get(each), row.get(each)) for each in alike)
                if first is sample or same:
                    first.every.append(sample)
                elif alike or _differ(first.row, row):
                    raise TableError(
                        f"{where}: {_shown([key])} is in {first.place}, too, and the rows differ; expected one row a "
                        "sample: remove one, or tell them apart by several columns: --id COLUMN,COLUMN"
                    )
                twice += first is not sample
        if twice:
            how = f"{', '.join(alike)}, and count as often" if alike else "every column, and count once"
            note(f"{file}: {twice} of {len(samples) + twice} rows repeat another one in {how}")
        return samples

    def _compare(self, predicted: Collection[str], note: Note) -> list[Key | None]:
        """Read predictions: count them, name their columns, and return the ids of those that name no sample."""
        every = [each for sample in self._samples.values() for each in sample.every]
        ours = dict.fromkeys(name for sample in every for name in sample.row)
        compared = [name for name in ours if name not in {*predicted, *self.theirs, *self._bytes}]
        theirs, apart, strays, numbers = self._count(compared)
        if strays and self._found(strays, numbers=numbers, note=note):
            theirs, apart, strays, _ = self._count(compared)
        if self._guessed and (strays or not all(sample.predicted for sample in every)):
            raise self._guessed
        if self._guessed:
            note(f"predictions are joined by row number: {self.theirs[0]} counts the rows of {self.path}; --id ROW")
        if len(strays) == self._rows:
            raise self._no_match(strays)
        if self._counted and (0,) in self._samples and not self._first.predicted:
            raise TableError(
                f"{self.predictions.path}: {self.theirs[0]} names neither row 0 nor row {len(self._samples)} of "
                f"{self.path}; expected one of them, which says if rows are counted from 0 or from 1: give annotations "
                "a column of ids, and name it by --id"
            )
        gone = {name for name in ours if name in predicted and (name in theirs or name == "response")}
        for sample in every:
            for name in gone & sample.row.keys():
                del sample.row[name]
        kept, renamed = [name for name in ours if name not in gone], dict[str, str]()
        for name in sorted(apart):
            renamed[name] = f"pred.{name}"
            while renamed[name] in {*kept, *theirs}:
                renamed[name] = f"pred.{renamed[name]}"
        hidden = {name: "" for name in theirs if name in kept or name in self.theirs}
        self._names = {name: name for name in theirs} | hidden | renamed
        self.columns = tuple(dict.fromkeys([*kept, *filter(None, self._names.values())]))
        often = Counter(each.predicted for each in self._samples.values() if each.predicted and len(each.every) == 1)
        self._usual = often.most_common(1)[0][0] if often else 1
        paths = [str(path) for path in self.inputs]
        for name in sorted(gone - theirs.keys()):
            note(f"column {name} of {paths[0]} is left out: responses are those of {paths[1]}")
        if renamed:
            pairs = ", ".join(f"{name} as {other}" for name, other in renamed.items())
            note(f"columns of {paths[1]} that differ from those of {paths[0]} are renamed: {pairs}")
        return strays

    def _count(self, compared: Sequence[str]) -> tuple[dict[str, None], set[str], list[Key | None], bool]:
        """Count the predictions of each sample."""
        theirs, apart, strays = dict.fromkeys(self.predictions.columns), set[str](), list[Key | None]()
        self._rows, numbers = 0, True
        for sample in self._samples.values():
            sample.predicted = 0
        for batch in self.predictions.batches([*self.theirs, *compared], whole=False):
            self._rows += len(batch)
            for row, key in zip(batch.rows, self._keys(self.predictions, batch, self.theirs), strict=True):
                theirs |= dict.fromkeys(row)  # each row of JSON may bring keys of its own
                numbers = numbers and (key is None or _number(key))
                named = self._named(key)
                if named is None:
                    strays.append(key)
                    continue
                named.predicted += 1
                for name in compared:
                    if name not in row or name in apart:
                        continue
                    if all(_differ(each.row.get(name), row[name], texts=self._texts) for each in named.every):
                        apart.add(name)
        return theirs, apart, strays, numbers

    def _named(self, key: Key | None) -> _Sample | None:
        """Return the sample that a prediction's id names."""
        return None if key is None else self._samples.get(key) or self._folded.get(_fold(key, digits=self._digits))

    def _found(self, strays: Sequence[Key | None], *, numbers: bool, note: Note) -> bool:
        """Return True where ids that name no sample do so in another form, or as numbers that count from 1."""
        self._digits = self._texts or numbers or all(map(_number, self._samples))
        forms = {_fold(key, digits=True) for key in strays if key}
        if self._counted and (str(len(self._samples)),) in forms and not (self._first.predicted or ("0",) in forms):
            self._samples = {(number + 1,): sample for number, sample in enumerate(self._samples.values())}
        folded = [(_fold(key, digits=self._digits), sample) for key, sample in self._samples.items()]
        often = Counter(form for form, _ in folded)
        self._folded = {form: sample for form, sample in folded if often[form] == 1}
        found = [key for key in strays if key and self._named(key)]
        if not {tuple(map(str, key)) for key in found} <= {tuple(map(str, key)) for key in self._samples}:
            note("ids of one text in two Unicode forms (NFC, NFD) are one id")
        return bool(found)

    @property
    def _first(self) -> _Sample:
        return next(iter(self._samples.values()))

    def _no_match(self, strays: Sequence[Key | None]) -> TableError:
        key, other = next((each for each in strays if each is not None), None), next(iter(self._samples))
        ours, theirs = ({_fold(each, digits=True) for each in keys if each} for keys in (self._samples, strays))
        advice = "name the columns that hold the same in both by --id"
        if not ours.isdisjoint(theirs):
            advice = f"digits are texts in one of them and numbers in the other: write both as texts, or {advice}"
        elif len(self.theirs) == 1 and all(str(part).isdecimal() for form in theirs for part in form):
            advice += f", or --id ROW={self.theirs[0]} where these are the numbers of rows"
        return TableError(
            f"{self.predictions.path}: no row names a sample of {self.path}: {', '.join(self.theirs)} is "
            f"{_unlike(key, other)} here, {', '.join(self.ours)} is {_unlike(other, key)} there; {advice}"
        )


def _id_columns(named: str | None, annotations: Table, predictions: Table, note: Note) -> tuple[Any, Any, Any]:
    """Return the columns of the id in both, and the error to raise if guessed row numbers do not count rows."""
    both = [name for name in annotations.columns if name in predictions.columns]
    counting = next((name for name in _COUNTING if name in predictions.columns), ROW)
    if named is None:
        content = (f"{image},{words}" for image in GUESSED["image"] for words in GUESSED["instruction"])
        usual = ("sample_id", "id", *content)  # benchmarks without ids name an image and an instruction
        named = next((name for name in usual if {*name.split(",")} <= {*both}), None)
        if named is None:
            question = _question(annotations, predictions, both)
            error = TableError(
                f"{annotations.path} and {predictions.path}: {question}; --id ROW=ROW says that both have the same "
                "rows in one order"
            )
            if counting == ROW or not {*_COUNTING}.isdisjoint(annotations.columns):
                raise error
            return (ROW,), (counting,), error
        if named != "sample_id":
            note(f"predictions are joined by {named.replace(',', ' and ')}; --id names others")
    pairs = list[tuple[str, str]]()
    for part in [named] if named in both else named.split(","):
        ours, equals, theirs = (part, "", "") if part in both else part.partition("=")
        if not ours or (equals and not theirs):
            raise TableError(
                f"--id: got {named!r:.80}; expected COLUMN, COLUMN,COLUMN or ANNOTATIONS=PREDICTIONS, names of columns"
            )
        pairs.append((ours, theirs or (counting if _is_row(ours, annotations) else ours)))
    first, second = zip(*pairs, strict=True)
    for table, names in ((annotations, first), (predictions, second)):
        for name in names:
            if not _is_row(name, table):
                require_column(table, name, "--id")
    return first, second, None


def _is_row(name: str, table: Table) -> bool:
    return name == ROW and ROW not in table.columns


def _question(annotations: Table, predictions: Table, both: Sequence[str]) -> str:
    if not both:
        first, second = (", ".join(map(str, table.columns)) for table in (annotations, predictions))
        return f"have no column in common ({first}; {second}); name the id of samples by --id ANNOTATIONS=PREDICTIONS"
    several = f" or --id {','.join(both[:2])}" if len(both) > 1 else ""
    return (
        f"both have neither sample_id nor id nor an image with an instruction, but {', '.join(both)}; name what holds "
        f"the id of samples, such as --id {both[0]}{several}"
    )


_NO_ID = object()


def _part(value: Any) -> Any:
    """Return a value as a part of an id: None for nothing, ``_NO_ID`` for what is none."""
    if value is None or value != value:
        return None
    name = name_of(value)
    return _NO_ID if name is None else name if isinstance(value, str) else int(value)


def _number(key: Key) -> bool:
    return all(isinstance(part, int) for part in key)


def _fold(key: Key, *, digits: bool) -> Key:
    """Return the form in which ids are equal that differ in their Unicode form alone, or as a number and its digits."""
    return tuple(normalize("NFC", str(part)) if digits or isinstance(part, str) else part for part in key)


def _shown(keys: Iterable[Key | None]) -> str:
    """Return the first ids as errors show them."""
    return ", ".join(f"{_plain(key):.80}" for key in islice(keys, 3))


def _plain(key: Key | None) -> str:
    return "null" if key is None else repr(key[0] if len(key) == 1 else key)


def _unlike(key: Key | None, other: Key | None) -> str:
    """Return an id as errors show it beside another one: where they look alike, in ASCII from where they differ."""
    one, two = _plain(key), _plain(other)
    if f"{one:.80}" != f"{two:.80}" and normalize("NFC", one) != normalize("NFC", two):
        return f"{one:.80}"
    place = next((place for place, (mine, its) in enumerate(zip(one, two, strict=False)) if mine != its), 0)
    return f"...{one[place:].encode('ascii', 'backslashreplace').decode():.80}"


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
    if table.schema is None:
        return set()
    from grounding_rewards.tables.arrow_rows import holds_bytes  # pyarrow, which JSON does without

    return {field.name for field in table.schema if holds_bytes(field.type)}


def _begun(value: Any) -> Any:
    """Return a value with the beginning of what bytes it holds: the header of an image, which has its size."""
    if isinstance(value, bytes):
        short = value[:_SHORT]
        return short if image_size(short) else value[:ENOUGH]
    if isinstance(value, dict):
        return {key: _begun(item) for key, item in value.items()}
    return [_begun(item) for item in value] if isinstance(value, list) else value
