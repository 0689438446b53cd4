"""Layouts in which benchmarks of whole actions and their evaluators write steps, recognised by their fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from grounding_rewards.actions import Act, canonical, normalised, opposite
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import TargetError
from grounding_rewards.evaluators.compare import apart, decoded, direction, numbers
from grounding_rewards.evaluators.judging import benchmark_name
from grounding_rewards.evaluators.rule import Box, Size, Step

Row = Mapping[str, Any]
_SIDES = (("image_width", "image_height"), ("width", "height"), ("w", "h"))


class StepLayout(Struct, frozen=True):
    """Layout of a benchmark's steps."""

    name: str  # what errors call it
    fields: str  # columns by which it is recognised
    read: Callable[[Row, Size], Step]  # a row and the size of its screenshot -> its step
    ids: str = "episode_id step_id"  # columns of the episode and of the step's place in it
    own: tuple[str, ...] = ()  # rules whose own form of what is right the rows hold
    gold: Callable[[Row], Any] = dict  # a row -> that form
    sized: bool = False  # True where places are in pixels, for which the size of the screenshot is needed
    files: tuple[str, ...] = ()  # columns that name files beside the rows, which are read
    image: str = "$^"  # pattern of an image's name that holds the ids, where rows have none


class StepBenchmark(Struct, frozen=True):
    """A benchmark of whole actions."""

    name: str  # name of the option
    title: str  # what texts call it
    layouts: tuple[StepLayout, ...]  # layouts of its rows, in the order in which they are tried
    counts: Mapping[int, str] = {}  # numbers of steps in papers, and whose they are
    label: str = "subset"  # column of the group that a step belongs to


