"""``compare`` of recorded published rewards with our recipes: all that differs is a named deviation, by its cause."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.batch import two_recipes
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.opening import open_rows
from tests.golden import harness
from tests.golden.test_golden import identity, lines, numbers

TOTALS = {
    "agentcpm": {"type": 1.0, "args": 1.0}, "btlui": {"format": 0.1, "blink": 0.3, "accuracy": 0.6},
    "gelato_norm": {"overall": 1.0}, "gelato_px": {"overall": 1.0}, "groundnext": {"score": 1.0},
    "gta1": {"accuracy": 1.0}, "guig1": {"hit": 1.0, "iou": 1.0, "box": 1.0},
    "guig2": {"gaussian_point": 1.0, "gaussian_plane": 1.0, "format": 1.0}, "guir1": {"overall": 1.0},
    "infigui_g1": {"score": 1.0}, "segui": {"point": 1.0, "format": 0.5}, "uiins": {"score": 1.0},
    "uiagile": {"action": 1.0, "grounding": 1.0, "format": 1.0, "parameter": 1.0}, "uirft": {"score": 1.0},
    "uir1": {"action": 1.0, "coord": 1.0, "format": 1.0}, "uis1": {"score": 1.0},
}  # fmt: skip
"""Recorded values that a source's total is made of, with their weights."""


CAUSES: dict[str, dict[tuple[str, str], int]] = {
    "agentcpm": {},
    "btlui": {
        ("documented-fence", "other"): 86, ("documented-fence", "total"): 304, ("documented-fence", "out of image"): 6,
        ("documented-fence", "format"): 26, ("leading-space", "spaces"): 2,
    },
    "gelato_norm": {
        ("unicode-digits", "other"): 2, ("huge-number", "raises"): 2, ("bad-target", "target"): 13,
        ("no-extent", "border"): 1,
    },
    "gelato_px": {
        ("spaces", "spaces"): 2, ("huge-number", "raises"): 2, ("no-extent", "raises"): 1, ("bad-target", "raises"): 5,
        ("unicode-digits", "other"): 1, ("bad-target", "target"): 10,
    },
    "groundnext": {
        ("no-call-is-no-point", "other"): 36, ("no-numbers-are-no-point", "other"): 16,
        ("no-call-is-no-point", "spaces"): 1, ("bad-target", "target"): 6,
    },
    "gta1": {
        ("decimals", "other"): 3, ("spaces", "other"): 1, ("unicode-digits", "other"): 2, ("spaces", "spaces"): 2,
        ("decimals", "border"): 2, ("spaces", "border"): 2, ("several-answers", "several answers"): 1,
    },
    "guig1": {
        ("outside-image", "no number"): 6, ("outside-image", "out of image"): 10, ("one-dict", "other"): 3,
        ("json-words", "other"): 1, ("spaces", "spaces"): 1, ("one-dict", "border"): 2, ("thin-target", "border"): 1,
        ("bad-target", "target"): 1,
    },
    "guig2": {
        ("spaces", "spaces"): 3, ("huge-number", "raises"): 1, ("thin-box", "raises"): 2,
        ("unicode-digits", "other"): 1, ("thin-box", "border"): 2, ("bad-target", "target"): 12,
        ("thin-box", "total"): 1,
    },
    "guir1": {
        ("white-space", "spaces"): 11, ("numbers", "spaces"): 1, ("numbers", "other"): 8, ("quotes", "other"): 1,
        ("no-point", "other"): 23, ("no-eval", "other"): 3, ("target", "target"): 19, ("no-area", "border"): 1,
    },
    "infigui_g1": {
        ("leading-space", "spaces"): 1, ("brackets-in-prose", "other"): 2, ("brackets-in-strings", "other"): 2,
        ("bad-target", "target"): 3,
    },
    "segui": {("booleans", "other"): 1, ("below-nothing", "out of image"): 1, ("bad-target", "target"): 5},
    "uiins": {
        ("spaces", "several answers"): 5, ("several-answers", "several answers"): 1, ("spaces", "spaces"): 12,
    },
    "uiagile": {
        ("spaces", "spaces"): 2, ("pieces-of-numbers", "other"): 5, ("unicode-digits", "other"): 1,
        ("bad-target", "target"): 2,
    },
    "uirft": {("no-numbers", "raises"): 3},
    "uir1": {
        ("outer-spaces", "spaces"): 8, ("spaces", "spaces"): 1, ("decimals", "other space"): 8,
        ("spaces", "other space"): 2, ("double-quotes", "other"): 1, ("unicode-digits", "other"): 1,
        ("no-coordinate", "other"): 24, ("target-numbers", "other"): 2, ("decimals", "out of image"): 6,
        ("double-quotes", "format"): 2, ("double-quotes", "border"): 1, ("bad-target", "target"): 8,
    },
    "uis1": {("no-numbers", "other"): 3, ("key-and-answer", "other"): 2, ("flipped-swipe", "other"): 4},
}  # fmt: skip
"""Lines that differ, by the deviation that applies and the cause that ``compare`` names."""


