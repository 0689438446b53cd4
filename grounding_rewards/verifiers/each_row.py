"""A lift from a function of one row to a verifier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace, convert
from grounding_rewards.errors import TargetError, VerifierError, short_repr
from grounding_rewards.rollouts import Reason, Rollouts
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.target import Action, Listed, Region, RegionKind, Target
from grounding_rewards.verifiers.terms import FunctionVerifier, Term, check_function, verifier

Numbers = tuple[float, ...]


class RowPrediction(NamedTuple):
    """Answer of one response, in the recipe's space.

    Attributes:
        xy: the point answered, the centre of an answered box; None where there is none.
        box: x1 y1 x2 y2 of an answered box; else None.
        points: all answers, where the policy is ``answers="all"``; else none.
        reason: the outcome of reading the response.
        action: the action's name; "" where it names none.
        arguments: what the action says beside its name and place, by name.
    """

    xy: Numbers | None
    box: Numbers | None
    points: tuple[Numbers, ...]
    reason: Reason
    action: str
    arguments: Mapping[str, Any]


class Row(NamedTuple):
    """One row of ``Rollouts``; prediction and target are in the recipe's space.

    Attributes:
        text: the response, "" for None.
        prediction: what was parsed from it.
        target: what counts as right; ``regions`` lists its places.
        image_size: width and height of the original image; None where unknown.
        model_image_size: the same of the image that the model saw.
        group: equal numbers are rollouts of one sample.
        token_length: the response's length in tokens, or None.
        extras: further columns by name.
    """

    text: str
    prediction: RowPrediction
    target: Target
    image_size: Numbers | None
    model_image_size: Numbers | None
    group: int
    token_length: int | None
    extras: Mapping[str, Any]


@dataclass(frozen=True)
class EachRow:
    """A function of ``Rollouts`` that calls ``fn`` for each row; rows whose target cannot be used get ``unusable``."""

    fn: Callable[[Row], float]
    unusable: float

    @property
    def __name__(self) -> str:
        return getattr(self.fn, "__name__", type(self.fn).__name__)

    def __call__(self, rollouts: Rollouts) -> Floats:
        errors = rollouts.targets.errors
        scores = np.full(len(rollouts), self.unusable, dtype=np.float64)
        for number, row in _rows(rollouts):
            if number not in errors:
                scores[number] = self._score(row, number, rollouts.targets)
        return scores

    def _score(self, row: Row, number: int, targets: Targets) -> float:
        sample = targets.sample(number)
        where = f"row {number}" + (f" (sample {sample!r:.80})" if isinstance(sample, str) else "")
        try:
            returned = self.fn(row)
        except TargetError:  # it names the sample and the field
            raise
        except (Exception, SystemExit) as error:
            raised = f"{type(error).__name__}: {error}"
            raise VerifierError(f"verifier {self.__name__} raised {raised}, for {where}") from error
        if not isinstance(returned, bool | int | float | np.bool_ | np.integer | np.floating):
            raise VerifierError(
                f"verifier {self.__name__} returned {short_repr(returned)} for {where}; expected a number"
            )
        try:
            return float(returned)
        except OverflowError:
            return np.inf  # outside of all bounds


@dataclass(frozen=True)
class ByRow(Term):
    """0.0 to 1.0 by a function of a row that reads no extras; its docstring says of what."""

    fn: Callable[[Row], float]

    def __call__(self, rollouts: Rollouts) -> Floats:
        return EachRow(self.fn, 0.0)(rollouts)


def per_row(fn: Callable[[Row], float], *, low: float, high: float, needs: Iterable[str] = ()) -> FunctionVerifier:
    """Lift a function of one row to a verifier, so that it can stand in any composition.

    It is called once for each row, which is slower than one ``verifier(fn)`` for all of them.

    Args:
        fn: maps a ``Row`` to its score. A module-level function keeps the recipe picklable.
        low: the lowest score it can return.
        high: the highest.
        needs: its requirements beside the row itself: ``"groups"``, ``"screen"``, ``"trajectories"``, ``"points"``, or
            several.

    Raises:
        RecipeError: ``fn`` is a class or cannot be called, the bounds are not finite and in order, or a need is
            unknown.

    >>> from dataclasses import replace
    >>> from grounding_rewards import recipe
    >>> def left_half(row):
    ...     x1, _, x2, _ = row.target.regions[0].numbers
    ...     return row.prediction.xy is not None and x1 <= row.prediction.xy[0] <= (x1 + x2) / 2
    >>> click = replace(recipe("click", response_space="pixel"), reward=per_row(left_half, low=0, high=1))
    >>> click.score(["(12, 15)", "(28, 15)", "no"], [{"bbox": [10, 10, 30, 20]}] * 3).total
    array([1., 0., 0.])
    """
    check_function("per_row", fn, "a function of a Row")
    # The score of rows that cannot be used is left out later, and lies within the bounds.
    return verifier(EachRow(fn, low), low=low, high=high, needs=needs)


def _rows(rollouts: Rollouts) -> Iterator[tuple[int, Row]]:
    """Yield the number and the view of each row."""
    predictions, targets = rollouts.predictions, rollouts.targets
    columns = zip(
        predictions.xy, predictions.box, predictions.reason.tolist(), predictions.actions.tolist(),
        predictions.arguments.by_row(len(rollouts)), targets.image_sizes, targets.model_image_sizes,
        rollouts.groups.tolist(), strict=True,
    )  # fmt: skip
    for number, (xy, box, reason, action, arguments, image, model_image, group) in enumerate(columns):
        answers = _points(rollouts, number)
        yield (
            number,
            Row(
                rollouts.text[number],
                RowPrediction(_numbers(xy), _numbers(box), answers, Reason(reason), action or "", arguments),
                _target(targets, number),
                _numbers(image),
                _numbers(model_image),
                group,
                None if rollouts.token_lengths is None else int(rollouts.token_lengths[number]),
                {name: own_value(column, number, len(rollouts)) for name, column in rollouts.extras.items()},
            ),
        )


def _numbers(values: Floats) -> Numbers | None:
    numbers = tuple(values.tolist())
    return None if any(number != number for number in numbers) else numbers


def _points(rollouts: Rollouts, number: int) -> tuple[Numbers, ...]:
    points, offsets = rollouts.predictions.points, rollouts.predictions.offsets
    if points is None or offsets is None:
        return ()
    return tuple(map(tuple, points[offsets[number] : offsets[number + 1]].tolist()))


def own_value(column: Any, number: int, rows: int) -> Any:
    """Return a row's value of a further column; what is no column is every row's."""
    sized = isinstance(column, list | tuple) or (isinstance(column, np.ndarray) and column.ndim)
    return column[number] if sized and len(column) == rows else column


def _target(targets: Targets, row: int) -> Target:
    """Return a row's target in the space of the prepared table; a blank one where it cannot be read."""
    target = targets.rows[row]
    if target is None:
        return Target()
    own = target.space or targets.default
    into = targets.into or own
    if own is None or into is None or own is into:
        return target.changed(space=into)
    first = int(np.searchsorted(targets.regions.row, row))
    places = tuple(_region(targets, first + place, region) for place, region in enumerate(target.regions))
    moved = target.changed(places, space=into)
    return _with_ends(moved, own, into, targets, row) if target.ends else moved


