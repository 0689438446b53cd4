"""Verifiers that a config names: registered ones, and anybody's own by ``module:attr`` or ``/path/file.py:attr``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from grounding_rewards.plugins.named import Kind, Own
from grounding_rewards.verifiers.base import Verifier, verifier
from grounding_rewards.verifiers.contract import VERIFIER

_KIND = Kind("verifier", VERIFIER, "Rollouts", verifier, beside=("verifier", "weight"))


def verifier_named(name: str, arguments: Mapping[str, Any] | None = None) -> Verifier:
    """A verifier from its name and plain arguments, as a config has them.

    Args:
        name: a registered verifier's (``"hit"``, ``"plugin/name"``); or ``module:attr`` or ``/path/file.py:attr`` of
            a verifier, of a class of verifiers, or of a function that maps ``Rollouts`` to n scores.
        arguments: what the class or the function takes. A function must be given ``low`` and ``high``, the bounds of
            its scores, and may be given ``needs``.

    Raises:
        RecipeError: there is no such verifier, or an argument is unknown, missing or not to its liking.

    >>> verifier_named("hit", {"point_radius": 14}).point_radius
    14
    >>> verifier_named("hti")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown verifier 'hti'; did you mean 'hit'? ...
    """
    from grounding_rewards.plugins.registry import registry

    found: Verifier = _KIND.named(name, registry().verifiers, arguments, OwnVerifier)
    return found


@dataclass(frozen=True)
class OwnVerifier(Own):
    """A verifier that a config names by its place in code. It is compared and pickled by that name.

    Args:
        name: ``module:attr`` or ``/path/file.py:attr``.
        arguments: what it was built with.
    """

    kind: ClassVar[Kind] = _KIND
    reads_further = True

    @property
    def needs(self) -> frozenset[str]:
        found: frozenset[str] = self.inner.needs
        return found
