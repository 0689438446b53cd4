"""From one response and its target to an explanation of its score, by one recipe or side by side by several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.combine import Known, parts_of
from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL, UNIT, CoordSpace, as_space, convert
from grounding_rewards.errors import GroundingRewardsError, TargetError
from grounding_rewards.explain.case import Case, numbers_of, read_response
from grounding_rewards.explain.explanation import (
    Axis,
    Compared,
    Conversion,
    Explanation,
    Extent,
    Mate,
    Numbers,
    Place,
    Position,
    ReadResponse,
    ReadTarget,
    Together,
    plain,
)
from grounding_rewards.explain.formulas import ACC, acc_made_by, term_of
from grounding_rewards.geometry import box_gap, lengths, outline_distance
from grounding_rewards.rollouts import Reason, Rollouts, Scores
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.read import read_target, read_with_form
from grounding_rewards.targets.regions import Regions, converted
from grounding_rewards.targets.target import Action, Region, RegionKind, Target
from grounding_rewards.targets.write import to_wire
from grounding_rewards.verifiers import DastLength
from grounding_rewards.verifiers.hit import inside_regions
from grounding_rewards.verifiers.length import lengths_of
from grounding_rewards.wording import number


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
        names = [target and target.trajectory for target in rollouts.targets.rows]
        what, rows = "trajectory", [row for row, name in enumerate(names) if name == names[case.row]]
    else:
        return None
    mates = [_mate(row, case, rollouts, scores) for row in rows]
    if any(isinstance(part, DastLength) for part in (recipe.reward, *dict(parts_of(recipe.reward)).values())):
        lengths = lengths_of(rollouts)
        mates = [replace(mate, length=int(lengths[row])) for mate, row in zip(mates, rows, strict=True)]
    return Together(what, recipe.space.value, tuple(mates))


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


MOST_PLACES = 16
"""Places of a target that are scored one by one, at most."""

BESIDE = "beside the target"
"""Origin of a size that the target does not say."""

_BESIDE = ("image_size", "model_image_size", "id", "task", "trajectory", "step", "num_steps", "extra")
_NAMES = {2: ("x", "y"), 3: ("x", "y", "r across"), 4: ("x1", "y1", "x2", "y2")}


def describe_target(recipe: Recipe, case: Case) -> ReadTarget | None:
    """Read the target of a case's row as the recipe does; None where it cannot be read."""
    try:
        target, own_form = read_with_form(
            case.target, case.row, recipe.native, recipe.target_space, recipe.label_free, case.box_format
        )
    except TargetError:
        return None
    placed = target.regions or target.ends
    return ReadTarget(
        form="native" if own_form else "wire",
        space=target.space.value if placed and target.space else None,
        places=tuple(_place(region) for region in target.regions),
        refusal=target.refusal,
        action=_action(target.action) if target.action else None,
        actions=tuple(_action(action) for action in target.actions),
        says={name: plain(getattr(target, name)) for name in _BESIDE if getattr(target, name) is not None},
        compared=not recipe.label_free,
    )


def with_totals_alone(read: ReadTarget, target: Target, recipe: Recipe, case: Case) -> ReadTarget:
    """Score the row with each place of its target as the only one, where there are several."""
    if not 1 < len(read.places) <= MOST_PLACES or read.actions or recipe.label_free:
        return read
    places = []
    case = case if case.box_format is None else in_wire_form(recipe, case)
    for place, region in zip(read.places, target.regions, strict=True):
        targets = list(case.targets)
        targets[case.row] = to_wire(target.changed([region]))
        alone = replace(case, targets=tuple(targets)).score(recipe).total[case.row]
        places.append(replace(place, alone=float(alone)))
    return replace(read, places=tuple(places))


def in_wire_form(recipe: Recipe, case: Case) -> Case:
    """Rewrite targets so that every recipe reads them; those that this one cannot read stay."""
    targets = tuple(_rewritten(recipe, target, case.box_format) for target in case.targets)
    return replace(case, targets=targets, box_format=case.box_format and BoxFormat.XYXY)


