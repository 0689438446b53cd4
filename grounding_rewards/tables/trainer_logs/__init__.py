"""Trainers' own logs as rollouts: verl's dumps, TRL's tables of completions, EasyR1's log of generations.

Which of them a path is, its content says; how the files are called only chooses among several in a folder.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import NoRowsError
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.json_lines import JsonLinesTable
from grounding_rewards.tables.parquet import ParquetTable
from grounding_rewards.tables.trainer_logs import easyr1, trl, verl
from grounding_rewards.tables.trainer_logs.base import TrainerLog


def trainer_log(path: str | os.PathLike[str]) -> TrainerLog | None:
    """The log that a trainer wrote at a path; None where it is none, and may be a rollout table.

    Args:
        path: a file; or verl's directory of dumps, TRL's output directory or ``completions`` in it, EasyR1's
            directory with ``generations.log``.

    Raises:
        TableError: it is nearly a log, of files that belong together some are none, or a folder holds the same rollouts
            twice, as an adapter recorded them and as the trainer logged them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "1.jsonl")
    ...     _ = file.write_text('{"input": "Close", "output": "(9, 9)", "gts": {"id": "a"}, "score": 1.0, "step": 1}')
    ...     log = trainer_log(folder)
    ...     [log.kind, *next(log.batches(["sample_id", "response", "total"])).to_pylist()]
    ['verl', {'sample_id': 'a', 'response': '(9, 9)', 'total': 1.0}]
    """
    path = Path(path)
    if path.is_dir():
        return _in_folder(path)
    if not path.is_file() or not path.stat().st_size:
        return None
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson", ".json-lines"):
        return _dumps(path, [path])
    if suffix == ".parquet":
        return _completions(path, [path])
    return _generations(path, path)


def _in_folder(path: Path) -> TrainerLog | None:
    dumps, completions = verl.step_files(path), trl.step_files(path)
    found = (_dumps(path, dumps) if dumps else None) or (_completions(path, completions) if completions else None)
    log = path / easyr1.NAME
    found = _generations(path, *regular_files([log])) if found is None and os.path.lexists(log) else found
    recorded = next(path.glob("rollouts-*.parquet"), None)
    if found is not None and recorded is not None:
        raise TableError(
            f"{path}: holds what an adapter recorded ({recorded.name}) beside what {found.kind} logged "
            f"({found.files[0].relative_to(path)}), which are the same rollouts; give the files of one of them"
        )
    return found


def _dumps(path: Path, files: list[Path]) -> TrainerLog | None:
    first = next((keys for file in files if (keys := _first_keys(file))), [])
    return verl.open_dumps(path, files) if verl.is_dump(first, path) else None


def _completions(path: Path, files: list[Path]) -> TrainerLog | None:
    return trl.open_completions(path, files) if trl.is_completions(ParquetTable(files[0]).schema.names, path) else None


def _generations(path: Path, file: Path) -> TrainerLog | None:
    return easyr1.open_log(path, file) if easyr1.is_log(file) else None


def _first_keys(file: Path) -> list[str]:
    """Return the keys of the first line that holds an object; what is wrong with lines is said where they are read."""
    with suppress(NoRowsError):
        return list(next(JsonLinesTable(file, tolerant=True).batches(size=1)).rows[0])
    return []
