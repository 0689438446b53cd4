"""``check data``: seeded faults are found by their code and no other, and clean data are left alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.checks.data import DataCheck
from tests.cli.command import Runner, page_data, result_of

SCREEN = [1920, 1080]


def clean() -> list[dict[str, Any]]:
    """Return 60 rows of elements anywhere on screens."""
    rng, rows = np.random.default_rng(1), list[dict[str, Any]]()
    for number in range(60):
        width, height = rng.integers(20, 200), rng.integers(12, 60)
        x, y = rng.integers(0, 1920 - width), rng.integers(0, 1080 - height)
        box = [int(each) for each in (x, y, x + width, y + height)]
        rows.append({"bbox": box, "image_size": SCREEN, "instruction": f"open {number}", "image": f"{number}.png"})
    return rows


def one(**fields: Any) -> Callable[[list[dict[str, Any]]], None]:
    """Return a fault of row 30."""

    def change(rows: list[dict[str, Any]]) -> None:
        if "target" in fields:
            for row in rows:
                row["target"] = {"bbox": row.pop("bbox")}
        rows[30].update(fields)

    return change


def each(change: Callable[[dict[str, Any]], Any]) -> Callable[[list[dict[str, Any]]], None]:
    """Return a fault of all rows."""

    def changed(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row.update(change(row))

    return changed


def boxes(change: Callable[[int, int, int, int], list[float]]) -> Callable[[list[dict[str, Any]]], None]:
    """Return another way to write all boxes."""
    return each(lambda row: {"bbox": change(*row["bbox"])})


SHARED = Path(__file__).parents[3] / "shared" / "data" / "model_responses"


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data, which only a checkout beside it has")
@pytest.mark.parametrize("file", sorted(SHARED.glob("*.jsonl")), ids=lambda file: file.stem)
def test_published_data_have_no_errors(run: Runner, file: Path) -> None:
    found = run("check", "data", file, "--response-space", "thousandths", "--json")
    assert found.code == 0
    assert {each["code"] for each in result_of(found.out)["findings"]} <= {
        "tiny-target",
        "giant-target",
        "ambiguous-sample",
    }


def twice(rows: list[dict[str, Any]]) -> None:
    rows[30].update({name: rows[7][name] for name in ("image", "instruction")})


HUGE = {"image_size": [3840, 2160]}
FAULTS: dict[str, tuple[str, list[int] | None, Callable[[list[dict[str, Any]]], None], list[str]]] = {
    "a number that is none": ("not-finite", [30], one(bbox=[10, math.nan, 40, 50]), []),
    "an infinite number": ("not-finite", [30], one(bbox=[10, 20, math.inf, 50]), []),
    "an infinite corner": ("not-finite", [30], one(target={"polygon": [0, 0, 90, 0, 90, -math.inf]}), []),
    "an infinite radius": ("not-finite", [30], one(target={"circle": [50, 50, math.inf]}), []),
    "corners swapped along x": ("inverted-box", [30], one(bbox=[1400, 20, 1300, 50]), []),
    "corners swapped along y": ("inverted-box", [30], one(bbox=[1300, 950, 1400, 900]), []),
    "boxes of x y w h": ("box-format", None, boxes(lambda a, b, c, d: [a, b, c - a, d - b]), []),
    "boxes of centre and size": (
        "box-format", None, boxes(lambda a, b, c, d: [(a + c) / 2, (b + d) / 2, c - a, d - b]), [],
    ),
    "a box that is a point": ("zero-area", [30], one(bbox=[900, 500, 900, 500]), []),
    "a box without width": ("zero-area", [30], one(bbox=[1900, 900, 1900, 950]), []),
    "a box without height": ("zero-area", [30], one(bbox=[1800, 1000, 1900, 1000]), []),
    "a box of nothing": ("zero-area", [30], one(target={"bbox": [0, 0, 0, 0]}), []),
    "a few pixels": ("tiny-target", [30], one(bbox=[900, 500, 903, 504]), []),
    "a polygon of a few pixels": ("tiny-target", [30], one(target={"polygon": [900, 500, 903, 500, 903, 504]}), []),
    "most of the screen": ("giant-target", [30], one(bbox=[100, 50, 1800, 1000]), []),
    "the whole screen": ("giant-target", [30], one(bbox=[0, 0, 1920, 1080]), []),
    "less than a thousandth": ("unreachable-target", [30], one(bbox=[1.2, 1, 3.6, 2], **HUGE), []),
    "a circle in a thousandth": ("unreachable-target", [30], one(target={"circle": [5.7, 3.2, 1]}, **HUGE), []),
    "less than a pixel": (
        "unreachable-target", [30], one(bbox=[10.2, 20, 10.8, 40]), ["--response-space", "pixel"],
    ),
    "less than a pixel of the resized image": (
        "unreachable-target", [30], one(bbox=[11, 20, 12, 40]),
        ["--pipeline", "qwen2_5_vl", "--max-pixels", "200704"],
    ),
    "a point": ("point-target", [30], one(target={"point": [500, 500]}), []),
    "two points": ("point-target", [30], one(target={"regions": [{"point": [5, 5]}, {"point": [9, 9]}]}), []),
    "a polygon that crosses itself": (
        "crossing-polygon", [30], one(target={"polygon": [100, 100, 200, 200, 200, 100, 100, 200]}), [],
    ),
    "a star": (
        "crossing-polygon", [30], one(target={"polygon": [500, 100, 620, 460, 310, 240, 690, 240, 380, 460]}), [],
    ),
    "a refusal with a box": ("refusal-with-place", [30], one(target={"refusal": True, "bbox": [1, 2, 30, 40]}), []),
    "a refusal with a polygon": (
        "refusal-with-place", [30], one(target={"refusal": True, "polygon": [0, 0, 9, 0, 9, 9]}), [],
    ),
    "no size": ("image-size", [30], one(image_size=None), []),
    "a size of zero": ("image-size", [30], one(image_size=[0, 1080]), []),
    "a size below zero": ("image-size", [30], one(image_size=[1920, -1080]), []),
    "a size of one number": ("image-size", [30], one(image_size=[1920]), []),
    "a box right of its image": ("outside-image", [30], one(bbox=[2000, 100, 2100, 150]), []),
    "a box left of its image": ("outside-image", [30], one(bbox=[-300, 100, -200, 150]), []),
    "a box mostly below its image": ("outside-image", [30], one(bbox=[100, 1070, 200, 1140]), []),
    "pixels read as shares": (
        "outside-image", None, lambda rows: None, ["--target-space", "unit", "--response-space", "unit"],
    ),
    "shares read as pixels": ("space", None, boxes(lambda a, b, c, d: [a / 1920, b / 1080, c / 1920, d / 1080]), []),
    "thousandths read as pixels": (
        "space", None, boxes(lambda a, b, c, d: [a / 1.92, b / 1.08, c / 1.92, d / 1.08]), [],
    ),
    "one question with two answers": ("ambiguous-sample", [7, 30], twice, []),
    "three numbers": ("bad-target", [30], one(bbox=[1, 2, 3]), []),
    "words": ("bad-target", [30], one(target="the button"), []),
    "no target": ("bad-target", [30], one(target=None), []),
    "an empty target": ("bad-target", [30], one(target={}), []),
    "an unknown action": (
        "unknown-action", [30], one(target={"bbox": [10, 10, 90, 90], "action": "clik"}), ["--recipe", "action"],
    ),
}  # fmt: skip


def check(run: Runner, folder: Path, rows: list[dict[str, Any]], *words: str) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit status, and the findings."""
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    space = [] if {"--response-space", "--pipeline"} & {*words} else ["--response-space", "thousandths"]
    found = run("check", "data", file, *space, *words, "--json")
    return found.code, result_of(found.out)["findings"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_code_and_no_other(run: Runner, tmp_path: Path, name: str) -> None:
    code, where, change, words = FAULTS[name]
    rows = clean()
    change(rows)
    status, findings = check(run, tmp_path, rows, *words)
    assert [each["code"] for each in findings] == [code]
    assert status == (findings[0]["severity"] == "error")
    if where is not None:
        assert (findings[0]["rows"], findings[0]["count"]) == (where, len(where))
    else:
        assert findings[0]["count"] >= 20


def test_refusals_that_a_recipe_has_no_rule_for_have_no_place_beside_them(run: Runner, tmp_path: Path) -> None:
    rows = [{"target": {"refusal": True}}, {"target": {"bbox": [0.1, 0.1, 0.2, 0.2]}}]
    _, (finding,) = check(run, tmp_path, rows, "--recipe", "gelato")
    assert (finding["code"], finding["rows"]) == ("bad-target", [0])


def test_sizes_that_are_none_are_shown(run: Runner, tmp_path: Path) -> None:
    _, (finding,) = check(run, tmp_path, [{**clean()[0], "image_size": [0, 1080]}])
    assert finding["message"].endswith("1 of 1 (first: row 0 (line 1)): got [0, 1080]; expected [width, height]")


def test_a_target_that_cannot_be_read_is_no_other_answer(run: Runner, tmp_path: Path) -> None:
    rows = clean()
    rows[30].update({"bbox": [1, 2], "image": rows[7]["image"], "instruction": rows[7]["instruction"]})
    assert [each["code"] for each in check(run, tmp_path, rows)[1]] == ["bad-target"]


def test_rows_with_several_faulty_places_count_once(run: Runner, tmp_path: Path) -> None:
    flat = {"regions": [{"bbox": [9, 9, 9, 9]}, {"bbox": [5, 5, 5, 5]}]}
    _, findings = check(run, tmp_path, [{"target": flat, "image_size": SCREEN}] * 8)
    assert [(each["code"], each["count"]) for each in findings] == [("zero-area", 8)]


def test_clean_rows_have_no_findings(run: Runner, tmp_path: Path) -> None:
    assert check(run, tmp_path, clean()) == (0, [])


def screens(folder: Path, count: int = 3) -> list[dict[str, Any]]:
    """Return rows with their images."""
    rows = clean()[:count]
    for number, row in enumerate(rows):
        image = Image.new("RGB", (1920, 1080), (number, 40, 90))
        image.save(folder / row["image"])
    return rows


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (Image.new("RGB", (1280, 720)).save, "other-image-size", "1920x1080 in the row, 1280x720 in the image"),
        (Image.new("RGB", (1080, 1920)).save, "other-image-size", "1920x1080 in the row, 1080x1920 in the image"),
        (Path.unlink, "missing-image", "cannot read '1.png'"),
        (lambda path: path.write_text("hello"), "missing-image", "1.png"),
    ],
)
def test_images_are_compared_with_what_rows_say(
    run: Runner, tmp_path: Path, change: Callable[[Path], Any], code: str, said: str
) -> None:
    rows = screens(tmp_path)
    change(tmp_path / "1.png")
    status, findings = check(run, tmp_path, rows)
    assert (status, [each["code"] for each in findings], findings[0]["rows"]) == (1, [code], [1])
    assert said in findings[0]["message"]


