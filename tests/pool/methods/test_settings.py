"""Settings of every method: ranges, types, what two of them must be together, and what is required."""

from __future__ import annotations

import dataclasses
import math

import pytest
import scipy.special  # noqa: F401  its first import adds a filter of warnings

from grounding_rewards.errors import PoolError, RecipeError
from grounding_rewards.plugins.registry import PATHS, frozen, registry
from grounding_rewards.pool.methods import method
from grounding_rewards.testing import check_method

GIVEN = {
    "cures_rollouts": {"budget": 40},
    "d3s": {"keep": 2},
    "dart": {"cut": 2},
    "dart_steps": {"over": "all"},
    "difficulty_buffer": {"easy_threshold": 1, "hard_threshold": 0},
    "every": {"selectors": ["unsolved"]},
    "min_rollouts": {"n": 1},
    "mopps": {"batch": 1},
    "moving_target": {"batch": 1},
    "outcome_exploration": {"form": "mean", "weight": 1},
    "pods": {"keep": 2},
    "rorecomp": {"alpha": 0.5, "buffer": 4, "compensation": 1},
    "source": {"only": ["web"]},
    "xrpo": {"budget": 1, "alpha": 0.05, "exploration": 0.1, "total": 12},
}
"""Settings that each method is built with beside the wrong value."""

WRONG = [
    ("band", {"low_rate": -0.1}, "from 0 to 1"),
    ("band", {"low_rate": 0.6, "high_rate": 0.5}, "at most high_rate, 0.5"),
    ("band", {"low_rate": 0.5, "high_rate": 0.5}, "below high_rate, or inclusive: true for one pass rate"),
    ("band", {"confident": "yes"}, "true or false"),
    ("d3s", {"keep": 2, "share": 0.5}, "exactly one of keep and share; share is 0.5"),
    ("d3s", {"keep": None}, "exactly one of keep and share; share is None"),
    ("dars", {"form": "hard"}, "one of equal, hardness"),
    ("dars", {"rollouts": 10**13}, "a whole number from 1"),
    ("dart", {"cut": 8}, "less than rollouts, 8"),
    ("dart", {"cut": True}, "a whole number from 1"),
    ("dart_proportional", {"high": 0.1}, "from 0.125 to 1"),
    ("difficulty_buffer", {"easy_threshold": 0.2, "hard_threshold": 0.8}, "above hard_threshold, 0.8"),
    ("difficulty_buffer", {"easy_threshold": 0.5, "hard_threshold": 0.5}, "above hard_threshold, 0.5"),
    ("difficulty_pools", {"pools": []}, "pairs of an upper bound and a weight from 0"),
    ("difficulty_pools", {"pools": [[0.5]]}, "pairs of an upper bound and a weight from 0"),
    ("difficulty_pools", {"pools": [[0.5, -1]]}, "pairs of an upper bound and a weight from 0"),
    ("difficulty_pools", {"pools": [[0.5, 1], [0.5, 2]]}, "ascending upper bounds"),
    ("difficulty_pools", {"pools": 3}, "pairs of an upper bound"),
    ("dispersion_weighted", {"choices": 4, "form": "distinct"}, "none with form 'distinct'"),
    ("every", {"selectors": []}, "a list of one selector or more"),
    ("every", {"selectors": "unsolved"}, "a list of one selector or more"),
    ("knapsack", {"most": 1}, "from 2"),
    ("mean_band", {"low_mean": 1, "high_mean": 1}, "below high_mean, 1"),
    ("moving_target", {"target": 101}, "from 0 to 100"),
    ("moving_target", {"mean_reward": 1.5}, "from 0 to 1, for the target rises where the mean reward is above beta"),
    ("moving_target", {"hardest": 50, "easiest": 50}, "above 50 to 100"),
    ("outcome_exploration", {"b0": None, "form": "constant"}, "a number, such as 0.5"),
    ("outcome_exploration", {"b0": 1}, 'None, as form is not "constant"'),
    ("source", {"exclude": "web"}, "a list of texts"),
    ("source", {"exclude": ["web"]}, "other sources than only, "),
    ("target_size", {"largest": 5.0, "form": "published"}, "none with form 'published'"),
    ("variance_aware", {"outcome_weight": 0, "diversity_weight": 0}, "above 0, for diversity_weight is 0"),
    ("vip", {"least": 2}, "a whole number from 3"),
    ("vip", {"most": 3}, "from 4"),
    ("xrpo", {"budget": 10_000_001}, "10,000,000 turns at most: raise per_turn, 1"),
    ("xrpo", {"exploration": math.nan}, "from 0"),
]
"""Methods, settings of which the first is named in the error, and what the error expects."""


