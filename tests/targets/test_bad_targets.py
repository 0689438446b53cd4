"""Targets that cannot be read: each names the sample, the field and what was expected; none is guessed or scored."""

import copy
import json
import pickle

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.targets.read import read_target

NAN, INF = float("nan"), float("inf")
BOX = [0, 0, 10, 10]
COLLINEAR = [0, 0, 1, 1, 2, 2, 5, 5]


def deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


UNREADABLE = {
    # boxes
    "inverted in x": ({"bbox": [30, 0, 10, 10]}, "bbox", "two corners are swapped: [10.0, 0.0, 30.0, 10.0]"),
    "inverted in y": ({"bbox": [0, 30, 10, 10]}, "bbox", "not x y w h"),
    "three numbers": ({"bbox": [1, 2, 3]}, "bbox", "4 numbers x1 y1 x2 y2"),
    "five numbers": ({"bbox": [1, 2, 3, 4, 5]}, "bbox", "4 numbers x1 y1 x2 y2"),
    "no numbers": ({"bbox": []}, "bbox", "4 numbers x1 y1 x2 y2"),
    "nested box of 3": ({"bbox": [[0, 0, 10]]}, "bbox", "4 numbers x1 y1 x2 y2"),
    "nested corners": ({"bbox": [[0, 0], [10, 10], 1, 1]}, "bbox", "[0, 0] is a nested list"),
    "box of strings": ({"bbox": ["0", "0", "10", "10"]}, "bbox", "'0' is of type str"),
    "box in words": ({"bbox": "top left"}, "bbox", "4 numbers x1 y1 x2 y2"),
    "box of booleans": ({"bbox": [False, False, True, True]}, "bbox", "False is of type bool"),
    "box with numpy boolean": ({"bbox": [0, 0, np.True_, 10]}, "bbox", "True is of type bool"),
    "box with None": ({"bbox": [0, 0, None, 10]}, "bbox", "None is of type NoneType"),
    "box with NaN": ({"bbox": [0, 0, NAN, 10]}, "bbox", "all of them finite"),
    "box with inf": ({"bbox": [0, 0, INF, 10]}, "bbox", "all of them finite"),
    "box with numpy NaN": ({"bbox": np.array([0, 0, np.nan, 10])}, "bbox", "all of them finite"),
    "box with NaN in JSON": ('{"bbox": [0, 0, NaN, 10]}', "bbox", "all of them finite"),
    "box with 1e999 in JSON": ('{"bbox": [0, 0, 1e999, 10]}', "bbox", "all of them finite"),
    "box with a 400-digit number": ({"bbox": [0, 0, 10**400, 10]}, "bbox", "all of them finite"),
    "box with a 400-digit number in JSON": (f'{{"bbox": [0, 0, 1{"0" * 400}, 10]}}', "bbox", "all of them finite"),
    "box with a 5,000-digit number": ({"bbox": [0, 0, 10**5000, 10]}, "bbox", "all of them finite"),
    "box larger than any screen": ({"bbox": [0, 0, 1e308, 1e308]}, "bbox", "within ±1e+12"),
    "box as a mapping": ({"bbox": {"x1": 0, "y1": 0, "x2": 1}}, "bbox", "4 numbers x1 y1 x2 y2"),
    "box as a number": ({"bbox": 4}, "bbox", "4 numbers x1 y1 x2 y2"),
    "complex numbers": ({"bbox": np.array(BOX, dtype=complex)}, "bbox", "is of type complex"),
    # bare lists
    "bare list of six": ([0, 0, 10, 0, 10, 10], "target", 'write a polygon as {"polygon": [x1, y1, ...]}'),
    "bare list of five": ([0, 0, 10, 0, 10], "target", 'write a polygon as {"polygon": [x1, y1, ...]}'),
    "bare list of three": ([0, 0, 10], "target", "4 numbers x1 y1 x2 y2 in a bare list"),
    "bare empty list": ([], "target", "4 numbers x1 y1 x2 y2 in a bare list"),
    "bare list of a box and three numbers": ([BOX, [1, 2, 3]], "target", "4 numbers x1 y1 x2 y2 in a bare list"),
    "bare inverted box": ([10, 0, 0, 10], "bbox", "x1 <= x2 and y1 <= y2"),
    "bare list of strings": (["a", "b", "c", "d"], "bbox", "'a' is of type str"),
    # polygons
    "polygon of two points": ({"polygon": [0, 0, 10, 10]}, "polygon", "an even count of numbers, at least 6"),
    "polygon of an odd count": ({"polygon": [0, 0, 10, 0, 10, 10, 5]}, "polygon", "an even count of numbers"),
    "polygon on one line": ({"polygon": COLLINEAR}, "polygon", "points that enclose an area"),
    "polygon of one point": ({"polygon": [3, 3] * 4}, "polygon", "points that enclose an area"),
    "polygon of two pairs and a number": (
        {"polygon": [[0, 0], [10, 0], 10]}, "polygon", "a flat list x1 y1 x2 y2 x3 y3",
    ),
    "polygon with NaN": ({"polygon": [0, 0, 10, 0, 10, NAN]}, "polygon", "all of them finite"),
    # circles and points
    "circle of two numbers": ({"circle": [5, 5]}, "circle", "3 numbers x y r"),
    "negative radius": ({"circle": [5, 5, -1]}, "circle", "a radius above 0"),
    "zero radius": ({"circle": [5, 5, 0]}, "circle", "a radius above 0"),
    "circle in unit space": ({"circle": [0.5, 0.5, 0.1], "space": "unit"}, "circle", "a circle in unit is no circle"),
    "circle in thousandths": (
        {"regions": [{"circle": [5, 5, 1]}], "space": "thousandths"}, "circle", "a circle in thousandths is no circle",
    ),
    "point of three numbers": ({"point": [1, 2, 3]}, "point", "2 numbers x y"),
    "bad point beside a box": ({"bbox": BOX, "point": [1, INF]}, "point", "all of them finite"),
    # several things at once
    "two places": ({"bbox": BOX, "circle": [5, 5, 1]}, "circle", "one place; list several under `regions`"),
    "three places": ({"bbox": BOX, "polygon": [0, 0, 1, 0, 1, 1], "point": [1, 1]}, "polygon", "one place"),
    "point beside a circle": ({"circle": [5, 5, 1], "point": [1, 1]}, "point", "one place"),
    "place beside regions": ({"bbox": BOX, "regions": [BOX]}, "bbox", "no place beside `regions`"),
    "refusal beside a place": ({"refusal": True, "bbox": BOX}, "refusal", "no place beside a refusal"),
    "refusal beside regions": ({"refusal": True, "regions": [BOX]}, "refusal", "no place beside a refusal"),
    # regions
    "empty regions": ({"regions": []}, "regions", "a list of places"),
    "regions as one place": ({"regions": {"bbox": BOX}}, "regions", "a list of places"),
    "region of an unknown kind": ({"regions": [BOX, {"oval": BOX}]}, "regions[1].oval", "one of the keys of a place"),
    "region misspelt": ({"regions": [{"bbx": BOX}]}, "regions[0].bbx", "did you mean 'bbox'?"),
    "empty region": ({"regions": [{}]}, "regions[0]", "a place such as"),
    "hollow region": ({"regions": [{"bbox": BOX}, {"bbox": None}]}, "regions[1]", "a place such as"),
    "region of three numbers": ({"regions": [[1, 2, 3]]}, "regions[0]", "a place such as"),
    "bad region": ({"regions": [BOX, {"bbox": [5, 0, 1, 1]}]}, "regions[1].bbox", "x1 <= x2 and y1 <= y2"),
    "region as a string": ({"regions": ["bbox"]}, "regions[0]", "a place such as"),
    "regions inside regions": ({"regions": [{"regions": [BOX]}]}, "regions[0].regions", "one of the keys of a place"),
    # keys, spaces and sizes
    "half a surrogate pair": ({"bbox": [1, 2, 3, "\ud800"]}, "bbox", "4 numbers x1 y1 x2 y2"),
    "half a surrogate pair as space": ({"bbox": BOX, "space": "\ud800"}, "space", "one of pixel, model_pixel, unit"),
    "half a surrogate pair as number": ({"bbox": BOX, "step": "\ud800"}, "step", "a whole number"),
    "half a surrogate pair as direction": (
        {"action": {"name": "swipe", "direction": "\ud800"}}, "action.direction", "one of up, down, left, right",
    ),
    "half a surrogate pair as key": ({"bbox": BOX, "\ud800": 1}, "\ud800", "one of the keys of a target"),
    "unknown key": ({"bbox": BOX, "colour": "red"}, "colour", 'put your own fields under "extra"'),
    "misspelt key": ({"bbbox": BOX}, "bbbox", "did you mean 'bbox'?"),
    "key that is no string": ({"bbox": BOX, 7: 1}, "7", "one of the keys of a target"),
    "unknown space": ({"bbox": BOX, "space": "pixels"}, "space", "one of pixel, model_pixel, unit, thousandths"),
    "space as a number": ({"bbox": BOX, "space": 1000}, "space", "one of pixel, model_pixel, unit, thousandths"),
    "negative image size": ({"bbox": BOX, "image_size": [-640, 480]}, "image_size", "both above 0"),
    "zero image size": ({"bbox": BOX, "image_size": [640, 0]}, "image_size", "both above 0"),
    "image size in unit": ({"bbox": BOX, "image_size": [0.5, 0.5]}, "image_size", "at least 1 pixel"),
    "image size of three numbers": ({"bbox": BOX, "image_size": [640, 480, 3]}, "image_size", "[width, height]"),
    "image size as a word": ({"bbox": BOX, "image_size": "1080p"}, "image_size", "[width, height]"),
    "infinite model image size": ({"bbox": BOX, "model_image_size": [INF, 1]}, "model_image_size", "finite"),
    # other fields
    "refusal as a string": ({"refusal": "true"}, "refusal", "true or false"),
    "refusal as a number": ({"refusal": 1}, "refusal", "true or false"),
    "no refusal and nothing else": ({"refusal": False}, "target", '{"bbox": [x1, y1, x2, y2]} or another place'),
    "step -1": ({"bbox": BOX, "step": -1}, "step", "a whole number from 0"),
    "step 1.5": ({"bbox": BOX, "step": 1.5}, "step", "a whole number from 0"),
    "step NaN": ({"bbox": BOX, "step": NAN}, "step", "a whole number from 0"),
    "step true": ({"bbox": BOX, "step": True}, "step", "a whole number from 0"),
    "num_steps as a string": ({"bbox": BOX, "num_steps": "5"}, "num_steps", "a whole number from 0"),
    "id true": ({"bbox": BOX, "id": True}, "id", "a string or a whole number"),
    "id 1.5": ({"bbox": BOX, "id": 1.5}, "id", "a string or a whole number"),
    "id of 5,000 digits": ({"bbox": BOX, "id": 10**5000}, "id", "a string or a whole number"),
    "trajectory as a list": ({"bbox": BOX, "trajectory": [1]}, "trajectory", "a string or a whole number"),
    "task as a number": ({"bbox": BOX, "task": 5}, "task", "a string"),
    # actions
    "action without a name": ({"action": {"text": "hello"}}, "action.name", 'the action\'s name, such as "click"'),
    "action with an empty name": ({"action": ""}, "action.name", 'the action\'s name, such as "click"'),
    "actions that are no step": (
        {"bbox": [1, 2, 3, 4], "action": ["click", "wait"]}, "action", "a text to type, with a click before it",
    ),
    "a click in a list without a place": (
        {"action": ["click", {"name": "type", "text": "a"}]}, "action", "the place of the click beside its list",
    ),
    "an action of a list without a name": ({"action": [{"text": "a"}]}, "action[0].name", "the action's name"),
    "action as a number": ({"action": 3}, "action", 'a name such as "click"'),
    "action key misspelt": ({"action": {"name": "drag", "too": [1, 2]}}, "action.too", "did you mean 'to'?"),
    "bad direction": (
        {"action": {"name": "scroll", "direction": "north"}}, "action.direction", "one of up, down, left, right",
    ),
    "drag to one number": ({"action": {"name": "drag", "to": [1]}}, "action.to", "2 numbers x y"),
    "drag to an inverted box": ({"action": {"name": "drag", "to": [5, 5, 1, 1]}}, "action.to", "x1 <= x2"),
    "drag to NaN": ({"action": {"name": "drag", "to": [NAN, 1]}}, "action.to", "all of them finite"),
    "keys as numbers": ({"action": {"name": "key", "keys": [1]}}, "action.keys", "a key or a list of keys"),
    "no keys": ({"action": {"name": "key", "keys": []}}, "action.keys", "a key or a list of keys"),
    "negative duration": ({"action": {"name": "wait", "duration": -1}}, "action.duration", "a length of time from 0"),
    "duration as a string": ({"action": {"name": "wait", "duration": "2 s"}}, "action.duration", "a length of time"),
    "action text as a number": ({"action": {"name": "type", "text": 5}}, "action.text", "a string"),
    # no target at all
    "None": (None, "target", '{"bbox": [x1, y1, x2, y2]} or another place'),
    "empty dict": ({}, "target", '{"refusal": true} or {"action": ...}'),
    "hollow dict": ({"bbox": None, "action": None}, "target", '{"refusal": true} or {"action": ...}'),
    "only an id": ({"task": "open"}, "target", '{"refusal": true} or {"action": ...}'),
    "number": (5, "target", '{"bbox": [x1, y1, x2, y2]}'),
    "boolean": (True, "target", '{"bbox": [x1, y1, x2, y2]}'),
    "bytes": (b'{"bbox": [0, 0, 1, 1]}', "target", '{"bbox": [x1, y1, x2, y2]}'),
    "empty string": ("", "target", "JSON of a target"),
    "JSON that does not parse": ('{"bbox": [0, 0, 10, 10', "target", "JSON of a target"),
    "words": ("the blue button", "target", "JSON of a target"),
    "JSON null": ("null", "target", '{"bbox": [x1, y1, x2, y2]}'),
    "JSON in JSON": (json.dumps(json.dumps({"bbox": BOX})), "target", '{"bbox": [x1, y1, x2, y2]}'),
    "100,000 brackets of JSON": ("[" * 100_000, "target", "JSON of a target"),
    "100,000 matched brackets": ("[" * 100_000 + "]" * 100_000, "target", "JSON of a target"),
    "5,000 digits of JSON": ("[" + "1" * 5000 + ", 0, 1, 1]", "target", "JSON of a target"),
    "lists 100,000 deep": (deep(100_000), "target", '{"bbox": [x1, y1, x2, y2]}'),
    "box 300 deep": ({"bbox": deep(300)}, "bbox", "4 numbers x1 y1 x2 y2"),
}  # fmt: skip


