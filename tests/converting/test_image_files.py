"""Images in files and in bytes: that they are there, how large they are opened, and which way up they are."""

import pytest

from grounding_rewards.cli.image_files import look
from grounding_rewards.converting.images import Image, Seen
from grounding_rewards.errors import ConvertError
from tests.test_image_header import PNG, exif, turned_jpeg


@pytest.mark.parametrize("way", range(1, 9))
def test_the_sides_of_what_is_turned_change_places_for_who_turns_it(way, tmp_path):
    data = turned_jpeg(exif(way))
    (tmp_path / "photo.jpg").write_bytes(data)
    for image in (Image(data=data), Image(str(tmp_path / "photo.jpg")), Image(f"file://{tmp_path}/photo.jpg")):
        assert look(image, turning=False) == Seen((1920, 1080), way != 1)
        assert look(image, turning=True) == Seen((1080, 1920) if way >= 5 else (1920, 1080), way != 1)


def test_what_is_not_looked_at():
    assert look(Image("https://example.com/a.png"), turning=True) is None
    assert look(Image("gone.png"), turning=True, files=False) is None
    assert look(Image("gone.png", PNG), turning=True, files=False) == Seen((1920, 1080))


def test_what_is_not_there_and_what_is_no_image(tmp_path):
    with pytest.raises(ConvertError, match=r"cannot read '.*gone.png' \(No such file or directory\); name the folder"):
        look(Image(str(tmp_path / "gone.png")), turning=False)
    with pytest.raises(ConvertError, match="Is a directory"):
        look(Image(str(tmp_path)), turning=False)
    (tmp_path / "text.png").write_text("no image")
    assert look(Image(str(tmp_path / "text.png")), turning=True) == Seen(None)
