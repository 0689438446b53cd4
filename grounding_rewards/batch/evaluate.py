"""Evaluate rows: how often responses are right, with intervals, and what looks wrong with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grounding_rewards import catalogue
from grounding_rewards.arrays import Floats
from grounding_rewards.batch.benchmarks import Benchmark
from grounding_rewards.batch.benchmarks import benchmark as benchmark_named
from grounding_rewards.batch.benchmarks.evaluation import (
    CLICK,
    Figure,
    evaluate_benchmark,
    open_benchmark,
    options_of,
    read_categories,
)
from grounding_rewards.batch.joining import Join, counts, repeated
from grounding_rewards.batch.samples import Answers, SampleTable
from grounding_rewards.batch.score_rows import marked
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.checks import accuracy
from grounding_rewards.checks.accuracy import Evaluation, SingleAnswers, merge
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import PYTHON, Code, Finding, Naming, Severity
from grounding_rewards.errors import RecipeError, near, printable
from grounding_rewards.rollouts import Rollouts, pandas_beside
from grounding_rewards.scoring import Recipe
from grounding_rewards.settings.declared import errors_in_keywords, in_keywords
from grounding_rewards.settings.groups import Images
from grounding_rewards.settings.reading import filed
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.contents import folder_of
from grounding_rewards.tables.reporting import Reporting
from grounding_rewards.tables.rows import Table
from grounding_rewards.tables.text_rows import HeldTable
from grounding_rewards.tables.training_sets import Shape
from grounding_rewards.targets.box_format import BoxFormat, as_box_format
from grounding_rewards.verifiers.action_match import ActionMatch

_SHOWN = 3
_HEADS = ("field", "value", "valid", "correct", "accuracy", "low", "high", "parse_rate")
_TITLES = ("field", "value", "n", "correct", "accuracy", "95 % interval", "parsed")


@dataclass(frozen=True, kw_only=True, repr=False)
class EvaluatedRows(Evaluation):
    """Figures of rows: the counts, rates and intervals of ``Evaluation``, and what looks wrong.

    ``print`` shows it as text, a notebook as a table; ``to_pandas`` has a row for each value of each field.

    Attributes:
        file: name of the rows.
        recipe: the recipe whose ``acc`` counts.
        columns: the columns that were read, by role.
        findings: what looks wrong with responses, targets and settings, with the fix.
        notes: remarks, such as which columns were guessed.
        warnings: signs of trouble beside the findings.
        figures: totals of a benchmark, the headline first.
        singles: right answers of single rollouts beside their consensus.
        remarks: the last of ``notes`` and ``warnings``, each with its severity, which a command prints at the end.
        table: the rows.
        samples: right answers by sample, for a comparison.
        beside: further plain values of ``to_dict``, by where they stand: after the file, or after the columns.
    """

    file: str
    recipe: Recipe
    columns: Mapping[str, str]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    singles: SingleAnswers | None = None
    remarks: tuple[tuple[Severity, str], ...] = ()
    table: Table = field(compare=False)
    samples: SampleTable = field(compare=False)
    beside: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as ``eval --json`` writes them."""
        first, last = self.beside
        return {
            "file": self.file, **first, "recipe": self.recipe.to_dict(), **marked(self.recipe), **super().to_dict(),
            "columns": dict(self.columns), **last, "warnings": [*self.warnings],
            "findings": [each.to_dict() for each in self.findings],
            **({"singles": self.singles.to_dict()} if self.singles else {}),
        }  # fmt: skip

    def to_pandas(self) -> Any:
        """Return a data frame: all rows, totals of a benchmark, then each value of each field of ``by``.

        Raises:
            TableError: pandas is not installed.
        """
        return pandas_beside("to_dict()").DataFrame(self._rows(), columns=list(_HEADS))

    def _rows(self) -> list[list[Any]]:
        rows = [["", "all", *_figures(self)]]
        for each in self.figures:
            low, high = each.interval or (None, None)
            rows.append(["total", each.name, each.rows, each.correct, each.accuracy, low, high, None])
        return rows + [
            [name, value, *_figures(part)] for name, parts in self.by.items() for value, part in parts.items()
        ]

    def __str__(self) -> str:
        cells = [[*_TITLES], *map(_texts, self._rows())]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([f"{printable(self.file)}, {self.recipe.name}", *rows, *self._remarks()])

    __repr__ = __str__

    def _remarks(self) -> list[str]:
        warnings = [f"warning: {text}" for text in (*self.warnings, *map(str, self.findings))]
        return list(map(printable, [*(f"note: {text}" for text in self.notes), *warnings]))

    def _repr_html_(self) -> str:
        """Return the table and the remarks for a notebook."""
        from html import escape  # a table of all names of characters

        heads = "".join(f"<th>{each}</th>" for each in _TITLES)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in _texts(row))}</tr>" for row in self._rows()
        )
        remarks = "".join(f"<li>{escape(text)}</li>" for text in self._remarks())
        title = f"<caption>{escape(printable(self.file))}, {escape(self.recipe.name)}</caption>"
        return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><ul>{remarks}</ul>"


