"""f(n) of a hit, n the larger of its two offsets from the centre as a share of half the side."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.verifiers import Centredness
from grounding_rewards.verifiers.distance import SHAPES
from tests.verifiers.judging import judge

BOX = [100, 100, 300, 200]


def test_each_shape_at_the_centre_half_way_and_on_the_border():
    for shape, half, border in [
        ("gaussian", math.exp(-1), math.exp(-4)), ("linear", 0.5, 0.0), ("quadratic", 0.75, 0.0),
        ("inverse_quadratic", 0.8, 0.5), ("exponential", math.exp(-0.5), math.exp(-1)), ("cosine", 0.5, 0.0),
        ("sigmoid", 2 / (1 + math.exp(2)), 2 / (1 + math.exp(4))), ("step", 1.0, 0.0), ("cubic", 0.875, 0.0),
        ("sqrt", 1 - math.sqrt(0.5), 0.0),
    ]:  # fmt: skip
        points = [(200, 150), (250, 150), (200, 125), (250, 175), (300, 150), (100, 100), (300, 200), (301, 150), None]
        scores = judge(Centredness(shape), points, BOX)
        assert scores == pytest.approx([1.0, half, half, half, border, border, border, 0.0, 0.0], abs=1e-15), shape
        assert [judge(Centredness(shape), [point], BOX)[0] for point in points] == scores, (shape, half, border)


@pytest.mark.parametrize("shape", SHAPES)
@given(n=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_nearer_to_the_middle_is_never_worse(shape, n):
    near, far = sorted(n)
    f = SHAPES[shape](np.array([near, far]))
    assert 1.0 >= f[0] >= f[1] >= 0.0
    assert SHAPES[shape](np.array([0.0])).tolist() == [1.0]
