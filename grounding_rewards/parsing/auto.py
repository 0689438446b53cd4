"""``auto`` and ``auto_action``: answers in any form, each with the place in the text where it stands.

All forms are looked for, and each answer has a begin and an end. A form inside another one's span is part of it; the
same place twice is one answer; different ones are several, first and last by where they stand. Earlier turns and calls
of tools are no answers, an open bracket, quote, fence or tag is none, and what an action types is never searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from grounding_rewards.actions import Act, canonical, is_click, is_known, normalised
from grounding_rewards.parsing.bare_places import (
    BLANKS,
    MOST,
    Candidate,
    bare_numbers,
    bare_places,
    guarded,
    is_cut,
    opened_between,
)
from grounding_rewards.parsing.calls import AT_PLACES, END, PYAUTOGUI_CLICK, STEP, Call, acts_of_calls, calls_in
from grounding_rewards.parsing.objects import (
    CLICK,
    COMPACT_SIGNS,
    KEYS,
    LINK,
    MAY_BE_WORDS,
    NOWHERE,
    NUMERAL,
    PLAIN_TEXT,
    TYPE,
    act_of,
    compact_act,
    loosely,
    object_spans,
    written_place,
)  # fmt: skip
from grounding_rewards.parsing.patterns import GAP, PLACE, SPACES, either_case
from grounding_rewards.parsing.places import (
    BARE_LIST,
    BARE_TUPLE,
    JSON_2D,
    REFUSAL,
    TOOL_CALL,
)
from grounding_rewards.parsing.readers import read_cropped, read_points
from grounding_rewards.parsing.reading import NEVER, NOTHING, REFUSED, Answered, Answers, Form, Step
from grounding_rewards.parsing.texts import NUMBER, SPACE, compiled, number, on_use

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

NEEDS_A_PLACE = frozenset(
    {"click", "double_click", "triple_click", "right_click", "middle_click", "long_press", "hover", "drag"}
)
"""Actions that are malformed without a place."""

TOOLS = ("zoom", "crop", "search", "magnif", "wait_for_image", "ocr", "get_image", "view_image", "image_tool")
"""Parts of the names of tools that look and do not act; their calls are no answers."""

_FAILED = frozenset({"failure", "failed", "fail", "impossible", "infeasible", "not_found", "error"})


@dataclass(frozen=True)
class AnyForm(Form):
    """All forms of answers at once."""

    refusal: Form = field(default=REFUSAL, repr=False)  # reads a whole text that refuses
    tools: tuple[str, ...] = ()  # parts of further names of tools, whose calls are no answers
    placed: bool = True  # answers without a place do not count, and one that ends the task as impossible is a refusal

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms."""
        return FORMS

    def check_patterns(self) -> None:
        """Check the refusal, which options may have widened."""
        self.refusal.check_patterns()

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        for usual in self._usual:
            if usual.sign in text and not (usual.guards and len(text) > _SENTENCES) and (act := usual.act(text)):
                return FORMS.index(usual.form), True, (self._spelled(act),)
        if not _MARKS.search(text) and not compiled(_MARKED).search(text):
            return (0, True, (REFUSED,)) if self.refusal.one(answer_of(text), answers)[2] else NOTHING
        return self.careful(text, answers)

    def careful(self, text: str, answers: Answers) -> Answered:
        """Read a text without its usual forms, which say the same in less time."""
        text = answer_of(text)
        if self.refusal.one(text, answers)[2]:
            return 0, True, (REFUSED,)
        found = _joined(self._candidates(text))
        return self._counted(text, found, answers)

    def _counted(self, text: str, found: list[Candidate], answers: Answers) -> Answered:
        """The answers that a policy needs."""
        if not found:
            return -1, any([sign in text for sign in _SIGNS]) and not _tools_alone(text, self.tools), ()  # noqa: C419
        if answers == "first" or len(found) == 1:
            return self._one(found[0])
        if answers == "last":
            return self._one(found[-1])
        read = [each for each in found if each.act is not None]
        if len(found) == 2 and answers == "only" and not self.placed and (act := _typed_at(*found)):
            return FORMS.index(found[0].form), True, (act,)
        if len(read) < len(found) and len(read) < 2:
            return -1, True, ()
        acts = [self._spelled(each.act) for each in read if each.act is not None]
        return FORMS.index(read[0].form), True, acts

    def _one(self, candidate: Candidate) -> Answered:
        """A sole answer: a refusal, an act, or nothing where it needs a place and has none."""
        act = candidate.act
        if act is None:
            return -1, True, ()
        index = FORMS.index(candidate.form)
        if act is REFUSED or (act.place in NOWHERE and is_click(act.name)):
            return index, True, (REFUSED,)
        kind = canonical(act.name)
        if not act.place and self.placed:
            failed = kind == "finished" and _has_failed(act)
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
            Step(self, FORMS.index(usual.form), (usual.sign,), usual.patterns, NEVER, usual.guards)
            for usual in self._usual
        ]
        return [*forms, Step(self, needs=(self._needs,))]

    @cached_property
    def _usual(self) -> tuple[Usual, ...]:
        return _USUAL if self.placed else (*_USUAL, *_USUAL_ACTIONS)

    @cached_property
    def _needs(self) -> str:
        return f"{_MARKED}|{self.refusal.pattern}"

    def _candidates(self, text: str) -> list[Candidate]:
        """All answers of a text, in order."""
        spans = sorted(self._spans(text), key=_by_place)
        if not text.isascii():  # what an action types stays as it is written
            wide, text = text, text.translate(_WIDE)
            spans = spans if text == wide else spans or sorted(self._spans(text), key=_by_place)
        found: list[Candidate] = []
        end, fenced = 0, _last_fence(text)
        for span in [*spans, Candidate(len(text), len(text), "", None)]:
            if span.begin < end:
                continue  # a part of the one before
            found += bare_places(text, end, span.begin)
            if span.form:
                opened = opened_between(text, end, span.begin, braces=text[span.begin] != "{")
                found.append(guarded(text, end, opened, span))
            end = span.end
        whole = [] if found or spans else [each for each in (bare_numbers(text),) if each]
        found = [each for each in found + whole if each.form != "tool"]
        return [each._replace(act=None) if each.begin >= fenced else each for each in found][: 2 * MOST]

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
                    for act, (first, last) in zip(acts, _parts(begin, end, len(acts)), strict=True):
                        yield Candidate(first, last, _form_of_call(text[begin:end], library, act), act, library)
            if "Image_" in text:
                yield from _cropped(text)
        if "<" in text:
            yield from _tags(text)
            yield from self._functions(text)
        if ":" in text or "=" in text:
            yield from _fields(text)
        yield from _lines(text)

    def _is_tool(self, name: Any) -> bool:
        if not isinstance(name, str) or (is_known(name) and name):
            return False
        words = name.lower()
        return any([tool in words for tool in (*TOOLS, *self.tools)])  # noqa: C419 (faster so)

    def _objects(self, text: str, spans: list[tuple[int, int, dict[Any, Any] | None]]) -> Iterator[Candidate]:
        opened = False  # in a list that has not closed yet
        listed: list[Candidate] = []
        for begin, end, value in spans:
            before, after = text[:begin].rstrip()[-1:], text[end:].lstrip()[:1]
            if value is None:
                item: Any = loosely(text[begin:end])
            else:
                item = value
            if item is None:
                continue
            made = list(self._acts(item, begin, end))
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

    def _acts(self, item: Mapping[Any, Any], begin: int, end: int) -> Iterator[Candidate]:
        """The acts of an object; the object itself as "tool" where it is none, so that nothing in it is read."""
        several = next((item[key] for key in ("actions", "tool_calls") if isinstance(item.get(key), list)), [item])
        members = [member for member in several if isinstance(member, dict)]
        count = 0
        for member, (first, last) in zip(members, _parts(begin, end, len(members)), strict=True):
            candidate = self._act(member, first, last)
            if candidate is not None:
                count += 1
                yield candidate
        if not count:
            yield Candidate(begin, end, "tool", None)

    def _act(self, item: Mapping[Any, Any], begin: int, end: int) -> Candidate | None:
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
        if "(" in act.name and len(calls := [acts for *_, acts in calls_in(act.name)]) == 1 and calls[0]:
            act = calls[0][0]  # {"action": "click(5, 6)"}
        if self._is_tool(act.name):
            return Candidate(begin, end, "tool", None)
        return Candidate(begin, end, _form_of_object(item, act, called), act)

    def _functions(self, text: str) -> Iterator[Candidate]:
        """Calls in tags: ``<function=click><parameter=point>..`` of Qwen3.5 and Seed, ``<invoke name="click">..``."""
        for opening, closing, parameter in _CALLS_IN_TAGS if "<function=" in text or "<invoke" in text else ():
            position = text.find(opening)
            while position >= 0:
                close = text.find(closing, position)
                if close < 0:
                    yield Candidate(position, len(text), "tool_call", None)
                    return
                name, _, body = text[position + len(opening) : close].partition(">")
                item: dict[str, Any] = {}
                for part in body.split(parameter)[1:]:
                    key, _, value = part.partition(">")
                    value, closed, _ = value.rpartition("</parameter>")
                    if closed:
                        item[key.strip(_QUOTES)] = value.strip()
                call = {"name": name.strip(_QUOTES), "arguments": item}
                end = close + len(closing)
                yield self._act(call, position, end) or Candidate(position, end, "tool_call", None)
                position = text.find(opening, close)


