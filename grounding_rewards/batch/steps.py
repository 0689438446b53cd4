"""Evaluate benchmarks of whole actions: files of steps and answers in, the figures that papers print out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards import catalogue
from grounding_rewards.actions import Act, is_click
from grounding_rewards.batch.columns import Columns
from grounding_rewards.batch.joining import Join
from grounding_rewards.coords.image_header import ENOUGH, image_size
from grounding_rewards.errors import GroundingRewardsError, RecipeError, TableError
from grounding_rewards.rollouts import PARSED
from grounding_rewards.scoring import Recipe
from grounding_rewards.steps.figures import Share, by_action, shares
from grounding_rewards.steps.judging import rules_of, step_rule
from grounding_rewards.steps.layouts import Row, StepBenchmark, StepLayout, size_of, step_benchmark, steps_of
from grounding_rewards.steps.rule import Judged, Size, Step, StepRule, StepVerdict
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.opening import folder_of, open_table
from grounding_rewards.tables.reporting import Reporting
from grounding_rewards.tables.rows import Table
from grounding_rewards.tables.text_rows import HeldTable

ALL = "all"
"""Stands for every rule of a benchmark."""

_NOT_READ = frozenset(("raw_html", "cleaned_html", "neg_candidates"))
_BATCH = 4096


@dataclass(frozen=True)
class RuleFigures:
    """The figures of one rule.

    Attributes:
        rule: its name.
        figures: the figures of all steps.
        by: the same by the right action.
        own: how many answers the evaluator reads itself.
        other: how many it is given in its form, since the recipe ``action`` reads them.
        unread: how many nobody reads, which count as wrong.
    """

    rule: str
    figures: list[Share]
    by: dict[str, list[Share]]
    own: int
    other: int
    unread: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {name: getattr(self, name) for name in ("rule", "own", "other", "unread")}
        by = {kind: [each.to_dict() for each in own] for kind, own in self.by.items()}
        return {**plain, "figures": [each.to_dict() for each in self.figures], "by": by}


@dataclass(frozen=True)
class EvaluatedSteps:
    """Figures of a benchmark of whole actions.

    Attributes:
        file: name of the rows.
        benchmark: the benchmark's name.
        rules: the figures by rule.
        parted: steps on which rules part, with each rule's verdict.
        notes: remarks.
        warnings: signs of trouble.
    """

    file: str
    benchmark: str
    rules: list[RuleFigures]
    parted: list[dict[str, Any]]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as ``eval --json`` writes them."""
        return {
            "file": self.file, "benchmark": self.benchmark, "rules": [each.to_dict() for each in self.rules],
            "parted": self.parted, "notes": [*self.notes], "warnings": [*self.warnings],
        }  # fmt: skip


def evaluate_steps(
    rows: Any,
    benchmark: str,
    rule: str,
    *,
    predictions: str | os.PathLike[str] | None = None,
    id: str | None = None,
    response: str = "",
    **options: Any,
) -> EvaluatedSteps:
    r"""Evaluate a benchmark of whole actions by its evaluators' rules, as ``grounding-rewards eval --rule`` does.

    Args:
        rows: files or folders of steps or episodes; or the rows themselves, dicts.
        benchmark: name of the benchmark, such as "androidcontrol".
        rule: name of the rule, such as "os-atlas", or "all".
        predictions: the file of answers, where ``rows`` has none.
        id: the column of both that names the step; "a,b" for several.
        response: the column of answers; by default found by its name.
        **options: options of the recipe ``action``, such as ``response_space``, which reads answers that the evaluator
            itself does not; without a space these are wrong.

    Returns:
        Figures by rule, and the steps on which rules part.

    Raises:
        RecipeError: benchmark, rule or an option is not known.
        TableError: rows cannot be read.

    >>> step = {"id": 1, "conversations": [{"from": "gpt", "value": "actions:\nCLICK <point>[[108,272]]</point>"}]}
    >>> rows = [{**step, "response": "actions:\nCLICK <point>[[110,280]]</point>"}]
    >>> [(each.name, each.share) for each in evaluate_steps(rows, "androidcontrol", "os-atlas").rules[0].figures]
    [('type', 1.0), ('place', 1.0), ('step', 1.0), ('episodes', 1.0), ('progress', 1.0)]
    """
    notes, warnings = dict[str, None](), list[str]()
    answers = None if predictions is None else Path(predictions)
    join = Join(answers, id, reporting=Reporting(notes.setdefault, warnings.append))
    paths = rows if isinstance(rows, list | tuple) else [rows]
    files = [Path(each) for each in paths if isinstance(each, str | os.PathLike)]
    rules, named = rules_named(benchmark, rule), step_benchmark(benchmark)
    assert named is not None  # it has rules
    found = steps_by_rule(named, rules, files or list(rows), join, response, recipe_of(options))
    return replace(found, notes=(*notes,), warnings=(*warnings,))


