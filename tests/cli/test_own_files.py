"""Files as people have them, at the first command: guessed columns, benchmarks' layouts, sizes read from images."""

from __future__ import annotations

import base64
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from grounding_rewards.tables import image_files
from tests.batch.test_layouts import HUB, POLYGON, PRO, REFUSAL, SPOT, WORLD
from tests.cli.command import result_of, write_rows
from tests.image_sources import BOMB, OUT, WHY, hostile

THOUSANDTHS = ("--response-space", "thousandths")
SPOTTED = "note: rows as in ScreenSpot: bbox is x y w h in pixels; --box-format names another\n"
GUESS = "note: response: column prediction, by its name; --response-column names another\n"


def png(width, height):
    """Return the bytes of an image of a size."""
    file = io.BytesIO()
    Image.new("1", (width, height)).save(file, "png")
    return file.getvalue()


@pytest.fixture
def spots(tmp_path):
    """Answers in thousandths to rows of ScreenSpot, whose image has 1000 x 500 pixels."""
    (tmp_path / "pc_1.png").write_bytes(png(1000, 500))
    rows = [{**SPOT, "prediction": answer} for answer in ("(720, 150)", "(735, 170)", "(745, 150)", "(720, 75)")]
    return write_rows(tmp_path / "spots.jsonl", *rows)


def evaluated(run, *words):
    """Evaluate a file, return its entry and stderr."""
    result = run("eval", *words, "--json")
    assert result.code == 0, result
    return result_of(result.out)[0], result.err


def test_screenspot_with_sizes_of_its_images(run, spots):
    entry, err = evaluated(run, spots, *THOUSANDTHS)
    assert (entry["n"], entry["correct"]) == (4, 2)
    assert entry["columns"] == {"response": "prediction", "target": "bbox", "image": "img_filename"}
    assert err == (
        f"{SPOTTED}{GUESS}note: image sizes: of the images in column img_filename, in {spots.parent}; --image-column, "
        "--image-root or --image-size-column name others\n"
    )


def test_images_are_not_read_where_no_size_is_needed(run, spots):
    (spots.parent / "pc_1.png").unlink()
    entry, err = evaluated(run, spots, "--response-space", "pixel")
    assert (entry["correct"], "image" in entry["columns"], err) == (1, False, SPOTTED + GUESS)
    rows = [{**json.loads(line), "img_size": [1000, 500]} for line in spots.read_text().splitlines()]
    entry, _ = evaluated(run, write_rows(spots, *rows), *THOUSANDTHS)
    assert (entry["correct"], entry["columns"]["image_size"], "image" in entry["columns"]) == (2, "img_size", False)


def test_each_image_is_opened_once(run, spots, monkeypatch):
    opened, read = [], image_files.open_regular
    monkeypatch.setattr(
        image_files, "open_regular", lambda path, *more, **m: opened.append(path) or read(path, *more, **m)
    )
    assert evaluated(run, spots, *THOUSANDTHS)[0]["correct"] == 2
    assert opened == ["pc_1.png"]


def test_the_size_that_a_model_saw_is_made_of_the_images(run, spots):
    rows = [{**SPOT, "prediction": answer} for answer in ("(725, 75)", "(1, 1)")]
    entry, _ = evaluated(run, write_rows(spots, *rows), "--pipeline", "qwen2_5_vl")
    assert (entry["correct"], entry["n"]) == (1, 2)


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (
            {"img_filename": "gone.png"},
            "image: cannot read 'gone.png' in {folder} (No such file or directory); name the",
        ),
        ({"img_filename": None}, "image: got nothing; expected a path"),
        ({"img_filename": 5}, "image: got 5; expected a path"),
        ({"img_filename": "https://a.b/c.png"}, "image: 'https://a.b/c.png' is an address on a network, which is not"),
    ],
)
def test_a_missing_image_is_a_missing_size_that_names_the_flags(run, spots, image, why):
    rows = [json.loads(line) for line in spots.read_text().splitlines()]
    write_rows(spots, *rows, {**rows[0], **image})
    message = run("eval", spots, *THOUSANDTHS).err.splitlines()[-1]
    assert message.startswith(
        f"error: {spots}, row 4 (line 5): target of row 4, field 'image_size': got nothing; expec"
    )
    assert why.format(folder=spots.parent) in message
    assert message.endswith("; the file has no column 'image_size' (--image-size-column)")
    entry, err = evaluated(run, spots, *THOUSANDTHS, "--bad-target", "abstain")
    assert why.format(folder=spots.parent) in err.splitlines()[-1]
    assert (entry["n"], entry["correct"], entry["not_valid"]) == (4, 2, 1)


