"""The algebra over alternatives: terms that score each of a target's, and the best one's score as the sample's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import ACTIONS as NAMES
from grounding_rewards.actions import Objects
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, near, short_repr
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.verifiers.match import ActionType, Names, lowered, same_names
from grounding_rewards.verifiers.terms import (
    ACTIONS,
    VERIFIER,
    Each,
    Mask,
    OfAlternatives,
    Term,
    called,
    each_of,
    judges_of,
    why_invalid,
)


def _check(owner: str, term: Each) -> None:
    """Raise a RecipeError that names the first verifier within a term that cannot score alternatives."""
    if wrong := why_invalid(term, VERIFIER):
        raise RecipeError(f"{owner}: got {short_repr(term)}, which {wrong}")
    if isinstance(term, AnyOf) or not hasattr(term, "each"):
        raise RecipeError(
            f"{owner}: {called(term)} scores whole responses, not each alternative of a target; put it beside any_of"
        )
    for part in getattr(term, "within", ()):
        _check(owner, part)


@dataclass(frozen=True)
class _OfOne(Term):
    """Wraps one term; ``rest``, within the bounds, is the score of alternatives that the term does not judge."""

    term: Each

    rest: ClassVar[float]

    @property
    def within(self) -> tuple[Each, ...]:
        return (self.term,)

    @property
    def low(self) -> float:
        return min(float(self.term.low), self.rest)

    @property
    def high(self) -> float:
        return max(float(self.term.high), self.rest)


@dataclass(frozen=True)
class AnyOf(_OfOne):
    """The score of the best alternative of each target, each scored by one term."""

    formula: str = ""  # the score in words, for ``explain``; its first line is what makes a part

    rest = 0.0  # of a refusal target

    def __post_init__(self) -> None:
        _check("any_of", self.term)

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        return rollouts.targets.alternatives.best(each_of(self.term, rollouts), len(rollouts))


def any_of(term: Each, formula: str = "") -> AnyOf:
    """Return the best alternative's score, where the parts of a term are to hold of one and the same alternative.

    Without it each verifier takes the best alternative by itself: ``product(ActionType, Hit)`` counts the action of
    one alternative at the place of another.

    Args:
        term: a verifier that scores alternatives, such as ``Hit``, ``ActionType``, ``TextMatch`` or ``same_action``, or
            a combination of such.
        formula: the score in words, for ``explain``.

    Raises:
        RecipeError: a verifier in it scores whole responses, such as ``Format``; names it.

    >>> from grounding_rewards.combine import product
    >>> from grounding_rewards.verifiers import ActionType, Hit
    >>> any_of(product(name=ActionType(), place=Hit())).high
    1.0
    """
    return AnyOf(term, formula)


@dataclass(frozen=True)
class SameAction(OfAlternatives):
    """1.0 where the action is the alternative's, times the term of that action, else 0.0; built by ``same_action``."""

    names: Names
    terms: tuple[tuple[str, Each], ...]
    otherwise: Each
    bare: str = "click"
    unnamed: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, term in (*self.terms, ("otherwise", self.otherwise)):
            if term is not None:
                _check(f"same_action, {name}", term)
            if self.names == "vocabulary" and name not in (*NAMES, "otherwise"):
                raise RecipeError(f"same_action: got the action {name!r}{near(name, NAMES)}")

    @property
    def within(self) -> tuple[Each, ...]:
        return tuple([term for _, term in (*self.terms, ("", self.otherwise)) if term is not None])

    @cached_property
    def low(self) -> float:
        return min([0.0, *(float(term.low) for term in self.within)])

    @cached_property
    def high(self) -> float:
        terms = (*(term for _, term in self.terms), self.otherwise)
        return max(0.0, *(1.0 if term is None else float(term.high) for term in terms))

    @cached_property
    def judges(self) -> frozenset[str]:
        return ACTIONS.union(*map(judges_of, self.within))

    @cached_property
    def _grouped(self) -> tuple[tuple[frozenset[str], Each], ...]:
        """Each term once, with the names of the actions that it scores."""
        grouped: dict[int, tuple[set[str], Each]] = {}  # by identity: each term runs once, and need have no hash
        for name, term in self.terms:
            grouped.setdefault(id(term), (set(), term))[0].add(name)
        return tuple((frozenset(names), term) for names, term in grouped.values())

    @cached_property
    def _bare_term(self) -> Each:
        return dict(self.terms).get("click" if self.names == "vocabulary" else self.bare, self.otherwise)

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Score k alternatives."""
        alternatives = rollouts.targets.alternatives
        wanted = None if alternatives.bare else self._wanted(alternatives)  # None: each asks for the bare action
        same = self._same(rollouts, wanted)
        if among is not None:
            same = same & among
        score: Floats = same.astype(np.float64)
        if wanted is None:
            return score if self._bare_term is None else score * each_of(self._bare_term, rollouts, same)
        actions, named = wanted.tolist(), set[str]()
        present = set(actions)
        for names, term in self._grouped:
            named |= names
            if term is not None and not present.isdisjoint(names):
                score = _times(score, term, rollouts, same, [name in names for name in actions])
        if self.otherwise is not None and not present <= named:
            score = _times(score, self.otherwise, rollouts, same, [name not in named for name in actions])
        return score

    def _wanted(self, alternatives: Alternatives) -> Objects:
        """Return the action that each alternative asks for: (k,)."""
        if self.names == "vocabulary":
            return alternatives.canonical.names
        names = lowered(alternatives.names) if self.names == "lower" else alternatives.names
        return np.where(names == "", self.bare, names)

    def _same(self, rollouts: Rollouts, wanted: Objects | None) -> NDArray[np.bool_]:
        """Return (k,) True where the response's action is the one wanted; None is the bare one everywhere."""
        alternatives, written = rollouts.targets.alternatives, rollouts.predictions.actions
        if self.names == "vocabulary":
            return _TYPE.each(rollouts) > 0
        if self.names == "lower":
            written = lowered(written)
        if self.unnamed:
            written = np.where(written == "", self.unnamed, written)
        right = self.bare if wanted is None else wanted
        return same_names(alternatives.each(written), right, self.names == "contained")


