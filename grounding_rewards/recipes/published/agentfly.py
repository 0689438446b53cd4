"""AgentFly: a UI-TARS call of the right kind, near the target's centre or with its words, and a format."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.combine import steps, weighted
from grounding_rewards.parsing.literal import LiteralError, read_literal
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import limited
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.scoring import ACTION, BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Format
from grounding_rewards.verifiers.each_row import ByRow, Row

_REACH = 0.05 * 2**0.5
_SCREEN = [1920, 1080]
_CLICKS = ("click", "left_single", "left_double", "right_single")
_KINDS = {**dict.fromkeys(_CLICKS, "click"), **{
    name: name for name in ("type", "scroll", "drag", "hotkey", "wait", "finished", "hover", "long_press")
}}  # fmt: skip
_NO_TEXT = "no input text"
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\(")
_CONTENT = re.compile(r"\s*content\s*=\s*(['\"])(.*)\1\s*", re.DOTALL)
_ARGUMENT = re.compile(r"\s*+(\w++)\s*+=\s*+('[^']*+'|\"[^\"]*+\"|\([^()\n]*+\)|[^,'\"()\n]++)\s*+(,|$)")
_POINT = re.compile(r"<point>\s*+([^\s<]++)\s++([^\s<]++)\s*+</point>")
_TOKENS = re.compile(r"<\|box_(?:start|end)\|>|[()]")
_ANSWERED = "Thought: -\nAction: {}"


def agentfly() -> Recipe:
    """AgentFly's GUI reward: UI-TARS calls such as ``Action: click(start_box='(480,270)')`` on a screen of 1920 x 1080.

    total = 0.8 · (0.5 · kind + 0.5 · argument) + 0.2 · format. kind = 1 where the call is of the target's kind, in any
    case, left_single, left_double and right_single being clicks. argument, whatever the call: for a click 1 where the
    place, divided by 1920 and 1080, is less than 0.05 √2 from the centre of the target's box; for typing, 1 where the
    sets of words, without signs and in lower case, have F1 >= 0.5; for a scroll, 1 where the direction is in the
    target's text. Without a box or text it is 1, and for other kinds 0. format = 1 where a call is read after the last
    ``Action:``; a missing bracket at its end is added.

    Returns:
        A recipe with parts ``kind``, ``argument``, ``matched`` and ``format``, 0 <= total <= 1; ``acc`` is 1 where the
        kind and the argument are right.

    Source: AgentFly 1256586, ``rewards/gui_reward.py`` and ``utils/ui_action_parser.py``.
    """
    matched = weighted(kind=(0.5, ByRow(_kind)), argument=(0.5, ByRow(_argument)))
    return published(
        name="agentfly",
        dialect=_ANSWER,
        reward=weighted(matched=(0.8, matched), format=(0.2, Format())),
        success=steps("matched", matched, edges=[1.0], values=[0.0, 1.0]),
        space="unit",
        response_space="model_pixel",
        accepts={ACTION, BBOX},
        source=Source("AgentFly", "AgentFly", "1256586", ("rewards/gui_reward.py", "utils/ui_action_parser.py")),
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("any-click", "a double click, right click or long way around is as good as a click", 1.0,
                    Example(_ANSWERED.format("right_single(start_box='(480,270)')"), _target("click"))),
            Exploit("beside", "the size of the box plays no part: 0.07 of the screen beside its centre is right", 1.0,
                    Example(_ANSWERED.format("click(start_box='(612,270)')"), _target("click"))),
            Exploit("no-call", "what a target does not say is right, whatever the response", 0.4,
                    Example("-", _target("type"))),
        ),
        action_names=("select", "press"),
        formula="total = 0.4 · kind + 0.4 · argument + 0.2 · format\nargument: [near], [F1 >= 0.5] or [same direction]",
        example=Example(_ANSWERED.format("click(start_box='(480,270)')"), _target("click")),
    )  # fmt: skip


def _target(action: str) -> str:
    return f'{{"gt_action": "{action}", "gt_bbox": [0.2, 0.2, 0.3, 0.3], "gt_input_text": "{_NO_TEXT}"}}'


def _read(text: str) -> list[Act] | None:
    """Return the first call after the last ``Action: ``, its text, direction and the place of its box."""
    _, said, rest = text.rpartition("Action: ")
    part = rest.partition("\n\n")[0]
    call = _CALL.match(part) if said else None
    if call is None:
        return None
    inside = part[call.end() :].rstrip().removesuffix(")")
    content = _CONTENT.fullmatch(inside)
    if content:
        return [Act(call[1], (), {"text": _unescaped(content[2])})]
    end, place, fields = 0, [], {}
    while end < len(inside):
        argument = _ARGUMENT.match(inside, end)
        if argument is None:
            return None
        end, value = argument.end(), argument[2].strip("'\"")
        if argument[2][0] in "'\"" and argument[1] in ("start_box", "point"):
            try:
                place = [float(part) for part in _TOKENS.sub("", _POINT.sub(r"\1,\2", value)).split(",") if value]
            except ValueError:
                return None
        elif argument[1] == "direction":
            fields["text"] = value
    fits = len(place) in (2, 4) and all(each == each for each in place)
    return [Act(call[1], tuple(map(limited, place)) if fits else (), fields)]


def _unescaped(written: str) -> str:
    try:
        return str(read_literal(f'"""{written} """'))
    except LiteralError:
        return written


_ANSWER = Form("agentfly", read=_read, signs=("Action: ",))


def _kind(row: Row) -> float:
    """1.0 where the call is of the target's kind, any click being one kind, else 0.0."""
    action = row.target.action
    wanted = _KINDS.get((action.name if action else "click").lower())
    return float(wanted is not None and _KINDS.get(row.prediction.action.lower()) == wanted)


