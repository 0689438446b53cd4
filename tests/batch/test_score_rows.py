"""Rows to scores: one recipe or several, columns in and columns out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch, recorded_targets, score_rows
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.plugins.registry import collect
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.sample_ids import as_json
from tests.cli.command import Runner, result_of, write_rows

GELATO, CLICK = gr.recipe("gelato"), gr.recipe("click", response_space="pixel")
UNIT, BOX = [0.0, 0.0, 0.5, 0.5], {"bbox": [10, 10, 30, 20], "image_size": [100, 50]}


def batch() -> ScoredBatch:
    """Rows 0 and 3 by click, one of them with a target that cannot be used, row 1 by gelato, row 2 by none."""
    mine, bad = (
        score_rows(GELATO, Inputs(["(250, 250)"], [UNIT]), "abstain", rows=np.array([1])),
        {"bbox": [1], "id": "b"},
    )
    theirs = score_rows(CLICK, Inputs(["(20, 15)", "(1, 1)"], [BOX, bad]), "abstain", rows=np.array([0, 3]))
    return ScoredBatch([mine, theirs], ("distance", "format", "hit", "refusal", "outcome"), 4)


def test_rows_that_are_taken_keep_every_columns_kind() -> None:
    state = object()
    columns = {
        "array": np.array([0.5, 1.5, 2.5]), "wide": np.arange(6).reshape(3, 2), "scalar": np.array(7.0),
        "list": ["a", "b", "c"], "tuple": (1, 2, 3), "text": "abc", "state": state, "map": {0: 1},
    }  # fmt: skip
    sizes, array = [(1.0, 2.0), None, (3.0, 4.0)], np.array(["x", "y", "z"], dtype=object)
    given = Inputs(array, ["t", None, "v"], columns, sizes, None, np.array([4, 5, 6]), [7, 8, 9])
    assert given.take(None) is given
    found = given.take(np.array([2, 0]))
    assert (found.responses, found.targets) == (["z", "x"], ["v", "t"])
    assert isinstance(found.extras["array"], np.ndarray)
    assert found.extras["array"].tolist() == [2.5, 0.5]
    assert found.extras["wide"].tolist() == [[4, 5], [0, 1]]
    assert found.extras["scalar"] is columns["scalar"]
    assert (found.extras["list"], found.extras["tuple"], found.extras["text"]) == (["c", "a"], [3, 1], "abc")
    assert found.extras["state"] is state
    assert found.extras["map"] is columns["map"]
    assert (found.image_sizes, found.model_image_sizes) == ([(3.0, 4.0), (1.0, 2.0)], None)
    assert (found.groups.tolist(), found.token_lengths) == ([6, 4], [9, 7])


def test_rows_of_several_recipes_have_the_same_columns() -> None:
    found = batch()
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        "total": [1, 1, 0, 0], "acc": [1, 1, 0, 0], "valid": [1, 1, 0, 0], "parsed": [1, 1, 0, 1],
        "in_image": [1, 1, 0, 0], "distance": [0, 1, 0, 0], "format": [1, 1, 0, 0], "hit": [1, 0, 0, 0],
        "refusal": [0, 0, 0, 0], "outcome": [1, 0, 0, 0],
    }  # fmt: skip
    assert found.named(lambda recipe: str(recipe.space)) == ["pixel", "unit", None, "pixel"]
    assert [target is not None for target in found.targets] == [True, True, False, False]
    assert {row: str(error.sample) for row, error in found.errors.items()} == {3: "b"}
    assert len(found) == 4


def test_a_rollout_table_says_nothing_where_there_is_nothing() -> None:
    found = batch().rollout_columns()
    nan = np.nan
    np.testing.assert_equal(found["total"], [1.0, 1.0, nan, nan])
    np.testing.assert_equal(found["hit"], [1.0, nan, nan, nan])
    np.testing.assert_equal(found["distance"], [nan, 1.0, nan, nan])
    np.testing.assert_equal(found["x_unit"], [0.2, 0.25, nan, nan])
    np.testing.assert_equal(found["image_size"], [[100.0, 50.0], [nan, nan], [nan, nan], [nan, nan]])
    assert found["recipe"] == ["click", "gelato", None, "click"]
    assert found["reason"] == ["OK", "OK", None, "BAD_TARGET"]


@pytest.mark.parametrize("name", ["image_size", "model_image_size"])
@pytest.mark.parametrize(("outside_first", "size"), [(True, [200.0, 100.0]), (False, [100.0, 50.0])])
def test_sizes_from_outside_go_first_or_stand_in(name: str, outside_first: bool, size: list[float]) -> None:
    bare = {"bbox": [10, 10, 30, 20]}
    sizes = {f"{name}s": [(200.0, 100.0), (300.0, 90.0)]}
    inputs = Inputs(["(20, 15)"] * 2, [{**bare, name: [100, 50]}, bare], **sizes)
    found = score_rows(CLICK, inputs, "raise", outside_first=outside_first)
    assert getattr(found.rollouts, f"{name}s").tolist() == [size, [300.0, 90.0]]


def test_samples_are_asked_for_by_recipes_that_compare_them_alone() -> None:
    asked = []

    def groups(recipe: gr.Recipe, targets: gr.Targets, rows: object) -> list[int]:
        asked.append((recipe.name, len(targets), rows))
        return [0, 0]

    votes = gr.recipe("gui-rcpo", response_space="pixel")
    for recipe in (CLICK, votes):
        score_rows(recipe, Inputs(["(20, 15)"] * 2, [BOX] * 2, groups=groups), "raise")
    assert asked == [("gui-rcpo", 2, None)]


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


def target_of(name: str, space: str) -> Any:
    """Return a box, or its centre where a recipe judges points alone."""
    x1, y1, x2, y2 = box = BOXES[space]
    if not built(name).judges_places:
        return built(name).example.target
    return {"bbox": box} if "bbox" in built(name).accepts else {"point": [(x1 + x2) / 2, (y1 + y2) / 2]}


def one_of_each_kind() -> list[str]:
    """Return recipes that differ in the targets that they accept, or in what else they need."""
    every = {name: built(name) for name in NAMES}
    kinds = {(each.accepts, each.judges_places, each.needs): name for name, each in every.items()}
    return [name for kind, name in kinds.items() if "trajectories" not in kind[2]]


def rollouts(tmp_path: Path, name: str, space: str) -> Path:
    response = built(name).example.response
    row = {"target": target_of(name, space), "instruction": "Save", "source": "made up", **SIZE}
    rows = [
        {**row, "sample_id": sample, "rollout": number, "response": text, "token_length": 9}
        for sample in "ab" for number, text in enumerate([response, "(200, 120)", "(0.2, 0.15)", ""])
    ]  # fmt: skip
    return write_rows(tmp_path / f"{name}-{space}.jsonl", *rows)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", NAMES)
def test_targets_and_sizes_of_a_scored_table_score_the_same_again(name, space):
    plain, target = built(name), target_of(name, space)
    if "trajectories" in plain.needs:
        pytest.skip(f"{name} adds up trajectories, which tables of rollouts do not have")

    def scored(recipe: gr.Recipe, targets: Any, sizes: dict[str, Any]) -> ScoredBatch:
        responses = [plain.example.response, "(200, 120)", "(0.2, 0.15)", ""]
        inputs = Inputs(responses, targets, groups=["a"] * 4, token_lengths=[9] * 4, **sizes)
        return ScoredBatch([score_rows(recipe, inputs, "raise")], (), 4)

    first = scored(built(name, target_space=space), [target] * 4, {f"{key}s": [SIZE[key]] * 4 for key in SIZE})
    found = first.rollout_columns()
    again = scored(plain, first.recorded_targets([as_json(target)] * 4), {f"{key}s": found[key] for key in SIZE})
    np.testing.assert_equal({**again.rollout_columns(), "recipe": None}, {**found, "recipe": None})


@pytest.mark.slow
@pytest.mark.parametrize("name", one_of_each_kind())
def test_every_command_reads_a_scored_table_without_options(capsys, tmp_path, name):
    run = Runner(capsys)
    own = [f"--option={key}={json.dumps(value)}" for key, value in catalogue.shown_with(name).items()]
    space = SPACES[NAMES.index(name) % len(SPACES)]  # all are compared above
    out = tmp_path / "scored"
    source = rollouts(tmp_path, name, space)
    scored = run("pool", "score", source, "--recipe", name, *own, "--option", f"target_space={space}", "--out", out)
    assert scored.code == 0, scored.err
    again, columns = tmp_path / "again", ("sample_id", "rollout", "total", "acc")
    rescore([out], built(name), again)
    assert open_rollouts([again]).read(columns).equals(found := open_rollouts([out]).read(columns))
    (evaluated,) = result_of(run("eval", out, "--recipe", name, *own, "--json").out)
    assert evaluated["correct"] == sum(found["acc"].to_pylist())
    assert run("explain", "--recipe", name, *own, out, "--row", 0, "--json").code == 0
    stats = tmp_path / "stats.jsonl"
    assert run("pool", "stats", out, "--out", stats).code == 0
    areas = [json.loads(line)["target_area"] for line in stats.read_text().splitlines()]
    if not built(name).judges_places:
        assert areas == [None] * 2
    elif space != "model_pixel":  # whose sizes statistics do not read
        assert areas == pytest.approx([0.02 * ("bbox" in built(name).accepts)] * 2), space
    plan = run("pool", "plan", out, "--json")
    assert plan.code == 0
    assert "target_size" in plan.out
    assert "cannot be read" not in plan.err + run("pool", "report", out, "--out", tmp_path / "page").err
