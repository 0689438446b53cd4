"""UI-RFT's reward by hand: 1 for one JSON object whose point lies in the box."""

import json

import numpy as np
import pytest

import grounding_rewards as gr

RECIPE = gr.recipe("ui-rft")
BOX = [100, 100, 300, 200]


def written(x, y):
    return json.dumps({"point_2d": [x, y], "label": "save"})


def totals(*responses, target=BOX):
    scores = RECIPE.score(list(responses), [target] * len(responses))
    assert scores.total.tolist() == scores.acc.tolist() == scores.parts["hit"].tolist()
    return scores.total.tolist()


def test_borders_count():
    points = [(200, 150), (100, 100), (300, 200), (99, 150), (301, 150), (200, 201), (300.5, 150), (-200, 150)]
    assert totals(*[written(*point) for point in points]) == [1, 1, 1, 0, 0, 0, 0, 0]


def test_a_fence_is_optional():
    answer = written(200, 150)
    assert totals(answer, f"```json\n{answer}\n```", f" ```json\n{answer}\n```\n", f"```\n{answer}\n```") == [
        1,
        1,
        1,
        0,
    ]


def test_one_object_and_nothing_else():
    answer = written(200, 150)
    texts = [
        f"Here: {answer}",
        f"{answer} done.",
        f"{answer}\n{answer}",
        f"[{answer}]",
        f"<think>a</think>{answer}",
        "[200, 150]",
    ]
    assert totals(*texts) == [0] * 6


def test_strict_json():
    pairs = [
        "[200., 150.]",
        "[.2, .1]",
        "[+200, 150]",
        "[0200, 0150]",
        "[200 150]",
        "[２００, 150]",
        "[200, 150, 7]",
        "[2e2, 15e1]",
    ]
    assert totals(*[f'{{"point_2d": {pair}}}' for pair in pairs]) == [0] * 7 + [1]


@pytest.mark.parametrize("pair", [
    ["a", "b"], ["200", "150"], [None, None], [[200], [150]], [{}, 1], [float("nan"), 150], [float("inf"), 1],
    [10**400, 1],
])  # fmt: skip
def test_coordinates_that_are_none_do_not_raise(pair):
    # The source raises TypeError for texts and lists; there is nothing here that a response could break.
    assert totals(json.dumps({"point_2d": pair, "label": "x"})) == [0]


def test_digits_without_end():
    assert (
        totals(f'{{"point_2d": [{"9" * 5000}, 150]}}', f'{{"point_2d": [200, 0.{"1" * 5000}]}}', "[" * 60_000)
        == [0] * 3
    )


@pytest.mark.parametrize("target", [
    BOX, json.dumps(BOX), tuple(BOX), np.array(BOX), {"bbox": BOX},
    {"bbox": [200, 200, 600, 400], "space": "pixel", "image_size": [1000, 800], "model_image_size": [500, 400]},
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert totals(written(300, 200), written(301, 200), target=target) == [1, 0]


@pytest.mark.parametrize(
    "target", [[100, 100, 300], [300, 100, 100, 200], ["100", 100, 300, 200], [1, 2, 3, 4, 5, 6], None]
)
def test_bad_targets(target):
    with pytest.raises(gr.TargetError):
        RECIPE.score(written(200, 150), target)


def test_empty_answers_score_nothing():
    assert RECIPE.exploits == ()
    assert (RECIPE.low, RECIPE.high) == (0, 1)
    assert totals("", None, "{}", '{"point_2d": []}', '{"point_2d": [0, 0]}', "```json```") == [0] * 6
