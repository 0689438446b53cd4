"""A response with gaps for a place, so that the same answer can be given anywhere on the screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, UNIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.responses import MAX_LENGTH, parse
from grounding_rewards.rollouts import CLICKED
from grounding_rewards.scoring import Recipe

# Not inside of words: point_2d and x1 hold no coordinates.
_NUMERAL = re.compile(r"(?<![A-Za-z0-9_.])[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_ORDERS = {2: ((0, 1), (1, 0)), 4: ((0, 1, 2, 3), (1, 0, 3, 2))}
"""Orders of the numbers of a point, and of a box: x first, or y first."""
_TRIES = 60  # a response may repeat its answer thousands of times
_FINE, _COARSE = (6, 4, 3, 2, 1, 0), (3, 2, 1, 0)  # decimals, the finest first: a dialect may read none
# Uneven: swapped axes show, and decimals that are read only where they are zeros.
_PROBES = np.array([[0.5, 0.5], [0.1302468, 0.7113579], [0.83, 0.29], [0.97, 0.04], [0.02, 0.9]])


@dataclass(frozen=True)
class Template:
    """A response in which one place can be exchanged, everything else staying as it is."""

    pieces: tuple[str, ...]  # the text before, between and after the numbers
    order: tuple[int, ...]  # the number of the place in each gap: 0 for x (or x1), 1 for y (or y1), 2 for x2, 3 for y2
    decimals: int = 0  # of each number; 0 writes whole numbers

    @property
    def box(self) -> bool:
        """True where the place is a box."""
        return len(set(self.order)) == 4

    def rounded(self, places: Floats) -> Floats:
        """Round places (n, 2) or (n, 4) to the numbers that the texts can say."""
        near: Floats = np.round(places, self.decimals) + 0.0  # + 0.0 turns -0 into 0
        return near

    def write(self, places: Floats) -> list[str]:
        """Write the response with each place in turn: (n, 2) points or (n, 4) boxes, in the space of the responses."""
        columns = [[f"{value:.{self.decimals}f}" for value in column] for column in self.rounded(places).T.tolist()]
        whole = "%s".join(piece.replace("%", "%%") for piece in self.pieces)  # a % of the response stays one
        return [whole % numbers for numbers in zip(*(columns[number] for number in self.order), strict=True)]


def template(
    recipe: Recipe, response: str | None, extent: tuple[float, float], *, exact: bool = False
) -> Template | None:
    """Make a template of a response, and try it out: its texts are read back as the places that were meant.

    Numbers have decimals where the response's own have, and with ``exact`` wherever the dialect reads them.
    """
    response = (response or "")[-MAX_LENGTH:]
    place = _read(recipe, [response])[0]
    if np.isnan(place).any():
        return None
    for tried in islice(candidates(response, place, recipe.response_space is UNIT, exact), _TRIES):
        probes = _probes(place, extent)
        if _same(_read(recipe, tried.write(probes)), tried.rounded(probes)):
            return tried
    such = f", such as {recipe.example.response!r}" if recipe.example else ""
    raise RecipeError(
        f"{recipe.name}: the place in this response cannot be exchanged for others, so that there is no map of it; "
        f"give --response with a plain answer{such}"
    )


def _read(recipe: Recipe, responses: list[str]) -> Floats:
    """Return places (n, 4) if the first response answers with a box, else (n, 2); NaN where there is none."""
    read = parse(
        responses, recipe.dialect, space=recipe.response_space, answers=recipe.answers, thinking=recipe.thinking
    )
    places = read.xy if np.isnan(read.box[0]).any() else read.box
    return np.where(np.isin(read.reason, CLICKED)[:, None], places, np.nan)


def candidates(response: str, place: Floats, unit: bool, exact: bool = False) -> Iterator[Template]:
    """Yield ways to exchange a place, (2,) or (4,): where it was written last, the time before, ..., everywhere."""
    numerals = list(_NUMERAL.finditer(response))
    # Limited as parsed places are, so that they compare equal.
    values = np.clip([float(numeral[0]) for numeral in numerals], -COORDINATE_LIMIT, COORDINATE_LIMIT).tolist()
    length = len(place)
    for order in _ORDERS[length]:
        written = [place[number].item() for number in order]
        starts_at = [at for at in range(len(values) - length + 1) if values[at : at + length] == written]
        for some in [*([at] for at in reversed(starts_at)), *([starts_at] if len(starts_at) > 1 else [])]:
            chosen = [numerals[index] for at in some for index in range(at, at + length)]
            if len(set(chosen)) < len(chosen):
                continue  # places that share numbers cannot be exchanged together
            ends = [0, *(numeral.end() for numeral in chosen)]
            starts = [*(numeral.start() for numeral in chosen), len(response)]
            pieces = tuple(response[end:start] for end, start in zip(ends, starts, strict=True))
            fine = unit or any("." in numeral[0] for numeral in chosen)
            for decimals in _FINE if fine else _COARSE if exact else (0,):
                yield Template(pieces, order * len(some), decimals)


def _probes(place: Floats, extent: tuple[float, float]) -> Floats:
    """Return places to try a template with, the response's own first."""
    if len(place) == 2:
        return np.vstack((place, _PROBES * extent))
    half = np.array([0.02, 0.02, -0.02, -0.02])
    return np.vstack((place, np.tile(_PROBES * extent, 2) - half * np.tile(extent, 2)))


def _same(read: Floats, meant: Floats) -> bool:
    return read.shape == meant.shape and np.allclose(read, meant, rtol=0.0, atol=1e-9)
