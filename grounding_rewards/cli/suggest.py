"""``grounding-rewards suggest``: the recipes that come closest to a reward function of one's own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.suggested import Suggestion, suggest
from grounding_rewards.checks.finding import option_text
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.compare import command_line_of
from grounding_rewards.cli.listing import PACKAGE
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.errors import TableError
from grounding_rewards.settings.reading import by_table
from grounding_rewards.tables.atomic import write_json
from grounding_rewards.tables.writing import check_place
from grounding_rewards.wording import percent


def suggest_recipes(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=options.ROWS)],
    reward: Annotated[
        str, typer.Option(metavar="NAME", help="Your reward function, by module:attr or file.py:attr, or a recipe.")
    ],
    *,
    chosen: options.RecipeOptions,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="A settings file to write, with the closest recipe.")
    ] = None,
    as_json: options.AsJson = False,
    box_format: options.BoxFormats = None,
    rows: options.Rows,
) -> None:
    """Name the recipes that agree most with a reward function on your rollouts, and how far they do.

    All recipes are tried on 512 of the rows, in each space of answers; the closest ones with each rule for several
    answers and other weights of the format. No agreement proves that two rewards are the same: look at the rows that
    differ by `compare`, whose command is printed.

    Example: `grounding-rewards suggest rollouts.jsonl --reward mine.py:compute_score`
    """
    rows.join.check([file])
    if out is not None and (out.suffix.lower() != ".json" or out.exists()):
        raise TableError(f"--out: got {out}; expected a new file that ends in .json")
    if out is not None:
        check_place(out, [file])
    table = rows.join.open(file, rows.split, rows.columns)
    scorer = rows.scorer(catalogue.recipe(reward, **chosen), "abstain", box_format, terminal.note_once())
    with terminal.progress(f"trying recipes on {table.path.name}") as advance:
        found = suggest(table, scorer, chosen.get("target_space"), advance=advance)
    if as_json:
        terminal.print_json({"rows": found[0].rows if found else 0, "recipes": [each.to_dict() for each in found]})
    elif found:
        _show(found)
    if not found:
        terminal.warn("no recipe can judge these rows alone, or tells them apart; compare names what each lacks")
    elif out is not None:
        settings = by_table({"recipe": found[0].recipe, **found[0].options})
        settings["recipe"] |= settings.pop("options", {})
        write_json(out, out, settings)
        terminal.say(
            f"settings written to {out}; next: grounding-rewards eval {quote(str(file))} --settings {quote(str(out))}"
        )
    if found and not as_json:
        best = found[0]
        wiring = import_module(f"{PACKAGE}._wiring")
        lines: dict[str, list[str]] = {}
        for trainer, each in wiring.WIRINGS.items():
            said = wiring.launch_lines(trainer, {"recipe": best.recipe, **best.options})
            lines.setdefault(said[0] if each.by_variable else " ".join(said), []).append(trainer)
        for line, trainers in lines.items():
            terminal.say(f"in a launch of {', '.join(trainers)}: {line}")
        line = command_line_of(file, reward, best.recipe, best.options)
        terminal.say(f"{best.rows - best.alike:,} of {best.rows:,} rows differ from {best.recipe}; next: {line}")


def _show(found: list[Suggestion]) -> None:
    heads = ["same success", "95 % interval", "same total", "correlation"]
    rows = [
        (
            each.recipe, " ".join(f"{name}={option_text(value)}" for name, value in each.options.items()),
            percent(each.right / each.rows), layout.interval(*each.interval), percent(each.alike / each.rows),
            f"{each.correlation:.4f}",
        )
        for each in found
    ]  # fmt: skip
    layout.console().print(layout.table(["recipe", "options", *heads], ["recipe"], rows, figures=heads))
