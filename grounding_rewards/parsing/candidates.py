"""Answers in a text by where they stand: places alone, in tags and tokens, behind keys, and lines that are actions."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from grounding_rewards.actions import Act, canonical, is_known
from grounding_rewards.parsing.objects import MOST, act_of
from grounding_rewards.parsing.patterns import GAP, PLACE, SPACES, either_case, place_in
from grounding_rewards.parsing.readers import read_cropped, read_points
from grounding_rewards.parsing.sentences import NOUNS, action_in, asked_in, foreign_action, known
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
    bounds = [*range(begin, begin + count), end]
    return list(pairwise(bounds))


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
_QUOTED_KEY = re.compile(rf"""["']{SPACE}:{SPACE}$""")
_LETTERS, _LONGEST_NAME = string.ascii_letters + "_", 40
_OPEN_OBJECT = re.compile(r"""\{[ \t\r\n]*["']""")
_OPEN_TAG = on_use(rf"<(?:\|box_start\||{TAG})>{SPACE}$")
_ATTACHED = re.compile(r"(?:^|[^A-Za-z_0-9.])([a-z_][A-Za-z_0-9]{1,39})\Z")
_NAME_KEY = f"(?:{either_case('action(?:[_ ](?:type|name))?|function|operation|command|tool')})"
_NAMED = on_use(rf"""{_NAME_KEY}["'*]*{BLANKS}[:=]["'`*]*{BLANKS}["'`]?([A-Za-z_]+)["'`]?{BLANKS}$""")
_OF_IMAGES = either_case("(?:image|screen|screenshot|window|display)[ _](?:size|resolution|dimensions?)")
_LIMIT = either_case("max(?:imum)?[ _](?:x ?, ?y|coordinates)")
_SIZE = (
    rf"(?:{_OF_IMAGES}|{_LIMIT}|(?:{either_case('size|resolution|dimensions?')})(?: is| are| of|[\"'*]*[:=]))"
    "[^A-Za-z0-9]{0,5}"
)
"""Words in front of a size, which is no place; "the font size (5, 6)" is one."""
_SIZED = on_use(f"(?<![A-Za-z]){_SIZE}$")
_CALLEE = r"(?:functions\.)?([A-Za-z_.]+)"
_HEADED = on_use(
    rf"(?:(?:call:|sep｜>){SPACE}{_CALLEE}{SPACE}(?:```json)?|(?:^|[\n:])[ \t]*{_CALLEE}[ \t]*\n[Aa]ction [Ii]nput:"
    rf"|{_CALLEE}(?::[0-9]+)?{SPACE}(?:\[ARGS\]|✿ARGS✿:|<\|(?:tool_call_argument_begin|constrain\|>json<\|message)\|>))"
    rf"{SPACE}$"
)
"""The name of a call in front of its arguments, as templates of vendors write it."""
_HEADS = ("call:", "sep｜>", "nput:", "ARGS", "message|>", "argument_begin|>")


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


def places_between(text: str, begin: int, end: int) -> Iterator[Candidate]:
    """Numbers behind labels and in brackets, between two spans."""
    for field in fields_in(text, begin, end):
        yield from bare_places(text, begin, field.begin)
        yield guarded(text, begin, opened_between(text, begin, field.begin), field)
        begin = field.end
    yield from bare_places(text, begin, end)


def opened_between(text: str, begin: int, end: int, *, braces: bool = True) -> int:
    """The place of a call of a known name or an object that opens and does not close; what follows is a part of it.

    An object in one whose last brace is missing is none: without ``braces`` objects do not count.
    """
    bracket, opened = text.find("(", begin, end), end + 1
    while bracket >= 0:
        head = text[max(bracket - _LONGEST_NAME, begin) : bracket]
        word = head[len(head.rstrip(_LETTERS)) :]
        if (known(word) or word == "do") and not text.startswith(("s)", "es)", "ed)"), bracket + 1):
            opened = bracket - len(word)
            break
        bracket = text.find("(", bracket + 1, end)
    brace = _OPEN_OBJECT.search(text, begin, end) if braces else None
    return min(opened, brace.start() if brace else end + 1)


