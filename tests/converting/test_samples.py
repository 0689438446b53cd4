"""Rows into samples: targets, sizes, names and sources, and what is wrong with rows."""

import json

import pytest

from grounding_rewards import recipe
from grounding_rewards.converting import Wording
from grounding_rewards.converting.samples import NO_SPACE, ColumnNames, Reading, read_rows
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.tables.image_files import ImageInfo
from grounding_rewards.tables.sample_ids import sample_id

PIXEL = CoordSpace.PIXEL
COLUMNS = ColumnNames("ask", "box", image_size="w,h", id="id")
ROW = {"ask": "Save", "box": [1, 2, 3, 4], "w": 640, "h": 480, "id": "a"}


def one(row, **reading):
    """The only sample of a row, its target as plain values."""
    found = read_rows([row], Reading(**{"columns": COLUMNS, "space": PIXEL, **reading}), 7)
    assert not found.problems
    (sample,) = found.samples
    return sample, json.loads(sample.wire)


def problem(row, **reading):
    """Return the problem of a row that stands behind a good one."""
    found = read_rows([ROW, row], Reading(**{"columns": COLUMNS, "space": PIXEL, **reading}))
    assert found.samples[0] is not None
    assert found.samples[1] is None
    assert list(found.problems) == [1]
    return found.problems[1]


def test_a_row():
    sample, wire = one(ROW)
    assert wire == {"bbox": [1, 2, 3, 4], "space": "pixel", "image_size": [640, 480], "id": "a"}
    assert (sample.index, sample.name, sample.source, sample.images) == (7, "a", "unknown", ())


def test_the_target_names_its_own_space_size_and_id():
    own = {"bbox": [0.1, 0.2, 0.3, 0.4], "space": "unit", "image_size": [640.0, 480], "id": 5, "polygon": None}
    sample, wire = one({"ask": "Save", "box": json.dumps(own)})
    assert wire == {"bbox": [0.1, 0.2, 0.3, 0.4], "space": "unit", "image_size": [640, 480], "id": 5}
    assert sample.name == "5"


def test_an_id_by_an_option_goes_before_the_targets_own_and_that_before_a_guess():
    row = {**ROW, "box": {"bbox": [1, 2, 3, 4], "id": "own"}}
    assert one(row)[1]["id"] == "own"
    assert one(row, chosen=frozenset({"id"}))[1]["id"] == "a"
    assert one({**row, "id": None}, chosen=frozenset({"id"}))[1]["id"] == "own"


def test_a_row_without_id_is_named_by_its_content():
    row = {**ROW, "id": None}
    name = one(row)[1]["id"]
    wire = {"bbox": [1, 2, 3, 4], "space": "pixel"}
    assert name == sample_id(instruction="Save", target=wire)
    assert one(row, unnamed="clicks")[1]["id"] == name
    assert one(row, source="clicks")[1]["id"] == sample_id(source="clicks", instruction="Save", target=wire)
    shown = Reading(ColumnNames("ask", "box", "img"), space=PIXEL, folder="/data")
    ids = [read_rows([{**row, "img": img}], shown).samples[0].target.id for img in ("a.png", b"a", ["a.png", b"a"])]
    asked = {"instruction": "Save", "target": wire}
    assert ids == [sample_id(image=image, **asked) for image in ("a.png", b"a", ["a.png", b"a"])]


def test_what_wording_says_is_no_content_of_the_sample():
    row = {**ROW, "id": None}
    sample, wire = one(row, wording=Wording(template="Click: {instruction}"))
    assert sample.messages[0].text == "Click: Save"
    assert wire["id"] == one(row)[1]["id"]


WITH_IMAGE = ColumnNames("ask", "box", "img", "w,h", "id")
SIZES = {"a.png": ImageInfo((32.0, 18.0), turned=True), "b.png": ImageInfo((640.0, 480.0))}


def test_every_image_is_looked_at_and_the_last_ones_size_counts():
    asked = []

    def look(image):
        asked.append(image.path)
        return SIZES[image.path]

    reading = {"columns": WITH_IMAGE, "look": look, "folder": "/data"}
    row = {**ROW, "img": ["a.png", "b.png"]}
    assert one(row, **reading)[1]["image_size"] == [640, 480]
    assert asked == ["a.png", "b.png"]
    own = {**row, "w": None, "h": None}
    sample, wire = one(own, **reading)
    assert (wire["image_size"], sample.turned) == ([640, 480], 1)
    assert one({**own, "box": {"bbox": [1, 2, 3, 4], "image_size": [64, 48]}}, **reading)[1]["image_size"] == [64, 48]
    assert "image_size" not in one(own, columns=WITH_IMAGE)[1]


def test_a_guessed_size_that_is_not_the_images_is_no_size():
    reading = {"columns": WITH_IMAGE, "look": lambda image: SIZES[image.path], "folder": "/data"}
    row = {**ROW, "img": "a.png"}
    found = read_rows([row], Reading(space=PIXEL, **reading))
    assert found.problems == {
        0: "image size (w,h, by its name): got [640, 480], and the image is [32, 18]; if the column is right, name it "
        "by --image-size-column w,h, else give --image-size-column none"
    }
    assert one(row, chosen=frozenset({"image-size"}), **reading)[1]["image_size"] == [640, 480]
    said = {"bbox": [1, 2, 3, 4], "image_size": [640, 480]}
    assert one({**row, "box": said}, **reading)[1]["image_size"] == [640, 480]


