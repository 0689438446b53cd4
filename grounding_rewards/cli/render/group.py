"""The rows of a group or a trajectory on the terminal."""

from __future__ import annotations

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.values import clipped, point_of
from grounding_rewards.explain.explanation import Mate, Together
from grounding_rewards.explain.formulas import number

MOST = 12
"""Rows of a group that are printed."""


def together(found: Together) -> Table:
    """Return a row a rollout, the explained one marked; of many the first, and that one in any case."""
    step, long = found.what == "trajectory", any(mate.length is not None for mate in found.rows)
    heads = ["row", *(["step"] if step else []), *(["length"] if long else []), "total", "acc"]
    heads += [f"point ({found.space})", "reason", "response"]
    table, mates = layout.table(heads, ["row", "total"]), _chosen(found)
    for mate in mates:
        own = [str(mate.step)] if step else []
        own += [str(mate.length)] if long else []
        point = point_of(mate.point) if mate.point else "-"
        response = clipped(" ".join((mate.response or "").split()), 40)
        name = f"> {mate.row}" if mate.explained else f"  {mate.row}"
        layout.row(table, [name, *own, number(mate.total), number(mate.acc), point, mate.reason, response])
    if len(found.rows) > len(mates):
        layout.row(table, ["  ...", f"{len(found.rows) - len(mates)} more"])
    return table


def _chosen(found: Together) -> list[Mate]:
    own = [mate for mate in found.rows[MOST:] if mate.explained]
    return [*found.rows[: MOST - len(own)], *own]
