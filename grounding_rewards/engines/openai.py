"""Engine of servers that speak OpenAI's chat protocol."""

from __future__ import annotations

import json
import logging
import os
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Semaphore
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from grounding_rewards.converting.prompts import Message, messages_with_images
from grounding_rewards.coords.image_sizes import image_format
from grounding_rewards.engines.protocol import Answer, Fields, Reply, Request, Running, Sampling, Text, check_options
from grounding_rewards.errors import ConvertError, EngineError, printable, short_repr
from grounding_rewards.settings.declared import is_whole
from grounding_rewards.tables.interrupting import thread_of
from grounding_rewards.verifiers.options import Count, Length, Positive, Whole

if TYPE_CHECKING:
    import httpx

LOG = logging.getLogger("grounding_rewards")
_HOSTED = "api.openai.com"
_CONNECT_S = 10.0
_LIST_S = 60.0  # for the list of models
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0  # seconds before a busy server is asked again, doubled each time
_LONGEST_WISH = 60.0  # seconds that a server's Retry-After may ask for
_REDIRECTS = 20
_CHUNK = 1 << 16
_REFUSED = (400, 413, 415, 422)  # for what the request holds; others may do
_KEY = (401, 403)
_ABSENT = -1  # in place of a status, where no server takes a connection
_BROKEN = 0  # where no whole reply came
_STRANGE = 1  # where one came that is no chat completion
_HELLO = Request((Message("user", "Hello"),), (), (0,), Sampling(0.0, 1.0, 1))


@dataclass(frozen=True)
class OpenAI:
    """Server of OpenAI's chat protocol: ``vllm serve``, ``transformers serve``, SGLang, llama.cpp, or a hosted one.

    Each response is asked for by a request of its own, with its own seed: so it can be had again alone, and servers
    with prefix caching read the prompt once. docs/rollouts.md has the options.

    A server that splits off the thinking (``--reasoning-parser``) keeps it from the response, so start it without.

    Raises:
        EngineError: a setting does not fit.

    >>> OpenAI("Qwen/Qwen3-VL-8B-Instruct", base_url="localhost:8000")
    Traceback (most recent call last):
    grounding_rewards.errors.EngineError: base_url: got 'localhost:8000'; expected such as http://localhost:8000/v1
    """

    model: Text
    base_url: str = field(default="http://localhost:8000/v1", compare=False)
    api_key_env: str = field(default="OPENAI_API_KEY", compare=False)
    concurrency: Count = field(default=64, compare=False)
    timeout: Positive = field(default=600.0, compare=False)  # seconds
    retries: Whole = field(default=5, compare=False)
    patience: Length = field(default=60.0, compare=False)  # seconds
    max_reply_bytes: Count = field(default=1 << 22, compare=False)
    n_in_one: bool = False
    control_tokens: bool = field(default=False, compare=False)
    extra_body: Fields = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        url = urlsplit(self.base_url) if isinstance(self.base_url, str) else None
        if url is None or url.scheme not in ("http", "https") or not url.hostname:
            raise EngineError(f"base_url: got {short_repr(self.base_url)}; expected such as http://localhost:8000/v1")
        if url.username or url.password:
            raise EngineError("base_url: has a user or a password; leave them out, and put the key into api_key_env")

    @contextmanager
    def start(self) -> Iterator[Running]:
        """Reach the server, and make sure that it has the model: one that does not list it is asked for one token."""
        server = _Server(self, self._key())
        try:
            server.check()
            yield server
        finally:
            server.close()

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        if not key and urlsplit(self.base_url).hostname == _HOSTED:
            raise EngineError(f"{self.base_url} needs a key; set the environment variable {self.api_key_env}")
        if not (key.isascii() and key.isprintable()):
            raise EngineError(f"the environment variable {self.api_key_env} holds characters that no key has")
        return key


class _Failure(Exception):
    """Request without an answer: its status, HTTP's or one of ours, the reason, and the seconds to wait."""

    def __init__(self, status: int, why: str, pause: float = 0.0) -> None:
        super().__init__(why)
        self.status, self.why, self.pause = status, why, pause

    @property
    def passes(self) -> bool:
        """True where the same request may be answered another time."""
        return self.status in (_ABSENT, _BROKEN, 408, 409, 429) or self.status >= 500

    def __str__(self) -> str:
        return f"{self.status}: {self.why}" if self.status > _STRANGE else self.why


@dataclass(frozen=True)
class _Part:
    """One answer, with the tokens of its prompt, or the failure in its place."""

    answer: Answer
    prompt_tokens: int | None = None
    failure: _Failure | None = None

    @property
    def passes(self) -> bool:
        """True where the same request may be answered another time."""
        return self.failure is not None and self.failure.passes


