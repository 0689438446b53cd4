"""Targets that a table of rollouts records are read back with the recipe's name alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.batch.score_rows import recorded_targets
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.plugins.registry import collect
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.sample_ids import as_json
from tests.cli.command import Runner, write_rows

NAMES = list(collect([]).recipes)
SPACES = [*map(str, CoordSpace)]
SIZE = {"image_size": [1000, 800], "model_image_size": [500, 400]}
BOXES = {
    "pixel": [100, 80, 300, 160], "model_pixel": [50, 40, 150, 80], "unit": [0.1, 0.1, 0.3, 0.2],
    "thousandths": [100, 100, 300, 200],
}  # fmt: skip


def built(name: str, **options: Any) -> gr.Recipe:
    return gr.recipe(name, **{**catalogue.shown_with(name), **options})


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", NAMES)
def test_own_forms_read_back_as_the_same_places(name, space):
    recipe, plain = built(name, target_space=space), built(name)
    (read,) = recipe.read_targets([recipe.example.target], warn=False).rows
    (text,) = recorded_targets(recipe, [as_json(recipe.example.target)], [read])
    (back,) = plain.read_targets([text], warn=False).rows
    if read.regions:
        assert back == read
    assert replace(back, space=None) == replace(read, space=None)


def test_targets_whose_space_the_name_says_stay_as_they_are():
    recipe = built("gelato")
    assert recorded_targets(recipe, ["[0.1, 0.1, 0.3, 0.2]"], recipe.read_targets([[0.1, 0.1, 0.3, 0.2]]).rows) == [
        "[0.1, 0.1, 0.3, 0.2]"
    ]


def test_targets_that_cannot_be_read_and_refusals_stay_as_they_are():
    texts = ['"up"', '{"refusal": true}', None]
    recipe = built("gelato", target_space="pixel")
    read = recipe.read_targets(texts, bad_target="abstain", warn=False).rows
    assert recorded_targets(recipe, texts, read) == texts


def rollouts(tmp_path: Path, name: str, space: str) -> Path:
    response = built(name).example.response
    row = {"target": {"bbox": BOXES[space]}, "instruction": "Save", "source": "made up", **SIZE}
    rows = [
        {**row, "sample_id": sample, "rollout": number, "response": text, "token_length": 9}
        for sample in "ab" for number, text in enumerate([response, "(200, 120)", "(0.2, 0.15)", ""])
    ]  # fmt: skip
    return write_rows(tmp_path / f"{name}-{space}.jsonl", *rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_scored_table_reads_back_to_the_same_scores_and_sizes(tmp_path, name):
    if "trajectories" in built(name).needs:
        pytest.skip(f"{name} adds up trajectories, which tables of rollouts do not have")
    columns = ("sample_id", "rollout", "total", "acc")
    for space in SPACES:
        first, again = tmp_path / f"first-{space}", tmp_path / f"again-{space}"
        recipe = built(name, target_space=space)
        rescore([rollouts(tmp_path, name, space)], recipe, first)
        rescore([first], built(name), again)
        assert open_rollouts([again]).read(columns).equals(open_rollouts([first]).read(columns))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_command_reads_a_scored_table_without_options(capsys, tmp_path, name):
    needs = built(name).needs
    if "trajectories" in needs:
        pytest.skip(f"{name} adds up trajectories, which tables of rollouts do not have")
    run = Runner(capsys)
    own = [f"--option={key}={json.dumps(value)}" for key, value in catalogue.shown_with(name).items()]
    for space in SPACES:
        out = tmp_path / f"scored-{space}"
        source = rollouts(tmp_path, name, space)
        scored = run("pool", "score", source, "--recipe", name, *own, "--option", f"target_space={space}", "--out", out)
        assert scored.code == 0, scored.err
        acc = [row["acc"] for row in open_rollouts([out]).read(["acc"]).to_pylist()]
        (evaluated,) = json.loads(run("eval", out, "--recipe", name, *own, "--json").out)
        assert evaluated["correct"] == sum(acc)
        assert run("explain", name, *own, "--file", out, "--row", 0, "--json").code == 0
        stats = tmp_path / f"stats-{space}.jsonl"
        assert run("pool", "stats", out, "--out", stats).code == 0
        areas = [json.loads(line)["target_area"] for line in stats.read_text().splitlines()]
        if space != "model_pixel":  # whose sizes statistics do not read
            assert areas == pytest.approx([0.02, 0.02]), space
        plan = run("pool", "plan", out, "--json")
        assert plan.code == 0
        assert "target_size" in plan.out
        assert "cannot be read" not in plan.err + run("pool", "report", out, "--out", tmp_path / f"page-{space}").err
