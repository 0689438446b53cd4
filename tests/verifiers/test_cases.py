"""Points, boxes, actions and texts with the scores that each verifier gives them: `cases/`, a verifier a file.

A line's verifier is written as in a config, with what its name does not say. `make cases` computes scores and errors
of all lines again; what has changed shows as a diff, to be read line by line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.plugins.named import build
from tests.recipes.test_cases import nearly
from tests.verifiers.acting import acting
from tests.verifiers.boxing import boxed
from tests.verifiers.judging import rollouts, several

FILES = sorted((Path(__file__).parent / "cases").glob("*.jsonl"))
TABLES = {"points": rollouts, "boxes": boxed, "acts": acting, "rows": several}

Case = dict[str, Any]


def item(value: Any) -> Any:
    """Return a point, a box or an action as the helpers of these tests take it."""
    return Act(value["name"], tuple(value["place"]), value["arguments"]) if isinstance(value, dict) else value


def outcome(case: Case) -> Case:
    """Return the scores that a line's verifier gives, or its error."""
    arguments = dict(case["verifier"])
    try:
        verifier = build("verifiers", arguments.pop("verifier"), arguments)
        kind = next((each for each in TABLES if each in case), None)
        if kind is None:
            return {"low": verifier.low, "high": verifier.high}
        more = dict(case.get("more", {}))
        if "space" in more:
            more["space"] = CoordSpace(more["space"])
        if "reasons" in more:
            more["reasons"] = [gr.Reason[name] for name in more["reasons"]]
        items = [item(each) for each in case[kind]]
        targets = case["targets"] if "targets" in case else [case["target"]] * len(items)
        with np.errstate(over="ignore"):
            return {"scores": verifier(TABLES[kind](items, targets, **more)).tolist()}
    except gr.GroundingRewardsError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def cases(file: Path) -> list[Case]:
    return [json.loads(text) for text in file.read_text("utf-8").rstrip("\n").split("\n")]


def given(case: Case) -> Case:
    return {key: value for key, value in case.items() if key not in ("scores", "error", "low", "high")}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_gives_what_it_says(file: Path) -> None:
    for number, case in enumerate(cases(file), 1):
        stated = {key: nearly(case[key]) for key in case if key not in given(case)}
        where = f"{file.name}:{number}: {case['case']}; if it is as it should be: make cases"
        assert outcome(case) == stated, where


if __name__ == "__main__":
    for each in FILES:
        now = [{**given(case), **outcome(case)} for case in cases(each)]
        each.write_text("".join(f"{json.dumps(case, ensure_ascii=False)}\n" for case in now), "utf-8")
