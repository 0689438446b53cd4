"""Orby's reward of subtasks: an executor's call by its kind, places and arguments, or a critic's verdict in tags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from grounding_rewards.actions import Act
from grounding_rewards.combine import product, steps, weighted
from grounding_rewards.parsing.literal import LiteralError, read_call
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import limited, tag_text
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published.orby import ALIKE, held, same_sign, share, source
from grounding_rewards.scoring import ACTION, Example, Exploit, Recipe
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers.each_row import ByRow, Row
from grounding_rewards.verifiers.match import similarity
from grounding_rewards.verifiers.options import Positive

_CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "click": (("x", "y"), {"button": "left", "double": False}),
    "hover": (("x", "y"), {}),
    "type": (("x", "y", "content"), {}),
    "scroll": (("x", "y"), {"delta_x": 0, "delta_y": 100}),
    "drag_and_release": (("x1", "y1", "x2", "y2"), {}),
    "key_press": (("keys",), {}),
    "wait": ((), {"ms": 1000}),
    "complete": ((), {"answer": "", "infeasible_reason": ""}),
}
"""Calls: the arguments that they must have, and what the others are where they are left out; in order."""

_REACH = 5.0
_EXECUTED = "<thinking>-</thinking>\n<action>{}</action>"
_JUDGED = "<reasoning>-</reasoning><should_end>{}</should_end><goal_achieved>{}</goal_achieved><answer>{}</answer>"


def orby_subtask(
    *,
    form: Literal["executor", "critic"] = "executor",
    metric: Literal["gaussian", "square"] = "gaussian",
    sigma: Positive = 5.0,
) -> Recipe:
    """Orby's reward of subtasks: the call of an executor, or the verdict of a critic, in tags.

    ``"executor"``: total = 0.1 · format + 0.2 · kind + 0.5 · place + 0.2 · content. The first action tags hold one
    call as Python writes it: click(x, y, button, double), hover(x, y), type(x, y, content), scroll(x, y, delta_x,
    delta_y), drag_and_release(x1, y1, x2, y2), key_press(keys), wait(ms) or complete(answer, infeasible_reason); any
    other is none, and worth its format. format is the share of the tags of thinking and of an action that are there.
    kind = 1 for the target's call. place is the mean of exp(-d² / 2 sigma²) over the places, d pixels from the
    target's, or with ``"square"`` of 1 within 5 pixels across and down; 1 where neither has any, 0 where one has fewer.
    content, of the target's call, is the share of the others that are alike from 0.8 on, in lower case, of a scroll
    of those with the target's sign; 1 where there are none. ``"critic"``: total = 0.1 · format + 0.3 · should_end +
    0.3 · goal_achieved + 0.3 · answer. format is the share of the four tags that are there; a part is 1 for the
    target's word, case aside, and answer for a text alike, or any where the target's goal is not achieved.

    Args:
        form: whose responses are scored.
        metric: the score of a place.
        sigma: the spread of the Gaussian in pixels.

    Returns:
        A recipe with parts ``format``, ``kind``, ``place`` and ``content``, or ``format``, ``should_end``,
        ``goal_achieved`` and ``answer``; 0 <= total <= 1. ``acc`` is 1 where all but the format are right, places
        within 5 pixels.

    Source: orby-ai-engineering/verl 01ec4be, ``orby/reward/subtask.py``.
    """
    critic = form == "critic"
    kind, content, square = ByRow(_kind), ByRow(_content), ByRow(_Near(None))
    verdict = {"should_end": ByRow(_should_end), "goal_achieved": ByRow(_goal_achieved), "answer": ByRow(_answer)}
    if critic:
        reward = weighted(format=(0.1, ByRow(_verdict_tags)), **{name: (0.3, term) for name, term in verdict.items()})
    else:
        place = square if metric == "square" else ByRow(_Near(float(sigma)))
        reward = weighted(format=(0.1, ByRow(_call_tags)), kind=(0.2, kind), place=(0.5, place), content=(0.2, content))
    alike = steps("content", content, edges=[1.0], values=[0.0, 1.0])
    near = steps("place" if metric == "square" else "near", square, edges=[1.0], values=[0.0, 1.0])
    return published(
        name="orby-subtask",
        dialect=_VERDICT if critic else _ACTION,
        reward=reward,
        success=product(**verdict) if critic else product(kind=kind, within=near, alike=alike),
        space="model_pixel",
        accepts={ACTION},
        source=source("subtask"),
        native=_VERDICT_NATIVE if critic else _ACTION_NATIVE,
        deviations=_DEVIATIONS,
        exploits=_CRITIC_EXPLOITS if critic else _EXPLOITS,
        action_names=tuple(_CALLS),
        formula="total = 0.1 · format + 0.2 · kind + 0.5 · place + 0.2 · content\n"
        "critic: 0.1 · format + 0.3 · should_end + 0.3 · goal_achieved + 0.3 · answer",
        example=Example(_JUDGED.format("true", "true", "42"), _END) if critic
        else Example(_EXECUTED.format("click(200, 150)"), _CLICK),
    )  # fmt: skip


_CLICK = '{"thinking": "-", "action": "click(200, 150)"}'
_END = '{"reasoning": "-", "should_end": "true", "goal_achieved": "true", "answer": "42"}'
_GOES_ON = '{"reasoning": "-", "should_end": "false", "goal_achieved": "false", "answer": ""}'
_EXPLOITS = (
    Exploit("any-place", "tags, kind and content earn their weights wherever it clicks", 0.5,
            Example(_EXECUTED.format("click(0, 0)"), _CLICK)),
    Exploit("any-key", "keys are compared as one text, in which one letter counts little", 1.0,
            Example(_EXECUTED.format("key_press(['ctrl', 'v'])"),
                    '{"thinking": "-", "action": "key_press([\'ctrl\', \'c\'])"}')),
    Exploit("no-code", "tags alone earn their weight", 0.1, Example(_EXECUTED.format("-"), _CLICK)),
)  # fmt: skip
_CRITIC_EXPLOITS = (
    Exploit("always-on", "one verdict is right for each step but the last, with any answer", 1.0,
            Example(_JUDGED.format("false", "false", "anything"), _GOES_ON)),
)  # fmt: skip


class _Call(NamedTuple):
    """A call: its name, the numbers or other values of its places in order, and its other arguments."""

    name: str
    places: tuple[Any, ...]
    held: tuple[Any, ...]


@lru_cache(maxsize=1024)
def _called(text: str) -> _Call | None:
    """Return the call that a text is, with all of its arguments; None where it is none of ``_CALLS``."""
    try:
        name, plain, keyed = read_call(text)
    except LiteralError:
        return None
    needed, others = _CALLS.get(name, (None, {}))
    names = (*(needed or ()), *others)
    given = {**dict(zip(names, plain, strict=False)), **keyed}
    fits = len(given) == len(plain) + len(keyed) and given.keys() <= {*names}
    if needed is None or not fits or not given.keys() >= {*needed}:
        return None
    values = {**others, **given}
    places = tuple(values[each] for each in names if each[0] in "xy")
    return _Call(name, places, tuple(values[each] for each in names if each[0] not in "xy"))


def _read_action(text: str) -> list[Act] | None:
    """Return the call in the first action tags, its first place, the other end of a drag, and itself as its text."""
    written = held(text, "action")
    call = _called(written)
    if call is None:
        return None
    places = [limited(each) if isinstance(each, int | float) else math.nan for each in call.places]
    known = bool(places) and all(each == each for each in places)
    ends = {"to": tuple(places[2:])} if known and len(places) == 4 else {}
    return [Act(call.name, tuple(places[:2]) if known else (), {"text": written, **ends})]


def _read_verdict(text: str) -> list[Act] | None:
    """Return the text in the first answer tags as an answer."""
    answer = tag_text(text, "answer")
    return None if answer is None else [Act("answer", (), {"text": answer.strip()})]


_ACTION = Form("orby_subtask", read=_read_action, signs=("<action>",))
_VERDICT = Form("orby_verdict", read=_read_verdict, signs=("<answer>",))


def _call_tags(row: Row) -> float:
    """The share of the tags of thinking and of an action that are there."""
    return share(row.text, "thinking", "action")


def _verdict_tags(row: Row) -> float:
    """The share of the four tags of a verdict that are there."""
    return share(row.text, "reasoning", "should_end", "goal_achieved", "answer")


def _both(row: Row) -> tuple[_Call, _Call] | None:
    """Return the calls of the response and of the target; None where one of them is none."""
    said, action = _called(held(row.text, "action")), row.target.action
    wanted = _called(action.text or f"{action.name}()") if action else None
    return (said, wanted) if said and wanted else None


def _kind(row: Row) -> float:
    """1.0 where the call has the name of the target's, else 0.0."""
    both = _both(row)
    return float(both is not None and both[0].name == both[1].name)


