"""A server of OpenAI's protocol that attacks its client: the last word of a prompt names the attack."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from tests.engines.scripted import Scripted, Sent, serving

MIB = 1 << 20
GZIP = {"Content-Encoding": "gzip"}


def completion(content: Any, tokens: Any = 6) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": tokens, "completion_tokens": tokens}}).encode()


@cache
def bomb() -> bytes:
    """256 MiB in 1."""
    return gzip.compress(b'{"choices": "' + bytes(256 * MIB), 1)


GOOD = completion("(5, 7)")
ATTACKS: dict[str, Callable[[], Sent]] = {
    "packed": lambda: Sent(body=gzip.compress(GOOD), headers=GZIP),
    "bomb": lambda: Sent(body=bomb(), headers=GZIP),
    "failing_bomb": lambda: Sent(400, bomb(), GZIP),
    "not_packed": lambda: Sent(body=GOOD, headers=GZIP),
    "strange_coding": lambda: Sent(body=GOOD, headers={"Content-Encoding": "br"}),
    "long": lambda: Sent(body=completion("(5, 7) " + "." * (9 * MIB))),
    "endless": lambda: Sent(chunk=b'{"id": "m"}, ' * 8192),
    "dripping": lambda: Sent(chunk=b" ", pause=0.05),
    "dripping_headers": lambda: Sent(headers={f"X-{number}": "x" for number in range(1200)}, pause=0.05),
    "brackets": lambda: Sent(body=b"[" * 100_000),
    "failing_brackets": lambda: Sent(400, b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "count": lambda: Sent(body=completion("(5, 7)", 2**64)),
    "digits": lambda: Sent(body=GOOD.replace(b'"prompt_tokens": 6', b'"prompt_tokens": ' + b"9" * 5000)),
    "surrogate": lambda: Sent(body=completion("(5, 7) \ud800")),
    "list_of_numbers": lambda: Sent(body={"data": 5}),
}


class Hostile(Scripted):
    """``listing`` is the attack by its list of models; ``always`` that by all other replies, "" for a prompt's own."""

    always = ""

    def __init__(self, listing: str = "ordinary", other: str = "") -> None:
        super().__init__(lambda body: Sent(body=GOOD))
        self.listing, self.other = listing, other

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.bodies]

    def reply(self, path: str, body: Any) -> Sent:
        name = self.listing if body is None else self.always or body["messages"][0]["content"].split()[-1]
        places = {"elsewhere": f"{self.other}{path}", "circle": path}
        if name == "moved" and "here" not in path:
            places["moved"] = path.replace("/v1/", "/v1/here/")
        if name in places:
            return Sent(307, b"", {"Location": places[name]})
        return ATTACKS[name]() if name in ATTACKS else super().reply(path, body)


def hostile(listing: str = "ordinary", other: str = "") -> AbstractContextManager[Hostile]:
    """Serve until the context is left."""
    return serving(Hostile(listing, other))
