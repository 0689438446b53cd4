"""Gelato's rewards against values worked out by hand from its formula: 1 - ||p - c|| / diagonal inside, else 0."""

import pytest

import grounding_rewards as gr

GELATO, PIXEL = gr.recipe("gelato"), gr.recipe("gelato-pixel")
BOX = [0.1, 0.1, 0.3, 0.2]  # centre (0.2, 0.15), diagonal sqrt(0.05)
SQUARE = [0.2, 0.2, 0.6, 0.2, 0.6, 0.6, 0.2, 0.6]  # mean (0.4, 0.4), diagonal sqrt(0.32)
TRIANGLE = [0.1, 0.1, 0.5, 0.1, 0.5, 0.4]  # mean (11/30, 0.2), diagonal 0.5


@pytest.mark.parametrize(
    ("response", "target", "distance"),
    [
        ("(200, 150)", BOX, 1.0),
        ("(100, 100)", BOX, 0.5),
        ("(300, 200)", BOX, 0.5),
        ("(250, 120)", BOX, 0.7392319),  # (0.05, 0.03): sqrt(0.0034 / 0.05) = 0.2607681
        ("(301, 150)", BOX, 0.0),
        ("(200, 99)", BOX, 0.0),
        ("(1001, 1001)", BOX, 0.0),
        ("(400, 200)", TRIANGLE, 0.9333333),  # 1 - (1/30) / 0.5
        ("(200, 350)", TRIANGLE, 0.0),  # in the bounding box, not in the triangle
        ("(400, 400)", SQUARE, 1.0),
        ("(200, 300)", SQUARE, 0.6047153),  # the left edge is in: 1 - sqrt(0.05 / 0.32)
        ("(300, 200)", SQUARE, 0.6047153),  # the top edge is in
        ("(600, 300)", SQUARE, 0.0),  # the right edge is out
        ("(300, 600)", SQUARE, 0.0),  # the bottom edge is out
        ("(200, 150)", [0.2, 0.15, 0.2, 0.15], 1.0),  # stated deviation: the source scores 0 for an exact hit
        ("(201, 150)", [0.2, 0.15, 0.2, 0.15], 0.0),
        ("(250, 150)", [0.2, 0.15, 0.3, 0.15], 1.0),
    ],
)
def test_distance_in_unit_space(response, target, distance):
    scores = GELATO.score(response, target)
    assert scores.parts["distance"].tolist() == pytest.approx([distance], abs=1e-7)
    assert scores.total.tolist() == scores.parts["distance"].tolist()
    assert scores.acc.tolist() == [float(distance > 0)]
    assert scores.parts["format"].tolist() == [1]


@pytest.mark.parametrize("target", [
    (0.1, 0.1, 0.3, 0.2), "[0.1, 0.1, 0.3, 0.2]", ["0.1", "0.1", "0.3", "0.2"], '["0.1", "0.1", "0.3", "0.2"]',
    {"bbox": BOX}, '{"bbox": [0.1, 0.1, 0.3, 0.2]}', {"bbox": [100, 100, 300, 200], "space": "thousandths"},
    {"regions": [{"bbox": BOX}, {"bbox": [0.9, 0.9, 1, 1]}]}, {"polygon": [0.1, 0.1, 0.3, 0.1, 0.3, 0.2, 0.1, 0.2]},
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert GELATO.score("(250, 120)", target).total.tolist() == pytest.approx([0.7392319], abs=1e-7)


@pytest.mark.parametrize(
    "response",
    [
        "", None, "200, 150", "[200, 150]", "(200.0, 150)", "(-200, 150)", "(200, 150).", "Answer: (200, 150)",
        "<think>x</think>(200, 150)", "(200, 150) (200, 150)", "refusal", "(２００, １５０)",
        '{"point_2d": [200, 150]}',
    ],
)  # fmt: skip
def test_only_a_whole_integer_tuple_is_an_answer(response):
    scores = gr.recipe("gelato", format_weight=0.1).score([response], [BOX])
    assert (scores.total.tolist(), scores.acc.tolist()) == ([0], [0])
    assert {name: part.tolist() for name, part in scores.parts.items()} == {"distance": [0], "format": [0]}


@pytest.mark.parametrize("response", ["(200,150)", " ( 200 ,\n150 ) \n", "(0200, 0150)"])
def test_white_space_and_leading_zeros_are_read_over(response):
    assert GELATO.score(response, BOX).total.tolist() == pytest.approx([1])


def test_the_format_weight_mixes():
    mixed = gr.recipe("gelato", format_weight=0.1)
    scores = mixed.score(["(200, 150)", "(100, 100)", "(900, 900)", "no"], [BOX] * 4)
    assert scores.total.tolist() == pytest.approx([1, 0.55, 0.1, 0])
    assert scores.acc.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("response", "target", "total"),
    [
        ("(200, 150)", [100, 100, 300, 200], 1.0),
        ("(250, 120)", [100, 100, 300, 200], 0.7392319),
        ("(300, 200)", [100, 100, 300, 200], 0.5),
        ("(301, 200)", [100, 100, 300, 200], 0.0),
        ("(200, 300)", [200, 200, 600, 200, 600, 600, 200, 600], 0.6047153),
        ("(600, 300)", [200, 200, 600, 200, 600, 600, 200, 600], 0.0),
        (" ( 200 , 150 )\n", [100, 100, 300, 200], 1.0),  # stated deviation: the source wants no spaces
    ],
)
def test_gelato_pixel_is_the_same_in_pixels_of_the_image_the_model_saw(response, target, total):
    assert PIXEL.score(response, target).total.tolist() == pytest.approx([total], abs=1e-7)


def test_gelato_pixel_scales_targets_of_the_original_image():
    wire = {"bbox": [200, 200, 600, 400], "space": "pixel"}
    sizes = {"image_sizes": (1920, 1080), "model_image_sizes": (960, 540)}
    assert PIXEL.score("(250, 120)", wire, **sizes).total.tolist() == pytest.approx([0.7392319], abs=1e-7)


def test_a_number_of_400_digits_is_a_miss_with_good_format():
    # Stated deviation: the source raises OverflowError, ValueError from 5,000 digits on.
    for digits in (400, 5000):
        scores = gr.recipe("gelato", format_weight=0.1).score(f"({'9' * digits}, 1)", BOX)
        assert scores.total.tolist() == [0.1]
