"""Wrong settings on made-up answers in the layouts of benchmarks: named with their fix, and right ones left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.cli.command import Runner, result_of

WIDTH, HEIGHT = 1600, 1000
ROWS = 120
Row = dict[str, Any]


def boxes() -> np.ndarray:
    """Return x1 y1 x2 y2 of elements all over a screen."""
    draw = np.random.default_rng(3)
    sides = draw.integers(20, 120, (ROWS, 2))
    corner = draw.integers(0, (WIDTH, HEIGHT) - sides, (ROWS, 2))
    return np.hstack([corner, corner + sides])


def answers() -> list[str]:
    """Return clicks in thousandths near the centres: three in four hit."""
    draw = np.random.default_rng(4)
    each = boxes()
    centre, sides = (each[:, :2] + each[:, 2:]) / 2, each[:, 2:] - each[:, :2]
    away = np.where(np.arange(ROWS)[:, None] % 4 == 0, 4.0, 0.15) * draw.normal(size=(ROWS, 2)) * sides
    points = np.clip((centre + away) * (1000 / WIDTH, 1000 / HEIGHT), 0, 1000)
    return [f"({x:.0f}, {y:.0f})" for x, y in points]


def screenspot(folder: Path) -> list[Row]:
    Image.new("1", (WIDTH, HEIGHT)).save(folder / "screen.png")
    source = {"img_filename": "screen.png", "data_type": "icon", "data_source": "web"}
    return [
        {**source, "bbox": [x1, y1, x2 - x1, y2 - y1], "instruction": f"press {row}"}
        for row, (x1, y1, x2, y2) in enumerate(boxes().tolist())
    ]


def screenspot_pro(folder: Path) -> list[Row]:
    shared = {"img_filename": "a.png", "img_size": [WIDTH, HEIGHT], "ui_type": "icon", "group": "Office"}
    return [
        {**shared, "id": f"word_{row}", "bbox": box, "instruction": f"press {row}"}
        for row, box in enumerate(boxes().tolist())
    ]


def osworld_g(folder: Path) -> list[Row]:
    shared = {"image_path": "a.png", "image_size": [WIDTH, HEIGHT], "box_type": "bbox", "GUI_types": ["Icon"]}
    return [
        {**shared, "id": f"A{row}", "box_coordinates": [x1, y1, x2 - x1, y2 - y1], "instruction": f"press {row}"}
        for row, (x1, y1, x2, y2) in enumerate(boxes().tolist())
    ]


LAYOUTS = {each.__name__: each for each in (screenspot, screenspot_pro, osworld_g)}


@pytest.fixture(params=LAYOUTS)
def file(request, tmp_path):
    rows = LAYOUTS[request.param](tmp_path)
    path = tmp_path / f"{request.param}.json"
    path.write_text(json.dumps([{**row, "output": text} for row, text in zip(rows, answers(), strict=True)]))
    return path


def evaluated(run: Runner, *words: Any) -> tuple[int, str]:
    """Return the exit status under --strict, and the warnings or the error."""
    result = run("eval", *words, "--strict")
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    return result.code, "\n".join(lines)


def test_right_settings(run, file):
    assert evaluated(run, file, "--response-space", "thousandths") == (0, "")
    (entry,) = result_of(run("eval", file, "--response-space", "thousandths", "--json").out)
    assert (entry["n"], entry["findings"]) == (ROWS, [])
    assert 0.7 < entry["accuracy"] < 0.8


@pytest.mark.parametrize("wrong", ["pixel", "unit", "model_pixel"])
def test_wrong_spaces(run, file, wrong):
    code, text = evaluated(run, file, "--response-space", wrong)
    if wrong == "model_pixel":  # a size that nothing says
        assert (code, "--pipeline, which computes it" in text) == (2, True)
    else:
        assert (code, "; use --response-space thousandths" in text) == (1, True)


@pytest.mark.parametrize("wrong", ["xyxy", "xywh", "cxcywh"])
def test_wrong_box_formats(run, file, wrong):
    right = "xyxy" if file.stem == "screenspot_pro" else "xywh"
    code, text = evaluated(run, file, "--response-space", "thousandths", "--box-format", wrong)
    if wrong == right:
        assert (code, text) == (0, "")
    else:
        assert code in (1, 2)
        assert "--box-format" in text


def test_wrong_columns_models_and_recipes(run, file):
    words = ("--response-space", "thousandths")
    code, text = evaluated(run, file, *words, "--response-column", "instruction")
    assert (code, "check column 'instruction' (--response-column)" in text) == (1, True)
    code, text = evaluated(run, file, "--pipeline", "qwen2_5_vl")
    assert (code, "; use --response-space thousandths" in text) == (1, True)
    code, text = evaluated(run, file, *words, "--recipe", "ui-venus", "--option", "target_space=pixel")
    assert code in (1, 2)
    assert "use --recipe click" in text or "--pipeline, which computes it" in text
