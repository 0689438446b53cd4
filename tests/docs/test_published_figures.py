"""The table of published figures beside ours: the page is as the script writes it, and rules do what they say."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import published_figures as figures
from tests.docs.test_reference import DOCS

PAGE = DOCS / "published-figures.md"
POLYGON, BOX = {"polygon": [10, 20, 40, 25, 30, 60]}, {"bbox": [1, 2, 3, 4]}


def test_every_rule_is_explained_used_and_shown():
    used = {rule for each in figures.PUBLISHED["figures"] for rule in each.get("rules", ())}
    assert used == set(figures.RULES) == set(figures.PUBLISHED["rules"])
    page = PAGE.read_text("utf-8")
    assert all(f"- **{name}**: {text}\n" in page for name, text in figures.PUBLISHED["rules"].items())


@pytest.mark.skipif(
    not (figures.DATA / "model_responses_more").is_dir(), reason="published responses are not here: ../shared/data"
)
def test_the_page_is_up_to_date_and_every_difference_is_explained(tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(PAGE.read_text("utf-8").replace("| MAI-UI-8B", "| old"), "utf-8")
    figures.main(["--write", str(copy)])
    assert copy.read_text("utf-8") == PAGE.read_text("utf-8")
    logged = {
        f"{manifest.parent.name}/{each['file']}": (each["published_correct"], each["benchmark_total"])
        for manifest in figures.DATA.glob("model_responses*/manifest.json")
        for each in json.loads(manifest.read_text("utf-8"))
    }
    logs = (each for each in figures.PUBLISHED["figures"] if each["source"].endswith("evaluation log"))
    assert {each["answers"]: (each["correct"], each["rows"]) for each in logs} == logged


@pytest.mark.parametrize(
    ("rule", "places", "targets"),
    [
        ("refusals count as wrong", [10.7, 500.2], [POLYGON, {"refusal": True}, BOX]),
        ("all rows alike", [10.7, 500.2], [POLYGON, {"refusal": True}, BOX]),
        ("whole pixels", [10, 500], [POLYGON, {"refusal": True}, BOX]),
        ("999", [10.7 / 0.999, 500.2 / 0.999], [POLYGON, {"refusal": True}, BOX]),
        ("polygons as x y w h", [10.7, 500.2], [{"bbox": [10, 20, 50, 45]}, {"bbox": [0, 0, 0, 0]}, BOX]),
    ],
)
def test_what_rules_make_of_places_and_targets(rule, places, targets):
    found, others = figures.RULES[rule](np.array([[10.7, 500.2]]), [POLYGON, {"refusal": True}, BOX])
    assert found[0].tolist() == pytest.approx(places, abs=1e-12)
    assert others == targets


def test_answers_that_are_not_there_are_named(tmp_path):
    with pytest.raises(SystemExit, match=r"screenspot-pro-gelato-30b\.jsonl: no such file; .* by --data"):
        figures.main(["--data", str(tmp_path)])


def test_a_difference_without_its_rule_fails(monkeypatch, capsys):
    part = {"correct": 3, "rows": 4, "accuracy": 0.75}
    row = {
        "model": "M", "benchmark": "osworld-g", "source": "log", "setting": "at most 9 pixels", "official": part,
        "ours": {**part, "correct": 2, "accuracy": 0.5}, "difference": -25.0, "rules": ["999"], "by_rule": 2,
        "apart": 1,
    }  # fmt: skip
    monkeypatch.setattr(figures, "compared", lambda figure, data: row)
    monkeypatch.setitem(figures.PUBLISHED, "figures", [{}])
    with pytest.raises(SystemExit, match=r"^M, osworld-g, log: 2 by its rule, 3 published\n$"):
        figures.main(["--json"])
    assert json.loads(capsys.readouterr().out) == [row]
    assert figures.table([row]).splitlines()[2] == (
        "| M | osworld-g | 3 of 4, 75.00% | 2 of 4, 50.00% | -25.00 | 1 | 999 | log | at most 9 pixels |"
    )
