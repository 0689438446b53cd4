"""Targets as rollout tables hold them: whoever reads the table with the recipe's name alone reads the same places."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from grounding_rewards.catalogue import RecordedName, recorded_recipe
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.targets.target import Target
from grounding_rewards.targets.write import to_wire


def forgets_space(recipe: Recipe) -> bool:
    """Return True where a recipe's name does not say the space of its targets: an option has set it, or needs to.

    >>> from grounding_rewards.catalogue import recipe
    >>> forgets_space(recipe("gelato")), forgets_space(recipe("gelato", target_space="pixel"))
    (False, True)
    """
    return _space_of(recipe.name) != recipe.target_space


@lru_cache
def _space_of(name: str) -> CoordSpace | None:
    known = recorded_recipe(RecordedName(name))
    return None if known is None else known.target_space


def recorded_targets(recipe: Recipe, texts: Sequence[str | None], read: Sequence[Target | None]) -> list[str | None]:
    """Return targets as JSON that name their space, where the recipe's name does not say it.

    Args:
        recipe: read the targets.
        texts: the targets as JSON; kept where they hold no place, and where they cannot be read.
        read: the same as read.
    """
    if not forgets_space(recipe):
        return list(texts)
    return [
        text if target is None or not (target.regions or target.ends) else _with_space(recipe, target)
        for text, target in zip(texts, read, strict=True)
    ]


def _with_space(recipe: Recipe, target: Target) -> str:
    return dumps(to_wire(replace(target, space=target.space or recipe.target_space))).decode()
