"""One gesture has one direction, in whatever space response and target are written: that on the screen, in pixels."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grounding_rewards as gr

PHONE = (1080, 2400)
SPACES = ["pixel", "unit", "thousandths"]
# Each goes the one way in pixels and the other in shares, from the middle of the screen.
UP_NOT_LEFT = (540, 1200), (216, 840)
RIGHT_NOT_DOWN = (1200, 540), (1560, 756)  # of a screen 2400 x 1080


def written(point, size, space):
    if space == "pixel":
        return list(point)
    return [number / side * (1 if space == "unit" else 1000) for number, side in zip(point, size, strict=True)]


def answer(name, ends):
    start, end = ends
    if name == "ui-s1":
        return f'<think>a</think>\n<action>{{"action": "swipe", "coordinate": {start}, "coordinate2": {end}}}</action>'
    if name == "ui-venus-navigation":
        return f"<think>a</think>\n<action>Scroll(start=({start[0]}, {start[1]}), end=({end[0]}, {end[1]}))</action>"
    return f'{{"action": "swipe", "coordinate": {start}, "coordinate2": {end}}}'


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("target_space", SPACES)
@pytest.mark.parametrize("name", ["action", "ui-s1", "ui-venus-navigation"])
@pytest.mark.parametrize(
    ("gesture", "size", "finger"), [(UP_NOT_LEFT, PHONE, "up"), (RIGHT_NOT_DOWN, PHONE[::-1], "right")]
)
def test_a_gesture_is_right_for_its_direction_and_for_itself(name, space, target_space, gesture, size, finger):
    built = gr.recipe(name, response_space=space, **({"point_radius": 1} if name == "action" else {}))
    response = answer(name, [written(each, size, space) for each in gesture])
    start, to = (written(each, size, target_space) for each in gesture)
    sides = {"up": "left", "right": "down"}
    targets = [
        {"action": {"name": "swipe", "direction": finger}},
        {"action": {"name": "swipe", "direction": sides[finger]}},
        {"point": start, "action": {"name": "swipe", "to": to}, "space": target_space},
        {"point": start, "action": {"name": "scroll", "to": to}, "space": target_space},
    ]
    assert built.score([response] * 4, targets, image_sizes=[size] * 4, model_image_sizes=[size] * 4).acc.tolist() == [
        1, 0, 1, 1,
    ]  # fmt: skip


def test_without_a_size_the_numbers_as_written_decide():
    built = gr.recipe("action", response_space="thousandths")
    response = answer("action", [[500, 500], [200, 350]])
    ways = ["left", "up"]
    targets = [{"action": {"name": "swipe", "direction": way}, "space": "thousandths"} for way in ways]
    assert built.score([response] * 2, targets).acc.tolist() == [1, 0]


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=2),
    st.tuples(st.integers(100, 4000), st.integers(100, 4000)),
)
def test_the_longer_side_in_pixels_is_the_direction_in_every_space(ends, size):
    (x, y), (to_x, to_y) = ends
    right, down = (to_x - x) * size[0], (to_y - y) * size[1]
    assume(right or down)
    across = abs(right) > abs(down)
    way = ("right" if right > 0 else "left") if across else ("down" if down > 0 else "up")
    for space in SPACES:
        pixels = [(px * size[0] / 1000, py * size[1] / 1000) for px, py in ends]
        response = answer("action", [written(each, size, space) for each in pixels])
        target = {"action": {"name": "swipe", "direction": way}}
        built = gr.recipe("action", response_space=space)
        assert built.score(response, target, image_sizes=size).acc == [1], space


@pytest.mark.parametrize("space", SPACES)
def test_a_diagonal_is_vertical_though_conversion_rounds(space):
    built = gr.recipe("action", response_space=space)
    response = answer("action", [written(each, (1366, 768), space) for each in ((100, 100), (437, 437))])
    target = {"action": {"name": "swipe", "direction": "down"}}
    assert built.score(response, target, image_sizes=(1366, 768)).acc == [1]
