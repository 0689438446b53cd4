"""``grounding-rewards pool next``: the pool, its files and its manifest, and every mistake one line."""

from __future__ import annotations

import hashlib
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import names, read_rows, write_rows


def rollouts(*kinds, n=8, **columns):
    """Rows of (name, how many samples, right rollouts of n)."""
    return [
        {"sample_id": f"{name}{sample}", "rollout": rollout, "acc": int(rollout < right), "source": name, **columns}
        for name, samples, right in kinds
        for sample in range(samples)
        for rollout in range(n)
    ]


GELATO = rollouts(("easy", 8, 8), ("part", 12, 3), ("zero", 30, 0))
IDS = list(dict.fromkeys(row["sample_id"] for row in GELATO))


@pytest.fixture
def source(tmp_path):
    return write_rows(tmp_path / "rollouts.jsonl", *GELATO)


def manifest_of(out):
    return json.loads(out.with_name(f"{out.name}.manifest.json").read_text())


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_names_and_statistics_of_the_published_step(run, source, tmp_path):  # pool.md, example 1
    out = tmp_path / "pool.parquet"
    result = run("pool", "next", source, "--out", out, "--zero-share", "0.2", "--seed", 7)
    assert (result.code, result.out) == (0, "")
    assert result.err == (
        f"15 of 50 samples written to {out}\n"
        "  kept      12 sometimes solved, 3 never solved (20.0 %)\n"
        "  left out  8 always solved, 27 never solved (over quota)\n"
        "  files     pool.parquet, pool.easy.parquet, pool.parquet.manifest.json\n"
    )
    rows = pq.read_table(out).to_pylist()
    assert [row["sample_id"] for row in rows if row["num_correct"]] == sorted(f"part{row}" for row in range(12))
    assert sum(row["num_correct"] == 0 for row in rows) == 3
    assert {row["n"] for row in rows} == {8}
    assert pq.read_table(tmp_path / "pool.easy.parquet")["num_correct"].to_pylist() == [8] * 8
    assert names(tmp_path) == ["pool.easy.parquet", "pool.parquet", "pool.parquet.manifest.json", "rollouts.jsonl"]


def test_the_manifest(run, source, tmp_path):
    out = tmp_path / "pool.jsonl"
    result = run("pool", "next", source, "--out", out, "--seed", 7, "--json", "--control")
    said = manifest_of(out)
    shown = json.loads(result.out)
    assert (shown.pop("out"), shown.pop("manifest")) == (str(out), f"{out}.manifest.json")
    assert shown.pop("warnings") == []
    assert shown == said
    assert list(said) == sorted(said)
    counts = {name: said[name] for name in ("samples", "rollouts", "kept", "zero", "positive", "dropped_all_correct")}
    assert list(counts.values()) == [50, 400, 15, 3, 12, 8]
    assert (said["shortfall"], said["seed"], said["zero_share"], said["zero_share_actual"]) == (0, 7, 0.2, 0.2)
    assert said["inputs"] == [
        {
            "role": "rollouts", "path": str(source), "files": 1, "bytes": source.stat().st_size,
            "sha256": digest(source),
        }
    ]  # fmt: skip
    assert [(each["path"], each["rows"]) for each in said["outputs"]] == [
        ("pool.jsonl", 15),
        ("pool.easy.jsonl", 8),
        ("pool.control.jsonl", 15),
    ]
    assert all(each["sha256"] == digest(tmp_path / each["path"]) for each in said["outputs"])
    assert (said["join"], said["rounds"], said["temperatures"]) == (None, [None], [None])
    assert [(step["name"], step["removed"]) for step in said["steps"]] == [
        ("unscored", 0),
        ("all_correct", 8),
        ("suspects", 0),
        ("zero_share", 27),
    ]
    assert said["steps"][1]["per_source"] == {"easy": [8, 0], "part": [12, 12], "zero": [30, 30]}


