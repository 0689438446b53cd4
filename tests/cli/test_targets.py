"""Targets beside their session: forms in batches, pages, rollouts and benchmarks, and columns that say refusals."""

from __future__ import annotations

import json

from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import CLICK, result_of, write_rows
from tests.cli.test_rollout import ENGINE
from tests.tables.test_layouts import PRO

SIZE = [1920, 1080]


def row(box, point, **more):
    return {"response": f"({point[0]}, {point[1]})", "target": {"bbox": box}, "image_size": SIZE, **more}


def test_one_row_without_width_is_a_warning_for_a_whole_file(run, tmp_path):
    flat, large = row([40, 40, 40, 90], [1, 1]), [row([40, 40, 400, 300], [50, 50])] * 9000
    source = write_rows(tmp_path / "in.parquet", flat, *large)
    warning = "1 target (first: {}, row 0): bbox [40.0, 40.0, 40.0, 90.0] has no area as x1 y1 x2 y2; if boxes are"
    assert warning.format(source) in run("eval", source, *CLICK).err
    # The last of many rows, in another batch, cannot be x y w h.
    write_rows(source, flat, *large, row([1800, 900, 1900, 1000], [1, 1]))
    assert run("eval", source, *CLICK).err == ""
    assert run("eval", source, *CLICK, "--strict").code == 0


def test_explain_compares_and_draws_what_is_declared(run, tmp_path):
    target = {"regions": [[860, 540, 30, 20], [5, 5, 5, 6]], "space": "pixel", "image_size": SIZE}
    words = ("--response", "(875, 550)", "--target", json.dumps(target), "--box-format", "xywh")
    result = run("explain", "--recipe", "click", *words, "--response-space", "pixel", "--compare", "groundnext",
                 "--json", "--out", tmp_path / "a.html")  # fmt: skip
    assert (result.code, (tmp_path / "a.html").exists()) == (0, True)
    found = result_of(result.out)
    assert [place["alone"] for place in found["target"]["places"]] == [1.0, 0.1]
    assert found["compared"][0]["acc"] == 1.0


def test_csv_has_them_as_texts(run, tmp_path):
    file = tmp_path / "in.csv"
    file.write_text('bbox,is_refusal,response\n"[10, 10, 30, 30]",False,"(20, 20)"\n,True,refusal\n')
    assert result_of(run("eval", file, "--response-space", "pixel", "--json").out)[0]["correct"] == 2


def test_a_target_keeps_its_name_and_size(run, tmp_path):
    target = {"bbox": [0, 0, 0, 0], "id": "a7", "image_size": [640, 480]}
    for written in (target, json.dumps(target)):
        file = write_rows(tmp_path / "in.jsonl", {"target": written, "is_refusal": True, "response": "refusal"})
        assert run("pool", "score", file, *CLICK, "--out", tmp_path / "out", "--overwrite").code == 0
        (row,) = open_rollouts([tmp_path / "out"]).read(["sample_id", "target", "acc"]).to_pylist()
        assert (row["sample_id"], row["acc"]) == ("a7", 1.0)
        assert json.loads(row["target"]) == {"refusal": True, "image_size": [640, 480], "id": "a7"}


def test_rollouts_are_scored_as_refusals(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", {"query": "go", "bbox": [0, 0, 0, 0], "is_refusal": True, "id": "a"})
    out = tmp_path / "out"
    words = ("rollout", file, *ENGINE, "--n", 1, "--out", out, "--recipe", "click", "--response-space", "pixel")
    assert "note: refusal: column is_refusal, by its name; --refusal-column names another\n" in run(*words).err
    (row,) = open_rollouts([out]).read(["target"]).to_pylist()
    assert json.loads(row["target"]) == {"refusal": True}


def test_benchmarks_layouts_and_their_own_kind_of_place(run, tmp_path):
    rows = [{**PRO, "response": "(1, 1)"}, {**PRO, "id": "b", "is_refusal": True, "response": "refusal"}]
    file = write_rows(tmp_path / "in.jsonl", *rows)
    result = run("eval", file, "--response-space", "pixel", "--json")
    assert result_of(result.out)[0]["refusals"]["targets"] == 1
    assert "rows as in ScreenSpot-Pro" in result.err
    result = run("eval", file, "--response-space", "pixel", "--benchmark", "screenspot-pro", "--json")
    assert result_of(result.out)[0]["correct"] == 1
