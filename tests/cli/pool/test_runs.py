"""Directories that two launches recorded into: every pool command counts both, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grounding_rewards.tables.recorder import RolloutRecorder

SAMPLES = {"sample_id": ["a", "a", "b", "b"], "acc": [1, 0, 0, 0], "response": ["(1, 2)"] * 4}


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    folder = tmp_path / "records"
    for warm in (1.0, 1.2):
        recorder = RolloutRecorder(folder)
        recorder.append({**SAMPLES, "total": SAMPLES["acc"], "temperature": [warm] * 4})
        recorder.close()
    file = max(folder.glob("*.parquet"))
    file.rename(folder / f"rollouts-run-2-{file.name.removeprefix('rollouts-')}")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["stats", "DIR"],
        ["next", "DIR", "--out", "pool.jsonl"],
        ["transitions", "DIR", "DIR"],
        ["temperature", "DIR"],
        ["curriculum", "DIR", "--stages", "plan.json", "--out", "stages"],
        ["report", "DIR", "--out", "page"],
        ["score", "DIR", "--recipe", "gui-rcpo", "--option", "response_space=pixel", "--out", "scored"],
    ],
    ids=lambda words: words[0],
)
def test_runs_count_together_with_one_warning(run, twice, tmp_path, words):
    places = {"DIR": twice, "pool.jsonl": tmp_path / "pool.jsonl"}
    places |= {name: tmp_path / name for name in ("stages", "page", "scored")}
    plan = {"bands": {"all": [0.0, 1.0]}, "stages": [{"name": "all", "bands": ["all"]}]}
    places["plan.json"] = tmp_path / "plan.json"
    places["plan.json"].write_text(json.dumps(plan))
    done = run("pool", *(places.get(word, word) for word in words))
    warning = (
        f"warning: {twice} holds rollouts of 2 runs, which count together; those of the last one are "
        f"{twice}/rollouts-run-2-*.parquet\n"
    )
    assert done.code == 0, done.err
    assert done.err.count(warning) == (2 if words[0] == "transitions" else 1)


def test_one_run_is_read_by_its_files(run, twice):
    read = json.loads(run("pool", "stats", *twice.glob("rollouts-run-2-*.parquet"), "--json").out)
    assert (read["rollouts"], read["warnings"]) == (4, [])
    assert json.loads(run("pool", "stats", twice, "--json").out)["rollouts"] == 8
