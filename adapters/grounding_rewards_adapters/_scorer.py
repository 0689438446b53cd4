"""Score rows for any trainer: recipes that are built once, routes between them, and reports of what is wrong."""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.batch.score_rows import Inputs, RecipeSlice, Rows, ScoredBatch, score_rows
from grounding_rewards.checks import diagnosis
from grounding_rewards.checks.finding import BOX_FORMAT, Code, Naming, in_python, without
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import MISSING, near
from grounding_rewards.parsing.responses import read_responses
from grounding_rewards_adapters._launch import LOG, Named, Settings, Trainer, build, fix_of, refuse, say_once

if TYPE_CHECKING:
    from grounding_rewards_adapters._record import Recording

REPORTED = 1000
"""Unusable targets that are logged at most."""

_PATIENCE = 64
"""Number of rows, at the start, that may pass without one usable target before an error ends the run.

It counts rows of one sample, or of one of several recipes; rows of more samples may be fewer (``Trainer.patience``).
"""


@dataclass(eq=False)
class Scorer:
    """Scorer of rows with one recipe, or with several and a router. Threads may share it, and it can be pickled."""

    trainer: Trainer
    settings: Settings  # options of the launch
    recipes: tuple[gr.Recipe, ...]  # the recipe, or all that the router chooses from
    named: tuple[Named | None, ...]  # where the launch names each recipe; None for a recipe that was given as an object
    router: Router | None = None  # chooses the recipe of each row; None where there is only one
    logged: set[str] = field(default_factory=set)  # messages that were logged, so that none is repeated
    _diagnoses: dict[gr.Recipe, diagnosis.Diagnosis] = field(default_factory=dict)  # those without enough rows yet
    _recording: Recording | None = None
    _rows: int = 0  # rows that ``_watch`` has seen
    _waited: Counter[int] = field(default_factory=Counter)  # rows of each recipe, by index, before a usable target
    _usable: set[int] = field(default_factory=set)  # indices of recipes that have had a usable target
    _lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        if self.settings.diagnose:
            for recipe, named in zip(self.recipes, self.named, strict=True):
                naming = Naming(partial(_use, self.trainer, named), "the responses of the rollouts")
                self._diagnoses[recipe] = diagnosis.Diagnosis(recipe, naming)
        if self.settings.record is not None:
            # Only here, because it loads modules that a launch without a record does not need.
            from grounding_rewards_adapters._record import Recording

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

    @cached_property
    def reads_columns(self) -> bool:
        """True where routes, a record or scores may read further columns."""
        return self.router is not None or self._recording is not None or self.reads_extras

    def score(self, inputs: Inputs, names: Sequence[str | None] = ()) -> ScoredBatch:
        """Score n rows, log each unusable target once, and keep what is to be recorded."""
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
                say_once(f"routes: rows have no {router.field!r}; {rest} judges them", self.logged)
        places = np.unique(chosen).tolist()
        if len(places) <= 1 and _NO_RECIPE not in places:
            return [(places[0] if places else 0, None)]
        return [(place, np.flatnonzero(chosen == place)) for place in places]

    def _routed(self, place: int, inputs: Inputs, rows: Rows) -> RecipeSlice:
        """Score the rows of recipe number ``place``; errors name rows of the whole batch."""
        own = inputs.take(rows)
        if place == _NO_RECIPE:
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
        report(scored.errors, self.logged, names=names, outcome=self.trainer.outcome)
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
        fix = fix_of(error, each.recipe, self.trainer, self.named[self.recipes.index(each.recipe)])
        return gr.RecipeError(f"{none}; check {self.trainer.where}: {error}{fix}")

    def _diagnose(self, slices: Sequence[RecipeSlice]) -> None:
        """Give each recipe's rows to its diagnosis, and log the line that this says once it has seen enough of them."""
        for each in slices:
            if not (each.routed and each.recipe in self._diagnoses):
                continue
            first = self._diagnoses[each.recipe]
            try:
                first.add(each, rows=ROWS - first.rows)
                line = line_of(first) if first.rows >= ROWS else None
            except Exception:  # a run must not end for a line in the log
                del self._diagnoses[each.recipe]
                LOG.exception("%s: the first rows could not be diagnosed", each.recipe.name)
                continue
            if line is not None:
                del self._diagnoses[each.recipe]
                if clash := self.trainer.clash:
                    say_once(f"{clash}: use an environment for each", self.logged, level=logging.WARNING)
                LOG.warning("%s", line)


