"""Every recipe of this package explains itself, and what it says is so.

A recipe file that lacks something fails here under its name; what to add stands in the assertion.
"""

import json
import math
import pickle
import re

import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.combine import RESERVED
from grounding_rewards.explain.case import Case
from grounding_rewards.plugins.registry import BUILT_IN, collect
from tests.golden.departures import ORACLES

NAMES = list(collect([]).recipes)
WEIGHT = "format_weight"


def build(name, **options):
    return gr.recipe(name, **{**catalogue.shown_with(name), **options})


FURTHER = {
    "action": [
        {"type_weight": 0.3, "text": "contains", "point_share": 0.14}, {"text": "f1", "text_threshold": 0.9},
        {"text": "f1", "text_threshold": 0.01}, {"text": "ratio", "text_threshold": 0.5, "text_case": True},
        {"scroll": "direction", "response_space": "unit"}, {"response_space": "model_pixel"},
        {"scroll": "direction", "response_scroll": "finger", "format_weight": 0.5, "response_space": "thousandths"},
        {"scroll": "direction", "response_scroll": "finger", "target_scroll": "finger", "dialect": "action_json"},
    ],
    "click": [
        {"response_space": space, "target_space": target}
        for space in ("unit", "thousandths") for target in ("unit", "thousandths", "pixel")
    ],
    "gui-cursor": [{"form": "ui_tars"}, {"form": "qwen3", "shape": "power"}, {"max_steps": 1},
                   {"method": "distance", "thought": False}, {"method": "discrete"}],
    "gui-libra": [{"version": "qwen3_vl"}],
    "gui-rcpo": [{"response_space": space} for space in gr.CoordSpace],
    "gui-rcpo-published": [{"scale": "unit"}, {"scale": "thousandths"}, {"expand": 0.0}],
    "infigui-g1": [{"no_think": True}],
    "orby": [{"form": "uground"}, {"form": "screenspot", "gaussian": True}, {"gaussian": True}],
    "orby-subtask": [{"form": "critic"}, {"metric": "square"}, {"sigma": 2.0}],
    "tailrl": [{"form": "segui"}, {"sigma_scale": 2.0, "sigma_min": 500.0}],
    "ui-agile": [
        {"shape": "linear"}, {"shape": "binary"}, {"thinking_length": "simple"}, {"thinking_length": "dast"},
        {"thinking_length": "plain", "length_weight": 0.5},
        {"shape": "exponential", "thinking_length": "simple", "length_weight": 2.0, "overlap": "ciou"},
    ],
    "ui-r1": [{"form": "dast"}, {"form": "nothink"}],
    "ui-s1": [{"returns": True}, {"returns": True, "gamma": 0.9}],
    "ui-venus": [{"version": 1.5}],
    "vigorl": [{"form": "grounded"}, {"form": "multicrop"}],
    "vigorl-uground": [{"form": "intermediate"}],
    "vigorl-web": [{"form": "grounded"}],
    "ui-venus-navigation": [{"near": 0.3, "far": 1}, {"coord_weight": 3, "scroll_weight": 2}, {"near": 0}],
}  # fmt: skip
"""Options beside those of ``variants`` under which examples and exploits are to hold."""


def variants(name):
    """The recipe as it is shown, with a share for the format where it takes one, and with further options."""
    takes = catalogue.own_options(name)
    weighed = [{WEIGHT: weight} for weight in (0.25, 0) if WEIGHT in takes]
    return [build(name, **options) for options in ({}, *weighed, *FURTHER.get(name, ()))]


PAPER_ALONE = ("gui-rcpo",)
"""Recipes whose source has published no code."""


def scored(recipe, example):
    """The scores of an example's group, its own first."""
    return Case.of(example).score(recipe)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_it_is_built_without_options_or_says_with_which_to_show_it(name):
    assert build(name).name == name


def test_it_states_its_formula(name):
    formula = build(name).formula
    assert formula, f"{name}: fill Recipe.formula with the total in one to three lines"
    lines = formula.splitlines()
    assert len(lines) <= 3, formula
    assert all(line == line.strip() and 0 < len(line) <= 100 for line in lines), formula
    # The weight of the format changes the total, and so it stands there: w for short.
    weighed = WEIGHT in catalogue.own_options(name)
    assert not weighed or re.search(rf"^total = .*\b({WEIGHT}|w) · (format|schema)", formula), formula