def rules_named(benchmark: str, rule: str | None) -> list[StepRule]:
    """Return a rule of a benchmark by name, or all of them."""
    if rule is None:
        names = ", ".join(each.name for each in rules_of(benchmark))
        raise RecipeError(
            f"--rule: {benchmark} is judged differently by each author; expected one of {names}, or {ALL}"
        )
    return list(rules_of(benchmark)) if rule == ALL else [step_rule(benchmark, rule)]


def recipe_of(options: Mapping[str, Any]) -> Recipe | None:
    """Return the recipe that reads answers of any form; None where no option says the space of answers."""
    given = {name: value for name, value in options.items() if value is not None}
    return catalogue.recipe("action", **given, point_share=0.14) if given else None


def steps_by_rule(
    benchmark: StepBenchmark,
    rules: Sequence[StepRule],
    rows: Sequence[Any],
    join: Join,
    response: str,
    recipe: Recipe | None,
) -> EvaluatedSteps:
    """Evaluate the steps of files, or rows in memory, by rules of a benchmark."""
    in_files = bool(rows) and isinstance(rows[0], Path)
    file = ", ".join(map(str, rows)) if in_files else "rows"
    read = [each for path in rows for each in _rows(path)] if in_files else rows
    steps = [step for each in read for step in steps_of(each)]
    if not steps:
        raise TableError(f"{file}: no rows in it")
    layout = _layout(benchmark, steps[0], file)
    episode, number = layout.ids
    for place, each in enumerate(steps):
        each.setdefault("sample_id", f"{each.get(episode, place)}/{each.get(number, 0)}")
    joined: Table = HeldTable(steps, file)
    if join.predictions is not None:
        joined, _ = join.join(joined, Columns(response=response))
    judged: dict[str, list[Judged]] = {each.name: [] for each in rules}
    forms: dict[str, list[str]] = {each.name: [] for each in rules}
    parted = []
    folder = folder_of(rows[0]) if in_files else Path()
    named = response or next((each for each in GUESSED["response"] if each in joined.columns), "")
    if named not in joined.columns:
        raise TableError(f"{file}: no column of answers; expected one such as response, or --predictions ANSWERS")
    for batch in joined.batches(whole=False, size=_BATCH):
        sizes = [_size(each, layout, folder) for each in batch.rows]
        answers = [_text(each.get(named)) for each in batch.rows]
        acts = _acts(recipe, answers, sizes, file)
        for index, (row, size, answer, act) in enumerate(zip(batch.rows, sizes, answers, acts, strict=True)):
            where = f"{file}, {batch.place(index)}"
            step = _read(layout, row, size, where)
            labels = {name: str(row[name]) for name in benchmark.labels if row.get(name) is not None}
            key = (*labels.values(), str(row.get(episode, where)))
            verdicts = {}
            for rule in rules:
                gold = layout.gold(row) if {*layout.own} & {rule.name, *rule.also} else rule.gold(step)
                verdict, form = _judged(rule, answer, act, gold, size)
                verdicts[rule.name] = verdict.step
                forms[rule.name].append(form)
                judged[rule.name].append(
                    Judged(step.act.name, bool(step.act.place) and is_click(step.act.name), verdict, key,
                           int(row.get(number) or 0), labels)
                )  # fmt: skip
            if len({*verdicts.values()} - {None}) > 1:
                parted.append(
                    {"episode": str(row.get(episode, "")), "step": row.get(number, 0), "response": answer, **verdicts}
                )
    said = f"{benchmark.title} is {len(steps)} steps here"
    counts = ", ".join(f"{count} ({whose})" for count, whose in benchmark.counts.items())
    join.reporting.note(f"{said}, and in papers {counts}" if counts else said)
    found = []
    for rule in rules:
        own = judged[rule.name]
        count = {each: forms[rule.name].count(each) for each in ("own", "other", "")}
        found.append(
            RuleFigures(rule.name, shares(own, rule.figures), by_action(own), count["own"], count["other"], count[""])
        )
    return EvaluatedSteps(file, benchmark.name, found, parted)


