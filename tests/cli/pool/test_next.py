"""``grounding-rewards pool next``: the pool, its files and its manifest, and every mistake one line."""

from __future__ import annotations

import hashlib
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import names, read_rows, write_rows
from tests.cli.pool.made import GELATO, IDS, rollouts


@pytest.fixture
def source(tmp_path):
    return write_rows(tmp_path / "rollouts.jsonl", *GELATO)


def manifest_of(out):
    return json.loads(out.with_name(f"{out.name}.manifest.json").read_text())


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_same_command_gives_the_same_bytes_and_the_order_of_rows_changes_no_sample(run, source, tmp_path):
    out = tmp_path / "pool.parquet"
    command = ("pool", "next", source, "--out", out, "--seed", 7, "--control", "--limit", 10)
    assert run(*command).code == 0
    files = ("pool.parquet", "pool.easy.parquet", "pool.control.parquet", "pool.parquet.manifest.json")
    before = [(tmp_path / name).read_bytes() for name in files]
    assert run(*command).code == 0
    assert [(tmp_path / name).read_bytes() for name in files] == before
    shuffled = list(GELATO)
    random.Random(1).shuffle(shuffled)
    write_rows(source, *shuffled)
    assert run(*command).code == 0
    assert [(tmp_path / name).read_bytes() for name in files[:3]] == before[:3]


def test_own_selectors_are_recorded_as_they_are_named_with_what_their_file_holds(run, source, tmp_path, monkeypatch):
    own = tmp_path / "own.py"
    own.write_text("def more(stats):\n    return stats.num_correct + 1.0\n")
    monkeypatch.chdir(tmp_path)
    named = {"name": "own.py:more", "low": 0, "high": 9}
    options = ("--selector", json.dumps(named), "--selector", json.dumps({"name": "every", "selectors": [named]}))
    assert run("pool", "next", "rollouts.jsonl", "--out", "pool.jsonl", *options).code == 0
    said = manifest_of(tmp_path / "pool.jsonl")
    assert [each["role"] for each in said["inputs"]] == ["rollouts", "selector"]
    assert said["inputs"][1]["path"] == "own.py"
    assert said["inputs"][1]["sha256"] == digest(own)
    assert said["steps"][3]["name"] == "own.py:more"
    assert said["steps"][3]["params"] == {"selector": named}
    assert str(tmp_path) not in json.dumps(said)


def data_rows():
    order = list(reversed(IDS))
    return [{"prompt": f"Click {each}", "target": json.dumps({"bbox": [0, 0, 9, 9], "id": each})} for each in order]


def test_the_rows_of_data_in_their_order_with_all_columns(run, source, tmp_path):
    data = tmp_path / "train.parquet"
    table = pa.Table.from_pylist(data_rows()).replace_schema_metadata({b"own": b"kept"})
    pq.write_table(table, data)
    out = tmp_path / "pool.parquet"
    result = run("pool", "next", source, "--out", out, "--seed", 7, "--data", data, "--control")
    assert result.code == 0
    assert "note" not in result.err
    found = pq.read_table(out)
    assert found.schema.equals(table.schema, check_metadata=True)
    chosen = [json.loads(row["target"])["id"] for row in found.to_pylist()]
    assert chosen == [each for each in reversed(IDS) if each in chosen]
    run("pool", "next", source, "--out", tmp_path / "ids.jsonl", "--seed", 7)
    assert sorted(chosen) == [row["sample_id"] for row in read_rows(tmp_path / "ids.jsonl")]
    assert pq.read_table(tmp_path / "pool.easy.parquet").num_rows == 8
    assert pq.read_table(tmp_path / "pool.control.parquet").num_rows == 15
    said = manifest_of(out)
    assert said["join"] == {"both": 50, "data_only": 0, "rollouts_only": 0, "rows_without_name": 0}
    assert said["inputs"][1] == {
        "role": "data", "path": str(data), "files": 1, "bytes": data.stat().st_size, "sha256": digest(data),
    }  # fmt: skip