TASK = "task"
_NO_RECIPE = -1
"""Stands for no recipe, where recipes are kept as places."""


@dataclass(frozen=True)
class Router:
    """Places of recipes by the value of one field; ``rest`` judges all others, which are an error where it is None."""

    field: str
    places: Mapping[str, int]
    rest: int | None = None

    def choose(
        self, targets: Sequence[Any], columns: Mapping[str, Any], trainer: Trainer, *, started: bool = False
    ) -> NDArray[np.int64]:
        """Return (n,) the recipe of each row; ``_NO_RECIPE`` for rows without a value where others have one, or had."""
        values = self._values(targets, columns, trainer)
        chosen = np.full(len(values), _NO_RECIPE if self.rest is None else self.rest, dtype=np.int64)
        for row, value in enumerate(values):
            place = self.rest if value is None else self.places.get(str(value), self.rest)
            if place is not None:
                chosen[row] = place
            elif value is not None:
                raise gr.RecipeError(
                    f"routes: {self.field}: got {value!r:.80}; expected one of {', '.join(self.places)}: add it to "
                    f"{trainer.set('routes')}, or name a recipe for all other rows: set {trainer.set('recipe')}"
                )
        if len(chosen) and not started and (chosen == _NO_RECIPE).all():
            raise gr.RecipeError(
                f"routes: {self.field}: row 0 has none; expected one of {', '.join(self.places)}; {trainer.fields}; or "
                f"name a recipe for rows without: set {trainer.set('recipe')}"
            )
        return chosen

    def missing(self, target: Any, row: int) -> gr.TargetError:
        """Return the error of a row that has no value, by its target's id, else by its number."""
        name = _own(target, "id")
        sample = row if name is None or not isinstance(name, str | int) else str(name)
        return gr.TargetError(
            sample, self.field, MISSING, f"one of {', '.join(self.places)}: routes choose the recipe by it"
        )

    def _values(self, targets: Sequence[Any], columns: Mapping[str, Any], trainer: Trainer) -> list[Any]:
        column = columns.get(self.field)
        if isinstance(column, np.ndarray):
            column = column.tolist()
        if not isinstance(column, list | tuple):
            column = None
        if self.field == TASK:
            own = [_own(target, TASK) for target in targets]
            return [mine if mine is not None else theirs for mine, theirs in zip(own, column or own, strict=True)]
        if column is None and (self.rest is None or trainer.whole_columns):
            names = ", ".join(sorted(name for name, each in columns.items() if isinstance(each, list | tuple)))
            hint = near(self.field, columns) or "."
            raise gr.RecipeError(
                f"routes: {trainer.name} gives no {self.field!r}{hint} It gives: {names or 'nothing'}; {trainer.fields}"
            )
        return [None] * len(targets) if column is None else list(column)


def _own(target: Any, name: str) -> Any:
    """Return what a target itself says in a field; None where it says nothing."""
    if isinstance(target, str) and target.lstrip().startswith("{"):
        try:
            target = json.loads(target)
        except (ValueError, RecursionError):
            return None
    return target.get(name) if isinstance(target, Mapping) else None


ROWS = 256
"""Rows that are looked at."""

_IN_THE_LINE = (Code.BAD_TARGET, Code.NO_HITS)
"""Findings that the line begins with, or that the log has already."""