def _rows(path: Path) -> Iterator[Row]:
    """Yield the rows or episodes of a file, or of the files in a folder."""
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.suffix in (".json", ".jsonl", ".parquet", ".csv"))
        for each in files:
            yield from _rows(each)
        return
    if "tfrecord" in path.name or (not path.suffix and path.is_file()):
        raise TableError(f"{path}: TFRecords are read by TensorFlow alone; write their steps as JSON or Parquet first")
    if path.suffix == ".json" and path.is_file() and (value := _object(path)) is not None:
        yield from value
        return
    for batch in open_table(path).batches(whole=False):
        for row in batch.rows:
            yield {name: value for name, value in row.items() if name not in _NOT_READ}


def _object(path: Path) -> list[Row] | None:
    """Return the episodes of a JSON file that holds an object: one, or one a name; None where it is something else."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return None  # whose error says more
    if not isinstance(value, dict):
        return None
    if any(isinstance(each, list) for each in value.values()):
        return [value]
    return [{"id": name, **each} for name, each in value.items() if isinstance(each, dict)]


def _layout(benchmark: StepBenchmark, row: Row, file: str) -> StepLayout:
    known = next((each for each in benchmark.layouts if each.fields <= {*row}), None)
    if known is None:
        near = min(benchmark.layouts, key=lambda each: len(each.fields - {*row}))
        lost = ", ".join(sorted(near.fields - {*row}))
        names = ", ".join(each.name for each in benchmark.layouts)
        raise TableError(f"{file}: is no file of {benchmark.title} ({names}); of {near.name} it lacks {lost}")
    return known


def _read(layout: StepLayout, row: Row, size: Size, where: str) -> Step:
    if layout.sized and size is None:
        raise TableError(f"{where}: image_size: got nothing; expected width and height, or the screenshot beside it")
    try:
        return layout.read(row, size)
    except GroundingRewardsError as error:
        raise TableError(f"{where}: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise TableError(f"{where}: is no step as in {layout.name} ({type(error).__name__}: {error!s:.80})") from None


def _size(row: Row, layout: StepLayout, folder: Path) -> Size:
    size = size_of(row)
    if size is not None or not layout.sized:
        return size
    image = next((row[each] for each in ("screenshot", "image", "image_path") if row.get(each)), None)
    data = image.get("bytes") if isinstance(image, Mapping) else None
    if isinstance(image, str) and (file := folder / image).is_file():
        with file.open("rb") as stream:
            data = stream.read(ENOUGH)
    found = image_size(data) if data else None
    return found and (float(found[0]), float(found[1]))


def _text(answer: Any) -> str | None:
    return answer if answer is None or isinstance(answer, str) else json.dumps(answer, default=str)


def _acts(recipe: Recipe | None, answers: Sequence[str | None], sizes: Sequence[Size], file: str) -> list[Act | None]:
    """Return the actions that the recipe reads, in shares of the screen; None where it reads none."""
    if recipe is None:
        return [None] * len(answers)
    known = None if None in sizes else sizes
    try:
        read = recipe.prepare(answers, [{"action": "wait"}] * len(answers), image_sizes=known).predictions
    except GroundingRewardsError as error:
        raise TableError(f"{file}: {error}") from None
    arguments = read.arguments.by_row(len(answers), [*vars(read.arguments)])
    places = [tuple(each) if not np.isnan(each[0]) else () for each in read.xy.tolist()]
    return [
        Act(name or "click", place, own) if reason in PARSED else None
        for name, place, own, reason in zip(read.actions, places, arguments, read.reason.tolist(), strict=True)
    ]


def _judged(rule: StepRule, answer: str | None, act: Act | None, gold: Any, size: Size) -> tuple[StepVerdict, str]:
    """Return a verdict, and whose form of the answer was read: the evaluator's own, the other, or none."""
    own = answer if rule.text else _decoded(answer)
    verdict = StepVerdict(False, None, False, read=False)
    if own is not None:
        verdict = rule.judge(own, gold, size, {})
    if verdict.read or act is None:
        return verdict, "own" if verdict.read else ""
    return rule.judge(rule.answer(act, size), gold, size, {}), "other"


def _decoded(answer: str | None) -> Any:
    """Return the object that an answer holds, of a tool's call its arguments; None without one."""
    text = (answer or "").rpartition("</think>")[2]
    try:
        value = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    return value.get("arguments", value) if isinstance(value, dict) else None
