"""Published benchmark responses: our verdicts are the published ones, row by row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import read_rows, result_of, write_rows

FOLDER = Path(__file__).parents[2].parent / "shared/data/model_responses"
MORE = FOLDER.with_name("model_responses_more")
CORRECT = {
    "osworld-g-gelato-30b.jsonl": (379, 510),
    "osworld-g-gelato-30b-refusal.jsonl": (390, 564),
    "osworld-g-gta1-7b-2507.jsonl": (316, 510),
    "osworld-g-uitars-7b-gelato-baseline.jsonl": (333, 510),
    "osworld-g-refined-gelato-30b.jsonl": (414, 510),
    "osworld-g-refined-uitars-7b-gelato-baseline.jsonl": (384, 510),
    "screenspot-pro-gelato-30b.jsonl": (1010, 1581),
    "screenspot-pro-gta1-7b-2507.jsonl": (786, 1581),
}

CORRECT_MORE = {"mmbench-gui-l2-mai-ui-8b.jsonl": (3190, 3594), "osworld-g-mai-ui-8b.jsonl": (348, 564)}
EVERY = [*(FOLDER / name for name in CORRECT), *(MORE / name for name in CORRECT_MORE)]

pytestmark = pytest.mark.skipif(
    not (FOLDER.is_dir() and MORE.is_dir()),
    reason="published responses are not here: expected in ../shared/data/model_responses and model_responses_more",
)


def space(path: Path) -> str:
    """The space that a file's model answers in, as its manifest says."""
    entries = {entry["file"]: entry for entry in json.loads(path.with_name("manifest.json").read_text())}
    frame = entries[path.name]["response_frame"]
    assert entries[path.name]["published_correct"] == {**CORRECT, **CORRECT_MORE}[path.name][0]
    return "thousandths" if frame.startswith("thousandths") else "model_pixel"


def test_every_published_file_is_tested():
    assert {path.name for path in FOLDER.glob("*.jsonl")} == set(CORRECT)
    assert {path.name for path in MORE.glob("*.jsonl")} == set(CORRECT_MORE)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_score_gives_each_published_verdict(run, path, tmp_path):
    out = tmp_path / "out.jsonl"
    words = ("--recipe", "click", "--response-space", space(path), "--out", out)
    assert run("score", path, *words).code == 0
    rows = read_rows(out)
    assert len(rows) == {**CORRECT, **CORRECT_MORE}[path.name][1]
    assert [row["acc"] for row in rows] == [float(row["published_correct"]) for row in rows]
    assert {row["reason"] for row in rows} <= {"OK", "REFUSED", "OUT_OF_IMAGE"}


@pytest.mark.parametrize(
    ("first", "second", "alone"),
    [
        ("screenspot-pro-gta1-7b-2507.jsonl", "screenspot-pro-gelato-30b.jsonl", [92, 316]),
        ("osworld-g-gta1-7b-2507.jsonl", "osworld-g-gelato-30b.jsonl", [28, 91]),
    ],
)
def test_models_in_different_spaces_are_compared_as_published(run, first, second, alone):
    words = "--paired", "--response-space", f"{space(FOLDER / first)},{space(FOLDER / second)}", "--json"
    pairs = result_of(run("eval", FOLDER / first, FOLDER / second, *words).out)["paired"]
    benchmark = first.partition("-g")[0] + "-g" if first.startswith("osworld") else "screenspot-pro"
    by_name = result_of(run("eval", FOLDER / first, FOLDER / second, *words, "--benchmark", benchmark).out)
    assert by_name["paired"] == pairs
    assert [each["correct"] for each in by_name["files"]] == [CORRECT[first][0], CORRECT[second][0]]
    verdicts = [
        {row["sample_id"]: row["published_correct"] for row in read_rows(FOLDER / name)} for name in (first, second)
    ]
    assert verdicts[0].keys() == verdicts[1].keys()
    one_alone = [sum(one[name] and not other[name] for name in one) for one, other in (verdicts, verdicts[::-1])]
    assert [pairs["only_first"], pairs["only_second"]] == one_alone == alone
    assert (pairs["n"], pairs["differing_targets"], pairs["warnings"]) == (len(verdicts[0]), 0, [])
    assert pairs["images"] == len({row["image"] for row in read_rows(FOLDER / first)})


