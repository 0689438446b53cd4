"""Tables of completions that TRL's trainer writes, and those of other reward functions, read as rollouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.errors import TableError
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards.tables.trainer_logs import trainer_log
from grounding_rewards_adapters.trl import reward_funcs
from tests.trainers.trl_tiny import MARKS, text_policy, train

BOX = {"bbox": [0.1, 0.1, 0.6, 0.6], "space": "unit"}


def log(path: Path) -> Any:
    found = trainer_log(path)
    assert found is not None
    return found


def rows(path: Path, *columns: str) -> list[dict[str, Any]]:
    found = log(path)
    batches = found.batches(columns or None, whole=not columns)
    return [{name: row.get(name) for name in columns or found.columns} for batch in batches for row in batch.rows]


def write(folder: Path, at: int, count: int = 2, **columns: Any) -> Path:
    """A table of completions as the trainer writes them; None takes a column away."""
    (folder / "completions").mkdir(parents=True, exist_ok=True)
    usual = {"step": [at] * count, "prompt": ["Close"] * count, "completion": ["(1, 2)"] * count}
    held = {**usual, **columns, "advantage": columns.get("advantage", [0.0] * count)}
    file = folder / "completions" / f"completions_{at:05d}.parquet"
    pq.write_table(pa.table({name: values for name, values in held.items() if values is not None}), file)
    return file


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two generations, of which each is logged twice, and an evaluation over the second file of each."""
    out = tmp_path_factory.mktemp("run")
    held = [{"prompt": said("held out"), "target": {**BOX, "id": "held"}}]
    data = [{"prompt": said(f"click {place}"), "target": {**BOX, "id": f"s{place}"}} for place in range(4)]
    evaluation = {"eval_rows": held, "eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": 4}
    functions = reward_funcs("gelato", format_weight=0.5, record=str(out / "recorded"))
    repeated = {"num_iterations": 2, "max_steps": 4, "log_completions": True}
    train(text_policy(), data, functions, out, **repeated, **evaluation)
    return out


class TestRealTrainer:
    pytestmark = MARKS

    def test_training_responses_come_back_once_as_they_were_recorded(self, run: Path) -> None:
        recorded = [row for row in read_rollouts(run / "recorded").to_pylist() if row["sample_id"] != "held"]
        names = ["sample_id", "response", "total", "acc", "reason", "x_unit", "y_unit", "target"]
        assert len(recorded) == 16
        assert rows(run, *names) == [{name: row[name] for name in names} for row in recorded]
        assert len({row["rollout"] for row in rows(run)}) == 16

    def test_what_is_left_out_is_counted(self, run: Path, caplog: pytest.LogCaptureFixture) -> None:
        found = log(run / "completions")
        assert [file.name for file in found.files] == [f"completions_{step:05d}.parquet" for step in (1, 2, 3, 4)]
        assert sum(len(batch) for batch in found.batches()) == 16
        assert found.left_out == {"logged before": 8, "of evaluations": 8}
        assert "left out of what trl logged: 8 logged before, 8 of evaluations" in caplog.text

    def test_statistics_are_those_of_what_was_recorded(self, run: Path) -> None:
        found = stats_of(open_rollouts([run]))
        expected = stats_of(open_rollouts([run / "recorded"]))
        expected = expected.taken([row for row, name in enumerate(expected.sample_id) if name != "held"])
        for name in ("sample_id", "n", "num_correct", "mean", "variance", "clicks", "parse_rate", "x_unit"):
            assert getattr(found, name).tolist() == pytest.approx(getattr(expected, name).tolist(), nan_ok=True)

    def test_one_file_may_be_read(self, run: Path) -> None:
        found = rows(run / "completions" / "completions_00001.parquet")
        assert [row["train_step"] for row in found] == [1] * 8
        scores = gr.recipe("gelato", format_weight=0.5).score([row["response"] for row in found], [BOX] * 8)
        assert [row["acc"] for row in found] == scores.acc.tolist()


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_of_other_functions_acc_may_be_logged_and_one_makes_the_total(tmp_path: Path) -> None:
    write(tmp_path, 3, **{"hits": [0.5, None], "lab/acc": [1.0, None], "note": ["a", "b"], "sample_id": ["x", None]})
    found = log(tmp_path)
    assert found.parts == ()
    assert rows(tmp_path, "sample_id", "total", "acc", "train_step") == [
        {"sample_id": "x", "total": 0.5, "acc": 1.0, "train_step": 3},
        {"sample_id": sample_id(instruction="Close"), "total": None, "acc": None, "train_step": 3},
    ]


