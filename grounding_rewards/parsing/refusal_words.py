"""Further phrases that count as a refusal: the caller's own, and the common ones of models that have no word for it.

A phrase is a whole answer. Case, quotes around it, full stops and exclamation marks after it, and a pair of answer
tags do not matter, and any white space stands for any other.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, cast

from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.patterns import SPACES
from grounding_rewards.parsing.places import REFUSAL
from grounding_rewards.parsing.reading import Dialect, FirstOf
from grounding_rewards.parsing.texts import SPACE

COMMON = "common"
"""Name of the list below among the phrases."""

COMMON_ANSWERS = (
    "infeasible", "not feasible", "impossible", "not possible", "n/a", "not applicable", "nothing", "no match",
    "no target", "no element", "no such element", "there is no such element", "no matching element",
    "there is no matching element", "target not found", "unable to locate", "unable to find",
    "unable to locate the element", "unable to find the element", "cannot find the element",
    "cannot locate the element", "could not find the element", "could not locate the element",
    "I cannot find the element", "I cannot locate the element", "I could not find the element",
    "the task is infeasible", "the task is impossible",
    "屏幕上没有这个元素", "屏幕上没有该元素", "没有这个元素", "没有找到该元素", "找不到该元素",
    "找不到目标元素", "无法找到该元素", "未找到目标元素",
)  # fmt: skip
"""Answers that stand alone."""

COMMON_SUBJECTS = (
    "it", "element", "the element", "this element", "such an element", "UI element", "the UI element", "target",
    "the target", "the target element", "the requested element", "the described element", "the specified element",
    "the object", "the button", "the icon",
)  # fmt: skip
"""Beginnings of sentences; a sentence may do without."""

COMMON_PREDICATES = (
    "not found", "is not found", "was not found", "not visible", "is not visible", "not present", "is not present",
    "not available", "is not available", "does not exist", "doesn't exist", "cannot be located", "cannot be found",
    "can't be found", "could not be located", "could not be found", "is missing", "is not shown", "is not there",
)  # fmt: skip
"""Ends of sentences."""

COMMON_PLACES = (
    "here", "on the screen", "on this screen", "on the current screen", "in the image", "in this image",
    "in the screenshot", "in this screenshot", "on the page", "on this page",
)  # fmt: skip
"""Places that may follow a sentence."""

_FENCED = rf"(?:[Jj][Ss][Oo][Nn])?{SPACE}\[{SPACE}\](?:{SPACE}```)?"
"""The empty list of models that answer with a list of objects, in a fence or not."""

_ENDING = "\"'`.!\u3002\uff01"
"""Quotes and signs behind a phrase, in Chinese, too."""

_MOST, _LONGEST = 100, 200  # phrases and characters: RE2 refuses patterns that are too large


def with_refusal_words(dialect: Dialect, words: Any) -> Dialect:
    """Return a dialect that reads further phrases as refusals, before all else; the same one where there are none.

    ``words`` is a phrase, or several; ``"common"`` stands for the common ones of models.
    """
    phrases = _phrases(words)
    if not phrases:
        return dialect
    pattern = "|".join([_COMMON if phrase == COMMON else _pattern(phrase) for phrase in phrases])
    answer = rf"""["'`]*(?:{pattern})[{_ENDING}]*"""
    wider = replace(REFUSAL, pattern=rf"{REFUSAL.pattern}|{answer}|<answer>{SPACE}{answer}{SPACE}</answer>")
    if getattr(dialect, "refusal", None) and not any(char.isdigit() for phrase in phrases for char in phrase):
        return cast(Dialect, replace(cast(Any, dialect), refusal=wider))  # it looks for refusals itself
    return FirstOf((wider, dialect), name=dialect.name, vocabulary=getattr(dialect, "vocabulary", False))


def _phrases(words: Any) -> tuple[str, ...]:
    """Read the option: phrases with one blank between words, without punctuation at their end, each once."""
    if words is None:
        return ()
    each = (words,) if isinstance(words, str) else words
    if not isinstance(each, tuple | list) or not all(isinstance(phrase, str) for phrase in each):
        raise _error(words, 'phrases such as ["not found", "cannot be located"], and "common" for those of models')
    if len(each) > _MOST:
        raise RecipeError(f"option refusal_words: got {len(each)} phrases; expected {_MOST} at most")
    return tuple(dict.fromkeys([_phrase(phrase) for phrase in each]))


def _phrase(written: str) -> str:
    phrase = " ".join(written.split()).strip("\"'`").rstrip(f"{_ENDING} ")
    if not phrase:
        raise _error(written, "a phrase that is more than quotes and full stops")
    # A lone surrogate is read as "?" in batches: no pattern tells the two apart.
    if len(phrase) > _LONGEST or not phrase.isprintable() or "?" in phrase:
        raise _error(written, f"a phrase of at most {_LONGEST} printable characters, without a question mark")
    return phrase


def _error(came: object, expected: str) -> RecipeError:
    return RecipeError(f"option refusal_words: got {came!r:.80}; expected {expected}")


def _pattern(phrase: str) -> str:
    return SPACES.join("".join(map(_character, word)) for word in phrase.split(" "))


def _character(char: str) -> str:
    """Return a pattern of a character in either case; of an apostrophe, however it is set."""
    if char in "'’":
        return "['’]"
    cases = sorted({case for case in (char, char.lower(), char.upper()) if len(case) == 1})
    return f"[{''.join(cases)}]" if len(cases) > 1 else re.escape(char)


def _one_of(phrases: tuple[str, ...]) -> str:
    return "|".join(map(_pattern, phrases))


_COMMON = (
    rf"{_FENCED}|{_one_of(COMMON_ANSWERS)}|(?:(?:{_one_of(COMMON_SUBJECTS)}){SPACES})?"
    rf"(?:{_one_of(COMMON_PREDICATES)})(?:{SPACES}(?:{_one_of(COMMON_PLACES)}))?"
)
