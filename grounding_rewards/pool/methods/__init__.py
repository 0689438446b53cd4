"""Published ways to weigh samples, to allocate rollouts and to choose among them, one file a paper, and their base."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, begins
from grounding_rewards.errors import PoolError, RecipeError, SelectorError, short_repr
from grounding_rewards.plugins.named import ALLOCATION, CHOICE, SELECTOR, NamedTerm, kind_of, method_named
from grounding_rewards.plugins.registry import origin
from grounding_rewards.pool.rollouts import RolloutColumns
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.terms import BOUNDS, checked_scores, why_invalid

__all__ = [
    "ALLOCATION", "CHOICE", "SELECTOR", "Choice", "Method", "Selector", "allocate", "choose", "in_name_order",
    "kind_of", "method", "name_of", "select", "setting",
]  # fmt: skip


def setting(meaning: str, default: Any = MISSING) -> Any:
    """Declare a setting of a method as a field; its annotation says what it takes, as in ``verifiers.options``.

    Args:
        meaning: what it means, as the end of a sentence that begins with its name.
        default: its default; without one it is required.
    """
    return field(default=default, metadata={"meaning": meaning})


class Method:
    """Base of methods that weigh samples, allocate further rollouts or choose among rollouts.

    A method is a frozen dataclass whose fields are made by ``setting`` and annotated by what they take: ``Count``,
    ``Share`` and the other ranges of ``verifiers.options``, a ``Literal``, ``bool`` or ``tuple[str, ...]``, each maybe
    with None. They are checked when it is built.

    Attributes:
        kind: ``selector`` maps ``SampleStats`` of m samples to (m,) floats from ``low`` to ``high``, 0 leaving a sample
            out; ``allocation`` maps them to (m,) numbers of rollouts; ``choice`` maps ``RolloutColumns`` to ``Choice``.
        needs: columns of rollouts that a choice reads beside ``sample_id`` and ``acc``.
        needs_one_of: settings of which one is needed.
        samples_apart: True where the rollouts of each sample are chosen by these alone.

    >>> @dataclass(frozen=True)
    ... class Tried(Method):
    ...     least: options.Count = setting("the fewest rollouts", 4)
    ...     def __call__(self, stats):
    ...         return np.where(stats.n >= self.least, 1.0, 0.0)
    >>> Tried(least=0)
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: Tried(least=): got 0; expected a whole number from 1
    """

    kind: ClassVar[str] = SELECTOR
    needs_one_of: ClassVar[tuple[str, ...]] = ()
    samples_apart: ClassVar[bool] = False

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the columns of rollouts that it reads."""
        return ()

    @property
    def low(self) -> float:
        """Return the lowest weight."""
        return 0.0

    @property
    def high(self) -> float:
        """Return the highest weight."""
        return 1.0

    def __post_init__(self) -> None:
        options.check(self)


def method(spec: str | Mapping[str, Any], kind: str | None = None) -> Any:
    """Build a method from its name, its place in code, or a mapping with ``name`` and arguments.

    Args:
        spec: ``"pods"``, ``"plugin/name"``, ``"module:attr"``, ``"/path/file.py:attr"``, or the mapping.
        kind: ``SELECTOR``, ``ALLOCATION`` or ``CHOICE``; None takes any.

    Raises:
        PoolError: there is no such method of this kind, or an argument is unknown, missing or does not fit.

    >>> method({"name": "pods", "keep": 4}).keep
    4
    """
    try:
        return method_named(spec if isinstance(spec, Mapping) else {"name": spec}, kind)
    except RecipeError as error:
        raise PoolError(f"method: {error}") from None


