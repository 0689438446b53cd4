"""What counts as right, as columns: one row a sample, its places as one ragged table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.spaces import CODES, SPACES, UNDECLARED, CoordSpace, Floats, as_space, convert
from grounding_rewards.target_checks import unusable
from grounding_rewards.truth import NativeForm, Region, RegionKind, Target
from grounding_rewards.wire import read_target

BadTarget = Literal["raise", "abstain"]


@dataclass(frozen=True, eq=False)
class Regions:
    """The places of all samples, m rows in sample order.

    Attributes:
        row: (m,) the sample that each place belongs to, ascending.
        kind: (m,) ``RegionKind``.
        box: (m, 4) x1 y1 x2 y2: the box itself, the bounding box of a polygon or circle, or a point twice.
        point: (m, 2) the marked point: a point target, a circle's centre, the point beside a bbox; else NaN.
        radii: (m, 2) a circle's radius along x and y (they differ after a resize that distorts); else NaN.
        vertices: (k, 2) the corners of all polygons, one after the other.
        offsets: (m + 1,) where each place's corners start and end in ``vertices``.
    """

    row: NDArray[np.int64]
    kind: NDArray[np.int8]
    box: Floats
    point: Floats
    radii: Floats
    vertices: Floats
    offsets: NDArray[np.int64]

    @property
    def centre(self) -> Floats:
        """(m, 2) centre of each box or bounding box."""
        return (self.box[:, :2] + self.box[:, 2:]) / 2

    def best(self, scores: Floats, rows: int) -> Floats:
        """The best place's score of each sample: (m,) to (n,), 0.0 for a sample without a place."""
        if len(scores) == rows and bool((self.row == np.arange(rows)).all()):
            return scores
        best = np.full(rows, -np.inf)
        np.maximum.at(best, self.row, scores)
        return np.where(np.isneginf(best), 0.0, best)


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of n samples, read once and scored any number of times.

    Attributes:
        regions: every sample's places.
        refusal: (n,) True where nothing on the screen fits.
        acts: (n,) True where the target names an action (``rows`` has it).
        image_sizes: (n, 2) width and height of the original image; NaN where the target does not say.
        model_image_sizes: (n, 2) the same of the image that the model saw.
        valid: (n,) False where the target could not be read or used (``bad_target="abstain"``).
        errors: why, by row, in order.
        rows: the targets as read, None where unreadable.
    """

    regions: Regions
    refusal: NDArray[np.bool_]
    acts: NDArray[np.bool_]
    image_sizes: Floats
    model_image_sizes: Floats
    valid: NDArray[np.bool_]
    errors: Mapping[int, TargetError]
    rows: tuple[Target | None, ...]
    space_codes: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.refusal)

    @classmethod
    def from_list(
        cls,
        items: Iterable[Any],
        *,
        native: NativeForm | None = None,
        space: CoordSpace | str | None = None,
        bad_target: BadTarget = "raise",
    ) -> Targets:
        """Read targets.

        Args:
            items: n targets, each a mapping, a JSON string, or a bare value in the ``native`` form.
            native: a recipe's own form (``Recipe.native``), tried first.
            space: the space of targets that do not name one; None leaves that to the recipe.
            bad_target: ``"raise"``, or ``"abstain"`` to keep unreadable rows as invalid.

        Raises:
            TargetError: a target cannot be read and ``bad_target`` is ``"raise"``.

        >>> targets = Targets.from_list([{"bbox": [0, 0, 10, 20]}, {"refusal": True}])
        >>> targets.regions.box, targets.refusal
        (array([[ 0.,  0., 10., 20.]]), array([False,  True]))
        """
        declared = None if space is None else as_space(space)
        _check_choice(bad_target)
        if isinstance(items, str | Mapping):
            raise TypeError(
                f"targets: got one {type(items).__name__}; expected a list with one target for each response"
            )
        rows: list[Target | None] = []
        errors: dict[int, TargetError] = {}
        for index, item in enumerate(items):
            try:
                target = read_target(item, row=index, native=native)
                rows.append(target if target.space or declared is None else replace(target, space=declared))
            except TargetError as error:
                if bad_target == "raise":
                    raise
                errors[index] = error
                rows.append(None)
        return cls(
            regions=_regions(rows),
            refusal=np.array([bool(row and row.refusal) for row in rows], dtype=np.bool_),
            acts=np.array([bool(row and row.action) for row in rows], dtype=np.bool_),
            image_sizes=_sizes([row.image_size if row else None for row in rows]),
            model_image_sizes=_sizes([row.model_image_size if row else None for row in rows]),
            valid=np.array([row is not None for row in rows], dtype=np.bool_),
            errors=errors,
            rows=tuple(rows),
            space_codes=np.array(
                [CODES[row.space] if row and row.space else UNDECLARED for row in rows], dtype=np.int8
            ),
        )

    def sample(self, row: int) -> str | int:
        """How errors name a row: the target's id, else the row number."""
        target = self.rows[row]
        return row if target is None or target.id is None else str(target.id)

    def prepare(
        self,
        into: CoordSpace,
        *,
        default: CoordSpace | None,
        response_space: CoordSpace | None,
        accepts: frozenset[str],
        image_sizes: Floats | None = None,
        model_image_sizes: Floats | None = None,
        bad_target: BadTarget = "raise",
    ) -> Targets:
        """Bring all places into one space, checking what a recipe needs of them.

        Args:
            into: the space in which the recipe's formula works.
            default: the space of rows that did not name one.
            response_space: the space of the responses; sizes needed to convert them are demanded here too.
            accepts: the kinds of target that the recipe can judge.
            image_sizes: (n, 2) sizes from outside; they go before the targets' own.
            model_image_sizes: (n, 2) the same for the images that the model saw.
            bad_target: what to do with a row that lacks something, or that could not be read before.

        Raises:
            TargetError: a row lacks a size or a space, lies far outside its image, or is of a kind not accepted.
        """
        _check_choice(bad_target)
        codes = self.space_codes
        if default is not None:
            codes = np.where(codes == UNDECLARED, np.int8(CODES[default]), codes)
        ready = replace(
            self,
            space_codes=codes,
            image_sizes=_override(self.image_sizes, image_sizes),
            model_image_sizes=_override(self.model_image_sizes, model_image_sizes),
        )
        ready = ready._checked(into, response_space, accepts, bad_target)
        return ready._converted(into)

    def _checked(
        self, into: CoordSpace, response_space: CoordSpace | None, accepts: frozenset[str], bad_target: BadTarget
    ) -> Targets:
        found = unusable(self, into, response_space, accepts)
        errors = dict(sorted({**found, **self.errors}.items()))
        if errors and bad_target == "raise":
            raise next(iter(errors.values()))
        if not found:
            return self
        valid = self.valid.copy()
        valid[list(errors)] = False
        sizes = [np.where(valid[:, None], sizes, np.nan) for sizes in (self.image_sizes, self.model_image_sizes)]
        return replace(self, valid=valid, errors=errors, image_sizes=sizes[0], model_image_sizes=sizes[1])

    def _converted(self, into: CoordSpace) -> Targets:
        regions = self.regions
        codes = self.space_codes[regions.row]
        for code in np.unique(codes):
            if code != UNDECLARED and SPACES[code] != into:
                regions = _convert_regions(regions, codes == code, SPACES[code], into, self)
        return replace(self, regions=regions, space_codes=np.full(len(self), CODES[into], dtype=np.int8))


