"""``grounding-rewards eval --consensus``: one answer a sample, beside its single rollouts."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.command import CLICK, result_of, write_rows

BOX = {"bbox": [10, 10, 60, 40]}
NEAR, FAR, OFF = "(20, 20)", "(300, 200)", "?"


def rows(**texts):
    return [
        {"sample_id": sample, "kind": "icon", "response": text, "target": BOX}
        for sample, answers in texts.items()
        for text in answers
    ]


SAMPLES = rows(a=[NEAR, FAR, NEAR, OFF], b=[FAR, FAR, FAR, NEAR], c=[OFF, OFF], d=[NEAR, NEAR, OFF])


def test_tables(run, tmp_path):
    result = run("eval", write_rows(tmp_path / "in.jsonl", *SAMPLES), *CLICK, "--consensus", "--by", "kind")
    assert (result.code, result.err) == (0, "")
    printed = [" ".join(line.split()) for line in result.out.splitlines()]
    assert [line for line in printed if line and not line.startswith("──")] == [
        "file n correct accuracy 95 % interval parsed",
        "in 4 2 50.0 % 15.0 - 85.0 75.0 %",
        "Responses by reason",
        "reason rows share",
        "OK 3 75.0 %",
        "NO_ANSWER 1 25.0 %",
        "By kind",
        "kind n correct accuracy 95 % interval parsed",
        "icon 4 2 50.0 % 15.0 - 85.0 75.0 %",
        "Single rollouts, without the consensus",
        "file samples rollouts accuracy 95 % interval k pass@k",
        # Rates 2/4, 1/4, 0/2 and 2/3; one of two is right by 1 - 1/6, 1 - 3/6, 0 and 1.
        "in 4 13 35.4 % 15.7 - 61.8 2 58.3 %",
    ]


def test_json(run, tmp_path):
    (entry,) = result_of(run("eval", write_rows(tmp_path / "in.jsonl", *SAMPLES), *CLICK, "--consensus", "--json").out)
    assert (entry["n"], entry["correct"], entry["reasons"]) == (4, 2, {"OK": 3, "NO_ANSWER": 1})
    single = entry["singles"]
    assert (single["samples"], single["rollouts"], single["k"]) == (4, 13, 2)
    assert round(single["accuracy"], 6) == round((2 / 4 + 1 / 4 + 0 + 2 / 3) / 4, 6)


def test_rollouts_of_a_directory_are_joined_across_its_files(run, tmp_path):
    (tmp_path / "run").mkdir()
    for shard in range(2):
        pq.write_table(pa.Table.from_pylist(SAMPLES[shard::2]), tmp_path / "run" / f"{shard}.parquet")
    whole = write_rows(tmp_path / "run.jsonl", *SAMPLES)
    parted, one = (
        result_of(run("eval", file, *CLICK, "--consensus", "--json").out)[0] for file in (tmp_path / "run", whole)
    )
    assert {**parted, "file": ""} == {**one, "file": ""}


def test_recipes_that_compare_rollouts_are_refused(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", *SAMPLES)
    text = run.error("eval", file, "--recipe", "gui-rcpo", "--response-space", "pixel", "--consensus")
    assert text.startswith("--consensus: got recipe gui-rcpo, which compares rollouts; expected one that judges one")
