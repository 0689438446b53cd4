"""The algebra that turns columns of scores into a reward, of whole responses and, in ``any_of``, of alternatives.

Every function here takes verifiers or other combinations by name, so that they nest; the names become ``Scores.parts``,
each with its own score before weights. ``OPS`` is the table of what they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, short_repr
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.terms import VERIFIER, Mask, Term, Verifier, each_of, scored, why_invalid

RESERVED = frozenset({
    "reward", "score", "acc", "overall", "accuracy", "correct", "valid", "uid", "input", "output", "gts", "step",
    "num_turns", "total", "reason", "x", "y", "dialect", "action_name", "arguments", "parsed", "in_image",
    "data_source", "extra_info", "index", "pred", "turn_scores", "tool_rewards", "overlong", "overlong_reward", "error",
    "timeout", "sample_id", "round", "rollout", "recipe", "response", "target", "image_size", "model_image_size",
    "source", "temperature", "policy", "trajectory", "train_step", "token_length", "x_unit", "y_unit", "problem", "cut",
    "seed", "prompt_tokens", "image_hash",
})  # fmt: skip
"""Names that trainers, score tables or rollout tables use themselves; no part is called so."""

Known = dict[int, Floats]
Columns = Sequence[Floats]
Bounds = tuple[float, float]


class Op(NamedTuple):
    """A row of ``OPS``: the scores and the bounds of a combination, of those of its parts and of its numbers."""

    join: Callable[..., Floats]
    bounds: Callable[..., Bounds]


def _sum(columns: Columns, weights: Sequence[float]) -> Floats:
    # From left to right, in the bounds too (``sum`` of Python 3.12 rounds otherwise). A part of weight 0 adds nothing,
    # and leaving it out halves the time that the usual two parts take.
    terms = [weight * column for weight, column in zip(weights, columns, strict=True) if weight]
    return reduce(add, terms) if terms else np.zeros_like(columns[0])


def _sum_bounds(bounds: Sequence[Bounds], weights: Sequence[float]) -> Bounds:
    ends = [sorted((weight * low, weight * high)) for weight, (low, high) in zip(weights, bounds, strict=True)]
    return reduce(add, [low for low, _ in ends]), reduce(add, [high for _, high in ends])


def _product_bounds(bounds: Sequence[Bounds]) -> Bounds:
    low = high = 1.0
    for part in bounds:
        # A negative factor turns lowest to highest, so that every corner counts.
        corners = [bound * side for bound in (low, high) for side in part]
        low, high = min(corners), max(corners)
    return low, high


def _folded(fold: np.ufunc) -> Callable[[Columns], Floats]:
    """Return what joins columns from left to right; the result is an array of its own, for a single part too."""
    return lambda columns: reduce(fold, columns) if len(columns) > 1 else columns[0].copy()


def _affine_bounds(bounds: Sequence[Bounds], scale: float, shift: float) -> Bounds:
    low, high = sorted(scale * end for end in bounds[0])
    return low + shift, high + shift


def _steps(columns: Columns, edges: Sequence[float], values: Sequence[float]) -> Floats:
    # "right": a score on an edge has passed it.
    steps: Floats = np.array(values, dtype=np.float64)[np.searchsorted(edges, columns[0], side="right")]
    return steps


OPS: Mapping[str, Op] = {
    "weighted": Op(_sum, _sum_bounds),
    "product": Op(_folded(np.multiply), _product_bounds),
    "best": Op(_folded(np.maximum), lambda bounds: (max(low for low, _ in bounds), max(high for _, high in bounds))),
    "gate": Op(
        lambda columns, otherwise: np.where(columns[0] > 0, columns[1], otherwise),
        lambda bounds, otherwise: (min(bounds[1][0], otherwise), max(bounds[1][1], otherwise)),
    ),
    "clip": Op(lambda columns, low, high: np.clip(columns[0], low, high), lambda bounds, low, high: (low, high)),
    "affine": Op(lambda columns, scale, shift: scale * columns[0] + shift, _affine_bounds),
    "asymmetric": Op(
        lambda columns, positive, negative: columns[0] * np.where(columns[0] > 0, positive, negative),
        lambda bounds, positive, negative: tuple([end * (positive if end > 0 else negative) for end in bounds[0]]),
    ),
    "steps": Op(_steps, lambda bounds, edges, values: (min(values), max(values))),
}


@dataclass(frozen=True)
class Combination(Term):
    """Terms by name, joined as a row of ``OPS`` says; a class derived from this may join them otherwise."""

    op: str  # the name of the row
    parts: tuple[tuple[str, Verifier], ...]  # the terms by name, in order
    given: tuple[tuple[str, Any], ...] = ()  # the row's numbers by name

    def __post_init__(self) -> None:
        if not self.parts:
            raise RecipeError(f"{self.op}: got no parts; name at least one")
        for name, part in self.parts:
            if wrong := why_invalid(part, VERIFIER):
                raise RecipeError(f"part {name!r}: got {short_repr(part)}, which {wrong}")
        names = [name for name, _ in self.steps]
        for name in names:  # at any depth, because Scores.parts is flat
            if name in RESERVED or not name.isidentifier():
                raise RecipeError(f"part {name!r}: trainers use that name, or it is no name; choose another")
            if names.count(name) > 1:
                raise RecipeError(f"part {name!r} occurs twice; each part needs a name of its own")

    @cached_property
    def within(self) -> tuple[Verifier, ...]:
        return tuple([part for _, part in self.parts])

    @cached_property
    def steps(self) -> tuple[tuple[str, Verifier], ...]:
        """All parts inside by name, in order of evaluation."""
        return tuple([each for name, part in self.parts for each in (*parts_of(part), (name, part))])

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The row's numbers by name."""
        return dict(self.given)

    @cached_property
    def _bounds(self) -> Bounds:
        return OPS[self.op].bounds([(part.low, part.high) for part in self.within], **self.numbers)

    @cached_property
    def low(self) -> float:
        return self._bounds[0]

    @cached_property
    def high(self) -> float:
        return self._bounds[1]

    def join(self, columns: Columns) -> Floats:
        """Return the scores of those of the parts, in order."""
        return OPS[self.op].join(columns, **self.numbers)

    def __call__(self, rollouts: Rollouts) -> Floats:
        return evaluate(self, rollouts)[0]

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Return the score of each alternative, in ``any_of``: (k,)."""
        columns: list[Floats] = []
        for part in self.within:
            columns.append(each_of(part, rollouts, among))
            if self.op == "product":  # what a factor makes 0 is of no use to those after it
                among = columns[-1] != 0 if among is None else among & (columns[-1] != 0)
                if not np.count_nonzero(among):
                    break
        return self.join(columns)


def evaluate(
    term: Verifier, rollouts: Rollouts, label: str = "reward", known: Known | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Return a term's scores (n,), and those of every named part inside it.

    ``label`` is the term's name in errors. ``known`` has what was scored on the same rollouts by the ``id`` of terms
    that live as long, and grows.
    """
    known = {} if known is None else known
    steps = parts_of(term)
    for name, part in (*steps, (label, term)):
        if id(part) in known:
            continue
        if isinstance(part, Combination):
            known[id(part)] = part.join([known[id(each)] for each in part.within])
        else:
            known[id(part)] = scored(part, rollouts, name)
    return known[id(term)], {name: known[id(part)] for name, part in steps}


