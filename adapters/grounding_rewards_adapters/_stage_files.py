"""The directory that ``grounding-rewards pool curriculum --data`` writes, as data sets by stage."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from grounding_rewards.errors import DataPathError, PoolError
from grounding_rewards.pool.curriculum import StageGate
from grounding_rewards.tables.data_paths import inside_file
from grounding_rewards.tables.manifests import digest

MANIFEST = "curriculum.manifest.json"
_STAGE = ("name", "file", "epochs")
_GATE = ("success_above", "failure_below", "last_k")


def read_stages(source: str | os.PathLike[str]) -> tuple[dict[str, Any], StageGate | None, list[int]]:
    """Return data sets by the name of their stage, the gate between them, and the epochs of each."""
    files, gate, epochs = stage_files(source)
    return {name: _rows(file) for name, file in files.items()}, gate, epochs


def stage_files(source: str | os.PathLike[str]) -> tuple[dict[str, Path], StageGate | None, list[int]]:
    """Return the checked file of each stage by its name, the gate between them, and the epochs of each."""
    if not isinstance(source, str | os.PathLike):
        raise PoolError(f"source: got {source!r:.80}; expected a directory of stages, or data sets by name")
    path = Path(source) / MANIFEST
    if not path.is_file():
        raise PoolError(f"{path}: no such file; expected a directory that `grounding-rewards pool curriculum` wrote")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise PoolError(f"{path}: is damaged ({error}); write it anew") from None
    stages = manifest.get("stages") if isinstance(manifest, dict) else None
    if not isinstance(stages, list) or not all(_has(stage, _STAGE) for stage in stages) or "gate" not in manifest:
        raise PoolError(f"{path}: is no manifest of stages with {', '.join(_STAGE)}, and a gate; write it anew")
    files = {stage["name"]: _file(path, stage["file"], stage.get("sha256")) for stage in stages}
    return files, _gate(path, manifest["gate"]), [stage["epochs"] for stage in stages]


def _has(value: Any, names: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and all(name in value for name in names)


def _gate(path: Path, gate: Any) -> StageGate | None:
    if gate is None:
        return None
    if not _has(gate, _GATE):
        raise PoolError(f"{path}, gate: got {gate!r:.80}; expected {', '.join(_GATE)}")
    try:
        return StageGate(**{name: gate[name] for name in _GATE})
    except PoolError as error:
        raise PoolError(f"{path}, {error}") from None


def _file(path: Path, name: Any, sha256: Any) -> Path:
    if name is None:
        raise PoolError(f"{path}: has weights in place of files; write it anew without --weights")
    try:
        inside_file(path.parent, name)
    except DataPathError as error:
        raise PoolError(f"{path}: names the file {name!r:.200} ({error}); write it anew") from None
    file: Path = path.parent / name
    if sha256 is not None and digest(file) != sha256:
        raise PoolError(f"{file}: is not what {path.name} says: a run was killed, or it was changed; write it anew")
    return file


def _rows(file: Path) -> Any:
    from datasets import Dataset
    from datasets.exceptions import DatasetGenerationError

    read = Dataset.from_parquet if file.suffix == ".parquet" else Dataset.from_json
    try:
        return read(str(file))
    except DatasetGenerationError as error:
        raise PoolError(f"{file}: cannot be read ({error.__cause__ or error})") from None
