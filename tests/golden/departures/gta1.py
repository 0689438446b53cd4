"""Oracles of GTA1 and of UI-Ins, whose source reads pairs of numbers by GTA1's pattern in other brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grounding_rewards.recipes.published.gta1 import read_native
from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of, zero


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
        kept = self.written.sub(lambda pair: pair[0] if (pair[1] + pair[2]).isascii() else "x", text_of(line))
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
        tight = self.written.sub(lambda pair: f"{opening}{pair[1]},{pair[2]}{closing}", text_of(line))
        return {**line, "response": tight}


def _pairs(pairs: _Pairs) -> tuple[Oracle, Oracle, Oracle]:
    """Return the oracles that both sources have, of pairs written one way and read in another."""
    fields = pairs.written, pairs.source, pairs.brackets
    return (
        Oracle("unicode-digits", _HasUnicodeDigits(*fields), same_as=_WithoutUnicode(*fields)),
        Oracle("several-answers", _HasSeveral(*fields), zero),
        Oracle("spaces", _IsLoose(*fields), same_as=_Tight(*fields)),
    )


_ROUND = _Pairs(
    re.compile(r"\(\s*(-?(?:\d+\.?\d*|\.\d+))\s*,\s*(-?(?:\d+\.?\d*|\.\d+))\s*\)"),
    re.compile(r"\((-?\d*\.?\d+),\s*(-?\d*\.?\d+)\)"),
    "()",
)
_SQUARE = _Pairs(re.compile(r"\[\s*(\d+)\s*,\s*(\d+)\s*\]"), re.compile(r"\[(\d+),(\d+)\]"), "[]")


def _has_decimals(line: Line) -> bool:
    return any("." in number for pair in _ROUND.written.findall(text_of(line)) for number in pair)


def _decimal_value(line: Line) -> dict[str, float]:
    """Test the one point with decimals as it is written against edges cut to whole pixels."""
    points = _ROUND.written.findall(text_of(line))
    wire = read_native(line["ground_truth"]) or {}
    x, y = (float(number) for number in points[0])
    boxes = [[int(edge) for edge in region["bbox"]] for region in wire["regions"]]
    hit = float(len(points) == 1 and any(x1 <= x <= x2 and y1 <= y <= y2 for x1, y1, x2, y2 in boxes))
    return {"acc": hit, "hit": hit}


ORACLES = {
    "gta1": (bad_target("gta1"), *_pairs(_ROUND), Oracle("decimals", _has_decimals, _decimal_value)),
    "ui-ins": (bad_target("ui-ins"), *_pairs(_SQUARE)),
}
