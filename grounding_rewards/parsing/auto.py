"""``auto``, ``auto_action`` and the forms that they read, by themselves: answers by where they stand in a text.

Each answer has a begin and an end. A form inside another one's span is part of it; the
same place twice is one answer; different ones are several, first and last by where they stand. Earlier turns and calls
of tools are no answers, an open bracket, quote, fence or tag is none, and what an action types is never searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from grounding_rewards.actions import AT_A_PLACE, Act, canonical, is_click, is_known, normalised
from grounding_rewards.parsing.calls import acts_of_calls, calls_in
from grounding_rewards.parsing.candidates import (
    BLANKS,
    HEAD,
    TAG,
    WORDS,
    Candidate,
    asides_in,
    bare_numbers,
    crops_in,
    guarded,
    lines_in,
    opened_between,
    parts,
    places_between,
    steps_in,
    tables_in,
    tags_in,
)  # fmt: skip
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.objects import (
    COMPACT_SIGNS,
    KEYS,
    MAY_BE_WORDS,
    MOST,
    NOWHERE,
    act_of,
    compact_act,
    decoded,
    loosely,
    object_spans,
    place_of,
    written_place,
)  # fmt: skip
from grounding_rewards.parsing.patterns import SPACES, either_case
from grounding_rewards.parsing.places import REFUSAL, USUAL, USUAL_ACTIONS, Usual
from grounding_rewards.parsing.reading import NEVER, NOTHING, REFUSED, Answered, Answers, Form, Step
from grounding_rewards.parsing.texts import NUMBER, SPACE, compiled, on_use, without_end

FORMS = (
    "refusal", "json_refusal", "ui_tars", "pyautogui", "tool_call", "json_2d", "json_coordinate", "json_compact",
    "json_distribution", "json_xy", "box_tokens", "point_tag", "xy_tags", "molmo", "cropped", "keyword_call",
    "click_call", "corner_tuples", "bare_tuple", "nested_list", "corner_lists", "bare_list", "action_json",
    "action_calls", "action_os_atlas", "location_tokens", "bare_numbers",
)  # fmt: skip
"""Names of the forms that are looked for."""

_SIGNS = (
    "(", "[", "<point", "box_start|>", "box>", "<x>", "coords=", "Image_", "point_2d", "bbox_2d", '"x"', "'x'",
    "POINT", "TYPE [", "<function=", "<loc", "<patch_index_",
    'coordinate"', "coordinate'", "tool_call>", "point:", "ction\"", "ction'", "action_type", '"mean"',
)  # fmt: skip
"""Substrings that show that an answer was begun."""

NEEDS_A_PLACE = AT_A_PLACE - {"scroll", "swipe", "mouse_down", "mouse_up"}
"""Actions that are malformed without a place."""

TOOLS = ("zoom", "crop", "search", "magnif", "wait_for_image", "ocr", "get_image", "view_image", "image_tool")
"""Parts of the names of tools that look and do not act; their calls are no answers."""

_FAILED = frozenset({"failure", "failed", "fail", "impossible", "infeasible", "not_found", "error"})


@dataclass(frozen=True)
class AnyForm(Form):
    """All forms of answers at once, or some of them."""

    refusal: Form | None = field(default=None, repr=False)  # reads a whole text that refuses
    tools: tuple[str, ...] = ()  # parts of further names of tools, whose calls are no answers
    placed: bool = True  # answers without a place do not count, and one that ends the task as impossible is a refusal
    only: tuple[str, ...] = ()  # the forms that count; none: all

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms, or the dialect's where it reads only some of them."""
        return (self.name,) if self.only else FORMS

    def check_patterns(self) -> None:
        """Check the refusal, which options may have widened."""
        if self.refusal:
            self.refusal.check_patterns()

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        if self.only and self.signs and not self._begun(text):
            return NOTHING
        for usual in self._usual:
            if usual.sign in text and not (usual.guards and len(text) > _SENTENCES) and (act := usual.act(text)):
                return self._index(usual.form), True, (self._spelled(act),)
        if not _MARKS.search(text) and not compiled(_MARKED).search(text):
            return (0, True, (REFUSED,)) if self._refused(self._answer_of(text)) else NOTHING
        return self.careful(text, answers)

    def careful(self, text: str, answers: Answers) -> Answered:
        """Read a text without its usual forms, which say the same in less time."""
        text = self._answer_of(text)
        if self._refused(text):
            return 0, True, (REFUSED,)
        found = [each for each in self._candidates(text) if not self.only or each.form in self.only]
        if (opened := _OPEN_END.search(text, max(len(text) - _TAIL, 0))) and not (
            found and found[-1].act and found[-1].begin <= opened.start() < found[-1].end
        ):
            return -1, self._begun(text), ()  # cut off, and nothing says what would have come
        return self._counted(text, _joined(found), answers)

    def _answer_of(self, text: str) -> str:
        """The part of a text that can hold the answer; without turns that the model made up behind one."""
        if "Human:" in text or "USER:" in text:
            own = _NEXT.split(text, maxsplit=1)[0]
            text = own if not _TURNS.search(own) and self._candidates(own) else text
        return answer_of(text)

    def _refused(self, text: str) -> bool:
        return bool(self.refusal and self.refusal.one(text, "first")[2])

    def _begun(self, text: str) -> bool:
        return any([sign in text for sign in self.signs])  # noqa: C419 (faster so)

    def _index(self, form: str) -> int:
        return 0 if self.only else FORMS.index(form)

    def _counted(self, text: str, found: list[Candidate], answers: Answers) -> Answered:
        """The answers that a policy needs."""
        if not found:  # complete calls without a place begin no answer
            tools = "tool_call>" in text and "coordinate" not in text and "{" in text and object_spans(text)
            return -1, self._begun(text) and not tools, ()
        if answers == "first" or len(found) == 1:
            return self._one(found[0])
        if answers == "last":
            return self._one(found[-1])
        read = [each for each in found if each.act is not None]
        if len(found) == 2 and answers == "only" and not self.placed and (act := _typed_at(*found)):
            return self._index(found[0].form), True, (act,)
        if len(read) < len(found) and len(read) < 2:
            return -1, True, ()
        acts = [self._spelled(each.act) for each in read if each.act is not None]
        return self._index(read[0].form), True, acts

    def _one(self, candidate: Candidate) -> Answered:
        """A sole answer: a refusal, an act, or nothing where it needs a place and has none."""
        act = candidate.act
        if act is None:
            return -1, True, ()
        index = self._index(candidate.form)
        if act is REFUSED or (act.place in NOWHERE and is_click(act.name)):
            return index, True, (REFUSED,)
        kind = canonical(act.name)
        if not act.place and self.placed:
            status = normalised(act.name, act.arguments)[1].get("status") if kind == "finished" else ""
            failed = str(status or "").strip().lower().replace(" ", "_") in _FAILED
            return (index, True, (REFUSED,)) if failed else (-1, kind in NEEDS_A_PLACE or kind == "type", ())
        if not act.place and kind in NEEDS_A_PLACE and "to" not in act.arguments:
            return -1, True, ()
        return index, True, (self._spelled(act),)

    def _spelled(self, act: Act) -> Act:
        name, fields = normalised(act.name, act.arguments)
        return Act(name, act.place, fields)

    def steps(self) -> list[Step]:
        """The commonest forms, then all at once."""
        forms = [
            Step(
                self, self._index(usual.form), self.signs if self.only else (usual.sign,), usual.patterns, NEVER,
                usual.never,
            )
            for usual in self._usual
        ]  # fmt: skip
        return [*forms, Step(self, gate=self.signs) if self.only else Step(self, needs=(self._needs,))]

    @cached_property
    def _usual(self) -> tuple[Usual, ...]:
        every = USUAL if self.placed else (*USUAL, *USUAL_ACTIONS)
        return tuple([usual for usual in every if usual.form in self.only]) if self.only else every

    @cached_property
    def _needs(self) -> str:
        return f"{_MARKED}|{self.refusal.pattern}" if self.refusal else _MARKED

    def _candidates(self, text: str) -> list[Candidate]:
        """All answers of a text, in order."""
        spans = sorted(self._spans(text), key=_by_place)
        if not text.isascii():  # what an action types stays as it is written
            wide, text = text, text.translate(_WIDE).replace("横坐标", "  x").replace("纵坐标", "  y")
            if text != wide and all([span.form == "tool" for span in spans]):  # noqa: C419 (faster so)
                spans = sorted(self._spans(text), key=_by_place)
        if "px" in text or "\\right" in text:
            text = _UNIT.sub(lambda unit: " " * len(unit[0]), text)
        if "- " in text:
            text = _LISTED.sub(r"\1 \2 \3", text)
        found: list[Candidate] = []
        fenced = text.count("```") % 2 and not text.rstrip().endswith("```")  # a fence that never closes
        end, cut = 0, text.rfind("```") if fenced else len(text) + 1
        for span in [*spans, Candidate(len(text), len(text), "", None)]:
            if span.begin < end:
                continue  # a part of the one before
            found += places_between(text, end, span.begin)
            if span.form:
                opened = opened_between(text, end, span.begin, braces=text[span.begin] != "{")
                found.append(guarded(text, end, opened, span))
            end = span.end
        found = [each for each in found if each.form != "tool"]
        if not found:  # numbers and tables beside an answer are none
            begin = max([span.end for span in spans], default=0)
            found = [alone] if (alone := bare_numbers(text[begin:])) else [*tables_in(text, begin)]
        return [each._replace(act=None) if each.begin >= cut else each for each in found][: 2 * MOST]

    def _spans(self, text: str) -> Iterator[Candidate]:
        """Answers that are more than a place: objects, calls, lines, tags; and what is to be skipped, as "tool"."""
        if "{" in text:
            spans = object_spans(text)
            yield from self._objects(text, spans)
            if len(spans) == 1 and "".join((text[: spans[0][0]] + text[spans[0][1] :]).split()) in _AROUND:
                return  # nothing else can be there
        if "(" in text:
            for begin, end, library, name, acts in calls_in(text):
                if acts is None:
                    yield Candidate(begin, end, "action_calls", None)
                elif self._is_tool(name):
                    yield Candidate(begin, end, "tool", None)
                else:
                    for act, (first, last) in zip(acts, parts(begin, end, len(acts)), strict=True):
                        yield Candidate(first, last, _form_of_call(text[begin:end], library, act), act, library)
            if "#" in text and "pyautogui." in text:
                yield from [Candidate(*match.span(), "tool", None) for match in _COMMENT.finditer(text)]
            if "Image_" in text:
                yield from crops_in(text)
        if "<" in text:
            yield from asides_in(text)
            yield from tags_in(text)
            yield from self._functions(text)
        if "\t" in text:
            yield from steps_in(text)
        yield from lines_in(text)

    def _is_tool(self, name: Any) -> bool:
        if not isinstance(name, str) or (is_known(name) and name):
            return False
        words = name.lower()
        return any([tool in words for tool in (*TOOLS, *self.tools)])  # noqa: C419 (faster so)

    def _objects(self, text: str, spans: list[tuple[int, int, Any]]) -> Iterator[Candidate]:
        opened = False  # in a list that has not closed yet
        listed: list[Candidate] = []
        for begin, end, value in spans:
            before = text[:begin].rstrip()[-1:]
            after = "]" if _CLOSED.match(text, end) else text[end:].lstrip()[:1]
            item = value if isinstance(value, dict) else loosely(text[begin:end])
            if item is None:
                continue
            made = self._acts(item, begin, end)
            opened = before == "[" or (opened and before == ",")
            if opened and after != "]":
                listed += made
                if after != ",":  # cut off, or no list
                    yield from [each._replace(act=None) if each.form != "tool" else each for each in listed]
                    opened, listed = False, []
                continue
            yield from [*listed, *made]
            opened, listed = False, []
        yield from [each._replace(act=None) for each in listed]

    def _acts(self, item: Mapping[Any, Any], begin: int, end: int) -> list[Candidate]:
        """The acts of an object; the object itself as "tool" where it is none, so that nothing in it is read."""
        several = next((item[key] for key in ("actions", "tool_calls") if isinstance(item.get(key), list)), [item])
        members = [member for member in several if isinstance(member, dict)]
        spans = parts(begin, end, len(members))
        made = [self._act(member, *span) for member, span in zip(members, spans, strict=True)]
        return [each for each in made if each is not None] or [Candidate(begin, end, "tool", None)]

    def _act(self, item: Mapping[Any, Any], begin: int, end: int) -> Candidate | None:
        item = {_key(key): value for key, value in item.items()}
        called = "arguments" in item or "args" in item or "parameters" in item or "input" in item
        inner = item.get("function") if isinstance(item.get("function"), dict) else item
        name = inner.get("name", item.get("function")) if isinstance(inner, Mapping) else None
        if called and self._is_tool(name):
            return Candidate(begin, end, "tool", None)
        compact = "action" not in item and not (COMPACT_SIGNS.isdisjoint(item) and item.keys() - _WAITING)
        act = compact_act(item) if compact else act_of(item)
        if act is None:
            if _is_empty(item):
                return Candidate(begin, end, "json_refusal", REFUSED)
            held = [key for key in item if key in _PLACE_KEYS or key in KEYS["name"]]
            if compact or held:
                return Candidate(begin, end, "action_json", None)
            return _said(item, begin, end)
        if ("(" in act.name or "[" in act.name) and (inner := _sole_act(act.name)):
            act = inner  # {"action": "click(5, 6)"}
        if self._is_tool(act.name):
            return Candidate(begin, end, "tool", None)
        return Candidate(begin, end, _form_of_object(item, act, called), act)

    def _functions(self, text: str) -> Iterator[Candidate]:
        """Calls in tags: ``<function=click><parameter=point>..``, ``<invoke name="click">..``, ``click<arg_key>..``."""
        for opening, closing, key_opens, key_ends, value_ends in _CALLS_IN_TAGS:
            if opening not in text or (key_opens == _ARG_KEY and key_opens not in text):
                continue
            position = text.find(opening)
            while position >= 0:
                close = text.find(closing, position)
                if close < 0:
                    yield Candidate(position, len(text), "tool_call", None)
                    return
                head, *rest = text[position + len(opening) : close].split(key_opens)
                name, _, body = head.partition(">")
                item = (decoded(body) if "{" in body else None) or {}  # Llama's arguments are an object
                for part in rest:
                    key, _, value = part.partition(key_ends)
                    value, closed, _ = value.rpartition(value_ends)
                    if closed:
                        item[key.strip(_QUOTES)] = value.strip().removeprefix("<arg_value>").strip()
                call = {"name": name.strip(_QUOTES), "arguments": item}
                end = close + len(closing)
                yield self._act(call, position, end) or Candidate(position, end, "tool_call", None)
                position = text.find(opening, close)


