"""Play a trainer's part before it runs: call its adapter with rows of a data set, and say what would go wrong."""

from __future__ import annotations

import logging
import math
import pickle
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time
from typing import Any

import grounding_rewards as gr
from grounding_rewards.checks.finding import FIRST_ROWS, Code, Finding, Severity
from grounding_rewards.literals import yaml_values
from grounding_rewards.settings.reading import read_value
from grounding_rewards.tables.rows import value_at
from grounding_rewards_adapters import easyr1, trl, verl
from grounding_rewards_adapters._launch import LOG

Rows = Sequence[Mapping[str, Any]]
Scored = Sequence[Mapping[str, float | None]]

_THREADS = 8


@dataclass(frozen=True)
class Wiring:
    """The way in which a trainer calls its adapter."""

    package: str  # its distribution; "" for a trainer that has none
    needed: tuple[str, ...]  # columns that it reads; "a.b" is a field
    target: str  # where targets are
    under: tuple[str, ...]  # where its config keeps options of the reward
    line: str  # an option in a launch, with ``{}`` for name and value; "" where it is Python
    first: tuple[str, ...]  # the lines of a launch before the options
    call: Callable[..., Scored]  # (rows, responses, target column, options) to values by name
    step: tuple[str, str] = ("", "")  # keys of its config: samples of a step, and rollouts of each


def _verl(rows: Rows, responses: Sequence[str], target: str, options: Mapping[str, Any]) -> Scored:
    infos = [row.get("extra_info") or {} for row in rows]
    for number, info in enumerate(infos):
        if not isinstance(info, Mapping):
            raise gr.TableError(f"row {number}: extra_info: got {info!r:.60}; verl expects fields, {{}} for none")
    return [
        verl.compute_score(row.get("data_source", ""), text, value_at(row, target), dict(info), **options)
        for row, text, info in zip(rows, responses, infos, strict=True)
    ]


