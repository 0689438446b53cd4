"""Choices that work on some samples, or trajectories, at a time choose as they do of all at once."""

from __future__ import annotations

import numpy as np
import pytest

from grounding_rewards import arrays
from grounding_rewards.pool import methods
from grounding_rewards.pool.methods import choose, step_returns
from grounding_rewards.pool.methods.dart import DartProportional, DartStored
from grounding_rewards.pool.methods.exploration import OutcomeExploration
from grounding_rewards.pool.methods.step_returns import StepReturns
from grounding_rewards.pool.methods.variance import D3s, Pods
from grounding_rewards.pool.rollouts import RolloutColumns

SAMPLES = 40
APART = [
    Pods(keep=3),
    Pods(keep=3, advantages="all"),
    DartProportional(keep=4, low=0.0, high=1.0),
    OutcomeExploration(form="mean", weight=0.2),
    OutcomeExploration(form="batch", weight=1),
]


@pytest.fixture
def rollouts():
    """1 to 20 rollouts of each sample in two rounds, one in ten of them not scored; some answers are alike."""
    rng = np.random.default_rng(0)
    sample = np.repeat(np.arange(SAMPLES), rng.integers(1, 21, SAMPLES))
    acc = np.where(rng.random(len(sample)) < 0.1, np.nan, rng.integers(0, 2, len(sample)))
    return RolloutColumns(
        np.array([f"sample-{number:02}" for number in range(SAMPLES)], dtype=object),
        sample,
        acc,
        total=np.where(np.isnan(acc), np.nan, acc * rng.integers(1, 5, len(sample)) / 4),
        rollout=np.arange(len(sample)),
        round=np.sort(rng.integers(1, 3, len(sample))),
        answer=rng.integers(-1, 4, len(sample)),
        trajectory=sample * 7 % 5,
        step=sample,
    )


def equal(one, other):
    assert one.kept.tolist() == other.kept.tolist()
    assert {name: column.tolist() for name, column in one.columns.items()} == {
        name: column.tolist() for name, column in other.columns.items()
    }


def cut(monkeypatch, place, rows):
    monkeypatch.setattr(place, "begins", lambda group: arrays.begins(group, rows))


@pytest.mark.parametrize("rows", [1, 7, 100])
@pytest.mark.parametrize("method", APART, ids=repr)
def test_samples_come_in_parts(monkeypatch, rollouts, method, rows):
    cut(monkeypatch, methods, rows)
    assert method.samples_apart
    chosen = choose(rollouts, method)
    assert len(arrays.begins(rollouts.sample, rows)) > 3
    equal(chosen, method(rollouts))


@pytest.mark.parametrize("method", [D3s(keep=40), DartStored(), StepReturns()], ids=repr)
def test_what_depends_on_other_samples_does_not(method):
    assert not getattr(method, "samples_apart", False)


@pytest.mark.parametrize("rows", [1, 7])
def test_trajectories_come_in_parts(monkeypatch, rollouts, rows):
    few = rollouts.rows(np.flatnonzero(np.bincount(rollouts.sample)[rollouts.sample] > 3))
    few = few.rows(np.flatnonzero(np.arange(len(few)) - np.searchsorted(few.sample, few.sample) < 4))
    attempts = np.tile(np.arange(4), len(few) // 4)
    few = RolloutColumns(few.sample_id, few.sample, few.acc, total=few.total, rollout=attempts,
                         trajectory=few.trajectory, step=few.step)  # fmt: skip
    whole = StepReturns()(few)
    cut(monkeypatch, step_returns, rows)
    assert len(arrays.begins(np.sort(few.trajectory), rows)) == 5
    equal(choose(few, StepReturns()), whole)


def test_errors_name_the_rollout_in_any_part(monkeypatch, rollouts):
    cut(monkeypatch, methods, 7)
    place = int(np.flatnonzero(~np.isnan(rollouts.acc))[-1])
    total = rollouts.total.copy()
    total[place] = np.nan
    few = RolloutColumns(rollouts.sample_id, rollouts.sample, rollouts.acc, total=total, rollout=rollouts.rollout)
    with pytest.raises(Exception, match=rf"total of sample 'sample-39', rollout {place}: got none"):
        choose(few, Pods(keep=3))
    none = RolloutColumns(np.array([], dtype=object), np.zeros(0, dtype=np.int64), np.zeros(0))
    assert choose(none, DartProportional()).kept.tolist() == []
