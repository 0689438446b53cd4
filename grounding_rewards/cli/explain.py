"""``grounding-rewards explain``: why a response is paid what it is paid, in words, as JSON and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.row_scoring import Columns
from grounding_rewards.cli import cases, options, terminal
from grounding_rewards.cli.render import explanation as show_explanation
from grounding_rewards.converting.image_files import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS, ImageFiles
from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.explain import Case, explain
from grounding_rewards.explain.comparing import compare
from grounding_rewards.explain.places import BESIDE
from grounding_rewards.explain.sections import Extent
from grounding_rewards.explain.target_section import in_wire_form
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.findings import described, findings

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
    model: options.Model = None,
    min_pixels: options.Bound = None,
    max_pixels: options.Bound = None,
    processor_min_pixels: options.Bound = None,
    processor_max_pixels: options.Bound = None,
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
    max_image_bytes: options.MaxImageBytes = MAX_IMAGE_BYTES,
    max_image_pixels: options.MaxImagePixels = MAX_IMAGE_PIXELS,
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
    token_length_column: options.TokenLengthColumn = "token_length",
) -> None:
    """Explain a score: what was read, how it was converted, what each part is worth and adds, and why.

    Without --response and --file the recipe's own example is explained. A row of a file comes with the rows of its
    sample or trajectory where the recipe needs these.

    Example: `grounding-rewards explain gelato --response '(200, 150)' --target '[0.1, 0.1, 0.3, 0.2]'`
    """
    columns = Columns(
        response_column, target_column, image_size_column, model_image_size_column, id_column, token_length_column
    )
    _check(response, file, row, {"--target": target, "--image-size": image_size,
           "--model-image-size": model_image_size, "--group": group or None}, columns)  # fmt: skip
    _check_picture(plot, image)
    chosen = options.read_options(
        option, response_space=response_space, model=model, min_pixels=min_pixels, max_pixels=max_pixels,
        processor_min_pixels=processor_min_pixels, processor_max_pixels=processor_max_pixels,
    )  # fmt: skip
    if response is None and file is None:
        chosen = catalogue.shown_with(name, chosen)
    recipe = catalogue.recipe(name, **chosen)
    others, left_out = _others(name, compare_with, chosen)
    if file is not None:
        case = cases.row_of(file, row or 0, [recipe, *others], columns)
    elif response is not None:
        case = cases.given(recipe, response, target, group or (), image_size, model_image_size)
    else:
        case = cases.example(recipe)
    images = ImageFiles(max_image_bytes=max_image_bytes, max_image_pixels=max_image_pixels)
    sized = case if image is None else _sized(recipe, case, image, images)
    given = {"image_size": image_size, "model_image_size": model_image_size}
    told = _origins(columns if file is not None else None, given, case, sized, image)
    gone: BrokenPipeError | None = None
    try:
        _print(recipe, others, sized, left_out, as_json, told)
    except BrokenPipeError as error:  # whoever read the words has gone, such as head; the picture was asked for, too
        gone = error
    if plot is not None:
        _draw([recipe, *others], sized, plot, image, images)
    if gone is not None:
        raise gone


def _check(
    response: str | None,
    file: Path | None,
    row: int | None,
    beside: Mapping[str, Any],
    columns: Columns,
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
        if value is not None and response is None:
            raise RecipeError(f"{name}: got it without --response; a row of a file and an example bring their own")
    for field, default in vars(Columns()).items():
        if file is None and getattr(columns, field) != default:
            option = f"--{field.replace('_', '-')}-column"
            raise RecipeError(f"{option}: got it without --file and --row, the row that has such a column")


def _check_picture(plot: Path | None, image: Path | None) -> None:
    """Complain about a picture that cannot be drawn, before anything is said.

    Raises:
        RecipeError: there is a screenshot, and nothing to draw over it.
        PictureError: the file cannot be written, or matplotlib is not installed.
    """
    if image is not None and plot is None:
        raise RecipeError("--image: got it without --plot, the picture to draw")
    if plot is not None:
        from grounding_rewards.cli import pictures  # slow to import, and few draw

        pictures.check(plot)


def _others(first: str, names: str | None, given: Mapping[str, Any]) -> tuple[list[Recipe], LeftOut]:
    """The recipes to compare with, each with those options that it takes, and the options that it does not take.

    Raises:
        RecipeError: none is named, one is named twice or is the first, or an option does not fit.
    """
    if names is None:
        return [], {}
    found, left_out = [], LeftOut()
    listed = [each.strip() for each in names.split(",") if each.strip()]
    if not listed or len({first, *listed}) <= len(listed):
        raise RecipeError(
            f"--compare: got {names!r:.80}; expected recipes other than {first}, each named once, such as gelato,gta1"
        )
    for name in listed:
        takes = {*catalogue.own_options(name), *catalogue.SHARED}
        # What it cannot be built without is shown with the rest of the recipe; no space is guessed, though.
        shown = {key: value for key, value in catalogue.shown_with(name).items() if key != "response_space"}
        found.append(catalogue.recipe(name, **{**shown, **{key: given[key] for key in given if key in takes}}))
        if not takes >= given.keys():
            left_out[name] = sorted(given.keys() - takes)
    return found, left_out


def _origins(
    columns: Columns | None, given: Mapping[str, str | None], case: Case, sized: Case, image: Path | None
) -> dict[str, str]:
    """Who says the sizes that do not stand in the target, by space."""
    found = {}
    for space, name in (("pixel", "image_size"), ("model_pixel", "model_image_size")):
        if getattr(case, f"{name}s") is not None and columns is not None:
            found[space] = f"column {getattr(columns, name)} of the file"
        elif given[name] is not None:
            found[space] = f"--{name.replace('_', '-')}"
    if sized is not case:
        found["pixel"] = f"the size of {image}"
    return found


def _print(
    recipe: Recipe,
    others: Sequence[Recipe],
    case: Case,
    left_out: LeftOut,
    as_json: bool,
    origins: Mapping[str, str],
) -> None:
    found = explain(recipe, case)
    for text in described(findings(case.rollouts(recipe).targets, recipe)) if found.error is None else ():
        terminal.warn(text)
    found = replace(found, extents=tuple(_told(each, origins) for each in found.extents))
    compared = compare([recipe, *others], case) if others else ()
    if as_json:
        more = [{**each.to_dict(), "left_out": left_out.get(each.name, [])} for each in compared]
        said = {**found.to_dict(), "warnings": terminal.warnings()}
        terminal.print_json({**said, **({"compared": more} if others else {})})
        return
    show_explanation.explanation(found)
    if compared:
        show_explanation.comparison(compared, left_out)


def _told(extent: Extent, origins: Mapping[str, str]) -> Extent:
    """The same, where it is beside the target, with where that is."""
    beside = extent.origin.endswith(BESIDE)
    return replace(extent, origin=origins.get(extent.space, extent.origin)) if beside else extent


def _sized(recipe: Recipe, case: Case, image: Path, images: ImageFiles) -> Case:
    """The case with the size that the screenshot has; as it is where the target says another, or cannot be read."""
    from grounding_rewards.cli.pictures import sized_by

    try:
        return sized_by(image, recipe, case, images)
    except TargetError:
        return case


def _draw(recipes: Sequence[Recipe], case: Case, out: Path, image: Path | None, images: ImageFiles) -> None:
    from grounding_rewards.cli.pictures import draw

    for note in draw(recipes, in_wire_form(recipes[0], case) if len(recipes) > 1 else case, out, image, images):
        terminal.note(note)
