"""No response raises, hangs, or scores anything but finite numbers within the recipe's bounds."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from tests.parsing.fragments import ANSWERS, responses

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

PROMPT = "You are a GUI grounding expert. Output the coordinate pair exactly:\n(x,y)\nClick the button: save."
HOSTILE = [
    None, "", " ", "\n\t\v\f\r\x1c\x85\u2028", "\x00", "\x00" * 1000, "(1, 2)\x00", "\x00(1, 2)",
    f"({'9' * 400}, {'9' * 400})", f"({'9' * 5000}, 1)", f"(-{'9' * 400}, -{'9' * 5000})", f"(0.{'0' * 5000}1, 1)",
    f"({'0' * 5000}1, 2)", "9" * 5000, "\ud800", "\udc00\ud800", "(1, 2)\udfff", "(\ud8001, 2)", "\U0010ffff", "\ufffe",
    "[" * 1_000_000, "(" * 1_000_000, "{" * 1_000_000, "[]" * 500_000, "(1, 2)" * 200_000, '{"point_2d": [' * 50_000,
    '{"a":' * 100_000 + "1" + "}" * 100_000, "<think>" * 100_000, "</think>" * 100_000, "<tool_call>" * 90_000,
    "(NaN, NaN)", "(inf, -inf)", "(Infinity, 1)", "(1e999, 1)", "(1e308, 1e308)", '{"point_2d": [NaN, Infinity]}',
    '{"point_2d": [1e999, 1]}', '{"bbox_2d": [1e308, 1e308, 1e308, 1e308]}',
    f'{{"bbox_2d": [{", ".join(["9" * 400] * 4)}]}}',
    f'{{"bbox_2d": [-{"9" * 400}, 0, {"9" * 400}, 0]}}', "(２００, １５０)", "(٢٠٠, ١٥٠)", "(²,³)", "(½, ¾)", "(Ⅳ, Ⅴ)",
    PROMPT, PROMPT * 100, PROMPT + "(200, 150)", "(x,y)", "(x1, y1), (x2, y2)", "<think>(200, 150)</think>",
    "<think>(200, 150)", "(200, 150)</think>", "<think><think>(200, 150)</think>(1, 2)</think>",
    "<answer>(200, 150)</answer>",
    "(200, 150)" + " " * 1_000_000, " " * 1_000_000 + "(200, 150)", "true", "(true, true)", "__import__('os').abort()",
    "[__import__('os').abort()]", "%s%s%s%n", "{0.__class__}", "refusal\x00", "\u202e(1, 2)", "(1\u200d, 2)",
    "(1,\u00a02)",
    "(-0, -0)", "(0, 0)", "(1000, 1000)", "(1001, 1001)", "(-1, -1)", "(500, 400)", "(0.5, 0.5)", "(1.0000001, 0)",
    '{"arguments": {"action": "' + "a" * 60_000 + '", "coordinate": [1, 2]}}', *ANSWERS,
]  # fmt: skip


def columns(scores):
    return {"total": scores.total, "acc": scores.acc, "valid": scores.valid, **scores.parts}


def is_sound(recipe, scores, rows):
    table = columns(scores)
    assert tuple(scores.parts) == recipe.parts, "the same keys, whatever came"
    for name, column in table.items():
        assert (column.dtype, column.shape) == (np.float64, (rows,)), name
        assert np.isfinite(column).all(), name
    assert (scores.total >= recipe.low).all()
    assert (scores.total <= recipe.high).all()
    assert set(scores.acc) <= {0.0, 1.0}
    assert set(scores.valid) <= {1.0}
    assert set(scores.reason.tolist()) <= {int(reason) for reason in gr.Reason} - {gr.Reason.BAD_TARGET}


def same(scores, row, other, other_row):
    ours, theirs = columns(scores), columns(other)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert ours[name][row].tobytes() == theirs[name][other_row].tobytes(), name
    assert scores.reason[row] == other.reason[other_row]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]


def test_every_hostile_response_has_a_sound_score(case):
    recipe, targets = case
    for target in targets:
        is_sound(recipe, recipe.score(HOSTILE, [target] * len(HOSTILE), **SIZES), len(HOSTILE))


def test_hostile_responses_score_alone_as_in_a_batch_to_the_last_bit(case):
    recipe, targets = case
    chosen = [targets[row % len(targets)] for row in range(len(HOSTILE))]
    assert len(HOSTILE) > VECTOR_ROWS
    batch = recipe.score(HOSTILE, chosen, **SIZES)
    half = recipe.score(HOSTILE[: VECTOR_ROWS - 1], chosen[: VECTOR_ROWS - 1], **SIZES)
    for row, (response, target) in enumerate(zip(HOSTILE, chosen, strict=True)):
        same(batch, row, recipe.score([response], [target], **SIZES), 0)
        if row < len(half):
            same(batch, row, half, row)


def test_hostile_rows_can_stand_in_any_order(case):
    recipe, targets = case
    chosen = [targets[row % len(targets)] for row in range(len(HOSTILE))]
    batch = recipe.score(HOSTILE, chosen, **SIZES)
    order = np.random.default_rng(7).permutation(len(HOSTILE))
    shuffled = recipe.score([HOSTILE[row] for row in order], [chosen[row] for row in order], **SIZES)
    for row, origin in enumerate(order):
        same(shuffled, row, batch, origin)


@settings(max_examples=40, deadline=None)
@given(st.lists(responses, min_size=1, max_size=8), st.sampled_from(list(CASES)))
def test_whatever_the_text_alone_and_in_a_batch(texts, name):
    recipe, targets = CASES[name]
    chosen = [targets[row % len(targets)] for row in range(len(texts))]
    few = recipe.score(texts, chosen, **SIZES)
    is_sound(recipe, few, len(texts))
    repeats = VECTOR_ROWS  # so that the rows that hold a sign of one dialect are many, too
    many = recipe.score(texts * repeats, chosen * repeats, **SIZES)
    for row, (text, target) in enumerate(zip(texts, chosen, strict=True)):
        same(few, row, recipe.score(text, target, **SIZES), 0)
        same(few, row, many, row + len(texts))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.sampled_from(list(CASES)))
def test_text_of_any_kind_is_sound(texts, name):
    recipe, targets = CASES[name]
    is_sound(recipe, recipe.score(texts, [targets[0]] * len(texts), **SIZES), len(texts))


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(*[st.integers(-(10**15), 10**15)] * 2) | st.tuples(*[st.floats(-1e4, 1e4)] * 2),
    st.sampled_from([name for name in CASES if "click" in name]),
)
def test_any_two_numbers_are_sound(point, name):
    recipe, targets = CASES[name]
    text = f"({point[0]:f}, {point[1]:f})"
    for target in targets:
        is_sound(recipe, recipe.score(text, target, **SIZES), 1)


def test_nothing_but_the_targets_action_pays():
    """What a policy could say without looking at the screen is worth at most the format weight."""
    for name in ("gelato", "gelato-pixel", "gta1"):
        recipe, targets = CASES[name]
        blind = ["", None, "x", "(", "()", "(x, y)", PROMPT, "refusal", "<think>", "(1, 1) " * 300, "[]", "NaN"]
        for target in targets:
            assert recipe.score(blind, [target] * len(blind)).acc.tolist() == [0] * len(blind)


@pytest.mark.parametrize("name", CASES)
def test_a_megabyte_is_read_in_no_time_to_speak_of(name):
    recipe, targets = CASES[name]
    start = time.perf_counter()
    for text in (
        "[" * 1_000_000,
        "(1, 2)" * 170_000,
        "</think>" * 125_000,
        "<think>" + "(1" * 500_000,
        "1" * 1_000_000,
    ):
        recipe.score(text, targets[0], **SIZES)
    assert time.perf_counter() - start < 5


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
