"""Drawn screens for the CPU demo: a small window with coloured widgets, and an instruction that names one of them.

A widget's place is its upper left corner, any pixel of the window. The places are cut into blocks of 6 x 6 pixels and
every fifth block is held out: no widget of a training screen, named or not, ever has its corner in such a block, and
every widget of a held-out screen has.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

WIDTH, HEIGHT, TITLE_BAR, BLOCK, MARGIN = 96, 64, 10, 6, 2
COLOURS = {"red": (214, 40, 40), "green": (40, 160, 60), "blue": (40, 80, 220)}
SHAPES = {"button": (28, 16), "icon": (20, 20)}  # width and height
DOT = {"dot": (9, 9)}  # for rounds.py, which adds what the warm start never shows
WORDS = ["click", " the", *(f" {name}" for name in [*COLOURS, *SHAPES])]

Box = tuple[int, int, int, int]
Corner = tuple[int, int]


@dataclass(frozen=True)
class Screen:
    """One drawn screen. Boxes are x1 y1 x2 y2 in pixels; the instruction names `target_px`."""

    image: Image.Image
    instruction: str
    target_px: Box
    others_px: tuple[Box, ...] = ()


def is_held_out(x: int, y: int) -> bool:
    """Every fifth block, staggered from row to row, so that no region of the screen is missing from training."""
    return (x // BLOCK + 2 * (y // BLOCK)) % 5 == 0


def places(held_out: bool) -> list[Corner]:
    """The upper left corners that widgets of held-out (or of training) screens can have."""
    widest, tallest = (max(sizes) for sizes in zip(*SHAPES.values(), strict=True))
    corners = [(x, y) for x in range(1, WIDTH - widest) for y in range(TITLE_BAR + 1, HEIGHT - tallest)]
    return [corner for corner in corners if is_held_out(*corner) == held_out]


def draw_screen(
    corners: list[Corner], widgets: int, rng: random.Random, sizes: dict[str, tuple[int, int]] = SHAPES
) -> Screen:
    """A screen with this many widgets of different colours; the instruction names the first."""
    colours = rng.sample(sorted(COLOURS), widgets)
    shapes = [rng.choice(sorted(sizes)) for _ in colours]
    boxes = _lay_out(corners, shapes, rng)
    image = _window(rng)
    for box, shape, colour in zip(boxes, shapes, colours, strict=True):
        _widget(image, box, shape, COLOURS[colour])
    return Screen(image, f"click the {colours[0]} {shapes[0]}", boxes[0], tuple(boxes[1:]))


def _lay_out(corners: list[Corner], shapes: list[str], rng: random.Random) -> list[Box]:
    """Boxes at random places, none touching another."""
    known = SHAPES | DOT
    while True:
        chosen = rng.sample(corners, len(shapes))
        sizes = [known[shape] for shape in shapes]
        boxes = [(x, y, x + w - 1, y + h - 1) for (x, y), (w, h) in zip(chosen, sizes, strict=True)]
        if not any(_touch(a, b) for i, a in enumerate(boxes) for b in boxes[:i]):
            return boxes


def _touch(a: Box, b: Box) -> bool:
    return a[0] - MARGIN <= b[2] and b[0] - MARGIN <= a[2] and a[1] - MARGIN <= b[3] and b[1] - MARGIN <= a[3]


def _window(rng: random.Random) -> Image.Image:
    """A light, noisy window with a title bar and a few grey lines for text."""
    noise = np.random.default_rng(rng.getrandbits(32)).integers(-8, 9, (HEIGHT, WIDTH, 3))
    image = Image.fromarray((rng.randint(215, 245) + noise).clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, WIDTH - 1, TITLE_BAR - 2), fill=(176, 184, 196))
    for i in range(3):
        draw.ellipse((3 + 7 * i, 2, 7 + 7 * i, 6), fill=(120, 128, 140))
    for _ in range(rng.randint(3, 6)):
        x, y, length = rng.randint(2, WIDTH - 40), rng.randint(TITLE_BAR + 2, HEIGHT - 4), rng.randint(12, 36)
        draw.line((x, y, x + length, y), fill=(150, 150, 155))
    return image


def _widget(image: Image.Image, box: Box, shape: str, colour: tuple[int, int, int]) -> None:
    """A button is a rounded bar with a white label, an icon a disc with a white middle, a dot a small disc."""
    draw = ImageDraw.Draw(image)
    x1, y1, x2, y2 = box
    if shape == "button":
        draw.rounded_rectangle(box, radius=5, fill=colour)
        draw.line((x1 + 7, (y1 + y2) // 2, x2 - 7, (y1 + y2) // 2), fill=(255, 255, 255), width=2)
        return
    draw.ellipse(box, fill=colour)
    if shape == "icon":
        draw.ellipse((x1 + 8, y1 + 8, x2 - 8, y2 - 8), fill=(255, 255, 255))
