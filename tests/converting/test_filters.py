"""Filters of samples: which stay, and the reasons of the others."""

import json

import pytest

from grounding_rewards.converting.filters import Filters, Selection, by_share
from grounding_rewards.converting.samples import ColumnNames, Reading, read_rows
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import ConvertError, TableError
from grounding_rewards.pool.draws import zero_quota

COLUMNS = ColumnNames("ask", "box", "img", "size", source="source")
UNIT = CoordSpace.UNIT


def reasons(rows, filters=None, *, space=UNIT, **selection):
    """Return why each row is left out, "" where it stays."""
    chosen = Selection(Filters(**(filters or {})), **selection)
    full = [{"ask": "Save", "img": "a.png", "box": [0.1, 0.1, 0.2, 0.2], "size": [100, 50], **row} for row in rows]
    read = read_rows(full, Reading(COLUMNS, space=space))
    assert not read.problems
    pairs = [*zip(full, read.samples, strict=True)]
    compared = chosen.compared(pairs) if chosen.compares else lambda row: ""
    return [chosen.reason(row, sample) or compared(sample.index) for row, sample in pairs]


SAME, OTHER = {}, {"box": [0.5, 0.5, 0.6, 0.6]}


@pytest.mark.parametrize(
    ("rows", "settings", "out"),
    [
        ([SAME, {"box": [0.1, 0.1, 1.1, 0.2]}, {"box": [0.1, 0.1, 0.1, 0.2]}], {}, ["", "", ""]),
        ([SAME, {"box": [0.1, 0.1, 1.1, 0.2]}], {"drop": ["outside"]}, ["", "outside the image"]),
        (
            [{"box": [-0.1, 0.1, 0.1, 0.2]}, {"box": {"point": [1, 1]}}],
            {"drop": ["outside"]},
            ["outside the image", ""],
        ),
        ([{"box": [0.1, 0.1, 0.1, 0.2]}, {"box": [0.1, 0.1, 1.1, 0.2]}], {"drop": ["empty"]}, ["empty", ""]),
        ([{"box": [0, 0, 0.5, 0.2]}, {"box": [0, 0, 0.5, 0.21]}], {"max_area": 0.1}, ["", "with a large box"]),
        ([{"box": {"refusal": True}}, {"box": {"point": [0.5, 0.5]}}], {"max_area": 0.1}, ["", ""]),
        ([{"ask": "Save"}, {"ask": "Save!"}], {"max_instruction": 4}, ["", "with a long instruction"]),
        ([SAME, OTHER, SAME, {"img": "b.png"}], {"drop": ["duplicate"]}, ["", "", "duplicate", ""]),
        ([SAME, OTHER, SAME, {"img": "b.png"}], {"drop": ["ambiguous"]}, ["ambiguous"] * 3 + [""]),
        ([SAME, SAME, {"ask": "Open"}], {"drop": ["ambiguous"]}, ["", "", ""]),
        ([SAME, OTHER, SAME], {"drop": ["duplicate", "ambiguous"]}, ["ambiguous", "ambiguous", "duplicate"]),
    ],
)
def test_filters(rows, settings, out):
    assert reasons(rows, settings) == out


@pytest.mark.parametrize(
    ("rows", "selection", "out"),
    [
        ([{"app": {"os": "mac"}}, {"app": {"os": "web"}}, SAME], {"where": {"app.os": "web"}}, ["where", "", "where"]),
        ([SAME, SAME, {"img": "b.png"}, SAME], {"per_image": 2}, ["", "", "", "per_image"]),
        ([SAME] * 3, {"take": "first:1"}, ["", "take", "take"]),
        ([SAME] * 3, {"take": "end:34%"}, ["take", "", ""]),
        ([SAME, SAME, {"img": "b.png"}], {"per_image": 1, "take": "end:1"}, ["take", "per_image", ""]),
        ([{"source": "a"}] * 3 + [{"source": "b"}], {"shares": {"b": 0.25}}, ["", "", "", ""]),
        ([{"source": "a"}] + [{"source": "b"}] * 2, {"shares": {"a": 0.5, "b": 0.5}, "seed": 1}, ["", "share", ""]),
    ],
)
def test_selections(rows, selection, out):
    assert [why.removeprefix("by ") for why in reasons(rows, **selection)] == out