def test_the_same_command_gives_the_same_bytes_and_the_order_of_rows_changes_no_sample(run, source, tmp_path):
    out = tmp_path / "pool.parquet"
    command = ("pool", "next", source, "--out", out, "--seed", 7, "--control", "--limit", 10)
    assert run(*command).code == 0
    files = ("pool.parquet", "pool.easy.parquet", "pool.control.parquet", "pool.parquet.manifest.json")
    before = [(tmp_path / name).read_bytes() for name in files]
    assert run(*command).code == 0
    assert [(tmp_path / name).read_bytes() for name in files] == before
    shuffled = list(GELATO)
    random.Random(1).shuffle(shuffled)
    write_rows(source, *shuffled)
    assert run(*command).code == 0
    assert [(tmp_path / name).read_bytes() for name in files[:3]] == before[:3]


def test_rows_with_nothing_but_a_sample_and_whether_it_was_right(run, tmp_path):
    bare = [{"sample_id": row["sample_id"], "correct": bool(row["acc"])} for row in GELATO]
    source = write_rows(tmp_path / "bare.jsonl", *bare, {"sample_id": "new", "correct": None})
    out = tmp_path / "pool.jsonl"
    assert run("pool", "next", source, "--out", out, "--seed", 7).code == 0
    assert [manifest_of(out)[name] for name in ("samples", "rollouts", "kept", "zero")] == [51, 401, 15, 3]


def test_a_quota_that_cannot_be_met_is_reported_and_nothing_is_taken_twice(run, tmp_path):  # pool.md, example 1
    source = write_rows(tmp_path / "rollouts.jsonl", *rollouts(("part", 80, 3), ("zero", 5, 0), n=4))
    out = tmp_path / "pool.jsonl"
    result = run("pool", "next", source, "--out", out)
    assert "note: 20 never-solved samples would make 20.0 % of the pool, and 5 are left: 15 are missing" in result.err
    assert "none is taken twice; --zero-share 0 asks for none\n" in result.err
    assert [row["sample_id"] for row in read_rows(out)] == sorted(
        [*(f"part{row}" for row in range(80)), *(f"zero{row}" for row in range(5))]
    )
    assert manifest_of(out)["shortfall"] == 15


WHICH = "never-solved ones left out"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ["--band", "0,0.9"],
            "30 outside the band 0 to 0.9; --confident keeps those whose 95 % interval reaches into the band; ",
        ),
        (["--band", "0.35,0.9", "--confident"], "30 outside the band 0.35 to 0.9; "),
        (["--selector", "learnability"], "30 by selector learnability; "),
    ],
)
def test_who_left_out_the_never_solved_samples_that_are_missing(run, source, tmp_path, options, reason):
    result = run("pool", "next", source, "--out", tmp_path / "pool.jsonl", *options)
    assert (
        f"and 0 are left: 3 are missing, and none is taken twice; {WHICH}: {reason}--zero-share 0 asks for"
        in result.err
    )
    assert "note" not in run("pool", "next", source, "--out", tmp_path / "pool.jsonl", *options, "--zero-share", 0).err


def test_rounds_and_temperatures_count_together_unless_one_is_chosen(run, tmp_path):
    first = rollouts(("a", 4, 3), ("b", 1, 8), round=1, temperature=1.1)
    second = rollouts(("a", 4, 8), ("b", 1, 2), round=2, temperature=1.7)
    source, out = write_rows(tmp_path / "rollouts.jsonl", *first, *second), tmp_path / "pool.jsonl"
    result = run("pool", "next", source, "--out", out)
    assert "note: rollouts of rounds 1, 2 count together; --round N chooses one\n" in result.err
    assert "note: rollouts at temperatures 1.1, 1.7 count together" in result.err
    assert (manifest_of(out)["kept"], manifest_of(out)["rounds"]) == (5, [1, 2])
    result = run("pool", "next", source, "--out", out, "--round", 2)
    assert "together" not in result.err
    assert [row["sample_id"] for row in read_rows(out)] == ["b0"]
    assert (manifest_of(out)["rounds"], manifest_of(out)["temperatures"]) == ([2], [1.7])
    assert "no rollouts of round 3; rounds that are there: 1, 2" in run.error(
        "pool", "next", source, "--out", out, "--round", 3
    )


