"""Seven published formulas that reward something else than the right place.

    grounding-rewards check recipe examples/audit.py:SEAGENT

Each is written from its formula as a function of a response and a target, and takes targets as its paper has them and
as this package writes them. They are here to be looked at, not to train with: what is wrong with each stands beside it.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.scoring import Example

SCREEN = (1000, 800)
_UNREADABLE = ValueError, KeyError, IndexError, SyntaxError, AttributeError, TypeError, OverflowError
TARGET = {"bbox": [300, 200, 500, 400], "space": "pixel", "image_size": list(SCREEN)}


def iou(a: list[float], b: list[float], far: float = 0.0) -> float:
    """Intersection over union of two boxes; far is added to each side."""
    width, height = (max(0.0, min(a[k + 2], b[k + 2]) - max(a[k], b[k]) + far) for k in (0, 1))
    union = sum((x2 - x1 + far) * (y2 - y1 + far) for x1, y1, x2, y2 in (a, b)) - width * height
    return width * height / union if union else 0.0


def box_of(target: Any, extent: float | None = None) -> Any:
    """The box of a target of this package, in pixels or, with an extent, in numbers up to that; others as they are."""
    if not isinstance(target, dict) or "image_size" not in target:
        return target
    sides = [1.0, 1.0] if extent is None else [extent / side for side in target["image_size"]]
    return [number * side for number, side in zip(target["bbox"], sides * 2, strict=True)]


def middle(box: list[float]) -> tuple[float, float]:
    """The middle of a box."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def first(pattern: str, text: str) -> str | None:
    """The first group of the first match."""
    found = re.search(pattern, text, re.DOTALL)
    return found[1] if found else None