@pytest.mark.parametrize(("name", "wrong", "expected"), WRONG, ids=[f"{name}-{wrong}" for name, wrong, _ in WRONG])
def test_a_wrong_value_is_named_beside_what_was_expected(name, wrong, expected):
    setting, value = next(iter(wrong.items()))
    with pytest.raises(PoolError) as error:
        method({"name": name, **GIVEN.get(name, {}), **wrong})
    where, _, rest = str(error.value).partition(": got ")
    got, _, said = rest.partition("; expected ")
    assert where == f"method: {name}: {registry().methods[name].__name__}({setting}=)"
    assert got == repr(frozen(value))  # lists become tuples, which have a hash
    assert expected in said


@pytest.mark.parametrize("name", PATHS["methods"])
def test_every_setting_says_what_it_means_and_refuses_what_it_is_not(name):
    made = method({"name": name, **GIVEN.get(name, {})})
    for each in dataclasses.fields(made):
        assert each.metadata["meaning"]
        with pytest.raises(PoolError, match=rf"{each.name}.*<object"):
            method({"name": name, **GIVEN.get(name, {}), each.name: object()})


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_source_does_not_state_has_no_default(name):
    required = [each.name for each in dataclasses.fields(registry().methods[name]) if each.name in GIVEN[name]]
    required = [] if name in ("d3s", "source") else required
    for setting in required:
        with pytest.raises(PoolError, match=f"method: {name}: needs {setting}; it takes: "):
            method({"name": name, **{key: value for key, value in GIVEN[name].items() if key != setting}})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bnad", "method: unknown method 'bnad'; did you mean 'band'"),
        ({"name": "band", "lowrate": 0.5}, "method: band: unknown argument 'lowrate'; did you mean 'low_rate'"),
        ({"name": "item_response", "target": 0.5}, "unknown argument 'target'. It takes: no arguments"),
        ({"name": "every", "selectors": ["unsolvde"]}, "unknown selector 'unsolvde'; did you mean 'unsolved'"),
        ({"name": "every", "selectors": ["pods"]}, "unknown selector 'pods'; pods chooses rollouts: `pool rollouts`"),
        ({"low_rate": 1}, "method: method without a name: got {'low_rate': 1}; expected such as"),
    ],
)
def test_unknown_names(spec, message):
    with pytest.raises(PoolError) as error:
        method(spec)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("pods", "allocation", "method: unknown allocation 'pods'; pods chooses rollouts: `pool rollouts`. There are"),
        ("dars", "choice", "method: unknown choice 'dars'; dars allocates rollouts: `pool allocate`. There are: d3s"),
        ("band", "choice", "method: unknown choice 'band'; band is a selector: `pool next --selector`. There are"),
        ("math:sqrt", "choice", "unknown choice 'math:sqrt'; math:sqrt is a selector"),
    ],
)
def test_a_method_of_another_kind_says_which_command_takes_it(name, kind, message):
    with pytest.raises(PoolError) as error:
        method(name, kind)
    assert message in str(error.value)


def test_classes_refuse_as_names_do():
    with pytest.raises(RecipeError, match=r"^Dars\(most=\): got 0; expected a whole number from 1$"):
        registry().methods["dars"](most=0)


FURTHER = [
    {"name": "band", "confident": True},
    {"name": "dart_proportional", "by": "total", "keep": 4},
    {"name": "d3s", "share": 0.5, "by": "train_step", "advantages": "kept"},
    {"name": "difficulty_buffer", "easy_threshold": 0.5, "hard_threshold": 0.0, "easy_fraction": 0.3, "seed": 3},
    {"name": "difficulty_pools", "pools": [[-1.0, 0.0], [3.5, 7]], "unseen": 0.5, "of": "pass_rate"},
    {"name": "dispersion_weighted", "gamma": 2.0, "choices": 6},
    {"name": "dispersion_weighted", "form": "distinct"},
    {"name": "every", "selectors": [{"name": "source", "exclude": ["web"]}, "learnability", {"name": "band"}]},
    {"name": "learnability", "unbiased": True, "scaled": True},
    {"name": "moving_target", "batch": 150, "target": 50, "mean_reward": 0.4},
    {"name": "outcome_exploration", "form": "leave_one_out", "weight": 1},
    {"name": "pods", "keep": 2, "advantages": "all", "of": "acc"},
    {"name": "screening", "rollouts": 2},
    {"name": "source", "exclude": ["web"]},
    {"name": "spread", "threshold": 0.3},
    {"name": "step_returns", "form": "published"},
    {"name": "target_size", "smallest": 0.5, "largest": 2.0},
    {"name": "target_size", "form": "published"},
    {"name": "variance_aware", "diversity": "cells", "weighted_share": 1.0, "unbiased": True},
    {"name": "variance_aware", "diversity": "responses"},
]


@pytest.mark.parametrize(
    "spec", [*({"name": name, **GIVEN.get(name, {})} for name in PATHS["methods"]), *FURTHER], ids=str
)
def test_every_method_keeps_its_promises(spec):
    check_method(method(spec))
