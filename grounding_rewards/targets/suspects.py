"""Suspect targets: a recipe can use them, but they look wrong. They are reported for a person to check, not refused.

Kinds are an **action** whose name neither the vocabulary nor the recipe knows; a **place** whose centre lies outside
its image, which no click can reach (one wholly beside it is a ``TargetError``); and a **box** without area as
x1 y1 x2 y2, where nothing declares how boxes are written. x2 < x1 or y2 < y1 cannot be read, and is always reported.
x2 = x1 or y2 = y1 may be a line on purpose: it is reported where no box of the same targets has its centre outside the
image as x y w h, and not in a recipe's own form; both at once are a point on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.actions import WRITTEN
from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.coords.spaces import CODES, SPACES, UNDECLARED, CoordSpace, extents
from grounding_rewards.errors import TargetError, near, short_repr
from grounding_rewards.targets.box_format import BoxFormat, how_to_say
from grounding_rewards.targets.target import RegionKind, Target
from grounding_rewards.wording import plural

if TYPE_CHECKING:
    from grounding_rewards.targets.columns import Targets
    from grounding_rewards.targets.requirements import Requirements

NAMED = 5
"""Largest number of unknown action names that are listed, the commonest first."""

_ROUNDING = 1e-9  # a place on the border may round beyond it when converted


@dataclass(frozen=True)
class SuspectTargets:
    """Some targets of one recipe that look wrong in the same way."""

    recipe: str  # the recipe's name; "" where it is not known
    code: str  # the kind: "unknown-action", "outside-image" or "box-format"
    count: int  # number of targets; 0 where there is nothing but what is ``against`` that of other targets
    row: int  # the first of them
    first: str  # that target's name, for messages
    evidence: str = ""  # what looks wrong with it
    request: str = ""  # how to fix it; of an unknown action ``known`` says more
    action: str = ""  # the unknown name: those of different names are apart
    known: tuple[str, ...] = field(default=(), repr=False)  # names of actions beside the vocabulary
    own_form: bool = False  # True for a first box in the recipe's own form
    certain: bool = False  # True where a box cannot be read as x1 y1 x2 y2
    against: int = 0  # number of boxes that cannot be x y w h
    others: int = 0  # number of unknown names that this stands for; 0 for its own

    @property
    def message(self) -> str:
        """The evidence, with the count and the first target."""
        if self.others:
            also = self.recipe and f", also to recipe {self.recipe}"
            return f"{self.others:,} further names of actions are unknown{also}, in {plural(self.count, 'target')}"
        return f"{plural(self.count, 'target')} (first: {self.first}): {self.evidence}"

    @property
    def fix(self) -> str:
        """The request to fix it; "" where those of the other names say enough."""
        if self.others or not self.action:
            return self.request
        hint = near(self.action, (*WRITTEN, *self.known)).removeprefix("; ")
        return f"{hint + ' Declare' if hint else 'declare'} names of your own: option action_names"

    def __str__(self) -> str:
        return f"{self.message}; {self.fix}" if self.fix else self.message


def suspect_targets(
    targets: Targets, recipe: Requirements | None, rows: int | None = None, *, partly: bool = False
) -> list[SuspectTargets]:
    """Find targets that look wrong, among those that the recipe can use.

    There is one entry for each unknown action name, and at most one for all places and one for all boxes. Of a part of
    targets (``partly``), whose entries will be ``merged``, one with a count of 0 says that its boxes clear the others'.
    """
    if recipe is not None and recipe.label_free:
        return []
    rows = len(targets.rows) if rows is None else rows
    return [*_actions(targets, recipe, rows), *_places(targets, recipe, rows), *_boxes(targets, recipe, rows, partly)]


def inverted_boxes(errors: Mapping[int, TargetError], recipe: Requirements | None) -> list[SuspectTargets]:
    """Return the boxes that cannot be read as x1 y1 x2 y2, among the errors of some rows."""
    boxes = {row: error for row, error in errors.items() if error.inverted}
    if not boxes:
        return []
    row, error = next(iter(boxes.items()))
    first = f"sample {error.sample!r}" if isinstance(error.sample, str) else f"row {row}"
    name = "" if recipe is None else recipe.name
    said = _no_area(f"{error.field} {short_repr(error.came)}", error.own_form)
    return [SuspectTargets(name, "box-format", len(boxes), row, first, certain=True, **said)]


def merged(several: Iterable[SuspectTargets]) -> list[SuspectTargets]:
    """Merge the suspect targets of several batches: counts add up, the first example stays."""
    known: dict[tuple[str, str, str], SuspectTargets] = {}
    for each in several:
        key = each.recipe, each.code, each.action
        if one := known.get(key):
            count, against = one.count + each.count, one.against + each.against
            each = replace(
                one if one.count else each, count=count, against=against, certain=one.certain or each.certain
            )
        known[key] = each
    return list(known.values())


def reported(several: Iterable[SuspectTargets]) -> list[SuspectTargets]:
    """Return what to report of several batches; unknown names beyond the ``NAMED`` commonest are one."""
    every = [each for each in merged(several) if each.count and (each.certain or not each.against)]
    names = sorted((each for each in every if each.action), key=lambda each: -each.count)
    if rest := names[NAMED:]:
        recipes = " or ".join(repr(name) for name in sorted({each.recipe for each in rest} - {""}))
        count = sum(each.count for each in rest)
        names[NAMED:] = [replace(rest[0], recipe=recipes, count=count, others=len(rest))]
    return names + [each for each in every if not each.action]


def described(several: Iterable[SuspectTargets]) -> list[str]:
    """Return one line for each of ``reported``."""
    return list(map(str, reported(several)))


_KNOWN = frozenset(WRITTEN)


def _actions(targets: Targets, recipe: Requirements | None, first_rows: int) -> list[SuspectTargets]:
    """Return one entry for each name of an action that neither the vocabulary nor the recipe knows."""
    if not targets.has_actions_or_refusals or (recipe is not None and "action" not in recipe.accepts):
        return []
    known = () if recipe is None else recipe.action_names
    names = targets.alternatives.names.tolist()
    unknown = {name for name in set(names) if name and _KNOWN.isdisjoint((name, name.lower()))} - set(known)
    if not unknown:
        return []
    rows: dict[str, dict[int, None]] = {}  # the rows of each name, once each and in order
    for row, name in zip(targets.alternatives.row.tolist(), names, strict=True):
        if name in unknown and row < first_rows and row not in targets.errors:
            rows.setdefault(name, {})[row] = None
    nor_recipe = f", nor one of recipe {recipe.name!r}" if recipe is not None else ""
    return [
        _entry(
            targets, recipe, "unknown-action", list(own), action=name, known=known,
            evidence=f"action {name!r:.80} is no known name{nor_recipe}",
        )
        for name, own in rows.items()
    ]  # fmt: skip


def _places(targets: Targets, recipe: Requirements | None, first_rows: int) -> list[SuspectTargets]:
    """Return one entry for all places whose centre lies outside their image."""
    regions = targets.regions
    if targets.in_image or not len(regions.row):
        return []
    with np.errstate(invalid="ignore"):
        beyond = (regions.centre < 0) | (regions.centre > _reach(targets) * (1.0 + _ROUNDING))
    if not beyond.any():
        return []
    outside = np.flatnonzero(beyond.any(axis=1) & (regions.row < first_rows)).tolist()
    wrong = [index for index in outside if int(regions.row[index]) not in targets.errors]
    if not wrong:
        return []
    rows = list(dict.fromkeys(regions.row[wrong].tolist()))  # each target once, in order
    place = wrong[0] - int(np.searchsorted(regions.row, rows[0]))
    read = f"; boxes were read as {targets.box_format}" if targets.box_format else ""
    return [
        _entry(
            targets, recipe, "outside-image", rows, evidence=_beside_image(targets, rows[0], place),
            request=f"check the space and the size of the image, or leave the target out{read}",
        )
    ]  # fmt: skip


def _boxes(targets: Targets, recipe: Requirements | None, first_rows: int, partly: bool) -> list[SuspectTargets]:
    """Return one entry for all boxes that cannot be what they are read as, or that clear those of other parts."""
    declared, regions = targets.box_format, targets.regions
    if declared is BoxFormat.XYXY:
        return []
    unusable = [row for row in targets.errors if row < first_rows]
    inverted = inverted_boxes({row: targets.errors[row] for row in unusable}, recipe) if declared is None else []
    if declared is None and not partly and not targets.flat:  # mostly so
        return inverted
    left, top, right, bottom = regions.box.T
    flat = ((left == right) ^ (top == bottom)) & (right > 0) & (bottom > 0)
    usable = (regions.kind == RegionKind.BBOX) & (regions.row < first_rows) & ~np.isin(regions.row, unusable)
    own = np.isin(regions.row, list(targets.own_form))
    if declared is not None:
        wrong = usable & own
        return [_box(targets, recipe, wrong)] if wrong.any() else []
    with np.errstate(invalid="ignore"):
        centre = regions.box[:, :2] + regions.box[:, 2:] / 2  # as x y w h
        beyond = usable & (centre > _reach(targets) * (1.0 + _ROUNDING)).any(axis=1)
    wrong, against = usable & flat & ~own, int(beyond.sum())
    if wrong.any():
        suspects = [*inverted, _box(targets, recipe, wrong, against=against)]
        return [each for each in merged(suspects) if partly or each.certain or not against]
    return [
        *inverted,
        *([replace(_box(targets, recipe, beyond, against=against), count=0)] if against and partly else []),
    ]


def _box(targets: Targets, recipe: Requirements | None, which: Any, against: int = 0) -> SuspectTargets:
    """Return the entry of some boxes, the first of them as written."""
    rows = list(dict.fromkeys(targets.regions.row[which].tolist()))
    place = int(np.flatnonzero(which)[0]) - int(np.searchsorted(targets.regions.row, rows[0]))
    target = targets.rows[rows[0]]
    assert target is not None  # it has boxes
    box = f"bbox {list(target.regions[place].numbers)}"
    said = _no_area(box, rows[0] in targets.own_form)
    if targets.box_format is not None:
        said["evidence"] = f"{box} is in the recipe's own form, which ignores the box format {targets.box_format}"
        said["request"] = 'write it as {"bbox": [...]}, or leave the box format out'
    return _entry(targets, recipe, "box-format", rows, against=against, **said)


def _no_area(box: str, own_form: bool) -> dict[str, Any]:
    request = f"if boxes are x y w h: {how_to_say(own_form=own_form)}"
    return {"evidence": f"{box} has no area as x1 y1 x2 y2", "request": request, "own_form": own_form}


def _beside_image(targets: Targets, row: int, place: int) -> str:
    """Return the evidence of a place of a row whose centre lies outside its image, in the target's own space."""
    target = targets.rows[row]
    assert target is not None  # it has places
    region, space = target.regions[place], SPACES[targets.space_codes[row]]
    width, height = extents(space, targets.image_sizes, targets.model_image_sizes)[row].tolist()
    # A width of NaN is an unknown size: then the place can only lie beyond the left or the upper border.
    reach = "left of it or above it" if width != width else f"0..{width:g} by 0..{height:g}"
    written = f"{region.kind.name.lower()} {list(region.numbers)}"
    return f"the centre of {written} lies outside its image ({reach}, in {space})"


