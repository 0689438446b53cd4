"""``grounding-rewards recipes``: the list and one recipe, as tables and as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import MappingProxyType

import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards.coords.resizing import RESIZING
from grounding_rewards.explain import describe
from grounding_rewards.parsing import BARE_TUPLE
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.scoring import Exploit, Recipe, Source
from grounding_rewards.targets import read as wire
from grounding_rewards.verifiers import Hit
from tests.cli.command import result_of

GELATO = """\
gelato
  total = (1 - format_weight) · distance + format_weight · format
  distance = 1 - ||p - c|| / diagonal inside, 0 outside

  answers         (200, 150)
  response space  thousandths
  targets         a bare list, 4 numbers x1 y1 x2 y2 or a polygon's x1 y1 x2 y2
                  x3 y3 ...
  judges          bbox, polygon
  target space    unit
  works in        unit
  total           0 to 1
  acc             1 where InsideDistance(polygon='half_open') is above 0
  with            format_weight=0.1
  paper           Gelato: Click-100k and Gelato-30B-A3B
  repository      Gelato, commit 1f83dad
  files           training_configs/rewards/norm_gui_reward.py

Parts
  part      range   made by
  ─────────────────────────────────────────────────────
  distance  0 to 1  InsideDistance(polygon='half_open')
  format    0 to 1  Format()

Options
  option                default      here  meaning
  ──────────────────────────────────────────────────────────────────────────────
  format_weight         0.0          0.1   w, the weight of format, 0 to 1
  response_space        thousandths        the space that the model answers in
  target_space          unit               the space of targets that name none
  answers               only               the answer that counts where a
                                           response holds several
  thinking              read               the part that is read
  axes                  xy                 the order of x and y in responses,
                                           with divisors of other scales
  family                -                  the model's family
  model                 -                  the model, after its trainer's
                                           resizing where it has one
  min_pixels            -                  least size of the image after the
                                           first resizing, beside model
  max_pixels            -                  largest size of the image after the
                                           first resizing, beside model
  processor_min_pixels  -                  least size of the image after the
                                           model's processor, beside model
  processor_max_pixels  -                  largest size of the image after the
                                           model's processor, beside model

Departs from the source
  not-text        A response that is neither a string nor None is a TypeError;
                  the source reads str(response), or scores 0.
  bad-target      A target that does not fit is an error, or abstains; the
                  source scores 0 in silence, or raises.
  unicode-digits  Only ASCII digits are digits; the source reads full-width and
                  other scripts' digits as numbers.
  huge-number     Numbers of 300 and more digits are a miss far outside the
                  image; the source raises OverflowError or ValueError.
  no-extent       An exact hit on a box without extent scores 1; the source
                  scores 0, or raises ZeroDivisionError.

Known exploits
  blind-format  0.1: any well-formed tuple earns the format weight

Example
  response  (200, 150)
  target    [0.1, 0.1, 0.3, 0.2]
  distance  1
  format    1
  total     1
  acc       1
  reason    OK
