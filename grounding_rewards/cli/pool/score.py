"""``grounding-rewards pool score``: rollouts in, the same rollouts with a recipe's scores out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.batch.row_scoring import Columns, Resizing
from grounding_rewards.cli import options, terminal
from grounding_rewards.coords.spaces import MODELS, PIPELINES
from grounding_rewards.errors import RecipeError, near
from grounding_rewards.pool.report.wording import percent

_PANEL = "The size of the image that the model saw"
Bound = Annotated[int | None, typer.Option(metavar="PIXELS", help="As the launch sets it.", rich_help_panel=_PANEL)]


def score_rollouts(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="ROLLOUTS...", help="Parquet, JSON lines, directories of them, or trainers' logs."),
    ],
    recipe: Annotated[
        str, typer.Option("--recipe", metavar="NAME", help="The recipe; `grounding-rewards recipes` lists them.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory that the scored rollouts make.")],
    option: options.Options = None,
    response_space: options.ResponseSpace = None,
    bad_target: options.BadTargets = options.OnBadTarget.RAISE,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace DIR, or an unfinished run, that was made of something else.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Whose resizing makes it, where rows do not say: {', '.join(PIPELINES)}. Sets --response-space, too.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    min_pixels: Bound = None,
    max_pixels: Bound = None,
    processor_min_pixels: Bound = None,
    processor_max_pixels: Bound = None,
    response_column: options.ResponseColumn = "response",
    target_column: options.TargetColumn = "target",
    image_size_column: options.ImageSizeColumn = "image_size",
    model_image_size_column: options.ModelImageSizeColumn = "model_image_size",
    id_column: options.IdColumn = "sample_id",
    token_length_column: options.TokenLengthColumn = "token_length",
) -> None:
    """Score rollouts, or score them anew, into a rollout table.

    A run that was killed goes on where it was: start it again with the same words. Until it ends, DIR is read as the
    older table that it was, or not at all. Rows keep their columns; total, acc, reason, x_unit, y_unit, recipe and the
    recipe's parts are new, and those of other recipes are left out. Rows without a response are not scored, and have no
    acc. Rows without a name or a number get one. Rewards that compare the rollouts of a sample find them wherever they
    stand, a round and a train_step at a time.

    Example: `grounding-rewards pool score run1/rollouts --recipe gelato --out run1/scored`
    """
    from grounding_rewards.batch import rescore

    resizing = _resizing(model, min_pixels, max_pixels, processor_min_pixels, processor_max_pixels)
    if model is not None and response_space is None:
        response_space = str(MODELS[model.rpartition("+")[2]])
    columns = Columns(
        response_column, target_column, image_size_column, model_image_size_column, id_column, token_length_column
    )
    built = options.build_recipe(recipe, option, response_space)
    notes, warnings = list[str](), list[str]()
    with terminal.progress(f"scoring with {recipe}") as advance:
        done = rescore(
            paths, built, out, columns=columns, resizing=resizing, bad_target=bad_target, overwrite=overwrite,
            advance=advance, note=notes.append, warn=warnings.append,
        )  # fmt: skip
    for text in notes:
        terminal.note(text)
    for text in warnings:
        terminal.warn(text)
    pieces = {"made": done.made, "found": done.found}
    said = {"out": str(out), **done.manifest, "pieces": pieces, "warnings": warnings}
    if as_json:
        terminal.print_json({name: value for name, value in said.items() if name not in ("outputs", "complete")})
        return
    sys.stderr.write(terminal.printable(_line(said)) + "\n")
    if built.label_free:
        terminal.note(options.unlabelled(built))


def _resizing(model: str | None, *bounds: int | None) -> Resizing | None:
    if model is None:
        if any(bound is not None for bound in bounds):
            raise RecipeError("bounds of pixels say how images are resized; say for which model: give --model too")
        return None
    if model not in PIPELINES:
        raise RecipeError(f"--model: got {model!r}{near(model, PIPELINES) or '.'} There are: {', '.join(PIPELINES)}")
    return Resizing(model, *bounds)


def _line(said: dict[str, Any]) -> str:
    pieces, share = said["pieces"], "mean acc" if said.get("label_free") else "hit rate"
    mean = "-" if said["mean_total"] is None else f"{said['mean_total']:.4f}"
    left_out = f" ({said['unscored']} of them not scored)" if said["unscored"] else ""
    line = (
        f"{said['rows']} rollouts{left_out} with {said['recipe']['name']}: mean total {mean}, "
        f"{share} {percent(said['hit_rate'])}, parse rate {percent(said['parse_rate'])}"
    )
    if not pieces["made"]:
        return f"{line}; nothing to do, all is in {said['out']}"
    found = f", {pieces['found']} of {pieces['found'] + pieces['made']} pieces were there" if pieces["found"] else ""
    return f"{line}; written to {said['out']}{found}"
