"""Answers y first, on another scale or in pixels of a resized image, and two mistakes at once."""

import json
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.checks.space_fit import fit_spaces
from grounding_rewards.coords.axes import Axes
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import SPACES, convert
from tests.checks.test_space_fit import World, click

PIXEL, MODEL, UNIT, THOUSANDTHS = SPACES
PLAIN = Axes()
FIELD = Path(__file__).parents[2].parent / "shared/field"


def said(world, hit_rate, space=PIXEL, axes=PLAIN):
    """Clicks as a model writes them, in a space and on axes of its own."""
    points = axes.write(convert(world.clicks(hit_rate), PIXEL, space, world.screens, world.seen))
    return [f"({x:.2f}, {y:.2f})" for x, y in points]


def boxes(world, written):
    x1, y1, x2, y2 = world.boxes.T
    columns = {
        "xyxy": (x1, y1, x2, y2), "xywh": (x1, y1, x2 - x1, y2 - y1), "yxyx": (y1, x1, y2, x2),
        "xxyy": (x1, x2, y1, y2), "yyxx": (y1, y2, x1, x2),
    }  # fmt: skip
    return np.column_stack(columns[written]).tolist()


def found(world, responses, declared=PIXEL, written="xyxy"):
    fit = fit_spaces(click(str(declared)), responses, boxes(world, written), image_sizes=world.screens)
    return fit.better and dict(fit.better.settings)


def one_screen(world):
    world.boxes *= np.tile([1920, 1080], 2) / np.tile(world.screens, 2)
    world.screens = np.tile([1920.0, 1080.0], (len(world), 1))
    world.seen = Resizing("qwen2_5_vl", max_pixels=1003520).sizes(world.screens)[0]
    return world


@pytest.mark.parametrize("samples", [20, 60, 256])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize(
    ("space", "axes", "declared", "settings"),
    [
        (PIXEL, Axes(True), PIXEL, {"axes": "yx"}),
        (THOUSANDTHS, Axes(True), THOUSANDTHS, {"axes": "yx"}),
        (THOUSANDTHS, Axes(True), PIXEL, {"response_space": "thousandths", "axes": "yx"}),
        (PIXEL, Axes(scale=(2, 2)), PIXEL, {"axes": "x/2,y/2"}),
        (PIXEL, Axes(scale=(1.5, 1.5)), PIXEL, {"axes": "x/1.5,y/1.5"}),
        (PIXEL, Axes(scale=(0.8, 0.8)), PIXEL, {"axes": "x/0.8,y/0.8"}),
        (PIXEL, Axes(scale=(2, 1.5)), PIXEL, {"axes": "x/2,y/1.5"}),
        (PIXEL, Axes(True, (2, 2)), PIXEL, {"axes": "y/2,x/2"}),
    ],
)
def test_order_and_scale_are_named(samples, mixed, space, axes, declared, settings):
    world = World(samples=samples) if mixed else one_screen(World(samples=samples))
    assert found(world, said(world, 0.9, space, axes), declared) == settings


@pytest.mark.parametrize(("lengths", "axes"), [((100, 100), "x/100,y/100"), ((1024, 768), "x/1024,y/768")])
def test_lengths_over_which_answers_run_on_every_screen_are_named(lengths, axes):
    world = World(samples=120)
    assert found(world, said(world, 0.7, UNIT, Axes(scale=lengths))) == {"axes": axes, "response_space": "unit"}


@pytest.mark.parametrize("written", ["yxyx", "xxyy", "yyxx"])
@pytest.mark.parametrize("space", [PIXEL, THOUSANDTHS])
def test_orders_of_corners_are_named_also_beside_a_wrong_space(written, space):
    world = World(samples=60)
    other = {} if space == PIXEL else {"response_space": "thousandths"}
    assert found(world, said(world, 0.8, space), PIXEL, written) == {**other, "box_format": written}


