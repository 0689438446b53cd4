"""Batches as TRL hands them over: columns in, scores out, computed once for all functions of a list."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch, Sizes
from grounding_rewards.coords.image_sizes import image_size, orientation
from grounding_rewards.errors import PictureError
from grounding_rewards.tables.image_files import Image, ImageFiles
from grounding_rewards.tables.prompts import answer
from grounding_rewards_adapters._launch import say_once
from grounding_rewards_adapters._record import Provenance, is_column, trainer_step
from grounding_rewards_adapters._scorer import Scorer, metrics, read_sizes

_SAME_SAMPLE = ("id", "sample_id", "prompts", "image", "images")


@dataclass(eq=False)
class Batches:
    """Read and score batches for one list of reward functions. May be shared by threads, and pickled."""

    scorer: Scorer  # the recipe or recipes
    name: str  # what the list is called in the logs
    target_column: str  # the column that holds the targets
    # how many completions each sample has in training, and in evaluation where that is another number; empty where runs
    # of equal rows show it
    group_sizes: tuple[int, ...]
    image_index: int  # which image of a list is the one that targets are on
    # the part that each function of the list returns; empty for one function that returns the total
    parts: tuple[str, ...] = ()
    # how images that are not decoded yet are read for their size
    image_files: ImageFiles = field(default_factory=ImageFiles)
    _first: bool = True
    _last: _Last | None = None
    _count: int = 0
    _lock: RLock = field(default_factory=RLock)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None, "_last": None}  # its objects are compared by identity, which ends here

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def score(self, asking: str, texts: list[str | None], columns: Mapping[str, Any]) -> tuple[ScoredBatch, bool]:
        """Return the scores of a batch of ``response_text``, and True where this call computed them.

        The functions of a list are called with the same objects, one after another or at the same time: the first
        scores, the others take its scores, each ``asking`` for its part. A function that asks again, or brings other
        texts or objects, scores again. What is changed inside a cell, such as a target, is not noticed.
        """
        if len(self.parts) <= 1:  # no other function asks for these scores
            return self._score(texts, columns), True
        with self._lock:
            last, new = self._last, False
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
        texts: Sequence[str | None],
        columns: Mapping[str, Any],
        metric: Callable[[str, float], None] | None,
        extra: Callable[[str, list[Any]], None] | None,
    ) -> None:
        """Log what a trainer shows beside rewards, each name after the name of the list."""
        if metric is not None:
            for key, value in metrics(scored).items():
                metric(f"{self.name}/{key}", value)
        if extra is not None:
            shown = self._answers(scored) | self._rollouts(scored, completions, texts, columns)
            for name, values in shown.items():
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
        self, scored: ScoredBatch, completions: Sequence[Any], texts: Sequence[str | None], columns: Mapping[str, Any]
    ) -> dict[str, list[Any]]:
        """Return the columns that make rollouts of a table of completions; a part's own column keeps its name."""
        rows, valid = len(scored), scored.columns["valid"] > 0
        with self._lock:
            start, self._count = self._count, self._count + rows
        step = trainer_step(columns)
        process = f"{'' if step is None else step}.{os.environ.get('RANK', '0')}"
        targets = columns.get(self.target_column)
        try:
            origin = Provenance(scored, [None] * rows if targets is None else targets, columns)
            names, recorded = origin.samples(), scored.recorded_targets(origin.texts)
        except Exception:  # names of samples are not worth a training
            names = recorded = [None] * rows
        rollouts: dict[str, list[Any]] = {
            "acc": usable(scored.columns["acc"], valid),
            "total": usable(scored.columns["total"], valid),
            "sample_id": names,
            "target": recorded,
            "response": [None if text == answer(each) else text for text, each in zip(texts, completions, strict=True)],
            "rollout": [f"{process}.{start + row}" for row in range(rows)],
        }
        return {name: values for name, values in rollouts.items() if name not in self.parts}

    def _score(self, texts: Sequence[str | None], columns: Mapping[str, Any]) -> ScoredBatch:
        if self.target_column not in columns and not self.scorer.label_free:
            names = ", ".join(sorted(name for name, column in columns.items() if is_column(column, len(texts))))
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
            say_once(text, self.scorer.logged, "image")

        sizes: Sizes = image_sizes(images, self.image_index, self.image_files, refused)
        return sizes if stated is None else [one or other for one, other in zip(sizes, stated, strict=True)]

    def _sizes(self, name: str, columns: Mapping[str, Any]) -> Sizes | None:
        return None if columns.get(name) is None else read_sizes(name, columns[name], self.scorer.logged)

    def _groups(self, rows: int, columns: Mapping[str, Any]) -> NDArray[np.int64] | None:
        """Return the sample of each row, where the recipe compares rows."""
        if "groups" not in self.scorer.needs:
            return None
        size = os.environ.get("WORLD_SIZE", "")  # as launchers say
        if not self.group_sizes and size.isascii() and size.isdigit() and int(size) > 1:
            raise gr.RecipeError(
                f"{self.name} compares the rollouts of one sample, and {size} processes train: give "
                f"reward_funcs(..., num_generations=) the trainer's own number, and {WHOLE}"
            )
        names = self.target_column, *_SAME_SAMPLE
        keys = [columns[name] for name in names if columns.get(name) is not None]
        groups = repeated(keys, rows, self.group_sizes)
        complaint = doubt(self.name, groups, self.group_sizes, first=self._first)
        if complaint and self._first and not self.group_sizes:
            raise gr.RecipeError(complaint)
        if complaint:
            say_once(complaint, self.scorer.logged)
        return groups


