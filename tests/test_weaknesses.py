"""Weaknesses found in published rewards for points, boxes and actions: what they do, and what ours does in its place.

Those of one recipe alone stand beside its other tests, in tests/recipes.
"""

import math

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.testing.hostile import BAITS, short_responses
from grounding_rewards.testing.recipes import examples_of

pytestmark = pytest.mark.slow

GELATO, GELATO_PIXEL = gr.recipe("gelato"), gr.recipe("gelato-pixel")


def scored(recipe, responses, example):
    """Many responses on one example."""
    return recipe.score(
        list(responses), [example.target] * len(responses), image_sizes=example.image_size,
        model_image_sizes=example.model_image_size, groups=range(len(responses)),
    )  # fmt: skip


@pytest.fixture(params=gr.list_recipes())
def any_recipe(request):
    return gr.recipe(request.param, **shown_with(request.param))


def test_no_response_is_ever_run(any_recipe, tmp_path, monkeypatch):
    """GUI-R1, GroundNext, TON: ``eval`` on model text; a file was written."""

    def forbidden(*code):
        raise AssertionError(f"ran {code}")

    for example in examples_of(any_recipe):
        scored(any_recipe, short_responses(), example)  # all that is imported on demand is there now
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.eval", forbidden)
    monkeypatch.setattr("builtins.exec", forbidden)
    for example in examples_of(any_recipe):
        scored(any_recipe, BAITS, example)
    for bait in BAITS:
        scored(any_recipe, [bait], example)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("width", "height", "pixels", "share"),
    [(3840, 2160, 1, 0.87), (3840, 2160, 2, 0.51), (3840, 2160, 4, 0.0), (1920, 1080, 1, 0.47), (1920, 1080, 2, 0.0)],
)
def test_targets_that_no_answer_in_thousandths_can_hit(width, height, pixels, share):
    """Nobody reports it: such samples earn nothing for ever. It lies in the answer space; pixels reach them all."""

    def reached(recipe, length, scale):
        starts = np.arange(0, length - pixels, 7)
        near = np.floor((starts + pixels / 2) / length * scale)
        candidates = np.stack([near - 1, near, near + 1, near + 2], axis=1).clip(0, scale)
        boxes = [[start / length * scale, 0, (start + pixels) / length * scale, scale] for start in starts.tolist()]
        targets = [{"bbox": box, "space": str(recipe.response_space)} for box in boxes for _ in range(4)]
        responses = [f"({x:.0f}, 1)" for x in candidates.ravel()]
        acc = recipe.score(responses, targets, model_image_sizes=(scale, scale)).acc
        return acc.reshape(-1, 4).any(axis=1).mean()

    lost = 1.0 - reached(GELATO, width, 1000) * reached(GELATO, height, 1000)
    assert lost == pytest.approx(share, abs=0.02)
    assert reached(GELATO_PIXEL, width, width) == 1.0


def test_lengths_are_of_the_text_and_success_is_a_column_of_its_own():
    """UI-R1's DAST: lengths of a padded batch are alike in all rows, and success is a total of exactly 3."""
    recipe = gr.recipe("ui-agile", thinking_length="simple")
    given = {"image_sizes": recipe.example.image_size, "model_image_sizes": recipe.example.model_image_size}
    texts = [f"<think>{'a' * length}</think>\n{recipe.example.response.partition('</think>')[2].strip()}"
             for length in (150, 75, 4000)]  # fmt: skip
    scores = recipe.score(texts, [recipe.example.target] * 3, **given)
    thought = scores.parts["thinking"]
    assert thought[:2] == pytest.approx([1.0, math.exp(-0.5)])
    assert thought[2] == pytest.approx(0.0)
    alone = [recipe.score(text, recipe.example.target, **given) for text in texts]
    assert [each.total[0] for each in alone] == scores.total.tolist()
    assert scores.acc.tolist() == [1.0, 1.0, 1.0], "whatever the total"
