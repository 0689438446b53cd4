"""``grounding-rewards explain`` of a row of a file: its group, its place among the rows, what it is compared with."""

from __future__ import annotations

import pytest

from tests.cli.command import write_rows
from tests.cli.test_explain import as_json, shown

GUI_RCPO = ("gui-rcpo", "--response-space", "pixel")
TABLE = """\
The group
  row  total  acc  point (pixel)  reason  response
  ──────────────────────────────────────────────────
    1      1    1  (10, 10)       OK      (10, 10)
  > 3      1    1  (10, 10)       OK      (10, 10)
    4    0.5    0  (900, 900)     OK      (900, 900)
"""


def test_a_row_comes_with_its_group(run, tmp_path):
    rows = [{"sample_id": name, "response": said} for name, said in (("a", "(1, 2)"), ("b", "(9, 9)"), ("a", "(3, 4)"))]
    file = write_rows(tmp_path / "in.jsonl", *[{**row, "target": None} for row in rows])
    found = as_json(run, "gui-rcpo", "--response-space", "pixel", file, "--row", "2")
    assert [row["response"] for row in found["together"]["rows"]] == ["(1, 2)", "(3, 4)"]
    assert found["response"] == "(3, 4)"


def test_rows_are_numbered_as_in_the_file_and_the_explained_one_is_marked(run, tmp_path):
    said = (("b", "(1, 2)"), ("a", "(10, 10)"), ("b", "?"), ("a", "(10, 10)"), ("a", "(900, 900)"))
    rows = [{"sample_id": name, "response": text, "target": None} for name, text in said]
    assert TABLE in shown(run, *GUI_RCPO, write_rows(tmp_path / "in.jsonl", *rows), "--row", "3")


def test_the_explained_row_is_shown_however_many_there_are(run, tmp_path):
    rows = [{"sample_id": "a", "response": f"({row}, 5)", "target": None} for row in range(20)]
    found = shown(run, *GUI_RCPO, write_rows(tmp_path / "in.jsonl", *rows), "--row", "18")
    table = found.partition("The group\n")[2].partition("\nFormulas")[0].splitlines()[2:]
    assert [line.split()[0] for line in table[:11]] == [str(row) for row in range(11)]
    assert table[11].startswith("  > 18  ")
    assert table[12].split() == ["...", "8", "more"]


def test_others_are_compared_with_the_group_that_they_need_and_with_what_they_must_be_given(run, tmp_path):
    said = (("a", "(100, 100)"), ("b", "(400, 9)"), ("a", "(100, 100)"))
    rows = [{"sample_id": name, "response": text, "target": {"bbox": [90, 90, 120, 120]}} for name, text in said]
    rows.append({"sample_id": "a", "response": "(100, 100)", "target": "a mate's junk"})
    file = write_rows(tmp_path / "in.jsonl", *rows)
    words = ("click", "--response-space", "pixel", file, "--row", "2", "--compare", "gui-rcpo,composite")
    found = as_json(run, *words)
    assert [(each["name"], each["total"], each["error"]) for each in found["compared"]] == [
        ("click", 1.0, None), ("gui-rcpo", 1.0, None), ("composite", 1.0, None),
    ]  # fmt: skip
    assert found["together"] is None


@pytest.mark.parametrize("target", [{"bbox": [1, 2]}, None])
def test_the_explanation_is_printed_before_a_picture_fails(run, tmp_path, target):
    file = write_rows(tmp_path / "in.jsonl", {"response": "(1, 2)", "target": target})
    result = run("explain", *GUI_RCPO[1:], "--recipe", "click", file, "--row", "0", "--out", tmp_path / "o.html")
    assert result.code == 2
    assert "not scored · BAD_TARGET" in result.out
    warning, error = result.err.splitlines()
    assert warning == "warning: click: the target cannot be used, so that the response is not scored"
    assert error.startswith("error: target of row 0, field ")
    assert not (tmp_path / "o.html").exists()


def test_a_recipe_that_cannot_be_drawn_is_a_note(run, tmp_path):
    words = ("gelato", "--response", "(200, 150)", "--target", "[0.1, 0.1, 0.3, 0.2]", "--compare", "gta1")
    result = run("explain", "--recipe", *words, "--out", tmp_path / "o.html")
    assert result.code == 0
    assert result.err.startswith("note: gta1 is left out of the picture: ")
    assert (tmp_path / "o.html").exists()