class _Server:
    """Server that is reached. Batches may be asked for from several threads."""

    continues = True
    at_once = 2  # the next batch fills the server while the last requests of this one are answered
    resizing = None  # a server has bounds of its own, and does not say them

    def __init__(self, engine: OpenAI, key: str) -> None:
        self._engine, self._key = engine, key
        self.control_tokens = engine.control_tokens
        self._free, self._stopped = Semaphore(engine.concurrency), Future[None]()
        self._n_in_one, self._limit = engine.n_in_one, "max_tokens"
        self._client = _client(key, engine.timeout)

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer a batch of requests."""
        made, in_one = [list[_Part]() for _ in requests], list[int]()
        if self._n_in_one:
            in_one = [i for i, each in enumerate(requests) if len(each.seeds) > 1 and each.sampling.temperature > 0]
            asks = [(requests[i], requests[i].seeds[0], len(requests[i].seeds)) for i in in_one]
            for i, (_, _, n), came in zip(in_one, asks, self._all(asks), strict=True):
                made[i] = came if came[0].failure is None else came * n if came[0].passes else []
        lacking = [i for i in in_one if len(made[i]) < len(requests[i].seeds)]
        alone = [(i, seed) for i, request in enumerate(requests) for seed in request.seeds[len(made[i]) :]]
        for (i, _), came in zip(alone, self._all((requests[i], seed, 1) for i, seed in alone), strict=True):
            made[i] += came
        if self._n_in_one and any(made[i][0].failure is None for i in lacking):
            LOG.warning("%s does not take n; responses are asked for one by one", self._engine.base_url)
            self._n_in_one = False
        if busy := [(i, j) for i, parts in enumerate(made) for j, part in enumerate(parts) if part.passes]:
            self._greet(patience=self._engine.patience)
            again = self._all((requests[i], requests[i].seeds[j], 1) for i, j in busy)
            for (i, j), (part,) in zip(busy, again, strict=True):
                made[i][j] = part
        failures = [part.failure for parts in made for part in parts]
        failed = [failure for failure in failures if failure is not None and failure.status not in _REFUSED]
        if failed and (None not in failures or any(failure.passes for failure in failed)):
            self._greet()  # is it the server, or these requests alone?
        return [_reply(parts) for parts in made]

    def check(self) -> None:
        """Raise an EngineError where the server cannot answer for the model."""
        if self._engine.model not in self._names():
            self._greet()

    def close(self) -> None:
        """End the requests in flight."""
        self._stopped.set_result(None)
        self._client.close()

    def _greet(self, patience: float = 0.0) -> None:
        """Ask for one token, of a busy server again and again, and raise an EngineError where none comes."""
        end, pause = monotonic() + patience, _FIRST_PAUSE
        while (failure := self._ask(_HELLO, 0)[0].failure) is not None:
            if not failure.passes or monotonic() + pause > end:
                names = failure.passes or failure.status in (404, *_REFUSED)
                raise self._error(failure, self._listed(self._names()) if names else "")
            self._wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _all(self, asks: Iterable[tuple[Request, int, int]]) -> list[list[_Part]]:
        """Send requests, each by a thread, and return the answers to each; an error of one ends them all."""
        futures, errors = list[Future[list[_Part]]](), list[BaseException]()

        def asked(request: Request, seed: int, n: int) -> list[_Part]:
            try:
                return self._ask(request, seed, n)
            except BaseException as error:
                errors.append(error)
                raise
            finally:
                self._free.release()

        for ask in asks:
            self._free.acquire()
            if errors:
                self._free.release()
                break
            futures.append(Future())
            thread_of(futures[-1], asked, *ask).start()  # which Ctrl-C need not wait for
        wait(futures, return_when=FIRST_EXCEPTION)
        if errors:
            raise errors[0]
        return [future.result() for future in futures]

    def _ask(self, request: Request, seed: int, n: int = 1) -> list[_Part]:
        """Send one request, and read n answers or fewer; where it fails, one part that says so."""
        limit, sampling = self._limit, request.sampling
        try:
            fields = {
                "model": self._engine.model,
                "messages": chat_messages(request.messages, request.images, request.prefill),
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "seed": seed,
                limit: sampling.max_tokens,
                **({"n": n} if n > 1 else {}),
                **({"stop": [*sampling.stop]} if sampling.stop else {}),
                **({"continue_final_message": True, "add_generation_prompt": False} if request.prefill else {}),
                **self._engine.extra_body,
            }
            body = self._fetch("chat/completions", fields, self._engine.timeout, self._engine.retries)
        except ConvertError as error:
            return [_Part(Answer(None, problem=str(error)), failure=_Failure(_REFUSED[0], str(error)))]
        except _Failure as failure:
            if failure.status == 400 and limit == "max_tokens" and "max_completion_tokens" in failure.why:
                self._limit = "max_completion_tokens"  # newer hosted models take this name alone
                return self._ask(request, seed, n)
            return [_failed(failure)]
        completion = read_completion(_json(body))
        if completion is None:
            return [_failed(_Failure(_STRANGE, f"got {self._shown(_text(body))!r}"))]
        answers, prompt_tokens = completion
        return [_Part(answer, prompt_tokens) for answer in answers[:n]]

    def _fetch(self, path: str, fields: Mapping[str, Any] | None, seconds: float, retries: int) -> bytes:
        """Return the body of a reply."""
        url, tries = f"{self._engine.base_url.rstrip('/')}/{path}", 0
        data = None if fields is None else json.dumps(fields).encode()
        while True:
            try:
                return self._exchange(url, data, seconds)
            except _Failure as failure:
                if failure.passes and tries < retries:
                    self._wait(failure.pause or min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE))
                    tries += 1
                    continue
                if failure.status != _ABSENT:
                    raise
                raise EngineError(
                    f"no server answers at {self._engine.base_url} ({failure.why}); start one, such as by `vllm serve "
                    "MODEL`, or name another base_url"
                ) from None

    def _exchange(self, url: str, data: bytes | None, seconds: float) -> bytes:
        """Send one request, and return the body of its reply, which is whole within the seconds."""
        import httpx

        self._wait(0)
        request = self._client.build_request("GET" if data is None else "POST", url, content=data)
        future = Future[tuple[httpx.Response, bytes]]()
        # A thread of its own, which nobody waits for longer: the client's time-outs are of one reading each.
        thread_of(future, self._sent, request).start()
        first: list[Future[Any]] = [future, self._stopped]
        wait(first, seconds, FIRST_COMPLETED)
        try:
            response, body = future.result(0)
        except (TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout):
            self._wait(0)
            raise _Failure(_BROKEN, f"none within {seconds:g} s") from None
        except (httpx.HTTPError, ValueError, zlib.error) as error:
            self._wait(0)
            why = self._shown(f"{type(error).__name__}: {error}")
            if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                raise _Failure(_ABSENT, why) from None
            raise _Failure(_BROKEN, f"the connection broke, {why}") from None
        if response.next_request is not None:
            to = response.next_request.url
            raise _Failure(response.status_code, f"redirects to {_origin(to)}, another server, which is sent nothing")
        if response.status_code >= 300:
            raise _Failure(response.status_code, self._shown(_reason(body)), _wished(response))
        if len(body) > self._engine.max_reply_bytes:
            most = self._engine.max_reply_bytes
            raise _Failure(_STRANGE, f"more than {most:,} bytes; max_reply_bytes of the engine allows more")
        return body

    def _sent(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """Send a request, to the same server again where that redirects it, and return the reply and its body."""
        import httpx

        for _ in range(_REDIRECTS):
            with closing(self._client.send(request, stream=True)) as response:
                body, again = _body(response, self._engine.max_reply_bytes), response.next_request
            if again is None or _origin(again.url) != _origin(request.url):
                return response, body
            request = again
        raise httpx.TooManyRedirects(f"more than {_REDIRECTS} redirects", request=request)

    def _wait(self, seconds: float) -> None:
        """Wait, and raise an EngineError where the engine is stopped."""
        if wait([self._stopped], seconds).done:
            raise EngineError(f"{self._engine.base_url}: the engine was stopped")

    def _names(self) -> list[str]:
        """Return the models that the server lists; none where it has no list."""
        try:
            seconds = min(self._engine.timeout, _LIST_S)
            value = _json(self._fetch("models", None, seconds, 0))
        except _Failure as failure:
            if failure.status in (_BROKEN, *_KEY):
                raise self._error(failure, self._listed([])) from None
            return []
        listed = value.get("data") if isinstance(value, dict) else None
        ids = [each.get("id") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return [name for name in ids if isinstance(name, str)]

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
        if not names:
            return "; name its model, and a base_url that ends in /v1"
        return f"; it lists {self._shown(', '.join(names))}"

    def _shown(self, text: str) -> str:
        """Return a text of the server's on one line, cut, without the key."""
        line = " ".join((text.replace(self._key, "***") if self._key else text).split())
        return printable(line if len(line) <= 300 else f"{line[:299]}…")


