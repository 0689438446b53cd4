"""Sweeps, dynamic and allocated rollouts, and runs in parts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from grounding_rewards.engines.rollout import roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError, TableError
from grounding_rewards.pool.command import allocate_rollouts
from grounding_rewards.pool.inputs import read_input, stats_by_temperature
from grounding_rewards.pool.temperature import sweep
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import read_rows, write_rows
from tests.engines.seeded import Scripted
from tests.engines.test_rollout import CLICK, SMALL, contents, data, rows

WORDS = ["go", "easy", "hard", "refused", "stop", "move", "open"]


def test_a_sweep_has_every_temperature_with_numbers_and_seeds_of_its_own(tmp_path):
    source, hot = data(tmp_path, *WORDS), RolloutSettings(n=3, temperatures=(0, 1.2), shard_rows=3)
    roll_out(source, Scripted("m"), tmp_path / "out", settings=hot, recipe=CLICK)
    made = rows(tmp_path / "out", "sample_id", "temperature", "rollout", "seed", "acc")
    assert [(row["temperature"], row["rollout"]) for row in made[:6]] == [
        (0, 0), (0, 1), (0, 2), (1.2, 3), (1.2, 4), (1.2, 5),
    ]  # fmt: skip
    open_rollouts([tmp_path / "out"]).check_once()
    assert {row["acc"] for row in made if row["sample_id"] == "s0" and row["temperature"] == 0} == {1.0}
    alone = RolloutSettings(n=3, temperatures=(1.2,), shard_rows=3)
    roll_out(source, Scripted("m"), tmp_path / "alone", settings=alone, recipe=CLICK)
    assert [row["seed"] for row in rows(tmp_path / "alone")] == [
        row["seed"] for row in made if row["temperature"] == 1.2
    ]


def test_pool_temperature_reads_a_sweep(tmp_path):
    settings = RolloutSettings(n=8, temperatures=(0.5, 1.0))
    roll_out(data(tmp_path, *WORDS), Scripted("m"), tmp_path / "out", settings=settings, recipe=CLICK)
    compared = sweep(stats_by_temperature([read_input(str(tmp_path / "out"))], lambda text: None))
    assert [(row["temperature"], row["rollouts"]) for row in compared["rows"]] == [(0.5, 48), (1.0, 48)]
    assert compared["samples"] == 6


def test_samples_that_are_all_right_or_all_wrong_go_on_until_mixed(tmp_path):
    settings = RolloutSettings(n=2, most=7, shard_rows=3)
    roll_out(data(tmp_path, *WORDS), Scripted("m"), tmp_path / "out", settings=settings, recipe=CLICK)
    made = rows(tmp_path / "out", "sample_id", "rollout", "acc", "seed")
    outcomes = {f"s{row}": [each["acc"] for each in made if each["sample_id"] == f"s{row}"] for row in range(7)}
    assert (len(outcomes["s1"]), len(outcomes["s2"]), outcomes["s3"]) == (7, 7, [None, None])
    for name in ("s0", "s4", "s5", "s6"):
        counts = outcomes[name]
        assert all(len({*counts[:end]}) == 1 for end in range(2, len(counts) - 1, 2))
        assert len(counts) == 7 or len({*counts}) == 2
    assert [row["rollout"] for row in made if row["sample_id"] == "s1"] == list(range(7))
    plain = RolloutSettings(n=7, shard_rows=3)
    roll_out(data(tmp_path, *WORDS), Scripted("m"), tmp_path / "plain", settings=plain, recipe=CLICK)
    seeds = {(row["sample_id"], row["rollout"]): row["seed"] for row in rows(tmp_path / "plain")}
    assert {(row["sample_id"], row["rollout"]): row["seed"] for row in made}.items() <= seeds.items()


def test_what_pool_allocate_wrote_is_rolled_out(tmp_path):
    source = data(tmp_path, *WORDS)
    first = RolloutSettings(n=4, shard_rows=3)
    roll_out(source, Scripted("m"), tmp_path / "first", settings=first, recipe=CLICK)
    more = tmp_path / "more.jsonl"
    allocate_rollouts([tmp_path / "first"], more, "dars")
    allocated = {row["sample_id"]: row["n"] for row in read_rows(more)}
    assert 0 < len(allocated) < 7
    further = RolloutSettings(n=None, first_rollout=4, shard_rows=3)
    done = roll_out(source, Scripted("m"), tmp_path / "more", settings=further, recipe=CLICK, allocated=more)
    made = rows(tmp_path / "more", "sample_id", "rollout", "seed")
    assert Counter(row["sample_id"] for row in made) == allocated
    assert done.manifest["samples"] == len(allocated)
    assert min(row["rollout"] for row in made) == 4
    both = open_rollouts([tmp_path / "first", tmp_path / "more"])
    both.check_once()
    seeds = both.read(["seed"]).column("seed").to_pylist()
    assert len({*seeds}) == len(seeds) == 28 + sum(allocated.values())


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        ([{"sample_id": "s0", "n": 1}, {"sample_id": "x", "n": 2}, {"sample_id": "y", "n": 2}], EngineError,
         r"--allocate: .*data\.jsonl lacks 2 of 3 samples, such as 'x'"),
        ([{"sample_id": "s0", "n": 1}] * 2, TableError, r"row 1 \(line 2\): sample_id: got 's0'; which is there alr"),
        ([{"sample_id": None, "n": 1}], TableError, r"row 0 \(line 1\): sample_id: got None; expected the name"),
        ([{"sample_id": "s0", "n": 1.5}], TableError, r"n: got 1\.5; expected a whole number from 0"),
        ([{"sample_id": "s0", "n": 0}, {"sample_id": "s1", "n": 0.0}], TableError, "n: all 2 samples have 0, so that"),
        ([{"sample": "s0", "n": 1}], TableError, r"no column 'sample_id' \(--allocate\)"),
    ],
)  # fmt: skip
def test_an_allocation_that_does_not_fit(tmp_path, lines, error, message):
    more = write_rows(tmp_path / "more.jsonl", *lines)
    settings = RolloutSettings(n=None, first_rollout=2)
    with pytest.raises(error, match=message):
        roll_out(data(tmp_path, *WORDS), Scripted("m"), tmp_path / "out", settings=settings, allocated=more)
    assert not (tmp_path / "out").exists()


def test_parts_make_what_one_run_makes_and_the_last_finishes_it(tmp_path):
    source, one, parts = data(tmp_path, *WORDS), tmp_path / "one", tmp_path / "parts"
    known = {"settings": SMALL, "recipe": CLICK}
    roll_out(source, Scripted("m"), one, **known)
    done = roll_out(source, Scripted("m"), parts, shard=(1, 2), **known)
    assert (done.manifest, done.made, done.found, done.missing) == (None, 1, 0, 2)
    with pytest.raises(TableError, match="is unfinished"):
        open_rollouts([parts])
    last = roll_out(source, Scripted("m"), parts, shard=(0, 2), **known)
    assert (last.made, last.found, last.missing) == (2, 1, 0)
    assert contents(parts) == contents(one)
    assert roll_out(source, Scripted("m"), parts, shard=(1, 2), **known).made == 0


def test_more_parts_than_shards(tmp_path):
    source, out = data(tmp_path, "go"), tmp_path / "out"
    assert roll_out(source, Scripted("m"), out, shard=(3, 4)).missing == 1
    assert roll_out(source, Scripted("m"), out, shard=(0, 4)).made == 1
    assert len(rows(Path(out))) == 8