def _use(trainer: Trainer, named: Named | None, settings: Mapping[str, Any]) -> str:
    """Return how a launch makes settings."""
    options = {name: value for name, value in settings.items() if name != BOX_FORMAT and value is not None}
    if "model" in options:
        options["model"] = options["model"].rpartition("+")[2]  # a trainer adds its own way of resizing
    requests = []
    if options:
        requests += [in_python(options) if named is None else f"set {named.set(trainer, options)}"]
    if BOX_FORMAT in settings:
        requests += [f"write them as x1 y1 x2 y2: convert them with --box-format {settings[BOX_FORMAT]}"]
    return f"{' and '.join(requests)}{without(settings)}"


def line_of(first: diagnosis.Diagnosis) -> str:
    """Return the line that the log gets of the first rows of a recipe."""
    recipe, succeeded = first.recipe, "agreed on" if first.recipe.label_free else "right"
    usable = "" if first.valid == ROWS else f"the {first.valid} with a usable target among "
    findings = [each for each in first.findings() if each.code not in _IN_THE_LINE]
    commonest = first.commonest()
    parts = [
        f"{recipe.name}: of {usable}the first {ROWS} responses {_share(first.parsed, first.valid)} were read "
        f"and {_share(first.hits, first.valid)} {succeeded}",
        *([commonest] if commonest and not any(commonest in each.message for each in findings) else []),
        *map(str, findings),
    ]
    return "; ".join(parts)


def _share(count: int, valid: int) -> str:
    # Below one in a hundred the count says more than 0 %.
    return f"{100 * count / valid:.0f} %" if count >= 0.01 * valid else f"{count}" if count else "none"


def report(
    errors: Mapping[int, gr.TargetError],
    logged: set[str],
    *,
    names: Sequence[str | None] = (),
    outcome: str = "the sample abstains",
) -> None:
    """Log each unusable target once: by the sample's id, or by what is wrong where it has none."""
    for row, each in errors.items():
        name = names[row] if names else None
        error = each if name is None else each.named(name)
        key = error.sample if isinstance(error.sample, str) else f"{error.field} {error.came!r:.200} {error.expected}"
        if key in logged:
            continue
        if len(logged) >= REPORTED:
            say_once(f"{REPORTED} targets cannot be used; further ones are not logged", logged)
            break
        logged.add(str(key))
        LOG.error("%s; %s", error, outcome)


def samples(
    trainer: Trainer,
    arguments: Mapping[str, Any],
    responses: Sequence[str | None],
    targets: Sequence[Any],
    rows: Sequence[Mapping[str, Any]],
    more: Mapping[str, Sequence[Any]] | None = None,
    *,
    under: str = "",
    together: bool = False,
) -> ScoredBatch:
    """Score responses; further columns come in a mapping a row, or in ``more``; ``together``: they are one group."""
    built, columns = scorer(trainer, arguments), dict[str, Sequence[Any]]()
    if built.reads_columns:
        columns = {
            name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)
        }
        columns.update(more or {})
    sizes = {
        name: read_sizes(f"{under}{name}", [row.get(name) for row in rows], built.logged)
        for name in ("image_size", "model_image_size")
        if any(name in row for row in rows)
    }
    groups = [0] * len(responses) if together else None
    inputs = Inputs(responses, targets, columns, sizes.get("image_size"), sizes.get("model_image_size"), groups=groups)
    return built.score(inputs, [None if row.get("index") is None else f"index {row['index']}" for row in rows])


def rows(columns: Mapping[str, Floats]) -> list[dict[str, float]]:
    """Return columns of n as n dicts of Python floats."""
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]


def metrics(scored: ScoredBatch) -> dict[str, float]:
    """Means over the usable rows of a batch, if any: acc, parsed, parts; of all rows: valid, share of each reason."""
    columns = scored.columns
    usable = columns["valid"] > 0
    means = {name: columns[name] for name in ("acc", "parsed", *scored.parts)}
    averages = {name: float(column[usable].mean()) for name, column in means.items()} if usable.any() else {}
    shares = {f"reason/{kind.name.lower()}": float((scored.reason == kind).mean()) for kind in gr.Reason}
    return {**averages, "valid": float(columns["valid"].mean()), **shares}


