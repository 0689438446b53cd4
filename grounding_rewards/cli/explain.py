"""``grounding-rewards explain``: why a response gets its reward, in words, as JSON and as a page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as Grid

from grounding_rewards import catalogue
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.tables import action_of, clipped, fields_of, listed, point_of, written
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import ConvertError, PictureError, RecipeError, TargetError
from grounding_rewards.explain import Case, compare, explain
from grounding_rewards.explain.case import Size
from grounding_rewards.explain.explaining import BESIDE, in_wire_form
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
from grounding_rewards.explain.rows import row_of, screenshot_of
from grounding_rewards.scoring import Example, Recipe
from grounding_rewards.settings.reading import read_value
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.image_files import Image
from grounding_rewards.targets.suspects import described, suspect_targets
from grounding_rewards.wording import number

_PICTURE, _ASPECT = "A picture", 0.05
_SIZES = {"pixel": "image_size", "model_pixel": "model_image_size"}
LeftOut = dict[str, list[str]]
Page = Annotated[Path | None, typer.Option(
    "--out", metavar="FILE", rich_help_panel=_PICTURE,
    help="Also write a page that opens without a network (.html): the reward over the screen.",
)]  # fmt: skip
Screenshot = Annotated[Path | None, typer.Option(
    metavar="FILE", help="The screenshot to draw it over. Default: the row's own.", rich_help_panel=_PICTURE
)]  # fmt: skip


def explain_score(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help=f"A file of which to explain a row. {options.ROWS}")
    ] = None,
    row: Annotated[int | None, typer.Option(metavar="N", help="The number of the row, counted from 0.")] = None,
    recipe: options.RecipeName = "click",
    response: Annotated[str | None, typer.Option(metavar="TEXT", help="The model's response; - reads stdin.")] = None,
    target: Annotated[str | None, typer.Option(metavar="JSON", help="The right answer, in any form.")] = None,
    image_size: Annotated[
        str | None, typer.Option(metavar="W,H", help="Size of the original image, where the target does not say.")
    ] = None,
    model_image_size: Annotated[
        str | None, typer.Option(metavar="W,H", help="Size of the image that the model saw.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Another response of its group; may be given several times."),
    ] = None,
    *,
    chosen: options.RecipeOptions,
    box_format: options.BoxFormats = None,
    as_json: options.AsJson = False,
    compare_with: Annotated[
        str | None, options.recipe_option("Other recipes' scores, side by side.", "--compare", "NAME,NAME")
    ] = None,
    out: Page = None,
    image: Screenshot = None,
    rows: options.Rows,
) -> None:
    """Explain a score: what was read, how it was converted, what each part scores and adds, and why.

    Without --response and FILE the recipe's own example is explained. A row of a file comes with the rows of its
    sample or trajectory where the recipe needs these.

    Example: `grounding-rewards explain --recipe gelato --response '(200, 150)' --target '[0.1, 0.1, 0.3, 0.2]'`
    """
    name, own = catalogue.named(recipe, {})
    sizes = {"image_size": image_size, "model_image_size": model_image_size}
    if box_format is not None and response is None and file is None:
        raise RecipeError("--box-format: got it without --target or FILE; an example has the recipe's own form")
    _check(response, file, row, {"target": target, **sizes, "group": group or None})
    if file is None:
        root = rows.images.root
        of_rows = {"--split": (rows.split, "of a directory"), "--image-root": (root, "whose image has a size")}
        of_rows |= {
            f"{options.flag_of(name)}-column": (getattr(rows.columns, name) != usual, "that has such a column")
            for name, usual in vars(Columns()).items()
        }
        for flag, (given, which) in of_rows.items():
            if given:
                raise RecipeError(f"{flag}: got it without FILE and --row, the row {which}")
    rows.join.check([] if file is None else [file])
    _check_picture(out, image)
    if response is None and file is None:
        shown = catalogue.shown_with(name, {**own, **chosen})  # options of a file are its recipe's alone
        chosen = {key: shown[key] for key in shown if key in chosen or key not in own}
    built = catalogue.recipe(name, **{**own, **chosen})
    others, left_out = _others(recipe, compare_with, chosen)
    if file is not None:
        scorer = rows.scorer(built, "raise", box_format).of(rows.join.open(file, rows.split, rows.columns))
        case = row_of(row or 0, [replace(scorer, recipe=each) for each in (built, *others)])
    elif response is not None:
        case = replace(_case(built, response, target, group or (), sizes), box_format=box_format)
    elif built.example is not None:
        case = Case.of(built.example)
    else:
        raise RecipeError(f"{built.name} has no example: give --response and --target, or FILE and --row")
    shot, origin = None, str(image or "the row's image")
    if image is not None:
        anywhere = replace(rows.images, root="", hint="")  # wherever the images of rows lie
        shot = np.asarray(anywhere.decode(Image(str(image.absolute()))).convert("RGB"))
    elif out is not None and file is not None:
        shot = _own_screenshot(row or 0, scorer, built, case)
    sized = case if shot is None else _sized(built, case, shot.shape, origin)
    origins = _origins({} if file is None else scorer.used(), sizes, case)
    if sized is not case:
        origins["pixel"] = f"the size of {origin}"
    gone: BrokenPipeError | None = None
    try:
        _print(built, others, sized, left_out, as_json, origins, from_file=file is not None)
    except BrokenPipeError as error:  # the reader of the words has gone, such as head; the picture was asked for, too
        gone = error
    if out is not None:
        from grounding_rewards.explain.plot import page  # slow to import, and few draw

        if image is not None and shot is not None:
            sized = case.sized(built, (shot.shape[1], shot.shape[0]), origin)  # an error where the target has another
        drawn = in_wire_form(built, sized) if others else sized
        with terminal.progress("drawing") as advance:
            notes = page.draw([built, *others], drawn, out, shot, advance)
        for note in notes:
            terminal.note(note)
    if gone is not None:
        raise gone


def _own_screenshot(row: int, scorer: TableScorer, recipe: Recipe, case: Case) -> Any:
    """Return the row's own screenshot (h, w, 3); None, with a note, where there is none of the shape of the screen."""
    try:
        known, decoded = case.size(recipe), screenshot_of(row, scorer)
    except TargetError:
        return None  # no page is drawn of a target that cannot be read
    except (ConvertError, PictureError) as error:
        terminal.note(f"the page has no screenshot: {error}")
        return None
    if decoded is None:
        return None
    wide, high = decoded.size
    if known is not None and abs(known[0] * high - known[1] * wide) > _ASPECT * known[1] * wide:
        screen = f"{known[0]:g} x {known[1]:g}"
        terminal.note(f"the page has no screenshot: the row's image is {wide} x {high}, its screen {screen}")
        return None
    return np.asarray(decoded.convert("RGB"))