_AROUND = frozenset({"", "<tool_call></tool_call>", "<answer></answer>", "```json```", "[]", "```json[]```"})
"""Text around the only object of an answer, without white space, in which nothing else is answered."""

_ARG_KEY = "<arg_key>"  # of GLM
_CALLS_IN_TAGS = (
    ("<function=", "</function>", "<parameter=", ">", "</parameter>"),
    ('<invoke name="', "</invoke>", '<parameter name="', ">", "</parameter>"),
    ("<tool_call>", "</tool_call>", _ARG_KEY, "</arg_key>", "</arg_value>"),
)
"""Begin and end of a call, begin and end of a key, and end of its value."""

_QUOTES = "\"' \t\n"


def _by_place(candidate: Candidate) -> tuple[int, int]:
    """Order by the begin, the longer one first."""
    return candidate.begin, -candidate.end


# What is no part of the answer.

_TURNS = on_use(
    r"</tool_response>|<\|im_start\|>assistant|<start_of_turn>model|<\|start_header_id\|>assistant<\|end_header_id\|>"
    r"|(?:^|\n)(?:assistant\n|(?:ASSISTANT|Assistant):)"
)
_ASKED = re.compile(r"<tool_response>|<\|im_start\|>(?:user|tool)|<start_of_turn>user|\nuser\n<image>")
_NEXT = re.compile(r"(?:^|\n)(?:USER|Human):")  # a turn that the model made up behind its answer
_TURN_SIGNS = ("tool_response>", "assistant", "ASSISTANT:", "Assistant:", "<start_of_turn>", "user", "USER:", "Human:")
# Plain <think> is for the option ``thinking`` to drop.
_THINKING = "[a-z_:]+think|think_[a-z_0-9]+|[a-z_]*thinking|THINK|Think|thoughts?"
_THOUGHT = re.compile(
    rf"</(?:{_THINKING})>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<channel\|>|<\|start\|>assistant|assistantfinal"
    r"|<\|channel\|>final<\|message\|>"
)
_THINKS = re.compile(
    rf"<(?:{_THINKING})>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<\|channel>thought|<\|channel\|>analysis"
)
_POLITE = rf"(?!(?:{'|'.join(WORDS)})[ \t\r]*\n)[A-Za-z\u4e00-\u9fff][^\n0-9()\[\]{{}}<>]*"
_THOUGHTS = re.compile(
    rf"^{SPACE}(?:(?:#+ Step [0-9]+:?|```[a-z]*|{_POLITE})\n{SPACE})?"
    rf"(?:<answer>{SPACE})?(?:#+ )?\**"
    rf"(?:{either_case('thoughts?|reason(?:ing)?|reflection|observation|analysis|explanation')})(?:\**:| #+\n)"
)
_ACTION = on_use(rf"\n[ \t]*(?:#+ )?\**(?:{either_case('actions?|(?:final )?answer|code')})(?:\**:| #+\n)")
_COMMENT = on_use(r"(?:^|\n)[ \t]*#(?!#)(?:[ \t]*pyautogui\.|(?![^\n]*pyautogui\.))[^\n]*|(?<=\))[ \t]+#[^\n]*")
_CLOSED = on_use(rf"{SPACE}(?:,{SPACE})?\]")
_OPEN_END = on_use(rf"(?:[(\[{{][^()\[\]{{}}<>]*|</?[A-Za-z_|]*|<(?:\|box_start\||{TAG})>[^<>]*)$")
_TAIL = 200  # characters in which a bracket is looked for that opens and does not close
LINK = "<link>"
_WIDE = str.maketrans("（），：［］【】｛｝；\xa0\u2002\u2003\u2009\u202f\u3000\u200b\ufeff", f"(),:[][]{{}};{' ' * 8}")
_LISTED = on_use(rf"((?:^|:{BLANKS}\n){BLANKS})-( {NUMBER}{BLANKS}\n{BLANKS})-( {NUMBER}{BLANKS}(?:\n(?!{BLANKS}-)|$))")
"""Two numbers in YAML's list, alone or under a key."""
_UNIT = re.compile(r"(?<=[0-9]) ?px(?![A-Za-z])|\\(?:left|right)(?=[()\[\]])")


