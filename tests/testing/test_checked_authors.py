"""Messages of ``check_verifier`` and ``check_method`` to an author: the fault, where it is, and what to do."""

import itertools
import sys
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.errors import PoolError
from grounding_rewards.pool import Band, Choice, Every, Unsolved
from grounding_rewards.testing import check_method, check_verifier


def clicked(rollouts):
    return (~np.isnan(rollouts.predictions.xy[:, 0])).astype(np.float64)


def nothing(rollouts):
    return None


def one_number(rollouts):
    return 1.0


def words(rollouts):
    return np.array(["much"] * len(rollouts))


def prints_errors(rollouts):
    print(len(rollouts), file=sys.stderr)
    return clicked(rollouts)


def exits(rollouts):
    sys.exit(3)


def without_lengths(rollouts):
    return rollouts.token_lengths / 1e4


def largest(rollouts):
    return clicked(rollouts) * np.max(clicked(rollouts))


def adds_a_text(rollouts):
    rollouts.text.append("more")
    return clicked(rollouts)


def adds_a_column(rollouts):
    rollouts.extras["seen"] = len(rollouts)
    return clicked(rollouts)


def masked(rollouts):
    return np.ma.masked_array(clicked(rollouts))


def seeds(rollouts):
    np.random.seed(0)  # noqa: NPY002
    return clicked(rollouts)


def is_quiet(rollouts):
    np.seterr(all="ignore")
    return clicked(rollouts)


def ignores(rollouts):
    warnings.simplefilter("ignore")
    return clicked(rollouts)


def two(rollouts):
    if len(rollouts) == 2:
        raise ValueError("two")
    return clicked(rollouts)


def short_texts(rollouts):
    if any(len(text) > 20_000 for text in rollouts.text):
        raise ValueError("long")
    return clicked(rollouts)


def easy(rollouts):
    return np.array([float(value == "easy") for value in rollouts.extras["difficulty"]])


def fault(check, thing):
    with pytest.raises(AssertionError) as caught:
        check(thing)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (nothing, "verifier nothing returned None; expected 1 numbers"),
        (one_number, "verifier one_number returned shape (); expected (1,)"),
        (words, "verifier words returned array(['much'], dtype='<U4'); expected 1 numbers"),
        (prints_errors, "(pixel, alone) on Row(target="),
        (prints_errors, " prints '1"),
        (exits, "raises VerifierError: 'verifier exits raised SystemExit: 3'"),
        (without_lengths, "(pixel, alone, with nothing but its needs) on Row(target="),
        (
            largest,
            "(pixel, no rows) on 0 rows raises VerifierError: 'verifier largest raised ValueError: zero-size array",
        ),
        (adds_a_text, " writes into rollouts.text"),
        (adds_a_column, " writes into rollouts.extras"),
    ],
)
def test_a_faulty_function_is_named_with_its_fault(fn, message):
    said = fault(check_verifier, gr.verifier(fn, low=0, high=1))
    assert said.startswith(f"FunctionVerifier(fn=<function {fn.__name__} at ")
    assert message in said


@dataclass(frozen=True)
class Bare:
    """A verifier without the checks that ``gr.verifier`` makes itself."""

    fn: object
    low = 0.0
    needs = frozenset()

    @property
    def high(self):
        return 1.0

    def __call__(self, rollouts):
        return self.fn(rollouts)


class Rising(Bare):
    @property
    def high(self):
        return 1.0 + next(COUNT)


class OtherHash(Bare):
    def __hash__(self):
        return next(COUNT)


COUNT = itertools.count()


@pytest.mark.parametrize(
    ("verifier", "message"),
    [
        (Bare(masked), "returns masked_array("),
        (Bare(seeds), "(pixel, in a batch) on "),
        (Bare(seeds), " changes the state of numpy.random, which all code shares: leave it alone"),
        (Bare(is_quiet), " changes numpy's handling of errors, which"),
        (Bare(ignores), " changes the filters of warnings, which"),
        (Bare(two), "(pixel, 2 rows) on 2 rows raises ValueError: 'two'"),
        (Bare(short_texts), "raises ValueError: 'long'"),
        (Rising(clicked), "declares low, high, needs as (0.0, "),
        (OtherHash(clicked), "has another hash than its copy, which equals it"),
    ],
)
def test_a_fault_that_few_runs_show_is_named(verifier, message):
    handling = np.geterr()
    try:
        assert message in fault(check_verifier, verifier)
    finally:
        np.seterr(**handling)


def test_a_sound_function_passes():
    check_verifier(gr.verifier(clicked, low=0, high=1))
    check_verifier(gr.verifier(easy, low=0, high=1), extras={"difficulty": ["easy", "hard", None]})


@dataclass
class Open:
    """A dataclass that is not frozen."""

    low: float = 0.0
    high: float = 1.0
    needs: frozenset = frozenset()

    def __call__(self, table):
        return np.zeros(len(table))


