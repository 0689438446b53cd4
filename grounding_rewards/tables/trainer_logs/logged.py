"""Trainers' logs as rollouts: lines, one row of a log, the samples and rounds of its rows, and the log as a table."""

from __future__ import annotations

import copy
import logging
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.prompts import image_path, prompt_text
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow, arrow_type
from grounding_rewards.tables.rows import BATCH_BYTES, BATCH_ROWS, Batch, NoRowsError
from grounding_rewards.tables.sample_ids import as_json, from_json, name_of, sample_id, shared_id
from grounding_rewards.tables.text_rows import JsonLinesTable

LOG = logging.getLogger("grounding_rewards")

VERDICTS = ("acc", "accuracy", "correct")
"""Names of full success in logs, the likeliest first."""

_STRICT = {"round": "a whole number", "temperature": "a number"}
"""Columns that choose rollouts: what they cannot hold is an error, as in any rollout table."""


class Logged(Struct, frozen=True, eq=False):
    """One rollout of a log."""

    file: Path
    digest: str  # of all that this file holds
    place: str  # where in it, for errors
    number: int  # its number in it, counted from 0
    prompt: Any
    response: Any
    target: Any
    total: Any = None  # what the rollout scored, as it was written
    verdict: tuple[str, Any] = ("acc", None)  # the field that says whether it was right, and what it says
    train_step: Any = None
    scored: bool = True  # False where the target could not be used, so that neither total nor verdict count
    more: Mapping[str, Any] = {}  # other columns of a rollout table, and parts
    image: Any = None  # the image, as a path or whatever else tells it from others
    # what tells apart samples of one content, by its name: ``uid``, ``index``
    apart: Mapping[str, Any] = {}

    @property
    def target_json(self) -> str | None:
        """The target as text that JSON reads; None where there is none."""
        return None if missing(self.target) else as_json(self.target)

    def value(self, column: str) -> Any:
        """Return its value in one column of a rollout table; None where nobody knows."""
        made = _MADE.get(column)
        if made:
            return made(self)
        came = self.more.get(column)
        if column not in _STRICT or missing(came):
            return came if column not in _STRICT else None
        value = number(came)
        if value is None or (column == "round" and not value.is_integer()):
            raise self.wrong(column, came, f"{_STRICT[column]}, or null")
        return int(value) if column == "round" else value

    def wrong(self, name: str, came: Any, expected: str) -> TableError:
        """Return the error of a field that is not what it should be."""
        return TableError(f"{self.file}, {self.place}: {name} is {came!r:.60}; expected {expected}")


def number(value: Any) -> float | None:
    """A finite number, also one that ``str`` wrote, or None."""
    if isinstance(value, str):
        value = {"True": 1.0, "False": 0.0}.get(value, value)
    try:
        figure = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return figure if math.isfinite(figure) else None


def missing(value: Any) -> bool:
    """Return True for a value that says nothing: None, NaN, or what ``str`` writes of a NaN."""
    return value is None or value == "nan" or (isinstance(value, float) and value != value)


@lru_cache(maxsize=4096)  # responses of one sample come one after another
def target_keys(target: str) -> Mapping[str, Any]:
    """Return the mapping that the JSON of a target holds; an empty one where it is none."""
    value = from_json(target)
    return value if isinstance(value, dict) else {}


def name(value: Any) -> str | None:
    """A sample's name as text; None for what is none."""
    return name_of(value) or None


def own_name(row: Logged) -> str | None:
    """Return the target's id, else a name that stands beside it; None for a sample without one."""
    text = row.target_json
    return (name(target_keys(text).get("id")) if text else None) or name(row.more.get("sample_id"))


def _sample(row: Logged) -> str:
    """The sample's own name, else one made of the prompt's words, the target, the image and the source."""
    text, image = row.target_json, image_path(row.image)
    try:
        return own_name(row) or shared_id(
            instruction=prompt_text(row.prompt), target=row.target if text and isinstance(row.target, str) else text,
            image=image if image is None or isinstance(image, str) else as_json(image),
            source=name(row.more.get("source")),
        )  # fmt: skip
    except PoolError:
        raise TableError(
            f"{row.file}, {row.place}: neither prompt nor target says which sample this is; expected one of them, or a "
            "target with an id"
        ) from None


def _rollout(row: Logged) -> int:
    """A number of its place in a file that holds just this: the same wherever the file lies, another in other files."""
    from hashlib import blake2b  # OpenSSL, which only logs need

    held = dumps(
        [row.digest, row.train_step, row.number, prompt_text(row.prompt), row.response, row.more.get("rollout")]
    )
    return int.from_bytes(blake2b(held, digest_size=8).digest()) >> 1  # 63 bits: int64 has a sign


