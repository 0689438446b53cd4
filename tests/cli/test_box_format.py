"""``--box-format`` in every command that reads targets, and what is said without it."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import CLICK, read_rows, result_of, write_rows

SIZE = [1920, 1080]
BOXES = [[40, 40, 300, 200], [860, 540, 30, 20], [100, 600, 200, 50], [10, 5, 20, 30]]
"""x y w h; two of them cannot be x1 y1 x2 y2."""
CENTRES = [[190, 140], [875, 550], [200, 625], [20, 20]]
SAY = '--box-format xywh where files are read or converted (or cxcywh, yxyx, xxyy, yyxx), box_format="xywh" in Python'
SUSPECT = f"2 targets (first: {{}}): bbox [860, 540, 30, 20] has no area as x1 y1 x2 y2; if boxes are x y w h: {SAY}"


def row(box, point, **more):
    return {"response": f"({point[0]}, {point[1]})", "target": {"bbox": box}, "image_size": SIZE, **more}


@pytest.fixture
def xywh(tmp_path):
    return write_rows(tmp_path / "xywh.jsonl", *map(row, BOXES, CENTRES))


@pytest.fixture
def xyxy(tmp_path):
    boxes = [[x, y, x + w, y + h] for x, y, w, h in BOXES]
    return write_rows(tmp_path / "xyxy.jsonl", *map(row, boxes, CENTRES))


def test_eval_and_score_without_it_name_it(run, xywh, tmp_path):
    for words in (("eval", xywh), ("score", xywh, "--out", tmp_path / "out.jsonl")):
        message = run.error(*words, *CLICK)
        assert message == (
            f"{xywh}, row 1 (line 2): target of row 1, field 'bbox': got [860, 540, 30, 20]; expected x1 <= x2 and "
            f"y1 <= y2 (not x y w h; for that {SAY}); if two corners are swapped: [30.0, 20.0, 860.0, 540.0]"
        )


def test_rows_left_out_are_no_way_around_it(run, xywh, tmp_path):
    for words in (("eval", xywh), ("score", xywh, "--out", tmp_path / "out.jsonl")):
        result = run(*words, *CLICK, "--bad-target", "abstain")
        assert f"warning: {SUSPECT.format(f'{xywh}, row 1 (line 2)')}" in result.err


def test_with_it_the_scores_are_those_of_x1_y1_x2_y2(run, xywh, xyxy, tmp_path):
    declared = run("eval", xywh, *CLICK, "--box-format", "xywh", "--json")
    [entry], [right] = result_of(declared.out), result_of(run("eval", xyxy, *CLICK, "--json").out)
    assert {**entry, "file": ""} == {**right, "file": ""}
    assert (entry["correct"], entry["n"], entry["warnings"]) == (4, 4, [])
    outs = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert run("score", xywh, *CLICK, "--box-format", "xywh", "--out", outs[0]).code == 0
    assert run("score", xyxy, *CLICK, "--out", outs[1]).code == 0
    first, second = map(read_rows, outs)
    assert [each["target"]["bbox"] for each in first] == BOXES  # rows stay as they are
    assert [{**each, "target": None} for each in first] == [{**each, "target": None} for each in second]


def test_pool_score_writes_x1_y1_x2_y2_and_its_diagnosis_reads_that(run, tmp_path):
    boxes = [[x, y, 40, 30] for x in (200, 300, 400, 500) for y in (90, 190, 290, 390)]
    source = write_rows(tmp_path / "in.jsonl", *(row(box, (box[0] + 20, box[1] + 15)) for box in boxes))
    words = ("pool", "score", source, *CLICK, "--recipe", "click", "--out", tmp_path / "out", "--json")
    done = result_of(run(*words, "--box-format", "xywh").out)
    assert (done["accuracy"], done["findings"], done["warnings"]) == (1.0, [], [])


def test_a_third_format(run, tmp_path):
    boxes = [[x + w / 2, y + h / 2, w, h] for x, y, w, h in BOXES]
    source = write_rows(tmp_path / "in.jsonl", *map(row, boxes, CENTRES))
    [entry] = result_of(run("eval", source, *CLICK, "--box-format", "cxcywh", "--json").out)
    assert (entry["correct"], entry["warnings"]) == (4, [])


def test_one_row_without_width_is_a_warning_for_a_whole_file(run, tmp_path):
    flat, large = row([40, 40, 40, 90], [1, 1]), [row([40, 40, 400, 300], [50, 50])] * 9000
    source = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist([flat, *large]), source)
    warning = "1 target (first: {}, row 0): bbox [40.0, 40.0, 40.0, 90.0] has no area as x1 y1 x2 y2; if boxes are"
    assert warning.format(source) in run("eval", source, *CLICK).err
    # The last of many rows, in another batch, cannot be x y w h.
    pq.write_table(pa.Table.from_pylist([flat, *large, row([1800, 900, 1900, 1000], [1, 1])]), source)
    assert run("eval", source, *CLICK).err == ""
    assert run("eval", source, *CLICK, "--strict").code == 0


def test_a_recipes_own_form_ignores_it_aloud(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"response": "(200, 150)", "target": [0.1, 0.1, 0.3, 0.2]})
    result = run("eval", source, "--recipe", "gelato", "--box-format", "xywh")
    assert "warning: 1 target" in result.err
    assert "bbox [0.1, 0.1, 0.3, 0.2] is in the recipe's own form, which ignores the box format xywh" in result.err
    assert run("eval", source, "--recipe", "gelato", "--box-format", "xyxy").err == ""


def test_an_unknown_format_is_refused(run, xywh):
    assert "--box-format" in run.error("eval", xywh, *CLICK, "--box-format", "xyhw")


def test_explain(run, xywh):
    words = ("explain", "--recipe", "click", "--response-space", "pixel", "--box-format", "xywh", "--json")
    of_file = result_of(run(*words, xywh, "--row", 1).out)
    of_words = result_of(
        run(
            *words, "--response", "(875, 550)", "--target", '{"bbox": [860, 540, 30, 20]}', "--image-size", "1920,1080"
        ).out
    )
    for found in (of_file, of_words):
        assert (found["total"], found["error"], found["warnings"]) == (1.0, None, [])
        assert found["target"]["places"][0]["numbers"] == [860.0, 540.0, 890.0, 560.0]
    result = run("explain", "--recipe", "click", "--response-space", "pixel", xywh, "--row", 1)
    assert SAY in " ".join(result.out.split())


def test_explain_compares_and_draws_what_is_declared(run, tmp_path):
    target = {"regions": [[860, 540, 30, 20], [5, 5, 5, 6]], "space": "pixel", "image_size": SIZE}
    words = ("--response", "(875, 550)", "--target", json.dumps(target), "--box-format", "xywh")
    result = run("explain", "--recipe", "click", *words, "--response-space", "pixel", "--compare", "groundnext",
                 "--json", "--out", tmp_path / "a.html")  # fmt: skip
    assert (result.code, (tmp_path / "a.html").exists()) == (0, True)
    found = result_of(result.out)
    assert [place["alone"] for place in found["target"]["places"]] == [1.0, 0.1]
    assert found["compared"][0]["acc"] == 1.0


def test_explain_of_an_example_has_no_format(run):
    message = run.error("explain", "--recipe", "gelato", "--box-format", "xywh")
    assert message == "--box-format: got it without --target or FILE; an example has the recipe's own form"


@pytest.mark.parametrize("trainer", ["verl", "trl", "easyr1"])
def test_convert_writes_x1_y1_x2_y2(run, tmp_path, trainer):
    rows = [{"instruction": "Save", "bbox": box, "image_size": SIZE, "id": str(k)} for k, box in enumerate(BOXES)]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    words = ("convert", source, "--out", out, "--for", trainer, "--target-space", "pixel")
    failed = run(*words)
    assert (failed.code, out.exists()) == (2, False)
    assert "row 1 (line 2): target, field 'bbox': got [860, 540, 30, 20]; expected x1 <= x2 and y1 <= y2" in failed.err
    assert failed.err.count(f"(not x y w h; for that {SAY})") == 1  # both rows in one line
    left_out = run(*words, "--skip-bad")
    assert f"warning: {SUSPECT.format('row 1 (line 2)')}" in left_out.err
    result = run(*words, "--box-format", "xywh")
    assert (result.code, "warning" in result.err) == (0, False)
    assert read_rows(out)[1]["bbox"] == [860, 540, 30, 20]  # other columns stay
    texts = {
        "verl": lambda row: row["reward_model"]["ground_truth"],
        "trl": lambda row: row["target"],
        "easyr1": lambda row: row["answer"],
    }
    read = [json.loads(texts[trainer](each))["bbox"] for each in read_rows(out)]
    assert read == [[x, y, x + w, y + h] for x, y, w, h in BOXES]


def test_convert_says_that_a_recipes_own_form_ignores_it(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"instruction": "Save", "bbox": [0.1, 0.1, 0.3, 0.2], "id": "a"})
    out = tmp_path / "out.jsonl"
    result = run("convert", source, "--out", out, "--for", "trl", "--recipe", "gelato", "--box-format", "xywh")
    assert "1 target (first: row 0 (line 1)): bbox [0.1, 0.1, 0.3, 0.2] is in the recipe's own form" in result.err
    assert json.loads(read_rows(out)[0]["target"])["bbox"] == [0.1, 0.1, 0.3, 0.2]


def test_pool_score_writes_x1_y1_x2_y2(run, xywh, tmp_path):
    out, click = tmp_path / "out", (*CLICK[:2], "--response-space", "pixel")
    assert SAY in run.error("pool", "score", xywh, *click, "--out", out)
    result = run("pool", "score", xywh, *click, "--out", out, "--bad-target", "abstain")
    assert "2 targets (first: sample " in result.err
    assert SAY in result.err
    result = run("pool", "score", xywh, *click, "--out", out, "--box-format", "xywh", "--overwrite", "--json")
    assert (result_of(result.out)["accuracy"], result_of(result.out)["warnings"]) == (1.0, [])
    assert result_of(result.out)["box_format"] == "xywh"
    rows = open_rollouts([out]).read(["target", "acc", "response"]).to_pylist()
    targets = [json.loads(each["target"]) for each in rows]
    assert sorted(target["bbox"] for target in targets) == sorted([x, y, x + w, y + h] for x, y, w, h in BOXES)
    # Every reader of the directory takes them for that.
    recipe = gr.recipe("click", response_space="pixel")
    assert recipe.score([each["response"] for each in rows], targets).acc.tolist() == [1.0] * 4


def test_pool_score_keeps_the_targets_of_recipes_that_read_none(run, tmp_path):
    rows = [row(BOXES[1], CENTRES[1], sample_id="a"), row(BOXES[1], CENTRES[1], sample_id="a")]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out"
    words = ("--recipe", "gui-rcpo", "--response-space", "pixel", "--box-format", "xywh")
    assert run("pool", "score", source, *words, "--out", out).code == 0
    targets = open_rollouts([out]).read(["target"]).to_pylist()
    assert [json.loads(each["target"]) for each in targets] == [{"bbox": [860, 540, 890, 560], "space": "pixel"}] * 2
