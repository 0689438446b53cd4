"""Recipes by name: options, errors, dicts and equality; tests/recipes looks at all recipes."""

import json
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr

EVERY = {"click": {"response_space": "pixel"}, "gelato": {}, "gelato-pixel": {}, "gta1": {}}
"""Recipes, with the options that they cannot be built without."""


def build(name, **options):
    return gr.recipe(name, **{**EVERY[name], **options})


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("gelatto", "gelato"), ("Gelato", "gelato"), ("gelato_pixel", "gelato-pixel"), ("gta-1", "gta1"),
        ("clik", "click"),
    ],
)  # fmt: skip
def test_an_unknown_name_suggests_the_nearest_and_lists_all(name, near):
    with pytest.raises(
        gr.RecipeError, match=rf"unknown recipe '{name}'; did you mean '{near}'\? There are: action, agentcpm-gui, "
    ):
        gr.recipe(name)


@pytest.mark.parametrize(
    "name", ["", "nothing like it", None, 5, ["gelato"], {}, {"name": None}, {"nam": "gelato"}, b"gelato"]
)
def test_any_other_name_is_an_error_that_lists_all(name):
    with pytest.raises(gr.RecipeError, match=r"unknown recipe .* There are: action, agentcpm-gui, .*, ui-venus"):
        gr.recipe(name)


@pytest.mark.parametrize("name", EVERY)
def test_an_unknown_option_suggests_the_nearest_and_lists_all(name):
    with pytest.raises(gr.RecipeError, match=f"{name}: unknown option 'format_wieght'; did you mean 'format_weight'"):
        build(name, format_wieght=0.1)
    with pytest.raises(gr.RecipeError, match=r"It takes: .*response_space.*target_space, answers, thinking"):
        build(name, colour="red")
    with pytest.raises(gr.RecipeError, match=r"unknown option"):
        gr.recipe(name, **EVERY[name], **{"name": "gelato"})


@pytest.mark.parametrize("name", EVERY)
def test_choices_are_listed_where_one_is_unknown(name):
    with pytest.raises(
        gr.RecipeError, match=f"{name}: option answers: got 'best'; expected one of only, first, last, all"
    ):
        build(name, answers="best")
    with pytest.raises(gr.RecipeError, match="option thinking: got None; expected one of closed, open, read"):
        build(name, thinking=None)
    for option in ("response_space", "target_space"):
        with pytest.raises(
            gr.SpaceError, match="unknown space 'pixels'; use one of pixel, model_pixel, unit, thousandths"
        ):
            build(name, **{option: "pixels"})


def test_click_guesses_no_space():
    with pytest.raises(
        gr.SpaceError, match="click needs response_space, the space that the model answers in: pixel, model"
    ):
        gr.recipe("click")
    with pytest.raises(gr.SpaceError, match="click needs response_space"):
        gr.recipe("click", response_space=None)


def test_to_dict_holds_what_differs_from_the_default_as_plain_values():
    assert gr.recipe("gelato").to_dict() == {"name": "gelato"}
    assert gr.recipe("gelato", format_weight=0.0, answers="only", response_space="thousandths").to_dict() == {
        "name": "gelato"
    }
    spaced = gr.recipe("gelato", response_space=gr.CoordSpace.PIXEL, answers="last").to_dict()
    assert spaced == {"name": "gelato", "answers": "last", "response_space": "pixel"}
    assert type(spaced["response_space"]) is str
    assert gr.recipe("click", response_space="unit", point_radius=14).to_dict() == {
        "name": "click", "point_radius": 14, "response_space": "unit",
    }  # fmt: skip


def test_equal_arguments_make_equal_recipes_and_others_do_not():
    assert gr.recipe("gelato") == gr.recipe("gelato", format_weight=0)
    assert gr.recipe("click", response_space="unit") == gr.recipe("click", response_space=gr.CoordSpace.UNIT)
    different = [
        gr.recipe("gelato"), gr.recipe("gelato-pixel"), gr.recipe("gta1"), gr.recipe("gelato", format_weight=0.1),
        gr.recipe("gelato", answers="last"), gr.recipe("gelato", target_space="pixel"),
    ]  # fmt: skip
    assert len(set(different)) == len(different)


def test_options_go_over_those_in_the_dict_and_leave_it_alone():
    config = {"name": "gelato", "format_weight": 0.1, "answers": "last"}
    assert gr.recipe(config, format_weight=0.2).to_dict() == {"name": "gelato", "answers": "last", "format_weight": 0.2}
    assert config == {"name": "gelato", "format_weight": 0.1, "answers": "last"}


