"""Logs of further trainers in JSON lines: what their lines are known by, and where rollouts stand in them.

Read of their sources: ms-swift 4.6 writes ``completions.jsonl`` with ``--log_completions true``, SkyRL 0.4
``dumped_evals`` of evaluations, NeMo-Gym 0.7 the file of ``gym eval run --output``, verifiers 0.4 ``traces.jsonl``, and
AReaL 1.0 ``rollout`` with ``rollout.dump_to_file``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from grounding_rewards.errors import TableError
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.manifests import digest
from grounding_rewards.tables.prompts import answer, prompt_text
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rows import NoRowsError, value_at
from grounding_rewards.tables.sample_ids import name_of
from grounding_rewards.tables.trainer_logs.logged import (
    EMPTY,
    FIRST,
    REPEATED,
    VERDICTS,
    Logged,
    TrainerLog,
    first_lines,
    number,
    read_lines,
)

_OURS = ("valid", "parsed", "in_image")
"""Numbers that this package's adapters give beside the parts; of a target that cannot be used ``valid`` is 0."""

_FIGURES = "aggregated_results.jsonl"
"""A file of SkyRL's beside those of answers."""

_NO_PARTS = {*COLUMNS, *VERDICTS, "valid", "reward", "num_turns"}


class Found(Struct, frozen=True):
    """One rollout of a line."""

    prompt: Any
    response: Any
    target: Any = None
    total: Any = None
    numbers: Mapping[str, Any] = {}  # all others, a verdict among them
    step: Any = None
    valid: bool = True  # False where the trainer says that the reward measures nothing
    sample: Any = None  # what tells apart samples of one content in one step
    more: Mapping[str, Any] = {}


def _swift(line: Mapping[str, Any], file: Path) -> Iterator[Found]:
    """Yield the rollouts of a table, a list for each column; the data set's ``solution`` is the target."""
    columns = {name: cells for name, cells in line.items() if isinstance(cells, list)}
    taken = {"step", "gen_step", "prompt", "completion", "advantages", "solution", "entropy"}
    rewards = [name for name in columns if name not in taken and name not in _NO_PARTS]
    for place, completion in enumerate(columns["completion"]):
        row = {name: cells[place] for name, cells in columns.items() if place < len(cells)}
        numbers = {name: row.get(name) for name in rewards}
        total = next(iter(numbers.values())) if len(numbers) == 1 else None
        step = row.get("step", row.get("gen_step"))
        yield Found(
            row.get("prompt"), completion, row.get("solution"), total, {} if len(numbers) == 1 else numbers,
            int(step) if isinstance(step, str) and step.isdecimal() else step,
        )  # fmt: skip


def _skyrl(line: Mapping[str, Any], file: Path) -> Iterator[Found]:
    """Yield one answer of an evaluation; the folder says its step, and a list of rewards is one of tokens."""
    score = line["score"]
    step = re.fullmatch(r"global_step_(\d+)_evals", file.parent.name)
    yield Found(
        line["input_prompt"], line["output_response"], value_at(line, "env_extras.reward_spec.ground_truth"),
        sum(score) if isinstance(score, list) else score, step=int(step[1]) if step else None,
        more={"source": line.get("data_source")},
    )  # fmt: skip


def _nemo_gym(line: Mapping[str, Any], file: Path) -> Iterator[Found]:
    """Yield one rollout: what ``verify`` returned, with the model's messages."""
    output = value_at(line, "response.output")
    said = [each for each in output if isinstance(each, Mapping) and each.get("type") == "message"] if output else []
    numbers = {name: came for name, came in line.items() if type(came) in (float, int) and name[:1] != "_"}
    yield Found(
        value_at(line, "responses_create_params.input"), prompt_text(said[-1]) if said else None, line.get("target"),
        line["reward"], numbers, valid=line.get("mask_sample") is not True, sample=line.get("_ng_task_index"),
    )  # fmt: skip


def _verifiers(line: Mapping[str, Any], file: Path) -> Iterator[Found]:
    """Yield the rollouts of an episode, one a trace; what no reward measured is not scored."""
    for trace in line["traces"] or ():
        data = value_at(trace, "task.data") or {}
        rewards = [each for each in (trace.get("rewards") or {}).values() if each]
        nodes = [each.get("message") for each in trace.get("nodes") or ()]
        yield Found(
            data.get("prompt"), trace.get("root_reply") or answer(nodes), data.get("target"),
            sum(each["score"] * each["weight"] for each in rewards) if rewards else None,
            dict(trace.get("metrics") or {}), value_at(line, "run.work.step"), bool(rewards),
            value_at(line, "task.key"), {"sample_id": name_of(data.get("id")) or None},
        )  # fmt: skip


def _areal(line: Mapping[str, Any], file: Path) -> Iterator[Found]:
    """Yield one rollout, at the version of the policy that ended it."""
    yield Found(
        line["prompt"], line["completion"], total=line["reward"], step=line["tail_version"], sample=line["task_id"]
    )


