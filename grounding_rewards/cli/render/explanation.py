"""An explanation on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render import terms as show_terms
from grounding_rewards.cli.render.terms import Rows, range_of
from grounding_rewards.cli.render.values import action_of, clipped, fields_of, listed, point_of, written
from grounding_rewards.explain.explanation import (
    Compared,
    Conversion,
    Explanation,
    Extent,
    Mate,
    Position,
    ReadResponse,
    ReadTarget,
    Together,
)
from grounding_rewards.explain.formulas import number

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
    console.print(layout.indented(layout.text(_verdict(why))))
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
        cells = [each.recipe, total, range_of(each.low, each.high), acc, each.reason or "-", each.response_space]
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
        "Reward": show_terms.total(why, width),
        "Parts": show_terms.parts(why.reward),
        "acc": show_terms.acc(why, width),
    }
    if why.together is not None:
        sections[f"The {why.together.what}"] = _together(why.together)
    sections["Formulas"] = layout.facts(show_terms.formulas(why), apart=True)
    return sections


def _verdict(why: Explanation) -> str:
    if why.total is None or why.acc is None:
        return f"not scored · {why.reason}"
    return f"total {number(why.total)} · acc {number(why.acc)} · {why.reason}"


def _read(read: ReadResponse) -> Rows:
    rows = [("reason", f"{read.reason}: {read.meaning}"), ("dialect", _dialect(read)), ("answer", _answer(read))]
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


def _dialect(read: ReadResponse) -> str:
    if len(read.tried) == 1:
        return read.tried[0]
    matched = read.dialect or "none matched"
    return f"{matched}, of {len(read.tried)} that were tried in order"


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