def _client(key: str, seconds: float) -> httpx.Client:
    """Return a client, which sends through the proxies that the environment names."""
    try:
        import httpx
    except ImportError as error:
        message = "the engine openai needs the package httpx: pip install 'grounding-rewards[openai]'"
        raise EngineError(message) from error
    headers = {
        "Authorization": f"Bearer {key or 'EMPTY'}",
        "Accept": "application/json",
        "Accept-Encoding": "gzip, deflate",
        "Content-Type": "application/json",
        "User-Agent": "grounding-rewards",
    }
    timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_S), pool=None)
    return httpx.Client(headers=headers, timeout=timeout, limits=httpx.Limits(max_connections=None))


def _body(response: httpx.Response, most: int) -> bytes:
    """Read a body, unpacked, up to one byte above the most."""
    coding, body = response.headers.get("Content-Encoding", "identity").strip().lower(), bytearray()
    if coding not in ("identity", "", "gzip", "deflate"):
        raise ValueError(f"Content-Encoding is {coding!r:.40}; expected gzip or deflate")
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress if coding in ("gzip", "deflate") else None
    for chunk in response.iter_raw(_CHUNK):  # httpx itself would unpack a chunk whole
        body += inflate(chunk, most + 1 - len(body)) if inflate else chunk[: most + 1 - len(body)]
        if len(body) > most:
            break
    return bytes(body)


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.host}:{url.port or {'http': 80, 'https': 443}.get(url.scheme)}"


