"""Blocks of a page: plain values that its script draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats

Block = dict[str, Any]
"""A block, or a section of blocks, as JSON."""

VIRIDIS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
"""Colours that are evenly spaced to the eye, and lighter all the way."""


Link = list[list[str]] | None
"""Names of filters with their labels: where the page lists rollouts, what has it leads to those that it counts."""


def to(**labels: str) -> Link:
    """Return a link to the rollouts with these labels; ``_`` stands for a blank in the names of filters."""
    return [[name.replace("_", " "), label] for name, label in labels.items()]


Cell = str | Block
"""A text, or a ``link``."""


def section(key: str, title: str, lead: str, blocks: Iterable[Block], missing: str = "") -> Block:
    """Return a section, or of an empty one the input that is ``missing``."""
    return {"key": key, "title": title, "lead": lead, "missing": missing, "blocks": [] if missing else list(blocks)}


def text(lines: Sequence[Cell], title: str = "") -> Block:
    """Return sentences."""
    return {"kind": "text", "title": title, "lines": list(lines)}


def facts(pairs: Iterable[tuple[str, str]]) -> Block:
    """Return names with their texts, without those that have none."""
    return {"kind": "facts", "facts": [[name, fact] for name, fact in pairs if fact]}


def link(text: str, to: Link) -> Block:
    """Return a text that leads to rollouts, for a sentence, a cell or a title."""
    return {"text": text, "to": to}


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Block:
    """Return a table of texts; the first cell of a row names it."""
    return {"kind": "table", "caption": caption, "heads": list(heads), "rows": [list(row) for row in rows]}


def bars(
    alt: str,
    key: Sequence[tuple[str, str]],
    rows: Iterable[Block],
    *,
    title: str = "",
    mark: str = "",
    beside: bool = False,
) -> Block:
    """Return rows of ``bar``, each split into parts; ``key`` has the parts' names and colours, ``mark`` a mark's name.

    Here and below ``alt`` says in words what is shown, and ``beside`` puts it beside the block before and after it.
    """
    return {
        "kind": "bars", "title": title, "alt": alt, "key": [list(each) for each in key], "rows": list(rows),
        "mark": mark, "beside": beside,
    }  # fmt: skip


def bar(
    label: str,
    shares: Iterable[float],
    texts: Iterable[str],
    end: str = "",
    mark: float | None = None,
    links: Iterable[Link] | None = None,
) -> Block:
    """Return a bar: its parts as shares of the whole width with their texts and links, its end's text and a mark."""
    said = zip(shares, texts, repeat(None) if links is None else links, strict=False)
    parts = [
        [part, round(share, 6), text, *([to] if to else [])] for part, (share, text, to) in enumerate(said) if share
    ]
    return {"label": label, "parts": parts, "end": end, "mark": mark}


Point = tuple[float | None, float | None, float | None, str, Link]
"""A value with the ends of its interval, a text and a link; None where it is unknown."""


def lines(
    alt: str,
    labels: Sequence[tuple[str, str]],
    series: Sequence[tuple[str, str, Sequence[Point]]],
    ticks: Sequence[tuple[float, str]],
    title: str = "",
) -> Block:
    """Return lines over places from left to right, each labelled with a text and a smaller one.

    ``series`` are name, colour and a point at each place; ``ticks`` numbers at the axis with their texts, of which the
    first and the last are its ends.
    """
    low, high = ticks[0][0], ticks[-1][0]

    def at(value: float | None) -> float | None:
        return None if value is None else round((value - low) / (high - low), 6)

    return {
        "kind": "lines", "title": title, "alt": alt, "labels": [list(each) for each in labels],
        "ticks": [[at(value), name] for value, name in ticks],
        "series": [
            {"name": name, "colour": colour, "points": [[*map(at, point[:3]), *point[3:]] for point in points]}
            for name, colour, points in series if any(point[0] is not None for point in points)
        ],
    }  # fmt: skip


def matrix(title: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[Any]]]) -> Block:
    """Return a table of shaded cells: of each row its label, and cells of two texts, a share and a link, or None."""
    return {"title": title, "columns": list(columns),
            "rows": [{"label": label, "cells": list(cells)} for label, cells in rows]}  # fmt: skip


def heat(title: str, alt: str, matrices: Sequence[Block]) -> Block:
    """Return matrices side by side."""
    return {"kind": "heat", "title": title, "alt": alt, "matrices": list(matrices)}


def view(title: str, window: Floats, cells: Floats | None = None) -> Block:
    """Return a view x1 y1 x2 y2 (4,) of a screen, in shares of it, with a map of totals (h, w) over it."""
    found = {} if cells is None else {"cells": [[float(f"{cell:.5g}") for cell in row] for row in cells.tolist()]}
    return {"title": title, "window": np.round(window, 9).tolist(), **found}


def shape(look: str, corners: Floats) -> Block:
    """Return an outline (k, 2) in shares of the screen, such as a ``target``."""
    return {"look": look, "corners": np.round(corners, 9).tolist()}


def mark(look: str, point: Floats, said: str = "") -> Block:
    """Return a point (2,) in shares of the screen, such as a ``right`` click, with its text."""
    return {"look": look, "at": np.round(point, 9).tolist(), "text": said}


def screen(
    title: str,
    alt: str,
    size: tuple[float, float],
    views: Sequence[Block],
    shapes: Sequence[Block],
    marks: Sequence[Block],
    names: Mapping[str, str],
    *,
    image: str | None = None,
    scale: tuple[float, float, str] | None = None,
    notes: Sequence[str] = (),
    beside: bool = False,
) -> Block:
    """Return a screen: the whole one and closer views, which are numbered, with outlines and points on it.

    ``size`` is in any unit, ``names`` are those of the looks of shapes and marks, ``image`` is the URL of a screenshot,
    as ``page.picture`` returns it, and ``scale`` the lowest and highest total of the maps with their meaning.
    """
    return {
        "kind": "screen", "title": title, "alt": alt, "size": list(size), "views": list(views), "shapes": list(shapes),
        "marks": list(marks), "names": dict(names), "image": image, "scale": scale and list(scale),
        "notes": list(notes), "beside": beside,
    }  # fmt: skip
