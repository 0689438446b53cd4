"""Rollouts that are there twice are refused before anything is scored."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.batch.columns import Columns
from grounding_rewards.errors import PoolError
from tests.batch.made import gelato, rollouts, votes
from tests.cli.command import names, write_rows


@pytest.mark.parametrize("score", [gelato, votes])
def test_a_rollout_that_is_there_twice(tmp_path, score):
    one, two = write_rows(tmp_path / "one.jsonl", *rollouts(3, round=2)), tmp_path / "two.parquet"
    pq.write_table(pa.Table.from_pylist(rollouts(2, round=2)[1:]), two)
    with pytest.raises(PoolError) as caught:
        score(tmp_path / "out", one, two)
    assert str(caught.value) == (
        f"{one}, {two}: sample 's0', round 2, rollout 1 is there 2 times; expected each rollout once: give each file "
        "once, and tell rounds apart by a column round"
    )
    assert names(tmp_path) == ["one.jsonl", "two.parquet"]


def test_names_in_another_column(tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *({**row, "uid": 7, "rollout": 1.0} for row in rollouts(2)))
    with pytest.raises(PoolError, match="sample '7', rollout 1 is there 2 times"):
        gelato(tmp_path / "out", source, columns=Columns(id="uid"))


def test_rollouts_of_other_rounds_and_without_a_name_or_a_number(tmp_path):
    rows = [*rollouts(1, round=1), *rollouts(1, round=2)]
    rows += [{**row, "sample_id": None, "rollout": 5, "prompt": prompt} for row in rows for prompt in "ab"]
    rows[4]["round"] = 3
    numbered = write_rows(tmp_path / "numbered.jsonl", *rows)
    plain = write_rows(tmp_path / "plain.jsonl", *({"sample_id": "s0", **row, "rollout": None} for row in rows[:2]))
    assert gelato(tmp_path / "out", numbered, plain).manifest["rows"] == 8
