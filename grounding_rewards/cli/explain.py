"""``grounding-rewards explain``: why a response gets its reward, in words, as JSON and as a page."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.columns import Columns
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import explanation as show_explanation
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import ConvertError, PictureError, RecipeError, TargetError
from grounding_rewards.explain import Case, compare, explain
from grounding_rewards.explain.case import Size
from grounding_rewards.explain.explaining import BESIDE, in_wire_form
from grounding_rewards.explain.rows import row_of, screenshot_of
from grounding_rewards.scoring import Example, Recipe
from grounding_rewards.settings.reading import read_value
from grounding_rewards.tables import Table
from grounding_rewards.tables.image_files import Image, ImageFiles
from grounding_rewards.targets.suspects import described, suspect_targets

_PICTURE, _ASPECT = "A picture", 0.05
_SIZES = {"pixel": "image_size", "model_pixel": "model_image_size"}
LeftOut = dict[str, list[str]]


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
        str | None,
        typer.Option(
            "--compare",
            metavar="NAME,NAME",
            help="Other recipes' scores, side by side.",
            autocompletion=options.RECIPES,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Also write a page that opens without a network (.html): the reward over the screen.",
            rich_help_panel=_PICTURE,
        ),
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The screenshot to draw it over. Default: the row's own.", rich_help_panel=_PICTURE
        ),
    ] = None,
    columns: options.FileColumns,
    images: options.SizedImages,
    split: options.RowsSplit = None,
    join: options.Joining,
    old_file: Annotated[Path | None, typer.Option("--file", hidden=True)] = None,
) -> None:
    """Explain a score: what was read, how it was converted, what each part scores and adds, and why.

    Without --response and FILE the recipe's own example is explained. A row of a file comes with the rows of its
    sample or trajectory where the recipe needs these.

    Example: `grounding-rewards explain --recipe gelato --response '(200, 150)' --target '[0.1, 0.1, 0.3, 0.2]'`
    """
    if file is not None and not options.given("recipe") and (row is None or old_file is not None):
        terminal.note(f"explain takes the recipe as --recipe {file} now, and the file first: explain FILE --row N")
        recipe, file = str(file), old_file
    elif file is None and old_file is not None:
        terminal.note("explain takes the file first now: explain FILE --row N")
        file = old_file
    name, own = catalogue.named(recipe, {})
    sizes = {"image_size": image_size, "model_image_size": model_image_size}
    if box_format is not None and response is None and file is None:
        raise RecipeError("--box-format: got it without --target or FILE; an example has the recipe's own form")
    _check(response, file, row, {"target": target, **sizes, "group": group or None})
    if file is None:
        of_rows = {"--split": (split, "of a directory"), "--image-root": (images.root, "whose image has a size")}
        of_rows |= {
            f"{_flag(name)}-column": (getattr(columns, name) != usual, "that has such a column")
            for name, usual in vars(Columns()).items()
        }
        for flag, (given, which) in of_rows.items():
            if given:
                raise RecipeError(f"{flag}: got it without FILE and --row, the row {which}")
    join.check([] if file is None else [file])
    _check_picture(out, image)
    if response is None and file is None:
        shown = catalogue.shown_with(name, {**own, **chosen})  # options of a file are its recipe's alone
        chosen = {key: shown[key] for key in shown if key in chosen or key not in own}
    built = catalogue.recipe(name, **{**own, **chosen})
    others, left_out = _others(recipe, compare_with, chosen)
    if file is not None:
        table, columns = join.open(file, split, columns)
        scorer = TableScorer(
            built, columns, box_format=box_format, image_files=images, on_note=terminal.note,
            on_warning=terminal.warn,
        ).of(table)  # fmt: skip
        columns = scorer.columns
        case = row_of(table, row or 0, [replace(scorer, recipe=each) for each in (built, *others)])
    elif response is not None:
        case = replace(_case(built, response, target, group or (), sizes), box_format=box_format)
    elif built.example is not None:
        case = Case.of(built.example)
    else:
        raise RecipeError(f"{built.name} has no example: give --response and --target, or FILE and --row")
    shot, origin = None, str(image or "the row's image")
    if image is not None:
        shot = np.asarray(_decoded(images, image).convert("RGB"))
    elif out is not None and file is not None:
        shot = _own_screenshot(table, row or 0, scorer, built, case)
    sized = case if shot is None else _sized(built, case, shot.shape, origin)
    origins = _origins({} if file is None else scorer.used(table), sizes, case)
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


def _decoded(files: ImageFiles, image: Path) -> Any:
    """Decode the screenshot, wherever the images of rows lie."""
    return replace(files, root="", hint="").decode(Image(str(image.absolute())))


def _own_screenshot(table: Table, row: int, scorer: TableScorer, recipe: Recipe, case: Case) -> Any:
    """Return the row's own screenshot (h, w, 3); None, with a note, where there is none of the shape of the screen."""
    try:
        known, decoded = case.size(recipe), screenshot_of(table, row, scorer)
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
        raise RecipeError(f"{_flag(name)}: got {text!r:.60}; expected W,H in pixels, such as 1920,1080")
    return size


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check(response: str | None, file: Path | None, row: int | None, beside: Mapping[str, Any]) -> None:
    """Check that options make sense together."""
    if response is not None and file is not None:
        raise RecipeError("--response and FILE: got both; expected one of them")
    if (file is None) != (row is None):
        raise RecipeError(f"{'--row' if file else 'FILE'}: got nothing; expected FILE and --row together")
    for name, value in beside.items():
        if value is not None and response is None:
            raise RecipeError(
                f"{_flag(name)}: got it without --response; a row of a file and an example bring their own"
            )


def _check_picture(out: Path | None, image: Path | None) -> None:
    """Check that a picture can be drawn, before anything is printed."""
    if image is not None and out is None:
        raise RecipeError("--image: got it without --out, the page to draw")
    if out is not None:
        from grounding_rewards.viewer import check_page

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
            origins[space] = _flag(name)
    return origins


def _sized(recipe: Recipe, case: Case, shape: tuple[int, ...], origin: str) -> Case:
    """Add the screenshot's size to a case; not where the target says another, or cannot be read."""
    try:
        return case.sized(recipe, (shape[1], shape[0]), origin)
    except TargetError:
        return case


def _print(
    recipe: Recipe,
    others: Sequence[Recipe],
    case: Case,
    left_out: LeftOut,
    as_json: bool,
    origins: Mapping[str, str],
    *,
    from_file: bool,
) -> None:
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
    show_explanation.explanation(explanation)
    if compared:
        show_explanation.comparison(compared, left_out)


def _with_flag(error: str, from_file: bool) -> str:
    """Return the error of a target that lacks a size with the option that gives it; any other error as it is."""
    for name in _SIZES.values():
        if f"field '{name}': got nothing" in error:
            option = f"{_flag(name)}-column NAME" if from_file else f"{_flag(name)} W,H"
            made = ", or --pipeline and --image-size" if name == "model_image_size" else ""
            return f"{error}; give {option}{made}{'-column' if made and from_file else ''}"
    return error