def _argument(row: Row) -> float:
    """1.0 where the place is near the target's centre, or the words or the direction agree, else 0.0."""
    action, written = row.target.action, row.prediction.arguments.get("text")
    kind = _KINDS.get((action.name if action else "click").lower())
    wanted = action.text if action and action.text != _NO_TEXT else ""
    if kind == "click":
        if not row.target.regions:
            return 1.0
        x1, y1, x2, y2 = row.target.regions[0].numbers
        return float(_away(row.prediction.xy, (x1 + x2) / 2, (y1 + y2) / 2) < _REACH)
    if kind not in ("type", "scroll") or not wanted:
        return float(kind in ("type", "scroll"))
    if kind == "scroll":
        return float(written is not None and written.lower() in wanted.lower())
    one, other = (set(re.sub(r"[^\w\s]", "", text.lower()).split()) for text in (written or "", wanted))
    return float(4 * len(one & other) >= len(one) + len(other))


def _away(place: tuple[float, ...] | None, x: float, y: float) -> float:
    return math.inf if place is None else float(((place[0] - x) ** 2 + (place[1] - y) ** 2) ** 0.5)


def _read_native(value: Any) -> dict[str, Any] | None:
    """Read ``{"gt_action": .., "gt_bbox": [..], "gt_input_text": ..}``."""
    if not isinstance(value, Mapping) or not value.get("gt_action"):
        return None
    wire: dict[str, Any] = {"model_image_size": _SCREEN}
    wire["action"] = {"name": value["gt_action"], "text": value.get("gt_input_text") or None}
    box = value.get("gt_bbox") if _KINDS.get(str(value["gt_action"]).lower()) == "click" else None
    return {**wire, "bbox": box} if box else wire


_NATIVE = NativeForm(
    '{"gt_action": .., "gt_bbox": [x1, y1, x2, y2] in shares of the screen, or [], "gt_input_text": ..}', _read_native
)

_DEVIATIONS = {**BAD_TARGET}
