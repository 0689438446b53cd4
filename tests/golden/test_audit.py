"""Formulas of examples/audit.py: equal to their lines, and policies without any skill earn a share of each."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path
from typing import Any

import pytest

from grounding_rewards.testing.audit import HONEST, Screens, audit

ROOT = Path(__file__).parents[2]
LINES = ROOT.parent / "shared/data/golden_more"
FORMULAS = runpy.run_path(str(ROOT / "examples/audit.py"))

# Texts in lines that are read otherwise: numbers that are none, answers that are program code, unusual keys and quotes.
DEPARTURES = {
    "nemorl_giou": ["[NaN,", "[nan,"],
    "seagent": ["it's", "it\\'s", "pyautogui.", "a\n\nb"],
    "ton": ["[1+0,", "0j", "'cl'+", "dict(", "float(", "[1-0.6"],
    "segzero": ["[null,", "9" * 40, "point_1", "abcd", "300, 1]"],
    "spotlight": ["</think>a<think>", "<think>maybe"],
}


@pytest.mark.skipif(not LINES.exists(), reason="no published lines beside this checkout")
@pytest.mark.parametrize(
    ("name", "compared"),
    [("nemorl_giou", 251), ("seagent", 260), ("ton", 238), ("openguirl", 227), ("segzero", 258), ("perception_r1", 257),
     ("spotlight", 252)],
)  # fmt: skip
def test_a_formula_equals_its_published_lines(name: str, compared: int) -> None:
    equal = 0
    for line in map(json.loads, (LINES / f"{name}.jsonl").read_text("utf-8").splitlines()):
        expected = line["expected"].get("loose", line["expected"])
        text = line["response"] if isinstance(line["response"], str) else line["response"][-1][1]
        departs = any(each in text for each in DEPARTURES.get(name, ())) or line["extra"].get("giou_penalty_thres") == 0
        if departs or line["category"] == "bad_target" or "exception" in json.dumps(expected):
            continue
        more: dict[str, Any] = line["extra"] if name == "spotlight" else {}
        found = FORMULAS[name](line["response"], line["ground_truth"], **more)
        for key, value in expected.items():
            assert found[key] == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True), (line, key)
        equal += 1
    assert equal == compared


@pytest.mark.parametrize(
    ("name", "policy", "share"),
    [("SEAGENT", "centre", 0.77), ("TON", "centre", 0.70), ("OPENGUIRL", "whole screen", 0.71),
     ("SEGZERO", "centre", 0.5), ("PERCEPTION_R1", "whole screen", 0.52), ("SPOTLIGHT", "uniform", 0.27),
     ("NEMORL_GIOU", "inverted", 1336)],
)  # fmt: skip
def test_a_policy_without_any_skill_farms_each(name: str, policy: str, share: float) -> None:
    earned = {each.policy: each for each in audit(FORMULAS[name], Screens.drawn(20))}
    assert earned[policy].farms
    assert math.isclose(earned[policy].share, share, rel_tol=0.1)
    assert earned[HONEST].share == 1.0
