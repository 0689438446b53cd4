"""Killed at any step, a command leaves the old output or the new one, and the same words again leave the new one."""

from __future__ import annotations

import json
import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.pool.killing import Server

BOX = json.dumps({"bbox": [0.25, 0.25, 0.75, 0.5]})
STAGES = {
    "bands": {"easy": [0.75, 1.0], "hard": [0.0, 0.5]},
    "stages": [{"name": "first", "bands": ["easy"]}, {"name": "then", "bands": ["easy", "hard"]}],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Rollouts of 40 samples of 4, of which 0 to 4 are right, in two files."""
    folder = tmp_path_factory.mktemp("killed")
    rows = [
        {
            "sample_id": f"s{row // 4:02}", "round": 1, "rollout": row % 4, "target": BOX, "source": "clicks",
            "response": "(500, 375)" if row % 4 < row // 4 % 5 else "(1, 1)", "acc": float(row % 4 < row // 4 % 5),
        }
        for row in range(160)
    ]  # fmt: skip
    (folder / "in").mkdir()
    for start in range(0, 160, 80):
        pq.write_table(pa.Table.from_pylist(rows[start : start + 80]), folder / "in" / f"{start:03}.parquet")
    (folder / "stages.json").write_text(json.dumps(STAGES))
    (folder / "work").mkdir()
    return folder


@pytest.fixture(scope="module")
def run(place):
    server = Server(place / "work")
    yield server
    server.close()


def contents(folder, *, hidden=False):
    """All files that a reader sees, by their path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: content for name, content in found.items() if hidden or not f"/{name}".count("/.")}


def restored(folder, files):
    shutil.rmtree(folder)
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def made(run, work, words):
    restored(work, {})
    assert run(*words).code == 0
    return contents(work, hidden=True)


def manifest_of(name):
    return "manifest" in name or name.endswith((".html", "stats.jsonl"))


COMMANDS = {
    "score": (("score", "IN", "--recipe", "gelato", "--overwrite", "--out", "out"), ("--option", "format_weight=0.5")),
    "next": (("next", "IN", "--out", "pool.jsonl", "--zero-share"), ("0.1", "--control"), ("0.2",)),
    "next other": (("next", "IN", "--out", "pool.jsonl"), None, ("--control",), ("--band", "0.3,0.7")),
    "allocate": (("allocate", "IN", "--out", "more.jsonl", "--method"), ("dars",), ('{"name": "dart", "cut": 2}',)),
    "stats": (("stats", "IN", "--out", "stats.jsonl"), ("--pass-at", "2")),
    "rollouts": (
        ("rollouts", "IN", "--out", "kept.jsonl", "--method"),
        ('{"name":"pods","keep":1,"of":"acc"}',),
        ('{"name":"pods","keep":2,"of":"acc"}',),
    ),
    "curriculum": (("curriculum", "IN", "--stages", "STAGES", "--out", "out"), ("--seed", "1")),
    "weights": (("curriculum", "IN", "--stages", "STAGES", "--out", "out"), (), ("--weights",)),
}
"""Words of each command in all runs; those for an old output, for the run that is killed, and for the one after it."""


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_any_step_the_manifest_tells_old_from_new_and_a_run_again_leaves_the_new(run, place, command):
    """Some steps, drawn; tests/tables/test_shards.py has all of them."""
    work = place / "work"
    shared, *more = COMMANDS[command]
    places = {"IN": place / "in", "STAGES": place / "stages.json", "out": work / "out"}
    shared = [places.get(word, work / word if "json" in word else word) for word in ("pool", *shared)]
    before, killed, again = (*more, *[()] * 2)[:3] if len(more) < 3 else more
    again = again or killed
    new, half = made(run, work, (*shared, *again)), made(run, work, (*shared, *killed))
    old = {} if before is None else made(run, work, (*shared, *before))
    restored(work, old)
    steps = run(*shared, *killed).steps
    for step in sorted(random.Random(command).sample(range(1, steps + 1), min(steps, 4))):
        restored(work, old)
        assert run(*shared, *killed, at=step).killed
        after = contents(work)
        assert all(content in (old.get(name), half.get(name)) for name, content in after.items())
        for name in filter(manifest_of, after):
            if after[name] == half[name] != old.get(name):
                assert after == half
        assert run(*shared, *again).code == 0
        assert contents(work, hidden=True) == new


@pytest.mark.slow
def test_score_keeps_shards_and_scores_none_twice(run, place):
    work = place / "work"
    words = ("pool", "score", place / "in", "--recipe", "gelato", "--out", work / "out")
    new = made(run, work, words)
    restored(work, {})
    kept = []
    for step in range(2, run(*words).steps + 1, 3):
        restored(work, {})
        assert run(*words, at=step).killed
        found = list((work / ".out.unfinished").glob("rollouts-*.parquet"))
        kept.append(len(found))
        stamps = {path.name: path.stat().st_mtime_ns for path in found}
        assert run(*words).code == 0
        assert contents(work, hidden=True) == new
        assert {name: (work / "out" / name).stat().st_mtime_ns for name in stamps} == stamps
    assert set(kept) == {0, 1, 2}


@pytest.mark.slow
def test_report(run, place):
    work = place / "work"
    words = ("pool", "report", place / "in", "--samples", "0", "--out", work / "out", "--title")
    old = made(run, work, (*words, "Old"))
    steps = 2 * len(old) + 1
    restored(work, old)
    assert run(*words, "New", at=steps).killed
    after = contents(work)
    assert set(after) == set(old)
    assert after["out/report.html"] == old["out/report.html"]