@dataclass(eq=False)
class _Last:
    """A scored batch, and for which parts it was asked. Its objects are kept, so that no other can pass for one."""

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


_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Keys under which response templates put thinking, one for each family of models."""

_SPEAKERS = ("assistant", "model")
_ENVELOPE = ("id", "type")
"""Keys of a flat tool call that the model did not write."""


def response_text(completion: Any) -> str | None:
    """The text of a completion: a string, or the last assistant message of a conversation; None where there is none.

    Messages of which none says its role are all the model's.

    A message that a response template took apart is put together again as the dialects read it: ``<think>`` thinking
    ``</think>``, the content, and each tool call as JSON in ``<tool_call>`` tags. Thinking without anything after it
    counts as unfinished, and arguments that came as text stay that text.
    """
    if completion is None or isinstance(completion, str):
        return completion
    match completion:
        case [{"role": "assistant", "content": str(text)} as message] if len(message) == 2:
            return text  # mostly so
    if not isinstance(completion, list | tuple) or not all(isinstance(message, Mapping) for message in completion):
        raise TypeError(f"completion: got {completion!r:.80}; expected a string or a list of messages")
    messages = [message for message in completion if _role(message) in _SPEAKERS]
    if not messages and not any(_role(message) for message in completion):
        messages = list(completion)
    return _message_text(messages[-1]) if messages else None


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    return role if isinstance(role, str) else ""


def _message_text(message: Mapping[str, Any]) -> str | None:
    content = _content_text(message.get("content"))
    thoughts = [message[name] for name in _THOUGHTS if isinstance(message.get(name), str) and message[name]]
    calls = [_call_text(call) for call in _several(message.get("tool_calls")) if isinstance(call, Mapping)]
    if not thoughts and not calls:
        return content
    answer = [*([content] if content else []), *calls]
    if not answer:
        return f"<think>{thoughts[0]}"
    return "\n".join([*(f"<think>{thought}</think>" for thought in thoughts[:1]), *answer])


def _content_text(content: Any) -> str | None:
    """The text of a message's content: a string, or blocks of which some are text; None where there is none."""
    if content is None or isinstance(content, str):
        return content
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in _several(content)]
    return "".join(text for text in texts if isinstance(text, str))


def _several(value: Any) -> Iterable[Any]:
    """Return the items of a list; a lone mapping is a list of one, and anything else is an empty one."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list | tuple) else []


def _call_text(call: Mapping[str, Any]) -> str:
    """A tool call as models write it, with all its keys; arguments that came as text stay that text."""
    function = call.get("function")
    fields = function if isinstance(function, Mapping) else {key: call[key] for key in call if key not in _ENVELOPE}
    written = {key: value for key, value in fields.items() if isinstance(key, str)}
    arguments = written.get("arguments")
    if len(written) > 2 and isinstance(arguments, Mapping) and not arguments and [*written][-1] == "arguments":
        del written["arguments"]
    pieces = [
        f"{_json(key)}: {value if key == 'arguments' and isinstance(value, str) else _json(value)}"
        for key, value in written.items()
    ]
    return f"<tool_call>\n{{{', '.join(pieces)}}}\n</tool_call>"


def _json(value: Any) -> str:
    """JSON; ``null`` for what cannot be written so, such as a number of thousands of digits."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "null"


WHOLE = (
    "set per_device_train_batch_size * steps_per_generation to a multiple of num_generations (in evaluation, "
    "per_device_eval_batch_size to one of num_generations_eval): a group that is split over processes is nowhere "
    "whole"
)
"""Advice for TRL that makes groups whole."""


def repeated(columns: Sequence[Sequence[Any]], rows: int, sizes: Sequence[int] = ()) -> NDArray[np.int64]:
    """Return (n,) groups of rows alike in all columns: of the largest size that fits, else of what all runs share."""
    if not rows:
        return np.arange(0)
    if sizes:
        return np.arange(rows) // _fitting(columns, rows, sizes)
    size = math.gcd(*_runs(columns, rows, pixels=False))
    if size > 1:  # 1 is the least that there is, so that no image need be read in full
        size = math.gcd(*_runs(columns, rows, pixels=True))
    return np.arange(rows) // size


def doubt(name: str, groups: NDArray[np.int64], sizes: Sequence[int], *, first: bool) -> str:
    """Return a complaint about a call's groups; empty where nothing seems wrong."""
    rows = len(groups)
    if not sizes and 1 < rows == len(np.unique(groups)):
        return (
            f"{name} compares the rollouts of one sample; got {rows} completions, of which no two beside each other "
            f"have one prompt and target. Let num_generations be 2 or more, and {WHOLE}. Where evaluation draws one "
            "completion a sample, give reward_funcs(..., num_generations=, num_generations_eval=1)"
        )
    size = int(np.count_nonzero(groups == 0))
    if first and rows and sizes and size != sizes[0]:
        return (
            f"{name}: the first call holds groups of num_generations_eval={size}, and none of "
            f"num_generations={sizes[0]}. If it is no evaluation, {WHOLE}"
        )
    return ""


