"""A curriculum as plain values, such as a JSON or a TOML file holds, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from grounding_rewards.errors import PoolError, near
from grounding_rewards.pool.curriculum.gate import Gate
from grounding_rewards.pool.curriculum.stages import Curriculum, RateBand, Stage

_KEYS = ("bands", "stages", "gate", "min_rollouts")
_STAGE_KEYS = ("name", "bands", "size", "epochs")
_GATE_KEYS = ("success_above", "failure_below", "last_k")


def read(given: Any) -> Curriculum:
    """A curriculum from plain values.

    Args:
        given: ``bands`` {name: [lowest, highest] pass rate}; ``stages``, a list of {``name``, ``bands``, ``size``,
            ``epochs``}, whose bands are a list of names or {name: share}; and, where wanted, ``gate``
            {``success_above``, ``failure_below``, ``last_k``} and ``min_rollouts``.

    Raises:
        PoolError: a key is unknown or missing, or a value does not fit.

    >>> found = read({"bands": {"easy": [0.9, 1]}, "stages": [{"name": "first", "bands": ["easy"]}]})
    >>> found.stages[0]
    Stage(name='first', bands=('easy',), shares=None, size=None, epochs=1)
    """
    values = _mapping("stages file", given, _KEYS, needed=("bands", "stages"))
    bands = _mapping("bands", values["bands"])
    stages = values["stages"]
    if not isinstance(stages, list | tuple):
        raise PoolError(f"stages: got {stages!r:.80}; expected a list of {{name, bands, size, epochs}}")
    gate = values.get("gate")
    return Curriculum(
        tuple(_band(name, edges) for name, edges in bands.items()),
        tuple(_stage(place, stage) for place, stage in enumerate(stages)),
        None if gate is None else Gate(**_mapping("gate", gate, _GATE_KEYS, needed=_GATE_KEYS)),
        values.get("min_rollouts", 1),
    )


def plain(curriculum: Curriculum) -> dict[str, Any]:
    """The plain values that ``read`` makes the same curriculum of.

    >>> given = {"bands": {"easy": [0.9, 1.0]}, "stages": [{"name": "a", "bands": {"easy": 2}, "epochs": 2}]}
    >>> plain(read(given)) == {**given, "gate": None, "min_rollouts": 1}
    True
    """
    gate = curriculum.gate
    return {
        "bands": {band.name: [band.low, band.high] for band in curriculum.bands},
        "stages": [_plain_stage(stage) for stage in curriculum.stages],
        "gate": None if gate is None else {name: getattr(gate, name) for name in _GATE_KEYS},
        "min_rollouts": curriculum.min_rollouts,
    }


def _plain_stage(stage: Stage) -> dict[str, Any]:
    bands = list(stage.bands) if stage.shares is None else dict(zip(stage.bands, stage.shares, strict=True))
    size = {} if stage.size is None else {"size": stage.size}
    return {"name": stage.name, "bands": bands, **size, "epochs": stage.epochs}


def _band(name: str, edges: Any) -> RateBand:
    if not isinstance(edges, list | tuple) or len(edges) != 2:
        raise PoolError(f"band {name!r}: got {edges!r:.80}; expected [LOWEST, HIGHEST] pass rate, such as [0.9, 1]")
    return RateBand(name, *edges)


def _stage(place: int, given: Any) -> Stage:
    name = given.get("name") if isinstance(given, Mapping) else None
    called = f"stage {name!r:.80}" if name else f"stages[{place}]"
    values = _mapping(called, given, _STAGE_KEYS, needed=("name", "bands"))
    bands, shares = values["bands"], None
    if isinstance(bands, Mapping):
        shares = tuple(bands.values())
    elif not isinstance(bands, list | tuple):
        raise PoolError(f"{called}, bands: got {bands!r:.80}; expected a list of names, or {{name: share}}")
    return Stage(values["name"], tuple(bands), shares, values.get("size"), values.get("epochs", 1))


def _mapping(
    what: str, given: Any, known: Iterable[str] | None = None, needed: Iterable[str] = ()
) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise PoolError(f"{what}: got {given!r:.80}; expected a mapping of names to values")
    for name in given:
        if known is not None and name not in known:
            raise PoolError(f"{what}: unknown key {name!r}{near(name, known) or '.'} There are: {', '.join(known)}")
    for name in needed:
        if name not in given:
            raise PoolError(f"{what}: no {name!r}; expected {', '.join(needed)}")
    return given