def guarded(text: str, begin: int, opened: int, candidate: Candidate) -> Candidate:
    """An answer that stands in something open, or behind the name of another action, is unreadable."""
    act = candidate.act
    if act is None or candidate.form in ("tool", "action_os_atlas"):
        return candidate
    if candidate.begin > opened:
        return candidate._replace(act=None)
    front = text[max(begin, candidate.begin - _FAR) : candidate.begin]
    spoken = front and not front.isspace()
    near = text[candidate.begin : candidate.begin + _NEAR]
    behind = text[candidate.end : candidate.end + _NEAR]
    allowed = asked_in(front, near, behind)
    if allowed is None:
        return candidate._replace(form="tool")
    front = allowed
    if act.name:
        return candidate
    if kind := foreign_action(front, behind):
        return candidate._replace(act=Act(kind, act.place))
    if not spoken:
        return candidate
    headed = any([sign in front for sign in _HEADS])  # noqa: C419 (faster so)
    if headed and (text[candidate.begin] == "{" or "nput:" in front) and (called := _HEADED.search(front)):
        return candidate._replace(act=act._replace(name=called[1] or called[2] or called[3]))
    field = candidate.form == "bare_numbers" and front.rstrip().endswith(("(", ":", "="))  # image size (x, y): 5, 6
    if (field or candidate.form in _BRACKETED) and _SIZED.search(front[-_NEAR:]):
        return candidate._replace(form="tool")
    if candidate.form in _BRACKETED:
        if _QUOTED_KEY.search(front) or _OPEN_TAG.search(front):
            return candidate._replace(act=None)
        word = (_ATTACHED.search(front) if text[candidate.begin] == "(" else None) or _NAMED.search(front[-_NEAR:])
        if word and word[1].lower() not in NOUNS and not is_known(word[1]):
            return candidate._replace(act=Act(word[1], act.place))
    name = action_in(front, text[candidate.begin : candidate.begin + 16], behind)
    return candidate if name == "" else candidate._replace(act=act._replace(name=name) if name else None)


_FAR, _NEAR = 200, 80
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
            # Between two numbers there is a comma or white space, and nothing before the first.
            apart = commas == 1 or (not commas and text[match.start("numeral") - 1].isspace())
            broken |= not apart if numbers else commas > 0
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


_BARE = (
    rf"(?P<x1>{NUMBER}){GAP}(?P<y1>{NUMBER})(?:(?:,{SPACE}|[ \t]+(?:,{SPACE})?)(?P<x2>{NUMBER}){GAP}(?P<y2>{NUMBER}))?"
)
"""Two or four numbers; two pairs on two lines are two places."""
_ALONE = on_use(rf"[\"'`*{{]*{_BARE}[\"'`*}}]*\.?")
_WRAP = on_use(
    rf"^{SPACE}(?:```[a-z]*\n|<answer>)?{SPACE}|{SPACE}(?:\n```|</answer>|\]\}}*{SPACE}(?:</tool_call>)?)?{SPACE}$"
)


def bare_numbers(text: str) -> Candidate | None:
    """A text that is nothing but numbers: ``x, y`` or ``x y``, or four of them.

    The rest of a call that the prompt began, such as ``x, y]}}``, is one, too.
    """
    if len(text) > _LONGEST:
        return None
    body = _WRAP.sub("", text)
    lines = {line.strip() for line in body.split("\n")}
    match = _ALONE.fullmatch(body) or (_ALONE.fullmatch(lines.pop()) if len(lines) == 1 else None)
    if match is None:
        return None
    unclosed = "<answer>" in text and "</answer>" not in text
    cut = unclosed or (text.endswith(body) and is_cut(body))
    return Candidate(0, len(text), "bare_numbers", None if cut else Act("", place_in(match)))


_LONGEST = 200


# Places in tags, tokens and crops, and behind keys without brackets.

