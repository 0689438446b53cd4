"""Prompts as messages of the chat protocol, and its replies read."""

from base64 import b64encode
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from grounding_rewards.converting.prompts import Message
from grounding_rewards.engines import Answer
from grounding_rewards.engines.openai import chat_messages, read_completion
from grounding_rewards.errors import ConvertError

GIF = b"GIF89a"


def file(kind: str) -> bytes:
    stream = BytesIO()
    Image.new("RGB", (3, 2)).save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("kind", "head"), [("PNG", "data:image/png"), ("JPEG", "data:image/jpeg"), ("WEBP", "data:image/webp")]
)
def test_an_image_is_a_data_url_of_its_media_type(kind, head):
    data = file(kind)
    (message,) = chat_messages([Message("user", "<image>")], [data])
    assert message["content"] == [
        {"type": "image_url", "image_url": {"url": f"{head};base64,{b64encode(data).decode()}"}}
    ]


def test_images_stand_where_the_prompt_names_them_across_messages():
    png = file("PNG")
    first, last = chat_messages([Message("user", "Now <image> and "), Message("user", "then<image>")], [GIF, png])
    assert [part["type"] for part in first["content"]] == ["text", "image_url", "text"]
    assert [part.get("text") for part in first["content"]] == ["Now ", None, " and "]
    assert [part["type"] for part in last["content"]] == ["text", "image_url"]
    assert last["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_a_message_without_images_is_a_text_and_keeps_its_further_fields():
    calls = [{"id": "7", "type": "function"}]
    assert chat_messages([Message("assistant", "", {"tool_calls": calls})], []) == [
        {"role": "assistant", "content": "", "tool_calls": calls}
    ]


@given(st.lists(st.text("<image>ab \n", max_size=30), max_size=4))
def test_no_text_and_no_image_is_lost(texts):
    messages = [Message("user", text) for text in texts]
    count = sum(text.count("<image>") for text in texts)
    wire = chat_messages(messages, [GIF] * count)
    parts = [part for each in wire if isinstance(each["content"], list) for part in each["content"]]
    assert sum(part["type"] == "image_url" for part in parts) == count
    for message, text in zip(wire, texts, strict=True):
        content = message["content"]
        left = content if isinstance(content, str) else "".join(part.get("text", "<image>") for part in content)
        assert left == text


@pytest.mark.parametrize(
    ("text", "images", "problem"),
    [
        ("<image>a<image>", [GIF], "the prompt names 2 images by <image>; there are 1"),
        ("a", [GIF], "the prompt names 0 images by <image>; there are 1"),
        ("<image>", [b"root:x:0"], r"image 1: got 8 bytes b'root:x:0'; expected a PNG, JPEG or WebP file"),
        ("a\ud800", [], r"the prompt has half a surrogate pair at character 1: 'a\\ud800'"),
    ],
)
def test_what_cannot_be_sent_is_named(text, images, problem):
    with pytest.raises(ConvertError, match=problem):
        chat_messages([Message("user", text)], images)


def choice(content, finish="stop", **message):
    return {"message": {"content": content, **message}, "finish_reason": finish}


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (choice("(1, 2)"), Answer("(1, 2)", 4)),
        (choice("(1,", "length"), Answer("(1,", 4, cut=True)),
        (choice(None, refusal="I cannot"), Answer("I cannot", 4)),
        (choice(None), Answer("", 4)),
        (choice("", "content_filter"), Answer(None, problem="the server kept the response back (content_filter)")),
        (choice("half", "content_filter"), Answer("half", 4)),
    ],
)
def test_a_choice_is_an_answer(value, answer):
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    assert read_completion({"choices": [value], "usage": usage}) == ((answer,), 9)


def test_several_choices_come_by_their_index_and_share_no_count_of_tokens():
    choices = [{**choice("b"), "index": 1}, {**choice("a"), "index": 0}]
    usage = {"prompt_tokens": 9, "completion_tokens": 8}
    assert read_completion({"choices": choices, "usage": usage}) == ((Answer("a"), Answer("b")), 9)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "9"}, {"prompt_tokens": True}])
def test_tokens_that_the_server_does_not_say_are_unknown(usage):
    assert read_completion({"choices": [choice("a")], "usage": usage}) == ((Answer("a"),), None)


@pytest.mark.parametrize(
    "value",
    [None, [], "text", {"choices": []}, {"choices": [7]}, {"choices": [{"message": "a"}]}, {"choices": [choice(7)]}],
)
def test_anything_else_is_no_completion(value):
    assert read_completion(value) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["choices", "message", "content", "index", "usage"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_reply_of_a_server_raises(value):
    completion = read_completion(value)
    assert completion is None or all(isinstance(answer.text, str) for answer in completion[0])


def test_content_in_parts_is_its_texts():
    parts = [{"type": "text", "text": "(5, "}, {"type": "image"}, {"type": "text", "text": "7)"}]
    ((answer,), _) = read_completion({"choices": [{"message": {"content": parts}}]})
    assert answer.text == "(5, 7)"
    ((kept,), _) = read_completion({"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]})
    assert kept.problem == "the server kept the response back (content_filter)"
