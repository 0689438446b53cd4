"""Evaluation in Python: the figures of ``eval``, of a file and of rows in memory, as text, table and data frame."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest

import grounding_rewards as gr
from grounding_rewards.errors import GroundingRewardsError, RecipeError, TableError
from tests.cli.benchmark_files import as_json, screenspot
from tests.cli.command import Runner, result_of, write_rows

BOX = {"bbox": [0, 0, 9, 9]}
ROWS = [
    {"sample_id": f"s{place}", "response": f"({5 + 20 * (place % 3)}, 5)", "target": BOX, "kind": kind, "rollout": 0}
    for place, kind in enumerate(["icon", "text", "icon", None])
]
ANSWERS = [{"sample_id": row["sample_id"], "response": row["response"]} for row in ROWS]
ANNOTATIONS = [{key: row[key] for key in ("sample_id", "target", "kind")} for row in ROWS]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capsys)


def test_figures_are_those_of_the_command(command: Runner, tmp_path: Path) -> None:
    rows, annotations = write_rows(tmp_path / "rows.jsonl", *ROWS), write_rows(tmp_path / "all.jsonl", *ANNOTATIONS)
    answers = write_rows(tmp_path / "answers.jsonl", *ANSWERS[:3], ANSWERS[0])
    benchmark = as_json(tmp_path / "shots", screenspot({"web / icon": 3, "mobile / text": 2}))
    for path, options, words in [
        (rows, {"by": ["kind"]}, ["--by", "kind"]),
        (annotations, {"predictions": answers, "id": "sample_id"}, ["--predictions", answers, "--id", "sample_id"]),
        (rows, {"consensus": True}, ["--consensus"]),
        (rows, {"recipe": "gelato", "target_space": "pixel", "bad_target": "abstain"},
         ["--recipe", "gelato", "--target-space", "pixel", "--bad-target", "abstain"]),
        (benchmark, {"benchmark": "screenspot"}, ["--benchmark", "screenspot"]),
    ]:  # fmt: skip
        space = {} if "recipe" in options else {"response_space": "pixel"}
        flags = ["--response-space", "pixel"] if space else []
        figures = gr.evaluate(path, **options, **space)
        (entry,) = result_of(command("eval", path, *words, *flags, "--json").out)
        warnings = [*figures.warnings, *map(str, figures.findings)]
        texts = [re.sub("; (use|build) .*", "", text) for text in entry.pop("warnings")]  # the fix is in other words
        assert texts == [re.sub("; (use|build) .*", "", text) for text in warnings]
        own = figures.to_dict() | {"warnings": []}
        for each in (*own["findings"], *entry["findings"]):
            each["fix"] = ""
        assert own == {**entry, "warnings": []}


@pytest.mark.parametrize("made", [list, iter, pa.Table.from_pylist, datasets.Dataset.from_list, "pandas"])
def test_rows_in_memory_are_as_good_as_a_file(tmp_path: Path, made: Any) -> None:
    made = pytest.importorskip("pandas").DataFrame.from_records if made == "pandas" else made
    figures = gr.evaluate(made(ROWS), response_space="pixel", by="kind")
    filed = gr.evaluate(write_rows(tmp_path / "rows.jsonl", *ROWS), response_space="pixel", by="kind")
    assert (figures.file, filed.file) == ("rows", str(tmp_path / "rows.jsonl"))
    assert figures.to_dict() | {"file": ""} == filed.to_dict() | {"file": ""}
    assert {value: (part.correct, part.valid) for value, part in figures.by["kind"].items()} == {
        "icon": (1, 2), "(none)": (1, 1), "text": (0, 1)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "rows: no rows"),
        ([BOX, 3], "rows, row 1: got int 3; expected a dict"),
        ({"response": ["(1, 2)"]}, "rows: got dict; expected a path, or a list with a dict for each row"),
        ([{"response": "(1, 2)", "target": "?"}], "rows, row 0: target of row 0, field 'target': got"),
    ],
)
def test_errors_name_the_row(rows: Any, message: str) -> None:
    with pytest.raises(TableError, match=f"^{re.escape(message)}"):
        gr.evaluate(rows, response_space="pixel")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "nope"}, "rows: no column 'nope' (by=). It has: "),
        ({"columns": {"id": "nope"}, "consensus": True}, "rows: no column 'nope' (columns={\"id\": ...}). It has: "),
        ({"columns": {"resp": "a"}}, "columns: got 'resp'; expected one of response, target, image_size, "),
        ({"columns": {"response": 3}}, "columns: got {'response': 3}; expected names of columns by role, such as "),
        ({"id": "sample_id"}, "id=: got it without predictions=, the answers that it joins to the annotations"),
        ({"benchmark": "nope"}, "benchmark=: got 'nope'; expected one of screenspot, "),
        ({"response_space": "model_pixel"}, "the file has no column 'image_size' (columns={\"image_size\": ...})"),
        ({"split": "train"}, "split: got 'train' beside rows in memory, which have no splits; leave it out"),
    ],
)
def test_errors_name_arguments_and_no_options_of_the_command_line(options: Any, message: str) -> None:
    with pytest.raises(GroundingRewardsError, match=re.escape(message)) as error:
        gr.evaluate(ROWS, **{"response_space": "pixel", **options})
    assert "--" not in str(error.value)


def test_values_that_look_like_options_of_the_command_line_are_quoted_as_they_are() -> None:
    row = {"response": "(5, 5)", "target": {"bbox": "--by kind", "id": "git log --oneline"}}
    with pytest.raises(TableError, match=r"sample 'git log --oneline', field 'bbox': got '--by kind'; expected 4 num"):
        gr.evaluate([row], "click", response_space="pixel")


def test_remarks_name_arguments_and_no_options_of_the_command_line(tmp_path: Path) -> None:
    shots = {"img_filename": "a.png", "instruction": "x", "data_type": "icon", "data_source": "web"}
    figures = gr.evaluate([{**shots, "bbox": [10, 10, 20, 5], "response": "(12, 12)"}], response_space="pixel")
    assert figures.notes == ("rows as in ScreenSpot: bbox is x y w h in pixels; box_format= names another",)
    with pytest.raises(TableError, match=r'which are they\? Give box_format="xywh" or xyxy$'):
        gr.evaluate([{**shots, "bbox": [10, 10, 20, 50], "response": "(12, 12)"}], response_space="pixel")
    with pytest.raises(gr.SpaceError, match=r"^click needs response_space, .*; or family, or model$"):
        gr.evaluate(ROWS)
    with pytest.raises(TableError, match=r"^rows: no column response of answers; response= or predictions= names them"):
        gr.evaluate_steps([{"id": 1, "conversations": [{"from": "gpt", "value": "a"}]}], "androidcontrol", "os-atlas")
    text = tmp_path / "rows.jsonl"
    text.write_bytes('{"response": "é", "target": [1, 2, 3, 4]}\n'.encode("latin-1"))
    with pytest.raises(TableError, match=r'as cp1252 it can be read: encoding="cp1252" in settings=, or iconv'):
        gr.evaluate(text, response_space="pixel")


def test_a_recipe_that_is_built_takes_no_options() -> None:
    click = gr.recipe("click", response_space="pixel")
    assert gr.evaluate(ROWS, click).accuracy == 0.5
    with pytest.raises(RecipeError, match=r"^click: got answers beside a recipe; build the recipe with them$"):
        gr.evaluate(ROWS, click, answers="all")


def test_a_notebook_shows_figures_and_findings_and_runs_nothing() -> None:
    rows = [{**row, "response": "<b>none</b>\x1b", "kind": "<script>"} for row in ROWS * 5]
    figures = gr.evaluate(rows, response_space="pixel", by="kind")
    (finding,) = figures.findings
    assert (finding.code, finding.count) == ("unread", 20)
    assert str(finding).endswith("check the responses")
    shown = figures._repr_html_()
    assert "<td>&lt;script&gt;</td><td>20</td><td>0</td><td>0.0 %</td><td>0.0 - 16.1</td><td>0.0 %</td>" in shown
    assert "such as &#x27;&lt;b&gt;none&lt;/b&gt;" in shown
    assert "<script>" not in shown
    assert "\x1b" not in shown + str(figures)
    assert str(figures).splitlines()[:3] == [
        "rows, click", "field  value     n   correct  accuracy  95 % interval  parsed",
        "       all       20  0        0.0 %     0.0 - 16.1     0.0 %",
    ]  # fmt: skip


def test_a_data_frame_has_a_row_for_each_value_and_each_total(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    folder = as_json(tmp_path / "shots", screenspot({"web / icon": 3, "mobile / text": 2}))
    frame = gr.evaluate(folder, benchmark="screenspot", response_space="pixel").to_pandas()
    assert list(frame.columns) == ["field", "value", "valid", "correct", "accuracy", "low", "high", "parse_rate"]
    assert frame[["field", "value", "valid"]].values.tolist()[:3] == [
        ["", "all", 5], ["total", "mean of 6 cells", 5], ["total", "all rows", 5]
    ]  # fmt: skip
    assert frame["accuracy"].isna().tolist() == [False, True, True, *[False] * (len(frame) - 3)]  # rows are missing


def test_without_pandas_figures_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = gr.evaluate([{"response": "(1, 2)", "target": {"bbox": [0, 0, 3, 3]}}], response_space="pixel")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(gr.TableError, match=r"a data frame needs pandas: pip install pandas; to_dict\(\) does without"):
        figures.to_pandas()


def test_explain_is_called_as_the_command_is(command: Runner) -> None:
    why = gr.explain("click", "(900, 900)", [90, 90, 120, 120], response_space="thousandths", image_size=(1000, 800))
    asked = ["--response", "(900, 900)", "--target", "[90, 90, 120, 120]", "--image-size", "1000,800"]
    shown = result_of(command("explain", "--recipe", "click", "--response-space", "thousandths", *asked, "--json").out)
    own = why.to_dict()
    assert [each.pop("origin") for each in shown["extents"]][1:] == ["--image-size"]
    assert [each.pop("origin") for each in own["extents"]][1:] == ["image_size beside the target"]
    assert own == {name: value for name, value in shown.items() if name not in ("findings", "warnings")}
    assert str(why).splitlines() == [
        "recipe('click', response_space='thousandths'): total 0.1 · acc 0 · OK",
        "  an answer was read, and it does not lie outside the image",
        "  780 px right of it and 600 px below it, 984.073 px away",
        "  outcome 0, times 0.9: best(hit, refusal)",
        "  format 1, times 0.1: Format()",
    ]
    group = gr.explain("gui-rcpo", "(5, 5)", BOX, group=["(5, 6)", "(80, 80)"], response_space="pixel")
    assert len(group.together.rows) == 3