@pytest.mark.parametrize(
    ("column", "value", "wire"),
    [
        ("polygon", [0, 0, 4, 0, 0, 4], {"polygon": [0, 0, 4, 0, 0, 4]}),
        ("truth.point", [1, 2], {"point": [1, 2]}),
        ("bbox", [1, 2, 3, 4], {"bbox": [1, 2, 3, 4]}),
        ("polygon", {"refusal": True}, {"refusal": True}),
    ],
)
def test_a_bare_list_in_a_column_with_the_name_of_a_place(column, value, wire):
    top, _, inner = column.partition(".")
    row = {"ask": "Save", top: {inner: value} if inner else value, "id": 1}
    reading = Reading(ColumnNames("ask", column, id="id"), space=PIXEL)
    (sample,) = read_rows([row], reading).samples
    found = json.loads(sample.wire)
    assert found == {**wire, "space": "pixel", "id": 1}


def test_what_is_wrong_with_rows():
    assert problem({**ROW, "box": None}).startswith("target, field 'target': got nothing; expected")
    assert problem({**ROW, "box": {"bbox": [3, 2, 1, 4]}}).startswith(
        "target, field 'bbox': got [3, 2, 1, 4]; expected x1"
    )
    assert problem({**ROW, "box": {"bbx": [1, 2, 3, 4]}}).endswith("did you mean 'bbox'?")
    assert problem({**ROW, "ask": None}).startswith("instruction: got nothing")
    assert problem({**ROW, "w": "wide"}) == (
        "image size (w,h): got ['wide', 480]; expected [width, height]; --image-size-column names another, or none"
    )
    assert problem({**ROW, "h": None}).startswith("image size (w,h): got [640, None]; expected [width, height]")
    sized = {"bbox": [1, 2, 3, 4], "image_size": [64, 48]}
    assert problem({**ROW, "box": sized}) == "image size: the target says [64.0, 48.0], the column [640.0, 480.0]"
    assert problem({**ROW, "id": 1.5}) == (
        "id (id): got 1.5; expected a text or a whole number; --id-column names another, or none"
    )
    assert problem({**ROW, "id": 2**63}) == f"id (id): got {2**63}, which 64 bits do not hold; write it as text"
    assert one({**ROW, "id": 2**63 - 1})[1]["id"] == 2**63 - 1
    sourced = ColumnNames("ask", "box", source="from")
    found = read_rows([{**ROW, "from": 3}], Reading(sourced, space=PIXEL))
    assert found.problems[0] == "source (from): got 3; expected a text; --source-column names another, or none"
    assert problem({**ROW, "ask": "\ud800"}).startswith("got '\\ud800'; half a surrogate pair")
    assert "JSON" in problem({**ROW, "box": {"bbox": [1, 2, 3, 4], "extra": {1, 2}}})
    assert problem({**ROW, "box": {"bbox": [1, 2, 3, 4], "extra": [(1, 2)]}}).endswith('JSON cannot hold its "extra"')
    assert "not JSON compliant" in problem({**ROW, "box": {"bbox": [1, 2, 3, 4], "extra": float("nan")}})


def test_no_space_is_ever_guessed():
    row = {"ask": "Save", "box": [1, 2, 3, 4]}
    rows = [row, {**row, "box": {"action": {"name": "drag", "to": [1, 2]}}}, {**row, "box": {"refusal": True}}]
    found = read_rows([*rows, {**row, "box": {"action": "back"}}], Reading(ColumnNames("ask", "box")))
    assert found.problems == dict.fromkeys((0, 1), f"{NO_SPACE}; numbers are 1 to 4")
    unit = read_rows([{**row, "box": [0, 0.5, 0.7, 1]}], Reading(ColumnNames("ask", "box")))
    assert unit.problems == {0: f"{NO_SPACE}; these look like unit"}
    assert "--target-space" in NO_SPACE
    assert "--recipe" in NO_SPACE
    assert json.loads(found.samples[2].wire)["refusal"] is True


def test_coordinates_of_another_space_and_kinds_that_a_recipe_does_not_take():
    assert "these look like unit" in problem({**ROW, "box": [0.1, 0.2, 0.3, 0.4]})
    assert "coordinates in pixel within (or near) 0..640 by 0..480" in problem({**ROW, "box": [2000, 2, 2001, 4]})
    gelato = recipe("gelato")
    found = read_rows([{**ROW, "box": {"refusal": True}}], Reading(COLUMNS, gelato))
    assert "refusal" in found.problems[0]
    found = read_rows([{**ROW, "box": [0.1, 0.2, 0.3, 0.4]}], Reading(COLUMNS, gelato))
    assert json.loads(found.samples[0].wire)["space"] == "unit"


def test_a_recipe_that_compares_nothing_with_targets_needs_none():
    free = recipe("gui-rcpo", response_space="pixel")
    found = read_rows([{"ask": "Save"}], Reading(ColumnNames("ask"), free))
    assert not found.problems
    assert "bbox" not in json.loads(found.samples[0].wire)
