"""vLLM in this process, without a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

from grounding_rewards.converting.prompts import messages_with_images
from grounding_rewards.coords.resizing import Resizing, resizing_by
from grounding_rewards.engines.ending import ended_with_us
from grounding_rewards.engines.protocol import Answer, Fields, Reply, Request, Running, check_options
from grounding_rewards.errors import EngineError, in_one_line
from grounding_rewards.verifiers.options import Count, Part

_SEEDS = 2**63


@dataclass(frozen=True)
class Vllm:
    """Run a model by vLLM's offline engine, ``vllm.LLM``, on this machine's GPUs.

    Every response is a request with a seed of its own: with ``n`` in one request vLLM would seed response i by the
    first seed + i. The prompt is still computed once, because vLLM keeps prefixes and encoded images. Other requests
    in a batch change the last bits of logits, and so, now and then, a token; the environment variable
    ``VLLM_BATCH_INVARIANT=1`` avoids that, more slowly. docs/rollouts.md has the options.

    Raises:
        EngineError: ``more`` is no mapping, or has what a field sets.

    >>> Vllm("Qwen/Qwen3-VL-8B-Instruct", more={"dtype": "half"})
    Traceback (most recent call last):
    grounding_rewards.errors.EngineError: more: has dtype, which is an option of its own; expected further arguments \
of vllm.LLM
    """

    model: str
    max_model_len: Count | None = None
    tensor_parallel_size: Count = field(default=1, compare=False)
    gpu_memory_utilization: Part | None = field(default=None, compare=False)
    dtype: str = "auto"
    min_pixels: int | None = None
    max_pixels: int | None = None
    control_tokens: bool = field(default=False, compare=False)
    more: Fields = field(default_factory=dict)

    @property
    def gpus(self) -> int:
        """The number of GPUs that a worker of a cluster gets for it, where there are any."""
        return self.tensor_parallel_size

    def __post_init__(self) -> None:
        check_options(self)
        if own := sorted(set(self.more) & set(self.__dataclass_fields__)):
            raise EngineError(
                f"more: has {', '.join(own)}, which is an option of its own; expected further arguments of vllm.LLM"
            )

    @contextmanager
    def start(self) -> Iterator[Running]:
        """Load the model onto the GPU; leaving the context ends vLLM's processes."""
        with ended_with_us():
            resizing, llm = self._load()
            try:
                running = _Running(self.model, llm, resizing)
                running.control_tokens = self.control_tokens
                yield running
            finally:
                llm.llm_engine.engine_core.shutdown()

    def _load(self) -> tuple[Resizing | None, Any]:
        # its log would mix with what a command prints
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():  # a fork cannot use CUDA after that
            os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
        try:
            from vllm import LLM
        except ModuleNotFoundError as error:
            raise EngineError(
                f"the engine vllm needs the package {error.name}: pip install 'grounding-rewards[vllm]', on a machine "
                "with a GPU"
            ) from error
        except Exception as error:
            raise EngineError(
                f"vllm is installed and cannot be imported ({in_one_line(error, named=True)}); see its guide"
            ) from error
        if not hasattr(LLM, "enqueue_chat"):
            raise EngineError("the engine vllm needs vllm 0.24 or newer: pip install -U 'grounding-rewards[vllm]'")
        resizing = self._resizing()
        try:
            return resizing, LLM(**self._arguments(resizing))
        except Exception as error:
            why = in_one_line(error, named=True)
            raise EngineError(
                f"vllm cannot load {self.model} ({why}); its log above has the cause. Where memory is short, lower "
                "max_model_len, or raise tensor_parallel_size; where another process has some of it, lower "
                "gpu_memory_utilization"
            ) from error

    def _arguments(self, resizing: Resizing | None) -> dict[str, Any]:
        """Return the arguments of ``vllm.LLM``."""
        asked = {"max_model_len": self.max_model_len, "gpu_memory_utilization": self.gpu_memory_utilization}
        arguments: dict[str, Any] = {
            "generation_config": "vllm",
            "limit_mm_per_prompt": {"video": 0},  # else memory is set aside for videos
            **self.more,
            "model": self.model,
            "tensor_parallel_size": self.tensor_parallel_size,
            "dtype": self.dtype,
            **{name: value for name, value in asked.items() if value is not None},
        }
        if resizing and (self.min_pixels or self.max_pixels):
            # both edges: of one alone, some versions of transformers take no notice
            edges = {"shortest_edge": resizing.min_pixels, "longest_edge": resizing.max_pixels}
            arguments["mm_processor_kwargs"] = {"size": edges}
        return arguments

    def _resizing(self) -> Resizing | None:
        """Return the resizing of the checkpoint's image processor; None where it is unknown."""
        resizing = None
        if "mm_processor_kwargs" not in self.more:
            with suppress(OSError):  # a text model has none
                from transformers.image_processing_base import ImageProcessingMixin as Processor

                settings = Processor.get_image_processor_dict(self.model, revision=self.more.get("revision"))[0]
                resizing = resizing_by(settings)
        if resizing:
            return replace(
                resizing,
                min_pixels=self.min_pixels or resizing.min_pixels,
                max_pixels=self.max_pixels or resizing.max_pixels,
            )
        if self.min_pixels or self.max_pixels:
            raise EngineError(
                f"min_pixels, max_pixels: the image processor of {self.model} is none of Qwen's, or more sets it; "
                'give its own settings by more, such as {"mm_processor_kwargs": {...}}, and leave these out'
            )
        return None