def answer_of(text: str) -> str:
    """Return the part of a text that can hold the answer: without earlier turns and thoughts."""
    if any([sign in text for sign in _TURN_SIGNS]):  # noqa: C419 (faster so)
        text = _last(text, _TURNS)
        text = "" if _ASKED.search(text) else _NEXT.split(text, maxsplit=1)[0]
    if "hink" in text or "THINK" in text or "thought" in text or "channel" in text:
        text = _last(text, _THOUGHT)
        opened = _THINKS.search(text)
        text = text[: opened.start()] if opened else text
    if LINK in text:  # BTL-UI's answer; text before it, such as the boxes of <blink>, is none
        text = text.rpartition(LINK)[2].partition("</link>")[0]
    if _THOUGHTS.match(text) and (action := _ACTION.search(text)):
        text = text[action.end() :]
    text = without_end(text)
    if text[:1] in _AROUND_ALL and _MARKS.search(text) and text[-1] == text[0]:  # an answer in quotes
        said = read_json(text) if text[0] == '"' and "\\" in text else None
        text = said if isinstance(said, str) else text[1:-1] if text.count(text[0]) == 2 else text
    return text


_AROUND_ALL = ('"', "'", "`")


def _last(text: str, pattern: re.Pattern[str]) -> str:
    """The text behind the last match."""
    end = 0
    for match in pattern.finditer(text):
        end = match.end()
    return text[end:]


