import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.combine import product
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.verifiers import Hit, NearPoint
from tests.verifiers.judging import judge, rollouts

BOX = {"bbox": [10, 20, 30, 40]}
CLICK, ACTION = (gr.recipe(name, response_space="thousandths") for name in ("click", "action"))
SQUARE = {"polygon": [0, 0, 10, 0, 10, 10, 0, 10]}


def test_the_border_of_a_box_counts():
    points = [(10, 20), (30, 40), (20, 30), (9.99, 30), (20, 40.01), None]
    assert judge(Hit(), points, BOX) == [1, 1, 1, 0, 0, 0]


def test_a_rounded_border_counts_points_that_rounding_put_beside_it():
    rounded, near, far = Hit(border="rounded"), 1e-9, 1e-8
    points = [(30 + near / 2, 40), (10, 20 - near / 2), (30 + far, 40), (10, 20 - far), None]
    assert judge(rounded, points, BOX) == [1, 1, 0, 0, 0]
    assert judge(Hit(), points, BOX) == [0, 0, 0, 0, 0]
    points = [(10 + near / 2, 5), (-near / 2, 0), (10 + far, 5), (5, -far)]
    assert judge(rounded, points, SQUARE) == [1, 1, 0, 0]
    assert judge(Hit(polygon="half_open", border="rounded"), [(10, 5), (10 - far, 5)], SQUARE) == [0, 1]
    assert judge(rounded, [(5 + near / 2, 0), (5 + far, 0)], {"circle": [0, 0, 5]}) == [1, 0]


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


def test_polygons_follow_the_chosen_border_rule():
    points = [(0, 5), (5, 0), (10, 5), (5, 10), (5, 5), (11, 5)]
    assert judge(Hit(), points, SQUARE) == [1, 1, 1, 1, 1, 0]
    assert judge(Hit(polygon="half_open"), points, SQUARE) == [1, 1, 0, 0, 1, 0]


def test_a_polygon_is_not_its_bounding_box():
    assert judge(Hit(), [(9, 9), (1, 1)], {"polygon": [0, 0, 10, 0, 0, 10]}) == [0, 1]


def test_a_circle_counts_within_its_radius_not_its_bounding_box():
    assert judge(Hit(), [(3, 4), (0, 5), (4, 4), (5, 5), (0, 0), None], {"circle": [0, 0, 5]}) == [1, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("radius", "hits"), [(None, [0, 0, 0, 0]), (0, [1, 0, 0, 0]), (5, [1, 1, 0, 0]), (1e-300, [1, 0, 0, 0])]
)
def test_a_point_target_is_reached_within_the_radius(radius, hits):
    assert judge(Hit(point_radius=radius), [(7, 7), (10, 11), (10.1, 11), None], {"point": [7, 7]}) == hits


def test_a_point_beside_a_box_moves_no_border():
    beside = {**BOX, "point": [11, 21]}
    assert judge(Hit(point_radius=3), [(30, 40), (9, 20), (11, 21)], beside) == [1, 0, 1]


def test_whole_edges_are_cut_towards_zero():
    box = {"bbox": [-0.9, 10.9, 300.9, 20.9]}
    points = [(-0.5, 15), (0, 10), (300, 20), (300.5, 15), (301, 15), (150, 20.5)]
    assert judge(Hit(whole_edges=True), points, box) == [0, 1, 1, 0, 0, 0]
    assert judge(Hit(), points, box) == [1, 0, 1, 1, 0, 1]


def test_any_of_several_places_counts_whatever_their_kinds():
    target = {"regions": [BOX, SQUARE, {"circle": [100, 100, 5]}, {"point": [200, 200]}]}
    points = [(20, 30), (5, 5), (103, 104), (201, 200), (50, 50)]
    assert judge(Hit(point_radius=2), points, target) == [1, 1, 1, 1, 0]


def test_each_row_meets_its_own_target():
    targets = [BOX, {"refusal": True}, SQUARE, {"circle": [5, 5, 1]}, {"action": "wait"}, {"regions": [BOX, SQUARE]}]
    assert Hit()(rollouts([(5, 5)] * 6, targets)).tolist() == [0, 0, 1, 1, 0, 1]


def test_actions_that_are_no_click_do_not_hit():
    clicks = Hit(actions=("", "left_click"))
    names = ["", "left_click", "type", "LEFT_CLICK"]
    assert judge(clicks, [(20, 30)] * 4, BOX, actions=names) == [1, 1, 0, 0]
    assert judge(Hit(), [(20, 30)] * 4, BOX, actions=names) == [1, 1, 1, 1]


def test_a_strict_border_leaves_boxes_circles_and_reaches_open():
    strict = Hit(border="strict", point_radius=5)
    assert judge(strict, [(10, 20), (30, 40), (20, 40), (20, 30), (29.9, 39.9)], BOX) == [0, 0, 0, 1, 1]
    assert judge(strict, [(3, 4), (5, 0), (2.9, 4), (0, 0)], {"circle": [0, 0, 5]}) == [0, 0, 1, 1]
    assert judge(strict, [(10, 11), (10, 10.9), (7, 7)], {"point": [7, 7]}) == [0, 1, 1]
    assert judge(strict, [(5, 5)], {"bbox": [5, 5, 5, 5]}) == [0]


def test_a_strict_border_of_a_polygon_is_a_polygon_rule():
    points = [(0, 5), (5, 10), (10, 10), (5, 5), (0.1, 9.9)]
    assert judge(Hit(polygon="strict"), points, SQUARE) == [0, 0, 0, 1, 1]
    assert judge(Hit(border="strict"), points, SQUARE) == [1, 1, 1, 1, 1]