def _wished(response: httpx.Response) -> float:
    """Return the seconds of ``Retry-After``; 0 where it has none, or too many."""
    with suppress(ValueError):
        seconds = float(response.headers.get("Retry-After", "0"))
        return seconds if 0 < seconds <= _LONGEST_WISH else 0.0
    return 0.0


def _failed(failure: _Failure) -> _Part:
    problem = "no reply from the server" if failure.passes else "the server refused the request"
    problem = "no chat completion from the server" if failure.status == _STRANGE else problem
    return _Part(Answer(None, problem=f"{problem} ({failure})"), failure=failure)


def _reply(parts: Sequence[_Part]) -> Reply:
    tokens = [part.prompt_tokens for part in parts if part.prompt_tokens is not None]
    return Reply(tuple(part.answer for part in parts), tokens[0] if tokens else None)


def _reason(body: bytes) -> str:
    """Return a server's reason for a failure, in any of the usual forms."""
    value = _json(body)
    for name in ("error", "message", "detail"):
        value = (isinstance(value, Mapping) and value.get(name)) or value
    text = "" if value == {} else _text(body).strip()
    return value if isinstance(value, str) else text or "it does not say why"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _text(body: bytes) -> str:
    return body[:2000].decode(errors="replace")


def chat_messages(messages: Sequence[Message], images: Sequence[bytes], prefill: str = "") -> list[dict[str, Any]]:
    """Return a prompt as messages of the protocol, with images as data URLs, and the beginning of its answer."""
    for text in (message.text for message in messages):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            place = f"half a surrogate pair at character {error.start}"
            raise ConvertError(f"the prompt has {place}: {text!r:.80}") from None
    parts = list[dict[str, Any]]()
    for number, data in enumerate(images, 1):
        if (kind := image_format(data)) is None:
            came = f"{len(data)} bytes {data[:16]!r}"
            raise ConvertError(f"image {number}: got {came}; expected a PNG, JPEG or WebP file")
        url = f"data:image/{kind.lower()};base64,{b64encode(data).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    begun = [{"role": "assistant", "content": prefill}] if prefill else []
    return [*messages_with_images(messages, parts), *begun]


def read_completion(value: Any) -> tuple[tuple[Answer, ...], int | None] | None:
    """Read the answers of a chat completion, and the tokens of its prompt; None where it is no chat completion."""
    choices = _field(value, "choices")
    if not isinstance(choices, list) or not choices:
        return None
    usage = _field(value, "usage")
    tokens = _whole(_field(usage, "completion_tokens")) if len(choices) == 1 else None
    if all(isinstance(_field(choice, "index"), int) for choice in choices):
        choices = sorted(choices, key=lambda choice: choice["index"])
    answers = tuple(answer for choice in choices if (answer := _answer(choice, tokens)) is not None)
    return (answers, _whole(_field(usage, "prompt_tokens"))) if len(answers) == len(choices) else None


def _answer(choice: Any, tokens: int | None) -> Answer | None:
    message, reason = _field(choice, "message"), _field(choice, "finish_reason")
    content = _field(message, "content")
    if isinstance(content, list):
        content = "".join(text for part in content if isinstance(text := _field(part, "text"), str))
    text = content or _field(message, "refusal") or ""
    if not isinstance(message, Mapping) or not isinstance(text, str):
        return None
    if reason == "content_filter" and not text:
        return Answer(None, problem="the server kept the response back (content_filter)")
    return Answer(text, tokens, cut=reason == "length")


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _whole(value: Any) -> int | None:
    return value if is_whole(value, 0) else None