def test_numbers_and_arrays_of_numpy_are_options_like_those_of_python():
    for weight in (np.float64(0.5), np.float32(0.5), np.array(0.5)):
        recipe = gr.recipe("click", response_space="pixel", format_weight=weight, point_radius=np.int64(14))
        assert recipe == gr.recipe("click", response_space="pixel", format_weight=0.5, point_radius=14)
        assert json.loads(json.dumps(recipe.to_dict())) == recipe.to_dict()
    steps = {"part": {"d": "dense_distance"}, "edges": np.array([0.5]), "values": [np.float32(0), 1]}
    parts = {"hit": np.int64(1), "close": {"weight": np.float32(1), "steps": steps}}
    assert gr.recipe("composite", response_space="pixel", parts=parts).high == 2.0
    assert gr.recipe("click", model="qwen2_5_vl", max_pixels=np.int64(1003520)).resizing.max_pixels == 1003520


def test_overridden_spaces_change_the_score():
    box = {"bbox": [100, 100, 300, 200], "image_size": [1000, 500], "space": "pixel"}
    in_pixels = gr.recipe("gelato", response_space="pixel")
    assert in_pixels.score("(200, 150)", box).total.tolist() == pytest.approx([1])
    assert gr.recipe("gelato").score("(200, 150)", box).total.tolist() == [0]
    assert gr.recipe("gelato").score("(200, 300)", box).total.tolist() == pytest.approx([1])
    with pytest.raises(gr.TargetError, match="brings responses in pixel, targets in unit into unit"):
        in_pixels.score("(200, 150)", [0.1, 0.1, 0.3, 0.2])


def test_answers_and_thinking_change_the_score():
    target = {"bbox": [0, 0, 10, 10]}
    text = "<think>(5, 5)</think>(50, 50) (6, 6)"
    found = {
        (answers, thinking): build("click", answers=answers, thinking=thinking).score(text, target).acc[0]
        for answers in ("only", "first", "last")
        for thinking in ("closed", "read")
    }
    assert found == {
        ("only", "closed"): 0, ("only", "read"): 0, ("first", "closed"): 0, ("first", "read"): 1,
        ("last", "closed"): 1, ("last", "read"): 1,
    }  # fmt: skip


def test_a_recipe_cannot_be_changed():
    with pytest.raises(AttributeError):
        build("gelato").answers = "first"


def test_the_front_desk_has_what_it_promises():
    for name in gr.__all__:
        assert getattr(gr, name) is not None
    errors = ["GroundingRewardsError", "PluginError", "RecipeError", "SpaceError", "TableError", "TargetError"]
    tables = ["CoordSpace", "Predictions", "Reason", "Recipe", "Rollouts", "Scores", "Targets", "Verifier"]
    algebra = ["affine", "any_of", "asymmetric", "best", "clip", "gate", "product", "steps", "weighted"]
    functions = ["fit_spaces", "judge_step", "list_recipes", "per_row", "read_settings", "recipe", "verifier"]
    assert gr.__all__ == sorted([*errors, "TargetWarning", "VerifierError", *tables, *algebra, *functions])


def test_no_room_takes_the_name_of_what_the_front_desk_gives():
    folder = Path(gr.__file__).parent
    rooms = {each.stem for each in folder.glob("*.py")} | {each.parent.name for each in folder.glob("*/__init__.py")}
    assert not {*" ".join(gr._NAMES.values()).split()} & rooms


def test_the_repr_builds_the_recipe_again():
    built = gr.recipe("click", response_space="unit", format_weight=0.25)
    assert repr(built) == "recipe('click', format_weight=0.25, response_space='unit')"
    assert repr(gr.recipe("gelato", format_weight=0.0)) == "recipe('gelato')"


def test_a_recipe_as_json_or_a_file_is_what_to_dict_writes(tmp_path):
    built = gr.recipe("composite", response_space="pixel", parts={"hit": 1.0, "format": 0.5})
    text = json.dumps(built.to_dict())
    (tmp_path / "own.json").write_text(text)
    (tmp_path / "own.yaml").write_text(text)  # JSON is YAML, too
    assert gr.recipe(text) == gr.recipe(str(tmp_path / "own.json")) == gr.recipe(str(tmp_path / "own.yaml")) == built
    assert gr.recipe('{"name": "gelato"}', format_weight=0.5) == gr.recipe("gelato", format_weight=0.5)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gone.json", None, "recipe .*gone.json: cannot be read .*expected what Recipe.to_dict"),
        ("own.json", "{", "recipe .*own.json: cannot be read .*expected what Recipe.to_dict"),
        ("own.yaml", "a: [", "recipe .*own.yaml: is no YAML .*expected what Recipe.to_dict"),
        ("own.yaml", "!!python/object/apply:os.getcwd []", "recipe .*own.yaml: is no YAML"),
        ("own.json", "[1]", "recipe .*own.json: got list; expected a mapping with name and options"),
        ("own.json", '{"nam": "gelato"}', "None"),
    ],
)
def test_a_file_that_holds_no_recipe_is_an_error(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(gr.RecipeError, match=message):
        gr.recipe(str(tmp_path / name))
