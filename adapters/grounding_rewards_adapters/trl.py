"""TRL: ``GRPOTrainer(reward_funcs=reward_funcs("gelato"), ...)``. The data set's ``target`` column is the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import grounding_rewards as gr
from grounding_rewards.targets import BadTarget
from grounding_rewards_adapters import _bridge


def reward_funcs(
    recipe: str | Mapping[str, Any] | gr.Recipe,
    *,
    target_column: str = "target",
    bad_target: BadTarget = "abstain",
    **options: Any,
) -> list[RecipeReward]:
    """Reward functions for ``GRPOTrainer`` and ``RLOOTrainer``: one, the recipe's total.

    Args:
        recipe: a recipe's name, its dict form, or a recipe.
        target_column: the data set column that holds the targets, in wire form or the recipe's native form.
        bad_target: ``"abstain"``, or ``"raise"`` to stop training at the first target that cannot be used.
        options: the recipe's options, such as ``response_space`` or ``format_weight``.

    Returns:
        A list with one picklable function. It logs hit rate (``NAME/acc``), parse rate (``NAME/parsed``), every part
        and the share of each reason through the trainer's ``log_metric``. A sample whose target cannot be used abstains
        (None), with one ERROR log line. Image sizes come from an ``image`` or ``images`` column of PIL images, else
        from an ``image_size`` column, else from the targets; ``model_image_size`` likewise. Verifiers find all columns
        in ``Rollouts.extras``.

    Raises:
        RecipeError: the recipe or an option is unknown, or the recipe needs what this adapter cannot give.

    >>> reward, = reward_funcs("gelato")
    >>> reward(completions=["(250, 250)", "?"], target=[[0.0, 0.0, 0.5, 0.5]] * 2)
    [1.0, 0.0]
    """
    built = _bridge.build(recipe, options)
    _bridge.refuse_groups(built, "TRL")
    return [RecipeReward(built, target_column, bad_target)]


class RecipeReward:
    """One recipe as a TRL reward function. TRL calls it with keywords and logs it under ``__name__``."""

    def __init__(self, recipe: gr.Recipe, target_column: str, bad_target: BadTarget) -> None:
        self.__name__ = recipe.name.replace("/", "_")
        self.recipe = recipe
        self.target_column = target_column
        self.bad_target = bad_target
        self._first = True
        self._reported: set[str] = set()

    def __repr__(self) -> str:
        return f"RecipeReward({self.recipe!r}, {self.target_column!r}, {self.bad_target!r})"

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
            RecipeError: the target column is missing, or not one target of the first batch can be used.
        """
        if self.target_column not in columns:
            given = ", ".join(sorted(name for name, column in columns.items() if isinstance(column, list)))
            raise gr.RecipeError(
                f"the data set has no column {self.target_column!r}; it has {given}. "
                "Name the one that holds the targets: reward_funcs(..., target_column=...)"
            )
        images = columns.get("images") if columns.get("images") is not None else columns.get("image")
        scores = self.recipe.score(
            [response_text(completion) for completion in completions],
            columns[self.target_column],
            image_sizes=columns.get("image_size") if images is None else _bridge.image_sizes(images),
            model_image_sizes=columns.get("model_image_size"),
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
