"""``pool score``: rollouts in, a scored rollout table out, in as many runs as it takes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.pool.identity import sample_id
from grounding_rewards.tables import rollout_source
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.rollouts import RolloutRecorder, read_rollouts
from tests.cli.command import names, write_rows
from tests.cli.pool.scoring import BOX, GELATO, HIT, MISS, SCORE, rollouts, table


@pytest.fixture
def small(monkeypatch):
    """Pieces of 4 rows."""
    monkeypatch.setattr(rollout_source, "PIECE_ROWS", 4)


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
        f"1 rollouts with gelato: mean total 1.0000, hit rate 100.0 %, parse rate 100.0 %; written to {out}\n"
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
    assert names(out) == ["rollouts-000000.parquet", "score.manifest.json"]
    assert names(tmp_path) == ["in.jsonl", "out"]


def test_the_same_scores_as_the_library_from_every_kind_of_file(run, tmp_path, small):
    rows = rollouts(10)
    expected = gr.recipe("gelato").score([row["response"] for row in rows], [BOX] * 10)
    lines = write_rows(tmp_path / "in.jsonl", *rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    recorder = RolloutRecorder(tmp_path / "recorded")
    told = {name: [row[name] for row in rows] for name in ("sample_id", "response")}
    recorder.append({**told, "target": [json.dumps(BOX)] * 10})
    recorder.close()
    for place, source in enumerate((lines, tmp_path / "in.parquet", tmp_path / "recorded")):
        out = tmp_path / f"out{place}"
        assert run(*SCORE, source, *GELATO, "--out", out).code == 0
        assert len(names(out)) == 4
        found = table(out)
        assert [row["total"] for row in found] == expected.total.tolist()
        assert [row["acc"] for row in found] == expected.acc.tolist()
        assert [row["sample_id"] for row in found] == [row["sample_id"] for row in rows]
        assert {row["target"] for row in found} == {json.dumps(BOX)}
        if place < 2:
            assert [row["rollout"] for row in found] == list(range(10))
        else:
            assert [row["rollout"] for row in found] == read_rollouts(source)["rollout"].to_pylist()
        assert open_rollouts([out]).read(["sample_id"]).num_rows == 10


def test_summary_as_json(run, tmp_path, small):
    rows = [*rollouts(6), {"sample_id": "z", "rollout": 9, "response": None, "target": BOX}]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out"
    found = json.loads(run(*SCORE, source, *GELATO, "--out", out, "--json").out)
    assert found.pop("inputs")[0]["path"] == str(source)
    assert found == {
        "out": str(out), "version": gr.__version__, "recipe": {"name": "gelato"}, "code": {},
        "columns": {
            "response": "response", "target": "target", "image_size": "image_size",
            "model_image_size": "model_image_size", "id": "sample_id", "token_length": "token_length",
        },
        "bad_target": "raise", "resizing": None,
        "rows": 7, "scored": 6, "unscored": 1, "no_response": 1,
        "mean_total": 1 / 3, "hit_rate": 1 / 3, "parse_rate": 1 / 3, "reasons": {"OK": 2, "NO_ANSWER": 4},
        "pieces": {"made": 2, "found": 0},
    }  # fmt: skip
    manifest = json.loads((out / "score.manifest.json").read_text())
    assert [each["path"] for each in manifest["outputs"]] == ["rollouts-000000.parquet", "rollouts-000001.parquet"]


def test_rows_without_a_response_have_no_scores(run, tmp_path):
    rows = [{"sample_id": "a", "response": text, "target": BOX, "acc": 1} for text in (None, HIT, "", None)]
    out = tmp_path / "out"
    assert run(*SCORE, write_rows(tmp_path / "in.jsonl", *rows), *GELATO, "--out", out).code == 0
    assert [(row["acc"], row["total"], row["distance"], row["reason"], row["recipe"]) for row in table(out)] == [
        (None, None, None, None, "gelato"), (1.0, 1.0, 1.0, "OK", "gelato"), (0.0, 0.0, 0.0, "EMPTY", "gelato"),
        (None, None, None, None, "gelato"),
    ]  # fmt: skip
    empty = tmp_path / "empty"
    assert run(*SCORE, write_rows(tmp_path / "no.jsonl", rows[0]), *GELATO, "--out", empty, "--json").code == 0
    assert [row["acc"] for row in table(empty)] == [None]


def test_names_and_numbers_that_were_missing(run, tmp_path):
    asked = {"instruction": "Close", "image_path": "a.png", "source": "clicks"}
    rows = [
        {"response": HIT, "target": {**BOX, "id": "t7"}},
        {"response": HIT, "target": BOX, **asked},
        {"response": MISS, "target": BOX, **asked},
        {"response": MISS, "target": BOX, "sample_id": 7},
    ]
    out, made = tmp_path / "out", sample_id(source="clicks", image="a.png", instruction="Close", target=BOX)
    assert run(*SCORE, write_rows(tmp_path / "in.jsonl", *rows), *GELATO, "--out", out).code == 0
    assert [row["sample_id"] for row in table(out)] == ["t7", made, made, "7"]
    assert [row["rollout"] for row in table(out)] == [0, 1, 2, 3]
    other = write_rows(tmp_path / "more.jsonl", {"sample_id": "7", "rollout": 3, "response": HIT, "target": BOX})
    assert run(*SCORE, tmp_path / "in.jsonl", other, *GELATO, "--out", tmp_path / "both").code == 0
    assert [row["rollout"] for row in table(tmp_path / "both")] == [*range(2**32, 2**32 + 4), 3]


def test_rollouts_that_have_numbers_in_some_rows_only(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(1), {"sample_id": "b", "response": HIT, "target": BOX})
    assert run.error(*SCORE, source, *GELATO, "--out", tmp_path / "out") == (
        f"{source}, row 1 (line 2): rollout: got null; expected a number in every row of the file, or in none"
    )
    assert names(tmp_path) == ["in.jsonl"]


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
    assert json.loads(found["target"]) == row["truth"]


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
    found = json.loads(run(*SCORE, source, *GELATO, "--bad-target", "abstain", "--out", out, "--json").out)
    assert (found["scored"], found["unscored"], found["no_response"]) == (1, 1, 0)
    assert found["reasons"] == {"OK": 1, "BAD_TARGET": 1}
    bad = table(out)[1]
    assert (bad["acc"], bad["total"], bad["distance"], bad["reason"]) == (None, None, None, "BAD_TARGET")


def test_errors_name_rows_behind_those_without_a_response(run, tmp_path):
    rows = [{"sample_id": "a", "response": text, "target": BOX} for text in (None, None, HIT)]
    rows[2]["target"] = "nothing"
    source = write_rows(tmp_path / "in.jsonl", *rows)
    assert f"{source}, row 2 (line 3): target of sample 'a'" in run.error(
        *SCORE, source, *GELATO, "--out", tmp_path / "o"
    )


def test_a_model_gives_the_sizes_that_rows_lack(run, tmp_path):
    target = {"bbox": [0, 0, 960, 540], "image_size": [1920, 1080]}
    row = {"sample_id": "a", "response": "(1000, 500)", "target": target}
    source = write_rows(tmp_path / "in.jsonl", row)
    words = ("--recipe", "click", "--model", "qwen2_5_vl", "--max-pixels", "2007040", "--out")
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
        (("--model", "qwen2_5vl"), "--model: got 'qwen2_5vl'; did you mean 'qwen2_5_vl'? There are: "),
        (("--min-pixels", "9"), "bounds of pixels say how images are resized; say for which model: give --model too"),
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


def test_rows_that_are_compared_find_each_other_wherever_they_stand(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    rows = [
        {
            "sample_id": f"s{row % 10}", "round": row % 2, "rollout": row, "note": row,
            "response": f"({rng.integers(1000)}, {rng.integers(1000)})",
            "target": {"image_size": [100, 100]},
        }
        for row in range(80)
    ]  # fmt: skip
    first, second = write_rows(tmp_path / "a.jsonl", *rows[:50]), write_rows(tmp_path / "b.jsonl", *rows[50:])
    words = ("--recipe", "gui-rcpo", "--response-space", "thousandths", "--json", "--out")
    whole = json.loads(run(*SCORE, first, second, *words, tmp_path / "whole").out)
    assert whole["pieces"] == {"made": 1, "found": 0}
    monkeypatch.setattr(rollout_source, "PIECE_ROWS", 16)
    parted = json.loads(run(*SCORE, first, second, *words, tmp_path / "parted").out)
    assert parted["pieces"] == {"made": 5, "found": 0}
    recipe = gr.recipe("gui-rcpo", response_space="thousandths")
    groups = [f"{row['sample_id']} {row['round']}" for row in rows]
    expected = recipe.score([row["response"] for row in rows], [row["target"] for row in rows], groups=groups)
    for out in ("whole", "parted"):
        found = sorted(table(tmp_path / out), key=lambda row: row["rollout"])
        assert [row["total"] for row in found] == expected.total.tolist()
        assert [row["note"] for row in found] == list(range(80))
    assert len(set(expected.total.tolist())) > 5


def test_a_bad_target_among_rows_that_are_compared_is_named_by_its_sample(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"sample_id": "b", "rollout": 3, "response": "", "target": "no"})
    words = ("--recipe", "gui-rcpo", "--response-space", "thousandths", "--out", tmp_path / "out")
    assert run.error(*SCORE, source, *words).startswith(f"{source}, sample 'b', rollout 3: target of sample 'b'")


def test_columns_of_several_files_share_a_type_or_are_refused(run, tmp_path):
    one = write_rows(tmp_path / "one.jsonl", *rollouts(1, kind=1, size=1))
    two = write_rows(tmp_path / "two.jsonl", {**rollouts(2)[1], "kind": "icon", "size": 1.5})
    message = run.error(*SCORE, one, two, *GELATO, "--out", tmp_path / "out")
    assert message.startswith(f"{two}: column kind holds string, and int64 in {one}; score them into directories of")
    three = write_rows(tmp_path / "three.jsonl", {**rollouts(2)[1], "size": 1.5})
    assert run(*SCORE, one, three, *GELATO, "--out", tmp_path / "out").code == 0
    assert [(row["kind"], row["size"]) for row in table(tmp_path / "out")] == [(1, 1.0), (None, 1.5)]


def test_help(run):
    text = " ".join(run(*SCORE, "--help").out.split())
    assert "grounding-rewards pool score run1/rollouts --recipe gelato --out run1/scored" in text


def test_trainers_logs_are_scored_as_they_are(run, tmp_path):
    (tmp_path / "dumps").mkdir()
    for step in (1, 2):
        rows = [
            {"input": "Close", "output": text, "gts": {**BOX, "id": "a"}, "score": 0.0, "step": step, "mine": 0.5}
            for text in (HIT, MISS)
        ]
        write_rows(tmp_path / "dumps" / f"{step}.jsonl", *rows)
    result = run(*SCORE, tmp_path / "dumps", *GELATO, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    found = table(tmp_path / "out")
    assert [(row["sample_id"], row["train_step"], row["acc"], row["total"]) for row in found] == [
        ("a", 1, 1.0, 1.0), ("a", 1, 0.0, 0.0), ("a", 2, 1.0, 1.0), ("a", 2, 0.0, 0.0),
    ]  # fmt: skip
    assert len({(row["sample_id"], row["round"], row["rollout"]) for row in found}) == 4


def test_images_and_what_the_schema_says_of_them_stay(run, tmp_path):
    said = {"image": {"_type": "Image"}, "response": {"dtype": "string", "_type": "Value"}}
    rows = [{**row, "image": {"bytes": bytes([row["rollout"]]), "path": "a.png"}} for row in rollouts(3)]
    metadata = {b"huggingface": json.dumps({"info": {"features": said}}).encode(), b"mine": b"1"}
    pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(metadata), tmp_path / "in.parquet")
    assert run(*SCORE, tmp_path / "in.parquet", *GELATO, "--out", tmp_path / "out").code == 0
    assert [row["image"] for row in table(tmp_path / "out")] == [row["image"] for row in rows]
    kept = pq.read_schema(tmp_path / "out" / "rollouts-000000.parquet").metadata
    assert json.loads(kept[b"huggingface"]) == {"info": {"features": {"image": {"_type": "Image"}}}}
    assert kept[b"mine"] == b"1"


def test_what_was_scored_is_read_by_the_other_commands(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(9, round=1))
    assert run(*SCORE, source, *GELATO, "--out", tmp_path / "out").code == 0
    found = json.loads(run("pool", "stats", tmp_path / "out", "--json").out)
    assert (found["samples"], found["rollouts"], found["mixed"]) == (3, 9, 3)
