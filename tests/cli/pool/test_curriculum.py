"""``grounding-rewards pool curriculum``: what it writes, what it checks, and what it says of mistakes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import Runner, names, read_rows, write_rows

EXAMPLE = Path(__file__).parents[3] / "examples" / "curriculum.json"
RATES = {"easy": 10, "medium": 7, "hard": 4}
FILES = [
    "curriculum.manifest.json", "outside.parquet", "stage-1-easy.parquet", "stage-2-easy-medium.parquet",
    "stage-3-medium-hard.parquet", "stage-4-hard.parquet",
]  # fmt: skip


def rollouts(path: Path, rates: dict[str, int] = RATES, samples: int = 24, n: int = 10) -> Path:
    """Samples s00, s01, ... of easy, medium, hard by turns; the last is right once, so that it is in no band."""
    rows = []
    for place in range(samples):
        band = list(rates)[place % 3]
        right = 1 if place == samples - 1 else rates[band]
        about = {"sample_id": f"s{place:02d}", "difficulty": band, "source": "web" if place % 2 else "app"}
        rows += [{**about, "rollout": each, "acc": int(each < right)} for each in range(n)]
    return write_rows(path, *rows)


@pytest.fixture
def stats(tmp_path: Path) -> Path:
    return rollouts(tmp_path / "rollouts.jsonl")


def stages_file(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps({**json.loads(EXAMPLE.read_text()), **changes}))
    return path


def test_stages_and_their_manifest(run: Runner, tmp_path: Path, stats: Path) -> None:
    out = tmp_path / "stages"
    result = run("pool", "curriculum", stats, "--stages", EXAMPLE, "--out", out, "--seed", 7)
    assert result.code == 0
    assert "easy 8, medium 8" in result.out
    assert result.err == f"note: samples in no band, with pass rates between bands: 1\n4 stages written to {out}\n"
    assert names(out) == FILES
    manifest = json.loads((out / FILES[0]).read_text())
    assert manifest["samples"] == {"easy": 8, "medium": 8, "hard": 7, "between": 1, "unmeasured": 0}
    assert {key: manifest["gate"][key] for key in ("success_above", "failure_below", "last_k")} == {
        "success_above": 0.7, "failure_below": 0.3, "last_k": 512,
    }  # fmt: skip
    stages = [(each["file"], each["rows"], each["epochs"], each["up"], each["down"]) for each in manifest["stages"]]
    assert stages == [
        (FILES[2], 8, 2, 2, None), (FILES[3], 16, 2, 3, 1), (FILES[4], 15, 2, 4, 2), (FILES[5], 7, 2, None, 3),
    ]  # fmt: skip
    assert [each["next_file"] for each in manifest["stages"]] == [*FILES[3:], None]
    for each in [*manifest["stages"], manifest["outside"]]:
        assert hashlib.sha256((out / each["file"]).read_bytes()).hexdigest() == each["sha256"]
    second = pq.read_table(out / FILES[3])
    assert set(second["band"].to_pylist()) == {"easy", "medium"}
    assert pq.read_table(out / FILES[1]).select(["sample_id", "num_correct", "band"]).to_pylist() == [
        {"sample_id": "s23", "num_correct": 1, "band": None}
    ]


def test_the_same_command_gives_the_same_bytes_whatever_the_order_of_rows(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = stages_file(tmp_path / "plan.json", stages=[{"name": "s", "bands": {"easy": 1, "hard": 2}, "size": 9}])
    found = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        rows = read_rows(rollouts(Path("rollouts.jsonl")))
        write_rows(Path("rollouts.jsonl"), *(rows if folder == "a" else rows[::-1]))
        assert run("pool", "curriculum", "rollouts.jsonl", "--stages", plan, "--out", "out", "--seed", 3).code == 0
        found.append({path.name: path.read_bytes() for path in Path("out").iterdir()})
    manifests = [json.loads(each.pop("curriculum.manifest.json")) for each in found]
    assert found[0] == found[1]
    hashes = [manifest.pop("inputs")[0]["sha256"] for manifest in manifests]
    assert manifests[0] == manifests[1]
    assert hashes[0] != hashes[1]
    (stage,) = manifests[0]["stages"]
    assert [(each["band"], each["asked"], each["shortfall"]) for each in stage["bands"]] == [
        ("easy", 3, 0), ("hard", 6, 0),
    ]  # fmt: skip


def test_training_rows_are_joined_and_stay_as_they_are(run: Runner, tmp_path: Path, stats: Path) -> None:
    rows = [{"prompt": f"click {place}", "id": f"s{place:02d}", "image": {"bytes": b"\x89PNG"}} for place in range(30)]
    features = json.dumps({"info": {"features": {"image": {"_type": "Image"}}}})
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"huggingface": features})
    pq.write_table(table, tmp_path / "train.parquet")
    words = ["pool", "curriculum", stats, "--stages", EXAMPLE, "--out", tmp_path / "out", "--json"]
    manifest = json.loads(run(*words, "--data", tmp_path / "train.parquet").out)
    assert manifest["join"] == {"both": 24, "data_only": 6, "rollouts_only": 0, "rows_without_name": 0}
    easy = pq.read_table(tmp_path / "out" / "stage-1-easy.parquet")
    assert easy.schema.equals(table.schema, check_metadata=True)
    assert easy["id"].to_pylist() == [f"s{place:02d}" for place in range(0, 24, 3)]
    # Rows of JSON stay JSON, and an older curriculum makes room.
    lines = write_rows(tmp_path / "train.jsonl", *[{"key": row["id"], "prompt": row["prompt"]} for row in rows])
    assert run(*words, "--data", lines, "--id-column", "key").code == 0
    assert names(tmp_path / "out") == [name.replace(".parquet", ".jsonl") for name in FILES]
    assert read_rows(tmp_path / "out" / "outside.jsonl") == [{"key": "s23", "prompt": "click 23"}]
    others = write_rows(tmp_path / "others.jsonl", {"id": "x", "prompt": "click"})
    assert "none of its samples is among those of the rollouts" in run.error(*words, "--data", others)
    assert len(names(tmp_path / "out")) == len(FILES)


def test_weights_in_place_of_data_sets(run: Runner, tmp_path: Path, stats: Path) -> None:
    out = tmp_path / "weights"
    assert run("pool", "curriculum", stats, "--stages", EXAMPLE, "--out", out, "--weights").code == 0
    assert names(out) == ["curriculum.manifest.json", "weights.parquet"]
    found = pq.read_table(out / "weights.parquet").to_pylist()
    assert found[0] == {"sample_id": "s00", "stage": "easy", "weight": 0.125}
    assert len(found) == 8 + 16 + 15 + 7
    assert json.loads((out / FILES[0]).read_text())["weights"]["rows"] == 46


def test_rounds_are_chosen(run: Runner, tmp_path: Path) -> None:
    rows = [
        {"sample_id": name, "round": number, "rollout": each, "acc": int((name == "a") == (number == 2)), "band": band}
        for name, band in {"a": "easy", "b": "hard"}.items()
        for number in (1, 2)
        for each in range(20)
    ]
    stats = write_rows(tmp_path / "rollouts.jsonl", *rows)
    stages = [{"name": "easy", "bands": ["easy"]}, {"name": "hard", "bands": ["hard"]}]
    plan = stages_file(tmp_path / "plan.json", bands={"easy": [0.9, 1], "hard": [0, 0.1]}, stages=stages)
    words = ["pool", "curriculum", stats, "--stages", plan, "--validate", "--out", tmp_path / "out"]
    assert "easy and hard are equal" in run(*words).err
    assert "easy and hard are inverted" in run(*words, "--round", 1).err
    assert names(tmp_path) == ["plan.json", "rollouts.jsonl"]
    assert run(*words, "--round", 2).code == 0
    assert json.loads((tmp_path / "out" / FILES[0]).read_text())["rounds"] == [2]
    assert pq.read_table(tmp_path / "out" / "stage-1-easy.parquet")["sample_id"].to_pylist() == ["a"]
    assert run("pool", "stats", stats, "--out", tmp_path / "stats.parquet").code == 0
    words[2] = tmp_path / "stats.parquet"
    assert "cannot be parted by round; give rollouts" in run.error(*words, "--round", 2)


def test_a_check_says_what_was_not_measured(run: Runner, tmp_path: Path) -> None:
    # Of one type there are easy samples alone, and none of medium.
    rows = [
        {"sample_id": f"{band}{source}{each}", "acc": int(band == "easy"), "band": band, "source": source}
        for band, source in [("easy", "web"), ("hard", "web"), ("easy", "app")]
        for each in range(40)
    ]
    stats = write_rows(tmp_path / "rollouts.jsonl", *rows)
    plan = stages_file(tmp_path / "plan.json", stages=[{"name": "s", "bands": ["easy", "hard"]}])
    result = run("pool", "curriculum", stats, "--stages", plan, "--validate")
    assert result.code == 0
    assert result.err == (
        "note: all types: no scored rollouts of medium\n"
        "note: type 'app': no scored rollouts of medium, hard; so there is nothing to compare\n"
        "note: type 'web': no scored rollouts of medium\n"
    )
    failed = run("pool", "curriculum", stats, "--stages", EXAMPLE, "--validate")
    assert failed.code == 2
    assert "all types: medium has no scored rollouts" in failed.err


def test_stages_from_toml(run: Runner, tmp_path: Path, stats: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[bands]\neasy = [0.9, 1]\n[[stages]]\nname = "first: easy"\nbands = ["easy"]\n')
    assert run("pool", "curriculum", stats, "--stages", plan, "--out", tmp_path / "out").code == 0
    assert "stage-1-first-easy.parquet" in names(tmp_path / "out")


def test_bands_that_are_what_they_are_called_pass(run: Runner, tmp_path: Path) -> None:
    stats = rollouts(tmp_path / "rollouts.jsonl", samples=90)
    found = json.loads(run("pool", "curriculum", stats, "--stages", EXAMPLE, "--validate", "--json").out)
    assert found["passed"]
    assert [(band["correct"], band["n"], band["inside"]) for band in found["overall"]["bands"]] == [
        (300, 300, True), (210, 300, True), (117, 300, True),
    ]  # fmt: skip
    assert set(found["types"]) == {"web", "app"}
    assert names(tmp_path) == ["rollouts.jsonl"]
    out = tmp_path / "out"
    assert run("pool", "curriculum", stats, "--stages", EXAMPLE, "--validate", "--out", out).code == 0
    assert json.loads((out / FILES[0]).read_text())["validation"]["passed"]


def test_an_inverted_gradient_fails_and_nothing_is_written(run: Runner, tmp_path: Path) -> None:
    # The second seed report, pool.md example 27: easy 94 %, medium and hard 100 %.
    bands = {"easy": 188, "medium": 200, "hard": 200}
    rows = [
        {"sample_id": f"{band}-{place % 40}", "rollout": place, "acc": int(place < right), "band": band}
        for band, right in bands.items()
        for place in range(200)
    ]
    stats = write_rows(tmp_path / "rollouts.jsonl", *rows)
    words = ["pool", "curriculum", stats, "--stages", EXAMPLE, "--validate"]
    result = run(*words, "--out", tmp_path / "out")
    assert result.code == 2
    assert "94.0 %" in result.out
    assert "easy and medium are inverted: easy 0.940" in result.err
    assert "medium and hard are equal" in result.err
    assert names(tmp_path) == ["rollouts.jsonl"]
    assert json.loads(run(*words, "--json").out)["passed"] is False


def test_declared_bands_may_stand_in_statistics(run: Runner, tmp_path: Path, stats: Path) -> None:
    counted = tmp_path / "stats.parquet"
    assert run("pool", "stats", stats, "--out", counted, "--by", "difficulty").code == 0
    words = ["pool", "curriculum", counted, "--stages", EXAMPLE, "--validate"]
    assert "no column 'difficulty' or 'band', which would say of which band" in run.error(*words)
    assert run(*words, "--band-column", "source").code == 0
    assert run("pool", "curriculum", counted, "--stages", EXAMPLE, "--out", tmp_path / "out").code == 0


def test_mistakes_are_named_and_nothing_is_lost(run: Runner, tmp_path: Path, stats: Path) -> None:
    words = ["pool", "curriculum", stats, "--stages", EXAMPLE]
    assert "--out: expected a directory for the stages, or --validate" in run.error(*words)
    assert "leave one of the two out" in run.error(*words, "--out", tmp_path / "o", "--weights", "--data", stats)
    assert "--split says how --data is read" in run.error(*words, "--out", tmp_path / "o", "--split", "train")
    assert "there is no directory" in run.error(*words, "--out", tmp_path / "no" / "o")
    (tmp_path / "file").write_text("mine")
    assert "is not a directory" in run.error(*words, "--out", tmp_path / "file")
    own = tmp_path / "own"
    own.mkdir()
    (own / "thesis.txt").write_text("mine")
    assert "holds thesis.txt, which no curriculum wrote and would be lost" in run.error(*words, "--out", own)
    assert names(own) == ["thesis.txt"]
    assert "lies in the other" in run.error(*words, "--out", tmp_path)
    narrow = stages_file(tmp_path / "narrow.json", bands={"easy": [0.9, 1], "medium": [0.6, 0.8], "hard": [0.45, 0.5]})
    said = run.error("pool", "curriculum", stats, "--stages", narrow, "--out", tmp_path / "o")
    assert "stage 'hard' has no samples (in its bands: hard 0)" in said
    twice = '{"bands": {"easy": [0.9, 1], "easy": [0, 0.5]}, "stages": [{"name": "a", "bands": ["easy"]}]}'
    for name, (text, said) in {
        "a.yaml": ("", "stages are read from files that end in .json or .toml"), "a.json": ("{", ""),
        "b.toml": ("x", ""), "c.json": ("[" * 100_000, "is nested too deep"), "d.json": ("[1]", "stages file: got"),
        "e.json": (twice, "the key 'easy' comes twice in one object"),
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
        assert f"{tmp_path / name}: {said}" in run.error(
            "pool", "curriculum", stats, "--stages", tmp_path / name, "--validate"
        )
    assert "--by says what is checked; add --validate" in run.error(*words, "--out", tmp_path / "o", "--by", "source")
    assert "--band-column says what is checked" in run.error(*words, "--out", tmp_path / "o", "--band-column", "x")
    assert not (tmp_path / "o").exists()
    assert not [name for name in names(tmp_path) if name.endswith(".partial")]


@pytest.mark.parametrize("out", ["w.parquet", "w.jsonl", "w.JSON"])
def test_a_directory_with_the_name_of_a_file_is_not_made(run: Runner, tmp_path: Path, stats: Path, out: str) -> None:
    assert run.error("pool", "curriculum", stats, "--stages", EXAMPLE, "--weights", "--out", tmp_path / out) == (
        f"--out: got {tmp_path / out}, the name of a file; expected that of a directory, which is made"
    )
    assert names(tmp_path) == ["rollouts.jsonl"]
