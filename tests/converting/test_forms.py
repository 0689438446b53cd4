"""Rows in the form of each trainer, literally."""

import json

import pytest

from grounding_rewards.converting import LAYOUTS, Wording
from grounding_rewards.converting.run import arrow_type
from grounding_rewards.converting.samples import ColumnNames, Reading, read_rows
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import ConvertError
from grounding_rewards.tables.rows import value_at
from grounding_rewards_adapters._wiring import WIRINGS

ROW = {"ask": "打开", "box": [1, 2, 3, 4], "img": "a.png", "size": [640, 480], "id": "a", "from": "web"}
WIRE = '{"bbox": [1, 2, 3, 4], "space": "pixel", "image_size": [640, 480], "id": "a"}'


def sample(row=ROW, wording=None):
    columns = ColumnNames("ask", "box", "img", "size", "id", "from")
    reading = Reading(columns, space=CoordSpace.PIXEL, wording=wording or Wording(), split="train")
    found = read_rows([row], reading, 7)
    assert not found.problems
    return found.samples[0]


def test_verl():
    assert LAYOUTS["verl"].row(sample()) == {
        "data_source": "web",
        "prompt": [{"role": "user", "content": "<image>打开"}],
        "reward_model": {"style": "rule", "ground_truth": WIRE},
        "extra_info": {"index": 7, "id": "a", "image_size": [640, 480], "split": "train"},
    }


def test_trl():
    row = sample(wording=Wording(system="You click."))
    messages = [{"role": "system", "content": "You click."}, {"role": "user", "content": "打开"}]
    assert LAYOUTS["trl"].row(row) == {"prompt": messages, "target": WIRE, "sample_id": "a"}


def test_easyr1():
    row = sample(wording=Wording(template="Where? {instruction}"))
    assert LAYOUTS["easyr1"].row(row) == {"problem": "<image>Where? 打开", "answer": WIRE}


def test_nemo_gym():
    row = sample(
        {**ROW, "img": "data:image/gif;base64,R0lG"}, Wording(system="You click.", template="On {instruction}?")
    )
    asked = [
        {"type": "input_image", "image_url": "data:image/gif;base64,R0lG", "detail": "auto"},
        {"type": "input_text", "text": "On 打开?"},
    ]
    said = [{"type": "input_text", "text": "You click."}]
    messages = [{"role": "system", "content": said}, {"role": "user", "content": asked}]
    assert LAYOUTS["nemo_gym"].row(row) == {"responses_create_params": {"input": messages}, "target": WIRE}


def test_images_as_fields():
    images = sample({**ROW, "img": ["a.png", {"bytes": b"GIF", "path": "b.gif"}]}).images
    fields = [image.as_field() for image in images]
    assert fields == [{"bytes": None, "path": "a.png"}, {"bytes": b"GIF", "path": "b.gif"}]


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
        LAYOUTS[trainer].row(sample({**ROW, "ask": ask}, Wording(system=system)))


def test_what_messages_have_beside_their_text():
    asked = {**ROW, "ask": [{"role": "user", "content": "Save", "name": "Ann"}]}
    for trainer, content in (("verl", "<image>Save"), ("trl", "Save")):
        assert LAYOUTS[trainer].row(sample(asked))["prompt"] == [{"role": "user", "content": content, "name": "Ann"}]
    for trainer, named in (("easyr1", "EasyR1"), ("nemo_gym", "NeMo-Gym")):
        with pytest.raises(ConvertError, match=f"its messages have name, for which {named} has no place"):
            LAYOUTS[trainer].row(sample(asked))


VERLS_OWN = """
    raw_prompt index tools_kwargs interaction_kwargs dummy_tensor uid videos audios
    self sampling_params trajectory trace agent_name session_id output validate kwargs global_steps priority
    __rollout_n__ __do_sample__
    prompts responses response_mask input_ids attention_mask position_ids loss_mask rm_scores reward_scores
    rollout_log_probs routed_experts teacher_ids teacher_logprobs extra_fields tool_extra_fields metrics num_turns
    __num_turns__ prompt_len response_len multi_modal_data multi_modal_inputs mm_processor_kwargs mm_processor_output
"""


def test_names_that_verl_keeps_for_itself():
    form = LAYOUTS["verl"]
    assert form.reserved == {*VERLS_OWN.split()}
    assert form.taken(["agent_name", "extra_info"]) == form.reserved
    assert form.taken(["extra_info", "reward_model"]) == form.reserved - {"agent_name", "__rollout_n__"}


@pytest.mark.parametrize("trainer", [name for name, each in LAYOUTS.items() if not each.embedded])
def test_every_column_has_a_type_and_holds_whatever_the_target_is(trainer):
    pyarrow = pytest.importorskip("pyarrow")
    form = LAYOUTS[trainer]
    others = [{**ROW, "box": {"regions": [{"polygon": [0, 0, 4, 0, 0, 4]}]}}, {**ROW, "box": {"refusal": True}}]
    rows = [form.row(sample(row)) for row in [ROW, *others]]
    schema = pyarrow.schema([(name, arrow_type(kind)) for name, kind in form.types.items()])
    assert list(rows[0]) == schema.names
    back = pyarrow.Table.from_pylist(rows, schema).to_pylist()
    assert back == rows
    packed = [value_at(row, WIRINGS[trainer].target) for row in back]
    assert [next(iter(json.loads(text))) for text in packed] == ["bbox", "polygon", "refusal"]
