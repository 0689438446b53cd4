"""``grounding-rewards pool allocate``."""

from __future__ import annotations

import hashlib
import json

import pyarrow.parquet as pq
import pytest

from tests.cli.command import names, read_rows, write_rows

XRPO = {"name": "xrpo", "budget": 5, "alpha": 0.05, "exploration": 0.1, "total": 12}


def rollouts(path, *, n=8, **fields):
    """Samples k0 to k8: as many of 8 rollouts as the name says are right; and u, of which none was scored."""
    rows = [
        {"sample_id": f"k{right}", "rollout": each, "acc": int(each < right), **fields}
        for right in (4, 2, 0, 8, 1, 3)
        for each in range(n)
    ]
    return write_rows(path, *rows, {"sample_id": "u", "rollout": 0, "acc": None, **fields})


def test_each_sample_with_further_rollouts_is_a_row(run, tmp_path):
    path, out = rollouts(tmp_path / "r.jsonl", source="web"), tmp_path / "more.jsonl"
    result = run("pool", "allocate", path, "--method", "dars", "--out", out)
    assert result.code == 0
    assert read_rows(out) == [
        {"sample_id": "k0", "n": 24}, {"sample_id": "k1", "n": 11}, {"sample_id": "k2", "n": 3},
        {"sample_id": "k3", "n": 1},
    ]  # fmt: skip
    lines = [line.split() for line in result.out.splitlines()]
    for line in ("0 of 8 1 24", "3 of 8 1 1", "8 of 8 1 0", "not scored 1 0", "all 7 39", "web 7 39"):
        assert line.split() in lines
    assert f"39 rollouts of 4 of 7 samples written to {out}" in result.err


def test_the_manifest_has_method_inputs_and_counts(run, tmp_path):
    path, out = rollouts(tmp_path / "r.jsonl", kind="icon"), tmp_path / "more.parquet"
    spec = json.dumps({"name": "dars", "form": "hardness"})
    printed = json.loads(run("pool", "allocate", path, "--method", spec, "--by", "kind", "--out", out, "--json").out)
    manifest = json.loads((tmp_path / "more.parquet.manifest.json").read_text())
    assert {**manifest, "out": str(out), "manifest": f"{out}.manifest.json", "warnings": []} == printed
    assert manifest["method"] == {"name": "dars", "form": "hardness", "std": False, "rollouts": None, "most": None}
    assert (manifest["samples"], manifest["allocated"], manifest["n"], manifest["budget"]) == (7, 4, 91, None)
    assert manifest["by_num_correct"][:2] == [
        {"num_correct": 0, "scored": 8, "samples": 1, "n": 56}, {"num_correct": 1, "scored": 8, "samples": 1, "n": 24},
    ]  # fmt: skip
    assert manifest["by_num_correct"][-1] == {"num_correct": 0, "scored": 0, "samples": 1, "n": 0}
    assert (manifest["by"], manifest["by_source"]) == ("kind", [{"source": "icon", "samples": 7, "n": 91}])
    assert [(each["role"], each["path"]) for each in manifest["inputs"]] == [("rollouts", str(path))]
    assert manifest["outputs"] == [
        {"path": "more.parquet", "rows": 4, "sha256": hashlib.sha256(out.read_bytes()).hexdigest()}
    ]
    assert pq.read_table(out).to_pydict() == {"sample_id": ["k0", "k1", "k2", "k3"], "n": [56, 24, 8, 3]}


def test_the_order_of_rows_changes_nothing_and_there_is_no_clock(run, tmp_path):
    path, out = rollouts(tmp_path / "r.jsonl"), tmp_path / "more.jsonl"
    words = ("pool", "allocate", path, "--method", json.dumps(XRPO), "--out", out)
    run(*words)
    first = out.read_bytes(), (tmp_path / "more.jsonl.manifest.json").read_bytes()
    run(*words)
    assert (out.read_bytes(), (tmp_path / "more.jsonl.manifest.json").read_bytes()) == first
    path.write_text("".join(sorted(path.read_text().splitlines(keepends=True), reverse=True)))
    run(*words)
    assert out.read_bytes() == first[0]
    assert sum(row["n"] for row in read_rows(out)) == 5
    assert read_rows(out)[-1] == {"sample_id": "u", "n": 4}  # 2 before all others, and 2 by exploration


def test_statistics_give_the_same(run, tmp_path):
    path, stats, out = rollouts(tmp_path / "r.jsonl"), tmp_path / "stats.parquet", tmp_path / "more.jsonl"
    run("pool", "stats", path, "--out", stats)
    run("pool", "allocate", path, "--method", "dars", "--out", out)
    expected = out.read_bytes()
    run("pool", "allocate", stats, "--method", "dars", "--out", out)
    assert out.read_bytes() == expected
    manifest = json.loads((tmp_path / "more.jsonl.manifest.json").read_text())
    assert (manifest["inputs"][0]["role"], manifest["rounds"]) == ("statistics", None)
    for option in (("--round", 1), ("--by", "kind")):
        message = run.error("pool", "allocate", stats, *option, "--method", "dars", "--out", out)
        assert f"holds statistics of samples, which do not go with {option[0]}; give rollouts" in message


