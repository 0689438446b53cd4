"""Images in the size that the model sees: files of every format, sizes that processors leave alone, tokens that fit."""

from __future__ import annotations

import builtins
import io
import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from grounding_rewards.coords.resizing import Resizing, pipelines
from grounding_rewards.engines import images
from grounding_rewards.engines.images import ModelImages, SeenImages, token_problem
from grounding_rewards.errors import EngineError, PictureError
from grounding_rewards.tables.image_files import Image, ImageFiles
from tests.coords.test_image_header import exif
from tests.image_sources import OUT, WHY, hostile

FILES = ImageFiles()
QWEN2, QWEN3 = Resizing("qwen2_5_vl"), Resizing("qwen3_vl", max_pixels=1003520)
SIZE = (60, 90)
"""Size of the originals; qwen2_5_vl makes 56 x 84 of it."""


def drawn(mode: str = "RGB", size: tuple[int, int] = SIZE) -> Pillow.Image:
    """Colours that run over the image, so that a turn shows."""
    x, y = np.meshgrid(np.linspace(0, 255, size[0]), np.linspace(0, 255, size[1]))
    return Pillow.fromarray(np.stack([x, y, 255 - x], axis=2).astype(np.uint8)).convert(mode)


def stored(image: Pillow.Image, form: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def seen(data: bytes, resizing: Resizing | None = None) -> SeenImages:
    return ModelImages(FILES, resizing).read([Image(data=data)])


def opened(read: SeenImages) -> Pillow.Image:
    """Return the only file of images that were read, decoded."""
    (file,) = read.files
    return Pillow.open(io.BytesIO(file))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_what_has_its_size_is_sent_byte_for_byte(form: str, mode: str, tmp_path: Path) -> None:
    data = stored(drawn(mode, (56, 84)), form)
    (tmp_path / "shot").write_bytes(data)
    for image in (Image(data=data), Image(str(tmp_path / "shot"))):
        assert ModelImages(FILES, QWEN2).read([image]) == SeenImages((data,), (56, 84), (56, 84), ((56, 84),))
        assert ModelImages(FILES).read([image]) == SeenImages((data,), (56, 84), None, ((56, 84),))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_others_are_resized_as_the_processor_does(form: str) -> None:
    data = stored(drawn(), form)
    read = seen(data, QWEN2)
    picture = opened(read)
    assert (read.image_size, read.model_image_size, read.sizes) == (SIZE, (56, 84), ((56, 84),))
    assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (56, 84))
    expected = Pillow.open(io.BytesIO(data)).convert("RGB").resize((56, 84), Pillow.Resampling.BICUBIC)
    assert picture.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("form", "mode"), [("PNG", "RGBA"), ("PNG", "LA"), ("PNG", "P"), ("PNG", "1"), ("JPEG", "CMYK"), ("GIF", "P")]
)
def test_unusual_modes_become_rgb_in_their_own_size(form: str, mode: str) -> None:
    data = stored(drawn(mode), form)
    read = seen(data)
    assert (read.image_size, read.model_image_size) == (SIZE, None)
    assert (opened(read).format, opened(read).mode) == ("PNG", "RGB")
    assert opened(read).tobytes() == Pillow.open(io.BytesIO(data)).convert("RGB").tobytes()


def test_transparency_and_colour_profiles_are_not_of_the_file_that_is_sent() -> None:
    palette = stored(drawn("P"), transparency=bytes(range(200)))
    profile = stored(drawn("CMYK"), "JPEG", icc_profile=b"of ink")
    assert Pillow.open(io.BytesIO(palette)).info["transparency"]
    for data in (palette, profile):
        assert opened(seen(data)).info == {}
    clear = drawn("RGBA")
    clear.putalpha(0)
    assert opened(seen(stored(clear))).tobytes() == drawn().tobytes()


def test_deep_grey_is_what_pillow_makes_of_it() -> None:
    data = stored(Pillow.fromarray(np.full((84, 56), 200, np.uint16)))
    assert Pillow.open(io.BytesIO(data)).mode == "I;16"
    assert opened(seen(data)).getpixel((3, 3)) == (200, 200, 200)


