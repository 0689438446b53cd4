"""verl: ``reward.custom_reward_function.path=pkg://grounding_rewards_adapters.verl``; the README has the launch line.

Functions only and absolute imports: verl can load this file by its path, under a name that is in no table of modules.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future, Task
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import grounding_rewards as gr
from grounding_rewards_adapters import _launch, _scorer

_TRAINER = _launch.Trainer(
    name="verl",
    option="reward.custom_reward_function.reward_kwargs.{} (+ before it on the command line)",
    where="the data set's reward_model.ground_truth",
    sizes="in the data set's extra_info, or in the target",
    fields=(
        "data_source (`grounding-rewards convert --source-column` makes it) and what is in extra_info can choose, or "
        "task in each target"
    ),
    lacking={
        "groups": "verl gives single samples; TRL and EasyR1 give whole groups",
        "trajectories": "verl gives single samples",
    },
    pipeline="verl+",
    alone_ignored=True,
    apart=("trl", (1, 16)),
    patience=64,  # rows, which come one a call
)

if __name__ != f"{_launch.__package__}.verl" and _launch.installed("verl") == "0.7.0":
    _launch.LOG.warning(
        "verl 0.7.0: its prime manager gives every response 0.0 where the reward function is loaded from a file; set "
        "custom_reward_function.path to pkg://grounding_rewards_adapters.verl, or take another manager"
    )


def compute_score(
    data_source: str,
    solution_str: str | None,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **options: Any,
) -> dict[str, float]:
    """Score one response, as verl's reward managers ask for it.

    Args:
        data_source: where the sample comes from; routes may choose by it, and verifiers find it in ``Rollouts.extras``.
        solution_str: the response.
        ground_truth: the target, in wire form, as a JSON string of it, or in the recipe's native form.
        extra_info: ``image_size`` and ``model_image_size`` are taken from it where the target has none, ``index`` names
            a target without an id in the log, and verifiers find all of it in ``Rollouts.extras``. It is not changed.
        reward_router_address: ignored; verl gives it where a reward model runs.
        reward_model_tokenizer: ignored, likewise.
        options: ``recipe`` and the other options of ``_launch.Settings``, and the recipe's own.

    Returns:
        ``score``, ``acc``, ``valid``, ``parsed``, ``in_image`` (an answer was read, and it lies in the image) and every
        part: the same keys each time, finite floats. A target that cannot be used gets 0.0 for all but ``parsed`` and
        one ERROR log line.

    Raises:
        RecipeError: no recipe is named, it or an option is unknown, it needs other rows than this one, or none of the
            first 64 targets of this process can be used; at once where the first lacks a size or a space.
        TargetError: the target cannot be used, and ``bad_target`` is ``"raise"``.

    >>> compute_score("clicks", "(250, 250)", [0.0, 0.0, 0.5, 0.5], recipe="gelato")
    {'score': 1.0, 'acc': 1.0, 'valid': 1.0, 'parsed': 1.0, 'in_image': 1.0, 'distance': 1.0, 'format': 1.0}
    """
    return _scored([data_source], [solution_str], [ground_truth], [extra_info], options)[0]


async def compute_score_async(
    data_source: str,
    solution_str: str | None,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **options: Any,
) -> dict[str, float]:
    """Score one response as ``compute_score`` does, for managers and loops of one's own that await it.

    Rows that wait on the loop within a millisecond are scored as one batch, in a thread: building a recipe, writing
    records and slow verifiers of one's own hold up no event loop. The ``remote`` manager takes no coroutine function.
    """
    key = tuple((name, id(value)) for name, value in options.items())  # which the score holds, so that they stay
    row = data_source, solution_str, ground_truth, extra_info
    scored: dict[str, float] = await _together(key, row, partial(_scored_rows, options))
    return scored


def _scored_rows(options: Mapping[str, Any], rows: Sequence[tuple[Any, ...]]) -> list[dict[str, float]]:
    sources, texts, truths, infos = zip(*rows, strict=True)
    return _scored(sources, list(texts), list(truths), infos, options)


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str | None],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Any] | None = None,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **options: Any,
) -> list[dict[str, float]]:
    """Score rows in one call, as verl's legacy batch manager asks for it; each as ``compute_score`` would.

    Raises:
        RecipeError: as for ``compute_score``, or the arguments are not of one length.
        TargetError: a target cannot be used, and ``bad_target`` is ``"raise"``.

    >>> rows = ["clicks"] * 2, ["(250, 250)", "?"], [[0.0, 0.0, 0.5, 0.5]] * 2
    >>> [row["score"] for row in compute_score_batch(*rows, recipe="gelato")]
    [1.0, 0.0]
    """
    infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    lengths = {
        "data_sources": len(data_sources),
        "solution_strs": len(solution_strs),
        "ground_truths": len(ground_truths),
        "extra_infos": len(infos),
    }
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise gr.RecipeError(f"got {counts}; expected one value a response in each")
    return _scored(data_sources, list(solution_strs), list(ground_truths), infos, options)


def compute_total(
    data_source: str,
    solution_str: str | None,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **options: Any,
) -> float:
    """Return the ``score`` of ``compute_score`` alone.

    For verl's legacy prime manager, which gives every sample 0.0 where a function returns a dict.

    >>> compute_total("clicks", "(250, 250)", [0.0, 0.0, 0.5, 0.5], recipe="gelato")
    1.0
    """
    return compute_score(data_source, solution_str, ground_truth, extra_info, **options)["score"]


def _scored(
    data_sources: Sequence[Any],
    texts: Sequence[str | None],
    truths: Sequence[Any],
    infos: Sequence[Any],
    options: Mapping[str, Any],
) -> list[dict[str, float]]:
    """Score rows, all of them in one call."""
    rows = [info if type(info) is dict or isinstance(info, Mapping) else {} for info in infos]
    more = {"data_source": [str(each) if isinstance(each, str) else each for each in data_sources]}  # of numpy, often
    columns = dict(_scorer.samples(_TRAINER, options, texts, truths, rows, more, under="extra_info.").columns)
    return _scorer.rows({"score": columns.pop("total"), **columns})


_WAIT = 0.001
"""Seconds for which the first row of a batch waits for others."""

_Pending = dict[Hashable, tuple[list[tuple[Any, "Future[Any]"]], "Task[None]"]]
_PENDING: WeakKeyDictionary[AbstractEventLoop, _Pending] = WeakKeyDictionary()
"""Rows of each loop that wait, by what they are scored with. A forked process has loops of its own."""


async def _together(key: Hashable, row: Any, score: Callable[[Sequence[Any]], list[Any]]) -> Any:
    """Return a row's score, computed in a thread with those of the rows that wait beside it under the same key."""
    loop = asyncio.get_running_loop()
    pending, future = _PENDING.setdefault(loop, {}), loop.create_future()
    if key not in pending:
        pending[key] = [], loop.create_task(_awaited(pending, key, score))
    pending[key][0].append((row, future))
    return await future


async def _awaited(pending: _Pending, key: Hashable, score: Callable[[Sequence[Any]], list[Any]]) -> None:
    await asyncio.sleep(_WAIT)
    waiting = [(row, future) for row, future in pending.pop(key)[0] if not future.done()]  # less those given up
    outcomes = await asyncio.to_thread(_outcomes, score, [row for row, _ in waiting]) if waiting else []
    for (_, future), outcome in zip(waiting, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def _outcomes(score: Callable[[Sequence[Any]], list[Any]], rows: Sequence[Any]) -> list[Any]:
    """Return the score of each row; where the batch fails, that of each alone, or its error."""
    try:
        return score(rows)
    except BaseException as error:
        if len(rows) == 1:
            return [error]
        return [outcome for row in rows for outcome in _outcomes(score, [row])]