def _reach(targets: Targets) -> Floats:
    """Return (m, 2) width and height of each place's image, in the place's space; NaN where unknown."""
    sizes, each = (targets.image_sizes, targets.model_image_sizes), targets.regions.each
    codes = each(targets.space_codes)
    spaces = [SPACES[code] for code in set(codes.tolist()) - {UNDECLARED}]
    if len(spaces) == len(targets.spaces) == 1:  # mostly so
        return each(extents(spaces[0], *sizes))
    reach = nowhere(len(codes), 2)
    for space in spaces:
        reach = np.where((codes == CODES[space])[:, None], each(extents(space, *sizes)), reach)
    return reach


def _entry(targets: Targets, recipe: Requirements | None, code: str, rows: list[int], **what: Any) -> SuspectTargets:
    """Return the entry of these rows; ``what`` are its further fields."""
    sample = targets.sample(rows[0])
    first = f"row {sample}" if isinstance(sample, int) else f"sample {sample!r}"
    return SuspectTargets("" if recipe is None else recipe.name, code, len(rows), rows[0], first, **what)


def untrainable(target: Target, size: tuple[float, float] | None) -> str:
    """Return why places of a target train nothing, in an image of this size, if known; "" where they do."""
    width, height = (side * (1.0 + _ROUNDING) for side in reach_of(target, size) or (math.inf, math.inf))
    for region in target.regions:
        if region.kind in (RegionKind.BBOX, RegionKind.POINT):
            x1, y1, x2, y2 = (*region.numbers, *region.numbers)[:4]
            if region.kind is RegionKind.BBOX and (x1 == x2 or y1 == y2):
                return "empty"
            if min(x1, y1) < 0 or x2 > width or y2 > height:
                return "outside the image"
    return ""


def reach_of(target: Target, size: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return width and height of an image of this size in a target's space; None where they are not known."""
    space = target.space
    if space is None or space.extent is None:
        return size if space is CoordSpace.PIXEL else None
    return space.extent, space.extent
