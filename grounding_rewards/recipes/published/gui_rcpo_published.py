"""GUI-RCPO as its code has it: squares twice as wide as the paper's, cut to whole pixels of the image."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.groups.consensus import consensus_scores
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import number
from grounding_rewards.plugins.config import frozen
from grounding_rewards.recipes._shared import deviations
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import InConsensus
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import Term

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_TARGET = frozen({"id": "a7", "image_size": [1000, 1000]})
_SPACES = {"pixel": CoordSpace.PIXEL, "unit": CoordSpace.UNIT, "thousandths": CoordSpace.UNIT}
_AT = {"pixel": 1000, "unit": 1, "thousandths": 1000}


def gui_rcpo_published(*, scale: Literal["pixel", "unit", "thousandths"] = "pixel", expand: Length = 50.0) -> Recipe:
    """GUI-RCPO's published reward from the agreement of a group: ``gui-rcpo`` follows the paper, and this the code.

    total = (1 / (|R| · v_max)) · Σ_R v over the pixels of R, the place that a rollout answers, grown by ``expand``
    pixels on each side, cut to whole pixels and to the image; v counts the places of the group that hold a pixel. So
    the square about a point is 2 · ``expand`` wide, where the paper's side is 50, and answers may lie out of the image.
    All unsigned numbers of a text count: four are a box, two a point, and any other count is no place. A place without
    a pixel is worth 0: with ``expand`` 0, which the source has for Qwen and OS-Atlas, every point. Where no places
    overlap all are worth 1.

    Args:
        scale: what numbers mean: pixel (UI-TARS, Qwen), unit (InternVL), or thousandths (UGround, OS-Atlas).
        expand: pixels by which places grow, from 0; the source trains UI-TARS, InternVL and UGround with 50.

    Returns:
        A recipe with the part ``consensus``, 0 <= total <= 1; ``acc`` is that of ``gui-rcpo``. It needs the groups.

    Source: GUI-RCPO cd3bd51, ``open_r1/grpo_jsonl.py``.
    """
    term = _Agreement(expand)
    near, corner = (_said(scale, *xy) for xy in ((200, 150), (0, 0)))
    around = tuple([_said(scale, *xy) for xy in ((250, 175), (260, 180), (700, 400))])
    lone = tuple([_said(scale, *xy) for xy in ((300, 300), (600, 600))])
    box = ", ".join([near[1:-1], _said(scale, 300, 200)[1:-1]])
    return Recipe(
        name="gui-rcpo-published",
        dialect=_THOUSANDTHS if scale == "thousandths" else _NUMBERS,
        reward=weighted(consensus=(1.0, term)),
        success=InConsensus(max(2.0 * expand, 1.0)),
        space=CoordSpace.PIXEL,
        response_space=_SPACES[scale],
        target_space=CoordSpace.PIXEL,
        accepts=frozenset(),
        source=Source("GUI-RCPO", "GUI-RCPO", "cd3bd51", ("open_r1/grpo_jsonl.py",)),
        answers="first",
        thinking="read",
        label_free=True,
        deviations=deviations(_DEVIATIONS),
        exploits=(
            Exploit("collapse", "all rollouts that give one and the same box score in full, whatever the screen", 1.0,
                    Example(f"({box})", _TARGET, group=(f"({box})",) * 3)),
            *((Exploit("disjoint", "places that nobody agrees with are worth 1 where all are so", 1.0,
                       Example(corner, _TARGET, group=lone)),) if 0 < expand < 100 else ()),
        ),
        formula="total = (1 / (|R| · v_max)) · Σ_R v\nv(x, y) = rollouts of the group whose place R holds the pixel",
        example=Example(f"({box})", _TARGET, group=(f"({box})", *around)),
    )  # fmt: skip


def _said(space: str, x: int, y: int) -> str:
    return f"({x * _AT[space] / 1000:g}, {y * _AT[space] / 1000:g})"


def _read(text: str) -> list[list[float]] | None:
    """Return the two or four numbers of a text as a box, which of two has no extent."""
    numerals = _NUMBER.findall(text)
    if len(numerals) not in (2, 4) or not "".join(numerals).isascii():
        return None
    return [list(map(number, numerals if len(numerals) == 4 else numerals * 2))]


def _read_thousandths(text: str) -> list[list[float]] | None:
    return [[each / 1000 for each in box] for box in _read(text) or ()] or None


_NUMBERS, _THOUSANDTHS = Form("numbers", read=_read), Form("numbers_of_thousandths", read=_read_thousandths)


@dataclass(frozen=True)
class _Agreement(Term):
    """(1 / (|R| · v_max)) · Σ_R v over the pixels of the place that was answered, grown by ``expand`` and cut."""

    expand: float

    needs = frozenset({"groups"})

    def __call__(self, rollouts: Rollouts) -> Floats:
        size = np.nan_to_num(rollouts.image_sizes, nan=np.inf)
        grown = rollouts.predictions.box + self.expand * np.array([-1.0, -1.0, 1.0, 1.0])
        cut = np.clip(np.trunc(grown), 0.0, np.concatenate((size, size), axis=1))
        full = (cut[:, 0] < cut[:, 2]) & (cut[:, 1] < cut[:, 3])
        return consensus_scores(np.where(full[:, None], cut, np.nan), rollouts.groups)


_DEVIATIONS = {
    "no-place": "A text without two or four numbers, in ASCII digits, does not vote and is worth 0; for the source it "
    "is the corner (0, 0), on which three such texts agree.",
    "huge-number": "A number beyond 1e12 is read as 1e12; the source raises for the whole group where it is infinite.",
}
