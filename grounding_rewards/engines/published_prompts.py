"""Prompts after published ones.

Few of their words are known here, and these are used as they are. The rest is written again to the same effect: see
``taken`` and ``ours`` of each. Where the exact text of a source matters, give it as a template file of your own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_USER = "{{ instruction }}"
_PAIR = "Output the coordinate pair exactly:\n(x,y)"
_CALL = (
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}\n</tool_call>'
)
_ACTION = "Thought: {}\nAction: click(point='<point>{}</point>')"
_BOX = '```json\n[{{"bbox_2d": {}, "label": "{}"}}]\n```'

_POINT = (
    "You see a screenshot and read the description of one element in it. Find the element and choose the point where "
    "a click on it is safest, mostly its middle."
)
_THOUSANDTHS = (
    "Measure in thousandths of the screenshot: x from 0 at its left edge to 1000 at its right edge, y from 0 at its "
    "top to 1000 at its bottom."
)
_PIXELS = "Measure in pixels of the screenshot, which is {{ width }} wide and {{ height }} high."
_NOTHING_ELSE = "Answer with nothing but this point, in whole numbers: (x, y)"
_COMPUTER = (
    "You operate a computer. The user shows its screen and says what to click on. Do so by one call of the function "
    "computer_use, whose action is left_click and whose coordinate is a point [x, y] of the screen."
)
_FORM = "Write nothing but the call:\n" + _CALL.format("[x, y]")


@dataclass(frozen=True)
class PublishedPrompt:
    """Prompt after that of a published model.

    Attributes:
        model: the models that are asked so.
        user: the template of the user's text.
        system: that of the system message; "" for none.
        space: the space of the answers.
        answer: an answer in the form that it asks for.
        recipe: a recipe that reads such answers.
        options: the recipe's options.
        taken: the part that is the source's, word by word.
        ours: the part that is written again.
    """

    model: str
    user: str
    system: str
    space: str
    answer: str
    recipe: str
    taken: str
    ours: str
    options: Mapping[str, Any] = field(default_factory=dict)


PUBLISHED: Mapping[str, PublishedPrompt] = {
    "gta1": PublishedPrompt(
        model="GTA1",
        user=_USER,
        system=f"{_POINT} {_PIXELS}\n\n{_PAIR}",
        space="model_pixel",
        answer="(500, 250)",
        recipe="gta1",
        taken="the last two lines, with which the source's prompt ends",
        ours="the rest, and that it is a system message",
    ),
    "gelato": PublishedPrompt(
        model="Gelato-30B-A3B",
        user=_USER,
        system=f"{_POINT} {_THOUSANDTHS} {_NOTHING_ELSE}",
        space="thousandths",
        answer="(500, 250)",
        recipe="gelato",
        taken="the form `(x, y)` of the answer, in thousandths; no words",
        ours="all words, and that it is a system message",
    ),
    "gelato-refusal": PublishedPrompt(
        model="Gelato-30B-A3B, where a target may be absent",
        user=_USER,
        system=f"{_POINT} {_THOUSANDTHS} {_NOTHING_ELSE}. If no element fits the description, respond with 'refusal'.",
        space="thousandths",
        answer="(500, 250)",
        recipe="click",
        options={"response_space": "thousandths"},
        taken="`respond with 'refusal'`, and the form `(x, y)` of the answer",
        ours="all other words, and that it is a system message",
    ),
    "qwen2_5_vl": PublishedPrompt(
        model="Qwen2.5-VL, computer use",
        user=_USER,
        system=f"{_COMPUTER} The screen's resolution is {{{{ width }}}}x{{{{ height }}}}. {_FORM}",
        space="model_pixel",
        answer=_CALL.format("[500, 250]"),
        recipe="click",
        options={"model": "qwen2_5_vl"},
        taken="the call: its tags, `computer_use`, `left_click` and `coordinate`",
        ours="all words; the function's other actions are left out",
    ),
    "qwen3_vl": PublishedPrompt(
        model="Qwen3-VL, computer use",
        user=_USER,
        system=f"{_COMPUTER} The screen's resolution is 1000x1000. {_FORM}",
        space="thousandths",
        answer=_CALL.format("[500, 250]"),
        recipe="click",
        options={"model": "qwen3_vl"},
        taken="`screen's resolution is 1000x1000`, and the call, as for qwen2_5_vl",
        ours="all other words; the function's other actions are left out",
    ),
    "ui-tars": PublishedPrompt(
        model="UI-TARS 1.5",
        user=_USER,
        system=(
            "You operate the screen that the user shows, one step at a time. Think in one sentence, then click on what "
            f"the user asks for. {_PIXELS} Answer in two lines:\n{_ACTION.format('...', 'x y')}"
        ),
        space="model_pixel",
        answer=_ACTION.format("Save is at the top.", "500 250"),
        recipe="click",
        options={"response_space": "model_pixel"},
        taken="the two lines of the answer",
        ours="all words; other actions are left out",
    ),
    "gui-g1": PublishedPrompt(
        model="GUI-G1, fast thinking",
        user=(
            f"Find the element of the screenshot that this describes: {_USER}\nDo not think first. Answer with its box "
            f"in pixels of the screenshot, in this form:\n{_BOX.format('[x1, y1, x2, y2]', '...')}"
        ),
        system="",
        space="pixel",
        answer=_BOX.format("[400, 200, 600, 300]", "save"),
        recipe="gui-g1",
        taken="the form of the answer: the fence, `bbox_2d` and `label`",
        ours="all words",
    ),
}
"""Published prompts by name."""
