"""The detector of wrong settings: box formats, sizes that models see, published answers, and silence."""

import json
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.checks.space_fit import Hypothesis, fit_spaces
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import SPACES
from tests.checks.test_space_fit import World, click, roles

PIXEL, MODEL, UNIT, THOUSANDTHS = SPACES
FOLDER = Path(__file__).parents[2].parent / "shared/data/model_responses"
FILES = {
    "osworld-g-gelato-30b.jsonl": THOUSANDTHS, "osworld-g-gelato-30b-refusal.jsonl": THOUSANDTHS,
    "osworld-g-gta1-7b-2507.jsonl": MODEL, "osworld-g-uitars-7b-gelato-baseline.jsonl": MODEL,
    "osworld-g-refined-gelato-30b.jsonl": THOUSANDTHS, "osworld-g-refined-uitars-7b-gelato-baseline.jsonl": MODEL,
    "screenspot-pro-gelato-30b.jsonl": THOUSANDTHS, "screenspot-pro-gta1-7b-2507.jsonl": MODEL,
}  # fmt: skip


def written(boxes, box_format):
    corner, sides = boxes[:, :2], boxes[:, 2:] - boxes[:, :2]
    first = {"xyxy": corner, "xywh": corner, "cxcywh": corner + sides / 2}[box_format]
    return np.hstack([first, boxes[:, 2:] if box_format == "xyxy" else sides]).tolist()


def setting(fit):
    return fit.better and (fit.better.role, fit.better.value)


