"""Directories that two launches recorded into: every pool command counts both, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables.recorder import RolloutRecorder
from tests.cli.command import result_of, write_rows

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
    read = result_of(run("pool", "stats", *twice.glob("rollouts-run-2-*.parquet"), "--json").out)
    assert (read["rollouts"], read["warnings"]) == (4, [])
    assert result_of(run("pool", "stats", twice, "--json").out)["rollouts"] == 8


@pytest.fixture
def workers(tmp_path: Path) -> Path:
    """Records of two reward workers, the second with a part of its own."""
    folder = tmp_path / "records"
    boxes = [json.dumps({"bbox": [0, 0, 20, 20], "image_size": [100, 100]})] * 2
    recorders = [RolloutRecorder(folder, parts=parts) for parts in (["hit"], ["hit", "size"])]
    scores = ({"hit": [1.0, 0.0]}, {"hit": [1.0, 1.0], "size": [0.5, 0.5]})
    for name, recorder, parts in zip("ab", recorders, scores, strict=True):
        acc, texts = parts["hit"], ["(10, 10)", "(90, 90)" if name == "a" else "(10, 10)"]
        rows = {"sample_id": [name] * 2, "response": texts, "target": boxes, "acc": acc, "total": acc, **parts}
        recorder.append(rows)
        recorder.close()
    assert len({*folder.glob("rollouts-*.parquet")}) == 2
    return folder


def test_every_command_reads_what_two_workers_recorded(run, workers, tmp_path):
    click = ("--recipe", "click", "--response-space", "pixel")
    (evaluated,) = result_of(run("eval", workers, *click, "--json").out)
    assert (evaluated["valid"], evaluated["correct"], evaluated["warnings"]) == (4, 3, [])
    assert result_of(run("pool", "stats", workers, "--json").out)["rollouts"] == 4
    out = tmp_path / "scored.parquet"
    assert run("score", workers, *click, "--prefix", "gr_", "--out", out).code == 0
    rows = pq.read_table(out).sort_by([("sample_id", "ascending"), ("gr_acc", "ascending")]).to_pylist()
    assert [(row["sample_id"], row["gr_acc"], row["size"]) for row in rows] == [
        ("a", 0.0, None), ("a", 1.0, None), ("b", 1.0, 0.5), ("b", 1.0, 0.5),
    ]  # fmt: skip
    explained = [
        result_of(run("explain", "--recipe", "click", *click[2:], workers, "--row", row, "--json").out)["total"]
        for row in range(4)
    ]
    assert sorted(explained) == [0.1, 1.0, 1.0, 1.0]


def test_workers_may_record_into_folders_of_their_own(run, workers):
    for number, file in enumerate(sorted(workers.glob("*.parquet"))):
        (workers / str(number)).mkdir()
        file.rename(workers / str(number) / file.name)
    (evaluated,) = result_of(run("eval", workers, "--response-space", "pixel", "--json").out)
    assert (evaluated["valid"], evaluated["correct"]) == (4, 3)


def test_files_of_rollouts_are_one_table_unless_one_is_named(run, tmp_path):
    row = {"sample_id": "a", "response": "(10, 10)", "target": {"bbox": [0, 0, 20, 20]}}
    for name, count in (("gpu0", 2), ("gpu1", 3)):
        write_rows(tmp_path / f"{name}.jsonl", *({**row, "rollout": number} for number in range(count)))
    words = ("eval", tmp_path, "--response-space", "pixel", "--json")
    assert [result_of(run(*words, *more).out)[0]["valid"] for more in ((), ("--split", "gpu1"))] == [5, 3]


@pytest.mark.parametrize("command", ["eval", "pool"])
def test_trainers_logs_are_read_by_eval_as_by_pool(run, tmp_path, command):
    line = {"input": "Open", "gts": json.dumps({"bbox": [0, 0, 20, 20]}), "score": 1.0, "acc": 1.0}
    for step in (1, 2):
        write_rows(tmp_path / f"{step}.jsonl", *({**line, "output": f"({x}, 10)", "step": step} for x in (10, 90)))
    words = ("eval", tmp_path, "--response-space", "pixel") if command == "eval" else ("pool", "stats", tmp_path)
    read = result_of(run(*words, "--json").out)
    assert (read[0]["valid"], read[0]["correct"]) == (4, 2) if command == "eval" else read["rollouts"] == 4
