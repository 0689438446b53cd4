"""Cells in the shapes that people's files have: boxes, sizes and responses, at the first command."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables.prompts import response_text
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import result_of, write_rows
from tests.cli.test_rollout import ENGINE

PIXEL = ("--response-space", "pixel")
HIT = "(150, 60)"
BOX = [100, 40, 180, 90]

ROWS = {
    "a box in a list": {"response": HIT, "bbox": [BOX]},
    "several boxes": {"response": HIT, "bbox": [[1, 1, 2, 2], BOX]},
    "a field of a column": {"response": HIT, "objects": {"ref": ["save"], "bbox": [BOX]}},
    "two corners": {"response": HIT, "bbox": [[100, 40], [180, 90]]},
    "a tagged box": {"response": HIT, "bbox": "<box>100, 40, 180, 90</box>"},
    "a box between Qwen's tags": {"response": HIT, "answer": "<|box_start|>(100,40),(180,90)<|box_end|>"},
    "a box with keys": {"response": HIT, "target": {"x1": 100, "y1": 40, "x2": 180, "y2": 90}},
    "sides with keys": {"response": HIT, "bbox": {"x": 100, "y": 40, "width": 80, "height": 50}},
    "a polygon of pairs": {"response": HIT, "polygon": [[100, 40], [180, 40], [180, 90], [100, 90]]},
    "a bare polygon of pairs": {"response": HIT, "target": [[100, 40], [180, 40], [180, 90], [100, 90]]},
    "a format in the name": {"response": HIT, "gt_bbox_xywh": [100, 40, 80, 50]},
    "corners in the name": {"response": HIT, "bbox_xyxy": BOX, "bbox_xywh": [100, 40, 80, 50]},
    "words of the truth": {"response": HIT, "ground_truth_bbox": BOX},
    "names in capitals": {"Response": HIT, "gtBbox": BOX},
    "a response in a list": {"response": [HIT], "bbox": BOX},
    "lmms-eval's lists": {"resps": [[HIT]], "filtered_resps": [HIT], "target": BOX},
    "a chat completion": {"choices": [{"index": 0, "message": {"role": "assistant", "content": HIT}}], "bbox": BOX},
    "a conversation": {"response": [{"role": "user", "content": "?"}, {"role": "model", "content": HIT}], "box": BOX},
    "a point in a list": {"pred": [150, 60], "bbox": BOX},
    "a box as the answer": {"pred": BOX, "bbox": BOX},
    "a point with keys": {"pred": {"x": 150, "y": 60}, "bbox": BOX},
    "a point under a key": {"pred": {"point": [150, 60]}, "bbox": BOX},
    "a column called after the model": {"qwen3vl_infer": HIT, "bbox": BOX},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_hit_in_json_lines_and_parquet(run, tmp_path, name):
    row, miss = ROWS[name], dict(ROWS[name])
    for key, value in miss.items():
        if "(150, 60)" in json.dumps(value):
            miss[key] = json.loads(json.dumps(value).replace("(150, 60)", "(500, 500)"))
        elif key == "pred":
            miss[key] = json.loads(json.dumps(value).replace("150", "600").replace("180", "900"))
    assert miss != row
    pq.write_table(pa.Table.from_pylist([row, miss]), tmp_path / "in.parquet")
    for file in (write_rows(tmp_path / "in.jsonl", row, miss), tmp_path / "in.parquet"):
        result = run("eval", file, *PIXEL, "--json")
        assert result.code == 0, result.err
        (entry,) = result_of(result.out)
        assert (entry["correct"], entry["n"]) == (1, 2), result.err


SIZES = [
    [1920, 1080],
    {"width": 1920, "height": 1080},
    {"w": 1920, "h": 1080},
    "1920x1080",
    "(1920, 1080)",
    [[1920, 1080]],
]


@pytest.mark.parametrize("size", SIZES)
def test_sizes(run, tmp_path, size):
    row = {"response": "(78, 55)", "bbox": BOX, "image_size": size}
    file = write_rows(tmp_path / "in.jsonl", row)
    result = run("eval", file, "--response-space", "thousandths", "--json")
    assert result_of(result.out)[0]["correct"] == 1, result.err
    write_rows(file, {"response": "(78, 55)", "target": {"bbox": BOX, "image_size": size}})
    assert result_of(run("eval", file, "--response-space", "thousandths", "--json").out)[0]["correct"] == 1


def test_tabs_and_what_python_prints_in_cells(run, tmp_path):
    file = tmp_path / "in.tsv"
    cells = ("['(150, 60)']", str(BOX), "{'width': 1920, 'height': 1080}")
    file.write_text("filtered_resps\tbbox\timage_size\n" + "\t".join(cells) + "\n")
    (entry,) = result_of(run("eval", file, *PIXEL, "--json").out)
    assert (entry["correct"], entry["columns"]["image_size"]) == (1, "image_size")


def test_several_responses_in_a_cell_are_an_error_that_says_so(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", {"response": ["(1, 2)", "(3, 4)"], "bbox": BOX})
    assert "response: got 2 responses; expected a string or null, one in a row" in run("eval", file, *PIXEL).err


def test_a_pool_has_the_text_of_a_response(run, tmp_path):
    file, out = write_rows(tmp_path / "in.jsonl", {"response": [HIT], "bbox": [BOX]}), tmp_path / "out"
    assert run("pool", "score", file, "--recipe", "click", *PIXEL, "--out", out).code == 0
    rows = [row for part in out.glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    assert [(row["response"], row["acc"]) for row in rows] == [(HIT, 1.0)]


def test_an_answer_that_types_is_no_text_of_a_reply():
    assert response_text({"action": "type", "text": HIT}) == '{"action": "type", "text": "(150, 60)"}'
    assert response_text([{"text": HIT, "index": 0}]) == HIT


def test_rows_of_ms_swift_convert(run, tmp_path):
    row = {
        "messages": [{"role": "user", "content": "Find the save button"}],
        "objects": {"ref": ["save"], "bbox": [BOX]},
    }
    file, out = write_rows(tmp_path / "in.jsonl", row), tmp_path / "out.jsonl"
    assert run("convert", file, "--out", out, "--for", "trl", "--target-space", "pixel").code == 0
    target = json.loads(out.read_text())["target"]
    assert (json.loads(target) if isinstance(target, str) else target)["bbox"] == BOX


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("trainer", ["trl", "verl", "easyr1"])
def test_rollout_reads_what_convert_wrote_without_a_question(run, tmp_path, trainer, suffix):
    rows = [{"id": f"s{row}", "instruction": word, "bbox": [240, 190, 260, 210]} for row, word in enumerate(("a", "b"))]
    packed, out = tmp_path / f"train.{suffix}", tmp_path / "out"
    words = ("--for", trainer, "--target-space", "pixel", "--template", "Click on: {instruction}")
    assert run("convert", write_rows(tmp_path / "in.jsonl", *rows), "--out", packed, *words).code == 0
    words = (*ENGINE, "--engine-option", "right=100", "--recipe", "click", *PIXEL)
    assert run("rollout", packed, *words, "--n", 1, "--out", out).code == 0
    found = open_rollouts([out]).read(["sample_id", "acc"]).to_pylist()
    assert found == [{"sample_id": "s0", "acc": 1.0}, {"sample_id": "s1", "acc": 1.0}]
    (tmp_path / "own.jinja").write_text("Where is {{ instruction }}?")
    words = (*words, "--n", 1, "--prompt", tmp_path / "own.jinja", "--out", tmp_path / "more")
    assert run("rollout", packed, *words).code == 0


def test_half_of_the_rows_in_another_file_names_the_join(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", {"response": HIT, "id": "a"})
    assert "ANNOTATIONS --predictions ANSWERS" in run("eval", file, *PIXEL).err


def test_rows_of_clawgui_eval_have_boxes_in_any_order_polygons_and_refusals(run, tmp_path):
    common = {"image": "a.png", "question": "save", "image_size": [1000, 500], "task_type": "grounding"}
    file = write_rows(
        tmp_path / "in.jsonl",
        {**common, "answer": [180, 90, 100, 40], "box_type": "bbox", "uivenus15_infer": "[150, 120]"},
        {**common, "answer": [100, 40, 180, 40, 100, 90], "box_type": "polygon", "uivenus15_infer": "[110, 100]"},
        {**common, "answer": [100, 40, 180, 40, 100, 90], "box_type": "polygon", "uivenus15_infer": "[175, 170]"},
        {**common, "answer": [0, 0, 0, 0], "box_type": "refusal", "uivenus15_infer": "[-1, -1]"},
    )
    result = run("eval", file, "--response-space", "thousandths", "--json")
    (entry,) = result_of(result.out)
    assert (entry["correct"], entry["n"]) == (3, 4)
    assert "rows as in ClawGUI-Eval: answer is x1 y1 x2 y2 in pixels, its corners in any order" in result.err


@pytest.mark.parametrize("nested", [False, True])
def test_shares_of_the_image_without_sizes(run, tmp_path, nested):
    box = [0.1, 0.2, 0.2, 0.3]
    target = {"bbox": box, "space": "unit"} if nested else str(box)
    row = {"target": target, "filtered_resps": ['{"bbox_2d": [100, 200, 200, 300]}']}
    file = write_rows(tmp_path / "in.jsonl", row, {**row, "filtered_resps": ['{"bbox_2d": [300, 200, 400, 300]}']})
    first = run("eval", file, "--response-space", "thousandths")
    expected = (
        "with the option target_space=unit it needs none" if nested else "target_space to unit (--target-space unit)"
    )
    assert (first.code, expected in first.err) == (2, True)
    result = run("eval", file, "--response-space", "thousandths", "--target-space", "unit", "--json")
    assert (result_of(result.out)[0]["correct"], result_of(result.out)[0]["n"]) == (1, 2)


def test_another_encoding(run, tmp_path):
    file = tmp_path / "in.csv"
    file.write_bytes('response,bbox,instruction\n"(150, 60)","[100, 40, 180, 90]",点击\n'.encode("gbk"))
    error = run("eval", file, *PIXEL)
    assert (error.code, "as gbk it can be read: --encoding gbk" in error.err) == (2, True)
    result = run("eval", file, *PIXEL, "--encoding", "gbk", "--json")
    assert result_of(result.out)[0]["correct"] == 1, result.err
    answers = tmp_path / "answers.csv"
    answers.write_bytes('instruction,bbox,response\n点击,"[100, 40, 180, 90]","(1, 2)"\n'.encode("gbk"))
    joined = run("eval", file, "--predictions", answers, "--id", "instruction", *PIXEL, "--encoding", "GBK", "--json")
    assert result_of(joined.out)[0]["correct"] == 0, joined.err
    converted = run("convert", file, "--out", tmp_path / "out.jsonl", "--for", "verl", "--target-space", "pixel",
                    "--encoding", "gbk", "--no-image-check")  # fmt: skip
    assert converted.code == 0, converted.err
    assert "点击" in (tmp_path / "out.jsonl").read_text("utf-8")
    unknown = run("eval", file, *PIXEL, "--encoding", "no such")
    assert (unknown.code, "--encoding: got 'no such'; expected the name of one" in unknown.err) == (2, True)
