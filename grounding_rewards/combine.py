"""The algebra that turns columns of scores into a reward, of whole responses and, in ``any_of``, of alternatives.

Every combinator takes verifiers or other combinators by name and is itself a frozen dataclass with ``low``, ``high``
and ``needs``, so that compositions nest. The names become ``Scores.parts``, each with its own score before weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Protocol, TypeGuard

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, short_repr
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.alternatives import Mask
from grounding_rewards.verifiers.any_of import each_of
from grounding_rewards.verifiers.base import Composed, Verifier, scored
from grounding_rewards.verifiers.contract import VERIFIER, why_invalid

RESERVED = frozenset({
    "reward", "score", "acc", "overall", "accuracy", "correct", "valid", "uid", "input", "output", "gts", "step",
    "num_turns", "total", "reason", "x", "y", "dialect", "action_name", "arguments", "parsed", "in_image",
    "data_source", "extra_info", "index", "pred", "turn_scores", "tool_rewards", "overlong", "overlong_reward", "error",
    "timeout",
})  # fmt: skip
"""Names that trainers or score tables use themselves; no part is called so."""

Known = dict[int, tuple[Verifier, Floats]]  # with the verifier, so that no other one gets its id meanwhile


class Combination(Verifier, Protocol):
    """A composition: ``children`` by name, and how their scores make one."""

    @property
    def children(self) -> tuple[tuple[str, Verifier], ...]: ...

    def join(self, scores: Mapping[str, Floats]) -> Floats: ...


def is_combination(term: Verifier) -> TypeGuard[Combination]:
    """Return whether a term has children."""
    return hasattr(term, "children")


def evaluate(
    term: Verifier, rollouts: Rollouts, label: str = "reward", known: Known | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Return a term's scores (n,), and those of every named part inside it.

    Args:
        term: a verifier or a combination.
        rollouts: n rollouts.
        label: the term's name in errors: a part's name, or "reward" or "success" for a whole.
        known: verifiers and their scores by identity; grows, and spares one that occurs again on these rollouts.

    Raises:
        VerifierError: a verifier returned something other than n numbers within its bounds; names the part.
    """
    parts: dict[str, Floats] = {}
    return _evaluate(term, rollouts, label, {} if known is None else known, parts), parts


def _evaluate(term: Verifier, rollouts: Rollouts, label: str, known: Known, parts: dict[str, Floats]) -> Floats:
    if is_combination(term):
        scores: dict[str, Floats] = {}
        for name, child in term.children:
            scores[name] = parts[name] = _evaluate(child, rollouts, name, known, parts)
        return term.join(scores)
    pair = known.get(id(term))
    if pair is None:
        pair = known[id(term)] = term, scored(term, rollouts, label)
    return pair[1]


def parts_of(term: Verifier) -> Iterator[tuple[str, Verifier]]:
    """Yield all parts inside a term by name, in order of evaluation."""
    for name, child in term.children if is_combination(term) else ():
        yield from parts_of(child)
        yield name, child