def extents(case: Case, rollouts: Rollouts) -> tuple[Extent, ...]:
    """Return width and height of every space of this row, as far as they are known, and their origin."""
    known = [Extent(space.value, space.extent, space.extent, "always") for space in CoordSpace if space.extent]
    columns = ((PIXEL, rollouts.image_sizes, case.image_sizes),
               (MODEL_PIXEL, rollouts.model_image_sizes, case.model_image_sizes))  # fmt: skip
    for space, column, beside in columns:
        size = numbers_of(column[case.row])
        if size is not None:
            field, target = str(space.size_field), rollouts.targets.rows[case.row]
            if beside is not None and beside[case.row] is not None:
                origin = f"{field} {BESIDE}"
            else:
                own = target is not None and getattr(target, field) is not None
                origin = f"{field} of the target" if own else "made from image_size by the option model"
            known.append(Extent(space.value, size[0], size[1], origin))
    return tuple(known)


def conversions(
    recipe: Recipe, read: ReadResponse, target: ReadTarget | None, known: Iterable[Extent]
) -> tuple[Conversion, ...]:
    """Return how the answer and the target come into the space of the formula, with their numbers."""
    reach = {extent.space: (extent.width, extent.height) for extent in known}
    places = [(name, numbers, recipe.response_space) for name, numbers in _answers(recipe, read) if numbers is not None]
    if target is not None and target.space is not None and target.compared:
        names = [f"place {index + 1}" for index in range(len(target.places))] if len(target.places) > 1 else ["target"]
        actions = [target.action, *(place.action for place in target.places), *target.actions]
        ends = [("end of the target", tuple(action["to"])) for action in actions if action and "to" in action]
        # Not strict: where there is no place there is a name all the same.
        own = [(name, place.numbers) for name, place in zip(names, target.places, strict=False)]
        places += [(name, numbers, as_space(target.space)) for name, numbers in (*own, *ends)]
    return tuple(_conversion(name, tuple(numbers), space, recipe.space, reach) for name, numbers, space in places)


def _answers(recipe: Recipe, read: ReadResponse) -> list[tuple[str, Numbers | None]]:
    """Return answers by name: every point where all count and are converted."""
    answers: list[tuple[str, Numbers | None]] = [("answer", read.box or read.point)]
    if recipe.answers == "all" and read.found and recipe.response_space is not recipe.space:
        answers = [(f"answer {index + 1}", point) for index, point in enumerate(read.found)]
    return [*answers, ("end of the answer", read.arguments.get("to"))]


def _conversion(
    what: str, numbers: Numbers, source: CoordSpace, into: CoordSpace, reach: Mapping[str, Numbers]
) -> Conversion:
    # Without a size there are no numbers to show.
    if source is into or source.value not in reach or into.value not in reach:
        return Conversion(what, source.value, into.value)
    names = _NAMES.get(len(numbers)) or tuple(f"{'xy'[k % 2]}{k // 2 + 1}" for k in range(len(numbers)))
    axes = []
    for k, (name, value) in enumerate(zip(names, numbers, strict=True)):
        old, new = reach[source.value][k % 2], reach[into.value][k % 2]
        # The same operations as ``convert``, to the last digit.
        axes.append(Axis(name, value, old, new, value / old if into is UNIT else value * (new / old)))
    return Conversion(what, source.value, into.value, tuple(axes))


def _rewritten(recipe: Recipe, value: Any, box_format: BoxFormat | None) -> Any:
    try:
        return to_wire(read_target(value, native=recipe.native, space=recipe.target_space, box_format=box_format))
    except TargetError:
        return value


def _place(region: Region) -> Place:
    kind = RegionKind(region.kind).name.lower()
    return Place(kind, region.numbers, region.point, _action(region.action) if region.action else None)


def _action(action: Action) -> dict[str, Any]:
    """Return an action's fields, those alone that it has."""
    values = ((name, getattr(action, name)) for name in action.__struct_fields__)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}


_ROUNDING = 1e-12


def positions(recipe: Recipe, row: int, rollouts: Rollouts) -> tuple[Position, ...]:
    """Return the place of every answer of a row, where all of several count; else nothing."""
    points, offsets = rollouts.predictions.points, rollouts.predictions.offsets
    if recipe.answers != "all" or points is None or offsets is None:
        return ()
    mine = points[offsets[row] : offsets[row + 1]]
    every = [position(recipe, row, rollouts, point) for point in mine] if len(mine) > 1 else []
    return tuple(place for place in every if place is not None)