def error_of(kind, call, *arguments, **options):
    """The TargetError that a call raises; the test fails with the kind of target where it raises none."""
    try:
        call(*arguments, **options)
    except gr.TargetError as error:
        return error
    return pytest.fail(f"{kind}: no error")


def test_names_sample_field_and_expectation():
    for kind, (value, field, expected) in UNREADABLE.items():
        error = error_of(kind, read_target, value, row=41)
        assert (error.sample, error.field) == (41, field), kind
        assert expected in error.expected, kind
        assert f"target of row 41, field {field!r}: got " in str(error), kind
        assert str(error).endswith(f"; expected {error.expected}"), kind
        assert len(str(error)) < 800, f"{kind}: a line, whatever came"


def test_the_same_among_good_ones_is_found_in_its_row():
    good = {"bbox": BOX, "space": "pixel"}
    for kind, (value, field, _) in UNREADABLE.items():
        error = error_of(kind, gr.Targets.from_list, [good, good, value, good])
        assert (error.sample, error.field) == (2, field), kind


@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_abstaining_keeps_the_other_rows_exact():
    click = gr.recipe("click", response_space="pixel")
    good, responses = {"bbox": BOX}, ["(5, 5)", "(5, 5)", "(50, 5)", "refusal"]
    alone = click.score([responses[0], *responses[2:]], [good] * 3)
    for kind, (value, field, _) in UNREADABLE.items():
        scores = click.score(responses, [good, value, good, good], bad_target="abstain")
        assert scores.valid.tolist() == [1, 0, 1, 1], kind
        zero = [scores.total[1], scores.acc[1], *(part[1] for part in scores.parts.values())]
        assert zero == [0] * len(zero), kind
        assert gr.Reason(scores.reason[1]) is gr.Reason.BAD_TARGET, kind
        assert scores.total[[0, 2, 3]].tolist() == alone.total.tolist(), kind
        assert scores.reason[[0, 2, 3]].tolist() == alone.reason.tolist(), kind
        assert [(row, error.sample, error.field) for row, error in scores.errors.items()] == [(1, 1, field)], kind