@dataclass(frozen=True)
class _Near:
    """The mean over the places of how near they are to the target's; 1.0 where neither has any."""

    sigma: float | None  # None: within a square

    def __call__(self, row: Row) -> float:
        both = _both(row)
        if both is None or len(both[0].places) != len(both[1].places):
            return 0.0
        numbers = [[limited(each) if isinstance(each, int | float) else math.nan for each in call.places]
                   for call in both]  # fmt: skip
        off = [one - other for one, other in zip(*numbers, strict=True)]
        near = [self._score(*pair) for pair in zip(off[::2], off[1::2], strict=True)]
        return sum(near) / len(near) if near else 1.0

    def _score(self, across: float, down: float) -> float:
        if self.sigma is None:
            return float(abs(across) <= _REACH and abs(down) <= _REACH)
        away = math.hypot(across, down) / self.sigma
        return math.exp(-(away**2) / 2) if away == away else 0.0


def _content(row: Row) -> float:
    """The share of the other arguments that are the target's, 1.0 where there are none; 0.0 for another call."""
    both = _both(row)
    if both is None or both[0].name != both[1].name:
        return 0.0
    same = same_sign if both[0].name == "scroll" else _is_alike
    found = [same(*pair) for pair in zip(both[0].held, both[1].held, strict=True)]
    return sum(found) / len(found) if found else 1.0