def test_places_can_be_enlarged_about_their_centre():
    wide = Hit(enlarge=1.2)  # 20 x 20 about (20, 30) becomes 24 x 24, borders included
    assert judge(wide, [(8, 18), (32, 42), (7.9, 30), (20, 42.1), (20, 30)], BOX) == [1, 1, 0, 0, 1]
    assert judge(Hit(enlarge=0.5), [(15, 25), (25, 35), (14.9, 30)], BOX) == [1, 1, 0]
    assert judge(Hit(enlarge=2.0), [(6, 8), (6.1, 8), (0, 10)], {"circle": [0, 0, 5]}) == [1, 0, 1]
    assert judge(Hit(enlarge=2.0), [(-5, -5), (15, 15), (-5.1, 5)], SQUARE) == [1, 1, 0]
    assert judge(Hit(enlarge=9.0, point_radius=1), [(8, 7), (9, 7)], {"point": [7, 7]}) == [1, 0]


def test_a_share_of_the_screen_reaches_as_far_as_the_screen_is_wide_and_high():
    near = Hit(point_share=0.0625)
    points = [(564, 1024), (565, 1024), (500, 1152), (500, 1153), (538, 1126), (540, 1127), None]
    assert judge(near, points, {"point": [500, 1024]}, size=(1024, 2048)) == [1, 0, 1, 0, 1, 0, 0]
    unit = judge(near, [(0.5, 0.56), (0.5, 0.57)], {"point": [0.5, 0.5]}, space=CoordSpace.UNIT)
    assert unit == judge(near, [(500, 560), (500, 570)], {"point": [500, 500]}, space=CoordSpace.THOUSANDTHS) == [1, 0]
    strict = Hit(point_share=0.25, border="strict")
    assert judge(strict, [(25, 0), (24, 0)], {"point": [0, 0]}, size=(100, 100)) == [0, 1]


def test_both_points_become_shares_before_they_are_compared_as_in_published_code():
    # UI-S1 takes 540 / 1000 - 500 / 1000 for more than 0.04: its golden lines have a miss at exactly this distance.
    points = [(539, 1000), (540, 1000), (500, 1078), (500, 1080)]
    assert judge(Hit(point_share=0.04), points, {"point": [500, 1000]}, size=(1000, 2000)) == [1, 0, 1, 0]


def test_a_share_beside_a_box_is_any_of_two_places():
    either = {"regions": [{"bbox": [229, 1100, 250, 1174]}, {"point": [239.5, 1137]}]}
    points = [(229, 1100), (269.5, 1137), (280, 1137), (239.5, 1200), (239.5, 1218)]
    assert judge(Hit(point_share=0.04), points, either, size=(1000, 2000)) == [1, 1, 0, 1, 0]


def test_a_share_asks_for_the_size_of_point_targets_only():
    assert judge(Hit(point_share=0.1), [(20, 30)], BOX) == [1]
    with pytest.raises(gr.TargetError, match=r"row 0, field 'image_size': got nothing; .* Hit measures in shares"):
        judge(Hit(point_share=0.1), [(20, 30)], {"point": [20, 30]})


def test_the_point_marked_in_a_place_can_be_asked_for():
    near = NearPoint(radius=5)
    assert judge(near, [(15, 21), (16, 21), (3, 3), None], {**BOX, "point": [11, 21]}) == [1, 1, 0, 0]
    assert judge(near, [(0, 5), (0, 5.1)], {"circle": [0, 0, 90]}) == [1, 0]
    assert judge(near, [(4, 7), (20, 20)], {"point": [7, 3]}) == [1, 0]
    assert judge(near, [(20, 30)], BOX) == [0], "nothing is marked"
    assert NearPoint(radius=1)(rollouts([(1, 1)] * 2, [{"refusal": True}, {"point": [1, 1]}])).tolist() == [0, 1]
    assert judge(NearPoint(radius=0, border="strict"), [(7, 3)], {"point": [7, 3]}) == [0]


def test_the_marked_point_by_a_share_of_the_screen():
    near = NearPoint(share=0.14, border="strict")
    marked = {"bbox": [0, 0, 900, 900], "point": [500, 500]}
    assert judge(near, [(640, 500), (639, 500), (500, 360.5)], marked, size=(1000, 1000)) == [0, 1, 1]
    assert judge(near, [(20, 30)], BOX) == [0], "nothing is marked, so no size is asked for"
    with pytest.raises(gr.TargetError, match="NearPoint measures in shares of the screen"):
        judge(near, [(1, 1)], marked)


def test_a_box_and_its_marked_point_in_one_product():
    both = product(inside=Hit(border="strict"), near=NearPoint(radius=10))
    marked = {"bbox": [0, 0, 100, 100], "point": [5, 5]}
    assert judge(both, [(5, 15), (5, 16), (0, 5), (-1, 5)], marked) == [1, 0, 0, 0]


def test_a_list_of_actions_will_do():
    assert Hit(actions=["click", "tap"]) == Hit(actions=("click", "tap"))
    assert hash(Hit(actions=["click"])) == hash(Hit(actions=("click",)))
    assert judge(Hit(actions=["click"]), [(20, 30)] * 2, BOX, actions=["click", "type"]) == [1, 0]


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


@settings(max_examples=100)
@given(coordinates, coordinates, st.floats(0, 1))
def test_a_share_of_a_square_screen_is_a_radius(x, y, share):
    point = {"point": [20, 30]}
    by_share = judge(Hit(point_share=share), [(x, y)], point, size=(64, 64))
    assert by_share == judge(Hit(point_radius=64 * share), [(x, y)], point)
