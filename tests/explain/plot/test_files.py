"""Pictures as files: formats, screenshots, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.errors import PictureError
from grounding_rewards.explain import Case
from grounding_rewards.explain.plot import files as pictures
from grounding_rewards.explain.plot.files import draw
from tests.cli.command import names

CLICK = gr.recipe("click", response_space="pixel")
BOX = {"bbox": [10, 10, 50, 30]}
CASE = Case(("(20, 15)",), (BOX,))


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Maps of few cells, which are quick."""
    fine = pictures.picture
    monkeypatch.setattr(pictures, "picture", lambda *given, **more: fine(*given, **more, cells=100))


SCREENSHOT = np.full((100, 200, 3), 250, dtype=np.uint8)


def drawn_with(monkeypatch):
    """Collect what is plotted: the pictures and the screenshot."""
    plotted = []
    real = pictures.plot
    monkeypatch.setattr(pictures, "plot", lambda *words: plotted.append(words) or real(*words))
    return plotted


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_the_suffix_chooses_the_format_and_the_bytes_are_always_the_same(tmp_path, suffix, start):
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        draw([CLICK], CASE, path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(start)
    assert first == second
    assert matplotlib.__version__.encode() not in first
    assert names(tmp_path) == sorted(path.name for path in paths)


def test_the_picture_shows_something(tmp_path):
    draw([CLICK], CASE, tmp_path / "a.png")
    pixels = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"))
    assert 800 <= pixels.shape[1] <= 900
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 100


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.gif", r"a\.gif: a picture ends in \.png, \.svg, \.pdf"),
        ("a", "a: a picture ends in"),
        ("no/a.png", "there is no directory"),
        ("folder.png", "is no file"),
    ],
)
def test_a_path_that_cannot_be_written_is_an_error(tmp_path, name, message):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(PictureError, match=message):
        draw([CLICK], CASE, tmp_path / name)
    assert names(tmp_path) == ["folder.png"]


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    with pytest.raises(gr.TargetError):
        draw([CLICK], Case(("(1, 2)",), ({"bbox": [3, 1]},)), path)

    def broken(figure, file, **given):
        file.write(b"half")
        raise OSError("full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", broken)
    with pytest.raises(OSError, match="full"):
        draw([CLICK], CASE, path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.png"]


def test_recipes_that_cannot_be_drawn_are_left_out_and_said(tmp_path, monkeypatch):
    plotted = drawn_with(monkeypatch)
    gelato, gta1 = gr.recipe("gelato", target_space="pixel"), gr.recipe("gta1")
    assert draw([gta1, CLICK, gelato], CASE, tmp_path / "a.png") == [
        "gta1 is left out of the picture: target of row 0, field 'model_image_size': got nothing; expected [width, "
        "height], because the recipe brings targets in thousandths into model_pixel",
        "gelato is left out of the picture: target of row 0, field 'image_size': got nothing; expected [width, "
        "height], because the recipe brings responses in thousandths, targets in pixel into unit",
    ]
    assert [each.name for each in plotted[0][0]] == ["click"]
    assert draw([CLICK], CASE, tmp_path / "a.png") == []
    with pytest.raises(gr.TargetError, match="brings targets in thousandths into model_pixel"):
        draw([gta1, gelato], CASE, tmp_path / "b.png")
    assert names(tmp_path) == ["a.png"]


def test_a_recipe_whose_screen_is_unknown_does_not_keep_a_screenshot_from_the_others(tmp_path, monkeypatch):
    plotted = drawn_with(monkeypatch)
    (note,) = draw([CLICK, gr.recipe("gelato-pixel")], CASE, tmp_path / "a.png", SCREENSHOT)
    assert note.startswith("gelato-pixel is left out of the picture: gelato-pixel: a screenshot cannot be drawn below")
    assert [each.name for each in plotted[0][0]] == ["click"]


def test_a_mate_whose_target_cannot_be_used_is_drawn_with_the_rest(tmp_path):
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    bad = Case(("(20, 15)", "(21, 15)"), ({"image_size": [100, 50]}, {"image_size": 7}), groups=(0, 0))
    assert draw([recipe], bad, tmp_path / "a.png") == []
    with pytest.raises(gr.TargetError, match="'image_size': got 7"):
        draw([recipe], replace(bad, row=1), tmp_path / "b.png")


def test_the_share_that_is_done(tmp_path):
    shares = []
    draw([CLICK, CLICK], replace(CASE, image_sizes=((1000, 500),)), tmp_path / "a.png", advance=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]  # of either recipe the whole and a closer view


def test_the_screenshot_says_the_size_where_nothing_else_does(tmp_path, monkeypatch):
    plotted = drawn_with(monkeypatch)
    draw([CLICK], CASE, tmp_path / "a.png", SCREENSHOT)
    ((shown,), image) = plotted[0]
    assert (shown.scene.window, shown.scene.known) == ((0.0, 0.0, 200.0, 100.0), True)
    assert image is SCREENSHOT
    group = Case(("(20, 15)", "(9, 9)", "(8, 8)"), (BOX,) * 3, groups=("a", "a", "b"))
    sized = group.sized(CLICK, (200, 100), "screen.png")
    assert sized.image_sizes == ((200, 100), (200, 100), None)


@pytest.mark.parametrize(
    ("case", "came"),
    [
        (Case(("(20, 15)",), ({**BOX, "image_size": [300, 100]},)), "300 x 100"),
        (Case(("(20, 15)",), (BOX,), image_sizes=((100, 200),)), "100 x 200"),
    ],
)
def test_a_size_that_is_not_the_screenshots_is_an_error(tmp_path, case, came):
    with pytest.raises(gr.TargetError, match=rf"'image_size': got '{came}'; expected 200 x 100, the size of .*screen"):
        draw([CLICK], case, tmp_path / "a.png", SCREENSHOT, "screen.png")
    same = Case(("(20, 15)",), ({**BOX, "image_size": [200, 100]},))
    draw([CLICK], same, tmp_path / "a.png", SCREENSHOT)
    assert names(tmp_path) == ["a.png"]


@pytest.mark.slow
def test_the_picture_is_drawn_though_the_reader_of_the_words_has_gone(tmp_path):
    words = [sys.executable, "-m", "grounding_rewards", "explain", "gelato", "--plot", str(tmp_path / "why.png")]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ran = subprocess.run(words, stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    with Image.open(tmp_path / "why.png") as picture:
        assert picture.size[0] > 500
