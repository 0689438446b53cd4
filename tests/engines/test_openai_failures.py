"""Servers that fail: what becomes a problem of a request, and what ends the run with one line."""

import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from grounding_rewards.engines import Answer
from grounding_rewards.engines.openai import OpenAI, _wished
from grounding_rewards.engines.rollout import roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError
from tests.engines.hostile_server import MIB, bomb, hostile
from tests.engines.scripted import Sent, completion, scripted
from tests.engines.test_openai import client, echo, request
from tests.engines.test_rollout import CLICK, data, rows

SOON = {"Retry-After": "0.01"}
HTML = Sent(200, b"<html><title>Portal</title></html>", {"Content-Type": "text/html"})


def failing(*first, then=echo):
    """A script of the first replies, one for each request that comes, and those after them."""
    left = list(first)
    return lambda body: left.pop(0) if left else then(body)


def only(text, sent):
    """A script by which one prompt alone fails."""
    return lambda body: sent if body["messages"][0]["content"] == text else echo(body)


@pytest.mark.parametrize("sent", [Sent(429, {}, SOON), Sent(500, {}, SOON), Sent(503, b"busy", SOON), Sent(0)])
def test_a_busy_server_and_a_broken_connection_are_tried_again(sent):
    with scripted(failing(sent)) as server, client(server, retries=1) as run:
        assert run([request()])[0].answers == (Answer("Save 0", 6),)
        assert len(server.bodies) == 2


def test_a_server_that_wants_more_than_a_minute_is_asked_again_as_one_that_does_not_say():
    wishes = [_wished(httpx.Response(429, headers={"Retry-After": text})) for text in ("60", "61", "0", "-1", "soon")]
    assert wishes == [60.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (Sent(429, {"error": {"message": "slow  down"}}), "no reply from the server (429: slow down)"),
        (Sent(500, b"<h1>oops</h1>"), "no reply from the server (500: <h1>oops</h1>)"),
        (Sent(500, {}), "no reply from the server (500: it does not say why)"),
        (Sent(503, b""), "no reply from the server (503: it does not say why)"),
        (Sent(0), "no reply from the server (the connection broke, "),
        (Sent(400, {"object": "error", "message": "bad"}), "the server refused the request (400: bad)"),
        (Sent(413, b"large"), "the server refused the request (413: large)"),
        (Sent(422, {"detail": ["image"]}), 'the server refused the request (422: {"detail": ["image"]})'),
        (Sent(403, {"message": "forbidden"}), "the server refused the request (403: forbidden)"),
        (Sent(404, {"message": "gone"}), "the server refused the request (404: gone)"),
        (Sent(418, {"message": "tea"}), "the server refused the request (418: tea)"),
        (Sent(200, {"choices": []}), "no chat completion from the server (got '{\"choices\": []}')"),
        (Sent(200, {"choices": [{"message": None}]}), "no chat completion from the server (got "),
        (HTML, "no chat completion from the server (got '<html>"),
        (
            Sent(200, b'{"choices": [', {"Content-Length": "5000"}),
            "no reply from the server (the connection broke, RemoteProtocolError: peer closed connection without "
            "sending complete message body (received 13 bytes, expected 5000))",
        ),
    ],
)
def test_a_request_that_fails_alone_is_a_problem_of_its_row_and_ends_no_run(sent, problem):
    with scripted(only("bad", sent)) as server, client(server) as run:
        good, bad = run([request("good"), request("bad", (0, 1))])
        assert good.answers == (Answer("good 0", 6),)
        assert [answer.text for answer in bad.answers] == [None, None]
        assert all(answer.problem.startswith(problem) for answer in bad.answers)
        (alone,) = run([request("bad")])
        assert alone.answers[0].problem.startswith(problem)
        greeted = server.bodies[-1]["messages"] == [{"role": "user", "content": "Hello"}]
        assert greeted is (sent.status not in (400, 413, 422))


def test_a_timeout_is_a_problem_of_its_row():
    done = threading.Event()

    def script(body):
        if body["messages"][0]["content"] == "slow":
            done.wait(20)
        return echo(body)

    with scripted(script) as server, client(server, timeout=2) as run:
        slow, quick = run([request("slow"), request("quick")])
        assert slow.answers == (Answer(None, problem="no reply from the server (none within 2 s)"),)
        assert quick.answers == (Answer("quick 0", 6),)
        done.set()


