"""A server of one page to this machine alone."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.viewer.page import page, shown

Answer = Callable[[Mapping[str, str]], Any]
"""A function of the names and values of a question that returns plain values."""

_HEADERS = {
    "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}  # fmt: skip


def serve(data: Mapping[str, Any], answers: Mapping[str, Answer], ready: Callable[[str], None]) -> None:
    """Serve a page until Ctrl-C, on a free port of 127.0.0.1 and below a random token.

    Who does not know the token gets nothing, and so does who asks by another host's name, as a page on the network
    could after its name was pointed here. ``ready`` takes the address once it answers.
    """
    token = secrets.token_urlsafe(24)
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.hosts = {f"{name}:{server.server_port}" for name in ("127.0.0.1", "localhost")}
        server.token, server.answers, server.page = token, answers, page(data, asking=True)
        ready(f"http://127.0.0.1:{server.server_port}/{token}/")
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:  # the way to end it
            return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hosts: set[str]
    token: str
    answers: Mapping[str, Answer]
    page: str


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer a question, or refuse it."""
        address = urlsplit(self.path)
        token, _, name = address.path.removeprefix("/").partition("/")
        known = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not known or self.headers.get("Host") not in self.server.hosts:
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "")
        elif not name:
            self._send(HTTPStatus.OK, "text/html", self.server.page)
        elif name not in self.server.answers:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "")
        else:
            try:
                answer = self.server.answers[name](dict(parse_qsl(address.query, keep_blank_values=True)))
                self._send(HTTPStatus.OK, "application/json", json.dumps(shown(answer), allow_nan=False))
            except (GroundingRewardsError, KeyError, ValueError) as error:
                self._send(HTTPStatus.BAD_REQUEST, "application/json", json.dumps({"error": shown(str(error))}))

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode("utf-8")
        self.send_response(status)
        for header, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            **_HEADERS,
        }.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing: addresses hold the token."""
