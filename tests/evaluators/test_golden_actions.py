"""Verdicts of the authors' own evaluators on made-up steps: each line equal, or under a named difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grounding_rewards as gr

DATA = Path(__file__).parents[3] / "shared" / "data" / "golden_actions"
FILES = (
    "agentcpm-gui", "agentnetbench", "aitw-auto-gui", "aitw-seeclick", "aitz-coat", "aitz-coat-click",
    "clawgui-androidcontrol", "gui-odyssey", "gui-r1-omni", "guievalkit", "mind2web-seeclick", "mind2web-uground",
    "omniact-uground", "os-atlas-android-control", "os-atlas-gui-odyssey", "os-atlas-omniact",
    "uground-android-control", "ui-s1-evaluation", "ui-s1-reward",
)  # fmt: skip
DIFFERENCES = {
    ("uground-android-control", "no answer"): "the evaluator finds no answer of that step, but the line has one",
}
"""Reasons by file and note of a line."""


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/golden_actions")
@pytest.mark.parametrize("file", FILES)
def test_each_line_has_the_evaluators_verdict(file: str) -> None:
    tree = DATA / f"{file}.tree.json"
    options = {"tree": json.loads(tree.read_text("utf-8"))} if tree.exists() else {}
    other = []
    for number, text in enumerate((DATA / f"{file}.jsonl").read_text("utf-8").splitlines(), 1):
        line = json.loads(text)
        if (file, line.get("note")) in DIFFERENCES:
            continue
        given = {name: line.get(name) for name in ("response", "gold", "image_size")}
        given["options"] = {**options, **(line.get("options") or {})}
        verdict = gr.judge_step(line["benchmark"], line["evaluator"], **given)
        right = line["type_match"], line["grounding_match"], line["step_match"]
        parts = (
            line.get("by_type")
            or line.get("penalties")
            or {name: line[name] for name in ("op_f1",) if line.get(name) is not None}
        )
        same = verdict[:3] == right and verdict.score == pytest.approx(line.get("score"), nan_ok=True)
        if not same or (parts and verdict.parts != pytest.approx(parts)):
            other.append((number, line.get("note"), verdict, right, line["response"], line["gold"]))
    assert not other, "\n".join(map(str, other[:40])) + f"\n{len(other)} lines differ"


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/golden_actions")
def test_a_tree_is_read_from_the_gold_as_from_options() -> None:
    tree = json.loads((DATA / "uground-android-control.tree.json").read_text("utf-8"))
    response = {"plan": {"action_type": "click"}, "output": "(100, 200)", "scale": 1.0}
    action = {"action_type": "click", "x": 250, "y": 250}
    for nodes, options in ((tree, None), ("the tree below", {"tree": tree}), ("the tree below", {"nodes": tree})):
        gold = {"action": action, "nodes": nodes}
        assert gr.judge_step("androidcontrol", "uground", response=response, gold=gold, options=options).step
