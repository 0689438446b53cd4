"""The engine beside a real ``transformers serve`` with the demo's tiny vision model."""

from io import BytesIO

import pytest
from PIL import Image

from grounding_rewards.converting.prompts import Message
from grounding_rewards.engines import Request, Sampling
from grounding_rewards.engines.openai import OpenAI
from grounding_rewards.errors import EngineError
from tests.engines import tiny
from tests.engines.serve import served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("serve")]

TOKENS = 6
GREEDY = Sampling(temperature=0.0, max_tokens=TOKENS)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.saved(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def url(checkpoint, tmp_path_factory):
    with served(checkpoint, tmp_path_factory.mktemp("serve") / "hub") as url:
        yield url


@pytest.fixture(scope="module")
def run(checkpoint, url):
    with OpenAI(str(checkpoint), base_url=url, retries=0).start() as run:
        yield run


def request(text, images=(), seeds=(0,), sampling=GREEDY):
    return Request((Message("user", "<image>" * len(images) + text),), tuple(images), seeds, sampling)


def generated(checkpoint, image, text):
    """The greedy tokens of bare generate, and the number of tokens of its prompt."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    tiny.register()
    model = AutoModelForImageTextToText.from_pretrained(checkpoint)
    processor = AutoProcessor.from_pretrained(checkpoint)
    content = [{"type": "image", "image": Image.open(BytesIO(image))}, {"type": "text", "text": text}]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=True, return_dict=True,
        return_tensors="pt",
    )  # fmt: skip
    with torch.no_grad():
        output = model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)
    start = inputs["input_ids"].shape[1]
    return processor.decode(output[0, start:], skip_special_tokens=True), start


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of transformers beside numpy 2
def test_greedy_answers_are_those_of_bare_generate(checkpoint, run):
    screens = [tiny.screen(seed)[:2] for seed in range(3)]
    replies = run([request(text, [image]) for image, text in screens])
    expected = [generated(checkpoint, image, text) for image, text in screens]
    assert [(reply.answers[0].text, reply.prompt_tokens) for reply in replies] == expected
    assert len({text for text, _ in expected}) > 1


def test_tokens_of_the_prompt_grow_with_the_image(run):
    image, text, _ = tiny.screen(0)
    file = BytesIO()
    Image.open(BytesIO(image)).crop((0, 0, 32, 32)).save(file, "PNG")
    none, small, whole = run([request(text), request(text, [file.getvalue()]), request(text, [image])])
    # 16 x 16 pixels are a token: 4 of 32 x 32, 24 of 96 x 64, and one before and after an image.
    assert small.prompt_tokens - none.prompt_tokens == 6
    assert whole.prompt_tokens - none.prompt_tokens == 26


def test_a_response_at_the_limit_is_cut_and_its_tokens_counted(run):
    image, text, _ = tiny.screen(0)
    (reply,) = run([request(text, [image], sampling=Sampling(0.0, max_tokens=2))])
    assert [(answer.token_length, answer.cut) for answer in reply.answers] == [(2, True)]


def test_n_is_ignored_and_noticed(checkpoint, url, caplog):
    image, text, _ = tiny.screen(0)
    with OpenAI(str(checkpoint), base_url=url, retries=0, n_in_one=True).start() as run:
        (reply,) = run([request(text, [image], (1, 2, 3), Sampling(1.0, max_tokens=TOKENS))])
    assert len(reply.answers) == 3
    assert all(answer.text and answer.token_length for answer in reply.answers)
    assert "does not take n; responses are asked for one by one" in caplog.text


def test_another_model_is_refused(url):
    with pytest.raises(EngineError, match=r"does not answer for the model 'other'.*pinned to"):
        OpenAI("other", base_url=url, retries=0).start().__enter__()