def test_hostile_images_are_missing_sizes(run, tmp_path):
    folder = tmp_path / "data"
    for name, path in hostile(folder).items():
        if name in ("growing", "sparse"):
            continue
        rows = [{**SPOT, "img_filename": path, "response": "(1, 1)"}]
        message = run("eval", write_rows(folder / "rows.jsonl", *rows), *THOUSANDTHS).err.splitlines()[-1]
        assert message.startswith("error: ")
        assert (WHY | OUT)[name] in message
        assert "secret" not in message


def test_flags_of_images(run, spots, tmp_path):
    shots = tmp_path / "shots"
    shots.mkdir()
    (spots.parent / "pc_1.png").rename(shots / "pc_1.png")
    entry, err = evaluated(run, spots, *THOUSANDTHS, "--image-root", shots)
    assert (entry["correct"], f"in {shots};" in err) == (2, True)
    assert "allows 9 bytes" in run("eval", spots, *THOUSANDTHS, "--image-root", shots, "--max-image-bytes", 9).err
    assert "allows 9" in run("eval", spots, *THOUSANDTHS, "--image-root", shots, "--max-image-pixels", 9).err
    rows = [{**json.loads(line), "shot": "shots/pc_1.png"} for line in spots.read_text().splitlines()]
    entry, _ = evaluated(run, write_rows(spots, *rows), *THOUSANDTHS, "--image-column", "shot")
    assert (entry["correct"], entry["columns"]["image"]) == (2, "shot")


def test_two_columns_of_images_are_a_question_only_where_one_is_needed(run, tmp_path):
    (tmp_path / "a.png").write_bytes(png(200, 100))
    row = {"image": "a.png", "screenshot": "a.png", "response": "(500, 500)", "target": [90, 40, 110, 60]}
    source = write_rows(tmp_path / "in.jsonl", row)
    assert evaluated(run, source, "--response-space", "pixel")[1] == ""
    message = run.error("eval", source, *THOUSANDTHS)
    assert "which column holds the image: image or screenshot? Give --image-column" in message
    assert evaluated(run, source, *THOUSANDTHS, "--image-column", "image")[0]["correct"] == 1


def test_embedded_images_of_a_data_set_and_data_urls(run, tmp_path):
    rows = [{**HUB, "output": answer} for answer in ("(0.55, 0.4)", "(0.65, 0.4)")]
    table = pa.Table.from_pylist([{**row, "image": {"bytes": png(200, 100), "path": None}} for row in rows])
    pq.write_table(table, tmp_path / "in.parquet")
    entry, err = evaluated(run, tmp_path / "in.parquet", "--response-space", "unit")
    assert entry["correct"] == 1
    assert entry["columns"] == {"response": "output", "target": "bbox", "image": "image"}
    assert "rows as in ScreenSpot on the Hugging Face hub" in err
    url = "data:image/png;base64," + base64.b64encode(png(200, 100)).decode()
    row = {"images": [BOMB.hex(), url], "response": "(500, 500)", "target": [90, 40, 110, 60]}
    assert evaluated(run, write_rows(tmp_path / "in.jsonl", row), *THOUSANDTHS)[0]["correct"] == 1


def test_sizes_in_some_rows_alone(run, tmp_path):
    (tmp_path / "a.png").write_bytes(png(200, 100))
    row = {"image": "a.png", "response": "(500, 500)", "target": [90, 40, 110, 60]}
    rows = [
        row,
        {**row, "image_size": [2000, 1000]},
        {**row, "target": {"bbox": [9, 4, 11, 6], "image_size": [20, 10]}},
    ]
    source = write_rows(tmp_path / "in.jsonl", {**rows[0], "image_size": None}, *rows[1:])
    assert evaluated(run, source, *THOUSANDTHS)[0]["correct"] == 2


def test_pro_and_osworld_need_no_flag_but_the_space(run, tmp_path):
    rows = [{**PRO, "pred": [0.3, 0.1], "raw_response": answer} for answer in ("(320, 148)", "(335, 148)")]
    entry, err = evaluated(run, write_rows(tmp_path / "pro.jsonl", *rows), *THOUSANDTHS)
    assert (entry["correct"], entry["n"]) == (1, 2)
    assert entry["columns"] == {
        "response": "raw_response", "target": "bbox", "image_size": "img_size", "id": "id",
    }  # fmt: skip
    assert err == (
        "note: rows as in ScreenSpot-Pro: bbox is x1 y1 x2 y2 in pixels; --box-format names another\n"
        "note: response: column raw_response, by its name; --response-column names another\n"
    )
    answers = ("(631, 300)", "(104, 140)", "refusal", "(60, 270)")
    rows = [{**row, "output": text} for row, text in zip((WORLD, POLYGON, REFUSAL, POLYGON), answers, strict=True)]
    (tmp_path / "world.json").write_text(json.dumps(rows))
    entry, err = evaluated(run, tmp_path / "world.json", *THOUSANDTHS)
    assert (entry["n"], entry["refusals"]["targets"]) == (4, 1)
    assert entry["correct"] == 2 + entry["refusals"]["correct"]
    assert err.startswith("note: rows as in OSWorld-G: box_coordinates is x y w h in pixels, or a polygon's corners")


