"""Pictures of rewards as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.cli import terminal
from grounding_rewards.converting.image_files import ImageFiles
from grounding_rewards.converting.images import Image
from grounding_rewards.errors import GroundingRewardsError, PictureError, TargetError
from grounding_rewards.explain.case import Case, Size
from grounding_rewards.explain.plot.figure import check_screen, figures, plot
from grounding_rewards.explain.plot.picture import Picture, picture
from grounding_rewards.explain.plot.reward_map import Advance
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.atomic import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FILES = ImageFiles()
_UNSIGNED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What each format would say about when and by what it was written: without it the same picture is the same file."""


def draw(
    recipes: Sequence[Recipe], case: Case, out: Path, image: Path | None = None, images: ImageFiles = _FILES
) -> list[str]:
    """Draw what recipes pay over the screen, and write the picture atomically.

    Args:
        recipes: one, or several to draw side by side on one scale; those that cannot be drawn are left out.
        case: the rollout to show.
        out: a file that ends in .png, .svg or .pdf.
        image: a screenshot to draw below; its size is that of the original image where the target does not say.
        images: how it is read.

    Returns:
        Why recipes are left out, a sentence for each.

    Raises:
        PictureError: the file has another suffix or no directory, or the screenshot cannot be read.
        OSError: the file cannot be written.
        GroundingRewardsError: no recipe can be drawn. This is why the first one cannot: its target cannot be used, or
            says another size than the screenshot has; its place cannot be exchanged; something it needs is missing.
    """
    check(out)
    figures()
    shot = None if image is None else _screenshot(image, images)
    drawn: list[Picture] = []
    failed: list[tuple[str, GroundingRewardsError]] = []
    with terminal.progress("drawing") as advance:
        for number, each in enumerate(recipes):
            try:
                sized = case if image is None else sized_by(image, each, case, images)
                found = picture(each, sized, advance=_within(advance, number, len(recipes)))
                if shot is not None:
                    check_screen(found)
                drawn.append(found)
            except GroundingRewardsError as error:
                failed.append((each.name, error))
    if not drawn and failed:
        raise failed[0][1]
    with atomic_file(out) as file:
        save(plot(drawn, shot), file, out.suffix)
    return [f"{name} is left out of the picture: {error}" for name, error in failed]


def _within(advance: Advance, number: int, of: int) -> Advance:
    return lambda share: advance((number + share) / of)


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


def save(figure: Figure, file: IO[bytes], suffix: str) -> None:
    """Write a figure into an open file of that suffix, the same bytes for the same figure.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib

    suffix = suffix.lower()
    with matplotlib.rc_context({"svg.hashsalt": "grounding-rewards"}):
        figure.savefig(file, format=suffix[1:], metadata=_UNSIGNED[suffix])


def sized_by(image: Path, recipe: Recipe, case: Case, images: ImageFiles = _FILES) -> Case:
    """The case with a screenshot's size for the row to explain, and for the rest of its group, where they say none.

    Raises:
        PictureError: the screenshot cannot be read, or matplotlib is not installed.
        TargetError: the target cannot be read, or says another size.
    """
    size, known = _size(image, images), _known(recipe, case)
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


def _screenshot(path: Path, images: ImageFiles) -> NDArray[np.uint8]:
    """A screenshot in shades of grey (h, w)."""
    return np.asarray(images.decode(Image(str(path.absolute()))).convert("L"))


def _size(path: Path, images: ImageFiles) -> Size:
    """Width and height of a screenshot, which is not decoded for it."""
    figures()  # complains where matplotlib is missing, without which there is no picture
    seen = images.look(Image(str(path.absolute())), turning=False)
    assert seen is not None  # a file that is opened
    return seen.size


def _known(recipe: Recipe, case: Case) -> Any:
    given = case.image_sizes[case.row] if case.image_sizes else None
    target = recipe.read_targets([case.target], warn=False).rows[0]
    return given or (target.image_size if target else None)
