"""``grounding-rewards recipes`` beside its session: all recipes, those of plugins, narrow terminals."""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType

import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards.explain import describe
from grounding_rewards.parsing import BARE_TUPLE
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.scoring import Exploit, Recipe, Source
from grounding_rewards.targets import read as wire
from grounding_rewards.verifiers import Hit
from tests.cli.command import result_of

SUMMARY = {
    "name": "gta1",
    "answers": "(384,162)",
    "dialect": "bare_tuple",
    "response_space": "model_pixel",
    "target_space": "thousandths",
    "space": "model_pixel",
    "low": 0.0,
    "high": 1.0,
    "needs": ["model_image_size"],
    "paper": "GTA1: GUI Test-time Scaling Agent",
    "with": {},
}


def bare(*, radius, answers="last"):
    """A plugin's recipe with neither formula nor example, and with an option that must be given."""
    return Recipe(
        "bare", BARE_TUPLE, weighted(hit=(2.0, Hit(point_radius=radius))), Hit(), gr.CoordSpace.PIXEL,
        gr.CoordSpace.PIXEL, gr.CoordSpace.PIXEL, frozenset({"bbox"}), Source("A note"), answers=answers,
        exploits=(Exploit("spray", "many points [b]are[/b] enough", 0.5),),
    )  # fmt: skip


@pytest.fixture
def plugin(monkeypatch):
    found = plugins.collect([])
    names = MappingProxyType({**found.recipes, "acme/bare": bare, "acme/wrong": lambda: 5})
    registry = replace(found, recipes=names)
    monkeypatch.setattr(plugins, "_registry", lambda: registry)


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("words", [(), *[(name,) for name in plugins.collect([]).recipes]], ids=str)
def test_whatever_is_shown_fits(run, words):
    result = run("recipes", *words)
    assert (result.code, result.err) == (0, "")
    shown = lines(result.out)
    settings = [line for line in shown if " is shown with " in line]
    assert max(len(line) for line in shown if line not in settings) <= 80


def test_the_list_as_json(run):
    result = run("recipes", "--json")
    assert (result.code, result.err) == (0, "")
    found = result_of(result.out)
    assert [each["name"] for each in found] == list(gr.list_recipes())
    assert next(each for each in found if each["name"] == "gta1") == SUMMARY
    assert next(each for each in found if each["name"] == "click")["with"] == {"response_space": "pixel"}
    assert all(list(each) == list(SUMMARY) for each in found)


def shown(run, *words):
    result = run("recipes", *words)
    assert (result.code, result.err) == (0, "")
    return " ".join(result.out.split())


@pytest.mark.parametrize("name", gr.list_recipes())
def test_no_class_is_shown_that_no_config_can_name(name):
    found = describe.recipe(name, {})
    shown = [found["acc"], *[part["made_by"] for part in found["parts"]]]
    public = {kind.__name__ for kind in plugins.registry().verifiers.values()}
    named = {word for text in shown for word in re.findall(r"\b_?[A-Z][A-Za-z]+(?=\()", text)}
    assert named <= public
    assert all(0 < len(text) <= 160 and "``" not in text for text in shown[1:]), shown


def test_a_function_and_a_class_of_ones_own_keep_their_names(run, tmp_path):
    code = "import numpy as np\n\ndef brief(rollouts):\n    'Short.'\n    return np.ones(len(rollouts))\n"
    (tmp_path / "own.py").write_text(code)
    part = {"verifier": f"{tmp_path}/own.py:brief", "weight": 1, "low": 0, "high": 1}
    found = describe.recipe("composite", {"parts": {"brief": part}})
    assert found["parts"][0]["made_by"].startswith("OwnVerifier(name=")


def test_the_fields_of_an_action_are_shown_with_targets_that_have_them(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert [field for field, _, _ in describe.ACTION_FIELDS] == list(wire._ACTION_KEYS)
    recipe = gr.recipe("action", response_space="pixel")
    for field, _, example in describe.ACTION_FIELDS:
        (action,) = recipe.read_targets([dict(example)]).rows[0].every_action()
        assert getattr(action, field) is not None, field
    text = shown(run, "action")
    assert "Actions in targets field says example" in text
    assert '{"action": {"name": "type", "text": "red hat"}}' in text
    with_actions = [name for name in gr.list_recipes() if describe.recipe(name, {})["actions"]]
    assert with_actions == ["action", "ui-venus-navigation"]
    parts = {"parts": {"action_type": 1}}
    assert [each["field"] for each in describe.recipe("composite", parts)["actions"]] == list(wire._ACTION_KEYS)


def test_a_plugins_recipe_without_formula_and_example(run, plugin):
    result = run("recipes", "acme/bare", "--option", "radius=3")
    assert (result.code, result.err) == (0, "")
    shown = lines(result.out)
    assert shown[:6] == ["acme/bare", "", "  answers         dialect bare_tuple", "  response space  pixel",
                         "  judges          bbox", "  target space    pixel"]  # fmt: skip
    assert {"  with            radius=3", "  paper           A note", "  hit   0 to 1  Hit(point_radius=3)"} <= {*shown}
    assert {"  radius                -        3", "  spray  0.5: many points [b]are[/b] enough"} <= {*shown}
    assert "Example" not in shown


def test_a_plugins_recipe_that_cannot_be_built_is_a_warning(run, plugin):
    result = run("recipes")
    assert result.code == 0
    warnings = result.err.splitlines()
    assert len(warnings) == 2
    assert warnings[0].startswith(
        "warning: acme/bare is not shown: acme/bare cannot be built (TypeError: bare() missing 1 "
    )
    assert "radius" in warnings[0]
    assert warnings[1] == "warning: acme/wrong is not shown: acme/wrong: its plugin returned int; expected a Recipe"
    found = result_of(run("recipes", "--json").out)
    assert [each["name"] for each in found if "error" in each] == ["acme/bare", "acme/wrong"]


@pytest.mark.parametrize("verb", [["eval"], ["score"], ["pool", "score"]])
def test_help_says_that_a_recipe_may_be_a_file(run, verb):
    words = " ".join(run(*verb, "--help").out.replace("│", " ").split())
    assert "your own by module:attr or /path/file.py:attr, or a file of Recipe.to_dict() (.json, .yaml)." in words


def test_two_dashes_may_stand_before_a_command(run):
    shown = run("recipes", "gelato")
    assert run("--", "recipes", "gelato") == shown
    assert (shown.code, shown.out[:6]) == (0, "gelato")
