"""From how many right rollouts to how many, and how much of that is chance."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import transitions as module
from grounding_rewards.pool.transitions import COMMON, JEFFREYS, contradiction, in_common
from grounding_rewards.stats.intervals import beta_binomial
from tests.pool.made import counted, plainly


def stats(counts, n=8, **columns):
    """Statistics from {sample: right rollouts} or {sample: (right, of how many)}."""
    pairs = [each if isinstance(each, tuple) else (each, n) for each in counts.values()]
    whole = {name: each if isinstance(each, list) else [each] * len(pairs) for name, each in columns.items()}
    made = counted(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T, **whole)
    return replace(made, sample_id=np.array(list(counts), dtype=object))


def transitions(*rounds, **options):
    return plainly(module.transitions(*rounds, **options))


def fitted_prior(n, right):
    return plainly(module.fitted_prior(n, right))


BEFORE = {"a": 0, "b": 0, "c": 3, "d": 7, "e": 8, "f": 5}
AFTER = {"a": 0, "b": 2, "c": 8, "d": 8, "f": 4, "g": 1}


def test_the_worked_example():
    found = transitions(stats(BEFORE), stats(AFTER))
    expected = np.zeros((9, 9), int)
    for cell in [(0, 0), (0, 2), (3, 8), (7, 8), (5, 4)]:
        expected[cell] = 1
    assert found.counts == expected.tolist()
    assert (found.both, found.up, found.same, found.down, found.net) == (5, 3, 1, 1, 7)
    assert (found.never_solved, found.escaped, found.escape_share) == (2, 1, 0.5)
    assert (found.dropped, found.new) == (1, 1)
    assert found.before == [2, 0, 0, 1, 0, 1, 0, 1, 0]
    assert found.after == [1, 0, 1, 0, 1, 0, 0, 0, 2]
    assert found.row_shares[0] == [0.5, 0, 0.5, 0, 0, 0, 0, 0, 0]
    assert found.row_shares[1] == [None] * 9
    assert found.difference.mean == pytest.approx(7 / 40)
    assert (found.n_before, found.n_after, found.unscored, found.warnings) == ([8], [8], 0, [])
    assert found.discordant is None


def test_rows_in_common_are_ordered_by_name_wherever_they_stand():
    several = [stats(dict.fromkeys(names, 0)) for names in ("cab", "bdac", "acb")]
    assert [rows.tolist() for rows in in_common(several, "xyz")] == [[1, 2, 0], [2, 0, 3], [0, 2, 1]]
    mixed = [stats(dict.fromkeys(names, 0)) for names in ((10, "9", 9), (9.0, "x", "9", 10))]
    assert [rows.tolist() for rows in in_common(mixed, "xy")] == [[0, 2, 1], [3, 0, 2]]
    with pytest.raises(PoolError, match="y: sample 'b' has two rows"):
        in_common([several[0], several[1].taken([0, 1, 0])], "xy")
    found = transitions(several[0], several[1].taken([1, 0]))
    assert (found.dropped, found.new) == (2, 1)


def test_its_null():
    found = transitions(stats({"a": 0, "b": 0}), stats(AFTER)).null  # no prior fits: Jeffreys'
    assert (found.kind, found.samples, round(found.escape_share, 4)) == ("beta-binomial", 2, round(1 - 0.7126, 4))
    assert round(found.expected[0][0], 4) == round(2 * 0.712646, 4)
    # one or more of two escape with 1 - .7126² = .4921; none or one with 1 - .2874² = .9174
    assert found.p_value == pytest.approx(2 * (1 - 0.7126463776701814**2), abs=1e-9)
    assert (found.low, found.high) == (0.0, 1.0)
    fitted = transitions(stats(BEFORE), stats(AFTER)).null.prior
    assert (round(fitted.a, 3), round(fitted.b, 3)) == (0.319, 0.394)


def test_the_interval_of_chance_holds_95_percent_of_what_chance_gives():
    many = {str(place): 0 for place in range(1000)}
    found = transitions(stats(many), stats({name: int(name < "3") for name in many})).null
    assert found.escape_share == pytest.approx(0.28735, abs=1e-5)
    half = 1.96 * (0.28735 * 0.71265 / 1000) ** 0.5
    assert (found.low, found.high) == pytest.approx((0.28735 - half, 0.28735 + half), abs=1.5e-3)
    seen = sum(name < "3" for name in many)
    assert seen == 223
    assert found.p_value < 1e-5


def test_different_numbers_of_rollouts_make_a_sum_of_different_chances():
    found = transitions(stats({"a": (0, 8), "b": (0, 2)}), stats({"a": (1, 8), "b": (1, 4)})).null
    first, second = 0.2873536, 1 - 2.5 * 3.5 * 4.5 * 5.5 / (3 * 4 * 5 * 6)
    assert found.escape_share == pytest.approx((first + second) / 2, abs=1e-6)
    assert found.p_value == pytest.approx(2 * first * second, abs=1e-6)


def test_a_measured_null_is_paired_with_the_samples_of_both_rounds():
    before = stats({"a": 0, "b": 0, "c": 0, "d": 0, "e": 4, "f": 4})
    after = stats({"a": 1, "b": 2, "c": 3, "d": 0, "e": 5, "f": 5})
    null = stats({"a": 1, "b": 0, "c": 0, "d": 0, "e": 4, "f": 3, "x": 8})
    chance = transitions(before, after, null=null).null
    assert (chance.kind, chance.prior, chance.samples, chance.escape_share) == ("measured", None, 4, 0.25)
    assert (round(chance.low, 4), round(chance.high, 4)) == (0.0456, 0.6994)
    assert chance.expected[0] == [3, 1, 0, 0, 0, 0, 0, 0, 0]
    assert chance.expected[4][3:5] == [1, 1]
    assert chance.p_value == 0.5  # b and c escaped after alone: 2 of 2


def test_a_null_that_lacks_rows_is_unknown_there():
    found = transitions(stats({"a": 0, "b": 2}), stats({"a": 1, "b": 2}), null=stats({"a": (3, 16)}))
    assert found.null.expected[2] == [None] * 17
    assert np.shape(found.null.expected) == np.shape(found.counts) == (9, 17)
    assert found.warnings == [
        "the null has 16 scored rollouts a sample, the round after 8: more rollouts find more right ones by chance",
        "the null lacks 1 of the 2 samples of both rounds",
    ]


def test_the_rollouts_before_are_no_null():
    many = stats({str(place): place % 9 for place in range(40)})
    found = transitions(many, many, null=many).warnings
    assert [text.rpartition(": ")[2] for text in found] == [
        "are these the same rollouts twice?", "are these its rollouts once more?",
    ]  # fmt: skip


def test_samples_of_one_rate_are_expected_to_move_as_binomials_do():
    of_each = [58, 198, 296, 254, 136, 47, 10, 1]  # of 1,000 with a rate of .3, from 0 to 7 of 8
    before = stats({str(place): right for place, right in enumerate(np.repeat(range(8), of_each).tolist())})
    found = transitions(before, stats({str(place): 2 for place in range(1000)}))
    assert found.null.prior.rate == pytest.approx(0.3, abs=2e-3)
    assert found.null.escape_share == pytest.approx(1 - 0.7**8, abs=2e-3)
    assert found.warnings == []


def test_by_source():
    found = transitions(
        stats({"a": 0, "b": 0, "c": 3, "d": 7}, source=["web", None, "web", None]),
        stats({"d": 7, "c": 1, "b": 1, "a": 0}, source=["x", "x", "x", None]),
    )
    assert [each.source for each in found.by_source] == ["web", "x"]
    web, other = found.by_source
    assert (web.both, web.never_solved, web.escaped, web.up, web.same, web.down) == (2, 1, 0, 0, 1, 1)
    assert (other.both, other.never_solved, other.escaped, other.escape_share) == (2, 1, 1, 1.0)
    assert web.difference.mean == -0.125


def test_pass_rates_count_where_numbers_of_rollouts_differ():
    found = transitions(stats({"a": (2, 4), "b": (2, 4), "c": (1, 4)}), stats({"a": 4, "b": 3, "c": 3}))
    assert (found.up, found.same, found.down, found.net) == (1, 1, 1, 5)
    assert (found.n_before, found.n_after, np.shape(found.counts)) == ([4], [8], (5, 9))
    assert found.warnings == [
        "samples have 4 scored rollouts before and 8 after: equal numbers of right ones are not equal pass rates; "
        "up and down compare pass rates",
    ]


def test_one_rollout_a_sample_is_tested_by_mcnemar():
    before = {str(place): (int(place < 3), 1) for place in range(10)}
    after = {str(place): (int(place > 1), 1) for place in range(10)}
    each = transitions(stats(before), stats(after)).discordant
    assert (each.only_before, each.only_after, each.p_value) == (2, 7, pytest.approx(0.1796875))


@pytest.mark.parametrize(
    ("before", "after", "warning"),
    [
        ({"temperature": 1.1}, {"temperature": 1.7}, "temperatures differ, 1.1 before and 1.7 after"),
        ({"round": 2}, {"round": 2}, "both are of round 2"),
        ({"round": 3}, {"round": 2}, "round 3 stands before round 2: swapped?"),
    ],
)
def test_what_to_keep_in_mind(before, after, warning):
    found = transitions(stats(BEFORE, **before), stats(AFTER, **after))
    assert [text for text in found.warnings if text.startswith(warning)]


def test_a_temperature_that_one_round_does_not_tell_differs_from_none():
    assert transitions(stats(BEFORE, temperature=1.1), stats(AFTER)).warnings == []


def test_the_same_temperature_in_32_bits_is_the_same():
    found = transitions(stats(BEFORE, temperature=float(np.float32(1.1))), stats(AFTER, temperature=1.1))
    assert (found.temperatures_before, found.temperatures_after, found.warnings) == ([1.1], [1.1], [])


def test_samples_that_one_round_did_not_score_stand_apart():
    found = transitions(stats({"a": (0, 0), "b": 1, "c": 1}), stats({"a": 4, "b": (0, 0), "c": 1}))
    assert (found.both, found.unscored, found.counts[1][1]) == (1, 2, 1)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            stats(BEFORE), stats({"x": 1, 7: 2}),
            "no sample is in the round before and the round after: the round before has 'a', 'b', 'c' and 3 more; "
            "the round after has 'x', 7",
        ),
        (stats(BEFORE), stats({}), "the round after has no sample"),
        (stats({"a": (0, 0)}), stats({"a": 1}), "no sample of both rounds has scored rollouts in both"),
        (
            stats({"a": 0, "b": 0}), stats({"a": (1, 1024), "b": (1, 1025)}),
            "the round after: sample 'b' has 1,025 scored rollouts; expected 1,024 at most. Is sample_id the sample's",
        ),
        (stats(BEFORE).taken([0, 1, 0]), stats(AFTER), "the round before: sample 'a' has two rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_an_error(before, after, message):
    with pytest.raises(PoolError, match=message):
        transitions(before, after)


ROUND = st.dictionaries(
    st.sampled_from("abcdefghij"),
    st.integers(0, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
)


def shuffled(these, seed):
    return these.taken(np.random.default_rng(seed).permutation(len(these)))


@given(ROUND, ROUND, st.integers(0, 99))
@settings(max_examples=40)
def test_totals_and_order(before, after, seed):
    first, second = stats(before, source="s"), stats(after)
    scored = [name for name in before if name in after and before[name][1] and after[name][1]]
    if not scored:
        with pytest.raises(PoolError):
            transitions(first, second)
        return
    found = transitions(first, second)
    assert found.both == found.both == len(scored) == sum(found.before) == sum(found.after)
    assert found.up + found.same + found.down == found.both
    assert found.never_solved == sum(found.counts[0])
    assert found.escaped == sum(found.counts[0][1:])
    assert found.both + found.unscored + found.dropped == len(before)
    assert found.both + found.unscored + found.new == len(after)
    for row, total in zip(found.row_shares, found.before, strict=True):
        assert row == [None] * len(row) if total == 0 else sum(row) == pytest.approx(1)
    assert np.sum(found.null.expected, axis=1) == pytest.approx(found.before)
    if found.null.samples:
        assert 0 <= found.null.low <= found.null.high <= 1
        assert 0 <= found.null.p_value <= 1
    assert transitions(shuffled(first, seed), shuffled(second, seed + 1)) == found
    (only,) = found.by_source
    assert vars(only).items() <= {**vars(found), "source": "s"}.items()


@given(ROUND, st.integers(0, 99))
@settings(max_examples=40)
def test_a_measured_null_keeps_the_rows_sums(before, seed):
    first = stats({name: (min(k, 4), 4) for name, (k, _) in before.items()})
    rng = np.random.default_rng(seed)
    second, null = (replace(first, num_correct=rng.integers(0, 5, len(first))) for _ in range(2))
    found = transitions(first, second, null=null)
    assert np.sum(found.null.expected, axis=1) == pytest.approx(found.before)
    assert found.null.samples == found.never_solved


GROUPS = st.lists(st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=40)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.8), (2, 5), (0.05, 0.02), (20, 30), (1, 1)])
def test_a_fit_finds_what_made_the_counts(a, b):
    rng = np.random.default_rng(7)
    n = rng.integers(4, 17, 50_000)
    found = fitted_prior(n, rng.binomial(n, rng.beta(a, b, 50_000)))
    assert (found.a, found.b) == pytest.approx((a, b), rel=0.06)


@given(GROUPS)
@settings(max_examples=40)
def test_no_prior_nearby_makes_the_counts_likelier(groups):
    n, right = (np.array([group[place] for group in groups], dtype=int) for place in (0, 1))

    def likelihood(a, b):
        return sum(np.log(beta_binomial(of, 0, 0, a, b)[k]) for of, k in zip(n, right, strict=True))

    fitted = fitted_prior(n, right)
    a, b = fitted.a, fitted.b
    assert min(a, b) >= 0.001
    assert max(a, b) <= 10_000 or a + b == pytest.approx(COMMON)
    if (a, b) != JEFFREYS:
        others = [(a * 1.02, b), (a / 1.02, b), (a, b * 1.02), (a, b / 1.02), (a * 1.02, b * 1.02)]
        assert all(likelihood(*other) <= likelihood(a, b) + 1e-7 for other in others)


@pytest.mark.parametrize(
    ("n", "right"),
    [
        ([], []), ([0], [0]), ([8] * 4, [0] * 4), ([8] * 4, [8] * 4), ([1] * 9, [0, 1, 1] * 3),
        ([8] * 6, [0, 8] * 3),
    ],
    ids=["none", "unscored", "all wrong", "all right", "one rollout", "all or nothing"],
)  # fmt: skip
def test_where_counts_fix_no_prior_jeffreys_stands_in_and_says_so(n, right):
    prior = fitted_prior(n, right)
    assert (prior.a, prior.b) == JEFFREYS == (0.5, 0.5)
    assert "does not fix a prior" in prior.said


@pytest.mark.parametrize("right", [[4] * 40, [3, 5] * 20], ids=["the same", "less than chance"])
def test_counts_that_spread_no_wider_than_chance_have_one_rate(right):
    prior = fitted_prior([8] * 40, right)
    assert prior.rate == 0.5
    assert beta_binomial(8, 0, 8, prior.a, prior.b)[0] == pytest.approx(0.5**8, rel=1e-6)
    assert fitted_prior([8], [8]).rate is None


SPIKE = [0] * 400 + list(range(9)) * 67


def test_a_prior_that_the_histogram_contradicts_says_so():
    found = fitted_prior([8] * len(SPIKE), SPIKE)
    assert found.said.startswith(f"num_correct before does not look like Beta({found.a:.3g}, {found.b:.3g}): 467 never")
    assert "67 all-correct for" in found.said
    assert found.said.endswith("Measure it: a second set of rollouts of the policy before (--null)")
    plain = fitted_prior([8] * 603, SPIKE[400:])
    assert (plain.a, plain.b, plain.said) == (pytest.approx(1.0), pytest.approx(1.0), "")


def test_the_check_counts_samples_of_all_sizes_and_cells_with_enough_of_them():
    n, right = [4] * 50 + [8] * 90 + [0] * 9, list(range(5)) * 10 + list(range(9)) * 10 + [0] * 9
    assert contradiction(n, right, 1, 1) == ""
    assert contradiction(n, [0] * 149, 1, 1).startswith(
        "num_correct before does not look like Beta(1, 1): 140 never solved for 20.0 expected, 0 all-correct for 20.0"
    )
    assert contradiction([8] * 4, [0] * 4, 1, 1) == contradiction([], [], 1, 1) == ""  # too few to tell


def test_each_fitted_parameter_costs_a_degree_of_freedom():
    right = np.repeat(range(9), [10, 10, 10, 18, 2, 10, 12, 8, 10])  # chi-square 13.6: .034 of 6, .093 of 8
    fitted = fitted_prior([8] * 90, right)
    assert fitted.said.startswith("num_correct before does not look like Beta(0.992, 1.04): 10 never solved for")
