"""Evaluate benchmarks of whole actions: files of steps and answers in, the figures that papers print out."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from grounding_rewards import catalogue
from grounding_rewards.actions import Act
from grounding_rewards.batch.joining import Join
from grounding_rewards.coords.image_sizes import ENOUGH, image_size
from grounding_rewards.errors import GroundingRewardsError, RecipeError, TableError, TargetError, short_repr
from grounding_rewards.evaluators.figures import OWN, Judged, Share, by_action, shares
from grounding_rewards.evaluators.judging import ALL, rules_of, step_rule
from grounding_rewards.evaluators.layouts import Row, StepBenchmark, StepLayout, size_of, step_benchmark, steps_of
from grounding_rewards.evaluators.rule import STOPPED, STOPS, Size, Step, StepRule, StepVerdict
from grounding_rewards.rollouts import PARSED
from grounding_rewards.scoring import Recipe
from grounding_rewards.settings.declared import errors_in_keywords, in_keywords
from grounding_rewards.tables.columns import Columns, find_columns
from grounding_rewards.tables.contents import PARQUET, TEXTS, folder_of, suffix_of
from grounding_rewards.tables.opening import open_rows, open_table
from grounding_rewards.tables.reporting import Reporting
from grounding_rewards.tables.rows import Table
from grounding_rewards.tables.text_rows import HeldTable

_NOT_READ = frozenset(("raw_html", "cleaned_html", "neg_candidates"))
_BATCH = 4096
_UNREAD = StepVerdict(False, None, False, read=False)


@dataclass(frozen=True)
class RuleFigures:
    """The figures of one rule."""

    rule: str
    figures: list[Share]
    by: dict[str, list[Share]]  # by the right action
    own: int  # answers that the evaluator reads itself
    other: int  # answers that the recipe ``action`` reads, and the evaluator is given in its own form
    unread: int  # answers that nobody reads; they count as wrong


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
        return asdict(self)


@errors_in_keywords(response_column="response")
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
            itself does not; without any, these are wrong.

    Returns:
        Figures by rule, and the steps on which rules part.

    Raises:
        RecipeError: benchmark, rule or an option is not known.
        TableError: rows cannot be read.

    >>> step = {"id": 1, "conversations": [{"from": "gpt", "value": "actions:\nCLICK <point>[[108,272]]</point>"}]}
    >>> rows = [{**step, "response": "actions:\nCLICK <point>[[110,280]]</point>"}]
    >>> (own,) = evaluate_steps(rows, "androidcontrol", "os-atlas").rules
    >>> [(each.name, each.share) for each in own.figures[:4]]
    [('type', 1.0), ('place', 1.0), ('step', 1.0), ('episodes', 1.0)]
    """
    notes, warnings = dict[str, None](), list[str]()
    join = Join(None if predictions is None else Path(predictions), id)
    join = replace(join, reporting=Reporting(notes.setdefault, warnings.append))
    paths = rows if isinstance(rows, list | tuple) else [rows]
    files = [Path(each) for each in paths if isinstance(each, str | os.PathLike)]
    rules, named = rules_named(benchmark, rule), step_benchmark(benchmark)
    assert named is not None  # it has rules
    found = steps_by_rule(named, rules, files or paths, join, response, recipe_of(options))
    return replace(found, notes=(*map(in_keywords, notes),), warnings=(*map(in_keywords, warnings),))


def rules_named(benchmark: str, rule: str | None) -> Sequence[StepRule]:
    """Return a rule of a benchmark by name, or all of them."""
    if rule is None:
        names = ", ".join(each.name for each in rules_of(benchmark))
        raise RecipeError(
            f"--rule: {benchmark} is judged differently by each author; expected one of {names}, or {ALL}"
        )
    return rules_of(benchmark) if rule == ALL else [step_rule(benchmark, rule)]


