"""Batches of a table are scored, and errors, warnings and findings name the file and the row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.batch.columns import Columns
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.errors import TableError
from grounding_rewards.tables import open_table
from tests.cli.command import write_rows

BOX = {"bbox": [10, 10, 30, 20]}


def score(path: Path, recipe: gr.Recipe, *rows: dict[str, Any], **settings: Any) -> gr.Scores:
    """Write rows, and return the scores of the one batch that they make."""
    table = open_table(write_rows(path, *rows))
    scorer = TableScorer(recipe, Columns(), **settings)
    (batch,) = scorer.batches(table, whole=False)
    return scorer.score(table, batch).scores


def voting() -> gr.Recipe:
    return gr.recipe("composite", response_space="pixel", parts={"vote": {"verifier": "consensus", "weight": 1.0}})


def test_a_finding_names_the_row_where_it_is_and_not_the_first(tmp_path: Path) -> None:
    rows = [{"response": "(20, 15)", "target": {**BOX, "action": name}} for name in ("click", "click", "clik")]
    recipe = gr.recipe("action", response_space="pixel")
    diagnosis = Diagnosis(recipe)
    score(tmp_path / "in.jsonl", recipe, *rows, diagnosis=diagnosis)
    (finding,) = diagnosis.findings()
    assert (finding.code, finding.rows) == ("unknown-action", (2,))
    assert f"(first: {tmp_path / 'in.jsonl'}, row 2 (line 3))" in finding.message


@pytest.mark.parametrize(("names", "warned"), [(["a"], 0), (["a", "b"], 1), (["a", "a"], 0)])
def test_samples_of_one_rollout_each_are_a_warning_where_there_are_several(
    tmp_path: Path, names: list[str], warned: int
) -> None:
    texts: list[str] = []
    rows = [{"response": "(20, 15)", "target": BOX, "sample_id": name} for name in names]
    score(tmp_path / "in.jsonl", voting(), *rows, on_warning=texts.append)
    assert texts == ["composite compares the rollouts of one sample, and no sample here has two"] * warned


def test_a_response_of_no_tokens_has_a_length(tmp_path: Path) -> None:
    lengths = {"verifier": f"{__file__}:lengths", "weight": 1.0, "low": 0, "high": 9}
    recipe = gr.recipe("composite", response_space="pixel", parts={"length": lengths})
    rows = [{"response": text, "target": BOX, "token_length": count} for text, count in (("", 0), ("(20, 15)", 7))]
    assert score(tmp_path / "in.jsonl", recipe, *rows).total.tolist() == [0, 7]
    with pytest.raises(TableError, match="token_length: got -1; expected how many tokens"):
        score(tmp_path / "in.jsonl", recipe, {**rows[0], "token_length": -1})


def lengths(rollouts: gr.Rollouts) -> list[float]:
    return rollouts.token_lengths.astype(float)


@pytest.mark.parametrize("column", [True, False])
def test_a_missing_size_names_the_option_of_its_column_only_where_the_file_has_none(
    tmp_path: Path, column: bool
) -> None:
    recipe = gr.recipe("click", response_space="thousandths")
    rows = [
        {"response": "(20, 15)", "target": BOX},
        {"response": "(20, 15)", "target": {**BOX, "image_size": [99, 99]}},
    ]
    with pytest.raises(TableError, match=r"row 0 \(line 1\).* field 'image_size': got nothing") as caught:
        score(tmp_path / "in.jsonl", recipe, *[{**row, **({"image_size": None} if column else {})} for row in rows])
    assert ("(--image-size-column)" in str(caught.value)) is not column


def test_a_column_that_first_occurs_in_a_later_batch_is_among_the_extras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grounding_rewards.tables.text_rows.BATCH_ROWS", 1)
    bonus = {"verifier": f"{__file__}:bonus", "weight": 1.0, "low": 0, "high": 1}
    scorer = TableScorer(gr.recipe("composite", response_space="pixel", parts={"bonus": bonus}), Columns())
    rows = [{"response": "(20, 15)", "target": BOX, **more} for more in ({}, {"bonus": 0.25})]
    table = open_table(write_rows(tmp_path / "in.jsonl", *rows))
    totals = [scorer.score(table, batch).scores.total.tolist() for batch in scorer.batches(table, whole=False)]
    assert totals == [[0.0], [0.25]]


def bonus(rollouts: gr.Rollouts) -> list[float]:
    return rollouts.extras.get("bonus", [0.0] * len(rollouts))
