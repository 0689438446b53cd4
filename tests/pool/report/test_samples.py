"""Samples that are shown one by one, and their screenshots."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from grounding_rewards import recipe
from grounding_rewards.catalogue import RecordedName
from grounding_rewards.pool.report.samples import Screenshots, commonest, first_of, shortened
from grounding_rewards.pool.target_boxes import outlines
from tests.cli.command import result_of, write_rows
from tests.image_sources import OUT, WHY, command, hostile
from tests.pool.report.made import shown, stats

NEVER = stats([8, 8, 8, 4, 8], [0, 0, 0, 0, 1], target_area=[0.2, float("nan"), 0.001, 0.0001, 0.0001])


def test_the_hardest_have_most_rollouts_and_then_the_smallest_targets():
    assert first_of(NEVER, NEVER.none_correct, 9).tolist() == [2, 0, 1, 3]
    assert first_of(NEVER, NEVER.none_correct, 2).tolist() == [2, 0]
    doubtful = np.array([False, False, True, True, False])
    assert first_of(NEVER, NEVER.none_correct & ~doubtful, 9).tolist() == [0, 1]
    assert first_of(NEVER, doubtful, 9).tolist() == [2, 3]


def test_equal_samples_come_in_the_order_of_their_names():
    order = np.array([3, 1, 0, 2])
    found = stats([1] * 4, [0] * 4).taken(order)
    assert [found.sample_id[row] for row in first_of(found, found.none_correct, 3)] == ["a", "b", "c"]


def test_responses_are_counted_and_shortened():
    assert commonest(["b", "a", "b", None, "c", "d"]) == (("b", 2), ("a", 1), ("c", 1))
    assert shortened("a" * 400) == "a" * 150 + "…" + "a" * 149
    assert commonest([]) == ()


def test_clicks_outside_of_the_screen_cannot_be_drawn():
    away = shown(clicks=np.array([[1.2, 0.5], [1.0, 0.0]]), outlines=())
    assert (away.inside.tolist(), away.drawable) == ([False, True], True)
    assert not shown(clicks=np.array([[0.5, -0.1]]), right=np.zeros(1, bool), outlines=()).drawable


def test_a_sample_as_json_is_plain_values():
    plain = shown(image="data:,").to_json()
    assert plain["clicks_unit"] == [[0.8, 0.8], [0.81, 0.8]]
    assert (plain["screenshot"], plain["image_size"], plain["n"]) == (True, [200.0, 100.0], 4)


def corners(*given, **more):
    return [np.round(each, 9).tolist() for each in outlines(*given, **more)]


def test_every_place_of_a_target_has_its_own_shape():
    polygon = '{"polygon": [0, 0, 20, 0, 20, 10]}'
    assert corners(polygon, (200, 100), target_space="pixel") == [[[0.0, 0.0], [0.1, 0.0], [0.1, 0.1]]]
    assert corners('{"point": [500, 250]}', None, target_space="thousandths") == [[[0.5, 0.25]]]
    several = '{"space": "unit", "regions": [{"point": [0.1, 0.2]}, {"bbox": [0.1, 0.1, 0.2, 0.2]}]}'
    assert [len(each) for each in corners(several, None)] == [1, 4]
    (circle,) = outlines('{"circle": [100, 50, 10]}', (200, 100), target_space="pixel")
    assert np.round([*circle.min(axis=0), *circle.max(axis=0)], 9).tolist() == [0.45, 0.4, 0.55, 0.6]


def test_a_recipe_says_its_form_and_space():
    text, expected = "[0.1, 0.1, 0.2, 0.3]", [[[0.1, 0.1], [0.2, 0.1], [0.2, 0.3], [0.1, 0.3]]]
    assert corners(text, None, name=RecordedName("gelato")) == expected
    assert corners(text, None, name=RecordedName("lab:reward")) == []
    assert corners(text, None, name=RecordedName("lab:reward"), recipe=recipe("gelato")) == expected


@pytest.mark.parametrize(
    ("target", "size", "space"),
    [(None, None, None), ("{", None, "unit"), ('{"refusal": true}', None, "unit"), ('{"action": "wait"}', None, "unit"),
     ('{"bbox": [1, 1, 2, 2]}', (9, 9), None), ('{"bbox": [1, 1, 2, 2]}', None, "pixel")],
)  # fmt: skip
def test_a_target_that_cannot_be_placed_has_no_outline(target, size, space):
    assert outlines(target, size, target_space=space) == ()


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
