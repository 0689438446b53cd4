"""Engine of servers that speak OpenAI's chat protocol, through the official client."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from grounding_rewards.engines.bounded_client import bounded_client
from grounding_rewards.engines.openai_server import Server
from grounding_rewards.engines.protocol import Running
from grounding_rewards.errors import EngineError, short_repr

_HOSTED = "api.openai.com"
_CONNECT_S = 10.0


@dataclass(frozen=True)
class OpenAI:
    """Server of OpenAI's chat protocol: ``vllm serve``, ``transformers serve``, SGLang, llama.cpp, or a hosted one.

    Each response is asked for by a request of its own, with its own seed: so it can be had again alone, however the
    rollouts were divided among runs, and servers with prefix caching read the prompt once. ``n_in_one`` sends an image
    once for all responses to it instead, with the seed of the first.

    A server adds settings of its own where a request names none: ``vllm serve`` and ``transformers serve`` take
    ``top_k`` and ``repetition_penalty`` from the checkpoint's generation_config.json, and the latter is greedy unless
    ``do_sample`` stands there. A server that splits off the thinking (``--reasoning-parser``) keeps it from the
    response, so start it without.

    Args:
        model: the model's name at the server.
        base_url: where the server answers, such as ``http://localhost:8000/v1``.
        api_key_env: the environment variable that holds the server's key; servers without keys need none.
        concurrency: requests in flight at once.
        timeout: seconds until a request without a whole reply is given up, and sent again.
        retries: times that a request is sent again after 429, 5xx, a time-out or a broken connection, later each time
            (0.5 s to 8 s, or as the server's ``Retry-After`` says).
        patience: seconds to wait, after all retries, until the server answers a greeting; then those requests are sent
            once more. A request that fails again, while greetings are answered, is a problem of its row; a server that
            answers none ends the run, which writes no rows of the requests in flight.
        max_reply_bytes: bytes of a reply, unpacked; a longer one is a problem of its row. Memory may hold so many for
            each response of the shards in flight.
        n_in_one: True for all responses to a prompt in one request, where it is no greedy one. Where a server ignores
            ``n`` or refuses it, the rest is asked for one by one.
        control_tokens: True to send prompts with control tokens of models, such as ``<|im_end|>``, without a warning.
        extra_body: further fields of each request, such as ``{"top_k": -1, "repetition_penalty": 1.0}`` for vLLM.

    Raises:
        EngineError: a setting does not fit.

    >>> OpenAI("Qwen/Qwen3-VL-8B-Instruct", base_url="localhost:8000")
    Traceback (most recent call last):
    grounding_rewards.errors.EngineError: base_url: got 'localhost:8000'; expected such as http://localhost:8000/v1
    """

    model: str
    base_url: str = field(default="http://localhost:8000/v1", compare=False)
    api_key_env: str = field(default="OPENAI_API_KEY", compare=False)
    concurrency: int = field(default=64, compare=False)
    timeout: float = field(default=600.0, compare=False)
    retries: int = field(default=5, compare=False)
    patience: float = field(default=60.0, compare=False)
    max_reply_bytes: int = field(default=1 << 22, compare=False)
    n_in_one: bool = False
    control_tokens: bool = field(default=False, compare=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url) if isinstance(self.base_url, str) else None
        if url is None or url.scheme not in ("http", "https") or not url.hostname:
            raise EngineError(f"base_url: got {short_repr(self.base_url)}; expected such as http://localhost:8000/v1")
        if url.username or url.password:
            raise EngineError("base_url: has a user or a password; leave them out, and put the key into api_key_env")
        for name, fits, expected in (
            ("model", isinstance(self.model, str) and self.model.strip(), "the model's name at the server"),
            ("concurrency", _is_whole(self.concurrency, 1), "a whole number from 1"),
            ("max_reply_bytes", _is_whole(self.max_reply_bytes, 1), "a whole number from 1"),
            ("retries", _is_whole(self.retries, 0), "a whole number from 0"),
            ("timeout", isinstance(self.timeout, int | float) and self.timeout > 0, "seconds above 0"),
            ("patience", isinstance(self.patience, int | float) and self.patience >= 0, "seconds from 0"),
            ("control_tokens", isinstance(self.control_tokens, bool), "true or false"),
            ("extra_body", isinstance(self.extra_body, Mapping), "fields of a request"),
        ):
            if not fits:
                raise EngineError(f"{name}: got {short_repr(getattr(self, name))}; expected {expected}")

    @contextmanager
    def start(self) -> Iterator[Running]:
        """Reach the server, and make sure that it has the model.

        A server that does not list the model, as not all do, is asked for one token.

        Raises:
            EngineError: no server answers, it speaks another protocol, wants another key or has no such model; or the
                package ``openai`` is missing.
        """
        try:
            from anyio.from_thread import start_blocking_portal
            from openai import AsyncOpenAI, Timeout
        except ImportError as error:
            raise EngineError("the engine openai needs: pip install 'grounding-rewards[openai]'") from error
        timeout = Timeout(self.timeout, connect=min(self.timeout, _CONNECT_S))
        key = self._key()
        # One event loop in a thread of its own: batches from several threads share its connections.
        with start_blocking_portal(name="openai") as portal:
            client = AsyncOpenAI(
                api_key=key or "EMPTY", base_url=self.base_url, timeout=timeout, max_retries=self.retries,
                http_client=bounded_client(self.max_reply_bytes),
            )  # fmt: skip
            server = Server(self, key, client, portal)
            try:
                portal.call(server.check)
                yield server
            finally:
                portal.call(server.close)

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "")
        if not key and urlsplit(self.base_url).hostname == _HOSTED:
            raise EngineError(f"{self.base_url} needs a key; set the environment variable {self.api_key_env}")
        return key


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