def _case(
    recipe: Recipe, response: str, target: str | None, group: Sequence[str], sizes: Mapping[str, str | None]
) -> Case:
    """Return the case of the words on the command line."""
    if target is None and not recipe.label_free:
        raise RecipeError(
            "--target: got nothing; expected the target of --response, such as '{\"bbox\": [1, 2, 3, 4]}'"
        )
    text = sys.stdin.read() if response == "-" else response
    wanted = None if target is None else read_value(target)
    known = {name: None if size is None else _size(name, size) for name, size in sizes.items()}
    return Case.of(Example(text, wanted, **known, group=tuple(group)))


def _size(name: str, text: str) -> Size:
    size = read_size(text if text.lstrip().startswith("[") else f"[{text.replace('x', ',')}]")
    if size is None:
        raise RecipeError(f"{options.flag_of(name)}: got {text!r:.60}; expected W,H in pixels, such as 1920,1080")
    return size


def _check(response: str | None, file: Path | None, row: int | None, beside: Mapping[str, Any]) -> None:
    """Check that options make sense together."""
    if response is not None and file is not None:
        raise RecipeError("--response and FILE: got both; expected one of them")
    if (file is None) != (row is None):
        lacks = "--row" if file else "FILE"
        raise RecipeError(f"{lacks}: got nothing; expected FILE and --row together; --recipe names a recipe")
    for name, value in beside.items():
        if value is not None and response is None:
            raise RecipeError(
                f"{options.flag_of(name)}: got it without --response; a row of a file and an example bring their own"
            )


def _check_picture(out: Path | None, image: Path | None) -> None:
    """Check that a picture can be drawn, before anything is printed."""
    if image is not None and out is None:
        raise RecipeError("--image: got it without --out, the page to draw")
    if out is not None:
        from grounding_rewards.viewer.page import check_page

        check_page(out)


def _others(first: str, names: str | None, chosen: Mapping[str, Any]) -> tuple[list[Recipe], LeftOut]:
    """Build the recipes to compare with, each with those options that it takes; return the others by recipe."""
    if names is None:
        return [], {}
    others, left_out = [], LeftOut()
    listed = [name.strip() for name in names.split(",") if name.strip()]
    if not listed or len({first, *listed}) <= len(listed):  # one is there twice, or is the first
        raise RecipeError(
            f"--compare: got {names!r:.80}; expected recipes other than {first}, each named once, such as gelato,gta1"
        )
    for name, own in (catalogue.named(each, {}) for each in listed):
        takes = {*catalogue.own_options(name), *catalogue.SHARED}
        # Options that it cannot be built without are those it is listed with; no space is guessed, though.
        needed = {key: value for key, value in catalogue.shown_with(name).items() if key != "response_space"}
        given = {key: chosen[key] for key in chosen if key in takes}
        others.append(catalogue.recipe(name, **{**needed, **given, **own}))
        if not takes >= chosen.keys():
            left_out[name] = sorted(chosen.keys() - takes)
    return others, left_out


