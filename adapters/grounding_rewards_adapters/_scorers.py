"""Recipes that a launch names, built once in a process, and scoring with them for any trainer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.further import reads_further
from grounding_rewards.given import read_sizes
from grounding_rewards.spaces import Floats, model_image_sizes
from grounding_rewards.targets import Targets
from grounding_rewards_adapters import _bridge
from grounding_rewards_adapters._diagnosis import Diagnosis
from grounding_rewards_adapters._judged import Judged, Piece
from grounding_rewards_adapters._routing import Router
from grounding_rewards_adapters._settings import Settings, Trainer

if TYPE_CHECKING:
    from grounding_rewards_adapters._recording import Recording

Sizes = Sequence[tuple[float, float] | None]


@dataclass(eq=False)
class Scorer:
    """One recipe, or several and what chooses between them: scores rows, and says what is wrong with targets.

    May be shared by threads, and pickled.

    Attributes:
        trainer: who calls.
        settings: what was set.
        recipes: the recipes.
        router: which of them judges which row; None where there is only one.
        seen: complaints that were logged.
    """

    trainer: Trainer
    settings: Settings
    recipes: tuple[gr.Recipe, ...]
    router: Router | None = None
    seen: set[str] = field(default_factory=set)
    _diagnoses: list[Diagnosis] = field(default_factory=list)
    _recording: Recording | None = None
    _rows: int = 0
    _wired: bool = False
    _lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        if self.settings.diagnose:
            self._diagnoses = [Diagnosis(recipe, self.trainer) for recipe in self.recipes]
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

    @cached_property
    def reads_further(self) -> bool:
        """Whether scores may depend on lengths in tokens or further columns."""
        return any(reads_further(recipe) for recipe in self.recipes)

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
        rows: _Rows = _Rows(responses, given, columns, image_sizes, model_image_sizes, groups, token_lengths)
        pieces = []
        for place, chosen in self._split(rows):
            pieces.append(self._piece(self.recipes[place], rows.take(chosen), chosen))
        judged = Judged(tuple(pieces), self.parts, len(responses))
        if not self._wired or any(piece.scores.errors for piece in pieces):
            with self._lock:
                self._watch(judged, names)
        if self._diagnoses:
            with self._lock:
                self._diagnose(pieces, rows)
        if self._recording is not None:
            self._recording.add(judged, responses, given, columns)
        return judged

    def _split(self, rows: _Rows) -> list[tuple[int, NDArray[np.int64] | None]]:
        """The recipes that have rows to judge, and which."""
        if self.router is None:
            return [(0, None)]
        chosen = self.router.choose(rows.targets, rows.columns, self.trainer)
        places = np.unique(chosen)
        if len(places) <= 1:
            return [(int(places[0]) if len(places) else 0, None)]
        return [(int(place), np.flatnonzero(chosen == place)) for place in places]

    def _piece(self, recipe: gr.Recipe, rows: _Rows, chosen: NDArray[np.int64] | None) -> Piece:
        bad_target = self.settings.bad_target
        targets = recipe.read_targets(list(rows.targets), bad_target=bad_target)
        image_sizes, model_image_sizes = sizes = self._sizes(rows, targets)
        rollouts = recipe.rollouts(
            rows.responses,
            targets,
            image_sizes=image_sizes,
            model_image_sizes=model_image_sizes,
            groups=rows.groups(recipe, targets) if callable(rows.groups) else rows.groups,
            token_lengths=rows.token_lengths,
            extras=rows.columns,
            bad_target=bad_target,
        )
        return Piece(recipe, rollouts, recipe.judge(rollouts), chosen, sizes)

    def _sizes(self, rows: _Rows, targets: Targets) -> tuple[Floats | None, Floats | None]:
        """The sizes that ``Recipe.rollouts`` is to be told, beside those in the targets."""
        image = self._known("image_sizes", rows.image_sizes, targets.known_image_sizes)
        model = self._known("model_image_sizes", rows.model_image_sizes, targets.known_model_image_sizes)
        if self.settings.model is not None:
            model = self._as_seen(targets.image_sizes if image is None else image, model, targets)
        return image, model

    def _known(self, name: str, outside: Sizes | None, own: Floats | None) -> Floats | None:
        """Sizes from outside and in the targets, in the trainer's order; None where the targets' own will do."""
        if outside is None or not any(size is not None for size in outside):
            return None
        found = read_sizes(name, outside, len(outside))
        if own is None:
            return found
        first, second = (found, own) if self.trainer.outside_first else (own, found)
        return np.where(np.isnan(first), second, first)

    def _as_seen(self, image: Floats, packed: Floats | None, targets: Targets) -> Floats:
        """The sizes of the images that the model saw: those that are given, else what resizing makes of the images."""
        known = targets.model_image_sizes if packed is None else packed
        wanted = np.where(np.isnan(known), image, np.nan)
        found, refused = model_image_sizes(wanted, self.trainer.resizing(self.settings.model), **self.settings.bounds)
        for complaint in refused.values():
            with self._lock:
                _bridge.say_once(complaint, self.seen)
        return np.where(np.isnan(known), found, known)

    def _watch(self, judged: Judged, names: Sequence[str | None]) -> None:
        _bridge.report(judged.errors, self.seen, names=names, outcome=self.trainer.outcome)
        self._wired = self._wired or bool(judged.valid.any())
        self._rows += 0 if self._wired else len(judged)
        if self._wired or not judged.errors:
            return
        first = next(iter(judged.errors.values()))
        if self._rows >= self.trainer.patience or _bridge.lacks_setting(first):
            raise _bridge.unwired(self._rows, self.settings, self.trainer, first)

    def _diagnose(self, pieces: Sequence[Piece], rows: _Rows) -> None:
        for piece in pieces:
            for diagnosis in self._diagnoses:
                if diagnosis.recipe is piece.recipe:
                    own = rows.take(piece.rows)
                    self._say(diagnosis, piece, own)
        self._diagnoses = [diagnosis for diagnosis in self._diagnoses if not diagnosis.finished]

    def _say(self, diagnosis: Diagnosis, piece: Piece, rows: _Rows) -> None:
        try:
            line = diagnosis.add(piece, rows.responses, rows.targets)
        except Exception:  # a line in the log is not worth a run
            diagnosis.finished = True
            _bridge.LOG.exception("%s: the first rows could not be diagnosed", diagnosis.recipe.name)
            return
        if line is not None:
            _bridge.LOG.warning("%s", line)


@dataclass(frozen=True, eq=False)
class _Rows:
    """What a trainer gives of n rows."""

    responses: Sequence[str | None]
    targets: Sequence[Any]
    columns: Mapping[str, Any]
    image_sizes: Sizes | None
    model_image_sizes: Sizes | None
    groups: Any
    token_lengths: Sequence[int] | None

    def take(self, chosen: NDArray[np.int64] | None) -> _Rows:
        """Some of the rows; all for None."""
        if chosen is None:
            return self
        rows = chosen.tolist()

        def some(column: Any) -> Any:
            if isinstance(column, np.ndarray) and column.ndim:
                return column[chosen]
            return [column[row] for row in rows] if isinstance(column, list | tuple) else column

        return _Rows(
            responses=some(list(self.responses)),
            targets=some(list(self.targets)),
            columns={name: some(column) for name, column in self.columns.items()},
            image_sizes=some(self.image_sizes),
            model_image_sizes=some(self.model_image_sizes),
            groups=some(self.groups),
            token_lengths=some(self.token_lengths),
        )


def make(trainer: Trainer, settings: Settings) -> Scorer:
    """A scorer of its own.

    Raises:
        RecipeError: no recipe is named, it or an option is unknown, or it needs what the trainer does not give.
    """
    recipes: list[gr.Recipe] = []
    if settings.model is not None:
        _bridge.check_resizing(settings, trainer)

    def place(recipe: Any) -> int:
        built = _bridge.build(recipe, settings, trainer)
        _bridge.refuse(built, **trainer.lacking)
        built.read_targets([], bad_target=settings.bad_target)  # so that an unknown bad_target is an error now
        if built not in recipes:
            recipes.append(built)
        return recipes.index(built)

    if settings.routes is None:
        place(settings.recipe)
        return Scorer(trainer, settings, tuple(recipes))
    ((name, by_value),) = settings.routes.items()
    rest = None if settings.recipe is None else place(settings.recipe)
    router = Router(str(name), {str(value): place(recipe) for value, recipe in by_value.items()}, rest)
    return Scorer(trainer, settings, tuple(recipes), router)


_SCORERS: dict[Any, Scorer] = {}
_LOCK = RLock()
_PLAIN = {str, int, float, bool, type(None)}


def scorer(trainer: Trainer, given: Mapping[str, Any]) -> Scorer:
    """The scorer of the options that a launch gives: the same one at every call in a process.

    Raises:
        RecipeError: an option does not fit, no recipe is named, or it needs what the trainer does not give.
    """
    quick = trainer.name, *[(name, type(value), value) for name, value in given.items()]
    plain = all([type(value) in _PLAIN for value in given.values()])  # noqa: C419 (faster so)
    found = _SCORERS.get(quick) if plain else None
    if found is not None:
        return found
    settings = Settings.of({**(trainer.defaults if given.get("model") else {}), **given})
    key: tuple[Any, ...] = trainer.name, settings.key()
    moving = ".py:" in key[1]
    if moving:
        settings = settings.in_full()
        key = trainer.name, settings.key()
    with _LOCK:
        found = _SCORERS.get(key)
        if found is None:
            found = _SCORERS[key] = make(trainer, settings)
        if plain and not moving:
            _SCORERS[quick] = found
    return found


def _unlocked() -> None:
    """Locks anew: in a process that was forked while another thread held one, nobody would ever let go of it."""
    global _LOCK
    _LOCK = RLock()
    for each in _SCORERS.values():
        each._lock = RLock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_unlocked)


def rows(columns: Mapping[str, Floats]) -> list[dict[str, float]]:
    """Columns of n as n dicts of Python floats.

    >>> rows({"score": np.array([0.5, 1.0]), "acc": np.array([0.0, 1.0])})
    [{'score': 0.5, 'acc': 0.0}, {'score': 1.0, 'acc': 1.0}]
    """
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]
