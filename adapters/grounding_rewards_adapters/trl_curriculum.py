"""TRL: stages of a curriculum in one run, moved on by what the policy gets right.

``staged = stages("DIR", functions)``, then ``GRPOTrainer(reward_funcs=functions, train_dataset=staged.dataset,
callbacks=[staged.callback], ...)``. DIR is what ``grounding-rewards pool curriculum --data`` writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum import Gate
from grounding_rewards.pool.curriculum.progress import Progress
from grounding_rewards.spaces import Floats
from grounding_rewards_adapters._bridge import LOG
from grounding_rewards_adapters.trl import RecipeReward

MANIFEST = "curriculum.manifest.json"
COLUMN = "curriculum_stage"
"""The column that says which stage a row is of, so that results of a stage that was left do not count."""


def stages(
    source: str | os.PathLike[str] | Mapping[str, Any],
    functions: Sequence[RecipeReward],
    *,
    gate: Gate | None = None,
    epochs: int | Sequence[int] = 1,
    places: int | None = None,
) -> Stages:
    """A data set that shows one stage at a time, and the callback that moves it on.

    Args:
        source: the directory that ``grounding-rewards pool curriculum --data`` wrote, which has gate and epochs, too;
            or data sets by the name of their stage, in order.
        functions: what ``reward_funcs`` returned; they tell the callback ``acc`` of every rollout that is scored.
        gate: when to move on; None moves on after each stage's epochs.
        epochs: passes over each stage, where there is no gate: one number, or one a stage.
        places: length of the data set, which is what the trainer calls an epoch; None for the longest stage's. Place i
            shows row i modulo the length of the stage.

    Raises:
        PoolError: there is no such directory, a stage has no rows, or an argument does not fit.
    """
    if isinstance(source, Mapping):
        return Stages(dict(source), functions, gate, epochs, places)
    if gate is not None or epochs != 1:
        raise PoolError(f"{source}: its manifest has gate and epochs; give none beside it")
    named, gate, epochs = _read(Path(source))
    return Stages(named, functions, gate, epochs, places)


class Stages:
    """Stages of a curriculum in one run.

    Attributes:
        names: of the stages, in order.
        gate: when to move on; None after the stage's epochs.
        epochs: passes over each stage.
        progress: where the run is.
        moves: one a move, oldest first: ``step``, ``from``, ``to``, and ``success``, the mean that decided, or
            None without a gate.
        dataset: a ``datasets.Dataset`` for the trainer.
        callback: a ``TrainerCallback`` for the trainer.
    """

    def __init__(
        self,
        named: dict[str, Any],
        functions: Sequence[RecipeReward],
        gate: Gate | None,
        epochs: int | Sequence[int],
        places: int | None,
    ) -> None:
        self.names, self._data = tuple(named), tuple(named.values())
        self.gate = gate
        self.epochs = (epochs,) * len(self.names) if isinstance(epochs, int) else tuple(epochs)
        self._check(functions)
        self.progress, self.moves = Progress(), list[dict[str, Any]]()
        self._new, self._told = list[float | None](), False
        self.dataset = _dataset(_Lookup(self), max(map(len, self._data)) if places is None else places)
        self.callback = _callback(self)
        for function in functions:
            function.watch = self._watch

    @property
    def stage(self) -> str:
        """Name of the stage that rows are read from now."""
        return self.names[self.progress.stage]

    def observe(self, results: Sequence[float | None], stages: Sequence[str | None]) -> None:
        """Count results of rollouts, as the reward functions given do by themselves.

        Args:
            results: n numbers from 0 to 1; None where a rollout was not scored.
            stages: the column ``curriculum_stage`` of their rows. Others than the one that is trained on do not count.
        """
        self._told = True
        self._new += [result for result, stage in zip(results, stages, strict=True) if stage == self.stage]

    def move(self, step: int, num_generations: int = 1, gather: Callable[[list[Any]], list[Any]] = list) -> str:
        """Count what was observed since the last call, and move where the gate says so.

        Args:
            step: the trainer's step, for ``moves``.
            num_generations: rollouts a sample.
            gather: joins a list with those of the other processes that train, so that all of them decide alike.

        Returns:
            up, stay or down.
        """
        new = gather(self._new)
        self._new = []
        before = self.progress
        samples = len(new) / num_generations
        size = len(self._data[before.stage])
        self.progress, move = before.after(new, gate=self.gate, epochs=self.epochs, samples=samples, size=size)
        if move != "stay":
            success = self.gate.success([*before.results, *new]) if self.gate else None
            old = self.names[before.stage]
            self.moves.append({"step": step, "from": old, "to": self.stage, "success": success})
            LOG.info("curriculum: %s from stage %s to %s at step %d", move, old, self.stage, step)
        return move

    def state(self) -> dict[str, Any]:
        """Where the run is, in plain values."""
        return {"stages": list(self.names), **vars(self.progress), "moves": list(self.moves)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Be where a run was.

        Raises:
            PoolError: it had other stages.
        """
        if list(state["stages"]) != list(self.names):
            raise PoolError(f"checkpoint: has the stages {list(state['stages'])}; expected {list(self.names)}")
        self.progress = Progress(state["stage"], tuple(state["results"]), state["samples"])
        self.moves = [dict(move) for move in state["moves"]]

    def rows(self, places: Sequence[int]) -> dict[str, list[Any]]:
        """The rows of the present stage at some places."""
        data = self._data[self.progress.stage]
        found = data[[place % len(data) for place in places]]
        return {**found, COLUMN: [self.stage] * len(places)}

    def _watch(self, acc: Floats, valid: Floats, columns: Mapping[str, Any], metric: Any) -> None:
        shown = columns.get(COLUMN)
        if shown is None:  # evaluation
            return
        results = [right if usable else None for right, usable in zip(acc.tolist(), valid.tolist(), strict=True)]
        self.observe(results, shown)
        if metric is not None:
            metric("curriculum/stage", sum(self.names.index(name) + 1 for name in shown) / len(shown))

    def _check(self, functions: Sequence[RecipeReward]) -> None:
        if len(self.epochs) != len(self.names) or not all(type(each) is int and each >= 1 for each in self.epochs):
            raise PoolError(f"epochs: got {self.epochs!r:.80}; expected a whole number from 1 for each stage")
        if not self.names:
            raise PoolError("no stages are given; expected data sets by name")
        for name, data in zip(self.names, self._data, strict=True):
            if not len(data):
                raise PoolError(f"stage {name!r}: its data set has no rows")
            if "prompt" not in data.column_names or COLUMN in data.column_names:
                raise PoolError(
                    f"stage {name!r}: got the columns {', '.join(data.column_names)}; expected prompt, and no "
                    f"{COLUMN}: give `grounding-rewards pool curriculum` the training rows by --data"
                )
        for function in functions:
            if not isinstance(function, RecipeReward):
                raise PoolError(f"functions: got {function!r:.80}; expected what reward_funcs returned")


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


