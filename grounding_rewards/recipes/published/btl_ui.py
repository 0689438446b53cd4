"""BTL-UI: where to look, what to think, and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.actions import Objects, canonical
from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.combine import gate, weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space, convert
from grounding_rewards.literals import unique_keys
from grounding_rewards.parsing import BTL_UI
from grounding_rewards.parsing.literal import UNREAD, read_json
from grounding_rewards.parsing.published import BLANK, BLINK, USUAL_BOXES, USUAL_END, USUAL_WORDS, fenced
from grounding_rewards.parsing.readers import POINT_KEY, USUAL_NUMBER
from grounding_rewards.parsing.reading import MAX_ANSWERS
from grounding_rewards.parsing.texts import SPACE, Texts, as_texts, compiled, contains, extract, limited
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.targets.regions import Regions
from grounding_rewards.targets.target import NativeForm, RegionKind
from grounding_rewards.verifiers import JudgedFormat, Overlap
from grounding_rewards.verifiers.hit import inside_regions, screens
from grounding_rewards.verifiers.match import token_f1
from grounding_rewards.verifiers.options import Length, Share
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, Term

_PAPER = "BTL-UI: Blink-Think-Link Reasoning Model for GUI Agent"
_UNIQUE = json.JSONDecoder(object_pairs_hook=unique_keys)
_ARGUMENTS = ("text", "direction")
_BOX, _POINT = (100, 100, 300, 200), (200, 150)
_SCALE = {CoordSpace.PIXEL: 2, CoordSpace.MODEL_PIXEL: 1, CoordSpace.THOUSANDTHS: 1, CoordSpace.UNIT: 0.001}
_FENCE = "```js·?on"  # the source's own format asks for the dot
_ATOM = rf'(?:"{USUAL_WORDS}"|\[{USUAL_NUMBER}, ?{USUAL_NUMBER}\])'
_USUAL_ITEM = (
    rf'"(?:point_2d": ?\[{USUAL_NUMBER}, ?{USUAL_NUMBER}\]|'
    rf'Plan": ?"{USUAL_WORDS}", ?"Action": ?\{{"function": ?"{USUAL_WORDS}"(?:, ?"[a-z_0-9]+": ?{_ATOM})?\}})'
)
_USUAL = (
    rf"^{BLANK}<blink>{BLANK}```json{BLANK}{USUAL_BOXES}{BLANK}```{BLANK}</blink>{BLANK}<think>[^<]*</think>{BLANK}"
    rf"<link>{BLANK}{_FENCE}{BLANK}\[{BLANK}\{{{_USUAL_ITEM}\}}{BLANK}\]{USUAL_END}"
)
_LOOK, _THINK = rf"^{SPACE}<blink>{SPACE}```json", rf"```{SPACE}</blink>{SPACE}<think>"
_ACT, _DONE = rf"</think>{SPACE}<link>{SPACE}{_FENCE}", rf"```{SPACE}</link>"


def btl_ui(
    *,
    response_space: CoordSpace | str = CoordSpace.MODEL_PIXEL,
    format_weight: Length = 0.1,
    blink_weight: Length = 0.3,
    link_weight: Length = 0.6,
) -> Recipe:
    """BTL-UI's rewards for Blink, Think, Link: boxes to look at, thoughts, and an action, in pixels the model saw.

    total = f · format + b · blink + l · link. format = 1 where the response begins with ``<blink>``, ``<think>`` and
    ``<link>``, the first and the last with JSON in a ```json fence, and the link is a list of one item: a ``Plan`` with
    an ``Action``, or a ``point_2d``. blink = 1 where one of at most 256 boxes overlaps the target's by more than half
    of what they cover together, and no two of them do; always 1 for a target without a box. link = 1 where the first
    item of the link is a bare ``point_2d`` in the target's box, border excluded, or does what the target asks for:
    ``Tap`` and ``LongPress`` in the box and, of the target's point if it marks one, less than 0.14 of the screen away;
    ``Swipe`` in its direction; ``Type`` with an F1 of the words of at least 0.5; ``Home`` and ``Back`` where all that
    is said is the same. Other actions are never right, nor is a place whose target has no box. A bare point of the
    source's own rows asks for a bare point, a place alone in the wire form for that or a ``Tap``. Blanks between a tag
    and its fence do not matter, which the source's recorded values leave open.

    Args:
        response_space: the space that the model answers in; the source reads pixels of the resized image.
        format_weight: f, the weight of format, from 0; the source trains with 0.1.
        blink_weight: b, the weight of blink, from 0; the source trains with 0.3.
        link_weight: l, the weight of link, from 0; the source trains with 0.6.

    Returns:
        A recipe with parts ``format``, ``blink`` and ``link`` (the source's ``accuracy``), 0 <= total <= f + b + l.
        ``acc`` is the link, where a bare point does for a tap alone. Every row with a place needs the size of the
        image that the model saw.

    Source: BTL-UI 3ad21ff, ``recipe/btl-ui/reward_fn.py``.
    """
    space = as_space(response_space)
    weights = format_weight, blink_weight, link_weight
    link = LinkMatch()
    well_formed = JudgedFormat(is_well_formed, ("<link>", "</link>"), _USUAL)
    return published(
        name="btl-ui",
        dialect=BTL_UI,
        reward=weighted(format=(weights[0], well_formed), blink=(weights[1], Blink(space)), link=(weights[2], link)),
        success=gate(when=("link", link), then=("own_action", OwnAction())),  # a bare point does for a tap alone
        space=CoordSpace.MODEL_PIXEL,
        response_space=space,
        accepts={BBOX, POINT, "action"},
        source=Source(_PAPER, "BTL-UI", "3ad21ff", ("recipe/btl-ui/reward_fn.py",)),
        answers="first",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(space, *weights),
        formula=(
            "total = format_weight · format + blink_weight · blink + link_weight · link\n"
            "blink: a box has IoU > 0.5 with the target's, and no two boxes have; 1 for a target without\n"
            "link: a bare point in the box, or the target's action with its point, text or direction"
        ),
        example=_example(space, [_BOX], _plan("Tap", point_2d=_scaled(_POINT, space)), _plan("Tap", point_2d=_POINT)),
    )


def is_well_formed(text: str) -> bool:
    """Boxes, thoughts and a link of one item, written as ``btl_ui`` asks for; what follows them does not matter.

    The source's own fence of the link, which has a dot in the middle of the word, is one as well.
    """
    spans, end = [], 0
    for pattern in (_LOOK, _THINK, _ACT, _DONE):
        match = compiled(pattern).search(text, end)
        if match is None:
            return False
        spans.append(match.span())
        end = match.end()
    looks, link = (read_json(text[spans[each][1] : spans[each + 1][0]].strip(), UNREAD) for each in (0, 2))
    if looks is UNREAD or not isinstance(link, list) or len(link) != 1 or not isinstance(link[0], dict):
        return False
    return POINT_KEY in link[0] or ("Plan" in link[0] and "Action" in link[0])


def read_native(value: Any) -> dict[str, Any] | None:
    """``{"solution": [{"Plan": .., "Action": ..}], "bbox": [x1, y1, x2, y2]}``, or the solution alone."""
    row = value if isinstance(value, dict) and "solution" in value else {"solution": value}
    items = read_json(row["solution"], decoder=_UNIQUE) if isinstance(row["solution"], str) else row["solution"]
    item = items[0] if isinstance(items, list) and items else None
    action = (item.get("Action") or {}) if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(action, dict) or not (action or POINT_KEY in item):
        return None
    # Rows without a box have an empty list for it.
    wire = {key: field for key, field in row.items() if key not in ("solution", "extra") and field not in (None, [])}
    wire["extra"] = {"Action": item.get("Action"), "extra": row.get("extra")}
    point = action.get(POINT_KEY, item.get(POINT_KEY))
    if point is not None:
        wire["point"] = point
    if action:
        wire["action"] = {"name": action.get("function"), **{key: action[key] for key in _ARGUMENTS if key in action}}
    return wire


NATIVE = NativeForm(
    '{"solution": [{"Plan": .., "Action": {"function": .., ..}}] or [{"point_2d": [x, y]}], "bbox": [x1, y1, x2, y2] '
    "or []} in pixels of the image the model saw, the solution also as a JSON string",
    read_native,
)

_DEVIATIONS = {
    **BAD_TARGET,
    "documented-fence": "The format counts for a link in a ```json fence, as the prompt documents it; the source asks "
    "for a fence with a dot in the middle of the word, so that the documented answer never gets a tenth of the reward.",
    "leading-space": "White space in front of <blink> does not count in the format; the source scores it 0.",
}


