"""Weights between samples, and several selectors as one."""

import pickle

import pytest

import grounding_rewards as gr
from grounding_rewards.errors import SelectorError
from grounding_rewards.plugins.named import FunctionSelector
from grounding_rewards.pool import Band, Every, Learnability, MinRollouts, Source, Unsolved, select, selector
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.testing import check_method
from tests.pool.methods.test_filters import counted


def test_learnability_by_right_rollouts_of_eight():  # pool.md, example 7
    stats = counted(*((right, 8) for right in range(9)), (0, 0))
    half = [0.0, 0.109375, 0.1875, 0.234375, 0.25]
    assert select(stats, Learnability()).tolist() == [*half, *half[-2::-1], 0.0]
    assert select(stats, Learnability(scaled=True)).tolist() == [4 * each for each in [*half, *half[-2::-1], 0.0]]


def test_learnability_without_bias_is_the_same_on_average_whatever_n():
    stats = counted((1, 2), (2, 4), (1, 1), (0, 1), (1, 8))
    assert select(stats, Learnability(unbiased=True)).tolist() == pytest.approx([0.5, 1 / 3, 0.0, 0.0, 0.125])
    # Of two looks at p = 0.5, one half is (0, 1) or (1, 0): mean 0.5 * 0.5 = 0.25 = p (1 - p).
    assert Learnability(unbiased=True).high == 0.5
    assert Learnability(unbiased=True, scaled=True).high == 2.0


def test_every_is_the_product_of_weights_and_its_bounds_those_of_the_product():
    stats = counted((1, 4), (4, 4), (1, 2), (0, 4))
    several = Every([Unsolved(), {"name": "min_rollouts", "n": 3}, "learnability"])
    assert several.selectors == (Unsolved(), MinRollouts(3), Learnability())
    assert (several.low, several.high) == (0.0, 0.25)
    assert select(stats, several).tolist() == [0.1875, 0.0, 0.0, 0.0]
    assert (
        selector("every", selectors=[{"name": "unsolved"}, {"name": "min_rollouts", "n": 3}, "learnability"]) == several
    )
    assert pickle.loads(pickle.dumps(several)) == several
    signed = Every([FunctionSelector(negative, -2.0, 3.0), FunctionSelector(negative, -5.0, 1.0)])
    assert (signed.low, signed.high) == (-15.0, 10.0)


def negative(stats):
    return -1.0 + 0.0 * stats.n


def too_high(stats):
    return 2.0 + 0.0 * stats.n


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"Every\(selectors=\): got \[\]; expected a list of one selector or more"),
        ("unsolved", "expected a list of one selector or more"),
        (["unsolvde"], "unknown selector 'unsolvde'; did you mean 'unsolved'"),
        ([Band], "is a class: build it, such as Band"),
        ([len], "declares no low and no high"),
    ],
)
def test_what_cannot_be_multiplied_is_an_error(given, message):
    with pytest.raises(gr.RecipeError, match=message):
        Every(given)


def test_a_selector_inside_that_breaks_its_bounds_is_named():
    with pytest.raises(
        SelectorError, match=r"FunctionSelector.*too_high.* returned 2.0 for sample '0'; expected 0.0 to 1"
    ):
        select(counted((1, 2)), Every([FunctionSelector(too_high, 0.0, 1.0)]))


def tiny(stats):
    return stats.num_correct * 1e-200


def test_a_product_too_small_for_a_float_leaves_no_sample_out():
    stats = counted((1, 2), (0, 2))
    both = Every([FunctionSelector(tiny, 0.0, 1e-190), FunctionSelector(tiny, 0.0, 1e-190)])
    assert select(stats, both).tolist() == [5e-324, 0.0]
    assert next_pool(counted((1, 2), (1, 2)), seed=7, zero_share=0, selectors=[both]).kept.tolist() == [0, 1]
    signed = Every([both, FunctionSelector(negative, -1.0, 0.5)])
    assert (signed.low, signed.high) == (-5e-324, 5e-324)
    assert select(stats, signed).tolist() == [-5e-324, 0.0]


@pytest.mark.parametrize(
    "chosen",
    [
        Learnability(),
        Learnability(unbiased=True, scaled=True),
        Every([Source(["web"]), "learnability", Band(0.1, 0.9, confident=True)]),
        Every([FunctionSelector(negative, -2.0, 3.0)]),
    ],
    ids=["learnability", "unbiased", "every", "function"],
)
def test_they_keep_the_promises_of_selectors(chosen):
    check_method(chosen)
