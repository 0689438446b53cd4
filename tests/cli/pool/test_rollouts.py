"""``pool rollouts``: literal choices, every column as it was, and inputs and outputs that do not fit."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.tables.recorder import RolloutRecorder
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import names, read_rows, write_rows
from tests.cli.pool.made import INPUTS

PODS = '{"name": "pods", "keep": 2}'
ROWS = INPUTS["chosen.jsonl"]


@pytest.fixture
def source(tmp_path):
    return write_rows(tmp_path / "rollouts.jsonl", *ROWS)


def kept(run, *words):
    result = run("pool", "rollouts", *words)
    assert result.code == 0, result.err
    return result


def test_parquet_keeps_types_and_metadata_and_gains_columns(run, tmp_path):
    source, out = tmp_path / "rollouts.parquet", tmp_path / "kept.parquet"
    columns = {
        "sample_id": pa.array(["a", "a", "a", "a"]).dictionary_encode(), "total": pa.array([1, 0, 0, 0], pa.float32()),
        "acc": pa.array([1, 0, 0, 0], pa.int8()), "image": [b"\x00", b"\x01", None, b"\x03"],
        "image_size": [[4, 3]] * 4,
    }  # fmt: skip
    pq.write_table(pa.table(columns).replace_schema_metadata({b"mine": b"1"}), source)
    kept(run, source, "--method", '{"name": "d3s", "keep": 2}', "--out", out)
    table = pq.read_table(out)
    assert table.schema.remove_metadata().names == [*columns, "advantage"]
    assert table.schema.field("total").type == pa.float32()
    assert table.schema.metadata[b"mine"] == b"1"
    assert table.drop_columns(["advantage"]).to_pylist() == pq.read_table(source).slice(0, 2).to_pylist()
    assert table["advantage"].to_numpy().round(4).tolist() == [1.5, -0.5]
    assert "cannot hold the bytes in column image" in run.error(
        "pool", "rollouts", source, "--method", PODS, "--out", tmp_path / "kept.jsonl"
    )
    assert names(tmp_path) == ["kept.parquet", "kept.parquet.manifest.json", "rollouts.parquet"]


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.parquet"])
def test_several_files_of_other_columns_become_one_that_statistics_read(run, source, tmp_path, name):
    other = tmp_path / "other.parquet"
    pq.write_table(
        pa.table({"sample_id": ["c", "c", "c"], "correct": [True, False, True], "total": [1.0, 0.0, 0.5],
                  "round": [1, 1, 1], "hit": [1.0, 0.0, 1.0]}), other,
    )  # fmt: skip
    (tmp_path / "one.csv").write_text('sample_id,acc,total,round,response\n007,1,1.0,1,512\n008,,,1,""\n')
    out = tmp_path / name
    kept(run, source, other, tmp_path / "one.csv", "--method", PODS, "--out", out)
    stats = stats_of(open_rollouts([out]))
    assert dict(zip(stats.sample_id.tolist(), zip(stats.n, stats.num_correct, strict=True), strict=True)) == {
        "007": (1, 1), "a": (3, 1), "b": (1, 1), "c": (2, 1),
    }  # fmt: skip
    rows = read_rows(out) if out.suffix == ".jsonl" else pq.read_table(out).to_pylist()
    assert [row["sample_id"] for row in rows] == ["b", "a", "a", "a", "c", "c", "007"]
    assert [rows[4]["hit"], rows[-1]["response"], rows[0]["extra"]] == [1.0, "512", {"k": [1]}]
    assert run("pool", "stats", out).code == 0


def test_logs_and_growing_records_are_written_as_rollouts(run, tmp_path):
    (tmp_path / "dumps").mkdir()
    logged = {"input": "x", "output": "(2, 1)", "gts": {"id": "v", "bbox": [1, 2, 3, 4]}, "step": 1}
    scores = [{"score": 1.0, "acc": 1}, {"score": 0.0, "acc": 0}, {"score": 0.5, "acc": 1}]
    write_rows(tmp_path / "dumps" / "1.jsonl", *({**logged, **each} for each in scores))
    recorder = RolloutRecorder(tmp_path / "record", ["hit"])
    rows = {"sample_id": ["r"] * 3, "response": ["x"] * 3, "total": [1.0, 0.5, 0.0], "acc": [1.0, 1.0, 0.0]}
    recorder.append({**rows, "hit": [1.0, 1.0, 0.0]})
    recorder.flush()
    for name in ("kept.jsonl", "kept.parquet"):
        out = tmp_path / name
        kept(run, tmp_path / "dumps", tmp_path / "record", "--method", PODS, "--out", out)
        rows = read_rows(out) if name == "kept.jsonl" else pq.read_table(out).to_pylist()
        assert sorted((row["sample_id"], row["total"], row["acc"], row.get("hit")) for row in rows) == [
            ("r", 0.0, 0.0, 0.0), ("r", 1.0, 1.0, 1.0), ("v", 0.0, 0.0, None), ("v", 1.0, 1.0, None),
        ]  # fmt: skip
    recorder.close()


def test_large_files_keep_their_order(run, tmp_path):
    rows, source, out = 300_000, tmp_path / "rollouts.parquet", tmp_path / "kept.parquet"
    number = np.arange(rows)
    acc = (number % 8 == 3).astype(float)
    pq.write_table(
        pa.table({"sample_id": (number // 8).astype(str), "acc": acc, "total": acc, "number": number}), source,
        row_group_size=5000,
    )  # fmt: skip
    kept(run, source, "--method", PODS, "--out", out)
    assert pq.read_table(out)["number"].to_numpy()[:4].tolist() == [0, 3, 8, 11]
    assert np.array_equal(pq.read_table(out)["number"].to_numpy(), number[np.isin(number % 8, (0, 3))])


@pytest.mark.parametrize("spec", ['{"name": "d3s", "share": 0.4, "by": "train_step"}', "step_returns"])
def test_the_order_of_rows_changes_only_that_of_the_output(run, tmp_path, spec):
    draw = random.Random(3)
    rows = [
        {"sample_id": f"s{step}", "trajectory": "t", "step": step, "rollout": number, "train_step": number % 2,
         "acc": float(total > 0), "total": total}
        for step in range(4) for number in range(6) for total in [draw.choice([0.0, 0.5, 1.0])]
    ]  # fmt: skip
    found = []
    for _ in range(3):
        draw.shuffle(rows)
        out = tmp_path / "kept.jsonl"
        kept(run, write_rows(tmp_path / "rollouts.jsonl", *rows), "--method", spec, "--out", out)
        written = read_rows(out)
        there = [row for row in rows if any(row.items() <= other.items() for other in written)]
        assert [{name: row[name] for name in rows[0]} for row in written] == there
        found.append(sorted(json.dumps(row, sort_keys=True) for row in written))
    assert found[0] == found[1] == found[2]


OWN = """
from dataclasses import dataclass
import numpy as np
from grounding_rewards.pool import Choice, Method, setting
from grounding_rewards.verifiers.options import Count