def test_the_sample_is_named_by_its_id_where_it_has_one():
    for name, spoken in (("shot-9", "sample 'shot-9'"), (7, "sample '7'")):
        with pytest.raises(gr.TargetError, match=spoken):
            read_target({"id": name, "bbox": [1, 2, 3]}, row=3)
    # An id that is itself at fault cannot name the sample.
    with pytest.raises(gr.TargetError, match="row 3"):
        read_target({"id": [1], "bbox": [1, 2, 3, 4]}, row=3)


def test_an_error_travels_between_processes():
    error = gr.TargetError("a", "bbox", [1, 2], "4 numbers")
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (back.sample, back.field, back.came, back.expected) == ("a", "bbox", [1, 2], "4 numbers")
        assert str(back) == "target of sample 'a', field 'bbox': got [1, 2]; expected 4 numbers"
    assert isinstance(error, ValueError)


# What a recipe needs of a target that reads well.

CLICK = gr.recipe("click", response_space="thousandths")
PIXEL_CLICK = gr.recipe("click", response_space="pixel")
GELATO, GELATO_PIXEL, GTA1 = (gr.recipe(name) for name in ("gelato", "gelato-pixel", "gta1"))

UNUSABLE = {
    "image size missing": (CLICK, {"bbox": BOX}, {}, "image_size", "the recipe brings responses in thousandths"),
    "image size missing for a polygon": (
        CLICK, {"polygon": [0, 0, 9, 0, 9, 9]}, {}, "image_size", "targets in pixel into pixel",
    ),
    "image size missing for the target": (
        PIXEL_CLICK, {"bbox": [0, 0, 1, 1], "space": "unit"}, {}, "image_size", "targets in unit into pixel",
    ),
    "model image size missing": (GTA1, {"bbox": BOX}, {}, "model_image_size", "in thousandths into model_pixel"),
    "image size given as NaN": (CLICK, {"bbox": BOX}, {"image_sizes": [(NAN, NAN)]}, "image_size", "[width, height]"),
    "half an image size": (CLICK, {"bbox": BOX}, {"image_sizes": [(100, NAN)]}, "image_size", "[width, height]"),
    "zero size from outside": (CLICK, {"bbox": BOX}, {"image_sizes": [(0, 100)]}, "image_size", "at least 1 pixel"),
    "negative size from outside": (CLICK, {"bbox": BOX}, {"image_sizes": (-1, 100)}, "image_size", "at least 1 pixel"),
    "infinite size from outside": (CLICK, {"bbox": BOX}, {"image_sizes": (INF, 100)}, "image_size", "[width, height]"),
    "bad size beside a refusal": (
        CLICK, {"refusal": True}, {"image_sizes": [(0, 0)]}, "image_size", "at least 1 pixel",
    ),
    "unit box for a pixel recipe": (PIXEL_CLICK, {"bbox": [0.1, 0.1, 0.3, 0.2]}, {}, "bbox", "these look like unit"),
    "unit polygon in pixels": (PIXEL_CLICK, {"polygon": [0, 0, 0.5, 0, 0, 0.5]}, {}, "polygon", "these look like unit"),
    "box beside the image": (
        PIXEL_CLICK, {"bbox": [3000, 10, 3100, 20], "image_size": [1920, 1080]}, {}, "bbox", "within (or near) 0..1920",
    ),
    "box above the image": (PIXEL_CLICK, {"bbox": [5, -20, 9, -1], "image_size": [100, 50]}, {}, "bbox", "by 0..50"),
    "box below the image": (
        PIXEL_CLICK, {"bbox": [10, 3000, 20, 3100], "image_size": [1920, 1080]}, {}, "bbox", "within (or near) 0..1920",
    ),
    "pixel box for a unit recipe": (GELATO, [100, 100, 300, 200], {}, "bbox", "in unit within (or near) 0..1 by 0..1"),
    "pixel polygon for a unit recipe": (GELATO, [10, 10, 30, 10, 30, 30], {}, "polygon", "name the right `space`"),
    "unit-space box far to the left": (GELATO, [-3, 0, 0.5, 0.5], {}, "bbox", "name the right `space`"),
    "pixel box in thousandths": (
        GTA1, {"bbox": [3000, 10, 3100, 20], "model_image_size": [3840, 2160]}, {}, "bbox", "within (or near) 0..1000",
    ),
    "box of another screen": (
        PIXEL_CLICK, {"bbox": [3000, 10, 3100, 20], "image_size": [640, 480]}, {}, "bbox", "0..640 by 0..480",
    ),
    "point without a radius": (PIXEL_CLICK, {"point": [5, 5]}, {}, "point", "one of bbox, circle, polygon, refusal"),
    "point among regions": (
        PIXEL_CLICK, {"regions": [BOX, {"point": [5, 5]}]}, {}, "point", "this recipe judges nothing else",
    ),
    "action alone": (PIXEL_CLICK, {"action": "wait"}, {}, "action", "a click on one of bbox, circle, polygon"),
    "click without a place": (PIXEL_CLICK, {"action": "click"}, {}, "action", "judges no other action"),
    "typing at a place": (PIXEL_CLICK, {"bbox": BOX, "action": {"name": "type"}}, {}, "action", "a click on one of"),
    "action beside a refusal": (PIXEL_CLICK, {"refusal": True, "action": "stop"}, {}, "action", "no other action"),
    "refusal for gelato": (GELATO, {"refusal": True}, {}, "refusal", "one of bbox, polygon"),
    "refusal for gta1": (GTA1, {"refusal": True}, {}, "refusal", "one of bbox"),
    "circle for gelato": (GELATO, {"circle": [5, 5, 2], "space": "pixel"}, {}, "circle", "one of bbox, polygon"),
    "circle without a space for gelato": (GELATO, {"circle": [0.5, 0.5, 0.2]}, {}, "circle", "bbox, polygon"),
    "polygon for gta1": (GTA1, {"polygon": [0, 0, 9, 0, 9, 9]}, {}, "polygon", "one of bbox"),
    "action alone for gelato": (GELATO, {"action": "click"}, {}, "action", "one of bbox, polygon"),
    # native forms
    "gelato: five numbers": (GELATO, [0.1, 0.1, 0.2, 0.2, 0.3], {}, "target", "a bare list, 4 numbers x1 y1 x2 y2 or"),
    "gelato: seven numbers": (GELATO, [0.1] * 7, {}, "target", "a polygon's x1 y1 x2 y2 x3 y3"),
    "gelato: nested box": (GELATO, [[0.1, 0.1, 0.3, 0.2]], {}, "target", "a bare list"),
    "gelato: words": (GELATO, ["a", "b", "c", "d"], {}, "target", "a bare list"),
    "gelato: numeral NaN": (GELATO, ["0.1", "nan", "0.3", "0.2"], {}, "bbox", "all of them finite"),
    "gelato: inverted": (GELATO, [0.3, 0.1, 0.1, 0.2], {}, "bbox", "x1 <= x2 and y1 <= y2"),
    "gelato: None": (GELATO, None, {}, "target", "a bare list"),
    "gelato: polygon on a line": (GELATO, [0.0, 0.0, 0.25, 0.25, 0.5, 0.5], {}, "polygon", "enclose an area"),
    "gelato-pixel: numerals": (GELATO_PIXEL, ["1", "1", "3", "3"], {}, "bbox", "'1' is of type str"),
    "gta1: bare box": (GTA1, [100, 100, 200, 200], {}, "target", "[box or list of boxes in thousandths, height / 1000"),
    "gta1: ratios missing": (GTA1, [[100, 100, 200, 200]], {}, "target", "[box or list of boxes in thousandths"),
    "gta1: zero ratio": (GTA1, [[100, 100, 200, 200], 0, 1.0], {}, "target", "[box or list of boxes in thousandths"),
    "gta1: negative ratios": (GTA1, [[1, 1, 2, 2], -1.0, -1.0], {}, "target", "[box or list of boxes in thousandths"),
    "gta1: NaN ratio": (GTA1, [[100, 100, 200, 200], NAN, 1.0], {}, "target", "[box or list of boxes in thousandths"),
    "gta1: no boxes": (GTA1, [[], 1.0, 1.0], {}, "target", "a box being x1 y1 x2 y2 in order"),
    "gta1: three numbers": (GTA1, [[[1, 2, 3, 4], [1, 2, 3]], 1.0, 1.0], {}, "target", "x1 y1 x2 y2 in order"),
    "gta1: inverted box": (GTA1, [[200, 100, 100, 200], 1.0, 1.0], {}, "target", "a box being x1 y1 x2 y2 in order"),
    "gta1: 400 digits": (GTA1, [[0, 0, 10**400, 1], 1.08, 1.92], {}, "target", "a box being x1 y1 x2 y2 in order"),
    "gta1: strings": (GTA1, [["0", "0", "1", "1"], 1.0, 1.0], {}, "target", "a box being x1 y1 x2 y2 in order"),
}  # fmt: skip