def _region(targets: Targets, place: int, region: Region) -> Region:
    """Return a place with the numbers that the table has in its space."""
    regions = targets.regions
    point: Any = None if regions.shapes is None else _numbers(regions.point[place])  # of boxes alone a column of none
    if region.kind == RegionKind.BBOX:
        return structs.replace(region, numbers=tuple(regions.box[place].tolist()), point=point)
    if region.kind == RegionKind.CIRCLE and regions.radii[place, 0] == regions.radii[place, 1]:
        return structs.replace(region, numbers=(*point, float(regions.radii[place, 0])))
    # A circle that the conversion distorts is no circle any more.
    kind = RegionKind.POLYGON if region.kind == RegionKind.CIRCLE else region.kind
    return structs.replace(region, kind=kind, numbers=tuple(regions.outline(place).ravel().tolist()))


def _with_ends(target: Target, own: CoordSpace, into: CoordSpace, targets: Targets, row: int) -> Target:
    """Bring the other ends of actions into the space, too."""
    sizes = targets.image_sizes[[row]], targets.model_image_sizes[[row]]

    def moved(action: Action) -> Action:
        if action.to is None:
            return action
        return structs.replace(action, to=tuple(convert(np.array([action.to]), own, into, *sizes)[0].tolist()))

    regions = tuple(
        each if each.action is None else structs.replace(each, action=moved(each.action)) for each in target.regions
    )
    action = None if target.action is None else moved(target.action)
    return target.changed(regions, action=action, actions=Listed(map(moved, target.actions)))
