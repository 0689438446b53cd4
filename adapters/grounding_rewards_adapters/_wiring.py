"""Play a trainer's part before it runs: call its adapter with rows of a data set, and say what would go wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import pickle
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from runpy import run_path
from time import process_time
from types import SimpleNamespace
from typing import Any

import grounding_rewards as gr
from grounding_rewards.checks.finding import FIRST_ROWS, Code, Finding, Severity
from grounding_rewards.converting.layouts import LAYOUTS
from grounding_rewards.literals import yaml_values
from grounding_rewards.settings.reading import read_value
from grounding_rewards.tables.rows import value_at
from grounding_rewards_adapters import _small, easyr1, trl, verl
from grounding_rewards_adapters._launch import LOG, installed
from grounding_rewards_adapters._small import OPTIONS

Rows = Sequence[Mapping[str, Any]]
Scored = Sequence[Mapping[str, float | None]]

_THREADS = 8
_PLACE = "grounding_rewards_adapters"


@dataclass(frozen=True)
class Wiring:
    """The way in which a trainer calls its adapter."""

    package: str  # its distribution; "" for a trainer that has none
    needed: tuple[str, ...]  # columns that it reads; "a.b" is a field
    target: str  # where targets are
    under: str  # a pattern of the place in its config that has options of the reward; "" where there is none
    line: str  # an option in a launch, with ``{}`` for name and value; "" where it is Python, or in a variable
    first: tuple[str, ...]  # the lines of a launch beside the options
    call: Callable[..., Scored]  # (rows, responses, target column, options) to values by name
    step: tuple[str, str] = ("", "")  # keys of its config: samples of a step, and rollouts of each
    by_variable: bool = False  # True where options come from GROUNDING_REWARDS_OPTIONS
    keys: Mapping[str, str] = field(default_factory=dict)  # keys of its config that rename columns, and these columns


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
    rewards = trl.reward_funcs(target_column=target, **options)
    return _totals(rewards, rows, target, lambda reward, columns: reward(completions=list(responses), **columns))


def _swift(rows: Rows, responses: Sequence[str], target: str, options: Mapping[str, Any]) -> Scored:
    made = run_path(str(Path(__file__).parent / "ms_swift" / "plugin.py"))["REWARDS"]  # as --external_plugins does
    rewards = [each(args=None) for each in made.values()]
    return _totals(rewards, rows, target, lambda reward, columns: reward(list(responses), **columns))


def _totals(rewards: Sequence[Any], rows: Rows, target: str, call: Callable[..., Sequence[float | None]]) -> Scored:
    """Return what rewards that take columns give, by their names."""
    columns: Any = {name: [row.get(name) for row in rows] for name in rows[0] if name not in ("completions", target)}
    columns[target] = [value_at(row, target) for row in rows]
    found = {"reward" if len(rewards) == 1 else each.__name__: call(each, columns) for each in rewards}
    named = [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]
    return [{**each, "valid": float(None not in each.values())} for each in named]


def _singly(
    name: str, call: Callable[..., Any], rows: Rows, responses: Sequence[str], target: str, options: Mapping[str, Any]
) -> Scored:
    """Give an adapter, which has its options, a row, text and target at a time."""
    adapter = import_module(f"{_PLACE}.{name}")
    return [call(adapter, row, text, value_at(row, target)) for row, text in zip(rows, responses, strict=True)]


def _areal(adapter: Any, row: Mapping[str, Any], text: str, target: Any) -> Any:
    return adapter.scored("", text, [], [], **{**row, "target": target})


def _nemo_gym(adapter: Any, row: Mapping[str, Any], text: str, target: Any) -> Any:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    said = {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": [message]}
    response = {**said, "parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    server = adapter.GroundingServer.model_construct(config=adapter.Config.model_construct())
    try:
        body = adapter.Request.model_validate({**row, "response": response, "target": target})
    except ValueError as error:
        raise gr.TableError(f"NeMo-Gym refuses a row: {error}") from None
    given = asyncio.run(server.verify(body))
    found = {name: value for name, value in given.model_extra.items() if name not in {*row, "target", "mask_sample"}}
    return {**found, "reward": given.reward}


def _openenv(adapter: Any, row: Mapping[str, Any], text: str, target: Any) -> Any:
    env = adapter.GroundingEnv()
    env.reset(**row)
    screen = env.step(adapter.Answer(response=text))
    return {**screen.metadata, "reward": screen.reward}


def _openrlhf(adapter: Any, row: Mapping[str, Any], text: str, target: Any) -> Any:
    said = adapter.reward_func([f"?{text}"], ["?"], [target])
    columns = {"reward": said["rewards"], "score": said["scores"], **said["extra_logs"]}
    return {name: column.item() for name, column in columns.items()}


def _skyrl(adapter: Any, row: Mapping[str, Any], text: str, target: Any) -> Any:
    env = adapter.GroundingEnv(extras=row)
    return {"reward": env.step(text)["reward"], **env.get_metrics()}


def _slime(adapter: Any, row: Mapping[str, Any], text: str, target: Any) -> Any:
    sample = SimpleNamespace(response=text, label=target, metadata=row.get("metadata"))
    return asyncio.run(adapter.reward(SimpleNamespace(reward_key="total"), sample))


def _verifiers(adapter: Any, row: Mapping[str, Any], text: str, target: Any) -> Any:
    task = type("Task", (SimpleNamespace,), {"model_fields": row})(**row)
    return asyncio.run(adapter.metrics(task, SimpleNamespace(last_reply=text)))


WIRINGS = {
    "verl": Wiring(
        "verl", ("data_source", "prompt", "reward_model.ground_truth"), "reward_model.ground_truth",
        r"reward\.custom_reward_function\.reward_kwargs",
        "+reward.custom_reward_function.reward_kwargs.{}={}",
        (f"reward.custom_reward_function.path=pkg://{_PLACE}.verl",
         "reward.custom_reward_function.name=compute_score_async"), _verl,
        ("data.train_batch_size", "actor_rollout_ref.rollout.n"), keys={"data.prompt_key": "prompt"},
    ),
    "trl": Wiring("trl", ("prompt", "target"), "target", "", "", (), _trl),
    "easyr1": Wiring(
        "", ("problem", "answer"), "answer", r"worker\.reward\.reward_function_kwargs",
        "worker.reward.reward_function_kwargs.{}={}",
        ("worker.reward.reward_function=$(grounding-rewards where easyr1)",), _easyr1,
        ("data.rollout_batch_size", "worker.rollout.n"),
        keys={"data.prompt_key": "problem", "data.answer_key": "answer"},
    ),
    "areal": Wiring(
        "areal", ("messages", "target"), "target", "", "", (f'reward_fn="{_PLACE}.areal.reward"',),
        partial(_singly, "areal", _areal), by_variable=True,
    ),
    "nemo_gym": Wiring(
        "nemo-gym", ("responses_create_params", "target"), "target", r"[\w.-]+\.resources_servers\.[\w-]+\.options", "",
        (f"from {_PLACE}.nemo_gym import GroundingServer", "GroundingServer.run_webserver()"),
        partial(_singly, "nemo_gym", _nemo_gym), by_variable=True,
    ),
    "openenv": Wiring(
        "openenv", ("instruction", "target"), "target", "", "",
        (f"from {_PLACE}.openenv import Answer, GroundingEnv, Screen",
         "app = create_fastapi_app(lambda: GroundingEnv(rows), Answer, Screen)"),
        partial(_singly, "openenv", _openenv), by_variable=True,
    ),
    "openrlhf": Wiring(
        "openrlhf", ("input", "label"), "label", "", "",
        ('--reward.remote_url "$(grounding-rewards where openrlhf)" --data.label_key label',),
        partial(_singly, "openrlhf", _openrlhf), ("--rollout.batch_size", "--rollout.n_samples_per_prompt"),
        by_variable=True, keys={"--data.input_key": "input", "--data.label_key": "label"},
    ),
    "skyrl": Wiring(
        "skyrl", ("prompt", "env_class", "reward_spec.ground_truth"), "reward_spec.ground_truth",
        r"environment\.skyrl_gym\.grounding_rewards", "",
        (f"from {_PLACE} import skyrl", "skyrl.register()"), partial(_singly, "skyrl", _skyrl),
        ("trainer.train_batch_size", "generator.n_samples_per_prompt"), by_variable=True,
    ),
    "slime": Wiring(
        "", ("prompt", "label"), "label", "", "",
        (f"--custom-rm-path {_PLACE}.slime.reward --input-key prompt --label-key label",),
        partial(_singly, "slime", _slime), ("--rollout-batch-size", "--n-samples-per-prompt"),
        by_variable=True, keys={"--input-key": "prompt", "--label-key": "label"},
    ),
    "swift": Wiring(
        "ms-swift", ("messages", "target"), "target", "", "",
        ('--external_plugins "$(grounding-rewards where swift)" --reward_funcs grounding_rewards',), _swift,
        by_variable=True,
    ),
    "verifiers": Wiring(
        "verifiers", ("prompt", "target"), "target", "", "",
        (f"--env.taskset.task.rewards.grounding.fn {_PLACE}.verifiers:reward",
         f"--env.taskset.task.metrics.grounding_parts.fn {_PLACE}.verifiers:metrics"),
        partial(_singly, "verifiers", _verifiers), by_variable=True,
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
    wiring = WIRINGS[trainer]
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
        elif wiring.by_variable and name.rpartition(".")[2] == OPTIONS:
            options |= _small.read_options(_filled(str(value), known))
        elif found := re.fullmatch(rf"{wiring.under}\.(\w.*)", name) if wiring.under else None:
            if trainer == "verl" and not filed and not key.startswith("+"):
                message = f"{path}: {name} has no + before it, and verl's config refuses keys that it does not have"
                findings.append(Finding(Code.LAUNCH, Severity.ERROR, 1, (), message, f"write +{name}={value}"))
            if isinstance(value, str):
                value = read_value(_filled(value, known))
            if isinstance(value, str) and "$" in value:
                message = f"{path}: {name} is {value!r}, whose variable is set elsewhere, and is not checked"
                findings.append(Finding(Code.LAUNCH, Severity.NOTE, 1, (), message, ""))
                continue
            options[found[1]] = value
    columns = {own: str(pairs[key]) for key, own in wiring.keys.items() if key in pairs}
    for key, own in wiring.keys.items():
        if own == wiring.target and key.startswith("--") and key not in pairs:
            message = f"{path}: there is no {key}, without which {trainer} hands no target to the reward"
            findings.append(Finding(Code.LAUNCH, Severity.ERROR, 1, (), message, f"add {key} {own}"))
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
    """Yield what a script sets: ``key.key=value``, with a + before it or not, ``--key value``, and our variable."""
    for line in script.replace("\\\n", " ").splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quote that closes on another line
            continue
        for word, after in pairwise([*words, ""]):
            name, equal, own = word.partition("=")
            if name.startswith("--"):
                yield name, read_value(own if equal else after)
            if found := re.fullmatch(rf"(\+{{0,2}}\w+(?:\.\w+)+|{OPTIONS})=(.*)", word, re.DOTALL):
                yield found[1], found[2] if found[1] == OPTIONS else read_value(found[2].strip("'"))


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
    wiring = WIRINGS[trainer]
    there = {name: value for name, value in _small.options().items() if value is not None} if wiring.by_variable else {}
    merged = {**(launch.options or there), **options}
    findings, seconds = list(launch.findings), 0.0
    scored: Scored = []
    named = {name: launch.columns.get(name, name) for name in wiring.needed}
    for column in named.values():
        if all(value_at(row, column) is None for row in rows):
            message = f"no row has {column}, which {trainer} reads; there are {', '.join(rows[0] if rows else ())}"
            made = f"make rows by grounding-rewards convert --for {trainer}"
            fix = made if trainer in LAYOUTS else f"give rows this column, as {trainer} has it"
            findings.append(Finding(Code.LAUNCH, Severity.ERROR, len(rows), (), message, fix))
    target = named.get(wiring.target, wiring.target)
    texts = _answers(merged, len(rows))
    played = {name: value for name, value in merged.items() if name not in ("record", "record_columns")}
    score = partial(wiring.call, target=target, options=played)
    try:
        if not any(each.severity is Severity.ERROR for each in findings):
            with _launched(played if wiring.by_variable else None):
                scored = score(rows, texts)
                start = process_time()
                score(rows, texts)  # with the recipe built
                seconds = 1000 * (process_time() - start) / max(1, len(rows))
                findings += _looked_at(scored, partial(score, rows, texts), wiring, played)
    except gr.GroundingRewardsError as error:
        findings.append(Finding(Code.LAUNCH, Severity.ERROR, len(rows), (), str(error), ""))
    except ImportError as error:
        message = f"the adapter of {trainer} cannot be loaded here ({error})"
        fix = f"run the check where {wiring.package or trainer} is installed"
        findings.append(Finding(Code.LAUNCH, Severity.ERROR, len(rows), (), message, fix))
    return Wired(
        len(scored),
        tuple(scored[0] if scored else ()),
        seconds,
        installed(wiring.package),
        tuple(launch_lines(trainer, merged)),
        tuple(findings),
    )


@contextmanager
def _launched(options: Mapping[str, Any] | None) -> Iterator[None]:
    """Set the variable of options, where there are any, and mute the log, since findings say all of it."""
    level, before = LOG.level, os.environ.get(OPTIONS)
    LOG.setLevel(logging.CRITICAL + 1)
    try:
        if options is not None:
            os.environ[OPTIONS] = json.dumps(options)
        yield
    finally:
        LOG.setLevel(level)
        if before is not None:
            os.environ[OPTIONS] = before
        elif options is not None:
            del os.environ[OPTIONS]


def launch_lines(trainer: str, options: Mapping[str, Any]) -> list[str]:
    """Return the lines of a launch that set the reward, its options first where these come from a variable."""
    wiring = WIRINGS[trainer]
    if trainer == "trl":
        return [f"reward_funcs({', '.join(f'{name}={value!r}' for name, value in options.items())})"]
    if wiring.by_variable:
        return [f"export {OPTIONS}={shlex.quote(json.dumps(options))}", *wiring.first]
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