@pytest.mark.parametrize("truth", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("declared", [None, "xyxy", "xywh", "cxcywh"])
def test_each_confusion_of_box_formats_is_named_and_nothing_else(declared, truth):
    world = World(samples=128)
    responses, targets = world.said(world.clicks(0.7), PIXEL), written(world.boxes, truth)
    fit = fit_spaces(click("pixel"), responses, targets, **world.sizes(), box_format=declared)
    assert setting(fit) == (None if truth == (declared or "xyxy") else ("box_format", truth))


def test_the_sentence_of_a_box_format_says_where_answers_land():
    world = World(samples=64)
    responses = world.said((world.boxes[:, :2] + world.boxes[:, 2:]) / 2, PIXEL)
    fit = fit_spaces(click("pixel"), responses, written(world.boxes, "xywh"), **world.sizes())
    assert str(fit).startswith("boxes fit xywh better (100 % hit against ")
    back = fit_spaces(click("pixel"), responses, written(world.boxes, "xyxy"), **world.sizes(), box_format="xywh")
    assert str(back).startswith("boxes fit xyxy better (100")


def test_box_formats_are_no_question_of_other_places_of_native_forms_and_of_what_was_read_before():
    world = World(samples=32)
    responses = world.said(world.clicks(0.9), PIXEL)
    polygons = [{"polygon": [x1, y1, x2, y1, x2, y2, x1, y2]} for x1, y1, x2, y2 in world.boxes.tolist()]
    assert "box_format" not in roles(world.fit(click("pixel"), responses, polygons))
    se_gui = gr.recipe("se-gui", response_space="pixel")
    native = [[*box, *size] for box, size in zip(world.boxes.tolist(), world.screens.tolist(), strict=True)]
    assert "box_format" not in roles(world.fit(se_gui, responses, native))
    read = click("pixel").read_targets(world.boxes.tolist())
    assert "box_format" not in roles(world.fit(click("pixel"), responses, read))


def test_a_model_is_named_where_pixels_are_declared_and_no_size_that_the_model_saw_is_known():
    world = World(samples=256)
    world.seen = Resizing("qwen2_5_vl").sizes(world.screens)[0]
    near = (world.boxes[:, :2] + world.boxes[:, 2:]) / 2 + world.rng.normal(0, 3, (256, 2))
    responses, targets = world.said(near, MODEL), world.targets(PIXEL)
    fit = fit_spaces(click("pixel"), responses, targets, image_sizes=world.screens)
    assert fit.better == Hypothesis((("model", "qwen2_5_vl"), ("response_space", MODEL)), fit.better.hits)
    assert str(fit).startswith("answers fit images resized as by qwen2_5_vl better (")
    assert "; nearer to " in str(fit)
    # With the sizes in the rows there is no doubt about them.
    assert "model" not in roles(world.fit(click("pixel"), responses))
    assert setting(world.fit(click("pixel"), responses)) == ("response_space", MODEL)
    settled = fit_spaces(gr.recipe("click", model="qwen2_5_vl"), responses, targets, image_sizes=world.screens)
    assert settled.better is None


def test_bounds_that_the_model_does_not_keep_to_are_named():
    world = World(samples=64)
    world.seen = Resizing("qwen2_5_vl").sizes(world.screens)[0]
    responses, targets = world.said(world.clicks(0.8), MODEL), world.targets(PIXEL)
    bounded = gr.recipe("click", model="qwen2_5_vl", max_pixels=750_000)
    fit = fit_spaces(bounded, responses, targets, image_sizes=world.screens)
    assert fit.better == Hypothesis((("model", "qwen2_5_vl"), ("max_pixels", None)), fit.better.hits)
    assert str(fit).startswith("answers fit images resized as by qwen2_5_vl without max_pixels better (")
    world.seen = Resizing("qwen2_5_vl", max_pixels=750_000).sizes(world.screens)[0]
    right = fit_spaces(bounded, world.said(world.clicks(0.8), MODEL), targets, image_sizes=world.screens)
    assert right.better is None


def test_a_declared_resized_image_without_any_size_is_given_a_model():
    world = World(samples=64, side=30.0)
    world.seen = Resizing("qwen3_vl").sizes(world.screens / 5 // 1)[0]  # small images are enlarged
    world.boxes, world.screens = world.boxes / 5, world.screens / 5 // 1
    centres = (world.boxes[:, :2] + world.boxes[:, 2:]) / 2
    responses = world.said(centres, MODEL)
    fit = fit_spaces(click("model_pixel"), responses, world.targets(PIXEL), image_sizes=world.screens)
    assert setting(fit) == ("model", "qwen3_vl")
    assert fit.better.settings[1:] == (("response_space", MODEL),)  # for that model's own space is another


@pytest.mark.parametrize("kind", ["point", "circle", "polygon"])
def test_places_without_corners_tell_as_well(kind):
    world = World(samples=64)
    centres = ((world.boxes[:, :2] + world.boxes[:, 2:]) / 2).tolist()
    made = {
        "point": lambda x, y: {"point": [x, y]},
        "circle": lambda x, y: {"circle": [x, y, 20]},
        "polygon": lambda x, y: {"polygon": [x - 20, y, x, y - 20, x + 20, y, x, y + 20]},
    }
    targets = [made[kind](*centre) for centre in centres]
    responses = world.said(np.array(centres) + world.rng.normal(0, 5, (64, 2)), THOUSANDTHS)
    recipe = click("pixel", point_radius=14)
    assert setting(world.fit(recipe, responses, targets)) == ("response_space", THOUSANDTHS)


def test_at_most_512_rows_are_looked_at():
    world = World(samples=2000)
    fit = world.fit(click("pixel"), world.said(world.clicks(0.5), THOUSANDTHS))
    assert fit.rows == 512
    assert setting(fit) == ("response_space", THOUSANDTHS)


@pytest.mark.parametrize("declared", SPACES)
def test_five_rows_are_no_evidence(declared):
    world = World(samples=5)
    for truth in SPACES:
        assert world.fit(click(declared), world.said(world.clicks(1.0), truth)).better is None


@pytest.mark.skipif(not FOLDER.is_dir(), reason="published responses are not here: expected in ../shared/data")
@pytest.mark.parametrize("name", FILES)
def test_100_published_answers_tell_their_space(name):
    rows = [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]
    for seed in range(2):
        some = [rows[row] for row in np.random.default_rng(seed).choice(len(rows), 100, replace=False)]
        columns = {key: [row[key] for row in some] for key in ("image_size", "model_image_size", "response", "target")}
        for declared in SPACES:
            fit = fit_spaces(
                click(declared), columns["response"], columns["target"],
                image_sizes=columns["image_size"], model_image_sizes=columns["model_image_size"],
            )  # fmt: skip
            assert setting(fit) == (None if declared == FILES[name] else ("response_space", FILES[name])), str(fit)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="published responses are not here: expected in ../shared/data")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("model", ["qwen2_5_vl", "qwen3_vl"])
def test_all_published_answers_in_pixels_are_not_taken_for_those_of_a_resized_image(name, model):
    rows = [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]
    sizes, seen = (np.array([row[key] for row in rows], dtype=float) for key in ("image_size", "model_image_size"))
    targets = [row["target"] for row in rows]
    texts = [row["response"] for row in rows]
    answered = click(FILES[name]).prepare(texts, targets, image_sizes=sizes, model_image_sizes=seen)
    responses = [None if np.isnan(x) else f"({x:.0f}, {y:.0f})" for x, y in answered.predictions.xy]
    resized = Resizing(model).sizes(sizes)[0]
    for known in (None, resized, sizes):
        fit = fit_spaces(click("pixel"), responses, targets, image_sizes=sizes, model_image_sizes=known)
        assert fit.better is None, str(fit)
    assert (
        fit_spaces(click("model_pixel"), responses, targets, image_sizes=sizes, model_image_sizes=sizes).better is None
    )
