"""``--strict``: what would be a warning ends with exit status 1, after the output is written."""

import json

import pytest

from tests.cli.command import read_rows, result_of, write_rows

CLIK = {"response": "click(120, 150)", "target": {"bbox": [100, 100, 300, 200], "action": "clik"}}
FAR = {"response": "click(120, 150)", "target": {"bbox": [-900, 100, 300, 200], "image_size": [1000, 800]}}
RECIPE = ("--recipe", "action", "--response-space", "pixel")
EVERY = [
    "score", "eval", "explain", "view", "convert", "recipes", "plugins", "where",
    *(f"pool {name}" for name in ("curriculum", "next", "report", "score", "stats", "temperature", "transitions")),
]  # fmt: skip


@pytest.fixture
def odd(tmp_path):
    return write_rows(tmp_path / "in.jsonl", CLIK, FAR, CLIK)


def lines(path):
    return [
        f"2 targets (first: {path}, row 0 (line 1)): action 'clik' is no known name, nor one of recipe 'action'; did "
        "you mean 'click'? Declare names of your own: option action_names",
        f"1 target (first: {path}, row 1 (line 2)): the centre of bbox [-900.0, 100.0, 300.0, 200.0] lies outside its "
        "image (0..1000 by 0..800, in pixel); check the space and the size of the image, or leave the target out",
    ]


@pytest.mark.parametrize("command", EVERY)
def test_every_command_has_it(run, command):
    assert "--strict" in run(*command.split(), "--help").out


def test_score_warns_and_ends_with_1_once_all_is_written(run, odd, tmp_path):
    out = tmp_path / "out.jsonl"
    found = run("score", odd, *RECIPE, "--out", out)
    assert (found.code, [line for line in found.err.splitlines() if line.startswith("warning")]) == (
        0, [f"warning: {line}" for line in lines(odd)]
    )  # fmt: skip
    first = out.read_bytes()
    out.unlink()
    strict = run("score", odd, *RECIPE, "--out", out, "--strict", "--json")
    assert (strict.code, out.read_bytes(), len(read_rows(out))) == (1, first, 3)
    assert result_of(strict.out)["warnings"] == lines(odd)


def test_names_that_are_declared_are_no_warning(run, tmp_path):
    source, out = write_rows(tmp_path / "in.jsonl", CLIK), tmp_path / "out.jsonl"
    declared = ("--option", 'action_names=["clik"]')
    assert run("score", source, *RECIPE, *declared, "--out", out, "--strict").code == 0


def test_eval_says_which_file(run, odd, tmp_path):
    good = write_rows(tmp_path / "good.jsonl", {**CLIK, "target": {**CLIK["target"], "action": "click"}})
    found = run("eval", good, odd, *RECIPE, "--json", "--strict")
    assert (found.code, [each["warnings"] for each in result_of(found.out)]) == (1, [[], lines(odd)])
    assert run("eval", good, *RECIPE, "--strict").code == 0


def test_convert_looks_at_targets_before_they_are_trained_on(run, tmp_path):
    rows = [
        {"instruction": "Save", "target": {"space": "pixel", **row["target"]}, "id": place, "image_size": [1000, 800]}
        for place, row in enumerate((CLIK, {"target": {"bbox": [1, 2, 3]}}, FAR, CLIK))
    ]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    found = run("convert", source, "--out", out, "--for", "verl", "--skip-bad", "--strict", "--json")
    assert (found.code, len(read_rows(out)), result_of(found.out)["warnings"]) == (
        1, 3,
        [
            "1 of 4 rows cannot be converted, and are left out",
            "2 targets (first: row 0 (line 1)): action 'clik' is no known name; did you mean 'click'? "
            "Declare names of your own: option action_names",
            "1 target (first: row 2 (line 3)): the centre of bbox [-900.0, 100.0, 300.0, 200.0] lies outside its "
            "image (0..1000 by 0..800, in pixel); check the space and the size of the image, or leave the target out",
        ],
    )  # fmt: skip
    declared = ("--recipe", "action", "--option", "response_space=pixel", "--option", 'action_names=["clik"]')
    again = run("convert", source, "--out", out, "--for", "verl", "--skip-bad", *declared)
    assert [line for line in again.err.splitlines() if line.startswith("warning: ")][1:] == [
        "warning: 1 target (first: row 2 (line 3)): the centre of bbox [-900.0, 100.0, 300.0, 200.0] lies outside its "
        "image (0..1000 by 0..800, in pixel); check the space and the size of the image, or leave the target out"
    ]


