"""Write completion.json, the table by which the tab key is answered, from the live options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from typer._completion_classes import _sanitize_help_text

from grounding_rewards.cli import completion
from grounding_rewards.cli.application import build, reading_plainly

TABLE = Path(completion.__file__).with_name("completion.json")


def live() -> dict[str, Any]:
    """Return the table of the live options, each of them once."""
    options: list[dict[str, Any]] = []
    return {"program": _listed(command(), None, options), "options": options}


def command() -> Any:
    """Return the program's command with all verbs."""
    return reading_plainly(typer.main.get_command(build()))


def _listed(command: Any, parent: Any, options: list[dict[str, Any]]) -> dict[str, Any]:
    with command.make_context(command.name, [], parent=parent, resilient_parsing=True) as context:
        own = [_parameter(each, context) for each in command.get_params(context) if not getattr(each, "hidden", False)]
        more = {name: _listed(each, context, options) for name, each in getattr(command, "commands", {}).items()}
    options += [each for each in own if each not in options]
    numbers = [options.index(each) for each in own]
    return {"help": _text(command.get_short_help_str()), "params": numbers, **({"commands": more} if more else {})}


def _parameter(of: Any, context: Any) -> dict[str, Any]:
    return {
        "flags": [*sorted(of.opts), *of.secondary_opts] if of.param_type_name == "option" else [],
        "help": _text(getattr(of, "help", "") or "") if of.param_type_name == "option" else "",
        "names": [each.value for each in of.shell_complete(context, "")],
        "commas": bool(of.shell_complete(context, "x,")),
        "value": of.param_type_name == "option" and not of.is_flag,
        "many": bool(getattr(of, "multiple", False)) or of.nargs == -1,
    }


def _text(help: str) -> str:
    return " ".join(_sanitize_help_text(help).split())


def write() -> None:
    """Write the table, a line an option."""
    table = live()
    options = ",\n".join(json.dumps(each) for each in table["options"])
    TABLE.write_text(f'{{"program": {json.dumps(table["program"])},\n"options": [\n{options}\n]}}\n', "utf-8")
