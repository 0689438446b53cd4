"""Lines that are an action: OS-Atlas's, one word, and a name in front of a place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grounding_rewards.actions import Act, canonical, is_known
from grounding_rewards.parsing.bare_places import BLANKS, Candidate
from grounding_rewards.parsing.objects import MOST
from grounding_rewards.parsing.patterns import PLACE, either_case
from grounding_rewards.parsing.texts import SPACE, number, on_use

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
HEAD = rf"{either_case('actions?')}:"
_EACH = on_use(
    rf"{BLANKS}(?:{HEAD}{BLANKS})?(?:```[a-z]*)?(?:(?:adb shell )?input )?(?:{'|'.join(_LINE_FORMS)}"
    rf"|(?P<written>[A-Za-z_]+){BLANKS},{BLANKS}(?P<argument>[^\n]*))"
)
_TYPES = ("type", "open_app", "answer")


def _is_open(match: re.Match[str]) -> bool:
    """Return True where the place behind a name lacks a closing bracket, as it does where a line is cut off."""
    place = match[0][match.end("name") - match.start() :] if match["name"] else ""
    return sum(map(place.count, "[(")) > sum(map(place.count, "])"))


def _act_of_line(match: re.Match[str]) -> Act | None:
    word, typing, direction = match["word"], match["typing"], match["direction"]
    if word:
        return Act(WORDS[word], (), {"status": "impossible"} if word in _GIVEN_UP else {})
    if typing:
        name, key = ("type", "text") if typing.lower() == "type" else ("open_app", "app")
        return Act(name, (), {key: match["text"]})
    if direction:
        return Act("scroll", (), {"direction": direction.lower()})
    place = tuple([number(match[key]) for key in ("x", "y", "x1", "y1", "x2", "y2") if match[key]])
    return Act(match["name"], place) if is_known(match["name"]) else None


def lines_in(text: str) -> Iterator[Candidate]:
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
