"""Formulas of combinations: by the names of the parts, the same with scores, and how each part enters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grounding_rewards.combine import Combination

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
    if type(term) is not Combination:  # a class derived from it may combine otherwise
        return Equation("", listed(scores), {})
    return _EQUATIONS[term.op](scores, **term.numbers)


def _weighted(scores: Values, weights: Sequence[float]) -> Equation:
    weight_of = dict(zip(scores, weights, strict=True))
    return Equation(
        _sum([(weight, name) for name, weight in weight_of.items()]),
        _sum([(weight, _factor(scores[name])) for name, weight in weight_of.items()]),
        {name: f"times {number(weight)}" for name, weight in weight_of.items()},
        weight_of,
    )


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


def _affine(scores: Values, scale: float, shift: float) -> Equation:
    ((name, score),) = scores.items()
    formula, numbers = _sum([(scale, name)], shift), _sum([(scale, _factor(score))], shift)
    return Equation(formula, numbers, {name: f"times {number(scale)}"}, {name: scale}, shift)


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
    "weighted": _weighted, "product": _product, "best": _best, "gate": _gate, "clip": _clip, "affine": _affine,
    "asymmetric": _asymmetric, "steps": _steps,
}  # fmt: skip


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