@pytest.mark.parametrize("way", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_photographs_are_turned_upright(way: int, form: str) -> None:
    data = stored(drawn(), form, exif=b"Exif\0\0" + exif(way))
    read = seen(data)
    assert read.image_size == (SIZE[::-1] if way >= 5 else SIZE)
    assert opened(read).getexif().get(0x0112, 1) == 1
    assert (read.files == (data,)) == (way == 1)
    corners = {place: opened(read).getpixel(xy) for place, xy in _corners(read.image_size).items()}
    (blue,) = [place for place, (_, green, blue) in corners.items() if blue > 200 and green < 60]
    assert blue == {1: "tl", 2: "tr", 3: "br", 4: "bl", 5: "tl", 6: "tr", 7: "br", 8: "bl"}[way]


def _corners(size: tuple[int, int]) -> dict[str, tuple[int, int]]:
    right, bottom = size[0] - 3, size[1] - 3
    return {"tl": (2, 2), "tr": (right, 2), "bl": (2, bottom), "br": (right, bottom)}


def test_the_first_frame_of_what_moves_is_sent() -> None:
    frames = [drawn(size=(56, 84)), Pillow.new("RGB", (56, 84), "red")]
    for form in ("GIF", "WEBP", "PNG"):
        options = {"lossless": True} if form == "WEBP" else {}
        data = stored(frames[0], form, save_all=True, append_images=frames[1:], **options)
        assert Pillow.open(io.BytesIO(data)).n_frames == 2
        first = opened(seen(data, QWEN2))
        assert (first.format, getattr(first, "n_frames", 1)) == ("PNG", 1)
        assert np.abs(np.asarray(first, float) - np.asarray(frames[0], float)).mean() < 20, form


def test_several_images_and_none() -> None:
    data = [stored(drawn(size=size)) for size in ((56, 84), (10, 10))]
    read = ModelImages(FILES, QWEN2).read([Image(data=each) for each in data])
    assert read.files[0] == data[0]
    assert (read.image_size, read.model_image_size, read.sizes) == ((10, 10), (56, 56), ((56, 84), (56, 56)))
    assert ModelImages(FILES, QWEN2).read([]) == SeenImages((), None, None, ())


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    files = ImageFiles(str(tmp_path / "shots"))
    for name, path in hostile(tmp_path / "shots").items():
        with pytest.raises(PictureError) as caught:
            ModelImages(files, QWEN2).read([Image(path)])
        assert {**WHY, **OUT}[name] in str(caught.value), name
        assert "secret" not in str(caught.value)
    with pytest.raises(PictureError, match="is an address on a network, which is not asked"):
        ModelImages(files).read([Image("https://example.com/a.png")])


def test_what_is_cut_off_or_broken_says_so(tmp_path: Path) -> None:
    whole = stored(drawn())
    for data in (whole[:-40], whole[:60] + bytes(40) + whole[100:], stored(drawn(), "JPEG")[:400]):
        with pytest.raises(PictureError, match=r"image: cannot decode its bytes \("):
            seen(data)
    (tmp_path / "cut.png").write_bytes(whole[:-40])
    with pytest.raises(PictureError, match=r"image: cannot decode 'cut\.png' \("):
        ModelImages(ImageFiles(str(tmp_path))).read([Image("cut.png")])


def test_exif_data_that_are_broken_ask_for_no_turn() -> None:
    chunk = b"eXIf" + b"II*\0\xff\xff\xff\xff"
    data = stored(drawn())
    broken = data[:33] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) + data[33:]
    assert seen(broken).files == (broken,)


@pytest.mark.parametrize(
    ("size", "resizing", "why"),
    [
        ((603, 3), QWEN2, r"refuses an image of 603 x 3: one side is 201\.0 times the other, and 200 is the most"),
        ((6000, 30), Resizing("easyr1+qwen2_5_vl", 262144, 4194304), "its first step made 7240 x 36"),
        ((6000, 30), QWEN2, r"refuses an image of 5992 x 28: one side is 214\.0 times"),
        (
            (100, 1),
            Resizing("qwen2_5_vl", max_pixels=3136),
            r"of 100 x 1 pixels would be sent as 560 x 28, which the processor of qwen2_5_vl resizes again, to 224 x "
            "28; widen the bounds on pixels, leave the image out, or crop or pad it",
        ),
    ],
)
def test_sizes_that_no_processor_leaves_alone_are_refused(size: Any, resizing: Resizing, why: str) -> None:
    with pytest.raises(PictureError, match="^image: .*" + why):
        seen(stored(Pillow.new("L", size)), resizing)


def test_pillow_is_asked_for_where_an_image_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *further: Any) -> Any:
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *further)

    data = stored(drawn())
    monkeypatch.setattr(builtins, "__import__", without)
    assert ModelImages(FILES).read([]) == SeenImages()
    with pytest.raises(EngineError, match="images need Pillow: pip install pillow"):
        seen(data)


@pytest.mark.filterwarnings("default")  # transformers warns about itself
@pytest.mark.parametrize(
    ("resizing", "patch", "bounds"),
    [
        (QWEN2, 14, (3136, 12845056)),
        (Resizing("qwen2_5_vl", 50176, 1003520), 14, (50176, 1003520)),
        (Resizing("easyr1+qwen2_5_vl", 262144, 1003520), 14, (3136, 12845056)),
        (QWEN3, 16, (65536, 1003520)),
        (Resizing("verl+qwen3_vl", processor_max_pixels=2097152), 16, (65536, 2097152)),
    ],
)
def test_the_real_processor_leaves_sizes_as_they_are(resizing: Resizing, patch: int, bounds: tuple[int, int]) -> None:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    least, most = bounds
    processor = Qwen2VLImageProcessorPil(size={"shortest_edge": least, "longest_edge": most}, patch_size=patch)
    random, sent, refused = np.random.default_rng(7), 0, []
    sides = np.exp(random.uniform(0, np.log(1600), (12, 2))).astype(int).tolist()
    for width, height in [*sides, (1920, 1080), (1366, 768), (1080, 2400), (1, 1), (200, 1), (13, 14)]:
        try:
            read = seen(stored(Pillow.new("RGB", (width, height))), resizing)
        except PictureError as error:
            refused.append(str(error))
            continue
        made = processor(images=[opened(read)], do_rescale=False, do_normalize=False, return_tensors="np")
        (grid,) = made["image_grid_thw"].tolist()
        assert (grid[2] * patch, grid[1] * patch) == read.model_image_size == read.sizes[0], (width, height)
        assert read.image_size == (width, height)
        tokens = grid[1] * grid[2] // 4
        assert token_problem(tokens, read.sizes, resizing, 0) == ""
        assert token_problem(tokens - 1, read.sizes, resizing, 0).startswith(f"prompt of {tokens - 1} tokens: expected")
        sent += 1
    assert sent > 12
    assert [why for why in refused if "times the other" not in why and "resizes again" not in why] == []


