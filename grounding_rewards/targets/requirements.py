"""Requirements of a recipe on targets, and their violations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.actions import CLICKS, is_click, is_known
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import (
    CODES,
    COORDINATE_LIMIT,
    SPACES,
    UNDECLARED,
    UNIT,
    CoordSpace,
    extents,
    sizes_needed,
)
from grounding_rewards.errors import MISSING, TargetError, near
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.target import RegionKind, Target

if TYPE_CHECKING:
    from grounding_rewards.targets.columns import Targets

Violations = list[tuple[int, TargetError]]
Check = Callable[[Target | None, str | int], TargetError | None]


@dataclass(frozen=True)
class Requirements:
    """Requirements of a recipe on its targets."""

    into: CoordSpace  # the space in which its formula works
    # the space of the responses, whose sizes are demanded too; None where it is unknown
    response_space: CoordSpace | None
    accepts: frozenset[str]  # the kinds of target that it can judge
    default: CoordSpace | None = None  # the space of targets that do not name one
    screen: bool = False  # True where it measures in shares of the screen, so that it needs the size of ``into``
    trajectories: bool = False  # True where it needs each row's trajectory and step
    label_free: bool = False  # True where it needs no places, so that responses alone are brought into its space
    # what its verifiers ask of a target beside all this: target and sample to an error or None
    checks: tuple[Check, ...] = ()
    resizing: Resizing | None = None  # makes the sizes of the images that the model saw, where nothing says them
    name: str = ""
    action_names: tuple[str, ...] = ()  # names of actions that are known beside the vocabulary
    # True where the recipe works in a space of shares where its option target_space names one
    follows_targets: bool = False

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(vars(self).values()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}  # texts have another elsewhere

    def __hash__(self) -> int:
        return self._hash  # asked for at every score of targets that are not prepared

    def sizes(self, space: CoordSpace | None) -> tuple[str, ...]:
        """Return the size fields that targets in ``space``, or without a place (None), need."""
        converting = sizes_needed(None if self.label_free else space, self.response_space, into=self.into)
        own = self.into.size_field if self.screen else None
        return converting if own is None or own in converting else (*converting, own)


def violations(targets: Targets, needs: Requirements) -> dict[int, TargetError]:
    """Return the first violation of each row that a recipe cannot use, by row."""
    errors = _kind_errors(targets, needs.accepts) + _action_errors(targets, needs.accepts) + _space_errors(targets)
    errors += _circle_errors(targets) + _unusable_sizes(targets)
    errors += _place_errors(targets) if needs.trajectories else []
    errors += _own_errors(targets, needs.checks)
    # Without places, no space would ask for them.
    errors += _size_errors(targets, None, needs) if needs.label_free else []
    for code in sorted({*targets.space_codes[targets.valid].tolist()}):
        if code != UNDECLARED:
            space = SPACES[code]
            # Numbers in another space need no size: the cause goes before what follows from it.
            errors += _range_errors(targets, space) + _size_errors(targets, space, needs)
    return dict(reversed(errors))  # of a row's violations the first stays


def surely_usable(targets: Targets, needs: Requirements) -> bool:
    """Return True where a few checks of a table rule out violations and places outside images; mostly so."""
    if needs.trajectories or needs.label_free or needs.checks or "bbox" not in needs.accepts:
        return False
    if targets.needs_row_checks or targets.errors or not targets.regions.boxes_only:
        return False
    if (
        (targets.has_actions_or_refusals and "action" not in needs.accepts)
        or len(targets.spaces) > 1
        or None in targets.spaces
    ):
        return False
    space = next(iter(targets.spaces), None)
    if space is None:  # no place anywhere
        return targets.known_image_sizes is None and targets.known_model_image_sizes is None
    needed = needs.sizes(space)
    least, right, bottom, end = targets.span
    for field, sizes in (
        ("image_size", targets.known_image_sizes), ("model_image_size", targets.known_model_image_sizes),
    ):  # fmt: skip
        if sizes is None and field in needed:
            return False
        if sizes is not None and not ((sizes >= 1) & (sizes <= COORDINATE_LIMIT)).all():
            return False
        if sizes is not None and space.size_field == field:
            width, height = (float(sides.min()) for sides in sizes.T)  # of the smallest image
            if right > width or bottom > height:
                return False
    extent = space.extent
    # No box left of the image or above it, none beyond a fixed extent, and none that looks like unit as written.
    unit_end = 1 if targets.box_format is None else 2
    return least >= 0 and (extent is None or max(right, bottom) <= extent) and (space is UNIT or end > unit_end)


def _kind_errors(targets: Targets, accepts: frozenset[str]) -> Violations:
    """List places and refusals that the recipe has no rule for."""
    errors: Violations = []
    names = [kind.name.lower() for kind in RegionKind]
    expected = f"one of {', '.join(sorted(accepts))}: this recipe judges nothing else"
    for kind in RegionKind:
        if names[kind] not in accepts:
            hint = "; an option point_radius, where a recipe has one, gives points a reach"
            hint = hint if kind == RegionKind.POINT else ""
            for index in np.flatnonzero(targets.regions.kind == kind):
                errors.append(_region_error(targets, int(index), expected + hint))
    refused = np.flatnonzero(targets.refusal) if "refusal" not in accepts else ()
    return errors + [_error(targets, row, "refusal", True, expected) for row in refused]


def _error(targets: Targets, row: Any, field: str, came: Any, expected: str) -> tuple[int, TargetError]:
    return int(row), TargetError(targets.sample(int(row)), field, came, expected)


def _action_errors(targets: Targets, accepts: frozenset[str]) -> Violations:
    """List actions that a recipe of places would ignore: all but clicks, which a place alone stands for."""
    errors: Violations = []
    if "action" in accepts:
        return errors
    expected = f"a click on one of {', '.join(sorted(accepts - {'refusal'}))}: this recipe judges no other action"
    for row in map(int, np.flatnonzero(targets.acts)):
        target = targets.rows[row]
        names = [each.name for each in target.every_action()] if target else []
        other = next((name for name in names if not is_click(name)), names[0] if target and target.placeless else None)
        if other is not None:
            hint = "" if is_known(other) else near(other, CLICKS).rstrip(".")
            errors.append(_error(targets, row, "action", other, expected + hint))
    return errors


def _region_error(targets: Targets, index: int, expected: str) -> tuple[int, TargetError]:
    """Return the error about one place, with its numbers as they came."""
    row = int(targets.regions.row[index])
    target = targets.rows[row]
    place = index - int(np.searchsorted(targets.regions.row, row))
    came = MISSING if target is None else list(target.regions[place].numbers)
    return row, TargetError(targets.sample(row), RegionKind(targets.regions.kind[index]).name.lower(), came, expected)


def _circle_errors(targets: Targets) -> Violations:
    """List circles in spaces that distort them."""
    errors: Violations = []
    for index in np.flatnonzero(targets.regions.kind == RegionKind.CIRCLE):
        code = targets.space_codes[targets.regions.row[index]]
        if code != UNDECLARED and SPACES[code].extent is not None:
            expected = f"a pixel space; a circle in {SPACES[code]} is no circle"
            errors.append(_region_error(targets, int(index), expected))
    return errors


def _place_errors(targets: Targets) -> Violations:
    """List rows without their trajectory or step."""
    expected = "the trajectory's name and the number of the step in it: this recipe adds up trajectories"
    return [
        _error(targets, row, field, MISSING, expected)
        for row, target in enumerate(targets.rows)
        for field in ("step", "trajectory")
        if target and getattr(target, field) is None
    ]


def _own_errors(targets: Targets, checks: tuple[Check, ...]) -> Violations:
    """List rows that a verifier cannot judge."""
    rows = np.flatnonzero(targets.valid).tolist() if checks else []
    errors = [(row, check(targets.rows[row], targets.sample(row))) for row in rows for check in checks]
    return [(row, error) for row, error in errors if error]


def _space_errors(targets: Targets) -> Violations:
    row = targets.regions.row
    bare = sorted({*row[targets.space_codes[row] == UNDECLARED].tolist()})
    expected = f"one of {', '.join(CoordSpace)} (or the option target_space)"
    return [_error(targets, row, "space", MISSING, expected) for row in bare]


def _size_errors(targets: Targets, space: CoordSpace | None, needs: Requirements) -> Violations:
    """List rows whose size is unknown and needed; None for the space is of a recipe that needs no places: every row."""
    errors: Violations = []
    placed = np.full(len(targets), space is None, dtype=np.bool_)
    placed[targets.regions.row] = True
    placed[list(targets.with_ends)] = True  # an end is a place, too
    rows = targets.valid & placed & ((targets.space_codes == CODES[space]) if space else True)
    converting = sizes_needed(space, needs.response_space, into=needs.into)
    for field in needs.sizes(space):
        sizes = targets.image_sizes if field == "image_size" else targets.model_image_sizes
        brought = [f"responses in {needs.response_space}"] if needs.response_space not in (None, needs.into) else []
        brings = f"brings {', '.join([*brought, *([f'targets in {space}'] if space else [])])} into {needs.into}"
        why = brings if field in converting else "measures in shares of the screen"
        shares = space and needs.response_space and space.extent and needs.response_space.extent
        spared = f"; with the option target_space={space} it needs none" if shares and needs.follows_targets else ""
        expected = f"[width, height], because the recipe {why}{spared}"
        missing = np.flatnonzero(rows & np.isnan(sizes).any(axis=1))
        errors += [_error(targets, row, field, MISSING, expected) for row in missing]
    return errors


def _unusable_sizes(targets: Targets) -> Violations:
    """List rows whose size from outside cannot be an image's; sizes in targets are checked when read."""
    errors: Violations = []
    for field, sizes in (("image_size", targets.image_sizes), ("model_image_size", targets.model_image_sizes)):
        wrong = (sizes < 1) | (sizes > COORDINATE_LIMIT)
        expected = "[width, height], both finite and at least 1 pixel"
        rows = np.flatnonzero(targets.valid & wrong.any(axis=1)) if wrong.any() else ()
        errors += [_error(targets, row, field, sizes[row].tolist(), expected) for row in rows]
    return errors


