"""TRL: stages of a curriculum in one run, moved on by what the policy gets right.

``staged = stages("DIR", functions)``, then ``GRPOTrainer(reward_funcs=functions, train_dataset=staged.dataset,
callbacks=[staged.callback], args=GRPOConfig(shuffle_dataset=False, ...), ...)``. DIR is what ``grounding-rewards pool
curriculum --data`` writes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum import StageGate
from grounding_rewards.pool.curriculum.command import stage_files
from grounding_rewards.pool.curriculum.stages import Progress
from grounding_rewards_adapters._launch import LOG
from grounding_rewards_adapters.trl import RecipeReward

COLUMN = "curriculum_stage"
"""The column that says which stage a row is of, so that results of a stage that was left do not count."""


def stages(
    source: str | os.PathLike[str] | Mapping[str, Any],
    functions: Sequence[RecipeReward],
    *,
    gate: StageGate | None = None,
    epochs: int | Sequence[int] | None = None,
    places: int | None = None,
    seed: int = 0,
) -> Stages:
    """A data set that shows one stage at a time, and the callback that moves it on.

    Args:
        source: the directory that ``grounding-rewards pool curriculum --data`` wrote, which has gate and epochs, too;
            or data sets by the name of their stage, in order.
        functions: the list that ``reward_funcs`` returned; it tells the callback ``acc`` of every rollout it scores.
        gate: when to move on; None moves on after each stage's epochs.
        epochs: passes over each stage, where there is no gate: one number, or one a stage; None for one pass.
        places: length of the data set, which is what the trainer calls an epoch; None for the longest stage's.
        seed: of the order in which each stage's rows are shown.

    Raises:
        PoolError: there is no such directory, a stage has no rows, or an argument does not fit.
    """
    if isinstance(source, Mapping):
        if gate is not None and epochs is not None:
            raise PoolError("gate and epochs: with a gate, no stage ends after its epochs; leave one of the two out")
        return Stages(dict(source), functions, gate, 1 if epochs is None else epochs, places, seed)
    if gate is not None or epochs is not None:
        raise PoolError(f"{source}: its manifest has gate and epochs; give none beside it")
    files, gate, epochs = stage_files(source)
    return Stages({name: _rows(file) for name, file in files.items()}, functions, gate, epochs, places, seed)


class Stages:
    """Stages of a curriculum in one run.

    Attributes:
        names: of the stages, in order.
        gate: when to move on; None after the stage's epochs.
        epochs: passes over each stage.
        progress: where the run is.
        scored: how many samples of each stage have been scored, over all times that it was the present one.
        moves: one a move, oldest first: ``step``, ``from``, ``to``, and ``success``, the mean that decided, or
            None without a gate.
        dataset: a ``datasets.Dataset`` for the trainer.
        callback: a ``TrainerCallback`` for the trainer.
    """

    def __init__(
        self,
        named: dict[str, Any],
        functions: Sequence[RecipeReward],
        gate: StageGate | None,
        epochs: int | Sequence[int],
        places: int | None,
        seed: int,
    ) -> None:
        self.names, self._data = tuple(named), tuple(named.values())
        self.gate, self.epochs = gate, _per_stage(epochs, len(named))
        self._check(functions)
        self.progress, self.moves = Progress(), list[dict[str, Any]]()
        self.scored = [0.0] * len(named)
        self._new, self._observed = list[tuple[str, float | None]](), False
        if type(seed) is not int or seed < 0:
            raise PoolError(f"seed: got {seed!r:.80}; expected a whole number from 0")
        permuted = (
            # An order of its own for each stage, and the same in every process.
            np.random.default_rng([seed, stage]).permutation(len(data))
            for stage, data in enumerate(self._data)
        )
        self._orders: list[list[int]] = [order.tolist() for order in permuted]
        self._size, self._generation, self._shown, self._next = 0, -1, (0, 0), [0] * len(named)
        self.dataset = _dataset(self, max(map(len, self._data)) if places is None else places)
        self.callback = _callback(self)
        for function in functions:
            function.watch = self._watch

    @property
    def stage(self) -> str:
        """Name of the stage that rows are read from now."""
        return self.names[self.progress.stage]

    def observe(self, results: Sequence[float | None], stages: Sequence[str | None]) -> None:
        """Count results of rollouts, 0 to 1 or None, with the stage of each, as the reward functions do."""
        self._observed = True
        self._new += [(stage, result) for result, stage in zip(results, stages, strict=True) if stage in self.names]

    def move(self, step: int, num_generations: int = 1, gather: Callable[[list[Any]], list[Any]] = list) -> str:
        """Count what all processes observed, and move where the gate says so; return up, stay or down."""
        new = gather(self._new)
        self._new = []
        for stage, count in Counter(stage for stage, _ in new).items():
            self.scored[self.names.index(stage)] += count / num_generations  # rollouts to samples
        before = self.progress
        results = [result for stage, result in new if stage == self.stage]
        samples = len(results) / num_generations
        size = len(self._data[before.stage])
        self.progress, move = before.after(results, gate=self.gate, epochs=self.epochs, samples=samples, size=size)
        if move != "stay":
            success = self.gate.success([*before.results, *results]) if self.gate else None
            old = self.names[before.stage]
            self.moves.append({"step": step, "from": old, "to": self.stage, "success": success})
            LOG.info("curriculum: %s from stage %s to %s at step %d", move, old, self.stage, step)
        return move

    def state(self) -> dict[str, Any]:
        """Return the place of the run in the curriculum, in plain values."""
        listed = {"stages": list(self.names), "moves": list(self.moves), "scored": list(self.scored)}
        return {**listed, **vars(self.progress)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the place of a run; a PoolError where it had other stages."""
        if list(state["stages"]) != list(self.names):
            raise PoolError(f"checkpoint: has the stages {list(state['stages'])}; expected {list(self.names)}")
        self.progress = Progress(state["stage"], tuple(state["results"]), state["samples"])
        self.moves = [dict(move) for move in state["moves"]]
        self.scored = list(state["scored"])
        self._next = [round(samples) for samples in self.scored]

    def begin(self, size: int = 0) -> None:
        """Walk on through the rows from now, ``size`` places a generation; 0 shows rows without walking on."""
        self._size, self._generation = size, -1

    def rows(self, places: Sequence[int]) -> dict[str, list[Any]]:
        """Return the rows at some places of one generation: the same ones, by whomever they are read."""
        if not self._size:
            self._shown = self.progress.stage, self._next[self.progress.stage]
        elif places[0] // self._size > self._generation:
            self._generation, stage = places[0] // self._size, self.progress.stage
            self._shown = stage, self._next[stage]
            self._next[stage] += self._size
        stage, first = self._shown
        order = self._orders[stage]
        own = [order[(first + place % (self._size or len(order))) % len(order)] for place in places]
        return {**self._data[stage][own], COLUMN: [self.names[stage]] * len(places)}

    def _watch(self, acc: Floats, valid: Floats, columns: Mapping[str, Any], metric: Any) -> None:
        shown = columns.get(COLUMN)
        if shown is None:  # evaluation
            return
        results = [right if usable else None for right, usable in zip(acc.tolist(), valid.tolist(), strict=True)]
        self.observe(results, shown)
        if metric is not None:
            metric("curriculum/stage", sum(self.names.index(name) + 1 for name in shown) / len(shown))

    def _check(self, functions: Sequence[RecipeReward]) -> None:
        from datasets import Dataset

        if not self.names:
            raise PoolError("no stages are given; expected data sets by name")
        for name, data in zip(self.names, self._data, strict=True):
            if not (isinstance(name, str) and isinstance(data, Dataset)):
                raise PoolError(
                    f"stage {name!r:.80}: got {data!r:.80}; expected a datasets.Dataset by the stage's name"
                )
            if not len(data):
                raise PoolError(f"stage {name!r}: its data set has no rows")
            if "prompt" not in data.column_names or COLUMN in data.column_names:
                raise PoolError(
                    f"stage {name!r}: got the columns {', '.join(data.column_names)}; expected prompt, and no "
                    f"{COLUMN}: give `grounding-rewards pool curriculum` the training rows by --data"
                )
        if not (self.gate is None or isinstance(self.gate, StageGate)):
            raise PoolError(f"gate: got {self.gate!r:.80}; expected a StageGate, or None")
        _check_functions(functions)


