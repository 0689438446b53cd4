"""Evaluations as tables on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from grounding_rewards.cli import layout
from grounding_rewards.cli.terminal import percent, printable
from grounding_rewards.columns import Reason
from grounding_rewards.evaluation import Evaluation

Found = Sequence[tuple[str, Evaluation]]


def evaluations(found: Found, *, label_free: bool = False) -> None:
    """Print evaluations, a path and its counts each: accuracies, reasons, refusals and breakdowns.

    Args:
        found: what to print.
        label_free: whether ``acc`` stands for something else than being right, which nobody knows.
    """
    heads = _LABEL_FREE if label_free else _FIGURES
    console = layout.console()
    paths = [Path(path) for path, _ in found]
    counts = [each for _, each in found]
    console.print(_accuracies(_named([path.stem for path in paths], paths, counts), heads))
    parts = _named(_differing([path.stem for path in paths]), paths, counts)
    console.print(_reasons(parts))
    if any(each.refusals and each.refusals.targets for each in counts):
        console.print(_refusals(parts))
    for name in counts[0].by:
        console.print(_breakdown(name, parts, heads))


def _accuracies(parts: Found, heads: list[str]) -> Table:
    table = _table(None, ["file"], heads)
    for name, each in parts:
        _row(table, [name, *_figures(each)])
    return table


def _reasons(parts: Found) -> Table:
    table = _table("Responses by reason", ["reason", *_file_column(parts)], ["rows", "share"])
    for reason in [reason.name for reason in Reason]:
        rows = [
            (name, [str(each.reasons[reason]), percent(each.reasons[reason] / (each.n + each.not_valid))])
            for name, each in parts
            if reason in each.reasons
        ]
        _group(table, reason, rows, parts)
    return table


def _refusals(parts: Found) -> Table:
    heads = ["to refuse", "refused", "clicked", "refused wrongly"]
    table = _table("Refusals", ["file"], heads)
    for name, each in parts:
        if each.refusals:
            counts = each.refusals
            figures = (counts.targets, counts.correct, counts.false_clicks, counts.false_refusals)
            _row(table, [name, *map(str, figures)])
    return table


def _breakdown(field: str, parts: Found, heads: list[str]) -> Table:
    # Beside a column of file names the parse rate would not fit into 80 columns.
    shown = heads if len(parts) == 1 else heads[:-1]
    table = _table(f"By {printable(field)}", [field, *_file_column(parts)], shown)
    totals: Counter[str] = Counter()
    for _, each in parts:
        totals.update({value: part.n + part.not_valid for value, part in each.by[field].items()})
    for value in sorted(totals, key=lambda value: (-totals[value], value)):
        rows = [
            (name, _figures(each.by[field][value])[: len(shown)]) for name, each in parts if value in each.by[field]
        ]
        _group(table, value, rows, parts)
    return table


def _group(table: Table, value: str, rows: Iterable[tuple[str, list[str]]], parts: Found) -> None:
    """One value's row; where there are several files a row each, the value on the first of them."""
    for name, figures in rows:
        _row(table, [value, *([name] if len(parts) > 1 else []), *figures])
        value = ""


_FIGURES = ["n", "correct", "accuracy", "95 % interval", "parsed"]
_LABEL_FREE = ["n", "acc = 1", "mean acc", "95 % interval", "parsed"]


def _figures(found: Evaluation) -> list[str]:
    low, high = found.interval
    interval = f"{100 * low:.1f} - {100 * high:.1f}" if found.n else "-"
    return [str(found.n), str(found.correct), percent(found.accuracy), interval, percent(found.parse_rate)]


def _file_column(parts: Found) -> list[str]:
    return ["file"] if len(parts) > 1 else []


def _table(title: str | None, words: Iterable[str], figures: Iterable[str]) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False
    )
    for word in words:
        table.add_column(Text(printable(word)), overflow="fold")
    for figure in figures:
        table.add_column(figure, justify="right", no_wrap=True)
    return table


def _row(table: Table, cells: list[Any]) -> None:
    # Names and values come from files: as Text they are shown, not read as markup.
    table.add_row(*(Text(printable(cell)) for cell in cells))


def _differing(names: list[str]) -> list[str]:
    """Names without the words that all of them begin with.

    >>> _differing(["osworld-g-gta1-7b", "osworld-g-gelato-30b"])
    ['gta1-7b', 'gelato-30b']
    """
    words = [name.split("-") for name in names]
    shared = sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False)))
    return (
        names if len(names) == 1 else ["-".join(each[shared:]) or name for each, name in zip(words, names, strict=True)]
    )


def _named(names: list[str], paths: Sequence[Path], counts: Sequence[Evaluation]) -> Found:
    """Counts under short names where these tell the files apart, else under their paths."""
    unique = len(set(names)) == len(names)
    return list(zip(names if unique else map(str, paths), counts, strict=True))
