"""``grounding-rewards rollout``: samples and a model in, a rollout table of its responses out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.options import given
from grounding_rewards.coords.families import resizing_of
from grounding_rewards.coords.resizing import RESIZING, Resizing
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError
from grounding_rewards.settings.declared import option
from grounding_rewards.settings.groups import InstructionColumns
from grounding_rewards.tables.columns import Columns
from grounding_rewards.wording import percent, plural

if TYPE_CHECKING:
    from grounding_rewards.engines.rollout import RolledOut

_MODEL, _SAMPLING, _PROMPT, _PARTS = "Model", "Sampling", "Prompts and images", "Parts of a run"
_EVERY = 60.0  # seconds between lines of progress where stderr is no terminal


class Until(StrEnum):
    """Samples that go on after their first responses."""

    MIXED = "mixed"


@dataclass(frozen=True)
class Requests:
    """Requests beside their sampling: to which samples, and by which prompt."""

    until: Until | None = option(
        "Go on with samples whose scored responses are all right or all wrong, --n at a time up to --max.", None,
        panel=_SAMPLING,
    )  # fmt: skip
    allocate: Path | None = option(
        "Responses to each sample, as `pool allocate` writes them; others get none. Needs --first-rollout.", None,
        metavar="FILE", panel=_SAMPLING,
    )  # fmt: skip
    prompt: str | None = option(
        "A published prompt by name, or a jinja2 template. Default: plain, or that of --family.", None,
        metavar="NAME|FILE", panel=_PROMPT,
    )  # fmt: skip
    system: str | None = option("The system message.", None, metavar="TEXT|FILE", panel=_PROMPT)


@dataclass(frozen=True)
class Parts:
    """Shards that one process makes."""

    shard: str | None = option(
        "Make every N-th shard alone, from number I on, I from 0: for N processes that write one DIR.", None,
        metavar="I/N", panel=_PARTS,
    )  # fmt: skip
    again: bool = option(
        "Ask again for the shards of which a row has a `problem`, also of a complete DIR.", False, panel=_PARTS
    )
    overwrite: bool = option("Replace DIR, or an unfinished run, that was made of something else.", False)


def _columns(*, instruction_column: str | None, **named: str | None) -> tuple[str | None, Columns]:
    return instruction_column, options.columns_of(**named)


DataColumns = Annotated[tuple[str | None, Columns], options.group(_columns, InstructionColumns)]
Sampled = Annotated[RolloutSettings, options.group(RolloutSettings, RolloutSettings)]


def rollout(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=options.FILED_ROWS)],
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What runs the model: transformers, openai, vllm, or a plugin's; your own by module:attr or "
            "/path/file.py:attr.",
            rich_help_panel=_MODEL,
            autocompletion=options.completing(lambda: sorted(options.registry().engines)),
        ),
    ],
    weights: Annotated[
        str, typer.Option("--model", metavar="NAME", help="The model: its name or folder.", rich_help_panel=_MODEL)
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory to write: a rollout table.")],
    *,
    engine_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="An option of the engine; may be given several times.", rich_help_panel=_MODEL
        ),
    ] = None,
    settings: Sampled,
    requests: Annotated[Requests, options.group(Requests)],
    images: options.SizedImages,
    recipe: options.MaybeRecipe = None,
    chosen: options.RecipeOptions,
    box_format: options.BoxFormats = None,
    columns: DataColumns,
    split: options.RowsSplit = None,
    encoding: options.Encoding = None,
    shape: options.RowShape,
    parts: Annotated[Parts, options.group(Parts)],
    ray: options.Ray = None,
    as_json: options.AsJson = False,
) -> None:
    """Ask a model for responses to the samples of a data set, into a rollout table.

    A run that was killed resumes where it stopped by the same command. Rows keep the columns of DATA except
    bytes. A sample whose image or prompt cannot be made, or that the engine refuses, has rows with its `problem`
    and no response. Each response has a seed of its own, made of --seed, the sample's name, the temperature and the
    rollout's number, and the size of the image that the model saw. Without --recipe `pool score` scores the table.
    docs/rollouts.md has launch lines, each engine's options, and engines of your own.

    Example: `grounding-rewards rollout clicks.jsonl --engine openai --model MODEL --recipe gelato --out rollouts`
    """
    from grounding_rewards.cluster import joined
    from grounding_rewards.engines import engine as built
    from grounding_rewards.engines.prompts import PLAIN, prompt_named
    from grounding_rewards.engines.rollout import roll_out

    if (requests.until is None) != (settings.most is None):
        raise EngineError("--until mixed and --max N: one needs the other")
    if requests.allocate is not None:
        if given("n") or requests.until is not None or not given("first_rollout"):
            raise EngineError(
                "--allocate: says how many responses samples get, so leave --n and --until out, and give "
                "--first-rollout: 8 where 8 rollouts are there, 0 for all rollouts of another round"
            )
        settings = replace(settings, n=None)
    prompt, system = requests.prompt, requests.system
    asked = prompt_named(prompt or PLAIN, system)
    if "family" in chosen:
        if chosen["family"] == "auto":
            chosen["family"] = f"auto:{weights}"
            terminal.note(catalogue.family(chosen["family"]).taken)
        family = catalogue.family(chosen["family"])
        if prompt is None:
            asked = prompt_named(next(iter(family.prompts), PLAIN), system)
        asked = replace(asked, prefill=family.prefill if prompt is None else "", stop=family.stop)
    resizing = _resizing(recipe, chosen)
    with joined(ray) as cluster, terminal.progress("rolling out") as advance:
        done = roll_out(
            data, built(engine, model=weights, **options.read_options(engine_option, flag="--engine-option")), out,
            engine_name=engine, settings=settings, prompt=asked,
            recipe=None if recipe is None else catalogue.recipe(recipe, **chosen),
            resizing=resizing, columns=columns[1], instruction=columns[0], split=split, encoding=encoding,
            shape=shape, box_format=box_format, image_files=images, allocated=requests.allocate,
            shard=_shard(parts.shard), again=parts.again, overwrite=parts.overwrite, cluster=cluster,
            count=_Progress(advance), note=terminal.note_once(), warn=terminal.warn,
        )  # fmt: skip
    _report(done, out, as_json)


def _resizing(recipe: str | None, chosen: Mapping[str, Any]) -> Resizing | None:
    """Return the way of images into the model, which is asked for without a recipe, too."""
    sizes = {key: value for key, value in chosen.items() if key in RESIZING}
    options.check_recipe(recipe, {key: value for key, value in chosen.items() if key not in (*sizes, "family")})
    if "model" in sizes:
        return Resizing(**sizes)
    own = resizing_of(catalogue.family(chosen["family"])) if "family" in chosen else None
    if sizes and own is None:
        raise EngineError("--min-pixels and --max-pixels are bounds of --pipeline; name it, too")
    return own if own is None else replace(own, **sizes)


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal()):
        raise EngineError(f"--shard: got {text!r:.60}; expected I/N, such as 0/8")
    return int(number), int(count)


class _Progress:
    """Shows how many samples are done, how fast, and on other than terminals once a minute how long the rest takes."""

    def __init__(self, advance: Callable[..., None]) -> None:
        self.advance = advance
        self.began = self.shown = monotonic()
        self.before: int | None = None

    def __call__(self, done: int, samples: int) -> None:
        now = monotonic()
        if self.before in (None, done):
            self.before, self.began, self.shown = done, now, now
        rate = (done - (self.before or 0)) / max(now - self.began, 1e-9)
        text = f"{done:,} of {samples:,} samples" + (f", {rate:.3g} a second" if rate else "")
        self.advance(done / max(samples, 1), text)
        if not sys.stderr.isatty() and now - self.shown >= _EVERY:
            self.shown = now
            left = f", {duration((samples - done) / rate)} left" if rate else ""
            terminal.say(f"{text}{left}")


def duration(seconds: float) -> str:
    """Return a time in words."""
    minutes = -(-int(seconds) // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _report(done: RolledOut, out: Path, as_json: bool) -> None:
    manifest = done.manifest
    pieces = {"made": done.made, "found": done.found, "missing": done.missing}
    if as_json:
        kept = {name: value for name, value in (manifest or {}).items() if name not in ("outputs", "complete")}
        terminal.print_json({"out": str(out), **kept, "pieces": pieces})
        return
    if manifest is None:
        there = done.made + done.found
        terminal.say(
            f"{there} of {there + done.missing} shards of {out} are there, {done.made} of them new; other processes "
            "make the rest, and the last one finishes it"
        )
        return
    for each in manifest.get("by_temperature", ()):
        rate = f"{terminal.share_named(manifest)} {percent(each['hit_rate'])}" if each["scored"] else "not scored"
        terminal.say(f"temperature {each['temperature']:g}: {each['rows']:,} rollouts, {rate}")
    unanswered = manifest["rows"] - manifest["answered"]
    without = f" ({unanswered:,} without a response)" if unanswered else ""
    line = f"{manifest['rows']:,} rollouts{without} of {plural(manifest['samples'], 'sample')} by {manifest['policy']}"
    if manifest["recipe"]:
        # samples that are all right or all wrong have more rollouts, and count as often
        each_over = ", each over rollouts" if manifest["max"] is not None else ""
        line += f": {terminal.scores_in_words(manifest)}{each_over}"
    terminal.say_made(line, pieces, out, "shards")
