"""Settings that `init` finds: twenty made files, of each the accuracy that ``eval`` then has, or what stays open."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.batch import first_settings as module
from grounding_rewards.batch.joining import Join
from grounding_rewards.coords.resizing import model_image_size
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.image_files import ImageFiles
from tests.cli.command import Runner, result_of, write_rows
from tests.cli.conftest import run as run
from tests.cli.conftest import source as source

WIDTH, HEIGHT = 1600, 1000
SIZE = [WIDTH, HEIGHT]
Box = tuple[int, int, int, int]


def boxes(count: int = 80) -> list[Box]:
    """Return x1 y1 x2 y2 of elements all over a screen."""
    draw = random.Random(7)
    corners = [(draw.randrange(1450), draw.randrange(900), draw.randrange(30, 140), draw.randrange(20, 90))
               for _ in range(count)]  # fmt: skip
    return [(x, y, x + w, y + h) for x, y, w, h in corners]


def clicks(box: Box, place: int) -> tuple[float, float]:
    """Return the middle of a box in shares of the screen; of every fourth another place."""
    x, y = (box[0] + box[2]) / 2 / WIDTH, (box[1] + box[3]) / 2 / HEIGHT
    return ((x + 0.4) % 1, (y + 0.4) % 1) if place % 4 == 0 else (x, y)


def scaled(width: float, height: float, digits: int = 0) -> Callable[[float, float], str]:
    return lambda x, y: f"({x * width:.{digits}f}, {y * height:.{digits}f})"


PIXEL, THOUSANDTHS, UNIT = scaled(WIDTH, HEIGHT), scaled(1000, 1000), scaled(1, 1, 4)


def corners(box: Box) -> dict[str, Any]:
    return {"bbox": [*box], "image_size": SIZE}


def rows(answer: Callable[[float, float], str], target: Callable[[Box], dict[str, Any]] = corners,
         name: str = "response", count: int = 80) -> list[dict[str, Any]]:  # fmt: skip
    return [{**target(box), name: answer(*clicks(box, place))} for place, box in enumerate(boxes(count))]


def seen(**bounds: int) -> Callable[[float, float], str]:
    return scaled(*model_image_size(WIDTH, HEIGHT, "qwen2_5_vl", **bounds), 1)


def formed(make: Callable[[int, int, int, int], list[float]]) -> Callable[[Box], dict[str, Any]]:
    return lambda box: {"box": make(*box), "width": WIDTH, "height": HEIGHT}


def xywh(x1: int, y1: int, x2: int, y2: int) -> list[float]:
    return [x1, y1, x2 - x1, y2 - y1]


FILES: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "pixels": ("jsonl", rows(PIXEL), {"response_space": "pixel"}),
    "thousandths": ("jsonl", rows(THOUSANDTHS), {"response_space": "thousandths"}),
    "unit": ("jsonl", rows(UNIT), {"response_space": "unit"}),
    "names of their own": (
        "jsonl",
        rows(PIXEL, lambda box: {"gt_bbox": [*box], "img_width": WIDTH, "img_height": HEIGHT}, "model_output"),
        {"response_column": "model_output", "target_column": "gt_bbox", "image_size_column": "img_width,img_height"},
    ),
    "x y w h": ("jsonl", rows(PIXEL, formed(xywh)), {"box_format": "xywh"}),
    "x y w h, thousandths": (
        "jsonl", rows(THOUSANDTHS, formed(xywh)), {"box_format": "xywh", "response_space": "thousandths"},
    ),
    "centres": (
        "jsonl",
        rows(PIXEL, formed(lambda x1, y1, x2, y2: [(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1])),
        {"box_format": "cxcywh"},
    ),
    "y first": ("jsonl", rows(PIXEL, formed(lambda x1, y1, x2, y2: [y1, x1, y2, x2])), {"box_format": "yxyx"}),
    "targets in shares": (
        "jsonl",
        rows(THOUSANDTHS, lambda box: {
            "bbox": [box[0] / WIDTH, box[1] / HEIGHT, box[2] / WIDTH, box[3] / HEIGHT], "image_size": SIZE}),
        {"target_space": "unit", "response_space": "thousandths"},
    ),
    "all in shares": (
        "jsonl",
        rows(scaled(1, 1, 6), lambda box: {
            "bbox": [box[0] / WIDTH, box[1] / HEIGHT, box[2] / WIDTH, box[3] / HEIGHT], "image_size": [1920, 1080]}),
        {"target_space": "unit", "response_space": "unit"},
    ),
    "resized pixels": (
        "jsonl", rows(seen(max_pixels=1003520)), {"model": "qwen2_5_vl", "max_pixels": 1003520},
    ),
    "texts around answers": (
        "jsonl", rows(lambda x, y: f"<think>here?</think><answer>{PIXEL(x, y)}</answer>"), {"response_space": "pixel"},
    ),
    "calls": (
        "jsonl",
        rows(lambda x, y: json.dumps({"action": "click", "coordinate": json.loads(f"[{THOUSANDTHS(x, y)[1:-1]}]")})),
        {"response_space": "thousandths"},
    ),
    "a list": ("json", rows(UNIT), {"response_space": "unit"}),
    "CSV": (
        "csv", rows(UNIT, lambda box: {"gt_bbox": str([*box]), "width": WIDTH, "height": HEIGHT}, "prediction"),
        {"response_space": "unit", "target_column": "gt_bbox"},
    ),
    "Parquet": ("parquet", rows(THOUSANDTHS), {"response_space": "thousandths"}),
    "ScreenSpot-Pro": (
        "json",
        rows(THOUSANDTHS, lambda box: {
            "img_filename": "a.png", "bbox": [*box], "img_size": SIZE, "id": f"{box}", "ui_type": "icon",
            "group": "Office", "instruction": "open", "application": "word", "platform": "macos"}, "output"),
        {"response_space": "thousandths"},
    ),
    "OSWorld-G": (
        "json",
        rows(PIXEL, lambda box: {
            "id": f"{box}", "image_path": "a.png", "image_size": SIZE, "box_type": "bbox",
            "box_coordinates": xywh(*box), "GUI_types": ["Icon"], "instruction": "open"}, "output"),
        {"response_space": "pixel"},
    ),
    "refusals": (
        "jsonl",
        [{**row, "is_refusal": place % 8 == 0, "response": "refusal" if place % 8 == 0 else row["response"]}
         for place, row in enumerate(rows(THOUSANDTHS))],
        {"response_space": "thousandths", "refusal_column": "is_refusal"},
    ),
}  # fmt: skip


def write(path: Path, content: list[dict[str, Any]]) -> Path:
    """Write rows in the format that the file's name says."""
    if path.suffix == ".csv":
        cells = [[*content[0]], *([str(value) for value in row.values()] for row in content)]
        path.write_text("".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in cells))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(content), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(content))
    else:
        write_rows(path, *content)
    return path


