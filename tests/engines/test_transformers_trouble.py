"""Requests that the engine transformers cannot answer, and too little memory."""

import warnings
from dataclasses import replace

import pytest
import torch

from grounding_rewards.converting.prompts import Message
from grounding_rewards.engines import Answer, Request, Sampling
from grounding_rewards.errors import EngineError
from tests.engines import tiny_text
from tests.engines.test_transformers import DRAWN, GREEDY, click, say, started

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # transformers on numpy 2
SHORTAGES = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
    MemoryError("Unable to allocate 2.00 GiB"),
]


@pytest.fixture(scope="module")
def text_folder(tmp_path_factory):
    return tiny_text.saved(tmp_path_factory.mktemp("text"), context=32)


def limited(running, rows, *errors):
    """Have the model raise errors, in turn, when it is to answer more than so many rows; return the batches it got."""
    generate, asked = running.model.generate, []

    def fails(input_ids, generation_config, **options):
        asked.append(len(input_ids) * (generation_config.num_return_sequences or 1))
        if asked[-1] > rows:
            raise errors[(len(asked) - 1) % len(errors)]
        return generate(input_ids=input_ids, generation_config=generation_config, **options)

    running.model.generate = fails
    return asked


def test_out_of_memory_halves_the_batch_for_the_rest_of_the_run(text_folder):
    requests = [say("say", DRAWN, tuple(range(8))), say("say a", DRAWN, (8, 9)), say("say"), say("say a")]
    with started(text_folder, batch=8) as running:
        expected = running(requests)
        asked = limited(running, 1, *SHORTAGES)
        with warnings.catch_warnings(record=True, action="always") as caught:
            replies = running(requests)
        running(requests[1:2])
    assert replies == expected
    assert [str(each.message) for each in caught] == [
        f"{text_folder}: out of memory with {rows} responses at once; going on with batch={rows // 2}"
        for rows in (8, 4, 2)
    ]
    assert asked == [8, 4, 2, *[1] * (8 + 2 + 1 + 1), 1, 1]


def test_a_response_that_does_not_fit_alone_has_a_problem_and_the_others_do_not(text_folder):
    with started(text_folder, batch=2) as running:
        limited(running, 0, SHORTAGES[0])
        with pytest.warns(UserWarning, match="going on with batch=1"):
            replies = running([say("say", DRAWN, (1, 2)), say("say", GREEDY, (1, 2))])
    text = "out of memory with one response: CUDA out of memory. Tried to allocate 2.00 GiB"
    assert [reply.answers for reply in replies] == [(Answer(None, problem=text),) * 2] * 2


@pytest.mark.parametrize("max_tokens", [12, 100])  # with 100 each prompt is cut elsewhere, so they go one by one
def test_a_device_that_is_lost_ends_the_run(text_folder, max_tokens):
    sampling = Sampling(0, max_tokens=max_tokens)
    with started(text_folder) as running:
        limited(running, 0, RuntimeError("CUDA error: device-side assert triggered\nmore"))
        with pytest.raises(EngineError) as caught:
            running([say("say", sampling), say("say a", sampling)])
    text = "the device answers no more: CUDA error: device-side assert triggered more"
    assert str(caught.value) == f"{text_folder}: {text}"


def test_bad_requests_have_problems_and_their_neighbours_answers(vision_folder):
    broken = replace(click(1, DRAWN, (1, 2)), images=(b"GIF89a",))
    more = Request((Message("user", "<image><image>click"),), click(1).images, (0,), GREEDY)
    forged = click(1, also="<|image_pad|>")
    long = click(1, also=" the" * 300)
    with started(vision_folder) as running:
        good = click(2, DRAWN, (3, 4))
        expected, greedy = running([good, click(2)])
        replies = running([broken, good, more, forged, long, click(2)])
    assert replies[1] == expected
    assert replies[5] == greedy
    problems = [reply.answers[0].problem for reply in replies]
    assert replies[0].answers == (Answer(None, problem=problems[0]),) * 2
    assert problems[0].startswith("an image cannot be read: cannot identify image file")
    assert problems[2] == "the prompt names 2 images by <image>; there are 1"
    assert problems[3] == "the prompt's text holds <|image_pad|>, the model's own sign for an image; write <image>"
    assert problems[4] == "the prompt has 335 tokens; the model's context holds 256"


def test_a_text_model_does_not_see(text_folder):
    with started(text_folder) as running:
        replies = running([click(1), say("say")])
    assert replies[0].answers[0].problem == f"has images, which {text_folder}, a text model, does not see"
    assert replies[1].answers[0].text


def test_responses_are_cut_at_the_end_of_the_context_whatever_their_neighbours(text_folder):
    sampling = Sampling(0, max_tokens=100)
    requests = [say("say a number" + " a" * repeats, sampling) for repeats in (0, 10, 0)]
    with started(text_folder) as running:
        replies = running(requests)
        alone = [running([request])[0] for request in requests]
    assert replies == alone
    assert [reply.prompt_tokens for reply in replies] == [8, 18, 8]
    assert [reply.answers[0].token_length for reply in replies] == [24, 14, 24]
    assert all(reply.answers[0].cut for reply in replies)


def test_a_template_that_refuses_a_prompt_is_a_problem(tmp_path):
    folder = tiny_text.saved(tmp_path)
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no system messages') }}")
    with started(folder) as running:
        answer = running([say("say")])[0].answers[0]
    assert answer == Answer(None, problem="transformers raised TemplateError: no system messages")


def test_leaving_frees_the_model(text_folder):
    with started(text_folder) as running:
        running([say("say")])
    assert not hasattr(running, "model")
