"""verl's dumps: ``trainer.rollout_data_dir`` and ``trainer.validation_data_dir``, a file STEP.jsonl a step.

Read of verl 0.9.1's two trainers, ``RayPPOTrainer`` and the one of ``trainer.use_v1``. Each line has ``input``,
``output``, ``gts``, ``score`` and ``step``. What the reward function returned beside the score, such as ``acc``, stands
there too, but in training dumps of the second trainer, which hold no more than a ``uid``: those need to be scored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.manifests import digest
from grounding_rewards.tables.rollout_columns import COLUMNS, IMAGE_HASH
from grounding_rewards.tables.rows import NoRowsError
from grounding_rewards.tables.trainer_logs.logged import (
    EMPTY,
    FIRST,
    VERDICTS,
    Line,
    Logged,
    TrainerLog,
    first_lines,
    missing,
    number,
    read_lines,
)

KIND = "verl"
FOLDED = "answers before a session's last"

_NEEDED = ("input", "output", "score")
_USUAL = (*_NEEDED, "gts", "step")
_OTHERS = {"source": ("source", "data_source"), "sample_id": ("sample_id",), "policy": ("policy",),
           "temperature": ("temperature",), "round": ("round",)}  # fmt: skip
_NO_PARTS = {*_USUAL, *VERDICTS, "uid", "request_id", "reward", "overall", "valid", "num_turns", "index"}
_OUR_FLAGS = {"valid", "parsed", "in_image"}
_STEP_FILE = re.compile(r"(\d+)\.jsonl")
_IMAGES = (*GUESSED["image"], IMAGE_HASH)
_SESSION = re.compile(r"(.+_\d+)_(\d+)")  # of a uid PROMPT_SESSION_TURN


def _is_dump(keys: Iterable[str], path: Path) -> bool:
    """Return True for the keys of a line of a dump; raise where they nearly are."""
    known = set(keys)
    if known & {"sample_id", "response"} or len(known & set(_USUAL)) < 3:  # of a rollout table
        return False
    if known >= set(_NEEDED) and known & {"gts", "step"}:
        return True
    lacks = [key for key in _USUAL if key not in known]
    raise TableError(
        f"{path}: looks like a dump of verl, but lacks {', '.join(lacks)}; expected {', '.join(_USUAL)} in each line, "
        "as trainer.rollout_data_dir makes verl write them. A rollout table has a column sample_id"
    )


def step_files(folder: Path) -> list[Path]:
    """The files of a folder that are named as dumps are, by step."""
    steps = [(match, each) for each in folder.glob("*.jsonl") if (match := _STEP_FILE.fullmatch(each.name))]
    return regular_files(each for _, each in sorted(steps, key=lambda pair: (int(pair[0][1]), pair[1].name)))


def open_log(path: Path, files: Sequence[Path]) -> TrainerLog | None:
    """Open dumps, some of which may be empty; None for files of something else."""
    first = next((rows[0] for file in files if (rows := first_lines(file, 1))), None)
    if first is None or not _is_dump(first, path):
        return None
    of_files = {file: first_lines(file, FIRST) for file in files}
    firsts = [row for rows in of_files.values() for row in rows]
    for file, rows in of_files.items():
        if rows and not _is_dump(rows[0], file):
            raise TableError(f"{file}: is no dump of verl, unlike files beside it; move it elsewhere")
    keys = dict.fromkeys(key for row in firsts for key in row)
    others = {column: fields for column, fields in _OTHERS.items() if set(fields) & set(keys)}
    parts = [key for key in keys if _is_part(key, firsts)]
    read = partial(_read, files, others, parts)
    verdicts = any(row.get(key) is not None for row in firsts for key in VERDICTS)
    return TrainerLog(KIND, path, files, read, verdicts=verdicts, more=others, parts=parts)


def _is_part(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return True for a key that holds numbers and bears no other column's name."""
    values = [row[key] for row in rows if not missing(row.get(key))]
    taken = key in COLUMNS or key in _NO_PARTS or any(key in fields for fields in _OTHERS.values())
    return bool(values) and not taken and all(number(value) is not None for value in values)


def _read(
    files: Sequence[Path], others: Mapping[str, Sequence[str]], parts: Sequence[str], left_out: Counter[str]
) -> Iterator[Logged]:
    for file in files:
        try:
            held = digest(file)
            for line in _last_of_sessions(read_lines(file, _NEEDED, left_out), left_out):
                yield _logged(file, held, line, others, parts)
        except NoRowsError:
            left_out[EMPTY] += 1


def _last_of_sessions(rows: Iterable[Line], left_out: Counter[str]) -> Iterator[Line]:
    """Yield the last of several answers in one session, which stand side by side: its score is the session's."""
    held: Line | None = None
    session, turn = "", 0
    for row in rows:
        match = _SESSION.fullmatch(uid) if isinstance(uid := row[2].get("uid"), str) else None
        now = (match[1], int(match[2])) if match else ("", 0)
        if held is not None and match and now[0] == session and now[1] > turn:
            left_out[FOLDED] += 1
        elif held is not None:
            yield held
        held, (session, turn) = row, now
    if held is not None:
        yield held


def _logged(file: Path, held: str, line: Line, others: Mapping[str, Sequence[str]], parts: Sequence[str]) -> Logged:
    place, at, row = line
    verdict = next((key for key in VERDICTS if row.get(key) is not None), VERDICTS[0])
    # What this package's adapter gives where a target cannot be used is no score.
    scored = not (row.keys() >= _OUR_FLAGS and number(row["valid"]) == 0.0)
    more = {
        column: next((row[key] for key in keys if row.get(key) is not None), None) for column, keys in others.items()
    }
    logged = Logged(
        file=file, digest=held, place=place, number=at, prompt=row["input"], response=row["output"],
        target=row.get("gts"), total=row["score"], verdict=(verdict, row.get(verdict)), train_step=row.get("step"),
        scored=scored, more=more, image=next((row[key] for key in _IMAGES if row.get(key) is not None), None),
        apart=_apart(row),
    )  # fmt: skip
    # Into the dict that `logged` holds as `more`, since errors name a row by `logged`.
    for part in parts:
        came = row.get(part)
        more[part] = number(came) if scored or part in _OUR_FLAGS else None
        if not missing(came) and number(came) is None:
            raise logged.wrong(part, came, "a number, as in the first rows, or null")
    return logged


def _apart(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may tell a row's sample from others: the prompt of ``uid``, and the row's number in the data."""
    uid = row.get("uid")
    match = _SESSION.fullmatch(uid) if isinstance(uid, str) else None
    marks = {"uid": match[1].rpartition("_")[0] if match else uid, "index": row.get("index")}
    return {key: value for key, value in marks.items() if isinstance(value, str | int)}
