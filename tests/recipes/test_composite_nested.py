"""Combinations in a config of plain values: what Python says, one for one, and what cannot be said."""

import json
import pickle
from pathlib import Path

import pytest

import grounding_rewards as gr
from grounding_rewards.combine import affine, asymmetric, best, clip, gate, product, steps, weighted
from grounding_rewards.recipes.composite import expression, shown
from grounding_rewards.verifiers import (
    ActionType,
    Format,
    Hit,
    InsideDistance,
    TextMatch,
    any_of,
    if_placed,
    same_action,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
BOX = {"bbox": [10, 10, 30, 20]}
RESPONSES = ["<think>the red one</think>(20, 15)", "(20, 15)", "<think>the red one</think>(99, 15)", "hm " * 30]
CLICK = '{"action": "click", "coordinate": [%d, %d]}'


def build(parts, **options):
    return gr.recipe("composite", response_space="pixel", parts=parts, **options)


def example(name):
    return gr.recipe(json.loads((EXAMPLES / name).read_text("utf-8")))


def test_outcome_half_diagnosis_three_tenths_efficiency_two_tenths():
    scores = example("composite_split.json").score(RESPONSES, [BOX] * 4)
    assert scores.total.tolist() == pytest.approx([1.0, 0.7, 0.5, 0.0])
    assert scores.acc.tolist() == [1, 1, 0, 0]


def test_gains_count_one_and_a_half_times_and_losses_half():
    recipe = example("composite_asymmetric.json")
    scores = recipe.score(RESPONSES, [BOX] * 4)
    assert scores.parts["split"].tolist() == pytest.approx([1.0, 0.7, 0.5, 0.0])
    assert scores.parts["signed"].tolist() == pytest.approx([1.0, 0.4, 0.0, -1.0])
    assert scores.total.tolist() == pytest.approx([1.5, 0.6, 0.0, -0.5])
    assert (recipe.low, recipe.high, scores.acc.tolist()) == (-0.5, 1.5, [1, 1, 0, 0])
    assert recipe.parts == ("outcome", "diagnosis", "efficiency", "split", "signed", "amplified")
    assert recipe.formula.endswith(
        "amplified = asymmetric(affine(0.5 · hit + 0.3 · format + 0.2 · format, scale=2.0, shift=-1.0), "
        "positive=1.5, negative=0.5)"
    )


H, N = {"hit": "hit"}, {"near": "inside_distance"}


@pytest.mark.parametrize(
    ("config", "term"),
    [
        ("hit", Hit()),
        ({"verifier": "hit", "enlarge": 1.2}, Hit(enlarge=1.2)),
        ({"product": {**H, "form": "format"}}, product(hit=Hit(), form=Format())),
        ({"best": {**H, **N}}, best(hit=Hit(), near=InsideDistance())),
        ({"weighted": {"hit": 0.9, "form": {"weight": 0.1, "verifier": "format"}}},
         weighted(hit=(0.9, Hit()), form=(0.1, Format()))),
        ({"gate": {"when": {"form": "format"}, "then": H, "otherwise": -1}},
         gate(when=("form", Format()), then=("hit", Hit()), otherwise=-1)),
        ({"clip": {"part": N, "low": 0.2, "high": 0.8}}, clip("near", InsideDistance(), 0.2, 0.8)),
        ({"affine": {"part": H, "scale": 2, "shift": -1}}, affine("hit", Hit(), 2, -1)),
        ({"affine": {"part": H}}, affine("hit", Hit())),
        ({"asymmetric": {"part": H, "positive": 2}}, asymmetric("hit", Hit(), positive=2)),
        ({"steps": {"part": N, "edges": [0.5], "values": [0, 1]}}, steps("near", InsideDistance(), [0.5], [0, 1])),
        ({"any_of": {"product": {"name": "action_type", "place": {"if_placed": "hit"}}}},
         any_of(product(name=ActionType(), place=if_placed(Hit())))),
        ({"any_of": {"same_action": {"names": "lower", "click": "hit", "wait": None, "otherwise": "text_match"}}},
         any_of(same_action("lower", click=Hit(), wait=None, otherwise=TextMatch()))),
    ],
)  # fmt: skip
def test_a_config_says_what_python_says(config, term):
    assert expression(config) == term
    assert json.loads(json.dumps(config)) == config


def test_a_nested_recipe_is_built_again_from_its_config_and_pickled():
    recipe = build({"done": {"weight": 1, "any_of": {"same_action": {"click": "hit", "otherwise": None}}}})
    assert gr.recipe(json.loads(json.dumps(recipe.to_dict()))) == recipe == pickle.loads(pickle.dumps(recipe))
    assert recipe.formula == "total = 1 · done\ndone = any_of(same_action(click=hit, otherwise=None))"


STEP = {"regions": [{**BOX, "action": "long_press"}, {"bbox": [50, 50, 90, 90], "action": "click"}]}


def test_an_action_counts_at_its_own_place_alone():
    """The click at the place of the long press is right in name and in place, and in neither alternative."""
    recipe = build({"done": {"weight": 1, "any_of": {"product": {"name": "action_type", "place": "hit"}}}})
    answers = [CLICK % (60, 60), CLICK % (20, 15), CLICK % (5, 5)]
    assert recipe.score(answers, [STEP] * 3).total.tolist() == [1, 0, 0]
    assert recipe.accepts == {"bbox", "polygon", "circle", "action", "refusal"}
    mixed = gr.recipe("composite", response_space="pixel", parts={"name": {"verifier": "action_type", "weight": 1}})
    apart = product(name=ActionType(), place=Hit())(mixed.prepare(answers, [STEP] * 3))
    assert apart.tolist() == [1, 1, 0], "each takes the best alternative by itself"


def test_a_term_is_shown_in_short():
    assert shown({"weighted": {"hit": 0.5, "far": {"weight": 0.5, "gate": {"when": H, "then": {"f": "format"}}}}}) == (
        "0.5 · hit + 0.5 · gate(hit, format)"
    )
