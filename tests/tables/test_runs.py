"""Runs: directories are old or new and never half; whole shards are not made again, and readers wait for the end."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from multiprocessing import get_context
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import atomic
from grounding_rewards.tables.atomic import atomic_files
from grounding_rewards.tables.launches import MARK, PREFIX
from grounding_rewards.tables.manifests import check_finished, files_of_rows, fingerprint, unfinished
from grounding_rewards.tables.opening import open_rows
from grounding_rewards.tables.recorder import RolloutRecorder, read_rollouts
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.runs import differing, open_run
from tests.cli.command import names

MANIFEST = "_run.manifest.json"
FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
"""Ignore the warning of Python 3.12 and later that threads, such as Arrow's, are not there in the fork."""

ONE, TWO = f"{PREFIX}one.parquet", f"{PREFIX}two.parquet"


def opened(out, seed=1, **how):
    return open_run(out, MANIFEST, {"seed": seed, "inputs": []}, command="this test", **how)


def make(out, text="new", *, seed=1, overwrite=False, stop=None, **how):
    """A directory of two shards; which of them were made now."""
    now = []
    with opened(out, seed, overwrite=overwrite, **how) as run:
        if run is None:
            return None
        for name in (ONE, TWO):
            if name not in run:
                with run.write(name) as file:
                    pq.write_table(pa.table({"sample_id": [name], "response": [text]}), file)
                now.append(name)
                if stop == name:
                    raise RuntimeError
        run.finish([ONE, TWO], {"rows": 2})
    return now


def texts(out):
    return sorted(read_rollouts(out, ["response"]).column("response").to_pylist())


def test_shards_that_are_there_are_not_made_again(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(RuntimeError):
        make(out, stop=ONE)
    assert names(tmp_path) == [".out.unfinished"]
    said = json.loads((unfinished(out) / MANIFEST).read_text())
    assert said == {"seed": 1, "inputs": [], "command": "this test", "complete": False}
    (unfinished(out) / f".{ONE}.tmp-0123abcd.partial").touch()  # of a process that was killed
    assert make(out) == [TWO]
    assert make(out) is None
    assert names(tmp_path) == ["out"]
    assert names(out) == [MANIFEST, ONE, TWO]
    said = json.loads((out / MANIFEST).read_text())
    outputs = said.pop("outputs")
    assert said == {"seed": 1, "inputs": [], "rows": 2, "complete": True}
    sizes = {each: (out / each).stat().st_size for each in (ONE, TWO)}
    assert {each["path"]: each["bytes"] for each in outputs} == sizes


def emptied(shard):
    shard.write_bytes(b"")


def cut(shard):
    shard.write_bytes(shard.read_bytes()[:-9])


def changed(shard):
    shard.write_bytes(shard.read_bytes().replace(b"new", b"old"))


def of_another_schema(shard):
    pq.write_table(pa.table({"x": [1]}), shard)


def copied(shard):
    shutil.copy(shard.parent / TWO, shard)


def without_a_record(shard):
    (shard.parent / f".{ONE}.json").unlink()


def with_a_strange_record(shard):
    (shard.parent / f".{ONE}.json").write_text("[" * 100_000)


def a_folder(shard):
    shard.unlink()
    (shard / "more").mkdir(parents=True)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "damage",
    [emptied, cut, changed, of_another_schema, copied, without_a_record, with_a_strange_record, a_folder],
)
def test_a_damaged_shard_of_an_unfinished_run_is_made_again(tmp_path, damage, overwrite):
    out, warnings = tmp_path / "out", list[str]()
    with pytest.raises(RuntimeError):
        make(out, stop=TWO)
    damage(unfinished(out) / ONE)
    assert make(out, overwrite=overwrite, warn=warnings.append) == [ONE]
    assert warnings == [f"{out}: {ONE} is not what was written; it is made again"]
    assert (texts(out), names(out)) == (["new", "new"], [MANIFEST, ONE, TWO])