def _acc(row: Logged) -> float | None:
    key, came = row.verdict
    if missing(came) or not row.scored:
        return None
    acc = number(came)
    if acc not in (0.0, 1.0):
        raise row.wrong(
            key,
            came,
            "0 or 1, whether the response was right, or null. A share or a shaped reward is no verdict: score the "
            "responses again with `grounding-rewards pool score`",
        )
    return acc


def _total(row: Logged) -> float | None:
    total = number(row.total) if row.scored else None
    if total is None and row.scored and not missing(row.verdict[1]) and _is_no_number(row.total):
        raise row.wrong("total", row.total, "a finite number beside a verdict, or null in both where it was not scored")
    return total


def _is_no_number(value: Any) -> bool:
    """Return True for NaN and infinite values, also as ``str`` writes them."""
    try:
        return value is not None and not math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _target_says(key: str, read: Callable[[Any], Any]) -> Callable[[Logged], Any]:
    def value(row: Logged) -> Any:
        text = row.target_json
        return read(target_keys(text).get(key)) if text else None

    return value


def _whole(value: Any) -> int | None:
    figure = None if isinstance(value, str) else number(value)
    return int(figure) if figure is not None and figure.is_integer() else None


_MADE: Mapping[str, Callable[[Logged], Any]] = {
    "sample_id": _sample,
    "rollout": _rollout,
    "response": lambda row: row.response,
    "total": _total,
    "acc": _acc,
    "target": lambda row: row.target_json,
    "image_size": _target_says("image_size", read_size),
    "trajectory": _target_says("trajectory", name),
    "step": _target_says("step", _whole),
    "train_step": lambda row: _whole(row.train_step),
}
FILLED = tuple(_MADE)
"""The columns that every log fills, as far as it says them."""


class Samples(NamedTuple):
    """The samples of a log."""

    names: list[str]  # the name of each row's sample
    rounds: list[int] | None  # the round of each row, where the log repeats its samples; else None
    doubts: list[str]  # warnings of rows that may be of other samples or rounds than these say


def samples_of(rows: Iterable[Logged], *, once: bool = False) -> Samples:
    """Tell the samples of a log apart by their names, else by all that rows say: see ``Logged.apart``.

    Rows of one content in one step that have several prompts (verl's ``uid``) or row numbers are several samples. With
    ``once`` a log without steps is of one round.
    """
    names, steps, marks, unsure = list[str](), list[Any](), list[Mapping[str, Any]](), list[int]()
    for row in rows:
        names.append(row.value("sample_id"))
        steps.append(row.value("train_step"))
        marks.append(row.apart)
        if own_name(row) is None:
            unsure.append(len(names) - 1)
    for mark in ("uid", "index"):
        values = {place: marks[place][mark] for place in unsure if mark in marks[place]}
        marked = [(steps[place], names[place], value) for place, value in values.items()]
        several = _several(marked) if mark == "uid" or _of_rows(marked) else set()
        for place in values:
            if names[place] in several:
                names[place] = sample_id(target=names[place], index=values[place])
    stepless = once and None in steps
    rounds = None if stepless else _rounds(names, steps)
    again = "" if stepless else _again(names, steps, rounds)
    doubts = [text for text in (_sizes(names, steps, rounds, unsure), again) if text]
    return Samples(names, rounds, doubts)


def _of_rows(marked: Sequence[tuple[Any, str, Any]]) -> bool:
    """Return True for numbers of a data set's rows: each belongs to one content, and some stand at several rollouts."""
    contents = defaultdict[Any, set[str]](set)
    for _, name, value in marked:
        contents[value].add(name)
    times = Counter((step, value) for step, _, value in marked)
    return all(len(each) == 1 for each in contents.values()) and max(times.values(), default=0) > 1


def _several(rows: Iterable[tuple[Any, str, Any]]) -> set[str]:
    """Return the names that stand for several values in one step."""
    values = defaultdict[tuple[Any, str], set[Any]](set)
    for step, name, value in rows:
        values[step, name].add(value)
    return {name for (_, name), each in values.items() if len(each) > 1}


def _rounds(names: Sequence[str], steps: Sequence[Any]) -> list[int] | None:
    """Return the round of each row: its step where steps repeat the samples, else a number from 1; None for one."""
    if len({*names}) < 2:
        return None
    if None not in steps:
        return list(steps) if _share_whole(names, steps) >= 0.5 and len({*steps}) > 1 else None
    tries = [_by_period(names), _by_runs(names, parted=False), _by_runs(names, parted=True)]
    rated = [(_share_whole(names, each), each) for each in tries if each[-1] > 1]
    if not rated:
        return None
    share, best = max(rated, key=lambda pair: (pair[0], pair[1][-1]))
    return best if share >= 0.5 else None