# Answers that are more than a place.

_PLACE_KEYS = frozenset({*KEYS["start"], *KEYS["place"], *KEYS["box"]}) - MAY_BE_WORDS - {"from"}
_WAITING = {"duration", "thought"}
_OF_TOOLS = ("response", "output")  # what a tool gives back: nothing there refuses nothing
_SAID = ("answer", "result", "response", "output", "final_answer", "prediction")


def _key(key: Any) -> Any:
    """A key as the tables have it: ``COORDINATE`` and ``Coordinate`` are ``coordinate``."""
    return key.lower() if isinstance(key, str) and key[:1].isupper() and key not in COMPACT_SIGNS else key


def _is_empty(item: Mapping[Any, Any]) -> bool:
    """Return True for an object whose known key of a place holds nothing: a refusal, unless it names an action."""
    held = [item[key] for key in item if key in _PLACE_KEYS or key in ("x", "y")]
    named = any([item.get(key) for key in (*KEYS["name"], "type", "arguments")])  # noqa: C419 (faster so)
    return bool(held) and not named and all([value is None or value == [] or value == {} for value in held])  # noqa: C419


def _said(item: Mapping[Any, Any], begin: int, end: int) -> Candidate | None:
    """A place that an object says as its answer, in a string of nothing else or in another object."""
    for key in _SAID:
        value = item.get(key)
        if isinstance(value, str) and (act := _sole_act(value)):
            return Candidate(begin, end, _form_of_object({}, act, False), act)
        if isinstance(value, dict) and (act := act_of(value)):
            return Candidate(begin, end, "json_coordinate", act)
        if not isinstance(value, str | dict) and (place := place_of(value)):
            return Candidate(begin, end, "json_coordinate", Act("", place))
        if key in item and value in (_REFUSALS if key == "result" else _NOTHING) and key not in _OF_TOOLS:
            return Candidate(begin, end, "json_refusal", REFUSED)
    return None


