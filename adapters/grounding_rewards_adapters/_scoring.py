"""Scoring for any trainer: rows go to their recipes, and what is wrong with targets is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.coords.spaces import model_image_sizes
from grounding_rewards.parsing.parse import read_responses
from grounding_rewards.targets.columns import Targets
from grounding_rewards_adapters import _bridge
from grounding_rewards_adapters._diagnosis import Diagnosis
from grounding_rewards_adapters._judged import Judged, Piece
from grounding_rewards_adapters._routing import NONE, TASK, Router
from grounding_rewards_adapters._rows import Rows, Sizes
from grounding_rewards_adapters._settings import Named, Settings, Trainer

if TYPE_CHECKING:
    from grounding_rewards_adapters._recording import Recording

_PATIENCE = 64
"""So many rows of one sample, or of one of several recipes, may pass at the start without one usable target."""


@dataclass(eq=False)
class Scorer:
    """One recipe, or several and what chooses between them: scores rows, and says what is wrong with targets.

    May be shared by threads, and pickled.

    Attributes:
        trainer: who calls.
        settings: what was set.
        recipes: the recipes.
        named: where the launch names each of them; None for one that came built.
        router: which of them judges which row; None where there is only one.
        seen: complaints that were logged.
    """

    trainer: Trainer
    settings: Settings
    recipes: tuple[gr.Recipe, ...]
    named: tuple[Named | None, ...]
    router: Router | None = None
    seen: set[str] = field(default_factory=set)
    _diagnoses: list[Diagnosis] = field(default_factory=list)
    _recording: Recording | None = None
    _rows: int = 0
    _waited: Counter[int] = field(default_factory=Counter)
    _wired: set[int] = field(default_factory=set)
    _lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        if self.settings.diagnose:
            self._diagnoses = [
                Diagnosis(recipe, self.trainer, named) for recipe, named in zip(self.recipes, self.named, strict=True)
            ]
        if self.settings.record is not None:
            from grounding_rewards_adapters._recording import Recording  # with tables, which load what they need

            self._recording = Recording(self.settings.record, self.parts)

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
        """What any of the recipes needs."""
        return frozenset[str]().union(*[recipe.needs for recipe in self.recipes])

    @cached_property
    def label_free(self) -> bool:
        """Whether none of the recipes compares anything with targets."""
        return all(recipe.label_free for recipe in self.recipes)

    @property
    def started(self) -> bool:
        """Whether any row could be used by now."""
        return bool(self._wired)

    @cached_property
    def reads_extras(self) -> bool:
        """Whether scores may depend on lengths in tokens or further columns."""
        return any(recipe.reads_extras for recipe in self.recipes)

    def score(
        self,
        responses: Sequence[str | None],
        targets: Sequence[Any] | None,
        *,
        columns: Mapping[str, Any] | None = None,
        image_sizes: Sizes | None = None,
        model_image_sizes: Sizes | None = None,
        groups: Any = None,
        token_lengths: Sequence[int] | None = None,
        names: Sequence[str | None] = (),
    ) -> Judged:
        """Score n rows, log each unusable target once, and keep what is to be recorded.

        Args:
            responses: n texts.
            targets: n targets as they came; None for none at all.
            columns: further columns, which routes and verifiers of one's own look at.
            image_sizes: n sizes of the original images from outside of targets.
            model_image_sizes: n sizes of the images that the model saw, likewise.
            groups: (n,) which sample each row belongs to; or a function that says so of a recipe and its targets.
            token_lengths: (n,) lengths of the responses.
            names: what names the sample of each row whose target has no id.

        Raises:
            RecipeError: none of the first targets can be used, or a row's route has no recipe.
            TargetError: a target cannot be used, and ``bad_target`` is ``"raise"``.
        """
        columns = columns or {}
        given = [None] * len(responses) if targets is None else targets
        rows = Rows(responses, given, columns, image_sizes, model_image_sizes, groups, token_lengths)
        pieces = [self._piece(place, rows.take(chosen), chosen) for place, chosen in self._split(rows)]
        judged = Judged(tuple(pieces), self.parts, len(responses))
        if len(self._wired) < len(self.recipes) or any(piece.scores.errors for piece in pieces):
            with self._lock:
                self._watch(judged, names)
        if self._diagnoses:
            with self._lock:
                self._diagnose(pieces, rows)
        if self._recording is not None:
            self._recording.add(judged, responses, given, columns)
        return judged

    def _split(self, rows: Rows) -> list[tuple[int, NDArray[np.int64] | None]]:
        """The recipes that have rows to judge, and which."""
        if self.router is None:
            return [(0, None)]
        read_responses(rows.responses)  # which names what is no text by its row in the whole batch
        chosen = self.router.choose(rows.targets, rows.columns, self.trainer, started=self.started)
        if self.router.field not in rows.columns and self.router.field != TASK and len(rows.responses):
            rest = "" if self.router.rest is None else self.recipes[self.router.rest].name
            found = f"routes: rows have no {self.router.field!r}; {rest} judges them"
            with self._lock:
                _bridge.say_once(found, self.seen)
        places = np.unique(chosen).tolist()
        if len(places) <= 1 and NONE not in places:
            return [(places[0] if places else 0, None)]
        return [(place, np.flatnonzero(chosen == place)) for place in places]

    def _piece(self, place: int, rows: Rows, chosen: NDArray[np.int64] | None) -> Piece:
        if place == NONE:
            assert self.router is not None
            return self._unrouted(self.router, rows, chosen)
        recipe = self.recipes[place]
        try:
            return self._judge(recipe, rows, chosen)
        except gr.TargetError as error:
            if chosen is None or not isinstance(error.sample, int):
                raise
            raise error.named(int(chosen[error.sample])) from None

    def _unrouted(self, router: Router, rows: Rows, chosen: NDArray[np.int64] | None) -> Piece:
        """Rows that name no recipe: their targets cannot be used."""
        errors = {row: router.missing(target, row) for row, target in enumerate(rows.targets)}
        if self.settings.bad_target == "raise":
            raise errors[0].named(0 if chosen is None else int(chosen[0]))
        blank = replace(rows, targets=[object()] * len(rows.targets), groups=np.arange(len(rows.targets)))
        piece = self._judge(next((each for each in self.recipes if not each.needs), self.recipes[0]), blank, chosen)
        return replace(piece, scores=replace(piece.scores, errors=errors), routed=False)

    def _judge(self, recipe: gr.Recipe, rows: Rows, chosen: NDArray[np.int64] | None) -> Piece:
        bad_target = self.settings.bad_target
        targets = recipe.read_targets(list(rows.targets), bad_target=bad_target, warn=False)
        image_sizes, model_image_sizes, refused = self._sizes(rows, targets)
        try:
            rollouts = recipe.rollouts(
                rows.responses,
                targets,
                image_sizes=image_sizes,
                model_image_sizes=model_image_sizes,
                groups=_groups(rows.groups, recipe, targets, chosen),
                token_lengths=rows.token_lengths,
                extras=rows.columns,
                bad_target=bad_target,
            )
        except gr.TargetError as error:
            why = {each.sample: each for each in refused.values()}
            raise (why.get(error.sample, error) if error.field == "model_image_size" else error) from None
        scores = recipe.judge(rollouts)
        if refused and scores.errors:
            scores = replace(scores, errors=_explained(scores.errors, refused))
        return Piece(recipe, rollouts, scores, chosen, (image_sizes, model_image_sizes))

    def _sizes(self, rows: Rows, targets: Targets) -> tuple[Floats | None, Floats | None, Mapping[int, gr.TargetError]]:
        """The sizes that ``Recipe.rollouts`` is to be told, beside those in the targets; and what resizing refuses."""
        image = self._known("image_sizes", rows.image_sizes, targets.known_image_sizes)
        model = self._known("model_image_sizes", rows.model_image_sizes, targets.known_model_image_sizes)
        if self.settings.model is None:
            return image, model, {}
        return image, *self._as_seen(targets.image_sizes if image is None else image, model, targets)

    def _known(self, name: str, outside: Sizes | None, own: Floats | None) -> Floats | None:
        """Sizes from outside and in the targets, in the trainer's order; None where the targets' own will do."""
        if outside is None or not any(size is not None for size in outside):
            return None
        found = read_sizes(name, outside, len(outside))
        if own is None:
            return found
        first, second = (found, own) if self.trainer.outside_first else (own, found)
        return np.where(np.isnan(first), second, first)

    def _as_seen(
        self, image: Floats, packed: Floats | None, targets: Targets
    ) -> tuple[Floats, Mapping[int, gr.TargetError]]:
        """The sizes of the images that the model saw: those that are given, else what resizing makes of the images."""
        known = targets.model_image_sizes if packed is None else packed
        wanted = np.where(np.isnan(known), image, np.nan)
        found, refused = model_image_sizes(wanted, self.trainer.resizing(self.settings.model), **self.settings.bounds)
        errors = {
            row: gr.TargetError(targets.sample(row), "image_size", wanted[row].tolist(), f"what can be resized: {why}")
            for row, why in refused.items()
        }
        return np.where(np.isnan(known), found, known), errors

    def _watch(self, judged: Judged, names: Sequence[str | None]) -> None:
        """Log what is wrong with targets; raise where it is wiring."""
        _bridge.report(judged.errors, self.seen, names=names, outcome=self.trainer.outcome)
        for piece in judged.pieces:
            if piece.scores.valid.any():
                self._wired.add(self.recipes.index(piece.recipe))
        self._rows += len(judged)
        enough = self._rows >= _PATIENCE or (self._rows >= self.trainer.patience and _bridge.several(judged.errors))
        if not self._wired and judged.errors and enough:
            raise self._unwired(self._rows, judged.pieces[0])
        for piece in judged.pieces:
            place = self.recipes.index(piece.recipe)
            if piece.routed and place not in self._wired and piece.scores.errors:
                self._waited[place] += len(piece.scores)
                first = next(iter(piece.scores.errors.values()))
                if self._waited[place] >= _PATIENCE or _bridge.lacks_setting(first):
                    raise self._unwired(self._waited[place], piece)

    def _unwired(self, count: int, piece: Piece) -> gr.RecipeError:
        error = next(iter(piece.scores.errors.values()))
        return _bridge.unwired(count, self.settings, self.trainer, error, self.named[self.recipes.index(piece.recipe)])

    def _diagnose(self, pieces: Sequence[Piece], rows: Rows) -> None:
        for piece in pieces:
            for diagnosis in self._diagnoses:
                if piece.routed and diagnosis.recipe is piece.recipe:
                    own = rows.take(piece.rows)
                    self._say(diagnosis, piece, own)
        self._diagnoses = [diagnosis for diagnosis in self._diagnoses if not diagnosis.finished]

    def _say(self, diagnosis: Diagnosis, piece: Piece, rows: Rows) -> None:
        try:
            line = diagnosis.add(piece, rows.responses, rows.targets)
        except Exception:  # a line in the log is not worth a run
            diagnosis.finished = True
            _bridge.LOG.exception("%s: the first rows could not be diagnosed", diagnosis.recipe.name)
            return
        if line is not None:
            _bridge.LOG.warning("%s", line)


def _groups(groups: Any, recipe: gr.Recipe, targets: Targets, chosen: NDArray[np.int64] | None) -> Any:
    """Which sample each row belongs to, for recipes that ask."""
    if not callable(groups):
        return groups
    return groups(recipe, targets, chosen) if "groups" in recipe.needs else None


def _explained(
    errors: Mapping[int, gr.TargetError], refused: Mapping[int, gr.TargetError]
) -> dict[int, gr.TargetError]:
    """The errors, but where the size of a model's image is missing, why there is none."""
    return {
        row: refused.get(row, error) if error.field == "model_image_size" else error for row, error in errors.items()
    }