def test_a_prompt_that_cannot_be_sent_is_a_problem_of_its_row():
    with scripted(echo) as server, client(server, n_in_one=True) as run:
        good, bad = run([request("good"), request("bad", (0, 1), images=(b"no image",))])
        assert good.answers == (Answer("good 0", 6),)
        assert [answer.problem for answer in bad.answers] == [
            "image 1: got 8 bytes b'no image'; expected a PNG, JPEG or WebP file"
        ] * 2
        assert len(server.bodies) == 1


def test_a_server_that_answers_nothing_any_more_ends_the_run():
    dead = Sent(500, {"message": "engine is dead"})
    message = r"does not answer for the model 'tiny' \(500: engine is dead\); it lists tiny"
    with scripted(lambda body: dead) as server, client(server) as run, pytest.raises(EngineError, match=message):
        run([request("a"), request("b")])


def test_what_fails_for_a_while_is_asked_again_when_the_server_answers():
    busy = Sent(503, {"message": "loading"})
    left = [busy] * 4  # the three requests, and a greeting
    with scripted(lambda body: left.pop(0) if left else echo(body)) as server:
        with client(server, patience=20, n_in_one=True) as run:
            replies = run([request("a", (0, 1)), request("b"), request("c")])
        assert [[answer.text for answer in reply.answers] for reply in replies] == [["a 0", "a 1"], ["b 0"], ["c 0"]]
        greetings = [body for body in server.bodies if body["messages"][0]["content"] == "Hello"]
        assert len(greetings) == 2


def test_a_server_that_is_busy_for_longer_than_the_patience_ends_the_run():
    answered = []

    def script(body):
        answered.append(body)
        return echo(body) if len(answered) < 3 else Sent(503, {"message": "overloaded"})

    message = r"does not answer for the model 'tiny' \(503: overloaded\)"
    with scripted(script) as server, client(server) as run, pytest.raises(EngineError, match=message):
        run([request("a", (0, 1, 2, 3))])


def test_a_server_that_is_gone_ends_the_run():
    with scripted(echo) as server:
        run = client(server)
        running = run.__enter__()
        running([request()])
    with pytest.raises(EngineError, match=f"no server answers at {server.url} .*; start one, such as by `vllm serve"):
        running([request()])
    run.__exit__(None, None, None)