_TAGS = on_use(
    rf"<\|box_start\|>{SPACE}{PLACE}<\|box_end\|>"
    rf"|<(?P<tag>[A-Za-z_]{{3,20}})>{SPACE}{PLACE.replace('?P<', '?P<t')}"
    rf"(?:(?=<(?P=tag)>{SPACE}[-.0-9(\[])|</?(?P=tag)>)"
    rf"|<x>{SPACE}(?P<ax>{NUMBER}){SPACE}</x>{SPACE}(?:,{SPACE})?<y>{SPACE}(?P<ay>{NUMBER}){SPACE}</y>"
    rf"""|<points? coords=["'][^"'<>]*["'](?:[^<>]*>[^<>]*</points?>)?"""
    rf"""|<points?(?P<percent>(?:[ \t]+[xy][0-9]{{0,3}}=["']{NUMBER}["'])+)(?:[^<>]*>[^<>]*</points?>)?"""
    r"|(?P<locations>(?:<loc_?[0-9]{1,4}>)+)|(?P<patches>(?:<patch_index_[0-9]{1,4}>)+)"
    r"|<(?P<element>[A-Za-z_]{2,20})"
    rf"""(?P<attributes>(?:[ \t\n]+[A-Za-z_0-9]{{1,20}}=["'][^"'<>]{{0,200}}["'])+){SPACE}/?>"""
    rf"|<(?P<cx1>{NUMBER}){SPACE},{SPACE}(?P<cy1>{NUMBER}){SPACE},{SPACE}(?P<cx2>{NUMBER}){SPACE},{SPACE}(?P<cy2>{NUMBER})>"
)
_TAGS_OF_POINTS = frozenset({"point", "position", "center"})
_TAGS_OF_PLACES = frozenset({
    *_TAGS_OF_POINTS, "box", "bbox", "coordinate", "coordinates", "answer", "location", "loc", "click_point", "target",
    "pos", "result", "output", "response", "final_answer",
})  # fmt: skip


_ATTRIBUTE = re.compile(r"""([A-Za-z_0-9]+)=(["'])([^"'<>]*)["']""")
_AXIS = on_use(rf"""[xy][0-9]{{0,3}}=["']({NUMBER})["']""")
_INDEX = re.compile("[0-9]+")
_PATCHES = 32  # Kosmos-2's along each side


def tags_in(text: str) -> Iterator[Candidate]:
    """Places in tags, in their attributes, and in tokens."""
    for match in _TAGS.finditer(text):
        form, acts = _of_tag(match)
        for act, (begin, end) in zip(acts, parts(*match.span(), len(acts)), strict=True):
            yield Candidate(begin, end, form, act)


