"""Why a response gets its reward: in words, in numbers and, in ``plot``, in pictures.

The room itself is called with a recipe, a response and its target:

>>> import grounding_rewards as gr
>>> print(gr.explain("gelato", "(900, 900)", [0.1, 0.1, 0.3, 0.2]))
recipe('gelato'): total 0 · acc 0 · OK
  an answer was read, and it does not lie outside the image
  0.6 right of it and 0.7 below it, 0.921954 away, in unit
  distance 0, times 1: InsideDistance(polygon='half_open')
  format 1, times 0: Format()
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from grounding_rewards.catalogue import recipe as named
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explaining import compare, explain
from grounding_rewards.explain.explanation import Compared, Explanation
from grounding_rewards.targets.box_format import as_box_format

__all__ = ["Case", "Compared", "Explanation", "compare", "explain"]


class Room(ModuleType):
    """This room, which explains a score when it is called."""

    def __call__(
        self,
        recipe: Any,
        response: str | None,
        target: Any = None,
        *,
        image_size: tuple[float, float] | None = None,
        model_image_size: tuple[float, float] | None = None,
        group: Sequence[str | None] = (),
        box_format: Any = None,
        **options: Any,
    ) -> Explanation:
        """Explain the score of one response.

        Args:
            recipe: a recipe, its name, or a dict of ``Recipe.to_dict``.
            response: the model's text.
            target: the right answer, in any form that the recipe reads.
            image_size: width and height of the original image, where the target does not say.
            model_image_size: the same of the image that the model saw.
            group: other responses to the same sample, where the recipe compares them.
            box_format: the way in which the target writes boxes, such as "xywh".
            **options: options of the recipe, such as ``response_space``.

        Returns:
            What was read, every conversion, every part with its formula, total, acc and reason.

        Raises:
            RecipeError: the recipe or an option does not fit, or something that it needs is missing.
        """
        rows = 1 + len(group)
        sizes, model_sizes = (size and (size,) * rows for size in (image_size, model_image_size))
        case = Case((response, *group), (target,) * rows, 0, sizes, model_sizes, (0,) * rows)
        return explain(named(recipe, **options), replace(case, box_format=as_box_format(box_format)))


room: Room = sys.modules[__name__]  # type: ignore[assignment]
room.__class__ = Room
