"""A reward of one's own from a plain config: weights over verifiers and combinations of them by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from grounding_rewards import combine
from grounding_rewards.combine import RESERVED, Combination, best, steps
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.errors import RecipeError, near
from grounding_rewards.parsing import TaggedDialect
from grounding_rewards.plugins.named import build
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import answering_space, click_example, dialect_named, in_vocabulary, shown_with
from grounding_rewards.scoring import ACTION, KINDS, POINT, Recipe, Source
from grounding_rewards.verifiers import (
    ActionMatch,
    Consensus,
    CorrectRefusal,
    DenseDistance,
    EndHit,
    Exploration,
    Hit,
    InConsensus,
    NearPoint,
    Suggestion,
    Verdict,
    Verifier,
    any_of,
    if_placed,
    same_action,
)
from grounding_rewards.verifiers.alternatives import AnyOf, SameAction
from grounding_rewards.verifiers.critic import suggestion_tag
from grounding_rewards.verifiers.options import is_number
from grounding_rewards.verifiers.points import Matched, MatchedF1
from grounding_rewards.verifiers.terms import PLACES, called, judges_of, walk

_UNLABELLED = frozen({"id": "a7"})
_ACC = "\nacc = 1 where success, which looks at no target, is above 0: it does not say that a response is right"
_SHARED = "vocabulary"
_PART = 'a weight such as 0.5, or {"verifier": NAME, "weight": 0.5, ...} with what the verifier takes'
_CALLED = "a verifier's name such as 'hit', {\"verifier\": NAME, ...} with what it takes, or a combination such as"
_COMBINATIONS = (*combine.OPS, "any_of", "if_placed", "same_action")


@shown_with(response_space="pixel", parts={"hit": 0.8, "format": 0.2})
def composite(
    *,
    response_space: CoordSpace | str | None = None,
    parts: Mapping[str, Any] | None = None,
    success: str | Mapping[str, Any] | None = None,
    space: CoordSpace | str = CoordSpace.PIXEL,
    dialect: str | None = None,
    refusal_words: str | Iterable[str] | None = None,
    tools: str | Iterable[str] = (),
    accepts: Iterable[str] | None = None,
    label_free: bool = False,
) -> Recipe:
    """Weights over any verifiers and combinations of them, named in a config of plain values.

    total = Σ weight · part.

    A part is a verifier, or a combination by its name in Python with its own arguments, nested as deep as need be; each
    named term is a part of its own. ``product``, ``best`` and ``weighted`` take terms by name; ``clip``, ``affine``,
    ``asymmetric`` and ``steps`` one by its name, as ``part``, and ``gate`` two, as ``when`` and ``then``, beside what
    they take in Python; ``any_of`` and ``if_placed`` take a term, and ``same_action`` one for each action, and
    ``otherwise`` for all others.

    Args:
        response_space: the space that the model answers in. No default: a wrong guess scores 0 in silence.
        parts: by name, in order: ``{"verifier": NAME, "weight": WEIGHT, ...}`` with the verifier's own arguments beside
            the two, or a weight alone where the part is called like its verifier. A verifier's name is a registered one
            (``"hit"``, ``"plugin/name"``), or ``module:attr`` or ``/path/file.py:attr`` of a verifier, of a class of
            them, or of a function of ``Rollouts``, which must be given ``low`` and ``high``. Weights may be negative.
            A combination stands in the verifier's place, ``{"weight": WEIGHT, "product": {NAME: TERM, ...}}``, and its
            terms are verifiers' names, verifiers with their arguments, or combinations.
        success: what makes ``acc``, which is 1 where it is above 0: the name of a part, or a verifier, by name or with
            its arguments. Default: the first part that is a ``verdict``; else, where a part judges actions, the first
            that is an ``action_match`` or ``suggestion``, else one with the reach around points and the enlarging of
            the first part that has any; else, where a part is of the ``matched_...`` family, a ``matched_f1`` of 1 with
            its arguments; else the first that is a ``hit`` (else a ``hit`` with the reach of the first part that has
            one); of the last two, or the right refusal where a part is ``correct_refusal``.
        space: the space in which the verifiers work.
        dialect: how answers are written, as in ``click``; default ``"auto"``, or ``"auto_action"`` where a part judges
            actions, which asks for a dialect that shares the vocabulary of ``actions.ACTIONS``; only ``action_type``
            with other ``names``, and ``verdict``, do not. Where a part is a ``suggestion``, its tag alone is read.
        refusal_words: further phrases that are a refusal where they are the whole answer, such as ["not on this page"];
            "common" stands for those that models often use, such as "The element is not visible.".
        tools: parts of the names of further tools, as in ``click``.
        accepts: kinds of target that it can judge: bbox, polygon, circle, point, refusal, action. Default: the first
            three; point where a part has a reach around points, and success has one or judges no places; refusal where
            a part is ``correct_refusal`` or ``refusal_match``, and where one judges whole actions, as ``action_match``,
            ``suggestion`` and ``verdict`` do; action where a part judges actions.
        label_free: whether nothing is compared with targets, which then may be None or say no more than ``id`` and
            sizes. ``acc`` does not say that a response is right then: ``success`` is one that looks at no target, by
            default ``in_consensus`` of the same size as the first part that is a ``consensus``.

    Returns:
        A recipe with the named parts. Its bounds follow from theirs and the weights. Targets that do not name their
        space are in pixels of the original image. Where a part judges all answers of a response, ``answers`` is
        ``"all"``.

    Raises:
        SpaceError: ``response_space`` is missing or unknown, or ``space`` unknown.
        RecipeError: a part, its verifier or an argument does not fit; names the part.

    Outcome 50 %, diagnosis 30 %, efficiency 20 %:

    >>> from grounding_rewards import recipe
    >>> reward = recipe("composite", response_space="pixel", parts={
    ...     "outcome": {"verifier": "hit", "weight": 0.5},
    ...     "diagnosis": {"verifier": "format", "weight": 0.3, "pattern": "^<think>[^<]+</think>"},
    ...     "efficiency": {"verifier": "format", "weight": 0.2, "pattern": "^.{0,40}$"},
    ... })
    >>> texts = ["<think>the red one</think>(20, 15)", "(20, 15)", "<think>the red one</think>(99, 15)"]
    >>> reward.score(texts, [{"bbox": [10, 10, 30, 20]}] * 3).total
    array([1. , 0.7, 0.5])

    The action of an alternative at that alternative's place, and half as much to gain as to lose:

    >>> reward = recipe("composite", response_space="pixel", parts={
    ...     "done": {"weight": 1.0, "any_of": {"product": {"name": "action_type", "place": "hit"}}},
    ...     "side": {"weight": 1.0, "asymmetric": {
    ...         "part": {"signed": {"affine": {"part": {"hit": "hit"}, "scale": 2, "shift": -1}}}, "positive": 0.5}},
    ... })
    >>> reward.low, reward.high, reward.parts
    (-1.0, 1.5, ('done', 'hit', 'signed', 'side'))
    """
    response = answering_space("composite", response_space)
    reward = _weighted("composite", parts)
    terms = dict(reward.parts)
    for name, term in terms.items():
        _check_alternatives(f"part {name!r}", term)
    each = [leaf for term in terms.values() for leaf in walk(term)]
    acc = _success(success, terms, each, label_free)
    dialect = dialect or ("auto_action" if _judges_actions(each) else "auto")
    built_dialect = dialect_named(dialect, refusal_words, tools)
    for name, term in (*terms.items(), ("success" if success else "the default success", acc)):
        for leaf in walk(term):
            # Of a term made of others these count instead, but for SameAction, which compares names itself.
            compares = isinstance(leaf, SameAction) or (
                ACTION in judges_of(leaf) and not getattr(leaf, "within", ()) and not isinstance(leaf, Verdict)
            )
            if compares and getattr(leaf, "names", _SHARED) == _SHARED:
                in_vocabulary(built_dialect, f"{name} ({type(leaf).__name__})")
    tag = suggestion_tag([*each, acc])
    built_dialect = TaggedDialect(built_dialect, tag) if tag else built_dialect
    inside = as_space(space)
    plain = not any(isinstance(leaf, Verdict | Suggestion) for leaf in [*each, *walk(acc)])
    example = click_example(response, inside, dialect) if plain else None
    if label_free:
        _check_free(accepts, {**terms, "success": acc})
        example = example and replace(example, target=_UNLABELLED)
    return Recipe(
        name="composite",
        dialect=built_dialect,
        reward=reward,
        success=acc,
        space=inside,
        response_space=response,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset() if label_free else _accepts(accepts, [*each, *walk(acc)], acc),
        source=Source("grounding-rewards"),
        answers="all" if "points" in reward.needs | acc.needs else "only",
        label_free=label_free,
        formula=_formula(reward, frozen(parts)) + (_ACC if label_free else ""),
        example=example,
    )


def _check_free(accepts: Any, terms: Mapping[str, Verifier]) -> None:
    if accepts is not None:
        raise RecipeError(f"composite: option accepts: got {accepts!r:.80}; expected none beside label_free")
    for name, term in terms.items():
        if judges_of(term):
            raise RecipeError(
                f"composite: {name}: {called(term)} compares with targets, and label_free does without; leave "
                "out one of the two"
            )


def _judges_actions(terms: Iterable[Verifier]) -> bool:
    return any(ACTION in judges_of(term) for term in terms)


def _agreed(terms: Iterable[Verifier]) -> Verifier:
    """Return the verifier of being where the group agrees, as the first part counts that."""
    for term in terms:
        if isinstance(term, Consensus):
            return InConsensus(term.size)
        if isinstance(term, InConsensus):
            return term
    raise RecipeError(
        "composite: option success: got nothing; expected, beside label_free and without a part that is a consensus, "
        'what makes acc: the name of a part, or a verifier that looks at no target, such as "in_consensus"'
    )


def _success(success: Any, terms: Mapping[str, Verifier], each: list[Verifier], label_free: bool) -> Verifier:
    if success is None and label_free:
        return _agreed(each)
    if success is None and (verdicts := [term for term in each if isinstance(term, Verdict)]):
        return verdicts[0]
    if success is None and _judges_actions(each):
        return next((term for term in each if isinstance(term, ActionMatch)), ActionMatch(*_reach(each)))
    if success is None:
        matched = next((term for term in each if isinstance(term, Matched)), None)
        hit = _exact(matched) if matched else next((term for term in each if isinstance(term, Hit)), _reaching(each))
        refusals = [term for term in each if isinstance(term, CorrectRefusal)]
        return best(hit=hit, refusal=refusals[0]) if refusals else hit
    if isinstance(success, str) and success in terms:
        return terms[success]
    fields = {"verifier": success} if isinstance(success, str) else frozen(success)
    if not isinstance(fields, Mapping) or not (isinstance(fields.get("verifier"), str) or combinations(fields)):
        raise RecipeError(
            f"composite: option success: got {success!r:.80}; expected the name of a part ({', '.join(terms)}) or of a "
            'verifier, or {"verifier": NAME, ...}'
        )
    if "weight" in fields:
        raise RecipeError("composite: option success: got a weight; expected none, because acc is 0 or 1: leave it out")
    try:
        term: Verifier = expression(fields)
    except RecipeError as error:
        parts = f"no part ({', '.join(terms)}), and as a verifier: " if isinstance(success, str) else ""
        raise RecipeError(f"composite: option success: {parts}{error}") from error
    _check_alternatives("option success", term)
    return term


def _exact(matched: Matched) -> Verifier:
    """Return 1 where every place is answered once and nothing else is, as a part matches them."""
    return steps("f1", MatchedF1(matched.polygon, matched.point_radius), edges=[1.0], values=[0.0, 1.0])


def _reach(terms: Iterable[Verifier]) -> tuple[float | None, float | None, float]:
    """Return the reach around points, in units or as a share, and the enlarging of the first part that has any."""
    for term in terms:
        if isinstance(term, Hit | NearPoint | EndHit | DenseDistance | Exploration):
            fields = vars(term)
            radius, share = (fields.get(f"point_{name}", fields.get(name)) for name in ("radius", "share"))
            if (reach := (radius, share, fields.get("enlarge", 1.0))) != (None, None, 1.0):
                return reach
    return None, None, 1.0


def _reaching(terms: Iterable[Verifier]) -> Hit:
    radius, share, _ = _reach(terms)
    return Hit(point_radius=radius, point_share=share)


def _accepts(accepts: Any, terms: Iterable[Verifier], success: Verifier) -> frozenset[str]:
    judged = judges_of(success)
    reaches = POINT in judged or not judged & PLACES  # a verdict judges no places, and an own function does not say
    if accepts is None:
        return PLACES.union(*(judges_of(term) for term in terms)) - (frozenset() if reaches else {POINT})
    kinds = frozen(accepts)
    if not isinstance(kinds, tuple) or not kinds or not set(kinds) <= set(KINDS):
        raise RecipeError(f"composite: option accepts: got {accepts!r:.80}; expected a list of {', '.join(KINDS)}")
    if POINT in kinds and not reaches:
        raise RecipeError(
            f"composite: option accepts: got point, and success ({called(success)}) has no reach around points: none "
            'would ever be right; set it, such as success={"verifier": "near_point", "radius": 14}'
        )
    return frozenset(kinds)


def _formula(reward: Combination, parts: Any) -> str:
    pairs = zip(reward.numbers["weights"], reward.parts, strict=True)
    total = " + ".join(f"{weight:g} · {name}" for weight, (name, _) in pairs).replace("+ -", "- ")
    fields = {name: _part(name, each) for name, each in parts.items()}
    named = ", ".join(f"{name} = {shown(each)}" for name, each in fields.items() if name != each.get("verifier"))
    return f"total = {total}" + (f"\n{named}" if named else "")


def _part(name: str, value: Any) -> Mapping[str, Any]:
    """Return the plain values of a part, of which a weight alone stands for the verifier that is called like it."""
    fields: Mapping[str, Any] = value if isinstance(value, Mapping) else {"weight": value}
    return fields if combinations(fields) else {"verifier": name, **fields}


def _without_weight(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in fields.items() if key != "weight"}


def _weighted(owner: str, parts: Any) -> Combination:
    """Build a sum of parts by name, each with its weight."""
    if not isinstance(parts, Mapping) or not parts:
        raise RecipeError(f'{owner} needs parts by name, such as {{"hit": 0.8, "format": 0.2}}; got {parts!r:.80}')
    terms = {}
    for name, value in frozen(parts).items():
        label = f"{owner}: part {name!r}"
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise RecipeError(
                f"{label}: trainers use that name, or it is no name; choose another, and name its "
                f'verifier: {{"verifier": {name!r}, "weight": ...}}'
            )
        if isinstance(value, Mapping) and "weight" not in value:
            hint = near("weight", [key for key in value if key not in ("verifier", *_COMBINATIONS)])
            hint = hint.replace("mean", "mean 'weight' by")  # near() names the key there, not the one meant
            raise RecipeError(f"{label} has no weight: got {dict(value)!r:.120}; expected {_PART}{hint}")
        fields = _part(name, value)
        if not is_number(fields["weight"]):
            raise RecipeError(f"{label}: weight: got {fields['weight']!r:.80}; expected a finite number")
        terms[name] = float(fields["weight"]), _named(label, _without_weight(fields))
    return combine.weighted(**terms)


def expression(value: Any) -> Any:
    """Build a term from plain values: a verifier's name, one with its arguments, or one combination with its terms."""
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
    arguments = dict(value)
    name = arguments.pop("verifier")
    if not isinstance(name, str):
        raise RecipeError(f"verifier: got {name!r:.80}; expected its name, such as 'hit'")
    return build("verifiers", name, arguments)


