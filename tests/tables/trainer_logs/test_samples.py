"""Samples of logs whose rows do not say which sample they are of, and the rounds of logs that repeat their samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.trainer_logs import trainer_log
from grounding_rewards.tables.trainer_logs.logged import _rounds
from tests.cli.command import Runner, result_of, write_rows

LINE = {"input": "Close", "output": "(1, 2)", "gts": "[0, 0, 9, 9]", "score": 1.0, "acc": 1.0, "step": 1}
MENU = {**LINE, "input": "Open the menu"}
FIELD = Path(__file__).parents[3] / "../shared/field"


def sizes(tmp_path: Path, *rows: dict[str, Any]) -> list[int]:
    """Counts of the rollouts of each sample, ascending."""
    file = write_rows(tmp_path / "1.jsonl", *rows)
    names = [row["sample_id"] for row in open_rollouts([file]).read(["sample_id"]).to_pylist()]
    return sorted(names.count(name) for name in {*names})


SCREENS = {
    "images": [{"image": f"{name}.png"} for name in "abc"],
    "lists of images": [{"images": [{"path": f"{name}.png"}]} for name in "abc"],
    "hashes": [{"image_hash": name} for name in "abc"],
    "prompts": [{"uid": name} for name in "abc"],
    "prompts and sessions": [{"uid": f"{name}_{{}}_0"} for name in "abc"],
    "row numbers": [{"index": number} for number in (7, 8, 9)],
    "sources": [{"data_source": name} for name in "abc"],
}


@pytest.mark.parametrize("marked", SCREENS.values(), ids=SCREENS)
@pytest.mark.parametrize("shuffled", [False, True])
def test_screens_of_one_prompt_and_target_differ(tmp_path, marked, shuffled, caplog):
    rows = [{**LINE, **each} for each in marked for _ in range(4)] + [{**MENU, **dict.fromkeys(marked[0], "m_0_0")}] * 4
    rows = [
        {**row, "uid": row["uid"].replace("{}", str(number))} if "{}" in row.get("uid", "") else row
        for number, row in enumerate(rows)
    ]
    assert sizes(tmp_path, *(rows[1::2] + rows[::2] if shuffled else rows)) == [4, 4, 4, 4]
    assert caplog.text == ""


def test_numbers_of_rollouts_tell_no_samples_apart(tmp_path):
    rows = [{**each, "index": number} for each in (LINE, MENU) for number in range(4)]
    assert sizes(tmp_path, *rows) == [4, 4]
    assert sizes(tmp_path, *({**row, "index": number} for number, row in enumerate(rows))) == [4, 4]


SUSPECTED = [
    ([LINE] * 12 + [MENU] * 4, "1 of 2 groups are too large, such as 12 rollouts where others have 4"),
    (([LINE] * 3 + [MENU]) * 4, "1 of 2 groups are too large, such as 12 rollouts where others have 4"),
    (
        [LINE] * 3 + [MENU, {**MENU, "input": "x"}],
        "1 of 3 groups are too large, such as 3 rollouts where others have 1",
    ),
    (
        [{**row, "step": step} for step in (1, 2) for row in [LINE] * 8 + [MENU] * 4],
        "2 of 4 groups are too large, such as 8 rollouts where others have 4",
    ),
]


@pytest.mark.parametrize(("rows", "said"), SUSPECTED)
def test_groups_that_are_multiples_of_others_are_named(tmp_path, rows, said, caplog):
    sizes(tmp_path, *rows)
    assert said in caplog.text
    assert "Give targets an id" in caplog.text


UNSUSPECTED = {
    "equal": [LINE] * 4 + [MENU] * 4,
    "several steps in one file": [{**LINE, "step": step} for step in (1, 2, 3) for _ in range(4)] + [MENU] * 4,
    "no multiples": [LINE] * 4 + [MENU] * 3,
    "cut off": [{**LINE, "step": 1}] * 4 + [{**MENU, "step": 1}] * 4 + [{**LINE, "step": 2}] * 2,
    "named": [{**LINE, "gts": {"id": "a"}}] * 12 + [{**LINE, "gts": {"id": "b"}}] * 4,
}


@pytest.mark.parametrize("rows", UNSUSPECTED.values(), ids=UNSUSPECTED)
def test_other_groups_are_not_named(tmp_path, rows, caplog):
    sizes(tmp_path, *rows)
    assert caplog.text == ""


REPEATED = {
    "two validations": ("abcdabcd", "11112222"),
    "three, the last cut off": ("abcdabcdab", "1111222233"),
    "the first cut off": ("ababcd", "112222"),
    "a middle one cut off": ("abcdababcd", "1111223333"),
    "other orders": ("abcdcadb", "11112222"),
    "an order that begins with the last": ("abcddabc", "11112222"),
    "several rollouts": ("aabbccaabbcc", "111111222222"),
    "several rollouts in other orders": ("aabbccccaabb", "111111222222"),
    "groups of unequal sizes": ("aaaabbaaaabb", "111111222222"),
    "unequal, cut off": ("aaaabbccaaaab", "1111111122222"),
    "shuffled rollouts, alike in each": ("abacbcabacbc", "111111222222"),
    "one validation": ("abcd", None),
    "two orders by turns": ("abcdefabecdf" * 2, "111111222222333333444444"),
    "one of several rollouts": ("aabbcc", None),
    "one of shuffled rollouts": ("abacbdcd", None),
    "one sample": ("aaaa", None),
    "others in each": ("abcdebfg", None),
}


@pytest.mark.parametrize(("names", "rounds"), REPEATED.values(), ids=REPEATED)
def test_a_log_that_repeats_its_samples_has_rounds(names, rounds):
    found = _rounds(names, [None] * len(names))
    assert (None if found is None else "".join(map(str, found))) == rounds


@given(st.permutations("abcdef"), st.integers(1, 3), st.integers(2, 4), st.data())
@settings(max_examples=60)
def test_repetitions_in_any_order_are_rounds(first, rollouts, times, data):
    orders = [first, *(data.draw(st.permutations("abcdef")) for _ in range(times - 1))]
    names = [name for order in orders for name in order for _ in range(rollouts)]
    assert _rounds(names, [None] * len(names)) == [1 + at // (6 * rollouts) for at in range(len(names))]


def test_steps_that_repeat_the_samples_are_rounds(tmp_path):
    def write(*steps: tuple[int, str]) -> list[Any]:
        lines = [{**LINE, "gts": {"id": name}, "step": step} for step, names in steps for name in names]
        log = trainer_log(write_rows(tmp_path / "0.jsonl", *lines))
        assert log is not None
        if "round" not in log.columns:
            return []
        return [row["round"] for batch in log.batches(["round"]) for row in batch.rows]

    assert write((0, "abc"), (20, "cab"), (40, "a")) == [0, 0, 0, 20, 20, 20, 40]
    assert write((1, "aabb"), (2, "ccdd"), (3, "aacc")) == []
    assert write((1, "aabb")) == []


def test_a_log_without_an_order_that_tells_rounds_says_so(tmp_path, caplog):
    text = "".join(f"[prompt] {name}\n[output] x\n[ground_truth] up\n[score] 0.0\n\n" for name in "abcdebfg")
    (tmp_path / "generations.log").write_text(text)
    found = trainer_log(tmp_path)
    assert found is not None
    assert "round" not in found.columns
    assert "1 of 7 samples come again after others, in no order that tells rounds apart" in caplog.text


@pytest.mark.skipif(not FIELD.is_dir(), reason="the files that were met in the field are not here")
def test_files_from_the_field(capsys, tmp_path):
    run = Runner(capsys)
    stats = result_of(run("pool", "stats", FIELD / "verl-dump-one-prompt-three-screens", "--json").out)
    (warning,) = stats["warnings"]
    assert "such as 12 rollouts where others have 4" in warning
    scored = tmp_path / "scored"
    log = FIELD / "easyr1-generations-two-validations.log"
    assert run("pool", "score", log, "--recipe", "click", "--response-space", "pixel", "--out", scored).code == 0
    for number in (1, 2):
        counts = result_of(run("pool", "stats", scored, "--round", number, "--json").out)
        assert (counts["samples"], counts["rollouts"]) == (4, 4)
