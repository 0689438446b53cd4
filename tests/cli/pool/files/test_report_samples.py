"""Screenshots of the samples that a report shows."""

from __future__ import annotations

from PIL import Image

from grounding_rewards.cli.pool.files.report_samples import Data, with_screenshots
from tests.cli.command import write_rows
from tests.pool.report.made import shown


def test_screenshots_are_turned_as_their_exif_data_say_and_other_shapes_are_told(tmp_path):
    upright = Image.new("L", (100, 200), 255)
    upright.paste(0, (0, 0, 100, 50))  # dark on top, once it is turned by 90 degrees: at the right
    exif = upright.getexif()
    exif[0x0112] = 6
    upright.save(tmp_path / "turned.png", exif=exif)
    rows = [{"sample_id": name, "image": "turned.png"} for name in "bc"]
    data = Data(write_rows(tmp_path / "data.jsonl", *rows))
    wide, tall = shown(), shown(sample_id="c", image_size=(100.0, 200.0))
    (first, _), remarks = with_screenshots([wide, tall], data)
    assert (first.image.shape, first.image[50, [20, 180]].tolist()) == ((100, 200), [255, 0])
    assert remarks == [
        "1 screenshot not of the shape that rollouts name: 'c' is 200 x 100, its image_size 100 x 200"
    ]  # fmt: skip
    _, remarks = with_screenshots([wide, shown(sample_id="x")], data)
    assert remarks == [f"{data.path} lacks 1 sample that the page shows, such as 'x'"]
