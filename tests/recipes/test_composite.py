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
from grounding_rewards.plugins.loading import load
from tests.parsing.fragments import responses

ROOT = Path(__file__).parents[2]
EXAMPLE = load(f"{ROOT}/examples/composite.py:CONFIG")
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


def test_outcome_diagnosis_efficiency_as_50_30_20():
    recipe = gr.recipe(EXAMPLE)
    texts = [
        "<think>the red one</think>(20, 15)",  # right, explained, brief
        "(20, 15)",  # right and brief
        "<think>the red one</think>(31, 15)",  # explained and brief
        "<think>" + "well " * 27 + "ok</think>(20, 15)",  # right, explained, 29 words: 2 - 29/20 of efficiency
        "<think>" + "well " * 60 + "</think>(31, 15)",  # explained
        "no",
    ]
    scores = recipe.score(texts, [BOX] * 6)
    assert recipe.parts == ("outcome", "diagnosis", "efficiency")
    assert scores.parts["outcome"].tolist() == [1, 1, 0, 1, 0, 0]
    assert scores.parts["diagnosis"].tolist() == [1, 0, 1, 1, 1, 0]
    assert scores.parts["efficiency"].tolist() == pytest.approx([1, 1, 1, 0.55, 0, 1])
    assert scores.total.tolist() == pytest.approx([1.0, 0.7, 0.5, 0.91, 0.3, 0.2])
    assert scores.acc.tolist() == [1, 1, 0, 1, 0, 0]
    assert (recipe.low, recipe.high) == (0.0, 1.0)