def _check_functions(functions: Sequence[RecipeReward]) -> None:
    rewards = list(functions) if isinstance(functions, list | tuple) else []
    if not rewards or not all(isinstance(function, RecipeReward) for function in rewards):
        raise PoolError(f"functions: got {functions!r:.80}; expected what reward_funcs returned, a list")
    if len({id(function.batches) for function in rewards}) > 1:
        names = ", ".join(function.__name__ for function in rewards)
        raise PoolError(
            f"functions: got {names}, of several calls of reward_funcs, which each score every rollout; give those of "
            "one, whose acc decides, and the trainer all of them"
        )


def _rows(file: Path) -> Any:
    from datasets import Dataset
    from datasets.exceptions import DatasetGenerationError

    read = Dataset.from_parquet if file.suffix == ".parquet" else Dataset.from_json
    try:
        return read(str(file))
    except DatasetGenerationError as error:
        raise PoolError(f"{file}: cannot be read ({error.__cause__ or error})") from None


def _per_stage(epochs: Any, stages: int) -> tuple[int, ...]:
    counts = (epochs,) * stages if isinstance(epochs, int) else epochs
    good = isinstance(counts, list | tuple) and len(counts) == stages
    if not (good and all(type(each) is int and each >= 1 for each in counts)):
        raise PoolError(f"epochs: got {epochs!r:.80}; expected a whole number from 1 for each stage")
    return tuple(counts)


