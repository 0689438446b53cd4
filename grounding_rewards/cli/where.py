"""``grounding-rewards where``: the place of an adapter, as a trainer's config names it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli.terminal import printable
from grounding_rewards.errors import RecipeError, near

PACKAGE = "grounding_rewards_adapters"
TRAINERS = {
    "easyr1": ("{file}:compute_score",),
    "easyr1_sequential": ("{file}:compute_score",),
    "trl": ("{file}:reward_funcs",),
    "verl": ("pkg://{package}.verl", "{file}"),
}
"""Lines to print by trainer; of several any one will do."""


def where(
    trainer: Annotated[
        str, typer.Argument(help="easyr1, easyr1_sequential, trl or verl.", autocompletion=lambda: [*TRAINERS])
    ],
) -> None:
    """Print where a trainer's adapter is installed, as the trainer's config names it.

    For verl two lines, of which either will do as the path of its reward function. easyr1 scores a batch in one call;
    easyr1_sequential one response at a time.

    Example: `worker.reward.reward_function=$(grounding-rewards where easyr1)`
    """
    if trainer not in TRAINERS:
        hint = near(trainer, TRAINERS) or "."
        raise RecipeError(f"where: unknown trainer {trainer!r}{hint} There are: {', '.join(TRAINERS)}")
    file = _folder() / f"{trainer}.py"
    for line in TRAINERS[trainer]:
        sys.stdout.write(printable(line.format(package=PACKAGE, file=file)) + "\n")


def _folder() -> Path:
    spec = find_spec(PACKAGE)  # which imports nothing of it
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise RecipeError(f"where: there is no package {PACKAGE}; install grounding-rewards again, from its wheel")
    return Path(folders[0]).absolute()
