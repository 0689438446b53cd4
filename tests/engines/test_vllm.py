"""The engine ``vllm`` on a GPU: ``pytest -m gpu``. Elsewhere tests/contracts/test_vllm.py has its calls."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from multiprocessing import get_context
from typing import Any

import pytest

from grounding_rewards.converting.prompts import Message
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import Request, Running, Sampling
from grounding_rewards.engines.vllm import Vllm
from tests.engines import small

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("default")]  # vLLM's own

GREEDY = {"temperature": 0.0, "max_tokens": 8}


def request(text: str, *seeds: int, images: tuple[bytes, ...] = (), **sampling: Any) -> Request:
    return Request((Message("user", text),), images, seeds, Sampling(**{"max_tokens": 16, **sampling}))


def picture(colour: str, width: int, height: int) -> bytes:
    from PIL import Image

    file = BytesIO()
    Image.new("RGB", (width, height), colour).save(file, "PNG")
    return file.getvalue()


def started(model: str, **options: Any) -> Iterator[Running]:
    pytest.importorskip("vllm", reason="needs vllm: pip install '.[vllm]'")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    settings = {"max_model_len": 256, "gpu_memory_utilization": 0.2, "dtype": "float32"}
    with Vllm(model, **settings, **options, more={"enforce_eager": True}).start() as running:
        yield running


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small.text(tmp_path_factory.mktemp("text")))


@pytest.fixture(scope="module")
def text(checkpoint: str) -> Iterator[Running]:
    yield from started(checkpoint)


@pytest.fixture(scope="module")
def vision(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("torchvision", reason="needs torchvision, which vllm brings")
    yield from started(str(small.vision(tmp_path_factory.mktemp("vision"))), max_pixels=128 * 128)


def greedy(checkpoint: str, prompts: list[str]) -> list[tuple[str, int, int]]:
    """Text and tokens of greedy responses by transformers, and tokens of the prompts."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(checkpoint), AutoTokenizer.from_pretrained(checkpoint)
    answers = []
    for prompt in prompts:
        talk = [{"role": "user", "content": prompt}]
        tokens = tokenizer.apply_chat_template(talk, add_generation_prompt=True, return_dict=True, return_tensors="pt")
        length = tokens["input_ids"].shape[1]
        made = model.generate(**tokens, do_sample=False, max_new_tokens=8)[0, length:]
        answers.append((tokenizer.decode(made, skip_special_tokens=True), len(made), length))
    return answers


def test_greedy_answers_are_those_of_transformers(text: Running, checkpoint: str) -> None:
    prompts = ["click the red square", "click the blue circle", "click"]
    with ProcessPoolExecutor(1, get_context("spawn")) as process:  # this one leaves CUDA to the engines
        expected = process.submit(greedy, checkpoint, prompts).result()
    replies = text([request(prompt, 1, 2, **GREEDY) for prompt in prompts])
    for (said, length, prompt_tokens), reply in zip(expected, replies, strict=True):
        assert [(answer.text, answer.token_length) for answer in reply.answers] == [(said, length)] * 2
        assert reply.prompt_tokens == prompt_tokens


def test_a_response_is_drawn_by_its_own_seed(text: Running) -> None:
    seeds = tuple(range(8))
    (together,) = text([request("click", *seeds)])
    assert len({answer.text for answer in together.answers}) > 1
    apart = [text([request("click", seed)])[0].answers[0] for seed in reversed(seeds)]
    assert tuple(reversed(apart)) == together.answers


def test_a_prompt_that_is_too_long_leaves_the_others_alone(text: Running) -> None:
    asked = [
        request("click", 1, **GREEDY),
        request("click" + " the" * 400, 1, 2, **GREEDY),
        request("click", 2, **GREEDY),
    ]
    first, refused, last = text(asked)
    assert first == last
    assert [answer.text for answer in refused.answers] == [None, None]
    assert "256" in refused.answers[0].problem


def test_a_response_is_cut_by_its_limit(text: Running) -> None:
    (reply,) = text([request("click", *range(8), max_tokens=1)])
    assert {(answer.token_length, answer.cut) for answer in reply.answers} <= {(1, True), (1, False)}
    assert any(answer.cut for answer in reply.answers)


def test_images_are_seen_in_their_size(vision: Running) -> None:
    assert vision.resizing == Resizing("qwen3_vl", small.PIXELS[0], 128 * 128)
    images = [picture("red", 128, 64), picture("blue", 128, 64), picture("red", 64, 64), picture("red", 256, 256)]
    red, blue, half, large = vision([request("<image>click", *range(8), images=(image,)) for image in images])
    words = (half.prompt_tokens or 0) - 4  # an image has a token for 32 x 32 pixels
    assert [reply.prompt_tokens for reply in (red, blue, large)] == [words + 8, words + 8, words + 16]
    assert [answer.text for answer in red.answers] != [answer.text for answer in blue.answers]


def test_images_that_do_not_fit_into_the_context_are_a_problem(vision: Running) -> None:
    (reply,) = vision([request("<image>" * 20 + "click", 1, images=(picture("red", 128, 128),) * 20)])
    assert reply.answers[0].text is None
    assert "256" in reply.answers[0].problem
