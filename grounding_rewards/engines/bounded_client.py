"""HTTP client whose replies are bounded in bytes and in time, and come from the server that was asked."""

from __future__ import annotations

import asyncio
import zlib
from importlib import import_module
from typing import Any

_DECODED = "gzip, deflate"


def bounded_client(most: int) -> Any:
    """Return a client for ``AsyncOpenAI`` that reads a reply whole, within the timeout of its request.

    Of a body longer than ``most`` bytes, decoded, it reads one byte more and hangs up. A redirect to another scheme,
    host or port is not followed: its reply says so, and the prompt is sent nowhere else.
    """
    from openai import DefaultAsyncHttpxClient

    class Bounded(DefaultAsyncHttpxClient):
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            seconds = request.extensions["timeout"]["read"]
            try:
                async with asyncio.timeout(seconds):
                    for _ in range(self.max_redirects):
                        response, body = await self._whole(request, options)
                        following = response.next_request
                        if following is None or _origin(following.url) != _origin(request.url):
                            return _reply(response, body, request)
                        request = following
            except TimeoutError:
                raise _library(request).ReadTimeout(f"none within {seconds:g} s", request=request) from None
            raise _library(request).TooManyRedirects(f"more than {self.max_redirects} redirects", request=request)

        async def _whole(self, request: Any, options: dict[str, Any]) -> tuple[Any, bytes]:
            request.headers["Accept-Encoding"] = _DECODED
            response = await super().send(request, stream=True, **{**options, "follow_redirects": False})
            try:
                return response, await _body(response, most)
            except (zlib.error, ValueError) as error:
                raise _library(request).DecodingError(str(error), request=request) from None
            finally:
                await response.aclose()

    return Bounded()


async def _body(response: Any, most: int) -> bytes:
    """Read a body, decoded, up to one byte above the most.

    Raises:
        ValueError: it has an encoding that was not asked for.
    """
    coding, body = response.headers.get("Content-Encoding", "identity").strip().lower(), bytearray()
    if coding not in ("identity", "", "gzip", "deflate"):
        raise ValueError(f"Content-Encoding is {coding!r:.40}; expected one of {_DECODED}")
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress if coding in ("gzip", "deflate") else None
    async for chunk in response.aiter_raw():
        body += inflate(chunk, most + 1 - len(body)) if inflate else chunk[: most + 1 - len(body)]
        if len(body) > most:
            break
    return bytes(body)


def _reply(response: Any, body: bytes, request: Any) -> Any:
    """Return a reply that is read; one that leads to another origin has that as its body."""
    if (following := response.next_request) is not None:
        body = f"redirects to {_origin(following.url)}, another server, which is sent nothing".encode()
    dropped = ("content-encoding", "content-length", "transfer-encoding", "location")
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in dropped]
    return type(response)(response.status_code, headers=headers, content=body, request=request)


def _origin(url: Any) -> str:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return f"{url.scheme}://{url.host}:{port}"


def _library(request: Any) -> Any:
    """Return the library of the client, httpx or its successor, by the version of openai."""
    return import_module(type(request).__module__.partition(".")[0])
