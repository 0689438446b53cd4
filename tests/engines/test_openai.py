"""Requests to a server of OpenAI's protocol: what is sent, how often, and in which order replies come back."""

import pickle
import threading
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from grounding_rewards.converting.prompts import Message
from grounding_rewards.engines import Answer, Reply, Request, Sampling, engine
from grounding_rewards.engines.openai import OpenAI, chat_messages, read_completion
from grounding_rewards.errors import ConvertError, EngineError
from tests.engines.scripted import Sent, completion, scripted

GIF = b"GIF89a"
WARM = Sampling(temperature=0.7, top_p=0.9, max_tokens=32)


def request(text="Save", seeds=(0,), images=(), sampling=WARM):
    return Request((Message("user", "<image>" * len(images) + text),), images, tuple(seeds), sampling)


def client(server, **settings):
    return OpenAI("tiny", base_url=server.url, **{"retries": 0, "patience": 0.1, **settings}).start()


def echo(body):
    """Each of n responses holds the prompt and the seed."""
    return completion(*[f"{body['messages'][0]['content']} {body['seed']}"] * body.get("n", 1))


def test_engine_by_name():
    built = engine("openai", model="m", concurrency=8)
    assert built.concurrency == 8
    assert built == OpenAI("m", base_url="http://other:8000/v1")  # which changes no answer
    assert built != OpenAI("m", n_in_one=True)


def test_an_engine_is_pickled():
    openai = OpenAI("m", extra_body={"top_k": -1})
    assert pickle.loads(pickle.dumps(openai)) == openai


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": " "}, r"model=\): got ' '; expected a text"),
        ({"base_url": "localhost:8000/v1"}, "base_url: got 'localhost:8000/v1'; expected such as http://localhost"),
        ({"base_url": None}, "base_url: got None; expected such as http://localhost:8000/v1"),
        ({"base_url": "http://me:pass@host/v1"}, "base_url: has a user or a password; leave them out"),
        ({"concurrency": 0}, r"concurrency=\): got 0; expected a whole number from 1"),
        ({"concurrency": True}, r"concurrency=\): got True; expected a whole number from 1"),
        ({"retries": -1}, r"retries=\): got -1; expected a whole number from 0"),
        ({"timeout": 0}, r"timeout=\): got 0; expected a number above 0"),
        ({"extra_body": "top_k"}, r"extra_body=\): got 'top_k'; expected names and their values"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(settings, message):
    with pytest.raises(EngineError, match=message) as raised:
        engine("openai", **{"model": "m", **settings})
    assert "me:pass" not in str(raised.value)


def test_what_is_sent_and_what_comes_back():
    with scripted(lambda body: completion("(5, 7)", finish="length")) as server:
        with client(server, extra_body={"top_k": -1}) as run:
            assert (run.at_once, run.resizing) == (2, None)
            assert run([request(images=(GIF,), seeds=(11,))]) == [Reply((Answer("(5, 7)", 6, cut=True),), 90)]
        url = {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}}
        message = {"role": "user", "content": [url, {"type": "text", "text": "Save"}]}
        settings = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 32, "seed": 11, "top_k": -1}
        assert server.bodies == [{"model": "tiny", "messages": [message], **settings}]


def test_no_requests_no_replies():
    with scripted(echo) as server, client(server) as run:
        assert run([]) == []
        assert run([request(seeds=())]) == [Reply(())]


def test_n_in_one_request():
    with scripted(echo) as server, client(server, n_in_one=True) as run:
        assert run([request(seeds=(3, 1, 2))]) == [Reply((Answer("Save 3"),) * 3, 90)]
        assert [(body["seed"], body["n"]) for body in server.bodies] == [(3, 3)]


def test_greedy_responses_are_asked_for_one_by_one():
    with scripted(echo) as server, client(server, n_in_one=True) as run:
        run([request(seeds=(3, 1), sampling=Sampling(temperature=0))])
        assert sorted(body["seed"] for body in server.bodies) == [1, 3]
        assert all("n" not in body for body in server.bodies)


def no_n(body):
    """Refuse n."""
    return Sent(400, {"error": {"message": "n must be 1"}}) if "n" in body else echo(body)


