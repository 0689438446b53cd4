"""GroundNext: six steps, by the distance to the box's corners inside it and to the box outside it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from grounding_rewards.combine import steps, weighted
from grounding_rewards.parsing import FIRST_CALL_INTEGERS
from grounding_rewards.parsing.first_call import USUAL_CALL, call_texts, coordinate, first_call
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.plain import frozen
from grounding_rewards.recipes.common import Line, bad_target, box_by_edges, extra_of, share, text_of, truth_of
from grounding_rewards.scoring import BBOX, Deviation, Example, Exploit, Recipe, Source
from grounding_rewards.spaces import CoordSpace, as_space
from grounding_rewards.truth import NativeForm
from grounding_rewards.verifiers import CornerDistance, Hit, JudgedFormat

_ACCEPTS = frozenset({BBOX})
_EDGES = (-0.5, -0.1, 0.0, 0.1, 0.5)
_VALUES = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)
_KEYS = ("x1", "y1", "x2", "y2")
_CALL = '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}</tool_call>'
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NO_PYTHON = ("true", "false", "null", "NaN", "Infinity")
_CONTENT = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def groundnext(*, response_space: CoordSpace | str = CoordSpace.PIXEL, format_weight: float = 0.0) -> Recipe:
    """GroundNext's clipped reward: the first tool call's coordinate, in pixels, as are the targets.

    total = (1 - w) · clipped + w · format. norm_distance is, in the box, 2 · (distance to the nearest corner) /
    diagonal, and outside it -(distance to the box) / (the largest such distance of a corner of the image), at least -1.
    clipped = 1 from norm_distance 0.5 on, 0.5 from 0.1, 0.1 from 0, -0.1 from -0.1, -0.5 from -0.5, -1 below and
    without an answer. format = 1 where the response has one call, to ``computer_use``, with an action and two whole
    numbers, else -1; GroundNext logs it and trains without it.

    Args:
        response_space: the space that the model answers in; the source hands over the size of the very image in whose
            pixels both answers and targets are.
        format_weight: w, 0 to 1; the source trains with 0.

    Returns:
        A recipe with parts ``norm_distance``, ``clipped`` and ``format``, -1 <= total <= 1; ``acc`` is 1 inside the
        box, border excluded. Every row needs its image size.

    Source: GroundCUA 81136d4, ``training/rl/recipe/groundnext/reward_clipped.py``.
    """
    weight = share("format_weight", format_weight)
    clipped = steps("norm_distance", CornerDistance(), _EDGES, _VALUES)
    well_formed = JudgedFormat(is_well_formed, ("</tool_call>", "]"), low=-1.0)
    flat = Example(_CALL.format([200, 100]), _wire(100, 100, 300, 110), image_size=(1000, 800))
    return Recipe(
        name="groundnext",
        dialect=FIRST_CALL_INTEGERS,
        reward=weighted(clipped=(1.0 - weight, clipped), format=(weight, well_formed)),
        success=Hit(border="strict"),
        space=CoordSpace.PIXEL,
        response_space=as_space(response_space),
        target_space=CoordSpace.PIXEL,
        accepts=_ACCEPTS,
        source=Source(
            "GroundCUA / GroundNext: Grounding Computer Use Agents on Human Demonstrations",
            "GroundCUA",
            "81136d4",
            ("training/rl/recipe/groundnext/reward_clipped.py",),
        ),
        answers="first",
        thinking="read",
        native=NATIVE,
        deviations=(_BAD_TARGET, _NO_CALL, _NO_NUMBERS, _BEYOND),
        exploits=(Exploit("long-edge", "the middle of a long edge is no success and paid in full", 1.0, flat),),
        formula=(
            "total = 1, 0.5, 0.1, -0.1, -0.5 or -1, with steps at norm_distance 0.5, 0.1, 0, -0.1, -0.5\n"
            "inside: norm_distance = 2 · (distance to the nearest corner) / diagonal\n"
            "outside: norm_distance = -(distance to the box) / (its largest from a corner of the image)"
        ),
        example=Example(_CALL.format([200, 150]), _wire(100, 100, 300, 200), image_size=(1000, 800)),
    )


def _wire(*box: int) -> Any:
    return frozen(dict(zip(_KEYS, box, strict=True)))


def is_well_formed(text: str) -> bool:
    """One complete call, to ``computer_use``, with an action and two whole numbers.

    The source gives the call to Python's ``eval``, which knows no ``true``, ``false`` or ``null``.

    >>> call = '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [1, 2]}}'
    >>> is_well_formed(f"<tool_call>{call}</tool_call>"), is_well_formed(call)
    (True, False)
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


def _call(line: Line) -> Any:
    """The JSON of the first call of a line; None where there is none."""
    call = _CONTENT.search(text_of(line))
    try:
        return json.loads(call[1]) if call else None
    except (ValueError, RecursionError):
        return None


def _point(line: Line) -> list[int] | None:
    """The two whole numbers that the first call of a line has as its coordinate."""
    try:
        found = _call(line)["arguments"]["coordinate"]
    except (KeyError, TypeError, IndexError):
        return None
    return found if isinstance(found, list) and [type(number) for number in found] == [int, int] else None


def _has_no_call(line: Line) -> bool:
    return _call(line) is None


def _has_no_point(line: Line) -> bool:
    return _point(line) is None


def _image_size(line: Line) -> Any:
    return extra_of(line).get("image_size")


def _is_beyond(line: Line) -> bool:
    """Is the point farther from the box than every corner of the image?"""
    point, truth = _point(line), truth_of(line)
    try:
        (x1, x2), (y1, y2) = sorted((truth["x1"], truth["x2"])), sorted((truth["y1"], truth["y2"]))
        width, height = _image_size(line)
    except (KeyError, TypeError, ValueError):
        return False
    limit = max(_away((x, y), x1, y1, x2, y2) for x in (0, width) for y in (0, height))
    return point is not None and x1 < x2 and y1 < y2 and _away(point, x1, y1, x2, y2) > limit


def _away(point: Any, x1: float, y1: float, x2: float, y2: float) -> float:
    x, y = (float(max(-1e100, min(1e100, number))) for number in point)
    return math.hypot(max(x1 - x, 0.0, x - x2), max(y1 - y, 0.0, y - y2))


def _lowest(line: Line) -> dict[str, float]:
    return {"total": -1.0, "acc": 0.0, "clipped": -1.0, "norm_distance": -1.0}


def _lowest_and_unformed(line: Line) -> dict[str, float]:
    return {**_lowest(line), "format": -1.0}


_BAD_TARGET = bad_target(NATIVE, CoordSpace.PIXEL, _ACCEPTS, size=_image_size)
_NO_CALL = Deviation(
    "no-call-is-no-point",
    "Without a complete call in JSON there is no point: the lowest score, and no format. The source reads such texts "
    "as a click on (0, 0), and judges the format by what eval() makes of the call.",
    _has_no_call,
    _lowest_and_unformed,
)
_NO_NUMBERS = Deviation(
    "no-numbers-are-no-point",
    "A call without two whole numbers as its coordinate is no point: the lowest score, and no format. The source reads "
    "it as a click on (0, 0), and true as 1.",
    _has_no_point,
    _lowest_and_unformed,
)
_BEYOND = Deviation(
    "beyond-the-corners",
    "norm_distance is at least -1. The source's has no bound for clicks farther from the box than every corner of the "
    "image, and its arithmetic fails on numbers of several hundred digits.",
    _is_beyond,
    _lowest,
)