def as_pro(row):
    """Return a row as ScreenSpot-Pro has it, with an answer."""
    names = {"sample_id": "id", "image": "img_filename", "image_size": "img_size", "response": "prediction"}
    return {"bbox": row["target"]["bbox"], **{names.get(name, name): value for name, value in row.items()}}


def as_osworld(row):
    """Return a row as OSWorld-G has it, with an answer."""
    x1, y1, x2, y2 = row["target"].get("bbox", (0, 0, 0, 0))
    kind = next(kind for kind in ("bbox", "polygon", "refusal") if kind in row["target"])
    numbers = row["target"]["polygon"] if kind == "polygon" else [x1, y1, x2 - x1, y2 - y1]
    names = {"sample_id": "id", "image": "image_path", "response": "output"}
    return {
        "box_type": kind, "box_coordinates": numbers,
        **{names.get(name, name): value for name, value in row.items()},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("screenspot-pro-gta1-7b-2507.jsonl", as_pro),
        ("osworld-g-gelato-30b-refusal.jsonl", as_osworld),
        ("osworld-g-gta1-7b-2507.jsonl", as_osworld),
    ],
)
def test_rows_in_the_benchmarks_own_layout_have_the_same_verdicts(run, name, layout, tmp_path):
    rows = [layout(row) for row in read_rows(FOLDER / name)]
    for row in rows:
        del row["target"]
    result = run("eval", write_rows(tmp_path / name, *rows), "--response-space", space(FOLDER / name), "--json")
    found = result_of(result.out)[0]
    assert (found["correct"], found["valid"]) == CORRECT[name]
    assert result.err.startswith(f"note: rows as in {'ScreenSpot-Pro' if layout is as_pro else 'OSWorld-G'}: ")


def test_files_of_pro_and_answers_to_them_have_the_published_figure(run, tmp_path):
    name, folder = "screenspot-pro-gta1-7b-2507.jsonl", tmp_path / "annotations"
    folder.mkdir()
    applications = dict[str, list[dict[str, object]]]()
    for row in read_rows(FOLDER / name):
        annotation = as_pro(row)
        for gone in ("target", "prediction", "published_correct", "model_image_size"):
            del annotation[gone]
        applications.setdefault(f"{row['application']}_windows", []).append(annotation)
    for application, rows in applications.items():
        (folder / f"{application}.json").write_text(json.dumps(rows))
    answers = [
        {"id": row["sample_id"], "prediction": row["response"], "model_image_size": row["model_image_size"]}
        for row in read_rows(FOLDER / name)
    ]
    words = ("--predictions", write_rows(tmp_path / "answers.jsonl", *answers), "--response-space", "model_pixel")
    entry = result_of(run("eval", folder, "--benchmark", "screenspot-pro", *words, "--json").out)[0]
    assert len(applications) == 26
    assert entry["benchmark"]["totals"][0]["accuracy"] == 786 / 1581
    assert {kind: (part["correct"], part["valid"]) for kind, part in entry["by"]["ui_type"].items()} == {
        "text": (637, 977), "icon": (149, 604),
    }  # fmt: skip


def test_false_clicks_where_the_model_should_refuse(run):
    name = "osworld-g-gelato-30b-refusal.jsonl"
    found = result_of(run("eval", FOLDER / name, "--response-space", "thousandths", "--json").out)[0]
    assert found["refusals"] == {"targets": 54, "correct": 11, "false_clicks": 43, "false_refusals": 4}
    assert found["reasons"] == {"OK": 549, "REFUSED": 15}


def test_by_a_field_of_lists(run):
    words = ("--response-space", "thousandths", "--by", "gui_types", "--json")
    found = result_of(run("eval", FOLDER / "osworld-g-gelato-30b-refusal.jsonl", *words).out)[0]["by"]["gui_types"]
    assert {value: (found[value]["valid"], found[value]["correct"]) for value in ("Label", "Icon", "Slider")} == {
        "Label": (261, 210),
        "Icon": (245, 170),
        "Slider": (23, 4),
    }
