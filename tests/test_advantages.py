"""Advantages: literal examples of each form, and what holds for any rewards."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards import advantages as adv
from grounding_rewards.errors import RecipeError

FORMS = {
    "grpo": adv.grpo,
    "dr_grpo": adv.dr_grpo,
    "mc_grpo": lambda rewards, groups: adv.mc_grpo(rewards, groups, mad_floor=0.1),
    "gdpo": lambda rewards, groups: adv.gdpo({"hit": rewards}, groups),
    "difficulty": adv.difficulty,
    "leave_one_out": adv.leave_one_out,
}
ANY_FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
SUMS_TO_0 = [form for name, form in FORMS.items() if name != "mc_grpo"]

rewards = st.one_of(st.sampled_from([0.0, 0.1, 1.0]), st.floats(0, 1), st.just(math.nan))
batches = st.lists(st.tuples(rewards, st.integers(0, 3)), max_size=24)


def split(batch):
    return np.array([reward for reward, _ in batch], dtype=float), [group for _, group in batch]


@pytest.mark.parametrize(
    ("right", "high", "low"), [(1, 2.4749, -0.3536), (2, 1.6202, -0.5401), (3, 1.2076, -0.7246), (4, 0.9354, -0.9354)]
)
def test_grpo_of_k_right_of_8(right, high, low):
    group = [1] * right + [0] * (8 - right)
    expected = [high] * right + [low] * (8 - right)
    assert adv.grpo(group, ["a"] * 8, epsilon=0).round(4).tolist() == expected
    mirrored = [-each for each in adv.grpo([1 - each for each in group], ["a"] * 8, epsilon=0).round(4)]
    assert mirrored == expected


def test_dr_grpo_is_the_distance_to_the_mean():
    assert adv.dr_grpo([1, 0, 0, 0, 0.6, 0.2], [1, 1, 1, 1, 2, 2]).round(6).tolist() == [
        0.75, -0.25, -0.25, -0.25, 0.2, -0.2,
    ]  # fmt: skip


def test_leave_one_out_is_the_distance_to_the_mean_of_the_others():
    group = [0.9, 0.1, 0.5, 0.0]
    expected = [each - (sum(group) - each) / 3 for each in group]
    assert adv.leave_one_out(group, ["a"] * 4).tolist() == pytest.approx(expected)


def test_mc_grpo_centres_on_the_median():
    result = adv.mc_grpo([1, 0, 0.5, 0.2, 0.9], ["a"] * 5, mad_floor=0)
    assert result.round(4).tolist() == [1.2469, -1.2469, 0.0, -0.7481, 0.9975]


def test_mc_grpo_without_a_floor_is_a_thousand_where_most_rewards_are_equal():
    assert adv.mc_grpo([1, 0, 0], ["a"] * 3, mad_floor=0).tolist() == [1000.0, 0.0, 0.0]
    assert adv.mc_grpo([1, 0, 0], ["a"] * 3, mad_floor=0.249).tolist() == [4.0, 0.0, 0.0]
    with pytest.raises(TypeError, match="mad_floor"):
        adv.mc_grpo([1, 0, 0], ["a"] * 3)


def test_the_median_of_an_even_number_is_the_lower_one():
    # Median 0.25 of 0, 0.25, 0.5, 1; distances 0.25, 0, 0.25, 0.75, of which 0.25 is the lower middle one.
    result = adv.mc_grpo([0, 0.5, 0.25, 1], ["a"] * 4, mad_floor=0, epsilon=0.25)
    assert result.tolist() == [-0.5, 0.5, 0.0, 1.5]


def test_gdpo_keeps_apart_what_a_sum_makes_equal():
    parts, groups = {"one": [0, 1, 0, 1], "two": [0, 0, 0, 1]}, ["a", "a", "b", "b"]
    assert adv.grpo([0, 1, 0, 2], groups).round(4).tolist() == [-0.7071, 0.7071, -0.7071, 0.7071]
    assert adv.gdpo(parts, groups).round(4).tolist() == [-0.5477, 0.5477, -1.0954, 1.0954]


def test_gdpo_weighs_parts_and_a_constant_part_adds_nothing():
    parts, groups = {"one": [0, 1, 0, 1], "two": [0, 0, 0, 1], "same": [0.3] * 4}, ["a", "a", "b", "b"]
    weights = {"one": 1, "two": 0, "same": 5}
    half = math.sqrt(0.5)
    expected = np.array([-half, half, -half, half]) / math.sqrt(4 * 0.5 / 3)
    assert adv.gdpo(parts, groups, weights).tolist() == pytest.approx(expected.tolist(), abs=1e-3)


def test_gdpo_parts_that_cancel_are_no_signal():
    parts = {"up": [0, 1, 0, 1], "down": [1, 0, 1, 1]}
    result = adv.gdpo(parts, ["a", "a", "b", "b"])
    assert result[:2].tolist() == [0.0, 0.0]
    assert adv.no_signal_share(result, ["a", "a", "b", "b"]) == 0.5


def test_gdpo_leaves_out_parts_and_rows_that_were_not_scored():
    parts = {"one": [0, 1, None, None], "two": [0, None, 1, None]}
    result = adv.gdpo(parts, ["a"] * 4, epsilon=0)
    summed = np.array([-2, 1, 1]) * math.sqrt(0.5)
    assert result.tolist() == pytest.approx([*(summed / summed.std(ddof=1)).tolist(), 0.0])


def test_difficulty_weighs_middling_samples_most():
    result = adv.difficulty([1, 0, 0, 0, 1, 0], ["a"] * 4 + ["b"] * 2)
    assert result.tolist() == [0.5625, -0.1875, -0.1875, -0.1875, 0.5, -0.5]
    groups = ["a", "a", "b", "b", "c", "c"]
    result = adv.difficulty([1, 0] * 3, groups, d=[0.5, 0.5, 0.75, 0.75, 1, 1])
    assert result.tolist() == [0.5, -0.5, 0.375, -0.375, 0.0, 0.0]
    assert adv.no_signal_share(result, groups) == pytest.approx(1 / 3)


def test_difficulty_of_rewards_with_other_bounds():
    assert adv.difficulty([4, -1, -1, -1], ["a"] * 4, low=-1, high=4).tolist() == [2.8125, -0.9375, -0.9375, -0.9375]


@ANY_FORM
def test_groups_without_signal_are_0_and_nothing_else_is_touched(form):
    values = [0.1, 0.1, 0.1, 0.35, 0.35 + 9e-7, 0.5, 1, 0, None]
    result = form(values, ["a"] * 3 + ["b"] * 2 + ["alone"] + ["d"] * 3)
    assert (result[:6].tolist(), result[8]) == ([0.0] * 6, 0.0)
    assert result[6] > 0 >= result[7]
    assert result.dtype == np.float64


@ANY_FORM
def test_what_was_not_scored_changes_no_other_advantage(form):
    rest = form([1, 0, 0], ["a"] * 3)
    assert form([1, None, 0, 0, math.nan], ["a"] * 5).tolist() == [rest[0], 0.0, rest[1], rest[2], 0.0]
    assert form([None, None], ["a", "b"]).tolist() == [0.0, 0.0]
    assert form([], []).tolist() == []


@ANY_FORM
def test_a_single_reward_is_a_batch_of_one(form):
    assert form(1.0, "sample 7").tolist() == [0.0]
    assert form(np.float32(1.0), 7).tolist() == [0.0]


@ANY_FORM
def test_groups_are_anything_that_can_be_looked_up(form):
    values, expected = [1, 0, 0, 1], form([1, 0, 0, 1], [0, 0, 1, 1]).tolist()
    for groups in (["a", "a", "b", "b"], [("x", 1), ("x", 1), None, None], np.array([5, 5, 2**60, 2**60])):
        assert form(values, groups).tolist() == expected
    assert form(values, np.array(["a", "a", "b", "b"], dtype=object)).tolist() == expected


@pytest.mark.parametrize("form", SUMS_TO_0)
@given(batch=batches)
def test_advantages_of_a_group_add_up_to_0(form, batch):
    values, groups = split(batch)
    sums = np.bincount(groups, weights=form(values, groups), minlength=4) if groups else np.zeros(4)
    assert np.abs(sums).max() < 1e-6


@ANY_FORM
@given(batch=batches, seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(form, batch, seed):
    values, groups = split(batch)
    order = np.random.default_rng(seed).permutation(len(values))
    shuffled = form(values[order], np.array(groups, dtype=int)[order])
    assert np.isfinite(shuffled).all()
    assert shuffled == pytest.approx(form(values, groups)[order], abs=1e-6)


@pytest.mark.parametrize("form", [form for name, form in FORMS.items() if name != "difficulty"])
@given(batch=st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.75, 1.0]), st.integers(0, 3)), max_size=24))
def test_a_constant_on_all_rewards_changes_nothing(form, batch):
    values, groups = split(batch)
    assert form(values + 3, groups) == pytest.approx(form(values, groups), abs=1e-9)


@given(batch=st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.75, 1.0]), st.integers(0, 3)), max_size=24))
def test_forms_that_divide_by_a_spread_do_not_depend_on_the_scale(batch):
    values, groups = split(batch)
    for form in (adv.grpo, lambda one, groups, epsilon: adv.gdpo({"one": one}, groups, epsilon=epsilon)):
        assert form(64 * values, groups, epsilon=0) == pytest.approx(form(values, groups, epsilon=0), abs=1e-9)
    scaled = adv.mc_grpo(64 * values, groups, mad_floor=6.4, epsilon=0)
    assert scaled == pytest.approx(adv.mc_grpo(values, groups, mad_floor=0.1, epsilon=0), abs=1e-9)
    for form in (adv.dr_grpo, adv.leave_one_out):
        assert form(64 * values, groups) == pytest.approx(64 * form(values, groups), abs=1e-9)


@given(batch=batches)
def test_forms_agree_where_their_formulas_do(batch):
    values, groups = split(batch)
    half = np.full(len(values), 0.5)
    assert adv.difficulty(values, groups, half) == pytest.approx(adv.dr_grpo(values, groups))
    assert np.sign(adv.leave_one_out(values, groups)).tolist() == np.sign(adv.dr_grpo(values, groups)).tolist()


@ANY_FORM
def test_large_rewards_stay_finite(form):
    with pytest.raises(RecipeError, match=r"row 1 has inf; expected numbers within ±1e12, NaN or None for rows that"):
        form([1, math.inf], ["a", "a"])
    if form is not adv.difficulty:
        assert np.isfinite(form([1e12, -1e12, 0], ["a"] * 3)).all()


@pytest.mark.parametrize(
    "values", ["right", [[1, 0]], ["right", "wrong"], ["1", "0"], ["1", None], [1j, 0], [1, [2]], [{}], {1, 2}]
)
def test_rewards_that_are_no_numbers_are_named(values):
    with pytest.raises(RecipeError, match=r"^rewards: got .*; expected one number for each row$"):
        adv.grpo(values, ["a", "a"])


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (lambda: adv.grpo([1, 0], ["a"]), "groups: got 1; expected one for each of 2 rows"),
        (lambda: adv.grpo([1, 0], [["a"], ["a"]]), r"groups: got \[\['a'\], \['a'\]\]; expected texts or numbers"),
        (lambda: adv.grpo([1, 0], 7), "groups: got 7; expected texts or numbers"),
        # Each would be a group of its own, and move no policy.
        (lambda: adv.grpo([1, 0], np.array([math.nan] * 2)), r"groups: got array\(\[nan, nan\]\); expected texts or"),
        (lambda: adv.grpo([1, 0], ["a"] * 2, epsilon=-1), "epsilon: got -1; expected a number of 0 or more"),
        (lambda: adv.mc_grpo([1], ["a"], mad_floor=None), "mad_floor: got None; expected a number of 0 or more"),
        (lambda: adv.mc_grpo([1], ["a"], mad_floor=math.nan), "mad_floor: got nan; expected"),
        (lambda: adv.mc_grpo([1], ["a"], mad_floor=0, epsilon=0), "epsilon: got 0 with mad_floor=0; expected"),
        (lambda: adv.difficulty([1.5, 0], ["a"] * 2), "rewards: row 0 has 1.5; .* set these .*, or give d="),
        (lambda: adv.difficulty([1, 0], ["a"] * 2, high=0), "low, high: got 0.0 and 0; expected"),
        (lambda: adv.difficulty([1, 0], ["a"] * 2, [0.5, 2]), "d: row 1 has 2; expected a difficulty from 0 to 1"),
        (lambda: adv.difficulty([1, 0], ["a"] * 2, [0.5, None]), "d: row 1 has nan; expected"),
        (lambda: adv.difficulty([1, 0], ["a"] * 2, [0.5]), "d: got 1; expected one for each of 2 rows"),
        (lambda: adv.difficulty([1, 0], ["a"] * 2, [0.5, 0.6]), "d: row 0 has another difficulty than rows of its"),
        (lambda: adv.gdpo([1, 0], ["a"] * 2), r"parts: got \[1, 0\]; expected {name: \(n,\) rewards}"),
        (lambda: adv.gdpo({}, []), "parts: got {}; expected"),
        (
            lambda: adv.gdpo({"hit": [1, 0]}, ["a"] * 2, {"hits": 1}),
            "weights: got .*; expected a number for each of hit",
        ),
        (lambda: adv.gdpo({"hit": [1]}, ["a"], {"hit": "1"}), r"weights\['hit'\]: got '1'; expected a number$"),
        (lambda: adv.gdpo({"hit": [1, 0], "x": [1]}, ["a"] * 2), r"parts\['x'\]: got 1; expected one for each of 2"),
    ],
)
def test_settings_that_do_not_fit_are_named(run, problem):
    with pytest.raises(RecipeError, match=f"^{problem}"):
        run()


def test_the_share_of_groups_without_signal():
    groups = ["a", "a", "b", "b", "c", "d", "d"]
    values = [1, 0, 1, 1, 1, None, None]
    for form in FORMS.values():
        assert adv.no_signal_share(form(values, groups), groups) == 0.75
    assert math.isnan(adv.no_signal_share([], []))
    assert adv.no_signal_share([math.nan, 1.0], ["a", "b"]) == 0.5


@ANY_FORM
@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("float32", "float32"), ("float64", "float64"), ("bfloat16", "bfloat16"), ("int64", "float32"),
        ("bool", "float32"),
    ],
)  # fmt: skip
def test_tensors_come_and_go(form, kind, result):
    torch = pytest.importorskip("torch")
    values, groups = torch.tensor([1, 0, 0, 1, 1]).to(getattr(torch, kind)), torch.tensor([3, 3, 3, 4, 4])
    tensor = form(values, groups)
    assert (type(tensor), tensor.dtype, tensor.device) == (torch.Tensor, getattr(torch, result), values.device)
    assert tensor.double().tolist() == pytest.approx(form([1, 0, 0, 1, 1], list("aaabb")).tolist(), rel=0.01)
    if result == kind:
        with_gradient = form(values.requires_grad_(), groups)
        assert not with_gradient.requires_grad
    assert form(torch.tensor(1.0), "sample 7").tolist() == [0.0]
