"""An engine that points at the red block of a made screen: beside it on the whole screen, exactly on a crop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from grounding_rewards.engines import Answer, Reply, Request
from tests.cli.command import write_rows

SIDE = 12
"""Pixels of a block's sides."""


def screens(folder: Path, *places: tuple[int, int, int, int], copies: int = 1) -> Path:
    """Write screens of width and height, each with a block whose left top corner is at x, y, and the rows of them."""
    rows = []
    for number, (width, height, x, y) in enumerate(places * copies):
        screen = Image.new("RGB", (width, height), (0, 0, 200))
        ImageDraw.Draw(screen).rectangle((x, y, x + SIDE - 1, y + SIDE - 1), (255, 0, 0))
        screen.save(folder / f"{number}.png")
        box = [x, y, x + SIDE, y + SIDE]
        rows.append({"id": f"s{number}", "prompt": "Press red", "image": f"{number}.png", "bbox": {"bbox": box}})
    return write_rows(folder / "screens.jsonl", *rows)


def corners(width: int, height: int) -> list[tuple[int, int, int, int]]:
    """The corners, the middles of the borders and the middle."""
    columns, lines = ((0, (side - SIDE) // 2, side - SIDE) for side in (width, height))
    return [(width, height, x, y) for x in columns for y in lines]


@dataclass(frozen=True)
class Pointing:
    """Settings: how far beside the block the answer to a whole screen is, as a share of it, and how answers look."""

    model: str
    beside: float = 0.1
    form: str = "I look. ({:.0f}, {:.0f})"
    extent: float = 1000.0
    lost: str = field(default="", compare=False)  # the answer to a crop in place of the block's place
    log: str | None = field(default=None, compare=False)
    dies_after: int | None = field(default=None, compare=False)
    at_once = 1
    resizing = None
    calls: list[int] = field(default_factory=list, compare=False)

    @contextmanager
    def start(self) -> Iterator[Pointing]:
        yield self

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        self.calls.append(len(requests))
        if self.dies_after is not None and len(self.calls) > self.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.log:
            with Path(self.log).open("a") as file:
                file.writelines(f"{seed}\n" for request in requests for seed in request.seeds)
        return [Reply(tuple(self.answer(request.images[-1], seed) for seed in request.seeds)) for request in requests]

    def answer(self, file: bytes, seed: int) -> Answer:
        pixels = np.asarray(Image.open(BytesIO(file)).convert("RGB")).astype(int)
        rows, columns = np.nonzero(pixels[:, :, 0] > 127)
        height, width = pixels.shape[:2]
        if not len(rows):
            return Answer("I see nothing.")
        x, y = ((columns.min() + columns.max() + 1) / 2 / width, (rows.min() + rows.max() + 1) / 2 / height)
        if len(rows) < 1.5 * SIDE * SIDE:  # of its own size: a whole screen
            x, y = (min(max(each + self.beside * (1 if each < 0.5 else -1), 0.0), 1.0) for each in (x, y))
        elif self.lost:
            return Answer(self.lost)
        extent = (width, height) if self.extent == 0 else (self.extent, self.extent)
        return Answer(self.form.format(x * extent[0], y * extent[1]), 9)
