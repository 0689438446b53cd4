"""UI-Venus: boxes in pixels of the image the model saw (1.0), points in thousandths and refusals (1.5)."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from tests.parsing.fragments import responses

BOXES, POINTS = gr.recipe("ui-venus"), gr.recipe("ui-venus", version=1.5)
TARGET = [100, 100, 300, 200]
SIZES = {"image_sizes": (1000, 500), "model_image_sizes": (500, 250)}


def test_a_version_as_a_whole_number_is_the_same_recipe():
    assert gr.recipe("ui-venus", version=1) == BOXES
    assert POINTS.to_dict() == {"name": "ui-venus", "version": 1.5}


numbers = st.sampled_from(["0", "-1", "200", "300", "0.5", ".5", "12.", "9" * 400, "-9", "1e5", "NaN", ""])
lists = st.lists(numbers, max_size=5).map(lambda items: f"[{','.join(items)}]")
texts = st.lists(st.one_of(responses, lists), min_size=1, max_size=4).map("".join)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.sampled_from([BOXES, POINTS]), st.lists(texts, min_size=1, max_size=5))
def test_one_response_and_many_score_alike(recipe, answers):
    rows = len(answers)
    many = recipe.score(answers * VECTOR_ROWS, [TARGET] * rows * VECTOR_ROWS, **SIZES)
    assert np.isfinite(many.total).all()
    assert ((many.total >= 0) & (many.total <= 1)).all()
    for row, answer in enumerate(answers):
        one = recipe.score(answer, TARGET, **SIZES)
        assert one.total[0].tobytes() == many.total[row].tobytes()
        assert (one.acc[0], one.reason[0]) == (many.acc[row], many.reason[row])


@pytest.mark.parametrize("recipe", [BOXES, POINTS], ids=["1.0", "1.5"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 65536, "[1," * 20000, "[1,1,1,1]" * 7000, "[" + "9" * 65000 + ",1]", "[ " + " " * 65000,
        "</think>" * 8000, "</think>[1,1" * 5000, "[1,1,1,1" + " " * 65000, "</think>" + "[1,1,1,1],[" * 5000,
        ("</think>" + " " * 99) * 600, "[1,1],[1,1" + "1" * 60000,
    ],
    ids=range(11),
)  # fmt: skip
def test_long_texts_take_no_longer_than_their_length(recipe, text):
    start = time.perf_counter()
    recipe.score(text, TARGET, **SIZES)
    assert time.perf_counter() - start < 2.0
