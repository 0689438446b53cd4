"""Images in files and in bytes: what is read of them, within which bounds, and which way up they are."""

from __future__ import annotations

import base64
import io
import os
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from grounding_rewards.errors import ConvertError, PictureError
from grounding_rewards.tables.image_files import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_PIXELS,
    Image,
    ImageFiles,
    ImageInfo,
    read_images,
)
from tests.coords.test_image_header import ALL, JPEG, PNG, exif, turned_jpeg
from tests.image_sources import python

FILES = ImageFiles()


def stored(form="PNG", size=(20, 10), **options):
    file = io.BytesIO()
    Pillow.new("L", size, 200).save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize("way", range(1, 9))
def test_the_sides_of_what_is_turned_change_places_for_who_turns_it(way, tmp_path):
    data = turned_jpeg(exif(way))
    (tmp_path / "photo.jpg").write_bytes(data)
    for image in (Image(data=data), Image(str(tmp_path / "photo.jpg")), Image(f"file://{tmp_path}/photo.jpg")):
        assert FILES.look(image, turning=False) == ImageInfo((1920, 1080), way != 1)
        assert FILES.look(image, turning=True) == ImageInfo((1080, 1920) if way >= 5 else (1920, 1080), way != 1)


def test_what_is_not_looked_at():
    assert FILES.look(Image("https://example.com/a.png"), turning=True) is None
    assert FILES.look(Image("gone.png"), turning=True, files=False) is None
    assert FILES.look(Image("gone.png", PNG), turning=True, files=False) == ImageInfo((1920, 1080))
    with pytest.raises(PictureError, match="is an address on a network, which is not asked"):
        FILES.read(Image("https://example.com/a.png"))


def test_what_is_not_there_has_a_hint_and_what_is_refused_has_none(tmp_path):
    files = ImageFiles(str(tmp_path), hint="; look elsewhere")
    (tmp_path / "text.png").write_text("no image")
    for path, said in (
        ("gone.png", rf"cannot read 'gone\.png' in {tmp_path} \(No such file or directory\); look elsewhere"),
        ("../gone.png", rf"\(leads out of {tmp_path}\); look elsewhere"),
        (str(tmp_path), "is a directory; expected an image file\\)"),
        ("text.png", r"expected PNG, JPEG, WebP, GIF or BMP\)"),
    ):
        with pytest.raises(PictureError, match=said + "$"):
            files.look(Image(path), turning=False)


@pytest.mark.parametrize("data", ALL)
def test_every_format_is_read_to_its_bounds_and_no_further(data, tmp_path):
    (tmp_path / "a").write_bytes(data)
    fits = ImageFiles(str(tmp_path), max_image_bytes=len(data), max_image_pixels=1920 * 1080)
    for image in (Image("a"), Image(str(tmp_path / "a")), Image(data=data)):
        assert fits.look(image, turning=False) == ImageInfo((1920, 1080))
        assert fits.read(image) == data
        with pytest.raises(PictureError, match=f"has {len(data)} bytes; max_image_bytes allows {len(data) - 1} bytes"):
            ImageFiles(str(tmp_path), max_image_bytes=len(data) - 1).look(image, turning=False)
        with pytest.raises(PictureError, match="has 1920 x 1080 pixels; max_image_pixels allows 2,073,599"):
            ImageFiles(str(tmp_path), max_image_pixels=1920 * 1080 - 1).read(image)


def test_no_more_is_read_than_the_bound_where_the_system_says_less(tmp_path, monkeypatch):
    """A file may grow, or lie in a file system that says no sizes."""
    (tmp_path / "a.png").write_bytes(PNG + bytes(1 << 20))
    lengths, real = list[int](), os.fstat

    def small(handle):
        found = list(real(handle))
        found[6] = 24
        return os.stat_result(found)

    def counted(handle, mode):
        return _Counting(open(handle, mode, buffering=0), lengths)

    monkeypatch.setattr("grounding_rewards.tables.data_paths.os.fstat", small)
    monkeypatch.setattr("grounding_rewards.tables.data_paths.os.fdopen", counted)
    with pytest.raises(PictureError, match="has more bytes than the system says; max_image_bytes allows 1,000 bytes"):
        ImageFiles(str(tmp_path), max_image_bytes=1000).read(Image("a.png"))
    assert sum(lengths) == 1001