def test_it_says_where_it_comes_from(name):
    source = build(name).source
    assert source.paper, f"{name}: fill Source.paper"
    if source.paper != BUILT_IN and name not in PAPER_ALONE:
        assert source.repository, f"{name}: fill Source.repository"
    if source.repository:
        assert source.commit, f"{name}: a repository needs its commit"
        assert source.files, f"{name}: say which files of the repository were read"
    assert all(path == path.strip() and path for path in source.files)


def test_its_example_is_right_and_rewarded(name):
    for recipe in variants(name):
        example = recipe.example
        assert example is not None, f"{name}: fill Recipe.example"
        scores = scored(recipe, example)
        reason = gr.Reason(scores.reason[0]).name
        assert scores.acc[0] == 1.0, f"{recipe}: its example is no success ({reason})"
        assert 0 < scores.total[0] <= recipe.high, f"{recipe}: its example scores {scores.total[0]}"
        assert scores.total[0] >= recipe.low
        assert set(scores.valid) == {1.0}


def test_its_exploits_earn_what_it_says(name):
    for recipe in variants(name):
        names = [exploit.name for exploit in recipe.exploits]
        assert len(set(names)) == len(names), names
        for exploit in recipe.exploits:
            assert exploit.what, f"{recipe}: say what {exploit.name} does"
            assert recipe.low <= exploit.payoff <= recipe.high, f"{recipe}: {exploit.name} earns {exploit.payoff}"
            if exploit.example is not None:
                total = scored(recipe, exploit.example).total[0]
                assert total == pytest.approx(exploit.payoff, abs=1e-12), f"{recipe}: {exploit.name} earns {total}"


def test_its_deviations_have_a_reason_and_an_oracle(name):
    for recipe in variants(name):
        names = [deviation.name for deviation in recipe.deviations]
        assert len(set(names)) == len(names), names
        assert all(deviation.why for deviation in recipe.deviations), f"{name}: say why"
        oracles = ORACLES.get(name, ())
        stated = "tests/golden/departures states these for it, in this order"
        assert [oracle.name for oracle in oracles] == names, f"{name}: {stated}"
        for oracle in oracles:
            either = (oracle.value is None) != (oracle.same_as is None)
            assert either, f"{name}: the oracle of {oracle.name} needs either value or same_as"


def test_its_bounds_and_parts_are_sound(name):
    for recipe in variants(name):
        assert -math.inf < recipe.low < recipe.high < math.inf
        assert recipe.parts
        assert len(set(recipe.parts)) == len(recipe.parts)
        assert not set(recipe.parts) & RESERVED
        assert bool(recipe.accepts) is not recipe.label_free
        assert tuple(scored(recipe, recipe.example).parts) == recipe.parts


def test_no_answer_is_no_success(name):
    recipe = build(name)
    example = recipe.example
    sizes = {"image_sizes": example.image_size, "model_image_sizes": example.model_image_size}
    scores = recipe.score([None, "", "?"], [example.target] * 3, groups=[0, 0, 0], **sizes)
    assert scores.acc.tolist() == [0.0, 0.0, 0.0]
    assert (scores.total < scored(recipe, example).total[0]).all()


def test_it_goes_through_a_dict_json_pickle_and_its_repr(name):
    for recipe in variants(name):
        for back in (
            gr.recipe(recipe.to_dict()), gr.recipe(json.loads(json.dumps(recipe.to_dict()))),
            pickle.loads(pickle.dumps(recipe)), eval(repr(recipe), {"recipe": gr.recipe}),
        ):  # fmt: skip
            assert back == recipe
            assert back.to_dict() == recipe.to_dict()
            assert scored(back, recipe.example).total.tolist() == scored(recipe, recipe.example).total.tolist()


def test_equal_options_make_equal_hashes(name):
    for recipe, again in zip(variants(name), variants(name), strict=True):
        assert hash(recipe) == hash(again), f"{name}: its options, exploits and verifiers must be hashable"


