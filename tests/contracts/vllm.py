"""A module ``vllm`` made of recorded signatures, with a scripted model: what does not fit them is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.contracts.vllm_source import recorded, signature

PATCH = 16
"""Sides in pixels of what the model sees as a token."""


class Fake:
    """A module ``vllm`` that takes and gives what was recorded; a scripted model answers.

    Args:
        version: a recorded one.
        answer: from a conversation and sampling parameters to the fields of a completion; an exception is raised while
            the request is added, as vLLM raises for a prompt that is too long.
    """

    def __init__(self, version: str, answer: Callable[[list[Any], Any], Mapping[str, Any] | Exception]) -> None:
        self.record = recorded(version)
        self.answer = answer
        self.loaded: list[dict[str, Any]] = []  # arguments of LLM
        self.batches: list[int] = []  # sizes of what ran together
        self.fails: Exception | None = None  # raised by what runs next
        self.ended = 0
        self.EngineDeadError = type("EngineDeadError", (Exception,), {})

    def modules(self) -> dict[str, ModuleType]:
        """Return the modules, by their names in ``sys.modules``."""
        parts = self.record["errors"]["EngineDeadError"].split(".")
        modules = {name: ModuleType(name) for name in (".".join(parts[: end + 1]) for end in range(len(parts)))}
        modules[".".join(parts)].EngineDeadError = self.EngineDeadError
        for name, made in {"LLM": self._llm(), "SamplingParams": self._sampling_params}.items():
            assert name in self.record["exports"].split()
            setattr(modules["vllm"], name, made)
        return modules

    def bound(self, name: str, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        """The arguments of a call by name; what does not fit the recorded signature is a TypeError."""
        return signature(self.record["signatures"][name]).bind(None, *arguments, **keywords).arguments

    def names(self, group: str, name: str) -> set[str]:
        """The names of recorded fields or attributes."""
        return set(self.record[group][name].split())

    def _llm(self) -> type[_Llm]:
        return type("LLM", (_Llm,), {"fake": self})

    def load(self, *arguments: Any, **keywords: Any) -> None:
        """Take the arguments of LLM."""
        asked = self.bound("LLM.__init__", *arguments, **keywords)
        if unknown := set(asked.pop("kwargs", {})) - self.names("fields", "EngineArgs"):
            raise TypeError(f"EngineArgs.__init__() got an unexpected keyword argument {min(unknown)!r}")
        if self.fails:
            raise self.fails
        self.loaded.append(keywords)

    def _sampling_params(self, **keywords: Any) -> Any:
        if unknown := set(keywords) - self.names("fields", "SamplingParams"):
            raise TypeError(f"Unexpected keyword argument {min(unknown)!r}")
        if keywords["temperature"] > 2:
            raise ValueError(f"temperature must be in [0, 2], got {keywords['temperature']}.")
        return SimpleNamespace(**keywords)

    def output(self, prompt: list[int], completion: Mapping[str, Any]) -> Any:
        """A RequestOutput; fields that are not recorded are an error."""
        assert {"prompt_token_ids", "outputs"} <= self.names("attributes", "RequestOutput")
        assert set(completion) <= self.names("fields", "CompletionOutput")
        assert completion["finish_reason"] in self.record["finish_reasons"].split()
        return SimpleNamespace(prompt_token_ids=prompt, outputs=[SimpleNamespace(**completion)])


class _Llm:
    fake: Fake

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self.fake.load(*arguments, **keywords)
        assert {"llm_engine"} <= self.fake.names("attributes", "LLM")
        assert {"engine_core"} <= self.fake.names("attributes", "LLMEngine")
        self.queue: list[Any] = []
        self.llm_engine = SimpleNamespace(engine_core=SimpleNamespace(shutdown=self._shutdown))

    def _shutdown(self, *arguments: Any, **keywords: Any) -> None:
        self.fake.bound("EngineCoreClient.shutdown", *arguments, **keywords)
        self.fake.ended += 1

    def enqueue_chat(self, *arguments: Any, **keywords: Any) -> list[str]:
        call = self.fake.bound("LLM.enqueue_chat", *arguments, **keywords)
        added = list(self._added(call["messages"], call["sampling_params"]))
        self.queue += added
        return [str(number) for number, _ in enumerate(added)]

    def _added(self, conversations: list[Any], params: list[Any]) -> Iterator[Any]:
        for conversation, each in zip(conversations, params, strict=True):
            prompt = list(self._tokens(conversation))
            answer = self.fake.answer(conversation, each)
            if isinstance(answer, Exception):
                raise answer
            yield self.fake.output(prompt, answer)

    def _tokens(self, conversation: list[Any]) -> Iterator[int]:
        """A token for a word, and one for each 16 x 16 pixels of an image."""
        for message in conversation:
            content = message["content"]
            for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                kind = part["type"]
                assert kind in self.fake.record["content_parts"].split()
                size = part[kind].size if kind == "image_pil" else (16 * len(part[kind].split()), 16)
                yield from range(size[0] // 16 * (size[1] // 16))

    def wait_for_completion(self, *arguments: Any, **keywords: Any) -> list[Any]:
        self.fake.bound("LLM.wait_for_completion", *arguments, **keywords)
        if self.fake.fails:
            raise self.fake.fails
        outputs, self.queue = self.queue, []
        self.fake.batches.append(len(outputs))
        return outputs