def judged(run: Runner, file: Path, settings: Path) -> tuple[float, int]:
    """Return the accuracy and the number of warnings of ``eval``."""
    result = run("eval", file, "--settings", settings, "--json")
    assert result.code == 0, result
    (entry,) = result_of(result.out)
    return entry["accuracy"], len(entry["warnings"])


@pytest.mark.parametrize("name", FILES)
def test_eval_is_right_at_once_with_what_init_writes(run, tmp_path, name):
    suffix, content, expected = FILES[name]
    file, out = write(tmp_path / f"rows.{suffix}", content), tmp_path / "model.toml"
    result = run("init", file, "--out", out)
    assert result.code == 0, result
    assert result.err.splitlines()[-1] == (
        f"settings written to {out}; next: grounding-rewards eval {file} --settings {out}"
    )
    read = gr.read_settings(out)
    found = {**read.recipe, **read.answers, **read.data}
    assert found["name"] == "click"
    assert {key: found.get(key) for key in expected} == expected
    lines = out.read_text().splitlines()
    values = [place for place, line in enumerate(lines) if re.match("[a-z_]+ = ", line)]
    assert all(lines[place - 1].startswith("# ") for place in values)  # the evidence
    assert (
        (f"# rows as in {name}: " in out.read_text())
        == (name in ("ScreenSpot-Pro", "OSWorld-G"))
        != ("target_column = " in out.read_text())
    )
    assert judged(run, file, out) == (0.875 if name == "refusals" else 0.75, 0)


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("ScreenSpot-Pro", "--response-space unit", "; use --response-space thousandths"),
        ("OSWorld-G", "--response-space thousandths", "; use --response-space pixel"),
        ("OSWorld-G", "--response-space model_pixel", "--pipeline, which computes it"),
        ("ScreenSpot-Pro", "--pipeline qwen2_5_vl", "; use --response-space thousandths"),
        ("ScreenSpot-Pro", "--response-space thousandths --box-format xywh", "--box-format"),
        ("OSWorld-G", "--response-space pixel --box-format xyxy", "--box-format"),
        ("OSWorld-G", "--response-space pixel --response-column instruction", "check column 'instruction' (--response"),
    ],
)
def test_a_wrong_setting_for_the_layout_of_a_benchmark_is_named_with_its_fix(run, tmp_path, name, words, said):
    suffix, content, _ = FILES[name]
    result = run("eval", write(tmp_path / f"rows.{suffix}", content), *words.split(), "--strict")
    assert (result.code in (1, 2), said in result.err) == (True, True)


