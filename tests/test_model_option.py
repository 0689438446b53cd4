"""``model`` and the bounds of its resizing: options of every recipe."""

from __future__ import annotations

import pickle

import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import own_options
from grounding_rewards.coords.resizing import model_image_size

SCREEN = (1920, 1080)
BOX = {"bbox": [940, 500, 980, 560]}
QWEN = {"model": "qwen2_5_vl", "max_pixels": 1003520}
SEEN = model_image_size(*SCREEN, "qwen2_5_vl", max_pixels=1003520)
CLICK = f"({960 * SEEN[0] / 1920:.2f}, {530 * SEEN[1] / 1080:.2f})"


def needed(name):
    return {"parts": {"hit": 1.0}} if "parts" in own_options(name) else {}


@pytest.mark.parametrize("name", gr.list_recipes())
def test_every_recipe_takes_them_and_can_be_built_again(name):
    built = gr.recipe(name, **QWEN, **needed(name))
    assert built.to_dict() == {"name": name, **QWEN, **needed(name)}
    assert gr.recipe(built.to_dict()) == pickle.loads(pickle.dumps(built)) == built
    assert built != gr.recipe(name, model="qwen2_5_vl", **needed(name))
    assert built.response_space == "model_pixel"
    assert gr.recipe(name, model="qwen3_vl", **needed(name)).response_space == "thousandths"


@pytest.mark.parametrize("name", ["click", "btl-ui", "gta1"])
@pytest.mark.parametrize("space", gr.CoordSpace)
def test_a_response_space_that_is_set_goes_before_the_models(name, space):
    built = gr.recipe(name, model="qwen3_vl", response_space=space)
    assert built.response_space == space
    assert gr.recipe(built.to_dict()) == built


def test_the_size_that_the_model_saw_is_made_from_the_originals():
    recipe = gr.recipe("click", **QWEN)
    rollouts = recipe.prepare([CLICK] * 2, [BOX] * 2, image_sizes=SCREEN)
    assert rollouts.model_image_sizes.tolist() == [list(SEEN)] * 2
    assert recipe.score(CLICK, {**BOX, "image_size": SCREEN}).acc.tolist() == [1.0]
    prepared = recipe.read_targets([{**BOX, "image_size": SCREEN}])
    other = gr.recipe("click", model="qwen2_5_vl", max_pixels=100352)
    assert [each.score([CLICK], prepared).acc.tolist() for each in (recipe, other, recipe)] == [[1.0], [0.0], [1.0]]


def test_a_size_that_is_said_goes_before_what_is_made():
    recipe, half = gr.recipe("click", **QWEN), (960, 540)
    assert recipe.score("(480, 265)", {**BOX, "image_size": SCREEN, "model_image_size": half}).acc.tolist() == [1.0]
    assert recipe.score("(480, 265)", BOX, image_sizes=SCREEN, model_image_sizes=half).acc.tolist() == [1.0]
    with pytest.raises(gr.TargetError, match="'image_size': got nothing"):
        recipe.score(CLICK, BOX)


def test_an_image_that_cannot_be_resized_is_a_bad_target_where_its_size_is_needed():
    thin = {"bbox": [1, 1, 5, 5], "image_size": [30000, 10], "id": "a7"}
    with pytest.raises(gr.TargetError, match=r"sample 'a7', field 'image_size': got \[30000.0, 10.0\]"):
        gr.recipe("click", **QWEN).score("(3, 3)", thin)
    scores = gr.recipe("click", **QWEN).score(["(3, 3)"], [thin], bad_target="abstain")
    assert (scores.valid.tolist(), scores.errors[0].field) == ([0.0], "image_size")
    assert gr.recipe("click", **QWEN, response_space="pixel").score("(3, 3)", thin).acc.tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"model": "qwen2_5vl"}, "click: option model: got 'qwen2_5vl'; did you mean 'qwen2_5_vl'"),
        ({"model": 7}, "option model: got 7. There are: qwen2_vl, "),
        ({"modell": "qwen3_vl"}, "unknown option 'modell'; did you mean 'model'"),
        ({**QWEN, "max_pixel": 5}, "unknown option 'max_pixel'; did you mean 'max_pixels'"),
        ({**QWEN, "min_pixels": 0.5}, "min_pixels: got 0.5; expected a whole number of pixels from 1"),
        ({"response_space": "pixel", "max_pixels": 5}, "max_pixels=5 says how images are resized; .* set model too"),
        ({"model": "verl+qwen2_5_vl", "min_pixels": 9, "max_pixels": 5}, "got bounds of 9 to 5 pixels"),
        ({**QWEN, "processor_max_pixels": 5}, "resizes once: got max_pixels 1003520 and processor_max_pixels 5"),
    ],
)
def test_options_that_do_not_fit(options, complaint):
    with pytest.raises((gr.RecipeError, gr.SpaceError), match=complaint):
        gr.recipe("click", **options)


def test_none_sets_nothing():
    assert gr.recipe("gelato", model=None, min_pixels=None) == gr.recipe("gelato")


def test_a_recipe_named_by_its_place_keeps_its_model_and_takes_other_bounds(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import grounding_rewards as gr\nMINE = gr.recipe('click', model='qwen2_5_vl', max_pixels=9999)\n")
    assert gr.recipe(f"{path}:MINE").resizing.max_pixels == 9999
    assert gr.recipe(f"{path}:MINE", max_pixels=1003520).resizing == gr.recipe("click", **QWEN).resizing
