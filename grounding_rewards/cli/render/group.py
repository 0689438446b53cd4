"""The rows of a group or a trajectory on the terminal."""

from __future__ import annotations

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.values import clipped, point_of
from grounding_rewards.explain.explanation import Mate, Together
from grounding_rewards.explain.formulas import number

MOST = 12
"""Rows of a group that are printed."""


def together(group: Together) -> Table:
    """Return a row a rollout, the explained one marked; of many the first, and that one in any case."""
    step, long = group.what == "trajectory", any(mate.length is not None for mate in group.rows)
    heads = ["row", *(["step"] if step else []), *(["length"] if long else []), "total", "acc"]
    heads += [f"point ({group.space})", "reason", "response"]
    table, mates = layout.table(heads, ["row", "total"]), _chosen(group)
    for mate in mates:
        own = [str(mate.step)] if step else []
        own += [str(mate.length)] if long else []
        point = point_of(mate.point) if mate.point else "-"
        response = clipped(" ".join((mate.response or "").split()), 40)
        name = f"> {mate.row}" if mate.explained else f"  {mate.row}"
        layout.row(table, [name, *own, number(mate.total), number(mate.acc), point, mate.reason, response])
    if len(group.rows) > len(mates):
        layout.row(table, ["  ...", f"{len(group.rows) - len(mates)} more"])
    return table


def _chosen(group: Together) -> list[Mate]:
    own = [mate for mate in group.rows[MOST:] if mate.explained]
    return [*group.rows[: MOST - len(own)], *own]
