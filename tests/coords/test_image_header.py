"""The size in the header of an image: written by hand, written by Pillow, and cut off anywhere."""

import io
import struct

import pytest

from grounding_rewards.coords.image_sizes import image_size, orientation

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1920, 1080)
JPEG = b"\xff\xd8" + b"\xff\xe0\x00\x04ab" + b"\xff\xff\xc2\x00\x0b\x08" + struct.pack(">HH", 1080, 1920)
GIF = b"GIF89a" + struct.pack("<HH", 1920, 1080)
BMP = b"BM" + bytes(12) + struct.pack("<Iii", 40, 1920, -1080)
OLD_BMP = b"BM" + bytes(12) + struct.pack("<IHH", 12, 1920, 1080)
WEBP = b"RIFF" + bytes(4) + b"WEBP"
LOSSY = WEBP + b"VP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 1920 | 1 << 14, 1080)
LOSSLESS = WEBP + b"VP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 1919 | 1079 << 14)
EXTENDED = WEBP + b"VP8X" + bytes(8) + (1919).to_bytes(3, "little") + (1079).to_bytes(3, "little")
ALL = (PNG, JPEG, GIF, BMP, OLD_BMP, LOSSY, LOSSLESS, EXTENDED)


@pytest.mark.parametrize("header", ALL)
def test_headers(header):
    assert image_size(header) == (1920, 1080)
    assert image_size(header + bytes(100)) == (1920, 1080)


@pytest.mark.parametrize("header", ALL)
def test_a_header_that_is_cut_off_says_nothing(header):
    assert {image_size(header[:length]) for length in range(len(header))} == {None}


def test_what_is_no_image_says_nothing():
    assert image_size(b"") is None
    assert image_size(b"<svg width='10' height='10'/>") is None
    assert image_size(b"GIF89a" + bytes(4)) is None
    assert image_size(b"\xff\xd8" + bytes(100)) is None
    assert image_size(PNG.replace(b"IHDR", b"CgBI")) is None


def exif(way, order="<"):
    """EXIF data with an entry of another kind before the orientation."""
    entries = struct.pack(f"{order}HHIHH", 0x0100, 3, 1, 6, 0) + struct.pack(f"{order}HHIHH", 0x0112, 3, 1, way, 0)
    return (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HIH", 42, 8, 2) + entries + bytes(4)


def turned_jpeg(tiff):
    return JPEG[:8] + b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff + JPEG[8:]


def turned_png(tiff):
    chunk = struct.pack(">I4s", len(tiff), b"eXIf") + tiff + bytes(4)
    return PNG + bytes(9) + chunk


def turned_webp(tiff):
    """EXIF data behind the image, whose odd length is filled up."""
    size = (1919).to_bytes(3, "little") + (1079).to_bytes(3, "little")
    header = b"VP8X" + struct.pack("<I", 10) + bytes(4) + size
    return WEBP + header + b"VP8 " + struct.pack("<I", 7) + bytes(8) + b"EXIF" + struct.pack("<I", len(tiff)) + tiff


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    "written", [turned_jpeg, turned_png, turned_webp, lambda tiff: turned_webp(b"Exif\0\0" + tiff)]
)
def test_which_way_up(written, order):
    assert [orientation(written(exif(way, order))) for way in range(10)] == [1, 1, 2, 3, 4, 5, 6, 7, 8, 1]
    assert image_size(written(exif(6, order))) == (1920, 1080)
    whole = written(exif(6, order))
    assert {orientation(whole[:length]) for length in range(len(whole))} <= {1, 6}


def test_nothing_says_which_way_up():
    for data in (*ALL, b"", turned_jpeg(b"nothing"), turned_jpeg(b""), turned_png(exif(6)[:20]), turned_webp(b"")):
        assert orientation(data) == 1


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_which_way_up_pillow_writes(form):
    image = pytest.importorskip("PIL.Image")
    said, file = image.Exif(), io.BytesIO()
    said[0x0112] = 6
    image.new("RGB", (1921, 77)).save(file, form, exif=said)
    assert (orientation(file.getvalue()), image_size(file.getvalue())) == (6, (1921, 77))


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("PNG", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "comment": b"c" * 70_000}),
        ("GIF", {}),
        ("BMP", {}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\0\0"}),
    ],
)
def test_what_pillow_writes(form, options):
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    comment = options.pop("comment", b"")[:65_533]
    image.new("RGB", (1921, 77)).save(file, form, **options)
    data = file.getvalue()
    if comment:
        data = data[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + data[2:]
    assert image_size(data) == (1921, 77)