def recipe_of(options: Mapping[str, Any]) -> Recipe | None:
    """Return the recipe that reads answers of any form; None where no option says how."""
    return catalogue.recipe("action", **options, point_share=0.14) if options else None  # places in shares


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
    folder = folder_of(rows[0]) if in_files else Path()
    read = [each for path in rows for each in _rows(path)] if in_files else rows
    steps = [step for each in read for step in steps_of(each)]
    if not steps:
        raise TableError(f"{file}: no steps in it")
    layout = _layout(benchmark, steps[0], file)
    episode, number = layout.ids.split()
    for place, each in enumerate(steps):
        named = re.search(layout.image, str(each.get("image")))
        each.setdefault(episode, named[1] if named else place)
        each.setdefault(number, int(named[2]) if named else 0)
        each.setdefault("sample_id", f"{each[episode]}/{each[number]}")
    table: Table = HeldTable(steps, file)
    if join.predictions is not None:
        id = join.id or (f"{episode},{number}" if {episode, number} <= {*open_rows(join.predictions).columns} else None)
        table = replace(join, id=id).join(table, Columns(response=response))
    there = [dict.fromkeys(table.columns)]
    answered = find_columns(there, {"response": response or None}).columns.get("response", "response")
    if answered not in table.columns:
        raise TableError(f"{file}: no column {answered} of answers; --response-column or --predictions names them")
    judged: dict[str, list[Judged]] = {each.name: [] for each in rules}
    forms, parted = Counter[tuple[str, str]](), list[dict[str, Any]]()
    for batch in table.batches(whole=False, size=_BATCH):
        sizes = [_size(each, layout, folder) for each in batch.rows]
        values = [each.get(answered) for each in batch.rows]
        answers = [each if each is None or isinstance(each, str) else json.dumps(each, default=str) for each in values]
        acts = _acts(recipe, answers, sizes, file)
        for index, (row, size, answer, act) in enumerate(zip(batch.rows, sizes, answers, acts, strict=True)):
            row, step, golds = _read(layout, row, size, folder, f"{file}, {batch.place(index)}", rules)
            group, said = str(row.get(benchmark.label, "")), str(row[number])[:18]  # thousands of digits are an error
            place = int(said) if said.isdecimal() else 0
            steps_said = row.get("step_length")  # of GUI-Odyssey
            length = steps_said if isinstance(steps_said, int) else 0
            verdicts: dict[str, bool | None] = {}
            for rule in rules:
                verdict, form = _judged(rule, answer, act, golds[rule.name], size, recipe)
                verdicts[rule.name] = verdict.step
                forms[rule.name, form] += 1
                own = (group, str(row[episode]))
                judged[rule.name].append(
                    Judged(step.act.name, bool(step.act.place), verdict, own, place, group, length)
                )
            if len({*verdicts.values()} - {None}) > 1:
                parted.append({"episode": row[episode], "step": row[number], "response": answer, **verdicts})
    counts = ", ".join(f"{count} ({whose})" for count, whose in benchmark.counts.items())
    join.reporting.note(f"{benchmark.title}: {len(steps)} steps here{f'; in papers {counts}' if counts else ''}")
    most = max(judged, key=lambda name: forms[name, ""])
    if recipe is None and (unread := forms[most, ""]):
        join.reporting.warn(
            f"answers that {most} does not read, which count as wrong: {unread}; an option such as --response-space "
            "lets the recipe action read them"
        )
    found = [
        RuleFigures(
            each.name, shares(judged[each.name], OWN.get((benchmark.name, each.name), ())),
            by_action(judged[each.name]), *(forms[each.name, form] for form in ("own", "other", "")),
        )
        for each in rules
    ]  # fmt: skip
    return EvaluatedSteps(file, benchmark.name, found, parted)


def _rows(path: Path) -> Iterator[Row]:
    """Yield the rows or episodes of a file, or of the files in a folder."""
    files = sorted(each for each in path.rglob("*") if suffix_of(each) in (*TEXTS, *PARQUET))
    if files:
        for each in files:
            yield from _rows(each)
    elif "tfrecord" in path.name or (path.exists() and suffix_of(path) not in (*TEXTS, *PARQUET)):
        raise TableError(f"{path}: TFRecords are read by TensorFlow alone; write their steps as JSON or Parquet first")
    elif path.suffix == ".json" and (value := _object(path)) is not None:
        yield from value
    else:
        for batch in open_table(path).batches(whole=False):
            yield from ({key: row[key] for key in row if key not in _NOT_READ} for row in batch.rows)