def position(recipe: Recipe, row: int, rollouts: Rollouts, point: Floats | None = None) -> Position | None:
    """Locate the answered point: in pixels of the original image where the sizes are known, else in the recipe's space.

    It is the row's own point, or ``point`` (2,); None without a point or without a place to lie in.
    """
    xy, box, regions = rollouts.predictions.xy, rollouts.predictions.box, rollouts.targets.regions
    if point is not None:
        xy, box = np.tile(point, (len(rollouts), 1)), nowhere(len(rollouts), 4)  # a row each: regions pick by row
    mine, space = regions.row == row, recipe.space
    if not mine.any() or np.isnan(xy[row]).any():
        return None
    with np.errstate(all="ignore"):  # 0 / 0 at the centre of a circle
        sizes = rollouts.image_sizes, rollouts.model_image_sizes
        moved, places = convert(xy, space, PIXEL, *sizes), converted(regions, np.ones_like(mine), space, PIXEL, *sizes)
        if not (np.isnan(moved[row]).any() or np.isnan(places.box[mine]).any()):  # NaN: a size is unknown
            xy, box, regions, space = moved, convert(box, space, PIXEL, *sizes), places, PIXEL
        edges = _edges(regions.each(xy), regions)[mine]
        gaps = np.where(inside_regions(xy, regions, point_radius=0.0)[mine], 0.0, edges)
    gaps = np.where(np.isfinite(gaps), gaps, np.finfo(np.float64).max)  # argmin takes NaN for the least
    boxes = regions.box[mine]
    # A converted point on a border misses it by the last digit or two.
    near = _ROUNDING * np.abs(boxes).max()
    gaps = np.where(gaps <= near, 0.0, gaps)
    nearest = int(np.argmin(gaps))
    gap, on_edge, kind = float(gaps[nearest]), bool(edges[nearest] <= near), regions.kind[mine][nearest]
    return Position(
        space=space.value,
        point=tuple(xy[row].tolist()),
        box=numbers_of(box[row]),
        places=tuple(map(tuple, boxes.tolist())),
        nearest=nearest,
        inside=gap == 0,
        gap=gap,
        words=_words(xy[row].tolist(), boxes[nearest].tolist(), kind, gap, space, on_edge=on_edge),
    )


def _edges(xy: Floats, regions: Regions) -> Floats:
    """Return the distance of a point to each place's outline, inside as well: (m, 2) to (m,)."""
    low, high = regions.box[:, :2], regions.box[:, 2:]
    within, kind = np.minimum(xy - low, high - xy).min(axis=1), regions.kind
    edges = np.where(within < 0, box_gap(xy, regions.box), within)
    if RegionKind.POLYGON in regions.kinds:
        outline = outline_distance(xy, regions.vertices, regions.offsets)
        edges = np.where(kind == RegionKind.POLYGON, outline, edges)
    if RegionKind.CIRCLE in regions.kinds:
        away, turns = lengths(xy - regions.point), lengths((xy - regions.point) / regions.radii)
        along = np.where(turns > 0, np.abs(away - away / turns), np.inf)  # at the centre there is no direction
        edges = np.where(kind == RegionKind.CIRCLE, along, edges)
    return edges


def _words(
    point: list[float], box: list[float], kind: RegionKind, gap: float, space: CoordSpace, *, on_edge: bool
) -> str:
    """Say on which side of a place a point lies and how far, or that it is inside or on its border."""
    if gap == 0 and kind == RegionKind.POINT:
        return "exactly there"
    if gap == 0:
        return "on its border" if on_edge else "inside"
    unit, also = (" px", "") if space in (PIXEL, MODEL_PIXEL) else ("", f", in {space.value}")
    (x, y), (x1, y1, x2, y2) = point, box
    sides = (("left of it", x1 - x), ("right of it", x - x2), ("above it", y1 - y), ("below it", y - y2))
    beside = [f"{number(far)}{unit} {side}" for side, far in sides if far > 0]
    if not beside:
        return f"outside, {number(gap)}{unit} from its edge, but inside the box around it{also}"
    slanted = len(beside) > 1 or kind in (RegionKind.POLYGON, RegionKind.CIRCLE)
    return " and ".join(beside) + (f", {number(gap)}{unit} away" if slanted else "") + also
