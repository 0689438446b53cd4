"""Targets read many at once: the same as one by one with care, and what is not surely so is left to that."""

import json
from decimal import Decimal
from enum import IntEnum
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards import arrays
from grounding_rewards.targets import columns, typed
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.read import read_target, read_with_form
from grounding_rewards.targets.typed import Boxes, read_typed

BOX = [10, 20, 30, 40]
NAN = float("nan")


class One(IntEnum):
    ONE = 1


NAMES = ["a", "", 5, True, 5.0, 2**63, 2**63 - 1, -(2**63), None, np.str_("a"), One.ONE, [1], "\ud800", 'a"b', "a\\b"]
VALUES = {
    "bbox": [
        BOX, tuple(BOX), [-0.0, 0, 1, 1], [3, 4, 1, 2], [1, 2, 3], [True, 2, 3, 4], ["1", 2, 3, 4], [NAN, 1, 2, 3],
        [1, 2, float("inf"), 3], [10**400, 1, 2, 3], [1, 2, 10**12, 3], [1, 2, 10**12 + 1, 3], [One.ONE, 2, 3, 4],
        [-1 - 10**12, 2, 3, 4], [Decimal(1), 2, 3, 4], [np.float64(1), 2, 3, 4], np.array(BOX), {1, 2, 3, 4},
        None, [5, 5, 5, 5],
    ],
    "id": NAMES,
    "trajectory": NAMES,
    "task": NAMES,
    "step": [0, 3.0, 3.5, -1, True, 2**53, 2**53 + 1, None, One.ONE],
    "refusal": [True, False, None, 1, np.bool_(True)],
    "space": ["pixel", "x", None, gr.CoordSpace.UNIT],
    "image_size": [[100, 200], [0, 5], [NAN, 3], [1e13, 2], None, [Decimal(5), 6]],
    "action": [
        "click", "", None, {"name": "key", "keys": ["a"]}, {"name": "key", "keys": []}, {"name": None},
        {"name": "drag", "to": [1, 2]}, {"name": "drag", "to": [-0.0, NAN]}, {"name": "wait", "duration": -0.0},
        {"name": "scroll", "direction": "north"}, {"name": np.str_("a")}, {"name": "wait", "duration": 2},
        *({"name": "drag", "to": to} for to in (
            [1], [1, 2, 3], (1, 2.5), BOX, [3, 1, 2, 4], [1, 4, 2, 3], [1, 1, 1, 1], [1, 2, 3, 4, 5], [True, 1],
            [0, -0.0], [10**12, -(10**12)], [1, 10**12 + 1], [-1e13, 1], [1, NAN], [1, 2, NAN, 4], [10**400, 1],
            ["1", 2], None, np.array([1, 2]), {"x": 1, "y": 2}, [[1, 2]], "1, 2", [Decimal(1), 2], [One.ONE, 2], [],
        )),
        *({"name": "wait", "duration": time} for time in (
            0, 0.0, -1, 1e12, 1.1e12, NAN, 10**400, True, "1", None, [1],
        )),
    ],
    "extra": [{"a": [1, None]}, None, np.array([1])],
    "regions": [[BOX], [], [{"bbox": BOX, "action": "tap"}]],
    "point": [[11, 21], [99, 99]],
    "places": [[], None],
    "actions": [[]],
}  # fmt: skip
DICTS = [
    {**beside, name: value}
    for name, values in VALUES.items()
    for value, beside in product(values, [{}, {"bbox": BOX}, {"bbox": BOX, "image_size": [99, 99], "id": "q"}])
]
GOOD = '{"bbox":[10,20,30,40],"id":"a"}'
TEXTS = [
    GOOD, f" {GOOD}\n", f"\ufeff{GOOD}", f"{GOOD} x", f"{GOOD}\x0b", "", "null", "[1,2,3,4]", "{}", "[" * 100_000,
    '{"bbox":[10,20,30,40],"bbox":[1,1,2,2]}', '{"bbox":null,"bbox":[1,1,2,2]}',
    '{"bbox":[1,1,2,2],"id":null,"id":null}',
    '{"bbox":[1,1,2,2],"\\u0062box":[3,3,4,4]}', '{"id":"\\u0022\\u0022","bbox":[1,1,2,2],"bbox":[3,3,4,4]}',
    '{"extra":{"a":1,"a":2},"bbox":[1,2,3,4]}', '{"bbox":[1e400,1,2,2]}', '{"bbox":[-0,-0.0,2,2]}',
    '{"bbox":[1e-400,5e-324,2,2]}', '{"bbox":[NaN,1,2,2]}', '{"id":"\\ud800","bbox":[1,1,2,2]}', '{"bbox":[01,1,2,2]}',
]  # fmt: skip