def _origins(columns: Mapping[str, str], sizes: Mapping[str, str | None], case: Case) -> dict[str, str]:
    """Return where the sizes come from that do not stand in the target, by space; ``columns`` are those of the file."""
    origins = {}
    for space, name in _SIZES.items():
        if columns and getattr(case, f"{name}s") is not None:
            image = name == "image_size" and "image" in columns
            origins[space] = (
                f"the image in column {columns['image']}" if image else f"column {columns[name]} of the file"
            )
        elif sizes[name] is not None:
            origins[space] = options.flag_of(name)
    return origins


def _sized(recipe: Recipe, case: Case, shape: tuple[int, ...], origin: str) -> Case:
    """Add the screenshot's size to a case; not where the target says another, or cannot be read."""
    try:
        return case.sized(recipe, (shape[1], shape[0]), origin)
    except TargetError:
        return case


def _print(
    recipe: Recipe, others: Sequence[Recipe], case: Case, left_out: LeftOut, as_json: bool,
    origins: Mapping[str, str], *, from_file: bool,
) -> None:  # fmt: skip
    explanation = explain(recipe, case)
    if explanation.error is not None:
        explanation = replace(explanation, error=_with_flag(explanation.error, from_file))
        terminal.warn(f"{recipe.name}: the target cannot be used, so that the response is not scored")
    else:
        for text in described(suspect_targets(case.rollouts(recipe).targets, recipe.requirements)):
            terminal.warn(text)
    extents = tuple(
        replace(extent, origin=origins.get(extent.space, extent.origin)) if extent.origin.endswith(BESIDE) else extent
        for extent in explanation.extents
    )
    explanation = replace(explanation, extents=extents)
    compared = [
        each if each.error is None else replace(each, error=_with_flag(each.error, from_file))
        for each in (compare([recipe, *others], case) if others else ())
    ]
    if as_json:
        more = [{**each.to_dict(), "left_out": left_out.get(each.name, [])} for each in compared]
        terminal.print_json({**explanation.to_dict(), **({"compared": more} if others else {})})
        return
    _show(explanation)
    if compared:
        _show_compared(compared, left_out)


def _with_flag(error: str, from_file: bool) -> str:
    """Return the error of a target that lacks a size with the option that gives it; any other error as it is."""
    for name in _SIZES.values():
        if f"field '{name}': got nothing" in error:
            option = f"{options.flag_of(name)}-column NAME" if from_file else f"{options.flag_of(name)} W,H"
            made = ", or --pipeline and --image-size" if name == "model_image_size" else ""
            return f"{error}; give {option}{made}{'-column' if made and from_file else ''}"
    return error


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


def _show(why: Explanation) -> None:
    """Print all about one score."""
    console = layout.console()
    console.print(layout.text(why.recipe if why.options else why.name, "bold"))
    scores = "not scored" if why.total is None else f"total {number(why.total)} · acc {number(why.acc or 0.0)}"
    console.print(layout.indented(layout.text(f"{scores} · {why.reason}")))
    for title, section in {**_inputs(why), **(_scored(why, console.width - 2))}.items():
        layout.section(console, title, section)


def _show_compared(compared: Sequence[Compared], left_out: Mapping[str, Sequence[str]]) -> None:
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


def _inputs(why: Explanation) -> dict[str, Grid]:
    """Return the sections before any score."""
    response = clipped(why.response, LONGEST).splitlines() or ["(no text)"]
    sections = {"Response": layout.lines(response), "Read": layout.facts(_read(why.read))}
    if why.target is not None:
        sections["Target"] = layout.facts(_target(why.target))
    if why.error is not None:
        sections["The target cannot be used"] = layout.lines([why.error])
    return sections


def _scored(why: Explanation, width: int) -> dict[str, Grid]:
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


def _together(group: Together) -> Grid:
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


def _parts(reward: Term) -> Grid:
    """Return a row a part: its score, and its share of the total or how else it enters."""
    table = layout.table(["part", "score", "range", "adds", "enters"], ["part", "range"], figures=["score", "adds"])
    for depth, term in _walk(reward):
        adds = "" if term.contribution is None else number(term.contribution)
        name = f"{'  ' * depth}{term.name}"
        layout.row(table, [name, number(term.score), _range(term.low, term.high), adds, term.enters])
        if term.constant:
            layout.row(table, [f"{'  ' * (depth + 1)}constant", "", "", number(term.constant), ""])
    return table


def _total(why: Explanation, width: int) -> Grid:
    """Return the recipe's formula, then the compositions with their numbers."""
    table = layout.lines(why.formula.splitlines())
    rows = _equations(why.reward, width) if why.reward else []
    if why.formula and rows:
        layout.row(table, [""])
    table.add_row(layout.facts(rows, gap=1))
    return table


def _acc(why: Explanation, width: int) -> Grid:
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
