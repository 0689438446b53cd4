"""The engine transformers on real tiny models: the demo's, which sees screens, and one of text."""

from collections import Counter
from dataclasses import replace
from io import BytesIO

import pytest
import torch
from PIL import Image

from grounding_rewards.converting.prompts import Message
from grounding_rewards.engines import Answer, Request, Sampling, engine
from tests.engines import tiny, tiny_text

GREEDY = Sampling(temperature=0, max_tokens=12)
DRAWN = Sampling(temperature=1.0, max_tokens=12)


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    tiny.register()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def vision_folder(tmp_path_factory):
    return tiny.saved(tmp_path_factory.mktemp("vision"))


@pytest.fixture(scope="module")
def text_folder(tmp_path_factory):
    return tiny_text.saved(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def seeing(vision_folder):
    with started(vision_folder, batch=6) as running:
        yield running


@pytest.fixture(scope="module")
def reading(text_folder):
    with started(text_folder, batch=8) as running:
        yield running


def started(folder, **settings):
    return engine("transformers", model=str(folder), device="cpu", **settings).start()


def click(seed, sampling=GREEDY, seeds=(0,), also=""):
    """Ask for a click on one of the demo's screens."""
    png, instruction, _ = tiny.screen(seed)
    return Request((Message("user", f"<image>{instruction}{also}"),), (png,), seeds, sampling)


def say(text, sampling=GREEDY, seeds=(0,)):
    return Request((Message("user", text),), (), seeds, sampling)


def texts(replies):
    return [[answer.text for answer in reply.answers] for reply in replies]


def bare(folder, request):
    """Generate greedily with the library alone, one prompt at a time."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    sees = bool(request.images)
    model = (AutoModelForImageTextToText if sees else AutoModelForCausalLM).from_pretrained(folder)
    processor = (AutoProcessor if sees else AutoTokenizer).from_pretrained(folder)
    prompt = "".join(f"<|im_start|>{message.role}{message.text}<|im_end|>" for message in request.messages)
    prompt = prompt.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>") + "<|im_start|>assistant"
    images = {"images": [Image.open(BytesIO(file)) for file in request.images]} if sees else {}
    inputs = processor(text=[prompt], return_tensors="pt", **images)
    inputs.pop("token_type_ids", None)
    made = model.generate(**inputs, do_sample=False, max_new_tokens=request.sampling.max_tokens)
    tokens = made[0, inputs["input_ids"].shape[1] :].tolist()
    return getattr(processor, "tokenizer", processor).decode(tokens, skip_special_tokens=True), tokens
