"""Times `Recipe.score` against a bare Python loop (one regex, two floats, one comparison) on the same responses.

Run: python benchmarks/score.py [--rows 100000] [--only NAME]. Figures are ratios within one run; each time is the best
of five. "published" is the speed of the source's own reward on responses of the same make, one thread, measured once
elsewhere; the ratio to it therefore compares two machines.

Where the time goes. Bare tuples: a third is RE2's captures, a sixth each building the arrow array, casting numerals and
the formula. Tool calls and JSON: half is RE2 on the one pattern of the usual form (some 250 MB/s); under `auto` the
tenth of texts that are cut off is read one by one, as is every typed text of `action`. Actions: two thirds are RE2
again, on the thinking in front of the answer and on several patterns in turn; the rest is comparing names and
arguments, which are Python's strings. agentcpm-gui's texts that are cut off, a tenth, are read token by token and take
a third. One call: some 50 numpy calls of 0.5 to 1 µs, and as much again for reading and checking the target where it
was not read before.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import grounding_rewards as gr

WIDTH, HEIGHT = 1920, 1080
SIZES = {"image_sizes": (WIDTH, HEIGHT)}
THOUGHT = " ".join(["The button that the instruction names is in the toolbar near the top of the window"] * 4)
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Case:
    """One recipe with answers of its own make.

    Attributes:
        name: the recipe.
        form: what the answers look like.
        answer: a point or a box to a response.
        target: a box in pixels to a target in the recipe's native form.
        bare: the regex of the bare loop, with two groups.
        options: the recipe's options.
        sizes: sizes that scoring needs.
        boxed: whether answers are boxes.
        published: responses a second of the source's own code, where known.
        group: rollouts of a sample, where their scores depend on each other.
    """

    name: str
    form: str
    answer: Callable[..., str]
    target: Callable[[Box], Any]
    bare: str
    options: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)
    boxed: bool = False
    published: int | None = None
    group: int | None = None


def thought(answer: str) -> str:
    """An answer after thinking."""
    return f"<think>{THOUGHT}</think>\n{answer}"


def point_list(x: int, y: int) -> str:
    """A JSON list of one point."""
    return f'[{{"point_2d": [{x}, {y}], "label": "e"}}]'


def tight_call(x: int, y: int) -> str:
    """A tool call as UI-Ins reads it: no space in the coordinate."""
    return call("grounding", "click")(x, y).replace(f"{x}, {y}", f"{x},{y}")


def call(name: str, action: str) -> Callable[[int, int], str]:
    """A tool call with a coordinate."""
    start = f'<tool_call>\n{{"name": "{name}", "arguments": {{"action": "{action}", "coordinate": '
    return lambda x, y: f"{start}[{x}, {y}]}}}}\n</tool_call>"


def answer(form: str) -> Callable[[int, int], str]:
    """A thought and an answer in tags, of a form with %d where its numbers go."""
    return lambda x, y: thought(f"<answer>{form % (x, y)}</answer>")


def blink(x: int, y: int) -> str:
    """Return an answer in BTL-UI's form: blink, think, link."""
    look = f'<blink>\n```json\n[{{"bbox_2d": [{x - 20}, {y - 10}, {x + 20}, {y + 10}]}}]\n```\n</blink>\n'
    act = f'[{{"Plan": "tap it", "Action": {{"function": "Tap", "point_2d": [{x}, {y}]}}}}]'
    return f"{look}<think>{THOUGHT}</think>\n<link>\n```json\n{act}\n```\n</link>"


def solution(box: Box) -> str:
    """A box as UI-R1 and UI-AGILE write it."""
    return f"<answer>[{{'action': 'click' ,'coordinate': {list(box)} }}]</answer>"


def centre(box: Box) -> list[float]:
    """The middle of a box."""
    return [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]


def tap(box: Box) -> dict[str, Any]:
    """A box as BTL-UI has it."""
    act = {"Plan": "tap it", "Action": {"function": "Tap", "point_2d": centre(box)}}
    return {"solution": [act], "bbox": list(box)}


def checked(box: Box) -> dict[str, Any]:
    """A box as UI-S1 has it."""
    act = {"action": "click", "coordinate": centre(box), "candidate_bbox": list(box)}
    return {"check_options": act, "num_steps": 4}


def compact(box: Box) -> dict[str, Any]:
    """A box as AgentCPM-GUI has it."""
    x, y = centre(box)
    return {"POINT": [round(x * 1000 / WIDTH), round(y * 1000 / HEIGHT)], "bbox": [list(box[:2]), list(box[2:])]}