def test_images_that_evaluation_has_are_found_by_content(run: Runner, tmp_path: Path) -> None:
    train, held_out = tmp_path / "train", tmp_path / "held_out"
    for folder in (train, held_out):
        folder.mkdir()
    rows, others = screens(train), screens(held_out, 1)
    (held_out / "0.png").rename(held_out / "another_name.png")
    (held_out / "rows.json").write_text(json.dumps([{**others[0], "image": "another_name.png"}]))
    status, findings = check(run, train, rows, "--against", str(held_out / "rows.json"))
    assert (status, [(each["code"], each["rows"]) for each in findings]) == (0, [("seen-image", [0])])
    splits = held_out / "splits"
    splits.mkdir()
    (splits / "same.png").write_bytes((held_out / "another_name.png").read_bytes())
    for split in ("train", "test"):
        own = {**others[0], "image": "same.png" if split == "test" else "gone.png"}
        (splits / f"{split}-0.jsonl").write_text(json.dumps(own) + "\n")
    assert check(run, train, rows, "--against", str(splits), "--against-split", "test") == (status, findings)
    assert "name one: --against-split test or train" in run.error(
        "check", "data", train / "rows.jsonl", "--against", splits
    )
    other = held_out / "rows.csv"
    other.write_text("screenshot,box\nanother_name.png,1\ngone.png,2\n")
    renamed = [{**row, "own": row["bbox"]} for row in rows]
    for row in renamed:
        del row["bbox"]
    train.joinpath("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in renamed))
    found = run("check", "data", train / "own.jsonl", "--target-column", "own", "--against", other)
    assert "images that the other data have, too: 1 of 3 (first: row 0 (line 1)): image '0.png'" in found.err
    assert f"warning: {other}: images of 1 row cannot be read, and are not compared" in found.err


def test_sizes_come_of_images_where_rows_have_none(run: Runner, tmp_path: Path) -> None:
    rows = [{name: row[name] for name in row if name != "image_size"} for row in screens(tmp_path)]
    rows[0]["image_size"] = SCREEN
    assert check(run, tmp_path, rows) == (0, [])


def test_images_elsewhere_are_a_note(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in clean()))
    found = run("check", "data", file)
    assert (found.code, found.out) == (0, "60 rows, no findings\n")
    assert "note: no image of 60 can be read, so none is checked (first: row 0 (line 1)): image: cannot" in found.err


