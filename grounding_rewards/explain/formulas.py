"""Formulas: verifiers by name and arguments, combinations by their parts, and both with the scores of one row."""

from __future__ import annotations

import inspect
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

from grounding_rewards import combine
from grounding_rewards.combine import Combination, Known, evaluate, parts_of
from grounding_rewards.errors import VerifierError, in_one_line, short_repr
from grounding_rewards.explain.explanation import Term
from grounding_rewards.plugins.named import Bound, OwnVerifier
from grounding_rewards.plugins.registry import registry
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import Recipe
from grounding_rewards.verifiers import Format, JudgedFormat, StepReturn, Verifier
from grounding_rewards.verifiers.alternatives import AnyOf, Placed, SameAction
from grounding_rewards.verifiers.each_row import ByRow
from grounding_rewards.verifiers.terms import FunctionVerifier, walk
from grounding_rewards.wording import number

TOTAL, ACC = "total", "acc"
_MANY = 20
_SHORT = reprlib.Repr()
_SHORT.maxstring, _SHORT.maxtuple = 48, 3  # regular expressions, and lists of names
_ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)  # an entry of Args, to its end
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Source|Yields|Examples?)\b[^\n]*:|>>> ")  # what ends a formula


def made_by(term: Verifier) -> str:
    """Return a registered verifier with the arguments that are not defaults; of others their docstring's first line.

    A combination has the names of its parts.
    """
    if isinstance(term, JudgedFormat):
        return first_line(term.judge)
    if isinstance(term, ByRow):
        return first_line(term.fn)
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
            pairs = zip(term.numbers["weights"], names, strict=True)
            return " + ".join(f"{weight:g} · {name}" for weight, name in pairs)
        return f"{term.op}({', '.join(names)})"
    return called_with(term)


def called_with(term: Verifier, formula: str = "") -> str:
    """Return a verifier's class with the arguments that are not defaults, and those that a formula names.

    Of a private class, its docstring's first line.
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
    """Return the formula that a verifier states: its docstring's paragraphs before arguments and source."""
    if isinstance(term, JudgedFormat):
        return f"{term.high:g} where this holds of the text, else {term.low:g}:\n\n{_paragraphs(term.judge)}"
    if isinstance(term, AnyOf):  # what scores each alternative, and the terms within that have a name
        parts = [pair for each in walk(term.term) for pair in (getattr(each, "parts", None) or _terms(each))]
        lines = [f"{name} = {'1' if part is None else made_by(part)}" for name, part in parts]
        return term.formula or "\n".join([f"The score of the best alternative: {made_by(term.term)}", *lines])
    if isinstance(term, OwnVerifier):
        return formula_of(term.inner)
    if isinstance(term, FunctionVerifier | ByRow):
        return _paragraphs(getattr(term.fn, "fn", term.fn))
    if isinstance(term, Format) and term.pattern is not None:
        return f"1.0 where this pattern occurs in the text, else 0.0:\n\n{term.pattern!r}"
    return "\n\n".join([_paragraphs(type(term)), *_arguments(term)])


def _terms(term: Verifier) -> tuple[tuple[str, Any], ...]:
    return (*term.terms, ("otherwise", term.otherwise)) if isinstance(term, SameAction) else ()


def arguments_of(thing: Any) -> dict[str, str]:
    """Return the description of each argument, by its name, from the docstring's ``Args`` section."""
    section = (inspect.getdoc(thing) or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    return {name: " ".join(says.split()) for name, says in _ARGUMENT.findall(section)}


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


def _short(value: Any) -> str:
    """Write a value as Python does, without the middle of a pattern and the end of a long list; a part by its name."""
    if isinstance(value, Combination):
        return made_by(value)
    if isinstance(value, Bound):
        return f"{value.__name__}({', '.join(f'{name}={_short(item)}' for name, item in value.arguments)})"
    named = value if hasattr(value, "__name__") or not type(value).__name__.startswith("_") else type(value)
    return str(getattr(named, "__name__", "")) or _SHORT.repr(value.value if isinstance(value, Enum) else value)


def _whole(value: Any) -> str:
    """Write a value in full, but for a list of very many things."""
    if isinstance(value, list | tuple) and len(value) > _MANY:
        return _short(value)
    return repr(value) if isinstance(value, str | list | tuple) and not isinstance(value, Enum) else _short(value)


Values = Mapping[str, Any]


@dataclass(frozen=True)
class Equation:
    """The formula of a combination, with the scores of one row."""

    formula: str  # by the names of the parts; "" where only the combination's docstring states it
    numbers: str  # the same with their scores
    enters: Mapping[str, str]  # how each part enters, in words, by name, as far as that is known
    # the factor of each part, where the combination is a sum of multiples here: 1 for the part that is chosen, 0 for
    # the others; else None
    weights: Mapping[str, float] | None = None
    constant: float = 0.0  # the constant that such a sum adds


def listed(numbers: Values) -> str:
    """Write numbers, or texts in their place, with their names."""
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else number(value)}" for name, value in numbers.items()
    )


