"""Weights over any verifiers, from a config of plain values."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.combine import RESERVED
from grounding_rewards.verifiers import InConsensus
from tests.parsing.fragments import responses

ROOT = Path(__file__).parents[2]
BOX = {"bbox": [10, 10, 30, 20]}
OWN = """
import numpy as np
from dataclasses import dataclass
from grounding_rewards import verifier
from grounding_rewards.verifiers import Hit

def brief(rollouts, limit=10):
    return np.array([float(len(text) <= limit) for text in rollouts.text])

def high(rollouts):
    return np.full(len(rollouts), 7.0)

def grouped(rollouts):
    return np.zeros(len(rollouts))

def own_low(rollouts, low=3):
    return np.zeros(len(rollouts))

def own_weight(rollouts, weight=3):
    return np.zeros(len(rollouts))

@dataclass(frozen=True)
class Long:
    limit: int = 10
    low = -1.0
    high = 0.0
    needs = frozenset()

    def __post_init__(self):
        if self.limit < 0:
            raise ValueError("limit: expected a length")

    def __call__(self, rollouts):
        return -np.array([float(len(text) > self.limit) for text in rollouts.text])

READY = verifier(brief, low=0, high=1)
NUMBER = 5
"""


def build(parts, **options):
    return gr.recipe("composite", **{"response_space": "pixel", "parts": parts, **options})


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def error(parts, **options):
    with pytest.raises(gr.RecipeError) as caught:
        build(parts, **options)
    return str(caught.value)


def test_the_example_prints_its_totals():
    run = subprocess.run(
        [sys.executable, "examples/composite.py"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert [line.split()[:2] for line in run.stdout.splitlines()] == [
        ["total", "acc"], ["1.00", "1"], ["0.70", "1"], ["0.50", "0"], ["0.94", "1"], ["0.20", "0"],
    ]  # fmt: skip


def test_parts_keep_their_order():
    names = ["zeta", "alpha", "mid"]
    parts = {name: {"verifier": "format", "weight": 1} for name in names}
    assert build(parts).parts == ("zeta", "alpha", "mid")
    assert gr.recipe(json.loads(json.dumps(build(parts).to_dict()))).parts == ("zeta", "alpha", "mid")
    assert build(parts) != build(dict(reversed(parts.items())))


def test_a_verifier_of_a_file_scores_alternatives(own):
    done = {"weight": 1, "any_of": {"product": {"name": "action_type", "place": f"{own}:Hit"}}}
    answers = ['{"action": "click", "coordinate": [20, 15]}', '{"action": "long_press", "coordinate": [20, 15]}']
    assert build({"done": done}).score(answers, [BOX] * 2).total.tolist() == [1.0, 0.0]


def test_what_a_function_needs_the_recipe_needs(own):
    part = {"verifier": f"{own}:grouped", "weight": 1, "low": 0, "high": 1, "needs": ["groups"]}
    assert build({"mine": part}).needs == {"groups"}
    with pytest.raises(gr.RecipeError, match="give groups="):
        build({"mine": part}).score("(1, 1)", BOX)


def test_everything_goes_through_a_dict_json_and_pickle(own):
    recipe = build({
        "hit": {"weight": 0.5, "actions": ["", "click"]},
        "long": {"verifier": f"{own}:Long", "weight": 0.25, "limit": 3},
        "brief": {"verifier": f"{own}:brief", "weight": 0.25, "low": 0, "high": 1, "limit": 4}, "format": 0.1,
    }, success="hit", accepts=["bbox"])  # fmt: skip
    for back in (
        gr.recipe(recipe.to_dict()), gr.recipe(json.loads(json.dumps(recipe.to_dict()))),
        pickle.loads(pickle.dumps(recipe)), eval(repr(recipe), {"recipe": gr.recipe}),
    ):  # fmt: skip
        assert back == recipe
        assert hash(back) == hash(recipe)
        assert back.to_dict() == recipe.to_dict()
        assert back.score("(20, 15)", BOX).total.tolist() == recipe.score("(20, 15)", BOX).total.tolist()


def test_the_config_may_change_afterwards():
    parts = {"hit": {"weight": 1, "actions": ["click"]}}
    recipe = build(parts)
    parts["hit"]["actions"].append("tap")
    parts["format"] = 1
    assert recipe.to_dict()["parts"] == {"hit": {"weight": 1, "actions": ("click",)}}
    assert gr.recipe(recipe.to_dict()) == recipe


@pytest.mark.parametrize(
    ("attribute", "more", "message"),
    [
        ("brief", {}, "is a plain function; give the bounds of its scores, such as low: 0 and high: 1"),
        ("brief", {"low": 1, "high": 0}, "expected finite bounds with low <= high"),
        ("brief", {"low": 0, "high": 1, "limt": 2}, "unknown argument 'limt'; did you mean 'limit'? It takes: limit"),
        ("high", {"low": 0, "high": 1, "limit": 2}, "unknown argument 'limit'. It takes: no arguments"),
        ("Long", {"low": 1}, "unknown argument 'low'. It takes: limit"),
        ("Long", {"limit": -1}, "limit: expected a length"),
        ("READY", {"limit": 2}, "is built already; got limit, expected no arguments"),
        ("NUMBER", {}, "is 5; expected a verifier with finite bounds low <= high, a class of them, or a function"),
        ("brief", {"low": 0, "high": 1, "needs": ["group"]}, "needs: got 'group'; did you mean 'groups'?"),
        ("own_low", {"low": 0, "high": 1}, "its argument 'low' cannot be given, because a config means its own 'low'"),
        ("own_weight", {"low": 0, "high": 1}, "its argument 'weight' cannot be given, because a config means its own"),
        ("breif", {}, "has no 'breif'; did you mean 'brief'?"),
    ],
)
def test_what_does_not_fit_in_a_file_is_named(own, attribute, more, message):
    text = error({"mine": {"verifier": f"{own}:{attribute}", "weight": 1, **more}})
    assert text.startswith("composite: part 'mine': ")
    assert message in text
    assert f"{own}:{attribute}" in text or "bounds with low <= high" in text


def test_no_part_takes_a_trainers_name():
    for name in RESERVED:
        assert f"part {name!r}: trainers use that name" in error({name: {"verifier": "hit", "weight": 1}})


weights = st.floats(-3, 3)


@given(weights, weights, weights, st.lists(responses, min_size=1, max_size=5))
def test_the_total_is_the_weighted_sum_and_stays_within_the_bounds(a, b, c, texts):
    recipe = build({"hit": a, "inside_distance": b, "format": c})
    scores = recipe.score(texts, [BOX] * len(texts))
    parts = scores.parts
    assert scores.total.tolist() == (a * parts["hit"] + b * parts["inside_distance"] + c * parts["format"]).tolist()
    assert np.isfinite(scores.total).all()
    assert (recipe.low <= scores.total).all()
    assert (scores.total <= recipe.high).all()
    lone = [recipe.score(text, BOX).total[0] for text in texts]
    assert scores.total.tolist() == lone


@pytest.mark.parametrize(
    ("parts", "reach"),
    [
        ({"action_type": 1}, (None, None, 1.0)),
        ({"hit": 1, "end_hit": {"weight": 1, "radius": 5}}, (5, None, 1.0)),
        ({"hit": {"weight": 1, "point_radius": 3, "enlarge": 1.5}, "end_hit": {"weight": 1, "radius": 5}},
         (3, None, 1.5)),
        ({"end_hit": {"weight": 1, "share": 0.1, "enlarge": 1.2}}, (None, 0.1, 1.2)),
        ({"near_point": {"weight": 1, "share": 0.2}, "action_type": 1}, (None, 0.2, 1.0)),
        ({"hit": {"weight": 1, "point_radius": 3},
          "right": {"verifier": "action_match", "weight": 1, "point_radius": 9}}, (9, None, 1.0)),
        ({"done": {"weight": 1, "any_of": {"product": {"kind": "action_type",
                                                       "place": {"verifier": "hit", "point_radius": 7}}}}},
         (7, None, 1.0)),
    ],
)  # fmt: skip
def test_the_reach_of_the_default_success(parts, reach):
    success = build(parts).success
    assert (success.point_radius, success.point_share, success.enlarge) == reach


@pytest.mark.parametrize(
    ("part", "reach"),
    [
        ({"verifier": "near_point", "radius": 14}, (14, None)), ({"verifier": "near_point", "share": 0.2}, (None, 0.2)),
        ({"verifier": "dense_distance", "point_radius": 14}, (14, None)),
        ({"verifier": "exploration", "point_radius": 14}, (14, None)),
        ({"verifier": "dense_distance", "point_share": 0.2}, (None, 0.2)),
    ],
)  # fmt: skip
def test_a_part_with_a_reach_around_points_judges_them_and_so_does_the_default_success(part, reach):
    recipe = build({"mine": {**part, "weight": 1}})
    assert (recipe.success.point_radius, recipe.success.point_share) == reach
    scores = recipe.score(["(50, 60)", "(90, 90)"], [{"point": [50, 50], "image_size": [100, 100]}] * 2)
    assert scores.acc.tolist() == [1.0, 0.0]
    assert scores.total[0] > scores.total[1]


def test_points_that_success_could_never_find_right_are_no_targets():
    # point_distance has a score for each of them, and the default success, a hit without a reach, was 0 for all.
    point = {"point": [50, 50], "image_size": [100, 100]}
    with pytest.raises(gr.TargetError, match="expected one of bbox, circle, polygon"):
        build({"point_distance": 1}).score("(50, 50)", point)
    near = build({"point_distance": 1}, success={"verifier": "near_point", "radius": 5})
    assert near.score("(50, 54)", point).acc.tolist() == [1.0]
    assert build({"point_distance": 1}).score("(50, 54)", {"bbox": [40, 40, 60, 60], **point}).acc.tolist() == [1.0]
    with pytest.raises(gr.RecipeError, match=r"got point, and success \(Hit\) has no reach around points: none would"):
        build({"gaussian_point": 1}, accepts=["bbox", "point"])


def test_success_may_be_any_that_looks_at_no_target(tmp_path):
    texts, free = ["(100, 80)", "(105, 80)", "(300, 280)", "?"], {"label_free": True}
    assert build({"format": 1}, success="format", **free).score(texts, None).acc.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert build({"in": {"verifier": "in_consensus", "weight": 1, "votes": 3}}, **free).success == InConsensus(votes=3)
    (tmp_path / "own.py").write_text("import numpy as np\n\ndef own(rollouts):\n    return np.ones(len(rollouts))\n")
    own = {"verifier": f"{tmp_path}/own.py:own", "weight": 1, "low": 0, "high": 1}
    assert build({"own": own}, success="own", **free).score(texts, None).acc.tolist() == [1.0] * 4
