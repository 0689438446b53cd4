"""No response raises, hangs, or scores anything but finite numbers within the recipe's bounds."""

from itertools import cycle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.testing import ANSWER_FORMATS, check_recipe
from grounding_rewards.testing.hostile import PROMPT, short_responses
from grounding_rewards.testing.recipes import examples_of
from tests.parsing.fragments import ANSWERS, responses
from tests.testing.linear import check_time

pytestmark = pytest.mark.slow

SIZES = {"image_sizes": (1000, 800), "model_image_sizes": (500, 400)}
CASES = {
    "click, pixel": (gr.recipe("click", response_space="pixel", point_radius=14), [
        {"bbox": [100, 100, 300, 200]}, {"refusal": True}, {"polygon": [0, 0, 900, 0, 0, 700]},
        {"circle": [500, 400, 9]},
        {"point": [512, 384]}, {"regions": [{"bbox": [0, 0, 9, 9]}, {"polygon": [500, 300, 600, 300, 550, 500]}]},
    ]),
    "click, thousandths": (gr.recipe("click", response_space="thousandths"), [
        {"bbox": [0.1, 0.1, 0.9, 0.5], "space": "unit"}, {"refusal": True},
        {"circle": [100, 100, 50], "space": "model_pixel"},
    ]),
    "click, unit, first": (gr.recipe("click", response_space="unit", answers="first", thinking="open"), [
        {"bbox": [0, 0, 1000, 800]}, {"refusal": True},
    ]),
    "click, model_pixel, all": (gr.recipe("click", response_space="model_pixel", answers="all", thinking="read"), [
        {"bbox": [0, 0, 1000, 800]}, {"refusal": True},
    ]),
    "gelato": (gr.recipe("gelato"), [[0.0, 0.0, 0.6, 0.5], [0.1, 0.1, 0.9, 0.1, 0.5, 0.9], [0.2, 0.15, 0.2, 0.15]]),
    "gelato with format": (gr.recipe("gelato", format_weight=0.3, answers="last"), [[0.0, 0.0, 0.6, 0.5]]),
    "gelato-pixel": (gr.recipe("gelato-pixel", format_weight=0.1), [[0, 0, 300, 200], [5] * 4, [0, 0, 9, 0, 9, 9]]),
    "gta1": (gr.recipe("gta1"), [[[0, 0, 500, 500], 0.4, 0.5], [[[0, 0, 9, 9], [9, 9, 900, 900]], 0.4, 0.5]]),
    "gta1 with format": (gr.recipe("gta1", format_weight=0.5, answers="first"), [[[0, 0, 1000, 1000], 0.4, 0.5]]),
}  # fmt: skip
VARIANTS = (
    {"answers": "first", "thinking": "open"},
    {"answers": "last", "thinking": "read"},
    {"answers": "all", "thinking": "closed"},
)


@pytest.mark.parametrize("name", gr.list_recipes())
def test_every_recipe_keeps_its_promises_whatever_the_response(name):
    check_recipe(gr.recipe(name, **shown_with(name)))


@pytest.mark.parametrize(("name", "options"), [*zip(gr.list_recipes(), cycle(VARIANTS), strict=False)])
def test_every_recipe_keeps_them_whichever_answer_counts(name, options):
    formats = [text for form in ANSWER_FORMATS for text in (form.right, form.broken, form.right * 2)]
    check_recipe(gr.recipe(name, **shown_with(name), **options), responses=[*formats, *ANSWERS])


@pytest.mark.parametrize("name", CASES)
def test_every_hostile_response_has_a_sound_score_with_targets_of_all_kinds(name):
    recipe, targets = CASES[name]
    long = ["[" * 1_000_000, "(1, 2)" * 200_000, "<think>" * 100_000, "(200, 150)" + " " * 1_000_000]
    check_recipe(recipe, targets, **SIZES, responses=[*short_responses(), *ANSWERS, *long])


@pytest.mark.parametrize("name", gr.list_recipes())
def test_time_grows_as_the_text_does(name):
    """Coarse, since other work may run beside it; ``benchmarks/hostile.py`` has the figures."""
    recipe = gr.recipe(name, **shown_with(name))
    seconds = check_time(recipe, examples_of(recipe)[0], limit=1.0)
    worst = max(seconds, key=seconds.get)
    median, most = 1000 * np.median(list(seconds.values())), 1000 * seconds[worst]
    print(f"{name}: a megabyte takes {median:.1f} ms, at worst {most:.1f} ms ({worst!r})")


PAIRS = st.tuples(*[st.integers(-(10**15), 10**15)] * 2) | st.tuples(*[st.floats(-1e4, 1e4)] * 2)
TEXTS = responses | st.text(max_size=30) | PAIRS.map(lambda point: f"({point[0]:f}, {point[1]:f})")


@settings(max_examples=50)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.sampled_from(list(CASES)))
def test_whatever_the_text_alone_and_in_a_batch(texts, name):
    recipe, targets = CASES[name]
    check_recipe(recipe, targets, **SIZES, responses=texts)


def test_nothing_but_the_targets_action_succeeds():
    """A policy that does not look at the screen earns at most the format weight."""
    for name in ("gelato", "gelato-pixel", "gta1"):
        recipe, targets = CASES[name]
        blind = ["", None, "x", "(", "()", "(x, y)", PROMPT, "refusal", "<think>", "(1, 1) " * 300, "[]", "NaN"]
        for target in targets:
            assert recipe.score(blind, [target] * len(blind)).acc.tolist() == [0] * len(blind)


def test_a_response_of_one_long_action_costs_its_own_length_only():
    # A fixed-width array of action names would be 60,000 wide in every row.
    import tracemalloc

    recipe, targets = CASES["click, pixel"]
    long = '{"arguments": {"action": "' + "a" * 60_000 + '", "coordinate": [1, 2]}}'
    tracemalloc.start()
    recipe.score([long] + ["(1, 2)"] * 500, [targets[0]] * 501, **SIZES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
