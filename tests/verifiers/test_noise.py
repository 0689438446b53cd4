"""Noise that is drawn from a response and a seed: the same everywhere, and no larger than it says."""

import os
import subprocess
import sys

import numpy as np
import pytest

from grounding_rewards.combine import evaluate, weighted
from grounding_rewards.verifiers import Hit, Noise
from grounding_rewards.verifiers.group import uniform
from tests.verifiers.judging import rollouts

BOX = {"bbox": [0, 0, 9, 9]}


def test_other_processes_draw_the_same():
    code = "from grounding_rewards.verifiers.group import uniform; print(uniform(['(10, 20)'], 3)[0].hex())"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert hashes == {uniform(["(10, 20)"], 3)[0].hex()}


def test_it_breaks_ties_between_different_responses_and_keeps_them_between_equal_ones():
    texts = ["(1, 1)", "(2, 2)", "(1, 1)", "(3, 3)"]
    reward = weighted(hit=(1.0, Hit()), noise=(1.0, Noise(0.01, seed=5)))
    rows = rollouts([(1, 1), (2, 2), (1, 1), (3, 3)], [BOX] * 4, text=texts)
    total, parts = evaluate(reward, rows)
    assert parts["hit"].tolist() == [1, 1, 1, 1]
    assert len(set(total.tolist())) == 3
    assert total[0] == total[2]
    assert (np.abs(total - 1) <= 0.01).all()


def test_it_is_spread_evenly_and_uncorrelated_between_seeds():
    texts = [f"({x}, {y})" for x in range(60) for y in range(60)]
    first, second = uniform(texts, 0), uniform(texts, 1)
    assert np.histogram(first, bins=4, range=(-1, 1))[0] == pytest.approx(900, abs=120)
    assert abs(first.mean()) < 0.05
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.06
