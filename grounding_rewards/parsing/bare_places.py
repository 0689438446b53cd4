"""Places alone: numbers in brackets or without, which are a click unless another action's name stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from grounding_rewards.actions import Act, canonical, is_known
from grounding_rewards.parsing.objects import AT_A_PLACE, MOST, OPENAI
from grounding_rewards.parsing.patterns import GAP, either_case
from grounding_rewards.parsing.texts import NUMBER, SPACE, compiled, number, on_use

BLANKS = "[ \t\r]*"
TAG = "(?:point|box|bbox|coordinates?|POINT|Point|BOX|BBOX|Box|position|center)"


class Candidate(NamedTuple):
    """An answer in a text: begin, end, form and act; the act is None where an answer was begun and is unreadable."""

    begin: int
    end: int
    form: str
    act: Act | None
    library: str = ""


def parts(begin: int, end: int, count: int) -> list[tuple[int, int]]:
    """Split a span into as many as there are acts in it: only their order matters."""
    return (
        [(begin, end)]
        if count == 1
        else [(begin + index, begin + index + 1) for index in range(count - 1)]
        + ([(min(begin + count - 1, end), end)] if count else [])
    )


def is_cut(written: str) -> bool:
    """Return True where the last number of a text may be cut off: of one digit, behind a longer one."""
    numerals = compiled(NUMBER).findall(written)
    return len(numerals) > 1 and len(numerals[-1]) == 1 and len(numerals[-2]) > 1


# Places alone.

_RUN = re.compile(r"""[(\[][ \t\r\n()\[\],'"0-9.\-\\]*+""")
_GROUP = on_use(
    rf"""[(\[]{SPACE}(?P<x>{NUMBER}){SPACE},{SPACE}(?P<y>{NUMBER}){SPACE}[)\]]|[(\[]|[)\]]|,"""
    rf"""|["']?{SPACE}(?P<numeral>{NUMBER}){SPACE}["']?|[ \t\r\n\\]+|."""
)
_BEFORE_PLACES = ("at", "on", "to", "in", "from")
_NOUNS = frozenset({
    "point", "points", "position", "coordinate", "coordinates", "center", "centre", "location", "box", "bbox", "at",
    "is", "tuple", "xy", "x", "y", "target", "answer", "place", "pos", "image", "on", "to", "in", "near", "around",
})  # fmt: skip
_QUOTED_KEY = re.compile(rf"""["']{SPACE}:{SPACE}$""")
_OPEN_OBJECT = re.compile(r"""\{[ \t\r\n]*["']""")
_OPEN_TAG = on_use(rf"<(?:\|box_start\||{TAG})>{SPACE}$")
_ATTACHED = re.compile(r"(?:^|[^A-Za-z_0-9.])([a-z_][A-Za-z_0-9]{1,39})$")
_ACTION_KEY = f"(?:{either_case('action(?:_type)?|function')})"
_NAMED = on_use(rf"""{_ACTION_KEY}["']?{BLANKS}[:=]{BLANKS}["'`]?([A-Za-z_]+)["'`]?{BLANKS}$""")


def bare_places(text: str, begin: int, end: int) -> list[Candidate]:
    """Numbers in brackets between two spans; of very many, those from either end."""
    found: list[Candidate] = []
    for run in _RUN.finditer(text, begin, end):
        if run.end() > run.start() + 1:  # one bracket alone holds nothing
            found += _of_run(text, *run.span())
    if len(found) > 2 * MOST:
        found = found[:MOST] + found[-MOST:]
    opened = opened_between(text, begin, found[-1].begin) if found else end
    return [guarded(text, begin, opened, each) for each in found]


def opened_between(text: str, begin: int, end: int, *, braces: bool = True) -> int:
    """The place of a call of a known name or an object that opens and does not close; what follows is a part of it.

    An object in one whose last brace is missing is none: without ``braces`` objects do not count.
    """
    calls = (match.start() for match in _OPEN_CALL.finditer(text, begin, end) if _known(match[1]))
    brace = _OPEN_OBJECT.search(text, begin, end) if braces else None
    return min(next(calls, end + 1), brace.start() if brace else end + 1)


def guarded(text: str, begin: int, opened: int, candidate: Candidate) -> Candidate:
    """An answer that stands in something open, or behind the name of another action, is unreadable."""
    act = candidate.act
    if act is None or candidate.form in ("tool", "action_os_atlas"):
        return candidate
    if candidate.begin > opened:
        return candidate._replace(act=None)
    front = text[max(begin, candidate.begin - _FAR) : candidate.begin]
    if act.name or not front or front.isspace():
        return candidate
    if candidate.form in _BRACKETED:
        if _QUOTED_KEY.search(front) or _OPEN_TAG.search(front):
            return candidate._replace(act=None)
        word = (_ATTACHED.search(front) if text[candidate.begin] == "(" else None) or _NAMED.search(front)
        if word and word[1].lower() not in _NOUNS and not is_known(word[1]):
            return candidate._replace(act=Act(word[1], act.place))
    if verb := _SENTENCE.search(front):  # "Double-click the icon at (5, 6)"
        return candidate._replace(act=Act(verb[1], act.place))
    another = names_another(front + text[candidate.begin : candidate.begin + 16])
    return candidate._replace(act=None) if another else candidate


_FAR = 200
_BRACKETED = frozenset({"bare_tuple", "bare_list", "nested_list", "corner_tuples", "corner_lists"})


Group = tuple[int, int, str, list[float]]
"""Begin, end, brackets and numbers of an innermost group."""
Top = tuple[int, int, list[Group]]
"""Begin, end and innermost groups of an outermost one."""


def _of_run(text: str, first: int, last: int) -> Iterator[Candidate]:
    """The places in a run of brackets and numbers; unreadable where the text ends in an open bracket."""
    tops: list[Top] = []
    opened: list[int] = []
    inner: list[Group] = []
    numbers: list[float] = []
    commas, broken = 0, False
    for match in _GROUP.finditer(text, first, last):
        sign = match[0]
        if match["x"] is not None:  # a pair at once, as most groups are
            inner = inner if opened else []
            inner.append((*match.span(), sign[0] + sign[-1], [number(match["x"]), number(match["y"])]))
            numbers, commas, broken = [], 0, False
            if not opened:
                tops.append((*match.span(), inner))
        elif match["numeral"] is not None:
            broken |= commas != bool(numbers)  # one comma between two numbers, and none before the first
            numbers.append(number(match["numeral"]))
            commas = 0
        elif sign in "([":
            inner = inner if opened else []
            opened.append(match.start())
            numbers, commas, broken = [], 0, False
        elif sign in ")]":
            if not opened:
                break
            begin = opened.pop()
            if numbers and not broken:
                inner.append((begin, match.end(), text[begin] + sign, numbers))
            numbers, commas, broken = [], 0, False
            if not opened:
                tops.append((begin, match.end(), inner))
        elif sign == ",":
            commas += 1
        else:
            broken |= not sign.strip("\\").isspace() and sign.strip("\\") != ""
    if opened and last == len(text) and (numbers or inner or tops):
        yield Candidate(first, last, "bare_list", None)  # cut off
    else:
        yield from _of_tops(text, tops)


def _of_tops(text: str, tops: list[Top]) -> Iterator[Candidate]:
    """Points and boxes: two pairs with a comma between them are corners, more are several points."""
    index = 0
    while index < len(tops):
        stop = index + 1
        while stop < len(tops) and _are_corners(text, tops[stop - 1], tops[stop]):
            stop += 1
        if stop - index == 2:
            (begin, _, one), (_, end, other) = tops[index:stop]
            form = "corner_tuples" if text[begin] == "(" else "corner_lists"
            yield Candidate(begin, end, form, Act("", (*one[0][3], *other[0][3])))
        else:
            for top in tops[index:stop]:
                yield from _of_top(text, top)
        index = stop


def _are_corners(text: str, one: Top, other: Top) -> bool:
    """Return True for two pairs in the same brackets with nothing but a comma between them."""
    pairs = all([len(top[2]) == 1 and len(top[2][0][3]) == 2 and top[2][0][0] == top[0] for top in (one, other)])  # noqa: C419
    return pairs and text[one[1] : other[0]].strip() == "," and text[one[0]] == text[other[0]]


def _of_top(text: str, top: Top) -> Iterator[Candidate]:
    begin, end, inner = top
    for first, last, brackets, numbers in inner:
        if len(numbers) not in (2, 4) or (brackets not in ("()", "[]") and text.strip() != text[begin:end]):
            continue  # [5, 6) in prose is an interval
        nested = first > begin and len(inner) == 1
        form = "nested_list" if nested else "bare_tuple" if brackets[0] == "(" else "bare_list"
        span = (begin, end) if len(inner) == 1 else (first, last)
        yield Candidate(*span, form, Act("", tuple(numbers)))


_PX = rf"(?:{SPACE}px)?"
_ALONE = on_use(
    rf"[\"'`*{{]*(?:[xX]{SPACE}[=:]{SPACE}(?P<x>{NUMBER}){_PX}{GAP}[yY]{SPACE}[=:]{SPACE}(?P<y>{NUMBER}){_PX}"
    rf"|(?P<x1>{NUMBER}){_PX}{GAP}(?P<y1>{NUMBER}){_PX}(?:{GAP}(?P<x2>{NUMBER}){_PX}{GAP}(?P<y2>{NUMBER}){_PX})?)[\"'`*}}]*\.?"
)
_WRAP = on_use(
    rf"^{SPACE}(?:```[a-z]*\n|<answer>)?{SPACE}|{SPACE}(?:\n```|</answer>|\]\}}*{SPACE}(?:</tool_call>)?)?{SPACE}$"
)


def bare_numbers(text: str) -> Candidate | None:
    """A text that is nothing but numbers: ``x, y``, ``x y``, ``x=.., y=..``, with px or without, or four of them.

    The rest of a call that the prompt began, such as ``x, y]}}``, is one, too.
    """
    if len(text) > _LONGEST:
        return None
    body = _WRAP.sub("", text)
    match = _ALONE.fullmatch(body)
    if match is None:
        return None
    place = tuple([number(match[key]) for key in ("x", "y", "x1", "y1", "x2", "y2") if match[key]])
    unclosed = "<answer>" in text and "</answer>" not in text
    cut = unclosed or (text.endswith(body) and is_cut(body))
    return Candidate(0, len(text), "bare_numbers", None if cut else Act("", place))


_LONGEST = 200


# Names of actions in front of a place, which is then no click.

_WORD = "[A-Za-z_]+"
_PHRASE = rf"(?:{_WORD}[ -])?{_WORD}"
_KEY = rf"(?:{either_case('action(?:s|_type)?|function')})[\"']?{SPACE}[:=>]{SPACE}[\"'`]?"
_PLACE = r"(?:[(\[][(\[ \t]*-?[.0-9]|<[|a-z_]+>|\{[ \n]*[\"'])"
_ALIASES = (
    rf"(?P<call>{_WORD})\((?P<ending>(?:s|es|ed)\))?",
    rf"{_KEY}(?P<named>{_PHRASE})(?P<prose>[ \t]+[A-Za-z])?",
    rf"type[\"']{SPACE}:{SPACE}[\"'](?P<typed>{_WORD})",
    rf"(?P<before>{_PHRASE})(?:[ \t]+(?:{'|'.join(_BEFORE_PLACES)}))?(?:{SPACE}[:=])?{SPACE}{_PLACE}",
)

_SENTENCE_ACTION = either_case(
    "(?:double|triple|right|middle|long)[ -]?(?:click|tap|press)|scroll|swipe|drag|hover|type"
)
_SENTENCE_NEXT = either_case("up|down|left|right|over|on|the|this|that|it|an?|from")
_SENTENCE = on_use(
    rf"""(?<![A-Za-z_])({_SENTENCE_ACTION})[ \t]+(?:(?:{_SENTENCE_NEXT})(?![A-Za-z])|["'“`])[^.!?\n(\[{{<]*$"""
)
"""An action that a sentence tells to do, up to the place."""

# Look-behind, which RE2 lacks: of "a(b(" both names match, where a consumed character would hide the second.
_ALIAS_NAMES = on_use(rf"(?<![A-Za-z_])(?:{'|'.join(_ALIASES)})")
_OPEN_CALL = re.compile(rf"(?<![A-Za-z_])({_WORD})\((?!(?:s|es|ed)\))")
_CAMEL = re.compile("[a-z][A-Z]")


def names_another(front: str) -> bool:
    """Return True if the name of an action that is no click stands in a text up to a place and its first brackets."""
    return any(_kind(match) not in ("", "click") for match in _ALIAS_NAMES.finditer(front))


def _kind(match: re.Match[str]) -> str:
    """Return the named action in the vocabulary's words; "" if there is none."""
    if match["call"]:
        return "" if match["ending"] else _known(match["call"])  # "tap(s)" is prose
    if match["typed"]:
        return _known(match["typed"]) if match["typed"] in OPENAI else ""
    words = match["named"] or match["before"]
    first, _, last = words.replace("-", " ").partition(" ")
    kind = _known(f"{first}_{last}") if last else ""
    if kind:
        return kind
    if match["named"]:
        kind = _known(first)
        return kind if not (last or match["prose"]) or _is_sure(first, kind) else ""
    word = first if last in _BEFORE_PLACES else last or first
    kind = _known(word)
    return kind if _is_sure(word, kind) else ""


def _known(word: str) -> str:
    return canonical(word) if is_known(word) and word not in _BEFORE_PLACES else ""


def _is_sure(word: str, kind: str) -> bool:
    """Return True if a word before others means the action."""
    return kind in AT_A_PLACE or word.lower() == "type" or "_" in word or bool(_CAMEL.search(word))
