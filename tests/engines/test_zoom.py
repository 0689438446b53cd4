"""Second answers on crops: places of the whole image, in every form of answers, and what stays as it was."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import Answer, transformers
from grounding_rewards.engines.openai import OpenAI
from grounding_rewards.engines.rollout import roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.engines.zoom import _place, _written
from grounding_rewards.errors import EngineError
from grounding_rewards.plugins.registry import collect
from tests.engines.pointing import SIDE, Pointing, corners, screens
from tests.engines.scripted import completion, scripted
from tests.engines.test_rollout import data, rows

CLICK = gr.recipe("click", response_space="thousandths")
NAMES = [name for name in collect([]).recipes if gr.recipe(name, **catalogue.shown_with(name)).judges_places]
HALF = RolloutSettings(n=1, zoom="0.5")


@pytest.mark.parametrize(
    ("width", "height", "options", "engine", "zoom"),
    [
        (1920, 1080, {"response_space": "thousandths"}, Pointing("m", form="({:.1f}, {:.1f})"), "0.5"),
        (1280, 720, {"response_space": "thousandths"}, Pointing("m"), "0.5:2"),
        (640, 480, {"response_space": "unit", "axes": "yx"}, Pointing("m", form="[{1:.4f}, {0:.4f}]", extent=1), "0.3"),
        (1440, 900, {"response_space": "pixel"}, Pointing("m", extent=0), "0.5"),
        (
            390, 844, {"response_space": "model_pixel", "model": "qwen3_vl"},
            Pointing("m", form="Press <|box_start|>({:.0f},{:.0f})<|box_end|>", extent=0), "0.4",
        ),
    ],
)  # fmt: skip
def test_places_of_exact_second_answers_are_within_a_pixel(tmp_path, width, height, options, engine, zoom):
    recipe, resizing = gr.recipe("click", **options), Resizing(options["model"]) if "model" in options else None
    settings, places = RolloutSettings(n=1, zoom=zoom), corners(width, height)
    roll_out(screens(tmp_path, *places), engine, tmp_path / "out", settings=settings, recipe=recipe, resizing=resizing)
    made = rows(tmp_path / "out")
    middles = np.array([(x + SIDE / 2, y + SIDE / 2) for _, _, x, y in places])
    read = np.array([(row["x_unit"] * width, row["y_unit"] * height) for row in made])
    assert np.abs(read - middles).max() < 1
    assert [row["acc"] for row in made] == [1.0] * 9
    first = recipe.score([row["first_response"] for row in made], [row["target"] for row in made],
                         image_sizes=(width, height), model_image_sizes=made[0]["model_image_size"])  # fmt: skip
    assert not first.acc.any()
    for row in made:
        assert len(json.loads(row["zoom_steps"])) == len(settings.ratios)


def test_both_answers_and_the_crop_are_recorded(tmp_path):
    source = screens(tmp_path, (640, 480, 628, 0))
    roll_out(source, Pointing("m"), tmp_path / "out", settings=HALF, recipe=CLICK)
    columns = ("response", "first_response", "zoom_steps", "image_size", "token_length", "acc")
    assert rows(tmp_path / "out", *columns) == [{
        "response": "I look. (990.500, 12.500)", "first_response": "I look. (891, 112)",
        "zoom_steps": '[{"crop": [320, 0, 640, 240], "response": "I look. (981, 25)"}]',
        "image_size": [640.0, 480.0], "token_length": 9, "acc": 1.0,
    }]  # fmt: skip
    roll_out(source, Pointing("m"), tmp_path / "bare", settings=RolloutSettings(n=1), recipe=CLICK)
    (bare,) = rows(tmp_path / "bare")
    assert (bare["response"], "first_response" in bare, "zoom_steps" in bare) == ("I look. (891, 112)", False, False)
    assert "zoom" not in json.loads((tmp_path / "bare" / "_rollout.manifest.json").read_text())
    assert json.loads((tmp_path / "out" / "_rollout.manifest.json").read_text())["zoom"] == "0.5"


@pytest.mark.parametrize(
    ("form", "lost"),
    [
        ("I see nothing of {0:.0f} {1:.0f}", ""),
        ("({:.0f}, {:.0f}) or (1, 2)", ""),
        ("drag from ({:.0f}, {:.0f})\npyautogui.dragTo(5, 6)", ""),
        ("({:.0f}, {:.0f})", "It is not there."),
        ("({:.0f}, {:.0f})", "(1, 2) or (3, 4)"),
    ],
)
def test_an_answer_without_one_place_stays_and_one_to_the_crop_leaves_the_first(tmp_path, form, lost):
    source = screens(tmp_path, (640, 480, 300, 200))
    engine = Pointing("m", form=form, lost=lost)
    roll_out(source, engine, tmp_path / "out", settings=RolloutSettings(n=1, zoom="0.5:2"), recipe=CLICK)
    (row,) = rows(tmp_path / "out")
    assert row["response"] == row["first_response"] == form.format(578, 529)
    steps = json.loads(row["zoom_steps"] or "[]")
    assert [step["response"] for step in steps] == ([lost] if lost else [])
    assert engine.calls == ([1, 1] if lost else [1])


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_of_every_recipe_takes_another_place(name):
    """Recipes whose answers are whole numbers are exact to half of one; others to their decimals."""
    recipe = gr.recipe(name, **catalogue.shown_with(name))
    extent = np.array([[1.0 if recipe.response_space.extent == 1 else 1000.0] * 2])
    response = recipe.example.response
    place = _place(recipe, response, extent)
    if place is None:  # several answers, or a move
        assert recipe.answers == "all" or "drag" in response
        return
    other = place * 0.5 + 0.1234567
    text = _written(recipe, response, other, extent)
    read = _place(recipe, text, extent)
    assert np.abs(read - other).max() <= 0.5 / 1000 + 1e-12


def test_a_crop_that_cannot_be_read_or_is_refused_is_a_problem_of_the_row(tmp_path):
    source, engine = screens(tmp_path, (640, 480, 300, 200)), Vanishing("m", form=str(tmp_path / "0.png"))
    roll_out(source, engine, tmp_path / "out", settings=HALF, recipe=CLICK)
    (row,) = rows(tmp_path / "out", "response", "first_response", "problem", "acc")
    assert (row["response"], row["acc"], row["first_response"]) == (None, None, "(578, 529)")
    assert row["problem"].startswith("image: cannot read '0.png'")


class Vanishing(Pointing):
    """Removes the image once it was asked."""

    def __call__(self, requests: Any) -> Any:
        Path(self.form).unlink()
        return Pointing("m", form="({:.0f}, {:.0f})")(requests)


def test_a_size_that_nobody_knows_is_remarked(tmp_path):
    recipe, warned = gr.recipe("click", response_space="model_pixel"), list[str]()
    engine = Pointing("m", extent=0)
    source = screens(tmp_path, (640, 480, 300, 200))
    roll_out(source, engine, tmp_path / "out", settings=HALF, recipe=recipe, warn=warned.append)
    assert engine.calls == [1]
    assert "--zoom: sample 's0' keeps its answer: the size of the image in model_pixel is unknown" in "".join(warned)


@pytest.mark.parametrize(
    ("zoom", "recipe", "message"),
    [
        ("0", CLICK, "--zoom: got '0'; expected the ratio of the crop, above 0 and below 1"),
        ("1", CLICK, "--zoom: got '1'; expected the ratio"),
        ("nan", CLICK, "--zoom: got 'nan'; expected the ratio"),
        ("0.5:0", CLICK, "--zoom: got '0.5:0'; expected .* rounds up to 8"),
        ("half", CLICK, "--zoom: got 'half'; expected the ratio"),
        ("0.5", None, "--zoom: needs a recipe that reads the places of answers"),
        ("0.5", CLICK, "--zoom: .*data.jsonl has no images to take crops of; --image-column names their column"),
    ],
)
def test_what_cannot_be_zoomed_is_an_error(tmp_path, zoom, recipe, message):
    with pytest.raises(EngineError, match=message):
        roll_out(
            data(tmp_path, "go"), Pointing("m"), tmp_path / "out", settings=RolloutSettings(zoom=zoom), recipe=recipe
        )
    assert not (tmp_path / "out").exists()


def test_crops_are_of_the_last_image_and_of_the_file_as_it_is_upright(tmp_path):
    """Through a server of OpenAI's protocol."""
    source, engine = screens(tmp_path, (640, 480, 20, 400)), Pointing("m")
    row = json.loads(source.read_text())
    source.write_text(json.dumps({**row, "image": [row["image"], row["image"]]}) + "\n")
    images = list[list[bytes]]()

    def answer(body: Any) -> Any:
        parts = body["messages"][-1]["content"]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        images.append([base64.b64decode(url.partition(",")[2]) for url in urls])
        return completion(engine.answer(images[-1][-1], body["seed"]).text)

    with scripted(answer) as server:
        client = OpenAI("tiny", base_url=server.url)
        roll_out(source, client, tmp_path / "out", settings=RolloutSettings(n=2, zoom="0.25"), recipe=CLICK)
    made = rows(tmp_path / "out", "acc", "seed")
    assert [row["acc"] for row in made] == [1.0, 1.0]
    assert sorted(body["seed"] for body in server.bodies) == sorted(2 * [row["seed"] for row in made])
    assert len({pair[0] for pair in images}) == 1
    assert len({pair[1] for pair in images}) == 2


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # transformers on numpy 2
def test_a_checkpoint_of_transformers_sees_the_crop_in_the_size_of_the_image(tmp_path, vision_folder, monkeypatch):
    monkeypatch.setattr(transformers._Loaded, "_answer", lambda self, tokens, stop: Answer("(750, 250)", 3))
    engine = transformers.Transformers(str(vision_folder), device="cpu")
    settings = RolloutSettings(n=2, max_tokens=3, zoom="0.5")
    roll_out(screens(tmp_path, (320, 240, 0, 0)), engine, tmp_path / "out", settings=settings, recipe=CLICK)
    made = rows(tmp_path / "out", "response", "zoom_steps", "model_image_size")
    steps = '[{"crop": [160, 0, 320, 120], "response": "(750, 250)"}]'
    row = {"response": "(875.000, 125.000)", "zoom_steps": steps, "model_image_size": [80, 64]}
    assert made == [row, row]
