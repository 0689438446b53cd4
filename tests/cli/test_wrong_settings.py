"""Wrong settings on real answers: each is named with its fix, and no right setting is complained about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Runner, read_rows, result_of, write_rows
from tests.cli.test_published_verdicts import CORRECT, FOLDER, space

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="published responses are not here: expected in ../shared/data/model_responses"
)

BOUNDS = {"gta1-7b-2507": 8847360, "uitars-7b-gelato-baseline": 4000000}
"""Pixels that the models of pixels saw at most, as the manifest says."""

SPACES = ("pixel", "model_pixel", "unit", "thousandths")
WRONG_SPACES = [(name, each) for name in CORRECT for each in SPACES if FOLDER.is_dir() and each != space(FOLDER / name)]
PIXELS = [name for name in CORRECT if any(model in name for model in BOUNDS)]
THOUSANDTHS = [name for name in CORRECT if name not in PIXELS]


def bound(name: str) -> int:
    return next(pixels for model, pixels in BOUNDS.items() if model in name)


@pytest.fixture
def some(tmp_path: Path) -> Any:
    """Write about 500 rows of a published file, without some columns."""

    def write(name: str, *, without: str = "") -> Path:
        rows = read_rows(FOLDER / name)
        step = len(rows) // 500
        return write_rows(
            tmp_path / name, *({key: value for key, value in row.items() if key != without} for row in rows[::step])
        )

    return write


def complaints(run: Runner, *words: Any) -> str:
    """Return the warnings of ``eval``, or its error; under --strict they end it with status 1, and an error with 2."""
    result = run("eval", *words, "--strict", "--json")
    if result.code == 2:
        return result.err
    (entry,) = result_of(result.out)
    warnings = [each["message"] for each in entry["findings"] if each["severity"] == "warning"]
    assert (result.code, len(entry["warnings"])) == (int(bool(warnings)), len(warnings))
    return "\n".join(entry["warnings"])


@pytest.mark.parametrize("name", CORRECT)
def test_right_settings_are_not_complained_about(run, some, name):
    assert complaints(run, some(name), "--response-space", space(FOLDER / name)) == ""


@pytest.mark.parametrize("name", PIXELS)
def test_right_models_are_not_complained_about(run, some, name):
    file = some(name, without="model_image_size")
    assert complaints(run, file, "--pipeline", "qwen2_5_vl", "--max-pixels", bound(name)) == ""


@pytest.mark.parametrize(("name", "wrong"), WRONG_SPACES)
def test_wrong_spaces(run, some, name, wrong):
    text = complaints(run, some(name), "--response-space", wrong)
    assert f"answers fit {space(FOLDER / name)} better" in text
    assert f"use --response-space {space(FOLDER / name)}" in text


@pytest.mark.parametrize("wrong", ["xywh", "cxcywh"])
@pytest.mark.parametrize("name", CORRECT)
def test_wrong_box_formats(run, some, name, wrong):
    text = complaints(run, some(name), "--response-space", space(FOLDER / name), "--box-format", wrong)
    assert "use --box-format xyxy" in text or f"boxes were read as {wrong}, see --box-format" in text


@pytest.mark.parametrize("name", CORRECT)
def test_wrong_columns(run, some, name):
    words = ("--response-space", space(FOLDER / name))
    text = complaints(run, some(name), *words, "--response-column", "instruction")
    assert "; check column 'instruction' (--response-column)" in text
    assert "field 'target': got '" in complaints(run, some(name), *words, "--target-column", "image")


@pytest.mark.parametrize("name", CORRECT)
def test_wrong_recipes(run, some, name):
    text = complaints(run, some(name), "--recipe", "ui-venus", "--response-space", space(FOLDER / name))
    if "refusal" in name:
        assert "this recipe judges nothing else; --recipe names another, such as click" in text
    else:
        assert "responses were read as list_box" in text
        assert "use --recipe click" in text
    # Its targets are in shares of the image, and these are in pixels.
    assert "on the command line --target-space SPACE" in complaints(run, some(name), "--recipe", "gelato")


@pytest.mark.parametrize("name", PIXELS)
def test_wrong_models_and_bounds(run, some, name):
    file = some(name, without="model_image_size")
    text = complaints(run, file, "--pipeline", "qwen3_vl")
    assert "answers fit " in text
    assert "use --" in text
    text = complaints(run, file, "--pipeline", "qwen2_5_vl", "--max-pixels", 1000000)
    assert "better" in text
    assert "use --pipeline qwen2_5_vl, without max_pixels" in text


@pytest.mark.parametrize("name", THOUSANDTHS)
def test_a_model_of_pixels_for_answers_in_thousandths(run, some, name):
    text = complaints(run, some(name, without="model_image_size"), "--pipeline", "qwen2_5_vl")
    assert "answers fit thousandths better" in text
    assert "use --response-space thousandths" in text