def _figures(counts: Evaluation) -> list[Any]:
    low, high = counts.interval if counts.valid else (None, None)
    return [counts.valid, counts.correct, counts.accuracy, low, high, counts.parse_rate]


def _texts(row: Sequence[Any]) -> list[str]:
    *names, n, correct, accuracy, low, high, parsed = row
    interval = "-" if low is None else f"{100 * low:.1f} - {100 * high:.1f}"
    share, read = ("-" if value is None else f"{100 * value:.1f} %" for value in (accuracy, parsed))
    return [*map(printable, names), str(n), str(correct), share, interval, read]


@errors_in_keywords()
def evaluate(
    rows: Any,
    recipe: str | Mapping[str, Any] | Recipe | None = None,
    *,
    settings: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    by: str | Sequence[str] = (),
    predictions: str | os.PathLike[str] | None = None,
    id: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    bad_target: str | None = None,
    box_format: BoxFormat | str | None = None,
    image_root: str | os.PathLike[str] | None = None,
    benchmark: str | None = None,
    categories: str | os.PathLike[str] | None = None,
    consensus: bool = False,
    **options: Any,
) -> EvaluatedRows:
    """Count how often responses are right, with 95 % Wilson intervals, as ``grounding-rewards eval`` does.

    Args:
        rows: a file or a directory of rows, several of them for a benchmark; or the rows themselves: dicts, a data
            frame, an Arrow table. Each holds a response and its target.
        recipe: the recipe whose ``acc`` counts: a name, a dict of ``Recipe.to_dict``, or a recipe, which brings all of
            its options; by default that of ``settings``, else click.
        settings: settings files, or tables that we wrote, as ``gr.read_settings`` reads them; arguments override them.
        by: columns to break down by.
        predictions: the file of answers, where ``rows`` has annotations alone.
        id: the column of both that names the sample; "a,b" for several, "a=b" where the answers call a b.
        split: a split of a directory.
        columns: names of columns by role: response, target, image_size, model_image_size, id, token_length, image,
            refusal. Others are found by their names.
        bad_target: "raise" for an error at a target that cannot be used, as by default, or "abstain" to leave such
            rows out.
        box_format: the way in which targets write boxes, such as "xywh".
        image_root: the folder of relative paths of images; by default that of the file.
        benchmark: the published benchmark whose rule, groups and totals count, such as "screenspot-pro".
        categories: OSWorld-G's categories of each id; by default classification_result.json beside the rows.
        consensus: True to judge one answer a sample, the consensus of its rollouts.
        **options: options of the recipe, such as ``response_space``.

    Returns:
        Figures, findings and remarks.

    Raises:
        RecipeError: the recipe or an option does not fit.
        TableError: rows cannot be read, a column is missing, or a target cannot be used.

    >>> box = {"bbox": [0, 0, 9, 9]}
    >>> rows = [{"response": f"({x}, 5)", "target": box, "kind": kind} for x, kind in ((5, "icon"), (50, "text"))]
    >>> figures = evaluate(rows, response_space="pixel", by="kind")
    >>> figures.accuracy, [round(end, 3) for end in figures.interval]
    (0.5, [0.095, 0.905])
    >>> print(figures)
    rows, click
    field  value  n  correct  accuracy  95 % interval  parsed
           all    2  1        50.0 %    9.5 - 90.5     100.0 %
    kind   icon   1  1        100.0 %   20.7 - 100.0   100.0 %
    kind   text   1  0        0.0 %     0.0 - 79.3     100.0 %
    """
    notes, warnings = dict[str, None](), list[str]()
    reporting = Reporting(notes.setdefault, warnings.append)
    named, read = None if benchmark is None else benchmark_named(benchmark), filed(settings)
    if recipe is None or isinstance(recipe, str | Mapping):
        own: dict[str, Any] = dict(recipe) if isinstance(recipe, Mapping) else {"name": recipe}
        recipe, options = read.over(own.pop("name", None), {**own, **options})
    recipe = CLICK if recipe is None else recipe
    built = catalogue.recipe(recipe, **options_of(named, recipe, options))
    said = {**read.data, **({} if predictions is None else {"predictions": [predictions]})}
    answers = tuple(map(Path, said.get("predictions", ())))
    shape = Shape(said.get("layout") or "", tuple(said.get("explode") or ()))
    join = Join(answers[-1] if answers else None, id or said.get("id"), answers, reporting, said.get("encoding"), shape)
    paths = rows if isinstance(rows, list | tuple) else [rows]
    files = list(map(Path, paths)) if paths and all(isinstance(each, str | os.PathLike) for each in paths) else []
    if split is not None and not files:
        raise RecipeError(f"split: got {split!r:.60} beside rows in memory, which have no splits; leave it out")
    join.check(files[:1] if files else [Path("rows")])
    images = Images(**{**read.images, **({} if image_root is None else {"image_root": Path(image_root)})})
    named_columns = {field: said[f"{field}_column"] for field in vars(Columns()) if f"{field}_column" in said}
    scorer = Scoring(
        built, Columns(**{**named_columns, **_roles(columns)}), bad_target or said.get("bad_target", "raise"),
        as_box_format(box_format or said.get("box_format")), images.files(), on_note=reporting.note,
        on_warning=reporting.warn,
    )  # fmt: skip
    evaluated = evaluate_rows(
        files or HeldTable(rows), scorer, [by] if isinstance(by, str) else by, join=join,
        split=split or said.get("split"), named=named, naming=lambda _: PYTHON, consensus=consensus,
        categories=None if categories is None else Path(categories),
    )  # fmt: skip
    for severity, text in evaluated.remarks:
        (reporting.note if severity is Severity.NOTE else reporting.warn)(text)
    return replace(evaluated, notes=(*map(in_keywords, notes),), warnings=(*map(in_keywords, warnings),))