@given(
    st.sampled_from([name for name in pipelines() if name != "phi_ground"]), st.integers(1, 400), st.integers(1, 400)
)
def test_what_was_resized_is_sent_as_it_is(pipeline: str, width: int, height: int) -> None:
    resizing = Resizing(pipeline, max_pixels=100_000, processor_max_pixels=None if pipeline[0] == "q" else 100_000)
    try:
        first = seen(stored(Pillow.new("L", (width, height))), resizing)
    except PictureError:
        return
    again = seen(first.files[0], resizing.processor)
    assert again.files == first.files
    assert again.image_size == again.model_image_size == first.model_image_size


@given(st.integers(0, 5000), st.integers(0, 3000))
def test_tokens_fit_between_those_of_the_images_and_as_many_more_as_the_text_has_bytes(tokens: int, text: int) -> None:
    sizes = [(1316, 728), (56, 84)]  # 47 · 26 + 2 · 3
    fits = 1228 <= tokens <= 1228 + text + 1024
    assert (token_problem(tokens, sizes, QWEN2, text) == "") == fits
    assert token_problem(tokens, sizes, None, text) == ""
    assert token_problem(None, sizes, QWEN2, text) == ""
    assert token_problem(tokens, [], QWEN2, text) == ""


def test_a_problem_of_tokens_names_the_options() -> None:
    problem = token_problem(9000, [(640, 480), (56, 84)], Resizing("verl+qwen3_vl"), 100)
    assert problem.startswith("prompt of 9000 tokens: expected 302 to 1426 with 640 x 480, 56 x 84 pixels for qwen3_vl")
    for way in ("--pipeline", "--min-pixels", "--max-pixels", "--mm-processor-kwargs"):
        assert way in problem


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
@given(share=st.floats(0.3, 0.999))
def test_a_file_that_ends_early_is_not_sent_as_it_is(form: str, share: float) -> None:
    data = stored(drawn(), form)
    size = len(data) - 12  # the last part of a PNG, which has nothing in it
    with pytest.raises(PictureError, match="image: cannot decode its bytes"):
        seen(data[: int(size * share)])


def test_a_png_whose_bytes_have_changed_is_not_sent_as_it_is() -> None:
    data = bytearray(stored(drawn()))
    data[len(data) // 2] ^= 1
    with pytest.raises(PictureError, match="image: cannot decode its bytes"):
        seen(bytes(data))


@pytest.mark.parametrize(("pixels", "at_once"), [(5400, 1), (10_799, 1), (16_200, 3), (1 << 28, 8)])
def test_pixels_that_are_decoded_at_one_time_are_bounded_over_all_threads(monkeypatch, pixels, at_once):
    """Images have 5,400 pixels each; of some the conversion fails."""
    now, most, lock, full = 0, 0, threading.Lock(), threading.Barrier(at_once)

    def counted(decoded: Any, *_: Any) -> bytes:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        full.wait(20)  # as many as may be are there, before one goes on
        with lock:
            now -= 1
        if decoded.mode == "L":
            raise ValueError("of any kind")
        return b"file"

    monkeypatch.setattr(images, "_png", counted)
    files = ImageFiles(max_image_pixels=pixels)
    reader = ModelImages(files, QWEN2)
    shots = [Image(data=stored(drawn("L" if number % 5 == 4 else "RGB"))) for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        read = [threads.submit(reader.read, [shot]) for shot in shots]
    assert most == at_once
    assert sum(one.exception() is not None for one in read) == 4


def test_a_canvas_is_sent_with_the_image_at_its_upper_left_corner() -> None:
    canvas = Resizing("phi_ground")
    read = seen(stored(Pillow.new("RGB", (200, 100), "red")), canvas)
    assert (read.image_size, read.model_image_size) == ((200, 100), (1008, 504))
    sent = opened(read)
    assert (sent.size, sent.getpixel((1007, 503)), sent.getpixel((0, 504))) == ((1008, 672), (255, 0, 0), (255,) * 3)
    exact = stored(drawn(size=(1008, 672)), "JPEG")
    assert seen(exact, canvas).files == (exact,)
    assert token_problem(5, read.sizes, canvas, 0) == ""
