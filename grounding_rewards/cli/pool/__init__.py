"""Make statistics of rollouts, the next round's pool, and reports on both."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from grounding_rewards.cli.application import verbs


def build(words: Sequence[str] | None = None) -> typer.Typer:
    """Build the commands of ``pool``, one a file; of those that the words do not begin with, names and help alone."""
    app = typer.Typer(help=__doc__, rich_markup_mode="markdown", no_args_is_help=True)
    for name, function in verbs(__name__, _COMMANDS, words):
        app.command(name)(function)
    return app


_COMMANDS = {
    "allocate": "allocate:allocate",
    "curriculum": "curriculum:curriculum",
    "next": "next:next_round",
    "plan": "plan:plan",
    "report": "report:make_report",
    "rollouts": "rollouts:choose",
    "score": "score:score_rollouts",
    "stats": "stats:stats",
    "temperature": "temperature:temperature",
    "transitions": "transitions:transitions",
}
"""Module and function of each command."""