def shown(target):
    return repr(target.changed(target.regions))  # numbers as the regions have them, without -0.0


def careful(value, **more):
    try:
        return shown(read_target(value, **more))
    except gr.TargetError as error:
        return str(error)


def at_once(values, **more):
    table = gr.Targets.from_list(values, bad_target="abstain", **more)
    return [str(table.errors[row]) if row in table.errors else shown(target) for row, target in enumerate(table.rows)]


@pytest.mark.parametrize("name", ["dicts", "texts", "boxes"])
def test_many_at_once_are_what_each_is_with_care(name):
    written = [json.dumps(each, default=str) for each in DICTS]
    values = {"dicts": DICTS, "texts": [*TEXTS, *written], "boxes": VALUES["bbox"]}[name]
    expected = [careful(value, row=row) for row, value in enumerate(values)]
    assert at_once(values) == expected
    assert [at_once([value]) for value in values] == [[careful(value)] for value in values]


@pytest.mark.parametrize("write", [dict, lambda each: json.dumps(each, default=str)])
@pytest.mark.parametrize("rows", [2, 40])
def test_an_odd_row_among_columns_is_what_it_is_with_care(rows, write):
    good = {"bbox": [-0.0, 20, 30, 40], "image_size": [99, 99], "id": "q", "space": "pixel", "step": 3}
    for name, values in VALUES.items():
        for value in values:
            odd = {**good, name: value}
            given = [write(good)] * (rows - 1) + [write(odd)]
            expected = careful(given[-1], row=rows - 1, space=gr.CoordSpace.UNIT)
            assert at_once(given, space="unit") == [careful(given[0])] * (rows - 1) + [expected]


@pytest.mark.parametrize("form", ["dicts", "texts", "boxes"])
def test_odd_rows_among_lone_boxes_make_the_same_table(form, monkeypatch):
    beside = {"image_size": [99, 98], "id": "q"}
    good = [{"bbox": [2, 2, 2 + row, 9], **(beside if row % 3 else {"space": "unit"})} for row in range(60)]
    odd = [
        {"polygon": [0, 0, 9, 0, 9, 9], **beside, "model_image_size": [7, 8]},
        {"bbox": BOX, "action": {"name": "drag", "to": [3, 4]}, "space": "pixel"}, {"refusal": True, **beside},
        {"regions": [{"bbox": BOX, "action": "tap"}, {"circle": [9, 9, 3]}], "extra": {"a": 1}}, {"bbox": [1, 5, 5, 1]},
        {"actions": []}, None, [1, 2, 3, 4], BOX,
        {"bbox": BOX, "image_size": [0, 1]}, {"bbox": [np.float64(0.5), 2, 3, 4]}, {"bbox": BOX, "id": 2**70},
        {"bbox": BOX, "step": 3.0, "task": "t"}, {"bbox": [True, 2, 3, 4]},
    ]  # fmt: skip
    for places in ([0], [59], [3, 4, 30], [*range(14)], [*range(31, 45)]):
        rows = list(good)
        for which, place in enumerate(places):
            rows[place] = odd[which]
        if form == "texts":
            rows = [json.dumps(row, default=float) for row in rows]
        elif form == "boxes":
            rows = [row.get("bbox", row) if isinstance(row, dict) else row for row in rows]
        for more in ({}, {"space": "pixel"}, {"native": gr.recipe("gelato").native}, {"label_free": True}):
            read = Targets.from_list(rows, bad_target="abstain", **more)
            with monkeypatch.context() as patch:
                patch.setattr(typed, "_are_few", lambda odd, among: not odd)
                each = Targets.from_list(rows, bad_target="abstain", **more)
            assert more or read.odd is not None
            assert parts(read) == parts(each)


