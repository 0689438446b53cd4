"""Dumps that verl's own functions write, and those that went wrong, read as rollouts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow_type
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.rows import NoRowsError
from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards.tables.trainer_logs import trainer_log
from grounding_rewards_adapters.verl import compute_score
from tests.tables.trainer_logs import dumped

BOX = {"bbox": [10, 10, 30, 20], "space": "pixel", "image_size": [100, 50], "id": "a7"}
CLICK = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.9, "format": 0.1}}


def log(path: Path) -> Any:
    found = trainer_log(path)
    assert found is not None
    return found


def rows(path: Path, *columns: str) -> list[dict[str, Any]]:
    found = log(path)
    batches = found.batches(columns or None, whole=not columns)
    return [{name: row.get(name) for name in columns or found.columns} for batch in batches for row in batch.rows]


def write(folder: Path, step: int, *lines: dict[str, Any], end: str = "\n") -> Path:
    folder.mkdir(exist_ok=True)
    usual = {"input": "Close", "output": "(1, 2)", "gts": None, "score": 0.0, "step": step}
    file = folder / f"{step}.jsonl"
    file.write_text("\n".join(json.dumps({**usual, **line}) for line in lines) + end)
    return file


def test_what_the_adapter_gives_comes_back(tmp_path: Path) -> None:
    texts, target = ["(20, 15)", "(50, 15)", "?"], json.dumps(BOX)
    scores = [compute_score("clicks", text, target, {}, **CLICK) for text in texts]
    infos = {key: np.array([each[key] for each in scores]) for key in scores[0]}
    found = dumped.trainer(dumped.OLD, 12)
    summed = dumped.Summed(infos["score"].tolist())
    batch = {"prompts": np.array([[1]] * 3), "responses": np.array([[2], [3], [4]]), "token_level_scores": summed}
    items = [SimpleNamespace(non_tensor_batch={"reward_model": {"ground_truth": target}})] * 3
    data = dumped.Items(batch=batch, items=items, non_tensor_batch={"request_id": np.array(["r"] * 3)})
    found.tokenizer = dumped.Tokens(["", "Close", *texts])
    found._log_rollout_data(data, infos, {}, str(tmp_path))
    dumped.wait(found)
    wanted = ("sample_id", "response", "total", "acc", "target", "image_size", "train_step", "hit", "parsed")
    assert rows(tmp_path, *wanted) == [
        {"sample_id": "a7", "response": text, "total": total, "acc": acc, "target": target,
         "image_size": [100.0, 50.0], "train_step": 12, "hit": acc, "parsed": parsed}
        for text, total, acc, parsed in [(texts[0], 1.0, 1.0, 1.0), (texts[1], 0.1, 0.0, 1.0), ("?", 0.0, 0.0, 0.0)]
    ]  # fmt: skip
    assert log(tmp_path).parts == ("parsed", "in_image", "hit", "format")


def test_dumps_of_the_second_trainer_lack_acc_and_count_sessions_once(tmp_path: Path) -> None:
    texts = ["(1, 2)", "(3, 4)", "(5, 6)", "(7, 8)"]
    keys = ["u_1_0", "u_0_0", "u_0_1", "v_0_0"]
    fields = {
        "uid": np.array(keys), "prompts": dumped.padded([[1]] * 4), "responses": dumped.padded([[2], [3], [4], [5]]),
        "rm_scores": dumped.Summed([0.0, 0.5, 1.0, 0.5]),
        "reward_model": np.array([{"ground_truth": BOX}] * 3 + [{}], dtype=object),
    }  # fmt: skip
    queue = SimpleNamespace(kv_batch_get=lambda **_: dict(fields))
    found = dumped.trainer(dumped.NEW, 3, tq=queue)
    found.tokenizer = dumped.Tokens(["", "Close", *texts])
    found._log_rollout_data(SimpleNamespace(keys=keys, partition_id="train"), {}, str(tmp_path))
    dumped.wait(found)
    unnamed = sample_id(instruction="Close")
    found = log(tmp_path)
    assert "acc" not in found.columns
    assert rows(tmp_path, "sample_id", "response", "total", "acc") == [
        {"sample_id": "a7", "response": "(5, 6)", "total": 1.0, "acc": None},
        {"sample_id": "a7", "response": "(1, 2)", "total": 0.0, "acc": None},
        {"sample_id": unnamed, "response": "(7, 8)", "total": 0.5, "acc": None},
    ]
    assert found.left_out == {}
    list(found.batches(["response"]))
    assert found.left_out == {"answers before a session's last": 1}
    with pytest.raises(TableError, match=r"no column 'acc'; score them first: `grounding-rewards pool score`"):
        open_rollouts([tmp_path]).need("acc")


@pytest.mark.parametrize("source", [dumped.OLD, dumped.NEW])
def test_validation_by_steps_with_what_a_lab_calls_it(tmp_path: Path, source: str) -> None:
    for step in (10, 9):
        infos = {"reward": [0.5, 0.0], "accuracy": [True, np.float64(0.0)], "data_source": ["x", "y"], "iou": [0.25, 1]}
        dumped.dump(dumped.trainer(source, step), tmp_path, infos, outputs=["(1, 2)", "é\n\u2028"], scores=[0.5, 0.0])
    assert [file.name for file in log(tmp_path).files] == ["9.jsonl", "10.jsonl"]
    found = rows(tmp_path)
    assert [(row["train_step"], row["response"], row["acc"], row["source"], row["iou"]) for row in found] == [
        (step, *rest) for step in (9, 10) for rest in [("(1, 2)", 1.0, "x", 0.25), ("é\n\u2028", 0.0, "y", 1.0)]
    ]
    assert list(found[0]) == list(log(tmp_path).columns)
    assert len({row["rollout"] for row in found}) == 4
    assert found == rows(tmp_path)


def test_what_numpy_leaves_as_text_is_read(tmp_path: Path) -> None:
    infos = {"acc": [np.bool_(True), np.float32(0.0)], "iou": [np.float32(0.5), np.float32("nan")]}
    boxes = [np.array([1, 2, 3, 4])] * 2
    dumped.dump(dumped.trainer(dumped.OLD, 1), tmp_path, infos, outputs=["(1, 2)"] * 2, gts=boxes)
    assert rows(tmp_path, "acc", "iou", "target") == [
        {"acc": 1.0, "iou": 0.5, "target": '"[1 2 3 4]"'},
        {"acc": 0.0, "iou": None, "target": '"[1 2 3 4]"'},
    ]


def test_a_target_that_could_not_be_used_is_unscored(tmp_path: Path) -> None:
    flags = {"acc": 0.0, "valid": 0.0, "parsed": 1.0, "in_image": 0.0, "hit": 0.0}
    write(tmp_path, 1, {**flags}, {**flags, "valid": 1.0}, {"valid": 0.0, "acc": 0})
    assert rows(tmp_path, "total", "acc", "hit", "parsed") == [
        {"total": None, "acc": None, "hit": None, "parsed": 1.0},
        {"total": 0.0, "acc": 0.0, "hit": 0.0, "parsed": 1.0},
        {"total": 0.0, "acc": 0.0, "hit": None, "parsed": None},
    ]


@pytest.mark.parametrize(
    ("gts", "expected"),
    [
        ('{"id": 7, "bbox": [1, 2, 3, 4]}', "7"),
        ({"id": "", "bbox": [1, 2, 3, 4]}, sample_id(instruction="Close", target={"id": "", "bbox": [1, 2, 3, 4]})),
        ({"id": True}, sample_id(instruction="Close", target={"id": True})),
        ([1, 2, 3.5, 4], sample_id(instruction="Close", target=[1, 2, 3.5, 4])),
        ("up", sample_id(instruction="Close", target="up")),
        ("{", sample_id(instruction="Close", target="{")),
        (None, sample_id(instruction="Close")),
        (float("nan"), sample_id(instruction="Close")),
    ],
)  # fmt: skip
def test_samples_are_named_by_their_target_else_by_content(tmp_path: Path, gts: Any, expected: str) -> None:
    write(tmp_path, 1, {"gts": gts})
    assert rows(tmp_path, "sample_id")[0]["sample_id"] == expected


def test_a_sample_that_nothing_names_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path, 1, {}, {"input": "", "gts": None})
    with pytest.raises(TableError, match=rf"{file}, row 1 \(line 2\): neither prompt nor target says which sample"):
        rows(tmp_path)


def test_shares_are_no_verdicts_but_do_not_keep_from_scoring_anew(tmp_path: Path) -> None:
    file = write(tmp_path, 1, {"accuracy": 1}, {"accuracy": None, "correct": 0.25})
    with pytest.raises(TableError, match=rf"{file}, row 1 \(line 2\): correct is 0.25; expected 0 or 1.*score"):
        rows(tmp_path)
    assert len(rows(tmp_path, "sample_id", "response", "target")) == 2


def test_a_part_stays_a_number(tmp_path: Path) -> None:
    lines = [{"iou": 1.0}] * 70
    file = write(tmp_path, 1, *lines, {"iou": "high"})
    with pytest.raises(TableError, match=rf"{file}, row 70 \(line 71\): iou is 'high'; expected a number"):
        rows(tmp_path)


@pytest.mark.parametrize("end", ['\n{"input": "Cl', '\n{"input": "é"'.encode().decode()[:12], '\n"'])
def test_a_line_that_was_cut_short_is_counted(tmp_path: Path, end: str, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, 1, {"acc": 1}, {"acc": 0}, end=end)
    write(tmp_path, 2, {"acc": 0})
    (tmp_path / "3.jsonl").touch()
    found = log(tmp_path)
    assert sum(len(batch) for batch in found.batches()) == 3
    assert found.left_out == {"cut short in writing": 1, "files without a row": 1}
    list(found.batches())
    assert found.left_out == {"cut short in writing": 1, "files without a row": 1}
    said = "left out of what verl logged: 1 cut short in writing, 1 files without a row"
    assert [record.getMessage() for record in caplog.records] == [f"{tmp_path}: {said}"]


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path, 1, {}, end='\n{"input": \n{"input"')
    with pytest.raises(TableError, match=rf"{file}, row 1 \(line 2\): not JSON"):
        rows(tmp_path)
    write(tmp_path, 1, {}, end='\n{"input": \n')
    with pytest.raises(TableError, match=rf"{file}, row 1 \(line 2\): not JSON"):
        rows(tmp_path)


def test_a_line_without_what_every_dump_has_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path, 1, {"gts": BOX}, {"gts": BOX})
    first, second = file.read_text().splitlines()
    line = json.loads(second)
    del line["input"], line["score"]
    file.write_text(f"{first}\n{json.dumps(line)}\n")
    with pytest.raises(TableError, match=rf"^{file}, row 1 \(line 2\): lacks input, score, unlike the lines before$"):
        rows(tmp_path)


def test_what_is_nearly_a_dump_says_what_lacks(tmp_path: Path) -> None:
    file = tmp_path / "5.jsonl"
    file.write_text('{"input": "a", "output": "b", "step": 1}\n')
    for path in (tmp_path, file):
        with pytest.raises(TableError, match=r"looks like a dump of verl, but lacks score, gts; expected"):
            trainer_log(path)
    file.write_text('{"input": "a", "output": "b", "score": 1}\n')  # which many rows of data have
    with pytest.raises(TableError, match=r"lacks gts, step; expected"):
        trainer_log(file)
    file.write_text('{"input": "a", "output": "b"}\n')
    assert trainer_log(tmp_path) is trainer_log(file) is None
    file.write_text('{"sample_id": "a", "acc": 1, "input": "a", "output": "b", "score": 1, "step": 1}\n')
    assert trainer_log(file) is None


def test_a_file_of_something_else_among_dumps_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1, {})
    (tmp_path / "2.jsonl").write_text('{"sample_id": "a", "acc": 1}\n')
    with pytest.raises(TableError, match=r"2\.jsonl: is no dump of verl, unlike files beside it"):
        trainer_log(tmp_path)


def test_batches_are_of_the_types_of_rollout_tables_and_bounded(tmp_path: Path) -> None:
    write(tmp_path, 1, *[{"output": f"\ud800 {place}", "acc": 1, "round": 2} for place in range(10)])
    found = log(tmp_path)
    batches = list(found.batches(size=4))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert batches[0].whole.schema == found.schema
    assert all(field.type == arrow_type(COLUMNS[field.name]) for field in found.schema)
    assert batches[0].column("response")[0] == "\ufffd 0"
    asked = next(found.batches(["hit", "round", "policy"], whole=False))
    assert asked.whole.schema == pa.schema([("round", pa.int64())])
    assert asked.rows[0] == {"round": 2}


def test_long_texts_make_small_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding_rewards.tables.trainer_logs.logged.BATCH_BYTES", 100)
    write(tmp_path, 1, *[{"output": "x" * length} for length in (60, 60, 200, 1, 1)])
    assert [len(batch) for batch in log(tmp_path).batches(["response"])] == [2, 1, 2]


def test_logs_of_two_runs_may_be_read_together(tmp_path: Path) -> None:
    write(tmp_path / "a", 1, {"acc": 1, "gts": BOX})
    write(tmp_path / "b", 1, {"acc": 0, "gts": BOX, "output": "(90, 9)"})
    found = open_rollouts([tmp_path / "a", tmp_path / "b"]).read(["sample_id", "acc", "rollout"]).to_pylist()
    assert sorted(row["acc"] for row in found) == [0.0, 1.0]
    assert len({row["rollout"] for row in found}) == 2


def test_an_answer_that_two_runs_gave_at_the_same_place_counts_twice(tmp_path: Path) -> None:
    write(tmp_path / "a", 1, {"acc": 1, "gts": BOX}, {"acc": 1, "gts": BOX})
    write(tmp_path / "b", 1, {"acc": 1, "gts": BOX}, {"acc": 1, "gts": BOX, "output": "(20, 15)"})
    assert stats_of(open_rollouts([tmp_path / "a", tmp_path / "b"])).n.tolist() == [4]
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((tmp_path / "a" / "1.jsonl").read_bytes())
    assert rows(copy, "rollout") == rows(tmp_path / "a", "rollout")
    with pytest.raises(PoolError, match=r"a7.*rollout"):
        stats_of(open_rollouts([tmp_path / "a", copy]))


@pytest.mark.parametrize(
    ("field", "came", "expected"),
    [("temperature", "hot", "a number"), ("round", 3.5, "a whole number"), ("round", "two", "a whole number")],
)
def test_what_chooses_rollouts_is_never_guessed(tmp_path: Path, field: str, came: Any, expected: str) -> None:
    file = write(tmp_path, 1, {field: "2"}, {field: None}, {field: float("nan")}, {field: came})
    with pytest.raises(TableError, match=rf"{file}, row 3 \(line 4\): {field} is {came!r}; expected {expected}, or"):
        rows(tmp_path, field)
    write(tmp_path, 1, {field: "2"}, {field: None}, {field: float("nan")}, {field: 3.0})
    assert [row[field] for row in rows(tmp_path, field)] == [2, None, None, 3]


def test_statistics_of_dumps(tmp_path: Path) -> None:
    hard = {"gts": {**BOX, "id": "b"}}
    write(tmp_path, 1, *[{"acc": acc, "score": acc / 2, "gts": BOX} for acc in (1, 0, 1)], {"acc": 0, **hard})
    write(tmp_path, 2, {"acc": None, **hard}, {"acc": 0, **hard})
    found = stats_of(open_rollouts([tmp_path]))
    assert found.sample_id.tolist() == ["a7", "b"]
    assert found.n.tolist() == [3, 2]
    assert found.num_correct.tolist() == [2, 0]
    assert found.unscored.tolist() == [0, 1]
    assert found.mean.tolist() == pytest.approx([1 / 3, 0.0])
    assert found.target_area.tolist() == pytest.approx([200 / 5000] * 2)


def test_an_empty_directory_or_dump_is_no_log(tmp_path: Path) -> None:
    assert trainer_log(tmp_path) is None
    assert trainer_log(tmp_path / "nowhere") is None
    write(tmp_path, 1, {}, end="")
    (tmp_path / "1.jsonl").write_text('{"input": "Cl')
    assert trainer_log(tmp_path) is None
    write(tmp_path, 2, {})
    found = log(tmp_path)
    (tmp_path / "2.jsonl").write_text("")
    with pytest.raises(NoRowsError, match=r"no rollouts in it \(left out: 1 cut short in writing, 1 files without"):
        list(found.batches())


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "nan"])
def test_a_total_that_is_no_number_beside_a_verdict_is_an_error(tmp_path: Path, score: Any) -> None:
    write(tmp_path, 1, {"score": 1.0, "acc": 1.0}, {"score": score, "acc": 1.0})
    with pytest.raises(TableError, match=r"1\.jsonl, row 1 \(line 2\): total is .*expected a finite number beside"):
        rows(tmp_path, "total", "acc")


def test_a_total_that_is_no_number_without_a_verdict_was_not_scored(tmp_path: Path) -> None:
    write(tmp_path, 1, {"score": float("nan"), "acc": None}, {"score": 1.0, "acc": 1.0})
    assert rows(tmp_path, "total", "acc") == [{"total": None, "acc": None}, {"total": 1.0, "acc": 1.0}]
