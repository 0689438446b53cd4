"""Composites of parts that judge actions."""

import pytest

from tests.recipes.test_composite import build


@pytest.mark.parametrize(
    ("parts", "reach"),
    [
        ({"action_type": 1}, (None, None, 1.0)),
        ({"hit": 1, "end_hit": {"weight": 1, "radius": 5}}, (5, None, 1.0)),
        ({"hit": {"weight": 1, "point_radius": 3, "enlarge": 1.5}, "end_hit": {"weight": 1, "radius": 5}},
         (3, None, 1.5)),
        ({"end_hit": {"weight": 1, "share": 0.1, "enlarge": 1.2}}, (None, 0.1, 1.2)),
        ({"near_point": {"weight": 1, "share": 0.2}, "action_type": 1}, (None, 0.2, 1.0)),
        ({"hit": {"weight": 1, "point_radius": 3},
          "right": {"verifier": "action_match", "weight": 1, "point_radius": 9}}, (9, None, 1.0)),
        ({"done": {"weight": 1, "any_of": {"product": {"kind": "action_type",
                                                       "place": {"verifier": "hit", "point_radius": 7}}}}},
         (7, None, 1.0)),
    ],
)  # fmt: skip
def test_the_reach_of_the_default_success(parts, reach):
    success = build(parts).success
    assert (success.point_radius, success.point_share, success.enlarge) == reach
