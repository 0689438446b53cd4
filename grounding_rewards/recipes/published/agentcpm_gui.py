"""AgentCPM-GUI: the keys and values of a compact JSON action beside the target's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.actions import opposite
from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.combine import weighted
from grounding_rewards.parsing import AGENTCPM
from grounding_rewards.parsing.literal import LiteralError
from grounding_rewards.parsing.published import (
    BUTTONS,
    COMPACT_KEYS,
    FENCE,
    STATUSES,
    THOUGHT,
    compact_json,
    is_compact_action,
    is_fenced,
)
from grounding_rewards.parsing.texts import as_texts, contains
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.rollouts import Predictions, Rollouts
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.target import NativeForm, RegionKind
from grounding_rewards.verifiers.match import similarity
from grounding_rewards.verifiers.options import Share
from grounding_rewards.verifiers.terms import Term

_PAPER = "AgentCPM-GUI: Building Mobile-Use Agents with Reinforcement Fine-Tuning"
_SCREEN = (1080, 2400)


def agentcpm_gui(*, format_weight: Share = 0.0) -> Recipe:
    """AgentCPM-GUI's reward: objects such as ``{"POINT": [x, y], "to": "up"}``, points in thousandths.

    total = type + args + w · schema. type = 1 where the response has the target's keys and no others (``thought``
    aside), else 0. args = the mean over the target's keys of how right each value is, 0 where it is missing, less 0.3
    for each key missing, 0.1 for each that the target has not, and 0.05 for a ```json fence. Both are -1 where the
    response is no JSON5, breaks the schema or says nothing but a thought. schema = 1 where the response keeps to the
    schema, 0.5 where it does so in a fence, 0.3 where it is other JSON5, else 0.

    A ``POINT`` in the target's box, borders included and the point cut to whole pixels, is worth 0.95 + 0.05 · (1 - d /
    1000)³, d the larger distance to the box's centre along x or y in pixels; outside, 1 - (dx + dy) / 2, dx and dy the
    distances to the target's ``POINT`` in shares of the screen. Without a box it is worth 1 up to 0.01 along both, and
    beyond that as outside of one. ``TYPE`` is worth the ``similarity`` of both texts, ``duration`` 1 from 151 to 5000
    milliseconds, whatever the target's, all others 1 where they are equal. A target that is a free text scores type and
    args the ``similarity`` of the whole response with it.

    Targets in the wire form are brought to such objects: a scroll down is ``"to": "up"``, since AgentCPM-GUI says how
    the finger moves, and a long press has some ``duration``. A box whose image's size is not known, which only one that
    is not in pixels can be, is measured as if that were 1000 x 1000.

    Args:
        format_weight: w, the weight of format, 0 to 1; the source's is 0.3 where it uses the schema at all.

    Returns:
        A recipe with parts ``type`` (-1 to 1), ``args`` (-1.65 to 1) and ``schema``; ``acc`` is 1 where the keys are
        the target's, the point hits (its box, or within 0.01 of a point), and every other value is worth 1.

    Source: AgentCPM-GUI acbaf50, ``rft/trainer/utils/gui_eval.py``.
    """
    return published(
        name="agentcpm-gui",
        dialect=AGENTCPM,
        reward=weighted(type=(1.0, SameKeys()), args=(1.0, KeysAndValues()), schema=(format_weight, SchemaKept())),
        success=FullMatch(),
        space="thousandths",
        target_space="pixel",
        accepts={ACTION, BBOX, POINT},
        source=Source(_PAPER, "AgentCPM-GUI", "acbaf50", ("rft/trainer/utils/gui_eval.py",)),
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(format_weight),
        formula=(
            "total = type + args + format_weight · schema, type = [the target's keys and no others]\n"
            "args = mean of values - 0.3 · [keys missing] - 0.1 · [other keys] - 0.05 · [fence]\n"
            "POINT: 0.95 + 0.05 · (1 - d / 1000)³ in the box, 1 - (|dx| + |dy|) / 2 outside; -1 unread"
        ),
        example=Example('{"thought": "The button.", "POINT": [546, 252]}', _target(), image_size=_SCREEN),
    )


def _target(**own: Any) -> Any:
    return frozen(own or {"POINT": [546, 252], "bbox": [[567, 568], [612, 642]]})


def _exploits(weight: float) -> tuple[Exploit, ...]:
    small = _target(POINT=[546, 252], bbox=[[585, 600], [594, 609]])
    every = '{"POINT":[500,500],"to":"up","duration":1000,"TYPE":"a","PRESS":"HOME","STATUS":"finish"}'
    examples = {
        "near-miss": ("a miss 12 pixels below a small box earns more than an off-centre hit in a large one (1.957)",
                      1.9965, '{"POINT":[546,259]}', small),
        "same-row": ("a click half a screen away on the same row loses a quarter of one of two points",
                     1.75, '{"POINT":[46,252]}', small),
        "every-key": ("all six keys at once: the value that is right scores in full, each key too many costs 0.1",
                      0.5, every, _target(PRESS="HOME")),
        "any-duration": ("whatever the target's duration, 151 to 5000 is right",
                         2.0, '{"duration":151}', _target(duration=5000)),
    }  # fmt: skip
    return tuple([
        Exploit(name, what, payoff + weight, Example(response, target, image_size=_SCREEN))
        for name, (what, payoff, response, target) in examples.items()
    ])  # fmt: skip


_DEVIATIONS = {
    **BAD_TARGET,
    "long-texts": "Of texts that are not equal 512 characters are compared, fewer where a few characters come over and "
    "over, and the rest counts as different; the source gives them whole to difflib, whose time has no bound.",
}


FENCED, EXTRA, MISSING = 0.05, 0.1, 0.3
INSIDE, CENTRED = 0.95, 0.05
NEAR = 10.0
SHORTEST, LONGEST = 150.0, 5000.0

_BITS = {key: 1 << place for place, key in enumerate(COMPACT_KEYS)}
_UNKNOWN = 1 << len(_BITS)  # any other key of a target, which no response has
_COUNTS = np.array([mask.bit_count() for mask in range(2 * _UNKNOWN)])  # by mask: how many keys it stands for


@dataclass(frozen=True)
class SameKeys(Term):
    """1.0 where the response has the target's keys and no others, 0.0 where not, -1.0 where it is no valid action.

    For a free text, ``similarity`` of the whole response with it. Of several alternatives the best.
    """

    low = -1.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        forms = forms_of(rollouts.targets)
        keys, wanted = _keys(rollouts, forms)
        return _best(rollouts, forms, (keys == wanted).astype(np.float64))


@dataclass(frozen=True)
class KeysAndValues(Term):
    """Agreement of values and keys with the target's, -1.0 where the response is no valid action.

    The mean over the target's keys of how right each value is, 0.0 where it is missing, less 0.3 for each key missing,
    0.1 for each that the target has not, and 0.05 for a fence. Right is POINT in the target's box, both cut to whole
    pixels of the original image, by 0.95 + 0.05 · (1 - d / 1000)³, d the larger of the distances in x and y, in pixels,
    to the middle of the box; without a box by 1 where both are at most 10 thousandths off, and elsewhere by
    1 - (|dx| + |dy|) / 2000, in thousandths, from 0; duration by 1 above 150 and up to 5000; TYPE by ``similarity``;
    every other value by 1 where it is equal, else 0. For a free text, ``similarity`` of the whole response
    with it. Of several alternatives the best.
    """

    # The worst: five keys are missing, one is there instead, in a fence.
    low = -(5 * MISSING + EXTRA + FENCED)

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives, forms = rollouts.targets.alternatives, forms_of(rollouts.targets)
        keys, wanted = _keys(rollouts, forms)
        sums = np.zeros(len(forms))
        for key, rows in _common(keys, wanted):
            sums[rows] += _right(key, rollouts, rows, forms)
        scores = sums / np.maximum(_COUNTS[wanted], 1)
        scores -= EXTRA * _COUNTS[keys & ~wanted] + MISSING * _COUNTS[wanted & ~keys]
        scores -= FENCED * alternatives.each(_are_fenced(rollouts))
        return _best(rollouts, forms, np.maximum(scores, self.low))


@dataclass(frozen=True)
class SchemaKept(Term):
    """1.0 where the response keeps to the schema (0.5 in a fence), 0.3 where it is other JSON5, else 0.0."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        texts, parsed = as_texts(rollouts.text), rollouts.predictions.parsed
        scores = np.where(_are_fenced(rollouts), 0.5, 1.0)
        for row in np.flatnonzero(~parsed).tolist():
            scores[row] = _schema_score(texts.values[row])
        return scores


@dataclass(frozen=True)
class FullMatch(Term):
    """1.0 where the keys are the target's and every value is right: the point a hit, a text equal. Else 0.0.

    A point hits the target's box, borders included, where both are cut to whole pixels of the original image; without
    a box it is at most 10 thousandths off on either axis.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        forms = forms_of(rollouts.targets)
        keys, wanted = _keys(rollouts, forms)
        right = keys == wanted
        for key, rows in _common(keys, wanted):
            right[rows] &= _right(key, rollouts, rows, forms, full=True) == 1.0
        return np.maximum(_best(rollouts, forms, right.astype(np.float64), full=True), 0.0)


def _keys(rollouts: Rollouts, forms: Sequence[Form]) -> tuple[Ints, Ints]:
    """The keys that responses have, and that targets want, as bits: (k,) each."""
    keys = [() if isinstance(form, str) else tuple(form) for form in forms]
    known = {each: sum({_BITS.get(key, _UNKNOWN) for key in each}) for each in set(keys)}
    wanted = [known[each] for each in keys]
    return rollouts.targets.alternatives.each(_said(rollouts.predictions)), np.array(wanted, dtype=np.int64)


_NONE = np.array(None, dtype=np.object_)


def _said(predictions: Predictions) -> Ints:
    arguments = predictions.arguments
    keys = _BITS["POINT"] * ~np.isnan(predictions.xy[:, 0])
    for key, name in (*COMPACT_KEYS.items(), ("to", "direction")):
        column = getattr(arguments, name, None)
        if column is not None:
            first = column if column.ndim == 1 else column[:, 0]
            there = np.not_equal(first, _NONE) if first.dtype == np.object_ else ~np.isnan(first)
            keys = keys | _BITS[key] * there.astype(np.int64)
    return keys


def _common(keys: Ints, wanted: Ints) -> list[tuple[str, Ints]]:
    """The keys that any response has of those its target wants, and where."""
    both = keys & wanted
    held = int(np.bitwise_or.reduce(both)) if len(both) else 0
    return [(key, (both & bit).nonzero()[0]) for key, bit in _BITS.items() if held & bit]


def _best(rollouts: Rollouts, forms: Sequence[Form], scores: Floats, full: bool = False) -> Floats:
    """The scores (k,) of valid actions, -1 of others, and those of free texts; of several alternatives the best."""
    alternatives = rollouts.targets.alternatives
    scores = np.where(alternatives.each(rollouts.predictions.parsed), scores, -1.0)
    for index, form in enumerate(forms):
        if isinstance(form, str):
            text = rollouts.text[int(alternatives.row[index])]
            scores[index] = float(text == form) if full else similarity(text, form)
    return alternatives.best(scores, len(rollouts))


def _are_fenced(rollouts: Rollouts) -> geometry.Bools:
    """Return True for responses in a fence, thinking before it aside: (n,)."""
    texts = as_texts(rollouts.text)
    fenced = contains(texts, FENCE)
    for row in np.flatnonzero(fenced).tolist():
        text = texts.values[row]
        fenced[row] = is_fenced(text) or is_fenced(text.rpartition("</think>")[2])
    return fenced


def _schema_score(text: str) -> float:
    """The score of a text that is no action: it may still be JSON5, or an object without an action."""
    try:
        value = compact_json(text)
    except LiteralError:
        return 0.0
    if not is_compact_action(value):
        return 0.3
    return 0.5 if is_fenced(text) else 1.0


def _right(key: str, rollouts: Rollouts, rows: Ints, forms: Sequence[Form], full: bool = False) -> Floats:
    """Score one key's value in the rows that have it; with ``full`` 1.0 or 0.0."""
    wanted = [cast(dict[str, Any], forms[row])[key] for row in rows.tolist()]
    if key == "POINT":
        return _points_right(rollouts, rows, wanted, full)
    values = _column(rollouts, key, rows)
    if key == "duration":
        return ((values > SHORTEST) & (values <= LONGEST)).astype(np.float64)
    pairs = zip(values.tolist(), wanted, strict=True)
    if key == "TYPE" and not full:
        return np.array([similarity(text, right) for text, right in pairs])
    return np.array([float(value == right) for value, right in pairs])


def _column(rollouts: Rollouts, key: str, rows: Ints) -> NDArray[Any]:
    """One key's values as they are said; ``to`` is a direction or a pair."""
    count = len(rollouts)
    arguments, each = rollouts.predictions.arguments, rollouts.targets.alternatives.each
    values: NDArray[Any] = each(arguments.column("direction" if key == "to" else COMPACT_KEYS[key], count))[rows]
    if key == "to" and arguments.to is not None:
        ends = each(arguments.to)[rows].tolist()
        column = [way if way is not None else end for way, end in zip(values.tolist(), ends, strict=True)]
        values = np.empty(len(rows), dtype=np.object_)  # np.array would make a table of pairs
        values[:] = column
    return values


def _points_right(rollouts: Rollouts, rows: Ints, wanted: Sequence[Sequence[float]], full: bool) -> Floats:
    """Score points, in thousandths; where the target has a box, a hit counts in pixels of the image."""
    alternatives, regions = rollouts.targets.alternatives, rollouts.targets.regions
    points, right = alternatives.each(rollouts.predictions.xy)[rows], np.array(wanted, dtype=np.float64)
    away = np.abs(points - right)
    places = alternatives.place[rows]
    boxed = places >= 0 if regions.boxes_only else (places >= 0) & (regions.kind[places] == RegionKind.BBOX)
    hit = (away <= NEAR).all(axis=1) | ((places < 0) & np.isnan(right[:, 0]))
    shares = np.ones(len(rows))
    if np.count_nonzero(boxed):
        sizes = alternatives.each(rollouts.targets.image_sizes)[rows[boxed]]
        hit[boxed], shares[boxed] = _in_boxes(points[boxed], regions.box[places[boxed]], sizes)
    if full:
        return hit.astype(np.float64)
    return np.fmax(np.where(hit, shares, 1.0 - (away[:, 0] + away[:, 1]) / 2000.0), 0.0)  # NaN is 0.0


def _in_boxes(points: Floats, boxes: Floats, sizes: Floats) -> tuple[geometry.Bools, Floats]:
    """Score each point in its box. Points are cut to whole pixels, as in the source."""
    unknown = np.isnan(sizes)
    if np.count_nonzero(unknown):
        sizes = np.where(unknown, 1000.0, sizes)  # thousandths stand for pixels then
    pixels = np.floor(points / 1000.0 * sizes)
    low, high = _pixels(boxes[:, :2], sizes), _pixels(boxes[:, 2:], sizes)
    inside = ((low <= pixels) & (pixels <= high)).all(axis=1)
    left = 1.0 - np.abs(pixels - (low + high) / 2.0).max(axis=1) / 1000.0
    return np.asarray(inside), INSIDE + CENTRED * (left * left * left)


def _pixels(edges: Floats, sizes: Floats) -> Floats:
    """Edges in pixels, to the last digit as they were before they were brought into thousandths."""
    return (edges * (sizes / 1000.0)).round(6)


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
    """``{"POINT": [546, 252], "bbox": [[567, 568], [612, 642]]}``, or a free text."""
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