def test_answers_of_another_file_stand_in_the_settings(run, tmp_path):
    whole = rows(THOUSANDTHS)
    folder = tmp_path / "data"
    folder.mkdir()
    targets = write(folder / "a.json", [{"id": place, **{key: row[key] for key in ("bbox", "image_size")}}
                                        for place, row in enumerate(whole)])  # fmt: skip
    answers = write(
        tmp_path / "b.jsonl", [{"id": place, "response": row["response"]} for place, row in enumerate(whole)]
    )
    out = tmp_path / "model.toml"
    assert run("init", targets, "--predictions", answers, "--id", "id", "--out", out).code == 0
    assert '# as given\npredictions = "b.jsonl"\n# as given\nid = "id"\n' in out.read_text()
    assert judged(run, targets, out) == (0.75, 0)


def test_what_the_rows_do_not_say_stays_open(run, tmp_path):
    file = write(tmp_path / "rows.jsonl", rows(lambda x, y: "(3, 4)", count=6))
    out = tmp_path / "model.toml"
    result = run("init", file, "--out", out, "--strict")
    said = "response_space: not known: of 6 answers hit as pixel 0, thousandths 0, unit 0; give more answers, or set "
    assert (result.code, f"warning: {said}" in result.err) == (1, True)
    assert f"\n[answers]\n# {said}" in out.read_text()
    assert gr.read_settings(out).answers == {}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (5, "# response_space: not known: of 0 answers hit as pixel 0, thousandths 0, unit 0; 5 rows have "),
        (1, "# 1 row has a target that cannot be used, the first: "),
    ],
)
def test_targets_that_cannot_be_used_are_named(run, tmp_path, bad, said):
    inverted = rows(PIXEL, lambda box: {"bbox": [1500, 900, 30, 20], "image_size": SIZE}, count=bad)
    file = write(tmp_path / "rows.jsonl", inverted if bad > 1 else rows(PIXEL, count=40) + inverted)
    result = run("init", file, "--out", tmp_path / "model.toml", "--strict")
    written = (tmp_path / "model.toml").read_text()
    assert (result.code, said in written, "response_space = " in written) == (1, True, bad == 1)
    assert said.removeprefix("# ") in result.err


def test_a_space_that_hits_a_few_more_answers_than_another_is_not_known(run, tmp_path):
    file = write(tmp_path / "rows.jsonl", rows(PIXEL, count=7) + rows(THOUSANDTHS, count=3))
    assert run("init", file, "--out", tmp_path / "model.toml").code == 0
    assert "of 10 answers hit as pixel 5, thousandths 2, unit 0; " in (tmp_path / "model.toml").read_text()