def _easyr1(rows: Rows, responses: Sequence[str], target: str, options: Mapping[str, Any]) -> Scored:
    inputs = [
        {"response": text, "response_length": len(text) // 4, "ground_truth": value_at(row, target)}
        for row, text in zip(rows, responses, strict=True)
    ]
    return easyr1.compute_score(inputs, **options)


def _trl(rows: Rows, responses: Sequence[str], target: str, options: Mapping[str, Any]) -> Scored:
    columns: Any = {name: [row.get(name) for row in rows] for name in rows[0] if name not in ("completions", target)}
    (reward,) = trl.reward_funcs(target_column=target, **options)
    columns[target] = [value_at(row, target) for row in rows]
    totals = reward(completions=list(responses), **columns)
    return [{"reward": total, "valid": float(total is not None)} for total in totals]


WIRINGS = {
    "verl": Wiring(
        "verl", ("data_source", "prompt", "reward_model.ground_truth"), "reward_model.ground_truth",
        ("reward", "custom_reward_function", "reward_kwargs"),
        "+reward.custom_reward_function.reward_kwargs.{}={}",
        ("reward.custom_reward_function.path=pkg://grounding_rewards_adapters.verl",
         "reward.custom_reward_function.name=compute_score_async"), _verl,
        ("data.train_batch_size", "actor_rollout_ref.rollout.n"),
    ),
    "trl": Wiring("trl", ("prompt", "target"), "target", (), "", (), _trl),
    "easyr1": Wiring(
        "", ("problem", "answer"), "answer", ("worker", "reward", "reward_function_kwargs"),
        "worker.reward.reward_function_kwargs.{}={}",
        ("worker.reward.reward_function=$(grounding-rewards where easyr1)",), _easyr1,
        ("data.rollout_batch_size", "worker.rollout.n"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Launch:
    """The reward's part of a launch's config."""

    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)  # other names of the trainer's columns
    findings: tuple[Finding, ...] = ()
    rollouts: int | None = None  # of a step


def read_launch(trainer: str, path: Path) -> Launch:
    """Read the options of the reward from a launch: a YAML config, or a script with ``key=value`` words."""
    wiring, prefix = WIRINGS[trainer], ".".join(WIRINGS[trainer].under)
    filed = path.suffix.lower() in (".yaml", ".yml")
    try:
        text = path.read_text("utf-8-sig")
        content = (yaml_values(text) or {}) if filed else {}
    except (OSError, ImportError):
        raise
    except Exception as error:  # of a parser, of which YAML's is no ValueError
        raise gr.RecipeError(f"{path}: cannot be read as {'YAML' if filed else 'text'} ({error})") from None
    if not isinstance(content, Mapping):
        raise gr.RecipeError(f"{path}: got {type(content).__name__}; expected keys and values, as a launch has them")
    pairs = dict(_flat(content) if filed else _words(text))
    known = {**dict(re.findall(r"^(\w+)=([\w./:-]+)", text, re.MULTILINE)), **pairs}
    findings, options = list[Finding](), dict[str, Any]()
    for key, value in pairs.items():
        name = key.lstrip("+")
        if trainer == "verl" and name.startswith("custom_reward_function."):
            message = f"{path}: {name} is a key of older versions, which verl accepts and passes over"
            findings.append(Finding(Code.LAUNCH, Severity.ERROR, 1, (), message, f"write reward.{name}"))
        elif prefix and name.startswith(f"{prefix}."):
            if trainer == "verl" and not filed and not key.startswith("+"):
                message = f"{path}: {name} has no + before it, and verl's config refuses keys that it does not have"
                findings.append(Finding(Code.LAUNCH, Severity.ERROR, 1, (), message, f"write +{name}={value}"))
            if isinstance(value, str):
                value = read_value(_filled(value, known))
            if isinstance(value, str) and "$" in value:
                message = f"{path}: {name} is {value!r}, whose variable is set elsewhere, and is not checked"
                findings.append(Finding(Code.LAUNCH, Severity.NOTE, 1, (), message, ""))
                continue
            options[name.removeprefix(f"{prefix}.")] = value
    keys = {"data.answer_key": "answer", "data.prompt_key": wiring.needed[-2] if trainer == "easyr1" else "prompt"}
    columns = {own: str(pairs[key]) for key, own in keys.items() if key in pairs}
    sizes = [pairs.get(key, 0) for key in wiring.step]
    whole = [read_value(_filled(each, known)) if isinstance(each, str) else each for each in sizes]
    counted = all(isinstance(each, int) and each > 0 for each in whole)
    return Launch(options, columns, tuple(findings), math.prod(whole) if counted else None)


def _filled(value: str, known: Mapping[str, Any]) -> str:
    """Return a value with the variables that the launch itself sets."""
    return re.sub(r"\$\{?([\w.]+)\}?", lambda found: str(known.get(found[1], found[0])), value)


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        inside = isinstance(value, Mapping) and not f"{before}{key}".endswith(("reward_kwargs.routes", "kwargs.routes"))
        yield from _flat(value, f"{before}{key}.") if inside else [(f"{before}{key}", value)]


def _words(script: str) -> Iterator[tuple[str, Any]]:
    """Yield what a script sets: words of the form ``key.key=value``, with a + before it or not."""
    for line in script.splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quote that closes on another line
            continue
        for word in words:
            if found := re.fullmatch(r"(\+{0,2}[\w]+(?:\.\w+)+)=(.*)", word, re.DOTALL):
                yield found[1], read_value(found[2].strip("'"))


@dataclass(frozen=True)
class Wired:
    """The result of playing a trainer's part."""

    rows: int  # how many rows were scored
    keys: tuple[str, ...]  # names of the values of each row
    seconds: float  # CPU time of 1,000 calls or rows
    version: str  # the trainer's that is installed; "" for none
    lines: tuple[str, ...]  # of a launch
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {name: value for name, value in vars(self).items() if name != "findings"}
        return {**plain, "keys": list(self.keys), "lines": list(self.lines)}


def check_wiring(trainer: str, rows: Rows, options: Mapping[str, Any], launch: Launch = Launch()) -> Wired:
    """Score rows as a trainer has them scored: many kinds of answers, from several threads, and by a copy."""
    wiring, merged = WIRINGS[trainer], {**launch.options, **options}
    findings, seconds = list(launch.findings), 0.0
    scored: Scored = []
    named = {name: launch.columns.get(name, name) for name in wiring.needed}
    for column in named.values():
        if all(value_at(row, column) is None for row in rows):
            message = f"no row has {column}, which {trainer} reads; there are {', '.join(rows[0] if rows else ())}"
            fix = f"make rows by grounding-rewards convert --for {trainer}"
            findings.append(Finding(Code.LAUNCH, Severity.ERROR, len(rows), (), message, fix))
    target = named.get(wiring.target, wiring.target)
    texts = _answers(merged, len(rows))
    played = {name: value for name, value in merged.items() if name not in ("record", "record_columns")}
    score = partial(wiring.call, target=target, options=played)
    level = LOG.level
    LOG.setLevel(logging.CRITICAL + 1)  # findings say all of it
    try:
        if not any(each.severity is Severity.ERROR for each in findings):
            scored = score(rows, texts)
            start = process_time()
            score(rows, texts)  # with the recipe built
            seconds = 1000 * (process_time() - start) / max(1, len(rows))
            findings += _looked_at(scored, partial(score, rows, texts), wiring, played)
    except gr.GroundingRewardsError as error:
        findings.append(Finding(Code.LAUNCH, Severity.ERROR, len(rows), (), str(error), ""))
    finally:
        LOG.setLevel(level)
    return Wired(
        len(scored),
        tuple(scored[0] if scored else ()),
        seconds,
        _version(wiring.package),
        tuple(launch_lines(trainer, merged)),
        tuple(findings),
    )


def launch_lines(trainer: str, options: Mapping[str, Any]) -> list[str]:
    """Return the lines of a launch that set the reward."""
    if trainer == "trl":
        return [f"reward_funcs({', '.join(f'{name}={value!r}' for name, value in options.items())})"]
    wiring = WIRINGS[trainer]
    return [*wiring.first, *(wiring.line.format(name, _word(value)) for name, value in options.items())]


def _word(value: Any) -> str:
    """Return a value as configs have it."""
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{name}:{_word(each)}' for name, each in value.items())}}}"
    return f"[{','.join(map(_word, value))}]" if isinstance(value, list | tuple) else str(value)


def _answers(options: Mapping[str, Any], count: int) -> list[str]:
    """Return answers of many kinds, in turn: the recipe's example, none, words, and a number that is too long."""
    try:
        name, own = options.get("recipe"), {key: value for key, value in options.items() if key != "recipe"}
        example = gr.recipe(name, **own).example if isinstance(name, str) else None
    except (gr.GroundingRewardsError, TypeError):  # an option of the adapter
        example = None
    kinds = [example.response if example else "(500, 500)", "", "I cannot see it.", f"({'9' * 400}, 1)"]
    return [kinds[number % len(kinds)] for number in range(count)]


def _looked_at(
    scored: Scored, score: Callable[[], Scored], wiring: Wiring, options: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield what is wrong with scores, and with those of other threads and of a copy."""
    unusable = [row for row, each in enumerate(scored) if each["valid"] == 0.0]
    if unusable:
        message = f"{len(unusable):,} of {len(scored):,} rows have a target that cannot be used"
        fix = "grounding-rewards check data says why"
        yield Finding(Code.BAD_TARGET, Severity.ERROR, len(unusable), tuple(unusable[:FIRST_ROWS]), message, fix)
    odd = [
        row
        for row, each in enumerate(scored)
        if {*each} != {*scored[0]} or not all(value is None or math.isfinite(value) for value in each.values())
    ]
    if odd:
        message = f"{len(odd):,} rows have other keys than the first, or values that are not finite"
        yield Finding(Code.LAUNCH, Severity.ERROR, len(odd), tuple(odd[:FIRST_ROWS]), message, "")
    with ThreadPoolExecutor(_THREADS) as pool:
        if any([*each] != [*scored] for each in pool.map(lambda _: score(), range(_THREADS))):
            yield Finding(Code.LAUNCH, Severity.ERROR, len(scored), (), "scores differ from thread to thread", "")
    try:
        pickle.dumps(partial(wiring.call, options=options))
    except Exception as error:
        message = f"the options cannot be copied to a worker ({type(error).__name__}: {error})"
        yield Finding(
            Code.LAUNCH, Severity.ERROR, len(scored), (), message, "name recipes and functions by module:attr"
        )


def _version(package: str) -> str:
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""
