"""Two recipes on the same rows: figures, what groups see, and a cause for each difference."""

from __future__ import annotations

import json
import re

import pytest

from grounding_rewards.batch.two_recipes import CAUSES
from grounding_rewards.cli import main
from tests.cli.command import page_data, result_of

BOX = {"bbox": [100, 100, 300, 200], "image_size": [1000, 1000]}
PIXELS = ["--response-space", "pixel"]
REWARD = """
import re


def reward(response, target):
    if response == "print":
        print("noise")
    if response == "nan":
        return float("nan")
    found = re.fullmatch(r"\\((\\d+),(\\d+)\\)", response) or re.search(r"at (\\d+),(\\d+)", response)
    x, y = int(found[1]), int(found[2])
    x1, y1, x2, y2 = target["bbox"]
    return float(x1 < x < x2 and y1 < y < y2)


def none(response, target):
    return 0.5
"""
ROWS = {
    "(200,150)": None,  # both right
    "(5,5)": None,  # both wrong
    "no idea": "raises",
    "nan": "no number",
    "( 200, 150 )": "raises",
    "at 200,150 (200, 150) (700, 700)": "several answers",
    "(2000,5000)": None,  # outside, and wrong by both
    "(300,150)": "border",
}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "mine.py").write_text(REWARD)
    return tmp_path


def compared(capsys, files, rows, *words, names=("mine.py:reward", "click"), code=0):
    path = files / "rows.jsonl"
    path.write_text("".join(json.dumps({"target": BOX, **row}) + "\n" for row in rows))
    old, new = (f"{files}/{name}" if ".py:" in name else name for name in names)
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "compare", str(path), "--recipe", old, "--with", new, *([] if "--response-space" in words else PIXELS),
                *words,
            ],
        )  # fmt: skip
    captured = capsys.readouterr()
    assert ended.value.code == code, captured.err
    return captured.out, captured.err


def test_each_difference_has_a_cause(capsys, files):
    rows = [{"response": response} for response in ROWS]
    out, err = compared(capsys, files, rows, "--json", "--option", "format_weight=0.0", code=2)
    assert (out, "takes: contract" in err) == ("", True)  # an option of one recipe alone
    recipe = '{"name": "click", "format_weight": 0.0}'
    out, _ = compared(capsys, files, rows, "--json", names=("mine.py:reward", recipe))
    found = result_of(out)
    expected = [cause for cause in ROWS.values() if cause]
    assert found["causes"] == {cause: expected.count(cause) for cause in CAUSES if cause in expected}
    assert (found["rows"], found["alike"], found["success"]) == (8, 5, [[4, 2], [1, 1]])
    (row,) = found["examples"]["border"]
    assert row["place"].endswith("rows.jsonl, row 7 (line 8)")
    assert (row["response"], row["totals"], row["right"], row["said"]) == (
        "(300,150)", [0, 1], [False, True], ["", "OK"],
    )  # fmt: skip


def test_a_page_shows_rows_of_each_cause_whole(capsys, files):
    page, response = files / "page.html", "( 200, 150 )" + " " * 90 + "so it is"
    rows = [{"response": "(200,150)"}, {"response": response}]
    compared(capsys, files, rows, "--html", str(page))
    agreement, raised = page_data(page)["sections"]
    assert dict(agreement["blocks"][0]["facts"])["rows"] == "2"
    assert (raised["title"], raised["lead"]) == ("raises: 1 row", CAUSES["raises"])
    ((place, said, old, new),) = raised["blocks"][0]["rows"]
    assert (place.endswith("row 1 (line 2)"), said) == (True, response)
    assert (old.partition(" raised ")[0], new) == ("0, wrong:", "1, right: OK")
    assert compared(capsys, files, rows, "--html", "page.png", code=2)[1].startswith("error: page.png: a page ends in")


STRICT = """
import re


def reward(response, target):
    found = re.fullmatch(r"\\((\\d+),BLANK(\\d+)\\)", response)
    x, y = (SCALE * int(found[1]), SCALE * int(found[2])) if found else (0, 0)
    return 1.0 if 100 <= x <= 300 and 100 <= y <= 200 else 0.0
"""
CLICK = {"name": "click", "format_weight": 0.0}


@pytest.mark.parametrize(
    ("response", "new", "spaces", "blank", "scale", "cause"),
    [
        ("(200, 150)", {"name": "gelato", "target_space": "pixel"}, "pixel", "", 1, "spaces"),
        ("I click at (200, 150)", CLICK, "pixel", " ", 1, "format"),
        ("(100, 75)", CLICK, "pixel", " ", 2, "other space"),  # the recipe reads pixels, and they are thousandths
        ("(100, 75)", CLICK, "pixel,thousandths", " ", 1, "other space"),  # the function does
    ],
)
def test_a_cause_is_what_makes_both_agree(capsys, files, response, new, spaces, blank, scale, cause):
    (files / "mine.py").write_text(STRICT.replace("BLANK", blank).replace("SCALE", str(scale)))
    rows = [{"response": response, "target": {**BOX, "image_size": [2000, 2000]}}]
    names = ("mine.py:reward", json.dumps(new))
    out, _ = compared(capsys, files, rows, "--json", "--response-space", spaces, names=names)
    assert result_of(out)["causes"] == {cause: 1}


def test_groups_that_change_their_order_or_lose_their_signal_are_counted(capsys, files):
    (files / "mine.py").write_text("def reward(response, target):\n    return float(response.split()[-1])\n")
    (files / "other.py").write_text("def reward(response, target):\n    return float(response.split()[0])\n")
    pairs = {"a": ["0 0", "1 1"], "b": ["1 0", "0 1"], "c": ["0 0", "0 1"], "d": ["1 0", "0 0"], "e": ["1 1"]}
    rows = [{"sample_id": name, "response": text} for name, texts in pairs.items() for text in texts]
    out, _ = compared(capsys, files, rows, "--json", names=("mine.py:reward", "other.py:reward"))
    found = result_of(out)
    assert [found[name] for name in ("groups", "reordered", "lost", "gained")] == [4, 1, 1, 1]
    assert found["causes"] == {"other": 4}


def test_the_same_recipe_twice_differs_nowhere_and_strict_says_where_two_do(capsys, files):
    rows = [{"response": "print"}, {"response": "(200,150)"}]
    out, err = compared(capsys, files, rows, "--strict", names=("mine.py:reward", "mine.py:reward"))
    assert re.search(r"same total +100\.0 %", out)
    assert ("noise" in out, "noise" in err) == (False, True)  # JSON on stdout stays JSON
    out, err = compared(capsys, files, rows, "--strict", names=("mine.py:reward", "mine.py:none"), code=1)
    assert "mine.py:none differ on 2 of 2 rows" in err
    assert "raises" in out
