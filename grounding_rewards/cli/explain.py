"""``grounding-rewards explain``: why a response is paid what it is paid, in words, as JSON and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.cli import cases, options, show_explanation, terminal
from grounding_rewards.cli.scorer import Columns
from grounding_rewards.errors import RecipeError
from grounding_rewards.explain import Case, explain
from grounding_rewards.explain.comparing import compare
from grounding_rewards.explain.telling import in_wire_form
from grounding_rewards.scoring import Recipe

_ROW, _PICTURE = "A row of a file", "A picture"
LeftOut = dict[str, list[str]]


def explain_score(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The recipe: a name, module:attr or /path/file.py:attr.")],
    response: Annotated[str | None, typer.Option(metavar="TEXT", help="What the model wrote; - reads stdin.")] = None,
    target: Annotated[str | None, typer.Option(metavar="JSON", help="What counts as right, in any form.")] = None,
    image_size: Annotated[
        str | None, typer.Option(metavar="W,H", help="Of the original image, where the target does not say.")
    ] = None,
    model_image_size: Annotated[
        str | None, typer.Option(metavar="W,H", help="The same of the image that the model saw.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Another response of its group; may come several times."),
    ] = None,
    option: options.Options = None,
    response_space: options.ResponseSpace = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    compare_with: Annotated[
        str | None, typer.Option("--compare", metavar="NAME,NAME", help="What other recipes pay, side by side.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the reward over the screen; .png, .svg or .pdf.", rich_help_panel=_PICTURE
        ),
    ] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The screenshot to draw it over.", rich_help_panel=_PICTURE)
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON lines or Parquet.", rich_help_panel=_ROW)
    ] = None,
    row: Annotated[
        int | None, typer.Option(metavar="N", help="Which one, counted from 0.", rich_help_panel=_ROW)
    ] = None,
    response_column: options.ResponseColumn = "response",
    target_column: options.TargetColumn = "target",
    image_size_column: options.ImageSizeColumn = "image_size",
    model_image_size_column: options.ModelImageSizeColumn = "model_image_size",
    id_column: options.IdColumn = "sample_id",
) -> None:
    """Explain a score: what was read, how it was converted, what each part is worth and adds, and why.

    Without --response and --file the recipe's own example is explained. A row of a file comes with the rows of its
    sample or trajectory where the recipe needs these.

    Example: `grounding-rewards explain gelato --response '(200, 150)' --target '[0.1, 0.1, 0.3, 0.2]'`
    """
    _check(response, file, row, {"--target": target, "--image-size": image_size,
           "--model-image-size": model_image_size, "--group": group}, image, plot)  # fmt: skip
    options_given = options.read_options(option, response_space)
    shown = catalogue.shown_with(name) if response is None and file is None else {}
    recipe = options.built(name, {**shown, **options_given})
    others, left_out = _others(compare_with, {**shown, **options_given})
    if file is not None:
        columns = Columns(response_column, target_column, image_size_column, model_image_size_column, id_column)
        case = cases.row_of(file, row or 0, recipe, columns)
    elif response is not None:
        case = cases.given(recipe, response, target, group or (), image_size, model_image_size)
    else:
        case = cases.example(recipe)
    if plot is not None:
        case = _drawn([recipe, *others], case, plot, image)
    _print(recipe, others, case, left_out, as_json)


def _check(
    response: str | None,
    file: Path | None,
    row: int | None,
    beside: Mapping[str, Any],
    image: Path | None,
    plot: Path | None,
) -> None:
    """Complain about options that say nothing together.

    Raises:
        RecipeError: they do.
    """
    if response is not None and file is not None:
        raise RecipeError("--response and --file: got both; expected one of them")
    if (file is None) != (row is None):
        raise RecipeError(f"--{'row' if file else 'file'}: got nothing; expected --file and --row together")
    for name, value in beside.items():
        if value and response is None:
            raise RecipeError(f"{name}: got it without --response; a row of a file and an example bring their own")
    if image is not None and plot is None:
        raise RecipeError("--image: got it without --plot, the picture to draw")


def _others(names: str | None, given: Mapping[str, Any]) -> tuple[list[Recipe], LeftOut]:
    """The recipes to compare with, each with those options that it takes, and the options that it does not take."""
    found, left_out = [], LeftOut()
    for name in [each.strip() for each in (names or "").split(",") if each.strip()]:
        takes = {*catalogue.own_options(name), *catalogue.SHARED}
        found.append(options.built(name, {key: value for key, value in given.items() if key in takes}))
        if not takes >= given.keys():
            left_out[name] = sorted(given.keys() - takes)
    return found, left_out


def _print(recipe: Recipe, others: Sequence[Recipe], case: Case, left_out: LeftOut, as_json: bool) -> None:
    found = explain(recipe, case)
    compared = compare([recipe, *others], case) if others else ()
    if as_json:
        more = [{**each.to_dict(), "left_out": left_out.get(each.name, [])} for each in compared]
        terminal.print_json({**found.to_dict(), **({"compared": more} if others else {})})
        return
    show_explanation.explanation(found)
    if compared:
        show_explanation.comparison(compared, left_out)


def _drawn(recipes: Sequence[Recipe], case: Case, out: Path, image: Path | None) -> Case:
    """Draw, and return the case with the size that the screenshot has."""
    from grounding_rewards.cli.pictures import draw, sized_by  # slow to import, and few draw

    sized = case if image is None else sized_by(image, recipes[0], case)
    draw(recipes, in_wire_form(recipes[0], sized) if len(recipes) > 1 else sized, out, image)
    return sized
