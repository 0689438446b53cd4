"""An explanation on the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.tables import action_of, clipped, fields_of, listed, point_of, written
from grounding_rewards.explain.explanation import (
    Compared,
    Conversion,
    Explanation,
    Extent,
    Mate,
    Position,
    ReadResponse,
    ReadTarget,
    Term,
    Together,
)
from grounding_rewards.wording import number

Rows = list[tuple[str, str]]

_LINE_BREAK = re.compile(r"\n(?!\w+ = )")  # of a docstring's paragraph, but for those before a line that is a formula

LONGEST = 800
"""Characters of a response that are shown."""

MOST = 12
"""Answers, and rows of a group, that are shown."""

_ANSWERS = {
    "only": "only a single one counts", "first": "the first counts", "last": "the last counts", "all": "all count",
}  # fmt: skip
_THINKING = {
    "closed": "what stands before </think> is no answer",
    "open": "the prompt opened it: what stands before </think> is no answer",
    "read": "is read like the rest",
}


def explanation(why: Explanation) -> None:
    """Print all about one score."""
    console = layout.console()
    console.print(layout.text(why.recipe if why.options else why.name, "bold"))
    scores = "not scored" if why.total is None else f"total {number(why.total)} · acc {number(why.acc or 0.0)}"
    console.print(layout.indented(layout.text(f"{scores} · {why.reason}")))
    for title, section in {**_inputs(why), **(_scored(why, console.width - 2))}.items():
        layout.section(console, title, section)


def comparison(compared: Sequence[Compared], left_out: Mapping[str, Sequence[str]]) -> None:
    """Print the scores of one response by several recipes."""
    console = layout.console()
    table = layout.table(
        ["recipe", "total", "range", "acc", "reason", "answers in"], ["range"], figures=["total", "acc"]
    )
    for each in compared:
        total, acc = ("-" if value is None else number(value) for value in (each.total, each.acc))
        cells = [each.recipe, total, _range(each.low, each.high), acc, each.reason or "-", each.response_space]
        layout.row(table, cells)
    layout.section(console, "Compared: the same text, and the same target", table)
    notes = [f"{each.name}: {each.error}" for each in compared if each.error is not None]
    notes += [f"{name} does not take {', '.join(options)}: left out" for name, options in left_out.items()]
    for note in notes:
        console.print(layout.indented(layout.text(note)))


def _inputs(why: Explanation) -> dict[str, Table]:
    """Return the sections before any score."""
    response = clipped(why.response, LONGEST).splitlines() or ["(no text)"]
    sections = {"Response": layout.lines(response), "Read": layout.facts(_read(why.read))}
    if why.target is not None:
        sections["Target"] = layout.facts(_target(why.target))
    if why.error is not None:
        sections["The target cannot be used"] = layout.lines([why.error])
    return sections


def _scored(why: Explanation, width: int) -> dict[str, Table]:
    """Return the sections about the score; nothing where there is none."""
    if why.reward is None:
        return {}
    sections = {
        "Conversions": layout.facts(_conversions(why)),
        "On the screen": layout.facts(_position(why)),
        "Reward": _total(why, width),
        "Parts": _parts(why.reward),
        "acc": _acc(why, width),
    }
    if why.together is not None:
        sections[f"The {why.together.what}"] = _together(why.together)
    sections["Formulas"] = layout.facts(_formulas(why), apart=True)
    return sections


def _read(read: ReadResponse) -> Rows:
    tried = f"{read.dialect or 'none matched'}, of {len(read.tried)} that were tried in order"
    dialect = read.tried[0] if len(read.tried) == 1 else tried
    rows = [("reason", f"{read.reason}: {read.meaning}"), ("dialect", dialect), ("answer", _answer(read))]
    if read.arguments:
        rows.append(("says", fields_of(read.arguments)))
    if read.found:
        points = [point_of(point) if point else "one without a place" for point in read.found[:MOST]]
        more = [f"{len(read.found) - MOST} more"] if len(read.found) > MOST else []
        rows.append(("found", f"{', '.join([*points, *more])}; of several, {_ANSWERS[read.answers]}"))
    elif read.reason in ("SEVERAL_ANSWERS", "TOO_MANY"):
        rows.append(("answers", f"of several, {_ANSWERS[read.answers]}"))
    if read.left_out or read.thinking != "closed":
        kept = f"; {read.left_out} characters left out" if read.left_out else ""
        rows.append(("thinking", f"{_THINKING[read.thinking]}{kept}"))
    if read.cut:
        rows.append(("cut", f"the first {read.cut} characters are not read: it is too long"))
    return rows


def _answer(read: ReadResponse) -> str:
    action = read.action or ""
    if read.box is not None:
        return f"{action} box {listed(read.box)}, its centre {point_of(read.point or ())}, in {read.space}".lstrip()
    if read.point is not None:
        return f"{action} {point_of(read.point)} in {read.space}".lstrip()
    return action or ("a refusal" if read.reason == "REFUSED" else "none")


def _target(target: ReadTarget) -> Rows:
    several = len(target.places) > 1
    rows: Rows = [("refusal", "nothing on the screen fits")] if target.refusal else []
    for index, place in enumerate(target.places):
        name = f"place {index + 1}" if several else "place"
        marked = f", marked at {point_of(place.point)}" if place.point else ""
        action = f", {action_of(place.action)}" if place.action else ""
        alone = f"; alone it would score {number(place.alone)}" if place.alone is not None else ""
        rows.append((name, f"{place.kind} {listed(place.numbers)} in {target.space}{marked}{action}{alone}"))
    rows += [("action", action_of(action)) for action in (target.action, *target.actions) if action]
    rows += [(name, listed(value) if name.endswith("size") else written(value)) for name, value in target.says.items()]
    if not target.compared:
        rows.append(("note", "nothing is compared with what it says"))
    if target.form == "native":
        rows.append(("form", "that of the recipe's source"))
    return rows


def _conversions(why: Explanation) -> Rows:
    rows: Rows = []
    for move in why.conversions:
        if move.axes:
            rows.append((move.what, f"{move.source} -> {move.into}"))
            rows += [("", line) for line in _axes(move)]
        elif move.source == move.into:
            rows.append((move.what, f"{move.source}, the space of the formula: not converted"))
        else:
            rows.append((move.what, f"{move.source} -> {move.into}: the size is not known, so that it lies nowhere"))
    return [*rows, *[(each.space, _extent(each)) for each in why.extents]]


def _axes(move: Conversion) -> list[str]:
    """Return a line a coordinate; of a polygon, all numbers and how x and y were scaled."""
    lines = []
    for each in move.axes[:4]:
        scale = number(each.source) if move.into == "unit" else f"({number(each.into)} / {number(each.source)})"
        sign = "/" if move.into == "unit" else "·"
        lines.append(f"{each.axis}: {number(each.value)} {sign} {scale} = {number(each.result)}")
    if len(move.axes) <= 4:
        return lines
    return [*lines[:2], f"and so on: {listed(tuple(each.result for each in move.axes))}"]


def _extent(extent: Extent) -> str:
    if extent.origin == "always":
        return f"both sides are {number(extent.width)}"
    return f"{number(extent.width)} x {number(extent.height)}, {extent.origin}"


def _position(why: Explanation) -> Rows:
    where = why.position
    if where is None:
        return []
    of_original = "px of the original image" if where.space == "pixel" else where.space
    name = f"place {where.nearest + 1}, the nearest" if len(where.places) > 1 else "target"
    if why.positions:
        rows = [(name, listed(where.places[where.nearest]))]
        rows += [(f"answer {index + 1}", _lies(each, of_original)) for index, each in enumerate(why.positions[:MOST])]
        more = len(why.positions) - MOST
        return [*rows, *([("...", f"{more} more")] if more > 0 else [])]
    answer = f"box {listed(where.box)}, its centre {point_of(where.point)}" if where.box else point_of(where.point)
    rows = [
        ("answer", f"{answer}, in {of_original}"),
        (name, listed(where.places[where.nearest])),
        ("so it is", where.words),
    ]
    if why.acc is not None and where.inside != (why.acc > 0):
        own = "the recipe's own rule decides, of borders or of more than the place: see acc and Formulas"
        rows.append((f"acc is {number(why.acc)}", own))
    return rows


def _lies(where: Position, space: str) -> str:
    nearest = f", of place {where.nearest + 1}" if len(where.places) > 1 else ""
    return f"{point_of(where.point)}, in {space}: {where.words}{nearest}"


def _together(group: Together) -> Table:
    """Return a row a rollout, the explained one marked; of many the first, and that one in any case."""
    step, long = group.what == "trajectory", any(mate.length is not None for mate in group.rows)
    heads = ["row", *(["step"] if step else []), *(["length"] if long else []), "total", "acc"]
    heads += [f"point ({group.space})", "reason", "response"]
    table, mates = layout.table(heads, ["row"], figures=["step", "length", "total", "acc"]), _chosen(group)
    for mate in mates:
        own = [str(mate.step)] if step else []
        own += [str(mate.length)] if long else []
        point = point_of(mate.point) if mate.point else "-"
        response = clipped(" ".join((mate.response or "").split()), 40)
        name = f"> {mate.row}" if mate.explained else f"  {mate.row}"
        layout.row(table, [name, *own, number(mate.total), number(mate.acc), point, mate.reason, response])
    if len(group.rows) > len(mates):
        layout.row(table, ["  ...", f"{len(group.rows) - len(mates)} more"])
    return table


def _chosen(group: Together) -> list[Mate]:
    own = [mate for mate in group.rows[MOST:] if mate.explained]
    return [*group.rows[: MOST - len(own)], *own]


def _parts(reward: Term) -> Table:
    """Return a row a part: its score, and its share of the total or how else it enters."""
    table = layout.table(["part", "score", "range", "adds", "enters"], ["part", "range"], figures=["score", "adds"])
    for depth, term in _walk(reward):
        adds = "" if term.contribution is None else number(term.contribution)
        name = f"{'  ' * depth}{term.name}"
        layout.row(table, [name, number(term.score), _range(term.low, term.high), adds, term.enters])
        if term.constant:
            layout.row(table, [f"{'  ' * (depth + 1)}constant", "", "", number(term.constant), ""])
    return table


def _total(why: Explanation, width: int) -> Table:
    """Return the recipe's formula, then the compositions with their numbers."""
    table = layout.lines(why.formula.splitlines())
    rows = _equations(why.reward, width) if why.reward else []
    if why.formula and rows:
        layout.row(table, [""])
    table.add_row(layout.facts(rows, gap=1))
    return table


def _acc(why: Explanation, width: int) -> Table:
    """Return the condition of acc, in words and, of a combination, with its numbers."""
    condition = why.acc_is
    if why.success is not None and not why.success.numbers and condition.endswith(" is above 0"):
        condition += f"; it is {number(why.success.score)}"
    table = layout.lines([f"{number(why.acc or 0.0)}: {condition}"])
    if why.success is not None and why.success.numbers:
        table.add_row(layout.facts(_equations(why.success, width), gap=1))
    return table


def _equations(whole: Term, width: int) -> Rows:
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


def _formulas(why: Explanation) -> Rows:
    """Return the formula of each verifier, once."""
    rows: dict[str, str] = {}
    for whole in (why.reward, why.success):
        for _, term in _walk(whole) if whole else ():
            head = "" if term.formula.startswith(term.made_by) else f"{term.made_by}\n"
            if term.in_words:
                flowing = "\n".join(_LINE_BREAK.sub(" ", paragraph) for paragraph in term.formula.split("\n\n"))
                rows.setdefault(f"{head}{flowing}", term.name)
    return [(name, formula) for formula, name in rows.items()]


def _range(low: float, high: float) -> str:
    """Return the range of scores."""
    return f"{number(low)} to {number(high)}"