def _fitting(columns: Sequence[Sequence[Any]], rows: int, sizes: Sequence[int]) -> int:
    smallest = min(sizes)
    for size in sorted(sizes, reverse=True):
        # Images are read in full only where a smaller size is left to choose.
        if rows % size == 0 and _stranger(columns, rows, size, pixels=size > smallest) is None:
            return size
    names = "num_generations={}", "num_generations_eval={}"
    called = ", ".join(name.format(size) for name, size in zip(names, sizes, strict=False))
    whole = [size for size in sizes if rows % size == 0]
    if not whole:
        raise gr.RecipeError(f"{called}: got {rows} completions in one call; expected whole groups: {WHOLE}")
    row = _stranger(columns, rows, whole[0], pixels=True) or 0
    raise gr.RecipeError(
        f"{called}: got another prompt or target in row {row} than in row {row - row % whole[0]}; expected {whole[0]} "
        "of one sample one after another: give reward_funcs(..., num_generations=) the trainer's own number (and "
        f"num_generations_eval=, where it evaluates with another one), and {WHOLE}"
    )


def _stranger(columns: Sequence[Sequence[Any]], rows: int, size: int, *, pixels: bool) -> int | None:
    """The first row that is not like the first one of its group of ``size``."""
    every = range(rows if columns else 0)
    return next((row for row in every if not _alike(columns, row - row % size, row, pixels=pixels)), None)


def _runs(columns: Sequence[Sequence[Any]], rows: int, *, pixels: bool) -> list[int]:
    """Lengths of the runs of equal rows."""
    starts = [row for row in range(rows) if row == 0 or not _alike(columns, row - 1, row, pixels=pixels)]
    return [end - start for start, end in zip(starts, [*starts[1:], rows], strict=True)]


def _alike(columns: Sequence[Sequence[Any]], first: int, second: int, *, pixels: bool) -> bool:
    return bool(columns) and all(same(column[first], column[second], pixels=pixels) for column in columns)


def same(a: Any, b: Any, *, pixels: bool = True) -> bool:
    """Return True for two cells that say the same; without ``pixels`` images of one size do."""
    if a is b:
        return True
    if isinstance(a, str) or isinstance(b, str):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key], pixels=pixels) for key in a)
    if isinstance(a, np.ndarray | list | tuple) and isinstance(b, np.ndarray | list | tuple):
        return len(a) == len(b) and all(same(x, y, pixels=pixels) for x, y in zip(a, b, strict=True))
    if isinstance(getattr(a, "size", None), tuple) and hasattr(a, "tobytes"):
        return _same_image(a, b, pixels)
    try:
        return bool(a == b) or bool(a != a and b != b)
    except Exception:  # whatever a data set holds: what cannot be compared is not the same
        return False


def _same_image(a: Any, b: Any, pixels: bool) -> bool:
    if type(a) is not type(b) or (a.size, a.mode) != (b.size, b.mode):
        return False
    name = getattr(a, "filename", "")
    same_file = bool(name) and name == getattr(b, "filename", "")  # which need not be decoded to be compared
    return not pixels or same_file or bool(a.tobytes() == b.tobytes())


_FILES = ImageFiles()
Note = Callable[[str], None]


def image_sizes(
    column: Sequence[Any], index: int = -1, files: ImageFiles = _FILES, note: Note = lambda text: None
) -> list[tuple[int, int] | None]:
    """Return width and height of each row's image, the ``index``-th of a list; None where none can be read."""
    several = [row if isinstance(row, list | tuple) else None for row in column]
    chosen = [
        row if own is None else own[index] if -len(own) <= index < len(own) else None
        for row, own in zip(column, several, strict=True)
    ]
    return [_size_of(image, files, note) for image in chosen]


def prompt_images(prompts: Sequence[Any]) -> list[list[Any]]:
    """The images that stand in each prompt's own messages, in their order."""
    blocks = [
        [each for message in _mappings(prompt) for each in _mappings(message.get("content"))] for prompt in prompts
    ]
    return [[each["image"] for each in some if each.get("image") is not None] for some in blocks]


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def _size_of(image: Any, files: ImageFiles, note: Note) -> tuple[int, int] | None:
    if not isinstance(image, Mapping):
        size = getattr(image, "size", None)
        return (int(size[0]), int(size[1])) if isinstance(size, tuple) and len(size) == 2 else None
    data, path = image.get("bytes"), image.get("path")
    if not isinstance(data, bytes) and not (isinstance(path, str) and path):
        return None
    try:
        data = files.read(Image(data=data) if isinstance(data, bytes) else Image(path))
    except PictureError as error:
        note(str(error))
        return None
    size = image_size(data)
    return (size[1], size[0]) if size is not None and orientation(data) >= 5 else size  # 5 to 8 swap width and height