_REFUSALS = ("None", "none", "null", "refusal")
_NOTHING: tuple[Any, ...] = (None, [], {}, *_REFUSALS)  # an empty result may be a tool's


def _sole_act(text: str) -> Act | None:
    """The act of a text that is one place, one call or one line such as ``click [5, 6]``."""
    if place := written_place(text):
        return Act("", place)
    acts = [acts for *_, acts in calls_in(text)] or [[line.act] for line in lines_in(text) if line.act]
    return acts[0][0] if len(acts) == 1 and acts[0] else None


_FORMS_OF_KEYS = {"point_2d": "json_2d", "bbox_2d": "json_2d", "POINT": "json_compact", "mean": "json_distribution"}


def _form_of_object(item: Mapping[Any, Any], act: Act, called: bool) -> str:
    if not act.place:
        return "action_json"
    form = "tool_call" if called else "json_xy" if "x" in item or "path" in item else "json_coordinate"
    return next((_FORMS_OF_KEYS[key] for key in item if key in _FORMS_OF_KEYS), form)


def _form_of_call(text: str, library: str, act: Act) -> str:
    if not act.place:
        return "action_calls"
    if library == "pyautogui":
        return "pyautogui"
    if any([f"{key}=" in text for key in ("start_box", "start_point", "point")]):  # noqa: C419 (faster so)
        return "ui_tars"
    return "keyword_call" if "=" in text else "click_call"


