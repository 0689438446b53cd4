"""Inside, the distance to the nearest corner; outside, the distance to the box."""

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.verifiers import CornerDistance
from tests.verifiers.judging import judge

BOX, SIZE = {"bbox": [100, 100, 300, 200]}, (1000, 800)


numbers = st.integers(-2000, 3000) | st.floats(-2000, 3000).map(lambda number: round(number, 6))


@settings(max_examples=300)
@given(st.tuples(numbers, numbers), st.tuples(*[st.integers(0, 900)] * 2), st.tuples(*[st.floats(0, 99)] * 2))
def test_it_stays_within_its_bounds_and_below_zero_is_outside(point, corner, extent):
    x1, y1, x2, y2 = box = [*corner, corner[0] + extent[0], corner[1] + extent[1]]
    (score,) = judge(CornerDistance(), [point], {"bbox": box}, size=SIZE)
    assert -1 <= score <= 1
    if x1 < x2 and y1 < y2:
        assert (score >= 0) == (x1 <= point[0] <= x2 and y1 <= point[1] <= y2)


@given(st.integers(301, 999), st.integers(1, 50))
def test_farther_outside_is_worth_less(x, step):
    near, far = judge(CornerDistance(), [(x, 150), (x + step, 150)], BOX, size=SIZE)
    assert -1 <= far < near < 0