class Selector(Protocol):
    """Map from m samples to m weights between ``low`` and ``high``; a weight of 0 leaves a sample out."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    def __call__(self, stats: SampleStats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Choice:
    """Rollouts that a method keeps.

    Attributes:
        kept: their places in ``RolloutColumns``, ascending.
        columns: further columns of theirs, by name; floats without NaN.
    """

    kept: NDArray[np.int64]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def select(stats: SampleStats, method: Selector) -> Floats:
    """Weigh m samples by a selector, and check the weights.

    Returns:
        (m,) float64, from the selector's ``low`` to its ``high``.

    Raises:
        SelectorError: it is no selector, raised, or did not return m finite weights within its bounds; names it, its
            plugin and the sample.

    >>> from grounding_rewards.pool import Band, sample_stats
    >>> select(sample_stats(["a", "a", "b"], [1, 0, 1]), Band(0.25, 0.75)).tolist()
    [1.0, 0.0]
    """
    if problem := why_invalid(method, BOUNDS):
        raise SelectorError(f"{_label(method, SELECTOR)} {problem}")
    returned = _returned(method, stats, SELECTOR)
    try:
        return checked_scores(returned, method.low, method.high, len(stats), stats.named)
    except ValueError as error:
        raise SelectorError(f"{_label(method, SELECTOR)} {error}") from None


def allocate(stats: SampleStats, method: Callable[[SampleStats], Any]) -> Ints:
    """Allocate rollouts to m samples, and check the numbers.

    Returns:
        (m,) int64, from 0.

    Raises:
        PoolError: the method raised, cannot use these samples, or did not return m whole numbers from 0.

    >>> from grounding_rewards.pool import Dars, sample_stats
    >>> allocate(sample_stats(["a", "a", "b", "b"], [0, 0, 1, 0]), Dars())
    array([1, 0])
    """
    numbers = np.asarray(_returned(method, stats, ALLOCATION))
    if numbers.shape != (len(stats),) or numbers.dtype.kind not in "iu":
        raise PoolError(
            f"{_label(method, ALLOCATION)} returned {short_repr(numbers)}; expected {len(stats)} whole numbers"
        )
    for row in np.flatnonzero(numbers < 0)[:1]:
        raise PoolError(
            f"{_label(method, ALLOCATION)} returned {numbers[row]} for {stats.named(row)}; expected 0 or more"
        )
    return numbers.astype(np.int64)


def choose(rollouts: RolloutColumns, method: Callable[[RolloutColumns], Choice]) -> Choice:
    """Choose among rollouts, and check the choice.

    Raises:
        PoolError: the method raised, cannot use these rollouts, or returned something else than ascending places with
            columns of finite values.

    >>> from grounding_rewards.pool import Pods
    >>> choose(RolloutColumns(np.array(["a"], dtype=object), np.zeros(3, int), np.array([1.0, 0, 1])),
    ...        Pods(keep=2, of="acc")).kept
    array([0, 1])
    """
    if getattr(method, "samples_apart", False):  # some at a time: small arrays are faster than those of millions
        parts = [(start, _returned(method, part, CHOICE)) for start, part in _parts(rollouts)]
        names, places = parts[0][1].columns, [start + part.kept for start, part in parts]
        columns = {name: np.concatenate([part.columns[name] for _, part in parts]) for name in names}
        chosen = Choice(np.concatenate(places), columns)
    else:
        chosen = _returned(method, rollouts, CHOICE)
    kept, label = np.asarray(chosen.kept, dtype=np.int64), partial(_label, method, CHOICE)
    if len(kept) and (kept[0] < 0 or kept[-1] >= len(rollouts) or (np.diff(kept) <= 0).any()):
        raise PoolError(f"{label()} returned places {short_repr(kept)}; expected ascending ones below {len(rollouts)}")
    for name, column in chosen.columns.items():
        if len(column) != len(kept):
            raise PoolError(f"{label()} returned {len(column)} values of {name}; expected {len(kept)}")
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise PoolError(f"{label()} returned a {name} that is not finite; expected finite numbers")
    return chosen


def _parts(rollouts: RolloutColumns) -> Iterator[tuple[int, RolloutColumns]]:
    """Yield the first place and the rollouts of some samples at a time."""
    starts = begins(rollouts.sample)
    for start, end in zip(starts, [*starts[1:], len(rollouts)], strict=True):
        yield start, rollouts.samples(start, end)


def _returned(method: Callable[[Any], Any], table: Any, kind: str) -> Any:
    """Call a method, which is anybody's code: a refusal keeps its words, and any other error names the method."""
    try:
        return method(table)
    except PoolError as error:
        if kind != SELECTOR:
            raise
        raise SelectorError(f"{_label(method, kind)}: {error}") from error
    except (Exception, SystemExit) as error:  # exit() must not end the run
        problem = f"{_label(method, kind)} raised {type(error).__name__}: {error}"
        raise (SelectorError if kind == SELECTOR else PoolError)(problem) from error


def _label(method: object, kind: str) -> str:
    return f"{kind} {name_of(method)}{origin(method)}"


def name_of(method: object) -> str:
    """Return the name of a method for errors: the place in code that a config names, in full, else its repr."""
    return method.name if isinstance(method, NamedTerm) else short_repr(method)


def in_name_order(stats: SampleStats) -> Ints:
    """Return the rows of samples in the order of their names, so that ties do not depend on the order of rows."""
    names = [str(name) for name in stats.sample_id.tolist()]
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
