"""Terms: the protocol of verifiers, their base classes, one walk through them, and a lift from a plain function.

And one check of what verifiers and selectors declare, and one of what they return, wherever they are used.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import GroundingRewardsError, RecipeError, TargetError, VerifierError, near, short_repr
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.requirements import Check
from grounding_rewards.verifiers import options

Mask = NDArray[np.bool_] | None

Each = Any
"""A verifier with ``each``, or a combination of such."""

NOTHING: frozenset[str] = frozenset()
PLACES = frozenset({"bbox", "polygon", "circle"})
ACTIONS = frozenset({"action"})
NEEDS_SCREEN = frozenset({"screen"})
"""Measures in shares of the screen: every place needs the size of its image, unless the space fixes it."""

VERIFIER = ("low", "high", "needs")
BOUNDS = ("low", "high")
"""Attributes that a verifier declares, and a selector."""

KNOWN = {
    "needs": ("groups", "screen", "trajectories", "points"),
    "reads": ("extras", "token_lengths"),
    "judges": ("bbox", "polygon", "circle", "point", "refusal", "action"),
}
"""Names that a verifier declares: its needs beside the rows themselves, the further columns that it reads, and the
kinds of target that it judges. The last two may be left out."""


class Verifier(Protocol):
    """Function of n rollouts to n scores between ``low`` and ``high``.

    ``needs``: "groups", "screen" (the size of the image), "trajectories" (all steps of each, named in the targets),
    "points" (all answers of a response, which asks for a recipe with ``answers="all"``).

    It may also declare ``reads``, which of "token_lengths" and "extras" it reads (both, where it does not say), and
    ``judges``, the kinds of target that it can find a response right by, as ``Recipe.accepts`` names them (none, where
    it does not say: it is taken to compare with no target); and have ``target_error``, a function of a target and the
    name of its sample to the TargetError about what it lacks, or None: then such targets cannot be used.
    """

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def needs(self) -> frozenset[str]: ...

    def __call__(self, rollouts: Rollouts) -> Floats: ...


class Term:
    """The base of built-in verifiers: 0.0 to 1.0, with the needs of the terms that it is made of, if any."""

    rivals: ClassVar[tuple[str, ...]] = ()
    """Options of which one at most is given, such as the same reach in two units."""

    needs_one: ClassVar[bool] = False
    """True where one of the rivals must be given."""

    def __post_init__(self) -> None:
        options.check(self)
        given = [name for name in self.rivals if getattr(self, name) is not None]
        if len(given) > 1:
            raise RecipeError(f"{type(self).__name__}: got both {given[0]} and {given[1]}; give one of them")
        if self.needs_one and not given:
            raise RecipeError(f"{type(self).__name__}: got neither {' nor '.join(self.rivals)}; give one of them")

    @property
    def within(self) -> tuple[Any, ...]:
        """Terms that its score is made of."""
        return ()

    @property
    def low(self) -> float:
        return 0.0

    @property
    def high(self) -> float:
        return 1.0

    @cached_property
    def needs(self) -> frozenset[str]:
        shares = any(getattr(self, name) is not None for name in options.screen_shares(cast(Hashable, type(self))))
        return frozenset().union(*(term.needs for term in self.within), NEEDS_SCREEN if shares else NOTHING)

    @cached_property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*map(reads_of, self.within))

    @cached_property
    def judges(self) -> frozenset[str]:
        return frozenset().union(*map(judges_of, self.within))


class OfAlternatives(Term):
    """A verifier that scores each alternative of a target by itself; a sample's score is that of its best one."""

    @property
    def judges(self) -> frozenset[str]:
        return ACTIONS

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Return the score of each alternative, (k,); only those in ``among``, where it is no None, are of use."""
        raise NotImplementedError

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        return rollouts.targets.alternatives.best(self.each(rollouts), len(rollouts.predictions.reason))


class OfPlaces(Term):
    """A verifier that scores each place of a target; an alternative that needs no place scores 0.0."""

    @property
    def judges(self) -> frozenset[str]:
        return PLACES

    def places(self, rollouts: Rollouts) -> Floats:
        """Return the score of each place: (m,)."""
        raise NotImplementedError

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Return the score of each alternative: (k,)."""
        return rollouts.targets.alternatives.place_scores(self.places(rollouts))

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        return rollouts.targets.regions.best(self.places(rollouts), len(rollouts.predictions.reason))


def reads_of(term: Verifier) -> frozenset[str]:
    """Return which of ``token_lengths`` and ``extras`` a verifier reads; both, where it does not say."""
    names: frozenset[str] = getattr(term, "reads", _READS)
    return names


_READS = frozenset(KNOWN["reads"])


def judges_of(term: Verifier) -> frozenset[str]:
    """Return the kinds of target that a verifier judges; none, where it does not say."""
    kinds: frozenset[str] = getattr(term, "judges", NOTHING)
    return kinds