def _exploits(space: CoordSpace, form: float, blink: float, link: float) -> tuple[Exploit, ...]:
    tap, typing = _plan("Tap", point_2d=_POINT), _plan("Type", text="the end")
    tiles = [(x, y, x + 200, y + 100) for x in (100, 300, 500, 700) for y in (100, 200, 300)]
    away = _plan("Tap", point_2d=_scaled((900, 900), space))
    home = frozen({"solution": json.dumps([_plan("Home")]), "bbox": []})
    known = (
        Exploit(
            "bare-point", "a point in the box, without an action, is right whatever the target asks to do there",
            form + blink + link, _example(space, [_BOX], {POINT_KEY: _scaled(_POINT, space)}, typing),
        ),
        Exploit(
            "half-the-words", "some common words of a text are enough", form + blink + link,
            _example(space, [_BOX], _plan("Type", text="the"), typing),
        ),
        Exploit(
            "tiling", "as many boxes as fit beside each other may be looked at: one that fits scores in full",
            form + blink, _example(space, tiles, away, tap),
        ),
        Exploit("any-look", "a target without a box gives the look, whatever the response", blink, Example("?", home)),
    )  # fmt: skip
    return tuple([exploit for exploit in known if exploit.payoff > 0])


def _plan(function: str, **arguments: Any) -> dict[str, Any]:
    return {"Plan": "Save it", "Action": {"function": function, **arguments}}


