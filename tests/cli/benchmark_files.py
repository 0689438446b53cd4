"""Made-up files of published benchmarks, in the exact shape and of the exact number of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HIT, MISS = "(20, 30)", "(900, 900)"
BOX = [10, 20, 40, 50]
"""Corners of the box that HIT lies in."""

Rows = list[dict[str, Any]]


def as_json(folder: Path, files: Mapping[str, Rows]) -> Path:
    """Write files of rows, each one list."""
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.json").write_text(json.dumps(rows))
    return folder


def screenspot(cells: Mapping[str, int], *, version: str = "", source: str = "shop") -> dict[str, Rows]:
    """Return ScreenSpot's three files, every row with a hit; cells are "platform / type" with their numbers of rows."""
    files: dict[str, Rows] = {}
    for cell, count in cells.items():
        platform, kind = cell.split(" / ")
        rows = files.setdefault(f"screenspot_{platform}{version}", [])
        rows += [
            {
                "img_filename": f"{platform}_{kind}_{place}.png", "bbox": [10, 20, 8, 15], "instruction": "open it",
                "data_type": kind, "data_source": source, "prediction": "(18, 35)" if place % 2 else "(14, 22)",
            }
            for place in range(count)
        ]  # fmt: skip
    return files


def pro(counts: Mapping[str, tuple[int, int]]) -> Rows:
    """Return rows of ScreenSpot-Pro: texts and icons of each group."""
    return [
        {
            "img_filename": f"word_mac/{group}{kind}{place}.png", "bbox": BOX, "instruction": "open styles",
            "instruction_cn": "…", "id": f"{group}_{kind}_{place}", "application": "word", "platform": "macos",
            "img_size": [1000, 1000], "ui_type": kind, "group": group, "prediction": HIT if kind == "text" else MISS,
        }
        for group, pair in counts.items()
        for kind, count in zip(("text", "icon"), pair, strict=True)
        for place in range(count)
    ]  # fmt: skip


def osworld(kinds: Iterable[str] = ("bbox",) * 470 + ("polygon",) * 40 + ("refusal",) * 54) -> Rows:
    """Return rows of OSWorld-G; boxes and polygons are hit, refusals are answered by a click."""
    numbers = {"bbox": [10.5, 20, 29.5, 30], "polygon": [10, 20, 40, 20, 40, 50, 10, 50], "refusal": [0, 0, 0, 0]}
    return [
        {
            "id": f"ID-{place}", "image_path": "AB.png", "image_size": [1000, 1000], "instruction": "Show the ruler.",
            "box_type": kind, "box_coordinates": numbers[kind], "GUI_types": ["Icon"], "prediction": HIT,
        }
        for place, kind in enumerate(kinds)
    ]  # fmt: skip


def ui_vision(count: int, answer: str, bbox: list[float] | None = None) -> Rows:
    """Return rows of UI-Vision."""
    return [
        {
            "image_path": f"element_grounding/{place}.png", "image_size": [1000, 1000], "prompt_to_evaluate": "flip",
            "bbox": bbox or [10.5, 20.0, 40.25, 50.0], "platform": "GIMP", "category": "Button", "element_type": "icon",
            "prediction": answer,
        }
        for place in range(count)
    ]  # fmt: skip


def mmbench(count: int, kind: str, answer: str, bbox: list[float] | None = None) -> Rows:
    """Return rows of MMBench-GUI L2."""
    return [
        {
            "index": place, "image_path": f"{kind}{place}.png", "instruction": "Opens the menu.",
            "bbox": bbox or [0.01, 0.02, 0.04, 0.05], "image_size": [1000, 1000], "data_type": "icon",
            "platform": "os_windows", "app_name": "notes", "grounding_type": kind, "prediction": answer,
        }
        for place in range(count)
    ]  # fmt: skip