def equation_of(term: Combination, scores: Values) -> Equation:
    """Return how a combination, maybe not one of ``combine``, makes one score of its parts' scores."""
    if type(term) is not Combination:  # a class derived from it may combine otherwise
        return Equation("", listed(scores), {})
    return _EQUATIONS[term.op](scores, **term.numbers)


def _weighted(scores: Values, weights: Sequence[float], shift: float = 0.0) -> Equation:
    weight_of = dict(zip(scores, weights, strict=True))
    formula = _sum([(weight, name) for name, weight in weight_of.items()], shift)
    numbers = _sum([(weight, _factor(scores[name])) for name, weight in weight_of.items()], shift)
    enters = {name: f"times {number(weight)}" for name, weight in weight_of.items()}
    return Equation(formula, numbers, enters, weight_of, shift)


def _product(scores: Values) -> Equation:
    numbers = " · ".join(map(_factor, scores.values()))
    return Equation(" · ".join(scores), numbers, dict.fromkeys(scores, "a factor"))


def _best(scores: Values) -> Equation:
    top = max(scores.values())
    enters = {name: "the largest" if score == top else "not the largest" for name, score in scores.items()}
    chosen = next(name for name in scores if scores[name] == top)  # one of equal ones: contributions add up
    weights = {name: float(name == chosen) for name in scores}
    return Equation(f"max({', '.join(scores)})", f"max({', '.join(map(number, scores.values()))})", enters, weights)


def _gate(scores: Values, otherwise: float) -> Equation:
    (when, gating), (then, score) = scores.items()
    is_open, other = gating > 0, number(otherwise)
    taken = number(score) if is_open else other
    enters = {
        when: f"above 0, so that {then} counts" if is_open else f"not above 0, so that {other} counts",
        then: "counts" if is_open else "does not count",
    }
    whose = f"the score of {then}, " if is_open else ""
    formula, numbers = f"{then} where {when} is above 0, else {other}", f"{taken}, {whose}because {when} is "
    weights = {when: 0.0, then: float(is_open)}  # the gate chooses, but adds nothing itself
    return Equation(formula, numbers + number(gating), enters, weights, 0.0 if is_open else otherwise)


def _clip(scores: Values, low: float, high: float) -> Equation:
    ((name, score),) = scores.items()
    limits = f"limited to {number(low)}..{number(high)}"
    inside = low <= score <= high
    enters, weights = ("as it is", {name: 1.0}) if inside else (limits, None)  # cut off, it is no multiple of the part
    return Equation(f"{name}, {limits}", f"{number(score)}, {limits}", {name: enters}, weights)


def _asymmetric(scores: Values, positive: float, negative: float) -> Equation:
    ((name, score),) = scores.items()
    factor = positive if score > 0 else negative
    formula = f"{number(positive)} · {name} above 0, {number(negative)} · {name} below"
    return Equation(formula, f"{number(factor)} · {_factor(score)}", {name: f"times {number(factor)}"}, {name: factor})


def _steps(scores: Values, edges: Sequence[float], values: Sequence[float]) -> Equation:
    ((name, score),) = scores.items()
    taken = sum(edge <= score for edge in edges)
    steps = [f"{number(values[0])} below {number(edges[0])}"] if edges else [number(values[0])]
    steps += [f"{number(value)} from {number(edge)}" for value, edge in zip(values[1:], edges, strict=True)]
    where = f"from {number(edges[taken - 1])} on" if taken else "below all edges"
    numbers = f"{number(values[taken])}, because {name} is {number(score)}"
    return Equation(f"by {name}: {', '.join(steps)}", numbers, {name: f"chooses the step: {where}"})


_EQUATIONS: dict[str, Callable[..., Equation]] = {
    "weighted": _weighted, "product": _product, "best": _best, "gate": _gate, "clip": _clip,
    "affine": lambda scores, scale, shift: _weighted(scores, [scale], shift),
    "asymmetric": _asymmetric, "steps": _steps,
}  # fmt: skip


def _sum(terms: Sequence[tuple[float, str]], constant: float = 0.0) -> str:
    """Write a sum of multiples, with minus signs in place of added negatives."""
    signed = [(weight, f"{number(abs(weight))} · {text}" if abs(weight) != 1 else text) for weight, text in terms]
    if constant:
        signed.append((constant, number(abs(constant))))
    (first, text), *rest = signed
    return ("-" if first < 0 else "") + text + "".join(f" {'-' if sign < 0 else '+'} {term}" for sign, term in rest)


