"""Lists of recipes and plugins beside their sessions, and what a trainer's config names."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

import grounding_rewards as gr
import grounding_rewards_adapters
from grounding_rewards.combine import weighted
from grounding_rewards.explain import describe
from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.parsing import BARE_TUPLE, PatternDialect
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import collect
from grounding_rewards.scoring import Exploit, Recipe, Source
from grounding_rewards.targets import read as wire
from grounding_rewards.verifiers import Hit
from tests.cli.command import result_of

SUMMARY = {
    "name": "gta1", "answers": "(384,162)", "dialect": "bare_tuple", "response_space": "model_pixel",
    "target_space": "thousandths", "space": "model_pixel", "low": 0.0, "high": 1.0, "needs": ["model_image_size"],
    "paper": "GTA1: GUI Test-time Scaling Agent", "with": {},
}  # fmt: skip


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


class Ours:
    """A verifier [bold]of ours[/bold].

    And more.
    """

    def __call__(self, rollouts):
        raise NotImplementedError


class Silent:
    @property
    def __doc__(self):
        raise ValueError("nothing to say")

    def __call__(self, rollouts):
        raise NotImplementedError


def point(name, distribution, **hooks):
    def load():
        if not hooks:
            raise ImportError("no such module")
        return SimpleNamespace(**{f"register_{kind}": hookimpl(hook) for kind, hook in hooks.items()})

    return SimpleNamespace(
        name=name, value=f"{name}:x", dist=SimpleNamespace(name=distribution, version="1.2"), load=load
    )


TUPLE = PatternDialect("pair", r"\((?P<x>[0-9]+), (?P<y>[0-9]+)\)")
ODD = PatternDialect("odd", r"#(?P<x>[0-9]+)#(?P<y>[0-9]+)")


def verifiers(register):
    register("ours", Ours)
    register("silent", Silent())


def parsers(register):
    register("pair", TUPLE)
    register("odd", ODD)


@pytest.fixture
def installed(monkeypatch):
    def install(*points):
        monkeypatch.setattr(plugins, "installed", lambda: list(points))

    monkeypatch.delenv(plugins.LOAD, raising=False)
    return install


ACME = point("acme", "acme-rewards", verifiers=verifiers, parsers=parsers)
ACME_FACTS = {
    "plugin": "acme",
    "distribution": "acme-rewards",
    "version": "1.2",
    "loaded": True,
    "dialects": [{"name": "acme/odd", "says": ""}, {"name": "acme/pair", "says": "(512, 384)"}],
    "verifiers": [
        {"name": "acme/ours", "says": "A verifier [bold]of ours[/bold]."},
        {"name": "acme/silent", "says": ""},
    ],
    "recipes": [],
    "methods": [],
    "engines": [],
    "families": [],
    "layouts": [],
}


def test_a_plugin_with_what_it_adds(run, installed):
    installed(ACME)
    result = run("plugins")
    assert [line.rstrip() for line in result.out.splitlines()] == [
        "acme (acme-rewards 1.2)",
        "  dialects   acme/odd",
        "             acme/pair    (512, 384)",
        "  verifiers  acme/ours    A verifier [bold]of ours[/bold].",
        "             acme/silent",
    ]
    assert (result.code, result.err) == (0, "")
    assert result_of(run("plugins", "--json").out) == [ACME_FACTS]


def test_a_narrow_terminal_folds_names_and_drops_no_letter(run, installed, monkeypatch):
    long = "a_very_long_name_of_a_verifier_that_nobody_can_read"
    installed(point("acme", "acme-rewards", verifiers=lambda register: register(long, Ours)))
    monkeypatch.setenv("COLUMNS", "40")
    names = [line[13:].split()[0] for line in run("plugins").out.splitlines()[1:]]
    assert "".join(names).startswith("acme/a_very_long_name_of")
    words = run("plugins").out.split()
    assert all(letters in "".join(words) for letters in ("verifiers", "[bold]", "ours[/bold]"))


def test_what_does_not_load_is_noted_and_the_rest_is_listed(run, installed):
    def taken(register):
        register("pair", Hit)

    installed(ACME, point("acme", "thief", parsers=parsers), point("broken", "b"), point("wrong", "w", parsers=taken))
    result = run("plugins")
    assert result.code == 0
    assert result.out.startswith("acme (acme-rewards 1.2)\n")
    assert result.err.splitlines() == [
        "warning: acme (thief 1.2) is not loaded: plugin 'acme' is offered by both acme-rewards and thief; "
        "uninstall one",
        "warning: broken (b 1.2) is not loaded: plugin 'broken' of b does not load (ImportError: no such module); fix "
        "or uninstall it, or leave it out of GROUNDING_REWARDS_PLUGINS",
        "warning: wrong (w 1.2) is not loaded: plugin 'wrong' of w: parser 'wrong/pair': got <class "
        "'grounding_rewards.verifiers.hit.Hit'>; expected a dialect with name, names and one, such as a "
        "PatternDialect",
    ]
    listed = result_of(run("plugins", "--json").out)
    assert [(each["plugin"], each["loaded"], "error" in each) for each in listed] == [
        ("acme", True, False), ("acme", False, True), ("broken", False, True), ("wrong", False, True)
    ]  # fmt: skip


def test_what_the_environment_leaves_out_or_asks_for_in_vain_is_noted(run, installed, monkeypatch):
    installed(ACME)
    monkeypatch.setenv(plugins.LOAD, "")
    result = run("plugins")
    assert (result.out, result.err) == (
        "", "note: acme (acme-rewards 1.2) is not loaded: left out by GROUNDING_REWARDS_PLUGINS\n"
    )  # fmt: skip
    monkeypatch.setenv(plugins.LOAD, "acme, amce")
    assert run("plugins").err == "warning: amce is not loaded: named in GROUNDING_REWARDS_PLUGINS, but not installed\n"


def test_no_plugins_are_a_note(run, installed):
    installed()
    assert run("plugins") == (0, "", "note: no plugins are installed; --all lists what is built in\n")
    assert result_of(run("plugins", "--json").out) == []


def test_all_that_is_built_in_is_listed_with_what_it_says(run, installed):
    installed(ACME)
    built_in, acme = result_of(run("plugins", "--all", "--json").out)
    assert acme == ACME_FACTS
    assert (built_in["plugin"], built_in["distribution"]) == (None, "grounding-rewards")
    known = collect([])
    kinds = {
        "dialects": known.parsers, "verifiers": known.verifiers, "recipes": known.recipes, "methods": known.methods,
        "engines": known.engines,
    }  # fmt: skip
    for kind, things in kinds.items():
        assert [each["name"] for each in built_in[kind]] == list(things)
    says = {each["name"]: each["says"] for kind in kinds for each in built_in[kind]}
    assert {name for name, text in says.items() if not text} <= {"ui_venus"}
    assert says["bare_tuple"] == "(512, 384)"
    assert says["json_2d"] == '{"point_2d": [512, 384], "label": "save"}'
    assert says["correct_refusal"] == "1.0 where the target is a refusal and the response refuses, else 0.0."
    assert says["min_rollouts"] == "Keep samples with at least n scored rollouts."
    shown = run("plugins", "--all").out
    assert shown.startswith("built in (grounding-rewards 0.1.0)\n  dialects   action_blink")
    assert shown.rstrip().endswith("acme/silent")


def test_families_are_listed_with_their_source_and_what_is_none_is_an_error(run, installed):
    table = {"like": "gta1", "names": "lab", "source": "us", "seen": "code", "example": ["(1, 2)", [9, 9], [1, 2]]}
    installed(point("lab", "lab-package", families=lambda register: register("mine", table)))
    assert run("plugins").out.splitlines()[1].split() == ["families", "lab/mine", "us"]
    installed(point("lab", "lab-package", families=lambda register: register("mine", "gta1")))
    assert (
        "family 'lab/mine': got 'gta1'; expected a table such as [gta1] in families.toml, as a dict"
        in run("plugins").err
    )


def test_a_family_says_how_its_answers_begin_and_end(run):
    assert result_of(run("families", "aguvis", "--json").out)["stop"] == ["<|diff_marker|>"]
    assert result_of(run("families", "se_gui", "--json").out)["prefill"]
    assert "prefill" in run("families", "se_gui").out


def test_a_models_name_says_its_family_and_a_note_says_so(run, tmp_path):
    said = "mPLUG/GUI-Owl-7B is of family gui_owl by its name"
    assert result_of(run("families", "auto:mPLUG/GUI-Owl-7B", "--json").out)["taken"] == said
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"response": "(5, 5)", "bbox": [0, 0, 9, 9], "image_size": [1960, 1120]}\n')
    assert f"note: {said}" in run("eval", rows, "--family", "auto:mPLUG/GUI-Owl-7B").err


FOLDER = Path(grounding_rewards_adapters.__file__).parent


@pytest.mark.parametrize(
    ("trainer", "lines"),
    [
        ("easyr1", [f"{FOLDER}/easyr1.py:compute_score"]),
        ("easyr1_sequential", [f"{FOLDER}/easyr1_sequential.py:compute_score"]),
        ("swift", [f"{FOLDER}/ms_swift/plugin.py"]),
        ("openrlhf", [f"{FOLDER}/openrlhf.py"]),
        ("trl", [f"{FOLDER}/trl.py:reward_funcs"]),
        ("verl", ["pkg://grounding_rewards_adapters.verl", f"{FOLDER}/verl.py"]),
    ],
)
def test_where(run, trainer, lines):
    assert run("where", trainer).out.splitlines() == lines
    assert Path(lines[-1].partition(":")[0]).is_file()


@pytest.mark.parametrize("trainer", ["areal", "nemo_gym", "skyrl", "slime", "verifiers"])
def test_where_of_what_is_imported_by_name(run, trainer):
    module, _, name = run("where", trainer).out.strip().replace(":", ".").rpartition(".")
    source = (FOLDER / f"{module.rpartition('.')[2]}.py").read_text()
    assert module == f"grounding_rewards_adapters.{trainer}"
    assert re.search(rf"^(?:async def|def|class) {name}\b", source, re.MULTILINE)


def test_adapters_that_are_not_installed_are_an_error(run, monkeypatch):
    monkeypatch.setattr(sys.modules["grounding_rewards.cli.listing"], "PACKAGE", "grounding_rewards_nowhere")
    assert "there is no package grounding_rewards_nowhere; install grounding-rewards again" in run.error("where", "trl")
