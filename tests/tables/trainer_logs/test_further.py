"""Logs of ms-swift, SkyRL, NeMo-Gym, verifiers and AReaL, read as rollouts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards.tables.trainer_logs import trainer_log
from tests.cli.command import Runner

BOX = {"bbox": [10, 20, 110, 90], "space": "pixel", "image_size": [640, 480], "id": "s0"}
WIRE = json.dumps(BOX)
TABLE = {
    "step": ["3", "3"], "prompt": ["<|im_start|>open", "<|im_start|>close"],
    "completion": ["(50, 50)<|im_end|>", "no"], "gelato": [0.5, float("nan")], "advantages": [0.7, -0.7],
    "solution": [WIRE, WIRE],
}  # fmt: skip
SKYRL = {
    "input_prompt": "<|im_start|>open", "output_response": "(50, 50)<|im_end|>", "score": [0.0, 0.25, 0.5],
    "stop_reason": "stop", "env_class": "grounding_rewards", "data_source": "web",
    "env_extras": {"reward_spec": {"ground_truth": WIRE}},
}  # fmt: skip


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


GYM = {
    "responses_create_params": {"input": [{"role": "user", "content": [{"type": "input_text", "text": "open"}]}]},
    "response": {"output": [message("(1, 1)"), {"type": "reasoning"}, message("(50, 50)")]},
    "target": WIRE, "reward": 0.9, "acc": 1.0, "valid": 1.0, "parsed": 1.0, "distance": 0.8, "mask_sample": False,
    "_ng_task_index": 4, "_ng_rollout_index": 1,
}  # fmt: skip
NODES = [
    {"message": {"role": "user", "content": [{"type": "text", "text": "open"}]}, "sampled": False},
    {"parent": 0, "message": {"role": "assistant", "content": "(50, 50)"}, "sampled": True},
]
TRACE = {
    "task": {"data": {"idx": 0, "prompt": NODES[0]["message"]["content"], "target": WIRE}, "key": "k"}, "nodes": NODES,
    "rewards": {"recipe": {"score": 0.9, "weight": 2.0}}, "metrics": {"total": 0.9, "acc": 1.0, "distance": 0.8},
}  # fmt: skip
EPISODE = {
    "id": "e", "env": {"id": "gui-clicks"}, "task": TRACE["task"], "ok": True,
    "run": {"type": "train", "id": "r", "work": {"type": "train", "step": 7}},
    "traces": [TRACE, {**TRACE, "rewards": {"recipe": None}, "nodes": [], "root_reply": "no"}],
}  # fmt: skip
AREAL = {
    "task_id": 12, "sample_idx": 0, "seqlen": 9, "prompt_len": 4, "head_version": 1, "tail_version": 2, "reward": 0.9,
    "prompt": "<|im_start|>open", "completion": "(50, 50)<|im_end|>",
}  # fmt: skip
LOGS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "swift": ("completions.jsonl", TABLE),
    "skyrl": ("dumped_evals/global_step_20_evals/web.jsonl", SKYRL),
    "nemo_gym": ("rollouts.jsonl", GYM),
    "verifiers": ("traces.jsonl", EPISODE),
    "areal": ("rollout/2/12.jsonl", AREAL),
}


def written(folder: Path, name: str, *lines: Mapping[str, Any], end: str = "\n") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(map(json.dumps, lines)) + end)
    return file


def read(path: Path, *columns: str) -> list[list[Any]]:
    log = trainer_log(path)
    assert log is not None
    return [[row[name] for name in columns] for batch in log.batches(columns) for row in batch.rows]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("swift", [["s0", "(50, 50)<|im_end|>", WIRE, 0.5, 3], ["s0", "no", WIRE, None, 3]]),
        ("skyrl", [["s0", "(50, 50)<|im_end|>", WIRE, 0.75, 20]]),
        ("nemo_gym", [["s0", "(50, 50)", WIRE, 0.9, None]]),
        ("verifiers", [["s0", "(50, 50)", WIRE, 1.8, 7], ["s0", "no", WIRE, None, 7]]),
        ("areal", [[sample_id(instruction="<|im_start|>open"), "(50, 50)<|im_end|>", None, 0.9, 2]]),
    ],
)
def test_each_form_says_what_its_trainer_wrote(tmp_path: Path, kind: str, rows: Sequence[Sequence[Any]]) -> None:
    name, line = LOGS[kind]
    file = written(tmp_path, name, line)
    log = trainer_log(file)
    assert log is not None
    assert log.kind == kind
    assert read(file, "sample_id", "response", "target", "total", "train_step") == rows
    if kind != "nemo_gym":  # whose file has any name
        (tmp_path / "dumped_evals" / "global_step_20_evals").mkdir(parents=True, exist_ok=True)
        written(tmp_path, "dumped_evals/global_step_20_evals/aggregated_results.jsonl", {"eval/all/avg_score": 1.0})
        assert read(tmp_path, "sample_id", "response", "target", "total", "train_step") == rows


def test_verdicts_and_parts_are_there_where_the_trainer_keeps_them(tmp_path: Path) -> None:
    unusable = {**GYM, "acc": 0.0, "reward": 0.0, "valid": 0.0, "mask_sample": True, "distance": 0.0}
    file = written(tmp_path, "gym.jsonl", GYM, unusable, {**GYM, "mask_sample": True, "valid": 1.0})
    scores = ["acc", "total", "parsed", "distance"]
    assert read(file, *scores) == [[1.0, 0.9, 1.0, 0.8], [None, None, 1.0, None], [None, None, 1.0, None]]
    traces = written(tmp_path, "run/traces.jsonl", EPISODE)
    assert read(traces, "acc", "total", "distance") == [[1.0, 1.8, 0.8], [None, None, None]]
    log = trainer_log(written(tmp_path, "areal.jsonl", AREAL))
    assert log is not None
    assert "acc" not in log.columns


def test_the_number_of_a_task_separates_samples_without_names(tmp_path: Path) -> None:
    lines = [{**AREAL, "task_id": task} for task in (1, 1, 2, 2)]
    names = [name for (name,) in read(written(tmp_path, "areal.jsonl", *lines), "sample_id")]
    assert [names.index(name) for name in names] == [0, 0, 2, 2]


def test_repeats_of_a_run_without_steps_are_one_round(tmp_path: Path) -> None:
    lines = [{**GYM, "target": json.dumps({**BOX, "id": name})} for name in "abab"]
    log = trainer_log(written(tmp_path, "gym.jsonl", *lines))
    assert log is not None
    assert (log.samples.rounds, log.samples.doubts) == (None, [])


def test_several_rewards_have_no_total_and_a_table_that_is_logged_again_counts_once(tmp_path: Path) -> None:
    split = {**TABLE, "gelato/distance": [0.4, 0.5], "gelato/format": [1.0, 0.0]}
    del split["gelato"]
    file = written(tmp_path, "completions.jsonl", split, {**split, "step": ["4", "4"]})
    log = trainer_log(file)
    assert log is not None
    rows = [
        [row[name] for name in ("total", "gelato/distance", "gelato/format", "train_step")]
        for batch in log.batches()
        for row in batch.rows
    ]
    assert rows == [[None, 0.4, 1.0, 3], [None, 0.5, 0.0, 3]]
    assert dict(log.left_out) == {"logged before": 2}


def test_episodes_that_answer_alike_all_count(tmp_path: Path) -> None:
    alike = {**EPISODE, "traces": [TRACE, TRACE]}
    log = trainer_log(written(tmp_path, "traces.jsonl", alike, {**alike, "id": "f"}))
    assert log is not None
    assert [len(batch) for batch in log.batches()] == [4]
    assert dict(log.left_out) == {}


def test_files_of_one_step_are_read_by_their_names(tmp_path: Path) -> None:
    places = [("9", "web"), *(("10", name) for name in "fbadce")]
    for step, name in places:
        place = f"dumped_evals/global_step_{step}_evals/{name}.jsonl"
        written(tmp_path, place, {**SKYRL, "output_response": name})
    assert read(tmp_path, "response", "train_step") == [["web", 9], *([name, 10] for name in "abcdef")]


def test_what_was_cut_short_or_is_of_another_form(tmp_path: Path) -> None:
    file = written(tmp_path, "gym.jsonl", GYM, end='\n{"responses_create_params": {')
    log = trainer_log(file)
    assert log is not None
    assert [len(batch) for batch in log.batches()] == [1]
    assert dict(log.left_out) == {"cut short in writing": 1}
    odd = written(tmp_path, "odd.jsonl", {**EPISODE, "traces": [{"rewards": {"recipe": {"score": "high"}}}]})
    with pytest.raises(TableError, match=r"odd.jsonl, .*: is no line of the log of verifiers \(KeyError: 'weight'\)"):
        trainer_log(odd)
    mixed = trainer_log(written(tmp_path, "mixed.jsonl", GYM, EPISODE))
    assert mixed is not None
    with pytest.raises(TableError, match="lacks responses_create_params, response, reward, unlike the lines before"):
        [*mixed.batches()]
    assert trainer_log(written(tmp_path, "rows.jsonl", {"prompt": "a", "completion": "b", "reward": 1.0})) is None
    flat = {"prompt": "a", "completion": "b", "advantages": 0.5, "sample_id": "s", "acc": 1}  # one rollout a line
    assert trainer_log(written(tmp_path, "flat.jsonl", flat)) is None
    odd = written(tmp_path, "completions.jsonl", TABLE, {**TABLE, "completion": "no"})
    with pytest.raises(TableError, match=r"is no line of the log of swift \(KeyError: 'completion'\)"):
        trainer_log(odd)
    (tmp_path / "none" / "dumped_evals").mkdir(parents=True)
    assert trainer_log(tmp_path / "none") is None


def test_values_of_other_kinds_raise_no_error_of_python(tmp_path: Path) -> None:
    odd = written(tmp_path, "odd.jsonl", {**EPISODE, "traces": [{**TRACE, "metrics": 1.0}]})
    with pytest.raises(TableError, match=r"is no line of the log of verifiers \(TypeError"):
        trainer_log(odd)
    listed = written(tmp_path, "areal.jsonl", {**AREAL, "task_id": [12]}, {**AREAL, "task_id": [13]})
    first, second = read(listed, "sample_id", "total")
    assert first == second == [sample_id(instruction="<|im_start|>open"), 0.9]


def test_commands_count_and_score_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = Runner(capsys)
    assert open_rollouts([written(tmp_path, "gym.jsonl", GYM)]).read(["acc"]).to_pylist() == [{"acc": 1.0}]
    for kind in ("swift", "skyrl", "nemo_gym", "verifiers"):
        name, line = LOGS[kind]
        file = written(tmp_path / kind, name, line)
        found = run(
            "pool", "score", file, "--recipe", "click", "--response-space", "pixel", "--out", tmp_path / f"{kind}.out"
        )
        assert found.code == 0, found.err
        rows = open_rollouts([tmp_path / f"{kind}.out"]).read(["acc"]).to_pylist()
        assert rows == [{"acc": 1.0}, {"acc": 0.0}][: len(rows)]
    unscored = run("pool", "stats", written(tmp_path, "areal.jsonl", AREAL))
    assert "no column 'acc'; score them first" in unscored.err
