"""Logs of generations as EasyR1 appends them, read as rollouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import TableError
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.rows import NoRowsError
from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards.tables.trainer_logs import trainer_log

BOX = {"bbox": [10, 10, 30, 20], "id": "a7"}


def record(prompt: str = "Close", output: str = "(1, 2)", truth: Any = "", score: Any = 0.0) -> str:
    return f"[prompt] {prompt}\n[output] {output}\n[ground_truth] {truth}\n[score] {score}\n\n"


def read(tmp_path: Path, text: str, *columns: str) -> tuple[list[list[Any]], dict[str, int]]:
    file = tmp_path / "generations.log"
    file.write_bytes(text.encode())
    found = trainer_log(file)
    assert found is not None
    assert found.kind == "easyr1"
    rows = [[row[name] for name in columns] for batch in found.batches(columns) for row in batch.rows]
    return rows, dict(found.left_out)


def test_records_with_targets_of_json_and_of_repr(tmp_path: Path) -> None:
    text = record(truth=json.dumps(BOX), score=0.5) + record("A\n\nB", "<think>\n\n</think>\r\n(3, 4)", BOX, 1)
    text += record(truth=None, score="nan") + record(truth="{'id': 7") + record(truth="[0.1, 0.2, 0.3, 0.4]")
    rows, left_out = read(tmp_path, text, "sample_id", "response", "target", "total")
    unread, bare = "{'id': 7", "[0.1, 0.2, 0.3, 0.4]"
    assert rows == [
        ["a7", "(1, 2)", json.dumps(BOX), 0.5],
        ["a7", "<think>\n\n</think>\r\n(3, 4)", json.dumps(BOX), 1.0],
        [sample_id(instruction="Close"), "(1, 2)", None, None],
        [sample_id(instruction="Close", target=unread), "(1, 2)", json.dumps(unread), 0.0],
        [sample_id(instruction="Close", target=bare), "(1, 2)", bare, 0.0],
    ]
    assert left_out == {}


def test_nothing_is_scored_and_stats_say_how_to(tmp_path: Path) -> None:
    read(tmp_path, record())
    found = trainer_log(tmp_path)
    assert found is not None
    assert "acc" not in found.columns
    table = open_rollouts([tmp_path])
    with pytest.raises(TableError, match="no column 'acc'; score them first: `grounding-rewards pool score`"):
        table.need("acc")
    assert table.read(["response"]).to_pylist() == [{"response": "(1, 2)"}]


@pytest.mark.parametrize(
    "output",
    [
        "[output] (1, 2)", "a\n[output] b", "a\n[ground_truth] {}\n[ground_truth] b", "[score] 1.0\n\n[prompt] a",
        "a\n[score] 1.0\n\n[prompt] a", "a\n[score] 1.0\n\nb", "a\n[ground_truth] {}\n[score] 1.0\n[prompt] b",
        "a\n[ground_truth] {}\n[score] 1.0\n\n\n[prompt] b", "[prompt] a", "", "\n\n", "\u2028 \x00 \x0b \x85 \ufffd",
    ],
)  # fmt: skip
def test_a_response_may_hold_the_tags(tmp_path: Path, output: str) -> None:
    text = record(output=output, truth="up", score=0.25) * 2
    rows, left_out = read(tmp_path, text, "response", "target", "total")
    assert rows == [[output, '"up"', 0.25]] * 2
    assert left_out == {}


def test_a_prompt_may_hold_the_first_tag(tmp_path: Path) -> None:
    prompt = "Say [prompt] \n[prompt] \n[score] 1.0\n\n[prompt] x"
    rows, _ = read(tmp_path, record() + record(prompt, truth="up"), "sample_id", "response")
    assert rows[1] == [sample_id(instruction=prompt, target="up"), "(1, 2)"]


WHOLE, LAST = record(truth="up"), record(output="(3, 4)", truth="down", score=0.75)


@pytest.mark.parametrize("kept", range(1, len(LAST)))
def test_a_record_that_was_cut_short_is_counted(tmp_path: Path, kept: int) -> None:
    rows, left_out = read(tmp_path, WHOLE + LAST[:kept], "response", "total")
    whole = kept >= len(LAST) - 1
    assert rows == [["(1, 2)", 0.0], *([["(3, 4)", 0.75]] if whole else [])]
    assert left_out == ({} if whole else {"cut short in writing": 1})


def test_a_record_that_another_run_goes_on_after_is_counted(tmp_path: Path) -> None:
    torn = LAST[: LAST.index("3,")]
    rows, left_out = read(tmp_path, WHOLE + torn + WHOLE + torn + WHOLE, "response", "target", "total")
    assert rows == [["(1, 2)", '"up"', 0.0]] * 3
    assert left_out == {"cut short in writing": 2}


def test_without_a_whole_record_there_are_no_rows(tmp_path: Path) -> None:
    with pytest.raises(NoRowsError, match=r"no rollouts in it \(left out: 1 cut short in writing\)"):
        read(tmp_path, WHOLE[:-3])


def test_a_log_of_another_form_says_what_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "generations.log"
    file.write_text("step 1\n[prompt] a\n")
    for path in (file, tmp_path):
        with pytest.raises(
            TableError, match=r"begins with b'step 1.*expected a log of EasyR1, whose first line begins"
        ):
            trainer_log(path)
    other = tmp_path / "train.log"
    other.write_text("step 1\n")
    assert trainer_log(other) is None
    other.write_text(WHOLE)
    assert trainer_log(other) is not None


def test_bytes_that_are_no_text_are_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "generations.log"
    file.write_bytes(WHOLE.encode().replace(b"(1, 2)", b"(1, \xff2)"))
    found = trainer_log(file)
    assert found is not None
    assert list(next(found.batches(["response"])).rows) == [{"response": "(1, \ufffd2)"}]


def test_numbers_of_equal_records_differ(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, WHOLE * 3, "rollout")
    assert len({number for (number,) in rows}) == 3
    others, _ = read(tmp_path, WHOLE * 4, "rollout")
    assert len({number for (number,) in [*rows, *others]}) == 7  # of another run's log


PLAIN = st.text(st.characters(exclude_characters="[]", exclude_categories=["Cs"]))


@settings(max_examples=60)
@given(st.lists(st.tuples(PLAIN, PLAIN, st.integers(0, 4)), min_size=1, max_size=4))
def test_texts_come_back(tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, int]]) -> None:
    text = "".join(record(prompt, output, json.dumps({"id": str(score)}), score / 4) for prompt, output, score in said)
    rows, left_out = read(tmp_path_factory.mktemp("log"), text, "sample_id", "response", "total")
    assert rows == [[str(score), output, score / 4] for _, output, score in said]
    assert left_out == {}
