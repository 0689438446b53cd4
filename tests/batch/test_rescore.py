"""A run of ``rescore``: what it tells, what it reads, and what it takes for the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.batch import rescore as rescoring
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.errors import PoolError, RecipeError, TableError
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.manifests import unfinished
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.runs import Run
from grounding_rewards.tables.text_rows import JsonLinesTable
from tests.batch.made import BOX, HIT, contents, gelato, rollouts, small_shards, table, votes
from tests.cli.command import names, write_rows


@pytest.fixture
def small(monkeypatch):
    """Shards of 4 rows."""
    small_shards(monkeypatch)


def test_progress_counts_and_notes_are_reported(tmp_path, small):
    source, progress, notes = write_rows(tmp_path / "in.jsonl", *rollouts(10)), [], []
    done = gelato(tmp_path / "out", source, advance=progress.append, note=notes.append)
    assert (done.made, done.found, done.manifest["rows"], notes) == (3, 0, 10, [])
    assert (len(progress), progress[0], progress[-1]) == (4, pytest.approx(0.1), 1.0)  # lines are read ahead
    assert progress == sorted(progress)
    again = gelato(tmp_path / "again", tmp_path / "out", note=notes.append)
    assert (again.manifest["mean_total"], notes) == (done.manifest["mean_total"], [])
    click = gr.recipe("click", response_space="unit")
    rescore([tmp_path / "out"], click, tmp_path / "click", bad_target="abstain", note=notes.append)
    assert notes == ["scores of earlier recipes are left out: distance"]


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_a_shard_has_65536_small_rows_of_any_format(tmp_path, name):
    gelato(tmp_path / "out", write_rows(tmp_path / name, *rollouts(65_540)))
    shards = sorted((tmp_path / "out").glob("*.parquet"))
    assert [pq.read_metadata(shard).num_rows for shard in shards] == [65_536, 4]


def test_an_open_table_and_columns_of_other_names(tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"answer": "(500, 500)", "target": [0.4, 0.4, 0.6, 0.6], "uid": "a"})
    gelato_, columns = gr.recipe("gelato"), Columns(response="answer", id="uid")
    rescore(open_rollouts([source]), gelato_, tmp_path / "out", columns=columns)
    assert [(row["sample_id"], row["total"]) for row in table(tmp_path / "out")] == [("a", 1.0)]


def test_a_finished_output_is_recognized_and_nothing_is_scored_again(tmp_path, monkeypatch):
    source = write_rows(tmp_path / "in.jsonl", *rollouts(5, recipe="gelato"))
    first = gelato(tmp_path / "out", source)
    reads = []
    batches = JsonLinesTable.batches

    def watched(self, *given, **named):
        for batch in batches(self, *given, **named):
            reads.append(len(batch))
            yield batch

    monkeypatch.setattr(JsonLinesTable, "batches", watched)
    again = gelato(tmp_path / "out", source)
    assert (again.made, again.found, again.manifest) == (0, 1, first.manifest)
    assert reads == [1, 5]  # the first row, which no trainer logged, and names of columns


def test_an_input_that_has_grown(tmp_path, small):
    rows = [*rollouts(5), {**rollouts(6)[5], "target": "no"}]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out"
    with pytest.raises(TableError, match="target of sample 's1'"):
        gelato(out, source)
    write_rows(source, *rollouts(7))
    with pytest.raises(TableError) as caught:
        gelato(out, source)
    assert str(caught.value) == (
        f"{out}: an unfinished run was made with other inputs, or with what these held before; have it give way by "
        "--overwrite, or write to another directory"
    )
    assert gelato(tmp_path / "other", source).made == 2
    done = gelato(out, source, overwrite=True)
    assert (done.made, done.found, done.manifest["rows"]) == (2, 0, 7)
    assert names(tmp_path) == ["in.jsonl", "other", "out"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_input_that_grows_after_its_content_was_recorded(tmp_path, monkeypatch, kind):
    source, inputs = tmp_path / f"in.{kind}", RolloutTable.inputs

    def write(count):
        if kind == "jsonl":
            write_rows(source, *rollouts(count))
        else:
            pq.write_table(pa.Table.from_pylist(rollouts(count)), source)

    def growing(self):
        found = inputs(self)
        write(4)
        return found

    write(3)
    monkeypatch.setattr(RolloutTable, "inputs", growing)
    with pytest.raises(TableError, match=r"was written to while it was read; when it rests run this again, with --ov"):
        gelato(tmp_path / "out", source)
    assert names(tmp_path) == [source.name]


def test_a_file_that_has_changed_is_another_recipe(tmp_path):
    module = tmp_path / "changing_reward.py"
    module.write_text("from grounding_rewards import recipe\nfound = recipe('gelato')\n")
    source, own = write_rows(tmp_path / "in.jsonl", *rollouts(1)), gr.recipe(f"{module}:found")
    said = rescore([source], own, tmp_path / "out").manifest
    assert [each["path"] for each in said["code"]] == [str(module)]
    assert rescore([source], own, tmp_path / "out").made == 0
    module.write_text("from grounding_rewards import recipe\nfound = recipe('gelato', format_weight=0.5)\n")
    with pytest.raises(TableError, match="was made with other code, or with what these held before; write to another"):
        rescore([source], own, tmp_path / "out")


def test_arguments_that_do_not_fit(tmp_path):
    source, out = write_rows(tmp_path / "in.jsonl", *rollouts(1)), tmp_path / "out"
    with pytest.raises(RecipeError, match="bad_target: got 'rise'; expected one of raise, abstain"):
        gelato(out, source, bad_target="rise")
    with pytest.raises(RecipeError, match="ui-s1 adds up a trajectory, and rollouts of a pool do not say"):
        rescore([source], gr.recipe("ui-s1", returns=True), out)
    with pytest.raises(TableError, match="lies in the input"):
        gelato(source, source)
    assert names(tmp_path) == ["in.jsonl"]


@pytest.mark.parametrize("score", [gelato, votes])
def test_a_guessed_column_of_names_stays_and_yields_to_the_ids_of_targets(tmp_path, score):
    rows = [{"id": row, "response": HIT, "target": {**BOX, "id": "s"}, "image_size": [9, 9]} for row in range(2)]
    rows.append({**rows[0], "target": BOX})
    score(tmp_path / "out", write_rows(tmp_path / "in.jsonl", *rows))
    rows = table(tmp_path / "out")
    assert sorted((row["sample_id"], row["id"]) for row in rows) == [("0", 0), ("s", 0), ("s", 1)]
    score(tmp_path / "named", tmp_path / "in.jsonl", columns=Columns(id="id"))
    assert sorted(row["sample_id"] for row in table(tmp_path / "named")) == ["0", "0", "1"]


@pytest.mark.parametrize("score", [gelato, votes])
def test_a_column_that_one_file_renames_stays_in_another_that_does_not(tmp_path, score):
    one = write_rows(tmp_path / "one.jsonl", {"sample_id": "a", "output": HIT, "target": BOX, "image_size": [9, 9]})
    two = write_rows(tmp_path / "two.jsonl", *rollouts(1, output="kept", image_size=[9, 9]))
    score(tmp_path / "out", one, two)
    rows = table(tmp_path / "out")
    assert sorted((row["sample_id"], row["output"]) for row in rows) == [("a", None), ("s0", "kept")]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("score", [gelato, votes])
def test_a_damaged_shard_is_made_again_with_a_warning(tmp_path, small, monkeypatch, score, overwrite):
    source, out, warnings = (
        write_rows(tmp_path / "in.jsonl", *rollouts(15, image_size=[640, 480])),
        tmp_path / "out",
        list[str](),
    )
    score(tmp_path / "whole", source)
    finish = Run.finish
    monkeypatch.setattr(Run, "finish", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        score(out, source)
    monkeypatch.setattr(Run, "finish", finish)
    shards = sorted(unfinished(out).glob("*.parquet"))
    shards[0].write_bytes(b"")
    pq.write_table(pa.table({"x": [1]}), shards[1])
    for group in unfinished(out).glob("groups/*.parquet"):
        group.write_bytes(b"")
    assert score(out, source, overwrite=overwrite, warn=warnings.append).made == 2
    groups = f"{unfinished(out)}: groups of rows are not what was written; they are made again"
    assert (groups in warnings) == (score is votes)
    assert warnings[:2] == [f"{out}: {each.name} is not what was written; it is made again" for each in shards[:2]]
    assert contents(out) == contents(tmp_path / "whole")


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


def test_half_a_surrogate_pair_in_a_response_is_replaced(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"sample_id": "a", "response": "no \\ud800", "target": [0.1, 0.1, 0.3, 0.2]}\n')
    rescore([tmp_path / "a.jsonl"], gr.recipe("gelato"), tmp_path / "out")
    assert open_rollouts([tmp_path / "out"]).read(["response"]).to_pylist() == [{"response": "no \ufffd"}]
