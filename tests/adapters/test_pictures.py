"""Sizes of pictures as data sets hold them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards_adapters._pictures import picture_sizes
from grounding_rewards_adapters.trl import reward_funcs


def stored(width: int, height: int, form: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height)).save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_pictures_that_are_not_decoded_say_their_size(tmp_path: Path, form: str) -> None:
    (tmp_path / "a").write_bytes(stored(30, 20, form))
    rows = [
        {"bytes": stored(40, 50, form), "path": None},
        {"bytes": None, "path": str(tmp_path / "a")},
        [{"bytes": stored(1, 2, form)}, Image.new("L", (7, 8))],
    ]
    assert picture_sizes(rows) == [(40, 50), (30, 20), (7, 8)]
    assert picture_sizes(rows, 0) == [(40, 50), (30, 20), (1, 2)]


@pytest.mark.parametrize(
    "row", [None, [], [None], "a.png", 5, {}, {"bytes": b""}, {"bytes": b"GIF"}, {"path": "/no/such"}, {"path": "\0"}]
)
def test_what_has_no_size_is_unknown(row: Any) -> None:
    assert picture_sizes([row]) == [None]


def test_a_picture_is_not_turned() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    data = stored(40, 20, "JPEG", exif=exif)
    assert picture_sizes([{"bytes": data}, Image.open(io.BytesIO(data))]) == [(40, 20), (40, 20)]


TARGET = {"bbox": [990, 490, 1010, 510]}


def test_image_index_says_which_picture_targets_are_on() -> None:
    other, right = Image.new("L", (2000, 2000)), Image.new("L", (2000, 1000))
    rows = {"completions": ["(500, 500)"] * 3, "target": [TARGET] * 3, "images": [[right, other], [other, right], []]}
    options: dict[str, Any] = {"response_space": "thousandths", "format_weight": 0.0}
    assert reward_funcs("click", **options)[0](**rows) == [0.0, 1.0, None]
    assert reward_funcs("click", image_index=0, **options)[0](**rows) == [1.0, 0.0, None]
    with pytest.raises(gr.RecipeError, match="image_index: got '0'; expected a whole number"):
        reward_funcs("click", image_index="0", **options)  # type: ignore[arg-type]


def test_sizes_of_pictures_go_before_a_column_and_that_before_the_target() -> None:
    (reward,) = reward_funcs("click", response_space="thousandths", format_weight=0.0)
    targets = [TARGET, TARGET, {**TARGET, "image_size": [2000, 1000]}, {**TARGET, "image_size": [2000, 1000]}]
    pictures = [Image.new("L", (2000, 1000)), None, None, Image.new("L", (2000, 2000))]
    sizes = [[2000, 2000], [2000, 1000], None, None]
    rows = {"completions": ["(500, 500)"] * 4, "target": targets, "image": pictures, "image_size": sizes}
    assert reward(**rows) == [1.0, 1.0, 1.0, 0.0]