def _roles(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Check names of columns by role."""
    named = {} if columns is None else columns
    if not isinstance(named, Mapping) or not all(isinstance(name, str) for name in named.values()):
        raise RecipeError(
            f'columns: got {columns!r:.80}; expected names of columns by role, such as {{"target": "box"}}'
        )
    if unknown := [role for role in named if role not in vars(Columns())]:
        known = ", ".join(vars(Columns()))
        raise RecipeError(
            f"columns: got {unknown[0]!r:.60}; expected one of {known}{near(unknown[0], vars(Columns()))}"
        )
    return dict(named)


def evaluate_rows(
    rows: HeldTable | Sequence[Path],
    scoring: Scoring,
    by: Sequence[str],
    *,
    join: Join,
    split: str | None = None,
    named: Benchmark | None = None,
    categories: Path | None = None,
    paired: bool = False,
    consensus: bool = False,
    naming: Callable[[str], Naming],
    name: str = "",
    several: bool = False,
) -> EvaluatedRows:
    """Evaluate the rows of a file, in memory, or of a benchmark's files; their name stands in remarks on several."""
    table = _opened(rows, scoring.columns, join, split, named)
    scorer = replace(scoring, layouts=named.layouts if named else None).of(table)
    diagnosis = Diagnosis(scorer.recipe, naming(scorer.columns.response), scorer.box_format)
    scorer = replace(scorer, diagnosis=diagnosis)
    own = [name for name in by if named is None or name not in named.names]
    first, said = dict[str, Any](), list[tuple[Severity, str]]()
    figures: tuple[Figure, ...] = ()
    singles: SingleAnswers | None = None
    if named is None:
        answers = Answers(scorer, by, paired=paired, consensus=consensus)
        samples, problems, parts = answers.samples, answers.problems, list[Evaluation]()
        with join.reporting.progress(f"scoring {table.path.name}") as advance:
            for batch, scored in answers.batches():
                fields = {name: batch.column(name) for name in by}
                refusals = scored.rollouts.targets.refusal
                places = _places(scorer.recipe, scored.rollouts)
                parts.append(accuracy.evaluate(scored.scores, refusals=refusals, places=places, by=fields))
                advance(batch.done)
        evaluation, singles = merge(parts), answers.singles
    else:
        samples = SampleTable(scorer, own, once=named.repeated != 0)
        with join.reporting.progress(f"scoring {named.title}") as advance:
            evaluation, figures, refused, problems = evaluate_benchmark(
                named, scorer, by=by, categories=_categories(named, table, categories, join.reporting),
                pairs=samples if paired else None, advance=advance,
            )  # fmt: skip
        said = _remarks(named, figures, refused, scorer.recipe)
        notes = [text for _, text in said]
        totals = {"name": named.name, "totals": [each.to_dict() for each in figures], "notes": notes}
        first = {"files": list(map(str, rows if isinstance(rows, Sequence) else [])), "benchmark": totals}
    abstains = named is None or scorer.bad_target == "abstain"
    return EvaluatedRows(
        **vars(evaluation), file=name or str(table.path), recipe=scorer.recipe, columns=scorer.used(),
        findings=tuple(each for each in diagnosis.findings() if abstains or each.code is not Code.BAD_TARGET),
        figures=figures, singles=singles, table=table, samples=samples,
        remarks=(
            *((Severity.NOTE, text) for text in repeated(table)),
            *((Severity.WARNING, text) for text in problems.left_out_words(name * several)), *said,
        ),
        beside=(first, {**counts(table), **problems.to_dict()}),
    )  # fmt: skip


def _places(recipe: Recipe, rollouts: Rollouts) -> Floats | None:
    """Return where places are hit, of targets that are whole actions; None of others."""
    match = recipe.success
    if recipe.name != "action" or not isinstance(match, ActionMatch) or not any(rollouts.targets.alternatives.names):
        return None
    return match.places(rollouts)


def _opened(
    rows: HeldTable | Sequence[Path], columns: Columns, join: Join, split: str | None, named: Benchmark | None
) -> Table:
    if named is not None and isinstance(rows, Sequence):
        table = open_benchmark(named, rows, split, join.reporting.note)
        return join.join(table, columns, () if named.repeated == 0 else named.key)
    return join.open(rows[0], split, columns) if isinstance(rows, Sequence) else join.join(rows, columns)


def _categories(
    rows: Benchmark, table: Table, named: Path | None, reporting: Reporting
) -> Mapping[str, Sequence[str]] | None:
    """Return the categories of ids: of the file that is named, else of the one beside the annotations."""
    if not rows.categories:
        return None
    path = named or folder_of(table.path) / rows.categories
    if named is None and not path.is_file():
        reporting.note(f"no categories: no {rows.categories} beside the rows; --categories names it")
        return None
    return read_categories(path)


def _remarks(
    rows: Benchmark, figures: Sequence[Figure], refused: Sequence[str], recipe: Recipe
) -> list[tuple[Severity, str]]:
    """Return what is missing of a benchmark, which targets were refused, and whose rule counts."""
    said = list[tuple[Severity, str]]()
    for missing in dict.fromkeys(each.missing for each in figures if each.missing):
        names = " and ".join(each.name for each in figures if each.missing == missing)
        severity = Severity.WARNING if figures[0].missing == missing else Severity.NOTE
        said.append((severity, f"{rows.title}, {names}: {missing}, so no figure of the benchmark"))
    notes = [
        f"{rows.title}: {once} row{'s' if once > 1 else ''} of the benchmark repeat{'' if once > 1 else 's'} "
        f"others, and each sample counts once: {rows.totals[0].rows - once} of {rows.totals[0].rows}"
        for once in dict.fromkeys(each.once for each in figures if each.once)
    ]
    if refused:
        several = f"{len(refused)} places of targets" if len(refused) > 1 else "1 place of a target"
        notes.append(
            f"{several} cannot be read, so no answer hits them and their rows count as wrong: "
            f"{'; '.join(refused[:_SHOWN])}{'; ...' if len(refused) > _SHOWN else ''}"
        )
    if recipe.name != CLICK:
        notes.append(f"{recipe.name} judges by its own rule, which may differ from that of {rows.title}")
    return [*said, *((Severity.NOTE, text) for text in notes)]
