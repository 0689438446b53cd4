"""``convert`` of benchmarks' annotations, and of rows whose boxes are in another format."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import read_rows, write_rows
from tests.cli.test_convert import png
from tests.tables.test_layouts import HUB, L2, POLYGON, PRO, REFUSAL, SPOT, WORLD

ASK = {**HUB, "instruction": "open the menu"}
WIDE = {**SPOT, "bbox": [10, 20, 300, 200]}
HERE = ("--for", "easyr1", "--no-image-check")


def targets(out):
    """Return the targets that were written, without names of samples that are hashes, and sources."""
    read = [json.loads(row["answer"]) for row in read_rows(out)]
    return [
        {key: value for key, value in each.items() if (key, len(str(value))) != ("id", 32) and key != "extra"}
        for each in read
    ]


@pytest.mark.parametrize(
    ("form", "rows", "written", "note"),
    [
        (
            "csv",
            [SPOT, WIDE],
            [{"bbox": [700, 60, 740, 90], "space": "pixel"}, {"bbox": [10, 20, 310, 220], "space": "pixel"}],
            "rows as in ScreenSpot: bbox is x y w h in pixels; --box-format names another",
        ),
        (
            "parquet",
            [ASK],
            [{"bbox": [0.5, 0.25, 0.6, 0.5], "space": "unit"}],
            "rows as in ScreenSpot on the Hugging Face hub: bbox is x1 y1 x2 y2 in shares of the image, 0 to 1; "
            "--box-format names another",
        ),
        (
            "json",
            [PRO],
            [{"bbox": [1200, 300, 1260, 340], "space": "pixel", "image_size": [3840, 2160], "id": "word_macos_0"}],
            "rows as in ScreenSpot-Pro: bbox is x1 y1 x2 y2 in pixels; --box-format names another",
        ),
        (
            "csv",
            [WORLD, POLYGON, REFUSAL],
            [
                {"bbox": [1200.5, 310, 1224.75, 340], "space": "pixel", "image_size": [1920, 1080], "id": "A-0"},
                {
                    "polygon": [100, 100, 300, 100, 200, 300], "space": "pixel", "image_size": [1920, 1080],
                    "id": "A-1",
                },
                {"refusal": True, "space": "pixel", "image_size": [1920, 1080], "id": "A-2"},
            ],
            "rows as in OSWorld-G: box_coordinates is x y w h in pixels, or a polygon's corners, or a refusal, as "
            "box_type says; --box-format names another",
        ),
        (
            "parquet",
            [L2, {**L2, "bbox": [640, -1, 700, 200]}],
            [
                {"bbox": [0.25, 0, 0.2625, 0.1402], "space": "unit", "image_size": [2560, 1440]},
                {"bbox": [640, 0, 700, 200], "space": "pixel", "image_size": [2560, 1440]},
            ],
            "rows as in MMBench-GUI L2: bbox is x1 y1 x2 y2 in shares of the image, 0 to 1 (in pixels where not all 4 "
            "lie there; -1 is 0)",
        ),
    ],
)  # fmt: skip
def test_benchmarks_need_no_options(run, tmp_path, rows, written, note, form):
    source, out = tmp_path / f"in.{form}", tmp_path / "out.jsonl"
    if form == "json":
        source.write_text(json.dumps(rows))
    elif form == "csv":
        with source.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0]])
            writer.writeheader()
            writer.writerows({k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), source)
    result = run("convert", source, "--out", out, *HERE)
    assert result.code == 0, result
    assert result.err.splitlines()[0] == f"note: {note}"
    assert "note: target:" not in result.err
    assert targets(out) == written


def test_sizes_of_screenspot_are_those_of_its_images(run, tmp_path):
    row = {**SPOT, "img_filename": png(tmp_path), "bbox": [40, 20, 10, 8]}
    source = write_rows(tmp_path / "in.jsonl", row)
    assert (
        run("convert", source, "--out", tmp_path / "out.jsonl", "--for", "easyr1", "--image-root", tmp_path).code == 0
    )
    assert targets(tmp_path / "out.jsonl") == [{"bbox": [40, 20, 50, 28], "space": "pixel", "image_size": [64, 48]}]
    assert read_rows(tmp_path / "out.jsonl")[0]["images"] == [str(tmp_path / "a.png")]


def test_the_image_of_the_hub_goes_before_its_name(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {**ASK, "image": png(tmp_path)})
    assert (
        run("convert", source, "--out", tmp_path / "out.jsonl", "--for", "easyr1", "--image-root", tmp_path).code == 0
    )
    assert read_rows(tmp_path / "out.jsonl")[0]["images"] == [str(tmp_path / "a.png")]


def test_options_and_a_column_of_targets_go_before_a_layout(run, tmp_path):
    source, out = write_rows(tmp_path / "in.jsonl", SPOT, WIDE), tmp_path / "out.jsonl"
    result = run("convert", source, "--out", out, *HERE, "--box-format", "cxcywh", "--target-space", "model_pixel")
    assert result.err.startswith("note: rows as in ScreenSpot: bbox is cx cy w h in the space model_pixel\n")
    assert targets(out)[0] == {"bbox": [680, 45, 720, 75], "space": "model_pixel"}
    option = ("--recipe", "gelato", "--option", "target_space=pixel")
    assert run("convert", source, "--out", out, *HERE, *option).code == 0
    assert targets(out)[0] == {"bbox": [700, 60, 740, 90], "space": "pixel"}
    own = write_rows(tmp_path / "own.jsonl", {**WIDE, "truth": [1, 2, 3, 4]}, {**WIDE, "truth": [1, 2, 3, 5]})
    result = run("convert", own, "--out", out, *HERE, "--target-column", "truth", "--target-space", "pixel")
    assert targets(out)[0] == {"bbox": [1, 2, 3, 4], "space": "pixel"}
    own = write_rows(tmp_path / "own.jsonl", {**WIDE, "target": {"bbox": [1, 2, 3, 4]}, "sample_id": "s"})
    words = ("--target-column", "target", "--target-space", "pixel")
    assert "note: target: column target, by its name" in run("convert", own, "--out", out, *HERE, *words[2:]).err
    assert run("convert", own, "--out", out, *HERE, *words).code == 0
    assert targets(out) == [{"bbox": [1, 2, 3, 4], "space": "pixel", "id": "s"}]


def test_a_sample_id_goes_before_the_id_of_a_layout(run, tmp_path):
    source, out = write_rows(tmp_path / "in.jsonl", {**PRO, "sample_id": "s"}), tmp_path / "out.jsonl"
    assert run("convert", source, "--out", out, *HERE).code == 0
    assert targets(out)[0]["id"] == "s"
    assert run("convert", source, "--out", out, *HERE, "--id-column", "id").code == 0
    assert targets(out)[0]["id"] == "word_macos_0"


def test_boxes_that_may_be_either_are_a_question(run, tmp_path):
    source, out = write_rows(tmp_path / "in.jsonl", WIDE), tmp_path / "out.jsonl"
    assert "Give --box-format xywh or xyxy" in run.error("convert", source, "--out", out, *HERE)
    assert run("convert", source, "--out", out, *HERE, "--box-format", "xyxy").code == 0
    assert targets(out)[0]["bbox"] == [10, 20, 300, 200]


def test_a_row_of_a_layout_without_a_target(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", WORLD, {**WORLD, "box_type": "circle"}, REFUSAL)
    result = run("convert", source, "--out", tmp_path / "out.jsonl", *HERE)
    problem = "target, field 'box_type': got 'circle'; expected bbox, polygon or refusal"
    assert f"note: row 1 (line 2): {problem}\n" in result.err
    assert result.err.endswith("fix them, or leave them out by --skip-bad\n")
    result = run("convert", source, "--out", tmp_path / "out.jsonl", *HERE, "--recipe", "gelato", "--skip-bad")
    assert "note: row 2 (line 3): target, field 'refusal': got True; expected one of bbox, polygon" in result.err
    assert len(targets(tmp_path / "out.jsonl")) == 1


def test_targets_in_another_space_are_not_left_out(run, tmp_path):
    rows = [
        {"id": row, "instruction": "press", "bbox": [90 * row, 80, 90 * row + 9, 99], "image_size": [1920, 1080]}
        for row in range(20)
    ]
    source = write_rows(tmp_path / "in.jsonl", *rows)
    result = run("convert", source, "--out", tmp_path / "out.jsonl", "--for", "trl", "--target-space", "thousandths")
    assert result.code == 2
    assert result.err.splitlines()[-1] == (
        "error: 8 of 20 rows cannot be converted, so nothing is written; 8 of them do not fit the targets' space: give "
        "another --target-space, or fix them"
    )


def test_a_flag_that_names_the_column_of_places_does_not_make_them_corners(run, tmp_path):
    source, out = write_rows(tmp_path / "in.jsonl", *[SPOT] * 3), tmp_path / "out.jsonl"
    words = ("--for", "trl", "--target-column", "bbox", "--no-image-check")
    assert run("convert", source, "--out", out, *words).code == 0
    assert json.loads(read_rows(out)[0]["target"])["bbox"] == [700, 60, 740, 90]
    write_rows(source, *[{**SPOT, "bbox": [1, 2, 30, 40]}] * 3)
    assert "which are they? Give --box-format xywh or xyxy" in run.error("convert", source, "--out", out, *words)
