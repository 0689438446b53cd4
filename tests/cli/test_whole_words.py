"""Tables on narrow terminals: words and numbers stay whole, and columns that do not fit come in blocks."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import grounding_rewards as gr
from grounding_rewards.cli.render import tables as layout
from tests.cli.command import write_rows

HEADS = ["source", "samples", "accuracy", "what it says"]
ROWS = [["desktop", "8", "50.0 %", "labels that need a look"], ["web", "1,024", "100.0 %", "all right"]]


def shown(width: int, heads: list[str], rows: list[list[str]], figures: tuple[str, ...] = ()) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(layout.table(heads, rows=rows, figures=figures))
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in written.splitlines()]


def test_where_there_is_room_a_row_is_a_line():
    assert shown(80, HEADS, ROWS, ("samples", "accuracy")) == [
        "source   samples  accuracy  what it says",
        "───────────────────────────────────────────────────",
        "desktop        8    50.0 %  labels that need a look",
        "web        1,024   100.0 %  all right",
    ]


def test_texts_wrap_between_words():
    assert shown(40, HEADS, ROWS, ("samples", "accuracy")) == [
        "source   samples  accuracy  what it says",
        "────────────────────────────────────────",
        "desktop        8    50.0 %  labels that",
        "                            need a look",
        "web        1,024   100.0 %  all right",
    ]


def test_figures_that_do_not_fit_come_in_blocks():
    assert shown(20, HEADS[:3], [row[:3] for row in ROWS], ("samples", "accuracy")) == [
        "source   samples",
        "────────────────",
        "desktop        8",
        "web        1,024",
        "source   accuracy",
        "─────────────────",
        "desktop    50.0 %",
        "web       100.0 %",
    ]


def test_only_a_word_that_has_no_room_is_broken():
    rows = [["a", "/data/screenshots/of/the/desktop.png"], ["b", "no image"]]
    assert shown(30, ["id", "image"], rows) == [
        "id  image",
        "──────────────────────────────",
        "a   /data/screenshots/of/the/d",
        "    esktop.png",
        "b   no image",
    ]


@given(
    st.lists(st.lists(st.text("abc ", max_size=9).map(str.strip), min_size=4, max_size=4), min_size=1, max_size=4),
    st.integers(24, 60),
)
def test_no_word_of_a_table_is_broken_and_none_is_lost(rows, width):
    heads = ["h1", "h2", "h3", "h4"]
    lines = shown(width, heads, [[f"r{place}", *row[1:]] for place, row in enumerate(rows)])
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.split()}
    assert {word for row in rows for cell in row[1:] for word in cell.split()} <= words


@pytest.mark.parametrize("width", [60, 80])
def test_long_values_of_a_breakdown(run, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    kinds = ["a dropdown menu of several languages", "internationalisation_settings_button"]
    rows = [{"response": "(1, 1)", "target": [0, 0, 2, 2], "kind": kind} for kind in kinds]
    words = "--recipe", "click", "--option", "response_space=pixel", "--option", "target_space=pixel", "--by", "kind"
    done = run("eval", write_rows(tmp_path / "in.jsonl", *rows), *words)
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= width
    for word in [*kinds[0].split(), kinds[1], "100.0 %", "95 % interval"]:
        assert word in done.out


@pytest.mark.parametrize(
    ("width", "heads", "gelato", "venus"),
    [
        (60, "", "", ""),  # which has no room for totals
        (80, " paper", " Gelato", " UI-Venus..."),
        (120, " paper answer", " Gelato (200, 150)", " UI-Venus Technical Report [90,70,110,80]"),
        (150, " paper answer", " Gelato (200, 150)", " UI-Venus Technical Report [90,70,110,80]"),
    ],
)
def test_the_list_of_recipes_has_a_line_a_recipe(run, monkeypatch, width, heads, gelato, venus):
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("recipes")
    assert (result.code, result.err) == (0, "")
    rows = [" ".join(row.split()) for row in result.out.splitlines()]
    total = " 0 to 1" if width > 60 else ""
    assert rows[0] == f"name answers in targets in{' total' if total else ''}{heads}"
    names = [row.split()[0] for row in rows[2 : 2 + len(gr.list_recipes())]]
    assert names == list(gr.list_recipes())
    assert f"gelato thousandths unit{total}{gelato}" in rows
    assert f"ui-venus model_pixel pixel{total}{venus}" in rows
    assert any(row.startswith(f"click you say pixel{total}") for row in rows)
    assert rows[-2] == "you say: option response_space (--response-space) is needed"
    assert rows[-1] == "`grounding-rewards recipes NAME` shows all of one."
