"""Find the mistake before the GPU hours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from grounding_rewards import catalogue
from grounding_rewards.checks.finding import BOX_FORMAT, Code, Finding, Severity, command_line
from grounding_rewards.checks.groups import GroupFigures
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.application import PACKAGE, strict, verbs
from grounding_rewards.cli.render import tables
from grounding_rewards.errors import RecipeError
from grounding_rewards.settings.groups import OnBadTarget
from grounding_rewards.viewer.blocks import Block, facts, mark, screen, section, shape, table, text, view
from grounding_rewards.viewer.page import check_page, picture, write_page
from grounding_rewards.wording import percent, plural

if TYPE_CHECKING:
    from grounding_rewards.batch.checked import ShownRow
    from grounding_rewards.batch.joining import Join
    from grounding_rewards.batch.table_scorer import Scoring
    from grounding_rewards.checks.accuracy import Evaluation
    from grounding_rewards.scoring import Recipe
    from grounding_rewards.testing.audit import Earned, Screens

_SETTINGS = 12  # of those tried for a fit that a page shows
_UNKNOWN = 16.0, 9.0  # sides of a screen of unknown size


def build(words: Sequence[str] | None = None) -> typer.Typer:
    """Build the commands of ``check``."""
    app = typer.Typer(help=__doc__, rich_markup_mode="markdown", no_args_is_help=True)
    known = {each: f"check:check_{each}" for each in ("data", "rollouts", "recipe")}
    for name, function in verbs(PACKAGE, known, words):
        app.command(name)(function)
    trainers = [*options.Trainer]
    for trainer in [name for name in trainers if name in (words or ())[:1]] or trainers:
        app.command(trainer)(strict(_of_launch(trainer)))
    return app


Html = Annotated[
    Path | None, typer.Option(metavar="PAGE.html", help="A page to write, with the first rows of each finding drawn.")
]


def check_data(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=options.ROWS)],
    *,
    chosen: options.RecipeOptions,
    recipe: options.RecipeName = "click",
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Other rows, such as those to evaluate on, that should share no image."),
    ] = None,
    against_split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of --against, which holds several splits: the one to read.")
    ] = None,
    html: Html = None,
    box_format: options.BoxFormats = None,
    columns: options.FileColumns,
    images: options.SizedImages,
    split: options.RowsSplit = None,
    encoding: options.Encoding = None,
    shape: options.RowShape,
    as_json: options.AsJson = False,
) -> None:
    """Find targets that cannot be used, that no answer can hit or that disagree, before a model is trained on them.

    With the space of answers (--response-space, --family) this includes targets too small to hold any of the whole
    numbers in which a model answers. Images are compared with the sizes that rows say, as far as they can be read. The
    exit status is 1 where something is surely wrong.

    Example: `grounding-rewards check data train.parquet --response-space thousandths --against screenspot.json`
    """
    from grounding_rewards.batch.checked import check_rows
    from grounding_rewards.batch.joining import Join

    answered = any(chosen.get(name) is not None for name in ("response_space", "family", "model"))
    own = {} if answered else {"response_space": chosen.get("target_space") or "pixel"}
    built = catalogue.recipe(recipe, **{**(own if recipe == "click" else {}), **chosen})
    scorer = _unanswered(built, columns, box_format, images)
    join = Join(reporting=terminal.REPORTING, encoding=encoding, shape=shape)
    if html is not None:
        check_page(html, [file])
    check = check_rows(
        file, scorer, join, split=split, against=against, against_split=against_split,
        answered=answered or recipe != "click",
    )  # fmt: skip
    findings = check.findings()
    if html is not None:
        shown = _drawn(file, scorer, join, findings, split)
        _write(html, "data", f"What looks wrong with {file.name}", findings, check.rows, drawn=shown)
    if as_json:
        terminal.print_json({"rows": check.rows, **_paged(html)})
    else:
        _print_findings(findings, check.rows)
    terminal.report(findings)
    if any(each.severity is Severity.ERROR for each in findings):
        raise typer.Exit(1)


def check_rollouts(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=options.ROWS)],
    *,
    chosen: options.RecipeOptions,
    recipe: options.RecipeName = "click",
    bad_target: options.BadTargets = OnBadTarget.ABSTAIN,
    box_format: options.BoxFormats = None,
    rows: options.Rows,
    html: Html = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what rollouts can teach: what was read, which groups have any variance, what makes it, and which space fits.

    Accuracies are by source and by size of the target. Another space, model or format of boxes is named only where it
    fits clearly better than what is declared.

    Example: `grounding-rewards check rollouts rollouts.parquet --recipe gelato`
    """
    from grounding_rewards.batch.checked import check_rollouts
    from grounding_rewards.cli.render import evaluation as show

    built, join, split = catalogue.recipe(recipe, **chosen), rows.join, rows.split
    scorer = rows.scorer(built, bad_target, box_format)
    if html is not None:
        check_page(html, [file])
    checked = check_rollouts(file, scorer, join, split=split, naming=command_line)
    if html is not None:
        shown = _drawn(file, replace(scorer, bad_target="abstain"), join, checked.findings, split)
        whole = checked.evaluation
        counts = [_counted(name, parts) for name, parts in {"file": {file.name: whole}, **whole.by}.items()]
        reasons = table("responses by reason", ["reason", "rows"], [(k, f"{v:,}") for k, v in whole.reasons.items()])
        more = [*counts, reasons, table("rewards inside groups", *_of_groups(checked.groups))]
        more += _other_settings(checked.space_scores)
        _write(html, "rollouts", f"Rollouts of {file.name}", checked.findings, whole.valid, more, shown)
    if as_json:
        terminal.print_json({**checked.to_dict(), **_paged(html)})
    else:
        show.evaluations([(str(file), checked.evaluation)], label_free=built.label_free)
        heads, cells = _of_groups(checked.groups)
        tables.console().print(tables.table(heads, rows=cells, figures=heads, title="Rewards inside groups"))
    terminal.report(checked.findings)


