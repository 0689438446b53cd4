"""Sizes of images as data sets hold them."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards_adapters._trl_rows import image_sizes
from grounding_rewards_adapters.trl import reward_funcs
from tests.image_sources import OUT, WHY, hostile, python


def stored(width: int, height: int, form: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height)).save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_images_that_are_not_decoded_say_their_size(tmp_path: Path, form: str) -> None:
    (tmp_path / "a").write_bytes(stored(30, 20, form))
    rows = [
        {"bytes": stored(40, 50, form), "path": None},
        {"bytes": None, "path": str(tmp_path / "a")},
        [{"bytes": stored(1, 2, form)}, Image.new("L", (7, 8))],
    ]
    assert image_sizes(rows) == [(40, 50), (30, 20), (7, 8)]
    assert image_sizes(rows, 0) == [(40, 50), (30, 20), (1, 2)]


@pytest.mark.parametrize(
    "row", [None, [], [None], "a.png", 5, {}, {"bytes": b""}, {"bytes": b"GIF"}, {"path": "/no/such"}, {"path": "\0"}]
)
def test_what_has_no_size_is_unknown(row: Any) -> None:
    assert image_sizes([row]) == [None]


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_what_is_not_decoded_is_as_data_sets_decode_it(tmp_path: Path, form: str, orientation: int) -> None:
    features = pytest.importorskip("datasets").Image()
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = stored(40, 20, form, exif=exif)
    (tmp_path / "a").write_bytes(data)
    decoded = features.decode_example({"bytes": data, "path": None})
    assert decoded.size == ((20, 40) if orientation in (6, 8) else (40, 20))
    rows = [{"bytes": data, "path": None}, {"bytes": None, "path": str(tmp_path / "a")}, decoded]
    assert image_sizes(rows) == [decoded.size] * 3
    assert image_sizes([Image.open(io.BytesIO(data))]) == [(40, 20)]  # as it is handed to the processor


TARGET = {"bbox": [990, 490, 1010, 510]}


def test_image_index_says_which_image_targets_are_on() -> None:
    other, right = Image.new("L", (2000, 2000)), Image.new("L", (2000, 1000))
    rows = {"completions": ["(500, 500)"] * 3, "target": [TARGET] * 3, "images": [[right, other], [other, right], []]}
    options: dict[str, Any] = {"response_space": "thousandths", "format_weight": 0.0}
    assert reward_funcs("click", **options)[0](**rows) == [0.0, 1.0, None]
    assert reward_funcs("click", image_index=0, **options)[0](**rows) == [1.0, 0.0, None]
    with pytest.raises(gr.RecipeError, match="image_index: got '0'; expected a whole number"):
        reward_funcs("click", image_index="0", **options)  # type: ignore[arg-type]


def test_sizes_of_images_go_before_a_column_and_that_before_the_target() -> None:
    (reward,) = reward_funcs("click", response_space="thousandths", format_weight=0.0)
    targets = [TARGET, TARGET, {**TARGET, "image_size": [2000, 1000]}, {**TARGET, "image_size": [2000, 1000]}]
    images = [Image.new("L", (2000, 1000)), None, None, Image.new("L", (2000, 2000))]
    sizes = [[2000, 2000], [2000, 1000], None, None]
    rows = {"completions": ["(500, 500)"] * 4, "target": targets, "image": images, "image_size": sizes}
    assert reward(**rows) == [1.0, 1.0, 1.0, 0.0]


def test_a_column_of_lists_goes_before_one_of_single_images() -> None:
    """As in TRL, which shows the model those alone."""
    (reward,) = reward_funcs("click", response_space="thousandths", format_weight=0.0)
    right, other = Image.new("L", (2000, 1000)), Image.new("L", (2000, 2000))
    rows = {"completions": ["(500, 500)"], "target": [TARGET]}
    assert reward(**rows, images=[[right]], image=[other]) == [1.0]
    assert reward(**rows, images=[[other]], image=[right]) == [0.0]
    assert reward(**rows, images=None, image=[right]) == [1.0]


@pytest.mark.parametrize(("index", "size"), [(0, (3, 4)), (-1, (3, 4)), (1, None), (2, None), (-2, None)])
def test_an_index_beyond_the_list_finds_nothing(index: int, size: tuple[int, int] | None) -> None:
    assert image_sizes([[Image.new("L", (3, 4))]], index) == [size]


def said(*blocks: Any) -> list[dict[str, Any]]:
    return [{"role": "system", "content": "Click."}, {"role": "user", "content": [*blocks, {"type": "text"}, "x"]}]


def test_images_in_prompts_serve_where_no_column_holds_any() -> None:
    right, other = Image.new("L", (2000, 1000)), Image.new("L", (2000, 2000))
    shown = [{"type": "image", "image": each} for each in (right, other)]
    prompts = [said(*shown), said(*shown[::-1]), said({"type": "image"}), "click", None]
    rows = {"completions": ["(500, 500)"] * 5, "target": [TARGET] * 5, "prompts": prompts}
    options: dict[str, Any] = {"response_space": "thousandths", "format_weight": 0.0}
    assert reward_funcs("click", **options)[0](**rows) == [0.0, 1.0, None, None, None]
    assert reward_funcs("click", image_index=0, **options)[0](**rows) == [1.0, 0.0, None, None, None]
    sizes = [[2000, 1000]] * 5
    assert reward_funcs("click", **options)[0](**rows, image_size=sizes) == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert reward_funcs("click", **options)[0](**rows, image=[right] * 5) == [1.0] * 5


def test_no_image_that_is_none_is_waited_for_or_read_past_its_bounds(tmp_path: Path) -> None:
    """In a process of its own: what opened a FIFO would wait for ever, and /dev/zero has no end."""
    paths = hostile(tmp_path / "data")
    (tmp_path / "data" / "good.png").write_bytes(stored(40, 50))
    rows = [{"bytes": None, "path": path} for path in ("good.png", *paths.values())]
    code = (
        "import json, sys; from grounding_rewards_adapters._trl_rows import image_sizes; found = []\n"
        "sizes = image_sizes(json.loads(sys.argv[1]), note=found.append); print(json.dumps([sizes, found]))"
    )
    done = python(code, json.dumps(rows), cwd=tmp_path / "data")
    sizes, whys = json.loads(done.stdout)
    assert sizes == [[40, 50], *[None] * len(paths)]
    assert all((WHY | OUT)[name] in why for name, why in zip(paths, whys, strict=True))


def test_bounds_are_options_and_an_image_beyond_them_abstains(caplog: pytest.LogCaptureFixture) -> None:
    data = stored(2000, 1000)
    rows = {"completions": ["(500, 500)"] * 2, "target": [TARGET, {**TARGET, "image_size": [2000, 1000]}]}
    rows["images"] = [[{"bytes": data, "path": None}]] * 2
    options: dict[str, Any] = {"response_space": "thousandths", "format_weight": 0.0}
    (within,) = reward_funcs("click", max_image_bytes=len(data), max_image_pixels=2_000_000, **options)
    assert pickle.loads(pickle.dumps(within))(**rows) == [1.0, 1.0]
    assert caplog.messages == []
    for bound, said in (
        (
            {"max_image_bytes": len(data) - 1},
            f"has {len(data):,} bytes; max_image_bytes allows {len(data) - 1:,} bytes",
        ),
        ({"max_image_pixels": 1_999_999}, "has 2000 x 1000 pixels; max_image_pixels allows 1,999,999"),
    ):
        caplog.clear()
        (beyond,) = reward_funcs("click", **bound, **options)
        assert [beyond(**rows), beyond(**rows)] == [[None, 1.0]] * 2
        (line,) = [each for each in caplog.messages if "max_image" in each]
        assert line.startswith(
            f"click: image: its bytes cannot be read ({said}); the size of such images must stand in"
        )
    for value in (0, True, 1.5, "1"):
        with pytest.raises(gr.RecipeError, match=r"max_image_bytes: got .*; expected a whole number from 1"):
            reward_funcs("click", max_image_bytes=value, **options)  # type: ignore[arg-type]