def _scaled(place: tuple[int, ...], space: CoordSpace) -> list[float]:
    return [number * _SCALE[space] for number in place]


def _example(
    space: CoordSpace, boxes: Iterable[tuple[int, ...]], item: dict[str, Any], asked: dict[str, Any]
) -> Example:
    """A response in any space, to what is asked for at a box in an image of 1000 by 1000 pixels that the model saw."""
    looks = json.dumps([{"bbox_2d": _scaled(box, space)} for box in boxes])
    text = (
        f"<blink>```json\n{looks}\n```</blink>\n<think>The button saves it.</think>\n"
        f"<link>```json\n{json.dumps([item])}\n```</link>"
    )
    target = frozen({"solution": json.dumps([asked]), "bbox": _BOX})
    return Example(text, target, image_size=(2000, 2000), model_image_size=(1000, 1000))


_BOX_KEY = "bbox_2d"
_BBOX = np.int8(RegionKind.BBOX)
_USUAL_LOOK = rf"^{BLANK}<blink>{BLANK}```json(?P<boxes>[^<`]*)```{BLANK}</blink>"
_SHAPE = rf"^{BLANK}{USUAL_BOXES}{BLANK}$"
_BESIDE_NUMBERS = str.maketrans("", "", '[]{}": \n')


@dataclass(frozen=True)
class Blink(Term):
    """1.0 where one of the boxes in ``<blink>`` fits the target's box and no two of them are alike, else 0.0.

    P fits B where |P ∩ B| / |P ∪ B| > ``overlap``; two boxes are alike where the same holds of them, so that
    suppressing all but one of those that are alike (NMS) leaves the list as it is. 1.0 for a target without a box,
    whatever the response. No list of boxes, a list of more than 256, or anything but boxes in it: 0.0. Several boxes
    of the target: any of them.

    Args:
        response_space: the space that the model answers in; the boxes are brought from it into the recipe's.
        overlap: the share that two boxes have in common.
    """

    response_space: CoordSpace
    overlap: Share = 0.5

    def __call__(self, rollouts: Rollouts) -> Floats:
        rows = len(rollouts)
        boxes, owner = _boxes_of(as_texts(rollouts.text))
        boxes = self._converted(boxes, owner, rollouts)
        score, fits = np.ones(rows), np.zeros(rows, dtype=np.bool_)  # 1.0 stays for targets without a box
        for row, truth in _by_rank(rollouts.targets.regions, rows):
            score[row] = 0.0
            fits[owner[self._alike(boxes, truth[owner])]] = True
        fits[self._crowded(boxes, owner, fits)] = False
        score[fits] = 1.0
        return score

    def row_numbers(self, rollouts: Rollouts, row: int, score: float) -> dict[str, float | str]:
        """Return the largest overlap of each box with the target's, and of two boxes."""
        regions = rollouts.targets.regions
        truth = regions.box[regions.row == row]
        boxes = self._converted(*_flat([read_boxes(rollouts.text[row])], np.array([row])), rollouts)
        if not len(boxes):
            return {"boxes": "none"}

        def most(box: Floats, others: Floats) -> float:
            return float(Overlap().between(np.tile(box, (len(others), 1)), others).max(initial=0.0))

        found: dict[str, float | str] = {
            f"({', '.join(f'{side:.6g}' for side in box)}) on the target": most(box, truth)
            for box in boxes[:MOST_BOXES]
        }
        found |= {"more boxes": len(boxes) - MOST_BOXES} if len(boxes) > MOST_BOXES else {}
        alike = [most(box, boxes[:at]) for at, box in enumerate(boxes) if at]
        return found | ({"the two most alike": max(alike)} if alike else {})

    def _converted(self, boxes: Floats, owner: Ints, rollouts: Rollouts) -> Floats:
        """Return the boxes in the recipe's space; ``owner`` has the row of each."""
        targets, into = rollouts.targets, rollouts.predictions.space
        if self.response_space is into:
            return boxes
        return convert(boxes, self.response_space, into, targets.image_sizes[owner], targets.model_image_sizes[owner])

    def _alike(self, a: Floats, b: Floats) -> geometry.Bools:
        shared = geometry.shared_area(a, b)
        # A box with its corners out of order shares nothing, and its area may be below 0.
        alike: geometry.Bools = shared > np.maximum(self.overlap * (geometry.area(a) + geometry.area(b) - shared), 0.0)
        return alike

    def _crowded(self, boxes: Floats, owner: Ints, chosen: geometry.Bools) -> Ints:
        """Those of the chosen rows in which two boxes are alike."""
        crowded: list[Ints] = []
        left = np.flatnonzero(chosen[owner])
        if len(left) < 2:
            return left[:0]
        boxes, owner = boxes[left], owner[left]
        first, apart = np.arange(len(owner)), 1
        # Each box with the next one of its row, then with the one after that, while any row is so long.
        while len(first := first[first < len(owner) - apart]):
            first = first[owner[first] == owner[first + apart]]
            crowded.append(owner[first[self._alike(boxes[first], boxes[first + apart])]])
            apart += 1
        return np.concatenate(crowded) if crowded else np.zeros(0, dtype=np.int64)