@pytest.mark.parametrize("damage", [emptied, cut, changed, of_another_schema, copied, os.unlink])
def test_a_damaged_shard_of_a_directory_is_an_error_and_overwrite_makes_all_again(tmp_path, damage):
    out = tmp_path / "out"
    make(out)
    damage(out / ONE)
    if damage in (changed, copied):  # of the same size: found where hashes are taken, as for every manifest
        check_finished(out)
        changed_shard = f"out: '{ONE}' has other content than the run of its manifest wrote; bring it back, or run"
        with pytest.raises(TableError, match=changed_shard):
            open_rollouts([out]).inputs()
        with pytest.raises(TableError, match=changed_shard):
            fingerprint(out / ONE, [out / ONE])
    else:
        for read in (check_finished, files_of_rows, read_rollouts, open_rows, lambda path: open_rollouts([path])):
            message = rf"out: '{ONE}' (has [\d,]+ bytes|is missing); expected the \d+ bytes that its manifest says"
            with pytest.raises(TableError, match=message):
                read(out)
    with pytest.raises(TableError, match=f"{ONE} is not what {MANIFEST} says; .*replace it by --overwrite"):
        make(out)
    assert make(out, overwrite=True) == [ONE, TWO]
    damage(out / ONE)
    assert make(out, seed=2, overwrite=True) == [ONE, TWO]
    assert (texts(out), names(out)) == (["new", "new"], [MANIFEST, ONE, TWO])


def test_nothing_is_left_of_a_run_that_made_no_shard(tmp_path):
    with pytest.raises(RuntimeError), opened(tmp_path / "out"):
        raise RuntimeError
    assert names(tmp_path) == []
    make(tmp_path / "out")
    with pytest.raises(RuntimeError), opened(tmp_path / "out", seed=2, overwrite=True):
        raise RuntimeError
    assert names(tmp_path / "out") == [MANIFEST, ONE, TWO]


def test_one_process_at_a_time(tmp_path):
    out = tmp_path / "out"
    with opened(out) as run:
        assert run is not None
        with pytest.raises(TableError, match="another process is making it; wait until it has ended, or write elsewh"):
            make(out)
    assert make(out, seed=2) == [ONE, TWO]


def test_file_systems_without_locks_go_without(tmp_path, monkeypatch):
    def refuse(*given):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(atomic, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=1, LOCK_NB=2))
    assert make(tmp_path / "out") == [ONE, TWO]


def test_the_old_directory_stays_until_the_new_one_is_whole(tmp_path):
    out = tmp_path / "out"
    make(out, "old")
    with pytest.raises(TableError, match="was made with seed 1, and not 2; write to another directory, or replace it"):
        make(out, seed=2)
    with pytest.raises(RuntimeError):
        make(out, seed=2, overwrite=True, stop=TWO)
    assert texts(out) == ["old", "old"]
    assert make(out) is None  # and the other run is there still
    assert make(out, seed=2, overwrite=True) == []
    assert (texts(out), names(out)) == (["new", "new"], [MANIFEST, ONE, TWO])