"""
EXAMPLE = {
    "response": "(384,162)",
    "target": [[100, 100, 300, 200], 1.08, 1.92],
    "image_size": None,
    "model_image_size": None,
    "total": 1.0,
    "acc": 1.0,
    "reason": "OK",
    "parts": {"hit": 1.0, "format": 0.0},
}
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


def test_one_recipe(run):
    result = run("recipes", "gelato", "--option", "format_weight=0.1")
    assert (result.code, result.err) == (0, "")
    assert lines(result.out) == lines(GELATO)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("words", [(), *[(name,) for name in plugins.collect([]).recipes]], ids=str)
def test_whatever_is_shown_fits(run, monkeypatch, width, words):
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("recipes", *words)
    assert (result.code, result.err) == (0, "")
    shown = lines(result.out)
    settings = [line for line in shown if " is shown with " in line]
    assert max(len(line) for line in shown if line not in settings) <= width


def test_the_list_as_json(run):
    result = run("recipes", "--json")
    assert (result.code, result.err) == (0, "")
    found = result_of(result.out)
    assert [each["name"] for each in found] == list(gr.list_recipes())
    assert next(each for each in found if each["name"] == "gta1") == SUMMARY
    assert next(each for each in found if each["name"] == "click")["with"] == {"response_space": "pixel"}
    assert all(list(each) == list(SUMMARY) for each in found)


def test_one_recipe_as_json(run):
    found = json.loads(run("recipes", "gta1", "--json").out)["result"]
    deviations = found.pop("deviations")
    assert [each["name"] for each in deviations] == [each.name for each in gr.recipe("gta1").deviations]
    assert all(each["why"] for each in deviations)
    about = found.pop("about_options")
    assert list(about) == list(found["options"])
    assert about["answers"] == {
        "values": "only, first, last, all",
        "meaning": "the answer that counts where a response holds several: none of them (`only`), the first, "
        "the last, all.",
    }
    assert found == {
        **SUMMARY,
        "formula": "total = (1 - format_weight) · hit + format_weight · format",
        "parts": [
            {"name": "hit", "low": 0.0, "high": 1.0, "made_by": "Hit(whole_edges=True)"},
            {"name": "format", "low": 0.0, "high": 1.0, "made_by": found["parts"][1]["made_by"]},
        ],
        "success": "Hit(whole_edges=True)",
        "acc": "1 where Hit(whole_edges=True) is above 0",
        "accepts": ["bbox"],
        "native": gr.recipe("gta1").native.description,
        "actions": [],
        "options": {
            "format_weight": 0.0, "response_space": "model_pixel", "target_space": "thousandths", "answers": "only",
            "thinking": "read", "axes": "xy", "family": None,
            **dict.fromkeys(RESIZING),
        },
        "repository": "GTA1",
        "commit": "81f0c4c",
        "files": ["src/grpo_grounding.py"],
        "exploits": [],
        "example": EXAMPLE,
    }  # fmt: skip


def shown(run, *words):
    result = run("recipes", *words)
    assert (result.code, result.err) == (0, "")
    return " ".join(result.out.split())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ui-r1", "acc 1.0 where the action is the target's and, of a click, the point, cut to whole pixels, lies in "
                  "its place."),
        ("gui-r1", "acc 1.0 where the action is the target's, case aside, and so is its point or text, else 0.0."),
        ("ui-s1", "acc 1.0 for a match; of a HARMFUL step for any other action in its place. needs"),
        ("ui-venus-navigation", "acc 1.0 where every term of one alternative is as high as it can be, else 0.0. paper"),
        ("btl-ui", "acc 1 where gate(link, own_action) is above 0; own_action: 1.0 where the response names an action"),
        ("click", "acc 1 where best(hit, refusal) is above 0"),
    ],
)  # fmt: skip
def test_the_condition_of_acc_is_in_words_where_no_name_says_it(run, name, words):
    text = shown(run, name)
    assert words.removesuffix(" needs").removesuffix(" paper") in text


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


def test_a_source_without_rows_says_so(run):
    text = shown(run, "ui-venus-navigation")
    assert (
        "targets a bare list, 4 numbers x1 y1 x2 y2, in pixels of the original image; the source publishes no rows"
        in text
    )


def test_the_example_of_ui_agile_earns_all_there_is():
    example = describe.recipe("ui-agile", {})["example"]
    assert (example["total"], example["parts"]["parameter"]) == (5.0, 1.0)


def test_options_change_what_is_shown(run):
    words = ("recipes", "click", "--response-space", "thousandths", "--option", "format_weight=0.5", "--json")
    found = result_of(run(*words).out)
    assert found["with"] == {"response_space": "thousandths", "format_weight": 0.5}
    assert found["options"]["format_weight"] == 0.1
    assert found["options"]["response_space"] is None
    assert found["needs"] == ["image_size"]
    assert (found["example"]["response"], found["example"]["image_size"]) == ("(200, 300)", [1000, 500])
    assert found["example"]["total"] == 1.0
    assert found["exploits"][0]["payoff"] == 0.5


def test_an_example_that_does_not_fit_the_options_says_so(run):
    result = run("recipes", "gelato", "--option", "target_space=pixel", "--option", "answers=last")
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "not scored target of row 0, field 'bbox': got [0.1, 0.1, 0.3, 0.2]; expected coordinates in pixel;" in text
    assert "answers only last" in text


def test_a_reward_of_ones_own(run):
    parts = {"outcome": {"verifier": "hit", "weight": 0.5}, "form": {"verifier": "format", "weight": -0.5}}
    found = result_of(run("recipes", "composite", "--option", f"parts={json.dumps(parts)}", "--json").out)
    assert (found["low"], found["high"]) == (-0.5, 0.5)
    assert found["formula"] == "total = 0.5 · outcome - 0.5 · form\noutcome = hit, form = format"
    assert [(each["name"], each["made_by"]) for each in found["parts"]] == [("outcome", "Hit()"), ("form", "Format()")]


def test_a_plugins_recipe_without_formula_and_example(run, plugin):
    result = run("recipes", "acme/bare", "--option", "radius=3")
    assert (result.code, result.err) == (0, "")
    assert lines(result.out) == [
        "acme/bare",
        "",
        "  answers         dialect bare_tuple",
        "  response space  pixel",
        "  judges          bbox",
        "  target space    pixel",
        "  works in        pixel",
        "  total           0 to 2",
        "  acc             1 where Hit() is above 0",
        "  with            radius=3",
        "  paper           A note",
        "",
        "Parts",
        "  part  range   made by",
        "  ─────────────────────────────────",
        "  hit   0 to 1  Hit(point_radius=3)",
        "",
        "Options",
        "  option                default  here  meaning",
        "  ──────────────────────────────────────────────────────────────────────────────",
        "  radius                -        3",
        "  answers               last           the answer that counts where a response",
        "                                       holds several",
        "  response_space        pixel          the space that the model answers in",
        "  target_space          pixel          the space of targets that name none",
        "  thinking              closed         the part that is read",
        "  axes                  xy             the order of x and y in responses, with",
        "                                       divisors of other scales",
        "  family                -              the model's family",
        "  model                 -              the model, after its trainer's resizing",
        "                                       where it has one",
        "  min_pixels            -              least size of the image after the first",
        "                                       resizing, beside model",
        "  max_pixels            -              largest size of the image after the first",
        "                                       resizing, beside model",
        "  processor_min_pixels  -              least size of the image after the model's",
        "                                       processor, beside model",
        "  processor_max_pixels  -              largest size of the image after the",
        "                                       model's processor, beside model",
        "",
        "Known exploits",
        "  spray  0.5: many points [b]are[/b] enough",
    ]


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


def test_a_recipe_of_a_file(run, tmp_path):
    path = tmp_path / "own.py"
    path.write_text("from grounding_rewards.recipes.published.gelato import gelato as mine\n")
    found = result_of(run("recipes", f"{path}:mine", "--json").out)
    assert found["name"] == f"{path}:mine"
    assert found["example"]["total"] == pytest.approx(1.0)


def test_a_recipe_as_a_file_is_taken_by_every_command_of_recipes(run, tmp_path):
    (tmp_path / "own.json").write_text('{"name": "gelato", "format_weight": 0.25}')
    file, options = tmp_path / "own.json", ("gelato", "--option", "format_weight=0.25")
    for words in (("recipes",), ("check", "recipe"), ("explain", "--recipe")):
        assert result_of(run(*words, file, "--json").out) == result_of(run(*words, *options, "--json").out)
    for first, other in ((file, "gelato"), ("gelato", file)):
        found = result_of(run("explain", "--recipe", first, "--compare", other, "--json").out)
        said = {file: "recipe('gelato', format_weight=0.25)", "gelato": "recipe('gelato')"}
        assert [each["recipe"] for each in (found, *found["compared"][1:])] == [said[first], said[other]]


@pytest.mark.parametrize("width", ["80", "120"])
def test_help(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    result = run("recipes", "--help")
    text = " ".join(result.out.split())
    assert result.code == 0
    assert "grounding-rewards recipes gelato --option format_weight=0.1" in text
    assert max(map(len, result.out.splitlines())) <= int(width)
    assert "recipes" in run("--help").out


def test_a_recipe_without_labels_and_the_group_of_its_example(run):
    text = shown(run, "gui-rcpo")
    assert "judges no target: none need say what is right" in text
    assert "response (200, 150) of its group (210, 155) of its group (190, 140) of its group (700, 400) target" in text
    example = result_of(run("recipes", "gui-rcpo", "--json").out)["example"]
    assert example["group"] == ["(210, 155)", "(190, 140)", "(700, 400)"]
    assert (round(example["total"], 6), example["acc"]) == (0.786667, 1.0)


@pytest.mark.parametrize("verb", [["eval"], ["score"], ["pool", "score"]])
def test_help_says_that_a_recipe_may_be_a_file(run, verb):
    words = " ".join(run(*verb, "--help").out.replace("│", " ").split())
    assert "your own by module:attr or /path/file.py:attr, or a file of Recipe.to_dict() (.json, .yaml)." in words


def test_two_dashes_may_stand_before_a_command(run):
    shown = run("recipes", "gelato")
    assert run("--", "recipes", "gelato") == shown
    assert (shown.code, shown.out[:6]) == (0, "gelato")
