"""Methods by name and by their place in code, and what they return, checked."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.errors import PoolError, SelectorError
from grounding_rewards.pool import Band, Unsolved, sample_stats, select, selector
from grounding_rewards.pool.methods import allocate

TWO = sample_stats(["a", "b"], [1, 0])


def test_numbers_are_checked():
    assert allocate(TWO, lambda stats: np.array([3, 0], dtype=np.int32)).tolist() == [3, 0]
    for numbers, message in (
        (np.array([1]), "expected 2 whole numbers"),
        (np.array([1.0, 2.0]), "expected 2 whole numbers"),
        (np.array([0, -1]), "returned -1 for sample 'b'; expected 0 or more"),
    ):
        with pytest.raises(PoolError, match=message):
            allocate(TWO, lambda stats, numbers=numbers: numbers)


IDS = ["all"] * 4 + ["half"] * 4 + ["none"] * 4 + ["new"] * 2
ACC = [1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, None, None]
STATS = sample_stats(IDS, ACC)


def test_a_selector_goes_by_name_by_mapping_and_by_its_place_in_code(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "import numpy as np\nfrom grounding_rewards.pool import Band\nMIDDLE = Band(0.25, 0.75)\n"
        "def hard(stats, power=1.0):\n    return np.nan_to_num(1 - stats.pass_rate) ** power\n"
    )
    assert selector("unsolved") == Unsolved()
    assert selector({"name": "band", "low_rate": 0.5}, high_rate=0.75) == Band(0.5, 0.75)
    assert select(STATS, selector("grounding_rewards.pool:Unsolved")).tolist() == [0.0, 1.0, 1.0, 1.0]
    assert select(STATS, selector(f"{path}:MIDDLE")).tolist() == [0.0, 1.0, 0.0, 0.0]
    own = selector(f"{path}:hard", low=0, high=1, power=2.0)
    assert select(STATS, own).tolist() == [0.0, 0.25, 1.0, 0.0]
    assert (own.low, own.high) == (0.0, 1.0)
    assert pickle.loads(pickle.dumps(own)) == own


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("unsolvde", {}, "unknown selector 'unsolvde'; did you mean 'unsolved'.*your own by module:attr"),
        ({"low_rate": 0.5}, {}, r"selector without a name: got \{'low_rate': 0.5\}; expected such as"),
        ("math:sqrt", {}, "math:sqrt is a plain function; give the bounds of its weights, such as low: 0 and high: 1"),
        ("math:sqrt", {"low": 0, "high": "1"}, "math:sqrt: got bounds 0 and '1'; expected finite numbers"),
        ("math:sqrt", {"low": 1, "high": 0}, "math:sqrt: got bounds 1 and 0; expected finite numbers, low <= high"),
        ("math:pi", {}, "math:pi is 3.14159.*; expected a selector"),
    ],
)
def test_what_is_no_selector_is_an_error(name, arguments, message):
    with pytest.raises(gr.RecipeError, match=message):
        selector(name, **arguments)


def test_own_code_is_called_by_its_place_in_full_however_long(tmp_path):
    path = tmp_path / ("deep" * 30 + ".py")
    path.write_text("def high(stats):\n    return stats.n + 2.0\n")
    with pytest.raises(SelectorError, match=f"selector {path}:high returned 6.0 for sample 'all'"):
        select(STATS, selector(f"{path}:high", low=0, high=1))


@dataclass(frozen=True)
class Weigh:
    fn: object
    low: float = 0.0
    high: float = 1.0

    def __call__(self, stats):
        return self.fn(stats)


def fails(stats):
    raise KeyError("n")


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (fails, "selector Weigh.* raised KeyError: 'n'"),
        (lambda stats: stats.pass_rate, "returned nan for sample 'new'; expected 0.0 to 1.0: clip it, or declare"),
        (lambda stats: stats.n, "returned 4.0 for sample 'all'; expected 0.0 to 1.0"),
        (lambda stats: [1.0], r"returned shape \(1,\); expected \(4,\)"),
        (lambda stats: ["a"] * 4, r"returned \['a', 'a', 'a', 'a'\]; expected 4 numbers"),
    ],
)
def test_weights_are_checked_and_the_selector_and_the_sample_named(fn, message):
    with pytest.raises(SelectorError, match=message):
        select(STATS, Weigh(fn))


def test_weights_may_come_as_a_list():
    weights = select(STATS, Weigh(lambda stats: [0, 1, 0, 1]))
    assert weights.dtype == np.float64
    assert weights.tolist() == [0.0, 1.0, 0.0, 1.0]
