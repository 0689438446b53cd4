"""Server of chat completions over HTTP whose replies a test scripts, in a thread."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

MODEL = "tiny"
S = TypeVar("S", bound=ThreadingHTTPServer)


@dataclass(frozen=True)
class Sent:
    """Response of the server: a status, a body (bytes as they are, else as JSON), headers; a status of 0 breaks off.

    A ``chunk`` comes again and again, and each chunk or header after a ``pause``.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    chunk: bytes = b""
    pause: float = 0.0


def completion(*texts: str, finish: str = "stop", prompt_tokens: int | None = 90) -> Sent:
    """A chat completion with a choice for each text."""
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        for index, text in enumerate(texts)
    ]
    return Sent(body={"choices": choices, "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 6}})


class Scripted(ThreadingHTTPServer):
    """Answers chat requests by ``script``, from a request's body; ``models`` is its reply to /v1/models."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, script: Callable[[dict[str, Any]], Sent], models: Sent | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.models = models or Sent(body={"data": [{"id": MODEL}]})
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.targets: list[str] = []
        self.logins: list[str | None] = []
        self.in_flight = self.most_in_flight = 0
        self.sent = 0
        self.lock = threading.Lock()
        self.stopped = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def reply(self, path: str, body: Any) -> Sent:
        """Return the response to a request, whose body is None where it asks for the list of models."""
        return self.models if body is None else self.script(body)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have hung up."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Scripted

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.server.keys.append(self.headers["Authorization"])
        self.answer(self.server.reply(self.path, None))

    def do_POST(self) -> None:
        server = self.server
        if server.stopped:  # on a connection that was kept open
            self.close_connection = True
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.bodies.append(body)
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
        try:
            sent = server.reply(self.path, body)
        finally:
            with server.lock:
                server.in_flight -= 1
        self.answer(sent)

    def answer(self, sent: Sent) -> None:
        self.server.targets.append(self.path)
        self.server.logins.append(self.headers["Proxy-Authorization"])
        if not sent.status:
            self.close_connection = True
            return
        data = sent.body if isinstance(sent.body, bytes) else json.dumps(sent.body).encode()
        self.send_response(sent.status)
        for name, value in {"Content-Type": "application/json", **sent.headers}.items():
            self.send_header(name, value)
            if sent.pause:
                self.flush_headers()
                self.wfile.flush()
                time.sleep(sent.pause)
        if sent.chunk:
            self.stream(sent)
            return
        if "Content-Length" not in sent.headers:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        self.close_connection = "Content-Length" in sent.headers  # which says more than there is

    def stream(self, sent: Sent) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        end, self.close_connection = time.monotonic() + 60, True
        while time.monotonic() < end and not self.server.stopped:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(sent.chunk), sent.chunk))
            self.wfile.flush()
            self.server.sent += len(sent.chunk)
            time.sleep(sent.pause)


@contextmanager
def serving(server: S) -> Iterator[S]:
    """Serve in a thread until the context is left."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.stopped = True
            server.shutdown()
            thread.join()


def scripted(script: Callable[[dict[str, Any]], Sent], models: Sent | None = None) -> AbstractContextManager[Scripted]:
    """Serve until the context is left."""
    return serving(Scripted(script, models))
