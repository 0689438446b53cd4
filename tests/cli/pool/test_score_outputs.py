"""``pool score`` and what is there already: nothing is done twice, and nothing is replaced unasked."""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.batch import rollout_scorer, table_scorer
from tests.batch.made import contents, rollouts, small_shards
from tests.cli.command import names, result_of, write_rows
from tests.disks import full_disk

SCORE = ("pool", "score")
GELATO = ("--recipe", "gelato")


@pytest.fixture
def small(monkeypatch):
    """Shards of 4 rows."""
    small_shards(monkeypatch)


def test_a_file_that_grows_while_it_is_read(run, tmp_path, monkeypatch):
    source, out = write_rows(tmp_path / "in.jsonl", *rollouts(3)), tmp_path / "out"
    judge = gr.Recipe.evaluate

    def growing(self, rollouts):
        with source.open("a") as file:
            file.write("{}\n")
        return judge(self, rollouts)

    monkeypatch.setattr(gr.Recipe, "evaluate", growing)
    message = run.error(*SCORE, source, *GELATO, "--out", out)
    assert message == (
        f"{source}: was written to while it was read; when it rests run this again, with --overwrite where a part of "
        "it was done"
    )
    assert not out.exists()


def test_own_code_is_part_of_what_a_run_is(run, tmp_path):
    own = tmp_path / "own.py"
    own.write_text("from grounding_rewards import recipe\nfound = recipe('gelato')\n")
    source, out = write_rows(tmp_path / "in.jsonl", *rollouts(1)), tmp_path / "out"
    words = (*SCORE, source, "--recipe", f"{own}:found", "--out", out)
    assert run(*words).code == 0
    manifest = json.loads((out / "_score.manifest.json").read_text())
    assert manifest["code"] == [{"path": str(own), "sha256": hashlib.sha256(own.read_bytes()).hexdigest()}]
    (out / "_score.manifest.json").write_text(json.dumps({**manifest, "code": [{"path": str(own), "sha256": "0f"}]}))
    assert "was made with other code, or with what these held before; " in run.error(*words)


def test_an_unfinished_run_gives_way_only_to_overwrite(run, tmp_path, small):
    rows = rollouts(9)
    rows[8]["target"] = "no"
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out"
    assert "row 8 (line 9): target" in run.error(*SCORE, source, *GELATO, "--out", out)
    shards = [f"rollouts-00000{n}.parquet" for n in (0, 1)]
    hidden = [f".{name}.json" for name in shards]
    assert names(out.with_name(".out.unfinished")) == [*hidden, "_score.manifest.json", *shards]
    words = (*SCORE, source, *GELATO, "--bad-target", "abstain", "--out", out, "--json")
    assert run.error(*words) == (
        f'{out}: an unfinished run was made with bad_target "raise", and not "abstain"; have it give way by '
        "--overwrite, or write to another directory"
    )
    assert result_of(run(*words, "--overwrite").out)["pieces"] == {"made": 3, "found": 0}
    assert names(tmp_path) == ["in.jsonl", "out"]


@pytest.mark.parametrize(("kind", "recipe"), [("jsonl", "gui-rcpo"), ("parquet", "gelato")])
def test_a_run_that_failed_goes_on_where_it_was(run, tmp_path, small, monkeypatch, recipe, kind):
    rows = rollouts(30, image_size=[100, 100])
    source = write_rows(tmp_path / "in.jsonl", *rows) if kind == "jsonl" else tmp_path / "in.parquet"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), source, row_group_size=7)
    words = (*SCORE, source, "--recipe", recipe, "--response-space", "thousandths", "--json", "--out")
    whole = result_of(run(*words, tmp_path / "whole").out)
    score_rows, calls = table_scorer.score_rows, []

    def failing(recipe, inputs, *args, **options):
        calls.append(len(inputs.responses))
        if len(calls) == 4:
            raise OSError("full")
        return score_rows(recipe, inputs, *args, **options)

    for module in (table_scorer, rollout_scorer):
        monkeypatch.setattr(module, "score_rows", failing)
    assert run.error(*words, tmp_path / "out") == "full"
    resumed = result_of(run(*words, tmp_path / "out").out)
    done = resumed["pieces"]["found"]
    assert done > 0
    assert resumed["pieces"]["made"] == whole["pieces"]["made"] - done
    assert sum(calls) - calls[3] == 30
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_full_disk_is_said_with_the_output(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(3))
    with full_disk(300):
        message = run.error(*SCORE, source, *GELATO, "--out", tmp_path / "out")
    assert message.startswith(f"{tmp_path / 'out'}: would be larger than files may be here")