def check_recipe(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help=options.NAMED, autocompletion=options.RECIPES)
    ] = None,
    *,
    chosen: options.RecipeOptions,
    every: Annotated[
        bool, typer.Option("--all", help="All recipes that judge places, with the options that `recipes` shows.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows whose targets to play on, 100 of them, as `eval` reads them."),
    ] = None,
    box_format: options.BoxFormats = None,
    columns: options.FileColumns,
    images: options.SizedImages,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the targets and the random policies.")] = 0,
    html: Html = None,
    as_json: options.AsJson = False,
) -> None:
    """Let policies without any skill play against a reward, and show what each earns, worst first.

    They click the middle, a corner or anywhere, answer with fifty places, with nothing, with the form alone, refuse, or
    think for long. A policy that earns a larger share of an honest one's reward than it is right in farms the reward.

    Example: `grounding-rewards check recipe se-gui --data train.parquet`
    """
    from grounding_rewards.testing.audit import audit  # with pools and pages, which other checks do without

    if every == (name is not None):
        raise RecipeError("check recipe: expected a NAME, or --all")
    if every and chosen:
        raise RecipeError(f"check recipe: got {', '.join(chosen)} with --all; expected a NAME, which takes them")
    if name is not None:
        name, chosen = catalogue.named(name, chosen)
    names = catalogue.list_recipes() if name is None else [name]
    if html is not None:
        check_page(html, [data] if data else [])
    screens = None if data is None else _screens(data, columns, box_format, images, chosen, seed)
    played: dict[str, list[Earned]] = {}
    with terminal.progress("checking") as done:
        for number, each in enumerate(names):
            done(number / len(names), each)
            built = catalogue.recipe(each, **catalogue.shown_with(each, chosen))
            if built.judges_places or not every:
                played[each] = audit(built, screens, seed=seed)
    findings = [found for each, rows in played.items() if (found := _finding(each, rows))]
    if html is not None:
        earned = [table(each, *_earned(rows)) for each, rows in played.items()]
        _write(html, "recipe", "Rewards of policies without skill", findings, len(names), earned, unit="recipe")
    if as_json:
        plain = {each: [row.to_dict() for row in rows] for each, rows in played.items()}
        terminal.print_json({"recipes": plain, **_paged(html)})
    elif name is None:
        _print_all(played)
    else:
        heads, cells = _earned(played[name])
        tables.console().print(tables.table(heads, ["policy", "95 %"], cells, figures=["total", "right %", "share %"]))
    terminal.report(findings)


