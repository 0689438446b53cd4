"""Recipes of trainers that name them in a config and call a bare function: built once in a process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.further import reads_further
from grounding_rewards.loading import in_full
from grounding_rewards.plain import frozen
from grounding_rewards.spaces import Floats
from grounding_rewards.targets import BadTarget, Targets
from grounding_rewards_adapters import _bridge


@dataclass(frozen=True)
class Trainer:
    """What a trainer gives, and what its users call things.

    Attributes:
        name: the trainer's name.
        key: the setting that names the recipe.
        where: where targets come from.
        lacking: why a score cannot have the other rows that it needs, by need.
        patience: so many rows may pass, at the start, without one usable target.
    """

    name: str
    key: str
    where: str
    lacking: Mapping[str, str]
    patience: int = 1


@dataclass(eq=False)
class Scorer:
    """One recipe in one process: scores, and says what is wrong with targets. May be shared by threads."""

    recipe: gr.Recipe
    trainer: Trainer
    bad_target: BadTarget = "abstain"
    seen: set[str] = field(default_factory=set)
    _rows: int = 0
    _wired: bool = False
    _lock: RLock = field(default_factory=RLock)

    def read(self, targets: Sequence[Any]) -> Targets:
        """Read targets, to look at them before they are scored."""
        return self.recipe.read_targets(list(targets), bad_target=self.bad_target)

    def score(
        self, responses: Sequence[str | None], targets: Targets, *, names: Sequence[str | None] = (), **columns: Any
    ) -> gr.Scores:
        """Score rows, and log each unusable target once.

        Args:
            responses: n texts.
            targets: n targets.
            names: what names the sample of each row whose target has no id.
            columns: what else ``Recipe.score`` takes.

        Raises:
            RecipeError: none of the first targets can be used.
            TargetError: a target cannot be used, and ``bad_target`` is ``"raise"``.
        """
        scores = self.recipe.score(responses, targets, bad_target=self.bad_target, **columns)
        if scores.errors or not self._wired:
            with self._lock:
                self._watch(scores, names)
        return scores

    @cached_property
    def reads_further(self) -> bool:
        """Whether scores may depend on lengths in tokens or further columns."""
        return reads_further(self.recipe)

    def _watch(self, scores: gr.Scores, names: Sequence[str | None]) -> None:
        _bridge.report(scores, self.seen, names=names, outcome="the sample gets 0.0, and 0.0 for valid")
        self._wired = self._wired or bool(scores.valid.any())
        self._rows += 0 if self._wired else len(scores)
        if not self._wired and self._rows >= self.trainer.patience:
            raise _bridge.unwired(self._rows, self.trainer.where, next(iter(scores.errors.values())))


_SCORERS: dict[str, Scorer] = {}
_LOCK = RLock()


def scorer(trainer: Trainer, recipe: Any, bad_target: BadTarget, options: Mapping[str, Any]) -> Scorer:
    """The scorer of these settings: the same one at every call in a process.

    Args:
        trainer: who calls.
        recipe: a recipe's name, its dict form, or a recipe.
        bad_target: ``"abstain"`` or ``"raise"``.
        options: the recipe's options; mappings and lists of OmegaConf will do.

    Raises:
        RecipeError: no recipe is named, it or an option is unknown, or it needs what the trainer does not give.
    """
    built = recipe if isinstance(recipe, gr.Recipe) else None
    named = recipe if built is None else id(built)
    try:
        settings = frozen({"trainer": trainer.name, "name": named, "bad_target": bad_target, "options": options})
        key = json.dumps(settings)
    except gr.GroundingRewardsError:
        raise
    except Exception as error:  # OmegaConf's own, where a value is still missing
        complaint = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise gr.RecipeError(
            f"options of {recipe!r:.80}: got {dict(options)!r:.200}; expected plain values ({complaint})"
        ) from error
    if ".py:" in key:  # a relative path is another file's once the working directory has changed
        settings = in_full(settings)
        key = json.dumps(settings)
    found = _SCORERS.get(key)
    if found is None:
        with _LOCK:
            found = _SCORERS.get(key)
            if found is None:
                given = settings["name"] if built is None else built
                found = _SCORERS[key] = _made(trainer, given, bad_target, settings["options"])
    return found


def _made(trainer: Trainer, recipe: Any, bad_target: BadTarget, options: Mapping[str, Any]) -> Scorer:
    made = _bridge.build(recipe, options, trainer.key)
    _bridge.refuse(made, **trainer.lacking)
    made.read_targets([], bad_target=bad_target)  # so that an unknown bad_target is an error now
    return Scorer(made, trainer, bad_target)


def totals(scores: gr.Scores) -> Floats:
    """(n,) the totals, 0.0 where the target could not be used."""
    return np.where(scores.valid > 0, scores.total, 0.0)


def beside(scores: gr.Scores) -> dict[str, Floats]:
    """Columns that go beside total and acc: valid, parsed, in_image (an answer was read, inside the image), parts."""
    return {
        "valid": scores.valid,
        "parsed": scores.predictions.parsed.astype(np.float64),
        "in_image": (scores.reason == gr.Reason.OK).astype(np.float64),
        **scores.parts,
    }


def rows(columns: Mapping[str, Floats]) -> list[dict[str, float]]:
    """Columns of n as n dicts of Python floats.

    >>> rows({"score": np.array([0.5, 1.0]), "acc": np.array([0.0, 1.0])})
    [{'score': 0.5, 'acc': 0.0}, {'score': 1.0, 'acc': 1.0}]
    """
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]
