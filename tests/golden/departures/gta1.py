"""Deviations of sources that find pairs of numbers by a pattern of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grounding_rewards.recipes.common import Line, text_of, unpaid
from grounding_rewards.scoring import Deviation


@dataclass(frozen=True)
class _Pairs:
    """Pairs as they may be written, and as the source's own pattern reads them; both capture the two numbers."""

    written: re.Pattern[str]
    source: re.Pattern[str]
    brackets: str


class _HasUnicodeDigits(_Pairs):
    def __call__(self, line: Line) -> bool:
        return any(not "".join(pair).isascii() for pair in self.written.findall(text_of(line)))


class _WithoutUnicode(_Pairs):
    def __call__(self, line: Line) -> Line:
        kept = self.written.sub(lambda found: found[0] if (found[1] + found[2]).isascii() else "x", text_of(line))
        return {**line, "response": kept}


class _HasSeveral(_Pairs):
    def __call__(self, line: Line) -> bool:
        return len(self.source.findall(text_of(line))) > 1


class _IsLoose(_Pairs):
    def __call__(self, line: Line) -> bool:
        text = text_of(line)
        return len(self.written.findall(text)) != len(self.source.findall(text))


class _Tight(_Pairs):
    def __call__(self, line: Line) -> Line:
        opening, closing = self.brackets[0], self.brackets[1]
        tight = self.written.sub(lambda found: f"{opening}{found[1]},{found[2]}{closing}", text_of(line))
        return {**line, "response": tight}


def pair_deviations(
    written: re.Pattern[str], source: re.Pattern[str], brackets: str, spaces: str
) -> tuple[Deviation, Deviation, Deviation]:
    """Digits of other scripts, several pairs, and white space: what GTA1's pattern and its descendants get wrong.

    Args:
        written: a pair as we read it, with two groups.
        source: a pair as the source reads it.
        brackets: what stands around a pair, opening and closing.
        spaces: what the source passes over, and we read.
    """
    pairs = written, source, brackets
    return (
        Deviation(
            "unicode-digits",
            "Only ASCII digits are digits, others make no answer; the source reads those of other scripts as numbers.",
            _HasUnicodeDigits(*pairs),
            same_as=_WithoutUnicode(*pairs),
        ),
        Deviation(
            "several-answers",
            "Several answers are a miss; the source reads them as the point (-1, -1), a hit where a box contains it.",
            _HasSeveral(*pairs),
            unpaid,
        ),
        Deviation("spaces", spaces, _IsLoose(*pairs), same_as=_Tight(*pairs)),
    )
