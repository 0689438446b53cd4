"""Descriptions of recipes, as plain values for a table or for JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import suppress
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from grounding_rewards import catalogue
from grounding_rewards.combine import parts_of
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explanation import plain
from grounding_rewards.explain.formulas import acc_made_by, arguments_of, made_by
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import ACTION, Example, Recipe

Facts = dict[str, Any]


def entry(name: str) -> Facts:
    """Describe a recipe in a line of the list; ``error`` says why it cannot be built, where it cannot."""
    options = catalogue.shown_with(name)
    try:
        return _summary(catalogue.recipe(name, **options), options)
    except GroundingRewardsError as error:
        return {"name": name, "error": str(error)}


def recipe(name: str, options: Mapping[str, Any]) -> Facts:
    """Describe one recipe, with options; its example is scored here and now."""
    name, options = catalogue.named(name, options)
    options = catalogue.shown_with(name, options)
    return facts(name, catalogue.recipe(name, **options), options)


def facts(name: str, built: Recipe, options: Mapping[str, Any]) -> Facts:
    """Describe a recipe that was built with these options; its example is scored here and now."""
    source, about = built.source, about_options(name)
    return {
        **_summary(built, options),
        "formula": built.formula,
        "parts": [
            {"name": name, "low": part.low, "high": part.high, "made_by": made_by(part)}
            for name, part in parts_of(built.reward)
        ],
        "success": made_by(built.success),
        "acc": acc_made_by(built),
        "accepts": sorted(built.accepts),
        "native": built.native.description if built.native else None,
        "actions": _actions(built),
        "options": (defaults := _options(name, built, options)),
        "about_options": {key: about[key] for key in defaults},
        "repository": source.repository,
        "commit": source.commit,
        "files": list(source.files),
        "deviations": [{"name": each.name, "why": each.why} for each in built.deviations],
        "exploits": [{"name": each.name, "what": each.what, "payoff": each.payoff} for each in built.exploits],
        "example": _scored(built, built.example) if built.example else None,
    }


def _summary(built: Recipe, options: Mapping[str, Any]) -> Facts:
    return {
        "name": built.name,
        "answers": built.example.response if built.example else None,
        "dialect": built.dialect.name,
        "response_space": built.response_space.value,
        "target_space": built.target_space.value,
        "space": built.space.value,
        "low": built.low,
        "high": built.high,
        "needs": [*_sizes(built), *sorted(built.needs - {"screen", "points"})],
        "paper": built.source.paper,
        "with": plain(options),
    }


def _sizes(built: Recipe) -> list[str]:
    """The sizes that a recipe needs; where it makes that of the model's image, the original's in its place."""
    made = {} if built.resizing is None else {"model_image_size": "image_size"}
    return list(dict.fromkeys(made.get(name, name) for name in built.requirements.sizes(built.target_space)))


def _actions(built: Recipe) -> list[Facts]:
    """List the fields of a target's action, where the recipe compares actions in the words of the vocabulary."""
    if ACTION not in built.accepts or not getattr(built.dialect, "vocabulary", False):
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
"""Each field of an action in a target: its meaning, and a target that has it."""


def _options(name: str, built: Recipe, options: Mapping[str, Any]) -> Facts:
    """Return each option's default; null where it must be given, or is for the recipe to choose."""
    own = {
        key: None if default is inspect.Parameter.empty else default
        for key, default in catalogue.own_options(name).items()
    }
    left = {key: value for key, value in {"response_space": built.response_space, **options}.items() if key in own}
    bare = catalogue.recipe(name, **left)
    idle = set() if ACTION in bare.accepts else {"action_names"}  # no names to change there
    shared = {key: catalogue.shared_option(bare, key) for key in catalogue.SHARED if key not in {*own, *idle}}
    return {key: plain(value) for key, value in {**own, **shared}.items()}


def about_options(name: str) -> dict[str, dict[str, str]]:
    """Describe each option that a recipe takes: its values and its meaning; "" where its function states none."""
    build = catalogue.builder(name)
    meanings, kinds = arguments_of(build), dict[str, Any]()
    with suppress(Exception):  # a plugin's function may name what only a type checker imports
        kinds = get_type_hints(build)
    about = dict(catalogue.SHARED)
    for key in catalogue.own_options(name):
        values, meaning = about.get(key, ("", ""))
        about[key] = (values_of(kinds.get(key)) or values, meanings.get(key) or meaning)
    return {key: {"values": values, "meaning": meaning.replace("``", "`")} for key, (values, meaning) in about.items()}


_VALUES = {bool: "true, false", int: "whole numbers", float: "numbers", str: "text"}


def values_of(kind: Any) -> str:
    """Return the values of an annotation in words; "" where that says nothing."""
    kinds = list(get_args(kind)) if get_origin(kind) in (Union, UnionType) else [kind]
    if CoordSpace in kinds:
        return ", ".join(CoordSpace)
    words = [", ".join(map(str, get_args(each))) if get_origin(each) is Literal else _value(each) for each in kinds]
    return " or ".join(dict.fromkeys(filter(None, words)))


def _value(kind: Any) -> str:
    origin = get_origin(kind)
    for mark in getattr(kind, "__metadata__", ()):  # a range of verifiers.options
        return str(mark)
    if origin is not None and issubclass(origin, Mapping):
        return "an object"
    if origin is None:
        return _VALUES.get(kind, "")
    return "a list of texts" if get_args(kind)[:1] == (str,) else "a list"


def _scored(built: Recipe, example: Example) -> Facts:
    """Score an example with these options; ``error`` says why it cannot be scored, where it cannot."""
    inputs = {
        "response": example.response,
        "target": plain(example.target),
        **({"group": list(example.group)} if example.group else {}),
        "image_size": plain(example.image_size),
        "model_image_size": plain(example.model_image_size),
    }
    try:
        scores = Case.of(example).score(built)
    except GroundingRewardsError as error:
        return {**inputs, "error": str(error)}
    return {
        **inputs,
        "total": float(scores.total[0]),
        "acc": float(scores.acc[0]),
        "reason": Reason(scores.reason[0]).name,
        "parts": {name: float(column[0]) for name, column in scores.parts.items()},
    }