def nemorl_giou(response: str, target: Any) -> dict[str, Any]:
    """giou = IoU - (hull - union) / hull, both areas at least 0.001; correct = giou > 0.5.

    Numbers are meant to be 0 to 1, where the floor is larger than many widgets: the exact box of a small one is
    "incorrect". No answer (0) earns more than a far box (-0.97), and a box with its corners in the wrong order, whose
    hull has hardly an area, hundreds.

    Source: NVIDIA NeMo RL 7ea279a, environments/rewards.py.
    """
    answer = first("<answer>(.*)</answer>", response)
    form = 0.25 * bool(re.search("<think>.*</think>", response, re.DOTALL)) + 0.75 * (answer is not None)
    total = 0.0
    with suppress(ValueError):
        given = box_of(target, 1.0)
        texts = answer or "", given if isinstance(given, str) else str(given)
        a, b = ([float(number) for number in re.sub(r"[\[\]]", "", text).split(",")] for text in texts)
        (ax1, ay1, ax2, ay2), (bx1, by1, bx2, by2) = a, b
        both = max(0.0, min(ax2, bx2) - max(ax1, bx1)) * max(0.0, min(ay2, by2) - max(ay1, by1))
        union = max((ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - both, 1e-3)
        hull = max((max(ax2, bx2) - min(ax1, bx1)) * (max(ay2, by2) - min(ay1, by1)), 1e-3)
        total = both / union - (hull - union) / hull
    return {"giou": total, "correct": total > 0.5, "format": form, "score": total, "acc": total > 0.5}


def seagent(response: str, target: Any) -> dict[str, Any]:
    """Sum over pairs of calls: 1 for the same type, then 1 - (|dx| + |dy|) of clicks, or BLEU-4 of letters of texts.

    A click anywhere earns two thirds of a right one: the target's size plays no part, so that nothing tells 30 pixels
    beside a button from its middle. Texts of less than four letters earn nothing for being equal.

    Source: SEAgent c8887f1, src/r1-v/src/open_r1/grpo_gui.py.
    """
    given = box_of(target, 1000.0)
    wanted = given if isinstance(given, str) else "Action: click(start_box='({},{})')".format(*middle(given))
    total, asked_for = 0.0, _calls(wanted)
    with suppress(*_UNREADABLE):
        for (name, own), (other, asked) in zip(_calls(response), asked_for, strict=False):
            with suppress(*_UNREADABLE):
                kept, total = total, 0.0  # what a pair raises costs all that was earned before it
                total = kept + (1.0 + _worth(name, own, asked) if name == other else 0.0)
    return {"accuracy": total, "format": 0.0, "score": total, "acc": total > 1.95}


def _worth(name: str, own: dict[str, str], asked: dict[str, str]) -> float:
    if name in ("click", "left_single", "left_double", "right_single", "hover"):
        (x, y), (right, low) = (map(float, each["start_box"].strip(" ()").split(",")) for each in (own, asked))
        if not math.isfinite(x + y):
            raise ValueError(own["start_box"])
        return 1 - (abs(x - right) + abs(y - low)) / 1000
    if name in ("wait", "finished"):
        return 0.0
    for key in {"type": ["content"], "hotkey": ["key", "hotkey"], "scroll": ["direction"]}[name]:
        if key in own:
            return _bleu(own[key], asked.get(key, asked.get("key", "")))
    raise KeyError(name)


def _calls(text: str) -> list[tuple[str, dict[str, str]]]:
    calls = []
    for each in text.rpartition("Action:")[2].strip().split("\n\n"):
        call: Any = ast.parse(each.strip().replace("\n", "\\n"), mode="eval").body
        calls.append((call.func.id, {word.arg: ast.literal_eval(word.value) for word in call.keywords}))
    return calls


def _bleu(text: str, wanted: str) -> float:
    logs = 0.0
    for n in range(1, 5):
        own, asked = (Counter(each[k : k + n] for k in range(len(each) - n + 1)) for each in (text, wanted))
        if not (own & asked):
            return 0.0
        logs += math.log((own & asked).total() / own.total()) / 4
    return math.exp(logs + min(0.0, 1 - len(wanted) / len(text)))


def ton(response: str, target: Any) -> dict[str, Any]:
    """type = same action, value = a click at most 0.14 of the screen's side away, each 0 or 1.

    A right click is one within 269 pixels of the middle on a screen 1920 wide: next to a button is as good as on it.
    The source runs what the model wrote as code; here it has to be a plain value.

    Source: TON 22102c2, grpo_gui.py.
    """
    given = box_of(target, 1.0)
    wanted = first("<action>(.*?)</action>", given) if isinstance(given, str) else None
    same = near = 0.0
    with suppress(*_UNREADABLE):
        own: Any = ast.literal_eval((first("<action>(.*?)</action>", response) or "").strip())
        asked: Any = (
            {"action": "click", "position": list(middle(given))} if wanted is None else ast.literal_eval(wanted)
        )
        places = [
            json.loads(each["position"]) if isinstance(each.get("position"), str) else each.get("position")
            for each in (own, asked)
        ]
        if all(isinstance(place, list | None) for place in places):
            same = float(own["action"].lower() == asked["action"].lower())
        if same and asked["action"].lower() == "click" and not any(isinstance(number, str) for number in places[0]):
            a, b = (np.array(place, dtype=np.float32) for place in places)
            near = float(np.linalg.norm(a - b) <= np.float32(0.14))
    form = float(bool(re.fullmatch(r"<think>.*?</think>\s*<action>.*?</action>", response, re.DOTALL)))
    return {"type": same, "value": near, "format": form, "score": same + near + form, "acc": bool(same and near)}


def openguirl(response: str, target: Any) -> dict[str, Any]:
    """total = 1 · same element + 0.5 · IoU + 0.3 · click inside + 0.2 · same action - 0.5 · invalid.

    The element's name alone is half of all: whoever has seen the list of elements needs no place. A box around the
    whole screen costs only its 0.5.

    Source: OpenGUI-RL b72fe1d, reward/verifiable_reward.py.
    """
    own = json.loads(response)
    asked = (
        target if "image_size" not in target else {"element_id": "e1", "action_type": "click", "bbox": box_of(target)}
    )
    box, click, goal = own.get("bbox"), own.get("click_point"), asked.get("bbox")
    (width, height) = target.get("image_size") or (asked.get("image_width"), asked.get("image_height"))
    limit = [1.05 * side if width and height else math.inf for side in (width or 0, height or 0)]
    named = isinstance(own.get("element_id"), str) and bool(own["element_id"])
    same = float(named and own["element_id"] == asked.get("element_id"))
    action = float(
        bool(own.get("action_type")) and own["action_type"].lower() == (asked.get("action_type") or "").lower()
    )
    overlap = iou(box, goal) if box and goal else 0.0
    inside = float(bool(click and goal) and all(goal[k] <= click[k] <= goal[k + 2] for k in (0, 1)))
    invalid = not (box or click)
    if box:
        invalid |= box[2] < box[0] or box[3] < box[1] or min(box[:2]) < 0 or box[2] > limit[0] or box[3] > limit[1]
    if click:
        invalid |= min(click) < 0 or click[0] > limit[0] or click[1] > limit[1]
    total = same + 0.5 * overlap + 0.3 * inside + 0.2 * action - 0.5 * invalid
    return {
        "total": total, "valid": not invalid, "element_correct": same, "iou": overlap, "click_inside_target": inside,
        "action_type_correct": action, "invalid_format_penalty": float(invalid), "acc": overlap > 0.5 or inside > 0,
    }  # fmt: skip


def segzero(response: str, target: Any) -> dict[str, Any]:
    """total = tags + keys + (IoU > 0.5) + (corners 10 px off at most) + (points in the own box, near the target's).

    A whole answer with wrong places earns 2 of 5, and a box 10 pixels off as much as an exact one. Points are compared
    with the answer's own box, and may lie 100 pixels from those of the target.

    Source: Seg-Zero 42a3345, verl/utils/reward_score/seg.py.
    """
    given = box_of(target)
    if isinstance(given, str):
        found = re.fullmatch(
            r"<box>\((.*?),(.*?)\),\((.*?),(.*?)\)</box><points>\((.*?),(.*?)\),\((.*?),(.*?)\)</points>", given
        )
        numbers = [float(number) for number in found.groups()] if found else [math.nan] * 8
        goal, asked = numbers[:4], [numbers[4:6], numbers[6:]]
    else:
        goal, asked = given, [given[:2], given[2:]]
    terms = {"think": float(bool(re.fullmatch(r"<think>.*?</think>\s*<answer>.*?</answer>", response, re.DOTALL)))}
    terms |= dict.fromkeys(("seg_format", "iou", "box_l1", "point_l1"), 0.0)
    with suppress(*_UNREADABLE):
        data = {key.lower(): value for key, value in json.loads(first(r"(\{[^{}]*\})", response) or "").items()}
        box = next((value for key, value in data.items() if "bbox" in key), [])
        terms["iou"] = float(iou(box, goal, 1) > 0.5)
        terms["box_l1"] = float(sum(abs(a - b) for a, b in zip(box, goal, strict=True)) / 4 < 10)
        points = [[float(number) for number in data[key]] for key in ("points_1", "points_2")]
        terms["seg_format"] = float(all(len(point) == 2 for point in points))
        inside = all(box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in points)
        apart = [sum(map(math.dist, points, pair)) / 2 for pair in (asked, asked[::-1])]
        terms["point_l1"] = float(inside and min(apart) < 100)
    return {**terms, "total": sum(terms.values()), "acc": bool(terms["iou"])}


_NUMBER = r"(-?\d+(?:\.\d+)?)"
_POINT = rf"\({_NUMBER},\s*{_NUMBER}\)"
_BOXES = (rf"\[ *{', *'.join([_NUMBER] * 4)} *\]", rf"\({', *'.join([_NUMBER] * 4)}\)", rf"{_POINT},\s*{_POINT}")


def perception_r1(response: str, target: Any) -> dict[str, Any]:
    """grounding = IoU² of the first box with the target's, beside a format that anything beginning with < fulfils.

    IoU² of a box twice as wide and high as a small target is 0.06: a click in its middle, which would be right, earns
    what a miss earns.

    Source: Perception-R1 48d5558, src/open_r1/rewards.py.
    """
    given = box_of(target, 1000.0)
    goal = ast.literal_eval(given) if isinstance(given, str) else given
    boxes = (re.search(each, response) for each in _BOXES)
    box = next(([float(number) for number in found.groups()] for found in boxes if found), None)
    if box and "<|box_start|>" not in response:
        box = [int(1000 * number) for number in box]
    total = iou(box, list(goal)) ** 2 if box else 0.0
    thinks = re.fullmatch(r"<think>[^\n]*</think><answer>.*</answer>\n?", response, re.DOTALL)
    form, answered = float(response.startswith("<")), float(bool(thinks))
    return {"grounding": total, "format": form, "think_format": answered, "score": total + form, "acc": total > 0.25}


_PLACE = r"\(\s*([+-]?\d+)\s*,\s*([+-]?\d+)\s*\)"
_TOOLS = {
    "answer": (rf"\s*\(\s*Image_(\d+),\s*{_PLACE}\s*\)\s*", r"\(Image_\d+,\s*\(\d+\s*,\s*\d+\)\)"),
    "crop": (
        rf"\s*\(\s*Image_(\d+),\s*{_PLACE},\s*{_PLACE}\s*\)\s*",
        r"\(Image_\d+,\s*\(\d+,\s*\d+\),\s*\(\d+,\s*\d+\)\)",
    ),
    "extract": (
        r"""(?i:\s*\(\s*Image_(\d+),\s*['"]?(left|center|right)['"]?,\s*['"]?(top|center|bottom)['"]?\s*\)\s*)""",
        r"""\(Image_\d+,\s*"?(?:left|center|right)"?,\s*"?(?:top|center|bottom)"?\)""",
    ),
    "find_color": (r"(.*?)", r"\(Image_\d+,\s*\(\d+,\s*\d+,\s*\d+\)\)"),
}
"""The content of each tag as it is read, and as the format wants it."""


def spotlight(response: Any, target: Any, image_sizes: Any = (SCREEN,), offsets: Any = ((0, 0),)) -> dict[str, Any]:
    """total = 0.3 answer + 0.3 crop + 0.03 extract + 0.27 find_color + 0.1 format, over the turns of a conversation.

    Crops earn their mean IoU with the target, 1 only by cropping exactly its box; one thrice as wide and high 0.11.
    A wrong answer in the right form earns a quarter of a right one, and more with an honest detour by the tools.

    Source: GUI-Spotlight fedef29, spotlight/reward/tool_rubric.py.
    """
    turns = [("assistant", response)] if isinstance(response, str) else response
    goal, sizes = box_of(target), [target["image_size"]] if isinstance(target, dict) else image_sizes
    if isinstance(goal, str):
        goal = [int(number) for number in re.findall(r"\d+", goal)]
    known = isinstance(goal, list) and len(goal) == 4
    own = [at for at, (role, _) in enumerate(turns) if role == "assistant"]
    form, crops, views, colours = 0.0, [], [], []
    for at in own:
        text, after = turns[at][1], turns[at + 1][1] if at + 1 < len(turns) else ""
        form += _turn_form(text, after, last=at == own[-1])
        for image, *corners in _given("crop", text) if known else ():
            if image >= len(sizes):
                continue
            box = [corner + offsets[image][k % 2] for k, corner in enumerate(corners)]
            fits = corners[0] >= 0 <= corners[1] and all(corners[k + 2] <= sizes[image][k] for k in (0, 1))
            usable = fits and min(corners[2] - corners[0], corners[3] - corners[1]) >= 28
            crops.append(iou(box, goal) if usable else 0.0)
        for image, across, down in _given("extract", text):
            steps = ("left", "center", "right").index(across), ("top", "center", "bottom").index(down)
            start = [offsets[image][k] + sizes[image][k] * steps[k] // 4 for k in (0, 1)]
            views.append(known and _within(goal, start, [side // 2 for side in sizes[image]]))
        if "</find_color>" in text:
            shown = re.search(r"offset: \((\d+), (\d+)\).*?size (\d+)\D(\d+)", after, re.DOTALL)
            numbers = [int(number) for number in shown.groups()] if shown else []
            colours.append(bool(numbers) and known and _within(goal, numbers[:2], numbers[2:]))
    answer = 0.0
    said = [place for at in own for place in _given("answer", turns[at][1])][-1:] if known else []
    for image, *place in said:
        if image < len(offsets):
            answer = float(all(goal[k] <= place[k] + offsets[image][k] <= goal[k + 2] for k in (0, 1)))
    crop, extract = (sum(each) / len(each) if each else 0.0 for each in (crops, views))
    parts = {"answer": answer, "crop": crop, "extract": extract, "find_color": float(any(colours[:1]))}
    form *= 0.75 ** len(own)
    total = sum(weight * part for weight, part in zip((0.3, 0.3, 0.03, 0.27), parts.values(), strict=True)) + 0.1 * form
    return {**parts, "format": form, "total": total, "acc": bool(answer)}


def _turn_form(text: str, after: str, *, last: bool) -> float:
    """The format of one turn."""
    form = -min(0.3 * max(len(text) - 512, 0) / 512, 0.3)
    if not re.search("<think>((?!<think>).)*?</think>", text, re.DOTALL):
        return form - 0.3
    found = re.search(rf"</think>\s*<({'|'.join(_TOOLS)})>(.*?)</\1>", text, re.DOTALL)
    if found is None:
        return form
    if not re.fullmatch(_TOOLS[found[1]][1], found[2]):
        return form + 0.2
    earned = float(last) if found[1] == "answer" else 0.5 * (bool(after) and "rror" not in after)
    return form + 0.5 + earned


def _given(tool: str, text: str) -> list[Any]:
    """The first content of a tag, as numbers and words; none where it cannot be read."""
    found = re.search(f"<{tool}>{_TOOLS[tool][0]}</{tool}>", text, re.DOTALL)
    texts = found.groups() if found and max(map(len, found.groups())) < 4000 else ()
    return [[int(each) if each.lstrip("+-").isdigit() else each.lower() for each in texts]] if texts else []


def _within(box: list[float], start: Any, size: Any) -> bool:
    """True where a box lies in a region."""
    return all(start[k] <= box[k] and box[k + 2] <= start[k] + size[k] for k in (0, 1))


def _as_recipe(function: Any, response: str, response_space: str = "pixel") -> Any:
    """Make a recipe of a formula, with an answer in whose form policies play."""
    return replace(gr.wrap(function, response_space=response_space), example=Example(response, TARGET, SCREEN))


_UNIT_BOX = "<think>It is here.</think><answer>[0.3, 0.25, 0.5, 0.5]</answer>"
_ACTION = "<think>It is here.</think>\n<action>{'action': 'click', 'value': None, 'position': [0.4, 0.375]}</action>"
_POINTS = (
    "<think>It is here.</think>\n"
    '<answer>{"bbox": [300, 200, 500, 400], "points_1": [300, 200], "points_2": [500, 400]}</answer>'
)

NEMORL_GIOU = _as_recipe(nemorl_giou, _UNIT_BOX, "unit")
SEAGENT = _as_recipe(seagent, "Thought: It is here.\nAction: click(start_box='(400,375)')", "thousandths")
TON = _as_recipe(ton, _ACTION, "unit")
OPENGUIRL = _as_recipe(openguirl, '{"element_id": "e1", "bbox": [300, 200, 500, 400], "action_type": "click"}')
SEGZERO = _as_recipe(segzero, _POINTS)
PERCEPTION_R1 = _as_recipe(perception_r1, "<|box_start|>(300,250),(500,500)<|box_end|>", "thousandths")
SPOTLIGHT = _as_recipe(spotlight, "<think>It is here.</think>\n<answer>(Image_0, (400, 300))</answer>")