def test_no_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EngineError, match=f"no server answers at {url} .* or name another base_url"):
        OpenAI("tiny", base_url=url).start().__enter__()


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (HTML, "answers with no chat completion .got '<html><title>Portal</title></html>'.; expected the address of"),
        (Sent(200, b"\xff{"), "answers with no chat completion"),
        (Sent(200, {"status": "ok"}), "answers with no chat completion"),
        (Sent(200, {"choices": [{}]}), "answers with no chat completion"),
        (
            Sent(401, {"error": "who?"}),
            r"wants a key \(401: who\?\); the environment variable OPENAI_API_KEY is not set",
        ),
        (Sent(403, {}), "wants a key"),
        (Sent(404, {"message": "gone"}), r"has no model 'tiny', or no chat \(404: gone\); it lists tiny"),
        (Sent(405, {"detail": "Method Not Allowed"}), r"does not answer \(405: Method Not Allowed\)"),
    ],
)
def test_a_server_that_speaks_otherwise_ends_the_run_with_one_line(sent, message, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with scripted(lambda body: sent) as server, client(server) as run:
        with pytest.raises(EngineError, match=message) as raised:
            run([request("a"), request("b", (0, 1))])
        assert "\n" not in str(raised.value)
        assert server.url in str(raised.value)


@pytest.mark.parametrize("models", [Sent(404, {}), Sent(500, {}), HTML, Sent(body={"data": [{"id": "other"}]})])
def test_a_server_that_does_not_list_the_model_is_asked_for_one_token(models):
    with scripted(echo, models) as server, client(server) as run:
        assert [body["max_tokens"] for body in server.bodies] == [1]
        assert run([request()])[0].answers == (Answer("Save 0", 6),)


def test_no_such_model():
    models = Sent(body={"data": [{"id": "qwen"}, {"id": "gta1"}]})
    missing = Sent(404, {"error": {"message": "The model `tiny` does not exist."}})
    with scripted(lambda body: missing, models) as server:
        with pytest.raises(EngineError, match=r"has no model 'tiny', .*does not exist\.\); it lists qwen, gta1$"):
            client(server).__enter__()
        pinned = Sent(400, {"detail": "Server is pinned to 'qwen'"})
        server.script = lambda body: pinned
        with pytest.raises(
            EngineError, match=r"does not answer for the model 'tiny' \(400: .*pinned.*it lists qwen, gta1"
        ):
            client(server).__enter__()


def test_the_key_is_in_no_error(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    echoed = Sent(401, {"error": {"message": "Incorrect API key provided: sk-secret"}})
    with scripted(echo, echoed) as server, pytest.raises(EngineError) as raised:
        client(server).__enter__()
    assert str(raised.value) == (
        f"{server.url} wants a key (401: Incorrect API key provided: ***); "
        "the environment variable OPENAI_API_KEY has another one"
    )


def test_a_hosted_server_is_not_asked_without_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EngineError, match="needs a key; set the environment variable OPENAI_API_KEY"):
        OpenAI("m", base_url="https://api.openai.com/v1").start().__enter__()


def test_a_key_that_no_header_holds_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\nsecret")
    with pytest.raises(EngineError, match=r"variable OPENAI_API_KEY holds characters that no key has$"):
        OpenAI("m").start().__enter__()


def test_leaving_by_an_error_ends_the_batches_of_other_threads():
    started, release = threading.Event(), threading.Event()

    def script(body):
        started.set()
        release.wait(20)
        return completion("late")

    with scripted(script) as server, ThreadPoolExecutor(1) as threads:
        engine = client(server)
        batch = threads.submit(engine.__enter__(), [request()])
        assert started.wait(20)
        stop = ValueError("elsewhere")
        assert not engine.__exit__(ValueError, stop, None)
        with pytest.raises(EngineError, match=f"{server.url}: the engine was stopped"):
            batch.result(20)
        release.set()


WAITING = """
import sys
from grounding_rewards.engines import Request, Sampling
from grounding_rewards.engines.openai import OpenAI
from grounding_rewards.converting.prompts import Message

request = Request((Message("user", "Save"),), (), (0, 1), Sampling())
with OpenAI("tiny", base_url=sys.argv[1]).start() as run:
    run([request] * 8)
"""


def test_ctrl_c_waits_for_no_reply():
    started, release = threading.Event(), threading.Event()

    def script(body):
        started.set()
        release.wait(60)
        return completion("late")

    with scripted(script) as server:
        process = subprocess.Popen([sys.executable, "-c", WAITING, server.url], stderr=subprocess.PIPE, text=True)
        assert started.wait(30)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, written = process.communicate(timeout=30)
        assert time.monotonic() - began < 5
        release.set()
    assert written.splitlines()[-1] == "KeyboardInterrupt"


def test_requests_go_through_the_proxy_of_the_environment(monkeypatch):
    with scripted(echo) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("http://", "http://me:pass%40@").removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "elsewhere.example")
        with OpenAI("tiny", base_url="http://models.example/v1").start() as run:
            assert run([request()])[0].answers == (Answer("Save 0", 6),)
        assert proxy.targets == ["http://models.example/v1/models", "http://models.example/v1/chat/completions"]
        assert proxy.logins == ["Basic bWU6cGFzc0A="] * 2


def test_without_httpx_an_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(
        EngineError, match=r"^the engine openai needs the package httpx: pip install 'ground.*\[openai\]'$"
    ):
        OpenAI("tiny", base_url="http://localhost:1/v1").start().__enter__()


LARGE = "no chat completion from the server (more than 4,194,304 bytes; max_reply_bytes of the engine allows more)"
PROBLEMS = {
    "bomb": LARGE,
    "failing_bomb": 'the server refused the request (400: {"choices": "\\x00',
    "not_packed": "no reply from the server (the connection broke, error: Error -3 while decompressing",
    "strange_coding": "no reply from the server (the connection broke, ValueError: Content-Encoding is 'br'; ",
    "long": LARGE,
    "endless": LARGE,
    "dripping": "no reply from the server (none within 1 s)",
    "dripping_headers": "no reply from the server (none within 1 s)",
    "brackets": "no chat completion from the server (got '[[[",
    "failing_brackets": 'the server refused the request (400: {"message": [[[',
    "digits": 'no chat completion from the server (got \'{"choices"',
    "elsewhere": "the server refused the request (307: redirects to http://127.0.0.1:1, another server, which is sent",
    "circle": "no reply from the server (the connection broke, TooManyRedirects: more than 20 redirects)",
}
READ = {
    "ordinary": Answer("(5, 7)", 6), "packed": Answer("(5, 7)", 6), "moved": Answer("(5, 7)", 6),
    "count": Answer("(5, 7)", None), "surrogate": Answer("(5, 7) \ud800", 6),
}  # fmt: skip


