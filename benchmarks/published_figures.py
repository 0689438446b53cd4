"""Figures that others gave for answers of models, from published.toml, beside ours for the same answers.

    python benchmarks/published_figures.py [--data FOLDER] [--json | --write PAGE.md]

Ours is the headline of ``eval --benchmark``, the difference ours less theirs in points. A rule says why they differ:
with it the answers are judged again, and the count must be theirs. ``apart`` counts the rows that the rule judges
otherwise. ``--write`` puts the table into a page, between its comments.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import grounding_rewards as gr

PUBLISHED = tomllib.loads(Path(__file__).with_name("published.toml").read_text("utf-8"))
DATA = Path(__file__).parents[2] / "shared" / "data"
MARKS = "<!-- begins: make published -->", "<!-- ends -->"
Rows = Sequence[dict[str, Any]]


def sized(box: Sequence[float]) -> list[float]:
    """Return the corners of x y w h."""
    return [box[0], box[1], box[0] + box[2], box[1] + box[3]]


RULES: dict[str, Callable[[Any, Rows], tuple[Any, Rows]]] = {
    "refusals count as wrong": lambda places, targets: (places, targets),  # this and the next judge no row otherwise
    "all rows alike": lambda places, targets: (places, targets),
    "whole pixels": lambda places, targets: (np.trunc(places), targets),
    "999": lambda places, targets: (places * (1000 / 999), targets),
    "polygons as x y w h": lambda places, targets: (
        places,
        [{"bbox": each.get("bbox") or sized(each.get("polygon", [0, 0, 0, 0]))} for each in targets],
    ),
}
"""Rules by name: each changes places in pixels of the image, or targets."""


def read(file: Path) -> Rows:
    """Return the rows of a file of the data."""
    if not file.is_file():
        raise SystemExit(
            f"{file}: no such file; expected answers that published.toml names: give their folder by --data"
        )
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def scored(rows: Rows, targets: Rows, responses: Sequence[str], space: str) -> gr.Scores:
    """Return the scores of responses; a target that cannot be hit is no error."""
    sizes = "image_size", "model_image_size"
    given = [
        {**each, **{name: row[name] for name in sizes if name in row}} for each, row in zip(targets, rows, strict=True)
    ]
    return gr.recipe("click", response_space=space, polygon="half_open").score(responses, given, bad_target="abstain")


@cache
def ours(data: Path, answers: str, annotations: str | None, benchmark: str, space: str) -> tuple[Rows, Any, gr.Scores]:
    """Return rows of answers, the benchmark's headline and the scores of the rows."""
    rows = read(data / answers)
    if annotations:  # ids of answers end in # and a number
        targets = {row["sample_id"]: row["target"] for row in read(data / annotations)}
        rows = [{**row, "target": targets[row["sample_id"].partition("#")[0]]} for row in rows]
    headline = gr.evaluate(rows, benchmark=benchmark, response_space=space).to_dict()["benchmark"]["totals"][0]
    return rows, headline, scored(rows, [row["target"] for row in rows], [row["response"] for row in rows], space)


def compared(figure: dict[str, Any], data: Path) -> dict[str, Any]:
    """Return a figure beside ours, and what its rules make of ours."""
    named = figure["answers"], figure.get("targets"), figure["benchmark"], figure["response_space"]
    rows, found, scores = ours(data, *named)
    places, targets = scores.predictions.xy, [row["target"] for row in rows]
    for rule in figure.get("rules", ()):
        places, targets = RULES[rule](places, targets)
    texts = [
        f"({x!r}, {y!r})" if x == x else row["response"] for (x, y), row in zip(places.tolist(), rows, strict=True)
    ]
    by_rule = scored(rows, targets, texts, "pixel")
    official = {"correct": figure["correct"], "rows": figure["rows"], "accuracy": figure["correct"] / figure["rows"]}
    return {
        **{name: figure[name] for name in ("model", "benchmark", "source", "setting")},
        "official": official,
        "ours": {name: found[name] for name in official},
        "difference": 100 * (found["accuracy"] - official["accuracy"]),
        "rules": figure.get("rules", []),
        "by_rule": int(np.nansum(by_rule.acc)),
        "apart": int((np.nan_to_num(scores.acc) != np.nan_to_num(by_rule.acc)).sum()),
    }


def table(figures: Sequence[dict[str, Any]]) -> str:
    """Return the figures as a table of Markdown."""
    heads = "model", "benchmark", "official", "ours", "difference", "rows apart", "rule", "whose figure", "setting"
    lines = [heads, ["---"] * len(heads)]
    for each in figures:
        shares = [
            f"{part['correct']} of {part['rows']}, {part['accuracy']:.2%}" for part in (each["official"], each["ours"])
        ]
        difference = f"{round(each['difference'], 2) + 0:+.2f}"  # no -0.00
        found = [*shares, difference, str(each["apart"]), "; ".join(each["rules"])]
        lines.append([each["model"], each["benchmark"], *found, each["source"], each["setting"]])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(words: list[str] | None = None) -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the answers; by default ../shared/data")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", type=Path, metavar="PAGE.md")
    asked = parser.parse_args(words)
    warnings.simplefilter("ignore", gr.TargetWarning)  # boxes by a rule reach beyond the image
    figures = [compared(each, asked.data) for each in PUBLISHED["figures"]]
    if asked.write:
        before, _, rest = asked.write.read_text("utf-8").partition(MARKS[0])
        rules = "".join(f"- **{name}**: {text}\n" for name, text in PUBLISHED["rules"].items())
        shown = f"{MARKS[0]}\n{table(figures)}\n{rules}{MARKS[1]}"
        asked.write.write_text(before + shown + rest.partition(MARKS[1])[2], "utf-8")
    else:
        print(json.dumps(figures, indent=1) if asked.json else table(figures), end="\n" if asked.json else "")
    if unlike := [each for each in figures if each["by_rule"] != each["official"]["correct"]]:
        sys.exit(
            "".join(
                f"{each['model']}, {each['benchmark']}, {each['source']}: {each['by_rule']} by its rule, "
                f"{each['official']['correct']} published\n"
                for each in unlike
            )
        )


if __name__ == "__main__":
    main()
