"""What each trainer reads, as literal rows."""

import json

import pytest

from grounding_rewards.converting import FORMS, Columns, Reading, Truths, Wording, read_rows
from grounding_rewards.converting.form import images_of
from grounding_rewards.errors import ConvertError
from grounding_rewards.spaces import CoordSpace

ROW = {"ask": "打开", "box": [1, 2, 3, 4], "img": "a.png", "size": [640, 480], "id": "a", "from": "web"}
WIRE = '{"bbox": [1, 2, 3, 4], "space": "pixel", "image_size": [640, 480], "id": "a"}'


def sample(row=ROW, wording=None):
    columns = Columns("ask", "box", "img", ("size",), "id", "from")
    reading = Reading(columns, Truths(space=CoordSpace.PIXEL), wording or Wording(), split="train")
    found = read_rows([row], reading, 7)
    assert not found.problems
    return found.samples[0]


def test_verl():
    assert FORMS["verl"].row(sample()) == {
        "data_source": "web",
        "prompt": [{"role": "user", "content": "<image>打开"}],
        "reward_model": {"style": "rule", "ground_truth": WIRE},
        "extra_info": {"index": 7, "id": "a", "image_size": [640, 480], "split": "train"},
    }


def test_trl():
    row = sample(wording=Wording(system="You click."))
    messages = [{"role": "system", "content": "You click."}, {"role": "user", "content": "打开"}]
    assert FORMS["trl"].row(row) == {"prompt": messages, "target": WIRE, "sample_id": "a"}


def test_easyr1():
    row = sample(wording=Wording(template="Where? {instruction}"))
    assert FORMS["easyr1"].row(row) == {"problem": "<image>Where? 打开", "answer": WIRE}


def test_images_as_paths_and_as_fields():
    pictures = sample({**ROW, "img": ["a.png", {"bytes": b"GIF", "path": "b.gif"}]}).pictures
    assert images_of(pictures, as_fields=True) == [{"bytes": None, "path": "a.png"}, {"bytes": b"GIF", "path": "b.gif"}]
    assert images_of(pictures[:1], as_fields=False) == ["a.png"]


@pytest.mark.parametrize(
    ("trainer", "ask", "system", "message"),
    [
        ("easyr1", "Save", "You click.", "got messages of system, user; EasyR1 takes one text"),
        ("trl", "Save <image> now", None, "<image> stands inside the text; TRL puts images before"),
        ("verl", "Play the <video>", None, "has <video> in it, which verl reads as a place like <image>"),
    ],
)
def test_what_a_trainer_would_stumble_over(trainer, ask, system, message):
    with pytest.raises(ConvertError, match=message):
        FORMS[trainer].row(sample({**ROW, "ask": ask}, Wording(system=system)))


@pytest.mark.parametrize("trainer", FORMS)
def test_every_column_has_a_type_and_holds_whatever_the_target_is(trainer):
    pyarrow = pytest.importorskip("pyarrow")
    form = FORMS[trainer]
    others = [{**ROW, "box": {"regions": [{"polygon": [0, 0, 4, 0, 0, 4]}]}}, {**ROW, "box": {"refusal": True}}]
    rows = [form.row(sample(row)) for row in [ROW, *others]]
    schema = pyarrow.schema(list(form.types().items()))
    assert list(rows[0]) == schema.names
    back = pyarrow.Table.from_pylist(rows, schema).to_pylist()
    assert back == rows
    packed = [
        row["reward_model"]["ground_truth"] if trainer == "verl" else row.get("target", row.get("answer"))
        for row in back
    ]
    assert [next(iter(json.loads(text))) for text in packed] == ["bbox", "polygon", "refusal"]