def read_sizes(name: str, column: Sequence[Any], logged: set[str]) -> list[tuple[float, float] | None]:
    """Read the sizes in a column; None where there is none, or none that can be read, which is logged once."""
    sizes = [read_size(value) for value in column]
    for value, size in zip(column, sizes, strict=True):
        if size is None and value is not None:
            complaint = f"{name}: got {value!r:.80}; expected [width, height]; anything else counts as unknown"
            say_once(complaint, logged, about=name)
    return sizes


def read(trainer: Trainer, arguments: Mapping[str, Any]) -> Settings:
    """Read the settings that a launch gives."""
    try:
        return Settings.of(arguments)
    except gr.RecipeError as error:
        raise gr.RecipeError(f"{error} (options are set as {trainer.set('NAME')})") from error


def make(trainer: Trainer, settings: Settings) -> Scorer:
    """Build a scorer."""
    recipes: dict[gr.Recipe, Named | None] = {}

    def place(recipe: Any, key: str) -> int:
        built = build(recipe, settings, trainer, key)
        refuse(built, trainer)
        built.read_targets([], bad_target=settings.bad_target)  # so that an unknown bad_target is an error now
        recipes.setdefault(built, _named(recipe, key))  # equal recipes are one
        return list(recipes).index(built)

    rest, router = None, None
    if settings.recipe is not None or settings.routes is None:
        rest = place(settings.recipe, "recipe")
    for name, by_value in (settings.routes or {}).items():
        places = {str(value): place(recipe, f"routes.{name}.{value}") for value, recipe in by_value.items()}
        router = Router(str(name), places, rest)
    return Scorer(trainer, settings, tuple(recipes), tuple(recipes.values()), router)


def _named(recipe: Any, key: str) -> Named | None:
    """Return the place where a launch names a recipe; None where it came built."""
    if isinstance(recipe, Mapping):
        return Named(f"{key}.")
    if isinstance(recipe, str):
        return Named() if key == "recipe" else Named(key, recipe)
    return None


_SCORERS: dict[tuple[str, str], Scorer] = {}
_LAST: dict[str, tuple[str, dict[str, Any], dict[str, Any], tuple[str, str]]] = {}
"""Directory, "" where no path depends on it, options, copies of those that may change, and scorer's key of each
trainer's last call.

The next call mostly has the same options. These are kept, and so are alive: no other object can pass for one of them.
"""
_LOCK = RLock()


def scorer(trainer: Trainer, arguments: Mapping[str, Any]) -> Scorer:
    """Return the scorer of the options that a launch gives: the same one at every call in a process."""
    if trainer.name in _LAST:  # without the lock, since an entry is replaced as a whole
        directory, options, copies, key = _LAST[trainer.name]
        if (
            key in _SCORERS
            and arguments.keys() == options.keys()
            and all([value is options[name] for name, value in arguments.items()])  # noqa: C419 (faster so)
            and (not copies or _changeable(arguments) == copies)
            and (not directory or os.getcwd() == directory)
        ):
            return _SCORERS[key]
    settings = read(trainer, arguments)
    key = trainer.name, settings.key()
    if ".py:" in key[1]:  # the working directory says which file a relative path means
        settings = settings.in_full()
        key = trainer.name, settings.key()
    with _LOCK:
        built = _SCORERS.get(key)  # another thread may have had the lock before
        if built is None:
            built = _SCORERS[key] = make(trainer, settings)
        directory = os.getcwd() if ".py:" in key[1] or "settings" in arguments else ""
        _LAST[trainer.name] = directory, dict(arguments), deepcopy(_changeable(arguments)), key
    return built


def _changeable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that may change and still be the same objects."""
    return {name: value for name, value in arguments.items() if type(value) in (dict, list)}


def _unlocked() -> None:
    """Make new locks: in a process forked while another thread held one, nobody would ever release it."""
    global _LOCK
    _LOCK = RLock()
    for each in _SCORERS.values():
        each._lock = RLock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_unlocked)
