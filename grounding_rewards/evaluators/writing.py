"""Actions of this package's words as rules write them in their evaluators' own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from grounding_rewards.actions import OPPOSITE, Act
from grounding_rewards.evaluators.compare import middle
from grounding_rewards.evaluators.rule import Size, Step
from grounding_rewards.verifiers.action_match import outcome

_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def pixels(place: Sequence[float], size: Size) -> list[float]:
    """Return a point or box in pixels of the screen, in shares as before where its size is not known."""
    return [round(share * side, 6) for share, side in zip(place, cycle(size or (1.0, 1.0)))]


def point(act: Act, size: Size) -> list[float]:
    """Return the centre of an action's place in pixels of the screen; 0, 0 of an action without one."""
    return pixels(middle(act.place) or (0.0, 0.0), size)


def boxes(step: Step) -> list[list[float]]:
    """Return the boxes of a step in pixels, x1, y1, x2, y2: its candidates, else that of its action."""
    found = step.boxes or ((step.act.place,) if len(step.act.place) == 4 else ())
    return [pixels(box, step.image_size) for box in found]


def ends(act: Act, size: Size) -> tuple[list[float], list[float]]:
    """Return where the finger of a scroll begins and ends, against the way of the view."""
    right, down = _WAYS.get(OPPOSITE.get(act.arguments.get("direction", ""), ""), (0, 0))
    start, end = (0.5 - 0.2 * right, 0.5 - 0.2 * down), (0.5 + 0.2 * right, 0.5 + 0.2 * down)
    return pixels(start, size), pixels(end, size)


def text(act: Act) -> str:
    """Return what an action types, opens or presses."""
    said = act.arguments
    return str(said.get("app") or said.get("text") or "+".join(said.get("keys", ())))


def failed(act: Act) -> bool:
    """Return True for an end that says that the task could not be done."""
    return outcome(act.arguments.get("status")) == "impossible"