def test_a_recipe_says_what_it_needs():
    for kind, (recipe, value, sizes, field, expected) in UNUSABLE.items():
        error = error_of(kind, recipe.score, ["(5, 5)"], [value], **sizes)
        assert (error.sample, error.field) == (0, field), kind
        assert expected in error.expected, kind
        assert "expected" in str(error), kind


@pytest.mark.filterwarnings("ignore:.*is in the recipe's own form, which ignores the box format")
@pytest.mark.parametrize(("written", "box"), [("xywh", [0.75, 0.25, 0.5, 0.5]), ("cxcywh", [0.25, 1.0, 0.75, 0.5])])
def test_boxes_look_like_unit_by_the_numbers_as_written(written, box):
    for rows in ([box], [box, [300, 300, 20, 20]]):
        targets = gr.Targets.from_list(rows, box_format=written)
        with pytest.raises(gr.TargetError, match=r"row 0, field 'bbox'.*these look like unit"):
            PIXEL_CLICK.score(["(5, 5)"] * len(rows), targets)
    own = gr.recipe("gui-g1").native  # a circle and a recipe's own form are never so written
    for each in ([0.75, 1.25, 0.5, 0.5], [0.75, 0.25, 1.0, 0.5], {"circle": [1, 1, 0.4]}, [0.75, 0.25, 1.25, 0.75]):
        native = own if each == [0.75, 0.25, 1.25, 0.75] else None
        targets = gr.Targets.from_list([each], box_format=written, native=native)
        assert PIXEL_CLICK.score(["(1, 1)"], targets).valid.tolist() == [1]


