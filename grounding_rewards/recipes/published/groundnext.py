"""GroundNext: six steps, by the distance to the box's corners inside it and to the box outside it."""

from __future__ import annotations

import math
import re
from typing import Any

from grounding_rewards.combine import steps, weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.parsing import FIRST_CALL_INTEGERS
from grounding_rewards.parsing.readers import USUAL_CALL, call_texts, coordinate, first_call
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.recipes._shared import BAD_TARGET, box_by_edges, by_edges, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import CornerDistance, Hit, JudgedFormat
from grounding_rewards.verifiers.options import Share

_PAPER = "GroundCUA / GroundNext: Grounding Computer Use Agents on Human Demonstrations"
_EDGES = (-0.5, -0.1, 0.0, 0.1, 0.5)
_VALUES = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)
_CALL = '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}</tool_call>'
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NO_PYTHON = ("true", "false", "null", "NaN", "Infinity")


def groundnext(*, response_space: CoordSpace | str = CoordSpace.PIXEL, format_weight: Share = 0.0) -> Recipe:
    """GroundNext's clipped reward: the first tool call's coordinate, in pixels, as are the targets.

    total = (1 - w) · clipped + w · format. norm_distance is, in the box, 2 · (distance to the nearest corner) /
    diagonal, and outside it -(distance to the box) / (the largest such distance of a corner of the image), at least -1.
    clipped = 1 from norm_distance 0.5 on, 0.5 from 0.1, 0.1 from 0, -0.1 from -0.1, -0.5 from -0.5, -1 below and
    without an answer. format = 1 where the response has one call, to ``computer_use``, with an action and two whole
    numbers, else -1; GroundNext logs it and trains without it.

    Args:
        response_space: the space that the model answers in; the source hands over the size of the very image in whose
            pixels both answers and targets are.
        format_weight: w, the weight of format, 0 to 1; the source trains with 0.

    Returns:
        A recipe with parts ``norm_distance``, ``clipped`` and ``format``, -1 <= total <= 1; ``acc`` is 1 inside the
        box, border excluded. Every row needs its image size.

    Source: GroundCUA 81136d4, ``training/rl/recipe/groundnext/reward_clipped.py``.
    """
    clipped = steps("norm_distance", CornerDistance(), _EDGES, _VALUES)
    well_formed = JudgedFormat(is_well_formed, ("</tool_call>", "]"), low=-1.0)
    flat = Example(_CALL.format([200, 100]), by_edges(100, 100, 300, 110), image_size=(1000, 800))
    return published(
        name="groundnext",
        dialect=FIRST_CALL_INTEGERS,
        reward=weighted(clipped=(1.0 - format_weight, clipped), format=(format_weight, well_formed)),
        success=Hit(border="strict"),
        space=CoordSpace.PIXEL,
        response_space=as_space(response_space),
        accepts={BBOX},
        source=Source(_PAPER, "GroundCUA", "81136d4", ("training/rl/recipe/groundnext/reward_clipped.py",)),
        answers="first",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=(Exploit("long-edge", "the middle of a long edge is not a success and scores in full", 1.0, flat),),
        formula=(
            "total = (1 - format_weight) · clipped + format_weight · format\n"
            "clipped = 1, 0.5, 0.1, -0.1, -0.5 or -1, with steps at norm_distance 0.5, 0.1, 0, -0.1, -0.5\n"
            "norm_distance = 2 · (nearest corner) / diagonal inside, -gap / (largest of the image) outside"
        ),
        example=Example(_CALL.format([200, 150]), by_edges(100, 100, 300, 200), image_size=(1000, 800)),
    )


def is_well_formed(text: str) -> bool:
    """One complete call, to ``computer_use``, with an action and two whole numbers.

    The source gives the call to Python's ``eval``, which knows no ``true``, ``false`` or ``null``.
    """
    if compiled(USUAL_CALL).search(text):
        return True
    contents, call = call_texts(text), first_call(text)
    if len(contents) != 1 or coordinate(call, (int,)) is None or call.get("name") != "computer_use":
        return False
    bare = _STRING.sub("", contents[0])
    return isinstance(call["arguments"].get("action"), str) and not any(name in bare for name in _NO_PYTHON)


def read_native(value: Any) -> dict[str, Any] | None:
    """``{"x1": .., "y1": .., "x2": .., "y2": ..}`` in pixels; swapped corners are put in order, as in the source."""
    fields = box_by_edges(value)
    box = fields["bbox"] if fields else []
    if fields and all(type(edge) in (int, float) and math.isfinite(edge) for edge in box):
        fields["bbox"] = [*map(min, box[:2], box[2:]), *map(max, box[:2], box[2:])]
    return fields


NATIVE = NativeForm('{"x1": .., "y1": .., "x2": .., "y2": ..} in pixels', read_native)

_DEVIATIONS = {
    **BAD_TARGET,
    "no-call-is-no-point": "Without a complete call in JSON there is no point: the lowest score, and no format. The "
    "source reads such texts as a click on (0, 0), and judges the format by what eval() makes of the call.",
    "no-numbers-are-no-point": "A call without two whole numbers as its coordinate is not a point: the lowest score, "
    "and no format. The source reads it as a click on (0, 0), and true as 1.",
    "beyond-the-corners": "norm_distance is at least -1. The source's has no bound for clicks farther from the box "
    "than every corner of the image, and its arithmetic fails on numbers of several hundred digits.",
}