def _launched(
    dataset: Annotated[Path, typer.Option(metavar="FILE", help="Rows as the trainer reads them.")],
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The launch: a YAML config, or a script of key=value words."),
    ] = None,
    recipe: Annotated[str | None, typer.Option(metavar="NAME", help=options.NAMED)] = None,
    rows: Annotated[int, typer.Option(metavar="N", min=1, help="Number of rows to score.")] = 256,
    step_rollouts: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Rollouts of a training step; else those of --config.")
    ] = None,
    step_seconds: Annotated[
        float | None, typer.Option(metavar="S", min=1e-9, help="How long a training step takes, to say a share of it.")
    ] = None,
    html: Html = None,
    as_json: options.AsJson = False,
) -> Mapping[str, Any]:
    return locals()


Launched = Annotated[Mapping[str, Any], _launched]


def _of_launch(trainer: str) -> Callable[..., None]:
    """Return the command that checks a launch of a trainer."""

    def check(*, launch: Launched, chosen: options.RecipeOptions) -> None:
        _check_launch(trainer, launch, chosen)

    check.__doc__ = f"""Call {trainer}'s adapter as the trainer does, with rows of data, and say what would go wrong.

    Missing columns, targets that cannot be used, options that the adapter or the trainer's config refuses, keys of
    other versions, values that are not finite, threads, copies for workers, and the time that 1,000 calls take.
    The lines that set the reward in a launch are printed.

    Example: `grounding-rewards check {trainer} --dataset train.parquet --recipe gelato`
    """
    return check


