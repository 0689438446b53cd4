"""TRL's tables of completions: ``log_completions=True``, a file completions/completions_STEP.parquet at each logging.

Read of TRL 1.16's GRPO trainer. A file holds the last batch that was generated, of all processes: a row has ``step``,
``prompt``, ``completion``, a column for each reward function, ``advantage``, and what functions gave ``log_extra``.
What is logged twice without new responses in between stands in two files, and an evaluation writes over the file of its
step, with its own responses behind those of training that are left. This package's adapter gives each response a key
(``NAME/rollout``), by which repeated ones and those of evaluations are left out. Without keys a file that
repeats the one before it is left out as a whole, and evaluations count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import TableError
from grounding_rewards.tables.arrow_rows import ParquetTable
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.manifests import digest
from grounding_rewards.tables.prompts import answer
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rows import NoRowsError
from grounding_rewards.tables.sample_ids import as_json
from grounding_rewards.tables.trainer_logs.logged import (
    EMPTY,
    REPEATED,
    VERDICTS,
    Logged,
    TrainerLog,
    name,
    number,
    target_keys,
)

KIND = "trl"
FOLDER = "completions"
EVALUATED = "of evaluations"

_USUAL = ("step", "prompt", "completion", "advantage")
"""Columns of every table of completions."""

_LOGGED = ("reason", "source", "temperature", "round", "policy", "token_length")
"""Further columns of a rollout table that functions may have logged."""

_OTHERS = (*_LOGGED, "sample_id", "rollout")
_IMAGES = ("image", "images", "image_path")
_OWN = ("acc", "total", "sample_id", "target", "response", "rollout", "reason")
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
_STEP_FILE = re.compile(r"completions_(\d+)\.parquet")


@dataclass(frozen=True)
class Names:
    """Columns of the tables by what they hold."""

    prefix: str | None  # what the adapter's columns begin with; None where another reward function wrote the log
    verdict: str | None  # True for a right response; None where nothing says so
    total: str | None  # the reward; None where there were several reward functions, whose weights the log does not say
    parts: Mapping[str, str] = field(default_factory=dict)  # other numbers, by the names of their columns
    points: Mapping[str, str] = field(default_factory=dict)  # the points answered, by the space that they are in

    @classmethod
    def of(cls, kinds: Mapping[str, Any], path: Path) -> Names:
        """From the columns and their types."""
        ending = [name for name in kinds if name.endswith("/acc")]  # the adapter's columns are NAME/acc and so on
        verdicts = [name for name in VERDICTS if name in kinds][:1] or ending
        if len(verdicts) > 1:
            raise TableError(
                f"{path}: {', '.join(verdicts)} each say whether a response was right; drop these columns but one"
            )
        prefix = verdicts[0][: -len("/acc")] if verdicts and verdicts[0] in ending else None
        own = {} if prefix is None else {name: f"{prefix}/{name}" for name in _OWN}
        points = {
            name.removeprefix(f"{prefix}/xy_"): name for name in kinds if prefix and name.startswith(f"{prefix}/xy_")
        }
        known = {*_USUAL, *verdicts, *own.values(), *points.values(), *_LOGGED, "sample_id", "target"}
        numbers = {name for name, kind in kinds.items() if any(test(kind) for test in _NUMBERS)}
        rewards = [name for name in kinds if name in numbers - known]
        total = next((name for name in (own.get("total"), "total") if name in kinds), None)
        if total is None and len(rewards) == 1:
            total = rewards[0]
        rest = [name for name in rewards if name not in (total, prefix)]
        parts = {name: name.removeprefix(f"{prefix}/") for name in rest}
        parts = {name: part for name, part in parts.items() if part not in COLUMNS}
        return cls(prefix, verdicts[0] if verdicts else None, total, parts, points)

    def own(self, name: str) -> str:
        """The adapter's column of a name, or that of the name alone."""
        return name if self.prefix is None else f"{self.prefix}/{name}"

    @property
    def key(self) -> str:
        """The column that tells responses apart; empty where none does."""
        return "" if self.prefix is None else self.own("rollout")

    @property
    def read(self) -> list[str]:
        """All columns that are read."""
        others = (*_LOGGED, *_OWN, *_IMAGES, "data_source")
        own = [*others, *(self.own(name) for name in others), *self.parts, *self.points.values()]
        return list(dict.fromkeys([*_USUAL, *own, *(name for name in (self.verdict, self.total) if name)]))


def _is_completions(columns: Iterable[str], path: Path) -> bool:
    """Return True for the columns of a table of completions; raise where one alone lacks."""
    known = set(columns)
    lacks = [column for column in _USUAL if column not in known]
    if not lacks:
        return True
    if "sample_id" in known or len(lacks) > 1:
        return False
    raise TableError(
        f"{path}: looks like completions that TRL logged, but lacks {lacks[0]}; expected {', '.join(_USUAL)}, "
        "as log_completions=True makes TRL write them. A rollout table has a column sample_id"
    )