def test_an_unfinished_run_of_something_else_gives_way_only_to_overwrite(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(RuntimeError):
        make(out, seed=2, stop=TWO)
    with pytest.raises(TableError, match="an unfinished run was made with seed 2, and not 3; have it give way by --ov"):
        make(out, seed=3)
    assert make(out, seed=3, overwrite=True) == [ONE, TWO]


def test_a_record_without_its_shard_is_nothing_to_keep(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(RuntimeError):
        make(out, seed=2, stop=ONE)
    (unfinished(out) / ONE).unlink()
    assert make(out, seed=3) == [ONE, TWO]


def test_a_process_without_a_shard_leaves_those_of_others_their_folder(tmp_path):
    with opened(tmp_path / "out", shared=True) as run:
        with opened(tmp_path / "out", shared=True):
            pass
        with run.write(ONE) as file:
            pq.write_table(pa.table({"response": ["new"]}), file)
        run.finish([ONE], {})
    assert names(tmp_path / "out") == [MANIFEST, ONE]


def test_a_run_whose_folder_is_gone_is_not_finished(tmp_path):
    with opened(tmp_path / "out") as run:
        with run.write(ONE) as file:
            pq.write_table(pa.table({"response": ["new"]}), file)
        shutil.rmtree(run.folder)
        with pytest.raises(FileNotFoundError):
            run.finish([ONE], {})


def test_readers_refuse_what_is_unfinished_and_say_how_to_finish_it(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(RuntimeError):
        make(out, stop=ONE)
    for read in (check_finished, files_of_rows, read_rollouts, open_rows, lambda path: open_rollouts([path])):
        with pytest.raises(TableError) as caught:
            read(out)
        assert str(caught.value) == (
            f"{out}: is unfinished: a run of this test was killed, or is at work; the same command again goes on where "
            "it was, and finishes it"
        )
    assert names(tmp_path) == [".out.unfinished"]  # readers of Parquet take no half for the whole
    make(out)
    assert open_rollouts([out]).read(["response"]).num_rows == 2


def test_an_unfinished_directory_within_one_that_is_read_is_refused_too(tmp_path):
    (tmp_path / "runs").mkdir()
    make(tmp_path / "runs" / "one")
    with pytest.raises(RuntimeError):
        make(tmp_path / "runs" / "two", stop=ONE)
    with pytest.raises(TableError, match="runs/two: is unfinished: a run of this test was killed"):
        open_rollouts([tmp_path / "runs"])


def test_a_link_in_the_place_of_unfinished_shards_is_not_followed(tmp_path):
    out, mine = tmp_path / "out", tmp_path / "mine"
    mine.mkdir()
    (mine / "work.txt").touch()
    unfinished(out).symlink_to(mine)
    with pytest.raises(TableError, match="is a link, and what it leads to would be emptied; remove it"):
        make(out, overwrite=True)
    assert names(mine) == ["work.txt"]


def test_shards_of_other_names_go(tmp_path):
    out = tmp_path / "out"
    with opened(out) as run:
        for name in (ONE, "more.parquet"):
            with run.write(name) as file:
                file.write(b"old")
        run.finish([ONE, "more.parquet"], {})
    make(out, seed=2, overwrite=True)
    assert names(out) == [MANIFEST, ONE, TWO]


def test_inputs_count_by_what_they_hold():
    said = {"inputs": [{"path": "a", "sha256": "1"}, {"path": "b", "sha256": "2"}], "seed": 1}
    moved = [{"path": "c", "sha256": "1"}, {"path": "d", "sha256": "2"}]
    assert differing(said, {"inputs": moved}) == []
    assert differing(said, {"inputs": moved[::-1], "seed": 1}) == ["inputs"]
    assert differing(said, {"seed": 2, "rest": (1, 2)}) == ["seed", "rest"]
    assert differing({"code": [{"path": "a", "sha256": "1"}]}, {"code": []}) == ["code"]


@pytest.mark.parametrize("outputs", [["a"], [{}], [None], [{"path": "one"}], [{"path": [], "bytes": 1, "sha256": ""}]])
def test_a_manifest_that_lists_no_files(tmp_path, outputs):
    out = tmp_path / "out"
    make(out)
    (out / MANIFEST).write_text(json.dumps({"seed": 1, "inputs": [], "outputs": outputs}))
    with pytest.raises(TableError, match=r"out: is there, and holds no _run\.manifest\.json, so it is not replaced"):
        make(out, overwrite=True)


@pytest.mark.parametrize("name", ["../other", "other", "link", "x" * 300])
def test_what_a_manifest_lists_outside_its_directory_is_not_read(tmp_path, name):
    """Though it holds what the manifest says; and what a killed run is said to have made is not taken from there."""
    out, other = tmp_path / "out", tmp_path / "other"
    make(out)
    content = (out / ONE).read_bytes()
    other.write_bytes(content)
    if name == "link":
        (out / "link").symlink_to(other)
    name = str(other) if name == "other" else name
    said = json.loads((out / MANIFEST).read_text())
    said["outputs"].append({**said["outputs"][0], "path": name})
    (out / MANIFEST).write_text(json.dumps(said))
    with pytest.raises(TableError) as caught:
        make(out)
    assert str(caught.value).startswith(f"{out}: {name} is not what {MANIFEST} says; write to another directory")
    unfinished(out).mkdir()
    (unfinished(out) / MANIFEST).write_text(json.dumps(said))
    assert make(out, overwrite=True) == [ONE, TWO]
    assert (names(out), other.read_bytes()) == ([MANIFEST, ONE, TWO], content)


def part(out, name):
    with opened(out, shared=True) as run:
        if run is None:
            return
        if name not in run:
            with run.write(name) as file:
                pq.write_table(pa.table({"sample_id": [name], "response": ["new"]}), file)
        if all(each in run for each in (ONE, TWO)):
            run.finish([ONE, TWO], {})


@FORKS
@pytest.mark.slow
def test_several_processes_make_one_run(tmp_path):
    for turn in range(5):
        workers = [get_context("fork").Process(target=part, args=(tmp_path / f"{turn}", name)) for name in (ONE, TWO)]
        for each in workers:
            each.start()
        for each in workers:
            each.join(60)
        part(tmp_path / f"{turn}", ONE)  # where neither saw the other's
        assert texts(tmp_path / f"{turn}") == ["new", "new"]
        assert [each.exitcode for each in workers] == [0, 0]


def files(folder, text, seed):
    """Three files that belong together, and one that only the old ones have."""
    folder.mkdir(exist_ok=True)
    with atomic_files() as written:
        for name in ("manifest", "one", "two", *(["stale"] if text == "old" else [])):
            written.open(folder / name).write(text.encode())
        written.removed = [folder / "stale"] if text == "new" else []


def directory(out, text, seed):
    make(out, text, seed=seed, overwrite=True)


def log(out, text, seed):
    recorder = RolloutRecorder(out)
    for _ in range(3):
        recorder.append({"response": [text] * 2})
    recorder.close()


def at_step(step, work, *given):
    """Run something in a fork that is killed before one of its steps; returns True where it was."""
    child = os.fork()
    if not child:
        taken = 0

        def watch(event, how):
            nonlocal taken
            changes = event != "open" or bool((how[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            if event in ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir") and changes:
                taken += 1
                if taken == step:
                    os.kill(os.getpid(), 9)

        import sys

        sys.addaudithook(watch)
        try:
            work(*given)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9


def state_of_files(out):
    found = {path.name: path.read_text() for path in out.iterdir() if path.name[0] != "."}
    manifest = found.get("manifest", "old")
    assert manifest == "old" or found == dict.fromkeys(("manifest", "one", "two"), "new")
    assert set(found.values()) <= {"old", "new"}
    return manifest


def state_of_directory(out):
    try:
        found = texts(out)
    except TableError as error:
        return "refused" if "finishes it" in str(error) else str(error)
    return "old" if found == ["old", "old"] else "new" * (found == ["new", "new"])


def state_of_log(out):
    found = texts(out)
    assert found[-6:] == ["old"] * 6
    assert len(found) % 2 == 0
    return len(found)


KILLED = {
    "files": (files, state_of_files, ["old", "new"]),
    "directory": (directory, state_of_directory, ["old", "refused", "new"]),
    "log": (log, state_of_log, [6, 8, 10, 12]),
}


@FORKS
@pytest.mark.slow
@pytest.mark.parametrize("what", KILLED)
def test_killed_before_any_step_all_is_old_or_new_and_the_next_run_leaves_the_new(tmp_path, what):
    work, state, expected = KILLED[what]
    states, step, killed = [], 0, True
    while killed:
        step += 1
        out = tmp_path / f"{step}"
        work(out, "old", 1)
        killed = at_step(step, work, out, "new", 2)
        states.append(state(out))
        kept = list(unfinished(out).glob(f"{PREFIX}*")) if states[-1] == "old" else []
        stamps = {path.name: path.stat().st_mtime_ns for path in kept}
        work(out, "new", 2)
        assert [name for name in (*names(out), *names(tmp_path)) if name[0] == "." and name != MARK] == []
        assert {name: (out / name).stat().st_mtime_ns for name in stamps} == stamps
        if what != "log":
            assert state(out) == "new"
            assert len(names(out)) == 3
    assert step > 8
    assert states == sorted(states, key=expected.index)
    assert list(dict.fromkeys(states)) == expected


@FORKS
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_killed_again_and_again_ends(tmp_path, seed):
    draw = random.Random(seed)
    while at_step(draw.randrange(2, 9), make, tmp_path / "out"):
        state = state_of_directory(tmp_path / "out")
        assert state in ("refused", "new") or "no rollouts" in state or "No such file" in state
    assert texts(tmp_path / "out") == ["new", "new"]
    assert names(tmp_path / "out") == [MANIFEST, ONE, TWO]


def test_of_two_processes_that_have_all_shards_the_second_finds_the_run_finished(tmp_path):
    out = tmp_path / "out"
    with opened(out, shared=True) as first, opened(out, shared=True) as second:
        for name in (ONE, TWO):
            with first.write(name) as file:
                pq.write_table(pa.table({"response": ["new"]}), file)
        whole = first.finish([ONE, TWO], {})
        assert second.finish([ONE, TWO], {}) == whole
        assert second.is_finished()
        with pytest.raises(FileNotFoundError), second.write(ONE):
            pass
    with opened(out, shared=True) as third:
        assert third is None
    assert (names(tmp_path), names(out)) == (["out"], [MANIFEST, ONE, TWO])


def test_where_a_disk_is_mounted_nothing_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(type(tmp_path), "is_mount", lambda path: path.name == "out")
    with pytest.raises(TableError, match="out: a disk is mounted there, so it cannot be replaced; write to a dir"):
        make(tmp_path / "out")
    assert names(tmp_path) == []