def test_a_budget_is_met_exactly(run, tmp_path):
    path, out = rollouts(tmp_path / "r.jsonl"), tmp_path / "more.jsonl"
    run("pool", "allocate", path, "--method", "dars", "--budget", 100, "--out", out)
    # 24, 11, 3 and 1 of 39: 61.5, 28.2, 7.7 and 2.6
    assert [row["n"] for row in read_rows(out)] == [61, 28, 8, 3]
    cut = json.dumps({"name": "dart", "cut": 4})
    run("pool", "allocate", path, "--method", cut, "--budget", 52, "--out", out)
    assert [(row["sample_id"], row["n"]) for row in read_rows(out)] == [
        ("k0", 8), ("k1", 8), ("k2", 8), ("k3", 8), ("k4", 8), ("k8", 4), ("u", 8),
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_where_no_sample_needs_more_the_file_is_empty(run, tmp_path, suffix):
    path, out = write_rows(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1}), tmp_path / f"more.{suffix}"
    result = run("pool", "allocate", path, "--method", "dars", "--out", out)
    assert (result.code, result.err) == (0, f"0 rollouts of 0 of 1 samples written to {out}\n")
    rows = pq.read_table(out).to_pylist() if suffix == "parquet" else read_rows(out)
    assert rows == []
    assert json.loads((tmp_path / f"more.{suffix}.manifest.json").read_text())["outputs"][0]["rows"] == 0


def test_one_round_counts_alone(run, tmp_path):
    rows = [{"sample_id": "a", "acc": 0, "round": number, "rollout": each} for number in (0, 1) for each in range(4)]
    path, out = write_rows(tmp_path / "r.jsonl", *rows), tmp_path / "more.jsonl"
    result = run("pool", "allocate", path, "--method", "dars", "--out", out)
    assert "rollouts of rounds 0, 1 count together; --round N chooses one" in result.err
    assert read_rows(out) == [{"sample_id": "a", "n": 24}]
    run("pool", "allocate", path, "--round", 1, "--method", "dars", "--out", out)
    assert read_rows(out) == [{"sample_id": "a", "n": 6}]  # 64 / 7 - 4


def test_long_tables_end(run, tmp_path):
    rows = [
        {"sample_id": f"s{n:02}", "rollout": each, "acc": int(each == 0)} for n in range(1, 31) for each in range(n)
    ]
    result = run(
        "pool", "allocate", write_rows(tmp_path / "r.jsonl", *rows), "--method", "dars", "--out", tmp_path / "m.jsonl"
    )
    assert "10 further numbers are in the manifest." in result.out
    assert result.out.index("1 of 30") < result.out.index("1 of 29")


def test_a_column_that_nobody_has_is_a_warning(run, tmp_path):
    path, out = rollouts(tmp_path / "r.jsonl", kind=None), tmp_path / "more.jsonl"
    result = run("pool", "allocate", path, "--method", "dars", "--by", "kind", "--out", out)
    assert "warning: --by: no rollout has a value in the column kind" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "drs"), "--method: unknown allocation 'drs'; did you mean 'dars'? There are: dars, dart, xrpo"),
        (("--method", "{"), "--method: got '{'; expected a name, or JSON such as"),
        (("--method", "dart"), "--method: dart: needs cut; it takes: cut, rollouts, above"),
        (("--method", "dars", "--budget", 0), "--budget: got 0; expected a whole number from 1"),
        (("--method", "dars", "--round", 7), "no rollouts of round 7; rounds that are there: none"),
        (("--method", "dars", "--by", "kind"), "no column 'kind'"),
        (
            ("--method", json.dumps({**XRPO, "of": "total"})),
            "sample 'k0': its rollouts have no total; expected one in each, or of='acc'",
        ),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(run, tmp_path, words, message):
    path = rollouts(tmp_path / "r.jsonl", round=None)
    assert message in run.error("pool", "allocate", path, *words, "--out", tmp_path / "more.jsonl")
    assert names(tmp_path) == ["r.jsonl"]


def test_outputs_replace_no_input(run, tmp_path):
    path, out = rollouts(tmp_path / "r.jsonl"), tmp_path / "more.jsonl"
    manifest = tmp_path / "more.jsonl.manifest.json"
    manifest.write_text(json.dumps([{"sample_id": "a", "acc": 0}]))
    before = path.read_bytes(), manifest.read_bytes()
    for words, message in (
        ((path, "--out", path), "is the input itself"),
        ((manifest, "--out", out), "is the input itself"),
        ((path, "--out", tmp_path / "more.csv"), "a file of rows ends in"),
        ((path, "--out", tmp_path / "none" / "more.jsonl"), "there is no directory"),
    ):
        assert message in run.error("pool", "allocate", *words, "--method", "dars")
    assert (path.read_bytes(), manifest.read_bytes()) == before
    assert not out.exists()


def test_a_budget_that_nobody_can_use(run, tmp_path):
    path = write_rows(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1})
    words = ("--method", "dars", "--budget", 3, "--out", tmp_path / "more.jsonl")
    assert "--budget: got 3, and the method gives no sample any rollout" in run.error("pool", "allocate", path, *words)
    assert names(tmp_path) == ["r.jsonl"]


def test_rollouts_of_suspects_are_a_note(run, tmp_path):
    """Four clicks on one place, none of them right: a wrong label looks like this."""
    clicks = {"x_unit": 0.5, "y_unit": 0.5, "image_size": [100, 100]}
    path = rollouts(tmp_path / "r.jsonl", **clicks)
    result = run("pool", "allocate", path, "--method", "dars", "--out", tmp_path / "more.jsonl")
    assert (
        "note: 24 of 39 rollouts go to never-solved samples whose clicks agree on another place than the target (1)"
        in (" ".join(result.err.split()))
    )
