"""Cells in the shapes that people's files have: boxes, sizes and responses, at the first command."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables.prompts import response_text
from tests.cli.command import result_of, write_rows

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
        assert (entry["correct"], entry["valid"]) == (1, 2), result.err


@pytest.mark.parametrize("file", ["in.jsonl", "in.parquet"])
def test_places_of_two_kinds_are_converted_and_evaluated(run, tmp_path, file):
    places = {"polygon": [[100, 40], [180, 40], [180, 90]], "gt_bbox": BOX}
    rows = [{"response": HIT, "instruction": "Save", **dict.fromkeys(places), name: places[name]} for name in places]
    write_rows(tmp_path / "in.jsonl", *rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    result = run("eval", tmp_path / file, *PIXEL, "--json")
    assert result_of(result.out)[0]["correct"] == 2, result.err
    out = tmp_path / "out.jsonl"
    columns = ("--target-column", "polygon,gt_bbox")
    result = run("convert", tmp_path / file, "--out", out, "--for", "trl", "--target-space", "pixel", *columns)
    assert result.code == 0, result.err
    targets = [json.loads(json.loads(line)["target"]) for line in out.read_text().splitlines()]
    assert [{*targets[0]} & {*places, "bbox"}, targets[1]["bbox"]] == [{"polygon"}, BOX]


def test_an_answer_that_types_is_no_text_of_a_reply():
    assert response_text({"action": "type", "text": HIT}) == '{"action": "type", "text": "(150, 60)"}'
    assert response_text([{"text": HIT, "index": 0}]) == HIT


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
