"""A server of OpenAI's protocol that attacks its client: the last word of a prompt names the attack."""

from __future__ import annotations

import gzip
import json
import time
from contextlib import AbstractContextManager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.engines.scripted import serving

MIB = 1 << 20


def completion(content: Any, tokens: Any = 6) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": tokens, "completion_tokens": tokens}}).encode()


@cache
def bomb() -> bytes:
    """256 MiB in 1."""
    return gzip.compress(b'{"choices": "' + bytes(256 * MIB), 1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hostile

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.attack(self.server.models)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.prompts.append(text := body["messages"][0]["content"])
        self.attack(self.server.always or text.split()[-1])

    def attack(self, name: str) -> None:
        with suppress(OSError):  # the client has hung up
            getattr(self, name, self.ordinary)()

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def ordinary(self) -> None:
        self.send(json.dumps({"data": [{"id": "tiny"}]}).encode() if self.command == "GET" else completion("(5, 7)"))

    def packed(self) -> None:
        self.send(gzip.compress(completion("(5, 7)")), Content_Encoding="gzip")

    def bomb(self) -> None:
        self.send(bomb(), Content_Encoding="gzip")

    def failing_bomb(self) -> None:
        self.send(bomb(), 400, Content_Encoding="gzip")

    def not_packed(self) -> None:
        self.send(completion("(5, 7)"), Content_Encoding="gzip")

    def strange_coding(self) -> None:
        self.send(completion("(5, 7)"), Content_Encoding="br")

    def long(self) -> None:
        self.send(completion("(5, 7) " + "." * (9 * MIB)))

    def _chunked(self, chunk: bytes, pause: float) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        end = time.monotonic() + 60
        while time.monotonic() < end and not self.server.stopped:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.server.sent += len(chunk)
            time.sleep(pause)

    def endless(self) -> None:
        self._chunked(b'{"id": "m"}, ' * 8192, 0)

    def dripping(self) -> None:
        self._chunked(b" ", 0.05)

    def dripping_headers(self) -> None:
        self.send_response(200)
        self.flush_headers()
        for number in range(1200):
            self.wfile.write(b"X-%d: x\r\n" % number)
            time.sleep(0.05)

    def brackets(self) -> None:
        self.send(b"[" * 100_000)

    def failing_brackets(self) -> None:
        self.send(b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400)

    def count(self) -> None:
        self.send(completion("(5, 7)", 2**64))

    def digits(self) -> None:
        self.send(completion("(5, 7)").replace(b'"prompt_tokens": 6', b'"prompt_tokens": ' + b"9" * 5000))

    def surrogate(self) -> None:
        self.send(completion("(5, 7) \ud800"))

    def list_of_numbers(self) -> None:
        self.send(b'{"data": 5}')

    def elsewhere(self) -> None:
        self.send(b"", 307, Location=f"{self.server.other}{self.path}")

    def moved(self) -> None:
        to = self.path.replace("/v1/", "/v1/here/")
        self.send(b"", 307, Location=to) if to != self.path and "here" not in self.path else self.ordinary()

    def circle(self) -> None:
        self.send(b"", 307, Location=self.path)


class Hostile(ThreadingHTTPServer):
    """The server: ``sent`` counts the bytes of endless bodies, ``models`` is the attack by its list of models.

    ``always`` is the attack by all other replies, "" for that which a prompt names.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, models: str = "ordinary", other: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.models, self.other, self.prompts, self.sent, self.stopped, self.always = (
            models, other, list[str](), 0, False, ""
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have hung up."""


def hostile(models: str = "ordinary", other: str = "") -> AbstractContextManager[Hostile]:
    """Serve until the context is left."""
    return serving(Hostile(models, other))