def _is_alike(one: Any, other: Any) -> bool:
    return similarity(str(one).lower(), str(other).lower()) >= ALIKE


def _wanted(row: Row, name: str) -> str:
    extra = row.target.extra
    return str(extra.get(name, "")).lower() if isinstance(extra, Mapping) else ""


def _should_end(row: Row) -> float:
    """1.0 where it says as the target does whether the task should end, else 0.0."""
    return float(held(row.text, "should_end").lower() == _wanted(row, "should_end"))


def _goal_achieved(row: Row) -> float:
    """1.0 where it says as the target does whether the goal is achieved, else 0.0."""
    return float(held(row.text, "goal_achieved").lower() == _wanted(row, "goal_achieved"))


def _answer(row: Row) -> float:
    """1.0 where the answer is alike, or any where the target's goal is not achieved; else 0.0."""
    said, action = tag_text(row.text, "answer"), row.target.action
    if said is None or action is None:
        return 0.0
    return float(_wanted(row, "goal_achieved") != "true" or _is_alike(said.strip(), action.text or ""))


def _action_native(value: Any) -> dict[str, Any] | None:
    """Read ``{"thinking": .., "action": "click(1, 1)"}``."""
    if not isinstance(value, Mapping) or not isinstance(value.get("action"), str):
        return None
    written = value["action"].strip()
    call = _called(written)
    return {"action": {"name": call.name, "text": written}} if call else None


def _verdict_native(value: Any) -> dict[str, Any] | None:
    """Read ``{"reasoning": .., "should_end": "true", "goal_achieved": "true", "answer": ".."}``."""
    words = ("should_end", "goal_achieved", "answer")
    if not isinstance(value, Mapping) or not all(isinstance(value.get(word), str) for word in words):
        return None
    action = {"name": "answer", "text": value["answer"]} if value["answer"] else {"name": "answer"}
    return {"action": action, "extra": {word: value[word] for word in words[:2]}}


_ACTION_NATIVE = NativeForm('{"thinking": .., "action": "click(1, 1)"}, a call in pixels of the image the model saw',
                            _action_native)  # fmt: skip
_VERDICT_NATIVE = NativeForm('{"reasoning": .., "should_end": "true", "goal_achieved": "true", "answer": ".."}',
                             _verdict_native)  # fmt: skip

_DEVIATIONS = {
    **BAD_TARGET,
    "box": "A box beside the target's action is not looked at; the source raises for one that is in no list, and by "
    "its third metric, of boxes, scores 0 for every place.",
    "no-eval": "Arguments are literals, or + - * / of numbers without brackets, else the call is none; the source runs "
    "them as Python, may write files, and scores NaN for a number that is none.",
    "bare-name": "A target's action may be a name alone, whose arguments are all left out; the source then reads none.",
}