@dataclass(frozen=True)
class Firsts(Method):
    kind = "choice"
    keep: Count = setting("rollouts that stay", 4)

    def __call__(self, rollouts):
        return Choice(np.flatnonzero(rollouts.rollout < self.keep))

@dataclass(frozen=True)
class Twice(Method):
    kind = "allocation"

    def __call__(self, stats):
        return np.full(len(stats), 2)
"""


def test_a_method_of_ones_own_is_named_by_its_place_and_recorded(run, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own.py"
    own.write_text(OWN)
    kept(run, source, "--method", '{"name": "own.py:Firsts", "keep": 1}', "--out", "kept.jsonl")
    assert read_rows(tmp_path / "kept.jsonl") == [ROWS[0], ROWS[1], ROWS[5]]
    assert run("pool", "allocate", source, "--method", "own.py:Twice", "--out", "more.jsonl").code == 0
    assert read_rows(tmp_path / "more.jsonl") == [{"sample_id": "a", "n": 2}, {"sample_id": "b", "n": 2}]
    for out, method in (("kept", {"name": "own.py:Firsts", "keep": 1}), ("more", {"name": "own.py:Twice"})):
        manifest = json.loads((tmp_path / f"{out}.jsonl.manifest.json").read_text())
        assert manifest["method"] == method
        assert [each["role"] for each in manifest["inputs"]] == ["rollouts", "method"]
        assert manifest["inputs"][1]["sha256"] == hashlib.sha256(own.read_bytes()).hexdigest()
    message = run.error("pool", "rollouts", source, "--method", "own.py:Twice", "--out", "x.jsonl")
    assert "--method: unknown choice 'own.py:Twice'; own.py:Twice allocates rollouts: `pool allocate`" in message
