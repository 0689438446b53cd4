"""TRL: ``GRPOTrainer(reward_funcs=reward_funcs("gelato"), ...)``. The data set's ``target`` column is the truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.targets import BadTarget
from grounding_rewards_adapters import _bridge, _groups


def reward_funcs(
    recipe: str | Mapping[str, Any] | gr.Recipe,
    *,
    target_column: str = "target",
    bad_target: BadTarget = "abstain",
    num_generations: int | None = None,
    **options: Any,
) -> list[RecipeReward]:
    """Reward functions for ``GRPOTrainer`` and ``RLOOTrainer``: one, the recipe's total.

    Args:
        recipe: a recipe's name, its dict form, or a recipe.
        target_column: the data set column that holds the targets, in wire form or the recipe's native form. Recipes
            that are ``label_free`` do without.
        bad_target: ``"abstain"``, or ``"raise"`` to stop training at the first target that cannot be used.
        num_generations: the trainer's own, for recipes that compare the rollouts of one sample, and a check for others:
            each call must hold whole groups of so many completions. Without it groups are told by runs of equal prompts
            and targets, which cannot show that a group was split over processes; where several train, it is demanded.
        options: the recipe's options, such as ``response_space`` or ``format_weight``.

    Returns:
        A list with one picklable function. It logs hit rate (``NAME/acc``), parse rate (``NAME/parsed``), every part
        and the share of each reason through the trainer's ``log_metric``. A sample whose target cannot be used abstains
        (None), with one ERROR log line. Image sizes come from an ``image`` or ``images`` column of PIL images, else
        from an ``image_size`` column, else from the targets; ``model_image_size`` likewise. Verifiers find all columns
        in ``Rollouts.extras``.

    Raises:
        RecipeError: the recipe or an option is unknown, the recipe needs what this adapter cannot give, or
            ``num_generations`` is no whole number from 1.

    >>> reward, = reward_funcs("gelato")
    >>> reward(completions=["(250, 250)", "?"], target=[[0.0, 0.0, 0.5, 0.5]] * 2)
    [1.0, 0.0]
    """
    built = _bridge.build(recipe, options)
    _bridge.refuse(built, trajectories="the TRL adapter cannot give it those rows together")
    if num_generations is not None and (type(num_generations) is not int or num_generations < 1):
        raise gr.RecipeError(f"num_generations: got {num_generations!r}; expected a whole number from 1")
    return [RecipeReward(built, target_column, bad_target, num_generations)]


class RecipeReward:
    """One recipe as a TRL reward function. TRL calls it with keywords and logs it under ``__name__``."""

    def __init__(
        self, recipe: gr.Recipe, target_column: str, bad_target: BadTarget, num_generations: int | None = None
    ) -> None:
        self.__name__ = recipe.name.replace("/", "_")
        self.recipe = recipe
        self.target_column = target_column
        self.bad_target = bad_target
        self.num_generations = num_generations
        self._first = True
        self._reported: set[str] = set()

    def __repr__(self) -> str:
        return f"RecipeReward({self.recipe!r}, {self.target_column!r}, {self.bad_target!r}, {self.num_generations!r})"

    def __call__(
        self,
        completions: Sequence[Any],
        *,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """One score a completion; None where the target cannot be used.

        Args:
            completions: texts, or conversations whose last assistant message is the response.
            log_metric: given by trainers that log metrics.
            columns: the data set's columns, one value a completion, and what else the trainer passes.

        Raises:
            RecipeError: the target column is missing, not one target of the first batch can be used, or completions do
                not come in whole groups.
        """
        if self.target_column not in columns and not self.recipe.label_free:
            given = ", ".join(sorted(name for name, column in columns.items() if isinstance(column, list)))
            raise gr.RecipeError(
                f"the data set has no column {self.target_column!r}; it has {given}. "
                "Name the one that holds the targets: reward_funcs(..., target_column=...)"
            )
        images = columns.get("images") if columns.get("images") is not None else columns.get("image")
        sizes = {
            name: _bridge.read_sizes(name, columns[name], self._reported)
            for name in ("image_size", "model_image_size")
            if columns.get(name) is not None
        }
        scores = self.recipe.score(
            [response_text(completion) for completion in completions],
            columns.get(self.target_column),
            image_sizes=sizes.get("image_size") if images is None else _bridge.image_sizes(images),
            model_image_sizes=sizes.get("model_image_size"),
            groups=self._groups(len(completions), columns),
            token_lengths=_token_lengths(columns.get("completion_ids")),
            extras=columns,
            bad_target=self.bad_target,
        )
        if self._first:
            _bridge.require_some_valid(scores, f"column {self.target_column!r}")
            self._first = False
        _bridge.report(scores, self._reported)
        if log_metric is not None:
            for name, value in _bridge.metrics(scores).items():
                log_metric(f"{self.__name__}/{name}", value)
        return [float(total) if valid else None for total, valid in zip(scores.total, scores.valid, strict=True)]

    def _groups(self, rows: int, columns: Mapping[str, Any]) -> NDArray[np.int64] | None:
        """Which rows are of one sample, where the recipe compares them or their number is given."""
        if "groups" not in self.recipe.needs and self.num_generations is None:
            return None
        if self.num_generations is None and _processes() > 1:
            raise gr.RecipeError(
                f"{self.recipe.name} compares the rollouts of one sample, and {_processes()} processes train: give "
                f"reward_funcs(..., num_generations=) the trainer's own number, and {_groups.WHOLE}"
            )
        names = self.target_column, "id", "sample_id", "prompts", "image", "images"
        told = [columns[name] for name in names if columns.get(name) is not None]
        groups = _groups.repeated(told, rows, self.num_generations)
        if self.num_generations is None and 1 < rows == len(np.unique(groups)):
            found = (
                f"{self.recipe.name} compares the rollouts of one sample; got {rows} completions, of which no two "
                f"beside each other have one prompt and target. Let num_generations be 2 or more, and {_groups.WHOLE}"
            )
            if self._first:
                raise gr.RecipeError(found)
            _bridge.say_once(found, self._reported)
        return groups


def _processes() -> int:
    """How many processes train, as launchers tell each of them."""
    told = os.environ.get("WORLD_SIZE", "")
    return int(told) if told.isascii() and told.isdigit() else 1


def _token_lengths(completion_ids: Any) -> list[int] | None:
    """How many tokens each completion has; None where the trainer does not say."""
    return None if completion_ids is None else [len(ids) for ids in completion_ids]


def response_text(completion: Any) -> str | None:
    """The text of a completion: a string, or the last assistant message of a conversation.

    Raises:
        TypeError: it is neither.

    >>> response_text([{"role": "assistant", "content": [{"type": "text", "text": "(1, 2)"}]}])
    '(1, 2)'
    """
    if completion is None or isinstance(completion, str):
        return completion
    if not isinstance(completion, list | tuple) or not all(isinstance(message, Mapping) for message in completion):
        raise TypeError(f"completion: got {completion!r:.80}; expected a string or a list of messages")
    said = [message for message in completion if message.get("role") == "assistant"] or list(completion)
    content = said[-1].get("content") if said else None
    if content is None or isinstance(content, str):
        return content
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in content]
    return "".join(text for text in texts if isinstance(text, str))