# Several answers, and those that are one.


def _joined(found: list[Candidate]) -> list[Candidate]:
    """Join calls that are one action, what is written and Enter, and the same place in two forms."""
    if len(found) < 2:
        return found
    if all([each.library and each.act for each in found]):  # noqa: C419 (faster so)
        acts = acts_of_calls([(each.library, each.act) for each in found if each.act])
        if len(acts) == 1:
            return [found[0]._replace(act=acts[0])]
        if len(acts) < len(found):
            found = [each for each in found if any(each.act is act for act in acts)] if len(acts) > 1 else found
    kept: list[Candidate] = []
    for each in found:
        if kept and (one := _together(kept[-1], each)):
            kept[-1] = one
        elif not any([_same(other, each) for other in kept]):  # noqa: C419 (faster so)
            kept.append(each)
        else:
            kept = [
                each._replace(begin=other.begin) if _same(other, each) and each.act and each.act.name else other
                for other in kept
            ]
    return kept


def _same(one: Candidate, other: Candidate) -> bool:
    """Return True for one place, or a box and its centre, of the same action, or of one that is not named there."""
    if one.act is None or other.act is None or not one.act.place:
        return False
    point, box = sorted((one.act.place, other.act.place), key=len)
    if point != box and not (len(box) == 4 and point == ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)):
        return False
    names = {canonical(one.act.name), canonical(other.act.name)}
    return "" in names or (len(names) == 1 and one.act.arguments == other.act.arguments)