MOST_BOXES = 8
"""Boxes of a list that an explanation describes one by one, at most."""


def _by_rank(regions: Regions, rows: int) -> list[tuple[Any, Floats]]:
    """The targets' boxes, the first of each sample, then the second: which rows have one, and (n, 4) with NaN."""
    if regions.one_per_row and regions.boxes_only:
        return [(slice(None), regions.box)]
    chosen = np.flatnonzero(regions.kind == _BBOX)
    owner = regions.row[chosen]
    rank, boxes = np.arange(len(owner)) - np.searchsorted(owner, owner), []
    for each in range(rank.max(initial=-1) + 1):
        mine = rank == each
        truth = np.full((rows, 4), np.nan)
        truth[owner[mine]] = regions.box[chosen[mine]]
        boxes.append((owner[mine], truth))
    return boxes


def _boxes_of(texts: Texts) -> tuple[Floats, Ints]:
    """The boxes that n texts look at: (k, 4), and whose each is, in order."""
    if not texts.vectorised:
        read = [read_boxes(text) if BLINK in text else [] for text in texts.values]
        return _flat(read, np.arange(len(texts)))
    bodies = extract(texts.arrow, _USUAL_LOOK)["boxes"]
    import pyarrow.compute as pc

    usual = pc.fill_null(pc.match_substring_regex(bodies, pattern=_SHAPE), False)
    is_usual = np.asarray(usual.to_numpy(zero_copy_only=False), dtype=np.bool_)
    boxes, owner = _usual_boxes(bodies.filter(usual).to_pylist(), np.flatnonzero(is_usual))
    left = np.flatnonzero(~is_usual)
    for sign in ("</blink>", "```json"):
        left = left[contains(texts.take(left), sign)]
    if not len(left):
        return boxes, owner
    others, whose = _flat([read_boxes(texts.values[row]) for row in left.tolist()], left)
    boxes, owner = np.concatenate((boxes, others)), np.concatenate((owner, whose))
    order = np.argsort(owner, kind="stable")  # _crowded asks for the boxes of a row side by side
    return boxes[order], owner[order]