_AROUND = frozenset({"", "<tool_call></tool_call>", "<answer></answer>", "```json```", "[]", "```json[]```"})
"""Text around the only object of an answer, without white space, in which nothing else is answered."""

_CALLS_IN_TAGS = (
    ("<function=", "</function>", "<parameter="),
    ('<invoke name="', "</invoke>", '<parameter name="'),
)
_QUOTES = "\"' \t\n"


def _by_place(candidate: Candidate) -> tuple[int, int]:
    """Order by the begin, the longer one first."""
    return candidate.begin, -candidate.end


def _parts(begin: int, end: int, count: int) -> list[tuple[int, int]]:
    """Split a span into as many as there are acts in it: only their order matters."""
    return (
        [(begin, end)]
        if count == 1
        else [(begin + index, begin + index + 1) for index in range(count - 1)]
        + ([(min(begin + count - 1, end), end)] if count else [])
    )


# What is no part of the answer.

_TURNS = on_use(
    r"</tool_response>|<\|im_start\|>assistant|<start_of_turn>model|<\|start_header_id\|>assistant<\|end_header_id\|>"
    r"|(?:^|\n)assistant\n"
)
_ASKED = re.compile(r"<tool_response>|<\|im_start\|>(?:user|tool)|<start_of_turn>user|\nuser\n<image>")
_THINKING = "[a-z_]+think|[a-z_]*thinking|THINK|thought"  # plain <think> is for the option ``thinking`` to drop
_THOUGHT = re.compile(rf"</(?:{_THINKING})>|◁/think▷")
_THINKS = re.compile(rf"<(?:{_THINKING})>|◁think▷")
_THOUGHTS = re.compile(rf"^{SPACE}(?:#+ )?\**[Tt](?:houghts?|HOUGHTS?)\**:")
_ACTION = on_use(r"\n[ \t]*(?:#+ )?\**[Aa](?:ctions?|CTIONS?)\**:")
_ENDS = on_use(rf"(?:<\|(?:im_end|endoftext|end|eot_id)\|>|</s>|<eos>|<end_of_turn>|{SPACE[:-1]})+$")
_WIDE = str.maketrans("（），：［］【】｛｝", "(),:[][]{}")


