"""Trainers' logs in JSON lines: what their lines are known by, and where rollouts stand in them.

Read of their sources: verl 0.9.1 dumps a file STEP.jsonl a step with ``trainer.rollout_data_dir`` and
``trainer.validation_data_dir``, ms-swift 4.6 writes ``completions.jsonl`` with ``--log_completions true``, SkyRL 0.4
``dumped_evals`` of evaluations, NeMo-Gym 0.7 the file of ``gym eval run --output``, verifiers 0.4 ``traces.jsonl``, and
AReaL 1.0 ``rollout`` with ``rollout.dump_to_file``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from grounding_rewards.errors import TableError
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.manifests import digest
from grounding_rewards.tables.prompts import answer, prompt_text
from grounding_rewards.tables.rollout_columns import COLUMNS, IMAGE_HASH
from grounding_rewards.tables.rows import NoRowsError, value_at
from grounding_rewards.tables.sample_ids import name_of
from grounding_rewards.tables.trainer_logs.logged import (
    EMPTY,
    FIRST,
    REPEATED,
    VERDICTS,
    Line,
    Logged,
    TrainerLog,
    first_lines,
    missing,
    number,
    read_lines,
)

_OURS = ("valid", "parsed", "in_image")
"""Numbers that this package's adapters give beside the parts; of a target that cannot be used ``valid`` is 0."""

_NO_PARTS = {*COLUMNS, *VERDICTS, "valid", "reward", "num_turns"}


class Found(Struct, frozen=True):
    """One rollout of a line."""

    prompt: Any
    response: Any
    target: Any = None
    total: Any = None
    numbers: Mapping[str, Any] = {}  # all others, a verdict among them
    step: Any = None
    valid: bool | None = None  # False where the reward measures nothing; None for what the number ``valid`` says
    apart: Mapping[str, Any] = {}  # what tells apart samples of one content in one step
    more: Mapping[str, Any] = {}
    image: Any = None


_USUAL = ("input", "output", "score", "gts", "step")
_OTHERS = ("source", "sample_id", "policy", "temperature", "round")
_NO_NUMBERS = frozenset((*_USUAL, "uid", "request_id", "overall", "index", "data_source"))
_IMAGES = (*GUESSED["image"], IMAGE_HASH)
_SESSION = re.compile(r"(.+_\d+)_(\d+)")  # of a uid PROMPT_SESSION_TURN


def _verl(line: Mapping[str, Any], file: Path) -> Iterator[Found]:
    """Yield one rollout, with what the reward function returned beside the score.

    Training dumps of ``trainer.use_v1`` hold a ``uid`` and nothing more: those need to be scored.
    """
    session, more = _session(line), {name: line[name] for name in _OTHERS if name in line}
    if more.get("source") is None and "data_source" in line:
        more["source"] = line["data_source"]
    yield Found(
        line["input"], line["output"], line.get("gts"), line["score"],
        line, line.get("step"),
        # What this package's adapter gives where a target cannot be used is no score.
        not ({*_OURS} <= line.keys() and number(line["valid"]) == 0.0),
        {"uid": session[1].rpartition("_")[0] if session else line.get("uid"), "index": line.get("index")},
        more, next((line[key] for key in _IMAGES if line.get(key) is not None), None),
    )  # fmt: skip


def _session(line: Mapping[str, Any]) -> re.Match[str] | None:
    return _SESSION.fullmatch(line["uid"]) if isinstance(line.get("uid"), str) else None


def _is_dump(line: Mapping[str, Any], path: Path) -> bool:
    """Return True for a line of verl's; raise where it nearly is one."""
    lacks = [key for key in _USUAL if key not in line]
    if line.keys() & {"sample_id", "response"} or len(lacks) > 2:  # of a rollout table
        return False
    if {*lacks} < {"gts", "step"}:
        return True
    raise TableError(
        f"{path}: looks like a dump of verl, but lacks {', '.join(lacks)}; expected {', '.join(_USUAL)} in each line, "
        "as trainer.rollout_data_dir makes verl write them. A rollout table has a column sample_id"
    )


def _last_of_sessions(lines: Iterable[Line], left_out: Counter[str]) -> Iterator[Line]:
    """Yield the last of several answers in one session, which stand side by side: its score is the session's."""
    held: Line | None = None
    session, turn = "", 0
    for line in lines:
        match = _session(line[2])
        now = (match[1], int(match[2])) if match else ("", 0)
        if held is not None and match and now[0] == session and now[1] > turn:
            left_out["answers before a session's last"] += 1
        elif held is not None:
            yield held
        held, (session, turn) = line, now
    if held is not None:
        yield held


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
        line["reward"], numbers, valid=False if line.get("mask_sample") is True else None,
        apart={"uid": line.get("_ng_task_index")},
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
            dict(trace.get("metrics") or {}), value_at(line, "run.work.step"), None if rewards else False,
            {"uid": value_at(line, "task.key")}, {"sample_id": name_of(data.get("id")) or None},
        )  # fmt: skip


def _areal(line: Mapping[str, Any], file: Path) -> Iterator[Found]:
    """Yield one rollout, at the version of the policy that ended it."""
    apart = {"uid": line["task_id"]}
    yield Found(line["prompt"], line["completion"], total=line["reward"], step=line["tail_version"], apart=apart)