@pytest.mark.parametrize(
    ("name", "options", "response", "target"),
    [
        ("gui-g1", {}, '[{"bbox_2d": [1, 2, 30, 40]}]', [1, 2, 30, 40]),
        ("groundnext", {}, None, {"x1": 1, "y1": 2, "x2": 30, "y2": 40}),
        ("composite", {"response_space": "pixel", "parts": {"hit": 1, "dense_distance": 1}}, "(5, 5)", [1, 2, 30, 40]),
        ("composite", {"response_space": "pixel", "parts": {"hit": 1, "screen_distance": 1}}, "(5, 5)", [1, 2, 30, 40]),
    ],
)
def test_a_row_whose_screen_is_unknown_abstains_alone(name, options, response, target):
    recipe = gr.recipe(name, **options)
    with pytest.raises(gr.TargetError, match=r"row 1, field 'image_size': got nothing"):
        recipe.score([response] * 2, [target] * 2, image_sizes=[(100, 80), None])
    scores = recipe.score([response] * 2, [target] * 2, image_sizes=[(100, 80), None], bad_target="abstain")
    assert scores.valid.tolist() == [1.0, 0.0]


TAKES = """
a number from 0: btl-ui.blink_weight btl-ui.format_weight btl-ui.link_weight click.point_radius click.point_share
 gui-g1.box_weight gui-g1.iou_weight gui-g2.format_weight infigui-g1.format_weight se-gui.format_weight
 ui-agile.format_weight ui-agile.length_weight ui-r1-dast.format_weight ui-r1-e.format_weight ui-r1.format_weight
 ui-venus-navigation.content_weight ui-venus-navigation.coord_weight ui-venus-navigation.scroll_weight
a number from 0 to 1: action.format_weight action.type_weight agentcpm-gui.format_weight click.format_weight
 gelato-pixel.format_weight gelato.format_weight groundnext.format_weight gta1.format_weight gui-libra.format_weight
 gui-r1.format_weight
 ui-s1.format_weight ui-venus-navigation.far ui-venus-navigation.format_weight ui-venus-navigation.near
 ui-venus.format_weight
a number from 0 to below 1: ui-s1.gamma
a number above 0 to 1: ui-venus-navigation.least_f1
true or false: action.text_case composite.label_free infigui-g1.no_think ui-s1.returns
one of inclusive, strict, half_open: click.polygon
one of iou, diou, ciou: ui-agile.overlap
one of main, dast, nothink: ui-r1.form
one of simple, plain, dast: ui-agile.thinking_length
one of gaussian, linear, quadratic, inverse_quadratic, exponential, cosine, sigmoid, step, cubic, sqrt, binary:
 ui-agile.shape
"""


def test_every_option_that_says_what_it_takes_refuses_the_rest():
    for row in TAKES.strip().replace("\n ", " ").split("\n"):
        takes, _, options = row.partition(": ")
        for recipe, _, option in (each.partition(".") for each in options.split()):
            for value in (math.nan, -0.1, "x", [0.1]):
                with pytest.raises(gr.RecipeError) as caught:
                    build(recipe, **{option: value})
                assert str(caught.value).startswith(f"option {option}: got "), recipe
                assert str(caught.value).endswith(f"; expected {takes}"), recipe


_THERE = {"image_size": [2000, 1000], "model_image_size": [1000, 500]}


@pytest.mark.parametrize(
    ("space", "box", "place"),
    [
        ("model_pixel", [100, 100, 300, 200], (200, 150)), ("pixel", [200, 200, 600, 400], (400, 300)),
        ("thousandths", [100, 200, 300, 400], (200, 300)),
    ],
)  # fmt: skip
def test_places_that_a_recipe_reads_itself_are_in_the_space_of_the_responses(space, box, place):
    said = f'<think>-</think>\n<answer>[{{"bbox_2d": {box}, "point_2d": {list(place)}}}]</answer>'
    target = {"regions": [{"bbox": [100, 100, 300, 200], "point": [200, 150]}], **_THERE}
    assert gr.recipe("vision-reasoner", response_space=space).score([said], [target]).total.tolist() == [7.0]
    said = f"<think>-</think>\n<answer>{place}</answer>assistant\n<think>-</think>\n<answer>STOP</answer>"
    scores = gr.recipe("gui-cursor", response_space=space).score([said], [{"bbox": [0.1, 0.2, 0.3, 0.4], **_THERE}])
    assert (scores.total.tolist(), scores.acc.tolist()) == ([1.09], [1.0])
