"""What there is to say about a verifier or a combination of them, in words."""

from __future__ import annotations

import inspect
import math
import re
import reprlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from grounding_rewards import combine
from grounding_rewards.combine import Weighted, is_combination, part_names
from grounding_rewards.plugins.named import Bound, OwnVerifier
from grounding_rewards.plugins.registry import registry
from grounding_rewards.scoring import Recipe
from grounding_rewards.verifiers import Format, JudgedFormat, Verifier
from grounding_rewards.verifiers.any_of import AnyOf, Placed, SameAction, nested
from grounding_rewards.verifiers.base import FunctionVerifier

_MANY = 20
_SHORT = reprlib.Repr()
_SHORT.maxstring, _SHORT.maxtuple = 48, 3
_ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Source|Yields|Examples?)\b[^\n]*:|>>> ")


def made_by(term: Verifier) -> str:
    """A registered verifier with the arguments that are not defaults; of any other what it says of itself.

    A combination is shown with the names of its parts.

    >>> from grounding_rewards.verifiers import Hit
    >>> made_by(Hit(point_radius=14))
    'Hit(point_radius=14)'
    """
    if isinstance(term, JudgedFormat):
        return told(term.judge)
    if isinstance(term, AnyOf):
        return term.formula.partition("\n")[0] or f"any_of({made_by(term.term)})"
    if isinstance(term, Placed):
        return f"if_placed({made_by(term.term)})"
    if isinstance(term, SameAction):
        return f"same_action({', '.join([term.names, *(name for name, _ in term.terms)])})"
    if is_told(term):
        return told(type(term))
    if isinstance(term, Weighted):
        pairs = zip(term.weights, term.children, strict=True)
        return " + ".join(f"{weight:g} · {name}" for weight, (name, _) in pairs)
    if is_combination(term):
        return f"{type(term).__name__.lower()}({', '.join(name for name, _ in term.children)})"
    return called_with(term)


def called_with(term: Verifier, formula: str = "") -> str:
    """A verifier's class with the arguments that are not defaults, and those that a formula names.

    Of a class that is nobody's to build, what it says of itself.

    >>> from grounding_rewards.verifiers import Consensus
    >>> called_with(Consensus(), "the square of side size")
    'Consensus(size=50.0)'
    """
    if not is_dataclass(term):
        return repr(term)
    if isinstance(term, AnyOf):
        return made_by(term)
    if type(term).__name__.startswith("_"):
        return told(type(term))
    values = {each.name: getattr(term, each.name) for each in fields(term) if each.repr}
    given = [
        f"{name}={_short(value)}"
        for name, value in values.items()
        if value != _default(term, name) or (value is not None and re.search(rf"\b{name}\b", formula))
    ]
    return f"{type(term).__name__}({', '.join(given)})"


def acc_made_by(recipe: Recipe) -> str:
    """What makes ``acc`` 1, with those of its parts that the reward has not."""
    made, known = made_by(recipe.success), part_names(recipe.reward)
    whole = made if made.startswith("1.0 ") else f"1 where {made} is above 0"
    others = recipe.success.children if is_combination(recipe.success) and not is_told(recipe.success) else ()
    return "; ".join([whole, *[f"{name}: {made_by(part)}" for name, part in others if name not in known]])


def is_told(term: Verifier) -> bool:
    """Whether a verifier is known to nobody by its name, so that its first sentence tells more."""
    kind = type(term)
    named = isinstance(term, FunctionVerifier | OwnVerifier) or kind.__module__ == combine.__name__
    return not named and kind not in registry().verifiers.values() and bool(told(kind))


def told(thing: Any) -> str:
    """The first line of a docstring, without marks."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("``", "")


def formula_told(term: Verifier) -> str:
    """The formula that a verifier states: its docstring's paragraphs before arguments and source, without marks.

    >>> from grounding_rewards.verifiers import CorrectRefusal
    >>> print(formula_told(CorrectRefusal()))
    1.0 where the target is a refusal and the response refuses, else 0.0.
    <BLANKLINE>
    A click on a refusal target (FalseClick) and a refusal on any other target (FalseRefusal) are 0.0.
    """
    if isinstance(term, JudgedFormat):
        return f"{term.high:g} where this holds of the text, else {term.low:g}:\n\n{_paragraphs(term.judge)}"
    if isinstance(term, AnyOf):
        return term.formula or _formula_of_best(term)
    if isinstance(term, OwnVerifier):
        return formula_told(term.inner)
    if isinstance(term, FunctionVerifier):
        return _paragraphs(getattr(term.fn, "fn", term.fn))
    if isinstance(term, Format) and term.pattern is not None:
        return f"1.0 where this pattern occurs in the text, else 0.0:\n\n{term.pattern!r}"
    return "\n\n".join([_paragraphs(type(term)), *_arguments(term)])


def _formula_of_best(term: AnyOf) -> str:
    """Return what scores each alternative, and the terms within that have a name."""
    parts = [pair for each in nested(term.term) for pair in (getattr(each, "children", None) or _terms(each))]
    lines = [f"{name} = {'1' if part is None else made_by(part)}" for name, part in parts]
    return "\n".join([f"The score of the best alternative: {made_by(term.term)}", *lines])


def _terms(term: Verifier) -> tuple[tuple[str, Any], ...]:
    return (*term.terms, ("otherwise", term.otherwise)) if isinstance(term, SameAction) else ()


def _arguments(term: Verifier) -> list[str]:
    """What the docstring says of each argument that is not a default, and the value where it is shown nowhere whole."""
    if not is_dataclass(term) or is_combination(term):
        return []
    said = dict(_ARGUMENT.findall(inspect.getdoc(type(term)) or ""))
    told = []
    for each in fields(term):
        value = getattr(term, each.name)
        if not each.init or not each.repr or value == each.default:
            continue
        line, whole = " ".join(said.get(each.name, "").replace("``", "").split()), _plainly(value)
        if line or _short(value) != whole:
            told.append(f"{each.name} = {whole}" + (f": {line}" if line else ""))
    return told


def _paragraphs(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    if isinstance(thing, type) and text.startswith(f"{thing.__name__}("):  # what a dataclass says without a docstring
        return ""
    kept = []
    for paragraph in text.split("\n\n"):
        if _SECTION.match(paragraph):
            break
        kept.append(paragraph.replace("``", ""))
    return "\n\n".join(kept)


def plain(value: Any) -> Any:
    """A value as JSON has it; anything else as Python writes it."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, str):
        return str(value)
    known = value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else repr(value)


def _short(value: Any) -> str:
    """A value as Python writes it, without the middle of a pattern and the end of a long list; parts by their names."""
    if is_combination(value):
        return made_by(value)
    if isinstance(value, Bound):
        return f"{value.__name__}({', '.join(f'{name}={_short(each)}' for name, each in value.arguments)})"
    plainly = value.value if isinstance(value, Enum) else value
    return str(getattr(value, "__name__", "")) or _SHORT.repr(plainly)


def _plainly(value: Any) -> str:
    """The same in full, but for a list of very many things."""
    if isinstance(value, list | tuple) and len(value) > _MANY:
        return _short(value)
    return repr(value) if isinstance(value, str | list | tuple) and not isinstance(value, Enum) else _short(value)


def _default(term: Any, name: str) -> Any:
    return next(each.default for each in fields(term) if each.name == name)