class Counts(Open):
    """Another score at each call."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return type(other) is type(self)

    def __call__(self, table):
        self.calls = getattr(self, "calls", 0) + 1
        return np.full(len(table), 1.0 / self.calls)


@dataclass(frozen=True)
class Mute:
    low: float = 0.0
    high: float = 1.0


@pytest.mark.parametrize(
    ("check", "thing", "message"),
    [
        (
            check_verifier,
            clicked,
            "declares no low and no high and no needs: lift a plain function with verifier(fn, low=, high=)",
        ),
        (check_verifier, Open, "is a class: build it, such as Open()"),
        (check_verifier, Open(), "Open(low=0.0, high=1.0, needs=frozenset()) has no hash (unhashable type: 'Open')"),
        (check_verifier, Mute(), "Mute(low=0.0, high=1.0) cannot be called: expected a verifier, with __call__"),
        (check_verifier, "hit", "'hit' cannot be called: expected a verifier"),
        (check_verifier, Counts(), "returns 1.0 and 0.5 for row 0 (pixel, in a batch and alone)"),
        (check_method, Band, "is a class: build it, such as Band()"),
        (check_method, Mute(), "selector Mute(low=0.0, high=1.0) cannot be called: expected a selector"),
        (
            check_method,
            Open(high=float("nan")),
            "declares low 0.0 and high nan: expected finite numbers, low <= high",
        ),
        (check_method, Open(), "has no hash"),
        (check_method, Counts(), "returns 1.0 and 0.5 (the first time and the second): sample sample_id='s"),
    ],
)
def test_what_cannot_be_one_is_distinguished_from_what_is_wrong_with_it(check, thing, message):
    assert message in fault(check, thing)


@dataclass(frozen=True)
class Weigh:
    """A selector around a function."""

    fn: object
    low: float = 0.0
    high: float = 1.0
    seen: dict = field(default_factory=dict, compare=False)

    def __call__(self, stats):
        return self.fn(stats)


def rates(stats):
    return stats.pass_rate


def first_ten(stats):
    return (np.arange(len(stats)) < 10).astype(np.float64)


def easiest(stats):
    return np.nan_to_num(stats.pass_rate / np.nanmax(stats.pass_rate))


def empties(stats):
    stats.n[:] = 0
    return np.zeros(len(stats))


def spread(stats):
    return stats.variance / 1e13


def whole(stats):
    return stats.n


def short(stats):
    return np.zeros(max(len(stats) - 1, 0))


def needs_clicks(stats):
    if len(stats) and not stats.clicks.any():
        raise PoolError("clicks: got none")
    return np.minimum(stats.clicks, 1.0)


def needs_clicks_of_all(stats):
    if (stats.clicks == 0).any():
        raise PoolError("clicks: got none")
    return np.ones(len(stats))


def stumbles_without_clicks(stats):
    if len(stats) and not stats.clicks.any():
        raise ValueError("clicks")
    return np.minimum(stats.clicks, 1.0)


def test_only_statistics_without_a_column_may_be_refused_and_by_a_pool_error():
    check_method(Weigh(needs_clicks))
    check_method(Every([Weigh(needs_clicks), Unsolved()]))


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (needs_clicks_of_all, "on 300 samples raises PoolError"),
        (stumbles_without_clicks, "raises ValueError: 'clicks'"),
        (rates, "returns nan, expected 0.0 to 1.0: sample sample_id='s"),
        (first_ten, "(in one order and in another): sample sample_id='s"),
        (easiest, "on 0 samples raises ValueError"),
        (empties, "on 300 samples writes into n"),
        (spread, "returns nan, expected 0.0 to 1.0"),
        (whole, "on 300 samples returns array(["),
        (short, "expected float64 of shape (300,)"),
        (lambda stats: np.zeros(len(stats)), "cannot be pickled"),
    ],
)
def test_a_faulty_selector_is_named_with_its_fault(fn, message):
    said = fault(check_method, Weigh(fn))
    assert said.startswith("selector Weigh(fn=<function ")
    assert message in said


@dataclass(frozen=True)
class FirstOfAll:
    """A choice that takes the first rollout of all samples, whatever it says."""

    samples_apart: bool

    kind, needs, low, high = "choice", (), 0.0, 1.0

    def __call__(self, rollouts):
        return Choice(np.arange(min(1, len(rollouts))))


def test_a_choice_of_each_sample_by_itself_is_the_same_of_some_samples_at_a_time():
    check_method(FirstOfAll(samples_apart=False))
    said = fault(check_method, FirstOfAll(samples_apart=True))
    assert said.endswith("chooses otherwise of some samples at a time; expected samples_apart = False")


def test_sound_selectors_pass_whatever_the_seed():
    for seed in (0, 1):
        for selector in (Unsolved(), Band(0.2, 0.8), Band(), Band(0.5, 0.5, inclusive=True)):
            check_method(selector, seed=seed)


def test_bounds_are_those_that_the_selector_declares():
    assert "returns 1.0, expected 0.0 to 0.5" in fault(check_method, replace(Weigh(Unsolved()), high=0.5))
