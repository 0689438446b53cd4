"""Check that a method of selection keeps its promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from grounding_rewards.actions import objects
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, SelectorError
from grounding_rewards.plugins.named import CHOICE, SELECTOR, kind_of
from grounding_rewards.pool import Choice, RolloutColumns, SampleStats, choose, sample_stats
from grounding_rewards.testing._checks import brief, close, declared, quietly
from grounding_rewards.verifiers.terms import BOUNDS


def check_method(method: Any, *, seed: int = 0) -> None:
    """Check what every method of selection promises: a selector, an allocation or a choice, by its ``kind``.

    Selectors and allocations get some 300 samples with 0 to 16 scored rollouts: all right, all wrong, some; totals that
    agree, that do not, that are negative or very large, and none at all; and of some of them clicks, target, responses,
    source, round, temperature. Choices get the rollouts of 60 such samples in two rounds, with all columns.

    Checked: it returns what its kind returns, also of none and of one: (m,) float64 from ``low`` to ``high``, (m,)
    whole numbers from 0, or ascending places with columns of their length; it neither raises, warns, prints nor writes
    into its inputs, but for a ``PoolError`` where a column is missing; a second call gives the same, samples in another
    order the same numbers, and a choice with ``samples_apart`` the same of some samples at a time; it has a hash, can
    be pickled, and copies equal it. Weights may be below 0 here; those that a pool is drawn by may not.

    Args:
        method: what to check.
        seed: order of the samples, and their rollouts.

    Raises:
        AssertionError: a promise is broken; names the method, the sample and its statistics.

    >>> from grounding_rewards.pool import Band, Dars, Pods
    >>> for method in (Band(0.25, 0.75), Dars(), Pods(keep=2)):
    ...     check_method(method)
    """
    kind = SELECTOR if isinstance(method, type) else kind_of(method)
    name = f"{kind} {brief(method)}"
    with declared(name, BOUNDS, method):
        (_check_choice if kind == CHOICE else _check_numbers)(name, method, seed)


def _check_numbers(name: str, method: Any, seed: int) -> None:
    stats = generated_stats(seed)
    numbers = _numbers(name, method, stats)
    order = np.random.default_rng(seed).permutation(len(stats))
    _agree(name, stats, numbers, _numbers(name, method, stats), "the first time and the second")
    back = np.argsort(order)
    _agree(name, stats, numbers, _numbers(name, method, stats.taken(order))[back], "in one order and in another")
    if kind_of(method) == SELECTOR:  # an allocation may have a budget, which needs a sample
        _numbers(name, method, stats.taken([]))  # reductions fail on none, and squeezed arrays on one
    bare = sample_stats(["a", "a", "b"], [1, 0, None])  # without the further columns, as from most rollouts
    for few in (stats.taken([0]), bare):
        _unless_refused(partial(_numbers, name, method, few))


def _check_choice(name: str, method: Any, seed: int) -> None:
    rollouts = generated_rollouts(seed)
    kept = _chosen(name, method, rollouts)
    again = _chosen(name, method, rollouts)
    if repr(kept) != repr(again):
        raise AssertionError(f"{name} returns {brief(kept)} and {brief(again)}: the first time and the second")
    if getattr(method, "samples_apart", False):
        half = len(rollouts) // 2  # of the samples, too, which all have as many rollouts
        first, columns = _chosen(name, method, rollouts.samples(0, half))
        second, more = _chosen(name, method, rollouts.samples(half, len(rollouts)))
        joined = first + [half + place for place in second], {key: columns[key] + more.get(key, []) for key in columns}
        if repr(joined) != repr(kept):
            raise AssertionError(f"{name} chooses otherwise of some samples at a time; expected samples_apart = False")
    bare = RolloutColumns(rollouts.sample_id[:1], np.zeros(3, dtype=np.int64), np.array([1.0, 0.0, np.nan]))
    for few in (rollouts.rows(slice(0, 0)), bare):
        _unless_refused(partial(_chosen, name, method, few))


def _chosen(name: str, method: Any, rollouts: RolloutColumns) -> tuple[list[int], dict[str, list[Any]]]:
    """Return the places that a choice keeps and its columns as lists, checked by themselves."""
    what = f"{name} on {len(rollouts)} rollouts"
    choice = _of_unchanged(what, method, rollouts)
    if not isinstance(choice, Choice):
        raise AssertionError(f"{what} returns {brief(choice)}: expected a Choice")
    try:
        choose(rollouts, lambda _: choice)
    except PoolError as error:
        raise AssertionError(f"{what}: {error}") from None
    return choice.kept.tolist(), {key: column.tolist() for key, column in choice.columns.items()}


def generated_rollouts(seed: int = 0) -> RolloutColumns:
    """Return rollouts of 60 samples in two rounds, with all columns; one in ten was not scored."""
    rng = np.random.default_rng(seed)
    sample, rollout = np.repeat(np.arange(60), 8), np.tile(np.arange(4), 120)
    rows, rounds = len(sample), np.tile(np.repeat([1, 2], 4), 60)
    acc = np.where(rng.random(rows) < 0.1, np.nan, rng.random(rows) < np.repeat(rng.random(60), 8))
    return RolloutColumns(
        np.array([f"s{place:02}" for place in range(60)], dtype=object), sample, acc,
        total=acc * rng.integers(1, 5, rows), rollout=rollout, round=rounds, train_step=rounds,
        token_length=rng.integers(1, 99, rows).astype(np.float64), entropy=rng.random(rows),
        answer=rng.integers(-1, 4, rows), trajectory=sample // 4, step=sample % 4,
    )  # fmt: skip


def generated_stats(seed: int = 0) -> SampleStats:
    """Return statistics of samples of all kinds, in an order that the seed decides."""
    rng = np.random.default_rng(seed)
    ids, acc, total = list[str](), list[float | None](), list[float | None]()
    for sample in range(300):
        n, rate, scale = int(rng.integers(0, 17)), rng.choice([0.0, 0.2, 0.5, 1.0]), rng.choice([0.0, 1.0, -3.0, 1e6])
        right = (rng.random(n) < rate).astype(float).tolist()
        ids += [f"s{sample}"] * (n + 1)  # one unscored rollout each, or samples with n = 0 would not exist
        acc += [None, *right]
        total += [None, *(None if sample % 7 == 0 else scale * value for value in right)]
    stats = sample_stats(ids, acc, total)
    stats = replace(stats, **_further(stats, np.random.default_rng([seed, 1])))
    order = rng.permutation(300)
    return SampleStats(**{name: column[order] for name, column in vars(stats).items()})  # to be written into, or not


def _further(stats: SampleStats, rng: np.random.Generator) -> dict[str, Any]:
    """Return further statistics of some samples: clicks, targets, responses, and where they come from."""

    def some(values: Any, unknown: Any) -> Any:
        return np.where(rng.random(len(stats)) < 0.2, unknown, values)

    rollouts = stats.n + stats.unscored
    clicks = np.minimum(rollouts, rng.integers(0, 17, len(stats)))
    x, y, area = rng.random((3, len(stats)))
    known = (stats.n > 0) & (rng.random(len(stats)) < 0.8)
    cells = np.minimum(1 + rng.integers(0, 17, len(stats)), np.maximum(stats.n, 1))  # answers that are equally often
    return {
        "parse_rate": some(np.where(rollouts > 0, clicks / np.maximum(rollouts, 1), np.nan), np.nan),
        "clicks": clicks,
        "x_unit": np.where(clicks > 0, x, np.nan),
        "y_unit": np.where(clicks > 0, y, np.nan),
        "dispersion": np.where(clicks > 1, some(rng.random(len(stats)) ** 3, np.nan), np.nan),
        "target_area": some(area, np.nan),
        "target_diagonal": some(np.sqrt(area), np.nan),
        "distinct": some(np.minimum(rollouts, 1 + clicks), -1).astype(np.int64),
        "cells": np.where(known, cells, -1),
        "cell_entropy": np.where(known, np.log(cells), np.nan),
        "cell_rarity": np.where(known, np.sqrt(cells / np.maximum(stats.n, 1)), np.nan),
        "history": objects(
            [
                ((n // 2, right // 2), (n - n // 2, right - right // 2)) if n > 1 else None
                for n, right in zip(stats.n.tolist(), stats.num_correct.tolist(), strict=True)
            ]
        ),
        "item_difficulty": some(100 * rng.random(len(stats)), np.nan),
        "source": some(rng.choice(["web", "desktop", "mobile"], len(stats)).astype(np.object_), None),
        "round": some(rng.integers(1, 4, len(stats)), -1).astype(np.int64),
        "temperature": some(rng.choice([0.0, 1.0, 1.7], len(stats)), np.nan),
    }


def _numbers(name: str, method: Any, stats: SampleStats) -> Any:
    """Return the weights or numbers of rollouts, checked by themselves."""
    what = f"{name} on {len(stats)} samples" if len(stats) != 1 else f"{name} on {_shown(stats, 0)}"
    numbers = _of_unchanged(what, method, stats)
    kind, low, high = ("float64", method.low, method.high) if kind_of(method) == SELECTOR else ("int64", 0, np.inf)
    if type(numbers) is not np.ndarray or numbers.dtype != kind or numbers.shape != (len(stats),):
        raise AssertionError(f"{what} returns {brief(numbers)}: expected {kind} of shape ({len(stats)},)")
    for row in np.flatnonzero(~((numbers >= low) & (numbers <= high)))[:1]:
        raise AssertionError(f"{name} returns {numbers[row]}, expected {low} to {high}: {_shown(stats, int(row))}")
    return numbers


def _of_unchanged(what: str, method: Any, table: Any) -> Any:
    """Return what a method returns of columns, which it must leave as they are."""
    before = {column: np.array(values) for column, values in vars(table).items()}
    returned: Any = quietly(what, lambda: method(table), settled=True)
    for column, values in vars(table).items():
        if repr(values.tolist()) != repr(before[column].tolist()):  # as texts NaN equals NaN
            raise AssertionError(f"{what} writes into {column}")
    return returned


def _unless_refused(run: Callable[[], Any]) -> None:
    try:
        run()
    except AssertionError as error:
        cause = error.__cause__
        while isinstance(cause, SelectorError):  # of one inside of another
            cause = cause.__cause__
        if not isinstance(cause, PoolError):
            raise


def _agree(name: str, stats: SampleStats, ours: Floats, theirs: Floats, what: str) -> None:
    for row in np.flatnonzero(~close(ours, theirs))[:1]:
        both = f"{float(ours[row])!r} and {float(theirs[row])!r} ({what})"
        raise AssertionError(f"{name} returns {both}: {_shown(stats, int(row))}")


def _shown(stats: SampleStats, row: int) -> str:
    values = (f"{name}={values[row]!r}" for name, values in vars(stats).items())
    return f"sample {', '.join(values)}"
