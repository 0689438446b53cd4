"""Screenshots of the samples that a report shows."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from grounding_rewards.pool.report.samples import Screenshots
from tests.cli.command import result_of, write_rows
from tests.image_sources import OUT, WHY, command, hostile
from tests.pool.report.made import shown


def test_screenshots_are_turned_as_their_exif_data_say_and_other_shapes_are_reported(tmp_path):
    upright = Image.new("L", (100, 200), 255)
    upright.paste(0, (0, 0, 100, 50))  # dark on top, once it is turned by 90 degrees: at the right
    exif = upright.getexif()
    exif[0x0112] = 6
    upright.save(tmp_path / "turned.png", exif=exif)
    rows = [{"sample_id": name, "image": "turned.png"} for name in "bc"]
    data = Screenshots(write_rows(tmp_path / "data.jsonl", *rows))
    wide, tall = shown(), shown(sample_id="c", image_size=(100.0, 200.0))
    (first, _), remarks = data.shown([wide, tall])
    with Image.open(io.BytesIO(base64.b64decode(first.image.partition(",")[2]))) as image:
        assert image.size == (200, 100)
        assert [image.getpixel((x, 50))[0] for x in (20, 180)] == pytest.approx([255, 0], abs=4)
    assert remarks == [
        "1 screenshot not of the shape that rollouts name: 'c' is 200 x 100, its image_size 100 x 200"
    ]  # fmt: skip
    _, remarks = data.shown([wide, shown(sample_id="x")])
    assert remarks == [f"{data.path} lacks 1 sample that the page shows, such as 'x'"]


@pytest.mark.parametrize("name", [name for name in (*WHY, *OUT) if name not in ("fifo", "device")])
def test_a_screenshot_that_is_none_is_left_out_and_the_reason_stated(tmp_path, name):
    folder = tmp_path / "data"
    path = hostile(folder)[name]
    data = Screenshots(write_rows(folder / "data.jsonl", {"sample_id": "b", "image": path, "instruction": "Do it"}))
    (sample,), (remark,) = data.shown([shown()])
    assert (sample.image, sample.instruction, sample.image_size) == (None, "Do it", (200.0, 100.0))
    assert remark.startswith("1 screenshot cannot be read, the first: row 0 (line 1), 'b': image: cannot read ")
    assert (WHY | OUT)[name] in remark


@pytest.mark.slow
def test_a_report_waits_for_nothing_and_reads_nothing_without_end(tmp_path):
    folder = tmp_path / "data"
    paths = hostile(folder)
    rollouts = [{"sample_id": name, "acc": 0} for name in ("fifo", "device", "good") for _ in range(4)]
    (folder / "good.png").write_bytes(stored())
    paths["good"] = "good.png"
    write_rows(folder / "rollouts.jsonl", *rollouts)
    write_rows(
        folder / "data.jsonl", *({"sample_id": name, "image": paths[name]} for name in ("fifo", "device", "good"))
    )
    words = ("pool", "report", "rollouts.jsonl", "--data", "data.jsonl", "--out", "report", "--json")
    done = command(*words, cwd=folder)
    found = result_of(done.stdout)
    assert {each["sample_id"]: each["screenshot"] for each in found["hardest"]} == {
        "device": False, "fifo": False, "good": True,
    }  # fmt: skip
    (remark,) = found["remarks"]
    assert remark.startswith(
        "2 screenshots cannot be read, the first: row 0 (line 1), 'fifo': image: cannot read 'fifo"
    )
    assert "is a FIFO; expected an image file" in (folder / "report" / "report.html").read_text("utf-8")
    done = command(*words, "--max-image-pixels", 199, cwd=folder)
    assert not any(each["screenshot"] for each in result_of(done.stdout)["hardest"])
    done = command(*words, "--image-root", tmp_path / "outside", "--max-image-bytes", 3, cwd=folder)
    assert not any(each["screenshot"] for each in result_of(done.stdout)["hardest"])


def stored():
    file = io.BytesIO()
    Image.new("L", (20, 10), 200).save(file, "PNG")
    return file.getvalue()
