"""Candidates of a comparison: selectors, allocations and choices of rollouts, by name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grounding_rewards.errors import GroundingRewardsError, PoolError, near
from grounding_rewards.plugins.builtins import BUILT_IN
from grounding_rewards.plugins.loading import names_code
from grounding_rewards.plugins.named import selector
from grounding_rewards.plugins.registry import registry
from grounding_rewards.pool import methods
from grounding_rewards.pool.selection.filters import plain

SELECTOR, ALLOCATION, CHOICE, REFERENCE = "selector", "allocation", "choice", "reference"
"""Kinds of methods, and of the rows that they are compared with."""

EVERYTHING = "all"
"""Name for all built-in methods."""


@dataclass(frozen=True)
class Candidate:
    """Method of a comparison, built where that can be.

    Attributes:
        name: its name.
        kind: its kind.
        arguments: the caller's arguments.
        built: the method itself; None where it cannot be built.
        needs: required arguments that are missing.
        reason: a description of why it cannot run, if it cannot for another cause.
    """

    name: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    built: Any = None
    needs: tuple[str, ...] = ()
    reason: str = ""

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

    Args:
        specs: names, or mappings with ``name`` and arguments; a selector may also be code, ``module:attr``. ``"all"``
            stands for all built-in methods, and so does an empty list.

    Raises:
        PoolError: there is no method of a name, or it does not take its arguments.
        RecipeError: likewise, of a selector.

    >>> [(each.name, each.kind, each.needs) for each in candidates(["learnability", {"name": "min_rollouts"}])]
    [('learnability', 'selector', ()), ('min_rollouts', 'selector', ('n',))]
    """
    named = _kinds(registry().selectors)
    chosen = list[Candidate]()
    try:
        for spec in list(specs) or [EVERYTHING]:
            chosen += _built_in() if spec == EVERYTHING else [_named(spec, named)]
    except RecursionError:  # specifications come from JSON, nested at will
        raise PoolError("method: is nested too deep") from None
    built = {each.name for each in chosen if each.built is not None}
    return list({each.label: each for each in chosen if each.built is not None or each.name not in built}.values())


def _kinds(selectors: Iterable[str]) -> dict[str, str]:
    """Return the kind of each method by its name."""
    tables = {SELECTOR: selectors, ALLOCATION: methods.ALLOCATIONS, CHOICE: methods.ROLLOUT_CHOICES}
    return {name: kind for kind, names in tables.items() for name in names}


def _named(spec: str | Mapping[str, Any], known: Mapping[str, str]) -> Candidate:
    config = dict(spec) if isinstance(spec, Mapping) else {"name": spec}
    name = config.pop("name", None)
    if names_code(name):
        return Candidate(str(name), SELECTOR, config, selector({"name": name, **config}))
    if not isinstance(name, str) or name not in known:
        raise PoolError(
            f"method: got {name!r:.80}{near(name, known) or '.'} There are: {', '.join(known)}; a selector of your own "
            "by module:attr or /path/file.py:attr"
        )
    return _candidate(name, known[name], config)


def _built_in() -> Iterator[Candidate]:
    for name, kind in _kinds(BUILT_IN["selectors"]).items():
        try:
            yield _candidate(name, kind, {})
        except GroundingRewardsError as error:  # an extra that is not installed, for one
            yield Candidate(name, kind, reason=str(error))


def _candidate(name: str, kind: str, config: Mapping[str, Any]) -> Candidate:
    table = {ALLOCATION: methods.ALLOCATIONS, CHOICE: methods.ROLLOUT_CHOICES}.get(kind)
    thing = registry().selectors[name] if table is None else methods.class_of(name, table)
    if needs := _missing(thing, config):
        return Candidate(name, kind, config, needs=needs)
    spec = {"name": name, **config}
    return Candidate(name, kind, config, selector(spec) if table is None else methods.method(spec, table))


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