def two_at_most(body):
    return completion(*[f"Save {body['seed']}"] * min(body.get("n", 1), 2))


@pytest.mark.parametrize(
    ("script", "texts", "sent"),
    [
        (lambda body: echo({**body, "n": 1}), ["Save 3", "Save 1", "Save 2"], [(3, 3), (1, None), (2, None)]),
        (no_n, ["Save 3", "Save 1", "Save 2"], [(3, 3), (3, None), (1, None), (2, None)]),
        (two_at_most, ["Save 3", "Save 3", "Save 2"], [(3, 3), (2, None)]),
    ],
    ids=["ignored", "refused", "some"],
)
def test_a_server_without_n_is_noticed_and_asked_one_by_one(script, texts, sent, caplog):
    with scripted(script) as server, client(server, n_in_one=True, concurrency=1) as run:
        (reply,) = run([request(seeds=(3, 1, 2))])
        assert [answer.text for answer in reply.answers] == texts
        assert [(body["seed"], body.get("n")) for body in server.bodies] == sent
        run([request(seeds=(8, 9))])
        assert [(body["seed"], body.get("n")) for body in server.bodies[len(sent) :]] == [(8, None), (9, None)]
    assert [record.message for record in caplog.records if record.name == "grounding_rewards"] == [
        f"{server.url} does not take n; responses are asked for one by one"
    ]


def test_a_refused_prompt_is_not_taken_for_a_server_without_n():
    def script(body):
        long = body["messages"][0]["content"] == "long"
        return Sent(400, {"error": {"message": "too long"}}) if long else echo(body)

    with scripted(script) as server, client(server, n_in_one=True) as run:
        long, short = run([request("long", (1, 2)), request("short", (1, 2))])
        assert [answer.problem for answer in long.answers] == ["the server refused the request (400: too long)"] * 2
        assert short == Reply((Answer("short 1"),) * 2, 90)
        assert [body["n"] for body in server.bodies if body["messages"][0]["content"] == "short"] == [2]


def test_a_server_that_takes_max_completion_tokens_alone():
    def script(body):
        why = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return Sent(400, {"error": {"message": why}}) if "max_tokens" in body else echo(body)

    with scripted(script) as server, client(server) as run:
        assert run([request()])[0].answers[0].text == "Save 0"
        assert run([request()])[0].answers[0].text == "Save 0"
        assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 32, 32]


def test_replies_come_in_the_order_of_requests_whichever_is_answered_first():
    answered = [threading.Event() for _ in range(5)]
    answered[4].set()

    def backwards(body):
        seed = body["seed"]
        assert answered[seed + 1].wait(20)
        answered[seed].set()
        return echo(body)

    with scripted(backwards) as server, client(server) as run:
        replies = run([request("a", (0, 1)), request("b", (2,)), request("c", (3,))])
        texts = [[answer.text for answer in reply.answers] for reply in replies]
        assert texts == [["a 0", "a 1"], ["b 2"], ["c 3"]]


def test_as_many_requests_are_in_flight_as_concurrency_says():
    together = threading.Barrier(3)

    def script(body):
        together.wait(20)  # goes on when three requests have come
        return echo(body)

    with scripted(script) as server, client(server, concurrency=3) as run:
        replies = run([request(str(number), (0, 1)) for number in range(6)])
        assert all(answer.text for reply in replies for answer in reply.answers)
        assert server.most_in_flight == 3


def test_batches_of_two_threads_are_in_flight_at_once():
    together = threading.Barrier(2)

    def script(body):
        together.wait(20)
        return echo(body)

    with scripted(script) as server, client(server) as run, ThreadPoolExecutor(2) as threads:
        batches = threads.map(run, [[request("a")], [request("b")]])
        assert [batch[0].answers[0].text for batch in batches] == ["a 0", "b 0"]


def test_key_comes_from_the_environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MY_KEY", "sk-7")
    with scripted(echo) as server, client(server), client(server, api_key_env="MY_KEY"):
        assert server.keys == ["Bearer EMPTY", "Bearer sk-7"]


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
        (choice(None, "content_filter"), Answer(None, problem="the server kept the response back (content_filter)")),
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
