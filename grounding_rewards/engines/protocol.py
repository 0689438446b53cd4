"""Protocol of engines: requests in, replies out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from grounding_rewards.converting.prompts import Message
from grounding_rewards.coords.resizing import Resizing, Size
from grounding_rewards.errors import EngineError, RecipeError
from grounding_rewards.verifiers.options import check


@dataclass(frozen=True)
class Sampling:
    """Settings by which a model samples its responses.

    Attributes:
        temperature: 0 for greedy responses.
        top_p: the share of probability that tokens are drawn from, above 0 to 1.
        max_tokens: tokens after which a response is cut.
        stop: texts before which a response ends.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """Prompt, and the responses that are wanted to it.

    Attributes:
        messages: the prompt; ``<image>`` in their texts stands for one image each, in order.
        images: files of images, PNG, JPEG or WebP, in the size in which the model is to see them.
        seeds: one for each response that is wanted.
        sampling: as the model samples them.
        prefill: the beginning of each response, which the model continues; an answer is the rest alone. Engines whose
            ``Running`` has ``continues`` get it.
    """

    messages: tuple[Message, ...]
    images: tuple[bytes, ...]
    seeds: tuple[int, ...]
    sampling: Sampling
    prefill: str = ""


@dataclass(frozen=True)
class Answer:
    """One response.

    Attributes:
        text: the response; None where there is none.
        token_length: its tokens; None where unknown.
        cut: True where it was cut at ``max_tokens``.
        problem: why there is none; "" where there is one.
    """

    text: str | None
    token_length: int | None = None
    cut: bool = False
    problem: str = ""


@dataclass(frozen=True)
class Reply:
    """Answers to a request.

    Attributes:
        answers: one for each seed, in the order of the seeds.
        prompt_tokens: tokens of the prompt, images included; None where unknown.
        image_size: width and height of the last image as the model saw it, where the engine knows; None elsewhere.
    """

    answers: tuple[Answer, ...]
    prompt_tokens: int | None = None
    image_size: Size | None = None


class Running(Protocol):
    """Engine that is ready to answer."""

    @property
    def at_once(self) -> int:
        """Batches of requests that it takes at once, from threads of one process; 1 for one after the other."""

    @property
    def resizing(self) -> Resizing | None:
        """The way of images into its model, where it knows; else the user says it."""

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer a batch of requests, one reply each, in order.

        A request that cannot be answered, such as one that is too long, has answers with a ``problem``.

        Raises:
            EngineError: none can be answered any more, such as by a server that is down.
        """


class Engine(Protocol):
    """Settings of an engine: a frozen dataclass that can be compared and pickled, and holds no model.

    Two that are equal answer alike: what changes no answer, such as an address or a number of connections, is a field
    with ``compare=False``. A run that was killed goes on with an equal engine alone.
    """

    @property
    def model(self) -> str:
        """The model: a name or a folder."""

    def start(self) -> AbstractContextManager[Running]:
        """Load the model, or reach the server; leaving the context frees it.

        Raises:
            EngineError: there is no such model, no server, or a package is missing; names what to do.
        """


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("names and their values")
    return value


Text = Annotated[str, _text]
Fields = Annotated[Mapping[str, Any], _mapping]
"""Options of engines, beside those of ``verifiers.options``."""


def check_options(engine: object) -> None:
    """Check the options of an engine by their annotations."""
    try:
        check(engine)
    except RecipeError as error:
        raise EngineError(str(error)) from None
