"""Work on a Ray cluster: a real one of two workers on this machine, with what one machine makes beside it."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards import cluster as clusters
from grounding_rewards.batch import rescore as rescoring
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.cluster import joined
from grounding_rewards.engines.rollout import RolledOut, roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import ClusterError, EngineError, TableError
from grounding_rewards.tables.rows import BATCH_ROWS
from tests.batch.made import HIT, MISS, contents, gelato, rollouts, votes
from tests.cli.command import Runner, result_of, write_rows
from tests.engines.seeded import Scripted
from tests.engines.tiny import Tiny, saved, screen

pytestmark = [
    pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(600),
]  # fmt: skip

SHARD = rescoring.SHARD_BATCHES * BATCH_ROWS
"""Rows of a shard: workers have the sizes that everybody has."""


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}.items():
            patch.setenv(name, value)
        import ray

        ray.init("local", num_cpus=2, object_store_memory=200 << 20, include_dashboard=False, log_to_driver=False)
        try:
            yield ray
        finally:
            ray.shutdown()


@pytest.fixture
def cluster(ray):
    with joined("auto") as cluster:
        yield cluster


@pytest.fixture
def address(ray):
    return ray.get_runtime_context().gcs_address


def of_rows(path: Path, count: int) -> Path:
    """Rows of Parquet, in row groups that end within shards."""
    rows = [{"sample_id": f"s{row // 3}", "rollout": row, "response": MISS if row % 3 else HIT} for row in range(count)]
    table = pa.Table.from_pylist(rows).append_column("target", pa.array(["[0.25, 0.25, 0.75, 0.5]"] * count))
    pq.write_table(table, path, row_group_size=40_000)
    return path


def test_shards_and_manifest_of_files_are_those_of_one_machine(tmp_path, cluster):
    folder = tmp_path / "in"
    folder.mkdir()
    of_rows(folder / "a.parquet", SHARD + 5)
    write_rows(folder / "b.jsonl", *rollouts(9, round=1, kind="x"))
    progress, notes = [], []
    gelato(tmp_path / "one", folder)
    done = gelato(tmp_path / "out", folder, cluster=cluster, advance=progress.append, note=notes.append)
    assert (done.made, done.found, done.manifest["rows"], notes) == (3, 0, SHARD + 14, [])
    assert contents(tmp_path / "out") == contents(tmp_path / "one")
    assert (progress == sorted(progress), progress[-1]) == (True, 1.0)
    again = gelato(tmp_path / "out", folder, cluster=cluster)
    assert (again.made, again.found) == (0, 3)


def test_shards_of_rows_that_are_compared_are_those_of_one_machine(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(rescoring, "GROUP_ROWS", 8)
    source = write_rows(tmp_path / "in.jsonl", *rollouts(40, image_size=[100, 100]))
    votes(tmp_path / "one", source)
    done = votes(tmp_path / "out", source, cluster=cluster)
    assert (done.made, contents(tmp_path / "out")) == (5, contents(tmp_path / "one"))


def test_a_worker_that_is_killed_leaves_every_row_once(tmp_path, cluster, own):
    source = of_rows(tmp_path / "in.parquet", SHARD + 5)
    rescore([source], gr.recipe(own), tmp_path / "one")
    (tmp_path / "die").touch()
    done = rescore([source], gr.recipe(own), tmp_path / "out", cluster=cluster)
    assert not (tmp_path / "die").exists()
    assert (done.made, contents(tmp_path / "out")) == (2, contents(tmp_path / "one"))


def test_a_driver_that_is_killed_goes_on_with_the_shards_that_are_there(tmp_path, address, own):
    source, out = of_rows(tmp_path / "in.parquet", SHARD + 5), tmp_path / "out"
    words = [sys.executable, "-m", "grounding_rewards", "pool", "score", source, "--recipe", own, "--out", out]
    (tmp_path / "wait").touch()
    first = subprocess.Popen([*words, "--ray", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while not list(tmp_path.glob(".out.unfinished/rollouts-*.parquet")):
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    (tmp_path / "wait").unlink()
    second = subprocess.run([*words, "--ray", address], capture_output=True, text=True, check=False, timeout=300)
    assert (second.returncode, second.stderr.count("\n")) == (0, 1), second.stderr
    assert second.stderr.endswith(f"written to {out}, 1 of 2 pieces were there\n")
    rescore([source], gr.recipe(own), tmp_path / "one")
    assert contents(out) == contents(tmp_path / "one")


def test_a_node_that_leaves_loses_no_row(tmp_path, ray, own):
    from ray.cluster_utils import Cluster

    source, out, memory = of_rows(tmp_path / "in.parquet", SHARD + 5), tmp_path / "out", 100 << 20
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": memory})
    try:
        there = [nodes.add_node(num_cpus=1, object_store_memory=memory) for _ in range(2)]
        words = [sys.executable, "-m", "grounding_rewards", "pool", "score", source, "--recipe", own, "--out", out]
        (tmp_path / "wait").touch()
        child = subprocess.Popen([*words, "--ray", nodes.address], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 200
        while not (working := [each for each in there if (tmp_path / each.node_id).exists()]):
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        nodes.remove_node(working[0], allow_graceful=False)
        (tmp_path / "wait").unlink()
        errors = child.communicate(timeout=300)[1]
        assert (child.returncode, f"; written to {out}\n" in errors) == (0, True), errors  # among lines of Ray's
    finally:
        nodes.shutdown()
    rescore([source], gr.recipe(own), tmp_path / "one")
    assert contents(out) == contents(tmp_path / "one")


@pytest.fixture
def own(tmp_path):
    """A reward in a file: it waits, or ends its process, where files in the folder say so."""
    file = tmp_path / "own.py"
    file.write_text(f"""
