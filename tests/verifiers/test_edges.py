"""Points on the edges and the corners of polygons and regions, under every verifier that looks at places."""

import pytest

from grounding_rewards.plugins.named import build
from tests.verifiers.judging import judge
from tests.verifiers.test_all import BUILT_WITH, VERIFIERS

POINTS = {
    "centre": (20, 20), "left": (10, 20), "top": (20, 10), "right": (30, 20), "bottom": (20, 30),
    "upper left": (10, 10), "upper right": (30, 10), "lower left": (10, 30), "lower right": (30, 30),
    "beside": (30.001, 20), "below": (20, 30.001),
}  # fmt: skip
SQUARE = {"polygon": [10, 10, 30, 10, 30, 30, 10, 30]}
BOX = {"bbox": [10, 10, 30, 30]}
FAR = {"polygon": [70, 70, 90, 70, 90, 90, 70, 90]}
# The scores at the centre, on each edge, on each corner, and just outside.
EDGES = {
    "action_match": (1, 1, 1, 0), "centredness": (1, 0.0183, 0.0183, 0), "corner_distance": (1, 0.7071, 0, 0),
    "dast_length": (0.5, 0.5, 0.5, -0.1), "dense_distance": (1, 0.5, 0.5, 0.5), "exploration": (1, 1, 1, -1),
    "gaussian_point": (1, 0.6065, 0.3679, 0.6065), "hit": (1, 1, 1, 0), "inside_distance": (1, 0.6464, 0.5, 0),
    "matched_f1": (1, 1, 1, 0), "matched_precision": (1, 1, 1, 0), "matched_recall": (1, 1, 1, 0),
    "screen_distance": (1, 0.9922, 0.9844, 0.9922), "suggestion": (1, 1, 1, 0),
}  # fmt: skip
TWO = {"matched_f1": 2 / 3, "matched_recall": 1 / 2}  # those that ask for all regions find one of two


def scores(verifier, target):
    return judge(verifier, [*POINTS.values()], target, size=(100, 100))


@pytest.mark.parametrize("name", [name for name in VERIFIERS if name != "verdict"])  # which reads a text alone
def test_edges_and_corners_are_those_of_the_box_and_of_a_region(name):
    verifier = build("verifiers", name, BUILT_WITH.get(name, [({}, {})])[0][0])
    found = scores(verifier, SQUARE)
    if name in EDGES:
        centre, edge, corner, outside = EDGES[name]
        assert found == pytest.approx([centre, *[edge] * 4, *[corner] * 4, *[outside] * 2], abs=1e-4)
    else:  # it looks at no point, or at none of these
        assert len(set(found)) == 1
    assert scores(verifier, BOX) == found
    assert scores(verifier, {"regions": [FAR, SQUARE]}) == [score * TWO.get(name, 1) for score in found]


@pytest.mark.parametrize("rule", ["inclusive", "half_open", "strict"])
@pytest.mark.parametrize("name", ["hit", "inside_distance", "exploration"])
def test_a_border_is_in_or_out_as_its_rule_says(name, rule):
    """``half_open`` has the left and the upper border alone, as the published rule."""
    within = {"inclusive": {*POINTS} - {"beside", "below"}, "half_open": {"centre", "left", "top", "upper left"},
              "strict": {"centre"}}  # fmt: skip
    verifier, out = build("verifiers", name, {"polygon": rule}), -1 if name == "exploration" else 0
    for target in (SQUARE, {"regions": [FAR, SQUARE]}):
        inside = {where for where, score in zip(POINTS, scores(verifier, target), strict=True) if score != out}
        assert inside == within[rule]