def test_csv_with_a_column_for_each_corner(run, tmp_path):
    path = tmp_path / "showdown.csv"
    path.write_text(
        "id,image,instruction,x1,y1,x2,y2,width,height,prediction\n"
        'a,1.webp,open,60,200,180,240,1440,900,"(83, 244)"\n'
        'b,1.webp,open,60,200,180,240,1440,900,"(83, 280)"\n'
    )
    result = run("eval", path, "--response-space", "thousandths", "--json")
    (entry,) = result_of(result.out)
    assert (entry["correct"], entry["n"]) == (1, 2)
    assert entry["columns"]["target"] == "x1,y1,x2,y2"
    assert "note: target: column x1,y1,x2,y2, by its name; --target-column names another" in result.err
    words = ("--response-space", "thousandths", "--target-column")
    assert result_of(run("eval", path, *words, "x1,y1,x2,y2", "--json").out)[0]["correct"] == 1
    assert "no column 'x1,y1,x2'" in run.error("eval", path, *words, "x1,y1,x2")


def test_csv_with_width_and_height(run, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text(
        "id,prediction,bbox,width,height\n"
        '007,"(500, 500)","[90, 40, 110, 60]",200,100\n'
        '008,,"[90, 40, 110, 60]",200,100\n'
    )
    entry, err = evaluated(run, source, *THOUSANDTHS)
    assert (entry["correct"], entry["reasons"]) == (1, {"OK": 1, "EMPTY": 1})
    assert entry["columns"] == {
        "response": "prediction", "target": "bbox", "image_size": "width,height", "id": "id",
    }  # fmt: skip
    assert err.count("by its name; --") == 4


def test_score_writes_the_rows_as_they_were(run, spots, tmp_path):
    out = tmp_path / "out.parquet"
    result = run("score", spots, "--recipe", "gelato", "--out", out, "--json")
    assert result.code == 0
    assert result_of(result.out)["columns"] == {"response": "prediction", "target": "bbox", "image": "img_filename"}
    rows = pq.read_table(out).to_pylist()
    assert [row["acc"] for row in rows] == [1.0, 1.0, 0.0, 0.0]
    assert rows[0]["bbox"] == [700, 60, 40, 30]
    assert (rows[0]["x"], rows[0]["y"]) == (0.72, 0.15)


def test_explain_reads_a_row_alike(run, spots):
    result = run("explain", "--recipe", "click", *THOUSANDTHS, spots, "--row", 1, "--json")
    found = result_of(result.out)
    assert (result.err.startswith(SPOTTED + GUESS), found["acc"]) == (True, 1.0)
    assert (
        "1000 x 500, the image in column img_filename"
        in run("explain", "--recipe", "click", *THOUSANDTHS, spots, "--row", 1).out
    )
    assert run.error("explain", "--recipe", "gelato", "--image-root", spots.parent).startswith(
        "--image-root: got it without FILE"
    )
    rows = [{**WORLD, "box_type": "circle", "output": "(1, 1)"}]
    result = run("explain", "--recipe", "click", *THOUSANDTHS, write_rows(spots, *rows), "--row", 0)
    assert "field 'box_type': got 'circle'" in result.out + result.err


@pytest.mark.parametrize(
    "recipe", [("click",), ("composite", "--option", 'parts={"v": {"verifier": "consensus", "weight": 1}}')]
)
def test_pool_score_writes_targets_in_the_wire_form(run, spots, tmp_path, recipe):
    world = write_rows(tmp_path / "world.jsonl", {**WORLD, "output": "(631, 300)"}, {**POLYGON, "output": "(60, 270)"})
    out = tmp_path / "scored"
    result = run("pool", "score", spots, world, "--recipe", *recipe, *THOUSANDTHS, "--out", out)
    assert result.code == 0, result
    rows = pq.read_table(out).to_pylist()
    known = {row["response"]: row for row in rows}
    assert known["(735, 170)"]["target"] == '{"bbox": [700, 60, 740, 90], "space": "pixel"}'
    assert known["(735, 170)"]["image_size"] == [1000.0, 500.0]
    assert known["(631, 300)"]["target"] == '{"bbox": [1200.5, 310, 1224.75, 340], "space": "pixel"}'
    assert known["(60, 270)"]["target"] == '{"polygon": [100, 100, 300, 100, 200, 300], "space": "pixel"}'
    assert known["(631, 300)"]["sample_id"] == "A-0"
    if recipe == ("click",):
        assert {text: row["acc"] for text, row in known.items()} == {
            "(720, 150)": 1.0, "(735, 170)": 1.0, "(745, 150)": 0.0, "(720, 75)": 0.0, "(631, 300)": 1.0,
            "(60, 270)": 0.0,
        }  # fmt: skip
    again = run("pool", "score", spots, world, "--recipe", *recipe, *THOUSANDTHS, "--out", out)
    assert "nothing to do" in again.err


def test_pool_score_compares_boxes_of_the_declared_format(run, tmp_path):
    rows = [{"sample_id": "a", "response": f"({x}, 70)", "target": {"bbox": [700, 60, 40, 30]}} for x in (720, 900)]
    out, parts = tmp_path / "out", 'parts={"vote": {"verifier": "consensus", "weight": 1}}'
    words = ("--recipe", "composite", "--option", parts, "--response-space", "pixel", "--box-format", "xywh")
    assert run("pool", "score", write_rows(tmp_path / "in.jsonl", *rows), *words, "--out", out).code == 0
    assert {row["response"]: row["acc"] for row in pq.read_table(out).to_pylist()} == {
        "(720, 70)": 1.0,
        "(900, 70)": 0.0,
    }


def test_pool_score_of_standard_names_says_nothing(run, tmp_path):
    row = {"sample_id": "a", "rollout": 0, "response": "(20, 15)", "target": {"bbox": [10, 10, 30, 20]}, "id": 3}
    result = run("pool", "score", write_rows(tmp_path / "in.jsonl", row), "--recipe", "click", "--response-space",
                 "pixel", "--out", tmp_path / "out", "--json")  # fmt: skip
    assert (result.code, result.err) == (0, "")


def test_two_candidates_are_a_question(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"prediction": "a", "output": "b", "target": [0, 0, 5, 5]})
    message = f"{source}: which column holds the response: prediction or output? Give --response-column"
    out = ("--out", tmp_path / "out.jsonl")
    assert run.error("eval", source, *THOUSANDTHS) == message
    assert run.error("score", source, "--recipe", "gelato", *out) == message
    assert run.error("explain", "--recipe", "gelato", source, "--row", 0) == message
    assert run.error("pool", "score", source, "--recipe", "gelato", *out) == message