def combinations(fields: Mapping[str, Any]) -> list[str]:
    """Return the combinations that a mapping names; none beside a verifier, whose arguments may be called so."""
    return [] if "verifier" in fields else [key for key in fields if key in _COMBINATIONS]


def _combination(op: str, value: Any) -> Any:
    """Build a combination from what a config has under its name."""
    if op in ("any_of", "if_placed"):
        return (any_of if op == "any_of" else if_placed)(expression(value))
    if op == "weighted":
        return _weighted(op, value)
    if op in ("product", "best"):
        return getattr(combine, op)(**_terms(op, value))
    if not isinstance(value, Mapping):
        raise RecipeError(f"{op}: got {value!r:.80}; expected its arguments by name")
    if op == "same_action":  # None: the name is enough
        plain = ("names", "bare", "unnamed")
        return same_action(
            **{key: each if key in plain or each is None else _named(key, each) for key, each in value.items()}
        )
    given: dict[str, Any] = dict(value)
    if op == "gate":
        terms: dict[str, Any] = {key: _one(f"gate, {key}", given[key]) for key in ("when", "then") if key in given}
        return combine.gate(**given | terms)
    return getattr(combine, op)(*_one(f"{op}, part", given.pop("part", None)), **given)


def _terms(owner: str, parts: Any) -> dict[str, Any]:
    """Build terms by name."""
    if not isinstance(parts, Mapping) or not parts or not all(isinstance(name, str) for name in parts):
        raise RecipeError(f"{owner}: got {parts!r:.80}; expected terms by name, such as {{'near': 'hit'}}")
    return {name: _named(name, each) for name, each in parts.items()}