def recorded(peer: str, line: Mapping[str, Any]) -> float:
    """Return the total that was recorded; what published code raised is raised again."""
    values = numbers(line["expected"])
    if any(not isinstance(values.get(name), float | int) for name in TOTALS[peer]):
        raise ArithmeticError(str(line["expected"]))
    return float(sum(weight * values[name] for name, weight in TOTALS[peer].items()))


def compared(peer: str, several: list[Any], file: Path) -> Counter[tuple[str | None, str]]:
    """Count the lines that differ, by deviation and cause, of those with the same options."""
    recipe, adapter = harness.build(peer, several[0]), harness.PEERS[peer]
    known = {identity(line): line for line in several}

    def oracle(solution_str: str, ground_truth: Any, data_source: str = "", extra_info: Any = None) -> Any:
        line = {**several[extra_info["line"]], "response": solution_str}
        if identity(line) not in known and harness.deviation(peer, line) is not None:
            raise LookupError("nobody recorded this")
        sizes = adapter.score_options(line)
        ours = recipe.score([solution_str], [adapter.target(line)], bad_target="abstain", **sizes)
        total = recorded(peer, known[identity(line)]) if identity(line) in known else ours.total[0]
        same = abs(total - ours.total[0]) <= 1e-9
        return {"score": total, "acc": ours.acc[0] if same else total > ours.total[0]}

    rows = [
        {"response": line["response"], "target": adapter.target(line), "extra_info": {"line": place},
         **{name[:-1]: None if sizes is None else [*sizes] for name, sizes in adapter.score_options(line).items()}}
        for place, line in enumerate(several)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scorers = [Scoring(each, Columns(), "abstain") for each in (gr.wrap(oracle), recipe)]
    found = two_recipes.compare_recipes(open_rows(file, None), *scorers, clock=lambda: 0.0, advance=lambda done: None)
    named = Counter[tuple[str | None, str]]()
    for cause, differing in found.examples.items():
        for row in differing:
            deviation = harness.deviation(peer, several[int(row.place.rpartition("row ")[2].partition(" ")[0])])
            named[deviation and deviation.name, cause] += 1
    return named


@pytest.mark.parametrize("peer", TOTALS)
@pytest.mark.filterwarnings("ignore::grounding_rewards.TargetWarning")
def test_lines_differ_where_a_deviation_applies(peer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_recipes, "SHOWN", 1000)
    groups = defaultdict[str, list[Any]](list)
    for line in lines(peer):
        if isinstance(line["response"], str):
            groups[repr(harness.PEERS[peer].options(line))].append(line)
    counts = (compared(peer, several, tmp_path / "rows.jsonl") for several in groups.values())
    assert sum(counts, Counter()) == CAUSES[peer]
