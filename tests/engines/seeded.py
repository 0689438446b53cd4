"""An engine whose answers depend on seeds alone, and which can be slow, refuse a prompt, go down and die."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import Answer, Reply, Request
from grounding_rewards.errors import EngineError

HIT, MISS = "(250, 200)", "(5, 5)"


@dataclass(frozen=True)
class Scripted:
    """Settings: ``right`` of 100 answers hit (none of prompts with "hard", all of prompts with "easy")."""

    model: str
    right: int = 50
    resizes: str | None = None
    pace: float = field(default=0.0, compare=False)
    batches: int = field(default=1, compare=False)
    log: str | None = field(default=None, compare=False)
    refuses: str = field(default="refused", compare=False)
    down_after: int | None = field(default=None, compare=False)
    dies_after: int | None = field(default=None, compare=False)

    @contextmanager
    def start(self) -> Iterator[Answering]:
        if self.model == "none":
            raise EngineError("there is no model 'none'")
        yield Answering(self)


class Answering:
    def __init__(self, settings: Scripted) -> None:
        self.settings, self.calls, self.lock = settings, 0, threading.Lock()
        self.at_once = settings.batches
        self.resizing = settings.resizes and Resizing(settings.resizes)

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        with self.lock:
            self.calls += 1
            calls = self.calls
        if self.settings.log:
            with Path(self.settings.log).open("a") as file:
                file.writelines(f"{seed}\n" for request in requests for seed in request.seeds)
        if self.settings.dies_after is not None and calls > self.settings.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.settings.down_after is not None and calls > self.settings.down_after:
            raise EngineError("the server is down")
        time.sleep(self.settings.pace)
        return [Reply(tuple(self.answer(request, seed) for seed in request.seeds), 40) for request in requests]

    def answer(self, request: Request, seed: int) -> Answer:
        text = request.messages[-1].text
        if any(word in text for word in self.settings.refuses.split()):
            return Answer(None, problem=f"the prompt of {len(text)} characters is refused")
        right = 100 if "easy" in text else 0 if "hard" in text else self.settings.right
        greedy = request.sampling.temperature == 0
        hit = (0 if greedy else seed) % 100 < right
        return Answer(f"{HIT if hit else MISS} {'' if greedy else seed}".strip(), 7, cut=seed % 10 == 0)


class Wrong(Scripted):
    """Gives no replies, or raises, as ``model`` says."""

    @contextmanager
    def start(self) -> Iterator[Any]:
        def answer(requests: Sequence[Request]) -> list[Reply]:
            if self.model == "raises":
                raise KeyError("logits")
            return []

        running = Answering(self)
        answer.at_once, answer.resizing = 1, running.resizing  # type: ignore[attr-defined]
        yield answer
