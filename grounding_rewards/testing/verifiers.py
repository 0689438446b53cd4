"""Check that a verifier keeps its promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import TargetError
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.testing._checks import (
    brief,
    check_unchanged,
    close,
    declared,
    members,
    quietly,
    same_bits,
    survives_copies,
)
from grounding_rewards.testing._rows import NAN, Row, generated_rows, rollouts, with_extras
from grounding_rewards.verifiers.contract import VERIFIER
from grounding_rewards.verifiers.terms import Verifier


def check_verifier(
    verifier: Verifier,
    *,
    scale: bool = False,
    translation: bool = False,
    seed: int = 0,
    extras: Mapping[str, Sequence[Any]] | None = None,
    target_extras: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Check the promises of every verifier, over rollouts of all kinds in all four spaces.

    Some 900 rollouts: boxes (also without extent, beside the image, with a marked point), polygons, circles, points,
    several places, refusals, actions with arguments and unusable targets; points on, in, beside and far from them (up
    to ``COORDINATE_LIMIT``), boxes (inverted, empty, huge), ragged lists of answers, and no place for every reason.
    Responses have up to 64 KiB.

    Checked: it declares finite ``low`` <= ``high`` and known ``needs``, the same ones at every call; it returns (n,)
    float64, finite and within these bounds, also for no rows; it neither raises, warns, prints, writes into its inputs
    (arrays cannot be written into) nor changes what all code shares, such as seeds; rows in another order have the same
    scores; each row alone (each group, where it needs groups) scores as in the batch, to the last bit (but for rounding
    where it needs groups); it has a hash, can be pickled, and copies equal it. Without image sizes it may raise
    TargetError, and nothing else.

    Args:
        verifier: what to check.
        scale: also check that nothing changes when predictions, targets and image sizes grow by a power of two.
        translation: also check that nothing changes when predictions and targets move by whole numbers.
        seed: order and groups of the rollouts.
        extras: values of the further columns that it reads, by name; the rollouts have them in turn.
        target_extras: what it reads of the ``extra`` of targets; the targets have them in turn.

    Raises:
        AssertionError: a promise is broken; names the verifier, the row and what is in it.

    >>> from grounding_rewards.verifiers import Hit
    >>> check_verifier(Hit(), scale=True, translation=True)
    >>> check_verifier(Hit(whole_edges=True), scale=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: Hit(...) returns ... for row ... (as it was and grown by 4): Row(target={'bbox': ...
    """
    name, columns = brief(verifier), tuple(extras or ())
    rows = with_extras(generated_rows(seed), extras or {}, target_extras)
    before = declared(name, VERIFIER, verifier)
    survives_copies(name, verifier)
    for turn, space in enumerate(CoordSpace):
        # A quarter of the groups in each space: all of them in all four would take four times as long.
        _Check(name, verifier, [row for row in rows if row.group % len(CoordSpace) == turn], columns).space(space)
    check = _Check(name, verifier, rows, columns)
    check.without_sizes()
    if scale:
        check.moved("grown by 4", 4.0, (0.0, 0.0))
        check.moved("shrunk by 2", 0.5, (0.0, 0.0))
    if translation:
        check.moved("moved by (24, -16)", 1.0, (24.0, -16.0))
    check_unchanged(name, VERIFIER, verifier, before)


Equal = Callable[[Any, Any], NDArray[np.bool_]]


