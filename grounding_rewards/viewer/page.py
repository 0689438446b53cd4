"""A self-contained page: one template, one style, one script and one JSON of plain values."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from numpy.typing import NDArray

from grounding_rewards._version import __version__
from grounding_rewards.errors import PictureError, printable
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.writing import check_place
from grounding_rewards.viewer.blocks import VIRIDIS

QUALITY = 82
"""Quality of screenshots, in WebP's scale from 0 to 100: small print stays readable."""

SIDE = 2560
"""Longest side of a screenshot on a page, in pixels."""


def page(data: Mapping[str, Any], *, asking: bool = False) -> str:
    """Return a page as HTML that loads nothing and runs its one script alone; ``asking`` lets that ask its server.

    Texts of the data are shown as the terminal shows them: control characters, marks of direction and lone surrogates
    are escaped.
    """
    values = shown({"remarks": [], **data, "version": __version__, "scale": VIRIDIS})
    style, template, *scripts = (
        files(__package__).joinpath(name).read_text("utf-8")
        for name in ("page.css", "page.html", "rollouts.js", "page.js")
    )
    script, connect = "".join(scripts), "; connect-src 'self'" if asking else ""
    return Template(template).substitute(
        policy=f"default-src 'none'; img-src data:; style-src {_pinned(style)}; script-src {_pinned(script)}{connect}",
        title=html.escape(values["title"]),
        style=style,
        script=script,
        # In a script element only </script and <!-- mean anything, and an escaped < is the same text in JSON.
        data=json.dumps(values, allow_nan=False).replace("<", "\\u003c"),
    )


def check_page(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Check that a page can be written, before the long work."""
    if path.suffix.lower() != ".html":
        raise PictureError(f"{path}: a page ends in .html")
    check_place(path, inputs)


def write_page(out: Path, data: Mapping[str, Any]) -> None:
    """Write a page atomically; the same data give the same bytes."""
    text = page(data).encode("utf-8")
    with atomic_file(out) as file:
        file.write(text)


def picture(image: NDArray[Any]) -> str:
    """Return a screenshot, (h, w) or (h, w, 3) from 0 to 255, as a URL that holds it."""
    from PIL import Image

    held, scaled = io.BytesIO(), Image.fromarray(image)
    scaled.thumbnail((SIDE, SIDE))
    scaled.save(held, "WEBP", quality=QUALITY, method=2)  # three times as fast as the default
    return f"data:image/webp;base64,{base64.b64encode(held.getvalue()).decode()}"


def _pinned(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def shown(value: Any) -> Any:
    """Escape what no page should show in all texts, and keep lines and tabs."""
    if isinstance(value, str):
        return value if value.isprintable() else "\n".join(map(_line, value.split("\n")))
    if isinstance(value, Mapping):
        return {name: shown(each) for name, each in value.items()}
    return [shown(each) for each in value] if isinstance(value, list | tuple) else value


def _line(text: str) -> str:
    return "\t".join(map(printable, text.split("\t")))
