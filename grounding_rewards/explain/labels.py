"""Verifiers and combinations in words: name and arguments, or the formula that they state."""

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
from grounding_rewards.combine import Combination, parts_of
from grounding_rewards.plugins.named import Bound, OwnVerifier
from grounding_rewards.plugins.registry import registry
from grounding_rewards.scoring import Recipe
from grounding_rewards.verifiers import Format, JudgedFormat, Verifier
from grounding_rewards.verifiers.any_of import AnyOf, Placed, SameAction
from grounding_rewards.verifiers.terms import FunctionVerifier, walk

_MANY = 20
_SHORT = reprlib.Repr()
_SHORT.maxstring, _SHORT.maxtuple = 48, 3  # regular expressions, and lists of names
_ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)  # an entry of Args, to its end
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Source|Yields|Examples?)\b[^\n]*:|>>> ")  # what ends a formula


def made_by(term: Verifier) -> str:
    """Return a registered verifier with the arguments that are not defaults; of others their docstring's first line.

    A combination has the names of its parts.

    >>> from grounding_rewards.verifiers import Hit
    >>> made_by(Hit(point_radius=14))
    'Hit(point_radius=14)'
    """
    if isinstance(term, JudgedFormat):
        return first_line(term.judge)
    if isinstance(term, AnyOf):
        return term.formula.partition("\n")[0] or f"any_of({made_by(term.term)})"
    if isinstance(term, Placed):
        return f"if_placed({made_by(term.term)})"
    if isinstance(term, SameAction):
        return f"same_action({', '.join([term.names, *(name for name, _ in term.terms)])})"
    if _is_unnamed(term):
        return first_line(type(term))
    if isinstance(term, Combination):
        names = [name for name, _ in term.parts]
        if term.op == "weighted":
            return " + ".join(
                f"{weight:g} · {name}" for weight, name in zip(term.numbers["weights"], names, strict=True)
            )
        return f"{term.op}({', '.join(names)})"
    return called_with(term)


def called_with(term: Verifier, formula: str = "") -> str:
    """Return a verifier's class with the arguments that are not defaults, and those that a formula names.

    Of a private class, its docstring's first line.

    >>> from grounding_rewards.verifiers import Consensus
    >>> called_with(Consensus(), "the square of side size")
    'Consensus(size=50.0)'
    """
    if not is_dataclass(term):
        return repr(term)
    if isinstance(term, AnyOf):
        return made_by(term)
    if type(term).__name__.startswith("_"):  # a private name says nothing to a reader
        return first_line(type(term))
    values = [(field.name, getattr(term, field.name), field.default) for field in fields(term) if field.repr]
    arguments = [
        f"{name}={_short(value)}"
        for name, value, default in values
        if value != default or (value is not None and re.search(rf"\b{name}\b", formula))
    ]
    return f"{type(term).__name__}({', '.join(arguments)})"


def acc_made_by(recipe: Recipe) -> str:
    """Return the condition under which ``acc`` is 1, with those of its parts that the reward does not have."""
    made, known = made_by(recipe.success), dict(parts_of(recipe.reward))
    whole = made if made.startswith("1.0 ") else f"1 where {made} is above 0"
    others = recipe.success.parts if isinstance(recipe.success, Combination) and not _is_unnamed(recipe.success) else ()
    return "; ".join([whole, *[f"{name}: {made_by(part)}" for name, part in others if name not in known]])


def _is_unnamed(term: Verifier) -> bool:
    """True of a verifier that no config can name, so that its docstring's first line says more than its class."""
    kind = type(term)
    named = isinstance(term, FunctionVerifier | OwnVerifier) or kind.__module__ == combine.__name__
    return not named and kind not in registry().verifiers.values() and bool(first_line(kind))


