"""Whatever step a command is killed at, the old output is there or the new one, and the same words again mend it."""

from __future__ import annotations

import hashlib
import json
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


def told(folder, *, hidden=False):
    """All files that a reader sees, by their path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return (
        found
        if hidden
        else {name: text for name, text in found.items() if not name.startswith(".") and "/." not in name}
    )


def restored(folder, files):
    shutil.rmtree(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    folder.mkdir(exist_ok=True)


def every_step(run, work, before, words, *, clean=False):
    """Kill a command before each of its steps; yields what is to be seen then, and what a whole run leaves.

    The same command again leaves that, too; where it makes one directory in pieces, nothing else is left beside it.
    """
    restored(work, before)
    whole = run(*words)
    assert (whole.killed, whole.code) == (False, 0)
    assert whole.steps >= 2
    new = told(work)
    assert new != before
    for step in range(1, whole.steps + 1):
        restored(work, before)
        assert run(*words, at=step).killed
        yield told(work), new
        if step in (whole.steps // 2, whole.steps) or clean:
            assert run(*words).code == 0
            assert told(work, hidden=clean) == new


def made(run, work, words):
    restored(work, {})
    assert run(*words).code == 0
    return told(work)


def test_score(run, place):
    work = place / "work"
    words = ("pool", "score", place / "in", "--out", work / "out", "--recipe", "gelato", "--overwrite")
    old = made(run, work, (*words, "--option", "format_weight=0.5"))
    states = [[old, {}, new].index(after) for after, new in every_step(run, work, old, words, clean=True)]
    assert states == sorted(states)
    assert (set(states), states.count(1)) == ({0, 1, 2}, 1)  # old, between two names, new


def test_score_keeps_pieces_and_does_none_twice(run, place):
    work = place / "work"
    words = ("pool", "score", place / "in", "--recipe", "gelato", "--out", work / "out")
    new = made(run, work, words)
    restored(work, {})
    kept = []
    for step in range(1, run(*words).steps + 1):
        restored(work, {})
        assert run(*words, at=step).killed
        assert told(work) in ({}, new)
        found = list((work / ".out.partial").glob("rollouts-*.parquet"))
        kept.append(len(found))
        stamps = {path.name: path.stat().st_mtime_ns for path in found}
        assert run(*words).code == 0
        assert told(work) == new
        assert {name: (work / "out" / name).stat().st_mtime_ns for name in stamps} == stamps
    assert kept == sorted(kept)
    assert set(kept) == {0, 1, 2}


def test_next(run, place):
    work = place / "work"
    words = ("pool", "next", place / "in", "--out", work / "pool.jsonl", "--zero-share")
    old = made(run, work, (*words, "0.1", "--control"))
    assert "pool.control.jsonl" in old
    mixed = 0
    for after, new in every_step(run, work, old, (*words, "0.2")):
        assert all(content in (old.get(name), new.get(name)) for name, content in after.items())
        manifest = after["pool.jsonl.manifest.json"]
        if manifest == new["pool.jsonl.manifest.json"]:
            assert after == new
        else:
            assert manifest == old["pool.jsonl.manifest.json"]
            mixed += after != old
    assert "pool.control.jsonl" not in new
    # A manifest tells of it: its hashes are not those of the files.
    assert mixed <= len(new)
    listed = json.loads(new["pool.jsonl.manifest.json"])["outputs"]
    assert {each["path"]: each["sha256"] for each in listed} == {
        name: hashlib.sha256(content).hexdigest() for name, content in new.items() if "manifest" not in name
    }


def test_next_with_other_words_after_a_kill(run, place):
    work = place / "work"
    words = ("pool", "next", place / "in", "--out", work / "pool.jsonl")
    new = made(run, work, (*words, "--band", "0.3,0.7"))
    restored(work, {})
    steps, strays = run(*words, "--control").steps, 0
    for step in range(1, steps + 1):
        restored(work, {})
        assert run(*words, "--control", at=step).killed
        strays += "pool.control.jsonl" in told(work) and "pool.jsonl.manifest.json" not in told(work)
        if step % 2:  # and once more, so that two runs have left something
            assert run(*words, "--seed", "2", at=steps - 3).killed
        assert run(*words, "--band", "0.3,0.7").code == 0
        assert told(work, hidden=True) == new
    assert strays


@pytest.mark.parametrize("before", [True, False])
def test_stats(run, place, before):
    work = place / "work"
    words = ("pool", "stats", place / "in", "--out", work / "stats.jsonl")
    old = made(run, work, (*words, "--pass-at", "2")) if before else {}
    for after, new in every_step(run, work, old, words, clean=True):
        assert after in (old, new)


def test_curriculum(run, place):
    work = place / "work"
    words = ("pool", "curriculum", place / "in", "--stages", place / "stages.json", "--out", work / "out")
    old = made(run, work, (*words, "--seed", "1"))
    states = [[old, {}, new].index(after) for after, new in every_step(run, work, old, words, clean=True)]
    assert states == sorted(states)
    assert (set(states), states.count(1)) == ({0, 1, 2}, 1)  # old, between two names, new


def test_curriculum_where_there_was_none(run, place):
    work = place / "work"
    words = ("pool", "curriculum", place / "in", "--stages", place / "stages.json", "--out", work / "out")
    for after, new in every_step(run, work, {}, words, clean=True):
        assert after in ({}, new)


def test_report(run, place):
    work = place / "work"
    words = ("pool", "report", place / "in", "--samples", "0", "--out", work / "out", "--title")
    old = made(run, work, (*words, "Old"))
    steps = 2 * len(old) + 1
    restored(work, old)
    assert run(*words, "New", at=steps).killed
    after = told(work)
    assert set(after) == set(old)
    assert after["out/report.html"] == old["out/report.html"]
    assert all(content.endswith(b"IEND\xaeB`\x82") for name, content in after.items() if name.endswith(".png"))