class _Counting:
    """A file that notes how many bytes are read of it."""

    def __init__(self, file, lengths):
        self.file, self.lengths, self.fileno = file, lengths, file.fileno

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.file.close()

    def read(self, size):
        found = self.file.read(size)
        self.lengths.append(len(found))
        return found


def test_looking_reads_the_beginning_alone(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    os.truncate(tmp_path / "a.png", MAX_IMAGE_BYTES)
    assert FILES.look(Image(str(tmp_path / "a.png")), turning=False) == ImageInfo((1920, 1080))
    far = JPEG[:8] + b"\xff\xe1\xff\xfe" + bytes(0xFFFC) + b"\xff\xe1\xff\xfe" + bytes(0xFFFC) + JPEG[8:]
    (tmp_path / "far.jpg").write_bytes(far)
    assert FILES.look(Image(str(tmp_path / "far.jpg")), turning=False) == ImageInfo((1920, 1080))


def test_a_folder_that_becomes_a_link_while_it_is_opened(tmp_path, monkeypatch):
    """Whoever changes names just then gets nothing read that lies outside."""
    (tmp_path / "data" / "shots").mkdir(parents=True)
    (tmp_path / "data" / "shots" / "a.png").write_bytes(PNG)
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots" / "a.png").write_bytes(stored())
    real = os.open

    def swapping(path, flags):
        (tmp_path / "data" / "shots").rename(tmp_path / "moved")
        (tmp_path / "data" / "shots").symlink_to(tmp_path / "shots")
        return real(path, flags)

    monkeypatch.setattr("grounding_rewards.tables.data_paths.os.open", swapping)
    with pytest.raises(PictureError, match="leads out of"):
        ImageFiles(str(tmp_path / "data")).read(Image("shots/a.png"))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_decoding_goes_by_our_bound_and_not_by_pillows(form, monkeypatch):
    """Pillow's own ends where a screenshot of 10,000 x 20,000 pixels does not."""
    assert MAX_IMAGE_PIXELS >= 10_000 * 20_000 > 2 * Pillow.MAX_IMAGE_PIXELS
    monkeypatch.setattr(Pillow, "MAX_IMAGE_PIXELS", 10)
    found = FILES.decode(Image(data=stored(form)))
    assert found.size == (20, 10)
    assert np.abs(np.asarray(found.convert("L")).astype(int) - 200).max() <= 2
    assert Pillow.MAX_IMAGE_PIXELS == 10
    with pytest.raises(PictureError, match="has 20 x 10 pixels; max_image_pixels allows 199"):
        ImageFiles(max_image_pixels=199).decode(Image(data=stored(form)))


def test_threads_decode_at_once_and_pillows_bound_stays(monkeypatch):
    monkeypatch.setattr(Pillow, "MAX_IMAGE_PIXELS", 10)
    files = [ImageFiles(max_image_pixels=200 + number) for number in range(1500)]
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads meet within the few steps of opening an image
    try:
        with ThreadPoolExecutor(8) as threads:
            sizes = list(threads.map(lambda each: each.decode(Image(data=stored())).size, files))
    finally:
        sys.setswitchinterval(often)
    assert (sizes, Pillow.MAX_IMAGE_PIXELS) == ([(20, 10)] * 1500, 10)


def gif_with_a_larger_frame():
    data = bytearray(stored("GIF"))
    place = data.index(b",", 13 + 3 * 2 ** ((data[10] & 7) + 1))
    data[place + 5 : place + 9] = struct.pack("<HH", 30_000, 30_000)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [gif_with_a_larger_frame(), stored()[:-40], stored("JPEG")[:-100], PNG + bytes(100)],
    ids=["a GIF whose frame is above its screen", "cut PNG", "cut JPEG", "header alone"],
)
def test_what_cannot_be_decoded_is_a_picture_error(data):
    with pytest.raises(PictureError, match=r"^image: cannot decode its bytes \("):
        FILES.decode(Image(data=data))


