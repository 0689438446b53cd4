"""The diagnosis at the end of a run: warnings, notes, JSON, and the exit status under ``--strict``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import CLICK, read_rows, result_of, write_rows

EXAMPLES = Path(__file__).parents[2] / "examples"
CALL = '<tool_call>{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [20, 15]}}</tool_call>'
ROW = {"response": CALL, "target": {"bbox": [10, 10, 30, 20]}}
MESSAGE = "0 of 6 responses were read as bare_tuple_whole; 6 of the others are read by tool_call"
FIX = "use --option dialect=auto"
FINDING = {
    "code": "unread", "severity": "warning", "count": 6, "rows": [0, 1, 2, 3, 4], "message": MESSAGE, "fix": FIX,
}  # fmt: skip
WHOLE = (*CLICK, "--option", "dialect=bare_tuple_whole")


@pytest.fixture
def unread(tmp_path):
    return write_rows(tmp_path / "in.jsonl", *({**ROW, "sample_id": str(number)} for number in range(6)))


def test_eval(run, unread, tmp_path):
    result = run("eval", unread, *WHOLE, "--json")
    assert (result.code, result.err) == (0, f"warning: {MESSAGE}; {FIX}\n")
    (entry,) = result_of(result.out)
    assert (entry["warnings"], entry["findings"]) == ([f"{MESSAGE}; {FIX}"], [FINDING])
    assert run("eval", unread, *WHOLE, "--strict").code == 1
    assert run("eval", unread, *CLICK, "--strict").code == 0
    both = run("eval", unread, write_rows(tmp_path / "good.jsonl", {**ROW, "response": "(20, 15)"}), *WHOLE, "--json")
    assert both.err == f"warning: {unread}: {MESSAGE}; {FIX}\n"
    assert [each["findings"] for each in result_of(both.out)] == [[FINDING], []]


def test_score_is_strict_once_all_is_written(run, unread, tmp_path):
    out = tmp_path / "out.jsonl"
    result = run("score", unread, *WHOLE, "--out", out, "--strict", "--json")
    assert (result.code, len(read_rows(out))) == (1, 6)
    summary = result_of(result.out)
    assert (summary["warnings"], summary["findings"]) == ([f"{MESSAGE}; {FIX}"], [FINDING])


def test_pool_score_says_the_same_however_often_it_is_started(run, unread, tmp_path):
    words = ("pool", "score", unread, *WHOLE, "--out", tmp_path / "out", "--strict", "--json")
    for made in (1, 0):
        result = run(*words)
        summary = result_of(result.out)
        assert (result.code, summary["pieces"]["made"]) == (1, made)
        assert (summary["warnings"], summary["findings"]) == ([f"{MESSAGE}; {FIX}"], [FINDING])
        assert result.err == f"warning: {MESSAGE}; {FIX}\n"


def test_notes_are_not_strict(run, tmp_path):
    rows = [{**ROW, "target": {"refusal": True}, "sample_id": str(number)} for number in range(3)]
    source = write_rows(tmp_path / "in.jsonl", ROW | {"sample_id": "a"}, *rows)
    line = "note: 3 targets ask for a refusal, and no response to them is read as one"
    for words in (
        ("eval", source),
        ("score", source, "--out", tmp_path / "out.jsonl"),
        ("pool", "score", source, "--out", tmp_path / "out"),
    ):
        result = run(*words, *CLICK, "--strict")
        assert (result.code, result.err.splitlines()[0]) == (0, line)


def test_columns_have_their_own_names(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *[{"said": None, "target": ROW["target"]}] * 4)
    assert run("eval", source, *CLICK, "--response-column", "said").err == (
        "warning: 4 of 4 responses are empty; check column 'said' (--response-column)\n"
    )


def test_examples_are_silent(run, tmp_path):
    for name in ("clicks", "rollouts"):
        result = run("eval", EXAMPLES / f"{name}.jsonl", "--response-space", "thousandths", "--strict")
        assert (result.code, result.err) == (0, "")
