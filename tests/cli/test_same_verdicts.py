"""The same answers get the same verdicts from ``rollout``, ``score`` and ``eval``, and from a table that is read again.

Each recipe is asked in a pair of a space of targets and a way of resizing, so that all pairs come.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, cycle, product
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.coords.spaces import PIXEL, SPACES, convert
from grounding_rewards.engines import Answer, Reply
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import read_rows, result_of, write_rows

SIZE, SEEN = (1400, 700), (1148, 588)
RESIZED = [
    {}, {"model": "qwen2_5_vl"}, {"model": "verl+qwen3_vl", "max_pixels": 602112}, {"family": "gta1"},
    {"model": "qwen2_5_vl", "response_space": "thousandths"},
]  # fmt: skip
FLAGS = {
    "model": "--pipeline", "max_pixels": "--max-pixels", "family": "--family", "response_space": "--response-space",
}  # fmt: skip
PAIRS = [*product([{}, *({"target_space": str(space)} for space in SPACES)], RESIZED)]
NAMES = gr.list_recipes()


@dataclass(frozen=True)
class Echo:
    """An engine that answers with its prompt."""

    model: str

    @contextmanager
    def start(self):
        def answer(requests):
            return [Reply(tuple(Answer(request.messages[-1].text) for _ in request.seeds)) for request in requests]

        answer.at_once, answer.resizing = 1, None
        yield answer


def targets_of(recipe):
    """A target at the recipe's example of an answer, in the recipe's space of targets, and one beside it."""
    if not recipe.judges_places:
        return [recipe.example.target, {"action": "answer"}]
    sizes = {"image_sizes": SIZE, "model_image_sizes": SEEN if recipe.resizing is None else None}
    kind = "bbox" if "bbox" in recipe.accepts else "point"
    somewhere = {kind: [0.1, 0.1, 0.2, 0.2][: 4 if kind == "bbox" else 2], "space": "unit"}
    rollouts = recipe.prepare([recipe.example.response], [somewhere], groups=["s"], **sizes)
    both = rollouts.targets.image_sizes, rollouts.targets.model_image_sizes
    (side,) = convert(np.array([[30.0, 30.0]]), PIXEL, recipe.target_space, *both)
    (place,) = convert(rollouts.predictions.xy, recipe.space, recipe.target_space, *both)
    (box,) = convert(rollouts.predictions.box, recipe.space, recipe.target_space, *both)
    box = np.hstack([place - side, place + side]) if np.isnan(box).any() else box
    more = {"action": "click"} if "action" in recipe.accepts else {}
    more |= {"wh": SIZE} if recipe.name == "tailrl" else {}  # without which its own form has answers in thousandths
    (extent,) = convert(np.array([SIZE], dtype=float), PIXEL, recipe.target_space, *both)
    away = np.where(place > extent / 2, -extent, extent) * 0.3  # farther into the image
    there = [box, box + np.tile(away, 2)] if kind == "bbox" else [place, place + away]
    return [{kind: at.tolist(), **more} for at in there]


NEVER = ("gui-rcpo", "gui-rcpo-published", "vision-reasoner")
"""Recipes without labels, and one whose success needs points beside boxes: all three commands call these wrong."""


@pytest.mark.parametrize(("name", "pair"), [*zip(NAMES, cycle(PAIRS), strict=False)])
def test_rollout_score_and_eval_judge_alike(run, tmp_path, name, pair):
    space, resized = pair
    shown = {key: value for key, value in shown_with(name).items() if not (resized and key == "response_space")}
    recipe = gr.recipe(name, **shown, **resized, **space)
    right, beside = [{"id": "any"}] * 2 if recipe.label_free else targets_of(recipe)
    rows = [
        {"sample_id": sample, "instruction": text, "target": target, "image_size": SIZE}
        | ({} if recipe.resizing else {"model_image_size": SEEN})
        for sample, text, target in (
            ("a", recipe.example.response, right), ("b", recipe.example.response, beside), ("c", "nothing", right),
        )
    ]  # fmt: skip
    data, out = write_rows(tmp_path / "data.jsonl", *rows), tmp_path / "out"
    answered = write_rows(tmp_path / "answered.jsonl", *({**row, "response": row.pop("instruction")} for row in rows))
    words = ["--recipe", name, *chain(*((FLAGS[key], value) for key, value in resized.items()))]
    words += chain(*(("--option", f"{key}={json.dumps(value)}") for key, value in shown.items()))
    where = [*chain(*(("--target-space", value) for value in space.values()))]
    engine = ("--engine", f"{Path(__file__)}:Echo", "--model", "m", "--n", 1, "--prompt", "plain")
    made = run("rollout", data, *engine, "--out", out, *words, *where)
    assert made.code == 0, made.err
    assert run("score", answered, "--out", tmp_path / "scored.jsonl", *words, *where).code == 0
    columns = ["total", "acc", "reason"]
    scored = [{key: row[key] for key in columns} for row in read_rows(tmp_path / "scored.jsonl")]
    assert open_rollouts([out]).read(columns).to_pylist() == scored
    assert [row["acc"] for row in scored] == ([0, 0, 0] if name in NEVER else [1, 0, 0])
    for again in ([answered, *words, *where], [out, *words]):  # the table says the space of its targets
        (entry,) = result_of(run("eval", *again, "--json").out)
        assert (entry["valid"], entry["correct"]) == (3, sum(row["acc"] for row in scored))