def test_a_data_url_is_bytes():
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    for value in (url, {"bytes": None, "path": url}):
        (image,) = read_images(value)
        assert (image.path, image.data, image.remote, image.relative) == (url, PNG, False, False)
        assert image.as_field() == {"bytes": PNG, "path": None}
        assert image.within("/data") == image
    with pytest.raises(PictureError, match=r"its bytes cannot be read \(has 24 bytes; max_image_bytes allows 23 bytes"):
        ImageFiles(max_image_bytes=23).look(image, turning=False, files=False)


@pytest.mark.parametrize(
    "url", ["data:", "data:image/png;base64,", "data:image/png,abc", "data:image/png;base64,a*secret"]
)
def test_a_data_url_that_is_none_is_an_error_that_does_not_quote_it(url):
    with pytest.raises(
        ConvertError, match=f"got a data URL of {len(url)} characters; expected data:image/png;base64"
    ) as e:
        read_images([url])
    assert "secret" not in str(e.value)


PARTS = st.sampled_from(["..", ".", "in", "out", "a.png", "link", "linked", "", "up"])


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A folder with links in it and out of it; what lies outside is of another size."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "data" / "in").mkdir(parents=True)
    (folder / "out").mkdir()
    for place, size in (("data", (1, 1)), ("data/in", (1, 1)), ("out", (9, 9)), (".", (9, 9))):
        (folder / place / "a.png").write_bytes(stored(size=size))
    (folder / "data" / "link").symlink_to("in/a.png")
    (folder / "data" / "linked").symlink_to(folder / "out")
    (folder / "data" / "in" / "up").symlink_to("../..")
    (folder / "data" / "out").symlink_to("../out/a.png")
    return folder / "data"


@given(parts=st.lists(PARTS, min_size=1, max_size=7))
def test_no_relative_path_reads_what_lies_outside(tree, parts):
    path = "./" + "/".join(parts)
    place = os.path.realpath(tree / path)
    if os.path.isfile(place) and Path(place).is_relative_to(tree):
        assert ImageFiles(str(tree)).look(Image(path), turning=False) == ImageInfo((1, 1))
    else:
        with pytest.raises(PictureError, match="image: cannot read"):
            ImageFiles(str(tree)).look(Image(path), turning=False)


def test_a_snapshot_in_the_cache_of_the_hub_is_one_folder(tmp_path):
    """Its images are links to files that lie beside it, and so they are read; links to anything else are not."""
    repository = tmp_path / "datasets--lab--clicks"
    snapshot = repository / "snapshots" / "0f" / "data"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs" / "11").write_bytes(PNG)
    (repository / "22").write_bytes(PNG)
    (snapshot / "a.png").symlink_to("../../../blobs/11")
    (snapshot / "b.png").symlink_to("../../../22")
    assert ImageFiles(str(snapshot)).look(Image("a.png"), turning=False) == ImageInfo((1920, 1080))
    with pytest.raises(PictureError, match="leads out of"):
        ImageFiles(str(snapshot)).look(Image("b.png"), turning=False)


def test_a_fifo_that_takes_the_place_of_an_image_just_before_it_is_opened(tmp_path):
    """In a process of its own, for it would wait for ever."""
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(PNG)
    code = (
        "import os; from grounding_rewards.tables.image_files import ImageFiles\n"
        "from grounding_rewards.tables.image_files import Image; regular = os.stat('b.png')\n"
        "os.stat = lambda *path, **more: regular\n"
        "ImageFiles().look(Image('a.png'), turning=False)"
    )
    done = python(code, cwd=tmp_path)
    assert done.stderr.endswith("PictureError: image: cannot read 'a.png' in . (is a FIFO; expected an image file)\n")
