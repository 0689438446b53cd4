"""InfiGUI-G1: several points may be tried; the sooner and the fewer, the better."""

from __future__ import annotations

from grounding_rewards.combine import gate, weighted
from grounding_rewards.parsing import POINT_LIST, THOUGHT_POINT_LIST
from grounding_rewards.recipes._shared import BAD_TARGET, box_by_edges, by_edges, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Exploration, Hit, NotCollinear
from grounding_rewards.verifiers.options import Length

_PAPER = "InfiGUI-G1: Advancing GUI Grounding with Adaptive Exploration Policy Optimization"
_TARGET = by_edges(100, 100, 300, 200)
_THOUGHT = "<think>It is in the toolbar.</think>\n"


def infigui_g1(*, no_think: bool = False, format_weight: Length = 1.0) -> Recipe:
    """InfiGUI-G1's adaptive exploration reward: a JSON list of points, in pixels of the image the model saw.

    total = w · format + exploration. exploration = 1 / sqrt(N · k) where the k-th of N points is the first in the box,
    borders included, and -1 / N where none is; an empty list is -1. format = 1 where the response can be read. Where it
    cannot be, or three points lie on one line, format = 0 and exploration = -1.

    The response is one block of thinking, not empty, and then the first list in the text; what follows it does not
    matter. Of a list of more than 256 points none is read.

    Args:
        no_think: no thinking is asked for, and the list may stand anywhere. Where the prompt opens the thinking, so
            that the response does not, set this and ``thinking="open"``.
        format_weight: w, the weight of format, from 0; the source trains with 1.

    Returns:
        A recipe with parts ``format`` and ``exploration``, -1 <= total <= 1 + w. ``acc`` is 1 where the first point is
        in the box and the format is 1, the source's ``first_correct``: the first point is the one to click.

    Source: InfiGUI-G1 22208e4, ``recipe/infigui-g1/reward_fn.py``.
    """
    readable = NotCollinear()
    return published(
        name="infigui-g1",
        dialect=POINT_LIST if no_think else THOUGHT_POINT_LIST,
        reward=weighted(format=(format_weight, readable), exploration=(1.0, Exploration())),
        success=gate(when=("format", readable), then=("hit", Hit())),
        space="model_pixel",
        accepts={BBOX},
        source=Source(_PAPER, "InfiGUI-G1", "22208e4", ("recipe/infigui-g1/reward_fn.py",)),
        answers="all",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(format_weight),
        formula=(
            "total = format_weight · format + exploration\n"
            "exploration = 1 / sqrt(N · k) where the k-th of N points is the first hit, else -1 / N\n"
            "unreadable, or three points on one line: format = 0, exploration = -1"
        ),
        example=Example(_points((200, 150)), _TARGET),
    )


def _points(*points: tuple[int, int]) -> str:
    items = ", ".join(f'{{"point_2d": [{x}, {y}], "label": "save"}}' for x, y in points)
    return f"{_THOUGHT}[{items}]"


def _exploits(weight: float) -> tuple[Exploit, ...]:
    curve = _points(*((500 + step, step * step) for step in range(50)))
    spraying = "50 wrong points, no three on a line, cost 0.02 where one wrong point costs 1"
    nothing = "an empty list scores like one wrong point, an unreadable response 1 less"
    return (
        Exploit("spraying", spraying, weight - 1 / 50, Example(curve, _TARGET)),
        Exploit("no-points", nothing, weight - 1.0, Example(f"{_THOUGHT}[]", _TARGET)),
    )


NATIVE = NativeForm('{"x1": .., "y1": .., "x2": .., "y2": ..} in pixels of the image the model saw', box_by_edges)

_DEVIATIONS = {
    **BAD_TARGET,
    "leading-space": "White space before <think> is read over; the source finds none at position 0 and scores -1.",
    "brackets-in-prose": "Words in brackets such as [1] are not a list; the source takes them for one and scores -1.",
    "brackets-in-strings": "The brackets of a label are text; the source takes them for the list's and scores -1.",
    "huge-number": "Numbers beyond 1e12, NaN and Infinity are read as 1e12, also in the test for a common line.",
    "no-extra": "A row whose extra_info is null, or no mapping, asks for thinking like one whose extra_info is empty; "
    "the source looks for no_think in a mapping.",
}