def _usual_boxes(bodies: list[str], rows: Ints) -> tuple[Floats, Ints]:
    """The boxes of lists in the usual form, which hold nothing but numbers beside brackets and keys."""
    counts = [body.count("{") for body in bodies]
    kept = [body for body, count in zip(bodies, counts, strict=True) if 0 < count <= MAX_ANSWERS]
    numbers = ",".join(kept).replace(_BOX_KEY, "").translate(_BESIDE_NUMBERS)
    boxes = np.array(json.loads(f"[{numbers}]"), dtype=np.float64).reshape(-1, 4)
    return boxes, rows.repeat([count if count <= MAX_ANSWERS else 0 for count in counts])


def _flat(read: list[list[tuple[float, ...]]], rows: Ints) -> tuple[Floats, Ints]:
    boxes = [box for each in read for box in each]
    stacked = np.array(boxes, dtype=np.float64) if boxes else np.zeros((0, 4))
    return stacked, rows.repeat([len(each) for each in read])


def read_boxes(text: str) -> list[tuple[float, ...]]:
    """The boxes that one text looks at; none where the list has too many, or anything else in it."""
    body = fenced(text, BLINK)
    items = None if body is None else read_json(body)
    if not isinstance(items, list) or len(items) > MAX_ANSWERS:
        return []
    boxes = [box for item in items if (box := _box(item)) is not None]
    return boxes if len(boxes) == len(items) else []


def _box(item: Any) -> tuple[float, ...] | None:
    box = item.get(_BOX_KEY) if isinstance(item, dict) else None
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(edge, int | float) for edge in box):
        return None
    return tuple(map(limited, box))


_TAP, _LONG_PRESS, _SWIPE, _TYPE, _HOME, _BACK = _NAMES = "Tap", "LongPress", "Swipe", "Type", "Home", "Back"
_FUNCTIONS = {
    "": _TAP, "click": _TAP, "long_press": _LONG_PRESS, "swipe": _SWIPE, "type": _TYPE, "home": _HOME, "back": _BACK,
}  # fmt: skip
_PRESSES = (_TAP, _LONG_PRESS)