@pytest.mark.parametrize("declared", ["pixel", "thousandths"])
def test_bounds_that_nobody_declared_are_named(declared):
    screens = np.tile([3840.0, 2160.0], (60, 1))
    draw = np.random.default_rng(5)
    corners = draw.random((60, 2)) * (screens - 80)
    points = (corners + 40) * np.array([1316 / 3840, 728 / 2160]) + draw.normal(0, 3, (60, 2))
    answers = [f"({x:.0f}, {y:.0f})" for x, y in points]
    targets = np.hstack([corners, corners + 80]).tolist()
    fit = fit_spaces(click(declared), answers, targets, image_sizes=screens)
    assert str(fit) == (
        "answers fit images resized as by qwen2_5_vl with max_pixels 1003520, as those of holo1, better (100 % hit "
        "against 0 % as declared; answers are scaled by 0.343 and 0.337)"
    )
    assert dict(fit.better.settings) == {
        "model": "qwen2_5_vl", "response_space": "model_pixel", "max_pixels": 1003520,
    }  # fmt: skip
    right = gr.recipe("click", model="qwen2_5_vl", max_pixels=1003520)
    assert fit_spaces(right, answers, targets, image_sizes=screens).better is None
    wrong = gr.recipe("click", model="qwen2_5_vl", max_pixels=2116800)
    fit = fit_spaces(wrong, answers, targets, image_sizes=screens)
    assert dict(fit.better.settings) == {"model": "qwen2_5_vl", "max_pixels": 1003520}


@pytest.mark.parametrize("trainer", ["easyr1+", "verl+"])
def test_bounds_of_a_trainers_pipeline_are_named(trainer):
    world = World(samples=120)
    world.seen = Resizing(f"{trainer}qwen2_5_vl", max_pixels=501760).sizes(world.screens)[0]
    recipe = gr.recipe("click", model=f"{trainer}qwen2_5_vl")
    fit = fit_spaces(recipe, said(world, 0.8, MODEL), world.targets(PIXEL), image_sizes=world.screens)
    assert dict(fit.better.settings) == {"model": f"{trainer}qwen2_5_vl", "max_pixels": 501760}


def test_a_proposal_is_never_taken_back_and_hits_more():
    draw = np.random.default_rng(11)
    for seed in range(20):
        world = World(seed, samples=int(draw.choice([20, 60, 120])))
        space, declared = (SPACES[place] for place in draw.integers(0, 4, 2))
        written, read = draw.choice(["xyxy", "xyxy", "xywh", "yxyx", "xxyy"], 2).tolist()
        axes = Axes(bool(draw.random() < 0.3), tuple(draw.choice([1, 1, 1.25, 2], 2).tolist()))
        responses, targets = said(world, 0.7, space, axes), boxes(world, written)
        options, box_format, hits = {"response_space": str(declared)}, read, -1
        tried = []
        for _ in range(4):
            fit = fit_spaces(
                gr.recipe("click", **options), responses, targets, image_sizes=world.screens, box_format=box_format
            )
            assert fit.hits >= hits, (seed, tried)
            if fit.better is None:
                break
            settings = dict(fit.better.settings)
            assert settings not in tried, (seed, tried)
            tried.append(settings)
            box_format = settings.pop("box_format", box_format)
            options = {name: value for name, value in {**options, **settings}.items() if value is not None}
            hits = fit.hits
        else:
            pytest.fail(f"no end: {seed}, {tried}")


@pytest.mark.skipif(not FIELD.is_dir(), reason="files from the field are not here: expected in ../shared/field")
def test_files_from_the_field():
    def rows(name):
        return [json.loads(line) for line in (FIELD / name).read_text().splitlines()]

    def fitted(recipe, some):
        targets = [{"bbox": row["bbox"], "image_size": row["image_size"]} for row in some]
        return fit_spaces(recipe, [row["response"] for row in some], targets)

    edges = fitted(click("pixel"), rows("boxes-left-right-top-bottom.jsonl"))
    assert dict(edges.better.settings) == {"box_format": "xxyy"}
    assert edges.better.hits >= 54
    lists = click("thousandths", dialect="box_list")
    gemini = fitted(lists, rows("gemini-boxes-y-first.jsonl"))
    assert (dict(gemini.better.settings), gemini.better.hits) == ({"axes": "yx"}, 60)