def test_a_pool_of_fewer_than_a_tenth_says_what_left_out_most(run, source, tmp_path):
    words = ("pool", "next", source, "--out", tmp_path / "pool.jsonl", "--zero-share", 0)
    narrow = json.dumps({"name": "moving_target", "batch": 4, "target": 50})
    assert run(*words, "--selector", narrow).err.splitlines()[0] == (
        "warning: the pool has 4 of 50 samples (8.0 %); most are left out in one step: 38 by selector moving_target"
    )
    enough = json.dumps({"name": "moving_target", "batch": 5, "target": 50})
    assert "warning" not in run(*words, "--selector", enough).err
    assert "warning" not in run(*words, "--limit", 4).err  # as asked


def test_filters_and_selectors(run, source, tmp_path):
    out = tmp_path / "pool.jsonl"
    weak = write_rows(tmp_path / "weak.jsonl", *({"sample_id": each, "acc": each == "part0"} for each in IDS))
    strong = write_rows(tmp_path / "strong.jsonl", *({"sample_id": each, "acc": each != "part1"} for each in IDS))
    selector = '{"name": "min_rollouts", "n": 8}'
    result = run(
        "pool", "next", source, "--out", out, "--two-model", f"{weak},{strong}", "--exclude-source", "easy",
        "--band", "0.2,0.9", "--confident", "--selector", selector, "--selector", "unsolved", "--json",
    )  # fmt: skip
    said = json.loads(result.out)
    assert [(step["name"], step["removed"]) for step in said["steps"] if step["removed"]] == [
        ("exclude_source", 8),
        ("easy_for_weak", 1),
        ("missed_by_strong", 1),
        ("zero_share", 27),
    ]
    assert (said["positive"], said["zero"]) == (10, 3)
    assert [each["role"] for each in said["inputs"]] == ["rollouts", "weak", "strong"]
    assert said["selectors"] == [{"name": "min_rollouts", "n": 8}, "unsolved"]
    assert said["settings"]["band"] == [0.2, 0.9]
    assert run("pool", "stats", weak, "--out", tmp_path / "weak.parquet").code == 0
    again = ("pool", "next", source, "--out", out, "--two-model", f"{tmp_path / 'weak.parquet'},{strong}", "--json")
    assert json.loads(run(*again).out)["positive"] == 10


def test_own_selectors_are_recorded_as_they_are_named_with_what_their_file_holds(run, source, tmp_path, monkeypatch):
    own = tmp_path / "own.py"
    own.write_text("def more(stats):\n    return stats.num_correct + 1.0\n")
    monkeypatch.chdir(tmp_path)
    named = {"name": "own.py:more", "low": 0, "high": 9}
    options = ("--selector", json.dumps(named), "--selector", json.dumps({"name": "every", "selectors": [named]}))
    assert run("pool", "next", "rollouts.jsonl", "--out", "pool.jsonl", *options).code == 0
    said = manifest_of(tmp_path / "pool.jsonl")
    assert [each["role"] for each in said["inputs"]] == ["rollouts", "selector"]
    assert said["inputs"][1]["path"] == "own.py"
    assert said["inputs"][1]["sha256"] == digest(own)
    assert said["steps"][3]["name"] == "own.py:more"
    assert said["steps"][3]["params"] == {"selector": named}
    assert str(tmp_path) not in json.dumps(said)


def data_rows():
    order = list(reversed(IDS))
    return [{"prompt": f"Click {each}", "target": json.dumps({"bbox": [0, 0, 9, 9], "id": each})} for each in order]


