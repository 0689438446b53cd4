"""EasyR1: ``worker.reward.reward_function=FILE:compute_score``; ``grounding-rewards where easyr1`` prints FILE.

Functions only and absolute imports: EasyR1 loads this file by its path, under a name of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

from grounding_rewards.errors import RecipeError
from grounding_rewards.targets import BadTarget, Targets
from grounding_rewards_adapters import _bridge, _scorers

REWARD_NAME = "grounding_rewards"
REWARD_TYPE = "batch"

_GIVEN = ("response", "response_length", "ground_truth")
_TRAINER = _scorers.Trainer(
    name="EasyR1",
    key="worker.reward.reward_function_kwargs.recipe",
    where="the data set's answers (data.answer_key)",
    lacking={"trajectories": "the EasyR1 adapter cannot give it those rows together"},
)


def compute_score(
    reward_inputs: Sequence[Mapping[str, Any]],
    *,
    recipe: Any = None,
    bad_target: BadTarget = "abstain",
    **options: Any,
) -> list[dict[str, float]]:
    """Score a batch, as EasyR1's reward manager asks for it.

    Args:
        reward_inputs: n rows of ``response``, ``response_length`` in tokens and ``ground_truth``, the target, in wire
            form, as a JSON string of it, or in the recipe's native form. Rows whose targets have one ``id`` are one
            group; 1 and "1" are one id. Verifiers find all columns in ``Rollouts.extras``.
        recipe: a recipe's name, its dict form, or a recipe.
        bad_target: ``"abstain"``, or ``"raise"`` at the first target that cannot be used.
        options: the recipe's options, such as ``response_space`` or ``format_weight``.

    Returns:
        For each row ``overall``, ``accuracy`` (= acc), ``format`` (the part of that name, else ``parsed``), ``valid``,
        ``parsed``, ``in_image`` (an answer was read, and it lies in the image) and every part: the same keys each time,
        finite floats. A target that cannot be used gets 0.0 for all but ``parsed`` and one ERROR log line.

    Raises:
        RecipeError: no recipe is named, it or an option is unknown, it needs groups and a target has no ``id``, or not
            one target of the first batch of this process can be used.
        TargetError: a target cannot be used, and ``bad_target`` is ``"raise"``.

    >>> row = {"response": "(250, 250)", "response_length": 6, "ground_truth": [0.0, 0.0, 0.5, 0.5]}
    >>> compute_score([row], recipe="gelato")  # doctest: +NORMALIZE_WHITESPACE
    [{'overall': 1.0, 'accuracy': 1.0, 'format': 1.0, 'valid': 1.0, 'parsed': 1.0, 'in_image': 1.0, 'distance': 1.0}]
    """
    scorer = _scorers.scorer(_TRAINER, recipe, bad_target, options)
    names = dict.fromkeys([*_GIVEN, *(name for row in reward_inputs for name in row)])
    columns = {name: [row.get(name) for row in reward_inputs] for name in names}
    targets = scorer.read(columns["ground_truth"])
    scores = scorer.score(
        columns["response"],
        targets,
        groups=_groups(targets, scorer) if "groups" in scorer.recipe.needs else None,
        token_lengths=_lengths(columns["response_length"]) if scorer.reads_further else None,
        extras=columns,
    )
    beside = _scorers.beside(scores)
    form = beside.get("format", beside["parsed"])
    return _scorers.rows({"overall": _scorers.totals(scores), "accuracy": scores.acc, "format": form, **beside})


def _lengths(given: Sequence[Any]) -> list[int] | None:
    """Lengths in tokens; None where a row has none."""
    lengths: list[int] = []
    for row, length in enumerate(given):
        if length is None:
            return None
        try:
            whole = -1 if isinstance(length, bool) else index(length)
        except (TypeError, ValueError):
            whole = -1
        if whole < 0:
            raise RecipeError(
                f"response_length of row {row}: got {length!r:.60}; expected how many tokens the response has, a whole "
                "number from 0"
            )
        lengths.append(whole)
    return lengths


def _groups(targets: Targets, scorer: _scorers.Scorer) -> list[Any]:
    """The id of each row's target; a row whose target cannot be read and names none is a group of its own."""
    name, groups = scorer.recipe.name, list[Any]()
    for row, target in enumerate(targets.rows):
        sample = targets.errors[row].sample if target is None else target.id
        if sample is None:
            raise RecipeError(
                f"{name} compares the rollouts of one sample, and EasyR1 tells samples apart by their targets alone: "
                f'the target of row {row} has no id; give each target one, such as {{"id": "a7", ...}}'
            )
        groups.append(("unread", row) if target is None and sample == row else str(sample))
    named = [group for group in groups if isinstance(group, str)]
    if 1 < len(named) == len(set(named)):
        _bridge.say_once(
            f"{name} compares the rollouts of one sample; got {len(named)} rows of which no two have one id, so that "
            "each is compared with itself alone. In training, let worker.rollout.n be 2 or more, and give targets the "
            "id of their sample; in validation with one rollout a sample, such scores say nothing",
            scorer.seen,
            about="no two rows of one id",
        )
    return groups
