"""What there is to say about a recipe, as plain values for a table or for JSON."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from grounding_rewards import catalogue, combine
from grounding_rewards.cli.options import built
from grounding_rewards.columns import Reason
from grounding_rewards.combine import Weighted, is_combination, part_names
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.plugins import registry
from grounding_rewards.scoring import ACTION, Example, Recipe
from grounding_rewards.target_checks import Use
from grounding_rewards.verifiers import JudgedFormat, Verifier
from grounding_rewards.verifiers.base import FunctionVerifier
from grounding_rewards.verifiers.named import OwnVerifier

Facts = dict[str, Any]

_SHORT = reprlib.Repr()
_SHORT.maxstring, _SHORT.maxtuple = 48, 3


def entry(name: str) -> Facts:
    """A recipe in the list; ``error`` says why it cannot be built, where it cannot."""
    shown = catalogue.shown_with(name)
    try:
        return _summary(built(name, shown), shown)
    except GroundingRewardsError as error:
        return {"name": name, "error": str(error)}


def recipe(name: str, given: Mapping[str, Any]) -> Facts:
    """One recipe, with the options given; its example is scored here and now.

    Raises:
        RecipeError: the name or an option does not fit.
        SpaceError: a space is unknown.
    """
    shown = {**catalogue.shown_with(name), **given}
    found = built(name, shown)
    source = found.source
    return {
        **_summary(found, shown),
        "formula": found.formula,
        "parts": _parts(found.reward),
        "success": _made_by(found.success),
        "acc": _acc(found),
        "accepts": sorted(found.accepts),
        "native": found.native.description if found.native else None,
        "actions": _actions(found),
        "options": _options(name, shown),
        "repository": source.repository,
        "commit": source.commit,
        "files": list(source.files),
        "deviations": [{"name": each.name, "why": each.why} for each in found.deviations],
        "exploits": [{"name": each.name, "what": each.what, "payoff": each.payoff} for each in found.exploits],
        "example": _scored(found, found.example) if found.example else None,
    }


def _summary(found: Recipe, shown: Mapping[str, Any]) -> Facts:
    use = Use(found.space, found.response_space, found.accepts, screen="screen" in found.needs)
    return {
        "name": found.name,
        "answers": found.example.response if found.example else None,
        "dialect": found.dialect.name,
        "response_space": found.response_space.value,
        "target_space": found.target_space.value,
        "space": found.space.value,
        "low": found.low,
        "high": found.high,
        "needs": [*use.sizes(found.target_space), *sorted(found.needs - {"screen"})],
        "paper": found.source.paper,
        "with": _plain(shown),
    }


def _parts(term: Verifier) -> list[Facts]:
    """Every named part inside a term, in the order of ``Scores.parts``."""
    if not is_combination(term):
        return []
    found: list[Facts] = []
    for name, part in term.children:
        found += [*_parts(part), {"name": name, "low": part.low, "high": part.high, "made_by": _made_by(part)}]
    return found


def _acc(found: Recipe) -> str:
    """What makes ``acc`` 1, with those of its parts that the reward has not."""
    made, known = _made_by(found.success), part_names(found.reward)
    whole = made if made.startswith("1.0 ") else f"1 where {made} is above 0"
    others = found.success.children if is_combination(found.success) and not _is_told(found.success) else ()
    return "; ".join([whole, *[f"{name}: {_made_by(part)}" for name, part in others if name not in known]])


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


def _made_by(term: Verifier) -> str:
    """A registered verifier with the arguments that are not defaults; of any other what it says of itself.

    A combination is shown with the names of its parts.
    """
    if isinstance(term, JudgedFormat):
        return _told(term.judge)
    if _is_told(term):
        return _told(type(term))
    if isinstance(term, Weighted):
        pairs = zip(term.weights, term.children, strict=True)
        return " + ".join(f"{weight:g} · {name}" for weight, (name, _) in pairs)
    if is_combination(term):
        return f"{type(term).__name__.lower()}({', '.join(name for name, _ in term.children)})"
    if not is_dataclass(term):
        return repr(term)
    values = {each.name: getattr(term, each.name) for each in fields(term) if each.repr}
    given = [f"{name}={_short(value)}" for name, value in values.items() if value != _default(term, name)]
    return f"{type(term).__name__}({', '.join(given)})"


def _is_told(term: Verifier) -> bool:
    """Whether a verifier is known to nobody by its name, so that its first sentence tells more."""
    kind = type(term)
    named = isinstance(term, FunctionVerifier | OwnVerifier) or kind.__module__ == combine.__name__
    return not named and kind not in registry().verifiers.values() and bool(_told(kind))


def _told(thing: Any) -> str:
    """The first line of a docstring, without marks."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("``", "")


def _short(value: Any) -> str:
    """A value as Python writes it, without the middle of a pattern and the end of a long list."""
    return str(getattr(value, "__name__", "")) or _SHORT.repr(value)


def _default(term: Any, name: str) -> Any:
    return next(each.default for each in fields(term) if each.name == name)


def _options(name: str, shown: Mapping[str, Any]) -> Facts:
    """Each option's default; null where it must be given, or is for the recipe to choose."""
    own = {
        key: None if default is inspect.Parameter.empty else default
        for key, default in catalogue.own_options(name).items()
    }
    left = {key: value for key, value in shown.items() if key in own}
    plain = built(name, left)
    shared = {key: getattr(plain, key) for key in catalogue.SHARED if key not in own}
    return {key: _plain(value) for key, value in {**own, **shared}.items()}


def _scored(found: Recipe, example: Example) -> Facts:
    """An example and what it is paid with these options; ``error`` says why it cannot be scored, where it cannot."""
    shown = {
        "response": example.response,
        "target": _plain(example.target),
        "image_size": _plain(example.image_size),
        "model_image_size": _plain(example.model_image_size),
    }
    sizes = example.image_size, example.model_image_size
    try:
        scores = found.score(
            [example.response], [example.target], image_sizes=sizes[0], model_image_sizes=sizes[1], groups=[0]
        )
    except GroundingRewardsError as error:
        return {**shown, "error": str(error)}
    return {
        **shown,
        "total": float(scores.total[0]),
        "acc": float(scores.acc[0]),
        "reason": Reason(scores.reason[0]).name,
        "parts": {name: float(column[0]) for name, column in scores.parts.items()},
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it; anything else as Python writes it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return str(value)
    known = value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else repr(value)
