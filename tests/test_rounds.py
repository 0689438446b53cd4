"""Rounds of real training, and the benchmark over them, run in seconds and say what they did; kills change nothing."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables.recorder import read_rollouts

ROOT = Path(__file__).parents[1]
STEPS, GENERATIONS, TASKS = 2, 8, 40
ROUNDS = [sys.executable, "examples/rounds.py", "--quick", "--seed", "3", "--out"]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("rounds"), pytest.mark.timeout(580)]


def run(*words: str, code: int = 0) -> str:
    pytest.importorskip("trl")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def kill_during(line: str, *words: str) -> bool:
    """Start a command and kill it at a random moment after it has printed a line with these words.

    Returns True where it was killed.
    """
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
        assert started.stdout is not None
        assert any(line in each for each in started.stdout), f"ended without {line!r}"
        time.sleep(random.uniform(0, 1.5))
        started.kill()
        return started.wait() == -9


def rollouts(folder: Path) -> list[dict[str, Any]]:
    columns = ["sample_id", "round", "temperature", "source", "policy", "acc", "train_step"]
    rows: list[dict[str, Any]] = read_rollouts(folder, columns).to_pylist()
    return rows


def read(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def pool_of(out: Path, number: int, kind: str = "") -> Path:
    return out / f"round-{number}" / f"pool-{number}{kind}.parquet"


def names(pool: Path) -> list[str]:
    return pq.read_table(pool)["sample_id"].to_pylist()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted") / "rounds"
    printed = run(*ROUNDS, str(folder))
    assert "held-out screens, greedy answers; each round trains on its pool" in printed
    assert "  training screens: " in printed
    return folder


def test_a_pool_is_mixed_from_what_the_policy_before_it_answers(out: Path) -> None:
    for number in (1, 2):
        folder = out / f"round-{number}"
        right = dict.fromkeys((f"train-{task:04d}" for task in range(TASKS)), 0.0)
        asked = rollouts(folder / "rollouts")
        for row in asked:
            right[row["sample_id"]] += row["acc"]
        assert len(asked) == TASKS * GENERATIONS
        assert {(row["round"], row["policy"]) for row in asked} == {(number, f"round-{number - 1}")}
        pool, manifest = names(pool_of(out, number)), read(folder / f"pool-{number}.parquet.manifest.json")
        positive = [name for name in pool if 0 < right[name] < GENERATIONS]
        zero = [name for name in pool if right[name] == 0]
        assert sorted(positive) == [name for name, count in sorted(right.items()) if 0 < count < GENERATIONS] != []
        assert len(pool) == len(set(pool)) == len(positive) + len(zero) == manifest["kept"]
        assert len(zero) + manifest["shortfall"] == (len(positive) + 2) // 4  # 0.2 / 0.8, half up
        assert len(names(pool_of(out, number, ".control"))) == len(pool)


def test_a_round_trains_on_its_pool_alone_at_the_chosen_temperature(out: Path) -> None:
    result = read(out / "result.json")
    for number, each in enumerate(result["rounds"], 1):
        pool, rows = names(pool_of(out, number)), rollouts(out / f"round-{number}" / "training")
        assert len(rows) == STEPS * min(16, len(pool)) * GENERATIONS
        assert {row["sample_id"] for row in rows} <= set(pool)
        assert {row["train_step"] for row in rows} == set(range(STEPS))
        assert {(row["round"], row["policy"]) for row in rows} == {(number, f"round-{number - 1}")}
        assert {row["temperature"] for row in rows} == {each["temperature"]} <= {1.0, 1.2}
        assert {row["temperature"] for row in rollouts(out / f"round-{number}" / "sweep")} == {1.0, 1.2}


def test_a_trainer_loads_the_pool_as_it_loads_the_data(out: Path) -> None:
    schemas = [pq.read_schema(out / name) for name in ("data/train.parquet", "round-2/pool-2.parquet")]
    assert schemas[0].equals(schemas[1], check_metadata=True)
    assert b'"_type": "Image"' in schemas[1].metadata[b"huggingface"]


def test_results_and_reports_are_written(out: Path) -> None:
    result = read(out / "result.json")
    made = result["settings"]
    assert (made["seed"], made["arm"], made["tasks"], made["steps"]) == (3, "pool", TASKS, STEPS)
    first, *later = result["held_out"]
    assert [one["valid"] for one in first["files"]] == [16]
    assert [[one["valid"] for one in each["files"]] for each in later] == [[16, 16]] * 2
    assert [each["paired"]["n"] for each in later] == [16, 16]
    for each in result["rounds"]:
        moved = each["transitions"]
        assert moved["both"] == moved["up"] + moved["same"] + moved["down"] == TASKS
    assert len(result["mislabelled"]) == 2  # 6 % of 40
    for page, key in (("report", "transitions"), ("report-temperature", "temperature")):
        text = (out / page / "report.html").read_text("utf-8")
        data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
        assert [bool(each["blocks"]) for each in data["sections"] if each["key"] == key] == [True]


def test_kills_at_any_moment_change_no_result(out: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rounds"
    one_round = [*ROUNDS, str(folder), "--rounds", "1"]
    kills = [
        kill_during("warm start step  20", *one_round),
        kill_during(f"--out {folder / 'round-1' / 'rollouts'}", *one_round),
        kill_during("GRPO       2 steps", *one_round),
        kill_during(f"--out {folder / 'round-1' / 'held-out'}", *one_round),
    ]
    assert all(kills)
    run(*one_round)
    assert len(read(folder / "result.json")["rounds"]) == 1
    run(*ROUNDS, str(folder))  # goes on with the second
    here, there = (json.dumps(read(each / "result.json")).replace(str(each), "OUT") for each in (folder, out))
    assert json.loads(here)["held_out"] == json.loads(there)["held_out"]
    for number in (1, 2):
        trained, as_trained = (rollouts(each / f"round-{number}" / "training") for each in (folder, out))
        assert len(trained) == len(as_trained)
        for kind in ("", ".control"):
            own, other = (pq.read_table(pool_of(each, number, kind)) for each in (folder, out))
            assert own.equals(other)


def test_other_settings_are_refused_with_what_differs(out: Path) -> None:
    printed = run(*ROUNDS, str(out), "--seed", "4", "--steps", "3", code=1)
    assert printed == (
        f"{out} was made with seed 3, not 4; steps 2, not 3. Give the same settings, or another --out.\n"
    )


@pytest.mark.xdist_group("next_round")  # beside the others
def test_the_benchmark_compares_pools_with_a_control_of_their_size() -> None:
    arms = ["pool", "learnability", "control"]
    words = ["--quick", "--seeds", "3", "--arms", ",".join(arms), "--limit", "10", "--json"]
    done = subprocess.run(
        [sys.executable, "benchmarks/next_round.py", *words],
        cwd=ROOT, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    (seed,) = measured["seeds"]
    assert seed["pool"]["control"] == seed["pool"]["kept"] == seed["pool"]["zero"] + seed["pool"]["positive"] <= 10
    assert list(seed["hits"]) == ["warm start", "round 1", *arms]
    assert seed["sizes"]["learnability"] == [seed["pool"]["positive"], 0]  # never-solved ones have a weight of 0
    assert seed["sizes"]["control"][0] == seed["sizes"]["pool"][0]
    for arm in arms[:2]:
        gap = (seed["hits"][arm] - seed["hits"]["control"]) / 16
        assert measured["less_control"][arm]["by_seed"] == [gap]
        assert seed["only"][arm][0] - seed["only"][arm][1] == seed["hits"][arm] - seed["hits"]["control"]
