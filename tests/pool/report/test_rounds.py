"""Numbers of rounds and of a whole report, and what is missing from it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.report.rounds import (
    NEEDS,
    Options,
    Round,
    by_size,
    by_source,
    funnel,
    histogram,
    mean_rate,
    read_inputs,
    report,
    signal,
    summary,
)
from grounding_rewards.stats.intervals import wilson
from tests.cli.command import write_rows
from tests.pool.report.made import HOSTILE, manifest, rounds, shown, stats

COUNTS = st.lists(st.integers(0, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=30)


def test_a_line_of_the_table():
    first, _ = rounds()
    found = summary(first)
    assert found | {"parse_rate": None, "dispersion": None, "mean_total": None} == {
        "round": "round 1", "samples": 5, "rollouts": 20, "unscored": 0, "unscored_samples": 0, "all_correct": 1,
        "none_correct": 2, "mixed": 2, "zero_signal": 2, "accuracy": 0.35, "mean_total": None, "parse_rate": None,
        "dispersion": None, "rollouts_per_sample": [4], "correct": 7, "accuracy_low": pytest.approx(0.1237, abs=1e-4),
        "accuracy_high": pytest.approx(0.6727, abs=1e-4), "temperatures": [1.1],
    }  # fmt: skip


def test_bars_tell_none_some_and_all_apart_though_n_differs():
    found = histogram(Round("1", stats([2, 4, 4, 2, 0], [2, 2, 0, 0, 0])))
    assert found == {
        "round": "1", "none_correct": [2, 0, 0, 0, 0], "mixed": [0, 0, 1, 0, 0], "all_correct": [0, 0, 1, 0, 0],
    }  # fmt: skip


def test_no_signal_is_counted_by_totals_and_by_outcomes():
    first, second = rounds()
    # never solved, but scored 0 and 0.2: a difference to learn from
    assert signal(first) == {
        "round": "round 1", "none_correct": 0.4, "mixed": 0.4, "all_correct": 0.2, "no_spread": 0.4,
    }  # fmt: skip
    assert signal(second)["no_spread"] is None
    nearly = stats([2, 2], [1, 1], lowest=[0.0, 0.0], highest=[1e-6, 1.1e-6])
    assert signal(Round("1", nearly))["no_spread"] == 0.5


def test_nothing_scored_has_no_shares():
    empty = Round("1", stats([0, 0], [0, 0], unscored=[3, 1]))
    assert (summary(empty)["accuracy"], summary(empty)["accuracy_low"], summary(empty)["unscored"]) == (None, None, 4)
    assert signal(empty) == {"round": "1", "none_correct": None, "mixed": None, "all_correct": None, "no_spread": None}
    assert histogram(empty) == {"round": "1", "none_correct": [0], "mixed": [0], "all_correct": [0]}


@pytest.mark.parametrize("samples", [3, 4, 20])
def test_an_interval_ends_at_0_and_1_whatever_the_last_bits_say(samples):
    assert mean_rate(stats([1] * samples, [1] * samples))[::2] == (1.0, 1.0)
    assert mean_rate(stats([1] * samples, [0] * samples))[:2] == (0.0, 0.0)


@given(st.integers(1, 40).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m))))
def test_with_one_rollout_a_sample_the_interval_is_wilsons(counts):
    samples, right = counts
    found = mean_rate(stats([1] * samples, [1] * right + [0] * (samples - right)))
    assert found == pytest.approx((right / samples, *map(float, wilson(right, samples))), abs=1e-12)


@settings(max_examples=50)
@given(COUNTS, st.randoms())
def test_every_scored_sample_counts_once_whatever_the_order(counts, shuffled):
    n, right = [each[0] for each in counts], [each[1] for each in counts]
    found = Round("1", stats(n, right))
    bars = histogram(found)
    names = ("none_correct", "mixed", "all_correct")
    scored = sum(each > 0 for each in n)
    assert sum(sum(bars[name]) for name in names) == scored == sum(summary(found)[name] for name in names)
    assert sum(place * count for name in names for place, count in enumerate(bars[name])) == sum(right)
    order = list(range(len(counts)))
    shuffled.shuffle(order)
    other = Round("1", found.stats.taken(np.array(order, dtype=np.int64)))
    assert histogram(other) == bars
    low, mean, high = (summary(other)[name] for name in ("accuracy_low", "accuracy", "accuracy_high"))
    assert mean is None or 0.0 <= low <= mean <= high <= 1.0


def test_the_source_with_the_largest_never_solved_share_comes_first():
    found = by_source(rounds()[0].stats)
    assert [(each["source"], each["samples"], each["correct"], each["zero_share"]) for each in found] == [
        (HOSTILE, 1, 0, 1.0), ("pdf", 1, 0, 1.0), ("unknown", 1, 1, 0.0), ("web", 2, 6, 0.0),
    ]  # fmt: skip
    assert found[3] == {
        "source": "web", "samples": 2, "rollouts": 8, "unscored": 0, "correct": 6, "none_correct": 0, "mixed": 1,
        "all_correct": 1, "zero_share": 0.0, "accuracy": 0.75,
    }  # fmt: skip


def test_without_a_source_there_is_nothing_to_tell():
    assert by_source(stats([1], [1])) == by_size(stats([1], [1])) == []


def test_rollouts_are_all_and_those_without_a_verdict_stand_apart():
    whole = stats([2, 1, 0], [1, 0, 0], unscored=[3, 0, 4], source=["web"] * 3, target_area=[0.2] * 3)
    for (line,) in (by_source(whole), by_size(whole)):
        assert (line["samples"], line["rollouts"], line["unscored"], line["correct"]) == (2, 6, 3, 1)


def test_bins_of_area_hold_their_lower_edge_and_empty_ends_are_left_out():
    found = by_size(stats([2, 2, 2, 2, 0], [1, 2, 0, 1, 0], target_area=[0.0003, 0.001, 0.0029, float("nan"), 0.5]))
    assert [(each["area_from"], each["area_to"], each["samples"], each["correct"]) for each in found] == [
        (0.0003, 0.001, 1, 1), (0.001, 0.003, 2, 2),
    ]  # fmt: skip
    assert [each["accuracy"] for each in found] == [0.5, 0.5]


def test_a_target_as_large_as_the_screen_or_as_small_as_a_point_has_a_bin():
    found = by_size(stats([1, 1], [1, 0], target_area=[1.0, 0.0]))
    assert [each["samples"] for each in found] == [1, 0, 0, 0, 0, 0, 1]
    assert found[1]["accuracy"] is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 1.0), st.integers(0, 3)), min_size=1, max_size=30))
def test_tables_add_up_to_the_round(samples):
    whole = stats(
        [3] * len(samples), [each[2] for each in samples], source=[each[0] for each in samples],
        target_area=[each[1] for each in samples],
    )  # fmt: skip
    for lines in (by_source(whole), by_size(whole)):
        assert sum(line["samples"] for line in lines) == len(samples)
        assert sum(line["correct"] for line in lines) == sum(each[2] for each in samples)
        assert sum(line["rollouts"] for line in lines) == 3 * len(samples)


def whole():
    """A report with every section."""
    first, second = rounds()
    return report(
        "pools", [first, second], by_temperature={1.1: first.stats, 1.7: second.stats},
        pools=[funnel("pool 2", manifest())], hardest=[shown()], suspects=[shown()], remarks=["mind <this>"],
    )  # fmt: skip


def test_a_report_with_everything_lacks_nothing():
    found = whole()
    assert found["missing"] == {}
    (moved,) = found["transitions"]
    assert (moved["from"], moved["both"], moved["up"], moved["same"], moved["down"]) == ("round 1", 5, 2, 3, 0)
    assert moved["counts"] == [[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert found["temperature"] is not None
    assert [row["accuracy"] for row in found["temperature"]["rows"]] == [0.35, 0.45]
    assert found["pools"][0]["kept"] == 15


def test_numbers_are_plain_json():
    plain = json.loads(json.dumps(report("pools", rounds()), allow_nan=False))
    assert [each["correct"] for each in plain["rounds"]] == [7, 9]
    assert [each["round"] for each in plain["sources"]] == ["round 1", rounds()[1].name]


def test_every_section_without_data_says_what_it_needs():
    found = report("nothing", [])
    assert found["missing"] == NEEDS
    lone = report("one", [Round("1", stats([1], [1]))])
    assert set(NEEDS) - set(lone["missing"]) == {"rounds", "num_correct", "signal"}
    assert "two rounds" in lone["missing"]["transitions"]


def test_rounds_that_share_no_sample_are_said():
    first, second = stats([1, 1], [1, 0]), stats([1, 1, 1], [1, 0, 1]).taken([2])
    found = report("apart", [Round("1", first), Round("2", second)])
    assert found["missing"]["transitions"].startswith("from 1 to 2: ")
    assert found["remarks"] == []
    joined = report("apart", [Round("1", first), Round("2", second), Round("3", second)])
    assert [each["to"] for each in joined["transitions"]] == ["3"]
    assert joined["remarks"][0].startswith("from 1 to 2: ")
    swept = report("apart", [], by_temperature={1.0: first, 2.0: second})
    assert "temperature" in swept["missing"]["temperature"]


def test_temperatures_of_one_round_are_no_steps_of_training():
    first, second = (replace(each, swept=True) for each in rounds())
    swept = report("swept", [first, second], by_temperature={1.1: first.stats, 1.7: second.stats})
    assert (swept["transitions"], swept["temperature"] is None) == ([], False)
    assert swept["missing"]["transitions"].startswith("temperatures of one round are no steps of training")
    third = Round("3", second.stats)
    assert [(each["from"], each["to"]) for each in report("", [first, *rounds(), third])["transitions"]] == [
        ("round 1", rounds()[1].name), (rounds()[1].name, "3"),
    ]  # fmt: skip


def test_confounded_temperatures_are_not_shown():
    first, second = (replace(each.stats, round=np.full(5, number)) for number, each in enumerate(rounds(), 1))
    page = report("", [], by_temperature={1.1: first, 1.7: second})
    assert page["temperature"] is None
    assert page["missing"]["temperature"].startswith("temperatures 1.1, 1.7 are of rounds 1, 2; needs")


def test_rounds_that_mix_temperatures_are_a_warning():
    first, second = rounds()
    mixed = report("", [replace(first, temperatures=(1.1, 1.4)), second])
    assert mixed["transitions"][0]["warnings"][-1] == (
        "round 1: rollouts at temperatures 1.1, 1.4 count together, and pass rates mix them"
    )


def test_why_temperatures_are_not_compared_is_said():
    found = report("apart", rounds(), unswept="of rounds 1, 2")
    assert (found["temperature"], found["missing"]["temperature"]) == (None, "of rounds 1, 2")


def test_files_without_rounds_are_rounds_in_the_order_given(tmp_path):
    later = write_rows(tmp_path / "later.jsonl", {"sample_id": "a", "acc": 1})
    first = write_rows(tmp_path / "first.jsonl", {"sample_id": "a", "correct": False})
    stats = write_rows(tmp_path / "stats.jsonl", {"sample_id": "a", "n": 2, "num_correct": 1})
    parts = read_inputs([str(later), str(first), str(stats)], Options()).parts
    assert [part.name for part in parts] == ["later", "first", "stats"]
    assert [part.stats.num_correct.tolist() for part in parts] == [[1], [0], [1]]


def test_files_of_one_round_belong_together_and_rounds_are_in_order(tmp_path):
    rows = [{"sample_id": name, "acc": 1, "round": number} for number in (2, 1) for name in "abc"]
    two = write_rows(tmp_path / "two.jsonl", *rows)
    more = write_rows(tmp_path / "more.jsonl", {"sample_id": "d", "acc": 1, "round": 1, "rollout": 0})
    parts = read_inputs([str(two), str(more)], Options()).parts
    assert [(part.name, len(part.stats)) for part in parts] == [("round 1", 4), ("round 2", 3)]
    (tmp_path / "other").mkdir()
    same = write_rows(tmp_path / "other" / "two.jsonl", {"sample_id": "a", "acc": 1, "round": 1})
    named = read_inputs([f"{two}@2", f"{two}@1", f"{same}@1"], Options()).parts
    assert [part.name for part in named] == ["two, round 1", "two, round 1 (2)", "two, round 2"]


def sweep_of(*words):
    """The names of rounds and temperatures, the accuracy at each temperature, and why there is none."""
    found = read_inputs([str(word) for word in words], Options())
    rates = {warm: float(stats.pass_rate.mean()) for warm, stats in found.by_temperature.items()}
    return [(part.name, part.swept) for part in found.parts], rates, found.unswept


def at(path, acc, **more):
    return write_rows(path, {"sample_id": "a", "acc": acc, "rollout": 0, **more})


ONE = "needs rollouts of one round at two temperatures or more"


def test_temperatures_of_the_last_round_that_has_several(tmp_path):
    rows = [
        {"sample_id": "a", "acc": acc, "round": number, "temperature": warm, "rollout": warm}
        for number, warm, acc in ((1, 1, 1), (1, 2, 1), (2, 1, 0), (2, 2, 1), (3, 2, 1))
    ]
    both = write_rows(tmp_path / "both.jsonl", *rows)
    rounds = [("round 1", False), ("round 2", False), ("round 3", False)]
    assert sweep_of(both) == (rounds, {1.0: 0.0, 2.0: 1.0}, "")
    assert sweep_of(f"{both}@3") == ([("both, round 3", False)], {}, "")


def test_files_of_one_temperature_each_are_a_sweep_and_no_rounds(tmp_path):
    cool, hot = at(tmp_path / "x.jsonl", 1, temperature=1.1), at(tmp_path / "y.jsonl", 0, temperature=1.4)
    swept = [("temperature 1.1", True), ("temperature 1.4", True)]
    assert sweep_of(hot, cool) == (swept, {1.1: 1.0, 1.4: 0.0}, "")
    plain = [at(tmp_path / f"plain-{name}.jsonl", 1) for name in "ab"]
    assert sweep_of(*plain) == ([("plain-a", False), ("plain-b", False)], {}, "")
    assert sweep_of(f"1.4={plain[1]}", f"1.1={plain[0]}")[:2] == (swept, {1.1: 1.0, 1.4: 1.0})
    numbered = at(tmp_path / "numbered.jsonl", 0, round=3)
    assert sweep_of(numbered, f"1.1={plain[0]}", hot) == ([*swept, ("round 3", False)], {1.1: 1.0, 1.4: 0.0}, "")


def test_files_at_one_temperature_belong_together(tmp_path):
    more = write_rows(tmp_path / "more.jsonl", {"sample_id": "a", "acc": 0, "rollout": 1})
    cool, hot = at(tmp_path / "cool.jsonl", 1), at(tmp_path / "hot.jsonl", 0)
    assert sweep_of(f"1.1={cool}", f"1.4={hot}", f"1.1={more}")[1] == {1.1: 0.5, 1.4: 0.0}
    stats = write_rows(tmp_path / "stats.jsonl", {"sample_id": "a", "n": 2, "num_correct": 1})
    names, rates, why = sweep_of(f"1.1={cool}", f"1.4={hot}", f"1.1={stats}")
    assert ([name for name, _ in names], rates) == (["cool", "hot", "stats"], {})
    assert why == f"temperature 1.1 is that of several files that name no round; {ONE}"
    with pytest.raises(PoolError, match=r"hot\.jsonl: is given twice"):
        sweep_of(f"1.1={hot}", f"1.4={hot}")
    warm = at(tmp_path / "warm.jsonl", 0, temperature=1.7)
    with pytest.raises(PoolError, match=r"its temperature is 1\.7, and is given as 1.4"):
        sweep_of(f"1.4={warm}", f"1.1={cool}")
    rounds = write_rows(tmp_path / "rounds.jsonl", *({"sample_id": "a", "acc": 1, "round": each} for each in (1, 2)))
    with pytest.raises(PoolError, match="holds rounds 1, 2; name the one that counts"):
        sweep_of(f"1.4={rounds}", f"1.1={cool}")


def test_rounds_and_policies_are_no_sweep(tmp_path):
    first, second = (
        at(tmp_path / f"{each}.jsonl", 1, round=each, policy=f"p{each}", temperature=warm)
        for each, warm in ((1, 1.1), (2, 1.7))
    )
    why = f"temperatures 1.1, 1.7 are of rounds 1, 2; {ONE}"
    assert sweep_of(first, second) == ([("round 1", False), ("round 2", False)], {}, why)
    assert sweep_of(f"1.7={second}", f"1.1={first}")[1:] == ({}, why)
    other = [at(tmp_path / f"{name}.jsonl", 1, policy=name, temperature=warm) for name, warm in (("a", 1), ("b", 2))]
    why = f"temperatures 1, 2 are of policies a, b; {ONE}"
    assert sweep_of(*other) == ([("a", False), ("b", False)], {}, why)
    rows = ({"sample_id": "a", "acc": 1, "rollout": each, "temperature": each, "policy": f"p{each}"} for each in (1, 2))
    assert sweep_of(write_rows(tmp_path / "mixed.jsonl", *rows))[1:] == (
        {}, f"temperatures 1, 2 are of policies p1, p2; {ONE}",
    )  # fmt: skip


def test_pools_of_one_name_are_distinguished(tmp_path):
    paths = [tmp_path / folder / "p.manifest.json" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        path.write_text(json.dumps(manifest()))
    assert [pool["pool"] for pool in read_inputs([str(path) for path in paths], Options()).pools] == ["p", "p (2)"]


def test_what_each_step_left():
    assert funnel("pool", manifest()) == {
        "pool": "pool", "samples": 50, "kept": 15, "zero": 3, "positive": 12, "dropped_all_correct": 6, "shortfall": 0,
        "seed": 7, "zero_share_asked": 0.2, "zero_share_actual": 0.2, "zero_share": 0.2,
        "steps": [
            {"step": "unscored", "removed": 2, "kept": 48}, {"step": "all correct", "removed": 6, "kept": 42},
            {"step": "zero share", "removed": 27, "kept": 15},
        ],
    }  # fmt: skip


def test_the_least_that_a_manifest_says():
    found = funnel("pool", {"kept": 2, "zero": 0, "positive": 2})
    assert (found["samples"], found["steps"], found["zero_share"], found["zero_share_asked"]) == (2, [], 0.0, None)


def test_figures_of_a_manifest_that_are_no_numbers_say_nothing():
    odd = {"seed": True, "shortfall": float("inf"), "zero_share": "0.2", "zero_share_actual": 10**400}
    found = funnel("pool", manifest(**odd))
    assert (found["zero_share_asked"], {*odd} & {*found}) == (None, {"zero_share"})
    assert found["zero_share"] == 0.2  # 3 of 15


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "pool: got list; expected the manifest of a pool"),
        ({"zero": 1, "positive": 1}, "pool, field 'kept': got nothing; expected a count"),
        (manifest(zero=-1), "pool, field 'zero': got -1"),
        (manifest(positive=True), "pool, field 'positive': got True"),
        (manifest(steps={"a": 1}), "pool, field 'steps': got {'a': 1}; expected a list"),
        (manifest(steps=["a"]), "pool, step 0: got 'a'; expected an object"),
        (manifest(steps=[{"name": "a", "removed": 1}]), "pool, step 0, field 'kept': got nothing"),
    ],
)
def test_what_is_no_manifest_is_an_error_that_names_the_field(given, message):
    with pytest.raises(PoolError, match=message.replace("[", r"\[").replace("{", r"\{")):
        funnel("pool", given)
