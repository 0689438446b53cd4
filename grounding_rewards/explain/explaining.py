"""From one response and its target to everything that there is to say about its score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grounding_rewards.combine import Known, is_combination
from grounding_rewards.errors import TargetError
from grounding_rewards.explain.arithmetic import lengths_of
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explanation import Explanation, Mate, Together
from grounding_rewards.explain.labels import acc_made_by, plain
from grounding_rewards.explain.places import conversions, extents
from grounding_rewards.explain.position import position, positions
from grounding_rewards.explain.reading import numbers_of, read
from grounding_rewards.explain.sections import Told
from grounding_rewards.explain.target_section import alone, complaint, told
from grounding_rewards.explain.terms import ACC, worked_out
from grounding_rewards.rollouts import Reason, Rollouts, Scores
from grounding_rewards.scoring import Recipe
from grounding_rewards.verifiers import DastLength, Verifier


def explain(recipe: Recipe, case: Case) -> Explanation:
    """Why a response is paid what it is paid. Whatever the response, this returns.

    Args:
        recipe: how it is judged.
        case: the response and its target, with the rows that its score depends on.

    Returns:
        What was parsed, every conversion, every part with its formula and what it adds, total, acc and reason. Of a
        target that cannot be used: what was parsed, and the error.

    Raises:
        RecipeError: something that the recipe needs is missing, such as groups.
        VerifierError: a verifier fails.

    >>> from grounding_rewards import recipe
    >>> found = explain(recipe("gelato"), Case(("(900, 900)",), ([0.1, 0.1, 0.3, 0.2],)))
    >>> found.total, found.reward.formula, found.position.words
    (0.0, 'distance + 0 · format', '0.6 right of it and 0.7 below it, 0.921954 away, in unit')
    """
    rollouts = recipe.rollouts(list(case.responses), list(case.targets), **case.given(), bad_target="abstain")
    error = rollouts.targets.errors.get(case.row)
    found = Explanation(
        recipe=repr(recipe),
        name=recipe.name,
        options=plain(dict(recipe.options)),
        spaces={
            "response": recipe.response_space.value,
            "target": recipe.target_space.value,
            "formula": recipe.space.value,
        },
        formula=recipe.formula,
        response=case.response,
        read=read(recipe, case.response, Reason(rollouts.predictions.reason[case.row])),
        target=_told(recipe, case),
        valid=0.0 if error else 1.0,
        reason=Reason.BAD_TARGET.name if error else Reason(rollouts.predictions.reason[case.row]).name,
        error=complaint(error) if error else None,
    )
    if error:
        return found
    return _scored(found, recipe, case, rollouts, recipe.judge(rollouts))


def _scored(found: Explanation, recipe: Recipe, case: Case, rollouts: Rollouts, scores: Scores) -> Explanation:
    """The same with all that holds of a target that can be used."""
    known: Known = {}
    told = found.target
    reach = extents(case, rollouts)
    moves = conversions(recipe, found.read, told, reach)
    used = {space for move in moves if move.axes for space in (move.source, move.into)}
    where = position(recipe, case.row, rollouts)
    if where is not None and where.space != recipe.space.value:
        used |= {where.space, recipe.space.value}
    return replace(
        found,
        target=told and _tried(told, recipe, case),
        total=float(scores.total[case.row]),
        acc=float(scores.acc[case.row]),
        acc_is=acc_made_by(recipe),
        reward=worked_out(recipe.reward, rollouts, case.row, known=known),
        success=worked_out(recipe.success, rollouts, case.row, name=ACC, known=known),
        extents=tuple(each for each in reach if each.space in used),
        conversions=moves,
        position=where,
        positions=positions(recipe, case.row, rollouts),
        together=_together(recipe, case, rollouts, scores),
    )


def _told(recipe: Recipe, case: Case) -> Told | None:
    try:
        return told(recipe, case)
    except TargetError:
        return None


def _tried(target: Told, recipe: Recipe, case: Case) -> Told:
    """The target with what each of several places would earn on its own."""
    totals = alone(recipe, case) if len(target.places) > 1 and not recipe.label_free else ()
    if not totals:
        return target
    places = zip(target.places, totals, strict=True)
    return replace(target, places=tuple(replace(place, alone=total) for place, total in places))


def _together(recipe: Recipe, case: Case, rollouts: Rollouts, scores: Scores) -> Together | None:
    """The rows of the same group or trajectory, where the score depends on them."""
    if "groups" in recipe.needs:
        what, rows = "group", (rollouts.groups == rollouts.groups[case.row]).nonzero()[0].tolist()
    elif "trajectories" in recipe.needs:
        wanted = _trajectory(rollouts, case.row)
        what, rows = "trajectory", [row for row in range(len(rollouts)) if _trajectory(rollouts, row) == wanted]
    else:
        return None
    mates = [_mate(row, case, rollouts, scores) for row in rows]
    if any(isinstance(part, DastLength) for part in _verifiers(recipe.reward)):
        lengths = lengths_of(rollouts)[0]
        mates = [replace(mate, length=int(lengths[row])) for mate, row in zip(mates, rows, strict=True)]
    return Together(what, recipe.space.value, tuple(mates))


def _verifiers(term: Verifier) -> list[Verifier]:
    """The verifiers inside a term."""
    if not is_combination(term):
        return [term]
    return [found for _, child in term.children for found in _verifiers(child)]


def _trajectory(rollouts: Rollouts, row: int) -> Any:
    target = rollouts.targets.rows[row]
    return None if target is None else target.trajectory


def _mate(row: int, case: Case, rollouts: Rollouts, scores: Scores) -> Mate:
    target = rollouts.targets.rows[row]
    return Mate(
        row=case.name(row),
        response=case.responses[row],
        point=numbers_of(rollouts.predictions.xy[row]),
        total=float(scores.total[row]),
        acc=float(scores.acc[row]),
        reason=Reason(scores.reason[row]).name,
        step=None if target is None else target.step,
        explained=row == case.row,
    )
