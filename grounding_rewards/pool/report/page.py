"""HTML page of a report: sections of sentences, pictures and tables, in one self-contained file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from grounding_rewards._version import __version__
from grounding_rewards.coords.image_header import image_size
from grounding_rewards.errors import PictureError
from grounding_rewards.pool.report.data import Report
from grounding_rewards.pool.report.pictures import Drawing
from grounding_rewards.pool.report.sections import sections

DOTS = 150
"""Dots an inch of the pictures' files."""

_SHOWN = 100  # dots an inch on the page


def page(numbers: Report, pictures: Mapping[str, tuple[Drawing, bytes]]) -> str:
    """Render the HTML text.

    Texts from data are escaped. The page loads nothing from a network, and its content policy forbids it.

    Args:
        numbers: the numbers.
        pictures: pictures and their PNG bytes, by file.

    Raises:
        PictureError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise PictureError("a report needs jinja2: pip install 'grounding-rewards[report]'") from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html").read_text("utf-8"))
    embedded = {(drawing.section, drawing.place): _embedded(drawing, data) for drawing, data in pictures.values()}
    html: str = template.render(
        title=numbers.title,
        remarks=numbers.remarks,
        sections=list(sections(numbers)),
        pictures=embedded,
        version=__version__,
    )
    return html.encode("utf-8", "replace").decode("utf-8")


def _embedded(drawing: Drawing, data: bytes) -> dict[str, Any]:
    wide, high = image_size(data) or (0, 0)
    uri = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    size = {"width": round(wide * _SHOWN / DOTS), "height": round(high * _SHOWN / DOTS)}
    return {"uri": uri, "alt": drawing.alt, "file": drawing.file, **size}
