"""Rows of rollouts to rows of a scored table: names, numbers, columns, and errors that say where."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.errors import TableError
from grounding_rewards.tables.recorder import RolloutRecorder, read_rollouts
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.sample_ids import sample_id
from tests.batch.made import BOX, HIT, MISS, gelato, rollouts, small_shards, table
from tests.cli.command import names, write_rows


def test_the_same_scores_as_the_library_from_every_kind_of_file(tmp_path, monkeypatch):
    small_shards(monkeypatch)
    rows = rollouts(10)
    expected = gr.recipe("gelato").score([row["response"] for row in rows], [BOX] * 10)
    lines = write_rows(tmp_path / "in.jsonl", *rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    recorder = RolloutRecorder(tmp_path / "recorded")
    columns = {name: [row[name] for row in rows] for name in ("sample_id", "response")}
    recorder.append({**columns, "target": [json.dumps(BOX)] * 10})
    recorder.close()
    for place, source in enumerate((lines, tmp_path / "in.parquet", tmp_path / "recorded")):
        out = tmp_path / f"out{place}"
        gelato(out, source)
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


def test_rows_without_a_response_have_no_scores(tmp_path):
    rows = [{"sample_id": "a", "response": text, "target": BOX, "acc": 1} for text in (None, HIT, "", None)]
    out = tmp_path / "out"
    gelato(out, write_rows(tmp_path / "in.jsonl", *rows))
    assert [(row["acc"], row["total"], row["distance"], row["reason"], row["recipe"]) for row in table(out)] == [
        (None, None, None, None, "gelato"), (1.0, 1.0, 1.0, "OK", "gelato"), (0.0, 0.0, 0.0, "EMPTY", "gelato"),
        (None, None, None, None, "gelato"),
    ]  # fmt: skip
    empty = tmp_path / "empty"
    gelato(empty, write_rows(tmp_path / "no.jsonl", rows[0]))
    assert [row["acc"] for row in table(empty)] == [None]


def test_names_and_numbers_that_were_missing(tmp_path):
    asked = {"instruction": "Close", "image_path": "a.png", "source": "clicks"}
    rows = [
        {"response": HIT, "target": {**BOX, "id": "t7"}},
        {"response": HIT, "target": BOX, **asked},
        {"response": MISS, "target": BOX, **asked},
        {"response": MISS, "target": BOX, "sample_id": 7},
    ]
    out, made = tmp_path / "out", sample_id(source="clicks", image="a.png", instruction="Close", target=BOX)
    gelato(out, write_rows(tmp_path / "in.jsonl", *rows))
    assert [row["sample_id"] for row in table(out)] == ["t7", made, made, "7"]
    assert [row["rollout"] for row in table(out)] == [0, 1, 2, 3]
    other = write_rows(tmp_path / "more.jsonl", {"sample_id": "7", "rollout": 3, "response": HIT, "target": BOX})
    gelato(tmp_path / "both", tmp_path / "in.jsonl", other)
    assert [row["rollout"] for row in table(tmp_path / "both")] == [*range(2**32, 2**32 + 4), 3]


def test_rollouts_that_have_numbers_in_some_rows_only(tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(1), {"sample_id": "b", "response": HIT, "target": BOX})
    with pytest.raises(TableError) as caught:
        gelato(tmp_path / "out", source)
    assert str(caught.value) == (
        f"{source}, row 1 (line 2): rollout: got null; expected a number in every row of the file, or in none"
    )
    assert names(tmp_path) == ["in.jsonl"]


def test_errors_name_rows_behind_those_without_a_response(tmp_path):
    rows = [{"sample_id": "a", "response": text, "target": BOX} for text in (None, None, HIT)]
    rows[2]["target"] = "nothing"
    source = write_rows(tmp_path / "in.jsonl", *rows)
    with pytest.raises(TableError, match=r"in\.jsonl, row 2 \(line 3\): target of sample 'a'"):
        gelato(tmp_path / "out", source)


def test_columns_of_several_files_share_a_type_or_are_refused(tmp_path):
    one = write_rows(tmp_path / "one.jsonl", *rollouts(1, kind=1, size=1))
    two = write_rows(tmp_path / "two.jsonl", {**rollouts(2)[1], "kind": "icon", "size": 1.5})
    with pytest.raises(TableError) as caught:
        gelato(tmp_path / "out", one, two)
    assert str(caught.value).startswith(f"{two}: column kind holds string, and int64 in {one}; score them into direct")
    three = write_rows(tmp_path / "three.jsonl", {**rollouts(2)[1], "size": 1.5})
    gelato(tmp_path / "out", one, three)
    assert [(row["kind"], row["size"]) for row in table(tmp_path / "out")] == [(1, 1.0), (None, 1.5)]


def test_trainers_logs_are_scored_as_they_are(tmp_path):
    (tmp_path / "dumps").mkdir()
    for step in (1, 2):
        rows = [
            {"input": "Close", "output": text, "gts": {**BOX, "id": "a"}, "score": 0.0, "step": step, "mine": 0.5}
            for text in (HIT, MISS)
        ]
        write_rows(tmp_path / "dumps" / f"{step}.jsonl", *rows)
    gelato(tmp_path / "out", tmp_path / "dumps")
    found = table(tmp_path / "out")
    assert [(row["sample_id"], row["train_step"], row["acc"], row["total"]) for row in found] == [
        ("a", 1, 1.0, 1.0), ("a", 1, 0.0, 0.0), ("a", 2, 1.0, 1.0), ("a", 2, 0.0, 0.0),
    ]  # fmt: skip
    assert len({(row["sample_id"], row["round"], row["rollout"]) for row in found}) == 4


def test_images_and_what_the_schema_says_of_them_stay(tmp_path):
    said = {"image": {"_type": "Image"}, "response": {"dtype": "string", "_type": "Value"}}
    rows = [{**row, "image": {"bytes": bytes([row["rollout"]]), "path": "a.png"}} for row in rollouts(3)]
    metadata = {b"huggingface": json.dumps({"info": {"features": said}}).encode(), b"mine": b"1"}
    pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(metadata), tmp_path / "in.parquet")
    gelato(tmp_path / "out", tmp_path / "in.parquet")
    assert [row["image"] for row in table(tmp_path / "out")] == [row["image"] for row in rows]
    kept = pq.read_schema(tmp_path / "out" / "rollouts-000000.parquet").metadata
    assert json.loads(kept[b"huggingface"]) == {"info": {"features": {"image": {"_type": "Image"}}}}
    assert kept[b"mine"] == b"1"


def test_a_column_that_says_what_its_lists_are_becomes_a_target_that_says_it(tmp_path):
    corners = [100, 100, 400, 100, 400, 300, 100, 300]
    row = {"sample_id": "a", "response": "(200, 150)", "polygon": corners}
    click, out = gr.recipe("click", response_space="pixel"), tmp_path / "out"
    rescore([write_rows(tmp_path / "in.jsonl", row)], click, out)
    rescore([out], click, tmp_path / "again")
    assert [json.loads(each["target"]) for each in (*table(out), *table(tmp_path / "again"))] == [
        {"polygon": corners, "space": "pixel"}
    ] * 2
    assert [each["acc"] for each in table(tmp_path / "again")] == [1.0]