def _factor(value: float) -> str:
    """Write a score inside a product: in brackets where it is negative."""
    return f"({number(value)})" if value < 0 else number(value)


@dataclass(frozen=True)
class _Row:
    """One row of n rollouts, and the scores computed for all of them so far."""

    rollouts: Rollouts
    row: int
    known: Known

    def scores(self, term: Verifier, label: str) -> tuple[float, dict[str, float]]:
        """Return the row's score and those of all parts inside."""
        scores, parts = evaluate(term, self.rollouts, label, self.known)
        return float(scores[self.row]), {name: float(column[self.row]) for name, column in parts.items()}


def term_of(term: Verifier, rollouts: Rollouts, row: int, *, name: str = TOTAL, known: Known | None = None) -> Term:
    """Return a composition with the scores of one row, whose target can be used; its name is "total" or "acc".

    A part that enters the total by sums, multiples and choices alone has a ``contribution``: where the parts of a term
    have some, they and its ``constant`` add up to its own.
    """
    at = _Row(rollouts, row, {} if known is None else known)
    score, parts = at.scores(term, "success" if name == ACC else "reward")
    return _term(term, name, score, parts, 1.0 if name == TOTAL else None, at)


def _term(term: Verifier, name: str, score: float, parts: Mapping[str, float], factor: float | None, at: _Row) -> Term:
    """Build a term; ``factor`` multiplies it on its way into the total, None where it enters otherwise."""
    formula = formula_of(term)
    built = Term(
        name, score, float(term.low), float(term.high), called_with(term, formula), formula,
        numbers=_row_numbers(term, at.rollouts, at.row, score),
        contribution=None if factor is None else factor * score,
    )  # fmt: skip
    if isinstance(term, Combination):
        return _combined(term, built, parts, factor, at)
    return _returned(term, built, parts, at) if isinstance(term, StepReturn) else built


def _row_numbers(term: Verifier, rollouts: Rollouts, row: int, score: float) -> str:
    """Return the numbers that a verifier states of a row, as its formula names them; "" where it states none."""
    state = getattr(term, "row_numbers", None)
    if state is None:
        return ""
    try:
        return listed(state(rollouts, row, score))
    except Exception as error:  # a plugin's code
        raise VerifierError(f"{short_repr(term)}: row_numbers raised {in_one_line(error, named=True)}") from error


def _combined(term: Combination, built: Term, parts: Mapping[str, float], factor: float | None, at: _Row) -> Term:
    equation = equation_of(term, {name: parts[name] for name, _ in term.parts})
    inner = []
    for name, part in term.parts:
        # Not linear on the way: a share of the total would mean nothing.
        through = None if factor is None or equation.weights is None else factor * equation.weights[name]
        enters = equation.enters.get(name, f"see {built.name}")
        inner.append(replace(_term(part, name, parts[name], parts, through, at), enters=enters))
    return replace(
        built,
        made_by=made_by(term),
        formula=equation.formula or built.formula,
        in_words=not equation.formula,
        numbers=equation.numbers,
        constant=0.0 if factor is None else factor * equation.constant,
        parts=tuple(inner),
    )


def _returned(term: StepReturn, built: Term, listed: Mapping[str, float], at: _Row) -> Term:
    """Add the step's own reward, its match, and the return of the step that follows, to a discounted sum."""
    own, parts = at.scores(term.reward, "reward")
    match, inside = at.scores(term.match, "match")
    reward = _term(term.reward, "own_reward", own, parts, None, at)
    if listed.keys() >= parts.keys():
        reward = replace(reward, parts=())  # these stand beside the return already
    if match <= 0:
        numbers = f"{number(own)}, and no more, because the step did not match"
    elif not _goes_on(at):
        numbers = f"{number(own)}, and no more, because the step that follows is not among these rows"
    else:
        following = (built.score - own) / term.gamma if term.gamma else 0.0  # the formula, solved for it
        numbers = f"{number(own)} + {number(term.gamma)} · {number(following)}"
    matched = _term(term.match, "goes_on", match, inside, None, at)
    return replace(
        built,
        formula=f"own_reward + {number(term.gamma)} · the return of the next step, where goes_on is above 0",
        in_words=False,
        numbers=numbers,
        parts=(replace(reward, enters="of this step"), replace(matched, enters="whether the sum goes on")),
    )


def _goes_on(at: _Row) -> bool:
    """True where the rows have the step that follows in the trajectory."""
    rows = at.rollouts.targets.rows
    mine = rows[at.row]
    if mine is None or mine.step is None:
        return False
    return any(row and (row.trajectory, row.step) == (mine.trajectory, mine.step + 1) for row in rows)
