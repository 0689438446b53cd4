"""``(Image_0, (120, 45))`` and crops, whose left top is added: GUI-Spotlight."""

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing import CROPPED
from grounding_rewards.parsing.readers import read_cropped
from grounding_rewards.parsing.texts import compiled
from tests.cases import cases
from tests.parsing.reading import read, read_all, read_box

CROP = "<crop>(Image_0, (100, 200), (300, 400))</crop>"


@cases(
    ("text", "point"),
    [
        ("(Image_0, (120, 45))", [120, 45]),
        ("<answer>(Image_0,(120.5,45))</answer>", [120.5, 45]),
        ("( Image_0 ,\n( -1 , .5 ) )", [-1, 0.5]),
        (f"{CROP}\n<answer>(Image_1, (20, 45))</answer>", [120, 245]),
        (f"{CROP} (Image_0, (20, 45))", [20, 45]),
        (f"{CROP} <crop>(Image_1, (10, 20), (50, 60))</crop> (Image_2, (1, 2))", [111, 222]),
        (f"{CROP} <crop>(Image_0, (10, 20), (50, 60))</crop> (Image_2, (1, 2))", [11, 22]),
        (f"{CROP} <extract>(Image_0, left)</extract> (Image_0, (1, 2))", [1, 2]),
    ],
)
def test_adds_the_crops_left_top(text, point):
    assert read(text, CROPPED) == (point, "OK")


def test_a_crop_alone_answers_with_its_box():
    assert read(CROP, CROPPED) == ([200, 300], "OK")
    assert read_box(CROP, CROPPED) == [100, 200, 300, 400]
    inner = f"{CROP} <crop>(Image_1, (10, 20), (50, 60))</crop>"
    assert read(inner, CROPPED) == (None, "SEVERAL_ANSWERS")
    assert read(inner, CROPPED, "last") == ([130, 240], "OK")


@cases(
    "text",
    [
        "(Image_1, (20, 45))", f"(Image_1, (20, 45)) {CROP}", f"{CROP} (Image_2, (20, 45))", "(Image_0, (x, y))",
        "(Image_0, 120, 45)", "(Image_0, (120, 45)", "(Image_0, (120))", "Image_0: (120, 45)", "(Image_x, (1, 2))",
        f"{CROP} <extract>(Image_0, left)</extract> (Image_1, (1, 2))", "(Image_0, (1e3, 2))", "(Image_, (1, 2))",
        "<crop>(Image_0, (x1, y1), (x2, y2))</crop>", "(Image_99999, (1, 2))",
    ],
)  # fmt: skip
def test_places_in_unknown_images_and_echoes_are_malformed(text):
    assert read(text, CROPPED) == (None, "MALFORMED")


def test_several_points_are_several_answers_and_crops_beside_them_none():
    text = f"{CROP} (Image_0, (1, 2)) (Image_1, (3, 4))"
    assert read(text, CROPPED) == (None, "SEVERAL_ANSWERS")
    assert read(text, CROPPED, "first") == ([1, 2], "OK")
    assert read_all(text, CROPPED) == [[1, 2], [103, 204]]


def test_far_away_offsets_stay_finite():
    nines = "9" * 400
    text = f"<crop>(Image_0, (-{nines}, {nines}), (1, 2))</crop> (Image_1, ({nines}, {nines}))"
    assert read(text, CROPPED) == ([0, 1e12], "OK")


@settings(deadline=None)
@given(st.lists(st.sampled_from([*"(), 0123-.\n", "Image_0", "Image_1"]), max_size=8).map("".join))
def test_the_usual_pattern_takes_only_what_is_read_the_same(inside):
    for text in (f"(Image_0, ({inside}))", f"(Image_0, (1, 2{inside}", f"(Image_0{inside}, (-3, 4.5))"):
        usual = compiled(CROPPED.usual[0]).search(text)
        if usual:
            assert read_cropped(text) == [(float(usual["x"]), float(usual["y"]))]