@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_a_recipe_can_abstain_from_it():
    for kind, (recipe, value, sizes, field, _) in UNUSABLE.items():
        scores = recipe.score(["(5, 5)"], [value], **sizes, bad_target="abstain")
        assert (scores.total[0], scores.acc[0], scores.valid[0]) == (0, 0, 0), kind
        assert all(part.tolist() == [0] for part in scores.parts.values()), kind
        assert gr.Reason(scores.reason[0]) is gr.Reason.BAD_TARGET, kind
        assert [error.field for error in scores.errors.values()] == [field], kind


def test_the_first_bad_row_is_the_one_that_is_named():
    targets = [[0.1, 0.1, 0.3, 0.2], {"refusal": True, "id": "b"}, [100, 100, 200, 200]]
    with pytest.raises(gr.TargetError, match=r"sample 'b', field 'refusal'"):
        GELATO.score(["(1, 1)"] * 3, targets)


def test_the_numbers_quoted_are_those_of_the_region_at_fault():
    wire = {"regions": [[0, 0, 5, 5], {"circle": [50, 50, 5]}], "space": "pixel", "image_size": [100, 100]}
    with pytest.raises(gr.TargetError, match=r"field 'circle': got \[50.0, 50.0, 5.0\]"):
        GELATO.score(["(5, 5)"], [wire])
    far = {"regions": [[0, 0, 5, 5], [5000, 0, 5001, 5]], "image_size": [100, 100]}
    with pytest.raises(gr.TargetError, match=r"field 'bbox': got \[5000.0, 0.0, 5001.0, 5.0\]"):
        PIXEL_CLICK.score(["(5, 5)"], [far])


