"""The algebra in a config of plain values: a verifier by name, or a combination by the name that it has in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards import combine
from grounding_rewards.combine import RESERVED, Combination
from grounding_rewards.errors import RecipeError, near
from grounding_rewards.plugins.config import FrozenDict, frozen
from grounding_rewards.plugins.named import build
from grounding_rewards.verifiers import Verifier, any_of, if_placed, same_action
from grounding_rewards.verifiers.alternatives import AnyOf
from grounding_rewards.verifiers.options import is_number
from grounding_rewards.verifiers.terms import called

_PART = 'a weight such as 0.5, or {"verifier": NAME, "weight": 0.5, ...} with what the verifier takes'
_CALLED = "a verifier's name such as 'hit', {\"verifier\": NAME, ...} with what it takes, or a combination such as"


def part_fields(parts: Any, owner: str = "composite") -> dict[str, FrozenDict]:
    """Return each part of a sum as ``{"verifier": name, "weight": weight, ...}``, or a combination and its weight."""
    if not isinstance(parts, Mapping) or not parts:
        raise RecipeError(f'{owner} needs parts by name, such as {{"hit": 0.8, "format": 0.2}}; got {parts!r:.80}')
    fields = {}
    for name, value in frozen(parts).items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise RecipeError(
                f"{owner}: part {name!r}: trainers use that name, or it is no name; choose another, and name its "
                f'verifier: {{"verifier": {name!r}, "weight": ...}}'
            )
        if not isinstance(value, Mapping):
            value = {"weight": value}
        if "weight" not in value:
            hint = near("weight", [key for key in value if key not in ("verifier", *_COMBINATIONS)])
            hint = hint.replace("mean", "mean 'weight' by")  # near() names the key there, not the one meant
            raise RecipeError(f"{owner}: part {name!r} has no weight: got {dict(value)!r:.120}; expected {_PART}{hint}")
        # A part called like its verifier need not name it.
        fields[name] = FrozenDict(value if combinations(value) else {"verifier": name, **value})
    return fields


def weight(label: str, value: Any, owner: str = "composite") -> float:
    """Return a weight of a part."""
    if not is_number(value):
        raise RecipeError(f"{owner}: part {label!r}: weight: got {value!r:.80}; expected a finite number")
    return float(value)


def part_term(label: str, fields: Mapping[str, Any]) -> Verifier:
    """Build the verifier or the combination of a part."""
    try:
        return whole_term(_without_weight(fields))
    except RecipeError as error:
        raise RecipeError(f"composite: part {label!r}: {error}") from error


def whole_term(value: Any) -> Verifier:
    """Build a term that scores whole responses, as ``expression`` does."""
    term: Verifier = expression(value)
    _check_alternatives(term)
    return term


def _without_weight(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in fields.items() if key != "weight"}


def expression(value: Any) -> Any:
    """Build a term from plain values.

    A text is a verifier's name. A mapping is a verifier with its arguments, ``{"verifier": "hit", "enlarge": 1.2}``, or
    one combination with its arguments: ``{"product": {NAME: TERM, ...}}``, ``best`` and ``weighted`` (of parts with a
    ``weight``) alike; ``{"clip": {"part": {NAME: TERM}, "low": 0, "high": 1}}``, ``affine``, ``asymmetric`` and
    ``steps`` with what they take in Python; ``{"gate": {"when": {NAME: TERM}, "then": {NAME: TERM}}}``;
    ``{"any_of": TERM}``, ``{"if_placed": TERM}`` and ``{"same_action": {"otherwise": TERM, ACTION: TERM, ...}}``.
    """
    if isinstance(value, str):
        return build("verifiers", value)
    operators = combinations(value) if isinstance(value, Mapping) else []
    if len(operators) == 1 and len(value) == 1:
        try:
            return _combination(operators[0], value[operators[0]])
        except TypeError as error:  # an argument that is missing or unknown
            # Python says "gate() missing 1 required positional argument", and a config has no calls.
            raise RecipeError(str(error).replace("()", ":").replace(" positional", "")) from error
    if operators:
        others = ", ".join(repr(key) for key in value if key != operators[0])
        raise RecipeError(f"{operators[0]}: got {others} beside it; expected one combination, with its own arguments")
    if not isinstance(value, Mapping) or "verifier" not in value:
        raise RecipeError(f"got {value!r:.80}; expected {_CALLED} {', '.join(_COMBINATIONS)}")
    name = value["verifier"]
    if not isinstance(name, str):
        raise RecipeError(f"verifier: got {name!r:.80}; expected its name, such as 'hit'")
    return build("verifiers", name, {key: each for key, each in value.items() if key != "verifier"})


def combinations(fields: Mapping[str, Any]) -> list[str]:
    """Return the combinations that a mapping names; none beside a verifier, whose arguments may be called so."""
    return [] if "verifier" in fields else [key for key in fields if key in _COMBINATIONS]


def _terms(owner: str, parts: Any) -> dict[str, Any]:
    """Build terms by name."""
    if not isinstance(parts, Mapping) or not parts or not all(isinstance(name, str) for name in parts):
        raise RecipeError(f"{owner}: got {parts!r:.80}; expected terms by name, such as {{'near': 'hit'}}")
    return {name: _named(name, each) for name, each in parts.items()}


def _named(name: str, value: Any) -> Any:
    try:
        return expression(value)
    except RecipeError as error:
        raise RecipeError(f"{name}: {error}") from error


def _one(owner: str, parts: Any) -> tuple[str, Any]:
    terms = _terms(owner, parts)
    if len(terms) != 1:
        raise RecipeError(f"{owner}: got {', '.join(terms)}; expected one term by its name")
    return next(iter(terms.items()))


def _combination(op: str, value: Any) -> Any:
    """Build a combination from what a config has under its name."""
    if op in ("any_of", "if_placed"):
        return (any_of if op == "any_of" else if_placed)(expression(value))
    if op == "weighted":
        fields = part_fields(value, op)
        terms = {name: _named(name, _without_weight(each)) for name, each in fields.items()}
        return combine.weighted(**{name: (weight(name, fields[name]["weight"], op), terms[name]) for name in terms})
    if op in ("product", "best"):
        return getattr(combine, op)(**_terms(op, value))
    if not isinstance(value, Mapping):
        raise RecipeError(f"{op}: got {value!r:.80}; expected its arguments by name")
    given: dict[str, Any] = dict(value)
    if op == "same_action":
        for name in given:
            if name not in ("names", "bare", "unnamed") and given[name] is not None:  # None: the name is enough
                given[name] = _named(name, given[name])
        return same_action(**given)
    if op == "gate":
        return combine.gate(
            **given | {key: _one(f"gate, {key}", given[key]) for key in ("when", "then") if key in given}
        )
    return getattr(combine, op)(*_one(f"{op}, part", given.pop("part", None)), **given)


_COMBINATIONS = (*combine.OPS, "any_of", "if_placed", "same_action")


def _check_alternatives(term: Any) -> None:
    """Complain of a product or a gate of which several parts would each take a target's best alternative by itself."""
    if not isinstance(term, Combination):  # any_of holds its parts to one alternative
        return
    apart = [f"{name} ({called(part)})" for name, part in term.parts if _takes_best(part)]
    if term.op in ("product", "gate") and len(apart) > 1:
        raise RecipeError(
            f"{term.op} of {', '.join(apart)}: each would take the best of a target's alternatives by itself, and so "
            f'reward the action of one at the place of another; make it {{"any_of": {{"{term.op}": ...}}}}'
        )
    for part in term.within:
        _check_alternatives(part)


def _takes_best(term: Any) -> bool:
    """Return whether a term, or a part of it, scores samples by their best alternative."""
    if isinstance(term, Combination):
        return any(map(_takes_best, term.within))
    return isinstance(term, AnyOf) or hasattr(term, "each")


def shown(value: Any) -> str:
    """Return a term's plain values in short, without the arguments of verifiers."""
    if not isinstance(value, Mapping):
        return str(value)
    if "verifier" in value:
        return str(value["verifier"])
    ((name, arguments),) = _without_weight(value).items()  # one combination: the term has been built before
    if name in ("any_of", "if_placed"):
        return f"{name}({shown(arguments)})"
    if name == "weighted":
        return " + ".join(f"{each['weight']:g} · {shown(each)}" for each in part_fields(arguments).values())
    if name in ("product", "best"):
        return f"{name}({', '.join(map(shown, arguments.values()))})"
    one = ("part", "when", "then")
    texts = [", ".join(map(shown, arguments[key].values())) for key in one if key in arguments]
    texts += [f"{key}={shown(each)}" for key, each in arguments.items() if key not in one]
    return f"{name}({', '.join(texts)})"