def walk(term: Verifier, *, arguments: bool = False) -> Iterator[Verifier]:
    """Yield a term and those that it is made of, with ``arguments`` also the verifiers that any of them takes as one.

    >>> from grounding_rewards.verifiers import ActionType, DastLength, Format, Hit, any_of, same_action
    >>> list(walk(any_of(same_action(otherwise=None, click=Hit(), type=ActionType("lower")))))[3:]
    [ActionType(names='lower', presses='apart')]
    >>> list(walk(DastLength(correct=Format()), arguments=True))[1:]
    [Format(pattern=None)]
    """
    yield term
    inner = getattr(term, "within", ())
    if arguments and not inner:
        values = [getattr(term, name) for name in getattr(term, "__dataclass_fields__", ())]
        inner = [value for value in values if callable(value) and hasattr(value, "needs")]
    for each in inner:
        yield from walk(each, arguments=arguments)


@dataclass(frozen=True)
class FunctionVerifier:
    """A plain function as a verifier; what it returns is checked at each call."""

    fn: Callable[[Rollouts], Floats]
    low: float
    high: float
    needs: frozenset[str] = frozenset()

    def __call__(self, rollouts: Rollouts) -> Floats:
        try:
            returned = self.fn(rollouts)
        except GroundingRewardsError:  # it says what is wrong already
            raise
        except (Exception, SystemExit) as error:
            raise VerifierError(f"verifier {called(self)} raised {type(error).__name__}: {error}") from error
        return checked(self, returned, len(rollouts))


def called(verifier: Verifier) -> str:
    """Return a verifier's name in errors: the function that it lifts, the place that a config names, or its class."""
    thing = getattr(verifier, "fn", verifier)
    name = getattr(thing, "__name__", None) or getattr(thing, "name", None)
    return name if isinstance(name, str) else type(thing).__name__


def checked(term: Verifier, returned: Any, rows: int) -> Floats:
    """Return the result of a verifier as n float64 scores."""
    try:
        return checked_scores(returned, term.low, term.high, rows)
    except ValueError as error:
        raise VerifierError(f"verifier {called(term)} {error}") from None


def target_checks(*terms: Verifier) -> tuple[Check, ...]:
    """Return the ``target_error`` of each of the terms, and of those that they hold, that has one."""
    checks = [getattr(each, "target_error", None) for term in terms for each in walk(term, arguments=True)]
    return tuple([check for check in checks if check])


def scored(term: Verifier, rollouts: Rollouts, label: str) -> Floats:
    """Return a verifier's scores, checked; an error names the part, and has the verifier at fault as its ``term``."""
    kind: type[GroundingRewardsError] = VerifierError
    culprit: Any = term
    try:
        return checked(term, term(rollouts), len(rollouts))
    except TargetError:  # it names the sample and the field; no part is to blame
        raise
    except (VerifierError, RecipeError) as error:
        fault, cause = str(error), error.__cause__ or error  # what it was raised from says more
        kind = RecipeError if isinstance(error, RecipeError) else VerifierError
        culprit = term if error.term is None else error.term  # a verifier inside of this one
    except (Exception, SystemExit) as error:
        fault, cause = f"verifier {called(term)} raised {type(error).__name__}: {error}", error
    where = label if label in ("reward", "success") else f"part {label!r}"
    named = kind(f"{where}: {fault}")
    named.term = culprit
    raise named from cause


def each_of(term: Each, rollouts: Rollouts, among: Mask = None) -> Floats:
    """Return a term's score of each alternative, checked: (k,)."""
    returned = term.each(rollouts, among)
    if getattr(term, "parts", ()):
        return returned  # type: ignore[no-any-return]  # a combination of what is checked already
    rows = rollouts.targets.alternatives.row

    def place(index: int) -> str:
        return f"row {rows[index]}, alternative {index - int(np.searchsorted(rows, rows[index]))}"

    try:
        return checked_scores(returned, term.low, term.high, len(rows), place)
    except ValueError as error:
        wrong = VerifierError(f"verifier {called(term)} {error}")
        wrong.term = term
        raise wrong from None


def check_function(lift: str, fn: Any, expected: str) -> None:
    """Check that a lift gets a function."""
    if not callable(fn):
        raise RecipeError(f"{lift}(fn): got {short_repr(fn)}; expected {expected}")
    if isinstance(fn, type):
        raise RecipeError(f"{lift}(fn): got the class {fn.__name__}; build it: {fn.__name__}()")


