"""AgentCPM-GUI's targets: objects such as its responses, a box beside them, and the wire form brought to the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from grounding_rewards.actions import opposite
from grounding_rewards.parsing.published import BUTTONS, COMPACT_KEYS, STATUSES, THOUGHT
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.target import NativeForm

Form = dict[str, Any] | str
"""Wanted by a target: an object with AgentCPM-GUI's keys, or a free text."""

OWN = "agentcpm"
"""Key of the object in a target's ``extra``."""

ANYWHERE = (np.nan, np.nan)
"""The ``POINT`` of an action that has no place in the wire form: any will do."""

_STATUS = {"success": "finish", "infeasible": "impossible", "failure": "impossible", "fail": "impossible"}
_CLICKS = ("click", "double_click", "triple_click", "right_click", "middle_click")
# JSON that begins with a letter, and so is no free text.
_JSON_WORDS = ("null", "true", "false", "nan", "infinity", "none")


def read_native(value: Any) -> dict[str, Any] | None:
    """``{"POINT": [546, 252], "bbox": [[567, 568], [612, 642]]}``, or a free text.

    >>> read_native({"POINT": [500, 700], "to": "up"})["action"]
    {'name': 'swipe', 'direction': 'up'}
    >>> read_native("the answer is four")
    {'action': {'name': 'answer', 'text': 'the answer is four'}}
    """
    if isinstance(value, str):
        is_free = value[:1].isalpha() and value.strip().lower() not in _JSON_WORDS
        return {"action": {"name": "answer", "text": value}} if is_free else None
    if not isinstance(value, dict) or not any(key in value for key in COMPACT_KEYS):
        return None
    own = {key: value[key] for key in value if key in COMPACT_KEYS}
    rest = {key: value[key] for key in value if key not in own and key not in (THOUGHT, "bbox")}
    place = _place(own["POINT"], value.get("bbox")) if "POINT" in own else {}
    extra = rest.get("extra")
    kept = extra if isinstance(extra, dict) else {}
    return {**rest, **place, "action": _action(own), "extra": {**kept, OWN: own}}


NATIVE = NativeForm(
    '{"POINT": [x, y], "to": .., "duration": .., "TYPE": .., "PRESS": .., "STATUS": ..}, any of these, in thousandths, '
    'with "bbox": [[x1, y1], [x2, y2]] in pixels or without; or, where the whole response is to be a text, that text, '
    "which begins with a letter",
    read_native,
)


def _place(point: Any, box: Any) -> dict[str, Any]:
    """The box in pixels; without one, or beside a point that is none, the point, of which the wire form complains."""
    if box is None or not _is_pair(point):
        return {"point": point, "space": "thousandths"}
    flat = [*box[0], *box[1]] if isinstance(box, list) and [type(each) for each in box] == [list, list] else box
    return {"bbox": flat, "space": "pixel"}


def _action(own: Mapping[str, Any]) -> dict[str, Any]:
    """The wire form's action; it complains of values that are none."""
    action = {"name": _name(own)}
    for key, name in COMPACT_KEYS.items():
        if key in own and key not in ("POINT", "to"):
            action[name] = own[key]
    if "to" in own and not _is_pair(own["to"]):
        action["direction"] = own["to"]
    return action


def _name(own: Mapping[str, Any]) -> str:
    if "POINT" in own or "to" in own:
        return "swipe" if "to" in own else "long_press" if "duration" in own else "click"
    if "PRESS" in own:
        return str(own["PRESS"]).lower() or "key"
    return "type" if "TYPE" in own else "wait" if "duration" in own else "finished"


def _is_pair(value: Any) -> bool:
    """Two numbers of 0..1000."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(each) in (int, float) and 0 <= each <= 1000 for each in value)
    )


def forms_of(targets: Targets) -> Sequence[Form]:
    """Return the wanted object of each alternative: its own, or the one that the wire form's action comes down to."""
    alternatives = targets.alternatives
    extras = alternatives.arguments.raw
    forms: list[Any] = [None] * len(alternatives)
    if extras is not None:
        forms = [_own(extra) for extra in extras.tolist()]
    if None in forms:
        rows = zip(forms, _wire_actions(alternatives.canonical), _points(targets), strict=True)
        forms = [_form(*action, point) if form is None else form for form, action, point in rows]
    return forms


def _wire_actions(canonical: Alternatives) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each alternative's name and arguments; ``to`` is the point where it ends, the middle of a box."""
    columns = {key: canonical.arguments.column(key, len(canonical)).tolist() for key in ("text", "direction", "status")}
    to = canonical.arguments.to
    if to is not None:
        columns["to"] = ((to[:, :2] + to[:, 2:]) / 2).tolist()
    rows = zip(*columns.values(), strict=True)
    return (
        (name, dict(zip(columns, row, strict=True))) for name, row in zip(canonical.names.tolist(), rows, strict=True)
    )


def _own(extra: Any) -> dict[str, Any] | None:
    """The object that ``read_native`` kept; None where something else stands in its place."""
    own = extra.get(OWN) if isinstance(extra, dict) else None
    if not isinstance(own, dict) or not own or not set(own) <= set(COMPACT_KEYS):
        return None
    return own if _is_pair(own.get("POINT", [0, 0])) else None


def _points(targets: Targets) -> list[Sequence[float]]:
    """Each alternative's place: the marked point, or the centre; ``ANYWHERE`` without one."""
    regions, places = targets.regions, targets.alternatives.place.tolist()
    marked = regions.point
    points = np.where(np.isnan(marked), regions.centre, marked).tolist()
    return [points[place] if place >= 0 else ANYWHERE for place in places]


def _form(name: str, arguments: Mapping[str, Any], point: Sequence[float]) -> Form:
    """An action of the vocabulary as AgentCPM-GUI writes it; one that it has no word for, which nothing matches."""
    if name in _CLICKS:
        return {"POINT": point}
    if name == "long_press":
        return {"POINT": point, "duration": None}
    if name in ("scroll", "drag"):
        direction = arguments["direction"]
        return {"POINT": point, "to": opposite(direction) if direction is not None else arguments.get("to")}
    if name == "type":
        return {"TYPE": arguments["text"]}
    if name == "answer":
        return arguments["text"] or ""
    if name == "wait":
        return {"duration": None}
    if name == "finished":
        status = arguments["status"] or "finish"
        return {"STATUS": status if status in STATUSES else _STATUS.get(status, status)}
    return {"PRESS": name.upper()} if name.upper() in BUTTONS else {name: None}