def test_the_example_prints_its_totals():
    run = subprocess.run(
        [sys.executable, "examples/composite.py"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert [line.split()[:2] for line in run.stdout.splitlines()] == [
        ["total", "acc"], ["1.00", "1"], ["0.70", "1"], ["0.50", "0"], ["0.94", "1"], ["0.20", "0"],
    ]  # fmt: skip


def test_a_weight_alone_stands_for_the_verifier_of_that_name():
    short, long = build({"hit": 0.8, "format": 0.2}), build({"hit": {"verifier": "hit", "weight": 0.8}, "format": 0.2})
    assert short.reward == long.reward
    assert short.score(["(20, 15)", "(1, 1)", "?"], [BOX] * 3).total.tolist() == pytest.approx([1.0, 0.2, 0.0])
    assert short.formula == "total = 0.8 · hit + 0.2 · format"


def test_arguments_stand_beside_name_and_weight():
    recipe = build({"hit": {"weight": 1, "point_radius": 5, "actions": ["", "tap"]}})
    assert recipe.accepts == {"bbox", "polygon", "circle", "point"}
    assert recipe.score(["(3, 4)", "(3, 5)"], [{"point": [0, 0]}] * 2).acc.tolist() == [1, 0]


def test_weights_below_0_and_bounds():
    recipe = build({"hit": 2, "talk": {"verifier": "format", "weight": -0.5, "pattern": "[a-z]"}})
    assert (recipe.low, recipe.high) == (-0.5, 2.0)
    assert recipe.score(["(20, 15)", "at (20, 15)", "at"], [BOX] * 3).total.tolist() == [2.0, 1.5, -0.5]
    assert recipe.formula == "total = 2 · hit - 0.5 · talk\ntalk = format"


def test_parts_keep_their_order():
    names = ["zeta", "alpha", "mid"]
    parts = {name: {"verifier": "format", "weight": 1} for name in names}
    assert build(parts).parts == ("zeta", "alpha", "mid")
    assert gr.recipe(json.loads(json.dumps(build(parts).to_dict()))).parts == ("zeta", "alpha", "mid")
    assert build(parts) != build(dict(reversed(parts.items())))


def test_a_graded_diagnosis():
    steps = ["<think>", ["</think>", 2.0]]
    diagnosis = {"verifier": "graded_format", "weight": 0.3, "steps": steps, "parsed": 1}
    recipe = build({"outcome": {"verifier": "hit", "weight": 0.5}, "diagnosis": diagnosis}, dialect="bare_tuple")
    texts = ["<think>red</think>(20, 15)", "(20, 15)", "<think>", "?"]
    scores = recipe.score(texts, [BOX] * 4)
    assert scores.parts["diagnosis"].tolist() == [1.0, 0.25, 0.25, 0.0]
    assert scores.total.tolist() == pytest.approx([0.8, 0.575, 0.075, 0.0])
    assert gr.recipe(json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_what_makes_acc():
    target = [BOX] * 3
    texts = ["(20, 15)", "(1, 1)", "?"]
    parts = {"form": {"verifier": "format", "weight": 1}, "inside_distance": 1}
    assert build(parts).score(texts, target).acc.tolist() == [1, 0, 0]
    assert build(parts, success="form").score(texts, target).acc.tolist() == [1, 1, 0]
    assert build(parts, success="inside_distance").score(texts, target).acc.tolist() == [1, 0, 0]
    assert build(parts, success="format").score(texts, target).acc.tolist() == [1, 1, 0]
    tied = build(parts, success={"verifier": "format", "pattern": r"[?]"})
    assert tied.score(texts, target).acc.tolist() == [0, 0, 1]


def test_acc_is_the_first_hit_among_the_parts():
    parts = {"outcome": {"verifier": "hit", "weight": 1, "point_radius": 5}}
    assert build(parts).score("(3, 4)", {"point": [0, 0]}).acc.tolist() == [1]


def test_a_right_refusal_is_a_success_where_it_is_a_part():
    recipe = build({"hit": 0.5, "correct_refusal": 0.5})
    assert recipe.accepts == {"bbox", "polygon", "circle", "refusal"}
    scores = recipe.score(["(20, 15)", "refusal", "(20, 15)"], [BOX, {"refusal": True}, {"refusal": True}])
    assert scores.acc.tolist() == [1, 1, 0]
    with pytest.raises(gr.TargetError, match="field 'refusal'"):
        build({"hit": 1}).score("refusal", {"refusal": True})


def test_spaces():
    recipe = build({"hit": 1}, response_space="thousandths", space="unit")
    assert (recipe.space, recipe.response_space, recipe.target_space) == ("unit", "thousandths", "pixel")
    assert recipe.score("(20, 30)", BOX, image_sizes=(1000, 500)).acc.tolist() == [1]
    with pytest.raises(gr.TargetError, match="image_size"):
        recipe.score("(20, 30)", BOX)
    assert build({"hit": 1}, target_space="unit").target_space == "unit"
    with pytest.raises(gr.SpaceError, match="composite needs response_space, the space that the model answers in: pix"):
        gr.recipe("composite", parts={"hit": 1})
    with pytest.raises(gr.SpaceError, match="unknown space 'px'"):
        build({"hit": 1}, space="px")


def test_dialect_answers_and_thinking():
    recipe = build({"hit": 1}, dialect="json_2d", answers="last", thinking="read")
    text = '<think>{"point_2d": [20, 15]}</think>'
    assert recipe.score([text, "(20, 15)"], [BOX] * 2).acc.tolist() == [1, 0]
    assert "option dialect: unknown dialect 'json'" in error({"hit": 1}, dialect="json")


def test_kinds_of_target_can_be_named():
    assert build({"hit": 1}, accepts=["bbox"]).accepts == {"bbox"}
    for wrong in ("bbox", [], ["box"], [["bbox"]], 5):
        message = error({"hit": 1}, accepts=wrong)
        assert message.startswith("composite: option accepts: got ")
        assert "expected a list of bbox, polygon, circle, point, refusal, action" in message


def test_a_function_of_a_file(own):
    part = {"verifier": f"{own}:brief", "weight": 0.2, "low": 0, "high": 1}
    recipe = build({"hit": 0.8, "brief": part})
    assert recipe.score(["(20, 15)", "it is (20, 15)"], [BOX] * 2).total.tolist() == [1.0, 0.8]
    roomy = build({"hit": 0.8, "brief": {**part, "limit": 20}})
    assert roomy.score(["(20, 15)", "it is (20, 15)"], [BOX] * 2).total.tolist() == [1.0, 1.0]
    assert roomy != recipe
    assert roomy == build({"hit": 0.8, "brief": {**part, "limit": 20}})


def test_a_class_and_a_verifier_of_a_file(own):
    recipe = build({
        "long": {"verifier": f"{own}:Long", "weight": 1, "limit": 3}, "ready": {"verifier": f"{own}:READY", "weight": 1}
    })  # fmt: skip
    assert (recipe.low, recipe.high) == (-1.0, 1.0)
    assert recipe.score(["ab", "abcd", "abcdefghijkl"], [BOX] * 3).total.tolist() == [1.0, 0.0, -1.0]


def test_what_a_function_needs_the_recipe_needs(own):
    part = {"verifier": f"{own}:grouped", "weight": 1, "low": 0, "high": 1, "needs": ["groups"]}
    assert build({"mine": part}).needs == {"groups"}
    with pytest.raises(gr.RecipeError, match="give groups="):
        build({"mine": part}).score("(1, 1)", BOX)


def test_a_function_out_of_its_bounds_is_named(own):
    recipe = build({"mine": {"verifier": f"{own}:high", "weight": 1, "low": 0, "high": 1}})
    with pytest.raises(gr.VerifierError, match=r"verifier high returned 7.0 for row 0; expected 0.0 to 1.0"):
        recipe.score("(1, 1)", BOX)


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


def test_another_process_reads_a_pickle_that_names_a_file(own, tmp_path):
    part = {"verifier": f"{own}:brief", "weight": 1, "low": 0, "high": 1}
    (tmp_path / "recipe.pickle").write_bytes(pickle.dumps(build({"brief": part})))
    code = "import pickle; print(pickle.load(open('recipe.pickle', 'rb')).score('short', [1, 2, 3, 4]).total)"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == ("[1.]", "")


def test_the_config_may_change_afterwards():
    parts = {"hit": {"weight": 1, "actions": ["click"]}}
    recipe = build(parts)
    parts["hit"]["actions"].append("tap")
    parts["format"] = 1
    assert recipe.to_dict()["parts"] == {"hit": {"weight": 1, "actions": ("click",)}}
    assert gr.recipe(recipe.to_dict()) == recipe


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (None, "composite needs parts by name, such as"),
        ({}, "composite needs parts by name, such as"),
        ([["hit", 1]], "composite needs parts by name, such as"),
        ("hit", "composite needs parts by name, such as"),
        ({"hti": 1}, "composite: part 'hti': unknown verifier 'hti'; did you mean 'hit'? There are: "),
        ({"mine": {"verifier": "hti", "weight": 1}}, "part 'mine': unknown verifier 'hti'; did you mean 'hit'?"),
        ({"mine": {"verifier": 5, "weight": 1}}, "composite: part 'mine': verifier: got 5; expected its name"),
        ({"mine": {"verifier": "hit"}}, "part 'mine' has no weight: got {'verifier': 'hit'}; expected a weight"),
        ({"hit": {"wieght": 1}}, "; did you mean 'weight' by 'wieght'?"),
        ({"hit": "0.5"}, "composite: part 'hit': weight: got '0.5'; expected a finite number"),
        ({"hit": None}, "composite: part 'hit': weight: got None; expected a finite number"),
        ({"hit": True}, "composite: part 'hit': weight: got True; expected a finite number"),
        ({"hit": float("nan")}, "composite: part 'hit': weight: got nan; expected a finite number"),
        ({"hit": float("inf")}, "composite: part 'hit': weight: got inf; expected a finite number"),
        ({"hit": 10**400}, "composite: part 'hit': weight: got 1000"),
        ({"hit": {"weight": 1, "poligon": 2}}, "part 'hit': hit: unknown argument 'poligon'; did you mean 'polygon'?"),
        ({"hit": {"weight": 1, "border": "thick"}}, "composite: part 'hit': hit: "),
        ({"reward": {"verifier": "hit", "weight": 1}}, "composite: part 'reward': trainers use that name"),
        ({"acme/hit": 1}, 'or it is no name; choose another, and name its verifier: {"verifier": \'acme/hit\''),
        ({5: 1}, "composite: part 5: trainers use that name, or it is no name"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error_that_names_the_part(parts, message):
    assert message in error(parts)


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


def test_a_success_has_no_weight():
    text = error({"hit": 1}, success={"verifier": "hit", "weight": 3})
    assert text == "composite: option success: got a weight; expected none, because acc is 0 or 1: leave it out"


@pytest.mark.parametrize("success", ["hti", 5, {"weight": 1}, ["hit"], {"verifier": 5}])
def test_a_success_that_is_nothing_is_an_error(success):
    text = error({"outcome": {"verifier": "hit", "weight": 1}}, success=success)
    assert text.startswith("composite: option success: ")
    assert "outcome" in text


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
