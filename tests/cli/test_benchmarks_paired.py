"""``eval --benchmark NAME --paired``: two models by the rule of a benchmark, over all of its files."""

from __future__ import annotations

import json

import pytest

from tests.cli.benchmark_files import HIT, MISS, as_json, osworld, screenspot
from tests.cli.command import result_of, write_rows

PIXEL = ("--response-space", "pixel")
CELLS = {"mobile / text": 4, "desktop / icon": 3, "web / text": 2}


def compared(run, name, *words):
    """Entries of two models, and their comparison."""
    result = run("eval", *words, "--benchmark", name, "--paired", *PIXEL, "--json")
    assert result.code == 0, result.err
    value = result_of(result.out)
    return value["files"], value["paired"]


@pytest.fixture
def files(tmp_path):
    """ScreenSpot-v2's three files for two models: the second misses on all of the desktop, and on one mobile row."""
    first = screenspot(CELLS, version="_v2")
    second = {name: [dict(row) for row in rows] for name, rows in first.items()}
    for row in [*second["screenspot_desktop_v2"], second["screenspot_mobile_v2"][0]]:
        row["prediction"] = MISS
    return as_json(tmp_path / "first", first), as_json(tmp_path / "second", second)


def rows_of(folder):
    return [row for file in sorted(folder.glob("*.json")) for row in json.loads(file.read_text())]


def test_folders_of_two_models(run, files):
    (one, other), paired = compared(run, "screenspot-v2", *files)
    assert [one["file"], other["file"]] == list(map(str, files)) == paired["files"]
    assert [(each["correct"], each["valid"]) for each in (one, other)] == [(9, 9), (5, 9)]
    assert other["by"]["platform"]["desktop"]["correct"] == 0

    assert (paired["n"], paired["only_first"], paired["only_second"]) == (9, 4, 0)
    assert paired["difference"] == pytest.approx(-4 / 9)


def test_two_files_of_predictions(run, files, tmp_path):
    keys = ("img_filename", "instruction", "prediction")
    answers = [
        write_rows(tmp_path / f"{folder.name}.jsonl", *({key: row[key] for key in keys} for row in rows_of(folder)))
        for folder in files
    ]
    bare = {
        name: [{key: value for key, value in row.items() if key != "prediction"} for row in rows]
        for name, rows in screenspot(CELLS, version="_v2").items()
    }
    words = [word for path in answers for word in ("--predictions", path)]
    (one, other), paired = compared(run, "screenspot-v2", as_json(tmp_path / "bare", bare), *words)
    assert [one["file"], other["file"]] == list(map(str, answers))
    assert [(each["correct"], each["valid"]) for each in (one, other)] == [(9, 9), (5, 9)]
    assert (paired["only_first"], paired["only_second"]) == (4, 0)


def test_scores_are_those_of_the_benchmarks_rule(run, tmp_path):
    # A point with both coordinates below 0 refuses, for OSWorld-G alone.
    rows = osworld(["bbox", "refusal", "refusal"])
    clicks, refuses = ([{**row, "prediction": text} for row in rows] for text in (HIT, "(-5, -7)"))
    first, second = (
        as_json(tmp_path / name, {"OSWorld-G": each}) for name, each in (("clicks", clicks), ("refuses", refuses))
    )
    _, paired = compared(run, "osworld-g", first, second)
    assert (paired["only_first"], paired["only_second"]) == (1, 2)


def test_a_row_that_the_benchmark_has_twice_counts_once(run, tmp_path):
    rows = screenspot({"web / text": 2}, version="_v2")
    rows["screenspot_web_v2"].append(dict(rows["screenspot_web_v2"][0]))
    folder = as_json(tmp_path / "twice", rows)
    _, paired = compared(run, "screenspot-v2", folder, as_json(tmp_path / "again", rows))
    assert paired["n"] == 2


def test_a_row_that_the_benchmark_has_once_is_an_error_where_it_is_there_twice(run, tmp_path):
    rows = osworld(["bbox", "bbox"])
    rows[1]["id"] = rows[0]["id"]
    folder = as_json(tmp_path / "twice", {"OSWorld-G": rows})
    result = run("eval", folder, folder, "--benchmark", "osworld-g", "--paired", *PIXEL)
    assert result.code == 2
    assert "expected one row a sample, or rollouts with numbers in a column rollout" in result.err


def test_what_is_printed(run, files):
    result = run("eval", *files, "--benchmark", "screenspot-v2", "--paired", *PIXEL)
    assert result.code == 0
    for text in ("ScreenSpot-v2, A", "ScreenSpot-v2, B", "only A, B"):
        assert text in result.out
    assert f"A:{files[0]}B:{files[1]}" in "".join(result.out.split())  # wherever long names are broken
