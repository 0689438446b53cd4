"""Filters of a pool, a band and then selectors, which leave samples out and weigh the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, SelectorError
from grounding_rewards.pool.selection.funnel import Funnel
from grounding_rewards.pool.selectors import Band, Selector, select
from grounding_rewards.pool.selectors.protocol import name_of
from grounding_rewards.pool.selectors.weights import built
from grounding_rewards.pool.stats import SampleStats

SelectorSpec = Selector | str | Mapping[str, Any]


@dataclass(frozen=True)
class Filter:
    """Selector with its description for the manifest.

    Attributes:
        name: the name of its step.
        selector: the selector.
        parameters: its specification, as plain values.
    """

    name: str
    selector: Selector
    parameters: Mapping[str, Any]


def filters(band: Band | tuple[float, float] | None, selectors: Iterable[SelectorSpec]) -> list[Filter]:
    """Build the filters of a pool, in order.

    Raises:
        PoolError: the band is not two pass rates, or the selectors are not a list.
        RecipeError: they are not pass rates in order, or a selector cannot be built.

    >>> [step.parameters for step in filters(None, ["learnability"])]
    [{'selector': 'learnability'}]
    """
    found = []
    if band is not None:
        chosen = _band(band)
        found.append(Filter("band", chosen, asdict(chosen)))
    return found + [
        Filter(_name(spec), built(spec), {"selector": plain(spec)}) for spec in as_list("selectors", selectors)
    ]


def weigh(funnel: Funnel, stats: SampleStats, chosen: Sequence[Filter]) -> Floats:
    """Return the logarithms of the products of all weights, (m,), for the products may underflow.

    Samples with a weight of 0 are removed. A selector receives the samples that are left.

    Raises:
        SelectorError: a selector breaks its contract, or returns a weight below 0.
    """
    logs = np.zeros(len(stats))
    for step in chosen:
        rows = np.flatnonzero(funnel.left)
        found = select(stats.taken(rows), step.selector)
        for row in np.flatnonzero(found < 0)[:1]:
            raise SelectorError(
                f"selector {name_of(step.selector)} returned {found[row]} for {stats.named(rows[row])}; expected 0 or "
                "more, for a pool is drawn by these weights"
            )
        with np.errstate(divide="ignore"):
            logs[rows] += np.log(found)
        funnel.remove(step.name, np.isneginf(logs), **step.parameters)
    return logs


def as_list(name: str, given: Iterable[Any]) -> list[Any]:
    """Check that an argument is a list, and return it.

    Raises:
        PoolError: it is a text, a mapping or no iterable.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise PoolError(f"{name}: got {given!r:.80}; expected a list")
    return list(given)


def plain(given: Any) -> Any:
    """Return a selector's specification as JSON; an object by its repr, without its memory address.

    >>> plain({"name": "every", "selectors": ["unsolved", Band(0.1, 0.9)]})["selectors"][1]
    'Band(low_rate=0.1, high_rate=0.9, inclusive=False, confident=False)'
    """
    if isinstance(given, Mapping):
        return {str(key): plain(each) for key, each in given.items()}
    if isinstance(given, list | tuple):
        return [plain(part) for part in given]
    if isinstance(given, np.generic):
        return given.item()
    return given if given is None or isinstance(given, str | int | float) else _ADDRESS.sub("", repr(given))


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def _band(given: Any) -> Band:
    if isinstance(given, Band):
        return given
    rates = as_list("band", given)
    if len(rates) != 2:
        raise PoolError(f"band: got {given!r:.80}; expected two pass rates, or a Band")
    return Band(*rates)


def _name(given: SelectorSpec) -> str:
    if isinstance(given, Mapping):
        return str(given.get("name"))
    return given if isinstance(given, str) else type(given).__name__