def _check_launch(trainer: str, launch: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    from grounding_rewards.cli.listing import PACKAGE as ADAPTERS
    from grounding_rewards.tables.opening import open_rows

    if (html := launch["html"]) is not None:
        check_page(html, [launch["dataset"]])
    wiring, count = import_module(f"{ADAPTERS}._wiring"), launch["rows"]
    read = wiring.Launch() if launch["config"] is None else wiring.read_launch(trainer, launch["config"])
    batches = open_rows(launch["dataset"], None).batches(whole=False)
    first = list(islice((dict(row) for batch in batches for row in batch.rows), count))
    own = {} if launch["recipe"] is None else {"recipe": launch["recipe"]}
    wired = wiring.check_wiring(trainer, first, {**own, **{k: v for k, v in chosen.items() if v is not None}}, read)
    rollouts, whole = launch["step_rollouts"] or read.rollouts, launch["step_seconds"]
    step = None
    if rollouts and wired.rows:
        seconds = rollouts * wired.seconds / 1000
        step = {"rollouts": rollouts, "seconds": seconds, "share": seconds / whole if whole else None}
    there = f" {wired.version}" if wired.version else ""
    timed = f", {wired.seconds:.3f} s of CPU for 1,000" if wired.rows else ""
    said = [*wired.lines, f"{trainer}{there}: {plural(wired.rows, 'row')} scored{timed}"]
    if step is not None:
        share = f", {percent(step['share'])} of the step" if whole else ""
        said.append(f"a step of {plural(rollouts, 'rollout')}: {step['seconds']:.3f} s of CPU{share}")
    if html is not None:
        _write(html, trainer, f"A launch of {trainer}", wired.findings, wired.rows, [text(said)])
    if launch["as_json"]:
        terminal.print_json({**wired.to_dict(), "step": step, **_paged(html)})
    else:
        console = tables.console()
        for line in said:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    terminal.report(wired.findings)
    if any(each.severity is Severity.ERROR for each in wired.findings):
        raise typer.Exit(1)


def _screens(file: Path, columns: Any, box_format: Any, images: Any, chosen: Mapping[str, Any], seed: int) -> Screens:
    """Return some of a file's targets."""
    from grounding_rewards.batch.checked import targets_of
    from grounding_rewards.batch.joining import Join
    from grounding_rewards.testing.audit import Screens

    space = chosen.get("target_space") or "pixel"
    own = catalogue.recipe("click", response_space="pixel", target_space=space)
    scorer = _unanswered(own, columns, box_format, images)
    return Screens.of(targets_of(file, scorer, Join(reporting=terminal.REPORTING)), seed=seed)


def _unanswered(
    recipe: Recipe, columns: options.FileColumns, box_format: options.BoxFormats, images: options.SizedImages
) -> Scoring:
    """Return a scorer that reads a file's targets alone."""
    from grounding_rewards.batch.table_scorer import Scoring

    note, warn = terminal.note, terminal.warn
    return Scoring(recipe, columns, "abstain", box_format, images, answered=False, on_note=note, on_warning=warn)


def _finding(name: str, rows: Sequence[Earned]) -> Finding | None:
    """Return what is wrong with a reward that is farmed."""
    farming = [row for row in rows if row.farms]
    if not farming:
        return None
    worst = farming[0]
    earns = f"earns {worst.share:.0%} of an honest policy's reward and is right in {worst.acc:.1%}"
    message = f"{name}: a policy without skill ({worst.what}) {earns}"
    fix = "train on it with a filter on acc, or lower what answers earn without a hit"
    return Finding(Code.FARMED, Severity.WARNING, len(farming), (), message, fix)


def _print_findings(findings: Sequence[Finding], rows: int) -> None:
    cells = [
        (str(each.severity), str(each.code), f"{each.count:,}", ", ".join(map(str, each.rows))) for each in findings
    ]
    console = tables.console()
    if cells:
        console.print(tables.table(["", "found", "rows", "the first of them"], ["found"], cells, figures=["rows"]))
    console.print(f"{plural(rows, 'row')}, {plural(len(findings), 'finding') if findings else 'no findings'}")


def _of_groups(groups: GroupFigures) -> tuple[list[str], list[list[str]]]:
    """Return heads and the cells of one row."""
    counts = [f"{each:,}" for each in (groups.groups, groups.equal, groups.right, groups.wrong)]
    heads = ["groups", "all alike", "all right", "all wrong", "variance by form", "by place"]
    return heads, [[*counts, percent(groups.form), percent(groups.place)]]


def _earned(rows: Sequence[Earned]) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells."""
    cells = [
        [
            row.policy, row.what, f"{row.total:.3f}", f"{100 * row.acc:.1f}", f"{100 * row.share:.1f}",
            tables.interval(*row.interval), "farms" if row.farms else "",
        ]
        for row in rows
    ]  # fmt: skip
    return ["policy", "it answers with", "total", "right %", "share %", "95 %", ""], cells


def _counted(name: str, parts: Mapping[str, Evaluation]) -> Block:
    """Return the accuracies of parts as a table of a page."""
    rows = [
        (part, f"{each.valid:,}", f"{each.correct:,}", percent(each.accuracy), tables.interval(*each.interval),
         percent(each.parse_rate))
        for part, each in parts.items()
    ]  # fmt: skip
    return table(f"by {name}", [name, "n", "correct", "accuracy", "95 % interval", "parsed"], rows)


def _other_settings(scores: Mapping[str, float]) -> list[Block]:
    """Return the shares of right rows under each setting; boxes in another format have a table of their own."""
    best = sorted(scores.items(), key=lambda each: -each[1])
    captions = {
        "right under other settings, the best first": [each for each in best if BOX_FORMAT not in each[0]],
        "right with boxes in another format: larger boxes are hit more often": [
            each for each in best if BOX_FORMAT in each[0] and each[1]
        ],
    }
    return [
        table(caption, ["setting", "right"], [(name, percent(share)) for name, share in each[:_SETTINGS]])
        for caption, each in captions.items()
        if len(scores) > 1 and each
    ]


def _print_all(played: Mapping[str, Sequence[Earned]]) -> None:
    """Print the share of each policy, recipes below each other."""
    from grounding_rewards.testing.audit import HONEST

    policies = dict.fromkeys(row.policy for rows in played.values() for row in rows if row.policy != HONEST)
    cells: list[list[str]] = []
    for name, rows in played.items():
        of: dict[str, Any] = {row.policy: row for row in rows}
        cells.append([name, *(f"{100 * of[each].share:.0f}" if each in of else "" for each in policies)])
    console = tables.console()
    console.print(tables.table(["recipe", *policies], ["recipe"], cells, figures=[*policies]))
    console.print("Mean total of each policy, in per cent of an honest policy's.")


def _paged(html: Path | None) -> dict[str, str]:
    return {} if html is None else {"page": str(html)}


def _drawn(
    file: Path, scorer: Scoring, join: Join, findings: Sequence[Finding], split: str | None
) -> dict[int, ShownRow]:
    """Return the rows that findings name."""
    from grounding_rewards.batch.checked import shown_rows

    first = {row for each in findings for row in each.rows}
    return shown_rows(file, scorer, join, first, split=split) if first else {}


def _write(
    html: Path, what: str, title: str, findings: Sequence[Finding], rows: int, more: Sequence[Block] = (),
    drawn: Mapping[int, ShownRow] = MappingProxyType({}), unit: str = "row",
) -> None:  # fmt: skip
    """Write a page: findings, tables, and the first rows of each finding."""
    every = plural(rows, unit)
    cells = [(str(each.code), str(each.severity), f"{each.count:,}", str(each.message)) for each in findings]
    heads = ["found", "severity", f"{unit}s", "evidence"]
    said = table(every, heads, cells) if cells else text([f"{every}, no findings"])
    pictures = [
        section(
            f"{each.code}-{place}", f"{each.code}: {each.count:,} of {every}", each.fix,
            [_row(row, drawn[row]) for row in each.rows if row in drawn],
        )
        for place, each in enumerate(findings)
        if any(row in drawn for row in each.rows)
    ]  # fmt: skip
    sections = [
        section("findings", "Findings", "", [said]),
        *([section("figures", "Figures", "", more)] if more else []),
    ]
    made_by = f"grounding-rewards check {what}"
    write_page(html, {"title": title, "made_by": made_by, "sections": [*sections, *pictures]})


def _row(number: int, row: ShownRow) -> Block:
    """Draw a row, the whole screen and a closer view of a small target."""
    from grounding_rewards.explain.plot.picture import window_around

    title = f"row {number}: {row.words}" if row.words else f"row {number}"
    placed = row.answer is not None and not np.isnan(row.answer).any()
    notes = [] if row.response is None else [f"response: {tables.clipped(row.response, 500)}"]
    if not row.outlines and row.image is None and not placed:
        pairs = [("row", str(number)), ("instruction", row.words), ("response", row.response or "")]
        return {**facts(pairs), "title": ""}
    size = row.size or (row.image.size if row.image is not None else _UNKNOWN)
    views = [view("", np.array([0.0, 0.0, 1.0, 1.0]))]
    if row.outlines:
        corners = np.concatenate(row.outlines) * size
        window = window_around(np.concatenate([corners.min(axis=0), corners.max(axis=0)]), np.array(size))
        views += [view("1: a closer view", np.array(window) / np.tile(size, 2))] if window else []
    answered = "the answer: right" if row.right else "the answer: wrong"
    marks = [mark("point", point, "target") for each in row.outlines if len(each) == 1 for point in each]
    return screen(
        title, f"Row {number} with its target", size, views,
        [shape("target", each) for each in row.outlines if len(each) > 1],
        [*marks, *([mark("answer", row.answer, answered)] if placed and row.answer is not None else [])],
        {"target": "the target", "point": "the target", "answer": "the answer"},
        image=None if row.image is None else picture(np.asarray(row.image.convert("RGB"))), notes=notes, beside=True,
    )  # fmt: skip
