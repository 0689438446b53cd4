"""Inputs of a report: rounds, temperatures, and manifests of pools."""

from __future__ import annotations

import json

import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.report.inputs import Options, funnel, read_inputs
from tests.cli.command import write_rows
from tests.pool.report.made import manifest


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
