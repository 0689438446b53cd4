"""Requests to a server of OpenAI's chat protocol, and what its replies and failures mean."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from grounding_rewards.converting.prompts import Message
from grounding_rewards.engines.chat import chat_messages, read_completion
from grounding_rewards.engines.protocol import Answer, Reply, Request, Sampling
from grounding_rewards.errors import ConvertError, EngineError, printable

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from openai import AsyncOpenAI

    from grounding_rewards.engines.openai import OpenAI

LOG = logging.getLogger("grounding_rewards")
_REFUSED = (400, 413, 415, 422)  # for what the request holds; others may do
_KEY = (401, 403)
_BROKEN = 0  # in place of a status, where no reply came
_STRANGE = 1  # where one came that is no chat completion
_LIST_S = 60.0  # for the list of models
_PAUSE = 0.5  # seconds before a busy server is greeted again, doubled each time up to 8
T = TypeVar("T")


class _Failure(Exception):
    """Request without a reply, after all retries.

    Attributes:
        status: of HTTP; ``_BROKEN`` where nothing came, ``_STRANGE`` where no chat completion came.
        why: the reason, on one line.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why

    @property
    def passes(self) -> bool:
        """True where the same request may be answered another time."""
        return self.status in (_BROKEN, 408, 409, 429) or self.status >= 500

    def __str__(self) -> str:
        return f"{self.status}: {self.why}" if self.status > _STRANGE else self.why


@dataclass(frozen=True)
class _Prompt:
    """Request whose messages are made when its first response is asked for: images in base64 are large."""

    request: Request

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        return chat_messages(self.request.messages, self.request.images)


@dataclass(frozen=True)
class _Part:
    """Answers to one request of HTTP."""

    answers: tuple[Answer, ...]
    prompt_tokens: int | None = None
    failure: _Failure | None = None

    @property
    def passes(self) -> bool:
        """True where the same request may be answered another time."""
        return self.failure is not None and self.failure.passes


_HELLO = Request((Message("user", "Hello"),), (), (0,), Sampling(0.0, 1.0, 1))