def _one(owner: str, parts: Any) -> tuple[str, Any]:
    terms = _terms(owner, parts)
    if len(terms) != 1:
        raise RecipeError(f"{owner}: got {', '.join(terms)}; expected one term by its name")
    return next(iter(terms.items()))


def _named(name: str, value: Any) -> Any:
    try:
        return expression(value)
    except RecipeError as error:
        raise RecipeError(f"{name}: {error}") from error


def _check_alternatives(where: str, term: Any) -> None:
    """Complain of a product or a gate of which several parts would each take a target's best alternative by itself."""
    if not isinstance(term, Combination):  # any_of holds its parts to one alternative
        return
    apart = [f"{name} ({called(part)})" for name, part in term.parts if _takes_best(part)]
    if term.op in ("product", "gate") and len(apart) > 1:
        raise RecipeError(
            f"composite: {where}: {term.op} of {', '.join(apart)}: each would take the best of a target's alternatives "
            f"by itself, and so reward the action of one at the place of another; make it "
            f'{{"any_of": {{"{term.op}": ...}}}}'
        )
    for part in term.within:
        _check_alternatives(where, part)


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
    ((name, given),) = _without_weight(value).items()  # one combination: the term has been built before
    if name == "weighted":
        fields = [_part(*each) for each in given.items()]
        return " + ".join(f"{each['weight']:g} · {shown(each)}" for each in fields)
    if name in ("any_of", "if_placed"):
        texts = [shown(given)]
    elif name in ("product", "best"):
        texts = [*map(shown, given.values())]
    else:
        one = ("part", "when", "then")
        texts = [", ".join(map(shown, given[key].values())) for key in one if key in given]
        texts += [f"{key}={shown(each)}" for key, each in given.items() if key not in one]
    return f"{name}({', '.join(texts)})"
