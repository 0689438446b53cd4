"""One answer a sample of many: the consensus of its rollouts, judged as an answer is (GUI-RC)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, nowhere
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import SingleAnswers
from grounding_rewards.checks.paired import close
from grounding_rewards.coords.spaces import CoordSpace, convert
from grounding_rewards.errors import RecipeError, TableError
from grounding_rewards.groups.consensus import SIZE, consensus_region, voters, voting_regions
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.rollout_columns import NUMBER, number_of
from grounding_rewards.tables.rows import Batch
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.regions import Regions
from grounding_rewards.targets.target import RegionKind

WIDTH = 13  # numbers of a target


def target_numbers(targets: Targets, space: CoordSpace) -> Floats:
    """Return numbers that are equal, but for rounding, where targets are, however these are written: (n, 13)."""
    # Refusal, number of places, their bounds, the actions, the sum of the places' areas, and the sums of x, y, x², y²
    # and xy over their corners. Pixels of the model's image become shares of it.
    count, sizes = len(targets), (targets.image_sizes, targets.model_image_sizes)
    xy, owner, area = _corners(targets.regions)
    if space is CoordSpace.MODEL_PIXEL:  # two models see images of different sizes
        xy = convert(xy, space, CoordSpace.UNIT, *(each[owner] for each in sizes))
        area = area / np.prod(targets.model_image_sizes[targets.regions.row], axis=1)
    low, high = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
    np.minimum.at(low, owner, xy)
    np.maximum.at(high, owner, xy)
    bounds = np.hstack((low, high))
    bounds[~np.isfinite(bounds)] = np.nan
    actions = np.zeros(count)
    for row in np.flatnonzero(targets.acts).tolist():
        target = targets.rows[row]
        actions[row] = zlib.crc32(repr(target and target.every_action()).encode("utf-8", "surrogatepass"))
    x, y = xy.T
    of_place = targets.regions.row
    sums = [
        np.bincount(of_place, area, count),
        *(np.bincount(owner, each, count) for each in (x, y, x * x, y * y, x * y)),
    ]
    return np.column_stack((targets.refusal, np.bincount(of_place, minlength=count), bounds, actions, *sums))


def _corners(regions: Regions) -> tuple[Floats, Ints, Floats]:
    """Return the corners of all places, (k, 2), of a circle those of the box around it; their samples; areas, (m,)."""
    polygons, starts, ends = regions.kind == RegionKind.POLYGON, regions.offsets[:-1], regions.offsets[1:]
    place = np.repeat(np.arange(len(regions.row)), ends - starts)
    following = np.arange(1, len(regions.vertices) + 1)
    following[ends[polygons] - 1] = starts[polygons]
    (x, y), (next_x, next_y) = regions.vertices.T, regions.vertices[following].T
    doubled = np.abs(np.bincount(place, x * next_y - next_x * y, len(regions.row)))
    x1, y1, x2, y2 = regions.box.T
    boxes = (x2 - x1) * (y2 - y1) * np.where(regions.kind == RegionKind.CIRCLE, np.pi / 4, 1.0)
    others = np.flatnonzero(~polygons)
    of_boxes = np.stack((x1, y1, x2, y1, x2, y2, x1, y2), axis=1)[others].reshape(-1, 2)
    owner = np.concatenate((regions.row[place], np.repeat(regions.row[others], 4)))
    return np.concatenate((regions.vertices, of_boxes)), owner, np.where(polygons, doubled / 2, boxes)


_PIXELS = (CoordSpace.PIXEL, CoordSpace.MODEL_PIXEL)


@dataclass(frozen=True, eq=False)
class ConsensusAnswers:
    """Answers of m samples, made of n rollouts."""

    batch: Batch  # the row of each sample whose rollout stands for it, in order of the samples' first rows
    names: list[str]  # (m,) names of the samples
    scored: RecipeSlice  # these rows, with the consensus in place of their points
    singles: SingleAnswers  # right answers among the rollouts themselves


def check_votes(recipe: Recipe) -> None:
    """Check that a recipe judges one answer by itself."""
    compares = recipe.label_free or recipe.needs & {"groups", "trajectories"}
    if compares or recipe.answers == "all":
        does = "compares rollouts" if compares else "reads several answers of one response"
        raise RecipeError(
            f"--consensus: got recipe {recipe.name}, which {does}; expected one that judges one answer by its target, "
            "such as click"
        )


def consensus_answers(scorer: TableScorer, batch: Batch, scored: RecipeSlice, names: Sequence[str]) -> ConsensusAnswers:
    """Merge the rollouts of each sample into one answer, the middle of where most agree, and judge it."""
    # Squares are 50 pixels about points, as in the paper: pixels that the model answers in, else of the original.
    # Rollouts whose answers were not read, lie outside the image or refuse do not vote. One voter alone gives its own
    # answer; without any it is the first refusal, else the first rollout. An action is the first that agrees.
    codes: dict[str, int] = {}
    samples = np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)
    _check_numbers(scorer, batch, names)
    _warn_of_differing(scorer, scored, samples, list(codes))
    recipe = scorer.recipe
    into = recipe.response_space if recipe.response_space in _PIXELS else CoordSpace.PIXEL
    sizes = _sizes(scorer, batch, scored, into)
    regions = _regions(scorer, batch, scored, into, sizes)
    rows, xy = _answers(regions, samples, scored.rollouts.predictions.reason == Reason.REFUSED)
    chosen = batch.take(rows.tolist(), whole=False)
    own = replace(scorer, diagnosis=None).score(chosen)
    own = _moved(own, convert(xy, into, recipe.space, sizes[0][rows], sizes[1][rows]))
    valid, acc = scored.scores.valid, scored.scores.acc
    n, correct = (np.bincount(samples, each, len(codes)).astype(np.int64) for each in (valid, acc * valid))
    return ConsensusAnswers(chosen, list(codes), own, SingleAnswers.of(correct, n))


def _check_numbers(scorer: TableScorer, batch: Batch, names: Sequence[str]) -> None:
    """Check that no two rows are one rollout; rows without a number are rollouts of their own."""
    first = dict[tuple[str, Any, Any], int]()
    for row, (name, *number) in enumerate(zip(names, *(batch.numbers(each) for each in NUMBER), strict=True)):
        own_round, rollout = map(number_of, number)
        if rollout is not None and (earlier := first.setdefault((name, own_round, rollout), row)) != row:
            raise TableError(
                f"{scorer.where(batch, row)}: rollout {number[1]} of sample {name!r:.80} is in "
                f"{batch.place(earlier)} already, and would vote twice; expected rollouts with numbers of their own in "
                "a column rollout, or no such column"
            )


def _warn_of_differing(scorer: TableScorer, scored: RecipeSlice, samples: Ints, names: Sequence[str]) -> None:
    """Warn of samples whose rows ask for different places, or are of images of different sizes."""
    targets, first = scored.rollouts.targets, np.unique(samples, return_index=True)[1][samples]
    columns = {
        "targets": target_numbers(targets, scored.recipe.space),
        "image sizes": scored.rollouts.image_sizes,
        "model image sizes": scored.rollouts.model_image_sizes,
    }
    for what, values in columns.items():
        differing = np.unique(samples[~close(values[first], values)])
        if len(differing):
            scorer.on_warning(
                f"--consensus: {len(differing)} of {len(names)} samples have rollouts with different {what}, such as "
                f"{names[differing[0]]!r:.80}: expected rollouts of one sample under one name; the answer is judged as "
                "that of the first rollout that agrees"
            )


def _sizes(scorer: TableScorer, batch: Batch, scored: RecipeSlice, into: CoordSpace) -> tuple[Floats, Floats]:
    """Return the sizes of original images and of those that the model saw; of the images where only votes need them."""
    sizes, model_sizes = scored.rollouts.image_sizes.copy(), scored.rollouts.model_image_sizes
    if scorer.images is not None and into is CoordSpace.PIXEL and into is not scorer.recipe.space:
        known = scorer.images.known(batch, np.flatnonzero(np.isnan(sizes[:, 0]) & (scored.scores.valid > 0)).tolist())
        sizes[list(known)] = list(known.values()) or nowhere(0, 2)
    return sizes, model_sizes


def _regions(
    scorer: TableScorer, batch: Batch, scored: RecipeSlice, into: CoordSpace, sizes: tuple[Floats, Floats]
) -> Floats:
    """Return what each rollout votes for, (n, 4) in pixels; NaN where it does not vote."""
    answers, space = scored.rollouts.predictions, scored.recipe.space
    voting = (answers.reason == Reason.OK) & (scored.scores.valid > 0) & ~np.isnan(answers.xy[:, 0])
    xy = convert(np.where(voting[:, None], answers.xy, np.nan), space, into, *sizes)
    for row in np.flatnonzero(voting & np.isnan(xy[:, 0])).tolist()[:1]:
        field = "image_size" if into is CoordSpace.PIXEL else "model_image_size"
        raise TableError(
            f"{scorer.where(batch, row)}: {field}: got nothing; expected width and height, because the consensus "
            f"counts pixels; --{field.replace('_', '-')}-column names their column"
        )
    return voting_regions(xy, convert(answers.box, space, into, *sizes), SIZE)


def _answers(regions: Floats, samples: Ints, refused: NDArray[np.bool_]) -> tuple[Ints, Floats]:
    """Return the row that stands for each sample, and the consensus; NaN where that row's own answer stays."""
    order = np.argsort(samples, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(samples[order])) + 1) if len(order) else []
    rows, xy = np.zeros(len(groups), dtype=np.int64), nowhere(len(groups), 2)
    for sample, own in enumerate(groups):
        voting = voters(regions[own])
        if len(voting) > 1 and (region := consensus_region(regions[own])) is not None:
            rows[sample], xy[sample] = own[region.members[0]], region.xy
        else:
            rows[sample] = own[voting[0]] if len(voting) else own[int(np.argmax(refused[own]))]
    return rows, xy


def _moved(scored: RecipeSlice, xy: Floats) -> RecipeSlice:
    """Return the scores of rows whose points are others; NaN leaves an answer as it is."""
    before, moved = scored.rollouts.predictions, ~np.isnan(xy[:, :1])
    predictions = replace(before, xy=np.where(moved, xy, before.xy), box=np.where(moved, np.nan, before.box))
    rollouts = replace(scored.rollouts, predictions=predictions).read_only()
    return replace(scored, rollouts=rollouts, scores=scored.recipe.evaluate(rollouts))
