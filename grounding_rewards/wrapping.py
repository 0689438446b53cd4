"""A reward function that you have as a recipe: called as its trainer calls it, and nothing that it does ends a run.

Contracts say how a function is called; the names of its parameters say which one it has:

- ``verl``: ``fn(data_source=, solution_str=, ground_truth=, extra_info=)``, a number or a dict with ``score``;
- ``trl`` and ``swift``: ``fn(completions=, **columns)``, a list of numbers; of ms-swift the class is built first;
- ``easyr1``: ``fn({"response", "response_length", "ground_truth"})``, a dict with ``overall``; ``easyr1-batch`` of a
  list;
- ``openrlhf``: ``fn(queries, prompts, labels)``, numbers or a dict with ``rewards``;
- ``plain``: ``fn(response, target)``, a number; ``plain-batch``: ``fn(responses, targets)``, n numbers.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.errors import RecipeError, short_repr
from grounding_rewards.plugins.loading import load
from grounding_rewards.recipes._shared import dialect_named
from grounding_rewards.rollouts import Reason, Rollouts, Scores
from grounding_rewards.scoring import KINDS, Example, Recipe, Source
from grounding_rewards.targets.columns import BadTarget, Targets
from grounding_rewards.targets.requirements import Requirements
from grounding_rewards.verifiers.each_row import own_value
from grounding_rewards.verifiers.options import Number, Positive
from grounding_rewards.verifiers.terms import Term

Contract = Literal["auto", "verl", "trl", "easyr1", "easyr1-batch", "swift", "openrlhf", "plain", "plain-batch"]

FAILED = "failed"
"""The part that is 1.0 where the function gave no usable number."""

_GIVEN = "given"
_BOUND = 1e9
_BATCHES = frozenset({"trl", "swift", "easyr1-batch", "openrlhf", "plain-batch"})
_TOTALS, _SUCCESSES = ("score", "overall", "reward", "rewards", "total"), ("acc", "accuracy", "success")
_BY_PARAMETERS: Mapping[str, frozenset[str]] = {
    "trl": frozenset({"completions"}),
    "verl": frozenset({"solution_str"}),
    "easyr1-batch": frozenset({"reward_inputs"}),
    "easyr1": frozenset({"reward_input"}),
    "openrlhf": frozenset({"queries", "labels"}),
}


_Run = Callable[[Sequence[Mapping[str, Any]]], list["Outcome"]]


@dataclass(frozen=True)
class Outcome:
    """Result of a function for one row: its total and success, or what it did in place of returning a number."""

    total: float = 0.0
    success: bool | None = None
    fault: str = ""
    said: Any = None


def contract_of(fn: Any) -> str | None:
    """Return how a function is called, by the names of its parameters; None where they do not say."""
    try:
        called = fn.__call__ if isinstance(fn, type) else fn
        parameters = [each for each in inspect.signature(called).parameters.values() if each.name != "self"]
    except (TypeError, ValueError):
        return None
    names = {each.name for each in parameters}
    for contract, known in _BY_PARAMETERS.items():
        if known <= names:
            return "swift" if isinstance(fn, type) and contract == "trl" else contract
    placed = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    asked = [each.name for each in placed if each.default is each.empty]
    if isinstance(fn, type) or len(asked) != 2 or asked[0] == "rollouts":
        return None
    return "plain-batch" if asked[0].endswith("s") and asked[1].endswith("s") else "plain"


def wrap(
    fn: Callable[..., Any] | str,
    contract: Contract = "auto",
    *,
    success: Number = 1.0,
    low: Number = -_BOUND,
    high: Number = _BOUND,
    response_space: CoordSpace | str = CoordSpace.PIXEL,
    time_limit: Positive | None = None,
    example: Any = "(500, 300)",
) -> Recipe:
    """Make a recipe of a reward function as its trainer calls it.

    ``total`` is what it returns. Where it raises, exits, or returns no finite number within the bounds, the total is
    0.0 and the part ``failed`` is 1.0; ``faults`` of the scores says of each such row what happened. A function of a
    batch that fails is called again with halves of it, so that one row costs no other. Targets are handed over as they
    were given, and of a response its last 64 KiB.

    Args:
        fn: the function, or its ``module:attr`` or ``/path/file.py:attr``.
        contract: how it is called, as the module says; ``"auto"`` tells by its parameters.
        success: a total from which on a response counts as right, where the function does not return ``acc``.
        low: the lowest total that it may return.
        high: the highest.
        response_space: the space in which places are read from responses, for what is shown beside the scores.
        time_limit: seconds that one call may take; it then runs in a process of its own, so ``fn`` must be one that can
            be imported. None calls it here.
        example: an answer with a place in the form that it reads, a text or the object of its JSON, in which policies
            of ``audit`` answer.

    Returns:
        A recipe that works wherever others do; it is picklable where ``fn`` is.

    Raises:
        RecipeError: it cannot be called, the contract is unknown, or its parameters do not tell one.

    >>> def mine(response, target):
    ...     x, y = map(int, response.strip("()").split(","))
    ...     return float(target["bbox"][0] <= x <= target["bbox"][2])
    >>> scores = wrap(mine).score(["(5, 5)", "(50, 5)", "no idea"], [{"bbox": [1, 1, 9, 9]}] * 3)
    >>> scores.total, scores.parts["failed"]
    (array([1., 0., 0.]), array([0., 0., 1.]))
    """
    name = fn if isinstance(fn, str) else _name(fn)
    function: Any = load(fn) if isinstance(fn, str) else fn
    if not callable(function):
        raise RecipeError(f"wrap(fn): got {short_repr(fn)}; expected a reward function")
    if contract not in get_args(Contract):
        raise RecipeError(f"{name}: contract: got {contract!r:.60}; expected one of {', '.join(get_args(Contract))}")
    how = contract_of(function) if contract == "auto" else contract
    if how is None:
        raise RecipeError(f"{name}: its parameters tell no contract; say one of {', '.join(get_args(Contract)[1:])}")
    if isinstance(function, type):
        function = function()
    space, call = as_space(response_space), _Called(function, how, float(low), float(high), time_limit)
    options = {
        "contract": contract, "success": success, "low": low, "high": high, "response_space": space,
        "time_limit": time_limit, "example": example,
    }  # fmt: skip
    defaults = inspect.signature(wrap).parameters
    kept = {key: value for key, value in options.items() if value != defaults[key].default}
    return WrappedRecipe(
        name=name,
        dialect=dialect_named("auto"),
        reward=call,
        success=_Succeeds(call, float(success)),
        space=space,
        response_space=space,
        target_space=space,
        accepts=frozenset(KINDS),
        source=Source(paper="your own"),
        trim=False,
        options=tuple(sorted(kept.items())),
        example=Example(example if isinstance(example, str) else json.dumps(example), {"bbox": [450, 250, 550, 350]}),
        formula=f"total = what {name.rpartition(':')[2]} returns, called as by {how.partition('-')[0]}",
    )


@dataclass(frozen=True, repr=False)
class WrappedRecipe(Recipe):
    """A recipe whose total is what a function returns."""

    reward: _Called
    success: _Succeeds

    reads_itself = True

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of ``Scores.parts``: which rows the function failed on."""
        return (FAILED,)

    @property
    def reads_extras(self) -> bool:
        """Always True: contracts hand over all columns."""
        return True

    @property
    def requirements(self) -> Requirements:
        """Requirements on targets: none, for the function judges them."""
        return replace(super().requirements, label_free=True, checks=())

    def read_targets(
        self, targets: Any, *, bad_target: BadTarget = "raise", warn: bool = True, box_format: str | None = None
    ) -> Targets:
        """Keep targets as they were given, beside their names and image sizes."""
        if isinstance(targets, Targets):
            return targets
        return Targets.from_list(
            [_kept(target) for target in targets], space=self.target_space, bad_target=bad_target, label_free=True
        )

    def evaluate(self, rollouts: Rollouts) -> WrappedScores:
        """Score rollouts by one call of the function for each row or batch."""
        found = self.reward.outcomes(rollouts)
        total = np.array([each.total for each in found], dtype=np.float64)
        valid = rollouts.targets.valid
        return WrappedScores(
            total=np.where(valid, total, 0.0),
            acc=np.where(valid, [self.success.of(each) for each in found], 0.0).astype(np.float64),
            valid=valid.astype(np.float64),
            parts={FAILED: np.array([bool(each.fault) for each in found], dtype=np.float64)},
            reason=np.where(valid, rollouts.predictions.reason, np.int8(Reason.BAD_TARGET)),
            predictions=rollouts.predictions,
            errors=rollouts.targets.errors,
            faults={row: each.fault for row, each in enumerate(found) if each.fault and valid[row]},
        )


