"""Evaluations and paired comparisons as tables on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from grounding_rewards.checks.accuracy import Evaluation, SingleAnswers
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.terminal import printable
from grounding_rewards.rollouts import Reason
from grounding_rewards.tables.contents import stem_of
from grounding_rewards.wording import percent

if TYPE_CHECKING:
    from grounding_rewards.batch.benchmarks.evaluation import Figure
    from grounding_rewards.batch.steps import EvaluatedSteps
    from grounding_rewards.checks.paired import Pairs
    from grounding_rewards.evaluators.figures import Share

Evaluations = Sequence[tuple[str, Evaluation]]


def evaluations(files: Evaluations, *, label_free: bool = False) -> None:
    """Print evaluations by path; ``label_free``: ``acc`` stands for something else than being right."""
    heads = _LABEL_FREE if label_free else _FIGURES
    console = layout.console()
    paths = [Path(path) for path, _ in files]
    counts = [each for _, each in files]
    names = list(map(stem_of, paths))
    rows = [[name, *_figures(each)] for name, each in zip(_telling(names, paths), counts, strict=True)]
    console.print(layout.table(["file", *heads], rows=rows, figures=heads, wide=True))
    parts = list(zip(_telling(_differing(names), paths), counts, strict=True))
    console.print(_reasons(parts))
    if any(each.refusals and each.refusals.targets for each in counts):
        console.print(_refusals(parts))
    if any(each.actions for each in counts):
        console.print(_actions(parts))
    for name in counts[0].by:
        console.print(_breakdown(name, parts, heads))


def totals(title: str, figures: Sequence[Figure]) -> None:
    """Print the totals of a benchmark, the headline first; "-" stands for a figure whose rows are not all there."""
    heads = ["correct", "n", "of", "accuracy", "95 % interval"]
    rows = [
        [
            each.name, str(each.correct), str(each.rows), str(each.of), percent(each.accuracy),
            layout.interval(*each.interval) if each.interval and not each.missing else "-",
        ]
        for each in figures
    ]  # fmt: skip
    layout.console().print(layout.table(["total", *heads], rows=rows, figures=heads, title=title, wide=True))


_PARTED = 10


def steps(title: str, found: EvaluatedSteps) -> None:
    """Print a benchmark of whole actions: figures by rule, each right action's, and steps on which rules part."""
    console, names = layout.console(), [each.rule for each in found.rules]
    for each in found.rules if len(names) == 1 else ():
        read = f"{each.own} answers in its own form, {each.other} in another, {each.unread} not read"
        rows = [[own.name, *_share(own)] for own in each.figures]
        console.print(
            layout.table(["figure", *_HEADS], rows=rows, figures=_HEADS, title=f"{title}, {each.rule}: {read}")
        )
        kinds = [[kind, str(own[0].of), *(percent(one.share) for one in own)] for kind, own in each.by.items()]
        heads = ["steps", "type", "place", "step"]
        console.print(layout.table(["action", *heads], rows=kinds, figures=heads, title="By action", wide=True))
    if len(names) > 1:
        known = [{figure.name: percent(figure.share) for figure in each.figures} for each in found.rules]
        common = [name for name in _OF_ALL if any(name in each for each in known)]
        shared = [
            [each.rule, str(each.unread), *(figures.get(name, "-") for name in common)]
            for each, figures in zip(found.rules, known, strict=True)
        ]
        heads = ["not read", *common]
        console.print(layout.table(["rule", *heads], rows=shared, figures=heads, title=title, wide=True))
        own = [
            [each.rule, figure.name, *_share(figure)]
            for each in found.rules
            for figure in each.figures
            if figure.name not in _OF_ALL
        ]
        whole = "Figures with an evaluator's own denominator"
        console.print(layout.table(["rule", "figure", *_HEADS], rows=own, figures=_HEADS, title=whole, wide=True))
    if found.parted:
        first = found.parted[:_PARTED]
        rows = [[f"{each['episode']}, {each['step']}", *(_VERDICTS[each[name]] for name in names)] for each in first]
        whole = f"Steps on which rules part, {len(first)} of {len(found.parted)}; --json has all"
        console.print(layout.table(["episode, step", *names], rows=rows, title=whole, wide=True))


_OF_ALL = ("type", "place", "step", "score", "episodes", "progress")
_HEADS = ["right", "of", "share", "95 % interval"]
_VERDICTS = {True: "right", False: "wrong", None: "stops"}