def thousandths(box: Box) -> list[float]:
    """A box in pixels to thousandths of the screen."""
    return [edge * 1000 / side for edge, side in zip(box, (WIDTH, HEIGHT, WIDTH, HEIGHT), strict=True)]


def corners(box: Box) -> dict[str, int]:
    """A box as a mapping of its edges."""
    return dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))


RATIOS = (HEIGHT / 1000, WIDTH / 1000)
TUPLE, LIST, CALL = r"\((\d+), (\d+)\)", r"\[(\d+), (\d+)\]", r'"coordinate": \[(\d+), (\d+)\]'
BOTH = {"image_sizes": (WIDTH, HEIGHT), "model_image_sizes": (WIDTH, HEIGHT)}
COORDINATE = r"coordinate['\"]: \[(\d+), (\d+)\]"
POINT, CORNERS = r'"point_2d": \[(\d+), (\d+)\]', r"\[(\d+), ?(\d+), ?\d+, ?\d+\]"
CASES = [
    Case("gelato", "(x, y)", lambda x, y: f"({x * 1000 // WIDTH}, {y * 1000 // HEIGHT})",
         lambda box: [edge / 1000 for edge in thousandths(box)], TUPLE, published=333_883),
    Case("gelato-pixel", "(x, y)", lambda x, y: f"({x}, {y})", list, TUPLE),
    Case("gta1", "(x, y)", lambda x, y: f"({x}, {y})", lambda box: [thousandths(box), *RATIOS], TUPLE,
         published=329_478),
    Case("click", "(x, y)", lambda x, y: f"({x}, {y})", list, TUPLE, {"response_space": "pixel"}),
    Case("click", "tool call", call("computer_use", "left_click"), list, CALL, {"response_space": "pixel"}),
    Case("click", "JSON point", point_list, list, POINT,
         {"response_space": "pixel"}),
    Case("ui-ins", "thought, tool call", lambda x, y: thought(tight_call(x, y)),
         lambda box: [*thousandths(box), *RATIOS], r"\[(\d+),(\d+)\]", published=158_297),
    Case("se-gui", "tool call", call("computer_use", "left_click"), lambda box: [*box, WIDTH, HEIGHT], CALL,
         published=140_773),
    Case("infigui-g1", "thought, JSON", lambda x, y: thought(point_list(x, y)), corners, POINT, published=45_687),
    Case("ui-rft", "JSON", lambda x, y: f'{{"point_2d": [{x}, {y}], "label": "e"}}', list, POINT),
    Case("groundnext", "tool call", call("computer_use", "left_click"), corners, CALL, {}, SIZES, published=16_530),
    Case("gui-g1", "fenced JSON", lambda *box: f'```json\n[\n\t{{"bbox_2d": {list(box)}, "label": "e"}}\n]\n```', list,
         CORNERS, {}, SIZES, True, published=19_206),
    Case("gui-g2", "[x1, y1, x2, y2]", lambda *box: f"[{box[0]},{box[1]},{box[2]},{box[3]}]", list, CORNERS, {}, SIZES,
         True, published=35_259),
    Case("ui-venus", "[x1, y1, x2, y2]", lambda *box: f"[{box[0]},{box[1]},{box[2]},{box[3]}]", list, CORNERS, {},
         BOTH, True),
    Case("ui-r1", "thought, dict", answer("[{'action': 'click', 'coordinate': [%d, %d]}]"), solution, COORDINATE, {},
         BOTH, published=54_779),
    Case("ui-r1-dast", "..., groups of 8", answer("[{'action': 'click', 'coordinate': [%d, %d]}]"), solution,
         COORDINATE, {}, BOTH, group=8),
    Case("ui-r1-e", "dict", lambda x, y: f"<answer>[{{'action': 'click', 'coordinate': [{x}, {y}]}}]</answer>",
         solution, COORDINATE, {}, BOTH),
    Case("gui-r1", "thought, dict",
         answer("[{'action': 'click', 'point': [%d, %d], 'input_text': 'no input text'}]"),
         lambda box: {"action": "click", "gt_bbox": list(box), "input_text": "no input text"},
         r"'point': \[(\d+), (\d+)\]", published=32_398),
    Case("gui-rcpo", "(x, y), groups of 16", lambda x, y: f"({x}, {y})", lambda box: None, TUPLE,
         {"response_space": "pixel"}, group=16),
    Case("ui-agile", "thought, dict", answer("[{'action': 'click', 'coordinate': [%d, %d]}]"), solution, COORDINATE, {},
         BOTH),
    Case("btl-ui", "look, thought, act", blink, tap, POINT, {}, BOTH),
    Case("ui-s1", "thought, JSON",
         lambda x, y: thought(f'<action>{{"action": "click", "coordinate": [{x}, {y}]}}</action>'), checked, COORDINATE,
         {}, BOTH),
    Case("agentcpm-gui", "compact JSON",
         lambda x, y: f'{{"thought":"{THOUGHT}","POINT":[{x * 1000 // WIDTH},{y * 1000 // HEIGHT}]}}', compact,
         r'"POINT":\[(\d+),(\d+)\]', {}, SIZES),
    Case("ui-venus-navigation", "thought, call", lambda x, y: thought(f"<action>Click(box=({x}, {y}))</action>"),
         lambda box: {"bbox": list(box), "action": "click"}, r"\((\d+), (\d+)\)", {}, BOTH),
    Case("action", "tool call", call("computer_use", "left_click"), lambda box: {"bbox": list(box), "action": "click"},
         CALL, {"response_space": "pixel"}),
    Case("action", "typing", lambda x, y: call("computer_use", "type")(x, y).replace('"coordinate": [', '"text": "')
         .replace("]}}", '"}}'), lambda box: {"action": {"name": "type", "text": f"{box[0]}, {box[1]}"}},
         r'"text": "(\d+), (\d+)"', {"response_space": "pixel"}),
]  # fmt: skip