@dataclass(frozen=True)
class _Parts(Composed):
    parts: tuple[tuple[str, Verifier], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise RecipeError(f"{type(self).__name__}: got no parts; name at least one")
        for name, part in self.parts:
            if wrong := why_invalid(part, VERIFIER):
                raise RecipeError(f"part {name!r}: got {short_repr(part)}, which {wrong}")
        names = [name for name, _ in parts_of(self)]  # type: ignore[arg-type]
        for name in names:  # at any depth, because Scores.parts is flat
            if name in RESERVED or not name.isidentifier():
                raise RecipeError(f"part {name!r}: trainers use that name, or it is no name; choose another")
            if names.count(name) > 1:
                raise RecipeError(f"part {name!r} occurs twice; each part needs a name of its own")

    @property
    def children(self) -> tuple[tuple[str, Verifier], ...]:
        return self.parts

    @property
    def within(self) -> tuple[Verifier, ...]:
        return tuple([part for _, part in self.parts])

    def __call__(self, rollouts: Rollouts) -> Floats:
        return evaluate(self, rollouts)[0]  # type: ignore[arg-type]

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Return the score of each alternative, in ``any_of``: (k,)."""
        scores = {name: each_of(part, rollouts, among) for name, part in self.parts}
        return self.join(scores)  # type: ignore[attr-defined, no-any-return]  # of those that derive from this


@dataclass(frozen=True)
class Weighted(_Parts):
    """Σ weight · part, added from left to right, in the bounds too (``sum`` of Python 3.12 rounds otherwise)."""

    weights: tuple[float, ...] = ()

    @property
    def low(self) -> float:
        bounds = zip(self.weights, self.parts, strict=True)
        return reduce(add, [min(w * part.low, w * part.high) for w, (_, part) in bounds])

    @property
    def high(self) -> float:
        bounds = zip(self.weights, self.parts, strict=True)
        return reduce(add, [max(w * part.low, w * part.high) for w, (_, part) in bounds])

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        # A part of weight 0 adds nothing, and leaving it out halves the time that the usual two parts take.
        terms = [w * scores[name] for w, (name, _) in zip(self.weights, self.parts, strict=True) if w]
        return reduce(add, terms) if terms else np.zeros_like(scores[self.parts[0][0]])


@dataclass(frozen=True)
class Product(_Parts):
    """Π part."""

    @property
    def low(self) -> float:
        return self._bounds()[0]

    @property
    def high(self) -> float:
        return self._bounds()[1]

    def _bounds(self) -> tuple[float, float]:
        low = high = 1.0
        for _, part in self.parts:
            # A negative factor turns lowest to highest, so that every corner counts.
            corners = [bound * side for bound in (low, high) for side in (part.low, part.high)]
            low, high = min(corners), max(corners)
        return low, high

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        return _folded(np.multiply, self.parts, scores)

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Return the product for each alternative; what a factor makes 0 is of no use to those after it."""
        score = each_of(self.parts[0][1], rollouts, among)
        for _, part in self.parts[1:]:
            among = score != 0 if among is None else among & (score != 0)
            if not np.count_nonzero(among):
                break
            score = score * each_of(part, rollouts, among)
        return score


@dataclass(frozen=True)
class Best(_Parts):
    """The largest part."""

    @property
    def low(self) -> float:
        return max(part.low for _, part in self.parts)

    @property
    def high(self) -> float:
        return max(part.high for _, part in self.parts)

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        return _folded(np.maximum, self.parts, scores)


@dataclass(frozen=True)
class Gate(_Parts):
    """The second part where the first is above 0, else ``otherwise``."""

    otherwise: float = 0.0

    @property
    def low(self) -> float:
        return min(self.parts[1][1].low, self.otherwise)

    @property
    def high(self) -> float:
        return max(self.parts[1][1].high, self.otherwise)

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        (when, _), (then, _) = self.parts
        return np.where(scores[when] > 0, scores[then], self.otherwise)


@dataclass(frozen=True)
class _Lone(_Parts):
    """A combination of a single part."""

    @property
    def part(self) -> Verifier:
        return self.parts[0][1]

    def score(self, scores: Mapping[str, Floats]) -> Floats:
        return scores[self.parts[0][0]]


@dataclass(frozen=True)
class Clip(_Lone):
    """The part, limited to low..high."""

    low: float = 0.0
    high: float = 1.0

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        return np.clip(self.score(scores), self.low, self.high)


@dataclass(frozen=True)
class Affine(_Lone):
    """scale · part + shift."""

    scale: float = 1.0
    shift: float = 0.0

    @property
    def low(self) -> float:
        return min(self.scale * self.part.low, self.scale * self.part.high) + self.shift

    @property
    def high(self) -> float:
        return max(self.scale * self.part.low, self.scale * self.part.high) + self.shift

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        return self.scale * self.score(scores) + self.shift


@dataclass(frozen=True)
class Asymmetric(_Lone):
    """positive · part above 0, negative · part below."""

    positive: float = 1.0
    negative: float = 1.0

    @property
    def low(self) -> float:
        return self._scaled(self.part.low)

    @property
    def high(self) -> float:
        return self._scaled(self.part.high)

    def _scaled(self, bound: float) -> float:
        return bound * (self.positive if bound > 0 else self.negative)

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        score = self.score(scores)
        return score * np.where(score > 0, self.positive, self.negative)


@dataclass(frozen=True)
class Steps(_Lone):
    """values[k], where k edges are at or below the part."""

    edges: tuple[float, ...] = ()
    values: tuple[float, ...] = (0.0,)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def join(self, scores: Mapping[str, Floats]) -> Floats:
        values: Floats = np.array(self.values, dtype=np.float64)
        # "right": a score on an edge has passed it.
        return values[np.searchsorted(self.edges, self.score(scores), side="right")]


def _folded(join: np.ufunc, parts: tuple[tuple[str, Verifier], ...], scores: Mapping[str, Floats]) -> Floats:
    """The parts' scores joined from left to right; an array of its own, for a single part too."""
    columns = [scores[name] for name, _ in parts]
    return reduce(join, columns) if len(columns) > 1 else columns[0].copy()


def weighted(**parts: tuple[float, Verifier]) -> Weighted:
    """Σ weight · part, each part given as ``name=(weight, verifier)``.

    >>> from grounding_rewards.verifiers import Format, Hit
    >>> reward = weighted(hit=(0.9, Hit()), format=(0.1, Format()))
    >>> reward.low, reward.high
    (0.0, 1.0)
    """
    for name, pair in parts.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RecipeError(f"part {name!r}: got {pair!r:.80}; expected (weight, verifier)")
    weights = tuple(_finite(f"weight of {name}", weight) for name, (weight, _) in parts.items())
    return Weighted(tuple((name, part) for name, (_, part) in parts.items()), weights)


def product(**parts: Verifier) -> Product:
    """Π part: one 0 makes the whole 0."""
    return Product(tuple(parts.items()))


def best(**parts: Verifier) -> Best:
    """The largest part, for parts that apply to different targets, such as a hit or a correct refusal."""
    return Best(tuple(parts.items()))


def gate(*, when: tuple[str, Verifier], then: tuple[str, Verifier], otherwise: float = 0.0) -> Gate:
    """``then`` where ``when`` is above 0, else ``otherwise``; both as (name, verifier)."""
    for pair in (when, then):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise RecipeError(f"gate: got {pair!r:.80}; expected (name, verifier)")
    return Gate((when, then), _finite("otherwise", otherwise))


def clip(name: str, part: Verifier, low: float, high: float) -> Clip:
    """The part, limited to low..high."""
    if _finite("low", low) > _finite("high", high):
        raise RecipeError(f"clip {name}: got low {low} above high {high}")
    return Clip(((name, part),), float(low), float(high))


def affine(name: str, part: Verifier, scale: float = 1.0, shift: float = 0.0) -> Affine:
    """Return scale · part + shift."""
    return Affine(((name, part),), _finite("scale", scale), _finite("shift", shift))


def asymmetric(name: str, part: Verifier, positive: float = 1.0, negative: float = 1.0) -> Asymmetric:
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
    return Asymmetric(((name, part),), float(positive), float(negative))


def steps(name: str, part: Verifier, edges: Sequence[float], values: Sequence[float]) -> Steps:
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
    return Steps(((name, part),), tuple(edges), tuple(values))


def _finite(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RecipeError(f"{name}: got {value!r}; expected a finite number")
    return float(value)