def step_files(folder: Path) -> list[Path]:
    """The files of a run's folder, or of the folder in it, that are named as tables of completions are, by step."""
    names = [*folder.glob("completions_*.parquet"), *(folder / FOLDER).glob("completions_*.parquet")]
    steps = [(int(match[1]), each) for each in names if (match := _STEP_FILE.fullmatch(each.name))]
    return regular_files(each for _, each in sorted(steps))


def open_log(path: Path, files: Sequence[Path]) -> TrainerLog | None:
    """Open tables of completions; None for tables of something else."""
    schemas = {file: ParquetTable(file).schema for file in files}
    if not _is_completions(schemas[files[0]].names, path):
        return None
    kinds: dict[str, Any] = {}
    for file, schema in schemas.items():
        if not _is_completions(schema.names, file):
            raise TableError(f"{file}: holds no completions that TRL logged, unlike files beside it; move it elsewhere")
        for column in schema:
            # A column may be all null in one file, and not in the next.
            if kinds.get(column.name, pa.null()) == pa.null():
                kinds[column.name] = column.type
    names = Names.of(kinds, path)
    more = [column for column in _LOGGED if column in kinds or names.own(column) in kinds]
    more = [*more, *(["source"] if "data_source" in kinds else []), *(("x_unit", "y_unit") if names.points else ())]
    read = partial(_read, files, names)
    return TrainerLog(
        KIND, path, files, read, verdicts=names.verdict is not None, more=more, parts=names.parts.values()
    )


def _read(files: Sequence[Path], names: Names, left_out: Counter[str]) -> Iterator[Logged]:
    keys, content = frozenset[str](), b""
    for file in files:
        table = ParquetTable(file)
        try:
            if names.key in table.schema.names:
                before, keys = keys, _keys(table, names.key)
                yield from _new(table, names, before, left_out)
            else:
                previous, content = content, _content(table)
                if content != previous:
                    yield from _all(table, names)
                else:
                    left_out[REPEATED] += sum(len(batch) for batch in table.batches(["step"], whole=False))
        except NoRowsError:
            left_out[EMPTY] += 1


def _all(table: ParquetTable, names: Names) -> Iterator[Logged]:
    held = digest(table.path)
    for batch in table.batches(names.read, whole=False):
        for place, row in enumerate(batch.rows):
            yield _logged(table.path, held, batch.place(place), batch.start + place, row, names)


def _new(table: ParquetTable, names: Names, before: frozenset[str], left_out: Counter[str]) -> Iterator[Logged]:
    """The rows that the file before lacks, and that are of training: those were answered at an earlier step."""
    for row in _all(table, names):
        key = row.more["rollout"]
        if key in before:
            left_out[REPEATED] += 1
        # STEP.RANK.NUMBER: training is answered before the step that it is logged at, an evaluation at that step.
        elif isinstance(key, str) and key.partition(".")[0] == str(row.train_step):
            left_out[EVALUATED] += 1
        else:
            yield row


def _keys(table: ParquetTable, key: str) -> frozenset[str]:
    values = (row[key] for batch in table.batches([key], whole=False) for row in batch.rows)
    return frozenset(each for each in values if each is not None)


def _content(table: ParquetTable) -> bytes:
    """Return a digest of all that a file holds but for the step."""
    hashed = blake2b(digest_size=16)
    wanted = [name for name in table.columns if name != "step"]
    for batch in table.batches(wanted, whole=False):
        for row in batch.rows:
            hashed.update(dumps(row))
    return hashed.digest()


def _logged(file: Path, held: str, place: str, at: int, row: Mapping[str, Any], names: Names) -> Logged:
    own = {name: row.get(names.own(name), row.get(name)) for name in _OTHERS}
    target = row.get(names.own("target"), row.get("target"))
    response = row.get(names.own("response"))
    more = {
        **own,
        # The adapter's column has small letters.
        "reason": own["reason"].upper() if isinstance(own["reason"], str) else None,
        "source": name(own["source"]) or name(row.get("data_source")),
        "x_unit": None,
        "y_unit": None,
        **_point(row, names, target),
        **{part: number(row.get(column)) for column, part in names.parts.items()},
    }
    verdict = names.verdict or VERDICTS[0]
    return Logged(
        file=file, digest=held, place=place, number=at, prompt=row["prompt"],
        response=answer(row["completion"]) if response is None else response, target=target,
        total=None if names.total is None else row.get(names.total), verdict=(verdict, row.get(verdict)),
        train_step=row["step"], more=more,
        image=next((row[key] for key in _IMAGES if row.get(key) is not None), None),
    )  # fmt: skip


def _point(row: Mapping[str, Any], names: Names, target: Any) -> Mapping[str, float]:
    """The point answered in shares of the image, where its space or the image's size allows to tell."""
    for space, column in names.points.items():
        xy = row.get(column)
        if isinstance(xy, list) and len(xy) == 2 and None not in xy:
            text = as_json(target) if space == "pixel" else None
            sides = {"unit": (1.0, 1.0), "thousandths": (1000.0, 1000.0)}.get(space)
            sides = sides or (read_size(target_keys(text).get("image_size")) if text else None)
            return {"x_unit": xy[0] / sides[0], "y_unit": xy[1] / sides[1]} if sides else {}
    return {}
