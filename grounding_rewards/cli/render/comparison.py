"""Paired comparisons, and single answers beside their consensus, as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from grounding_rewards.checks.accuracy import SingleAnswers
from grounding_rewards.checks.paired import Pairs
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.evaluation import short_names
from grounding_rewards.cli.terminal import printable
from grounding_rewards.pool.report.wording import percent


def singles(files: Sequence[tuple[str, SingleAnswers]]) -> None:
    """Print what single rollouts reach, a row a file."""
    heads = ["samples", "rollouts", "accuracy", "95 % interval", "k", "pass@k"]
    names = short_names([file for file, _ in files])
    rows = [[name, *_single(each)] for name, (_, each) in zip(names, files, strict=True)]
    title = "Single rollouts, without the consensus"
    layout.console().print(layout.table(["file", *heads], rows=rows, figures=heads, title=title, wide=True))


def _single(each: SingleAnswers) -> list[str]:
    interval = layout.interval(*each.interval) if each.samples else "-"
    return [
        str(each.samples), str(each.rollouts), percent(each.accuracy), interval, str(each.k), percent(each.pass_at_k)
    ]  # fmt: skip


def pairs(compared: Pairs, files: Sequence[str]) -> None:
    """Print a comparison of two files in per cent, and the same by each field."""
    console = layout.console()
    console.print(_table("Paired, in per cent", "", {"all": compared}))
    for name, parts in compared.by.items():
        console.print(_table(f"Paired, by {printable(name)}", printable(name), parts))
    console.print(layout.lines(f" {letter}: {printable(file)}" for letter, file in zip("AB", files, strict=True)))


def _table(title: str, head: str, rows: Mapping[str, Pairs]) -> Table:
    tests = any(each.mcnemar is not None for each in rows.values())
    heads = ["pairs", "A", "B", "B - A", "95 % interval", "p", *(["only A, B", "McNemar"] if tests else [])]
    table = layout.table([head, *heads], figures=heads, title=title, wide=True)
    table.padding = (0, 1, 0, 0)  # so that all of it fits into 80 columns
    for name, each in rows.items():
        layout.row(table, [printable(name), *_cells(each)])
    return table


def _cells(each: Pairs) -> list[str]:
    shares = [f"{100 * share:.1f}" for share in (each.first, each.second)]
    interval = "-" if each.interval is None else " to ".join(f"{100 * end:+.1f}" for end in each.interval)
    test = [] if each.mcnemar is None else [f"{each.only_first}, {each.only_second}", f"{each.mcnemar:.2g}"]
    return [str(each.n), *shares, f"{100 * each.difference:+.1f}", interval, f"{each.p_value:.2g}", *test]
