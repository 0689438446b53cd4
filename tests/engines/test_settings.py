"""Settings of a run: what they refuse, and seeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.engines.protocol import Sampling
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError

NAMES = st.text(st.characters(codec="utf-8"), max_size=12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n: got 0; expected a whole number from 1"),
        ({"n": True}, "n: got True; expected a whole number from 1"),
        ({"temperatures": ()}, "temperature: got none; expected one or more"),
        ({"temperatures": (1.0, -0.5)}, "temperature: got -0.5; expected a number from 0"),
        ({"temperatures": (float("nan"),)}, "temperature: got nan; expected a number from 0"),
        ({"temperatures": (0.7, 1.0, 0.7000000001)}, "temperature: got 0.7 twice; expected different ones"),
        ({"top_p": 0}, "top_p: got 0; expected a number above 0 to 1"),
        ({"top_p": 1.5}, "top_p: got 1.5; expected a number above 0 to 1"),
        ({"max_tokens": 0}, "max_tokens: got 0; expected a whole number from 1"),
        ({"seed": -1}, "seed: got -1; expected a whole number from 0"),
        ({"n": 4, "most": 4}, "max: got 4; expected a whole number from 5"),
        ({"n": None, "most": 4}, "until mixed: needs n, the responses that are asked for at a time"),
        (
            {"n": 4, "most": 8, "temperatures": (0.0, 1.0)},
            "until mixed: at temperature 0 all responses are one; expected "
            "temperatures above 0, and a run of its own for greedy responses",
        ),
        ({"n": 2**63}, f"n: got {2**63}; expected a whole number of 64 bits, up to {2**63 - 1}"),
        ({"seed": 2**64}, f"seed: got {2**64}; expected a whole number of 64 bits, up to {2**63 - 1}"),
        ({"round": 2**63}, f"round: got {2**63}; expected a whole number of 64 bits, up to {2**63 - 1}"),
        ({"round": 1.5}, "round: got 1.5; expected a whole number from 0"),
        (
            {"first_rollout": 2**63 - 8},
            f"first_rollout: got {2**63 - 8}; the last rollout's number is above {2**63 - 1}",
        ),
        ({"shard_rows": 0}, "shard_rows: got 0; expected a whole number from 1"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    with pytest.raises(EngineError) as caught:
        RolloutSettings(**settings)
    assert str(caught.value) == message


def test_sampling_of_each_temperature():
    settings = RolloutSettings(temperatures=(0, 1.2), top_p=0.9, max_tokens=64)
    assert [settings.sampling(each) for each in settings.temperatures] == [Sampling(0, 0.9, 64), Sampling(1.2, 0.9, 64)]


def test_seeds_stay_what_they_are():
    assert [RolloutSettings(seed=seed).seed_of("a", 1.0, 0) for seed in (0, 1)] == [711107299, 1300220595]


@given(NAMES, st.floats(0, 2), st.integers(0, 99), st.integers(0, 2**40))
def test_a_seed_is_31_bits_and_follows_the_number_of_the_rollout_alone(name, temperature, rollout, seed):
    settings = RolloutSettings(seed=seed, n=3, temperatures=(0.5, temperature + 1))
    made = settings.seed_of(name, temperature, rollout)
    assert 0 <= made < 2**31
    assert RolloutSettings(seed=seed, first_rollout=rollout).seed_of(name, temperature, 0) == made


@given(
    st.lists(st.tuples(NAMES, st.sampled_from([0.5, 1.0]), st.integers(0, 9)), min_size=20, max_size=20, unique=True)
)
def test_responses_have_seeds_of_their_own(responses):
    assert len({RolloutSettings().seed_of(*each) for each in responses}) == 20
