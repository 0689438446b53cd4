"""GUI-RCPO: a click is worth what the other rollouts of its group agree with it. No label is needed."""

from __future__ import annotations

from dataclasses import replace

from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space, sizes_needed
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.consensus import SIZE
from grounding_rewards.plugins.config import frozen
from grounding_rewards.recipes._shared import answering_space, click_example, dialect_named, shown_with, written
from grounding_rewards.scoring import Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import Consensus, InConsensus

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
