"""Pictures of rewards as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.errors import PictureError, TargetError
from grounding_rewards.explain.case import Case, Size
from grounding_rewards.explain.picture import picture
from grounding_rewards.explain.plot import figures, plot
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.files import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNSIGNED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What each format would say about when and by what it was written: without it the same picture is the same file."""


def draw(recipes: Sequence[Recipe], case: Case, out: Path, image: Path | None = None) -> None:
    """Draw what recipes pay over the screen, and write the picture whole or not at all.

    Args:
        recipes: one, or several to draw side by side on one scale.
        case: the rollout to show.
        out: a file that ends in .png, .svg or .pdf.
        image: a screenshot to draw below; its size is that of the original image where the target does not say.

    Raises:
        PictureError: the file has another suffix or no directory, or the screenshot cannot be read.
        TargetError: a target cannot be used, or says another size than the screenshot has.
        RecipeError: the place cannot be exchanged, or something that a recipe needs is missing.
        OSError: the file cannot be written.
    """
    check(out)
    figures()
    shot = None
    if image is not None:
        shot = _screenshot(image)
        for each in recipes:
            case = sized_by(image, each, case)
    save(plot([picture(each, case) for each in recipes], shot), out)


def check(out: Path) -> None:
    """Complain about a path that no picture can be written to.

    Raises:
        PictureError: it has another suffix, is no file, or stands in no directory.
    """
    if out.suffix.lower() not in _UNSIGNED:
        raise PictureError(f"{out}: a picture ends in {', '.join(_UNSIGNED)}")
    if out.exists() and not out.is_file():
        raise PictureError(f"{out}: is no file, so it cannot be written")
    if not out.parent.is_dir():
        raise PictureError(f"{out}: there is no directory {out.parent}")


def save(figure: Figure, out: Path) -> None:
    """Write a figure whole or not at all, the same bytes for the same figure.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib

    suffix = out.suffix.lower()
    with (
        written_whole(Path(os.path.realpath(out))) as file,
        matplotlib.rc_context({"svg.hashsalt": "grounding-rewards"}),
    ):
        figure.savefig(file, format=suffix[1:], metadata=_UNSIGNED[suffix])


def sized_by(image: Path, recipe: Recipe, case: Case) -> Case:
    """The case with a screenshot's size for the row to explain, and for the rest of its group, where they say none.

    Raises:
        PictureError: the screenshot cannot be read, or matplotlib is not installed.
        TargetError: the target cannot be read, or says another size.
    """
    figures()
    height, width = _screenshot(image).shape
    size, known = (float(width), float(height)), _known(recipe, case)
    if known is not None:
        if tuple(known) != size:
            came, expected = [f"{w:.0f} x {h:.0f}" for w, h in (known, size)]
            raise TargetError(case.row, "image_size", came, f"{expected}, the size of {image}")
        return case
    sizes: list[Size | None] = list(case.image_sizes or [None] * len(case.responses))
    for row in range(len(sizes)):
        if row == case.row or (case.groups is not None and case.groups[row] == case.groups[case.row]):
            sizes[row] = sizes[row] or size
    return replace(case, image_sizes=tuple(sizes))


def _screenshot(path: Path) -> NDArray[np.uint8]:
    """A screenshot in shades of grey (h, w)."""
    from PIL import Image  # matplotlib brings it

    try:
        with Image.open(path) as found:
            return np.asarray(found.convert("L"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise PictureError(f"{path}: cannot be read as a picture ({error})") from error


def _known(recipe: Recipe, case: Case) -> Any:
    given = case.image_sizes[case.row] if case.image_sizes else None
    target = recipe.read_targets([case.target]).rows[0]
    return given or (target.image_size if target else None)