@pytest.mark.parametrize("name", [*PROBLEMS, *READ])
def test_an_attack_by_one_reply_is_a_problem_of_its_row(name):
    with hostile(other="http://127.0.0.1:1") as server, client(server, timeout=1) as run:
        assert len(bomb()) < 4 * MIB
        tracemalloc.start()
        began = time.monotonic()
        good, attacked = run([request("good"), request(name)])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert good.answers == (Answer("(5, 7)", 6),)
    if name in READ:
        assert attacked.answers == (READ[name],)
    else:
        assert attacked.answers[0].text is None
        assert attacked.answers[0].problem.startswith(PROBLEMS[name])
    assert server.sent < 32 * MIB
    assert time.monotonic() - began < 20
    assert peak < 64 * MIB


def test_a_run_goes_on_after_attacks_and_is_resumed(tmp_path):
    words = [f"click {name}" for name in (*PROBLEMS, *READ)]
    source, settings = data(tmp_path, *words), RolloutSettings(n=1, shard_rows=6)
    with hostile(other="http://127.0.0.1:1") as server:
        known = {"retries": 0, "patience": 5.0, "timeout": 1.0}
        engine = OpenAI("tiny", base_url=server.url, **known)
        done = roll_out(source, engine, tmp_path / "out", settings=settings, recipe=CLICK)
        assert (done.manifest["rows"], done.manifest["answered"]) == (len(words), len(READ))
        again = roll_out(source, engine, tmp_path / "out", settings=settings, recipe=CLICK)
        assert (again.made, again.found) == (0, 3)
    made = rows(tmp_path / "out", "instruction", "response", "problem", "token_length", "prompt_tokens")
    by_attack = {row["instruction"].split()[-1]: row for row in made}
    assert {name for name, row in by_attack.items() if row["problem"]} == {*PROBLEMS}
    assert (by_attack["count"]["token_length"], by_attack["count"]["prompt_tokens"]) == (None, None)


@pytest.mark.parametrize("models", ["endless", "bomb", "brackets", "list_of_numbers", "elsewhere", "count"])
def test_a_list_of_models_that_attacks_is_no_list(models):
    with hostile(models, "http://127.0.0.1:1") as server, client(server) as run:
        assert server.prompts == ["Hello"]
        assert run([request("go")])[0].answers == (Answer("(5, 7)", 6),)
        assert server.sent < 32 * MIB


def test_a_list_of_models_that_never_ends_is_one_error():
    with hostile("dripping") as server:
        began = time.monotonic()
        with pytest.raises(EngineError, match=r"does not answer for the model 'tiny' \(none within 1 s\)"):
            client(server, timeout=1).__enter__()
    assert time.monotonic() - began < 10


def test_prompts_are_sent_to_no_other_server():
    with hostile() as thief, hostile(other=thief.url.removesuffix("/v1")) as server, client(server) as run:
        message = f"does not answer .307: redirects to {thief.url[:-3]}, another server, which is sent nothing"
        good, _ = run([request("good"), request("secret elsewhere")])
        assert good.answers[0].text == "(5, 7)"
        server.always = "elsewhere"
        with pytest.raises(EngineError, match=message):
            run([request("secret")])
        assert thief.prompts == []


def test_the_bound_of_a_reply_is_an_option():
    with hostile() as server, client(server, max_reply_bytes=10 * MIB, timeout=20) as run:
        (reply,) = run([request("long")])
        assert len(reply.answers[0].text) == 9 * MIB + 7
    message = "answers with no chat completion .more than 10 bytes; max_reply_bytes of the engine allows more"
    with hostile() as server, pytest.raises(EngineError, match=message):
        client(server, max_reply_bytes=10).__enter__()
