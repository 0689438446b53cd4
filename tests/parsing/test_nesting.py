"""How deep brackets nest, whatever the stack of the caller."""

import time

import pytest

import grounding_rewards as gr
from grounding_rewards.parsing.literal import SHALLOW, is_shallow

BOX = {"ui-rft": [100, 100, 300, 200], "infigui-g1": {"x1": 100, "y1": 100, "x2": 300, "y2": 200}}


@pytest.mark.parametrize(
    ("text", "shallow"),
    [
        ("", True), ("[" * SHALLOW, True), ("[" * (SHALLOW + 1), False), ("[]" * 1000, True), ("{[" * 20, False),
        ('"' + "[" * 1000 + '"', True), ('"\\"' + "[" * 1000 + '"', True), ("]" * 1000, True),
        ("[" * 30 + "]" * 30 + "[" * 32, True), ("[" * 1_000_000, False),
    ],
)  # fmt: skip
def test_depth_is_counted_outside_strings(text, shallow):
    assert is_shallow(text) is shallow


def scored(recipe, text, frames):
    return recipe.score(text, BOX[recipe.name]).total.tolist() if frames == 0 else scored(recipe, text, frames - 1)


@pytest.mark.parametrize("levels", [20, 500, 900, 960])
def test_the_score_does_not_depend_on_the_depth_of_the_callers_stack(levels):
    nested = "[" * levels + "]" * levels
    rft = f'{{"point_2d": [200, 150], "x": {nested}}}'
    infigui = f'<think>a</think>[{{"point_2d": [200, 150], "x": {nested}}}]'
    for name, text, paid in (("ui-rft", rft, 1.0), ("infigui-g1", infigui, 2.0)):
        recipe = gr.recipe(name)
        expected = [paid if levels < SHALLOW else recipe.low]
        assert [scored(recipe, text, frames) for frames in (0, 30, 300)] == [expected] * 3


def test_a_string_that_never_closes_costs_little():
    # The search for the end of each of its quotes would take minutes.
    text = "[]" * (SHALLOW + 1) + '"' + '\\"' * 32_000
    start = time.thread_time()
    assert is_shallow(text) is True
    assert time.thread_time() - start < 0.5
