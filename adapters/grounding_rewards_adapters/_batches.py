"""Batches as TRL hands them over: columns in, scores out, computed once for all functions of a list."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch, Sizes
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.tables.prompts import answer
from grounding_rewards_adapters import _bridge, _groups
from grounding_rewards_adapters._completions import response_text
from grounding_rewards_adapters._images import image_sizes, prompt_images
from grounding_rewards_adapters._provenance import Provenance, trainer_step
from grounding_rewards_adapters._scoring import Scorer

_SAME_SAMPLE = ("id", "sample_id", "prompts", "image", "images")


@dataclass(eq=False)
class Batches:
    """Read and score batches for one list of reward functions. May be shared by threads, and pickled.

    Attributes:
        scorer: the recipe or recipes.
        name: what the list is called in the logs.
        target_column: the column that holds the targets.
        group_sizes: how many completions each sample has in training, and in evaluation where that is another number;
            empty where runs of equal rows show it.
        image_index: which image of a list is the one that targets are on.
        parts: the part that each function of the list returns; empty for one function that returns the total.
        image_files: how images that are not decoded yet are read for their size.
    """

    scorer: Scorer
    name: str
    target_column: str
    group_sizes: tuple[int, ...]
    image_index: int
    parts: tuple[str, ...] = ()
    image_files: ImageFiles = field(default_factory=ImageFiles)
    _first: bool = True
    _last: _Last | None = None
    _count: int = 0
    _lock: RLock = field(default_factory=RLock)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None, "_last": None}  # its objects are compared by identity, which ends here

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def score(self, asking: str, completions: Sequence[Any], columns: Mapping[str, Any]) -> tuple[ScoredBatch, bool]:
        """Return the scores of a batch, and True where this call computed them.

        The functions of a list are called with the same objects, one after another or at the same time: the first
        scores, the others take its scores, each ``asking`` for its part. A function that asks again, or brings other
        texts or objects, scores anew. What is changed inside a cell, such as a target, is not noticed.
        """
        if len(self.parts) <= 1:  # no other function asks for these scores
            return self._score([response_text(completion) for completion in completions], columns), True
        with self._lock:
            last, new = self._last, False
            texts = [response_text(completion) for completion in completions]
            if last is None or asking in last.asked or not last.holds(texts, columns):
                held = {name: list(column) for name, column in columns.items() if isinstance(column, list)}
                last, new = _Last(texts, dict(columns), held, self._score(texts, columns)), True
            last.asked.add(asking)
            # What all have asked for is let go, and its images with it.
            self._last = None if len(last.asked) == len(self.parts) else last
        return last.scored, new

    def log(
        self,
        scored: ScoredBatch,
        completions: Sequence[Any],
        columns: Mapping[str, Any],
        metric: Callable[[str, float], None] | None,
        extra: Callable[[str, list[Any]], None] | None,
    ) -> None:
        """Log what a trainer shows beside rewards, each name after the name of the list."""
        if metric is not None:
            for key, value in _bridge.metrics(scored).items():
                metric(f"{self.name}/{key}", value)
        if extra is not None:
            for name, values in {**self._answers(scored), **self._rollouts(scored, completions, columns)}.items():
                extra(f"{self.name}/{name}", values)

    def _answers(self, scored: ScoredBatch) -> dict[str, list[Any]]:
        """Return the points answered, a column for each space in every batch, as a table needs, and the reasons."""
        points = scored.column(lambda each: each.scores.predictions.xy).tolist()
        pairs = list(zip(points, scored.named(lambda recipe: str(recipe.space)), strict=True))
        answers = {
            f"xy_{space}": [xy if own == space and xy[0] == xy[0] else None for xy, own in pairs]  # NaN is no point
            for space in sorted({str(recipe.space) for recipe in self.scorer.recipes})
        }
        return {**answers, "reason": [gr.Reason(code).name.lower() for code in scored.reason.tolist()]}

    def _rollouts(
        self, scored: ScoredBatch, completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> dict[str, list[Any]]:
        """Return the columns that make rollouts of a table of completions; a part's own column keeps its name.

        ``response`` is None where the table's own completion says as much; ``acc`` and ``total`` are, where the target
        could not be used. ``rollout`` is ``STEP.RANK.NUMBER``: the steps that the trainer had done, the process, and
        how many responses it had scored. Nothing that a column holds raises.
        """
        rows, valid = len(scored), scored.columns["valid"] > 0
        with self._lock:
            start, self._count = self._count, self._count + rows
        step = trainer_step(columns)
        process = f"{'' if step is None else step}.{os.environ.get('RANK', '0')}"
        targets = columns.get(self.target_column)
        try:
            origin = Provenance(scored, [None] * rows if targets is None else targets, columns)
            names, texts = origin.samples(), scored.recorded_targets(origin.texts)
        except Exception:  # names of samples are not worth a training
            names = texts = [None] * rows
        responses = [(response_text(completion), answer(completion)) for completion in completions]
        rollouts: dict[str, list[Any]] = {
            "acc": usable(scored.columns["acc"], valid),
            "total": usable(scored.columns["total"], valid),
            "sample_id": names,
            "target": texts,
            "response": [None if text == shown else text for text, shown in responses],
            "rollout": [f"{process}.{start + row}" for row in range(rows)],
        }
        return {name: values for name, values in rollouts.items() if name not in self.parts}

    def _score(self, texts: Sequence[str | None], columns: Mapping[str, Any]) -> ScoredBatch:
        if self.target_column not in columns and not self.scorer.label_free:
            names = ", ".join(sorted(name for name, column in columns.items() if _is_column(column, len(texts))))
            raise gr.RecipeError(
                f"the data set has no column {self.target_column!r}; it has {names or 'none at all'}. "
                "Name the one that holds the targets: reward_funcs(..., target_column=...)"
            )
        targets, lengths = columns.get(self.target_column), columns.get("completion_ids")
        inputs = Inputs(
            texts,
            [None] * len(texts) if targets is None else targets,
            columns,
            image_sizes=self._image_sizes(columns),
            model_image_sizes=self._sizes("model_image_size", columns),
            groups=self._groups(len(texts), columns),
            token_lengths=None if lengths is None else [len(ids) for ids in lengths],
        )
        scored = self.scorer.score(inputs)
        self._first = False
        return scored

    def _image_sizes(self, columns: Mapping[str, Any]) -> Sizes | None:
        """Sizes of the images, or where no column holds any, of those in prompts; else what a column says."""
        stated = self._sizes("image_size", columns)
        images = columns.get("images") if columns.get("images") is not None else columns.get("image")
        if images is None and columns.get("prompts") is not None:
            images = prompt_images(columns["prompts"])
        if images is None:
            return stated

        def refused(why: str) -> None:
            # The first image that is not read is logged. Its row has the size that a column or its target says.
            text = f"{self.name}: {why}; the size of such images must stand in image_size"
            _bridge.say_once(text, self.scorer.logged, "image")

        sizes: Sizes = image_sizes(images, self.image_index, self.image_files, refused)
        return sizes if stated is None else [one or other for one, other in zip(sizes, stated, strict=True)]

    def _sizes(self, name: str, columns: Mapping[str, Any]) -> Sizes | None:
        return None if columns.get(name) is None else _bridge.read_sizes(name, columns[name], self.scorer.logged)

    def _groups(self, rows: int, columns: Mapping[str, Any]) -> NDArray[np.int64] | None:
        """Return the sample of each row, where the recipe compares rows."""
        if "groups" not in self.scorer.needs:
            return None
        if not self.group_sizes and _processes() > 1:
            raise gr.RecipeError(
                f"{self.name} compares the rollouts of one sample, and {_processes()} processes train: give "
                f"reward_funcs(..., num_generations=) the trainer's own number, and {_groups.WHOLE}"
            )
        names = self.target_column, *_SAME_SAMPLE
        keys = [columns[name] for name in names if columns.get(name) is not None]
        groups = _groups.repeated(keys, rows, self.group_sizes)
        complaint = _groups.doubt(self.name, groups, self.group_sizes, first=self._first)
        if complaint and self._first and not self.group_sizes:
            raise gr.RecipeError(complaint)
        if complaint:
            _bridge.say_once(complaint, self.scorer.logged)
        return groups


@dataclass(eq=False)
class _Last:
    """A scored batch, and for which parts it was asked.

    The objects are kept, and so are alive, as long as they are compared: no other object can pass for one of them.
    """

    texts: Sequence[str | None]
    columns: Mapping[str, Any]
    held: Mapping[str, list[Any]]
    scored: ScoredBatch
    asked: set[str] = field(default_factory=set)

    def holds(self, texts: Sequence[str | None], columns: Mapping[str, Any]) -> bool:
        """Return True for the same texts and the very same objects, whose lists still hold what they held."""
        return (
            texts == self.texts
            and columns.keys() == self.columns.keys()
            and all(column is self.columns[name] for name, column in columns.items())
            and all(
                len(column) == len(columns[name]) and all(map(is_, column, columns[name]))
                for name, column in self.held.items()
            )
        )


def usable(column: Floats, valid: NDArray[np.bool_]) -> list[float | None]:
    """Return n numbers, None in rows that are not valid."""
    return [value if good else None for value, good in zip(column.tolist(), valid, strict=True)]


def _processes() -> int:
    """Return how many processes train, as launchers say."""
    size = os.environ.get("WORLD_SIZE", "")
    return int(size) if size.isascii() and size.isdigit() else 1


def _is_column(column: Any, rows: int) -> bool:
    """Return True for an argument that may be a column of the data set."""
    return (isinstance(column, list | tuple) or getattr(column, "ndim", 0) > 0) and len(column) == rows
