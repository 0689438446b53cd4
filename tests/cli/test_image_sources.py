"""Images that data should not name end no command, hang none, and are said with their row."""

from __future__ import annotations

import base64

import pytest

from tests.cli.command import result_of, write_rows
from tests.coords.test_image_header import PNG
from tests.image_sources import LIMITS, OUT, WHY, command, hostile, python

pytestmark = pytest.mark.slow

ROW = {"instruction": "Save", "bbox": [1, 2, 3, 4], "image_size": [1920, 1080]}


def convert(folder, rows, *words, out="out.jsonl", trainer="verl"):
    """Return the report of ``convert --json`` on rows with these images."""
    data = write_rows(folder / "data.jsonl", *({**ROW, "image": image} for image in rows))
    words = ("convert", data, "--out", folder / out, "--for", trainer, "--target-space", "pixel", "--json", *words)
    done = command(*words, cwd=folder)
    assert "Traceback" not in done.stderr
    return result_of(done.stdout)


@pytest.mark.parametrize(
    ("trainer", "out", "words", "written"),
    [
        ("verl", "out.jsonl", [], 0), ("verl", "out.parquet", ["--skip-bad"], 1),
        ("trl", "out.jsonl", ["--skip-bad"], 1), ("easyr1", "out.parquet", ["--skip-bad"], 1),
    ],
)  # fmt: skip
def test_an_image_that_is_none_is_a_bad_row_of_convert(tmp_path, trainer, out, words, written):
    folder = tmp_path / "data"
    paths = hostile(folder)
    (folder / "good.png").write_bytes(PNG)
    found = convert(folder, ["good.png", *paths.values()], *words, trainer=trainer, out=out)
    assert [each["place"] for each in found["problems"]] == [
        f"row {row} (line {row + 1})" for row in range(1, len(paths) + 1)
    ]
    for name, each in zip(paths, found["problems"], strict=True):
        assert each["why"].startswith("image: cannot read ")
        assert (WHY | OUT)[name] in each["why"]
        assert "secret" not in each["why"]
    assert (found["rows"], found["written"]) == (1 + len(paths), written)


def test_absolute_paths_and_file_addresses_are_read_as_images_wherever_they_lie(tmp_path):
    folder = tmp_path / "data"
    hostile(folder)
    outside = tmp_path / "outside" / "x.png"
    found = convert(folder, [str(outside), f"file://{outside}", str(folder / "link.png")])
    assert (found["written"], found["problems"]) == (3, [])
    bad = ["file://elsewhere/x.png", "file://relative.png", "file://[", "file:///dev/zero", "/etc/passwd"]
    whys = [each["why"] for each in convert(folder, [str(outside), *bad])["problems"]]
    assert [why.partition("(")[2][:20] for why in whys] == [
        "names no file of thi", "names no file of thi", "is no address; expec", "is a device; expecte",
        "is no image whose he",
    ]  # fmt: skip


def test_relative_paths_lie_in_the_folder_of_the_data_or_in_the_image_root(tmp_path):
    folder = tmp_path / "data"
    hostile(folder)
    (tmp_path / "root").symlink_to(tmp_path / "outside")
    found = convert(folder, ["x.png", "../outside/x.png"], "--image-root", tmp_path / "root")
    assert (found["written"], found["problems"]) == (2, [])
    found = convert(folder, ["x.png", "../data/bomb.png", "good.png"], "--image-root", tmp_path / "root")
    assert [each["row"] for each in found["problems"]] == [1, 2]
    assert (
        f"leads out of {tmp_path}/root); name the folder of relative paths by --image-root"
        in (found["problems"][0]["why"])
    )


def test_bounds_are_options(tmp_path):
    data = f"data:image/png;base64,{base64.b64encode(PNG + bytes(2000)).decode()}"
    (tmp_path / "x.png").write_bytes(PNG + bytes(2000))
    found = convert(tmp_path, ["x.png", data], "--max-image-bytes", 2024, "--max-image-pixels", 1920 * 1080)
    assert found["written"] == 2
    found = convert(tmp_path, ["x.png", data], "--max-image-bytes", 2023)
    assert [each["why"] for each in found["problems"]] == [
        f"image: cannot read 'x.png' in {tmp_path} (has 2,024 bytes; max_image_bytes allows 2,023 bytes)",
        "image: its bytes cannot be read (has 2,024 bytes; max_image_bytes allows 2,023 bytes)",
    ]
    found = convert(tmp_path, ["x.png", data], "--max-image-pixels", 1920 * 1080 - 1)
    assert [each["why"].partition("(")[2] for each in found["problems"]] == [
        "has 1920 x 1080 pixels; max_image_pixels allows 2,073,599)"
    ] * 2


PICTURED = [name for name in WHY if name not in ("null", "surrogate", "long")]


EACH = """
import sys
from grounding_rewards.cli import main
for image in sys.argv[2:]:
    try:
        main(["explain", "--recipe", "gelato", "--response", "(200, 150)", "--target", "[0.1, 0.1, 0.3, 0.2]",
              "--out", sys.argv[1], "--image", image])
    except SystemExit as end:
        print(end.code)
"""


def test_a_screenshot_of_explain_that_is_none_is_an_error(tmp_path):
    paths = hostile(tmp_path / "data")
    done = python(f"{LIMITS}; {EACH}", tmp_path / "o.html", *map(paths.get, PICTURED), cwd=tmp_path / "data")
    assert (done.stdout, (tmp_path / "o.html").exists()) == ("2\n" * len(PICTURED), False)
    for name, line in zip(PICTURED, done.stderr.splitlines(), strict=True):
        assert line.startswith("error: image: cannot read ")
        assert WHY[name] in line


def test_explain_has_the_bounds_as_options(tmp_path):
    hostile(tmp_path / "data")
    words = ("explain", "--recipe", "gelato", "--response", "(200, 150)", "--target", "[0.1, 0.1, 0.3, 0.2]")
    words = (*words, "--out", tmp_path / "o.html", "--image", tmp_path / "outside" / "x.png")
    done = command(*words, "--max-image-pixels", 1000, cwd=tmp_path)
    assert (done.returncode, "max_image_pixels allows 1,000" in done.stderr) == (2, True)
    done = command(*words, "--max-image-bytes", 10, cwd=tmp_path)
    assert (done.returncode, "max_image_bytes allows 10 bytes" in done.stderr) == (2, True)


def test_commands_that_need_no_image_open_none(tmp_path):
    folder = tmp_path / "data"
    target = {**{"bbox": [0.1, 0.1, 0.3, 0.2]}, "id": "a"}
    rows = [{"response": "(200, 150)", "target": target, "image": hostile(folder)["fifo"], "images": ["/dev/zero"]}]
    data = write_rows(folder / "rows.jsonl", *rows)
    for words in (("score", "--out", "o.jsonl"), ("eval",), ("pool", "score", "--out", "scored")):
        verbs = words[:2] if words[0] == "pool" else words[:1]
        done = command(*verbs, data, "--recipe", "gelato", *words[len(verbs) :], cwd=folder)
        assert done.returncode == 0, done.stderr
    done = command("explain", "--recipe", "gelato", data, "--row", "0", cwd=folder)
    assert done.returncode == 0, done.stderr
