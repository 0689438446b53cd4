"""Second answers, to crops about the places of the first, as answers to the whole image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.axes import axes_named
from grounding_rewards.coords.crops import crops_about, from_crops
from grounding_rewards.coords.resizing import Size
from grounding_rewards.engines.images import Crop, in_threads
from grounding_rewards.engines.protocol import Answer, Reply, Request
from grounding_rewards.errors import GroundingRewardsError, RecipeError
from grounding_rewards.explain.plot.template import template
from grounding_rewards.parsing.responses import parse
from grounding_rewards.rollouts import CLICKED
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.image_files import Image

_AT_ONCE = 64
"""Crops that are held at one time, or as many as a shard has samples."""


@dataclass(eq=False)
class Zooming:
    """A response with what its crops need."""

    request: Request  # the request of this response alone
    image: Image  # the last image of the request
    size: Size  # its width and height, upright
    extent: Floats  # (1, 2) the same in the space of the responses
    answer: Answer  # the answer so far
    first: str | None  # the text of the first one
    steps: list[dict[str, Any]] = field(default_factory=list)  # the crops, and the answers to them
    place: Floats | None = None  # that of the answer so far, (1, 2) or (1, 4) shares of the image; None for none
    unwritten: bool = False  # True where a place could not be written into its answer

    def why_first(self, recipe: Recipe) -> str:
        """Return why a response was not asked again, or its last place does not count, beside having none; else ""."""
        if np.isnan(self.extent).any():
            return f"the size of the image in {recipe.response_space} is unknown; --pipeline says it"
        if self.unwritten:
            return f"no other place can be written into {self.steps[-1]['response']!r:.80}"
        return ""


def zoom(
    zoomings: Sequence[Zooming],
    ratios: Sequence[float],
    recipe: Recipe,
    cropped: Callable[[Image, Crop], bytes],
    ask: Callable[[list[Request]], list[Reply]],
    at_once: int,
) -> None:
    """Ask again on crops, a round for each ratio, and write the new places into the answers.

    The text of the last answer stays, but for the numbers of its place. An answer that has no place, or several, or
    moves from one to another, ends the rounds of its response, and the answer before it counts.
    """
    for each in zoomings:
        each.place = _place(recipe, each.answer.text, each.extent)
    step = max(_AT_ONCE, at_once)
    for ratio in ratios:
        going = [each for each in zoomings if each.place is not None]
        for start in range(0, len(going), step):
            part = going[start : start + step]
            requests = in_threads(partial(_request, ratio=ratio, cropped=cropped), part)
            asked = [each for each, request in zip(part, requests, strict=True) if request is not None]
            replies = ask([request for request in requests if request is not None]) if asked else []
            for each, reply in zip(asked, replies, strict=True):
                _take(each, reply.answers[0], recipe)


def _request(zooming: Zooming, ratio: float, cropped: Callable[[Image, Crop], bytes]) -> Request | None:
    """Return the request with the next crop; None where there is none, which is the answer's problem."""
    place, request = zooming.place, zooming.request
    if place is None:
        return None
    [crop] = crops_about((place[:, :2] + place[:, -2:]) / 2, ratio, np.array([zooming.size])).astype(int).tolist()
    zooming.steps.append({"crop": crop, "response": None})
    try:
        return replace(request, images=(*request.images[:-1], cropped(zooming.image, crop)))
    except GroundingRewardsError as error:
        zooming.answer, zooming.place = Answer(None, problem=str(error)), None
        return None


def _take(zooming: Zooming, answer: Answer, recipe: Recipe) -> None:
    """Take the answer to the last crop, with its place in the whole image."""
    crop, size, extent = zooming.steps[-1]["crop"], np.array([zooming.size]), zooming.extent
    zooming.steps[-1]["response"] = answer.text
    place, zooming.place = _place(recipe, answer.text, extent), None
    if answer.text is None:
        zooming.answer = answer
    elif place is not None:
        place = from_crops(place, np.array([crop]) / np.tile(size, 2), 1.0)
        text = _written(recipe, answer.text, place, extent)
        zooming.unwritten = text is None
        if text is not None:
            zooming.answer, zooming.place = replace(answer, text=text), place


def _place(recipe: Recipe, text: str | None, extent: Floats) -> Floats | None:
    """Return the one place of an answer, as shares of the image."""
    read = parse(
        recipe.ended([text]), recipe.dialect, space=recipe.response_space, answers=recipe.answers,
        thinking=recipe.thinking, action_names=recipe.action_names,
    )  # fmt: skip
    several = read.points is not None and len(read.points) > 1
    moves = read.arguments.to is not None and not np.isnan(read.arguments.to).any()
    place = axes_named(recipe.axes).read(read.xy if np.isnan(read.box).any() else read.box)
    shares: Floats = place / np.tile(extent, place.shape[1] // 2)
    one = read.reason[0] in CLICKED and not (several or moves or np.isnan(shares).any())
    return shares if one else None


def _written(recipe: Recipe, text: str, place: Floats, extent: Floats) -> str | None:
    """Return an answer with another place; None where its place cannot be exchanged."""
    try:
        written = template(recipe, recipe.ended([text])[0], (extent[0, 0].item(), extent[0, 1].item()), exact=True)
    except RecipeError:
        return None
    places = axes_named(recipe.axes).write(place * np.tile(extent, place.shape[1] // 2))
    return None if written is None else written.write(places)[0]