def _check_choice(bad_target: str) -> None:
    if bad_target not in get_args(BadTarget):
        raise RecipeError(f"bad_target: got {bad_target!r}; expected one of {', '.join(get_args(BadTarget))}")


def _override(own: Floats, given: Floats | None) -> Floats:
    return own if given is None else np.where(np.isnan(given), own, given)


def _sizes(sizes: Sequence[tuple[float, float] | None]) -> Floats:
    return np.array([size or (np.nan, np.nan) for size in sizes], dtype=np.float64).reshape(-1, 2)


def _regions(rows: Sequence[Target | None]) -> Regions:
    pairs = [(row, region) for row, target in enumerate(rows) if target for region in target.regions]
    nan = (np.nan, np.nan)
    corners = [region.numbers if region.kind == RegionKind.POLYGON else () for _, region in pairs]
    return Regions(
        row=np.array([row for row, _ in pairs], dtype=np.int64),
        kind=np.array([region.kind for _, region in pairs], dtype=np.int8),
        box=np.array([_bounding_box(region) for _, region in pairs], dtype=np.float64).reshape(-1, 4),
        point=np.array([_marked_point(region) or nan for _, region in pairs], dtype=np.float64).reshape(-1, 2),
        radii=np.array([_radii(region) or nan for _, region in pairs], dtype=np.float64).reshape(-1, 2),
        vertices=np.array([number for flat in corners for number in flat], dtype=np.float64).reshape(-1, 2),
        offsets=np.cumsum([0, *(len(flat) // 2 for flat in corners)], dtype=np.int64),
    )


def _bounding_box(region: Region) -> tuple[float, ...]:
    numbers = region.numbers
    if region.kind == RegionKind.BBOX:
        return numbers
    if region.kind == RegionKind.POINT:
        return numbers + numbers
    if region.kind == RegionKind.CIRCLE:
        x, y, r = numbers
        return (x - r, y - r, x + r, y + r)
    return (min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2]))


def _marked_point(region: Region) -> tuple[float, ...] | None:
    return region.numbers[:2] if region.kind in (RegionKind.POINT, RegionKind.CIRCLE) else region.point


def _radii(region: Region) -> tuple[float, float] | None:
    return (region.numbers[2], region.numbers[2]) if region.kind == RegionKind.CIRCLE else None


def _convert_regions(
    regions: Regions, chosen: NDArray[np.bool_], source: CoordSpace, into: CoordSpace, targets: Targets
) -> Regions:
    """Convert the chosen places; the others are in another space and have their own turn."""
    sizes = targets.image_sizes[regions.row], targets.model_image_sizes[regions.row]
    owner = np.repeat(np.arange(len(regions.row)), np.diff(regions.offsets))
    vertex_sizes = sizes[0][owner], sizes[1][owner]

    def moved(values: Floats, mask: NDArray[np.bool_], sizes: tuple[Floats, Floats]) -> Floats:
        return np.where(mask[:, None], convert(values, source, into, *sizes), values)

    return replace(
        regions,
        box=moved(regions.box, chosen, sizes),
        point=moved(regions.point, chosen, sizes),
        radii=moved(regions.radii, chosen, sizes),
        vertices=moved(regions.vertices, chosen[owner], vertex_sizes),
    )
