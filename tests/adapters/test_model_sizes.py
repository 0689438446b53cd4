"""``model``: the space that a model answers in, and the size of the image that it saw, from the launch's options."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.coords.resizing import model_image_size
from grounding_rewards_adapters import _scorer, easyr1
from grounding_rewards_adapters import verl as verl_adapter
from grounding_rewards_adapters.trl import reward_funcs

SCREEN = [3840, 2160]
BOX = {"bbox": [3000, 2000, 3010, 2010]}
BOUNDS = {"min_pixels": 3136, "max_pixels": 1003520}
EASYR1 = {"min_pixels": 262144, "max_pixels": 4194304}
QWEN = {"recipe": "click", "model": "qwen2_5_vl", **BOUNDS}


def verl(text: str, truth: Any, extra: Any = None, **options: Any) -> dict[str, float]:
    return verl_adapter.compute_score(
        data_source="clicks", solution_str=text, ground_truth=truth, extra_info=extra, **options
    )


def clicked(pipeline: str, bounds: dict[str, int] = BOUNDS) -> str:
    """A click on the target, as a model writes it that saw what the pipeline makes of the screen."""
    width, height = model_image_size(*SCREEN, pipeline, **bounds)
    return f"({3005 * width / SCREEN[0]:.3f}, {2005 * height / SCREEN[1]:.3f})"


def test_each_trainer_resizes_as_it_does() -> None:
    answers = {name: clicked(f"{name}qwen2_5_vl") for name in ("", "verl+", "easyr1+")}
    row = {"response": answers["easyr1+"], "response_length": 9, "ground_truth": {**BOX, "image_size": SCREEN}}
    assert verl(answers["verl+"], BOX, {"image_size": SCREEN}, **QWEN)["acc"] == 1.0
    assert easyr1.compute_score([row], **QWEN)[0]["accuracy"] == 1.0
    (reward,) = reward_funcs(**QWEN)
    assert reward(completions=[answers[""]], target=[BOX], image_size=[SCREEN]) == [1.0]
    assert reward(completions=[answers[""]], target=[BOX], image=[Image.new("1", (3840, 2160))]) == [1.0]


def test_easyr1s_own_bounds_hold_where_a_launch_sets_none() -> None:
    right = clicked("easyr1+qwen2_5_vl", EASYR1)
    row = {"response": right, "response_length": 9, "ground_truth": {**BOX, "image_size": SCREEN}}
    assert easyr1.compute_score([row], recipe="click", model="qwen2_5_vl")[0]["accuracy"] == 1.0
    unbounded = {"min_pixels": None, "max_pixels": None}
    assert easyr1.compute_score([row], recipe="click", model="qwen2_5_vl", **unbounded)[0]["accuracy"] == 0.0


def test_a_packed_size_goes_before_what_is_computed() -> None:
    packed = {**BOX, "image_size": SCREEN, "model_image_size": [384, 216]}
    assert verl("(300.5, 200.5)", packed, **QWEN)["acc"] == 1.0
    assert verl("(300.5, 200.5)", BOX, {"image_size": SCREEN, "model_image_size": [384, 216]}, **QWEN)["acc"] == 1.0


def test_a_family_is_resized_as_the_trainer_does_and_a_checkpoint_says_its_processors_bounds(tmp_path: Path) -> None:
    right = clicked("qwen2_5_vl", {"min_pixels": 3136, "max_pixels": 8847360})
    (reward,) = reward_funcs("click", family="gta1")
    assert reward(completions=[right], target=[BOX], image_size=[SCREEN]) == [1.0]
    # verl gives the processor its own sizes, and EasyR1 has bounds of its own.
    for name, own in (("", {}), ("processor", {"processor_min_pixels": 3136, "processor_max_pixels": 1003520})):
        family = "gta1"
        if name:
            family = str(tmp_path / "gta1-step-9")
            (tmp_path / "gta1-step-9").mkdir()
            settings = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 14, "merge_size": 2}
            settings |= {"min_pixels": 3136, "max_pixels": 1003520}
            (tmp_path / "gta1-step-9" / "preprocessor_config.json").write_text(json.dumps(settings))
        assert (
            verl(clicked("verl+qwen2_5_vl", own), BOX, {"image_size": SCREEN}, recipe="click", family=family)["acc"]
            == 1.0
        )
        right = clicked("easyr1+qwen2_5_vl", {**EASYR1, **own})
        row = {"response": right, "response_length": 9, "ground_truth": {**BOX, "image_size": SCREEN}}
        assert easyr1.compute_score([row], recipe="click", family=family)[0]["accuracy"] == 1.0
    # Answers in shares of the image need no pipeline, and one that is named goes before the family's.
    assert verl("(0.78255, 0.92824)", BOX, {"image_size": SCREEN}, recipe="click", family="kimi_vl")["acc"] == 1.0
    assert verl(clicked("verl+qwen2_5_vl"), BOX, {"image_size": SCREEN}, family="gta1", **QWEN)["acc"] == 1.0


@pytest.mark.parametrize("name", ["verl+gta1", "easyr1+gta1"])
def test_a_trainer_before_a_family_is_the_adapters_own_in_settings_and_an_error_elsewhere(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"recipe": {"name": "click"}, "answers": {"family": name}}))
    assert verl(clicked("verl+qwen2_5_vl", {}), BOX, {"image_size": SCREEN}, settings=str(file))["acc"] == 1.0
    right = clicked("easyr1+qwen2_5_vl", EASYR1)
    row = {"response": right, "response_length": 9, "ground_truth": {**BOX, "image_size": SCREEN}}
    assert easyr1.compute_score([row], settings=str(file))[0]["accuracy"] == 1.0
    with pytest.raises(gr.RecipeError, match=rf"family: got '{re.escape(name)}'; expected gta1: EasyR1's own way is"):
        easyr1.compute_score([row], recipe="click", family=name)


def test_qwen3_answers_in_thousandths() -> None:
    unit = [0.0, 0.0, 0.5, 0.5]
    assert verl("(250, 250)", unit, recipe="gelato", model="qwen3_vl")["acc"] == 1.0
    assert verl("(500, 250)", {"bbox": [999, 249, 1001, 251]}, {"image_size": [2000, 1000]}, recipe="click",
                model="qwen3_vl")["acc"] == 1.0  # fmt: skip
    assert verl("(250, 250)", unit, {"image_size": [1000, 1000]}, recipe="gelato", model="qwen2_5_vl")["acc"] == 1.0


def test_a_space_that_is_set_goes_before_the_models() -> None:
    box = {"bbox": [10, 10, 30, 20]}
    pixel = {"recipe": "click", "response_space": "pixel"}
    assert verl("(20, 15)", box, model="qwen3_vl", **pixel) == verl("(20, 15)", box, **pixel)
    named = {"name": "click", "response_space": "pixel"}
    assert verl("(20, 15)", box, recipe=named, model="qwen3_vl")["acc"] == 1.0


def test_an_image_that_the_processor_refuses_is_a_bad_row(caplog: pytest.LogCaptureFixture) -> None:
    verl(clicked("verl+qwen2_5_vl"), BOX, {"image_size": SCREEN}, **QWEN)
    with caplog.at_level(logging.ERROR):
        found = verl("(3, 3)", {"bbox": [1, 1, 5, 5]}, {"image_size": [30000, 10]}, **QWEN)
    assert (found["score"], found["valid"]) == (0.0, 0.0)
    assert "refuses an image of 30000 x 10" in caplog.records[0].message


@pytest.mark.parametrize(
    ("options", "extra", "complaint"),
    [
        ({"recipe": "click"}, None, r"response_space.*options are set as reward\.custom_reward_function\."),
        ({}, None, r"no recipe is named; set reward\.custom_reward_function\.reward_kwargs\.recipe \(.*gelato"),
        ({"recipe": "gelato", "format_weight": object()}, None, "expected plain values"),
        ({"recipe": "click", "response_space": "pixel", "bad_target": "rise"}, None, "bad_target: got 'rise'"),
        ({"recipe": "click", "response_space": "thousandths"}, None,
         r"image_size: in the data set's extra_info, or in the target"),
        ({"recipe": "click", "response_space": "model_pixel"}, {"image_size": SCREEN},
         r"set reward\.custom_reward_function\.reward_kwargs\.model .* to one of .*qwen2_5_vl"),
        (QWEN, None, r"give image_size: in the data set's extra_info"),
        ({"recipe": "click", "model": "qwen2.5_vl"}, None, "model: got 'qwen2.5_vl'; did you mean 'qwen2_5_vl'"),
        ({**QWEN, "max_pixels": 0}, None, "max_pixels: got 0; expected a whole number of pixels from 1"),
        ({**QWEN, "max_pixels": 28}, None, r"got bounds of 3136 to 28 pixels.*\(options are set as reward\.custom_"),
        ({**QWEN, "max_pixels": "1003520"}, None, "max_pixels: got '1003520'; expected a whole number"),
        ({"recipe": "click", "response_space": "pixel", "max_pixels": 5}, None, "set model too"),
        ({"recipe": "click", "response_space": "pixel", "diagnose": "no"}, None, "diagnose: got 'no'; expected true"),
        ({"recipe": "click", "response_space": "pixel", "record": 5}, None, "record: got 5; expected a directory"),
    ],
)  # fmt: skip
def test_wiring_mistakes_say_what_to_set(options: dict[str, Any], extra: Any, complaint: str) -> None:
    with pytest.raises((gr.RecipeError, gr.SpaceError), match=complaint):
        verl("(300, 200)", BOX, extra, **options)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"modell": "qwen3_vl"}, r"unknown option 'modell'; did you mean 'model'.* every recipe here takes recipe, "),
        ({"num_generation": 8}, r"unknown option 'num_generation'.* num_generations, .*did you mean 'num_generations'"),
        ({"routes": {"source": {"a": {"format_weight": 0.1}}}}, r"set reward_funcs\(\.\.\., routes\.source\.a\.name="),
        (
            {"routes": {"source": {"a": "gelatto"}}},
            r"routes\.source\.a: unknown recipe 'gelatto'; did you mean 'gelato'",
        ),
        ({"max_pixels": 5}, r"set model too \(options are set as reward_funcs"),
        ({"target_column": "target", "recipie": "gelato", "recipe": None}, "no recipe is named.*did you mean 'recipe'"),
    ],
)
def test_misspelt_options_and_routes_are_named(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(gr.RecipeError, match=complaint):
        reward_funcs(**{"recipe": "gelato", **given})


def test_a_target_in_another_space_says_which_option_to_set() -> None:
    row = {"response": "(250, 250)", "response_length": 5, "ground_truth": [100, 100, 300, 300]}
    with pytest.raises(
        gr.RecipeError, match=r"; set worker\.reward\.reward_function_kwargs\.target_space to one of pixel"
    ):
        easyr1.compute_score([row, row], recipe="gelato")


def test_one_processor_bound_alone_is_refused_where_it_would_be_passed_over_and_nowhere_else() -> None:
    alone = {"recipe": "click", "model": "qwen2_5_vl", "processor_max_pixels": 1003520}
    with pytest.raises(gr.SpaceError, match="expected both or none, because verl's image processor passes over one"):
        verl("(300, 200)", BOX, {"image_size": SCREEN}, **alone)
    row = {"response": "(3, 3)", "response_length": 5, "ground_truth": {**BOX, "image_size": SCREEN}}
    assert easyr1.compute_score([row], **alone)[0]["valid"] == 1.0


def test_trl_and_easyr1_say_how_they_are_set() -> None:
    with pytest.raises(gr.RecipeError, match=r"options are set as reward_funcs\(\.\.\., NAME=\.\.\.\)"):
        reward_funcs("gelato", format_wieght=0.1)
    row = {"response": "(1, 1)", "response_length": 5, "ground_truth": {**BOX, "image_size": SCREEN}}
    with pytest.raises(gr.RecipeError, match=r"set worker\.reward\.reward_function_kwargs\.model to one of"):
        easyr1.compute_score([row], recipe="click", response_space="model_pixel")
    with pytest.raises(gr.RecipeError, match=r"no recipe is named; set worker\.reward\.reward_function_kwargs\.recipe"):
        easyr1.compute_score([row])


# Sizes that are refused or missing.

PLAIN = {"recipe": "click", "model": "qwen2_5_vl"}
SMALL = {"bbox": [1, 1, 5, 5]}
GOOD = ("(3, 3)", {**SMALL, "image_size": [280, 280]})


def sized(*pairs: tuple[str, Any], **options: Any) -> list[float]:
    rows = [{"response": text, "response_length": 5, "ground_truth": truth} for text, truth in pairs]
    return [row["valid"] for row in easyr1.compute_score(rows, **(options or PLAIN))]


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno == logging.ERROR]


def thin(width: int, **named: Any) -> tuple[str, Any]:
    return "(3, 3)", {**SMALL, "image_size": [width, 10], **named}


def test_a_flood_of_refused_sizes_stops_being_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_scorer, "REPORTED", 20)
    assert sized(GOOD, *[thin(width) for width in range(30000, 30060)]) == [1.0, *[0.0] * 60]
    assert sized(GOOD, *[thin(width) for width in range(33000, 33010)]) == [1.0, *[0.0] * 10]
    lines = errors(caplog)
    assert len(lines) == 21
    assert lines[-1] == "20 targets cannot be used; further ones are not logged"
    assert all("refuses an image of" in line for line in lines[:-1])
    assert lines[0].startswith("target of row 1, field 'image_size': got [30000.0, 10.0]; expected what can be resized")


def test_why_a_size_is_refused_is_said_in_the_targets_own_line(caplog: pytest.LogCaptureFixture) -> None:
    assert sized(GOOD, thin(30000, id="a7"), GOOD, thin(31000, id="b2"), thin(30000, id="a7")) == [1, 0, 1, 0, 0]
    first, second = errors(caplog)
    assert first.startswith("target of sample 'a7', field 'image_size': got [30000.0, 10.0]; expected what can be resi")
    assert "refuses an image of 30000 x 10" in first
    assert first.endswith("; the sample gets 0.0, and 0.0 for valid")
    assert second.startswith("target of sample 'b2', field 'image_size': got [31000.0, 10.0]")


@pytest.mark.parametrize("bad_target", ["abstain", "raise"])
def test_a_refused_size_does_no_harm_where_none_is_needed(bad_target: str) -> None:
    options = {**PLAIN, "response_space": "pixel", "bad_target": bad_target}
    assert sized(GOOD, thin(30000), **options) == [1.0, 1.0]


def test_another_fault_of_a_refused_row_is_said_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    bad = thin(30000, id="a7", bbox=[1, 1, 5, 9000])
    assert sized(GOOD, bad, **PLAIN, response_space="pixel") == [1.0, 0.0]
    (line,) = errors(caplog)
    assert line.startswith("target of sample 'a7', field 'bbox': got [1.0, 1.0, 5.0, 9000.0]; expected coordinates in")
    with pytest.raises(gr.TargetError, match="target of sample 'a7', field 'bbox': got"):
        sized(GOOD, bad, **PLAIN, response_space="pixel", bad_target="raise")


def test_a_refused_size_names_its_row_in_the_whole_batch() -> None:
    routes = {"task": {"a": "gelato", "b": {"name": "click"}}}
    unit = ("(3, 3)", {"bbox": [0.0, 0.0, 0.5, 0.5], "task": "a", "image_size": [280, 280]})
    with pytest.raises(gr.TargetError, match=r"target of row 2, field 'image_size': got \[30000\.0, 10\.0\]"):
        sized(unit, unit, thin(30000, task="b"), routes=routes, model="qwen2_5_vl", bad_target="raise")
    with pytest.raises(gr.TargetError, match=r"target of sample 'a7', field 'image_size': got \[31000\.0, 10\.0\]"):
        sized(GOOD, thin(31000, id="a7"), thin(30000, id="b2"), **PLAIN, bad_target="raise")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({**PLAIN, "target_space": "pixel"}, "image_size"),
        ({"recipe": "gelato", "model": "qwen2_5_vl"}, "model_image_size"),
        ({"routes": {"task": {"t": "gelato"}}, "model": "qwen2_5_vl"}, "model_image_size"),
    ],
)
def test_with_a_model_a_missing_size_is_the_images(options: dict[str, Any], field: str) -> None:
    """``model`` is set already: it is not to be set again."""
    box = [1, 1, 5, 5] if "target_space" in options else [0.0, 0.0, 0.5, 0.5]
    with pytest.raises(gr.RecipeError, match=f"target of row 0, field '{field}': got nothing") as caught:
        sized(("(3, 3)", {"bbox": box, "task": "t"}), **options)
    assert str(caught.value).endswith("; give image_size: in the target")
    assert "reward_function_kwargs.model" not in str(caught.value)