def _together(one: Candidate, other: Candidate) -> Candidate | None:
    """Join a text that is written and the Enter behind it: it types a line break."""
    if one.act is None or other.act is None or canonical(one.act.name) != "type" or other.act.place:
        return None
    text = one.act.arguments.get("text")
    if not isinstance(text, str) or normalised(other.act.name, other.act.arguments)[0] != "enter":
        return None
    return one._replace(end=other.end, act=one.act._replace(arguments={**one.act.arguments, "text": f"{text}\n"}))


def _typed_at(one: Candidate, other: Candidate) -> Act | None:
    """Join a click and the text that is typed behind it: where a target asks for both, they are its one step."""
    if one.act is None or other.act is None or not one.act.place or other.act.place or one.act.place in NOWHERE:
        return None
    clicked, typed = [normalised(act.name, act.arguments) for act in (one.act, other.act)]
    if clicked != ("click", {}) and clicked != ("", {}):
        return None
    return Act("type", one.act.place, {**typed[1], "clicked": True}) if typed[0] == "type" else None


_SENTENCES = 500
"""Characters of prose from which on guards take longer than the careful reading."""

_MARKS = re.compile("[(\\[{<\uff08\uff3b\u3010\uff5b]")
_MARKED = "|".join(
    [
        _MARKS.pattern,
        f"[0-9]\\.?(?:{SPACE}px)?(?:{SPACE}[,\uff0c]{SPACE}|{SPACES})-? ?[0-9.]",
        f"[=:\uff1a≈为是][\"'*`]*{SPACE}-? ?[0-9.]",
        rf"\|{BLANKS}:?-",
        *[re.escape(sign) for sign in _SIGNS if not _MARKS.search(sign)],
        "(?:^|[\t\n])action:",
        rf"(?:^|\n){BLANKS}(?:{HEAD}{BLANKS})?(?:```[a-z]*)?(?:(?:{'|'.join(WORDS)}|TYPE:|SCROLL:)|[A-Za-z_]+{BLANKS},)",
    ]
)
"""A pattern that occurs in every text with an answer that is no refusal."""

