"""Suspects of ``pool next``: their file, their share, and the warning where none is left of a source."""

from __future__ import annotations

import json

from tests.cli.command import names, read_rows, write_rows
from tests.cli.pool.test_next import manifest_of, rollouts


def test_suspects_lie_beside_the_pool_with_their_clicks(run, tmp_path):
    seen = {"image_size": [1000, 1000], "target": '{"bbox": [0, 0, 100, 100], "space": "pixel"}'}
    there = [{**row, **seen, "x_unit": 0.7, "y_unit": 0.7} for row in rollouts(("zero", 5, 0))]
    source = write_rows(tmp_path / "rollouts.jsonl", *there, *rollouts(("part", 4, 2), ("far", 5, 0)))
    out = tmp_path / "pool.jsonl"
    result = run("pool", "next", source, "--out", out)
    assert result.err.splitlines() == [
        "warning: 5 of 10 never-solved samples (50.0 %) are set aside, for their clicks agree on another place than "
        "the target, and none is left of zero (5): wrong labels look like this, and so does a policy that is sure and "
        "wrong; look at them; --keep-suspects trains on them",
        f"5 of 14 samples written to {out}",
        "  kept      4 sometimes solved, 1 never solved (20.0 %)",
        "  left out  5 set aside as suspects (50.0 % of the never-solved), 4 never solved (over quota)",
        "  files     pool.jsonl, pool.suspects.jsonl, pool.jsonl.manifest.json",
    ]
    assert run("pool", "next", source, "--out", out, "--strict").code == 1
    shown = json.loads(run("pool", "next", source, "--out", out, "--json").out)
    assert shown["warnings"] == [result.err.splitlines()[0].removeprefix("warning: ")]
    assert (shown["never_solved"], shown["suspects_share"]) == (10, 0.5)
    assert shown["suspects_by_source"] == {
        "far": {"never_solved": 5, "suspects": 0}, "zero": {"never_solved": 5, "suspects": 5},
    }  # fmt: skip
    assert [(row["sample_id"], row["clicks"]) for row in read_rows(tmp_path / "pool.suspects.jsonl")] == [
        (f"zero{number}", 8) for number in range(5)
    ]
    run("pool", "next", source, "--out", out, "--keep-suspects")
    assert manifest_of(out)["suspects"] == 0
    assert "pool.suspects.jsonl" not in names(tmp_path)  # what the former run set aside is no longer aside


def test_some_suspects_of_a_source_are_no_warning(run, tmp_path):
    rows = rollouts(("part", 4, 2), ("zero", 3, 0))
    agree = {"x_unit": 0.7, "y_unit": 0.7, "image_size": [1000, 1000]}
    some = [{**row, **agree} if row["sample_id"] == "zero1" else row for row in rows]
    source = write_rows(tmp_path / "rollouts.jsonl", *some)
    result = run("pool", "next", source, "--out", tmp_path / "pool.jsonl", "--strict")
    assert result.code == 0
    assert result.err.startswith("note: 1 of 3 never-solved samples (33.3 %) are set aside, for their clicks agree on ")


def test_all_suspects_of_a_source_are_a_warning_from_five_on(run, tmp_path):
    agree = {"x_unit": 0.7, "y_unit": 0.7, "image_size": [1000, 1000], "source": None}
    for count in (4, 5):
        bare = [{**row, **agree} for row in rollouts(("zero", count, 0))]
        every = write_rows(tmp_path / "every.jsonl", *bare, *rollouts(("part", 4, 2)))
        result = run("pool", "next", every, "--out", tmp_path / "pool.jsonl")
        assert f": {count} of {count} never-solved samples (100.0 %) are set aside" in result.err
        assert ("and none is left of samples without a source (5): wrong labels" in result.err) == (count == 5)
        assert result.err.splitlines()[1].startswith("warning: " if count == 5 else "note: ")


def test_targets_of_a_known_space_are_no_smaller_than_where_their_clicks_lie(run, tmp_path):
    seen = {"image_size": [1000, 1000], "target": '{"bbox": [0, 0, 10, 10]}'}
    there = [{**row, **seen, "x_unit": 0.7 + row["rollout"] * 0.005, "y_unit": 0.7} for row in rollouts(("zero", 2, 0))]
    source = write_rows(tmp_path / "rollouts.jsonl", *there, *rollouts(("part", 4, 2)))
    out = tmp_path / "pool.jsonl"
    run("pool", "next", source, "--out", out)
    assert manifest_of(out)["suspects"] == 2  # 11 pixels apart, and of the targets nothing is known
    run("pool", "next", source, "--out", out, "--target-space", "pixel")
    assert manifest_of(out)["suspects"] == 0  # a target's diagonal is 14
    assert manifest_of(out)["settings"]["target_space"] == "pixel"