def steps_of(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the steps of an episode as rows, with what it says of all of them; a row of a step is itself."""
    row = _object(row)
    inner = next((each for each in ("steps", "actions") if isinstance(row.get(each), list)), "")
    if not inner:
        yield dict(row)
        return
    whole = {**_object(row.get("task_info")), **{name: value for name, value in row.items() if name != inner}}
    yield from ({"step_id": number, **whole, **_object(each)} for number, each in enumerate(row[inner]))


def _object(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one in place of anything else, which lacks what a step needs."""
    return value if isinstance(value, Mapping) else {}


def size_of(row: Row) -> Size:
    """Return the size of a row's screenshot as the row says it; None where it does not."""
    own = [[row[wide], row.get(high)] for wide, high in _SIDES if wide in row]
    for value in (*own, row.get("image_size"), row.get("device_info")):
        if value is not None and (size := read_size(value)):
            return size
    return None


def _act(name: str, place: Sequence[float] = (), **arguments: Any) -> Act:
    """Return an action in this package's words; scrolls are named by the way of the view, and have no place."""
    name, fields = normalised(name, {key: value for key, value in arguments.items() if value is not None})
    if name == "scroll" and fields.get("direction") not in ("up", "down", "left", "right"):
        raise TargetError(0, "direction", fields.get("direction"), "up, down, left or right")
    return Act(name, () if name == "scroll" else tuple(place), fields)


def _shares(boxes: Any, size: Size) -> tuple[Box, ...]:
    """Return boxes of pixels, x1 y1 x2 y2, in shares of the screen."""
    wide, high = size or (1.0, 1.0)
    read = [numbers(each, 4) for each in boxes or ()]
    return tuple((x1 / wide, y1 / high, x2 / wide, y2 / high) for x1, y1, x2, y2 in read)


_KINDS = {0: "long_press", 1: "wait", 3: "type", 4: "click", 5: "back", 6: "home", 7: "enter", 10: "finished",
          11: "impossible", 12: "open_app"}  # fmt: skip
_TAP, _LONG = 0.04, 200  # share of the screen up to which touch and lift are one place; milliseconds of a click


def _kind(row: Row, name: str) -> str:
    if row[name] not in _KINDS:
        raise TargetError(0, name, row[name], f"one of {sorted(_KINDS)}")
    return _KINDS[row[name]]


def _aitw(row: Row, size: Size) -> Step:
    """Read a row of AITW's fields, y before x, as AgentCPM-GUI, GUIEvalKit, AITZ and CAGUI have them."""
    kind, text = _kind(row, "result_action_type"), row.get("result_action_text") or ""
    found = decoded(row.get("ui_positions") or "[]") or decoded(row.get("bbox") or "[]")
    corners = [(x, y, x + w, y + h) for y, x, h, w in (numbers(each, 4) for each in found)]
    boxes = _shares(corners, size if any(max(each) > 1.5 for each in corners) else None)
    if kind == "open_app":
        return Step(_act(kind, app=row.get("result_action_app_name") or text), boxes, size)
    if kind not in ("click", "long_press"):
        return Step(_act(kind, text=text if kind == "type" else None), boxes, size)
    touch, lift = (numbers(row[name], 2)[::-1] for name in ("result_touch_yx", "result_lift_yx"))
    long = kind == "long_press" or (row.get("duration") or 0) > _LONG
    return Step(_touched(touch, lift, "long_press" if long else "click"), boxes, size)


def _touched(touch: Sequence[float], lift: Sequence[float], name: str = "click") -> Act:
    """Return the press or the scroll of a finger that goes from place to place."""
    if apart(touch, lift) <= _TAP:
        return _act(name, touch)
    return _act("scroll", direction=opposite(direction(touch, lift)))


def _seeclick(row: Row, size: Size) -> Step:
    kind, said = _kind(row, "action_type_id"), row["action_type_text"]
    flat = numbers(row["annot_position"], len(row["annot_position"]))
    boxes = tuple((x, y, x + w, y + h) for y, x, h, w in zip(*[iter(flat)] * 4, strict=True))
    if said.startswith("scroll"):
        act = _act("scroll", direction=said.split()[-1])
    elif kind == "click":
        act = _touched(numbers(row["touch"], 2), numbers(row["lift"], 2))
    else:
        act = _act(kind, text=row["type_text"] if kind == "type" else None)
    return Step(act, boxes, size)


_LINE = re.compile(r"(\w+)[ :]*(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _line(text: str, size: Size, boxes: tuple[Box, ...] = (), *, finger: bool = False) -> Step:
    """Read an action such as ``CLICK <point>[[108,272]]</point>`` or ``TYPE: red hat``, in thousandths."""
    said = _LINE.match(text)
    if said is None:
        raise TargetError(0, "action", text, "an action such as CLICK <point>[[108,272]]</point>")
    name, rest = said[1], said[2].strip()
    if rest.startswith("[") and rest.endswith("]"):
        rest = rest[1:-1]
    if canonical(name) == "scroll":
        way = rest.lower()
        return Step(_act("scroll", direction=opposite(way) if finger else way), boxes, size)
    if canonical(name) in ("type", "open_app"):
        return Step(_act(name, text=rest), boxes, size)
    return Step(_act(name, [float(each) / 1000 for each in _NUMBER.findall(rest)[:2]]), boxes, size)


def _atlas_gold(row: Row) -> str:
    said: list[str] = [each["value"] for each in row["conversations"] if each["from"] == "gpt"]
    return said[-1].partition("actions:\n")[2]


def _sam(row: Row) -> tuple[Box, ...]:
    box = row.get("sam2_bbox")
    return _shares([box], (1000.0, 1000.0)) if box else ()


_ODYSSEY_KEYS = {"KEY_HOME": "home", "KEY_BACK": "back", "KEY_APPSELECT": "recent"}
_ODYSSEY_NAMES = {"TEXT": "type", "INCOMPLETE": "impossible"}


def _odyssey(row: Row, size: Size) -> Step:
    name, info = str(row["action"]), row["info"]
    if isinstance(info, str):
        key = _ODYSSEY_KEYS.get(info)
        act = _act(key) if key else _act(_ODYSSEY_NAMES.get(name, name), text=info or None)
    else:
        places = [[value / 1000 for value in numbers(each, 2)] for each in info]
        act = _touched(places[0], places[-1], name.lower() if name == "LONG_PRESS" else "click")
    return Step(act, _sam(row), size)


def _ui_s1(row: Row, size: Size) -> Step:
    right = row["check_options"]
    name, place = right["action"], right.get("coordinate")
    at = () if place is None else _shares([[*place, *place]], size)[0][:2]
    act = _act("scroll" if name == "swipe" else name, at, text=right.get("text"), button=right.get("button"),
               direction=right.get("direction"), status=right.get("status"))  # fmt: skip
    return Step(act, _shares(right.get("candidate_bbox"), size), size)


def _claw_gold(row: Row) -> Any:
    return row if "arguments" in row else decoded(row["answer"])


def _claw(row: Row, size: Size) -> Step:
    right = _claw_gold(row)
    said, name = right["arguments"], right["action"]
    at = [value / 1000 for value in said.get("points", [[]])[0]]
    act = _act("system_button" if name == "button_press" else name, at, text=said.get("text"), app=said.get("app"),
               button=said.get("type"), direction=said.get("direction"))  # fmt: skip
    return Step(act, _shares(right.get("candidate_bbox"), _CLAW_SCREEN), size or _CLAW_SCREEN)


_CLAW_SCREEN = (1080.0, 2400.0)


def _wheel(name: str, clicks: float) -> str | None:
    """Return the way in which clicks of the wheel move the view, as pyautogui counts them; None for no scroll."""
    return (("left", "right") if name.startswith("h") else ("down", "up"))[clicks > 0] if "scroll" in name else None


def _agentnetbench(row: Row, size: Size) -> Step:
    acts, boxes = list[Act](), list[Box]()
    for each in row["ground_truth_actions"]:
        said = each["params"]
        at = [said["position"][axis] for axis in "xy"] if "position" in said else ()
        acts.append(_act(each["type"], at, text=said.get("text"), keys=said.get("keys"), status=said.get("status"),
                         direction=_wheel(each["type"], said.get("amount", 0))))  # fmt: skip
        for box in each.get("metadata", {}).get("bboxes", ()):
            x, y, w, h = numbers(box["rel_bbox"], 4)
            boxes.append((x, y, x + w, y + h))
    return Step(acts[0], tuple(boxes), size)


def _mind2web(row: Row, size: Size) -> Step:
    """Read a row whose box is SeeClick's, or that of the first candidate, x, y, width, height in pixels."""
    operation = decoded(row["operation"])
    if "bbox" in row:
        box = [row["bbox"][each] for each in ("x", "y", "width", "height")]
    else:
        box = decoded(decoded(decoded(row["pos_candidates"])[0])["attributes"])["bounding_box_rect"].split(",")
    x, y, w, h = map(float, box)
    shares = _shares([[x, y, x + w, y + h]], size)
    name = {"TYPE": "type", "SELECT": "select"}.get(operation["op"], "click")
    return Step(_act(name, shares[0], text=operation.get("value") or None), shares, size)


def _omniact_gold(row: Row) -> dict[str, Any]:
    return {"script": row["task"].partition("\n")[2].removeprefix("Output Script:\n"), "boxes": decoded(row["box"])}


def _omniact(row: Row, size: Size) -> Step:
    lines = _omniact_gold(row)["script"].strip().split("\n")
    name, _, said = lines[0].removeprefix("pyautogui.").partition("(")
    found = [float(each) for each in _NUMBER.findall(said)[:2]]
    at = _shares([[*found, *found]], size)[0][:2] if found and ("ck" in name or "To" in name) else ()
    return Step(_act(name, at, text=said.strip("\"')"), direction=_wheel(name, sum(found[:1]))), (), size)


_CPM_FIELDS = "result_action_type result_touch_yx result_lift_yx episode_id step_id"
CPM = StepLayout("AgentCPM-GUI and GUIEvalKit", _CPM_FIELDS, _aitw, own=("agentcpm", "guievalkit"))
AITZ = StepLayout(
    "AITZ", f"{_CPM_FIELDS} coat_action_desc", _aitw, own=("coat", "coat-click"), sized=True,
    gold=lambda row: {**row, **{name: decoded(row[name]) for name in ("ui_positions", "ui_text", "ui_types")}},
)  # fmt: skip
OS_ATLAS = StepLayout(
    "OS-Atlas", "conversations", lambda row, size: _line(_atlas_gold(row), size), own=("os-atlas",), gold=_atlas_gold,
    image=r"(?:episode_)?(\d+)_(?:screenshot_)?(\d{1,18})\.\w+$",
)  # fmt: skip
UI_S1 = StepLayout(
    "UI-S1", "check_options", _ui_s1, own=("ui-s1", "ui-s1-reward"), gold=lambda row: row["check_options"], sized=True
)
CLAW = StepLayout("ClawGUI", "action arguments", _claw, own=("clawgui",), gold=_claw_gold)
CLAW_ROWS = StepLayout("ClawGUI's data", "answer", _claw, own=("clawgui",), gold=_claw_gold)
ODYSSEY = StepLayout("GUI-Odyssey's annotations", "action info", _odyssey, "episode_id step")
ODYSSEY_TEST = StepLayout(
    "GUI-Odyssey's test_anno", "answer sam2_bbox",
    lambda row, size: _line(row["answer"], size, _sam(row), finger=True), own=("odyssey",),
    image=r"(\w+)_(\d{1,18})\.\w+",
)  # fmt: skip
SEECLICK = StepLayout(
    "SeeClick's AITW", "action_type_id action_type_text touch lift annot_position", _seeclick, "ep_id step_id",
    own=("seeclick",),
)  # fmt: skip
OPENCUA = StepLayout("AgentNetBench", "ground_truth_actions", _agentnetbench, "task_id step_num", own=("opencua",))
MIND2WEB = StepLayout(
    "Multimodal-Mind2Web", "operation pos_candidates", _mind2web, "annotation_id target_action_index", sized=True
)
SEECLICK_MIND2WEB = StepLayout(
    "SeeClick's Mind2Web", "operation bbox", _mind2web, "annotation_id step_id", own=("seeclick",), sized=True
)
OMNIACT = StepLayout(
    "OmniACT", "task box", _omniact, "id step_id", own=("uground",), gold=_omniact_gold, sized=True,
    files=("task", "box"),
)  # fmt: skip

STEP_BENCHMARKS = {
    each.name: each
    for each in (
        StepBenchmark(
            "androidcontrol", "AndroidControl", (CPM, OS_ATLAS, UI_S1, CLAW, CLAW_ROWS),
            {8444: "test split", 7708: "OS-Atlas, UI-TARS", 10814: "AgentCPM-GUI, GUIEvalKit"},
        ),
        StepBenchmark(
            "gui-odyssey", "GUI-Odyssey", (ODYSSEY, ODYSSEY_TEST, CPM, OS_ATLAS), {29426: "random split"}, "category"
        ),
        StepBenchmark("aitz", "AITZ", (AITZ, CPM), {4724: "test"}),
        StepBenchmark("aitw", "AITW", (SEECLICK,)),
        StepBenchmark("cagui", "CAGUI", (CPM,), {4516: "GUIEvalKit"}),
        StepBenchmark("agentnetbench", "AgentNetBench", (OPENCUA,)),
        StepBenchmark(
            "mind2web", "Mind2Web", (MIND2WEB, SEECLICK_MIND2WEB),
            {1339: "test_task", 1019: "test_website", 4060: "test_domain"},
        ),
        StepBenchmark("omniact", "OmniACT", (OMNIACT, OS_ATLAS), {9802: "all splits"}),
    )
}  # fmt: skip
"""Benchmarks of whole actions by name."""


def step_benchmark(name: str) -> StepBenchmark | None:
    """Return a benchmark of whole actions by name; None for another benchmark."""
    return STEP_BENCHMARKS.get(benchmark_name(name))