@pytest.mark.parametrize(("pixels", "share"), [(1, 0.87), (2, 0.51), (3, 0.20)])
def test_shares_of_targets_that_thousandths_of_a_large_screen_miss(pixels: int, share: float) -> None:
    """A screen of 3840 x 2160: a target of one pixel holds one of the 1001 x 1001 places in 13 of 100."""
    click = gr.recipe("click", response_space="thousandths")
    corner = np.random.default_rng(7).uniform(0, [3840 - pixels, 2160 - pixels], (20_000, 2))
    rows = [{"bbox": [x, y, x + pixels, y + pixels], "image_size": [3840, 2160]} for x, y in corner.tolist()]
    found = DataCheck(click)
    found.add(click.read_targets(rows))
    (unreachable,) = [each for each in found.findings() if each.code == "unreachable-target"]
    assert unreachable.count / len(rows) == pytest.approx(share, abs=0.03)


def test_a_page_shows_the_first_rows_of_each_finding(run: Runner, tmp_path: Path) -> None:
    rows = screens(tmp_path)
    rows[1].update(bbox=[900, 500, 903, 504])
    rows[2].update(image_size=[1920, 1081])
    rows.append({"bbox": [1, 2, 3], "image_size": SCREEN})
    page = tmp_path / "page.html"
    assert check(run, tmp_path, rows, "--html", str(page))[0] == 1
    first, *drawn = page_data(page)["sections"]
    codes = ["bad-target", "other-image-size", "tiny-target"]
    assert [row[:3] for row in first["blocks"][0]["rows"]] == [
        [code, severity, "1"] for code, severity in zip(codes, ["error", "error", "note"], strict=True)
    ]
    assert [each["title"].partition(":")[0] for each in drawn] == codes
    (unread,), (other,), (tiny,) = (each["blocks"] for each in drawn)
    assert (unread["kind"], unread["facts"]) == ("facts", [["row", "3"]])
    assert (other["title"], other["size"]) == ("row 2: open 2", [1920, 1081])
    assert other["image"].startswith("data:image/webp;base64,")
    assert tiny["shapes"][0]["corners"][0] == [0.46875, 0.462962963]
    assert tiny["views"][1]["title"] == "1: a closer view"
    assert run("check", "data", tmp_path / "rows.jsonl", "--html", "page.pdf").err.startswith("error: page.pdf: a page")
