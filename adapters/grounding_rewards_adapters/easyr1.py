"""EasyR1: ``worker.reward.reward_function=FILE:compute_score``; ``grounding-rewards where easyr1`` prints FILE.

Functions only and absolute imports: EasyR1 loads this file by its path, under a name of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs
from grounding_rewards.targets.columns import Targets
from grounding_rewards_adapters import _launch, _scorer
from grounding_rewards_adapters._scorer import Scorer

REWARD_NAME = "grounding_rewards"
REWARD_TYPE = "batch"

_KEYS = ("response", "response_length", "ground_truth")
TRAINER = _launch.Trainer(
    name="EasyR1",
    option="worker.reward.reward_function_kwargs.{}",
    where="the data set's answers (data.answer_key)",
    sizes="in the target",
    fields="targets alone are handed over: route by task, and put it into each target",
    lacking={"trajectories": "the EasyR1 adapter cannot give it those rows together"},
    pipeline="easyr1+",
    defaults={"min_pixels": 262144, "max_pixels": 4194304},
)


def compute_score(reward_inputs: Sequence[Mapping[str, Any]], **options: Any) -> list[dict[str, float]]:
    """Score a batch, as EasyR1's reward manager asks for it.

    Args:
        reward_inputs: n rows of ``response``, ``response_length`` in tokens and ``ground_truth``, the target, in wire
            form, as a JSON string of it, or in the recipe's native form. Rows whose targets have one ``id`` are one
            group; 1 and "1" are one id. Verifiers find all columns in ``Rollouts.extras``.
        options: ``recipe`` and the other options of ``_launch.Settings``, and the recipe's own.

    Returns:
        For each row ``overall``, ``accuracy`` and ``correct`` (both acc), ``format`` (the part of that name, else
        ``parsed``), ``valid``, ``parsed``, ``in_image`` (an answer was read, and it lies in the image) and every part:
        the same keys each time, finite floats. A target that cannot be used gets 0.0 for all but ``parsed`` and one
        ERROR log line.

    Raises:
        RecipeError: no recipe is named, it or an option is unknown, it needs groups and a target has no ``id``, or not
            one target of the first batch of this process can be used.
        TargetError: a target cannot be used, and ``bad_target`` is ``"raise"``.

    >>> row = {"response": "(250, 250)", "response_length": 6, "ground_truth": [0.0, 0.0, 0.5, 0.5]}
    >>> compute_score([row], recipe="gelato")  # doctest: +NORMALIZE_WHITESPACE
    [{'overall': 1.0, 'accuracy': 1.0, 'correct': 1.0, 'format': 1.0, 'valid': 1.0, 'parsed': 1.0, 'in_image': 1.0,
      'distance': 1.0}]
    """
    return scored(TRAINER, reward_inputs, options)


def scored(
    trainer: _launch.Trainer, reward_inputs: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> list[dict[str, float]]:
    """Score a batch as ``compute_score`` does, for EasyR1's managers of either kind."""
    scorer = _scorer.scorer(trainer, options)
    names = dict.fromkeys([*_KEYS, *(name for row in reward_inputs for name in row)])
    columns = {name: [row.get(name) for row in reward_inputs] for name in names}
    inputs = Inputs(
        columns["response"],
        columns["ground_truth"],
        columns,
        groups=partial(_groups, scorer) if "groups" in scorer.needs else None,
        token_lengths=_lengths(columns["response_length"]) if scorer.reads_extras else None,
    )
    found = dict(scorer.score(inputs).columns)
    total, acc = found.pop("total"), found.pop("acc")
    named = {"overall": total, "accuracy": acc, "correct": acc, "format": found.get("format", found["parsed"])}
    return _scorer.rows({**named, **found})


def _lengths(counts: Sequence[Any]) -> list[int] | None:
    """Lengths in tokens; None where a row has none."""
    lengths: list[int] = []
    for row, length in enumerate(counts):
        if length is None:
            return None
        try:
            # index: whole numbers of numpy, too, and nothing that int would round or read from a text
            whole = -1 if isinstance(length, bool) else index(length)
        except (TypeError, ValueError):
            whole = -1
        if whole < 0:
            raise gr.RecipeError(
                f"response_length of row {row}: got {length!r:.60}; expected how many tokens the response has, a whole "
                "number from 0"
            )
        lengths.append(whole)
    return lengths


def _groups(scorer: Scorer, recipe: gr.Recipe, targets: Targets, rows: NDArray[np.int64] | None) -> list[Any]:
    """Return the id of each row's target; a row whose target names none is a group of its own."""
    name, groups = recipe.name, list[Any]()
    unnamed: list[int] = []
    for row, target in enumerate(targets.rows):
        sample = targets.errors[row].sample if target is None else target.id
        if target is not None and sample is None:
            unnamed.append(row if rows is None else int(rows[row]))
        groups.append(("alone", row) if sample is None or (target is None and sample == row) else str(sample))
    if unnamed:
        complaint = (
            f"{name} compares the rollouts of one sample, and EasyR1 tells samples apart by their targets alone: "
            f'the target of row {unnamed[0]} has no id; give each target one, such as {{"id": "a7", ...}}'
        )
        # At the start, or without any id, the data set is wrong; later, one bad row must not end a run.
        if len(unnamed) == len(groups) or not scorer.started:
            raise gr.RecipeError(complaint)
        _launch.say_once(f"{complaint}; a row without is compared with itself alone", scorer.logged, about="no id")
    named = [group for group in groups if isinstance(group, str)]
    if 1 < len(named) == len(set(named)):
        _launch.say_once(
            f"{name} compares the rollouts of one sample; got {len(named)} rows of which no two have one id, so that "
            "each is compared with itself alone. In training, let worker.rollout.n be 2 or more, and give targets the "
            "id of their sample; in validation with one rollout a sample, such scores say nothing",
            scorer.logged,
            about="no two rows of one id",
        )
    return groups
