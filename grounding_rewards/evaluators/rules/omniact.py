"""UGround's rule of OmniACT: a script's lines one by one, less a penalty of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, hypot, log
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import boxes, point, text
from grounding_rewards.evaluators.rule import Size, Step, StepRule, StepVerdict

_WORDS = {
    "double_click": "doubleClick", "right_click": "rightClick", "hover": "moveTo", "drag": "dragTo", "type": "write",
}  # fmt: skip
_LINE = re.compile(r"(?:pyautogui\.)?(\w*)\(?(.*)")


def _judge(response: str, gold: Mapping[str, Any], size: Size, options: Mapping[str, Any]) -> StepVerdict:
    answers, rights = _lines(response), _lines(gold["script"].lower())
    followed = gold.get("sequence_matches")
    if followed is None:
        followed = [name.lower() for name, _ in answers] == [name for name, _ in rights]
    penalties = dict.fromkeys(("click", "press", "write"), 0.0)
    for row, (name, right) in enumerate(rights if followed else ()):
        said = answers[row][1]
        if name == "click":
            penalties["click"] += _aside(_place(said), _place(right), gold["boxes"]) / len(rights)
        elif name in ("press", "hotkey"):
            penalties["press"] += (_keys(said) != _keys(right)) / len(rights)
        elif name == "write":
            penalties["write"] += (1 - _bleu(_bare(said), _bare(right))) / len(rights)
    score = max(0.0, 1 - sum(penalties.values())) if followed else 0.0
    read = followed or "pyautogui." in response
    parts = {"sequence": float(followed), "action": score, **penalties}
    return StepVerdict(None, None, score == 1, score, read, parts)


def _lines(script: str) -> list[tuple[str, str]]:
    """Return the name and the arguments of each line."""
    return [(line[1], line[2].rpartition(")")[0]) for line in map(_LINE.match, script.strip().split("\n")) if line]


def _place(said: str) -> tuple[float, float]:
    """Return the place that a line names, or the first corner where it names none."""
    try:
        x, y = map(float, said.split(","))
    except ValueError:
        return 0.0, 0.0
    return x, y


def _aside(place: tuple[float, float], right: tuple[float, float], boxes: Mapping[str, Any]) -> float:
    """Return the penalty of a click: 1 - m / (m + distance to the box), m its diagonal; 0.0 without a box."""
    for box in boxes.values():
        (x1, y1), (x2, y2) = box["top_left"], box["bottom_right"]
        if ((x1 + x2) / 2, (y1 + y2) / 2) == right:
            apart = hypot(max(x1 - place[0], place[0] - x2, 0), max(y1 - place[1], place[1] - y2, 0))
            diagonal = hypot(x2 - x1, y2 - y1)
            return 1 - diagonal / (apart + diagonal)
    return 0.0


def _keys(said: str) -> set[str]:
    return {each.strip(" '\"") for each in said.split(",")}


def _bare(said: str) -> str:
    """Return the text between the first quote and its last."""
    said = said.strip()
    return said[1 : said.rfind(said[:1])]


def _bleu(said: str, right: str) -> float:
    """Return BLEU of single characters and pairs; 0.0 without a common pair."""
    shares = [
        sum((Counter(parts) & Counter(rights)).values()) / max(1, len(parts))
        for parts, rights in ((list(said), list(right)), (list(pairwise(said)), list(pairwise(right))))
    ]
    if not all(shares):
        return 0.0
    return min(1.0, exp(1 - len(right) / len(said))) * exp(sum(map(log, shares)) / 2)


def _gold(step: Step) -> dict[str, Any]:
    found = {str(row): {"top_left": box[:2], "bottom_right": box[2:]} for row, box in enumerate(boxes(step))}
    place = point(Act("", step.boxes[0] if step.boxes else step.act.place), step.image_size)
    return {"script": _script(step.act, place), "boxes": found}


def _script(act: Act, place: Sequence[float]) -> str:
    name, keys, way = _WORDS.get(act.name, act.name), act.arguments.get("keys", ()), act.arguments.get("direction")
    said = f'"{text(act)}"'
    if name == "scroll":
        name = "hscroll" if way in ("left", "right") else name
        said = "10" if way in ("up", "right") else "-10"
    elif act.place:
        said = ", ".join(map(str, place))
    elif name in ("key", "enter"):
        name = "hotkey" if len(keys) > 1 else "press"
        said = ", ".join(f'"{key}"' for key in keys or (act.name,))
    return f"pyautogui.{name}({said})"


UGROUND = StepRule(
    "uground", "OSU-NLP-Group/UGround 3a9b9f2, evaluation of OmniACT", _judge,
    lambda act, size: _script(act, point(act, size)), _gold,
    faults="What is right is lower-cased, so rightClick, doubleClick, moveTo and dragTo are right anywhere and a text "
    "with capitals never is; a text of one letter is wrong; a place that is not read is (0, 0).",
    space="pixel",
)  # fmt: skip