def answer_of(text: str) -> str:
    r"""Return the part of a text that can hold the answer: without earlier turns and thoughts.

    >>> answer_of("Thought: not (1, 2).\nAction: (3, 4)"), answer_of("<thinking>(1, 2)</thinking>(3, 4)")
    (' (3, 4)', '(3, 4)')
    """
    if "tool_response>" in text or "assistant" in text or "<start_of_turn>" in text or "user" in text:
        text = _last(text, _TURNS)
        text = "" if _ASKED.search(text) else text
    if "hink" in text or "THINK" in text or "thought>" in text:
        text = _last(text, _THOUGHT)
        opened = _THINKS.search(text)
        text = text[: opened.start()] if opened else text
    if LINK in text:
        text = text.rpartition(LINK)[2].partition("</link>")[0]
    if _THOUGHTS.match(text) and (action := _ACTION.search(text)):
        text = text[action.end() :]
    if text.endswith((">", "\n", " ")) and (ends := _ENDS.search(text[-200:])):
        text = text[: len(text) - min(len(text), 200) + ends.start()] + ("\n" if text[-1:].isspace() else "")
    return text


def _last(text: str, pattern: re.Pattern[str]) -> str:
    """The text behind the last match."""
    end = 0
    for match in pattern.finditer(text):
        end = match.end()
    return text[end:]


def _last_fence(text: str) -> int:
    """The place of a fence that opens and never closes; beyond the end of the text if there is none."""
    return text.rfind("```") if text.count("```") % 2 and not text.rstrip().endswith("```") else len(text) + 1


def _tools_alone(text: str, tools: tuple[str, ...]) -> bool:
    """Return True for complete calls without a place, which begin no answer."""
    return "tool_call>" in text and "coordinate" not in text and "{" in text and bool(object_spans(text))


# Answers that are more than a place.