def _share_whole(names: Sequence[str], rounds: Sequence[Any]) -> float:
    """Return the share of rounds that hold every sample, and each as often as most of these rounds do."""
    held = defaultdict[Any, Counter[str]](Counter)
    for name, number in zip(names, rounds, strict=True):
        held[number][name] += 1
    whole = Counter(frozenset(each.items()) for each in held.values() if len(each) == len({*names}))
    return max(whole.values(), default=0) / len(held)


def _by_period(names: Sequence[str]) -> list[int]:
    """Number repetitions of the shortest run of rows by which the whole log repeats; of the last, two samples count."""
    borders = [0] * len(names)  # the longest proper beginning of each beginning that is its end, too (Knuth's)
    length = 0
    for place in range(1, len(names)):
        while length and names[place] != names[length]:
            length = borders[length - 1]
        length += names[place] == names[length]
        borders[place] = length
    period = len(names) - borders[-1]
    uniform = len({*Counter(names[:period]).values()}) == 1
    if len(names) < 2 * period and not uniform and len({*names[period:]}) < 2:
        return [1] * len(names)
    return [1 + place // period for place in range(len(names))]


def _by_runs(names: Sequence[str], *, parted: bool) -> list[int]:
    """Number rounds that begin where a sample comes again after others; ``parted`` halves runs of twice the usual."""
    runs = [(name, len([*rows])) for name, rows in groupby(names)]
    common = Counter(length for _, length in runs).most_common(1)[0][0]
    rounds, seen, number = list[int](), set[str](), 1
    for name, length in runs:
        parts = [common, length - common] if parted and length == 2 * common else [length]
        for part in parts:
            if name in seen:
                seen, number = set(), number + 1
            seen.add(name)
            rounds += [number] * part
    return rounds


def _sizes(names: Sequence[str], steps: Sequence[Any], rounds: Sequence[int] | None, unsure: Sequence[int]) -> str:
    """Warn of samples without a name that have twice, three times, ... the rollouts of most of a step; "" without."""
    at = steps if rounds is None else rounds
    groups = defaultdict[Any, Counter[str]](Counter)
    for place in unsure:
        groups[at[place]][names[place]] += 1
    large = Counter[tuple[int, int]]()
    for sizes in groups.values():
        times = Counter(sizes.values())
        common = min(size for size, count in times.items() if count == max(times.values()))
        large.update((size, common) for size in sizes.values() if size > common and size % common == 0)
    if not large:
        return ""
    (size, common), _ = large.most_common(1)[0]
    every = sum(map(len, groups.values()))
    return (
        f"{large.total()} of {every} groups are too large, such as {size} rollouts where others have {common}: rows "
        "that share prompt and target count as one sample, and these may be several, of other screens. Give targets an "
        "id, as `grounding-rewards convert` does, or have the trainer log a column image or uid"
    )


def _again(names: Sequence[str], steps: Sequence[Any], rounds: Sequence[int] | None) -> str:
    """Warn of a log without steps that comes back to samples in no order that tells rounds; "" without."""
    if rounds is not None or None not in steps or len({*names}) < 2:
        return ""
    runs = [name for name, _ in groupby(names)]
    again = sum(count > 1 for count in Counter(runs).values())
    if not again:
        return ""
    return (
        f"{again} of {len({*names})} samples come again after others, in no order that tells rounds apart, so all "
        "rollouts count together; cut the log into a file for each round"
    )


TORN, EMPTY, REPEATED = "cut short in writing", "files without a row", "logged before"
Read = Callable[[Counter[str]], Iterator[Logged]]
"""Reads a log from its start, and counts what it leaves out by why."""


class TrainerLog:
    """A trainer's log, read as a table of rollouts."""

    def __init__(
        self,
        kind: str,  # the trainer, by its name
        path: Path,  # the file or the directory that was given
        files: Sequence[Path],  # those that are read, in order
        read: Read,
        *,
        verdicts: bool,  # True where any row may say that it was right; without, ``acc`` is no column of it
        more: Iterable[str] = (),  # other columns of a rollout table that it fills
        parts: Iterable[str] = (),  # names of the parts and other numbers that it holds
        once: bool = False,  # True where it is of one round if it has no steps
    ) -> None:
        self.kind, self.path, self.files, self._read = kind, path, tuple(files), read
        self._known = {*FILLED, *more} - (set() if verdicts else {"acc"})
        self.parts = tuple(dict.fromkeys(parts))
        self.left_out: Counter[str] = Counter()  # rows that the last pass left out, by why; the first one also logs it
        self._reported, self._once = False, once

    @cached_property
    def samples(self) -> Samples:
        """The samples, as one pass over all rows finds them; the first one warns of doubts."""
        samples = samples_of(self._read(Counter()), once=self._once)
        for text in samples.doubts:
            LOG.warning("%s: %s", self.path, text)
        return samples

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; ``round`` is one where the log says it, or repeats its samples."""
        known = self._known | ({"round"} if self.samples.rounds else set())
        return (*(name for name in COLUMNS if name in known), *self.parts)

    def _with_samples(self) -> Iterator[Logged]:
        """Yield the rows with the names of their samples, and their rounds; rows that came since are as they are."""
        names, rounds, _ = self.samples
        for at, row in enumerate(self._read(self.left_out)):
            if at >= len(names):
                yield row
                continue
            known: dict[str, Any] = {"sample_id": names[at]}
            if rounds is not None and missing(row.more.get("round")):
                known["round"] = rounds[at]
            yield replace(row, more={**row.more, **known})

    @property
    def schema(self) -> Any:
        """The Arrow schema of all columns."""
        import pyarrow as pa  # which JSON does without

        kinds = {name: COLUMNS.get(name, "double" if name in self.parts else "string") for name in self.columns}
        return pa.schema([(name, arrow_type(kind)) for name, kind in kinds.items()])

    def unjudged(self) -> TrainerLog:
        """Return the log without verdicts: it can be scored again, though they cannot be read."""
        log = copy.copy(self)
        log.columns = tuple(name for name in self.columns if name != "acc")
        return log

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        import pyarrow as pa

        from grounding_rewards.tables.arrow_rows import ArrowRows

        schema, start = self.schema, 0
        wanted = [name for name in self.columns if columns is None or name in columns]
        read = pa.schema([each for each in schema if whole or each.name in wanted], schema.metadata)
        self.left_out.clear()
        for rows in _held(self._with_samples(), size or BATCH_ROWS):
            arrays = [arrow([row.value(each.name) for row in rows], each.type) for each in read]
            batch = pa.RecordBatch.from_arrays(arrays, schema=read)
            yield Batch(start, ArrowRows(batch.select(wanted)), batch, 1.0)
            start += len(rows)
        left = ", ".join(f"{count} {why}" for why, count in self.left_out.items())
        if not start:
            raise NoRowsError(f"{self.path}: no rollouts in it{f' (left out: {left})' if left else ''}")
        if left and not self._reported:
            self._reported = True
            LOG.warning("%s: left out of what %s logged: %s", self.path, self.kind, left)


def _held(rows: Iterator[Logged], size: int) -> Iterator[list[Logged]]:
    """Yield rows in lists of ``size``, or fewer where their texts are long."""
    held, length = list[Logged](), 0
    for row in rows:
        held.append(row)
        length += sum(len(text) for text in (row.prompt, row.response, row.target) if isinstance(text, str))
        if len(held) >= size or length >= BATCH_BYTES:
            yield held
            held, length = [], 0
    if held:
        yield held


Line = tuple[str, int, Mapping[str, Any]]
"""Place of a line, for errors, its number from 0, and what it holds."""

FIRST = 64
"""Lines of each file that say what columns there are."""


def first_lines(file: Path, most: int) -> Sequence[Mapping[str, Any]]:
    """Return what the first lines of a file hold, of ``most`` at most; none of a file without rows."""
    try:
        first = next(JsonLinesTable(file, tolerant=True).batches(size=most))
    except NoRowsError:
        return []
    return [row for place, row in enumerate(first.rows) if place not in first.unread]


def read_lines(file: Path, needed: Iterable[str], left_out: Counter[str]) -> Iterator[Line]:
    """Yield the lines of a file, which must have all the keys ``needed``; a torn last one is counted."""
    for batch in JsonLinesTable(file, tolerant=True).batches():
        for place, row in enumerate(batch.rows):
            if place not in batch.unread:
                if lacks := [key for key in needed if key not in row]:
                    raise TableError(f"{file}, {batch.place(place)}: lacks {', '.join(lacks)}, unlike the lines before")
                yield batch.place(place), batch.start + place, row
            elif batch.done == 1.0 and place == len(batch) - 1 and not _ends(file):
                left_out[TORN] += 1
            else:
                raise TableError(f"{file}, {batch.place(place)}: {batch.unread[place]}")


def _ends(file: Path) -> bool:
    """Return True where the last line of a file was written to its end."""
    with file.open("rb") as opened:
        opened.seek(-1, 2)
        return opened.read(1) == b"\n"