def _object(path: Path) -> list[Row] | None:
    """Return the episodes of a file that holds an object: one, one a name, or lists by subset; None of another."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # whose error says more
    if not isinstance(value, dict):
        return None
    parts = {name: each for name, each in value.items() if isinstance(each, list)}
    if parts and all(isinstance(inner, list) for each in parts.values() for inner in each):
        rows = [(name, row) for name, each in parts.items() for own in each for row in own]
        return [{"subset": name, **(row if isinstance(row, dict) else {})} for name, row in rows]
    if any(not isinstance(each, dict) for each in value.values()):
        return [value]
    return [{"id": name, **each} for name, each in value.items()]


def _layout(benchmark: StepBenchmark, row: Row, file: str) -> StepLayout:
    near = min(benchmark.layouts, key=lambda each: len({*each.fields.split()} - {*row}))
    if lost := ", ".join(sorted({*near.fields.split()} - {*row})):
        names = ", ".join(each.name for each in benchmark.layouts)
        raise TableError(f"{file}: is no file of {benchmark.title} ({names}); of {near.name} it lacks {lost}")
    return near


def _read(
    layout: StepLayout, row: Row, size: Size, folder: Path, where: str, rules: Sequence[StepRule]
) -> tuple[Row, Step, dict[str, Any]]:
    """Return a row, with what files hold that it names, its step, and what is right in the form of each rule."""
    if layout.sized and size is None:
        raise TableError(f"{where}: image_size: got nothing; expected width and height, or the screenshot beside it")
    try:
        row = {**row, **{name: (folder / row[name]).read_text("utf-8") for name in layout.files}}
        step = layout.read(row, size)
        golds = {each.name: layout.gold(row) if each.name in layout.own else each.gold(step) for each in rules}
        return row, step, golds
    except TargetError as error:
        came = short_repr(error.came, 60)
        raise TableError(f"{where}: {error.field}: got {came}; expected {error.expected}") from None
    except (OSError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error!s:.80}"
        names = ", ".join(sorted(layout.fields.split()))
        raise TableError(f"{where}: {names}: got what is no step of {layout.name} ({why}); expected one") from None


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


def _acts(recipe: Recipe | None, answers: Sequence[str | None], sizes: Sequence[Size], file: str) -> list[Act | None]:
    """Return the actions that the recipe reads, in shares of the screen; None where it reads none."""
    if recipe is None:
        return [None] * len(answers)
    try:
        known = None if None in sizes else sizes
        read = recipe.prepare(answers, [{"action": "wait"}] * len(answers), image_sizes=known).predictions
    except GroundingRewardsError as error:
        raise TableError(f"{file}: {error}") from None
    arguments = read.arguments.by_row(len(answers), [*vars(read.arguments)])
    return [
        Act(name or "click", () if place[0] != place[0] else tuple(place), own) if reason in PARSED else None
        for name, place, own, reason in zip(
            read.actions, read.xy.tolist(), arguments, read.reason.tolist(), strict=True
        )
    ]


def _judged(
    rule: StepRule, answer: str | None, act: Act | None, gold: Any, size: Size, recipe: Recipe | None
) -> tuple[StepVerdict, str]:
    """Return a verdict, and whose form of the answer was read: the evaluator's own, the other, or none."""
    own = answer if rule.text else _decoded(answer)
    if recipe is not None and rule.space not in ("", recipe.response_space) and act is not None and act.place:
        own = None  # the form is the evaluator's, and the numbers are not
    verdict = _UNREAD if own is None else rule.judge(own, gold, size, {})
    if verdict.read or act is None:
        return verdict, "own" if verdict.read else ""
    try:
        other = rule.judge(rule.answer(act, size), gold, size, {})
    except STOPS:
        other = STOPPED
    return other, "other" if other.read else ""


def _decoded(answer: str | None) -> Any:
    """Return the object that an answer holds, of a tool's call its arguments; None without one."""
    text = (answer or "").rpartition("</think>")[2]
    try:
        value = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    return value.get("arguments", value) if isinstance(value, dict) else None
