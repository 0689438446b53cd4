"""Two rounds of real training, and the benchmark over them, run in seconds and say what they did."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables.recorder import read_rollouts

ROOT = Path(__file__).parents[1]
STEPS, GENERATIONS, TASKS = 2, 8, 40

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("next_round"), pytest.mark.timeout(280)]


def run(script: str, *options: str) -> str:
    pytest.importorskip("trl")
    done = subprocess.run(
        [sys.executable, script, "--quick", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rollouts(folder: Path) -> list[dict[str, Any]]:
    columns = ["sample_id", "round", "temperature", "source", "policy", "acc", "train_step"]
    rows: list[dict[str, Any]] = read_rollouts(folder, columns).to_pylist()
    return rows


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("next") / "round"
    printed = run("examples/next_round.py", "--seed", "3", "--out", str(folder))
    assert "held-out screens, greedy answers; round 2 on the pool" in printed
    assert "round 1 to round 2: " in printed
    return folder


def test_the_pool_is_mixed_from_what_round_1_measured(out: Path) -> None:
    right = dict.fromkeys((f"train-{number:04d}" for number in range(TASKS)), 0.0)
    for row in rollouts(out / "measured" / "round-1"):
        right[row["sample_id"]] += row["acc"]
    pool = pq.read_table(out / "pool.parquet")["sample_id"].to_pylist()
    positive = [name for name in pool if 0 < right[name] < GENERATIONS]
    zero = [name for name in pool if right[name] == 0]
    manifest = json.loads((out / "pool.parquet.manifest.json").read_text("utf-8"))
    assert sorted(positive) == [name for name, count in sorted(right.items()) if 0 < count < GENERATIONS]
    assert len(pool) == len(set(pool)) == len(positive) + len(zero) == manifest["kept"]
    assert len(zero) + manifest["shortfall"] == (len(positive) + 2) // 4  # 0.2 / 0.8, half up
    assert (manifest["samples"], manifest["rollouts"]) == (TASKS, TASKS * GENERATIONS)


def test_round_2_trains_on_the_pool_alone_at_the_chosen_temperature(out: Path) -> None:
    pool = pq.read_table(out / "pool.parquet")["sample_id"].to_pylist()
    result = json.loads((out / "result.json").read_text("utf-8"))
    rows = rollouts(out / "training" / "round-2")
    assert len(rows) == STEPS * min(16, len(pool)) * GENERATIONS
    assert {row["sample_id"] for row in rows} <= set(pool)
    assert {row["train_step"] for row in rows} == set(range(STEPS))
    assert {(row["round"], row["policy"]) for row in rows} == {(2, "round-1")}
    assert {row["temperature"] for row in rows} == {result["temperature"]} <= {1.0, 1.2}
    assert {row["round"] for row in rollouts(out / "training" / "round-1")} == {1}


def test_a_trainer_loads_the_pool_as_it_loads_the_data(out: Path) -> None:
    schemas = [pq.read_schema(out / f"{name}.parquet") for name in ("data", "pool")]
    assert schemas[0].equals(schemas[1], check_metadata=True)
    assert b'"_type": "Image"' in schemas[1].metadata[b"huggingface"]


def test_results_and_reports_are_written(out: Path) -> None:
    result = json.loads((out / "result.json").read_text("utf-8"))
    assert (result["seed"], result["arm"], result["quick"], result["steps"]) == (3, "pool", True, STEPS)
    assert list(result["held_out"]) == ["warm start", "round 1", "round 2"]
    assert {kinds["all"][1] for kinds in result["held_out"].values()} == {16}
    moved = result["transitions"]
    assert moved["both"] == moved["up"] + moved["same"] + moved["down"] == TASKS
    assert moved["null"]["kind"] == "measured"
    assert len(result["mislabelled"]) == 2  # 6 % of 40
    for page in ("report", "report-temperature"):
        assert "<html" in (out / page / "report.html").read_text("utf-8")
    assert (out / "report" / "transition-1.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "report-temperature" / "temperatures.png").read_bytes().startswith(b"\x89PNG")


def test_the_benchmark_compares_pools_with_a_control_of_their_size() -> None:
    arms = ["pool", "learnability", "control"]
    words = ["--seeds", "3", "--arms", ",".join(arms), "--limit", "10", "--json"]
    measured = json.loads(run("benchmarks/next_round.py", *words))
    (seed,) = measured["seeds"]
    assert seed["pool"]["control"] == seed["pool"]["kept"] == seed["pool"]["zero"] + seed["pool"]["positive"] <= 10
    assert list(seed["hits"]) == ["warm start", "round 1", *arms]
    assert seed["sizes"]["learnability"] == [seed["pool"]["positive"], 0]  # never-solved ones have a weight of 0
    assert seed["sizes"]["control"][0] == seed["sizes"]["pool"][0]
    for arm in arms[:2]:
        gap = (seed["hits"][arm] - seed["hits"]["control"]) / 16
        assert measured["less_control"][arm]["by_seed"] == [gap]
        assert seed["only"][arm][0] - seed["only"][arm][1] == seed["hits"][arm] - seed["hits"]["control"]