import os, pathlib, time
HERE = pathlib.Path({str(tmp_path)!r})

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    if (HERE / "die").exists() and os.environ.get("RAY_RAYLET_PID"):
        (HERE / "die").unlink()
        os.kill(os.getpid(), 9)
    while extra_info["rollout"] >= {SHARD} and (HERE / "wait").exists():
        import ray
        ray.is_initialized() and (HERE / ray.get_runtime_context().get_node_id()).touch()
        time.sleep(0.1)
    return float(solution_str == {HIT!r})
""")
    return f"{file}:compute_score"


def test_errors_are_those_of_one_machine(tmp_path, cluster):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(3), {**rollouts(1)[0], "sample_id": "z", "target": "?"})
    said = []
    for each in (None, cluster):
        with pytest.raises(TableError) as caught:
            gelato(tmp_path / "out", source, cluster=each)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert said[0].startswith(f"{source}, row 3 (line 4): target")
    assert not (tmp_path / "out").exists()


def test_answers_of_another_file_are_for_one_machine(tmp_path, address, capsys):
    rows = write_rows(tmp_path / "in.jsonl", {"id": 1, "target": [0.1, 0.1, 0.2, 0.2]})
    answers = write_rows(tmp_path / "answers.jsonl", {"id": 1, "response": HIT})
    words = ["score", rows, "--predictions", answers, "--recipe", "gelato", "--out", tmp_path / "out", "--ray", address]
    done = Runner(capsys)("pool", *words)
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "error: --ray: answers of another file are joined and scored on one machine; leave --ray out"
    )


SETTINGS = RolloutSettings(n=3, shard_rows=4)


def asked(out: Path, data: Path, engine: Any, **more: Any) -> RolledOut:
    recipe = gr.recipe("click", response_space="pixel", target_space="pixel")
    return roll_out(data, engine, out, engine_name="own", settings=SETTINGS, recipe=recipe, **more)


def samples(path: Path, count: int) -> Path:
    return write_rows(
        path, *({"id": f"s{row}", "instruction": f"click {row}", "bbox": [200, 150, 300, 250]} for row in range(count))
    )


def test_rollouts_are_those_of_one_machine_though_workers_are_killed(tmp_path, cluster):
    data, log = samples(tmp_path / "data.parquet", 22), tmp_path / "log"
    said = []
    asked(tmp_path / "one", data, Scripted("m"), note=said.append)
    engine = Scripted("m", dies_after=2, log=str(log))
    counts, notes = [], []
    done = asked(
        tmp_path / "out", data, engine, cluster=cluster, count=lambda *each: counts.append(each), note=notes.append
    )
    assert (done.made, done.found, done.manifest["rows"], counts[0], counts[-1]) == (6, 0, 66, (0, 22), (22, 22))
    assert contents(tmp_path / "out") == contents(tmp_path / "one")
    assert len(log.read_text().split()) > 66  # some were asked for again
    assert notes == said


def test_the_demo_s_model_gives_the_rollouts_of_one_machine(tmp_path, cluster):
    rows = []
    for seed in range(6):
        png, instruction, box = screen(seed)
        (tmp_path / f"{seed}.png").write_bytes(png)
        rows.append({"id": str(seed), "image": f"{seed}.png", "instruction": instruction, "bbox": [*box]})
    data, engine = write_rows(tmp_path / "data.jsonl", *rows), Tiny(str(saved(tmp_path / "model")), device="cpu")
    settings = RolloutSettings(n=2, shard_rows=2, max_tokens=4)
    for out, each in (("one", None), ("out", cluster)):
        roll_out(data, engine, tmp_path / out, settings=settings, cluster=each)
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


def test_an_engine_that_cannot_start_and_prompts_that_cannot_be_made_are_said_as_on_one_machine(tmp_path, cluster):
    data = write_rows(
        tmp_path / "data.jsonl", *({"id": row, "instruction": "x", "image": "none.png"} for row in range(4))
    )
    for name in ("none", "m"):
        said = []
        for each in (None, cluster):
            with pytest.raises(EngineError) as caught:
                roll_out(data, Scripted(name, resizes="qwen3_vl"), tmp_path / "out", settings=SETTINGS, cluster=each)
            said.append(str(caught.value))
        assert said[0] == said[1]
    assert said[0].startswith(f"no prompt of the first 4 samples can be made, that of {data}, row 0")
    with pytest.raises(EngineError, match="shard: got it with a cluster, whose workers make all shards"):
        asked(tmp_path / "out", data, Scripted("m"), shard=(0, 2), cluster=cluster)


@pytest.mark.parametrize(("name", "out"), [("in.parquet", "out.parquet"), ("in.jsonl", "out.jsonl")])
def test_a_file_is_scored_as_on_one_machine(tmp_path, address, capsys, name, out):
    source = tmp_path / name
    if source.suffix == ".parquet":
        of_rows(source, 45_000)  # of two row groups
    else:
        Image.new("RGB", (64, 32)).save(tmp_path / "a.png")
        target, pixels = {"bbox": [4, 4, 8, 8]}, ("(5, 5)", "nothing", "(60, 60)")
        write_rows(source, *({"response": each, "target": target, "image": "a.png"} for each in pixels),
                   {"response": "(5, 5)", "target": "?", "image": "a.png"})  # fmt: skip
    run, said = Runner(capsys), []
    recipe = ("gelato",) if source.suffix == ".parquet" else ("click", "--response-space", "thousandths")
    for folder, more in (("one", ()), ("many", ("--ray", address))):
        (tmp_path / folder).mkdir()
        words = (source, "--out", tmp_path / folder / out, "--bad-target", "abstain", "--json", "--recipe", *recipe)
        done = run("score", *words, *more)
        assert done.code == 0, done.err
        said.append((result_of(done.out), done.err))
    assert (tmp_path / "one" / out).read_bytes() == (tmp_path / "many" / out).read_bytes()
    assert [{**each, "out": ""} for each, _ in said[:1]] == [{**each, "out": ""} for each, _ in said[1:]]
    assert said[0][1] == said[1][1]


def missing(path: Path) -> str:
    return clusters._lacking(clusters._packed(len), clusters.__version__, [(path, 3)])


def test_what_a_machine_lacks_is_said_before_the_first_batch(tmp_path, cluster):
    there = tmp_path / "there"
    there.write_bytes(b"abc")
    assert missing(there) == ""
    assert missing(tmp_path / "none") == (
        f"{tmp_path / 'none'}: no such file; workers read the same paths as here, such as on a shared disk or s3://"
    )
    there.write_bytes(b"abcd")
    assert missing(there) == f"{there}: has 4 bytes; expected 3, as here"
    assert clusters._lacking(clusters._packed(len), "0.0.1", []) == (
        f"has grounding-rewards {clusters.__version__}; expected 0.0.1, as here"
    )
    file = tmp_path / "own.py"
    file.write_text("def score(data_source, solution_str, ground_truth, extra_info=None): return 1.0\n")
    own = clusters._packed(gr.recipe(f"{file}:score"))
    file.unlink()
    code = f"from grounding_rewards.cluster import _lacking, __version__ as v; print(_lacking({own!r}, v, []))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == (
        f"cannot load what the command names (FileNotFoundError: there is no file {file}); install or copy it there\n"
    )
    with pytest.raises(ClusterError, match=r"--ray auto: worker [0-9.]+: no such thing"):
        cluster._on_each(lambda: "no such thing")


def test_no_space_on_a_worker_names_it(ray):
    said = clusters._on_this_worker(OSError(errno.ENOSPC, "No space left on device", "/tmp/x"))
    assert (said.errno, said.filename.startswith("/tmp/x on worker ")) == (errno.ENOSPC, True)


def test_no_such_cluster_is_one_line(tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(3))
    words = ["pool", "score", source, "--recipe", "gelato", "--out", tmp_path / "out", "--ray", "127.0.0.1:9"]
    done = subprocess.run(
        [sys.executable, "-m", "grounding_rewards", *words], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: --ray 127.0.0.1:9: ")
