from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.combine import product
from grounding_rewards.verifiers import Hit, NearPoint
from tests.verifiers.judging import judge

BOX = {"bbox": [10, 20, 30, 40]}
CLICK, ACTION = (gr.recipe(name, response_space="thousandths") for name in ("click", "action"))
SQUARE = {"polygon": [0, 0, 10, 0, 10, 10, 0, 10]}


@settings(max_examples=100)
@given(st.integers(1, 999), st.integers(300, 6000))
def test_a_click_in_thousandths_on_a_border_hits_however_the_border_is_written(edge, width):
    click, size = f"({edge}, 500)", {"image_size": [width, 1000]}
    drag = f'{{"action": "drag", "coordinate": [0, 0], "coordinate2": [{edge}, 500]}}'
    for at, space in ((edge / 1000, "unit"), (edge / 1000 * width, "pixel"), (edge * width / 1000, "pixel")):
        right, bottom = (1, 1) if space == "unit" else (width, 1000)
        for box in ([at, 0, right, bottom], [0, 0, at, bottom]):
            for recipe in (CLICK, ACTION):
                assert recipe.score([click], [{"bbox": box, "space": space, **size}]).acc.tolist() == [1.0]
            target = {"bbox": [0, 0, right, bottom], "space": space, "action": {"name": "drag", "to": box}, **size}
            assert ACTION.score([drag], [target]).acc.tolist() == [1.0]


@settings(max_examples=100)
@given(st.integers(0, 900), st.integers(1, 99), st.sampled_from([(1080, 2400), (1000, 1000), (1920, 1080)]))
def test_a_click_at_the_full_reach_around_a_point_hits_in_every_space(at, share, size):
    # 0.54 - 0.5 is 0.040000000000000036.
    point = {"point": [at / 1000, 0.5], "space": "unit", "image_size": [*size]}
    clicks = [f"({at + share}, 500)", f"({at + share + 1}, 500)"]
    drag = '{{"action": "drag", "coordinate": [0, 0], "coordinate2": [{}, 500]}}'
    for name in ("click", "action"):
        recipe = gr.recipe(name, response_space="thousandths", point_share=share / 1000)
        assert recipe.score(clicks, [point] * 2).acc.tolist() == [1.0, 0.0]
    to = {"action": {"name": "drag", "to": point["point"]}, "space": "unit", "image_size": [*size]}
    assert recipe.score([drag.format(at + share + more) for more in (0, 1)], [to] * 2).acc.tolist() == [1.0, 0.0]
    pixels = {"point": [at * size[0] / 1000, size[1] / 2], "image_size": [*size]}
    recipe = gr.recipe("click", response_space="thousandths", point_radius=share * size[0] / 1000)
    assert recipe.score(clicks, [pixels] * 2).acc.tolist() == [1.0, 0.0]


def test_a_box_and_its_marked_point_in_one_product():
    both = product(inside=Hit(border="strict"), near=NearPoint(radius=10))
    marked = {"bbox": [0, 0, 100, 100], "point": [5, 5]}
    assert judge(both, [(5, 15), (5, 16), (0, 5), (-1, 5)], marked) == [1, 0, 0, 0]


places = st.sampled_from([
    BOX, {"bbox": [5, 5, 5, 9]}, SQUARE, {"polygon": [0, 0, 60, 0, 60, 20, 20, 20, 20, 60, 0, 60]},
    {"circle": [20, 30, 15]}, {"point": [20, 30]}, {"refusal": True}, {"regions": [SQUARE, {"circle": [50, 50, 9]}]},
])  # fmt: skip
coordinates = st.integers(-10, 70).map(float) | st.floats(-10, 70)


@settings(max_examples=100)
@given(places, coordinates, coordinates, st.sampled_from(["inclusive", "half_open"]))
def test_strict_is_never_more_than_inclusive_and_enlarged_never_less(place, x, y, polygon):
    size = {"size": (100, 100)}
    strict = judge(Hit(polygon="strict", border="strict", point_radius=3), [(x, y)], place, **size)
    inclusive = judge(Hit(polygon=polygon, point_radius=3), [(x, y)], place, **size)
    larger = judge(Hit(enlarge=1.5, point_radius=4), [(x, y)], place, **size)
    assert strict <= judge(Hit(point_radius=3), [(x, y)], place, **size)
    assert strict <= inclusive
    # About the centre of the bounding box an L-shape does not contain what it contained.
    assert inclusive <= larger or place.get("polygon", SQUARE["polygon"]) != SQUARE["polygon"]


def test_the_border_of_an_enlarged_polygon_is_exact():
    # 1.5 times as large, its corners are (1403, 518), (1409, 518) and (1403, 524).
    triangle = {"polygon": [1404, 519, 1408, 519, 1404, 523]}
    border = [(1404, 523), (1406, 521), (1403, 520), (1403.5, 523.6)]
    assert judge(Hit(enlarge=1.5), border, triangle) == [1, 1, 1, 0]
    assert judge(Hit(enlarge=1.5, polygon="strict"), border, triangle) == [0, 0, 0, 0]
    assert judge(Hit(enlarge=1.5), [(23, 35), (23, 36)], {"circle": [20, 31, 10 / 3]}) == [1, 0]


@settings(max_examples=100)
@given(coordinates, coordinates, st.floats(0, 1))
def test_a_share_of_a_square_screen_is_a_radius(x, y, share):
    point = {"point": [20, 30]}
    by_share = judge(Hit(point_share=share), [(x, y)], point, size=(64, 64))
    assert by_share == judge(Hit(point_radius=64 * share), [(x, y)], point)
