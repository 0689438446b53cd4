"""Rows that are compared find each other wherever they stand, in an order of their own."""

from __future__ import annotations

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.batch import rescore as rescoring
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.errors import TableError
from tests.batch.made import HIT, contents, table, votes
from tests.cli.command import write_rows


def test_rows_that_are_compared_find_each_other_wherever_they_stand(tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    rows = [
        {
            "sample_id": f"s{row % 10}", "round": row % 2, "train_step": row // 40, "rollout": row, "note": row,
            "response": f"({rng.integers(1000)}, {rng.integers(1000)})",
            "target": {"image_size": [100, 100]},
        }
        for row in range(80)
    ]  # fmt: skip
    first, second = write_rows(tmp_path / "a.jsonl", *rows[:50]), write_rows(tmp_path / "b.jsonl", *rows[50:])
    assert votes(tmp_path / "whole", first, second).made == 1
    monkeypatch.setattr(rescoring, "GROUP_ROWS", 16)
    assert votes(tmp_path / "parted", first, second).made == 5
    recipe = gr.recipe("gui-rcpo", response_space="thousandths")
    groups = [f"{row['sample_id']} {row['round']} {row['train_step']}" for row in rows]
    expected = recipe.score([row["response"] for row in rows], [row["target"] for row in rows], groups=groups)
    for out in ("whole", "parted"):
        found = sorted(table(tmp_path / out), key=lambda row: row["rollout"])
        assert [row["total"] for row in found] == expected.total.tolist()
        assert [row["note"] for row in found] == list(range(80))
    assert len(set(expected.total.tolist())) > 5


def test_a_bad_target_among_rows_that_are_compared_is_named_by_its_sample(tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"sample_id": "b", "rollout": 3, "response": "", "target": "no"})
    with pytest.raises(TableError, match=r"in\.jsonl, sample 'b', rollout 3: target of sample 'b'"):
        votes(tmp_path / "out", source)


def test_a_row_is_named_by_its_sample_where_others_have_no_response(tmp_path):
    sizes = {"image_size": [9, 9], "model_image_size": [9, 9]}
    rows = [{"sample_id": name, "response": HIT, "target": {"bbox": [1, 1, 5, 5]}, **sizes} for name in "zab"]
    rows[0]["target"], rows[1]["response"] = "garbage", None
    source = write_rows(tmp_path / "in.jsonl", *rows)
    with pytest.raises(TableError, match=r"in\.jsonl, sample 'z', rollout 0: target of sample 'z'"):
        rescore([source], gr.recipe("ui-r1-dast"), tmp_path / "out")


def test_responses_that_are_no_texts_are_refused(tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"sample_id": "a", "response": 5, "target": {"image_size": [9, 9]}})
    with pytest.raises(TableError) as caught:
        votes(tmp_path / "out", source)
    assert str(caught.value) == f"{source}, row 0 (line 1): response: got int 5; expected a string or null"


def test_a_permuted_file_gives_the_same_bytes(tmp_path):
    rng = np.random.default_rng(11)
    rows = [
        {
            "sample_id": f"s{row % 3}", "round": row % 2, "rollout": row // 6,
            "response": f"({rng.integers(1000)}, {rng.integers(1000)})", "target": {"image_size": [997, 613]},
        }
        for row in range(60)
    ]  # fmt: skip
    found = []
    for place in range(3):
        source, out = write_rows(tmp_path / f"{place}.jsonl", *rng.permutation(rows)), tmp_path / f"out{place}"
        votes(out, source)
        found.append(contents(out)["rollouts-000000.parquet"])
    assert found[0] == found[1] == found[2]
    keys = [(row["sample_id"], row["round"], row["rollout"]) for row in table(tmp_path / "out2")]
    assert keys == sorted(keys)


def test_rows_without_numbers_stay_in_their_order(tmp_path):
    rows = [{"sample_id": "a", "response": f"({row}, 9)", "target": {"image_size": [10, 10]}} for row in (7, 3, 5)]
    votes(tmp_path / "out", write_rows(tmp_path / "in.jsonl", *rows))
    assert [row["response"] for row in table(tmp_path / "out")] == ["(7, 9)", "(3, 9)", "(5, 9)"]
