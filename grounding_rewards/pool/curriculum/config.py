"""Read a curriculum from JSON or TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from grounding_rewards.errors import PoolError, near
from grounding_rewards.pool.curriculum.gate import StageGate
from grounding_rewards.pool.curriculum.stages import Curriculum, RateBand, Stage
from grounding_rewards.targets.unique_keys import unique_keys

_KEYS = ("bands", "stages", "gate", "min_rollouts")
_STAGE_KEYS = ("name", "bands", "size", "epochs")
_GATE_KEYS = ("success_above", "failure_below", "last_k")
_READERS: dict[str, Callable[[str], Any]] = {
    ".json": partial(json.loads, object_pairs_hook=unique_keys),
    ".toml": tomllib.loads,
}


def read_curriculum(path: Path) -> Curriculum:
    """Read a curriculum from a JSON or TOML file.

    Raises:
        PoolError: the file is missing, is neither, or does not fit; names it.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise PoolError(f"{path}: stages are read from files that end in .json or .toml")
    if not path.is_file():
        raise PoolError(f"--stages: {path}: no such file; expected bands, stages and gate in .json or .toml")
    try:
        return from_plain(reader(path.read_text("utf-8")))
    except RecursionError:
        raise PoolError(f"{path}: is nested too deep") from None
    except ValueError as error:  # PoolError, and what json and tomllib raise
        raise PoolError(f"{path}: {error}") from None


def from_plain(values: Any) -> Curriculum:
    """Build a curriculum from plain values.

    Args:
        values: ``bands`` {name: [lowest, highest] pass rate}; ``stages``, a list of {``name``, ``bands``, ``size``,
            ``epochs``}, whose bands are a list of names or {name: share}; and, where wanted, ``gate``
            {``success_above``, ``failure_below``, ``last_k``} and ``min_rollouts``.

    Raises:
        PoolError: a key is unknown or missing, or a value does not fit.

    >>> found = from_plain({"bands": {"easy": [0.9, 1]}, "stages": [{"name": "first", "bands": ["easy"]}]})
    >>> found.stages[0]
    Stage(name='first', bands=('easy',), shares=None, size=None, epochs=1)
    """
    config = _mapping("stages file", values, _KEYS, needed=("bands", "stages"))
    bands = _mapping("bands", config["bands"])
    stages = config["stages"]
    if not isinstance(stages, list | tuple):
        raise PoolError(f"stages: got {stages!r:.80}; expected a list of {{name, bands, size, epochs}}")
    gate = config.get("gate")
    return Curriculum(
        tuple(_band(name, edges) for name, edges in bands.items()),
        tuple(_stage(place, stage) for place, stage in enumerate(stages)),
        None if gate is None else StageGate(**_mapping("gate", gate, _GATE_KEYS, needed=_GATE_KEYS)),
        config.get("min_rollouts", 1),
    )


def _band(name: str, edges: Any) -> RateBand:
    if not isinstance(edges, list | tuple) or len(edges) != 2:
        raise PoolError(f"band {name!r}: got {edges!r:.80}; expected [LOWEST, HIGHEST] pass rate, such as [0.9, 1]")
    return RateBand(name, *edges)


def _stage(place: int, stage: Any) -> Stage:
    name = stage.get("name") if isinstance(stage, Mapping) else None
    called = f"stage {name!r:.80}" if name else f"stages[{place}]"
    values = _mapping(called, stage, _STAGE_KEYS, needed=("name", "bands"))
    bands, shares = values["bands"], None
    if isinstance(bands, Mapping):
        shares = tuple(bands.values())
    elif not isinstance(bands, list | tuple):
        raise PoolError(f"{called}, bands: got {bands!r:.80}; expected a list of names, or {{name: share}}")
    return Stage(values["name"], tuple(bands), shares, values.get("size"), values.get("epochs", 1))


def _mapping(
    name: str, value: Any, known: Iterable[str] | None = None, needed: Iterable[str] = ()
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PoolError(f"{name}: got {value!r:.80}; expected a mapping of names to values")
    for key in value:
        if known is not None and key not in known:
            raise PoolError(f"{name}: unknown key {key!r}{near(key, known) or '.'} There are: {', '.join(known)}")
    for key in needed:
        if key not in value:
            raise PoolError(f"{name}: no {key!r}; expected {', '.join(needed)}")
    return value
