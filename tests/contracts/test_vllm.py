"""The engine ``vllm`` against signatures of released versions; on a GPU the real one: tests/engines/test_vllm.py."""

from __future__ import annotations

import json
import os
import pickle
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from grounding_rewards.converting.prompts import Message
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import Answer, Reply, Request, Sampling, engine
from grounding_rewards.engines.vllm import Vllm, _Running
from grounding_rewards.errors import EngineError
from tests.contracts.vllm import Fake
from tests.contracts.vllm_source import VERSIONS, recorded, signature

QWEN3 = {"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 16, "merge_size": 2}
SIZE = {"size": {"shortest_edge": 65536, "longest_edge": 16777216}}


def answer(conversation: list[Any], params: Any) -> dict[str, Any] | Exception:
    """Say the last message's first word and the seed; cut after max_tokens; refuse and give up when asked to."""
    content = conversation[-1]["content"]
    words = (content if isinstance(content, str) else content[-1]["text"]).split()
    if words[0] == "long":
        return ValueError("The decoder prompt (length 9000) is longer\nthan the maximum model length of 4096.")
    text = [words[0], *str(params.seed)]
    reason = words[0] if words[0] in ("abort", "error") else "length" if len(text) > params.max_tokens else "stop"
    text = text[: params.max_tokens]
    return {"text": " ".join(text), "token_ids": [7] * len(text), "finish_reason": reason}


def request(text: str, *seeds: int, images: tuple[bytes, ...] = (), **sampling: Any) -> Request:
    return Request((Message("user", text),), images, seeds, Sampling(**sampling))


def picture(width: int, height: int) -> bytes:
    file = BytesIO()
    Image.new("RGBA", (width, height), "red").save(file, "PNG")
    return file.getvalue()


def checkpoint(folder: Path, **settings: Any) -> str:
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return str(folder)


def installed(patch: pytest.MonkeyPatch, version: str) -> Fake:
    made = Fake(version, answer)
    patch.setenv("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    for name, module in made.modules().items():
        patch.setitem(sys.modules, name, module)
    return made


@pytest.fixture(params=VERSIONS)
def fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Fake:
    return installed(monkeypatch, request.param)


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return installed(monkeypatch, VERSIONS[-1])


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_queued_takes_what_a_chat_takes(version: str) -> None:
    record = recorded(version)
    queued, chat = (signature(record["signatures"][f"LLM.{name}"]) for name in ("enqueue_chat", "chat"))
    assert set(queued.parameters) - set(chat.parameters) <= {"priority"}
    assert set(chat.parameters) <= set(queued.parameters)
    assert record["version"] == version
    assert "ChatTemplateResolutionError" in record["errors"]


def test_requests_run_together_each_response_by_its_own_seed(fake: Fake, tmp_path: Path) -> None:
    asked = [request("click here", 31, 4), request("wait", 5), request("none")]
    with Vllm(str(tmp_path)).start() as running:
        replies = running(asked)
        assert running.at_once == 1
        assert fake.batches == [3]
        assert fake.ended == 0
    assert replies == [
        Reply((Answer("click 3 1", 3), Answer("click 4", 2)), prompt_tokens=2),
        Reply((Answer("wait 5", 2),), prompt_tokens=1),
        Reply(()),
    ]
    assert fake.ended == 1


def test_a_response_is_cut_by_its_limit(fake: Fake, tmp_path: Path) -> None:
    with Vllm(str(tmp_path)).start() as running:
        (reply,) = running([request("click", 123, max_tokens=2)])
    assert reply.answers == (Answer("click 1", 2, cut=True),)


def test_a_response_is_continued_and_ends_before_a_text(fake: Fake, tmp_path: Path) -> None:
    chat, asked, bound = dict[str, Any](), list[Any](), fake.bound
    fake.bound = lambda name, *given, **named: chat.update(named) or bound(name, *given, **named)  # type: ignore[method-assign]
    fake.answer = lambda *given: asked.append(given) or answer(*given)
    with Vllm(str(tmp_path)).start() as running:
        running([replace(request("click", 1), prefill="( ", sampling=Sampling(stop=("<end>",)))])
    ((conversation, params),) = asked
    assert conversation[-1] == {"role": "assistant", "content": "( "}
    assert params.stop == ["<end>"]
    assert (chat["add_generation_prompt"], chat["continue_final_message"]) == (False, True)


def test_what_is_refused_has_a_problem_and_the_others_their_responses(fake: Fake, tmp_path: Path) -> None:
    asked = [
        request("click", 1),
        request("long prompt", 2, 3),
        request("click", -1),
        request("click", 2**63),
        request("click", 4, temperature=2.5),
        request("<image>click", 4),
        request("<image>click", 4, images=(b"no image",)),
        request("error", 5),
        request("abort", 6, 7),
        request("wait", 8),
    ]
    with Vllm(str(tmp_path)).start() as running:
        replies = running(asked)
    assert fake.batches == [5]
    assert [tuple(answer.text for answer in reply.answers) for reply in replies] == [
        ("click 1",), (None, None), (None,), (None,), (None,), (None,), (None,), (None,), (None, None), ("wait 8",),
    ]  # fmt: skip
    problems = [reply.answers[-1].problem for reply in replies]
    assert problems[:6] == [
        "",
        "ValueError: The decoder prompt (length 9000) is longer than the maximum model length of 4096.",
        "seed: got -1; vLLM takes 0 to 2**63 - 1",
        "seed: got 9223372036854775808; vLLM takes 0 to 2**63 - 1",
        "ValueError: temperature must be in [0, 2], got 2.5.",
        "ConvertError: the prompt names 1 images by <image>; there are 0",
    ]
    assert problems[6].startswith("UnidentifiedImageError: cannot identify image file")
    assert problems[7:] == ["vLLM gave it up (finish_reason error)", "vLLM gave it up (finish_reason abort)", ""]


def test_images_stand_in_their_places_and_count_as_tokens(fake: Fake, tmp_path: Path) -> None:
    conversations: list[Any] = []
    fake.answer = lambda conversation, params: conversations.append(conversation) or answer(conversation, params)
    asked = request("a<image>b <image> click", 1, 2, images=(picture(64, 32), picture(16, 16)))
    with Vllm(str(tmp_path)).start() as running:
        (reply,) = running([asked])
    assert reply.prompt_tokens == 1 + 8 + 1 + 1 + 1
    (message,) = conversations[0]
    assert [part["type"] for part in message["content"]] == ["text", "image_pil", "text", "image_pil", "text"]
    assert [part["text"] for part in message["content"][::2]] == ["a", "b ", " click"]
    sizes = [(part["image_pil"].mode, part["image_pil"].size) for part in message["content"][1::2]]
    assert sizes == [("RGB", (64, 32)), ("RGB", (16, 16))]
    assert conversations[0] is conversations[1]  # decoded once


def test_a_conversation_keeps_its_further_fields_from_changes(newest: Fake, tmp_path: Path) -> None:
    calls = [{"type": "function", "function": {"name": "click", "arguments": "{}"}}]

    def parsed(conversation: list[Any], params: Any) -> Any:
        conversation[0]["tool_calls"][0]["function"]["arguments"] = {}
        return answer(conversation, params)

    newest.answer = parsed
    messages = (Message("assistant", "", {"tool_calls": calls}), Message("tool", "done", {"tool_call_id": "7"}))
    with Vllm(str(tmp_path)).start() as running:
        (reply,) = running([Request(messages, (), (1,), Sampling())])
    assert reply.answers[0].text == "done 1"
    assert calls[0]["function"]["arguments"] == "{}"


TEXTS = st.text(alphabet="abc ", min_size=1).filter(str.strip)
REQUESTS = st.lists(st.tuples(TEXTS | st.just("long"), st.lists(st.integers(-1, 20), max_size=3)), max_size=5)


@given(REQUESTS)
def test_a_reply_does_not_depend_on_the_batch(asked: list[tuple[str, list[int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        llm = installed(patch, VERSIONS[-1]).modules()["vllm"].LLM("m")
        running = _Running("m", llm, None)
        requests = [request(text, *seeds) for text, seeds in asked]
        assert running(requests) == [reply for each in requests for reply in running([each])]


@pytest.mark.parametrize("when", ["queued", "run"])
def test_an_engine_that_dies_ends_the_run(fake: Fake, tmp_path: Path, when: str) -> None:
    dead = fake.EngineDeadError("EngineCore encountered an issue.")
    with Vllm(str(tmp_path)).start() as running:
        if when == "queued":
            fake.answer = lambda conversation, params: dead
        else:
            fake.fails = dead
        with pytest.raises(EngineError) as caught:
            running([request("click", 1)])
    assert str(caught.value) == (
        f"vllm ended while it ran {tmp_path} (EngineDeadError: EngineCore encountered an issue.); its log above has "
        "the cause. Where memory was short, lower gpu_memory_utilization, max_model_len or max_pixels"
    )
    assert fake.ended == 1


def test_responses_that_are_lost_are_an_error(newest: Fake, tmp_path: Path) -> None:
    with Vllm(str(tmp_path)).start() as running:
        running.llm.wait_for_completion = lambda **options: []
        with pytest.raises(EngineError, match="vllm gave 0 responses to 2 requests"):
            running([request("click", 1, 2)])


def test_a_checkpoint_without_a_chat_template_ends_the_run(newest: Fake, tmp_path: Path) -> None:
    refusal = type("ChatTemplateResolutionError", (Exception,), {})
    newest.answer = lambda conversation, params: refusal("no default")
    with (
        Vllm(str(tmp_path)).start() as running,
        pytest.raises(EngineError, match="has no chat template; save one with its tokenizer, or name a file of one"),
    ):
        running([request("click", 1)])


def test_arguments_of_the_model(fake: Fake, tmp_path: Path) -> None:
    plain = {"generation_config": "vllm", "limit_mm_per_prompt": {"video": 0}, "dtype": "auto"}
    model = checkpoint(tmp_path, **QWEN3, **SIZE)
    with Vllm(model).start():
        pass
    assert fake.loaded == [{**plain, "model": model, "tensor_parallel_size": 1}]
    more = {"limit_mm_per_prompt": {"image": 2}, "enforce_eager": True, "max_num_seqs": 64}
    settings = {"max_model_len": 4096, "tensor_parallel_size": 2, "gpu_memory_utilization": 0.5, "dtype": "bfloat16"}
    with Vllm(model, **settings, max_pixels=2007040, more=more).start() as running:
        assert running.resizing == Resizing("qwen3_vl", 65536, 2007040)
    assert fake.loaded[1:] == [
        {
            "generation_config": "vllm",
            **settings,
            **more,
            "model": model,
            "mm_processor_kwargs": {"size": {"shortest_edge": 65536, "longest_edge": 2007040}},
        }
    ]


@pytest.mark.parametrize(
    ("settings", "more", "resizing"),
    [
        ({**QWEN3, **SIZE}, {}, Resizing("qwen3_vl", 65536, 16777216)),
        ({**QWEN3, "patch_size": 14, "min_pixels": 3136, "max_pixels": 12845056}, {},
         Resizing("qwen2_5_vl", 3136, 12845056)),
        ({**QWEN3, **SIZE, "patch_size": 8}, {}, None),
        (QWEN3, {}, None),
        ({**QWEN3, **SIZE, "image_processor_type": "CLIPImageProcessor"}, {}, None),
        ({**QWEN3, **SIZE}, {"mm_processor_kwargs": {"max_pixels": 10**6}}, None),
        (None, {}, None),
    ],
)  # fmt: skip
def test_resizing_is_that_of_the_checkpoint(
    newest: Fake, tmp_path: Path, settings: Any, more: Any, resizing: Resizing | None
) -> None:
    model = str(tmp_path) if settings is None else checkpoint(tmp_path, **settings)
    with Vllm(model, more=more).start() as running:
        assert running.resizing == resizing
    if resizing is None:
        with pytest.raises(EngineError, match=r"min_pixels, max_pixels: the image processor of .* is none of Qwen's"):
            Vllm(model, min_pixels=4096, more=more).start().__enter__()


def test_what_cannot_be_loaded_is_one_line(fake: Fake, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        Vllm(str(tmp_path), more={"max_number_seqs": 1}).start().__enter__()
    assert str(caught.value).startswith(
        f"vllm cannot load {tmp_path} (TypeError: EngineArgs.__init__() got an unexpected keyword argument "
        "'max_number_seqs'); its log above has the cause."
    )
    fake.fails = RuntimeError("Engine core initialization failed.\n  See root cause above.")
    with pytest.raises(
        EngineError, match=r"\(RuntimeError: Engine core initialization failed. See root cause above.\)"
    ):
        Vllm(str(tmp_path)).start().__enter__()


def test_a_version_that_is_too_old_is_named(newest: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["vllm"], "LLM", object)
    with pytest.raises(EngineError, match=r"needs vllm 0\.24 or newer: pip install -U 'grounding-rewards\[vllm\]'"):
        Vllm(str(tmp_path)).start().__enter__()


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLLM_LOGGING_STREAM", "ext://sys.stdout")
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(EngineError, match=r"needs the package vllm: pip install 'grounding-rewards\[vllm\]', on a "):
        Vllm(str(tmp_path)).start().__enter__()


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    (tmp_path / "vllm.py").write_text("raise ImportError('libcudart.so.13: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EngineError, match=r"cannot be imported \(ImportError: libcudart.so.13: cannot open"):
        Vllm(str(tmp_path)).start().__enter__()


@pytest.mark.parametrize(("before", "after"), [(None, "ext://sys.stderr"), ("ext://sys.stdout", "ext://sys.stdout")])
def test_the_log_leaves_what_commands_print_alone(
    newest: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None, after: str
) -> None:
    monkeypatch.delenv("VLLM_LOGGING_STREAM")
    if before:
        monkeypatch.setenv("VLLM_LOGGING_STREAM", before)
    with Vllm(str(tmp_path)).start():
        assert os.environ["VLLM_LOGGING_STREAM"] == after


def test_by_name() -> None:
    built = engine("vllm", model="m", more={"enforce_eager": True})
    assert built == Vllm("m", more={"enforce_eager": True})
    assert pickle.loads(pickle.dumps(built)) == built
    with pytest.raises(EngineError, match=r"vllm: Vllm\(more=\): got 7; expected names and their values"):
        engine("vllm", model="m", more=7)


@pytest.mark.parametrize(("used", "method"), [(True, "spawn"), (False, None)])
def test_vllm_starts_by_spawn_where_cuda_is_in_use(
    newest: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: bool, method: str | None
) -> None:
    monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "fork")
    monkeypatch.delenv("VLLM_WORKER_MULTIPROC_METHOD")
    cuda = SimpleNamespace(is_initialized=lambda: used)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    with Vllm(checkpoint(tmp_path)).start():
        assert os.environ.get("VLLM_WORKER_MULTIPROC_METHOD") == method