def test_of_several_functions_the_total_is_unknown(tmp_path: Path) -> None:
    write(tmp_path, 1, near=[0.5, 1.0], form=[1, 0], data_source=["web", "web"], target=[json.dumps(BOX)] * 2)
    found = log(tmp_path)
    assert found.parts == ("near", "form")
    assert "acc" not in found.columns
    assert rows(tmp_path, "total", "near", "form", "source", "target", "acc")[1] == {
        "total": None, "near": 1.0, "form": 0.0, "source": "web", "target": json.dumps(BOX), "acc": None,
    }  # fmt: skip


def test_a_split_reward_has_its_total_and_parts(tmp_path: Path) -> None:
    functions = reward_funcs("gelato", split=True, format_weight=0.5)
    table: dict[str, list[Any]] = {}
    for function in functions:
        returned = function(completions=["(300, 300)", "?"], target=[BOX] * 2, log_extra=table.__setitem__)
        table[function.__name__] = returned
    write(tmp_path, 1, completion=["(300, 300)", "?"], **table)
    scores = gr.recipe("gelato", format_weight=0.5).score(["(300, 300)", "?"], [BOX] * 2)
    found = rows(tmp_path)
    assert [row["total"] for row in found] == scores.total.tolist()
    assert [row["distance"] for row in found] == scores.parts["distance"].tolist()
    assert log(tmp_path).parts == ("distance", "format")


def test_points_are_shares_where_the_size_is_known(tmp_path: Path) -> None:
    sized = json.dumps({"bbox": [1, 2, 3, 4], "image_size": [200, 100]})
    spaces = {
        "m/xy_pixel": [[50.0, 50.0], [50.0, 50.0], None, None, None],
        "m/xy_thousandths": [None, None, [250.0, 500.0], None, None],
        "m/xy_model_pixel": [None, None, None, [50.0, 50.0], None],
    }
    write(tmp_path, 1, 5, **spaces, **{"m/acc": [1.0] * 5, "m/target": [sized, *["[1, 2, 3, 4]"] * 4]})
    found = rows(tmp_path, "x_unit", "y_unit", "image_size")
    assert [(row["x_unit"], row["y_unit"]) for row in found] == [
        (0.25, 0.5), (None, None), (0.25, 0.5), *[(None, None)] * 2,
    ]  # fmt: skip
    assert [row["image_size"] for row in found] == [[200.0, 100.0], *[None] * 4]


def test_conversations_and_what_the_adapter_says_of_them(tmp_path: Path) -> None:
    prompt = [[{"role": "user", "content": [{"type": "image", "text": None}, {"type": "text", "text": "Close"}]}]] * 3
    answers = [
        [{"role": "assistant", "content": "(1, 2)"}, {"role": "tool", "content": "done"}],
        [{"role": "assistant", "content": None}],
        [{"role": "tool", "content": "x"}],
    ]
    write(
        tmp_path, 1, 3, prompt=prompt, completion=answers, **{"m/acc": [1.0] * 3, "m/response": [None, "<call>", None]}
    )
    assert [row["response"] for row in rows(tmp_path)] == ["(1, 2)", "<call>", None]
    assert {row["sample_id"] for row in rows(tmp_path)} == {sample_id(instruction="Close")}