class Form(Struct, frozen=True):
    """The log of one trainer; ``step_files`` and ``open_log`` are as those of the modules beside this one."""

    kind: str
    needed: tuple[str, ...]  # keys of every line
    rollouts: Callable[[Mapping[str, Any], Path], Iterator[Found]]
    places: tuple[str, ...] = ()  # patterns of a run's files in its folder
    names: str = ".*"  # and of their names
    tables: bool = False  # True where a line is a table, lists of cells, that may be logged again before the next one
    taken: frozenset[str] = frozenset()  # keys of lines that are no numbers beside the total
    once: bool = True  # True where a log without steps is of one round
    is_line: Callable[[Mapping[str, Any], Path], bool] | None = None  # where a line is known by more than these keys
    # Lines that count, of those of which each has one rollout, beside numbers fields of any kind.
    chosen: Callable[[Iterable[Line], Counter[str]], Iterator[Line]] | None = None

    def begins(self, line: Mapping[str, Any], path: Path) -> bool:
        """Return True for a line of this form."""
        if self.is_line is not None:
            return self.is_line(line, path)
        there = {*self.needed} <= {*line}
        return there and (not self.tables or all(isinstance(line[key], list) for key in self.needed))

    def step_files(self, folder: Path) -> list[Path]:
        """Return the files of a run, by step."""
        there = {each for place in self.places for each in folder.glob(place) if re.fullmatch(self.names, each.name)}
        return regular_files(sorted(there, key=lambda each: ([int(n) for n in re.findall(r"\d+", str(each))], each)))

    def open_log(self, path: Path, files: Sequence[Path]) -> TrainerLog | None:
        """Open files of this form, some of which may be empty; None for files of something else."""
        return self.opened(path, files) if _form(path, files) is self else None

    def opened(self, path: Path, files: Sequence[Path]) -> TrainerLog:
        """Open files that are known to be of this form."""
        firsts = {file: first_lines(file, FIRST) for file in files}
        for file, rows in firsts.items():
            if self.is_line is not None and rows and not self.is_line(rows[0], file):
                raise TableError(f"{file}: is no dump of {self.kind}, unlike files beside it; move it elsewhere")
        found = [
            each
            for file, rows in firsts.items()
            for row in rows if {*self.needed} <= {*row}
            for each in self._found(file, "a first line", row)
        ]  # fmt: skip
        numbers = defaultdict[str, list[Any]](list)
        for name, came in ((name, came) for each in found for name, came in each.numbers.items() if came is not None):
            numbers[name].append(came)
        taken = self.taken | _NO_PARTS
        parts = [name for name, values in numbers.items() if name not in taken and self._are_numbers(values)]
        return TrainerLog(
            self.kind, path, files, partial(self._read, files, parts), verdicts=not numbers.keys().isdisjoint(VERDICTS),
            more=dict.fromkeys(name for each in found for name in each.more), parts=parts, once=self.once,
        )  # fmt: skip

    def _are_numbers(self, values: Sequence[Any]) -> bool:
        return self.chosen is None or {number(each) is not None for each in values if not missing(each)} == {True}

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
                lines = read_lines(file, self.needed, left_out)
                for place, row, line in lines if self.chosen is None else self.chosen(lines, left_out):
                    at = at if self.chosen is None else row
                    found = self._found(file, place, line)
                    content = [(each.prompt, each.response, each.total) for each in found] if self.tables else []
                    if len(content) > 1 and content == before:
                        left_out[REPEATED] += len(found)
                        continue
                    before = content
                    for offset, each in enumerate(found):
                        logged = _logged(file, held, place, at + offset, each, parts)
                        for part in parts if self.chosen is not None else ():
                            came = each.numbers.get(part)
                            if logged.more[part] is None and not missing(came) and number(came) is None:
                                raise logged.wrong(part, came, "a number, as in the first rows, or null")
                        yield logged
                    at += len(found)
            except NoRowsError:
                left_out[EMPTY] += 1


def _logged(file: Path, held: str, place: str, at: int, found: Found, parts: Sequence[str]) -> Logged:
    scored = number(found.numbers.get("valid", 1.0)) != 0.0 if found.valid is None else found.valid
    verdict = next((name for name in VERDICTS if found.numbers.get(name) is not None), VERDICTS[0])
    own = {name: number(found.numbers.get(name)) if scored or name in _OURS else None for name in parts}
    apart = {name: mark for name, mark in found.apart.items() if isinstance(mark, str | int)}
    return Logged(
        file=file, digest=held, place=place, number=at, prompt=found.prompt, response=found.response,
        target=found.target, total=found.total, verdict=(verdict, found.numbers.get(verdict)), train_step=found.step,
        scored=scored, more={**found.more, **own}, image=found.image, apart=apart,
    )  # fmt: skip


FORMS = (
    Form(
        "verl", ("input", "output", "score"), _verl, ("*.jsonl",), r"\d+\.jsonl", taken=_NO_NUMBERS,
        once=False, is_line=_is_dump, chosen=_last_of_sessions,
    ),
    Form("swift", ("prompt", "completion", "advantages"), _swift, ("completions.jsonl",), tables=True),
    Form(
        "skyrl", ("input_prompt", "output_response", "score", "env_class"), _skyrl,
        ("dumped_evals/global_step_*_evals/*.jsonl", "global_step_*_evals/*.jsonl"),
        "(?!aggregated_results.jsonl).*",
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
    form = _form(path, files)
    return None if form is None else form.opened(path, files)


def _form(path: Path, files: Sequence[Path]) -> Form | None:
    """Return the form of the first line of files."""
    first = next((rows[0] for file in files if (rows := first_lines(file, 1))), {})
    return next((form for form in FORMS if form.begins(first, path)), None)