class _Running:
    """Loaded model."""

    at_once = 1  # vllm.LLM is for one thread
    continues = True
    control_tokens = False

    def __init__(self, model: str, llm: Any, resizing: Resizing | None) -> None:
        self.model, self.llm, self.resizing = model, llm, resizing

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer a batch of requests, one reply each, in order."""
        problems = [self._queue(request) for request in requests]
        asked = sum(len(request.seeds) for request, problem in zip(requests, problems, strict=True) if not problem)
        outputs = iter(self._completed(asked) if asked else ())
        return [
            Reply(tuple(Answer(None, problem=problem) for _ in request.seeds))
            if problem
            else _reply([next(outputs) for _ in request.seeds])
            for request, problem in zip(requests, problems, strict=True)
        ]

    def _queue(self, request: Request) -> str:
        """Add a request to vLLM's queue, all of its responses or none; return why it cannot be answered, or ""."""
        from vllm import SamplingParams
        from vllm.v1.engine.exceptions import EngineDeadError

        if outside := [seed for seed in request.seeds if not 0 <= seed < _SEEDS]:
            return f"seed: got {outside[0]}; vLLM takes 0 to 2**63 - 1"
        asked = {key: getattr(request.sampling, key) for key in ("temperature", "top_p", "max_tokens")}
        asked |= {"stop": [*request.sampling.stop]} if request.sampling.stop else {}
        begun = {"add_generation_prompt": False, "continue_final_message": True} if request.prefill else {}
        try:
            conversation = _conversation(request)
            params = [SamplingParams(n=1, seed=seed, **asked) for seed in request.seeds]
            # chat() would queue all requests in one call, and drop them all for one that is too long
            self.llm.enqueue_chat([conversation] * len(params), params, use_tqdm=False, **begun)
        except EngineDeadError as error:
            raise self._died(error) from error
        except Exception as error:
            if type(error).__name__ == "ChatTemplateResolutionError":  # of a module that differs by version
                raise EngineError(
                    f"{self.model} has no chat template; save one with its tokenizer, or name a file of one by "
                    'more, such as {"chat_template": "template.jinja"}'
                ) from error
            return in_one_line(error, named=True)
        return ""

    def _completed(self, asked: int) -> list[Any]:
        """Return the outputs of all queued requests, in the order in which they were queued."""
        try:
            outputs: list[Any] = self.llm.wait_for_completion(use_tqdm=False)
        except Exception as error:
            raise self._died(error) from error
        if len(outputs) != asked:
            raise EngineError(f"vllm gave {len(outputs)} responses to {asked} requests of {self.model}")
        return outputs

    def _died(self, error: Exception) -> EngineError:
        why = in_one_line(error, named=True)
        return EngineError(
            f"vllm ended while it ran {self.model} ({why}); its log above has the cause. Where memory was short, lower "
            "gpu_memory_utilization, max_model_len or max_pixels"
        )


def _conversation(request: Request) -> list[dict[str, Any]]:
    """Return the messages of a request as vLLM reads them, with the images in place of ``<image>``."""
    from PIL import Image

    # as pixels: a data URL would be decoded again for each response
    images = [Image.open(BytesIO(file)).convert("RGB") for file in request.images]
    # vLLM changes the tool calls that it gets
    messages = [replace(message, further=deepcopy(dict(message.further))) for message in request.messages]
    talk = messages_with_images(messages, [{"type": "image_pil", "image_pil": image} for image in images])
    return [*talk, {"role": "assistant", "content": request.prefill}] if request.prefill else talk


def _reply(outputs: Sequence[Any]) -> Reply:
    """Return the reply of one request from the outputs of its responses."""
    tokens = [len(output.prompt_token_ids) for output in outputs]
    return Reply(tuple(_answer(output.outputs[0]) for output in outputs), tokens[0] if tokens else None)


def _answer(completion: Any) -> Answer:
    if completion.finish_reason in ("abort", "error"):
        return Answer(None, problem=f"vLLM gave it up (finish_reason {completion.finish_reason})")
    return Answer(completion.text, len(completion.token_ids), completion.finish_reason == "length")