def _dataset(lookup: _Lookup, places: int) -> Any:
    from datasets import Dataset

    if type(places) is not int or places < 1:
        raise PoolError(f"places: got {places!r:.80}; expected a whole number from 1")
    return Dataset.from_dict({"place": list(range(places))}).with_transform(lookup)


def _callback(staged: Stages) -> Any:
    """A ``TrainerCallback`` whose state goes into the trainer's checkpoints."""
    from transformers import TrainerCallback
    from transformers.trainer_callback import ExportableState

    class StageCallback(TrainerCallback, ExportableState):
        """Made anew without arguments where a trainer restores callbacks, it is that of the same stages."""

        @property
        def progress(self) -> dict[str, Any]:
            return staged.state()

        @progress.setter
        def progress(self, state: Mapping[str, Any]) -> None:
            staged.restore(state)

        def state(self) -> dict[str, Any]:
            return {"args": {}, "attributes": {"progress": staged.state()}}

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if args.dataloader_num_workers or args.remove_unused_columns:
                raise PoolError(
                    f"dataloader_num_workers={args.dataloader_num_workers}, "
                    f"remove_unused_columns={args.remove_unused_columns}: expected 0, for a worker would go on reading "
                    "the stage it began with, and False"
                )
            # A checkpoint of a run without stages has none, and the trainer would miss it when it saves the next one.
            kept = state.stateful_callbacks.setdefault("StageCallback", self.state())
            staged.restore(kept["attributes"]["progress"])

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if not staged._told:
                raise PoolError(
                    "curriculum: the first step ended without a result; give the trainer the reward functions that "
                    "stages(..., functions) was given, and its train_dataset"
                )
            staged.move(state.global_step, args.num_generations, _gather(args.world_size))

    return StageCallback()


def _gather(processes: int) -> Callable[[list[Any]], list[Any]]:
    if processes == 1:
        return list
    from accelerate.utils import gather_object

    gather: Callable[[list[Any]], list[Any]] = gather_object
    return gather


def _read(folder: Path) -> tuple[dict[str, Any], Gate | None, tuple[int, ...]]:
    from datasets import Dataset

    path = folder / MANIFEST
    if not path.is_file():
        raise PoolError(f"{path}: no such file; expected a directory that `grounding-rewards pool curriculum` wrote")
    manifest = json.loads(path.read_text("utf-8"))
    named = {}
    for stage in manifest["stages"]:
        if stage.get("file") is None:
            raise PoolError(f"{path}: has weights in place of files; write it anew without --weights")
        file = folder / stage["file"]
        if not file.is_file():
            raise PoolError(f"{file}: no such file, which {path.name} names")
        read = Dataset.from_parquet if file.suffix == ".parquet" else Dataset.from_json
        named[stage["name"]] = read(str(file))
    gate = None if manifest["gate"] is None else Gate(**{name: manifest["gate"][name] for name in _GATE})
    return named, gate, tuple(stage["epochs"] for stage in manifest["stages"])


_GATE = ("success_above", "failure_below", "last_k")