@dataclass(frozen=True)
class LinkMatch(Term):
    """1.0 where the response does what the target asks for, else 0.0; names of actions are compared as written.

    A bare point: in the target's box. ``Tap`` and ``LongPress``: in the box and, of the point that the target marks, if
    it marks one, less than ``share`` of the screen away, ||(dx / width, dy / height)||. ``Swipe``: the same direction.
    ``Type``: an F1 of the words (``token_f1``) of at least ``words``. ``Home`` and ``Back``: all that is said. Other
    actions are never right. The border of a box is outside, and a place without a box holds nothing. A target in the
    wire form may also use the names of the shared vocabulary, and a place alone there asks for a tap; a bare point of
    BTL-UI's own rows asks for a bare point. Of several alternatives the best.

    Args:
        share: how far a tap may be from the marked point.
        words: the F1 from which on a text is right.

    Raises:
        TargetError: the recipe works in a pixel space, and the image size of a target that marks a point is unknown.

    Source: BTL-UI 3ad21ff, ``recipe/btl-ui/reward_fn.py``.
    """

    share: Length = 0.14
    words: Share = 0.5

    needs = NEEDS_SCREEN

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives, predictions = rollouts.targets.alternatives, rollouts.predictions
        actions = alternatives.each(predictions.actions).tolist()
        wanted, place = _functions(alternatives), self._places(rollouts).tolist()
        # A bare point need only be in the box, that of an action near the marked one, too.
        right = [at > 0 if not action else at > 1 for action, at in zip(actions, place, strict=True)]
        for row, (action, name) in enumerate(zip(actions, wanted, strict=True)):
            if action and (action != name or name not in _PRESSES):
                right[row] = action == name and self._says(rollouts, row, name)
        return alternatives.best(np.array(right, dtype=np.float64), len(rollouts))

    def _places(self, rollouts: Rollouts) -> Floats:
        """Return 1 where the point is in the box, 2 where it is near the point marked there as well: (k,)."""
        regions = rollouts.targets.regions
        inside = inside_regions(rollouts.predictions.xy, regions, border="strict")
        if regions.shapes is None or not inside.any():
            return rollouts.targets.alternatives.place_scores(inside * 2.0)
        marked = ~np.isnan(regions.point[:, 0])
        away = (regions.each(rollouts.predictions.xy) - regions.point) / screens(rollouts, "LinkMatch", marked)
        near = (geometry.lengths(away) < self.share) | ~marked
        return rollouts.targets.alternatives.place_scores(inside * (1.0 + near))

    def _says(self, rollouts: Rollouts, row: int, name: str) -> bool:
        """Return whether an action without a place says the right thing for an alternative."""
        alternatives, arguments = rollouts.targets.alternatives, rollouts.predictions.arguments
        sample, asked = alternatives.row[row], alternatives.arguments
        if name == _SWIPE:
            written, wanted = _value(arguments.direction, sample), _value(asked.direction, row)
            return written is not None and written == wanted
        if name == _TYPE:
            written, wanted = _value(arguments.text, sample), _value(asked.text, row)
            return written is not None and wanted is not None and token_f1(written, wanted) >= self.words
        return name in (_HOME, _BACK) and _whole(rollouts, sample) == (_source(alternatives, row) or {"function": name})


def _functions(alternatives: Alternatives) -> list[str]:
    """Return BTL-UI's name of each alternative's action; "" for a bare point of its own rows, which asks for none."""
    names = [_function(name) for name in alternatives.names.tolist()]
    return ["" if _source(alternatives, row, {}) is None else name for row, name in enumerate(names)]


def _source(alternatives: Alternatives, row: int, otherwise: Any = None) -> Any:
    """The action of one of BTL-UI's own rows, as it is there."""
    raw = _value(alternatives.arguments.raw, row)
    return raw.get("Action", otherwise) if isinstance(raw, dict) else otherwise


def _whole(rollouts: Rollouts, row: int) -> dict[str, Any]:
    """A response's action with all that it says."""
    predictions = rollouts.predictions
    arguments = predictions.arguments
    raw = _value(arguments.raw, row)
    if isinstance(raw, dict):
        return raw
    place = predictions.xy[row].tolist()
    fields = {"text": _value(arguments.text, row), "direction": _value(arguments.direction, row)}
    fields[POINT_KEY] = None if place[0] != place[0] else place
    return {"function": predictions.actions[row], **{key: field for key, field in fields.items() if field is not None}}


def _function(name: str) -> str:
    """Return BTL-UI's name of an action."""
    return name if name in _NAMES else _FUNCTIONS.get(canonical(name), name)


def _value(column: Objects | None, row: int) -> Any:
    return None if column is None else column[row]


@dataclass(frozen=True)
class OwnAction(Term):
    """1.0 where the response names an action, or its bare point lies in a box that is to be tapped, else 0.0.

    The border of a box is outside.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        named = np.asarray(rollouts.predictions.actions != "", dtype=np.float64)
        if named.all():
            return named
        alternatives = rollouts.targets.alternatives
        tapped = np.array([_function(name) == _TAP for name in alternatives.names.tolist()], dtype=np.bool_)
        inside = inside_regions(rollouts.predictions.xy, rollouts.targets.regions, border="strict")
        bare = alternatives.best(alternatives.place_scores(inside) * tapped, len(rollouts))
        return np.maximum(named, bare)
