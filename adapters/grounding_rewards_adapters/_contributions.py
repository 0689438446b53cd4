"""Contributions of the parts to a recipe's total, where the total is a sum."""

from __future__ import annotations

from collections.abc import Iterator

import grounding_rewards as gr
from grounding_rewards.combine import Affine, Clip, Weighted, is_combination
from grounding_rewards.verifiers.base import Verifier


def contributions(recipe: gr.Recipe) -> dict[str, float]:
    """The weights under which the parts of a recipe sum to its total: Σ weight · part.

    Sums within the sum are taken apart, also where they are scaled, or limited to what they cannot leave. Whatever else
    is inside it, such as a product, is one part. A part of weight 0 is left out: who forgets the weights would pay it.

    Raises:
        RecipeError: the total is no sum of parts.

    >>> contributions(gr.recipe("se-gui"))
    {'hit': 1.0, 'nearness': 1.0, 'format': 0.5}
    >>> contributions(gr.recipe("gelato"))
    {'distance': 1.0}
    """
    found = dict(_walk(recipe.reward, "", 1.0))
    if "" in found:
        kind = type(recipe.reward).__name__
        raise gr.RecipeError(
            f"{recipe.name} is no sum of parts, but {kind}: one function cannot pay each part; leave out split=True"
        )
    if not found:
        raise gr.RecipeError(f"{recipe.name} gives each part the weight 0; nothing would be rewarded")
    return found


def _walk(term: Verifier, name: str, weight: float) -> Iterator[tuple[str, float]]:
    inner = list(_summands(term))
    if not inner:
        yield name, weight
    for share, part, child in inner:
        if share:
            yield from _walk(child, part, weight * share)


def _summands(term: Verifier) -> Iterator[tuple[float, str, Verifier]]:
    """Weight, name and term of what a term adds up; nothing where it is no sum."""
    if not is_combination(term):
        return
    # Subclasses may join their parts in another way.
    if type(term) is Weighted:
        weights = list(term.weights)
    elif (type(term) is Affine and term.shift == 0) or (type(term) is Clip and _is_loose(term)):
        weights = [term.scale if isinstance(term, Affine) else 1.0]
    else:
        return
    yield from [(weight, name, child) for weight, (name, child) in zip(weights, term.children, strict=True)]


def _is_loose(term: Clip) -> bool:
    """Return True where a limited term stays within its limits by itself."""
    return term.low <= term.part.low and term.part.high <= term.high
