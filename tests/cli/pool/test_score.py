"""``pool score``: rollouts in, a scored rollout table out, in as many runs as it takes."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.tables.rollout_columns import COLUMNS
from tests.batch.made import BOX, HIT, rollouts, small_shards, table
from tests.cli.command import names, result_of, write_rows
from tests.cli.pool.scoring import GELATO, SCORE


@pytest.fixture
def small(monkeypatch):
    """Shards of 4 rows."""
    small_shards(monkeypatch)


def test_rows_keep_their_columns_and_get_scores(run, tmp_path):
    row = {
        "sample_id": "a", "round": 2, "rollout": 5, "response": HIT, "target": {**BOX, "image_size": [1920, 1080]},
        "source": "clicks", "temperature": 1.1, "policy": "step 3", "train_step": 3, "kind": {"icon": True},
        "total": 0.3, "acc": 0.0, "reason": "MALFORMED", "correct": False,
    }  # fmt: skip
    source, out = write_rows(tmp_path / "in.jsonl", row), tmp_path / "out"
    result = run(*SCORE, source, *GELATO, "--out", out)
    assert (result.code, result.out) == (0, "")
    assert result.err == (
        f"1 rollouts with gelato: mean total 1.0000, accuracy 100.0 %, parse rate 100.0 %; written to {out}\n"
    )
    assert table(out) == [
        {
            **dict.fromkeys(COLUMNS), "sample_id": "a", "round": 2, "rollout": 5, "recipe": "gelato", "response": HIT,
            "total": 1.0, "acc": 1.0, "reason": "OK", "x_unit": 0.5, "y_unit": 0.375,
            "target": json.dumps(row["target"]), "image_size": [1920.0, 1080.0], "source": "clicks",
            "temperature": 1.1, "policy": "step 3", "train_step": 3, "kind": {"icon": True},
            "distance": 1.0, "format": 1.0,
        }
    ]  # fmt: skip
    assert names(out) == ["_score.manifest.json", "rollouts-000000.parquet"]
    assert pq.read_table(out).num_rows == 1
    assert names(tmp_path) == ["in.jsonl", "out"]


def test_summary_as_json(run, tmp_path, small):
    rows = [*rollouts(6), {"sample_id": "z", "rollout": 9, "response": None, "target": BOX}]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out"
    found = result_of(run(*SCORE, source, *GELATO, "--out", out, "--json").out)
    assert found.pop("inputs")[0]["path"] == str(source)
    message = (
        "2 of 6 responses were read as bare_tuple_whole (answers such as '(200, 150)'), and none of the others holds "
        "a number: NO_ANSWER in 4, such as 'nothing here'"
    )
    fix = "check column 'response' (--response-column)"
    assert found == {
        "out": str(out), "version": gr.__version__, "recipe": {"name": "gelato"}, "code": [], "plugins": {},
        "warnings": [f"{message}; {fix}"],
        "findings": [
            {"code": "unread", "severity": "warning", "count": 4, "rows": [1, 2, 4, 5], "message": message, "fix": fix}
        ],
        "columns": {
            "response": "response", "target": "target", "image_size": "image_size",
            "model_image_size": "model_image_size", "id": "sample_id", "token_length": "token_length",
        },
        "bad_target": "raise", "box_format": None, "image_root": None, "image_column": None,
        "rows": 7, "scored": 6, "unscored": 1, "no_response": 1,
        "mean_total": 1 / 3, "accuracy": 1 / 3, "parse_rate": 1 / 3, "reasons": {"OK": 2, "NO_ANSWER": 4},
        "pieces": {"made": 2, "found": 0},
    }  # fmt: skip
    manifest = json.loads((out / "_score.manifest.json").read_text())
    assert [each["path"] for each in manifest["outputs"]] == ["rollouts-000000.parquet", "rollouts-000001.parquet"]


def test_mapped_columns_take_the_names_of_a_rollout_table(run, tmp_path):
    row = {"answer": "(500, 500)", "truth": {"bbox": [90, 40, 110, 60]}, "wh": [200, 100], "uid": 7, "response": "mine"}
    mapping = ("--response-column", "answer", "--target-column", "truth", "--image-size-column", "wh")
    words = (*mapping, "--id-column", "uid", "--recipe", "click", "--response-space", "thousandths")
    out = tmp_path / "out"
    assert run(*SCORE, write_rows(tmp_path / "in.jsonl", row), *words, "--out", out).code == 0
    (found,) = table(out)
    assert not {"answer", "truth", "wh", "uid"} & set(found)
    assert (found["response"], found["sample_id"], found["image_size"]) == ("(500, 500)", "7", [200.0, 100.0])
    assert (found["acc"], found["x_unit"], found["y_unit"]) == (1.0, 0.5, 0.5)
    assert json.loads(found["target"]) == {**row["truth"], "space": "pixel"}


def test_scores_of_another_recipe_are_left_out(run, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    source = write_rows(
        tmp_path / "in.jsonl", *rollouts(3, mine=0.5, image_size=[100, 100], target={**BOX, "space": "unit"})
    )
    assert run(*SCORE, source, *GELATO, "--out", one).code == 0
    result = run(*SCORE, one, "--recipe", "click", "--response-space", "thousandths", "--out", two)
    assert result.err.splitlines()[0] == "note: scores of earlier recipes are left out: distance"
    assert list(table(two)[0])[len(COLUMNS) :] == ["mine", *gr.recipe("click", response_space="unit").parts]
    assert {row["recipe"] for row in table(two)} == {"click"}


def test_bad_targets_stop_or_abstain(run, tmp_path):
    rows = [*rollouts(1), {"sample_id": "b", "rollout": 1, "response": HIT, "target": {"bbox": [1]}}]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out"
    assert run.error(*SCORE, source, *GELATO, "--out", out).startswith(
        f"{source}, row 1 (line 2): target of sample 'b', field 'bbox': got [1]; expected "
    )
    found = result_of(run(*SCORE, source, *GELATO, "--bad-target", "abstain", "--out", out, "--json").out)
    assert (found["scored"], found["unscored"], found["no_response"]) == (1, 1, 0)
    assert found["reasons"] == {"OK": 1, "BAD_TARGET": 1}
    bad = table(out)[1]
    assert (bad["acc"], bad["total"], bad["distance"], bad["reason"]) == (None, None, None, "BAD_TARGET")


def test_a_model_gives_the_sizes_that_rows_lack(run, tmp_path):
    target = {"bbox": [0, 0, 960, 540], "image_size": [1920, 1080]}
    row = {"sample_id": "a", "response": "(1000, 500)", "target": target}
    source = write_rows(tmp_path / "in.jsonl", row)
    words = ("--recipe", "click", "--pipeline", "qwen2_5_vl", "--max-pixels", "2007040", "--out")
    assert run(*SCORE, source, *words, tmp_path / "out").code == 0
    (found,) = table(tmp_path / "out")
    assert found["model_image_size"] == [1876.0, 1036.0]
    assert (found["x_unit"], found["y_unit"]) == (1000 / 1876, 500 / 1036)
    assert found["acc"] == 0.0
    given = write_rows(tmp_path / "given.jsonl", {**row, "model_image_size": [3000, 2000]})
    assert run(*SCORE, given, *words, tmp_path / "given").code == 0
    assert (table(tmp_path / "given")[0]["x_unit"], table(tmp_path / "given")[0]["acc"]) == (1 / 3, 1.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--pipeline", "qwen2_5vl"), "option model: got 'qwen2_5vl'; did you mean 'qwen2_5_vl'? There are: "),
        (("--min-pixels", "9"), "min_pixels=9 says how images are resized; say for which model: set model too"),
        (
            ("--recipe", "ui-s1", "--option", "returns=true"),
            "ui-s1 adds up a trajectory, and rollouts of a pool do not",
        ),
        (("--target-column", "truth"), "no column 'truth' (--target-column). It has: "),
    ],
)
def test_words_that_do_not_fit(run, tmp_path, words, message):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(1))
    assert message in run.error(*SCORE, source, *GELATO, "--out", tmp_path / "out", *words)
    assert names(tmp_path) == ["in.jsonl"]


def test_help(run):
    text = " ".join(run(*SCORE, "--help").out.split())
    assert "grounding-rewards pool score run1/rollouts --recipe gelato --out run1/scored" in text


def test_what_was_scored_is_read_by_the_other_commands(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(9, round=1))
    assert run(*SCORE, source, *GELATO, "--out", tmp_path / "out").code == 0
    found = result_of(run("pool", "stats", tmp_path / "out", "--json").out)
    assert (found["samples"], found["rollouts"], found["mixed"]) == (3, 9, 3)
