"""Type of the action."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import Objects, canonical
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import CLICKED, Predictions, Reason, Rollouts
from grounding_rewards.verifiers.terms import Mask, OfAlternatives

Names = Literal["vocabulary", "written", "lower", "contained"]

# A table by code: looking up n rows is quicker than comparing each with several codes.
_ACTED = np.isin(np.arange(len(Reason)), [*CLICKED, Reason.UNKNOWN_ACTION])


@dataclass(frozen=True)
class ActionType(OfAlternatives):
    """1.0 where the action is of the target's kind, wherever it goes and whatever it says, else 0.0.

    A place without an action is a click, on both sides. No answer, a refusal, or a refusal target: 0.0. Of several
    alternatives any will do.

    Args:
        names: how names are compared. ``"vocabulary"``: equal once both are words of ``actions.ACTIONS``, for dialects
            that share the vocabulary (from others, names are looked up, but a swipe does not become a scroll).
            ``"written"``: equal. ``"lower"``: equal when lower-cased. ``"contained"``: the target's name is part of the
            response's, as in code that scores ``notclick`` for ``click``.

    Raises:
        RecipeError: the option does not fit.
    """

    names: Names = "vocabulary"

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        predictions, alternatives = rollouts.predictions, rollouts.targets.alternatives
        actions, wanted = predictions.actions, alternatives.names
        if self.names == "vocabulary":
            actions, wanted = in_vocabulary(predictions), alternatives.canonical.names
        if self.names == "lower":
            actions, wanted = lowered(actions), lowered(wanted)
        same = same_names(alternatives.each(actions), wanted, self.names == "contained")
        score: Floats = (same & alternatives.each(acted(predictions))).astype(np.float64)
        return score


def acted(predictions: Predictions) -> NDArray[np.bool_]:
    """Return (n,) True where an action was read: neither a refusal nor nothing."""
    did: NDArray[np.bool_] = _ACTED[predictions.reason]
    return did


def in_vocabulary(predictions: Predictions) -> NDArray[np.object_]:
    """Return (n,) the actions in the words of ``actions.ACTIONS``; a place without one is ``click``."""
    names = predictions.actions.tolist()
    known = {name: canonical(name) for name in set(names)}
    words = np.array([known[name] for name in names], dtype=np.object_)
    if "" in known:
        words[(predictions.actions == "") & ~np.isnan(predictions.xy[:, 0])] = "click"
    return words


def same_names(names: Objects, wanted: Objects | str, contained: bool = False) -> NDArray[np.bool_]:
    """Compare names row by row, or each with one: (k,) True where they are equal, or what is wanted is contained."""
    if contained:
        rights = repeat(wanted) if isinstance(wanted, str) else wanted.tolist()
        # strict=False, because repeat() has no end.
        return np.array([right in name for name, right in zip(names.tolist(), rights, strict=False)], dtype=np.bool_)
    same: NDArray[np.bool_] = names == wanted
    return same


def lowered(names: Objects) -> Objects:
    """Return the names in lower case; each that occurs is changed once."""
    listed = names.tolist()
    lower = {name: name.lower() for name in set(listed)}
    column = np.empty(len(listed), dtype=np.object_)
    column[:] = [lower[name] for name in listed]
    return column