def _share(own: Share) -> list[str]:
    bounds = layout.interval(*own.interval) if own.interval else "-"
    return [f"{own.right:g}", str(own.of), percent(own.share), bounds]


def _reasons(parts: Evaluations) -> Table:
    rows = {
        reason.name: {
            name: [str(each.reasons[reason.name]), percent(each.reasons[reason.name] / each.rows)]
            for name, each in parts
            if reason.name in each.reasons
        }
        for reason in Reason
    }
    return _grouped("Responses by reason", "reason", ["rows", "share"], rows, parts)


def _refusals(parts: Evaluations) -> Table:
    heads = ["to refuse", "refused", "clicked", "refused wrongly"]
    rows = [
        [name, *map(str, (counts.targets, counts.correct, counts.false_clicks, counts.false_refusals))]
        for name, each in parts
        if (counts := each.refusals)
    ]
    return layout.table(["file", *heads], rows=rows, figures=heads, title="Refusals", wide=True)


def _actions(parts: Evaluations) -> Table:
    heads = ["rows", "right type", "with a place", "right place"]
    rows = [
        [
            name, str(counts.valid), percent(own.types / counts.valid if counts.valid else None), str(own.placed),
            percent(own.places / own.placed if own.placed else None),
        ]
        for name, counts in parts
        if (own := counts.actions)
    ]  # fmt: skip
    return layout.table(["file", *heads], rows=rows, figures=heads, title="Actions by their parts", wide=True)


def _breakdown(field: str, parts: Evaluations, heads: list[str]) -> Table:
    # Beside a column of file names the parse rate would not fit into 80 columns.
    shown = heads if len(parts) == 1 else heads[:-1]
    totals: Counter[str] = Counter()
    for _, each in parts:
        totals.update({value: part.rows for value, part in each.by[field].items()})
    rows = {
        value: {name: _figures(each.by[field][value])[: len(shown)] for name, each in parts if value in each.by[field]}
        for value in sorted(totals, key=lambda value: (-totals[value], value))
    }
    return _grouped(f"By {printable(field)}", field, shown, rows, parts)


def _grouped(
    title: str, head: str, heads: list[str], rows: Mapping[str, Mapping[str, list[str]]], parts: Evaluations
) -> Table:
    """Return a row a value; where there are several files a row each, the value on the first of them."""
    files = ["file"] if len(parts) > 1 else []
    table = layout.table([printable(head), *files, *heads], figures=heads, title=title, wide=True)
    for value, by_file in rows.items():
        for place, (name, figures) in enumerate(by_file.items()):
            layout.row(table, ["" if place else printable(value), *([name] if files else []), *figures])
    return table


_FIGURES = ["n", "correct", "accuracy", "95 % interval", "parsed"]
_LABEL_FREE = ["n", "acc = 1", "mean acc", "95 % interval", "parsed"]


def _figures(evaluation: Evaluation) -> list[str]:
    low, high = evaluation.interval
    interval = layout.interval(low, high) if evaluation.valid else "-"
    counts = str(evaluation.valid), str(evaluation.correct)
    return [*counts, percent(evaluation.accuracy), interval, percent(evaluation.parse_rate)]


def _differing(names: list[str]) -> list[str]:
    """Remove the words that all names begin with."""
    words = [name.split("-") for name in names]
    shared = sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False)))
    return (
        names if len(names) == 1 else ["-".join(each[shared:]) or name for each, name in zip(words, names, strict=True)]
    )


def _telling(names: list[str], files: Sequence[str | Path]) -> list[str]:
    """Return short names of files where these tell them apart, else their paths."""
    return names if len(set(names)) == len(names) else [*map(str, files)]


def singles(files: Sequence[tuple[str, SingleAnswers]]) -> None:
    """Print what single rollouts reach, a row a file."""
    heads = ["samples", "rollouts", "accuracy", "95 % interval", "k", "pass@k"]
    paths = [file for file, _ in files]
    names = _telling([stem_of(Path(path)) for path in paths], paths)
    rows = [
        [
            name, str(each.samples), str(each.rollouts), percent(each.accuracy),
            layout.interval(*each.interval) if each.samples else "-", str(each.k), percent(each.pass_at_k),
        ]
        for name, (_, each) in zip(names, files, strict=True)
    ]  # fmt: skip
    title = "Single rollouts, without the consensus"
    layout.console().print(layout.table(["file", *heads], rows=rows, figures=heads, title=title, wide=True))


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
