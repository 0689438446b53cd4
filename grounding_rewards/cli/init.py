"""``grounding-rewards init``: the first settings file for rows, with the evidence for each line."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.errors import TableError, printable


def init(
    file: Annotated[Path, typer.Argument(metavar="ROWS", help=options.ROWS)],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The settings file to write: .toml.")],
    *,
    rows: options.Rows,
    as_json: options.AsJson = False,
) -> None:
    """Write the settings with which `eval` reads rows, each with its evidence, and print the command to run next.

    The space of answers, the format of boxes and the size of resized images are tried on the rows, by the recipe
    click; columns are found by their names. What the rows do not say stays open, and the file says what to set. A file
    that is there is never overwritten.

    Example: `grounding-rewards init annotations.json --predictions answers.jsonl --out model.toml`
    """
    from grounding_rewards.batch.first_settings import first_settings

    if out.suffix.lower() != ".toml":
        raise TableError(f"--out: got {out}; expected a file that ends in .toml")
    if out.exists():
        raise TableError(f"{out}: is there already, and init overwrites nothing; name another file, or remove it")
    rows.join.check([file])
    with terminal.progress("trying settings"):
        found = first_settings(file, rows.join, out, columns=rows.columns, split=rows.split, images=rows.images)
    head = f"Settings of {printable(str(file))}, {found.rows} rows, by grounding-rewards init; read by --settings."
    try:
        content = found.toml(head).encode()
    except UnicodeEncodeError:
        raise TableError(f"{out}: a name of a file is no UTF-8, as settings are; rename the file") from None
    with out.open("xb") as opened:
        opened.write(content)
    for each in found.unknown:
        terminal.warn(each)
    after = f"grounding-rewards eval {quote(str(file))} --settings {quote(str(out))}"
    terminal.say(f"settings written to {out}; next: {after}")
    if as_json:
        lines = [{"table": each[0], "key": each[1], "value": v, "why": why} for each, (v, why) in found.lines.items()]
        terminal.print_json({"out": str(out), "rows": found.rows, "lines": lines, "next": after})