_TYPE = ActionType()


def _times(score: Floats, term: Each, rollouts: Rollouts, same: NDArray[np.bool_], chosen: list[bool]) -> Floats:
    """Return the scores of the chosen alternatives times the term's."""
    among = same & np.array(chosen, dtype=np.bool_)
    return np.where(among, each_of(term, rollouts, among), score) if np.count_nonzero(among) else score


def same_action(
    names: Names = "vocabulary", *, otherwise: Each | None, bare: str = "click", unnamed: str = "", **terms: Each | None
) -> SameAction:
    """Return a term of alternatives: 1.0 where the action is the one wanted, times that action's own term, else 0.0.

    Args:
        names: how names are compared, as in ``ActionType``: vocabulary, written, lower or contained.
        otherwise: the term of all actions that are not named here; None where the name is enough. There is no default:
            a misspelt name of an action would score in full.
        bare: the action that a place alone asks for, except in the vocabulary, where it is a click.
        unnamed: the action of a response that names none, "" for none.
        terms: by the name of the action that is wanted, what it scores beside its name; None where that is enough.

    Raises:
        RecipeError: a term scores whole responses, or an action is not in the vocabulary in which it is compared.

    >>> from grounding_rewards.verifiers import Hit, TextMatch
    >>> any_of(same_action(click=Hit(), type=TextMatch("f1"), otherwise=None)).high
    1.0
    """
    return SameAction(names, tuple(terms.items()), otherwise, bare, unnamed)


@dataclass(frozen=True)
class Placed(_OfOne, OfAlternatives):
    """The term's score of alternatives that have a place, 1.0 of the others; built by ``if_placed``."""

    rest = 1.0  # of an alternative without a place

    def __post_init__(self) -> None:
        _check("if_placed", self.term)

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Score k alternatives."""
        alternatives, score = rollouts.targets.alternatives, each_of(self.term, rollouts, among)
        return score if alternatives.bare else np.where(alternatives.place < 0, 1.0, score)


def if_placed(term: Each) -> Placed:
    """Return a term of alternatives: the term's score where the alternative has a place, else 1.0.

    A term of places such as ``Hit`` is 0.0 where there is none.
    """
    return Placed(term)