def _range_errors(targets: Targets, space: CoordSpace) -> Violations:
    """List places that no click can reach, or that are surely written in another space."""
    regions = targets.regions
    mine = (targets.space_codes[regions.row] == CODES[space]) & targets.valid[regions.row]
    x1, y1, x2, y2 = regions.box.T
    width, height = extents(space, targets.image_sizes, targets.model_image_sizes)[regions.row].T
    with np.errstate(invalid="ignore"):
        # Windows hang over edges; a place that reaches a whole image beyond, or lies beside it, is in another space.
        far = (x1 < -width) | (y1 < -height) | (x2 > 2 * width) | (y2 > 2 * height)
        beside = (x2 < 0) | (y2 < 0) | (x1 > width) | (y1 > height)
    # A box below one pixel either way, all numbers of it as written within 0..1, is one in shares of the image.
    start, size = regions.box[:, :2], regions.box[:, 2:] - regions.box[:, :2]
    places = {None: regions.box, BoxFormat.XYWH: start, BoxFormat.CXCYWH: start + size / 2}
    declared = (regions.kind == RegionKind.BBOX) & ~np.isin(regions.row, list(targets.own_form))
    written = places.get(targets.box_format, regions.box)
    as_written, corners = (((each >= 0) & (each <= 1)).all(axis=1) for each in (written, regions.box))
    tiny = np.where(declared, as_written, corners) & ((size > 0) & (size < 1)).all(axis=1)
    errors: Violations = []
    boxes = "" if targets.box_format is None else f"; boxes were read as {targets.box_format}, see --box-format"
    for index in np.flatnonzero(mine & (far | beside)):
        unknown = np.isnan(width[index] + height[index])
        reach = "from 0" if unknown else f"within (or near) 0..{width[index]:g} by 0..{height[index]:g}"
        of_image = space in (CoordSpace.PIXEL, CoordSpace.MODEL_PIXEL) and not unknown
        sized = ", its image's [width, height]" if of_image else ""
        expected = (
            f"coordinates in {space} {reach}{sized}; name the right `space` in the target, or by the option "
            f"target_space{boxes}"
        )
        errors.append(_region_error(targets, int(index), expected))
    for index in np.flatnonzero(mine & tiny) if space != CoordSpace.UNIT else ():
        expected = (
            f"coordinates in {space}; these look like unit: name the `space`, or set the option target_space to unit "
            "(--target-space unit)"
        )
        errors.append(_region_error(targets, int(index), expected))
    return errors