def test_without_keys_a_file_that_repeats_the_one_before_is_left_out(tmp_path: Path) -> None:
    for step, scores in enumerate([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], 1):
        write(tmp_path, step, acc=scores)
    found = log(tmp_path)
    assert [row["train_step"] for row in rows(tmp_path)] == [1, 1, 3, 3, 4, 4]
    list(found.batches())
    assert found.left_out == {"logged before": 2}


def test_keys_tell_repeated_and_evaluated_responses(tmp_path: Path) -> None:
    keys = [["0.0.0", "0.1.0"], ["0.1.0", "2.0.1"], ["0.0.0", None], ["3.0.2", "11.0.3"]]
    for step, key in zip((1, 2, 3, 11), keys, strict=True):
        write(tmp_path, step, **{"m/acc": [0.0, 1.0], "m/rollout": key})
    found = log(tmp_path)
    assert [row["train_step"] for row in rows(tmp_path)] == [1, 1, 3, 3, 11]
    list(found.batches())
    assert found.left_out == {"logged before": 1, "of evaluations": 2}


def test_an_answer_that_two_runs_gave_at_the_same_place_counts_twice(tmp_path: Path) -> None:
    for run, second in (("a", "(3, 4)"), ("b", "(5, 6)")):
        write(tmp_path / run, 1, acc=[1.0, 0.0], completion=["(1, 2)", second])
    assert stats_of(open_rollouts([tmp_path / "a", tmp_path / "b"])).n.tolist() == [4]


def test_files_without_rows_are_counted(tmp_path: Path) -> None:
    write(tmp_path, 1, acc=[1.0, 0.0])
    write(tmp_path, 2, 0, acc=pa.array([], pa.float64()))
    found = log(tmp_path)
    assert sum(len(batch) for batch in found.batches()) == 2
    assert found.left_out == {"files without a row": 1}


@pytest.mark.parametrize(("column", "value"), [("acc", 0.5), ("m/acc", 2.0), ("correct", "yes")])
def test_what_is_no_verdict_names_its_row(tmp_path: Path, column: str, value: Any) -> None:
    first = "1" if isinstance(value, str) else 1.0
    file = write(tmp_path, 1, **{column: [first, value]})
    with pytest.raises(TableError, match=rf"{file}, row 1: {column} is {value!r}; expected 0 or 1"):
        rows(tmp_path)


def test_two_verdicts_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1, **{"a/acc": [1.0, 0.0], "b/acc": [1.0, 1.0]})
    with pytest.raises(
        TableError, match="a/acc, b/acc each say whether a response was right; drop these columns but one"
    ):
        trainer_log(tmp_path)


def test_what_is_nearly_a_table_of_completions_says_what_lacks(tmp_path: Path) -> None:
    file = write(tmp_path, 1, step=None)
    for path in (file, tmp_path, file.parent):
        with pytest.raises(TableError, match="looks like completions that TRL logged, but lacks step; expected step,"):
            trainer_log(path)
    write(tmp_path, 1, step=None, sample_id=["a", "b"])
    assert trainer_log(file) is None
    pq.write_table(pa.table({"prompt": ["a"], "completion": ["b"]}), file)
    assert trainer_log(tmp_path) is None


def test_what_was_recorded_beside_does_not_count_twice(tmp_path: Path) -> None:
    write(tmp_path, 1)
    pq.write_table(pa.table({"sample_id": ["a"], "acc": [1]}), tmp_path / "rollouts-0-0.parquet")
    with pytest.raises(
        TableError, match=r"recorded \(rollouts-0-0.parquet\) beside what trl logged \(completions/compl"
    ):
        trainer_log(tmp_path)
    assert trainer_log(tmp_path / "completions") is not None


def test_another_table_among_them_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1)
    pq.write_table(pa.table({"sample_id": ["a"], "acc": [1]}), tmp_path / "completions" / "completions_00002.parquet")
    with pytest.raises(TableError, match=r"completions_00002\.parquet: holds no completions that TRL logged, unlike"):
        trainer_log(tmp_path)
