"""First settings for rows: what answers and boxes mean, tried on the rows, each with its evidence."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grounding_rewards import catalogue
from grounding_rewards.batch.benchmarks.evaluation import CLICK
from grounding_rewards.batch.evaluate import EvaluatedRows, evaluate_rows
from grounding_rewards.batch.joining import Join
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.checks.finding import BOX_FORMAT, Code, Naming
from grounding_rewards.coords.resizing import RESIZING
from grounding_rewards.errors import GroundingRewardsError, printable
from grounding_rewards.settings.reading import TABLES, known
from grounding_rewards.tables.columns import Columns, role
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.tables.reporting import Reporting
from grounding_rewards.targets.box_format import as_box_format

_SPACES = ("pixel", "thousandths", "unit")
_ROUNDS = 3  # times that what a diagnosis finds is taken up

_CLEAR = 1.645
"""Standard deviations by which the best space must hit more often than the next: 5 % of equal ones do by chance."""


@dataclass(frozen=True)
class FirstSettings:
    """Settings by table, each with its evidence, and what the rows do not say."""

    lines: Mapping[tuple[str, str], tuple[Any, str]]
    unknown: tuple[str, ...]
    rows: int

    def toml(self, head: str) -> str:
        """Return the settings as a file, with the evidence as comments."""
        texts = [f"# {head}\n"]
        for table in TABLES:
            own = {key: said for (name, key), said in self.lines.items() if name == table}
            missing = self.unknown if table == "answers" else ()
            if own or missing:
                texts.append(f"\n[{table}]\n")
            texts += [f"# {_one_line(text)}\n" for text in missing]
            for key, (value, why) in own.items():
                texts.append(f"# {_one_line(why)}\n{key} = {json.dumps(value, ensure_ascii=False)}\n")
        return "".join(texts)


def first_settings(
    file: Path, join: Join, out: Path, *, columns: Columns, split: str | None, images: ImageFiles
) -> FirstSettings:  # fmt: skip
    """Find the settings, with paths as from ``out``, by which ``eval`` judges rows; what rows do not say is open."""
    tried = dict[str, Any]()
    waiting: list[Mapping[str, Any]] = [{"response_space": space} for space in _SPACES]
    for _ in range(1 + _ROUNDS):  # then boxes of another format, resized images, another order of axes
        new = {json.dumps(each, sort_keys=True): each for each in waiting}
        made = {
            name: _evaluated(file, join, columns, split, images, each)
            for name, each in new.items() if name not in tried
        }  # fmt: skip
        tried |= made
        waiting = [run.better for run in made.values() if isinstance(run, _Run) and run.better]
    runs = [run for run in tried.values() if isinstance(run, _Run)]
    if not runs:
        raise next(error for error in tried.values() if isinstance(error, GroundingRewardsError))
    ranked = sorted(runs, key=lambda run: (-run.figures.correct, len(run.settings)))
    best = ranked[0]
    # Another meaning must be as simple, and leave as many targets usable: boxes in shares may be boxes of a pixel, too.
    rivals = (run for run in ranked[1:] if run.meaning != best.meaning and run.figures.valid >= best.figures.valid)
    rival = next((run for run in rivals if len(run.settings) <= len(best.settings)), None)
    why = [str(run.figures.findings[0]) for run in runs if not run.figures.valid and run.figures.findings]
    unusable = printable(why[0]) if why else ""
    lines: dict[tuple[str, str], tuple[Any, str]] = {("recipe", "name"): (CLICK, "hits of a click's place count")}
    counts = ", ".join(f"{' '.join(map(str, run.settings.values()))} {run.figures.correct}" for run in ranked[:4])
    hits, next_best = best.figures.correct, rival.figures.correct if rival else 0
    unknown = []
    fitted = "axes" in best.settings and unusable  # a scale explains much where other spaces cannot be tried
    if fitted or hits == 0 or hits - next_best <= _CLEAR * (hits + next_best) ** 0.5:
        unknown.append(
            f"response_space: not known: of {best.figures.valid} answers hit as {counts}; "
            f"{unusable or 'give more answers'}, or set what the model's page says: {', '.join(_SPACES)}"
        )
    for name, value in best.settings.items():
        table = next((table for table in ("answers", "data") if name in known(table)), "recipe")
        if not (unknown and table != "data"):
            lines[table, name] = value, f"of {best.figures.valid} answers hit as {counts}"
    said = {text.partition(":")[0]: text.partition("; --")[0] for text in reversed(best.notes)}
    if layout := next((text for text in said.values() if text.startswith("rows as in ")), ""):
        lines["recipe", "name"] = CLICK, layout
    else:
        lines |= {
            ("data", f"{name}_column"): (column, said[role(name)])
            for name, column in best.figures.columns.items() if role(name) in said
        }  # fmt: skip
    lines |= _inputs(join, columns, split, images, out)
    if not unknown:  # a sign of another space or format of targets, too
        unknown = [printable(str(each)) for each in best.figures.findings if each.code is Code.BAD_TARGET]
    return FirstSettings(lines, tuple(unknown), best.figures.rows)


def _inputs(
    join: Join, columns: Columns, split: str | None, images: ImageFiles, out: Path
) -> dict[tuple[str, str], tuple[Any, str]]:  # fmt: skip
    def path(value: str | os.PathLike[str]) -> str:
        return os.path.relpath(value, out.absolute().parent)

    given = {
        ("data", "predictions"): None if join.predictions is None else path(join.predictions),
        ("data", "id"): join.id, ("data", "encoding"): join.encoding, ("data", "split"): split,
        ("data", "layout"): join.shape.layout or None, ("data", "explode"): [*join.shape.explode] or None,
        ("images", "image_root"): path(images.root) if images.root else None,
        **{("data", f"{name}_column"): column or None for name, column in vars(columns).items()},
    }  # fmt: skip
    return {place: (value, "as given") for place, value in given.items() if value is not None}


@dataclass(frozen=True)
class _Run:
    """An evaluation under some settings, and the settings that its diagnosis finds to fit better."""

    settings: Mapping[str, Any]
    figures: EvaluatedRows
    notes: tuple[str, ...]
    better: Mapping[str, Any]

    @property
    def meaning(self) -> Any:
        """The meaning of answers, apart from the format of boxes."""
        return self.settings.get("model") or self.settings.get("response_space")


def _evaluated(
    file: Path, join: Join, columns: Columns, split: str | None, images: ImageFiles, settings: Mapping[str, Any]
) -> _Run | GroundingRewardsError:
    notes, better = dict[str, None](), list[Mapping[str, Any]]()

    def use(wanted: Mapping[str, Any]) -> str:
        better.append(wanted)
        return ""

    reporting = Reporting(notes.setdefault, lambda text: None)
    options = {name: value for name, value in settings.items() if name != BOX_FORMAT}
    try:
        built = catalogue.recipe(CLICK, **options)
        scorer = Scoring(
            built, columns, "abstain", as_box_format(settings.get(BOX_FORMAT)), images, on_note=reporting.note
        )
        figures = evaluate_rows(
            [file], scorer, (), join=replace(join, reporting=reporting), split=split,
            naming=lambda _: Naming(use, "the responses"),
        )  # fmt: skip
    except GroundingRewardsError as error:
        return error
    doubted = any(each.code in (Code.SPACE, Code.BOX_FORMAT) for each in figures.findings)
    wanted = better[0] if better and doubted else {}  # few rows name none
    sizes = () if "response_space" not in wanted else RESIZING
    kept = {name: value for name, value in settings.items() if name not in wanted and name not in sizes}
    if {"model", "family"} & {*wanted}:
        kept.pop("response_space", None)
    merged = {**kept, **{name: value for name, value in wanted.items() if value is not None}}
    return _Run(settings, figures, tuple(notes), {} if merged.get("recipe", CLICK) != CLICK else merged)


def _one_line(text: str) -> str:
    return " ".join(text.split())
