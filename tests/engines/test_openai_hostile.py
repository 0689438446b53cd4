"""A server that attacks: each of its replies is a row with a problem, and the run goes on and is resumed."""

import time
import tracemalloc

import pytest

from grounding_rewards.engines import Answer
from grounding_rewards.engines.rollout import roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError
from tests.engines.hostile_server import MIB, bomb, hostile
from tests.engines.test_openai import OpenAI, client, request
from tests.engines.test_rollout import CLICK, data, rows

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
