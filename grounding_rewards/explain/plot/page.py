"""An explanation as a page: the response, its scores, and the reward over the screen by one recipe or several."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.errors import GroundingRewardsError, PictureError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explaining import explain
from grounding_rewards.explain.explanation import Explanation, Term
from grounding_rewards.explain.plot.picture import Picture, RewardMap, Scene, part_of, picture
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.reporting import Advance
from grounding_rewards.viewer.blocks import Block, facts, mark, screen, section, shape, table, view
from grounding_rewards.viewer.page import picture as embedded
from grounding_rewards.viewer.page import write_page
from grounding_rewards.wording import number


def draw(
    recipes: Sequence[Recipe],
    case: Case,
    out: Path,
    image: NDArray[Any] | None = None,
    advance: Advance = lambda done: None,
) -> list[str]:
    """Write a page of a case: its explanation by the first recipe, and each recipe's reward over the screen."""
    drawn, failed = list[Picture](), list[tuple[str, GroundingRewardsError]]()
    for place, recipe in enumerate(recipes):
        try:
            shown = picture(recipe, case, advance=part_of(advance, place, len(recipes)))
            if image is not None and not shown.scene.known:
                raise PictureError(
                    f"{shown.name}: a screenshot cannot be drawn below places in {shown.scene.space.value} while that "
                    f"image's size is unknown; give the target's {shown.scene.space.size_field}"
                )
            drawn.append(shown)
        except GroundingRewardsError as error:
            failed.append((recipe.name, error))  # of several recipes the others are still worth a page
    if not drawn and failed:
        raise failed[0][1]
    write_page(out, page_of(explain(recipes[0], case), drawn, case, image))
    return [f"{name} is left out of the picture: {error}" for name, error in failed]


def scale(pictures: Sequence[Picture]) -> tuple[float, float]:
    """Return the ends of the colour scale: the lowest and the highest total of all maps and answers.

    Where all totals are one: that, and the highest or else the lowest total that a recipe can have.
    """
    views = [view for each in pictures for view in each.views]
    totals = [total for view in views for total in (view.total.min(), view.total.max())]
    totals += [each.total for each in pictures]
    low, high = float(min(totals)), float(max(totals))
    if low == high and (most := max(view.high for view in views)) > low:
        high = most
    elif low == high:
        low = min(view.low for view in views)
    return (low, high) if high > low else (low, low + 1.0)  # a scale needs two ends


def page_of(why: Explanation, pictures: Sequence[Picture], case: Case, image: NDArray[Any] | None = None) -> Block:
    """Return the data of a page."""
    bounds, url = scale(pictures), None if image is None else embedded(image)
    answered = {each.views[0].answered for each in pictures}
    answers = "an answer" if len(answered) > 1 else answered.pop()  # clicks for one recipe, boxes for another
    lead = f"The total that {answers} gets at each place, read from the same text; point at a place to read it."
    blocks = [_screen(each, bounds, answers, url) for each in pictures]
    return {
        "title": f"Why {why.name} scores this response so", "made_by": "grounding-rewards explain",
        "sections": [
            section("answer", "The response and its score", "", list(_scores(why, case))),
            section("reward", "Reward over the screen", lead, blocks),
        ],
    }  # fmt: skip


def _scores(why: Explanation, case: Case) -> Iterator[Block]:
    total, acc = ("not scored" if score is None else number(score) for score in (why.total, why.acc))
    target = case.target if isinstance(case.target, str) else json.dumps(case.target, ensure_ascii=False, default=repr)
    yield facts([
        ("response", why.response or "(no text)"),
        ("reason", f"{why.reason}: {why.error or why.read.meaning}"),
        ("total", total),
        ("acc", acc),
        ("the answer is", "" if why.position is None else why.position.words),
        ("target", target),
        ("recipe", why.recipe),
        ("formula", why.formula),
    ])  # fmt: skip
    if why.reward is not None and why.reward.parts:
        heads = ["part", "score", "adds", "enters", "made by"]
        rows = [
            [part.name, number(part.score), "" if part.contribution is None else number(part.contribution), part.enters,
             part.made_by]
            for part in _parts(why.reward)
        ]  # fmt: skip
        yield table("Parts of the total", heads, rows)


def _parts(term: Term) -> Iterator[Term]:
    for part in term.parts:
        yield part
        yield from _parts(part)


def _screen(shown: Picture, bounds: tuple[float, float], answers: str, url: str | None) -> Block:
    first, scene = shown.views[0], shown.scene
    size = np.array([scene.width, scene.height])
    views = [view(f"{place}: a closer view" if place else "", np.array(each.window) / np.tile(size, 2), each.total)
             for place, each in enumerate(shown.views)]  # fmt: skip
    marks = [mark("point", point / size, "target") for each in scene.outlines if len(each) == 1 for point in each]
    marks += [mark("point", point / size, "point of the target") for point in scene.marks if not np.isnan(point).any()]
    marks += [mark("other", point / size, "another answer of the group") for point in scene.others]
    outlines = [shape("target", corners / size) for corners in scene.outlines if len(corners) > 1]
    if scene.consensus is not None:
        outlines.append(shape("agreed", scene.consensus / size))
    if scene.answer is not None and scene.visible:
        if len(scene.answer) == 4:
            x1, y1, x2, y2 = scene.answer
            outlines.append(shape("answer", np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]]) / size))
        else:
            marks.append(mark("answer", scene.answer / size, f"the answer: {shown.verdict}"))
    return screen(
        f"{shown.name}: {shown.verdict}", f"Totals of {shown.name} over the screen, with target and answer",
        (scene.width, scene.height), views, outlines, marks, _NAMES, image=url,
        scale=(*bounds, f"total for {answers} there"), notes=list(_notes(first, scene, shown.views)), beside=True,
    )  # fmt: skip


_NAMES = {
    "target": "target", "point": "point of the target", "agreed": "agreed on by the group", "answer": "the answer",
    "other": "other answers of the group",
}  # fmt: skip


def _notes(first: RewardMap, scene: Scene, views: Sequence[RewardMap]) -> Iterator[str]:
    yield f"The recipe's totals lie between {number(first.low)} and {number(first.high)}."
    if not scene.visible:
        yield "The answer lies outside of the picture."
    if first.exemplary:
        yield "The response answers with no place: the map is of the recipe's own example."
    if not scene.known:
        yield "The size of the screen is not known."
    for each in [each for each in views[-1:] if each.coarse]:
        yield f"Answers come in steps of {each.step[0]:.3g} x {each.step[1]:.3g} in {scene.space.value}."
