"""The composition of a reward on the terminal: formulas with their numbers, and a table of the parts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.explain.explanation import Explanation, Term
from grounding_rewards.explain.formulas import number

Rows = list[tuple[str, str]]

_LINE_BREAK = re.compile(r"\n(?!\w+ = )")  # none before a line that is a formula


def parts(reward: Term) -> Table:
    """Return a row a part: its score, and its share of the total or how else it enters."""
    table = layout.table(["part", "score", "range", "adds", "enters"], ["part", "range"], figures=["score", "adds"])
    for depth, term in _walk(reward):
        adds = "" if term.contribution is None else number(term.contribution)
        name = f"{'  ' * depth}{term.name}"
        layout.row(table, [name, number(term.score), range_of(term.low, term.high), adds, term.enters])
        if term.constant:
            layout.row(table, [f"{'  ' * (depth + 1)}constant", "", "", number(term.constant), ""])
    return table


def total(why: Explanation, width: int) -> Table:
    """Return the recipe's formula, then the compositions with their numbers."""
    table = layout.lines(why.formula.splitlines())
    rows = equations(why.reward, width) if why.reward else []
    if why.formula and rows:
        layout.row(table, [""])
    table.add_row(layout.facts(rows, gap=1))
    return table


def acc(why: Explanation, width: int) -> Table:
    """Return the condition of acc, in words and, of a combination, with its numbers."""
    condition = why.acc_is
    if why.success is not None and not why.success.numbers and condition.endswith(" is above 0"):
        condition += f"; it is {number(why.success.score)}"
    table = layout.lines([f"{number(why.acc or 0.0)}: {condition}"])
    if why.success is not None and why.success.numbers:
        table.add_row(layout.facts(equations(why.success, width), gap=1))
    return table


def equations(whole: Term, width: int) -> Rows:
    """Return each combination's formula, with its numbers and its score: in one line where that fits."""
    combined = [term for _, term in _walk(whole) if term.numbers]
    room = width - 1 - max((len(term.name) for term in combined), default=0)
    return [(term.name, _equation(term, room)) for term in combined]


def _equation(term: Term, room: int) -> str:
    if term.in_words:
        return f"= {number(term.score)}, of {term.numbers}"
    pieces = [term.formula, term.numbers]
    if term.numbers != number(term.score):
        pieces.append(number(term.score))
    line = "= " + " = ".join(pieces)
    return line if len(line) <= room else "\n".join(f"= {piece}" for piece in pieces)


def _walk(term: Term, depth: int = 0) -> Iterable[tuple[int, Term]]:
    yield depth, term
    for part in term.parts:
        yield from _walk(part, depth + 1)


def formulas(why: Explanation) -> Rows:
    """Return the formula of each verifier, once."""
    rows: dict[str, str] = {}
    for whole in (why.reward, why.success):
        for _, term in _walk(whole) if whole else ():
            head = "" if term.formula.startswith(term.made_by) else f"{term.made_by}\n"
            if term.in_words:
                rows.setdefault(f"{head}{_flowing(term.formula)}", term.name)
    return [(name, formula) for formula, name in rows.items()]


def _flowing(text: str) -> str:
    """Remove the line breaks of a docstring from its paragraphs, but for those before a line that is a formula."""
    return "\n".join(_LINE_BREAK.sub(" ", paragraph) for paragraph in text.split("\n\n"))


def range_of(low: float, high: float) -> str:
    """Return the range of scores."""
    return f"{number(low)} to {number(high)}"
