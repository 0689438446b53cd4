"""Other dialects and recipes that read responses which a recipe does not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grounding_rewards.catalogue import SHARED, list_recipes, own_options, recipe
from grounding_rewards.checks.row_sample import Row
from grounding_rewards.coords.resizing import RESIZING
from grounding_rewards.errors import MISSING, GroundingRewardsError
from grounding_rewards.plugins.registry import registry
from grounding_rewards.rollouts import CLICKED, Rollouts
from grounding_rewards.scoring import ACTION, Recipe
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import Targets

_NEARLY = 0.9
_OURS = ("click", "action")
_GENERAL = ("auto", "auto_action")


@dataclass(frozen=True)
class Reading:
    """Another reading of responses.

    Attributes:
        recipe: the recipe that reads them.
        settings: what to set for it.
        how: how they are read, such as "by tool_call".
        count: number of responses that it reads.
        without: options that it does not take.
        lacks: what its targets lack, such as "image_size"; "" for nothing.
        hits: number of responses that are right then.
    """

    recipe: Recipe
    settings: Mapping[str, Any]
    how: str
    count: int
    without: tuple[str, ...] = ()
    lacks: str = ""
    hits: int = 0


def other_reading(unfit: Recipe, rows: Sequence[Row], box_format: BoxFormat | None) -> Reading | None:
    """Return a reading of at least half of the rows, which a recipe does not read; None where there is none.

    The recipe with another policy of several answers is tried first, then with another dialect, then other recipes,
    ours before published ones.
    """
    own_space = _say_their_space(unfit, rows)
    for readings in (_policies(unfit), _dialects(unfit), _recipes(unfit, own_space=own_space)):
        tried = [replace(each, **_outcome(each, rows, box_format)) for each in readings]
        most = max((each.count for each in tried), default=0)
        if most and 2 * most >= len(rows):
            enough = [each for each in tried if each.count >= _NEARLY * most]
            enough = [each for each in enough if not each.lacks] or enough
            # Policies read the same responses, and differ in which of their answers is right.
            return max(enough, key=lambda each: each.hits) if "answers" in enough[0].settings else enough[0]
    return None


def _say_their_space(unfit: Recipe, rows: Sequence[Row]) -> bool:
    """Return True where all targets name their space, as those of benchmarks' layouts do."""
    targets = Targets.from_list([row.target for row in rows], native=unfit.native, bad_target="abstain")
    return all(target.space is not None for target in targets.rows if target is not None)


def prepared(judge: Recipe, rows: Sequence[Row], box_format: BoxFormat | None) -> Rollouts:
    """Return what verifiers see of rows; targets that cannot be used abstain.

    Raises:
        GroundingRewardsError: the recipe cannot read them.
    """
    targets = judge.read_targets([row.target for row in rows], bad_target="abstain", warn=False, box_format=box_format)
    sizes = np.array([row.sizes for row in rows]).reshape(-1, 2, 2)
    return judge.prepare(
        [row.response for row in rows], targets, image_sizes=sizes[:, 0], model_image_sizes=sizes[:, 1],
        groups=np.arange(len(rows)), bad_target="abstain",
    )  # fmt: skip


def _outcome(reading: Reading, rows: Sequence[Row], box_format: BoxFormat | None) -> dict[str, Any]:
    """Return count, how and lacks of a reading: the number of rows that it reads, by the dialect of most of them."""
    try:
        rollouts = prepared(reading.recipe, rows, box_format)
        hits = int(np.count_nonzero(reading.recipe.evaluate(rollouts).acc > 0)) if "answers" in reading.settings else 0
    except GroundingRewardsError:
        return {"count": 0}
    predictions, errors = rollouts.predictions, rollouts.targets.errors
    lacking = {row: error.field for row, error in errors.items() if error.came is MISSING}
    usable = rollouts.targets.valid.copy()
    usable[list(lacking)] = True
    read = np.isin(predictions.reason, CLICKED) & usable
    names = Counter(predictions.dialects[each] for each in predictions.dialect[read].tolist() if each >= 0)
    commonest = names.most_common(1)[0][0] if names else reading.recipe.dialect.name
    return {
        "count": int(read.sum()),
        "how": reading.how or f"by {commonest}",
        "lacks": next(iter(lacking.values()), ""),
        "hits": hits,
    }


def _policies(unfit: Recipe) -> Iterator[Reading]:
    for policy in ("last", "first") if unfit.answers == "only" else ():
        how = f"where the {policy} of several answers counts"
        yield Reading(replace(unfit, answers=policy), {"answers": policy}, how, 0)


def _dialects(unfit: Recipe) -> Iterator[Reading]:
    """Yield the recipe with other dialects, the general ones first, where it has an option for them."""
    names = [name for name in registry().parsers if name not in _GENERAL]
    for name in (*_GENERAL, *names) if takes(unfit, "dialect") else ():
        if (built := _built(unfit.name, {**dict(unfit.options), "dialect": name})) is not None:
            yield Reading(built, {"dialect": name}, "", 0)


def takes(built: Recipe, option: str) -> bool:
    """Return True where a recipe has an option of its own."""
    try:
        return option in own_options(built.name)
    except GroundingRewardsError:  # it was built by hand
        return False


def _recipes(unfit: Recipe, *, own_space: bool) -> Iterator[Reading]:
    """Yield recipes that judge the same things, with the settings of responses and targets that they share.

    ``own_space``: targets name their space, which an option is not to replace.
    """
    own = dict(unfit.options)
    shared: dict[str, Any] = {} if own_space else {"target_space": unfit.target_space}
    if "model" not in own or "response_space" in own:
        shared["response_space"] = unfit.response_space
    shared |= {name: own[name] for name in RESIZING if name in own}
    ours = reversed(_OURS) if ACTION in unfit.accepts else _OURS
    for name in dict.fromkeys((*ours, *list_recipes())):
        built = None if name == unfit.name else _built(name, shared)
        if built is None or built.label_free != unfit.label_free or built.needs - unfit.needs - {"screen"}:
            continue
        changed = {key: value for key, value in built.options if own.get(key) != value}
        without = tuple(each for each in own if each not in (*SHARED, *own_options(name)))
        yield Reading(built, {"recipe": name, **changed}, "", 0, without)


def _built(name: str, options: Mapping[str, Any]) -> Recipe | None:
    try:
        return recipe(name, **options)
    except GroundingRewardsError:  # it needs further options, or its plugin does not fit
        return None