@pytest.mark.parametrize("trainer", ["verl", "easyr1", "trl", "openrlhf", "skyrl", "slime"])
def test_what_convert_made_is_joined_by_the_names_it_packed(run, source, tmp_path, trainer):
    rows = [{"instruction": f"Click {each}", "bbox": [0, 0, 9, 9], "key": each, "source": "web"} for each in IDS]
    given = write_rows(tmp_path / "in.jsonl", *rows)
    data, out = tmp_path / "train.parquet", tmp_path / "pool.parquet"
    words = ("--target-space", "pixel", "--id-column", "key")
    assert run("convert", given, "--out", data, "--for", trainer, *words).code == 0
    assert run("pool", "next", source, "--out", out, "--data", data).code == 0
    assert manifest_of(out)["join"]["both"] == 50
    assert pq.read_table(out).num_rows == 15
    assert pq.read_schema(out).equals(pq.read_schema(data), check_metadata=True)


def test_datasets_loads_the_pool_with_its_images(run, tmp_path):
    datasets = pytest.importorskip("datasets")
    image = pytest.importorskip("PIL.Image")
    source = write_rows(tmp_path / "rollouts.jsonl", *rollouts(("part", 4, 3), ("easy", 2, 8)))
    ids = [f"part{row}" for row in range(4)] + ["easy0", "easy1"]
    features = datasets.Features({"sample_id": datasets.Value("string"), "image": datasets.Image()})
    images = [image.new("RGB", (row + 1, 2)) for row in range(6)]
    whole = datasets.Dataset.from_dict({"sample_id": ids, "image": images}, features=features)
    whole.to_parquet(tmp_path / "train.parquet")
    whole.save_to_disk(tmp_path / "saved")
    for data in ("train.parquet", "saved"):
        out = tmp_path / "pool.parquet"
        assert run("pool", "next", source, "--out", out, "--data", tmp_path / data).code == 0
        loaded = datasets.load_dataset(
            "parquet", data_files=str(out), split="train", cache_dir=str(tmp_path / f"cache-{data}")
        )
        assert loaded.features == features
        assert [row["image"].size for row in loaded] == [(1, 2), (2, 2), (3, 2), (4, 2)]


def test_neither_links_nor_dots_lead_into_an_input(run, tmp_path):
    for name in ("in", "apart"):
        (tmp_path / name).mkdir()
    write_rows(tmp_path / "in" / "rollouts.jsonl", *GELATO)
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "pool.jsonl").symlink_to("in/pool.jsonl")
    (tmp_path / "apart" / "pool.easy.jsonl").symlink_to("../in/pool.easy.jsonl")
    for given, out in [
        ("in", "apart/../in/pool.jsonl"),
        ("in", "link/pool.jsonl"),
        ("link", "in/pool.jsonl"),
        ("in", "pool.jsonl"),
        ("in", "apart/pool.jsonl"),
    ]:
        assert "lies in the input" in run.error("pool", "next", tmp_path / given, "--out", f"{tmp_path}/{out}")
    assert names(tmp_path / "in") == ["rollouts.jsonl"]


@pytest.mark.parametrize(
    "name", ["pool.easy.jsonl", "pool.suspects.jsonl", "pool.control.jsonl", "pool.jsonl.manifest.json"]
)
def test_what_is_written_beside_a_pool_replaces_neither_a_directory_nor_an_input(run, source, tmp_path, name):
    out, beside = tmp_path / "pool.jsonl", tmp_path / name
    out.write_text("old")
    beside.mkdir()
    assert f"{beside}: is no file" in run.error("pool", "next", source, "--out", out)
    beside.rmdir()
    beside.symlink_to(source)
    assert f"{beside}: is the input itself" in run.error("pool", "next", source, "--out", out)
    assert (out.read_text(), len(read_rows(source))) == ("old", 400)


@pytest.mark.parametrize("manifest", [None, "{}", '{"outputs": [{"path": ["pool.easy.jsonl"]}]}', "[" * 100_000])
def test_a_file_that_no_run_set_aside_is_not_replaced(run, source, tmp_path, manifest):
    (tmp_path / "pool.easy.jsonl").write_text("mine")
    if manifest is not None:
        (tmp_path / "pool.jsonl.manifest.json").write_text(manifest)
    message = run.error("pool", "next", source, "--out", tmp_path / "pool.jsonl")
    assert "pool.easy.jsonl: exists, and no pool.jsonl.manifest.json lists it, so it is not replaced" in message
    assert (tmp_path / "pool.easy.jsonl").read_text() == "mine"
    assert not (tmp_path / "pool.jsonl").exists()
