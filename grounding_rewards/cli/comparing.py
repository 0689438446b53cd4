"""The options ``--paired`` and ``--consensus`` of ``eval``, and what is printed of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from grounding_rewards.batch.evaluate import EvaluatedRows
from grounding_rewards.checks import paired
from grounding_rewards.checks.paired import Comparison
from grounding_rewards.cli import terminal
from grounding_rewards.cli.render import evaluation as render
from grounding_rewards.errors import RecipeError

Paired = Annotated[
    bool,
    typer.Option(
        "--paired",
        help="Also compare two files over the samples that both have: the difference with a 95 % interval and a p "
        "over images, and McNemar's exact test. --json is then an object with `files` and `paired`.",
    ),
]
Consensus = Annotated[
    bool,
    typer.Option(
        "--consensus",
        help="Judge one answer a sample: the middle of the region in which most of its rollouts agree (GUI-RC).",
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the draws of --paired. Default: 0.")
]
Evaluated = Sequence[tuple[str, EvaluatedRows]]


def check(seed: int | None, *, paired: bool, consensus: bool, benchmark: bool) -> None:
    """Check that options go together."""
    if seed is not None and not paired:
        raise RecipeError("--seed: got it without --paired, whose draws it is the seed of")
    if benchmark and consensus:
        raise RecipeError("--consensus: got it with --benchmark, which judges the answers as they are; leave one out")


def compare(files: Evaluated, seed: int) -> Comparison:
    """Compare two files whose rows were collected by sample."""
    one, other = (each.samples.scores(name) for name, each in files)
    return paired.compare(one, other, seed=seed)


def show(files: Evaluated, compared: Comparison | None) -> None:
    """Print single answers beside their consensus, and a comparison; nothing where neither was asked for."""
    counted = [(name, each.singles) for name, each in files if each.singles is not None]
    if counted:
        render.singles(counted)
    if compared is not None:
        render.pairs(compared.pairs, [name for name, _ in files])


def report(compared: Comparison | None, files: Sequence[str]) -> dict[str, Any]:
    """Print notes and warnings on a comparison; return its plain values for JSON."""
    if compared is None:
        return {}
    for text in compared.notes():
        terminal.note(text)
    warnings = compared.warnings(files)
    for text in warnings:
        terminal.warn(text)
    return {"files": [*files], **compared.to_dict(), "warnings": warnings}
