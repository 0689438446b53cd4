"""Layouts in which benchmarks of whole actions and their evaluators write steps, recognised by their fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import hypot
from typing import Any

from grounding_rewards.actions import Act, normalised, opposite, towards
from grounding_rewards.errors import TargetError
from grounding_rewards.steps.rule import Size, Step

Row = Mapping[str, Any]


@dataclass(frozen=True)
class StepLayout:
    """Layout of a benchmark's steps.

    Attributes:
        name: what errors call it.
        fields: columns by which it is recognised.
        read: a row and the size of its screenshot -> its step.
        ids: columns of the episode and of the step's place in it.
        own: rules whose own form of what is right the rows hold.
        gold: a row -> that form.
        sized: True where places are in pixels.
    """

    name: str
    fields: frozenset[str]
    read: Callable[[Row, Size], Step]
    ids: tuple[str, str] = ("episode_id", "step_id")
    own: tuple[str, ...] = ()
    gold: Callable[[Row], Any] = dict
    sized: bool = False


@dataclass(frozen=True)
class StepBenchmark:
    """A benchmark of whole actions.

    Attributes:
        name: name of the option.
        title: what texts call it.
        layouts: layouts of its rows, in the order in which they are tried.
        counts: numbers of steps that papers evaluate, and whose they are.
        labels: columns that say more of a step, by name.
    """

    name: str
    title: str
    layouts: tuple[StepLayout, ...]
    counts: Mapping[int, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ("subset",)


def size_of(row: Row) -> Size:
    """Return the size of a row's screenshot as the row says it; None where it does not."""
    for names in (("image_width", "image_height"), ("width", "height"), ("w", "h")):
        if all(isinstance(row.get(each), int | float) for each in names):
            return float(row[names[0]]), float(row[names[1]])
    size = row.get("image_size") or row.get("device_info")
    if isinstance(size, Mapping):
        return size_of(size)
    return (float(size[0]), float(size[1])) if size else None


def steps_of(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the steps of an episode as rows, with what it says of all of them; a row of a step is itself."""
    inner = next((each for each in ("steps", "actions") if isinstance(row.get(each), list)), None)
    if inner is None:
        yield dict(row)
        return
    whole = {name: value for name, value in row.items() if name != inner}
    for number, each in enumerate(row[inner]):
        yield {"step_id": number, **whole, **each}


def _json(value: Any) -> Any:
    """Return the value that a text of JSON holds, and any other as it is."""
    return json.loads(value) if isinstance(value, str) and value.strip() else value


def _pair(row: Row, name: str) -> tuple[float, float]:
    value = _json(row[name])
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(type(each) in (int, float) for each in value):
        raise TargetError(0, name, row[name], "two numbers")
    return float(value[0]), float(value[1])


_KINDS = {0: "long_press", 1: "wait", 3: "type", 5: "back", 6: "home", 7: "enter", 10: "finished", 11: "finished",
          12: "open_app"}  # fmt: skip
_TAP = 0.04  # share of the screen up to which touch and lift are one place


def _aitw(row: Row, size: Size) -> Step:
    """Read a row of AITW's fields, in shares y x, as AgentCPM-GUI, GUIEvalKit, AITZ and CAGUI have them."""
    kind, text = row["result_action_type"], row.get("result_action_text") or ""
    if kind not in (4, *_KINDS):
        raise TargetError(0, "result_action_type", kind, f"one of {sorted((4, *_KINDS))}")
    boxes = _json(row.get("ui_positions")) or _json(row.get("bbox")) or []
    wide, high = size if size and any(max(each) > 1 for each in boxes) else (1.0, 1.0)
    shares = tuple((x / wide, y / high, (x + w) / wide, (y + h) / high) for y, x, h, w in boxes)
    app = row.get("result_action_app_name") or text
    if kind not in (0, 4):
        more = {3: {"text": text}, 10: {"status": "success"}, 11: {"status": "impossible"}, 12: {"app": app}}
        return Step(Act(_KINDS[kind], (), more.get(kind, {})), shares, size)
    (y, x), (down, right) = _pair(row, "result_touch_yx"), _pair(row, "result_lift_yx")
    return Step(_touched((x, y), (right, down), long=kind == 0 or (row.get("duration") or 0) > 200), shares, size)


def _touched(touch: tuple[float, float], lift: tuple[float, float], long: bool = False) -> Act:
    """Return the tap or the scroll of a finger that goes from place to place."""
    moved = lift[0] - touch[0], lift[1] - touch[1]
    if hypot(*moved) <= _TAP:
        return Act("long_press" if long else "click", touch)
    return Act("scroll", touch, {"direction": opposite(towards(*moved) or ""), "to": lift, "swiped": True})


_LINE = re.compile(
    r"(?P<name>\w+)[ :]*(?:<point>\[\[(?P<x>-?[\d.]+), ?(?P<y>-?[\d.]+)\]\]|\[(?P<text>.*)\])?", re.DOTALL
)


def _conversation(row: Row, size: Size) -> Step:
    """Read a conversation of OS-Atlas, whose last answer is what is right."""
    line = _atlas_line(row)
    said = _LINE.match(line)
    if said is None:
        raise TargetError(0, "conversations", line, "an action such as CLICK <point>[[108,272]]</point>")
    place = () if said["x"] is None else (float(said["x"]) / 1000, float(said["y"]) / 1000)
    name = said["name"]
    argument = {"SCROLL": "direction", "OPEN_APP": "app"}.get(name, "text")
    text = said["text"]
    return Step(
        _act(name, place, {} if text is None else {argument: text.lower() if name == "SCROLL" else text}), (), size
    )


def _atlas_line(row: Row) -> str:
    said = [each["value"] for each in row["conversations"] if each["from"] == "gpt"]
    line: str = said[-1].partition("actions:\n")[2]
    return line


def _act(name: str, place: tuple[float, ...], arguments: Mapping[str, Any]) -> Act:
    """Return an action in this package's words."""
    name, fields = normalised(name, arguments)
    return Act(name, place, fields)


CPM = StepLayout(
    "AgentCPM-GUI and GUIEvalKit",
    frozenset(("result_action_type", "result_touch_yx", "result_lift_yx", "episode_id", "step_id")),
    _aitw, own=("agentcpm-gui", "guievalkit"),
)  # fmt: skip
OS_ATLAS = StepLayout(
    "OS-Atlas", frozenset(("id", "conversations")), _conversation, own=("os-atlas",), gold=_atlas_line
)

STEP_BENCHMARKS = {
    each.name: each
    for each in (
        StepBenchmark(
            "androidcontrol", "AndroidControl", (CPM, OS_ATLAS),
            {8444: "test split", 7708: "OS-Atlas and UI-TARS", 10814: "AgentCPM-GUI and GUIEvalKit"},
        ),
    )
}  # fmt: skip
"""Benchmarks of whole actions by name."""


def step_benchmark(name: str) -> StepBenchmark | None:
    """Return a benchmark of whole actions by name; None for another benchmark."""
    return STEP_BENCHMARKS.get(re.sub("-(low|high)$", "", name.lower()))
