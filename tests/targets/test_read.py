"""Reading one target: every wire form, and every tolerant input that parquet, Arrow and EasyR1 make of it."""

import json
import math

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import TargetError
from grounding_rewards.targets.read import read_target
from grounding_rewards.targets.target import Action, NativeForm, Region, RegionKind, Target, placed

BOX = Region(RegionKind.BBOX, (10.0, 20.0, 30.0, 40.0))
TRIANGLE = Region(RegionKind.POLYGON, (0.0, 0.0, 4.0, 0.0, 0.0, 4.0))
CIRCLE = Region(RegionKind.CIRCLE, (5.0, 6.0, 7.0))
POINT = Region(RegionKind.POINT, (5.0, 6.0))


def objects(*items):
    """An object array of arrays, the form in which parquet hands nested lists to pandas."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def test_every_place_reads_as_dict_and_as_json_string():
    for wire, regions in [
        ({"bbox": [10, 20, 30, 40]}, (BOX,)),
        ({"polygon": [0, 0, 4, 0, 0, 4]}, (TRIANGLE,)),
        ({"circle": [5, 6, 7]}, (CIRCLE,)),
        ({"point": [5, 6]}, (POINT,)),
        ({"bbox": [10, 20, 30, 40], "point": [11, 21]}, (Region(RegionKind.BBOX, BOX.numbers, (11.0, 21.0)),)),
        ({"regions": [{"bbox": [10, 20, 30, 40]}, {"circle": [5, 6, 7]}]}, (BOX, CIRCLE)),
        ({"regions": [[10, 20, 30, 40], {"point": [5, 6]}]}, (BOX, POINT)),
        (
            {"regions": [{"bbox": [10, 20, 30, 40], "point": [11, 21]}, {"polygon": [0, 0, 4, 0, 0, 4]}]},
            (Region(RegionKind.BBOX, BOX.numbers, (11.0, 21.0)), TRIANGLE),
        ),
        ([10, 20, 30, 40], (BOX,)),
    ]:
        assert read_target(wire) == Target(**placed(regions)), (wire, regions)
        assert read_target(json.dumps(wire)) == Target(**placed(regions)), (wire, regions)
        assert read_target(f"  {json.dumps(wire)}\n") == Target(**placed(regions)), (wire, regions)


def test_numbers_come_out_as_floats():
    assert [type(number) for number in read_target({"bbox": [1, 2.5, 3, 4]}).regions[0].numbers] == [float] * 4


def test_a_box_without_extent_is_a_box():
    assert read_target({"bbox": [3, 3, 3, 3]}).regions[0].numbers == (3.0, 3.0, 3.0, 3.0)


def test_refusal_and_action_read_alone_and_together():
    assert read_target({"refusal": True}) == Target(refusal=True)
    assert read_target('{"refusal": true}') == Target(refusal=True)
    assert read_target({"action": "wait"}) == Target(action=Action("wait"))
    assert read_target({"refusal": True, "action": "stop"}) == Target(refusal=True, action=Action("stop"))
    assert read_target({"refusal": False, "bbox": [10, 20, 30, 40]}) == Target(**placed((BOX,)))
    assert read_target({"bbox": [10, 20, 30, 40], "action": "click"}) == Target(
        **placed((BOX,)), action=Action("click")
    )


@pytest.mark.parametrize("space", list(CoordSpace))
def test_space_is_read_by_name(space):
    assert read_target({"bbox": [0, 0, 1, 1], "space": str(space)}).space is space


def test_a_target_without_a_space_guesses_none():
    assert read_target({"bbox": [0, 0, 1, 1]}).space is None


def test_every_other_field_is_read():
    target = read_target({
        "bbox": [10, 20, 30, 40], "space": "pixel", "image_size": [1920, 1080], "model_image_size": [960.0, 540],
        "id": "s-7", "task": "open the menu", "trajectory": 12, "step": 0, "num_steps": 5,
        "extra": {"anything": [1, None, "x"]},
    })  # fmt: skip
    assert target == Target(
        bbox=BOX.numbers, space=CoordSpace.PIXEL, image_size=(1920.0, 1080.0), model_image_size=(960.0, 540.0),
        id="s-7", task="open the menu", trajectory=12, step=0, num_steps=5, extra={"anything": [1, None, "x"]},
    )  # fmt: skip


def test_step_is_a_whole_number_even_where_pandas_made_it_a_float():
    for step, read in [(3, 3), (3.0, 3), (np.int64(3), 3), (np.float32(3), 3), (0, 0), (None, None)]:
        assert read_target({"bbox": [0, 0, 1, 1], "step": step}).step == read, (step, read)


def test_extra_is_handed_on_as_it_came():
    # It belongs to the user: numpy stays numpy, None stays, and its keys are not ours to judge.
    extra = {"bxo": np.array([1, 2]), "none": None}
    assert read_target({"bbox": [0, 0, 1, 1], "extra": extra}).extra is extra
    assert read_target({"bbox": [0, 0, 1, 1], "extra": {"only": None}}).extra == {"only": None}
    assert read_target({"bbox": [0, 0, 1, 1], "extra": None}).extra is None


FULL = {
    "name": "drag", "text": "hello", "direction": "up", "to": [7, 8], "button": "left", "keys": ["ctrl", "c"],
    "app": "Files", "status": "done", "duration": 2,
}  # fmt: skip


def test_an_action_with_every_field():
    expected = Action("drag", "hello", "up", (7.0, 8.0), "left", ("ctrl", "c"), "Files", "done", 2.0)
    assert read_target({"action": FULL}).action == expected
    assert read_target(json.dumps({"action": FULL})).action == expected


def test_forms_that_an_action_field_may_take():
    for fields, attribute, value in [
        ({"to": [1, 2, 3, 4]}, "to", (1.0, 2.0, 3.0, 4.0)),
        ({"to": np.array([1, 2])}, "to", (1.0, 2.0)),
        ({"keys": "enter"}, "keys", ("enter",)),
        ({"keys": np.array(["ctrl", "v"])}, "keys", ("ctrl", "v")),
        ({"duration": 0}, "duration", 0.0),
        ({"duration": np.float32(0.5)}, "duration", 0.5),
        ({"text": ""}, "text", ""),
        ({"text": np.str_("a")}, "text", "a"),
        ({"direction": "left"}, "direction", "left"),
    ]:
        assert getattr(read_target({"action": {"name": "act", **fields}}).action, attribute) == value, fields


def test_numpy_arrays_of_any_number_read_like_lists():
    for dtype in [np.int8, np.int32, np.uint8, np.int64, np.float16, np.float32, np.float64, np.longdouble, object]:
        assert read_target({"bbox": np.array([10, 20, 30, 40], dtype=dtype)}) == Target(**placed((BOX,))), dtype
        assert read_target(np.array([10, 20, 30, 40], dtype=dtype)) == Target(**placed((BOX,))), dtype
        assert read_target({"bbox": list(np.array([10, 20, 30, 40], dtype=dtype))}) == Target(**placed((BOX,))), dtype


def test_numbers_of_32_bits_keep_their_own_value():
    # 0.1 in 32 bits is not 0.1 in 64; what was stored is what counts.
    assert read_target({"circle": np.array([1, 2, 0.1], np.float32)}).regions[0].numbers[2] == float(np.float32(0.1))


@pytest.mark.parametrize("scalar", [np.int16, np.uint64, np.float32, np.float64, np.longdouble])
def test_numpy_scalars_in_a_list_read_like_numbers(scalar):
    assert read_target({"point": [scalar(5), scalar(6)]}) == Target(**placed((POINT,)))


def test_zero_dimensional_arrays_and_numpy_flags_and_strings_read():
    assert read_target({"bbox": [np.array(10), 20, 30, np.array(40.0)]}) == Target(**placed((BOX,)))
    assert read_target({"refusal": np.bool_(True)}) == Target(refusal=True)
    assert read_target({"bbox": [0, 0, 1, 1], "id": np.str_("a"), "space": np.str_("unit")}).id == "a"
    assert read_target({"bbox": [0, 0, 1, 1], "id": np.int64(3), "trajectory": np.int32(4)}).trajectory == 4
    assert read_target(np.array(json.dumps({"bbox": [10, 20, 30, 40]}))) == Target(**placed((BOX,)))


def test_tuples_read_like_lists():
    assert read_target((10, 20, 30, 40)) == Target(**placed((BOX,)))
    assert read_target({"regions": ((10, 20, 30, 40), {"circle": (5, 6, 7)})}) == Target(**placed((BOX, CIRCLE)))
    assert read_target({"bbox": [0, 0, 1, 1], "image_size": (640, 480)}).image_size == (640.0, 480.0)


def test_nested_object_arrays_as_parquet_gives_them():
    regions = objects({"bbox": np.array([10.0, 20, 30, 40])}, {"circle": objects(5, 6, 7)})
    target = read_target({"regions": regions, "image_size": np.array([640, 480]), "id": "a"})
    assert (target.regions, target.image_size) == ((BOX, CIRCLE), (640.0, 480.0))
    assert read_target({"regions": np.array([[10, 20, 30, 40], [10, 20, 30, 40]])}) == Target(**placed((BOX, BOX)))
    assert read_target({"regions": objects(np.array([10, 20, 30, 40]))}) == Target(**placed((BOX,)))


def test_none_filled_keys_are_no_keys_at_every_level():
    place = {"bbox": [10, 20, 30, 40], "polygon": None, "circle": None, "point": None}
    action = {"name": "click", "text": None, "direction": None, "to": None, "button": None, "keys": None, "app": None}
    filled = {
        **dict.fromkeys(
            ("polygon", "circle", "point", "regions", "refusal", "space", "image_size", "model_image_size", "id",
             "task",
             "trajectory", "step", "num_steps", "extra")
        ),
        "bbox": [10, 20, 30, 40],
        "action": action,
    }  # fmt: skip
    assert read_target(filled) == Target(**placed((BOX,)), action=Action("click"))
    assert read_target({"regions": [place], "bbox": None}) == Target(**placed((BOX,)))
    assert read_target(json.dumps(filled)) == Target(**placed((BOX,)), action=Action("click"))


def test_an_action_of_nothing_but_none_is_no_action():
    # Arrow has no missing struct in a column of structs once a row was written as one: it fills the fields.
    hollow = {"name": None, "text": None, "to": None}
    assert read_target({"bbox": [10, 20, 30, 40], "action": hollow}) == Target(**placed((BOX,)))


def test_a_round_trip_through_an_arrow_table_changes_nothing():
    import pyarrow as pa

    rows = [
        {"bbox": [10.0, 20.0, 30.0, 40.0], "action": {"name": "click", "keys": None}},
        {"regions": [{"bbox": [10.0, 20.0, 30.0, 40.0]}, {"circle": [5.0, 6.0, 7.0]}], "image_size": [640, 480]},
        {"refusal": True, "id": "c"},
    ]
    back = pa.Table.from_pylist([{"target": row} for row in rows], schema=pa.schema([("target", pa.struct([
        ("bbox", pa.list_(pa.float64())), ("refusal", pa.bool_()), ("id", pa.string()),
        ("image_size", pa.list_(pa.int64())), ("action", pa.struct([("name", pa.string()), ("keys", pa.string())])),
        ("regions", pa.list_(pa.struct([("bbox", pa.list_(pa.float64())), ("circle", pa.list_(pa.float32()))]))),
    ]))])).to_pylist()  # fmt: skip
    assert "polygon" not in back[0]["target"]
    assert back[0]["target"]["regions"] is None
    assert [read_target(row["target"]) for row in back] == [read_target(row) for row in rows]


def test_a_mapping_that_is_no_dict_reads():
    from types import MappingProxyType

    wire = MappingProxyType({"regions": [MappingProxyType({"bbox": [10, 20, 30, 40]})], "bbox": None})
    assert read_target(wire) == Target(**placed((BOX,)))


def test_reading_leaves_the_input_alone():
    wire = {"bbox": [10, 20, 30, 40], "polygon": None, "action": {"name": "click", "text": None}}
    before = json.dumps(wire)
    read_target(wire)
    assert json.dumps(wire) == before


def test_the_largest_number_of_a_screen_is_far_away():
    assert read_target({"bbox": [-1e12, 0, 1e12, 1]}).regions[0].numbers == (-1e12, 0.0, 1e12, 1.0)
    assert not math.isinf(read_target({"point": [10**11, 1]}).regions[0].numbers[0])


def test_a_native_reader_that_fails_is_an_error_of_the_target():
    def fails(value):
        return {"bbox": [float(value["x"])] * 4}

    with pytest.raises(TargetError, match=r"expected pairs \(OverflowError"):
        read_target({"x": 10**400}, native=NativeForm("pairs", fails))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"bbox": [1, 2, 3, 4], "bbox": [5, 6, 7, 8]}', "bbox"),
        ('{"bbox": [1, 2, 3, 4], "action": {"name": "click", "name": "type"}}', "name"),
        ('{"regions": [{"bbox": [1, 2, 3, 4]}, {"point": [1, 2], "point": [1, 2]}]}', "point"),
        ('{"bbox": [1, 2, 3, 4], "extra": {"a": [{"b": 1, "b": 2}]}}', "b"),
    ],
)
def test_a_key_that_comes_twice_is_an_error(text, key):
    with pytest.raises(TargetError) as caught:
        read_target(text, row=4)
    assert str(caught.value).startswith("target of row 4, field 'target': got ")
    assert f"expected JSON of a target (the key '{key}' comes twice in one object), such as " in str(caught.value)


def test_a_key_of_a_source_that_comes_twice_is_an_error():
    text = '{"action": "click", "gt_bbox": [1, 2, 3, 4], "gt_bbox": [5, 6, 7, 8], "input_text": "no input text"}'
    with pytest.raises(TargetError, match="the key 'gt_bbox' comes twice in one object"):
        gr.recipe("gui-r1").score("x", text)


@pytest.mark.parametrize("keys", ["x y w h", "x y width height", "left top width height"])
def test_a_box_may_have_keys_of_a_corner_and_its_sides(keys):
    box = dict(zip(keys.split(), [1, 2, 3, 5], strict=True))
    for written in ({"bbox": box}, box, [box]):
        assert read_target(written).bbox == (1.0, 2.0, 4.0, 7.0)


def test_a_polygon_may_repeat_its_first_corner_and_a_region_be_two_corners():
    assert read_target({"polygon": [0, 0, 0, 0, 1, 0, 0, 1]}).regions[0].numbers == (0, 0, 0, 0, 1, 0, 0, 1)
    regions = read_target({"regions": [[[1, 2], [3, 4]], [5, 6, 7, 8]]}).regions
    assert [region.numbers for region in regions] == [(1, 2, 3, 4), (5, 6, 7, 8)]
    with pytest.raises(TargetError, match="these lie on one line"):
        read_target({"polygon": [0, 5, 1, 6, 2, 7]})
