"""BTL-UI: where to look, then what to do, judged by the rules of each action."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from grounding_rewards.combine import gate, weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.parsing import BTL_UI
from grounding_rewards.parsing.literal import UNREAD, read_json
from grounding_rewards.parsing.published import (
    BLANK,
    USUAL_BOXES,
    USUAL_END,
    USUAL_NUMBER,
    USUAL_WORDS,
)
from grounding_rewards.parsing.readers import POINT_KEY
from grounding_rewards.parsing.texts import SPACE, compiled
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.recipes._shared import BAD_TARGET, deviations
from grounding_rewards.recipes.published._btl_ui_blink import Blink
from grounding_rewards.recipes.published._btl_ui_link import LinkMatch, OwnAction
from grounding_rewards.scoring import BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.targets.unique_keys import unique_keys
from grounding_rewards.verifiers import JudgedFormat
from grounding_rewards.verifiers.options import Length

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
    return Recipe(
        name="btl-ui",
        dialect=BTL_UI,
        reward=weighted(format=(weights[0], well_formed), blink=(weights[1], Blink(space)), link=(weights[2], link)),
        success=gate(when=("link", link), then=("own_action", OwnAction())),  # a bare point does for a tap alone
        space=CoordSpace.MODEL_PIXEL,
        response_space=space,
        target_space=CoordSpace.MODEL_PIXEL,
        accepts=frozenset({BBOX, POINT, "action"}),
        source=Source(_PAPER, "BTL-UI", "3ad21ff", ("recipe/btl-ui/reward_fn.py",)),
        answers="first",
        thinking="read",
        native=NATIVE,
        deviations=deviations(_DEVIATIONS),
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

    >>> look, think = "<blink>```json [] ```</blink>", "<think>It is here.</think>"
    >>> link = '<link>```json [{"point_2d": [20, 10]}] ```</link>'
    >>> is_well_formed(look + think + link), is_well_formed(think + link)
    (True, False)
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
