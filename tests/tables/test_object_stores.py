"""Files in object stores, on a real S3 server on loopback: what is read, what is there after a command or a kill."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest
from pyarrow import fs

import grounding_rewards as gr
from grounding_rewards.batch import rescore as rescoring
from grounding_rewards.errors import TableError
from grounding_rewards.tables import object_stores
from grounding_rewards.tables.object_stores import local
from grounding_rewards.tables.opening import open_rows, open_table
from grounding_rewards.tables.runs import Run
from tests.batch.made import BOX, HIT, gelato, rollouts, small_shards
from tests.cli.command import Runner, names, result_of, write_rows
from tests.tables.object_server import make_bucket, served

pytestmark = pytest.mark.xdist_group("object_stores")
_NUMBERS = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("moto", reason="the S3 server of the extra dev")
    with served(tmp_path_factory.mktemp("s3") / "log") as environment:
        yield environment


class Bucket:
    """A bucket of its own for each test."""

    def __init__(self, name: str) -> None:
        self.name, self.store = name, fs.FileSystem.from_uri(f"s3://{name}/")[0]

    def __call__(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    def put(self, key: str, content: bytes) -> str:
        with self.store.open_output_stream(f"{self.name}/{key}") as file:
            file.write(content)
        return self(key)

    def rows(self, key: str, *rows: object) -> str:
        return self.put(key, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def get(self, key: str) -> bytes:
        return self.store.open_input_file(f"{self.name}/{key}").read()

    def objects(self) -> list[str]:
        found = self.store.get_file_info(fs.FileSelector(self.name, recursive=True))
        return sorted(each.path.removeprefix(f"{self.name}/") for each in found if each.is_file)


@pytest.fixture
def bucket(server, monkeypatch):
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    another_machine(monkeypatch)
    name = f"bucket-{next(_NUMBERS)}"
    make_bucket(server, name)
    return Bucket(name)


def another_machine(monkeypatch) -> None:
    """Begin without local copies."""
    monkeypatch.setattr(object_stores._Copies, "folder", None)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rows_are_scored_from_a_store_into_it_as_between_files(tmp_path, capsys, bucket, suffix):
    run, options = Runner(capsys), ("--recipe", "gelato", "--json")
    source = write_rows(tmp_path / "rows.jsonl", *rollouts(5))
    given = bucket.put("in/rows.jsonl", source.read_bytes())
    result = result_of(run("score", given, "--out", bucket(f"out/scored.{suffix}"), *options).out)
    plain = result_of(run("score", source, "--out", tmp_path / f"scored.{suffix}", *options).out)
    assert bucket.get(f"out/scored.{suffix}") == (tmp_path / f"scored.{suffix}").read_bytes()
    assert (result["file"], result["out"]) == (given, bucket(f"out/scored.{suffix}"))
    assert {**result, "file": "", "out": ""} == {**plain, "file": "", "out": ""}
    assert bucket.objects() == ["in/rows.jsonl", f"out/scored.{suffix}"]


def test_rollouts_of_a_prefix_are_scored_into_a_prefix_as_between_directories(tmp_path, capsys, bucket):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(2):
        rows = [{**row, "round": number} for row in rollouts(4)]
        bucket.put(f"in/{number}.jsonl", write_rows(folder / f"{number}.jsonl", *rows).read_bytes())
    gelato(tmp_path / "out", folder)
    run = Runner(capsys)
    made = run("pool", "score", bucket("in"), "--recipe", "gelato", "--out", bucket("out/scored"))
    assert (made.code, made.err) == (
        0, f"8 rollouts with gelato: mean total 0.5000, accuracy 50.0 %, parse rate 50.0 %; written to "
        f"{bucket('out/scored')}\n"
    )  # fmt: skip
    assert [key for key in bucket.objects() if key.startswith("out/")] == [
        f"out/scored/{name}" for name in names(tmp_path / "out")
    ]
    for name in names(tmp_path / "out"):
        own, plain = bucket.get(f"out/scored/{name}"), (tmp_path / "out" / name).read_bytes()
        if name.endswith(".json"):
            own = own.replace(bucket("in").encode(), str(folder).encode())
        assert own == plain
    assert (
        "nothing to do" in run("pool", "score", bucket("in"), "--recipe", "gelato", "--out", bucket("out/scored")).err
    )
    again = run("pool", "score", bucket("in/0.jsonl"), "--recipe", "gelato", "--out", bucket("out/scored"))
    assert again.code == 2
    assert "out/scored: was made with other inputs, or with what these held before" in again.err


def test_on_another_machine_a_run_goes_on_after_a_kill_with_the_shards_that_were_put(monkeypatch, bucket):
    small_shards(monkeypatch)
    source, write, names_written = bucket.rows("in.jsonl", *rollouts(12)), rescoring._write, []

    def killed(file, schema, batches, advance):
        names_written.append(schema)
        if len(names_written) == 3:
            raise KeyboardInterrupt
        write(file, schema, batches, advance)

    monkeypatch.setattr(rescoring, "_write", killed)
    with pytest.raises(KeyboardInterrupt):
        gelato(bucket("out"), local(source))
    assert [key for key in bucket.objects() if key.endswith(".parquet")] == [
        ".out.unfinished/rollouts-000000.parquet", ".out.unfinished/rollouts-000001.parquet",
    ]  # fmt: skip
    another_machine(monkeypatch)
    with pytest.raises(TableError, match=r"out: is unfinished: a run of grounding-rewards pool score was killed"):
        open_rows(bucket("out"))
    monkeypatch.setattr(rescoring, "_write", write)
    done = gelato(bucket("out"), local(source))
    assert (done.made, done.found, done.manifest["rows"]) == (1, 2, 12)
    assert [key for key in bucket.objects() if key.startswith(".")] == []
    another_machine(monkeypatch)
    assert sum(map(len, open_rows(bucket("out")).batches())) == 12


def test_a_run_that_is_killed_between_two_objects_of_its_end_is_unfinished_and_ends_then(monkeypatch, bucket):
    source = bucket.rows("in.jsonl", *rollouts(3))
    older = gelato(bucket("out"), local(bucket.rows("older.jsonl", *rollouts(2))))
    another_machine(monkeypatch)
    moved = object_stores.moved

    def killed(old, new, last):
        object_stores.removed(new)
        store, key = object_stores._stored(old)
        store.copy_file(f"{key}/rollouts-000000.parquet", f"{bucket.name}/out/rollouts-000000.parquet")
        raise KeyboardInterrupt

    monkeypatch.setattr("grounding_rewards.tables.runs.moved", killed)
    with pytest.raises(KeyboardInterrupt):
        gelato(bucket("out"), local(source), overwrite=True)
    monkeypatch.setattr("grounding_rewards.tables.runs.moved", moved)
    another_machine(monkeypatch)
    with pytest.raises(TableError, match="out: is unfinished"):
        open_rows(bucket("out"))
    done = gelato(bucket("out"), local(source), overwrite=True)
    assert (older.manifest["rows"], done.manifest["rows"], done.made) == (2, 3, 0)
    assert [key for key in bucket.objects() if "json" not in key or "_" in key] == [
        "out/_score.manifest.json", "out/rollouts-000000.parquet",
    ]  # fmt: skip


def test_a_pool_comes_with_its_manifest_and_takes_the_place_of_an_older_one(tmp_path, capsys, bucket):
    rows = [
        {"sample_id": f"s{sample}", "round": 1, "rollout": rollout, "acc": float(rollout < right), "target": BOX}
        for sample, right in enumerate([0, 1, 2, 2, 4])
        for rollout in range(4)
    ]
    run, source = Runner(capsys), bucket.rows("rollouts.jsonl", *rows)
    assert run("pool", "next", source, "--out", bucket("next/pool.jsonl")).code == 0
    written = ["next/pool.easy.jsonl", "next/pool.jsonl", "next/pool.jsonl.manifest.json"]
    assert [key for key in bucket.objects() if key.startswith("next/")] == written
    manifest = json.loads(bucket.get("next/pool.jsonl.manifest.json"))
    assert [each["path"] for each in manifest["inputs"]] == [source]
    write_rows(tmp_path / "rows.jsonl", *rows)
    run("pool", "next", tmp_path / "rows.jsonl", "--out", tmp_path / "pool.jsonl")
    assert bucket.get("next/pool.jsonl") == (tmp_path / "pool.jsonl").read_bytes()
    without = bucket.rows("rollouts.jsonl", *(row for row in rows if row["sample_id"] != "s4"))
    assert run("pool", "next", without, "--out", bucket("next/pool.jsonl")).code == 0
    there = [key for key in bucket.objects() if key.startswith("next/")]
    local_there = names_after(run, tmp_path, rows)
    assert there == [f"next/{name}" for name in local_there]


def names_after(run: Runner, folder: Path, rows: list[dict[str, object]]) -> list[str]:
    write_rows(folder / "rows.jsonl", *(row for row in rows if row["sample_id"] != "s4"))
    run("pool", "next", folder / "rows.jsonl", "--out", folder / "pool.jsonl")
    return sorted(name for name in names(folder) if name.startswith("pool"))


def test_what_changes_in_a_store_is_read_again(bucket):
    assert len(open_rows(bucket.rows("in/train-0.jsonl", {"response": HIT})).columns) == 1
    bucket.rows("in/train-0.jsonl", {"response": HIT, "target": BOX})
    bucket.rows("in/train-1.jsonl", {"response": HIT, "target": BOX})
    batches = list(open_rows(bucket("in")).batches())
    assert [(each.file, each.column("target")) for each in batches] == [
        ("train-0.jsonl", [BOX]), ("train-1.jsonl", [BOX]),
    ]  # fmt: skip
    bucket.store.delete_file(f"{bucket.name}/in/train-0.jsonl")
    assert [batch.file for batch in open_rows(bucket("in")).batches()] == ["train-1.jsonl"]


def test_a_worker_on_another_machine_copies_what_it_reads_to_the_same_path(monkeypatch, tmp_path, bucket):
    place = local(bucket.rows("in/a.jsonl", *rollouts(3)))
    bucket.rows("in/b.jsonl", *rollouts(2))
    known, content = place.stat(), place.read_bytes()
    place.unlink()
    object_stores.copy_into(place.parents[3])
    assert object_stores.fetched(place) == place
    assert (place.read_bytes(), place.stat().st_mtime_ns) == (content, known.st_mtime_ns)
    assert not place.with_name("b.jsonl").exists()
    object_stores.copy_into(tmp_path / "elsewhere")
    assert object_stores.folder() == tmp_path / "elsewhere"
    assert object_stores.fetched(tmp_path / "none") == tmp_path / "none"  # no copy, which its reader says


@pytest.mark.parametrize(("key", "error"), [
    ("none.jsonl", "{}: no such file"),
    ("a/../b.jsonl", "{}: expected s3://BUCKET/KEY, a key without parts such as .."),
])  # fmt: skip
def test_what_is_not_there_is_one_line(capsys, bucket, key, error):
    said = Runner(capsys).error("eval", bucket(key), "--recipe", "gelato")
    assert said == error.format(bucket(key))


def test_a_store_that_refuses_is_one_line_that_names_it(capsys, bucket):
    source = bucket.rows("in.jsonl", *rollouts(3))
    said = Runner(capsys).error("pool", "score", source, "--recipe", "gelato", "--out", "s3://no-such-bucket/out")
    assert re.fullmatch(
        r"s3://no-such-bucket/\.out\.unfinished/_score\.manifest\.json: cannot be written to its store \(.*"
        r"bucket.*\); addresses and credentials come from the environment, such as AWS_ENDPOINT_URL and "
        r"AWS_ACCESS_KEY_ID", said,
    )  # fmt: skip


def test_an_object_whose_name_leads_elsewhere_is_not_copied(monkeypatch, bucket):
    bucket.rows("in/a.jsonl", {"response": HIT})
    (known,) = object_stores._objects(local(bucket("in"))).values()
    monkeypatch.setattr(object_stores, "_objects", lambda place: {f"{bucket.name}/in/../../../../escaped": known})
    with pytest.raises(TableError, match=r"escaped: expected s3://BUCKET/KEY, a key without parts such as \.\."):
        open_rows(bucket("in"))


def test_other_paths_stay_as_they_are(tmp_path):
    assert local("s3.jsonl") == Path("s3.jsonl")
    assert local(tmp_path / "rows.jsonl") == tmp_path / "rows.jsonl"
    assert Run(tmp_path / "out", "m.json", {}).out == tmp_path / "out"
    with pytest.raises(TableError, match=r"http:/x\.jsonl: no such file"):
        open_table("http://x.jsonl")
    assert gr.recipe("gelato").name == "gelato"


def test_a_google_store_without_credentials_is_given_up_within_a_minute(monkeypatch):
    asked = []
    monkeypatch.setattr(object_stores, "_arrow", lambda: SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri)))

    def from_uri(uri):
        asked.append(uri)
        return fs.FileSystem.from_uri(uri)

    object_stores._store.__wrapped__("gs", "a bucket")
    assert asked == ["gs://a%20bucket/?retry_limit_seconds=30"]  # Arrow's own limit is a quarter of an hour


def test_a_store_that_says_no_times_is_read_and_written(tmp_path, capsys, monkeypatch):
    memory = fsspec.filesystem("dir", path="/hub", fs=fsspec.filesystem("memory"))  # without times, as the hub's files
    monkeypatch.setattr(object_stores, "_store", lambda scheme, bucket: fs.PyFileSystem(fs.FSSpecHandler(memory)))
    another_machine(monkeypatch)
    source, options = write_rows(tmp_path / "rows.jsonl", *rollouts(5)), ("--recipe", "gelato", "--json")
    memory.pipe("datasets/us/er/rows.jsonl", source.read_bytes())
    run = Runner(capsys)
    given, out = "hf://datasets/us/er/rows.jsonl", "hf://datasets/us/er/scored"
    assert result_of(run("pool", "score", given, "--out", out, *options).out)["rows"] == 5
    assert memory.ls("datasets/us/er/scored", detail=False) == [
        "datasets/us/er/scored/_score.manifest.json", "datasets/us/er/scored/rollouts-000000.parquet",
    ]  # fmt: skip