def _of_tag(match: re.Match[str]) -> tuple[str, list[Act | None]]:
    """The form of a tag and its acts, None for one that is unreadable; none where it is no answer."""
    groups = match.groupdict()
    tag, element = groups["tag"] or "", groups["element"]
    if "coords=" in match[0]:
        return "molmo", [Act("", tuple(place)) for place in read_points(match[0]) or []] or [None]
    if groups["percent"]:
        found = [number(numeral) for numeral in _AXIS.findall(groups["percent"])]
        return "molmo", [Act("", pair) for pair in zip(found[::2], found[1::2], strict=False)]
    if groups["locations"] or groups["patches"]:
        place = tuple([float(numeral) for numeral in _INDEX.findall(match[0])])
        if groups["patches"]:  # their centres, in patches from the left and the top
            place = tuple([side + 0.5 for index in place for side in (index % _PATCHES, index // _PATCHES)])
        return "location_tokens", [Act("", place) if len(place) == 4 else None]
    named = tag or element or ""
    named = named if is_known(named) and named.lower() not in _TAGS_OF_PLACES else ""
    if element:
        item: dict[str, Any] = {key: value for key, _, value in _ATTRIBUTE.findall(groups["attributes"])}
        act = act_of({"action": named, **item} if named else item)
        return "xy_tags", [act] if act is not None and act.place else []
    bracketed = tag == "answer" and match[0][len("<answer>") :].lstrip()[:1] in ("(", "[")
    if tag and not named and (bracketed or tag.lower() not in _TAGS_OF_PLACES):
        return "", []
    form = "point_tag" if tag.lower() in _TAGS_OF_POINTS else "bare_numbers" if tag == "answer" else "box_tokens"
    return "xy_tags" if groups["ax"] else form, [Act(named, place_in(match))]


_TABLE = on_use(
    rf"(?:^|\n){BLANKS}(\|[^\n]*\|){BLANKS}\n{BLANKS}\|[-:| \t]+\|{BLANKS}((?:\n{BLANKS}\|[^\n]*\|{BLANKS})+)"
)


_UNIT = re.compile(r"\([^()|]*\)")  # x (px)


def tables_in(text: str, begin: int) -> Iterator[Candidate]:
    """Rows of Markdown tables that have x and y, or corners, in columns of their own."""
    for table in _TABLE.finditer(text, begin):
        head = _UNIT.sub("", "".join(table[1].lower().split()))
        rows = table[2].split("\n")[1 : 2 * MOST] if "|x|" in head or "|x1|" in head else ()
        acts = [act_of(dict(zip(head.split("|"), row.split("|"), strict=False))) for row in rows]
        opened = opened_between(text, begin, table.start())
        for act, span in zip(acts, parts(*table.span(), len(acts)), strict=True):
            if act and act.place:
                yield guarded(text, begin, opened, Candidate(*span, "bare_numbers", act))


_REASONS = either_case("ref|reason(?:ing)?|analysis|explanation|rationale|scratchpad")
_BESIDE = either_case("operation|conclusion|plan|caption|description|perception|observation|reflection|summary")
_ASIDE = on_use(rf"<(?:({_REASONS}|(?P<beside>{_BESIDE}))>|\|object_ref_start\|>)")


def asides_in(text: str) -> Iterator[Candidate]:
    """Labels and reasons in tags, and summaries beside an answer in tags, as "tool"."""
    end, closed, outside = 0, True, ""
    asides: list[tuple[bool, Candidate]] = []
    for match in _ASIDE.finditer(text):
        if match.start() >= end and (closed or not match["beside"]):
            closing = f"</{match[1]}>" if match[1] else "<|object_ref_end|>"
            close = text.find(closing, match.end())
            if close < 0 and match["beside"]:
                closed = False  # the answer may be in what is not closed
                continue
            outside += text[end : match.start()]
            end = close + len(closing) if close >= 0 else len(text)
            asides.append((bool(match["beside"]), Candidate(match.start(), end, "tool", None)))
    answered = any(map((outside + text[end:]).__contains__, ("<answer>", "<action>", "<point>")))
    yield from [aside for beside, aside in asides if answered or not beside]


_CROP = on_use(rf"\({SPACE}Image_")


def crops_in(text: str) -> Iterator[Candidate]:
    """Places in crops, as one after the other."""
    first_crop = _CROP.search(text)
    if first_crop is None:
        return
    places, begin = read_cropped(text) or [], first_crop.start()
    end = max(text.rfind(")") + 1, begin + max(len(places), 1))
    if not places:
        yield Candidate(begin, end, "cropped", None)
    for place, (first, last) in zip(places, parts(begin, end, len(places)), strict=True):
        yield Candidate(first, last, "cropped", Act("", tuple(place)))


_LABELS = either_case(
    "(?:(?:click|target|tap)[ _])?(?:points?|coord(?:inates?)?|coords(?!=)|positions?|pos|location|loc|cent(?:er|re)"
    "|pixel)|x ?, ?y|xy|target|(?:final[ _])?answer|output|result|bbox(?:_2d)?|(?:bounding[ _])?box"
)
_IS = rf"(?:{SPACE}[:=为是][*`_]*{SPACE}[*`_]*|[ \t]+(?:is|are)(?:[ \t]+at)?:?[ \t]+)"
_AT = f"(?:{either_case('click(?:ing)?|tap(?:ping)?|located')})[ \t]+at[ \t]+"
_MORE = r"(?:[ \t]*[,;/x×-]|(?:[ \t]*,)?[ \t]+(?:or|and|to|of))?[ \t]*-?[0-9]"
_BOXED = rf"\\f?boxed\{{(?:{PLACE.replace('?P<', '?P<t')}\}}|[^{{}}]*\Z)"
_SIDE = either_case("(?:(?:c|center_|click_)?(?:x|y)(?:_?min|_?max|1|2)?|left|top|right|bottom|w(?:idth)?|h(?:eight)?)")
_DECORATION = "[\"'*`$]*"
_SIDED = rf"{_SIDE}(?:[ _-]coordinate| ?坐标)?{_DECORATION}{SPACE}[:=≈为是]{_DECORATION}{SPACE}{NUMBER}(?![0-9.%])"
_NEXT_SIDE = rf"{_DECORATION}(?:{GAP}|{SPACE}[;|]{SPACE}|{SPACES}and{SPACES})(?:[-*][ \t]+)?{_DECORATION}"
_FIELD = on_use(
    rf"(?<![A-Za-z_])(?!(?:(?<=[Mm]ax )|(?<=imum ))(?:[Xx]|[Cc]oord))"
    rf"(?:(?:(?:{_LABELS}|坐标|座標|좌표|答案|位置)[*`_)\]]*{_IS}|{_AT}){_BARE}(?![0-9.%A-Za-z]|{_MORE})"
    rf"|(?P<axes>{_SIDED}(?:{_NEXT_SIDE}{_SIDED})+)|{_BOXED})"
)
_MAY_BE_FIELD = on_use(r"[:=≈为是][*`_\s]*-?[.0-9]|(?:is|are|at|on):?[ \t]+-?[.0-9]|boxed\{")
_SIDES = on_use(rf"(?:^|[^A-Za-z_])({_SIDE})[^0-9.:=≈]*[:=≈为是]{_DECORATION}{SPACE}({NUMBER})")
_TABBED = on_use(r"(?:^|[\t\n])(?P<line>action:[^\n]*)")


def _by_side(written: str) -> Iterator[dict[str, float]]:
    """The numbers of sides by their names, as an object has them; a name that comes again begins another one."""
    item: dict[str, float] = {}
    for side, numeral in _SIDES.findall(written):
        if side.lower() in item:
            yield item
            item = {}
        item[side.lower()] = number(numeral)
    yield item


def steps_in(text: str) -> Iterator[Candidate]:
    """Lines of ``key:value`` between tabs, as Step-GUI writes them."""
    for match in _TABBED.finditer(text):
        fields = dict(part.split(":", 1) for part in match["line"].split("\t") if ":" in part)
        item: dict[str, Any] = {key.strip(): value.strip() for key, value in fields.items()}
        if "\t" not in match["line"]:
            continue
        end = match.end()
        open_ended = end == len(text) and any([is_cut(item.get(key, "")) for key in ("point", "point2")])  # noqa: C419
        if not item.get("point1"):
            item.pop("to", None)
        cut = open_ended and match["line"].endswith(item.get("point", "-"))
        yield Candidate(match.start("line"), end, "bare_numbers", None if cut else act_of(item))


def fields_in(text: str, begin: int, end: int) -> Iterator[Candidate]:
    r"""Numbers behind labels, names of sides or in LaTeX's box: ``point:x,y``, ``x=.., y=..``, ``\boxed{x, y}``."""
    for match in _FIELD.finditer(text, begin, end) if _MAY_BE_FIELD.search(text, begin, end) else ():
        numerals = " ".join([side[1] for side in _SIDES.findall(match["axes"])]) if match["axes"] else match[0]
        cut = match.end() == len(text) and is_cut(numerals)
        if match["axes"]:
            acts = [act for item in _by_side(match["axes"]) if (act := act_of(item))]
            for act, (first, last) in zip(acts, parts(*match.span(), len(acts)), strict=True):
                yield Candidate(first, last, "bare_numbers", None if cut else act)
        elif place := place_in(match):
            yield Candidate(*match.span(), "bare_numbers", None if cut else Act("", place))
        elif match.end() == len(text):  # an open box
            yield Candidate(*match.span(), "bare_numbers", None)


# Lines that are an action: OS-Atlas's, one word, and a name in front of a place.

WORDS = {
    "WAIT": "wait", "ENTER": "enter", "PRESS_BACK": "back", "PRESS_HOME": "home", "PRESS_RECENT": "recent",
    "COMPLETE": "finished", "DONE": "finished", "FAIL": "finished", "IMPOSSIBLE": "finished",
}  # fmt: skip
"""Answers of one word, and their actions in the vocabulary; FAIL and IMPOSSIBLE give up the task."""

_GIVEN_UP = ("FAIL", "IMPOSSIBLE")
NAMES = either_case("(?:click|tap|hover|(?:left|double|triple|right|middle|long)[ _-]?(?:click|tap|press))")
_OPEN = rf"(?:(?:<\|box_start\|>|<point>|<box>){SPACE})?"
_CLOSE = rf"(?:(?:<\|box_end\|>|</point>|</box>){SPACE})?"
_LINE_FORMS = (
    rf"(?P<word>{'|'.join(WORDS)})",
    rf"(?P<typing>{either_case('type|open_app')}) \[(?P<text>[^\n]*)\]",
    rf"SCROLL[ \t]*\[[ \t]*(?P<direction>{either_case('up|down|left|right')})[ \t]*\]",
    rf"(?P<name>{NAMES})(?:[ \t]+(?:at|on))?[ \t]*(?:[:,][ \t]*)?{_OPEN}{PLACE}{_CLOSE}",
)
HEAD = rf"(?:{either_case('(?:actions?|answer)')}:|<answer>)"
_EACH = on_use(
    rf"{BLANKS}(?:{HEAD}{BLANKS})?(?:```[a-z]*)?(?:(?:adb shell )?input )?(?:{'|'.join(_LINE_FORMS)}"
    rf"|(?P<written>[A-Za-z_]+){BLANKS},{BLANKS}(?P<argument>[^\n]*))"
)
_TYPES = ("type", "open_app", "answer")
_SOLE_LINE = on_use(
    rf"(?P<word>{'|'.join(WORDS)}):[^\n]*|(?P<typing>TYPE):[ \t]*(?P<text>[^\n]+)"
    r"|SCROLL:[ \t]*(?P<direction>UP|DOWN|LEFT|RIGHT)"
)


def _act_of_line(match: re.Match[str]) -> Act | None:
    word, typing, direction = match["word"], match["typing"], match["direction"]
    if word:
        return Act(WORDS[word], (), {"status": "impossible"} if word in _GIVEN_UP else {})
    if typing:
        name, key = ("type", "text") if typing.lower() == "type" else ("open_app", "app")
        return Act(name, (), {key: match["text"]})
    if direction:
        return Act("scroll", (), {"direction": direction.lower()})
    return Act(match["name"], place_in(match)) if is_known(match["name"]) else None


def lines_in(text: str) -> Iterator[Candidate]:
    """Lines that are an action: OS-Atlas's, one word, a name in front of a place, and ``name, argument``.

    GUI-Odyssey's ``TYPE: text`` is one where it is all of a text, as a line of prose may begin so.
    """
    if sole := _SOLE_LINE.fullmatch(text.strip()):
        yield Candidate(0, len(text), "action_os_atlas", _act_of_line(sole))
        return
    position = 0
    for line in text.split("\n")[: 4 * MOST]:
        begin, position = position, position + len(line) + 1
        last = line.rstrip()[-1:]
        likely = last and (last in "]>)`" or "," in line or last.isdigit() or last.isupper())  # few lines are
        body = line.rstrip(" \t\r").removesuffix("```").rstrip(" \t\r").removesuffix("</answer>")
        match = _EACH.fullmatch(body) if likely else None
        if match is None:
            continue
        written = match["written"]
        if not written:
            called = match["name"] and line[match.end("name")] == "("
            if not called and (act := _act_of_line(match)):
                place = body[match.end("name") :] if match["name"] else ""
                cut = sum(map(place.count, "[(")) > sum(map(place.count, "])"))
                cut |= "<answer>" in body and last.isdigit() and text.find("</answer>", begin) < 0
                yield Candidate(begin, position - 1, "action_os_atlas", None if cut else act)
        elif is_known(written) and canonical(written) in _TYPES and written.islower():
            key = "app" if canonical(written) == "open_app" else "text"
            yield Candidate(begin, position - 1, "action_os_atlas", Act(written, (), {key: match["argument"]}))