def test_cells_with_a_size_that_is_none_are_read_alone_among_boxes():
    cells = [{"bbox": BOX, "image_size": [100, 200]} for _ in range(40)]
    cells[7]["image_size"] = cells[9]["image_size"] = None
    sizes = np.array([cell["image_size"] or [np.nan] * 2 for cell in cells])
    asked = []

    def make(places):
        asked.append([*places])
        return [cells[place] for place in places]

    boxes = Boxes(np.array([BOX] * 40, dtype=float), make, {"image_size": sizes}, named=True)
    read = Targets.from_list(boxes, space="pixel")
    assert (asked, [*read.odd]) == ([[7, 9]], [7, 9])
    assert [row.image_size for row in read.rows] == [None if row in (7, 9) else (100, 200) for row in range(40)]


def test_a_size_that_odd_rows_alone_name_is_known_of_none():
    rows = [{"bbox": BOX}] * 40 + [{"bbox": [9, 9, 1, 1], "image_size": [99, 99]}]
    assert Targets.from_list(rows, bad_target="abstain").known_image_sizes is None


def parts(table):
    names = ("regions", "alternatives", "image_sizes", "model_image_sizes", "refusal", "acts", "valid", "space_codes")
    plain = {name: getattr(table, name) for name in ("span", "flat", "with_ends", "spaces", "has_actions_or_refusals")}
    shown = [[*map(shown_or_none, table.rows)], {row: str(error) for row, error in table.errors.items()}]
    own = {row for row in range(len(table)) if row in table.own_form}
    return repr([*map(arrays.plain, (getattr(table, name) for name in names))]), plain, shown, own


def shown_or_none(target):
    return target and shown(target)


@pytest.mark.parametrize("name", ["gelato", "gui-g1", "gta1", "se-gui", "groundnext", "ui-s1", "ui-r1"])
def test_a_recipes_own_form_goes_first(name):
    recipe = gr.recipe(name)
    values = [*VALUES["bbox"], ["1", "2", "3", "4"], [0, 0, 4, 0, 0, 4], {"action": "click"}, *TEXTS]
    more = {"native": recipe.native, "space": recipe.target_space}
    for some in (values, [value for value in values if type(value) is list], [BOX, BOX], [{"bbox": BOX}] * 2):
        assert at_once(some, **more) == [careful(value, row=row, **more) for row, value in enumerate(some)]


def test_boxes_have_no_minus_zero():
    table = Targets.from_list([[-0.0, 0, 1, 1]])
    assert str((table.rows[0].bbox, table.span)) == "((0.0, 0.0, 1.0, 1.0), (0.0, 1.0, 1.0, 1.0))"


@given(st.lists(st.floats(-1e13, 1e13) | st.integers(-(10**13), 10**13), min_size=3, max_size=5))
def test_numbers_have_the_bits_that_they_have_with_care(numbers):
    for value in (numbers, {"bbox": numbers}, json.dumps({"bbox": numbers})):
        assert at_once([value, [0, 0, 1, 1] if value is numbers else value])[0] == careful(value)


def test_lone_boxes_are_one_array_and_an_odd_one_costs_itself_alone():
    for values in ([BOX] * 3, [{"bbox": BOX, "id": 1}] * 3, [GOOD, GOOD.replace("a", "b")]):
        rows = read_typed(values, None)
        assert rows.box.tolist() == [BOX] * len(values)
        assert all(row.bbox == tuple(BOX) for row in rows)
        few = [*values, type(values[0])()]
        assert [row is None for row in read_typed(few, None)] == [False] * len(values) + [True]
        rows = read_typed([None, *values * 20, *few], None)
        assert (len(rows), rows.odd) == (21 * len(values), [0, 21 * len(values) + 1])