def test_several_files_have_a_note_once(run, spots):
    assert run("eval", spots, spots, "--response-space", "pixel").err == SPOTTED + GUESS
    out = spots.parent / "out"
    other = write_rows(spots.parent / "other.jsonl", {**SPOT, "prediction": "(1, 1)", "img_filename": "other.png"})
    words = ("--recipe", "click", "--response-space", "pixel", "--out", out, "--json")
    assert run("pool", "score", spots, other, *words).err == SPOTTED + GUESS


def test_fields_of_a_column_name_an_image_and_a_size(run, spots):
    rows = [{"answer": json.loads(line)["prediction"], **SPOT, "about": {"shot": "pc_1.png", "wh": [1000, 500]}}
            for line in spots.read_text().splitlines()]  # fmt: skip
    rows = [{**row, "img_filename": None} for row in rows]
    words = (write_rows(spots, *rows), *THOUSANDTHS, "--response-column", "answer")
    assert evaluated(run, *words, "--image-column", "about.shot")[0]["columns"]["image"] == "about.shot"
    assert evaluated(run, *words, "--image-size-column", "about.wh")[0]["correct"] == 2


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_field_of_a_column_is_scored_by_pool_score(run, tmp_path, suffix):
    row = {"reward_model": {"ground_truth": '{"bbox": [90, 40, 110, 60]}'}, "pred": "(500, 500)", "width": 200}
    row |= {"height": 100, "extra_info": {"id": 7}}
    source = tmp_path / f"in.{suffix}"
    if suffix == "jsonl":
        write_rows(source, row)
    else:
        pq.write_table(pa.Table.from_pylist([row]), source)
    out = tmp_path / "out"
    assert run("pool", "score", source, "--recipe", "click", *THOUSANDTHS, "--out", out).code == 0
    (done,) = pq.read_table(out).to_pylist()
    assert (done["acc"], done["sample_id"], done["image_size"]) == (1.0, "7", [200.0, 100.0])
    assert done["target"] == '{"bbox": [90, 40, 110, 60], "space": "pixel"}'
    assert (done["width"], done["extra_info"]) == (200, {"id": 7})


def test_help_names_what_is_guessed(run):
    text = " ".join(run("eval", "--help").out.replace("│", " ").split())
    assert "--image-root" in text
    assert "By name: response responses prediction pred" in text
