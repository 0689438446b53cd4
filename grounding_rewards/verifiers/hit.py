"""Does the click land on the target?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.columns import Rollouts
from grounding_rewards.spaces import Floats
from grounding_rewards.targets import Regions
from grounding_rewards.truth import RegionKind
from grounding_rewards.verifiers.base import NEEDS_NOTHING

PolygonRule = Literal["inclusive", "half_open"]


@dataclass(frozen=True)
class Hit:
    """1.0 where the predicted point lies in any of the target's places, else 0.0.

    bbox: x1 <= x <= x2 and y1 <= y <= y2. Circle: within the radius. Polygon: by ``polygon``. Point: at most
    ``point_radius`` away. No predicted point, or a refusal target: 0.0.

    Args:
        polygon: ``"inclusive"`` counts the border; ``"half_open"`` is the even-odd rule of published code (left and
            top edges in, right and bottom edges out).
        point_radius: reach around a target that is only a point, in units of the recipe's space; None where the
            recipe does not accept such targets.
        whole_edges: cut box edges to whole numbers first (300.9 counts as 300), as GTA1 and UI-Ins do.
        actions: action names whose coordinate counts; None takes any.
    """

    polygon: PolygonRule = "inclusive"
    point_radius: float | None = None
    whole_edges: bool = False
    actions: tuple[str, ...] | None = None

    low = 0.0
    high = 1.0
    needs = NEEDS_NOTHING

    def __call__(self, rollouts: Rollouts) -> Floats:
        hit = inside_regions(
            rollouts.predictions.xy, rollouts.targets.regions, self.polygon, self.point_radius, self.whole_edges
        )
        score = rollouts.targets.regions.best(hit.astype(np.float64), len(rollouts))
        if self.actions is None:
            return score
        clicks = [action in self.actions for action in rollouts.predictions.actions]
        return score * np.array(clicks, dtype=np.float64)


def inside_regions(
    xy: Floats,
    regions: Regions,
    polygon: PolygonRule = "inclusive",
    point_radius: float | None = None,
    whole_edges: bool = False,
) -> geometry.Bools:
    """Does each sample's point lie in each of its places? (n, 2) points to (m,) booleans."""
    points = xy[regions.row]
    inside = geometry.in_box(points, np.trunc(regions.box) if whole_edges else regions.box)
    if (regions.kind == RegionKind.BBOX).all():
        return inside
    rule = geometry.in_polygon if polygon == "inclusive" else geometry.in_polygon_half_open
    reach = np.where(regions.kind == RegionKind.CIRCLE, regions.radii.T, point_radius or np.nan).T
    with np.errstate(invalid="ignore"):
        within = geometry.in_ellipse(points, regions.point, reach)
    exact = (points == regions.point).all(axis=1) & (point_radius is not None)
    return np.select(
        [regions.kind == RegionKind.POLYGON, regions.kind == RegionKind.CIRCLE, regions.kind == RegionKind.POINT],
        [rule(points, regions.vertices, regions.offsets), within, within | exact],
        inside,
    )
