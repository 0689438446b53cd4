"""Selectors that a config names: registered ones, and anybody's own by ``module:attr`` or ``/path/file.py:attr``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, short_repr
from grounding_rewards.plugins.named import Kind, Own
from grounding_rewards.pool.selectors.protocol import FunctionSelector, Selector
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.contract import SELECTOR, is_bound


def _lift(fn: Callable[[SampleStats], Floats], *, low: Any, high: Any) -> FunctionSelector:
    if not (is_bound(low) and is_bound(high)) or low > high:
        raise RecipeError(f"got bounds {short_repr(low)} and {short_repr(high)}; expected finite numbers, low <= high")
    return FunctionSelector(fn, float(low), float(high))


_KIND = Kind("selector", SELECTOR, "SampleStats", _lift, gives="weights")


def selector(name: str | Mapping[str, Any], /, **arguments: Any) -> Selector:
    """A selector from its name and plain arguments, as a config has them.

    Args:
        name: a registered selector's (``"band"``, ``"plugin/name"``); or ``module:attr`` or ``/path/file.py:attr`` of
            a selector, of a class of them, or of a function that maps ``SampleStats`` to weights; or a mapping with
            ``name`` and arguments.
        arguments: what the class or the function takes. A function must be given ``low`` and ``high``, the bounds of
            its weights.

    Raises:
        RecipeError: there is no such selector, or an argument is unknown, missing or not to its liking.

    >>> selector("band", low_rate=0.25) == selector({"name": "band", "low_rate": 0.25})
    True
    >>> selector("bnad")
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown selector 'bnad'; did you mean 'band'? There are: band, every, \
learnability, mean_band, min_rollouts, source, spread, unsolved; your own by module:attr or /path/file.py:attr
    """
    from grounding_rewards.plugins.registry import registry

    given: dict[str, Any] = dict(name) if isinstance(name, Mapping) else {"name": name}
    if "name" not in given:
        raise RecipeError(f'a selector without a name: got {short_repr(given)}; expected such as {{"name": "band"}}')
    named = given.pop("name")
    found: Selector = _KIND.named(named, registry().selectors, {**given, **arguments}, OwnSelector)
    return found


@dataclass(frozen=True)
class OwnSelector(Own):
    """A selector that a config names by its place in code. It is compared and pickled by that name.

    Args:
        name: ``module:attr`` or ``/path/file.py:attr``.
        arguments: what it was built with.
    """

    kind: ClassVar[Kind] = _KIND