_PLACE_KEYS = frozenset({*KEYS["start"], *KEYS["place"], *KEYS["box"]}) - MAY_BE_WORDS - {"from"}
_WAITING = {"duration", "thought"}
_SAID = ("answer", "result", "response", "output", "final_answer", "prediction")


def _is_empty(item: Mapping[Any, Any]) -> bool:
    """Return True for an object whose known key of a place holds nothing: a refusal, unless it names an action."""
    held = [item[key] for key in item if key in _PLACE_KEYS]
    named = any([item.get(key) for key in (*KEYS["name"], "type", "arguments")])  # noqa: C419 (faster so)
    return bool(held) and not named and all([value is None or value == [] or value == {} for value in held])  # noqa: C419


def _said(item: Mapping[Any, Any], begin: int, end: int) -> Candidate | None:
    """A place that an object says as its answer, in a string of nothing else or in another object."""
    for key in _SAID:
        value = item.get(key)
        if isinstance(value, str) and (place := written_place(value)):
            return Candidate(begin, end, "json_coordinate", Act("", place))
        if isinstance(value, dict) and (act := act_of(value)):
            return Candidate(begin, end, "json_coordinate", act)
    return None


def _form_of_object(item: Mapping[Any, Any], act: Act, called: bool) -> str:
    if not act.place:
        return "action_json"
    for key, form in (
        ("point_2d", "json_2d"),
        ("bbox_2d", "json_2d"),
        ("POINT", "json_compact"),
        ("mean", "json_distribution"),
    ):
        if key in item:
            return form
    return "tool_call" if called else "json_xy" if "x" in item or "path" in item else "json_coordinate"


def _form_of_call(text: str, library: str, act: Act) -> str:
    if not act.place:
        return "action_calls"
    if library == "pyautogui":
        return "pyautogui"
    if any([f"{key}=" in text for key in ("start_box", "start_point", "point")]):  # noqa: C419 (faster so)
        return "ui_tars"
    return "keyword_call" if "=" in text else "click_call"


_TAGS = on_use(
    rf"<\|box_start\|>{SPACE}{PLACE}<\|box_end\|>"
    rf"|<(?P<tag>[A-Za-z_]{{3,20}})>{SPACE}{PLACE.replace('?P<', '?P<t')}</?(?P=tag)>"
    rf"|<x>{SPACE}(?P<ax>{NUMBER}){SPACE}</x>{SPACE}(?:,{SPACE})?<y>{SPACE}(?P<ay>{NUMBER}){SPACE}</y>"
    rf"""|<points? coords=["'][^"'<>]*["'](?:[^<>]*>[^<>]*</points?>)?"""
    rf"""|<points?(?P<percent>(?:[ \t]+[xy][0-9]{{0,3}}=["']{NUMBER}["'])+)(?:[^<>]*>[^<>]*</points?>)?"""
    r"|(?P<locations>(?:<loc_?[0-9]{1,4}>)+)|(?P<patches>(?:<patch_index_[0-9]{1,4}>)+)"
    r"|<(?P<element>[A-Za-z_]{2,20})"
    rf"""(?P<attributes>(?:[ \t\n]+[A-Za-z_0-9]{{1,20}}=["'][^"'<>]{{0,200}}["'])+){SPACE}/?>"""
    rf"|<(?P<cx1>{NUMBER}){SPACE},{SPACE}(?P<cy1>{NUMBER}){SPACE},{SPACE}(?P<cx2>{NUMBER}){SPACE},{SPACE}(?P<cy2>{NUMBER})>"
)
_KEYS_OF_PLACES = [
    [prefix + name for name in names]
    for names in (("x", "y"), ("x1", "y1", "x2", "y2"))
    for prefix in ("", "t", "a", "c")
    if not (prefix == "a" and len(names) == 4) and not (prefix == "c" and len(names) == 2)
]


_TAGS_OF_POINTS = frozenset({"point", "position", "center"})
_TAGS_OF_PLACES = frozenset({*_TAGS_OF_POINTS, "box", "bbox", "coordinate", "coordinates", "answer"})


def _named_by(tag: str) -> str:
    return tag if is_known(tag) and tag.lower() not in _TAGS_OF_PLACES else ""


_ATTRIBUTE = re.compile(r"""([A-Za-z_0-9]+)=(["'])([^"'<>]*)["']""")


_AXIS = on_use(rf"""[xy][0-9]{{0,3}}=["']({NUMBER})["']""")


_INDEX = re.compile("[0-9]+")
_PATCHES = 32  # Kosmos-2's along each side