class Server:
    """Server that is reached, with its key and its client.

    Its coroutines run in the event loop of ``portal``; batches may be asked for from several threads.
    """

    at_once = 2  # the next batch fills the server while the last requests of this one are answered
    resizing = None  # a server has bounds of its own, and does not say them

    def __init__(self, engine: OpenAI, key: str, client: AsyncOpenAI, portal: BlockingPortal) -> None:
        self._engine, self._key, self._client, self._portal = engine, key, client, portal
        self.control_tokens = engine.control_tokens
        self._free = asyncio.Semaphore(engine.concurrency)
        self._batches: set[asyncio.Future[list[Reply]]] = set()
        self._n_in_one = engine.n_in_one
        self._limit = "max_tokens"

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer a batch of requests."""
        try:
            return self._portal.call(self._batch, requests)
        except CancelledError:  # by ``close``, from another thread
            raise EngineError(f"{self._engine.base_url}: the engine was stopped") from None

    async def check(self) -> None:
        """Raise an EngineError where the server cannot answer for the model."""
        if self._engine.model not in await self._names():
            await self._greet()

    async def close(self) -> None:
        """End the batches in flight, and the connections."""
        for batch in self._batches:
            batch.cancel()
        await self._client.close()

    async def _greet(self) -> None:
        """Ask for one token, and raise an EngineError where none comes."""
        failure = (await self._ask(_Prompt(_HELLO), 0)).failure
        if failure is not None:
            raise await self._listing_error(failure)

    async def _greet_until_answered(self) -> None:
        """Ask a busy server for one token until it comes, and raise an EngineError where it lacks the patience."""
        end, pause = monotonic() + self._engine.patience, _PAUSE
        while (failure := (await self._ask(_Prompt(_HELLO), 0)).failure) is not None:
            if not failure.passes or monotonic() + pause > end:
                raise await self._listing_error(failure)
            await asyncio.sleep(pause)
            pause = min(2 * pause, 8.0)

    async def _batch(self, requests: Sequence[Request]) -> list[Reply]:
        batch = asyncio.ensure_future(self._replies(requests))
        self._batches.add(batch)
        batch.add_done_callback(self._batches.discard)
        return await batch

    async def _replies(self, requests: Sequence[Request]) -> list[Reply]:
        several = await _all(self._parts(request) for request in requests)
        if any(part.passes for each in several for part in each):
            await self._greet_until_answered()
            several = await _all(map(self._again, requests, several))
        failures = [part.failure for each in several for part in each]
        failed = [failure for failure in failures if failure is not None and failure.status not in _REFUSED]
        if failed and (None not in failures or any(failure.passes for failure in failed)):
            await self._greet()  # is it the server, or these requests alone?
        return [_reply(each) for each in several]

    async def _again(self, request: Request, parts: Sequence[_Part]) -> list[_Part]:
        """Ask once more for the answers to a request that may come another time."""
        prompt, made, seeds = _Prompt(request), list[_Part](), list(request.seeds)
        for part in parts:
            own, seeds = seeds[: len(part.answers)], seeds[len(part.answers) :]
            made += await _all(self._ask(prompt, seed) for seed in own) if part.passes else [part]
        return made

    async def _parts(self, request: Request) -> list[_Part]:
        prompt, seeds = _Prompt(request), request.seeds
        parts = []
        if self._n_in_one and len(seeds) > 1 and request.sampling.temperature > 0:
            parts = [await self._ask(prompt, seeds[0], len(seeds))]
            if (failure := parts[0].failure) is not None:
                if failure.passes:
                    return [replace(parts[0], answers=parts[0].answers * len(seeds))]
                parts = [await self._ask(prompt, seeds[0])]
            if parts[0].failure is None and len(parts[0].answers) < len(seeds):
                self._stop_n_in_one()
        seeds = seeds[sum(len(part.answers) for part in parts) :]
        return parts + await _all(self._ask(prompt, seed) for seed in seeds)

    def _stop_n_in_one(self) -> None:
        if self._n_in_one:
            LOG.warning("%s does not take n; responses are asked for one by one", self._engine.base_url)
        self._n_in_one = False

    async def _ask(self, prompt: _Prompt, seed: int, n: int = 1) -> _Part:
        """Send one request, and read n answers or fewer."""
        limit, sampling = self._limit, prompt.request.sampling
        try:
            async with self._free:
                fields: dict[str, Any] = {
                    "model": self._engine.model,
                    "messages": prompt.messages,
                    "temperature": sampling.temperature,
                    "top_p": sampling.top_p,
                    "seed": seed,
                    limit: sampling.max_tokens,
                    **({"n": n} if n > 1 else {}),
                }
                create = self._client.chat.completions.with_raw_response.create
                body = await self._fetch(create(**fields, extra_body=self._engine.extra_body))
        except ConvertError as error:
            return _Part((Answer(None, problem=str(error)),), None, _Failure(_REFUSED[0], str(error)))
        except _Failure as failure:
            if failure.status == 400 and limit == "max_tokens" and "max_completion_tokens" in failure.why:
                self._limit = "max_completion_tokens"  # newer hosted models take this name alone
                return await self._ask(prompt, seed, n)
            return _failed(failure)
        completion = read_completion(_json(body))
        if completion is None:
            return _failed(_Failure(_STRANGE, f"got {self._shown(_text(body))!r}"))
        answers, prompt_tokens = completion
        return _Part(answers[:n], prompt_tokens)

    async def _fetch(self, call: Awaitable[Any], seconds: float | None = None) -> bytes:
        """Return the body of a reply.

        Raises:
            _Failure: there is none.
            EngineError: there is no server.
        """
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        try:
            raw = await call
        except APITimeoutError:
            raise _Failure(_BROKEN, f"none within {seconds or self._engine.timeout:g} s") from None
        except APIConnectionError as error:
            cause = error.__cause__
            why = self._shown(f"{type(cause).__name__}: {cause}")
            if type(cause).__name__ == "ConnectError":  # of httpx or its successor, by the version of openai
                raise EngineError(
                    f"no server answers at {self._engine.base_url} ({why}); start one, such as by `vllm serve MODEL`, "
                    "or name another base_url"
                ) from None
            raise _Failure(_BROKEN, f"the connection broke, {why}") from None
        except APIStatusError as error:
            raise _Failure(error.status_code, self._shown(_reason(error.body))) from None
        content: bytes = raw.content
        if len(content) > (most := self._engine.max_reply_bytes):
            raise _Failure(_STRANGE, f"more than {most:,} bytes; max_reply_bytes of the engine allows more")
        return content

    async def _names(self) -> list[str]:
        """Return the models that the server lists; none where it has no list."""
        try:
            seconds = min(self._engine.timeout, _LIST_S)
            once = self._client.with_options(max_retries=0, timeout=seconds)
            value = _json(await self._fetch(once.models.with_raw_response.list(), seconds))
        except _Failure as failure:
            if failure.status in (_BROKEN, *_KEY):
                raise self._error(failure, self._listed([])) from None
            return []
        listed = value.get("data") if isinstance(value, dict) else None
        ids = [each.get("id") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return [name for name in ids if isinstance(name, str)]

    async def _listing_error(self, failure: _Failure) -> EngineError:
        """Return the error of a server that will answer no other request either, with its models if these matter."""
        names = failure.passes or failure.status in (404, *_REFUSED)
        return self._error(failure, self._listed(await self._names()) if names else "")

    def _error(self, failure: _Failure, listed: str) -> EngineError:
        """Return the error of a server that will answer no other request either."""
        url = self._engine.base_url
        if failure.status == _STRANGE:
            return EngineError(
                f"{url} answers with no chat completion ({failure}); expected the address of a server of OpenAI's "
                "protocol, such as http://localhost:8000/v1"
            )
        if failure.passes or failure.status in _REFUSED:
            return EngineError(f"{url} does not answer for the model {self._engine.model!r} ({failure}){listed}")
        if failure.status in _KEY:
            variable = self._engine.api_key_env
            state = "has another one" if self._key else "is not set"
            return EngineError(f"{url} wants a key ({failure}); the environment variable {variable} {state}")
        if failure.status == 404:
            return EngineError(f"{url} has no model {self._engine.model!r}, or no chat ({failure}){listed}")
        return EngineError(f"{url} does not answer ({failure}); expected a server of OpenAI's protocol")

    def _listed(self, names: list[str]) -> str:
        return (
            f"; it lists {self._shown(', '.join(names))}"
            if names
            else "; name its model, and a base_url that ends in /v1"
        )

    def _shown(self, text: str) -> str:
        """Return a text of the server's on one line, cut, without the key."""
        line = " ".join((text.replace(self._key, "***") if self._key else text).split())
        return printable(line if len(line) <= 300 else f"{line[:299]}…")


async def _all(several: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all, in order; the first error cancels the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in several]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def _failed(failure: _Failure) -> _Part:
    problem = "no reply from the server" if failure.passes else "the server refused the request"
    problem = "no chat completion from the server" if failure.status == _STRANGE else problem
    return _Part((Answer(None, problem=f"{problem} ({failure})"),), None, failure)


def _reply(parts: Sequence[_Part]) -> Reply:
    tokens = [part.prompt_tokens for part in parts if part.prompt_tokens is not None]
    return Reply(tuple(answer for part in parts for answer in part.answers), tokens[0] if tokens else None)


def _reason(body: Any) -> str:
    """Return a server's reason for a failure, in any of the usual forms."""
    if isinstance(body, Mapping):
        body = body.get("message") or body.get("detail") or body
    try:
        return str(body or "it does not say why")
    except RecursionError:
        return "a reason of too many brackets"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _text(body: bytes) -> str:
    return body[:2000].decode(errors="replace")
