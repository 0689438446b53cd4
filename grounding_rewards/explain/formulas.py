"""Formulas of combinations: by the names of the parts, the same with scores, and how each part enters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grounding_rewards.combine import Affine, Asymmetric, Best, Clip, Combination, Gate, Product, Steps, Weighted

Values = Mapping[str, float]


@dataclass(frozen=True)
class Equation:
    """The formula of a combination, with the scores of one row.

    Attributes:
        formula: by the names of the parts; "" where only the combination's docstring states it.
        numbers: the same with their scores.
        enters: how each part enters, in words, by name, as far as that is known.
        weights: the factor of each part, where the combination is a sum of multiples here: 1 for the part that is
            chosen, 0 for the others; else None.
        constant: the constant that such a sum adds.
    """

    formula: str
    numbers: str
    enters: Mapping[str, str]
    weights: Mapping[str, float] | None = None
    constant: float = 0.0


def number(value: float) -> str:
    """Write a number as formulas show it: six digits, no minus before a zero.

    >>> number(1219.2), number(2 / 3), number(-0.0), number(1.0)
    ('1219.2', '0.666667', '0', '1')
    """
    return f"{value + 0.0:.6g}"


def listed(numbers: Values) -> str:
    """Write numbers with their names.

    >>> listed({"p": 0.5, "L": 120})
    'p = 0.5, L = 120'
    """
    return ", ".join(f"{name} = {number(value)}" for name, value in numbers.items())


def equation_of(term: Combination, scores: Values) -> Equation:
    """Return how a combination, maybe not one of ``combine``, makes one score of its parts' scores.

    >>> from grounding_rewards.combine import weighted
    >>> from grounding_rewards.verifiers import Format, Hit
    >>> mix = equation_of(weighted(hit=(0.9, Hit()), format=(0.1, Format())), {"hit": 0.0, "format": 1.0})
    >>> mix.formula, mix.numbers
    ('0.9 · hit + 0.1 · format', '0.9 · 0 + 0.1 · 1')
    """
    known = _KNOWN.get(type(term))
    if known is not None:
        return known(term, scores)
    return Equation("", listed(scores), {})


def _weighted(term: Weighted, scores: Values) -> Equation:
    names = [name for name, _ in term.parts]
    weights = dict(zip(names, term.weights, strict=True))
    return Equation(
        _sum([(weights[name], name) for name in names]),
        _sum([(weights[name], _factor(scores[name])) for name in names]),
        {name: f"times {number(weight)}" for name, weight in weights.items()},
        weights,
    )


def _product(term: Product, scores: Values) -> Equation:
    names = [name for name, _ in term.parts]
    numbers = " · ".join(_factor(scores[name]) for name in names)
    return Equation(" · ".join(names), numbers, dict.fromkeys(names, "a factor"))


def _best(term: Best, scores: Values) -> Equation:
    names = [name for name, _ in term.parts]
    top = max(scores[name] for name in names)
    enters = {name: "the largest" if scores[name] == top else "not the largest" for name in names}
    chosen = next(name for name in names if scores[name] == top)  # one of equal ones: contributions add up
    weights = {name: float(name == chosen) for name in names}
    return Equation(
        f"max({', '.join(names)})", f"max({', '.join(number(scores[name]) for name in names)})", enters, weights
    )


def _gate(term: Gate, scores: Values) -> Equation:
    (when, _), (then, _) = term.parts
    is_open, otherwise = scores[when] > 0, number(term.otherwise)
    taken = number(scores[then]) if is_open else otherwise
    why = f"{when} is {number(scores[when])}"
    enters = {
        when: f"above 0, so that {then} counts" if is_open else f"not above 0, so that {otherwise} counts",
        then: "counts" if is_open else "does not count",
    }
    whose = f"the score of {then}, " if is_open else ""
    formula, numbers = f"{then} where {when} is above 0, else {otherwise}", f"{taken}, {whose}because {why}"
    weights = {when: 0.0, then: float(is_open)}  # the gate chooses, but adds nothing itself
    return Equation(formula, numbers, enters, weights, 0.0 if is_open else term.otherwise)


def _clip(term: Clip, scores: Values) -> Equation:
    ((name, score),) = scores.items()
    limits = f"limited to {number(term.low)}..{number(term.high)}"
    inside = term.low <= score <= term.high
    enters, weights = ("as it is", {name: 1.0}) if inside else (limits, None)  # cut off, it is no multiple of the part
    return Equation(f"{name}, {limits}", f"{number(score)}, {limits}", {name: enters}, weights)


def _affine(term: Affine, scores: Values) -> Equation:
    ((name, score),) = scores.items()
    scale, shift = term.scale, term.shift
    return Equation(
        _sum([(scale, name)], shift),
        _sum([(scale, _factor(score))], shift),
        {name: f"times {number(scale)}"},
        {name: scale},
        shift,
    )


def _asymmetric(term: Asymmetric, scores: Values) -> Equation:
    ((name, score),) = scores.items()
    factor = term.positive if score > 0 else term.negative
    formula = f"{number(term.positive)} · {name} above 0, {number(term.negative)} · {name} below"
    return Equation(formula, f"{number(factor)} · {_factor(score)}", {name: f"times {number(factor)}"}, {name: factor})


def _steps(term: Steps, scores: Values) -> Equation:
    ((name, score),) = scores.items()
    taken = sum(edge <= score for edge in term.edges)
    pairs = zip(term.values[1:], term.edges, strict=True)
    steps = [f"{number(term.values[0])} below {number(term.edges[0])}"] if term.edges else [number(term.values[0])]
    steps += [f"{number(value)} from {number(edge)}" for value, edge in pairs]
    where = f"from {number(term.edges[taken - 1])} on" if taken else "below all edges"
    numbers = f"{number(term.values[taken])}, because {name} is {number(score)}"
    return Equation(f"by {name}: {', '.join(steps)}", numbers, {name: f"chooses the step: {where}"})


_KNOWN: dict[type, Callable[[Any, Values], Equation]] = {
    Weighted: _weighted, Product: _product, Best: _best, Gate: _gate, Clip: _clip, Affine: _affine,
    Asymmetric: _asymmetric, Steps: _steps,
}  # fmt: skip
"""By exact type: a class derived from one of these may combine otherwise."""


def _sum(terms: Sequence[tuple[float, str]], constant: float = 0.0) -> str:
    """Write a sum of multiples, with minus signs in place of added negatives.

    >>> _sum([(1.0, "hit"), (-0.5, "noise")], constant=-1.0)
    'hit - 0.5 · noise - 1'
    """
    signed = [(weight, f"{number(abs(weight))} · {text}" if abs(weight) != 1 else text) for weight, text in terms]
    if constant:
        signed.append((constant, number(abs(constant))))
    (first, text), *rest = signed
    return ("-" if first < 0 else "") + text + "".join(f" {'-' if sign < 0 else '+'} {term}" for sign, term in rest)


def _factor(value: float) -> str:
    """Write a score inside a product: in brackets where it is negative."""
    return f"({number(value)})" if value < 0 else number(value)