class _Lookup:
    """Places to rows of the present stage. A copy of the data set looks them up in the same stages."""

    def __init__(self, staged: Stages) -> None:
        self.staged = staged

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        return self.staged.rows(batch["place"])

    def __deepcopy__(self, memo: Any) -> _Lookup:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Data sets hash their transforms by pickling them; all rows of all stages need not go through that.
        return str, (f"{self.staged.names} {[getattr(data, '_fingerprint', '') for data in self.staged._data]}",)


def _dataset(staged: Stages, places: int) -> Any:
    from datasets import Dataset

    if type(places) is not int or places < 1:
        raise PoolError(f"places: got {places!r:.80}; expected a whole number from 1")
    return Dataset.from_dict({"place": list(range(places))}).with_transform(_Lookup(staged))


def _callback(staged: Stages) -> Any:
    """Make a ``TrainerCallback`` whose state goes into the trainer's checkpoints."""
    from transformers import TrainerCallback
    from transformers.trainer_callback import ExportableState

    class StageCallback(TrainerCallback, ExportableState):
        """Made again without arguments where a trainer restores callbacks, it is that of the same stages."""

        @property
        def progress(self) -> dict[str, Any]:
            return staged.state()

        @progress.setter
        def progress(self, state: Mapping[str, Any]) -> None:
            staged.restore(state)

        def state(self) -> dict[str, Any]:
            return {"args": {}, "attributes": {"progress": staged.state()}}

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            _check_settings(args, len(staged.dataset))
            # A checkpoint of a run without stages has none, and the trainer would miss it when it saves the next one.
            kept = state.stateful_callbacks.setdefault("StageCallback", self.state())
            staged.restore(kept["attributes"]["progress"])

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            staged.begin(args.generation_batch_size // args.num_generations)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            staged.begin()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if not staged._observed:
                raise PoolError(
                    "curriculum: the first step ended without a result; give the trainer the reward functions that "
                    "stages(..., functions) was given, and its train_dataset"
                )
            staged.move(state.global_step, args.num_generations, _gather(args.world_size))

    return StageCallback()


def _check_settings(args: Any, places: int) -> None:
    wanted = {
        "dataloader_num_workers": (0, "for a worker would go on reading the stage it began with"),
        "remove_unused_columns": (False, "for places are looked up by a column of their own"),
        "shuffle_dataset": (False, "for the stages walk through their rows in an order of their own"),
    }
    for name, (value, why) in wanted.items():
        if getattr(args, name) != value:
            raise PoolError(f"{name}={getattr(args, name)}: expected {value}, {why}")
    prompts = args.generation_batch_size // args.num_generations
    if places < prompts:
        raise PoolError(f"places: the data set has {places}; expected {prompts}, the prompts of a generation, or more")


def _gather(processes: int) -> Callable[[list[Any]], list[Any]]:
    if processes == 1:
        return list
    from accelerate.utils import gather_object

    return gather_object  # type: ignore[no-any-return]