@dataclass(frozen=True)
class _Check:
    name: str
    verifier: Verifier
    rows: list[Row]
    columns: tuple[str, ...]

    @property
    def grouped(self) -> bool:
        return "groups" in self.verifier.needs

    @cached_property
    def first(self) -> Floats:
        """The scores in pixels, before anything moves."""
        return self.scores(range(len(self.rows)), CoordSpace.PIXEL, "in a batch")

    def space(self, space: CoordSpace) -> None:
        """Run the checks of one space."""
        rows = range(len(self.rows))
        batch = self.scores(rows, space, "in a batch")
        groups = members([row.group for row in self.rows] if self.grouped else None, len(rows))
        for chosen in groups[::2]:  # half of them: single calls take most of the time
            self.agree(batch, chosen, self.scores(chosen, space, "alone"), f"{space}, in a batch and alone")
        order = np.random.default_rng(len(rows)).permutation(len(rows)).tolist()
        self.agree(batch, order, self.scores(order, space, "shuffled"), f"{space}, in a batch and in another order")
        self.agree(batch, rows, self.scores(rows, space, "again"), f"{space}, the first time and the second")
        for few in (range(2), range(4)):  # as many as a point and a box have numbers
            scores = self.scores(few, space, f"{len(few)} rows")
            if not self.grouped:  # a few rows may cut a group in two
                self.agree(batch, few, scores, f"{space}, in a batch and in {len(few)} rows")
        self.scores([], space, "no rows")  # no rows: reductions fail on them
        self.scores(rows, space, "with nothing but its needs", bare=self.verifier.needs)

    def without_sizes(self) -> None:
        """Check that a missing size that the formula needs is a TargetError, and that nothing else is an error."""
        unknown = [replace(row, image_size=(NAN, NAN)) for row in self.rows]
        try:
            self.sound(self.table(unknown, CoordSpace.PIXEL), unknown, "without image sizes")
        except AssertionError as error:
            if not isinstance(error.__cause__, TargetError):  # the one error that is allowed
                raise

    def moved(self, how: str, factor: float, shift: tuple[float, float]) -> None:
        """Check moved rollouts. A point moved off the image keeps its reason: its offset from the target counts."""
        table = self.table([row.moved(factor, shift) for row in self.rows], CoordSpace.PIXEL)
        reason = self.table(self.rows, CoordSpace.PIXEL).predictions.reason
        table = replace(table, predictions=replace(table.predictions, reason=reason))
        after = self.sound(table, self.rows, how)
        self.agree(self.first, range(len(self.rows)), after, f"as it was and {how}", close)

    def scores(self, chosen: Sequence[int], space: CoordSpace, how: str, bare: frozenset[str] | None = None) -> Floats:
        """Return the scores, checked by themselves; an error that one row alone shows names that row."""
        rows = [self.rows[row] for row in chosen]
        try:
            return self.sound(self.table(rows, space, bare), rows, f"{space}, {how}")
        except AssertionError:
            alone = "alone" if bare is None else f"alone, {how}"
            for row in rows if len(rows) > 1 else ():
                self.sound(self.table([row], space, bare), [row], f"{space}, {alone}")
            raise

    def table(self, rows: Sequence[Row], space: CoordSpace, bare: frozenset[str] | None = None) -> Rollouts:
        """Return the rows as the verifier reads them."""
        return rollouts(rows, space, bare=bare, extras=self.columns)

    def sound(self, table: Rollouts, rows: Sequence[Row], how: str) -> Floats:
        what = f"{self.name} ({how}) on " + (brief(rows[0], limit=400) if len(rows) == 1 else f"{len(rows)} rows")
        whole = len(rows) != 1  # the state of all seeds is slow to compare, row by row
        before = {path: np.copy(array) for path, array in _inputs(table, whole)}
        scores: Any = quietly(what, lambda: self.verifier(table), settled=whole)
        for path, array in _inputs(table, whole):
            if path not in before or not same_bits(array, before[path]).all():
                raise AssertionError(f"{what} writes into {path}")
        if type(scores) is not np.ndarray or scores.dtype != np.float64 or scores.shape != (len(rows),):
            raise AssertionError(f"{what} returns {brief(scores)}: expected float64 of shape ({len(rows)},)")
        low, high = self.verifier.low, self.verifier.high
        for row in np.flatnonzero(~((scores >= low) & (scores <= high)))[:1]:
            wrong = f"{scores[row]} for row {row}, expected {low} to {high}"
            raise AssertionError(f"{self.name} ({how}) returns {wrong}: {brief(rows[row], limit=400)}")
        return np.asarray(scores, dtype=np.float64)

    def agree(self, batch: Floats, rows: Sequence[int], theirs: Floats, what: str, equal: Equal | None = None) -> None:
        """Check that the chosen rows score as in the batch."""
        equal = equal or (close if self.grouped else same_bits)  # sums over a group round by their order
        ours = batch[list(rows)]
        for place in np.flatnonzero(~equal(ours, theirs))[:1]:
            both = f"{float(ours[place])!r} and {float(theirs[place])!r} for row {rows[place]} ({what})"
            raise AssertionError(f"{self.name} returns {both}: {brief(self.rows[rows[place]], limit=400)}")


def _inputs(table: Rollouts, whole: bool) -> Iterator[tuple[str, Any]]:
    """Yield writable parts by their paths: all of a table, or only those that no read-only array protects."""
    if whole:
        yield from _arrays("rollouts", table)
    else:
        yield from _arrays("rollouts.text", table.text)
        yield from _arrays("rollouts.extras", table.extras)


def _arrays(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield all arrays and sequences of texts inside a table, by their paths."""
    if is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            if item.name.startswith("_"):  # what a table keeps for itself, once it is asked for
                continue
            yield from _arrays(f"{path}.{item.name}", getattr(value, item.name))
    elif isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, Mapping):
        yield path, np.array([*map(str, value), None], dtype=np.object_)[:-1]  # None keeps numpy from making it 2-D
        for name, each in value.items():
            yield from _arrays(f"{path}[{name!r}]", each)
    elif isinstance(value, list):
        yield path, np.array([*value, None], dtype=np.object_)[:-1]
