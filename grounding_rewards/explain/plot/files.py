"""Pictures of rewards as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import NDArray

from grounding_rewards.errors import GroundingRewardsError, PictureError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.plot.figure import check_screen, figures, plot
from grounding_rewards.explain.plot.picture import Picture, picture
from grounding_rewards.explain.plot.reward_map import Advance
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.atomic import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNSIGNED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata about time and program, by format: without it the same picture is the same file."""


def draw(
    recipes: Sequence[Recipe],
    case: Case,
    out: Path,
    image: NDArray[Any] | None = None,
    origin: str = "the screenshot",
    advance: Advance = lambda share: None,
) -> list[str]:
    """Draw recipes' rewards over the screen side by side, on one scale, and write the picture atomically.

    Args:
        recipes: those that cannot be drawn are left out.
        case: the rollout to show.
        out: a file that ends in .png, .svg or .pdf.
        image: (h, w) or (h, w, 3 or 4) screenshot to draw below, 0 to 255; its size is that of the original image
            where the target does not say.
        origin: the screenshot's name, for errors.
        advance: gets the share that is done.

    Returns:
        Why recipes are left out, a sentence for each.

    Raises:
        PictureError: the file has another suffix or no directory, or matplotlib is not installed.
        GroundingRewardsError: no recipe can be drawn; this is why the first one cannot.
    """
    check(out)  # before the scoring, which takes long
    figures()
    drawn: list[Picture] = []
    failed: list[tuple[str, GroundingRewardsError]] = []
    for number, recipe in enumerate(recipes):
        try:
            sized = case if image is None else case.sized(recipe, (image.shape[1], image.shape[0]), origin)
            shown = picture(recipe, sized, advance=_part(advance, number, len(recipes)))
            if image is not None:
                check_screen(shown)
            drawn.append(shown)
        except GroundingRewardsError as error:
            failed.append((recipe.name, error))  # of several recipes the others are still worth a picture
    if not drawn and failed:
        raise failed[0][1]
    with atomic_file(out) as file:
        save(plot(drawn, image), file, out.suffix)
    return [f"{name} is left out of the picture: {error}" for name, error in failed]


def _part(advance: Advance, number: int, of: int) -> Advance:
    return lambda share: advance((number + share) / of)


def check(out: Path) -> None:
    """Check that a picture can be written to a path: its suffix, that it is no other thing, and its directory."""
    if out.suffix.lower() not in _UNSIGNED:
        raise PictureError(f"{out}: a picture ends in {', '.join(_UNSIGNED)}")
    if out.exists() and not out.is_file():
        raise PictureError(f"{out}: is no file, so it cannot be written")
    if not out.parent.is_dir():
        raise PictureError(f"{out}: there is no directory {out.parent}")


def save(figure: Figure, file: IO[bytes], suffix: str) -> None:
    """Write a figure into an open file of that suffix, the same bytes for the same figure."""
    import matplotlib

    suffix = suffix.lower()
    with matplotlib.rc_context({"svg.hashsalt": "grounding-rewards"}):  # ids in SVG are random without it
        figure.savefig(file, format=suffix[1:], metadata=_UNSIGNED[suffix])
