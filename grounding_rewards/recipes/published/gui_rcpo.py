"""GUI-RCPO: a click is worth what the other rollouts of its group agree with it, as in the paper and as in its code."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space, sizes_needed
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.consensus import SIZE, consensus_scores
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import number
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes import _shared
from grounding_rewards.recipes._shared import answering_space, click_example, dialect_named, shown_with, written
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import Consensus, InConsensus
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import Term

_PIXELS = (CoordSpace.PIXEL, CoordSpace.MODEL_PIXEL)
_TARGET = frozen({"id": "a7"})
_AROUND = {
    CoordSpace.PIXEL: ((210, 155), (190, 140), (700, 400)),
    CoordSpace.MODEL_PIXEL: ((105, 80), (95, 70), (350, 200)),
    CoordSpace.UNIT: ((0.205, 0.31), (0.195, 0.29), (0.7, 0.8)),
    CoordSpace.THOUSANDTHS: ((205, 310), (195, 290), (700, 800)),
}


@shown_with(response_space="pixel")
def gui_rcpo(
    *,
    response_space: CoordSpace | str | None = None,
    size: float = SIZE,
    votes: int = 2,
    space: CoordSpace | str | None = None,
    dialect: str = "auto",
) -> Recipe:
    """GUI-RCPO's reward from the agreement of a group; no target says what is right.

    total = (1 / (|R| · v_max)) · ∫_R v. Each rollout votes for R, the square of ``size`` pixels about its point, or the
    box that it answered; v(x, y) counts the regions of the group that hold (x, y), and v_max is its largest value. The
    integral is exact, and regions that merely touch do not vote for each other. Rollouts without a place in the image,
    refusals among them, do not vote and are worth 0. A point that no other is near to is still worth 1 / v_max.

    ``acc`` does not mean that a click is right, which nobody knows here: it is 1 where the point lies where most
    rollouts of its group agree, at least ``votes`` of them. Its mean is the share of the votes for the winner, and
    rises by itself as the policy narrows down. To know whether the policy gets better, evaluate it with ``click`` on
    samples that have labels.

    The paper draws 16 samples at a temperature of 0.7, with a KL coefficient of 0.04, which keeps the policy from
    collapsing to one place. To click where 64 samples agree, without any training: ``consensus.consensus_region``.

    Args:
        response_space: the space that the model answers in. No default: a wrong guess counts votes in the wrong unit.
        size: the side of the square, in pixels; above 0.
        votes: how many rollouts must agree for ``acc``, a whole number from 1.
        space: whose pixels: ``"pixel"``, those of the original image, or ``"model_pixel"``, those of the image that
            the model saw. Default: those that the model answers in, as the paper's models do, which takes the size of
            no image; those of the original image where it answers in shares of the screen, which takes that image's.
        dialect: how answers are written, as in ``click``.

    Returns:
        A recipe with the part ``consensus``, 0 <= total <= 1. It needs the groups. Targets may be None, or say no more
        than ``id`` and sizes; what they say of what is right is not looked at.

    Raises:
        SpaceError: ``response_space`` is missing, or a space unknown.
        RecipeError: another option does not fit.

    Source: GUI-RCPO, from the paper.
    """
    answered = answering_space("gui-rcpo", response_space)
    inside = _inside(answered, space)
    return Recipe(
        name="gui-rcpo",
        dialect=dialect_named(dialect),
        reward=weighted(consensus=(1.0, Consensus(size))),
        success=InConsensus(size, votes),
        space=inside,
        response_space=answered,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset(),
        source=Source("GUI-RCPO: Test-Time Reinforcement Learning for GUI Grounding via Region Consistency"),
        label_free=True,
        exploits=_exploits(answered, inside, dialect),
        formula=(
            "total = (1 / (|R| · v_max)) · ∫_R v\n"
            "v(x, y) = rollouts of the group whose region R holds (x, y)\n"
            "acc = 1 where v = v_max at the point, and v_max >= votes: agreed on, which need not be right"
        ),
        example=_example(answered, inside, dialect),
    )


def _inside(answered: CoordSpace, space: CoordSpace | str | None) -> CoordSpace:
    if space is None:
        return answered if answered in _PIXELS else CoordSpace.PIXEL
    inside = as_space(space)
    if inside not in _PIXELS:
        raise RecipeError(f"gui-rcpo: option space: got {space!r:.60}; expected one of {', '.join(_PIXELS)}")
    return inside


def _example(answered: CoordSpace, inside: CoordSpace, dialect: str) -> Example | None:
    """A click with two others beside it, and one elsewhere."""
    click = click_example(answered, inside, dialect)
    if click is None:
        return None
    needed = sizes_needed(answered, into=inside)
    return replace(
        click,
        target=_TARGET,
        image_size=click.image_size if "image_size" in needed else None,
        model_image_size=click.model_image_size if "model_image_size" in needed else None,
        group=tuple(str(written(dialect, point)) for point in _AROUND[answered]),
    )


def _exploits(answered: CoordSpace, inside: CoordSpace, dialect: str) -> tuple[Exploit, ...]:
    example = _example(answered, inside, dialect)
    corner = str(written(dialect, (0, 0)))
    same = example and replace(example, response=corner, group=(corner,) * 3)
    alone = example and replace(example, response=corner, group=("?",) * 3)
    return (
        Exploit("collapse", "all rollouts that give one and the same place score in full, whatever the screen", 1.0,
                same),
        Exploit("only-answer", "the only rollout of its group that answers at all agrees with itself", 1.0, alone),
    )  # fmt: skip


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIZED = frozen({"id": "a7", "image_size": [1000, 1000]})
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
    return _shared.published(
        name="gui-rcpo-published",
        dialect=_THOUSANDTHS if scale == "thousandths" else _NUMBERS,
        reward=weighted(consensus=(1.0, term)),
        success=InConsensus(max(2.0 * expand, 1.0)),
        space=CoordSpace.PIXEL,
        response_space=_SPACES[scale],
        accepts=(),
        source=Source("GUI-RCPO", "GUI-RCPO", "cd3bd51", ("open_r1/grpo_jsonl.py",)),
        answers="first",
        label_free=True,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("collapse", "all rollouts that give one and the same box score in full, whatever the screen", 1.0,
                    Example(f"({box})", _SIZED, group=(f"({box})",) * 3)),
            *((Exploit("disjoint", "places that nobody agrees with are worth 1 where all are so", 1.0,
                       Example(corner, _SIZED, group=lone)),) if 0 < expand < 100 else ()),
        ),
        formula="total = (1 / (|R| · v_max)) · Σ_R v\nv(x, y) = rollouts of the group whose place R holds the pixel",
        example=Example(f"({box})", _SIZED, group=(f"({box})", *around)),
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