def test_the_rows_of_data_in_their_order_with_all_columns(run, source, tmp_path):
    data = tmp_path / "train.parquet"
    table = pa.Table.from_pylist(data_rows()).replace_schema_metadata({b"own": b"kept"})
    pq.write_table(table, data)
    out = tmp_path / "pool.parquet"
    result = run("pool", "next", source, "--out", out, "--seed", 7, "--data", data, "--control")
    assert result.code == 0
    assert "note" not in result.err
    found = pq.read_table(out)
    assert found.schema.equals(table.schema, check_metadata=True)
    chosen = [json.loads(row["target"])["id"] for row in found.to_pylist()]
    assert chosen == [each for each in reversed(IDS) if each in chosen]
    run("pool", "next", source, "--out", tmp_path / "ids.jsonl", "--seed", 7)
    assert sorted(chosen) == [row["sample_id"] for row in read_rows(tmp_path / "ids.jsonl")]
    assert pq.read_table(tmp_path / "pool.easy.parquet").num_rows == 8
    assert pq.read_table(tmp_path / "pool.control.parquet").num_rows == 15
    said = manifest_of(out)
    assert said["join"] == {"both": 50, "data_only": 0, "rollouts_only": 0, "rows_without_name": 0}
    assert said["inputs"][1] == {
        "role": "data", "path": str(data), "files": 1, "bytes": data.stat().st_size, "sha256": digest(data),
    }  # fmt: skip


@pytest.mark.parametrize("trainer", ["verl", "easyr1", "trl"])
def test_what_convert_made_is_joined_by_the_names_it_packed(run, source, tmp_path, trainer):
    rows = [{"instruction": f"Click {each}", "bbox": [0, 0, 9, 9], "id": each, "source": "web"} for each in IDS]
    given = write_rows(tmp_path / "in.jsonl", *rows)
    data, out = tmp_path / "train.parquet", tmp_path / "pool.parquet"
    assert run("convert", given, "--out", data, "--for", trainer, "--target-space", "pixel").code == 0
    assert run("pool", "next", source, "--out", out, "--data", data).code == 0
    assert manifest_of(out)["join"]["both"] == 50
    assert pq.read_table(out).num_rows == 15
    assert pq.read_schema(out).equals(pq.read_schema(data), check_metadata=True)


def test_a_partial_join_is_reported_and_the_mix_is_that_of_what_is_there(run, source, tmp_path):
    there = [{"sample_id": each} for each in IDS if each not in ("part0", "part1")]
    data = write_rows(tmp_path / "train.jsonl", *there, {"sample_id": "more"}, {"prompt": "nameless"})
    out = tmp_path / "pool.jsonl"
    result = run("pool", "next", source, "--out", out, "--data", data)
    assert (
        "note: 48 samples are in the rollouts and in the data; left out: 2 in the rollouts alone, 1 in the data alone, "
        "1 rows without a name\n"
    ) in result.err
    said = manifest_of(out)
    assert (said["positive"], said["zero"], len(read_rows(out))) == (10, 3, 13)
    assert said["join"] == {"both": 48, "data_only": 1, "rollouts_only": 2, "rows_without_name": 1}
    assert said["steps"][0]["name"] == "not_in_data"