def first_line(thing: Any) -> str:
    """Return the first line of a docstring, without marks."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("``", "")


def formula_of(term: Verifier) -> str:
    """Return the formula that a verifier states: its docstring's paragraphs before arguments and source, without marks.

    >>> from grounding_rewards.verifiers import CorrectRefusal
    >>> print(formula_of(CorrectRefusal()))
    1.0 where the target is a refusal and the response refuses, else 0.0.
    <BLANKLINE>
    A click on a refusal target (FalseClick) and a refusal on any other target (FalseRefusal) are 0.0.
    """
    if isinstance(term, JudgedFormat):
        return f"{term.high:g} where this holds of the text, else {term.low:g}:\n\n{_paragraphs(term.judge)}"
    if isinstance(term, AnyOf):
        return term.formula or _formula_of_best(term)
    if isinstance(term, OwnVerifier):
        return formula_of(term.inner)
    if isinstance(term, FunctionVerifier):
        return _paragraphs(getattr(term.fn, "fn", term.fn))
    if isinstance(term, Format) and term.pattern is not None:
        return f"1.0 where this pattern occurs in the text, else 0.0:\n\n{term.pattern!r}"
    return "\n\n".join([_paragraphs(type(term)), *_arguments(term)])


def _formula_of_best(term: AnyOf) -> str:
    """Return what scores each alternative, and the terms within that have a name."""
    parts = [pair for each in walk(term.term) for pair in (getattr(each, "parts", None) or _terms(each))]
    lines = [f"{name} = {'1' if part is None else made_by(part)}" for name, part in parts]
    return "\n".join([f"The score of the best alternative: {made_by(term.term)}", *lines])


def _terms(term: Verifier) -> tuple[tuple[str, Any], ...]:
    return (*term.terms, ("otherwise", term.otherwise)) if isinstance(term, SameAction) else ()


def arguments_of(thing: Any) -> dict[str, str]:
    """Return the description of each argument, by its name, from the docstring's ``Args`` section.

    >>> from grounding_rewards.verifiers import Hit
    >>> arguments_of(Hit)["point_radius"][:24]
    'reach around a target th'
    """
    return {name: " ".join(says.split()) for name, says in _ARGUMENT.findall(inspect.getdoc(thing) or "")}


def _arguments(term: Verifier) -> list[str]:
    """Describe each argument that is not a default, from the docstring, and those values that are cut elsewhere."""
    if not is_dataclass(term) or isinstance(term, Combination):
        return []
    described = arguments_of(type(term))
    lines = []
    for field in fields(term):
        value = getattr(term, field.name)
        if not field.init or not field.repr or value == field.default:
            continue
        line, whole = described.get(field.name, "").replace("``", ""), _whole(value)
        if line or _short(value) != whole:
            lines.append(f"{field.name} = {whole}" + (f": {line}" if line else ""))
    return lines


def _paragraphs(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    if isinstance(thing, type) and text.startswith(f"{thing.__name__}("):  # a dataclass without a docstring
        return ""
    kept = []
    for paragraph in text.split("\n\n"):
        if _SECTION.match(paragraph):
            break
        kept.append(paragraph.replace("``", ""))
    return "\n\n".join(kept)


def plain(value: Any) -> Any:
    """Return a value as JSON has it; anything else as Python writes it."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return str(value)  # an enum of texts is one, too: plain for JSON
    known = value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else repr(value)


def _short(value: Any) -> str:
    """Write a value as Python does, without the middle of a pattern and the end of a long list; a part by its name."""
    if isinstance(value, Combination):
        return made_by(value)
    if isinstance(value, Bound):
        return f"{value.__name__}({', '.join(f'{name}={_short(item)}' for name, item in value.arguments)})"
    return str(getattr(value, "__name__", "")) or _SHORT.repr(value.value if isinstance(value, Enum) else value)


def _whole(value: Any) -> str:
    """Write a value in full, but for a list of very many things."""
    if isinstance(value, list | tuple) and len(value) > _MANY:
        return _short(value)
    return repr(value) if isinstance(value, str | list | tuple) and not isinstance(value, Enum) else _short(value)