@pytest.mark.parametrize(("pixels", "resized", "found"), [(37, 36, "pixel"), (37, 39, None), (12, 39, "model_pixel")])
def test_a_resizing_that_hits_no_more_answers_than_pixels_leaves_no_doubt(monkeypatch, pixels, resized, found):
    boxes = {"response_space": "pixel", "box_format": "xywh"}
    model = {"response_space": "model_pixel", "box_format": "xywh", "model": "qwen2_5_vl"}
    hits = {"pixel": pixels, "model_pixel": resized}

    def evaluated(*given: Any) -> Any:
        (*_, settings) = given
        correct, better = (hits[settings["response_space"]], {}) if len(settings) > 1 else (0, boxes)
        figures = SimpleNamespace(valid=60, rows=60, correct=correct, not_valid=0, findings=(), columns={})
        return module._Run(settings, figures, (), model if settings == {"response_space": "unit"} else better)

    monkeypatch.setattr(module, "_evaluated", evaluated)
    lines = module.first_settings(
        Path("a"), Join(), Path("b"), columns=Columns(), split=None, images=ImageFiles()
    ).lines
    assert lines.get(("answers", "response_space"), (None,))[0] == found


def test_a_scale_is_not_taken_for_a_space_that_rows_without_sizes_cannot_show(run, tmp_path):
    content = [{"bbox": row["bbox"], "response": row["response"]} for row in rows(THOUSANDTHS)]
    file, out = write(tmp_path / "rows.jsonl", content), tmp_path / "model.toml"
    assert "field 'image_size': got nothing; expected [width, height]" in run("init", file, "--out", out).err
    read = gr.read_settings(out)
    assert (dict(read.recipe), read.answers, "# response_space: not known: of 80" in out.read_text()) == (
        {"name": "click"}, {}, True,
    )  # fmt: skip


def test_columns_and_lists_that_are_named_stand_in_the_settings(run, tmp_path):
    items = [{"gold": row["bbox"], "said": row["response"]} for row in rows(PIXEL)]
    file = write(tmp_path / "rows.json", [{"size": SIZE, "parts": items[:40]}, {"size": SIZE, "parts": items[40:]}])
    (tmp_path / "own.toml").write_text("[data]\nexplode = 'parts'\nresponse_column = 'parts.said'\n")
    out, words = tmp_path / "model.toml", ("--target-column", "parts.gold", "--image-size-column", "size")
    assert run("init", file, "--settings", tmp_path / "own.toml", *words, "--out", out).code == 0
    assert gr.read_settings(out).data == {
        "explode": ["parts"], "response_column": "parts.said", "target_column": "parts.gold",
        "image_size_column": "size",
    }  # fmt: skip
    assert judged(run, file, out) == (0.75, 0)


def test_nothing_is_overwritten_and_rows_without_answers_are_an_error(run, tmp_path):
    file = write(tmp_path / "rows.jsonl", [{"bbox": [1, 2, 3, 4], "instruction": "open"}] * 3)
    out = tmp_path / "model.toml"
    assert run.error("init", file, "--out", out).startswith(f"{file}: no column 'response' (--response-column)")
    assert not out.exists()
    out.write_text("# mine\n")
    message = "is there already, and init overwrites nothing; name another file, or remove it"
    assert run.error("init", file, "--out", out) == f"{out}: {message}"
    assert out.read_text() == "# mine\n"
    assert run.error("init", file, "--out", tmp_path / "a.json").endswith("expected a file that ends in .toml")


def test_pixels_are_known_where_a_resizing_of_hardly_any_effect_hits_nearly_as_often(run, tmp_path):
    width, height = 1650, 1030
    draw, content = random.Random(3), []
    for left, top, right, bottom in boxes(60):
        w, h = right - left, bottom - top
        x, y = (left + right) / 2 + draw.uniform(-0.7, 0.7) * w, (top + bottom) / 2 + draw.uniform(-0.7, 0.7) * h
        answer = f"({x + draw.uniform(-1, 1) * 0.008 * width:.0f}, {y:.0f})"
        content.append({"bbox": [left, top, w, h], "image_size": [width, height], "response": answer})
    file, out = write(tmp_path / "rows.jsonl", content), tmp_path / "model.toml"
    assert run("init", file, "--out", out).code == 0
    assert "of 60 answers hit as pixel xywh 35, qwen2_5_vl model_pixel xywh 34, " in out.read_text()
    read = gr.read_settings(out)
    assert (read.answers, read.data["box_format"]) == ({"response_space": "pixel"}, "xywh")
    assert judged(run, file, out) == (35 / 60, 0)
