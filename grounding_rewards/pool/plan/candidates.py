"""Candidates of a comparison: selectors, allocations and choices of rollouts, by name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grounding_rewards.errors import PoolError
from grounding_rewards.plugins.builtins import BUILT_IN
from grounding_rewards.plugins.registry import registry
from grounding_rewards.pool import methods
from grounding_rewards.pool.methods import ALLOCATION, CHOICE, SELECTOR
from grounding_rewards.pool.selection.filters import plain

REFERENCE = "reference"
"""Kind of the rows that methods are compared with."""

EVERYTHING = "all"
"""Name for all built-in methods."""


@dataclass(frozen=True)
class Candidate:
    """Method of a comparison, built where that can be."""

    name: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)  # the caller's arguments
    built: Any = None  # the method itself; None where it cannot be built
    needs: tuple[str, ...] = ()  # required arguments that are missing
    reason: str = ""  # a description of why it cannot run, if it cannot for another cause

    @property
    def label(self) -> str:
        """Return the name with the arguments.

        >>> Candidate("band", SELECTOR, {"low_rate": 0.2, "inclusive": True}).label
        'band(low_rate=0.2, inclusive=true)'
        """
        listed = ", ".join(f"{name}={json.dumps(plain(value))}" for name, value in self.arguments.items())
        return f"{self.name}({listed})" if listed else self.name


def candidates(specs: Iterable[str | Mapping[str, Any]] = ()) -> list[Candidate]:
    """Build methods for a comparison; those whose required arguments are missing only name them.

    >>> [(each.name, each.kind, each.needs) for each in candidates(["learnability", {"name": "min_rollouts"}])]
    [('learnability', 'selector', ()), ('min_rollouts', 'selector', ('n',))]
    """
    chosen = list[Candidate]()
    try:
        for spec in list(specs) or [EVERYTHING]:
            chosen += [_candidate(name) for name in _built_in()] if spec == EVERYTHING else [_candidate(spec)]
    except RecursionError:  # specifications come from JSON, nested at will
        raise PoolError("method: is nested too deep") from None
    built = {each.name for each in chosen if each.built is not None}
    return list({each.label: each for each in chosen if each.built is not None or each.name not in built}.values())


def _built_in() -> list[str]:
    """Return the names of all built-in methods, by kind."""
    kinds = {name: methods.kind_of(registry().methods[name]) for name in BUILT_IN["methods"]}
    return [name for kind in (SELECTOR, ALLOCATION, CHOICE) for name in sorted(kinds) if kinds[name] == kind]


def _candidate(spec: str | Mapping[str, Any]) -> Candidate:
    config = dict(spec) if isinstance(spec, Mapping) else {"name": spec}
    name = config.pop("name", None)
    thing = registry().methods.get(name) if isinstance(name, str) else None
    if thing is not None and (needs := _missing(thing, config)):
        return Candidate(str(name), methods.kind_of(thing), config, needs=needs)
    built = methods.method({"name": name, **config})
    return Candidate(str(name), methods.kind_of(built), config, built)


def _missing(thing: Any, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the required arguments that a config lacks; ``needs_one_of`` of a class names those of which one is."""
    if not isinstance(thing, type):
        return ()
    either: tuple[str, ...] = getattr(thing, "needs_one_of", ())
    if either and not set(either) & set(config):
        return (" or ".join(either),)
    parameters = inspect.signature(thing).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(
        each.name for each in parameters
        if each.default is each.empty and each.kind in named and each.name not in config
    )  # fmt: skip