def test_datasets_loads_the_pool_with_its_images(run, tmp_path):
    datasets = pytest.importorskip("datasets")
    image = pytest.importorskip("PIL.Image")
    source = write_rows(tmp_path / "rollouts.jsonl", *rollouts(("part", 4, 3), ("easy", 2, 8)))
    ids = [f"part{row}" for row in range(4)] + ["easy0", "easy1"]
    features = datasets.Features({"sample_id": datasets.Value("string"), "image": datasets.Image()})
    images = [image.new("RGB", (row + 1, 2)) for row in range(6)]
    whole = datasets.Dataset.from_dict({"sample_id": ids, "image": images}, features=features)
    whole.to_parquet(tmp_path / "train.parquet")
    whole.save_to_disk(tmp_path / "saved")
    for data in ("train.parquet", "saved"):
        out = tmp_path / "pool.parquet"
        assert run("pool", "next", source, "--out", out, "--data", tmp_path / data).code == 0
        loaded = datasets.load_dataset(
            "parquet", data_files=str(out), split="train", cache_dir=str(tmp_path / f"cache-{data}")
        )
        assert loaded.features == features
        assert [row["image"].size for row in loaded] == [(1, 2), (2, 2), (3, 2), (4, 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--zero-share", "1"], "--zero-share: got 1; a pool of never-solved samples alone"),
        (["--band", "0.9,0.95"], "no sample left to train on: 50 samples; left out: 8 always solved, 42 out"),
        (["--band", "0.2"], "--band: got '0.2'; expected LO,HI, two pass rates from 0 to 1, such"),
        (["--band", "0.9,0.1"], "--band: got '0.9,0.1'; expected LO,HI, two pass rates from 0 to 1"),
        (["--confident"], "--confident says how --band is read; name it by --band"),
        (["--two-model", "weak.jsonl"], "--two-model: got 'weak.jsonl'; expected WEAK,STRONG, two paths"),
        (["--two-model", "none.jsonl,more.jsonl"], "--two-model: none.jsonl: no such file"),
        (["--exclude-source", "essy"], "--exclude-source: no sample is from 'essy'; did you mean 'easy'? There"),
        (["--selector", "lernability"], "--selector: unknown selector 'lernability'; did you mean 'learnability'?"),
        (["--selector", "{nonsense"], "--selector: got '{nonsense'; expected a name, or JSON"),
        (["--selector", '{"name": "every", "selectors": [{"name": "spread", "k": NaN}]}'], "; selectors.0.k: expected"),
        (["--selector", '{"name": "a.py:b", "k": ' + "[" * 600 + "]" * 600 + "}"], "--selector: is nested too deep"),
        (["--min-rollouts", "0"], "--min-rollouts: got 0; expected a whole number from 1"),
        (["--id-column", "id"], "--id-column says how --data is read; name it by --data"),
        (["--split", "train"], "--split says how --data is read; name it by --data"),
        (["--round", "3"], "no column 'round'. It has: sample_id, rollout, acc, source"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_leave_the_old_pool(run, source, tmp_path, options, message):
    out = tmp_path / "pool.jsonl"
    out.write_text("old")
    assert message in run.error("pool", "next", source, "--out", out, *options)
    assert out.read_text() == "old"
    assert names(tmp_path) == ["pool.jsonl", "rollouts.jsonl"]


@pytest.mark.parametrize("options", [["--seed", -1], ["--selector", "lernability"], ["--band", "1,0"], ["--limit", 0]])
def test_options_are_checked_before_anything_is_read(run, tmp_path, options):
    message = run.error("pool", "next", tmp_path / "none.jsonl", "--out", tmp_path / "pool.jsonl", *options)
    assert message.startswith(f"{options[0]}: ")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "x"}, {"id": "y"}], "none of its samples is among those of the rollouts: its names are such as 'x',"),
        ([{"id": "part0"}, {"id": "part0"}], "row 1 (line 2): sample 'part0' is in row 0 already; expected one row a"),
        ([{"prompt": "x"}], "train.jsonl: no row says which sample it is (looked into sample_id"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_joined_is_an_error(run, source, tmp_path, rows, message):
    data = write_rows(tmp_path / "train.jsonl", *rows)
    assert message in run.error("pool", "next", source, "--out", tmp_path / "pool.jsonl", "--data", data)
    assert names(tmp_path) == ["rollouts.jsonl", "train.jsonl"]


def test_no_positive_sample_and_a_twice_recorded_rollout(run, tmp_path):
    source = write_rows(tmp_path / "rollouts.jsonl", *rollouts(("zero", 3, 0)))
    message = run.error("pool", "next", source, "--out", tmp_path / "pool.jsonl")
    assert "3 never-solved samples and no positive one left to train on: 3 samples." in message
    twice = rollouts(("part", 2, 3))
    write_rows(source, *twice, twice[3])
    assert "sample 'part0', rollout 3 is there 2 times" in run.error(
        "pool", "next", source, "--out", tmp_path / "pool.jsonl"
    )


def test_help_has_an_example(run):
    assert "Example: grounding-rewards pool next rollouts/" in " ".join(run("pool", "next", "--help").out.split())
