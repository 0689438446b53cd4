"""Which deviations from a recipe's source apply to a response and its target, as far as that can be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explanation import Departure
from grounding_rewards.explain.facts import Extent
from grounding_rewards.explain.telling import in_source_form
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import MODEL_PIXEL, PIXEL

LONGEST = 4096
"""Characters of the responses of which deviations are told."""


def departures(recipe: Recipe, case: Case, known: Iterable[Extent]) -> tuple[Departure, ...]:
    """The deviations that apply to the row; none where its target is not written as the recipe's source has it.

    A deviation that asks for columns that are not there is left out. Of a long response nothing is said, because the
    patterns of sources, made for no hostile texts, may take more than proportionally long.
    """
    truth = in_source_form(recipe, case.target)
    if truth is None or len(case.response or "") > LONGEST:
        return ()
    line, found = _line(case.response, truth, known), []
    for deviation in recipe.deviations:
        try:
            applies = bool(deviation.applies(line))
        except Exception:  # the source's rows have more columns than there are here
            continue
        if applies:
            found.append(Departure(deviation.name, deviation.why))
    return tuple(found)


def _line(response: str | None, truth: Any, known: Iterable[Extent]) -> dict[str, Any]:
    """The row as the source's own code gets it: sizes under the names that sources give them."""
    extra: dict[str, Any] = {}
    if isinstance(truth, Mapping) and "solution" in truth:
        extra = {name: value for name, value in truth.items() if name != "solution"}
        truth = truth["solution"]
    sizes = {each.space: [each.width, each.height] for each in known}
    original, seen = sizes.get(PIXEL.value), sizes.get(MODEL_PIXEL.value)
    if original:
        extra |= {"image_size": original, "width": original[0], "height": original[1]}
        extra |= {"image_width": original[0], "image_height": original[1]}
    if seen:
        extra |= {"resized_width": seen[0], "resized_height": seen[1]}
    if original and seen:
        extra["scale"] = [original[0] / seen[0], original[1] / seen[1]]
    return {"response": response, "ground_truth": truth, "extra": extra}