def parts_of(term: Verifier) -> tuple[tuple[str, Verifier], ...]:
    """Return all parts inside a term by name, in order of evaluation."""
    return term.steps if isinstance(term, Combination) else ()


def _combined(op: str, parts: Mapping[str, Verifier], **numbers: Any) -> Combination:
    return Combination(op, tuple(parts.items()), tuple(numbers.items()))


def weighted(**parts: tuple[float, Verifier]) -> Combination:
    """Σ weight · part, each part given as ``name=(weight, verifier)``.

    >>> from grounding_rewards.verifiers import Format, Hit
    >>> reward = weighted(hit=(0.9, Hit()), format=(0.1, Format()))
    >>> reward.low, reward.high
    (0.0, 1.0)
    """
    for name, pair in parts.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RecipeError(f"part {name!r}: got {pair!r:.80}; expected (weight, verifier)")
    weights = tuple([_finite(f"weight of {name}", weight) for name, (weight, _) in parts.items()])
    return _combined("weighted", {name: part for name, (_, part) in parts.items()}, weights=weights)


def product(**parts: Verifier) -> Combination:
    """Π part: one 0 makes the whole 0."""
    return _combined("product", parts)


def best(**parts: Verifier) -> Combination:
    """The largest part, for parts that apply to different targets, such as a hit or a correct refusal."""
    return _combined("best", parts)


def gate(*, when: tuple[str, Verifier], then: tuple[str, Verifier], otherwise: float = 0.0) -> Combination:
    """``then`` where ``when`` is above 0, else ``otherwise``; both as (name, verifier)."""
    for pair in (when, then):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RecipeError(f"gate: got {pair!r:.80}; expected (name, verifier)")
    return Combination("gate", (when, then), (("otherwise", _finite("otherwise", otherwise)),))


def clip(name: str, part: Verifier, low: float, high: float) -> Combination:
    """The part, limited to low..high."""
    if _finite("low", low) > _finite("high", high):
        raise RecipeError(f"clip {name}: got low {low} above high {high}")
    return _combined("clip", {name: part}, low=float(low), high=float(high))


def affine(name: str, part: Verifier, scale: float = 1.0, shift: float = 0.0) -> Combination:
    """Return scale · part + shift."""
    return _combined("affine", {name: part}, scale=_finite("scale", scale), shift=_finite("shift", shift))


def asymmetric(name: str, part: Verifier, positive: float = 1.0, negative: float = 1.0) -> Combination:
    """Scale gains and losses apart: positive · part above 0, negative · part below.

    >>> from grounding_rewards.verifiers import Hit
    >>> reward = asymmetric("side", affine("hit", Hit(), scale=2.0, shift=-1.0), positive=1.5, negative=0.5)
    >>> reward.low, reward.high
    (-0.5, 1.5)

    Raises:
        RecipeError: a factor is negative, which would turn the order of scores around.
    """
    if _finite("positive", positive) < 0 or _finite("negative", negative) < 0:
        raise RecipeError(f"asymmetric {name}: got {positive} and {negative}; expected factors from 0")
    return _combined("asymmetric", {name: part}, positive=float(positive), negative=float(negative))


def steps(name: str, part: Verifier, edges: Sequence[float], values: Sequence[float]) -> Combination:
    """Turn the part into steps: values[0] below edges[0], values[k] from edges[k - 1] on.

    >>> from grounding_rewards.verifiers import Hit
    >>> steps("hit", Hit(), edges=[0.5], values=[-0.1, 1.0]).low
    -0.1

    Raises:
        RecipeError: the edges do not rise, or there is not one value more than edges.
    """
    edges = [_finite(f"edge of {name}", edge) for edge in edges]
    values = [_finite(f"value of {name}", value) for value in values]
    if any(a >= b for a, b in pairwise(edges)) or len(values) != len(edges) + 1:
        raise RecipeError(f"steps {name}: got {edges} and {values}; expected rising edges and one value more")
    return _combined("steps", {name: part}, edges=tuple(edges), values=tuple(values))


def _finite(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RecipeError(f"{name}: got {value!r}; expected a finite number")
    return float(value)