def verifier(
    fn: Callable[[Rollouts], Floats], *, low: float, high: float, needs: Iterable[str] = ()
) -> FunctionVerifier:
    """Lift a plain function to a verifier, so that it can stand in any composition.

    Args:
        fn: maps ``Rollouts`` of n rows to n scores. A module-level function keeps the recipe picklable.
        low: the lowest score it can return.
        high: the highest.
        needs: its requirements beside the rows themselves: ``"groups"``, ``"screen"``, ``"trajectories"``,
            ``"points"``, or several. A verifier in the place of ``fn`` adds its own.

    Raises:
        RecipeError: ``fn`` is a class or cannot be called, the bounds are not finite and in order, or a need is
            unknown.

    >>> import numpy as np
    >>> short = verifier(lambda rollouts: np.array([float(len(text) < 20) for text in rollouts.text]), low=0, high=1)
    >>> short.low, short.high
    (0.0, 1.0)
    """
    check_function("verifier", fn, "a function of Rollouts")
    if not is_bound(low) or not is_bound(high) or low > high:
        raise RecipeError(
            f"verifier(low=, high=): got {short_repr(low)} and {short_repr(high)}; "
            "expected finite bounds with low <= high"
        )
    own = getattr(fn, "needs", ())
    return FunctionVerifier(fn, float(low), float(high), known_names("needs", needs) | known_names("needs", own))


_LIFT = {"verifier": "verifier(fn, low=, high=)", "selector": 'selector("module:fn", low=, high=)'}
_FLOAT64 = np.dtype(np.float64)
_NUMBERS = "fiub"  # kinds of dtype


def is_bound(value: Any) -> bool:
    """Return True for a finite number, numpy's included, but no boolean: a possible bound."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of 400 digits
        return False


def known_names(key: str, declared: Any) -> frozenset[str]:
    """Read names of ``KNOWN[key]``: one as a text, or several."""
    names = (
        [declared] if isinstance(declared, str) else list(declared) if isinstance(declared, Iterable) else [declared]
    )
    for name in names:
        if name not in KNOWN[key]:
            hint = near(name, KNOWN[key]) or "."
            raise RecipeError(f"{key}: got {short_repr(name)}{hint} There are: {', '.join(KNOWN[key])}")
    return frozenset(names)


def why_invalid(thing: Any, keys: Sequence[str]) -> str:
    """Return why a thing is not a verifier or a selector, as the end of a sentence about it; "" where it is one."""
    noun = "verifier" if "needs" in keys else "selector"
    if isinstance(thing, type):
        return f"is a class: build it, such as {thing.__name__}()"
    if not callable(thing):
        return f"cannot be called: expected a {noun}, with __call__"
    try:
        missing = [key for key in keys if not hasattr(thing, key)]
        if missing:
            lift = f": lift a plain function with {_LIFT[noun]}" if inspect.isroutine(thing) else ""
            return f"declares no {' and no '.join(missing)}{lift}"
        low, high = thing.low, thing.high
        if not (is_bound(low) and is_bound(high)) or low > high:
            return f"declares low {short_repr(low)} and high {short_repr(high)}: expected finite numbers, low <= high"
        for key in [each for each in KNOWN if "needs" in keys and hasattr(thing, each)]:
            if not isinstance(declared := getattr(thing, key), frozenset):
                expected = f"expected a frozenset, such as frozenset({{{KNOWN[key][0]!r}}})"
                return f"declares {key} {short_repr(declared)}: {expected}"
            known_names(key, declared)
    except RecipeError as error:
        return f"declares unknown {error}"
    except Exception as error:  # a property of a third-party class
        return f"cannot say what it declares ({type(error).__name__}: {error})"
    return ""


def checked_scores(
    returned: Any, low: float, high: float, rows: int, named: Callable[[int], str] = "row {}".format
) -> Floats:
    """Read a verifier's or selector's result as n float64 numbers between its bounds; a ValueError says what came."""
    scores = returned if type(returned) is np.ndarray and returned.dtype is _FLOAT64 else _numbers(returned, rows)
    if scores.shape != (rows,):
        raise ValueError(f"returned shape {scores.shape}; expected ({rows},)")
    if rows == 1 and low <= scores.item() <= high:  # a single call: as below, at a tenth of the cost
        return scores
    inside = (scores >= low) & (scores <= high)  # NaN is not inside
    if np.count_nonzero(inside) < rows:
        row = int(np.argmin(inside))  # the first that is False
        raise ValueError(
            f"returned {scores[row]} for {named(row)}; expected {low} to {high}: clip it, or declare wider bounds"
        )
    return scores


def _numbers(returned: Any, rows: int) -> Floats:
    """Convert values that stand for numbers to float64; texts and masked arrays are refused."""
    try:
        scores = np.asarray(returned)
        if scores.dtype == np.object_ and not any(isinstance(each, str | bytes) for each in scores.flat):
            scores = scores.astype(np.float64)  # None becomes NaN
        if returned is not None and scores.dtype.kind in _NUMBERS and not isinstance(returned, np.ma.MaskedArray):
            return scores.astype(np.float64)
    except Exception:  # ragged, or a third-party class
        scores = None
    raise ValueError(f"returned {short_repr(returned)}; expected {rows} numbers")
