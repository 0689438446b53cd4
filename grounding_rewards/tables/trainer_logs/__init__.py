"""Trainers' own logs as rollouts: TRL's tables of completions, EasyR1's log of generations, and JSON lines of others.

Which of them a path is, its content says; how the files are called only chooses among several in a folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.contents import JSON_LINES, PARQUET
from grounding_rewards.tables.trainer_logs import easyr1, json_logs
from grounding_rewards.tables.trainer_logs.logged import TrainerLog


def trainer_log(path: str | os.PathLike[str]) -> TrainerLog | None:
    """The log that a trainer wrote at a path; None where it is none, and may be a rollout table."""
    path = Path(path)
    if path.is_dir():
        return _in_folder(path)
    if not path.is_file() or not path.stat().st_size:
        return None
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        from grounding_rewards.tables.trainer_logs import trl  # pyarrow, which JSON does without

        return trl.open_log(path, [path])
    return json_logs.open_log(path, [path]) if suffix in JSON_LINES else easyr1.open_log(path, [path])


def _in_folder(path: Path) -> TrainerLog | None:
    from grounding_rewards.tables.trainer_logs import trl

    kinds: list[Any] = [json_logs.FORMS[0], trl, easyr1, *json_logs.FORMS[1:]]
    found = ((kind, kind.step_files(path)) for kind in kinds)
    logged = next((log for kind, files in found if files and (log := kind.open_log(path, files))), None)
    recorded = next(path.glob("rollouts-*.parquet"), None)
    if logged is not None and recorded is not None:
        raise TableError(
            f"{path}: holds what an adapter recorded ({recorded.name}) beside what {logged.kind} logged "
            f"({logged.files[0].relative_to(path)}), which are the same rollouts; give the files of one of them"
        )
    return logged