def sample(rows: int, *, boxed: bool) -> tuple[list[list[int]], list[bool], list[Box]]:
    """Answers, about half of them hits, which of them shall be cut off, a tenth, and boxes of 10-200 by 8-80 pixels."""
    rng = np.random.default_rng(1234)
    width, height = rng.integers(10, 200, rows), rng.integers(8, 80, rows)
    x1, y1 = rng.integers(0, WIDTH - width), rng.integers(0, HEIGHT - height)
    boxes = np.stack([x1, y1, x1 + width, y1 + height], axis=1)
    centre = (boxes[:, :2] + boxes[:, 2:]) // 2
    points = np.where(rng.random((rows, 1)) < 0.5, centre, rng.integers(0, (WIDTH, HEIGHT), (rows, 2)))
    if boxed:
        half = np.stack([width, height], axis=1) // 2
        points = np.concatenate([np.maximum(points - half, 0), points + half], axis=1)
    return points.tolist(), (rng.random(rows) < 0.1).tolist(), [tuple(box) for box in boxes.tolist()]


def bare_loop(pattern: str, responses: list[str], boxes: list[Box]) -> list[float]:
    """The least that a reward file can do."""
    search = re.compile(pattern).search
    scores = []
    for response, (x1, y1, x2, y2) in zip(responses, boxes, strict=True):
        found = search(response)
        scores.append(1.0 if found and x1 <= float(found[1]) <= x2 and y1 <= float(found[2]) <= y2 else 0.0)
    return scores


def best(run: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def call_time(run: Callable[[], object], calls: int = 3000) -> float:
    """Median microseconds of a call."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def measure(case: Case, rows: int) -> str:
    """One line of the table."""
    recipe = gr.recipe(case.name, **case.options)
    answers, broken, boxes = sample(rows, boxed=case.boxed)
    responses = [case.answer(*answer) for answer in answers]
    responses = [text[: len(text) * 3 // 4] if bad else text for text, bad in zip(responses, broken, strict=True)]
    targets = [case.target(box) for box in boxes]
    prepared = recipe.read_targets(targets)
    groups = None if case.group is None else (np.arange(rows) // case.group).tolist()
    ours = best(lambda: recipe.score(responses, prepared, groups=groups, **case.sizes))
    bare = best(lambda: bare_loop(case.bare, responses, boxes))
    first = next(row for row, bad in enumerate(broken) if not bad)
    one = recipe.read_targets(targets[first : first + 1])
    group = None if groups is None else [0]
    alone = call_time(lambda: recipe.score([responses[first]], one, groups=group, **case.sizes))
    read = call_time(lambda: recipe.score(responses[first], targets[first], groups=group, **case.sizes))
    published = f"{rows / ours / case.published:6.1f}x" if case.published else ""
    return (
        f"{case.name:19} {case.form:20} {rows / ours:12,.0f} {rows / bare:12,.0f} {bare / ours:6.2f}x {published:>9} "
        f"{alone:8.0f} µs {read:8.0f} µs"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", help="the recipe to time; all without it")
    arguments = parser.parse_args()
    print(
        f"{'recipe':19} {'answers':20} {'responses/s':>12} {'bare loop/s':>12} {'ratio':>7} {'published':>9} "
        f"{'one call':>11} {'with target':>11}"
    )
    for case in CASES:
        if arguments.only in (None, case.name):
            print(measure(case, arguments.rows), flush=True)


if __name__ == "__main__":
    main()
