"""``grounding-rewards pool curriculum``: what it writes, what it checks, and what it says of mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import Runner, read_rows, result_of, write_rows
from tests.cli.pool.made import INPUTS

EXAMPLE = Path(__file__).parents[3] / "examples" / "curriculum.json"


def rollouts(path: Path) -> Path:
    """Write samples of three bands."""
    return write_rows(path, *INPUTS["banded.jsonl"])


@pytest.fixture
def stats(tmp_path: Path) -> Path:
    return rollouts(tmp_path / "rollouts.jsonl")


def stages_file(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps({**json.loads(EXAMPLE.read_text()), **changes}))
    return path


def test_the_same_command_gives_the_same_bytes_whatever_the_order_of_rows(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = stages_file(tmp_path / "plan.json", stages=[{"name": "s", "bands": {"easy": 1, "hard": 2}, "size": 9}])
    found = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        rows = read_rows(rollouts(Path("rollouts.jsonl")))
        write_rows(Path("rollouts.jsonl"), *(rows if folder == "a" else rows[::-1]))
        assert run("pool", "curriculum", "rollouts.jsonl", "--stages", plan, "--out", "out", "--seed", 3).code == 0
        found.append({path.name: path.read_bytes() for path in Path("out").iterdir()})
    manifests = [json.loads(each.pop("curriculum.manifest.json")) for each in found]
    assert found[0] == found[1]
    hashes = [manifest.pop("inputs")[0]["sha256"] for manifest in manifests]
    assert manifests[0] == manifests[1]
    assert hashes[0] != hashes[1]
    (stage,) = manifests[0]["stages"]
    assert [(each["band"], each["asked"], each["shortfall"]) for each in stage["bands"]] == [
        ("easy", 3, 0), ("hard", 6, 0),
    ]  # fmt: skip


def test_training_rows_are_joined_and_stay_as_they_are(run: Runner, tmp_path: Path, stats: Path) -> None:
    rows = [{"prompt": f"click {place}", "id": f"s{place:02d}", "image": {"bytes": b"\x89PNG"}} for place in range(30)]
    features = json.dumps({"info": {"features": {"image": {"_type": "Image"}}}})
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"huggingface": features})
    pq.write_table(table, tmp_path / "train.parquet")
    words = ["pool", "curriculum", stats, "--stages", EXAMPLE, "--out", tmp_path / "out", "--json"]
    manifest = result_of(run(*words, "--data", tmp_path / "train.parquet").out)
    assert manifest["join"] == {"both": 24, "data_only": 6, "rollouts_only": 0, "rows_without_name": 0}
    easy = pq.read_table(tmp_path / "out" / "stage-1-easy.parquet")
    assert easy.schema.equals(table.schema, check_metadata=True)
    assert easy["id"].to_pylist() == [f"s{place:02d}" for place in range(0, 24, 3)]
