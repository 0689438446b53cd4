"""``grounding-rewards pool``: rollouts to statistics, to the next round's pool, and to what can be seen of both."""

from __future__ import annotations

import typer

from grounding_rewards.cli.pool.curriculum import curriculum
from grounding_rewards.cli.pool.next import next_round
from grounding_rewards.cli.pool.report import make_report
from grounding_rewards.cli.pool.score import score_rollouts
from grounding_rewards.cli.pool.stats import stats
from grounding_rewards.cli.pool.temperature import temperature
from grounding_rewards.cli.pool.transitions import transitions


def build() -> typer.Typer:
    """The commands of ``pool``, one a file."""
    app = typer.Typer(
        help="Rollouts to statistics, to the next round's pool, and to a report.",
        rich_markup_mode="markdown",
        no_args_is_help=True,
    )
    app.command("curriculum")(curriculum)
    app.command("next")(next_round)
    app.command("report")(make_report)
    app.command("score")(score_rollouts)
    app.command("stats")(stats)
    app.command("temperature")(temperature)
    app.command("transitions")(transitions)
    return app
