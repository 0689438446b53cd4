"""Scoring for any trainer: send rows to their recipes, and report what is wrong with targets."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, RecipeSlice, Rows, ScoredBatch, score_rows
from grounding_rewards.errors import MISSING
from grounding_rewards.parsing.responses import read_responses
from grounding_rewards_adapters import _bridge
from grounding_rewards_adapters._diagnosis import Diagnosis
from grounding_rewards_adapters._routing import NONE, TASK, Router
from grounding_rewards_adapters._settings import Named, Settings, Trainer

if TYPE_CHECKING:
    from grounding_rewards_adapters._recording import Recording

_PATIENCE = 64
"""Number of rows, at the start, that may pass without one usable target before an error ends the run.

It counts rows of one sample, or of one of several recipes; rows of more samples may be fewer (``Trainer.patience``).
"""


@dataclass(eq=False)
class Scorer:
    """Score rows with one recipe, or with several and a router, and report what is wrong with targets.

    Threads may share it, and it can be pickled.

    Attributes:
        trainer: the trainer that calls.
        settings: options of the launch.
        recipes: the recipe, or all that the router chooses from.
        named: where the launch names each recipe; None for a recipe that was given as an object.
        router: chooses the recipe of each row; None where there is only one.
        logged: messages that were logged, so that none is repeated.
    """

    trainer: Trainer
    settings: Settings
    recipes: tuple[gr.Recipe, ...]
    named: tuple[Named | None, ...]
    router: Router | None = None
    logged: set[str] = field(default_factory=set)
    _diagnoses: list[Diagnosis] = field(default_factory=list)
    _recording: Recording | None = None
    _rows: int = 0  # rows that ``_watch`` has seen
    _waited: Counter[int] = field(default_factory=Counter)  # rows of each recipe, by index, before a usable target
    _usable: set[int] = field(default_factory=set)  # indices of recipes that have had a usable target
    _lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        if self.settings.diagnose:
            self._diagnoses = [
                Diagnosis(recipe, self.trainer, named) for recipe, named in zip(self.recipes, self.named, strict=True)
            ]
        if self.settings.record is not None:
            # Only here, because it loads modules that a launch without a record does not need.
            from grounding_rewards_adapters._recording import Recording

            self._recording = Recording(self.settings.record, self.parts, self.settings.record_columns)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts of all recipes."""
        return tuple(dict.fromkeys(name for recipe in self.recipes for name in recipe.parts))

    @cached_property
    def needs(self) -> frozenset[str]:
        """Needs of all recipes."""
        return frozenset[str]().union(*[recipe.needs for recipe in self.recipes])

    @cached_property
    def label_free(self) -> bool:
        """True where none of the recipes compares anything with targets."""
        return all(recipe.label_free for recipe in self.recipes)

    @property
    def started(self) -> bool:
        """True once any row has had a usable target."""
        return bool(self._usable)

    @cached_property
    def reads_extras(self) -> bool:
        """True where scores may depend on lengths in tokens or further columns."""
        return any(recipe.reads_extras for recipe in self.recipes)

    def score(self, inputs: Inputs, names: Sequence[str | None] = ()) -> ScoredBatch:
        """Score n rows, log each unusable target once, and keep what is to be recorded.

        Raises:
            RecipeError: none of the first targets can be used, or a row's route has no recipe.
            TargetError: a target cannot be used, and ``bad_target`` is ``"raise"``.
        """
        if self.router is None:
            slices = [self._score(self.recipes[0], inputs, None)]
        else:
            slices = [self._routed(place, inputs, rows) for place, rows in self._split(self.router, inputs)]
        scored = ScoredBatch(slices, self.parts, len(inputs.responses))
        # Once every recipe has had a usable target, batches without errors need neither a look nor the lock.
        if len(self._usable) < len(self.recipes) or any(each.scores.errors for each in slices):
            with self._lock:
                self._watch(scored, names)
        if self._diagnoses:
            with self._lock:
                self._diagnose(slices)
        if self._recording is not None:
            self._recording.add(scored, inputs)
        return scored

    def _score(self, recipe: gr.Recipe, inputs: Inputs, rows: Rows) -> RecipeSlice:
        """Score rows with one recipe; ``rows`` are their numbers in the batch."""
        first = self.trainer.outside_first
        return score_rows(recipe, inputs, self.settings.bad_target, rows=rows, outside_first=first)

    def _split(self, router: Router, inputs: Inputs) -> list[tuple[int, Rows]]:
        """Return the index of each recipe that has rows to score, with the numbers of its rows."""
        read_responses(inputs.responses)  # for its error, which names a row of the whole batch
        extras = inputs.extras or {}
        chosen = router.choose(inputs.targets, extras, self.trainer, started=self.started)
        if router.field not in extras and router.field != TASK and len(inputs.responses):
            rest = "" if router.rest is None else self.recipes[router.rest].name
            with self._lock:
                _bridge.say_once(f"routes: rows have no {router.field!r}; {rest} judges them", self.logged)
        places = np.unique(chosen).tolist()
        if len(places) <= 1 and NONE not in places:
            return [(places[0] if places else 0, None)]
        return [(place, np.flatnonzero(chosen == place)) for place in places]

    def _routed(self, place: int, inputs: Inputs, rows: Rows) -> RecipeSlice:
        """Score the rows of recipe number ``place``; errors name rows of the whole batch."""
        own = inputs.take(rows)
        if place == NONE:
            return self._unrouted(own, rows)
        try:
            return self._score(self.recipes[place], own, rows)
        except gr.TargetError as error:
            if rows is None or not isinstance(error.sample, int):
                raise
            raise error.named(int(rows[error.sample])) from None

    def _unrouted(self, inputs: Inputs, rows: Rows) -> RecipeSlice:
        """Score rows that name no recipe: like rows whose targets cannot be used."""
        assert self.router is not None
        errors = {row: self.router.missing(target, row) for row, target in enumerate(inputs.targets)}
        if self.settings.bad_target == "raise":
            raise errors[0].named(0 if rows is None else int(rows[0]))
        # No recipe can use these targets, so that any recipe returns scores of the right shape.
        blank = replace(inputs, targets=[object()] * len(inputs.targets), groups=np.arange(len(inputs.targets)))
        scored = self._score(next((each for each in self.recipes if not each.needs), self.recipes[0]), blank, rows)
        return replace(scored, scores=replace(scored.scores, errors=errors), routed=False)

    def _watch(self, scored: ScoredBatch, names: Sequence[str | None]) -> None:
        """Log what is wrong with targets; raise where no target of a recipe can be used: the launch is at fault."""
        _bridge.report(scored.errors, self.logged, names=names, outcome=self.trainer.outcome)
        for each in scored.slices:
            if each.scores.valid.any():
                self._usable.add(self.recipes.index(each.recipe))
        self._rows += len(scored)
        samples = [error.sample for error in scored.errors.values()]  # a row without a name is a sample of its own
        several = any(isinstance(name, int) for name in samples) or len(set(samples)) > 1
        enough = self._rows >= _PATIENCE or (self._rows >= self.trainer.patience and several)
        if not self._usable and scored.errors and enough:
            raise self._no_usable_target(self._rows, scored.slices[0])
        for each in scored.slices:
            place = self.recipes.index(each.recipe)
            if each.routed and place not in self._usable and each.scores.errors:
                self._waited[place] += len(each.scores)
                first = next(iter(each.scores.errors.values()))
                # A size or a space that is missing is one that a launch or a whole data set gives.
                lacks_setting = first.came is MISSING and first.field in ("image_size", "model_image_size", "space")
                if self._waited[place] >= _PATIENCE or lacks_setting:
                    raise self._no_usable_target(self._waited[place], each)

    def _no_usable_target(self, count: int, each: RecipeSlice) -> gr.RecipeError:
        """Return the error of a recipe that found no usable target in ``count`` rows: that is wiring, not a bad row."""
        error = next(iter(each.scores.errors.values()))
        none = f"not one of the first {count} targets can be used" if count > 1 else "the first target cannot be used"
        fix = _bridge.remedy(error, each.recipe, self.trainer, self.named[self.recipes.index(each.recipe)])
        return gr.RecipeError(f"{none}; check {self.trainer.where}: {error}{fix}")

    def _diagnose(self, slices: Sequence[RecipeSlice]) -> None:
        """Give each recipe's rows to its diagnosis, until that has said its line."""
        for each in slices:
            for diagnosis in self._diagnoses:
                if each.routed and diagnosis.recipe is each.recipe:
                    self._say(diagnosis, each)
        self._diagnoses = [diagnosis for diagnosis in self._diagnoses if not diagnosis.finished]

    def _say(self, diagnosis: Diagnosis, scored: RecipeSlice) -> None:
        """Log the line of a diagnosis once it has seen enough rows."""
        try:
            line = diagnosis.add(scored)
        except Exception:  # a run must not end for a line in the log
            diagnosis.finished = True
            _bridge.LOG.exception("%s: the first rows could not be diagnosed", diagnosis.recipe.name)
            return
        if line is not None:
            if clash := self.trainer.clash:
                _bridge.say_once(f"{clash}: use an environment for each", self.logged, level=logging.WARNING)
            _bridge.LOG.warning("%s", line)
