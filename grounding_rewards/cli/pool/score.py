"""``grounding-rewards pool score``: rollouts in, the same rollouts with a recipe's scores out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards import catalogue
from grounding_rewards.cli import options, terminal
from grounding_rewards.settings.groups import OnBadTarget


def score_rollouts(
    paths: options.Rollouts,
    recipe: options.RecipeName,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory to write: a rollout table.")],
    *,
    chosen: options.RecipeOptions,
    bad_target: options.BadTargets = OnBadTarget.RAISE,
    box_format: options.BoxFormats = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace DIR, or an unfinished run, that was made of something else.")
    ] = False,
    ray: options.Ray = None,
    as_json: options.AsJson = False,
    columns: options.FileColumns,
    join: options.Joining,
    images: options.SizedImages,
) -> None:
    """Score rollouts, or score them again, into a rollout table.

    A run that was killed resumes where it stopped by the same command. Until it ends, DIR is read as the
    older table that it was, or not at all. Rows keep their columns; total, acc, reason, x_unit, y_unit, recipe and the
    recipe's parts are new, and those of other recipes are left out. Rows without a response are not scored, and have no
    acc. Rows without a name or a number get one. Rewards that compare the rollouts of a sample find them wherever they
    stand, a round and a train_step at a time. With --box-format DIR has the targets with boxes as xyxy. With
    --predictions ROLLOUTS is one file of annotations, and those without an answer are left out. Warnings at the end say
    what looks wrong and which flag fixes it; --json and the manifest have them as `findings`.

    Example: `grounding-rewards pool score run1/rollouts --recipe gelato --out run1/scored`
    """
    from grounding_rewards.batch.rescore import rescore
    from grounding_rewards.cluster import joined

    join.check(paths)
    built = catalogue.recipe(recipe, **chosen)
    rollouts = join.rollouts(paths, columns)
    notes, warnings = list[str](), list[str]()
    with joined(ray) as cluster, terminal.progress(f"scoring with {recipe}") as advance:
        done = rescore(
            rollouts, built, out, columns=columns, bad_target=bad_target, box_format=box_format, image_files=images,
            overwrite=overwrite, cluster=cluster, advance=advance, note=notes.append, warn=warnings.append,
        )  # fmt: skip
    for text in dict.fromkeys(notes):
        terminal.note(text)
    for text in warnings:
        terminal.warn(text)
    pieces = {"made": done.made, "found": done.found}
    made = {name: value for name, value in done.manifest.items() if name not in ("outputs", "complete")}
    if as_json:
        terminal.print_json({"out": str(out), **made, "pieces": pieces})
        return
    left_out = f" ({made['unscored']} of them not scored)" if made["unscored"] else ""
    line = f"{made['rows']} rollouts{left_out} with {built.name}: {terminal.scores_in_words(made)}"
    terminal.say_made(line, pieces, out, "pieces")
    if built.label_free:
        terminal.note(options.unlabelled(built))