def test_explain(run):
    words = (
        "explain",
        "--recipe",
        "action",
        "--response-space",
        "pixel",
        "--response",
        "click(1, 2)",
        "--strict",
        "--json",
    )
    found = run(*words, "--target", '{"action": "clik"}')
    assert (found.code, len(result_of(found.out)["warnings"])) == (1, 1)
    assert run(*words, "--target", '{"action": "wait"}').code == 0
    assert "the key 'action' comes twice in one object" in json.dumps(
        result_of(run(*words, "--target", '{"action": "clik", "action": "wait"}').out)["error"]
    )


def test_pool_score_warns_of_targets_and_of_recipes_that_are_not_installed(run, odd, tmp_path):
    rows = [{**row, "sample_id": str(place), "recipe": "lab:reward"} for place, row in enumerate(read_rows(odd))]
    source, out = write_rows(tmp_path / "rollouts.jsonl", *rows), tmp_path / "out"
    found = run("pool", "score", source, *RECIPE, "--out", out, "--strict", "--json")
    assert (found.code, out.is_dir()) == (1, True)
    unknown, *rest = result_of(found.out)["warnings"]
    assert unknown.startswith("rollouts name recipes that are not installed, or that need options: 'lab:reward'")
    places = (f"{source}, row 0 (line 1)", f"{source}, row 1 (line 2)")
    first, second = lines(source)
    assert rest == [first.replace(places[0], "sample '0'"), second.replace(places[1], "sample '1'")]
    again = run("pool", "score", source, *RECIPE, "--out", out, "--strict", "--json")  # nothing is scored any more
    assert (again.code, result_of(again.out)["warnings"]) == (1, [unknown, *rest])


def test_pool_stats_counts_targets_that_cannot_be_read(run, tmp_path):
    twice = '{"bbox": [1, 2, 3, 4], "bbox": [5, 6, 7, 8], "space": "unit"}'
    rows = [
        {"sample_id": name, "acc": 1, "target": twice if name != "b" else None, "image_size": [9, 9]} for name in "abc"
    ]
    source = write_rows(tmp_path / "rollouts.jsonl", *rows)
    found = run("pool", "stats", source, "--out", tmp_path / "stats.parquet", "--strict", "--json")
    assert found.code == 1
    (line,) = result_of(found.out)["warnings"]
    assert line.startswith("2 samples have a target that cannot be read, the first: target of sample 'a', field ")
    assert "the key 'bbox' comes twice in one object" in line


def test_rows_that_are_left_out_are_warnings(run, tmp_path):
    bad = {"response": "click(1, 2)", "target": {"bbox": [1]}, "sample_id": "b"}
    source = write_rows(tmp_path / "in.jsonl", {**CLIK, "target": {"bbox": [1, 2, 3, 4]}, "sample_id": "a"}, bad)
    abstain = (*RECIPE, "--bad-target", "abstain", "--strict", "--json")
    for words in (
        ("score", source, *abstain, "--out", tmp_path / "out.jsonl"),
        ("eval", source, *abstain),
        ("pool", "score", source, *abstain, "--out", tmp_path / "scored"),
    ):
        assert run(*words).code == 1, words
    manifest = json.loads((tmp_path / "scored" / "_score.manifest.json").read_text())
    (text,) = manifest["warnings"]
    assert text.startswith("1 row has a target that cannot be used, the first: sample 'b': field 'bbox': got [1]")


def test_pool_stats(run, tmp_path):
    rows = [
        {"sample_id": name, "acc": 1, "recipe": "lab:reward", "target": "[1, 2, 3, 4]", "image_size": [9, 9]}
        for name in "ab"
    ]
    source = write_rows(tmp_path / "rollouts.jsonl", *rows)
    found = run("pool", "stats", source, "--out", tmp_path / "stats.parquet", "--strict", "--json")
    assert (found.code, (tmp_path / "stats.parquet").exists()) == (1, True)
    assert "2 samples have a target that is not read" in result_of(found.out)["warnings"][0]
    assert found.err.startswith("warning: 2 samples have a target that is not read")


def test_notes_are_no_warnings(run, tmp_path):
    rows = [{"sample_id": name, "acc": 1, "round": number} for number in (1, 2) for name in "ab"]
    found = run("pool", "stats", write_rows(tmp_path / "rollouts.jsonl", *rows), "--strict")
    assert (found.code, found.err) == (0, "note: rollouts of rounds 1, 2 count together; --round N chooses one\n")


def test_an_error_stays_an_error(run, tmp_path):
    assert run("score", tmp_path / "none.jsonl", *RECIPE, "--out", tmp_path / "out.jsonl", "--strict").code == 2
