"""Every built-in verifier: a row's score depends on that row alone, to the last bit, and stays within its bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import (
    CorrectRefusal,
    DenseDistance,
    Difficulty,
    FalseClick,
    FalseRefusal,
    Format,
    GradedFormat,
    Hit,
    InsideDistance,
    NearPoint,
    Noise,
    ScreenDistance,
)  # fmt: skip
from tests.verifiers.judging import rollouts

pytestmark = pytest.mark.slow

VERIFIERS = [
    Hit(point_radius=4), Hit(polygon="half_open", border="strict", enlarge=1.3), Hit(point_share=0.05),
    Hit(whole_edges=True), NearPoint(radius=7.5), NearPoint(share=0.1, border="strict"), InsideDistance(),
    InsideDistance(polygon="half_open"),
    DenseDistance(), DenseDistance(floor=0.3, polygon="strict", point_radius=4), DenseDistance(point_share=0.1),
    ScreenDistance(), ScreenDistance(power=1), Format(), Format("^a+$"), GradedFormat(["a", ["b$", 0.3]], parsed=0.1),
    CorrectRefusal(), FalseRefusal(), FalseClick(), Noise(0.1, seed=3), Difficulty(most=1.5, least=0.5),
]  # fmt: skip

coordinates = st.floats(-20, 120) | st.integers(0, 100).map(float) | st.sampled_from([-1e12, 1e12])
inner = st.floats(0, 100).map(lambda number: round(number, 2))
boxes = st.tuples(inner, inner, inner, inner).map(
    lambda box: {"bbox": [min(box[::2]), min(box[1::2]), max(box[::2]), max(box[1::2])]}
)
places = st.one_of(
    boxes, boxes, boxes,
    st.sampled_from([{"polygon": [0, 0, 60, 0, 60, 20, 20, 20, 20, 60, 0, 60]}, {"polygon": [5, 5, 90, 7, 50, 91]}]),
    st.tuples(inner, inner, st.floats(0.5, 30)).map(lambda circle: {"circle": list(circle)}),
    st.tuples(inner, inner).map(lambda point: {"point": list(point)}),
)  # fmt: skip
targets = st.one_of(
    places, places, st.just({"refusal": True}), st.just({"bbox": [1, 1, 9, 9], "point": [2, 3]}),
    st.lists(places, min_size=1, max_size=3).map(lambda several: {"regions": several}),
    st.floats(0, 3).map(lambda rate: {"bbox": [0, 0, 50, 50], "extra": {"difficulty": rate}}),
)  # fmt: skip
rows = st.tuples(
    st.none() | st.tuples(coordinates, coordinates), targets, st.sampled_from(Reason), st.text("ab\n", max_size=4)
)


def scores(verifier, table):
    points, places, reasons, text = zip(*table, strict=True)
    return verifier(rollouts(points, places, reasons=list(reasons), text=list(text), size=(100, 80)))


@pytest.mark.parametrize("verifier", VERIFIERS, ids=repr)
@settings(max_examples=25, deadline=None)
@given(st.lists(rows, min_size=1, max_size=6), st.randoms())
def test_a_row_alone_scores_as_among_others(verifier, table, random):
    together = scores(verifier, table)
    assert together.dtype == np.float64
    assert (verifier.low <= together).all()
    assert (together <= verifier.high).all()
    assert [scores(verifier, [row])[0] for row in table] == together.tolist()
    order = list(range(len(table)))
    random.shuffle(order)
    assert scores(verifier, [table[row] for row in order]).tolist() == together[order].tolist()
    assert scores(verifier, table * 50).tolist() == together.tolist() * 50, "enough rows for the vectorised paths"
