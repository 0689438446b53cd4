"""The composition of a recipe with the scores of one row, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from grounding_rewards.combine import Combination, Known, evaluate
from grounding_rewards.explain.arithmetic import intermediate_numbers
from grounding_rewards.explain.explanation import Term
from grounding_rewards.explain.formulas import equation_of, number
from grounding_rewards.explain.labels import called_with, formula_of, made_by
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import StepReturn, Verifier

TOTAL, ACC = "total", "acc"


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
        numbers=intermediate_numbers(term, at.rollouts, at.row, score),
        contribution=None if factor is None else factor * score,
    )  # fmt: skip
    if isinstance(term, Combination):
        return _combined(term, built, parts, factor, at)
    return _returned(term, built, parts, at) if isinstance(term, StepReturn) else built


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
