"""Prompts: texts and conversations, with images and without."""

import re

import pytest

from grounding_rewards.converting.prompts import Message, Wording, read_prompt
from grounding_rewards.errors import ConvertError
from grounding_rewards.tables.image_files import Image, read_images

PLAIN = Wording()
IMAGE_BLOCK = {"type": "image", "text": None}


def user(text):
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("value", "images", "text"),
    [
        ("打开設定 🙂", 0, "打开設定 🙂"),
        ("Save", 2, "<image><image>Save"),
        ("Between <image> and <image>", 2, "Between <image> and <image>"),
        ([user("Save")], 1, "<image>Save"),
        ([user([IMAGE_BLOCK, {"type": "text", "text": "Save"}])], 1, "<image>Save"),
        ([user([{"type": "text", "text": "Save "}, {"type": "image_url", "image_url": {}}])], 1, "Save <image>"),
    ],
)
def test_one_message(value, images, text):
    assert read_prompt(value, PLAIN, images) == (Message("user", text),)


def test_wording_goes_around_an_instruction_and_before_a_conversation():
    wording = Wording(system="You click.", template="{x} {instruction}!")
    assert read_prompt("Save {y}", wording, 1) == (
        Message("system", "You click."),
        Message("user", "<image>{x} Save {y}!"),
    )
    talk = [user("Hi"), {"role": "assistant", "content": "Yes?"}, user("Save")]
    system = Wording(system="You click.")
    assert [message.text for message in read_prompt(talk, system, 1)] == ["You click.", "<image>Hi", "Yes?", "Save"]


@pytest.mark.parametrize(
    ("value", "images", "wording", "message"),
    [
        (None, 0, PLAIN, "got nothing; expected a text, or messages with role and content"),
        ("  ", 0, PLAIN, "got '  '; expected a text"),
        ([], 0, PLAIN, "got []; expected a text"),
        ({"role": "user"}, 0, PLAIN, "got {'role': 'user'}; expected a text"),
        (["Save"], 0, PLAIN, "got the message 'Save'; expected role (system, user, assistant, tool) and content"),
        ([{"from": "human", "value": "Save"}], 0, PLAIN, "got the message {'from': 'human', 'value': 'Save'}"),
        ([user(None)], 0, PLAIN, "got the content None; expected texts and images"),
        ([user([{"type": "video"}])], 0, PLAIN, "got the content {'type': 'video'}"),
        ("One <image>", 2, PLAIN, "names 1 images by <image>; the row has 2"),
        ("One <image>", 0, PLAIN, "names 1 images by <image>; the row has 0"),
        ([user("a"), {"role": "assistant", "content": "b"}], 0, PLAIN, "the last message is the assistant's"),
        ([{"role": "system", "content": "a"}], 0, PLAIN, "none of its messages is the user's"),
        ([{"role": "system", "content": "a"}, user("b")], 0, Wording(system="c"), "leave --system out"),
        ([user("b")], 0, Wording(template="{instruction}"), "into which no --template fits"),
    ],
)
def test_what_is_no_prompt_says_why(value, images, wording, message):
    with pytest.raises(ConvertError, match=re.escape(message)):
        read_prompt(value, wording, images)


def test_what_messages_have_beside_their_text_stays():
    call = {"function": {"name": "click", "arguments": {"x": 1}}}
    talk = [
        {**user("Save"), "name": None, "tool_calls": []},
        {"role": "assistant", "content": None, "tool_calls": [call], "weight": 0},
        {"role": "tool", "content": "done", "tool_call_id": "7"},
        {**user("Next"), "name": "Ann"},
    ]
    found = read_prompt(talk, PLAIN, 1)
    assert [message.as_field() for message in found] == [
        {"role": "user", "content": "<image>Save"},
        {"role": "assistant", "content": "", "tool_calls": [call], "weight": 0},
        {"role": "tool", "content": "done", "tool_call_id": "7"},
        {"role": "user", "content": "Next", "name": "Ann"},
    ]
    (named,) = read_prompt([{**user("Save"), "name": "Ann"}], PLAIN, 1)
    assert named == Message("user", "<image>Save", {"name": "Ann"})


def test_a_template_without_a_place_for_the_instruction():
    with pytest.raises(
        ConvertError, match=re.escape("--template: got 'Click'; expected a text with {instruction} in it")
    ):
        Wording(template="Click")


def test_images():
    assert read_images("a.png") == (Image("a.png"),)
    assert read_images(b"GIF") == (Image(data=b"GIF"),)
    given = ["a.png", {"path": "b.png", "bytes": None}, {"path": "c.png", "bytes": b"GIF"}]
    assert read_images(given) == (Image("a.png"), Image("b.png"), Image("c.png", b"GIF"))
    for value in (None, "", b"", [], [None], 7, {"url": "a"}, {"path": None, "bytes": None}, {"path": 3}):
        with pytest.raises(ConvertError, match=r"^image: got .*expected a path, bytes"):
            read_images(value)


def test_relative_paths_go_into_a_folder():
    assert Image("a/b.png").within("/data") == Image("/data/a/b.png")
    for same in (Image("/b.png"), Image("b.png", b"GIF"), Image("https://example.com/b.png"), Image(data=b"x")):
        assert same.within("/data") == same
        assert same.within(None) == same
    assert Image("https://example.com/b.png").remote
    assert not Image("file:///b.png").remote
    assert not Image("https://example.com/b.png", b"GIF").remote
