"""Responses and targets with the scores that they get, and what does not fit with its error: `cases/`, a recipe a file.

A line with options alone begins the cases of the recipe that is built with them. `make cases` computes the scores,
bounds and errors of all lines again; what has changed shows as a diff, to be read line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS

FILES = sorted((Path(__file__).parent / "cases").glob("*.jsonl"))
COLUMNS = ("image_sizes", "model_image_sizes", "groups", "token_lengths", "extras")
GIVEN = ("case", "options", "response", "target", "responses", "targets", *COLUMNS)

pytestmark = pytest.mark.filterwarnings("ignore::grounding_rewards.TargetWarning")

Case = dict[str, Any]


def cases(file: Path) -> Iterator[tuple[Case, Case]]:
    """Yield the options that hold for each line, and the line."""
    options: Case = {}
    for text in file.read_text("utf-8").rstrip("\n").split("\n"):
        case = json.loads(text)
        options = case.get("options", options)
        yield options, case


def columns(recipe: gr.Recipe, case: Case, **more: Any) -> Case:
    """Score a line of several rows; return lists of n."""
    given = {name: case[name] for name in COLUMNS if name in case}
    scores = recipe.score(case["responses"], case["targets"], **given, **more)
    parts = [part.tolist() for part in scores.parts.values()]
    reasons = [gr.Reason(code).name for code in scores.reason]
    return {
        "total": scores.total.tolist(), "acc": scores.acc.tolist(), "reason": reasons,
        "parts": list(map(list, zip(*parts, strict=True))),
    }  # fmt: skip


def many(case: Case, rows: list[Case]) -> Case:
    return {**case, "responses": [row["response"] for row in rows], "targets": [row["target"] for row in rows]}


def outcome(name: str, options: Case, case: Case) -> Case:
    """Return what a line gives: the bounds of a recipe, scores or an error, without names that others add to."""
    try:
        recipe = gr.recipe(name, **options)
        if "responses" in case:
            return columns(recipe, case)
        if "response" in case:
            return {key: column[0] for key, column in columns(recipe, many(case, [case])).items()}
        return {
            "low": recipe.low, "high": recipe.high, "names": list(recipe.parts), "needs": sorted(recipe.needs),
            "accepts": sorted(recipe.accepts), "formula": recipe.formula,
        }  # fmt: skip
    except gr.GroundingRewardsError as error:
        text = re.sub("There are: .*?(?=; your own|$)", "There are: ...", str(error), flags=re.DOTALL)
        return {"error": f"{type(error).__name__}: {text}"}


def nearly(value: Any) -> Any:
    """Compare numbers within 1e-12, at any depth of lists, and the rest exactly."""
    if isinstance(value, list):
        return [nearly(each) for each in value]
    return pytest.approx(value, abs=1e-12) if isinstance(value, float) else value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_gives_what_it_says(file: Path) -> None:
    for number, (options, case) in enumerate(cases(file), 1):
        stated = {key: nearly(value) for key, value in case.items() if key not in GIVEN}
        where = f"{file.name}:{number}: {case.get('case', options)}; if it is as it should be: make cases"
        assert outcome(file.stem, options, case) == stated, where


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_many_rows_score_as_each_alone(file: Path) -> None:
    batches: dict[str, list[Case]] = {}
    for options, case in cases(file):
        if "response" in case and "error" not in case:
            sizes = {name: case[name] for name in COLUMNS if name in case}
            batches.setdefault(json.dumps([options, sizes]), []).append(case)
    for key, batch in batches.items():
        (options, sizes), rows = json.loads(key), batch * (VECTOR_ROWS // len(batch) + 1)
        recipe = gr.recipe(file.stem, **options)
        found = {} if "trajectories" in recipe.needs else columns(recipe, many(sizes, rows))
        for name, column in found.items():
            assert column == nearly([row[name] for row in rows]), key


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rows_whose_target_does_not_fit_may_abstain(file: Path) -> None:
    for options, case in cases(file):
        if "response" in case and case.get("error", "").startswith("TargetError"):
            recipe = gr.recipe(file.stem, **options)
            found = columns(recipe, many(case, [case]), bad_target="abstain")
            assert found["total"] == [min(max(0.0, recipe.low), recipe.high)], case
            assert (found["acc"], found["reason"]) == ([0.0], ["BAD_TARGET"]), case


if __name__ == "__main__":
    for each in FILES:
        now = [
            {**{key: case[key] for key in case if key in GIVEN}, **outcome(each.stem, options, case)}
            for options, case in cases(each)
        ]
        each.write_text("".join(f"{json.dumps(case, ensure_ascii=False)}\n" for case in now), "utf-8")