AUTO = AnyForm("auto", vocabulary=True, signs=_SIGNS, refusal=REFUSAL)
"""Places in any form; what has none is no answer."""

AUTO_ACTION = replace(AUTO, name="auto_action", placed=False)
"""Actions and places in any form, in the vocabulary's words; a place without a name is a click."""


def _of(name: str, *signs: str, forms: str = "", placed: bool = True) -> AnyForm:
    """A dialect of some of the forms; without any of that name."""
    return AnyForm(name, signs=signs, vocabulary=True, placed=placed, only=tuple(forms.split()) or (name,))


# Places: <|box_start|>(500,370),(524,398)<|box_end|> | <box>500 370 524 398</box> | <point>5 3</point>
BOX_TOKENS = _of("box_tokens", "box_start|>", "box>")
POINT_TAG = _of("point_tag", "<point>", forms="point_tag ui_tars tool_call action_os_atlas")
XY_TAGS, MOLMO, CROPPED = _of("xy_tags", "<x>"), _of("molmo", "coords="), _of("cropped", "Image_")
# (500,370),(524,398) of Qwen2-VL | [500,370],[524,398] of UI-Venus 1.0 | [512, 384] | [[500, 370, 524, 398]]
CORNER_TUPLES = _of("corner_tuples", "(", forms="corner_tuples box_tokens")
CORNER_LISTS = _of("corner_lists", "[")
BARE_LIST = _of("bare_list", "[", forms="bare_list nested_list")
NESTED_LIST = _of("nested_list", "[", forms="nested_list keyword_call")
# Calls: pyautogui.click(x=0.797, y=0.219) | click(x=960, y=540) | Click(352, 348) | click(start_box='(512,384)')
PYAUTOGUI, CLICK_CALL = _of("pyautogui", "pyautogui."), _of("click_call", "(")
KEYWORD_CALL = _of("keyword_call", "(", forms="keyword_call pyautogui")
UI_TARS = _of("ui_tars", "start_box=", "start_point=", "point=")
# Objects: {"point_2d": [5, 3]} | {'action': 'click', 'point': [5, 3]} | {"POINT": [5, 3]} | {"x": 5, "y": 3}
JSON_2D = _of("json_2d", "point_2d", "bbox_2d", forms="json_2d json_refusal json_coordinate")
JSON_COORDINATE = _of(
    "json_coordinate", *(f"{key}{quote}" for key in ("coordinate", "point", "position") for quote in "\"'"),
    forms="json_coordinate json_refusal tool_call",
)  # fmt: skip
JSON_COMPACT, JSON_DISTRIBUTION = _of("json_compact", "POINT"), _of("json_distribution", '"mean"', "'mean'")
JSON_XY = _of("json_xy", '"x"', "'x'", forms="json_xy tool_call")
TOOL_CALL = _of("tool_call", "tool_call>", '"arguments"', "'arguments'", forms="tool_call json_coordinate")

# Actions: the same forms, and those without a place.
_OBJECTS = "json_2d json_coordinate json_compact json_distribution json_xy json_refusal tool_call action_json"
ACTION_JSON = _of(
    "action_json", 'ction"', "ction'", "action_type", "arguments", "parameters", '"type"', "'type'",
    forms=_OBJECTS, placed=False,
)  # fmt: skip
ACTION_COMPACT = _of(
    "action_compact", *(f"{key}{quote}" for key in (*COMPACT_SIGNS, "duration") for quote in "\"'"),
    forms="json_compact action_json", placed=False,
)  # fmt: skip
ACTION_BLINK = _of("action_blink", LINK, forms=_OBJECTS, placed=False)
ACTION_CALLS = _of("action_calls", "(", forms="ui_tars pyautogui keyword_call click_call action_calls", placed=False)
ACTION_OS_ATLAS = _of("action_os_atlas", forms="action_os_atlas click_call", placed=False)
