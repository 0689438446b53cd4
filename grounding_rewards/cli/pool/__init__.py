"""``grounding-rewards pool``: rollouts to statistics, to the next round's pool, and to what can be seen of both."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from grounding_rewards.cli.application import verbs


def build(words: Sequence[str] = ()) -> typer.Typer:
    """The commands of ``pool``, one a file.

    Args:
        words: of a command line, behind ``pool``. Where they begin with a command, it alone is there.
    """
    app = typer.Typer(
        help="Rollouts to statistics, to the next round's pool, and to a report.",
        rich_markup_mode="markdown",
        no_args_is_help=True,
    )
    app.callback()(_together)
    for name, function in verbs(__name__, _COMMANDS, words):
        app.command(name)(function)
    return app


def _together() -> None:
    """Keep one command a group of commands."""


_COMMANDS = {
    "curriculum": "curriculum:curriculum",
    "next": "next:next_round",
    "report": "report:make_report",
    "score": "score:score_rollouts",
    "stats": "stats:stats",
    "temperature": "temperature:temperature",
    "transitions": "transitions:transitions",
}
"""Of each command its module, and the function in it."""