@pytest.mark.parametrize("write", [dict, json.dumps])
def test_odd_targets_that_rollouts_share_are_read_once(write, monkeypatch):
    calls = []
    monkeypatch.setattr(columns, "read_with_form", lambda *a, **b: calls.append(a) or read_with_form(*a, **b))
    odd = [{"polygon": [0, 0, 9, 0, 9, 9 + each % 2], "id": f"{each // 4}"} for each in range(12)]
    bare = [[BOX, [5, 5, 6, 6]]] * 4
    assert at_once(map(write, odd)) == [careful(each) for each in odd]
    assert len(calls) == 6
    assert len(set(at_once(bare))) == 1
    assert len(calls) == 7
    at_once([write({**odd[0], "extra": {}})] * 3)
    assert len(calls) == (10 if write is dict else 8), "what extra holds stays the caller's"
    monkeypatch.setattr(columns, "MOST_KNOWN", 2)
    calls.clear()
    at_once(map(write, odd[:1] * 2 + odd[4:6] + odd[:1]))
    assert len(calls) == 4


@pytest.mark.parametrize("write", [dict, json.dumps])
def test_drags_and_times_are_read_at_once(write):
    actions = [{"name": "drag", "to": [5, -6.5]}, {"name": "drag", "to": BOX}, {"name": "wait", "duration": 1.5}]
    rows = [write({"bbox": BOX, "action": action}) for action in actions]
    read = [row and (row.action.to, row.action.duration) for row in read_typed(rows, None)]
    assert read == [((5, -6.5), None), (tuple(BOX), None), (None, 1.5)]
    assert read_typed([write({"action": {"name": "drag", "to": [0, -0.0]}})], None) == [None]


def test_texts_that_rollouts_share_are_read_once_and_stay_boxes():
    texts = [GOOD, GOOD.replace("a", "b")]
    once, often = read_typed(texts, None), read_typed([texts[row] for row in (1, 0, 1)], None)
    assert often.box.tolist() == [BOX] * 3
    assert often == [once[row] for row in (1, 0, 1)]
    assert often.beside == {"id": ["b", "a", "b"]}


def test_a_text_that_rollouts_share_is_looked_through_for_equal_keys_once(monkeypatch):
    texts = [json.dumps({"bbox": BOX, "action": action}) for action in ("a", {"name": "tap"})]
    looked = []
    monkeypatch.setattr(typed, "unique_keys", lambda pairs: looked.append(dict(pairs)) or looked[-1])
    read = read_typed(texts * 20, None)
    assert [row and row.action.name for row in read] == [None, "tap"] * 20
    assert looked == [{"name": "tap"}, json.loads(texts[1])]


def test_texts_that_say_a_box_and_nothing_else_are_read_at_once_beside_an_inverted_one():
    texts = [json.dumps({"bbox": box}) for box in (BOX, [3, 2, 1, 4], [1, 2, 3, 4])]
    assert [row and row.bbox for row in read_typed(texts, None)] == [tuple(BOX), None, (1, 2, 3, 4)]
    assert [row and row.bbox for row in read_typed([texts[1], *texts], None)] == [None, tuple(BOX), None, (1, 2, 3, 4)]


def test_rows_of_boxes_are_made_when_looked_at_once_and_all_together():
    made = []

    def make(places):
        made.append(len(places))
        return [[place] for place in places]

    boxes = Boxes(np.array([BOX] * 3, dtype=float), make)
    assert boxes.take([2]) == [[2]]
    assert [boxes[place] for place in (np.int64(1), -1, slice(0, 2))] == [[1], [2], [[0], [1]]]
    assert boxes[0] is next(iter(boxes))
    assert made == [1, 3]


@pytest.mark.parametrize(
    ("recipe", "box_format", "made"),
    [("gelato", None, []), ("gelato", "xywh", [3]), ("groundnext", None, [3]), ("ui-s1", None, [3])],
)
def test_boxes_that_need_care_are_made_all_at_once(recipe, box_format, made):
    places = []

    def make(chosen):
        places.append(len(chosen))
        return [{"bbox": BOX} for _ in chosen]

    boxes = Boxes(np.array([BOX] * 3, dtype=float), make, named=True)
    read = Targets.from_list(boxes, native=gr.recipe(recipe).native, space="pixel", box_format=box_format)
    assert read.regions.box.tolist() == [[10, 20, 40, 60] if box_format else BOX] * 3
    assert places == made