def test_draws_depend_on_the_seed_and_take_as_many_as_asked():
    rows = [{"ask": str(number)} for number in range(100)]
    draws = [reasons(rows, take="random:33%", seed=seed) for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]
    assert [draw.count("") for draw in draws] == [33, 33, 33]


def test_a_share_that_a_source_cannot_fill_is_an_error():
    with pytest.raises(ConvertError, match=r"^b, share: 0.5 of the mixture are 30 samples, and it gives 20; lower it"):
        by_share({"a": 30, "b": 20}, {"b": 0.5})
    assert by_share({"a": 30, "b": 20}, {"a": 0, "b": 1}) == {"a": 0, "b": 20}


@pytest.mark.parametrize(
    ("rest", "share", "number"),
    [(2, 0.2, 1), (6, 0.2, 2), (10, 0.2, 3), (7, 0.6, 11), (1, 0.2, 0)],  # 0.5, 1.5, 2.5, 10.5, 0.25
)
def test_shares_are_exact_and_round_from_the_middle_up_as_quotas_of_pools_do(rest, share, number):
    assert by_share({"a": rest, "b": 99}, {"b": share}) == {"b": number}
    assert zero_quota(rest, share) == number


def test_sizes_are_needed_for_areas_of_pixels_alone():
    rows, pixel = [{"box": [0, 0, 50, 10]}, {"box": [0, 0, 51, 10]}], CoordSpace.PIXEL
    assert reasons(rows, {"max_area": 0.1}, space=pixel) == ["", "with a large box"]
    with pytest.raises(ConvertError, match=r"^image size: is needed by max_area and overlap"):
        reasons([{**rows[0], "size": None}], {"max_area": 0.1}, space=pixel)


BOXES = [
    {"image": "a.png", "boxes": [[0.1, 0.1, 0.3, 0.2], [0.8, 0.8, 0.9, 0.9]]},
    {"image": "b.png", "boxes": []},
    {"image": "a.png", "boxes": [[0.5, 0.5, 0.6, 0.6]]},
]


def test_places_overlap_a_box_of_the_detector(tmp_path):
    file = tmp_path / "boxes.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in BOXES))
    rows = [
        {"box": [0.1, 0.1, 0.2, 0.2]},  # half of the first
        {"box": [0.29, 0.1, 0.4, 0.2]},
        {"box": {"point": [0.55, 0.55]}},
        {"box": {"point": [0.65, 0.55]}},
        {"img": "b.png"},
        {"img": "c.png"},
    ]
    beside = "beside detected boxes"
    out = ["", beside, "", beside, beside, "without detected boxes"]
    filters = {"overlap": file, "overlap_space": UNIT}
    root = str(tmp_path)
    assert reasons(rows, filters, root=root) == out
    assert reasons(rows[:1], {**filters, "overlap_iou": 0.51}, root=root) == [beside]
    half = [{"box": [0.25, 0.25, 0.5, 0.75]}]
    file.write_text(json.dumps({**BOXES[0], "boxes": [[0.25, 0.25, 0.75, 0.75]]}))
    assert reasons(half, {**filters, "overlap_iou": 0.5}, root=root) == [""]  # the least overlap is enough
    pixels = [{**BOXES[0], "boxes": [[10, 5, 30, 10]], "space": "pixel"}]  # of 100 x 50
    file.write_text(json.dumps(pixels[0]))
    assert reasons(rows[:1], filters, root=root) == [""]
    file.write_text(json.dumps(BOXES[0]))
    with pytest.raises(TableError, match=r"boxes.jsonl, row 0 \(line 1\): nothing names the space of its boxes"):
        reasons(rows[:1], {"overlap": file}, root=root)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"max_area": 5}, "max_area: got 5; expected a number above 0, and at most 1"),
        ({"overlap_iou": 0}, "overlap_iou: got 0; expected a number above 0, and at most 1"),
        ({"max_instruction": "7"}, "max_instruction: got '7'; expected a whole number from 1"),
        ({"drop": ["all"]}, "drop: got 'all'; expected some of outside, empty, no-image, duplicate, ambiguous"),
    ],
)
def test_wrong_settings(settings, error):
    with pytest.raises(ConvertError) as raised:
        Filters(**settings)
    assert str(raised.value) == error
