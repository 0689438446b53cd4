"""FIFOs, sockets and circles of links among files of rows: one error that names them, and no waiting for a writer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import Runner, write_rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]  # what waits for a writer ends so

ROW = {"sample_id": "a", "response": "(200, 150)", "target": [0.1, 0.1, 0.3, 0.2], "acc": 1, "rollout": 0}
DUMP = {"input": "x", "output": "(200, 150)", "gts": [0.1, 0.1, 0.3, 0.2], "score": 1.0, "acc": 1, "step": 1}
LOGGED = {"step": 1, "prompt": "x", "completion": "(1, 2)", "acc": 1.0, "advantage": 0.5}


def circle(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


def listening(path: Path) -> None:
    """A socket."""
    with socket.socket(socket.AF_UNIX) as found:
        found.bind(os.path.relpath(path))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Runner:
    """Run the command line, which must end by itself."""
    return Runner(capsys)


def folders(folder: Path) -> dict[str, Path]:
    """Directories of every kind, by the name of a file that would be one more of its rows."""
    for name in ("rows", "dumps", "tables", "log", "recorded"):
        (folder / name).mkdir()
    write_rows(folder / "rows" / "a.jsonl", ROW)
    write_rows(folder / "dumps" / "1.jsonl", DUMP)
    pq.write_table(pa.Table.from_pylist([LOGGED]), folder / "tables" / "completions_00001.parquet")
    pq.write_table(pa.Table.from_pylist([ROW]), folder / "recorded" / "rollouts-0000000a-000001.parquet")
    return {
        "b.jsonl": folder / "rows", "b.parquet": folder / "rows", "2.jsonl": folder / "dumps",
        "completions_00002.parquet": folder / "tables", "generations.log": folder / "log",
        "rollouts-0000000a-000002.parquet": folder / "recorded",
    }  # fmt: skip


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "FIFO": (os.mkfifo, "is a FIFO; expected a regular file; move it elsewhere, or write what it gives to a file"),
    "socket": (
        listening, "is a socket; expected a regular file; move it elsewhere, or write what it gives to a file",
    ),
    "circle": (circle, "symbolic links lead round in a circle; remove it, or bring back what it leads to"),
    "no target": (
        lambda path: path.symlink_to("none"), "no such file; remove it, or bring back what it leads to",
    ),
}  # fmt: skip
NAMES = (
    "b.jsonl", "b.parquet", "2.jsonl", "completions_00002.parquet", "generations.log",
    "rollouts-0000000a-000002.parquet",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_regular_file_in_a_directory_of_rows(run, tmp_path, monkeypatch, name, kind):
    monkeypatch.chdir(tmp_path)
    make, said = KINDS[kind]
    path = folders(tmp_path)[name] / name
    make(path)
    assert run("pool", "stats", path.parent, "--out", tmp_path / "out.jsonl") == (2, "", f"error: {path}: {said}\n")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_in_a_folder_of_training_data(run, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    make, said = KINDS[kind]
    folder = folders(tmp_path)["b.jsonl"]
    make(folder / "train-1.jsonl")
    found = run("convert", folder, "--out", tmp_path / "out.jsonl", "--for", "trl", "--target-space", "unit")
    assert found == (2, "", f"error: {folder / 'train-1.jsonl'}: {said}\n")


def test_what_says_which_files_a_data_set_has(run, tmp_path):
    folder = tmp_path / "saved"
    (folder / "train").mkdir(parents=True)
    (folder / "dataset_dict.json").write_text('{"splits": ["train"]}')
    os.mkfifo(folder / "train" / "state.json")
    assert run("convert", folder, "--out", tmp_path / "out.parquet", "--for", "trl") == (
        2, "", f"error: {folder}/train/state.json: {KINDS['FIFO'][1]}\n",
    )  # fmt: skip


def test_hidden_ones_are_left_alone(run, tmp_path):
    folder = folders(tmp_path)["b.jsonl"]
    os.mkfifo(folder / ".b.jsonl")
    assert run("pool", "stats", folder, "--out", tmp_path / "out.jsonl")[0] == 0


def test_recorded_rollouts(tmp_path):
    folder = folders(tmp_path)["rollouts-0000000a-000002.parquet"]
    os.mkfifo(folder / "rollouts-0000000a-000002.parquet")
    code = f"from grounding_rewards.tables.recorder import read_rollouts as r; r({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stderr.splitlines()[-1] == (
        f"grounding_rewards.errors.TableError: {folder}/rollouts-0000000a-000002.parquet: is a FIFO; expected a "
        "regular file; move it elsewhere, or write what it gives to a file"
    )


def test_manifests_in_the_place_of_an_output(run, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", ROW)
    os.mkfifo(tmp_path / "out.jsonl.manifest.json")
    assert run("pool", "next", rows, "--out", tmp_path / "out.jsonl") == (
        2, "", f"error: {tmp_path}/out.jsonl.manifest.json: is no file, so it cannot be written\n",
    )  # fmt: skip
    out = tmp_path / "scored"
    out.mkdir()
    os.mkfifo(out / "_score.manifest.json")
    assert run("pool", "score", rows, "--recipe", "gelato", "--out", out) == (
        2, "", f"error: {out}: is there, and holds no _score.manifest.json, so it is not replaced; write to another "
        "directory\n",
    )  # fmt: skip


@pytest.mark.parametrize("make", [os.mkfifo, listening], ids=["FIFO", "socket"])
def test_rows_that_would_be_read_twice(run, tmp_path, monkeypatch, make):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rows.jsonl"
    make(path)
    said = (2, "", f"error: {path}: is no regular file, and rows are read more than once; write them to a file first\n")
    out = tmp_path / "out.jsonl"
    assert run("eval", path, "--recipe", "gelato") == said
    assert run("score", path, "--recipe", "gelato", "--out", out) == said
    assert run("explain", "--recipe", "gelato", path, "--row", 0) == said
    assert run("convert", path, "--out", out, "--for", "trl", "--target-space", "unit") == said
    assert run("pool", "stats", path, "--out", out) == said
    assert run("pool", "score", path, "--recipe", "gelato", "--out", tmp_path / "scored") == said


def test_a_manifest_that_the_caller_names_may_be_a_fifo(run, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", *({**ROW, "rollout": n, "acc": n % 2} for n in range(8)))
    assert run("pool", "next", rows, "--out", tmp_path / "out.jsonl", "--zero-share", 0)[0] == 0
    fifo = tmp_path / "given.json"
    os.mkfifo(fifo)
    written = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    writer = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])", fifo,
                               json.dumps(written)])  # fmt: skip
    try:
        assert run("pool", "report", rows, fifo, "--out", tmp_path / "report")[0] == 0
    finally:
        writer.kill()
        writer.wait()
