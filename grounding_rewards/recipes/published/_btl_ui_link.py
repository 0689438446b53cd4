"""BTL-UI's last step: the action, right by its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.actions import Objects, canonical
from grounding_rewards.arrays import Floats
from grounding_rewards.parsing.readers import POINT_KEY
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.verifiers.hit import inside_regions, screens
from grounding_rewards.verifiers.options import Length, Share
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, Term
from grounding_rewards.verifiers.text import token_f1

_TAP, _LONG_PRESS, _SWIPE, _TYPE, _HOME, _BACK = _NAMES = "Tap", "LongPress", "Swipe", "Type", "Home", "Back"
_FUNCTIONS = {
    "": _TAP, "click": _TAP, "long_press": _LONG_PRESS, "swipe": _SWIPE, "type": _TYPE, "home": _HOME, "back": _BACK,
}  # fmt: skip
_PRESSES = (_TAP, _LONG_PRESS)


@dataclass(frozen=True)
class LinkMatch(Term):
    """1.0 where the response does what the target asks for, else 0.0; names of actions are compared as written.

    A bare point: in the target's box. ``Tap`` and ``LongPress``: in the box and, of the point that the target marks, if
    it marks one, less than ``share`` of the screen away, ||(dx / width, dy / height)||. ``Swipe``: the same direction.
    ``Type``: an F1 of the words (``token_f1``) of at least ``words``. ``Home`` and ``Back``: all that is said. Other
    actions are never right. The border of a box is outside, and a place without a box holds nothing. A target in the
    wire form may also use the names of the shared vocabulary, and a place alone there asks for a tap; a bare point of
    BTL-UI's own rows asks for a bare point. Of several alternatives the best.

    Args:
        share: how far a tap may be from the marked point.
        words: the F1 from which on a text is right.

    Raises:
        TargetError: the recipe works in a pixel space, and the image size of a target that marks a point is unknown.

    Source: BTL-UI 3ad21ff, ``recipe/btl-ui/reward_fn.py``.
    """

    share: Length = 0.14
    words: Share = 0.5

    needs = NEEDS_SCREEN

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives, predictions = rollouts.targets.alternatives, rollouts.predictions
        actions = alternatives.each(predictions.actions).tolist()
        wanted, place = _functions(alternatives), self._places(rollouts).tolist()
        # A bare point need only be in the box, that of an action near the marked one, too.
        right = [at > 0 if not action else at > 1 for action, at in zip(actions, place, strict=True)]
        for row, (action, name) in enumerate(zip(actions, wanted, strict=True)):
            if action and (action != name or name not in _PRESSES):
                right[row] = action == name and self._says(rollouts, row, name)
        return alternatives.best(np.array(right, dtype=np.float64), len(rollouts))

    def _places(self, rollouts: Rollouts) -> Floats:
        """Return 1 where the point is in the box, 2 where it is near the point marked there as well: (k,)."""
        regions = rollouts.targets.regions
        inside = inside_regions(rollouts.predictions.xy, regions, border="strict")
        if regions.shapes is None or not inside.any():
            return rollouts.targets.alternatives.place_scores(inside * 2.0)
        marked = ~np.isnan(regions.point[:, 0])
        away = (regions.each(rollouts.predictions.xy) - regions.point) / screens(rollouts, "LinkMatch", marked)
        near = (geometry.lengths(away) < self.share) | ~marked
        return rollouts.targets.alternatives.place_scores(inside * (1.0 + near))

    def _says(self, rollouts: Rollouts, row: int, name: str) -> bool:
        """Return whether an action without a place says the right thing for an alternative."""
        alternatives, arguments = rollouts.targets.alternatives, rollouts.predictions.arguments
        sample, asked = alternatives.row[row], alternatives.arguments
        if name == _SWIPE:
            written, wanted = _value(arguments.direction, sample), _value(asked.direction, row)
            return written is not None and written == wanted
        if name == _TYPE:
            written, wanted = _value(arguments.text, sample), _value(asked.text, row)
            return written is not None and wanted is not None and token_f1(written, wanted) >= self.words
        return name in (_HOME, _BACK) and _whole(rollouts, sample) == (_source(alternatives, row) or {"function": name})


def _functions(alternatives: Alternatives) -> list[str]:
    """Return BTL-UI's name of each alternative's action; "" for a bare point of its own rows, which asks for none."""
    names = [_function(name) for name in alternatives.names.tolist()]
    return ["" if _source(alternatives, row, {}) is None else name for row, name in enumerate(names)]


def _source(alternatives: Alternatives, row: int, otherwise: Any = None) -> Any:
    """The action of one of BTL-UI's own rows, as it is there."""
    raw = _value(alternatives.arguments.raw, row)
    return raw.get("Action", otherwise) if isinstance(raw, dict) else otherwise


def _whole(rollouts: Rollouts, row: int) -> dict[str, Any]:
    """A response's action with all that it says."""
    predictions = rollouts.predictions
    arguments = predictions.arguments
    raw = _value(arguments.raw, row)
    if isinstance(raw, dict):
        return raw
    place = predictions.xy[row].tolist()
    fields = {"text": _value(arguments.text, row), "direction": _value(arguments.direction, row)}
    fields[POINT_KEY] = None if place[0] != place[0] else place
    return {"function": predictions.actions[row], **{key: field for key, field in fields.items() if field is not None}}


def _function(name: str) -> str:
    """Return BTL-UI's name of an action."""
    return name if name in _NAMES else _FUNCTIONS.get(canonical(name), name)


def _value(column: Objects | None, row: int) -> Any:
    return None if column is None else column[row]


@dataclass(frozen=True)
class OwnAction(Term):
    """1.0 where the response names an action, or its bare point lies in a box that is to be tapped, else 0.0.

    The border of a box is outside.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        named = np.asarray(rollouts.predictions.actions != "", dtype=np.float64)
        if named.all():
            return named
        alternatives = rollouts.targets.alternatives
        tapped = np.array([_function(name) == _TAP for name in alternatives.names.tolist()], dtype=np.bool_)
        inside = inside_regions(rollouts.predictions.xy, rollouts.targets.regions, border="strict")
        bare = alternatives.best(alternatives.place_scores(inside) * tapped, len(rollouts))
        return np.maximum(named, bare)
