"""From one response and its target to an explanation of its score, by one recipe or side by side by several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grounding_rewards.combine import Known, parts_of
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.explain.case import Case, numbers_of, read_response
from grounding_rewards.explain.explanation import Compared, Explanation, Mate, Together, plain
from grounding_rewards.explain.formulas import ACC, acc_made_by, term_of
from grounding_rewards.explain.position import position, positions
from grounding_rewards.explain.target_section import (
    conversions,
    describe_target,
    extents,
    in_wire_form,
    with_totals_alone,
)
from grounding_rewards.rollouts import Reason, Rollouts, Scores
from grounding_rewards.scoring import Recipe
from grounding_rewards.verifiers import DastLength
from grounding_rewards.verifiers.length import lengths_of


def explain(recipe: Recipe, case: Case) -> Explanation:
    """Explain the score of one response. Whatever the response, this returns.

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
    >>> why = explain(recipe("gelato"), Case(("(900, 900)",), ([0.1, 0.1, 0.3, 0.2],)))
    >>> why.total, why.reward.formula, why.position.words
    (0.0, 'distance + 0 · format', '0.6 right of it and 0.7 below it, 0.921954 away, in unit')
    """
    rollouts = case.rollouts(recipe, checked=False)
    error = rollouts.targets.errors.get(case.row)
    reason = Reason(rollouts.predictions.reason[case.row])
    explanation = Explanation(
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
        read=read_response(recipe, case.response, reason),
        target=describe_target(recipe, case),
        valid=0.0 if error else 1.0,
        reason=Reason.BAD_TARGET.name if error else reason.name,
        error=error.problem if error else None,
    )
    return explanation if error else _scored(explanation, recipe, case, rollouts, recipe.evaluate(rollouts))


def compare(recipes: Sequence[Recipe], case: Case) -> tuple[Compared, ...]:
    """Score the same text and the same target by several recipes.

    Args:
        recipes: the first is the one whose form of targets the case has; the others get them in the wire form, with
            the space named. Each reads the text in its own dialect and response space.
        case: the response and its target.

    >>> from grounding_rewards import recipe
    >>> case = Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.3],))
    >>> recipes = recipe("gelato"), recipe("click", response_space="thousandths")
    >>> [compared.error is None for compared in compare(recipes, case)]
    [True, False]
    """
    others = in_wire_form(recipes[0], case)  # bare numbers would mean another thing to each recipe
    return tuple(_compared(recipe, others if index else case) for index, recipe in enumerate(recipes))


def _compared(recipe: Recipe, case: Case) -> Compared:
    head = repr(recipe), recipe.name, recipe.response_space.value, recipe.low, recipe.high
    try:
        scores = case.score(recipe)
    except GroundingRewardsError as error:
        return Compared(*head, error=error.problem)
    row = case.row
    return Compared(*head, float(scores.total[row]), float(scores.acc[row]), Reason(scores.reason[row]).name)


def _scored(explanation: Explanation, recipe: Recipe, case: Case, rollouts: Rollouts, scores: Scores) -> Explanation:
    """Add all that holds of a target that can be used."""
    known: Known = {}  # scores of parts: reward and success often share them
    target, own, reach = explanation.target, rollouts.targets.rows[case.row], extents(case, rollouts)
    moves = conversions(recipe, explanation.read, target, reach)
    used = {space for move in moves if move.axes for space in (move.source, move.into)}
    where = position(recipe, case.row, rollouts)
    if where is not None and where.space != recipe.space.value:
        used |= {where.space, recipe.space.value}  # the position was converted, so its sizes are shown
    return replace(
        explanation,
        target=with_totals_alone(target, own, recipe, case) if target and own else target,
        total=float(scores.total[case.row]),
        acc=float(scores.acc[case.row]),
        acc_is=acc_made_by(recipe),
        reward=term_of(recipe.reward, rollouts, case.row, known=known),
        success=term_of(recipe.success, rollouts, case.row, name=ACC, known=known),
        extents=tuple(extent for extent in reach if extent.space in used),
        conversions=moves,
        position=where,
        positions=positions(recipe, case.row, rollouts),
        together=_together(recipe, case, rollouts, scores),
    )


def _together(recipe: Recipe, case: Case, rollouts: Rollouts, scores: Scores) -> Together | None:
    """Return the rows of the same group or trajectory, where the score depends on them."""
    if "groups" in recipe.needs:
        what, rows = "group", (rollouts.groups == rollouts.groups[case.row]).nonzero()[0].tolist()
    elif "trajectories" in recipe.needs:
        wanted = _trajectory(rollouts, case.row)
        what, rows = "trajectory", [row for row in range(len(rollouts)) if _trajectory(rollouts, row) == wanted]
    else:
        return None
    mates = [_mate(row, case, rollouts, scores) for row in rows]
    if any(isinstance(part, DastLength) for part in (recipe.reward, *dict(parts_of(recipe.reward)).values())):
        lengths = lengths_of(rollouts)
        mates = [replace(mate, length=int(lengths[row])) for mate, row in zip(mates, rows, strict=True)]
    return Together(what, recipe.space.value, tuple(mates))


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
