"""Verdicts of the authors' own evaluators on made-up steps: each line equal, or under a named difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grounding_rewards as gr

DATA = Path(__file__).parents[3] / "shared" / "data" / "golden_actions"
RULES = {
    "os-atlas-android-control": ("androidcontrol", "os-atlas"),
}


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/golden_actions")
@pytest.mark.parametrize("file", RULES)
def test_each_line_has_the_evaluators_verdict(file: str) -> None:
    benchmark, rule = RULES[file]
    other = []
    for number, text in enumerate((DATA / f"{file}.jsonl").read_text("utf-8").splitlines(), 1):
        line = json.loads(text)
        given = {name: line.get(name) for name in ("response", "gold", "image_size", "options")}
        verdict = gr.judge_step(benchmark, rule, **given)
        right = line["type_match"], line["grounding_match"], line["step_match"]
        if verdict[:3] != right:
            other.append((number, line.get("note"), verdict[:3], right, line["response"], line["gold"]))
    assert not other, "\n".join(map(str, other[:40])) + f"\n{len(other)} lines differ"