@dataclass(frozen=True, eq=False)
class WrappedScores(Scores):
    """Scores of a function."""

    # What the function did in place of returning a usable number, by row.
    faults: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Called(Term):
    """The total that the function returns; 0.0 where it returns none."""

    fn: Callable[..., Any]
    contract: str
    least: float  # what it may return
    most: float
    time_limit: float | None

    @property
    def low(self) -> float:
        return min(self.least, 0.0)

    @property
    def high(self) -> float:
        return max(self.most, 0.0)

    def __call__(self, rollouts: Rollouts) -> Floats:
        return np.array([each.total for each in self.outcomes(rollouts)], dtype=np.float64)

    def row_numbers(self, rollouts: Rollouts, row: int, score: float) -> dict[str, str]:
        """Return what the function returned for a row, or did in its place."""
        found = self.outcomes(rollouts)[row]
        return {"the function": found.fault or f"returned {short_repr(found.said)}"}

    def outcomes(self, rollouts: Rollouts) -> list[Outcome]:
        """Return the outcome of each row."""
        rows = [_arguments(rollouts, row) for row in range(len(rollouts))]
        calls = [rows] if self.contract in _BATCHES else [[row] for row in rows]
        with nullcontext(self.of) if self.time_limit is None else _in_process(self, self.time_limit) as run:
            return [found for call in calls for found in run(call)]

    def of(self, rows: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        """Call the function for rows; where it fails for several, for halves of them."""
        try:
            returned = _returned(self.fn, self.contract, rows)
            fault = "" if len(returned) == len(rows) else f"returned {len(returned)} numbers for {len(rows)} responses"
        except (Exception, SystemExit, GeneratorExit) as error:
            fault, returned = f"raised {type(error).__name__}: {error}"[:300], []
        if not fault:
            return [self.read(each) for each in returned]
        return _halved(self.of, rows, fault)

    def read(self, value: Any) -> Outcome:
        """Read what the function returned for one row."""
        success, said = None, value
        if isinstance(value, Mapping):
            success = next((value[key] for key in _SUCCESSES if key in value), None)
            value = next((value[key] for key in _TOTALS if key in value), value)
        number = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
        if not isinstance(number, bool | int | float):
            return Outcome(fault=f"returned {short_repr(said)}")
        try:
            total = float(number)
        except OverflowError:
            total = math.inf
        if not self.least <= total <= self.most:  # NaN, too
            return Outcome(fault=f"returned {total:g}, outside {self.least:g} to {self.most:g}")
        return Outcome(total, None if success is None else bool(success), said=said)


@dataclass(frozen=True)
class _Succeeds(Term):
    """1.0 where the function calls the response right, or returns at least the total of a success."""

    call: _Called
    least: float

    def __call__(self, rollouts: Rollouts) -> Floats:
        return np.array([self.of(each) for each in self.call.outcomes(rollouts)], dtype=np.float64)

    def of(self, found: Outcome) -> bool:
        """Return True where an outcome is a success."""
        return not found.fault and (found.total >= self.least if found.success is None else found.success)


def _kept(target: Any) -> Any:
    """Return a target that holds another as it was given, with its own name and sizes where they can be read."""
    if isinstance(target, Exception):
        return target
    own: dict[str, Any] = {}
    if isinstance(target, Mapping):
        size, name = target.get("image_size"), target.get("id")
        own = {"image_size": size} if isinstance(size, list | tuple) and len(size) == 2 else {}
        own |= {"id": name} if isinstance(name, str | int) and not isinstance(name, bool) else {}
    return {**own, "extra": {_GIVEN: target}}


def _arguments(rollouts: Rollouts, row: int) -> dict[str, Any]:
    """Return a row's response, target and columns."""
    target, rows = rollouts.targets.rows[row], len(rollouts)
    columns = {name: own_value(column, row, rows) for name, column in rollouts.extras.items()}
    given = None if target is None or target.extra is None else target.extra[_GIVEN]
    return {"response": rollouts.text[row], "target": given, "columns": columns}


def _returned(fn: Callable[..., Any], contract: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Call a function as its trainer does; return what it made of each row."""
    responses, targets = [row["response"] for row in rows], [row["target"] for row in rows]
    columns = {name: [row["columns"].get(name) for row in rows] for name in rows[0]["columns"]}
    if contract == "verl":
        own = rows[0]["columns"]
        source, more = own.get("data_source", ""), own.get("extra_info", own)
        return [fn(data_source=source, solution_str=responses[0], ground_truth=targets[0], extra_info=more)]
    if contract == "plain":
        return [fn(responses[0], targets[0])]
    if contract in ("easyr1", "easyr1-batch"):
        inputs = [
            {**row["columns"], "response": text, "response_length": len(text), "ground_truth": target}
            for row, text, target in zip(rows, responses, targets, strict=True)
        ]
        return [fn(inputs[0])] if contract == "easyr1" else list(fn(inputs))
    if contract in ("trl", "swift"):
        chat = any(isinstance(prompt, list) for prompt in columns.get("prompt", ()))
        completions = [[{"role": "assistant", "content": text}] if chat else text for text in responses]
        named = {"target": targets, **{name: column for name, column in columns.items() if name != "completions"}}
        named |= {"prompts": named.pop("prompt")} if "prompt" in named else {}
        return list(fn(completions=completions, **named))
    if contract == "openrlhf":
        prompts = columns.get("prompt", [""] * len(rows))
        returned = fn([f"{prompt}{text}" for prompt, text in zip(prompts, responses, strict=True)], prompts, targets)
    else:
        returned = fn(responses, targets)
    if isinstance(returned, Mapping):
        returned = next((returned[key] for key in _TOTALS if key in returned), returned)
    return list(returned.tolist() if hasattr(returned, "tolist") else returned)


def _halved(run: _Run, rows: Sequence[Mapping[str, Any]], fault: str) -> list[Outcome]:
    """Return the outcomes of rows that failed together, each half by itself; of one row its fault."""
    half = len(rows) // 2
    return [*run(rows[:half]), *run(rows[half:])] if half else [Outcome(fault=fault)] * len(rows)


@contextmanager
def _in_process(call: _Called, seconds: float) -> Iterator[_Run]:
    """Yield what calls a function in another process, which ends with it, and begins again after the time limit."""
    from multiprocessing import get_context

    context, ours, worker = get_context("spawn"), None, None

    def run(rows: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        nonlocal ours, worker
        if worker is None or ours is None:
            ours, theirs = context.Pipe()
            worker = context.Process(target=_serve, args=(theirs, call), daemon=True)
            worker.start()
            theirs.close()
            ours.recv()  # it has started
        try:
            ours.send(rows)
            fault = f"took longer than {seconds:g} s" if not ours.poll(seconds) else ""
            if not fault:
                found: list[Outcome] = ours.recv()
                return found
        except (EOFError, OSError):
            fault = "ended its process"
        worker.kill()
        worker.join()
        worker = None
        return _halved(run, rows, fault)

    try:
        yield run
    finally:
        if worker is not None:
            worker.kill()
            worker.join()


def _serve(pipe: Any, call: _Called) -> None:
    sys.stdout = sys.stderr  # results alone go there
    pipe.send(None)
    with suppress(EOFError):
        while True:
            pipe.send(call.of(pipe.recv()))


def _name(fn: Any) -> str:
    """Return the place of a function by which it can be imported, as far as it has one."""
    module, name = getattr(fn, "__module__", ""), getattr(fn, "__qualname__", type(fn).__name__)
    return f"{module}:{name}" if module else name
