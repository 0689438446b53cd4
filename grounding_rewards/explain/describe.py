"""What there is to say about a recipe, as plain values for a table or for JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from grounding_rewards import catalogue
from grounding_rewards.combine import is_combination
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.labels import acc_made_by, made_by, plain
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import ACTION, Example, Recipe
from grounding_rewards.targets.requirements import Use
from grounding_rewards.verifiers import Verifier

Facts = dict[str, Any]


def entry(name: str) -> Facts:
    """A recipe in the list; ``error`` says why it cannot be built, where it cannot."""
    shown = catalogue.shown_with(name)
    try:
        return _summary(catalogue.recipe(name, **shown), shown)
    except GroundingRewardsError as error:
        return {"name": name, "error": str(error)}


def recipe(name: str, given: Mapping[str, Any]) -> Facts:
    """One recipe, with the options given; its example is scored here and now.

    Raises:
        RecipeError: the name or an option does not fit.
        SpaceError: a space is unknown.
    """
    shown = catalogue.shown_with(name, given)
    return facts(name, catalogue.recipe(name, **shown), shown)


def facts(name: str, found: Recipe, shown: Mapping[str, Any]) -> Facts:
    """What there is to say of a recipe built with the options ``shown``; its example is scored here and now."""
    source = found.source
    return {
        **_summary(found, shown),
        "formula": found.formula,
        "parts": _parts(found.reward),
        "success": made_by(found.success),
        "acc": acc_made_by(found),
        "accepts": sorted(found.accepts),
        "native": found.native.description if found.native else None,
        "actions": _actions(found),
        "options": _options(name, found, shown),
        "repository": source.repository,
        "commit": source.commit,
        "files": list(source.files),
        "deviations": [{"name": each.name, "why": each.why} for each in found.deviations],
        "exploits": [{"name": each.name, "what": each.what, "payoff": each.payoff} for each in found.exploits],
        "example": _scored(found, found.example) if found.example else None,
    }


def _summary(found: Recipe, shown: Mapping[str, Any]) -> Facts:
    use = Use(found.space, found.response_space, found.accepts, "screen" in found.needs, label_free=found.label_free)
    return {
        "name": found.name,
        "answers": found.example.response if found.example else None,
        "dialect": found.dialect.name,
        "response_space": found.response_space.value,
        "target_space": found.target_space.value,
        "space": found.space.value,
        "low": found.low,
        "high": found.high,
        "needs": [*_sizes(found, use), *sorted(found.needs - {"screen"})],
        "paper": found.source.paper,
        "with": plain(shown),
    }


def _sizes(found: Recipe, use: Use) -> list[str]:
    """The sizes that a recipe needs; where it makes that of the model's image, the original's in its place."""
    made = {} if found.resizing is None else {"model_image_size": "image_size"}
    return list(dict.fromkeys(made.get(name, name) for name in use.sizes(found.target_space)))


def _parts(term: Verifier) -> list[Facts]:
    """Every named part inside a term, in the order of ``Scores.parts``."""
    if not is_combination(term):
        return []
    found: list[Facts] = []
    for name, part in term.children:
        found += [*_parts(part), {"name": name, "low": part.low, "high": part.high, "made_by": made_by(part)}]
    return found


def _actions(found: Recipe) -> list[Facts]:
    """The fields of a target's action, where the recipe compares actions in the words of the vocabulary."""
    if ACTION not in found.accepts or not getattr(found.dialect, "vocabulary", False):
        return []
    return [{"field": field, "says": says, "example": dict(example)} for field, says, example in ACTION_FIELDS]


ACTION_FIELDS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("name", "the kind of action; a text in place of the object is its name", {"action": "back"}),
    ("text", "what is typed, answered or selected", {"action": {"name": "type", "text": "red hat"}}),
    ("direction", "up, down, left or right: of a scroll the way of the view, of a swipe that of the finger",
     {"action": {"name": "scroll", "direction": "down"}}),
    ("to", "where a drag or a swipe ends: [x, y], or a box",
     {"bbox": [100, 100, 300, 200], "action": {"name": "drag", "to": [500, 100, 700, 200]}}),
    ("button", "of the system, or of the mouse", {"action": {"name": "system_button", "button": "Back"}}),
    ("keys", "a key or a list of them, in any order", {"action": {"name": "key", "keys": ["ctrl", "c"]}}),
    ("app", "what is opened", {"action": {"name": "open_app", "app": "Clock"}}),
    ("status", "of finished: success, or why not", {"action": {"name": "finished", "status": "infeasible"}}),
    ("duration", "how long a wait or a press takes, in the unit of the responses",
     {"bbox": [100, 100, 300, 200], "action": {"name": "long_press", "duration": 2}}),
)  # fmt: skip
"""What each field of an action in a target says, with a target that has it."""


def _options(name: str, found: Recipe, shown: Mapping[str, Any]) -> Facts:
    """Each option's default; null where it must be given, or is for the recipe to choose."""
    own = {
        key: None if default is inspect.Parameter.empty else default
        for key, default in catalogue.own_options(name).items()
    }
    left = {key: value for key, value in {"response_space": found.response_space, **shown}.items() if key in own}
    bare = catalogue.recipe(name, **left)
    idle = set() if ACTION in bare.accepts else {"action_names"}
    shared = {key: catalogue.shared_option(bare, key) for key in catalogue.SHARED if key not in {*own, *idle}}
    return {key: plain(value) for key, value in {**own, **shared}.items()}


def _scored(found: Recipe, example: Example) -> Facts:
    """An example and what it is paid with these options; ``error`` says why it cannot be scored, where it cannot."""
    shown = {
        "response": example.response,
        "target": plain(example.target),
        **({"group": list(example.group)} if example.group else {}),
        "image_size": plain(example.image_size),
        "model_image_size": plain(example.model_image_size),
    }
    try:
        scores = Case.of(example).score(found)
    except GroundingRewardsError as error:
        return {**shown, "error": str(error)}
    return {
        **shown,
        "total": float(scores.total[0]),
        "acc": float(scores.acc[0]),
        "reason": Reason(scores.reason[0]).name,
        "parts": {name: float(column[0]) for name, column in scores.parts.items()},
    }