class Form(Struct, frozen=True):
    """The log of one trainer; ``step_files`` and ``open_log`` are as those of the modules beside this one."""

    kind: str
    needed: tuple[str, ...]  # keys of every line
    rollouts: Callable[[Mapping[str, Any], Path], Iterator[Found]]
    places: tuple[str, ...] = ()  # patterns of a run's files in its folder
    tables: bool = False  # True where a line is a table, lists of cells, that may be logged again before the next one

    def begins(self, line: Mapping[str, Any]) -> bool:
        """Return True for a line of this form."""
        there = {*self.needed} <= {*line}
        return there and (not self.tables or all(isinstance(line[key], list) for key in self.needed))

    def step_files(self, folder: Path) -> list[Path]:
        """Return the files of a run, by step."""
        there = {each for place in self.places for each in folder.glob(place) if each.name != _FIGURES}
        return regular_files(sorted(there, key=lambda each: ([int(n) for n in re.findall(r"\d+", str(each))], each)))

    def open_log(self, path: Path, files: Sequence[Path]) -> TrainerLog | None:
        """Open files of this form, some of which may be empty; None for files of something else."""
        return self.opened(path, files) if _form(files) is self else None

    def opened(self, path: Path, files: Sequence[Path]) -> TrainerLog:
        """Open files that are known to be of this form."""
        firsts = [(file, row) for file in files for row in first_lines(file, FIRST) if {*self.needed} <= {*row}]
        found = [each for file, row in firsts for each in self._found(file, "a first line", row)]
        numbers = dict.fromkeys(name for each in found for name, came in each.numbers.items() if came is not None)
        more = dict.fromkeys(name for each in found for name in each.more)
        parts = [name for name in numbers if name not in _NO_PARTS]
        verdicts = any(name in VERDICTS for name in numbers)
        read = partial(self._read, files, parts)
        return TrainerLog(self.kind, path, files, read, verdicts=verdicts, more=more, parts=parts, once=True)

    def _found(self, file: Path, place: str, line: Mapping[str, Any]) -> list[Found]:
        try:
            return [*self.rollouts(line, file)]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise TableError(
                f"{file}, {place}: is no line of the log of {self.kind} ({type(error).__name__}: {error})"
            ) from None

    def _read(self, files: Sequence[Path], parts: Sequence[str], left_out: Counter[str]) -> Iterator[Logged]:
        before: Any = None
        for file in files:
            try:
                held, at = digest(file), 0
                for place, _, line in read_lines(file, self.needed, left_out):
                    found = self._found(file, place, line)
                    content = [(each.prompt, each.response, each.total) for each in found]
                    if self.tables and len(found) > 1 and content == before:
                        left_out[REPEATED] += len(found)
                        continue
                    before = content
                    for offset, each in enumerate(found):
                        yield _logged(file, held, place, at + offset, each, parts)
                    at += len(found)
            except NoRowsError:
                left_out[EMPTY] += 1


def _logged(file: Path, held: str, place: str, at: int, found: Found, parts: Sequence[str]) -> Logged:
    scored = found.valid and number(found.numbers.get("valid", 1.0)) != 0.0
    verdict = next((name for name in VERDICTS if found.numbers.get(name) is not None), VERDICTS[0])
    own = {name: number(found.numbers.get(name)) if scored or name in _OURS else None for name in parts}
    apart = {"uid": found.sample} if isinstance(found.sample, str | int) else {}
    return Logged(
        file=file, digest=held, place=place, number=at, prompt=found.prompt, response=found.response,
        target=found.target, total=found.total, verdict=(verdict, found.numbers.get(verdict)), train_step=found.step,
        scored=scored, more={**found.more, **own}, apart=apart,
    )  # fmt: skip


FORMS = (
    Form("swift", ("prompt", "completion", "advantages"), _swift, ("completions.jsonl",), tables=True),
    Form(
        "skyrl", ("input_prompt", "output_response", "score", "env_class"), _skyrl,
        ("dumped_evals/global_step_*_evals/*.jsonl", "global_step_*_evals/*.jsonl"),
    ),
    Form("nemo_gym", ("responses_create_params", "response", "reward"), _nemo_gym),
    Form("verifiers", ("env", "task", "traces"), _verifiers, ("traces.jsonl",)),
    Form(
        "areal", ("task_id", "sample_idx", "prompt", "completion", "reward", "tail_version"), _areal,
        ("rollout/*/*.jsonl",),
    ),
)  # fmt: skip
"""Trainers' logs in JSON lines; a further one is a row."""


def open_log(path: Path, files: Sequence[Path]) -> TrainerLog | None:
    """Open files of any of these forms; None for files of something else."""
    form = _form(files)
    return None if form is None else form.opened(path, files)


def _form(files: Sequence[Path]) -> Form | None:
    """Return the form of the first line of files."""
    first = next((rows[0] for file in files if (rows := first_lines(file, 1))), {})
    return next((form for form in FORMS if form.begins(first)), None)