def _of_patches(indices: list[int]) -> tuple[float, ...]:
    """The centres of patches, in patches from the left and the top."""
    return tuple([side + 0.5 for index in indices for side in (index % _PATCHES, index // _PATCHES)])


def _tags(text: str) -> Iterator[Candidate]:
    for match in _TAGS.finditer(text):
        if "coords=" in match[0]:
            places = read_points(match[0]) or []
            if not places:
                yield Candidate(*match.span(), "molmo", None)
            for place, (begin, end) in zip(places, _parts(*match.span(), len(places)), strict=True):
                yield Candidate(begin, end, "molmo", Act("", tuple(place)))
            continue
        if match["percent"]:
            found = [number(numeral) for numeral in _AXIS.findall(match["percent"])]
            pairs = list(zip(found[::2], found[1::2], strict=False))
            for pair, (begin, end) in zip(pairs, _parts(*match.span(), len(pairs)), strict=True):
                yield Candidate(begin, end, "molmo", Act("", pair))
            continue
        if match["locations"] or match["patches"]:
            indices = [int(numeral) for numeral in _INDEX.findall(match[0])]
            place = _of_patches(indices) if match["patches"] else tuple(map(float, indices))
            yield Candidate(*match.span(), "location_tokens", Act("", place) if len(place) == 4 else None)
            continue
        groups = match.groupdict()
        if groups["element"]:
            item: dict[str, Any] = {key: value for key, _, value in _ATTRIBUTE.findall(groups["attributes"])}
            act = act_of({"action": _named_by(groups["element"]), **item} if _named_by(groups["element"]) else item)
            if act is not None and act.place:
                yield Candidate(*match.span(), "xy_tags", act)
            continue
        keys = next(keys for keys in _KEYS_OF_PLACES if groups.get(keys[0]))
        place = tuple([number(groups[key]) for key in keys])
        tag = groups["tag"] or ""
        named = _named_by(tag)
        if tag and not named and tag.lower() not in _TAGS_OF_PLACES:
            continue
        form = "point_tag" if tag.lower() in _TAGS_OF_POINTS else "bare_numbers" if tag == "answer" else "box_tokens"
        form = "xy_tags" if groups["ax"] else form
        yield Candidate(*match.span(), form, Act(named, place))


_CROP = on_use(rf"\({SPACE}Image_")


def _cropped(text: str) -> Iterator[Candidate]:
    """Places in crops, as one after the other."""
    begins = [match.start() for match in _CROP.finditer(text)][:MOST]
    if not begins:
        return
    end = text.rfind(")") + 1
    places = read_cropped(text) or []
    if not places:
        yield Candidate(begins[0], max(end, begins[0] + 1), "cropped", None)
    for place, (first, last) in zip(
        places, _parts(begins[0], max(end, begins[0] + len(places)), len(places)), strict=True
    ):
        yield Candidate(first, last, "cropped", Act("", tuple(place)))


_BARE = rf"(?P<x1>{NUMBER}){GAP}(?P<y1>{NUMBER})(?:{GAP}(?P<x2>{NUMBER}){GAP}(?P<y2>{NUMBER}))?"
_FIELD = on_use(
    rf"(?:^|[^A-Za-z_\"'])(?:(?P<key>point|coordinates?|position|bbox|box|center|坐标){SPACE}[:=]{SPACE}{_BARE}(?![0-9.])"
    rf"|(?P<axis>[xX]){SPACE}[:=]{SPACE}(?P<ax>{NUMBER})(?:px)?(?:{GAP}|{SPACES}and{SPACES})"
    rf"[yY]{SPACE}[:=]{SPACE}(?P<ay>{NUMBER}))"
)
_TABBED = on_use(r"(?:^|[\t\n])(?P<line>action:[^\n]*)")


def _fields(text: str) -> Iterator[Candidate]:
    """``point:x,y`` of Step-GUI, and its lines of ``key:value`` between tabs."""
    taken = -1
    for match in _TABBED.finditer(text):
        fields = dict(part.split(":", 1) for part in match["line"].split("\t") if ":" in part)
        item: dict[str, Any] = {key.strip(): value.strip() for key, value in fields.items()}
        if "\t" not in match["line"] or not is_known(item["action"]):
            continue
        begin, taken = match.start("line"), match.end()
        open_ended = taken == len(text) and any([is_cut(item.get(key, "")) for key in ("point", "point2")])  # noqa: C419
        if not item.get("point1"):
            item.pop("to", None)
        yield Candidate(
            begin,
            taken,
            "bare_numbers",
            None if open_ended and match["line"].endswith(item.get("point", "-")) else act_of(item),
        )
    for match in _FIELD.finditer(text):
        begin, end = max(match.start("key"), match.start("axis")), match.end()
        if begin < taken:
            continue
        place = tuple([number(match[key]) for key in ("x1", "y1", "x2", "y2", "ax", "ay") if match[key]])
        cut = end == len(text) and is_cut(match[0])
        yield Candidate(begin, end, "bare_numbers", None if cut else Act("", place))


_WORDS = {
    "WAIT": "wait", "ENTER": "enter", "PRESS_BACK": "back", "PRESS_HOME": "home", "PRESS_RECENT": "recent",
    "COMPLETE": "finished", "DONE": "finished", "FAIL": "finished", "IMPOSSIBLE": "finished",
}  # fmt: skip
"""Answers of one word, and their actions in the vocabulary; FAIL and IMPOSSIBLE give up the task."""

_GIVEN_UP = ("FAIL", "IMPOSSIBLE")
_NAMES = either_case("(?:click|tap|hover|(?:left|double|triple|right|middle|long)[ _-]?(?:click|tap|press))")
_OPEN = rf"(?:(?:<\|box_start\|>|<point>|<box>){SPACE})?"
_CLOSE = rf"(?:(?:<\|box_end\|>|</point>|</box>){SPACE})?"
_LINE_FORMS = (
    rf"(?P<word>{'|'.join(_WORDS)})",
    r"(?P<typing>TYPE|OPEN_APP) \[(?P<text>[^\n]*)\]",
    rf"SCROLL[ \t]*\[[ \t]*(?P<direction>{either_case('up|down|left|right')})[ \t]*\]",
    rf"(?P<name>{_NAMES})(?:[ \t]+(?:at|on))?[ \t]*(?:[:,][ \t]*)?{_OPEN}{PLACE}{_CLOSE}",
)
_HEAD = rf"{either_case('actions?')}:"
_START = rf"(?:(?:(?s:.*)\n)?[ \t]*{_HEAD})?"
_LINE = rf"^{_START}{SPACE}(?:```[a-z]*{SPACE})?(?:{'|'.join(_LINE_FORMS)}){SPACE}(?:```{SPACE})?$"
_COMPILED = on_use(_LINE)
_EACH = on_use(
    rf"{BLANKS}(?:{_HEAD}{BLANKS})?(?:```[a-z]*)?(?:{'|'.join(_LINE_FORMS)}"
    rf"|(?P<written>[A-Za-z_]+){BLANKS},{BLANKS}(?P<argument>[^\n]*))"
)
_TYPES = ("type", "open_app", "answer")


def read_line(text: str) -> list[Act] | None:
    r"""Return the action if a text is one line, or one line after its last ``actions:``; else None.

    >>> read_line("thoughts: Type it.\nactions:\nTYPE [hello [1]]")
    [Act(name='type', place=(), arguments={'text': 'hello [1]'})]
    >>> read_line("LONG_PRESS <point>[[5, 6]]</point>")[0][:2], read_line("I would LONG_PRESS [5, 6]")
    (('LONG_PRESS', (5.0, 6.0)), None)
    """
    match = _COMPILED.search(text)
    act = None if match is None or _is_open(match) else _act_of_line(match)
    return None if act is None else [act]


def _is_open(match: re.Match[str]) -> bool:
    """Return True where the place behind a name lacks a closing bracket, as it does where a line is cut off."""
    place = match[0][match.end("name") - match.start() :] if match["name"] else ""
    return sum(map(place.count, "[(")) > sum(map(place.count, "])"))


def _act_of_line(match: re.Match[str]) -> Act | None:
    word, typing, direction = match["word"], match["typing"], match["direction"]
    if word:
        return Act(_WORDS[word], (), {"status": "impossible"} if word in _GIVEN_UP else {})
    if typing:
        name, key = ("type", "text") if typing == "TYPE" else ("open_app", "app")
        return Act(name, (), {key: match["text"]})
    if direction:
        return Act("scroll", (), {"direction": direction.lower()})
    place = tuple([number(match[key]) for key in ("x", "y", "x1", "y1", "x2", "y2") if match[key]])
    return Act(match["name"], place) if is_known(match["name"]) else None


def _lines(text: str) -> Iterator[Candidate]:
    """Lines that are an action: OS-Atlas's, one word, a name in front of a place, and ``name, argument``."""
    position = 0
    for line in text.split("\n")[: 4 * MOST]:
        begin, position = position, position + len(line) + 1
        last = line.rstrip()[-1:]
        likely = last and (last in "]>)`" or "," in line or last.isdigit() or last.isupper())  # few lines are
        match = _EACH.fullmatch(line.rstrip(" \t\r").removesuffix("```").rstrip(" \t\r")) if likely else None
        if match is None:
            continue
        written = match["written"]
        if not written:
            called = match["name"] and line[match.end("name")] == "("
            if not called and (act := _act_of_line(match)):
                yield Candidate(begin, position - 1, "action_os_atlas", None if _is_open(match) else act)
        elif is_known(written) and canonical(written) in _TYPES and written.islower():
            key = "app" if canonical(written) == "open_app" else "text"
            yield Candidate(begin, position - 1, "action_os_atlas", Act(written, (), {key: match["argument"]}))


ACTION_OS_ATLAS = Form("action_os_atlas", read=read_line, vocabulary=True)
"""OS-Atlas's actions, the words of OSWorld, and a name in front of a place: the whole answer is one such line.

It may follow a heading ``actions:`` or ``Action:``, and stand in a fence. The words and OS-Atlas's names are in
capitals; the name in front of a place may be in any case.
"""


# Several answers, and those that are one.


def _joined(found: list[Candidate]) -> list[Candidate]:
    """Join calls that are one action, what is written and Enter, and the same place in two forms."""
    if len(found) < 2:
        return found
    if all([each.library and each.act for each in found]):  # noqa: C419 (faster so)
        acts = acts_of_calls([Call(each.library, each.act.name, each.act) for each in found if each.act])
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
    """Return True for the same place of the same action, or of one that is not named there."""
    if one.act is None or other.act is None or not one.act.place or one.act.place != other.act.place:
        return False
    if one.act.arguments != other.act.arguments and one.act.name and other.act.name:
        return False
    names = {canonical(one.act.name), canonical(other.act.name)}
    return len(names) == 1 or "" in names


def _together(one: Candidate, other: Candidate) -> Candidate | None:
    """Join a text that is written and the Enter behind it: it types a line break."""
    if one.act is None or other.act is None or canonical(one.act.name) != "type" or other.act.place:
        return None
    if normalised(other.act.name, other.act.arguments)[0] != "enter" or not isinstance(
        one.act.arguments.get("text"), str
    ):
        return None
    text = one.act.arguments["text"]
    return one._replace(end=other.end, act=one.act._replace(arguments={**one.act.arguments, "text": f"{text}\n"}))


def _typed_at(one: Candidate, other: Candidate) -> Act | None:
    """Join a click and the text that is typed behind it: where a target asks for both, they are its one step."""
    if one.act is None or other.act is None or not one.act.place or other.act.place or one.act.place in NOWHERE:
        return None
    clicked, typed = [normalised(act.name, act.arguments) for act in (one.act, other.act)]
    if clicked != ("click", {}) and clicked != ("", {}):
        return None
    return Act("type", one.act.place, {**typed[1], "clicked": True}) if typed[0] == "type" else None


def _has_failed(act: Act) -> bool:
    _, fields = normalised(act.name, act.arguments)
    return str(fields.get("status") or "").strip().lower().replace(" ", "_") in _FAILED


# What is usual, for many texts at once.

_PROSE = r"[^()\[\]{}<>0-9:=`|]*"
_VERBS = either_case(
    "drag|scroll|swipe|slide|hover|press|type|typing|move|mouse|write|input|fill|action|function"
    "|(?:double|right|middle|triple)[ -]|(?:double|right|middle|triple|long)[ -]?(?:click|tap)"
)
_GUARDS = (
    rf"{_VERBS}|[A-Za-z]_|_[A-Za-z]|[a-z][A-Z]|[A-Za-z_][(\[]",
    rf"(?:^|\n)(?:user|assistant)\n|(?:^|\n){BLANKS}[a-z_]+{BLANKS},|(?:^|\n){BLANKS}[A-Z_]+{BLANKS}(?:\n|$)",
    rf"(?:^|\n){BLANKS}(?:{_HEAD}{BLANKS})?{_NAMES}(?:[ \t]+(?:at|on))?[ \t]*(?:[:,][ \t]*)?[(\[]",
    "[\uff08-\uff5d\u3010\u3011\u25c1]",
)
"""Prose in which one of these occurs holds more than its sole place."""


class Usual(NamedTuple):
    """A usual form of whole texts: a substring of all of them, its form, its patterns, and what must not occur."""

    sign: str
    form: str
    patterns: tuple[str, ...]
    guards: tuple[str, ...] = ()

    def act(self, text: str) -> Act | None:
        """Return the act of a text in this form; None of any other."""
        for pattern in self.patterns:
            match = compiled(pattern).search(text)
            if match and not any([compiled(guard).search(text) for guard in self.guards]):  # noqa: C419 (faster so)
                groups = match.groupdict()
                place = [number(groups.pop(key)) for key in _COORDINATES if key in groups]
                return Act(groups.pop("action", ""), tuple(place), groups)
        return None


_SENTENCES = 500
"""Characters of prose from which on guards take longer than the careful reading."""

_COORDINATES = ("x", "y", "x1", "y1", "x2", "y2")
_X_Y = rf"(?P<x>{NUMERAL}), ?(?P<y>{NUMERAL})"
_X1_Y1, _X2_Y2 = (rf"(?P<x{end}>{NUMERAL}), ?(?P<y{end}>{NUMERAL})" for end in "12")


def _object(fields: str) -> tuple[str, ...]:
    """Return patterns of texts that are one object, in a list, in tags, or both."""
    body, listed = rf"\{{{fields}\}}", rf"\[\{{{fields}\}}\]"
    return tuple([f"^{each}{END}" for each in (body, listed, f"<answer>{body}</answer>", f"<answer>{listed}</answer>")])


_TYPING_CALL = (
    r'^<tool_call>[ \n]*\{"name": ?"(?:mobile|computer)_use", ?"arguments": ?'
    rf"\{{{TYPE[0]}\}}\}}[ \n]*</tool_call>{END}"
)
_USUAL = (
    Usual("(", "bare_tuple", (BARE_TUPLE.usual[0].replace(NUMBER, NUMBER.removeprefix("-?")),)),
    Usual("tool_call", "tool_call", (TOOL_CALL.usual[0].replace("-?", "").replace("[A-Za-z_]*)", "(?:left_)?click)"),)),
    Usual("point_2d", "json_2d", (JSON_2D.usual[0].replace("-?", "").replace("[^", "[^()"),)),
    Usual("[", "bare_list", (BARE_LIST.usual[0].replace("-?", ""), rf"^\[{_X1_Y1}, ?{_X2_Y2}\]{END}")),
    Usual("='", "ui_tars", AT_PLACES),
    Usual("<point>", "point_tag", (rf"^<point>(?P<x>{NUMERAL})(?:, ?| )(?P<y>{NUMERAL})</point>{END}",)),
    Usual("_start|>", "box_tokens", (
        rf"^<\|box_start\|>\({_X1_Y1}\), ?\({_X2_Y2}\)<\|box_end\|>(?:<\|im_end\|>)?{END}",
    )),
    Usual("pyautogui.", "pyautogui", tuple([
        f"^{before}{PYAUTOGUI_CLICK}{place}\\){after}{END}"
        for before, after in (("", ""), ("```(?:python)?\n", "\n```"))
        for place in (_X_Y, f"x={_X_Y.replace(', ?', ', ?y=')}")
    ])),
    Usual('"action"', "json_coordinate", _object(CLICK[0])),
    Usual("'action'", "json_coordinate", _object(CLICK[1])),
    Usual("(", "bare_tuple", (rf"^{_PROSE}\({_X_Y}\){_PROSE}$",), _GUARDS),
    Usual("[", "bare_list", (rf"^{_PROSE}\[{_X_Y}\]{_PROSE}$",), _GUARDS),
)  # fmt: skip
_USUAL_ACTIONS = (
    Usual("type", "action_json", (*_object(TYPE[0]), *_object(TYPE[1]), _TYPING_CALL)),
    Usual("(", "action_calls", (
        rf"{STEP}(?P<action>type|finished)\(content='(?P<text>{PLAIN_TEXT})'\){END}",
        rf"{STEP}(?P<action>wait|finished|press_home|press_back)\(\){END}",
    )),
)  # fmt: skip

_MARKS = re.compile("[(\\[{<0-9\uff08\uff3b\u3010\uff5b]")
_MARKED = "|".join(
    [
        "[(\\[{<0-9\uff08\uff3b\u3010\uff5b]",
        *[re.escape(sign) for sign in _SIGNS if not _MARKS.search(sign)],
        "(?:^|[\t\n])action:",
        rf"(?:^|\n){BLANKS}(?:{_HEAD}{BLANKS})?(?:```[a-z]*)?(?:(?:{'|'.join(_WORDS)})|[A-Za-z_]+{BLANKS},)",
    ]
)
"""A pattern that occurs in every text with an answer that is no refusal."""

AUTO = AnyForm("auto", vocabulary=True)
"""Places in any form; what has none is no answer."""

AUTO_ACTION = AnyForm("auto_action", vocabulary=True, placed=False)
"""Actions and places in any form, in the vocabulary's words; a place without a name is a click."""