def test_a_circle_is_refused_in_unit_space_wherever_the_space_comes_from():
    # From the target, from the reader, and from the recipe at scoring: a prepared table is no way around it.
    unit_click = gr.recipe("click", response_space="pixel", target_space="unit")
    circle = {"circle": [0.5, 0.5, 0.1]}
    for targets in ([{**circle, "space": "unit"}], [circle], gr.Targets.from_list([circle])):
        with pytest.raises(gr.TargetError, match="a circle in unit is no circle"):
            unit_click.score(["(50, 50)"], targets, image_sizes=(100, 100))


def test_a_place_partly_off_the_screen_is_no_error():
    # Windows hang over the edge; only a whole screen's distance says that the space is wrong.
    scores = PIXEL_CLICK.score("(3, 3)", {"bbox": [-100, -50, 700, 60], "image_size": [640, 480]})
    assert scores.acc.tolist() == [1]


@pytest.mark.parametrize("choice", ["skip", "", None, True, "Raise"])
def test_a_choice_other_than_raise_and_abstain_is_an_error(choice):
    with pytest.raises(gr.RecipeError, match=r"bad_target: got .* expected one of raise, abstain"):
        PIXEL_CLICK.score(["(5, 5)"], [{"bbox": BOX}], bad_target=choice)
    with pytest.raises(gr.RecipeError, match=r"expected one of raise, abstain"):
        gr.Targets.from_list([{"bbox": BOX}], bad_target=choice)


def test_a_point_without_a_reach_names_no_recipe_that_is_not_in_use():
    recipe = gr.recipe("action", response_space="pixel")
    with pytest.raises(gr.TargetError) as caught:
        recipe.score("(1, 2)", {"point": [1, 2]})
    assert "an option point_radius, where a recipe has one, gives points a reach" in str(caught.value)
    assert "click" not in str(caught.value)


@pytest.mark.parametrize(
    ("response_space", "radius", "advised"),
    [("thousandths", None, True), ("thousandths", 5, False), ("pixel", None, False)],
)
def test_the_space_of_targets_is_advised_where_a_recipe_can_work_in_it_without_sizes(response_space, radius, advised):
    recipe = gr.recipe("click", response_space=response_space, point_radius=radius)
    with pytest.raises(gr.TargetError, match="targets in unit into pixel") as error:
        recipe.score("(1, 2)", {"bbox": [0.1, 0.1, 0.3, 0.3], "space": "unit"})
    assert str(error.value).endswith("; with the option target_space=unit it needs none") == advised
