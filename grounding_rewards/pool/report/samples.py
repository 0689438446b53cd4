"""Samples that a report shows one by one: clicks and targets of rollouts, and screenshots of training data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.catalogue import RecordedName
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import ConvertError, PictureError, PoolError
from grounding_rewards.explain.plot.picture import AROUND_ANSWERS, box_around, window_around
from grounding_rewards.pool.report.rounds import Numbers, Options, Round
from grounding_rewards.pool.selection import suspects
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.target_boxes import outlines
from grounding_rewards.tables.image_files import Image, ImageFiles, read_images
from grounding_rewards.tables.opening import open_rows
from grounding_rewards.tables.prompts import prompt_text
from grounding_rewards.tables.rows import Table, require_column
from grounding_rewards.tables.sample_ids import sample_names
from grounding_rewards.tables.training_sets import BY_FIELDS
from grounding_rewards.viewer.blocks import Block, mark, shape, view
from grounding_rewards.viewer.page import picture
from grounding_rewards.wording import plural

COMMONEST = 3
"""Number of different responses to quote."""

UNKNOWN_SIZE = 16.0, 9.0
"""Sides of a screen of unknown size."""

LONGEST = 300
"""Number of characters of a response or instruction to quote."""


@dataclass(frozen=True, eq=False)
class ShownSample:
    """Sample with the responses to it."""

    sample_id: str  # its name
    n: int  # number of scored rollouts
    clicks: Floats  # (k, 2) points of the answers, in shares of the image
    right: NDArray[np.bool_]  # (k,) True for right ones
    # each place of its target as corners (j, 2) in shares of the image; a single corner is a point
    outlines: tuple[Floats, ...] = ()
    image_size: tuple[float, float] | None = None  # width and height of the image in pixels; None where unknown
    source: str | None = None  # its source
    instruction: str | None = None  # its instruction
    responses: tuple[tuple[str, int], ...] = ()  # the commonest responses, with the numbers of their rollouts
    image: str | None = None  # URL that holds the screenshot, as `viewer.picture` returns it; None without one
    unscored: int = 0  # number of unscored rollouts

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Mark the clicks on the screen, (k,)."""
        return np.asarray(((self.clicks >= 0) & (self.clicks <= 1)).all(axis=1))

    @property
    def drawable(self) -> bool:
        """True where there is anything to draw."""
        return bool(self.outlines) or bool(self.inside.any()) or self.image is not None

    def to_json(self) -> Numbers:
        """Return plain values."""
        return {
            "sample_id": self.sample_id,
            "n": self.n,
            "unscored": self.unscored,
            "source": self.source,
            "instruction": self.instruction,
            "image_size": None if self.image_size is None else list(self.image_size),
            "screenshot": self.image is not None,
            "clicks_unit": np.round(self.clicks, 6).tolist(),
            "targets_unit": [np.round(corners, 6).tolist() for corners in self.outlines],
            "responses": [{"response": text, "rollouts": count} for text, count in self.responses],
        }


def first_of(stats: SampleStats, chosen: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return ``most`` rows of chosen samples: those with most rollouts first, then those with the smallest targets."""
    areas = np.where(np.isnan(stats.target_area), np.inf, stats.target_area)
    rows = np.flatnonzero(chosen).tolist()
    order = sorted(rows, key=lambda row: (-stats.n[row], areas[row], str(stats.sample_id[row])))
    return np.array(order[:most], dtype=np.int64)


def commonest(responses: Sequence[str | None]) -> tuple[tuple[str, int], ...]:
    """Return the commonest responses with their counts; equal ones in alphabetical order."""
    counts = Counter(shortened(text) for text in responses if text is not None)  # one of 64 KiB would fill the page
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:COMMONEST])


def shortened(text: str, most: int = LONGEST) -> str:
    """Shorten a text by cutting out its middle."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[len(text) - half :]}"


_READ = ("sample_id", "acc", "x_unit", "y_unit", "target", "image_size", "recipe", "response")
_INSTRUCTIONS = ("instruction", "prompt", "problem", "question")
_ASPECT = 0.05  # by which a screenshot's aspect may differ: models' sizes are rounded


@dataclass(frozen=True)
class Screenshots:
    """Training data with screenshots, opened once they are asked for."""

    path: Path  # the data
    image_column: str | None = None  # the column of images; None for `images` or `image`
    # settings for image files; without a root they are read from the data's own folder
    images: ImageFiles = field(default_factory=ImageFiles)
    id_column: str | None = None  # the column of sample names; None looks where `convert` puts them
    split: str | None = None  # the split
    confined: bool = False  # False reads absolute paths as they are; True only those in the folder of `images`

    @cached_property
    def _table(self) -> Table:
        table = open_rows(self.path, self.split, shape=BY_FIELDS)
        if self.image_column is not None:
            require_column(table, self.image_column, "--image-column")
        return table

    @cached_property
    def names(self) -> list[str | None]:
        """Return the name of each row's sample."""
        return sample_names(self._table, self.id_column)

    def shown(self, samples: Sequence[ShownSample]) -> tuple[list[ShownSample], list[str]]:
        """Return samples with their instructions and screenshots, and remarks."""
        wanted, known = {sample.sample_id: sample for sample in samples}, {*self.names}
        missing = [name for name in wanted if name not in known]
        if wanted and len(missing) == len(wanted):
            raise PoolError(
                f"{self.path}: holds none of the {plural(len(wanted), 'sample')} to show, such as {missing[0]!r}; it "
                f"names {', '.join(map(repr, self.names[:3]))}: expected the data of these rollouts, or --id-column "
                "NAME"
            )
        shown, failed, other = dict[str, ShownSample](), list[str](), list[str]()
        column, asked = (
            next((name for name in names if name in self._table.columns), None)
            for names in ([self.image_column] if self.image_column else ["images", "image"], _INSTRUCTIONS)
        )
        columns = [name for name in (column, asked) if name]
        for batch in self._table.batches(columns, whole=False):
            for index, row in enumerate(batch.rows):
                name = self.names[batch.start + index]
                if name in wanted:
                    try:
                        shown[name], size = self._with_screenshot(
                            wanted[name], row.get(asked or ""), row.get(column or "")
                        )
                    except (ConvertError, PictureError) as error:  # one broken image must not cost the page
                        failed.append(f"{batch.place(index)}, {name!r:.80}: {error}")
                        shown[name], size = self._with_screenshot(wanted[name], row.get(asked or ""), None)
                    other += _other_aspect(shown[name], size)
            if len(shown) + len(missing) == len(wanted):
                break
        remarks = [
            f"{plural(len(failed), 'screenshot')} cannot be read, the first: {failed[0]}" if failed else "",
            f"{plural(len(other), 'screenshot')} not of the shape that rollouts name: {other[0]}" if other else "",
            f"{self.path} lacks {plural(len(missing), 'sample')} that the page shows, such as {missing[0]!r}"
            if missing else "",
        ]  # fmt: skip
        return [shown.get(sample.sample_id, sample) for sample in samples], [*filter(None, remarks)]

    def _with_screenshot(
        self, shown: ShownSample, text: Any, value: Any
    ) -> tuple[ShownSample, tuple[float, float] | None]:
        """Return a sample with its instruction and its screenshot, and the screenshot's size."""
        if not isinstance(text, str):  # a prompt's messages, of which the last one asks
            text = prompt_text(text[-1]) if isinstance(text, list) and text else None
        described = replace(shown, instruction=text or shown.instruction)
        if value is None:
            return described, None
        found, folder = read_images(value)[-1], self.path if self.path.is_dir() else self.path.parent
        files = self.images if self.images.root else replace(self.images, root=str(folder))
        image, size = _opened(found.inside(files.root) if self.confined else found, files)
        return replace(described, image=image, image_size=described.image_size or size), size


def shown_samples(part: Round, most: int, options: Options) -> dict[str, tuple[int, list[ShownSample]]]:
    """Return the numbers of the ``hardest`` samples of a round and of its ``suspects``, and ``most`` of each."""
    stats, doubtful = part.stats, suspects(part.stats)
    found = {"hardest": stats.none_correct & ~doubtful, "suspects": doubtful}  # none comes twice
    rows = {name: first_of(stats, chosen, most).tolist() for name, chosen in found.items()}
    names = [stats.sample_id[row] for chosen in rows.values() for row in chosen]
    read = defaultdict[str, list[dict[str, Any]]](list)
    if part.table is not None and names:
        wanted = [*_READ, *(["instruction"] if "instruction" in part.table.columns else [])]  # not in every table
        for rollout in part.table.read(wanted, samples=names, rounds=part.rounds).to_pylist():
            read[str(rollout["sample_id"])].append(rollout)

    def shown(row: int) -> ShownSample:
        name, source = str(stats.sample_id[row]), None if stats.source[row] is None else str(stats.source[row])
        sample = sample_of(name, read[name], source, options)
        return replace(sample, n=int(stats.n[row]), unscored=int(stats.unscored[row]))

    return {name: (int(found[name].sum()), list(map(shown, chosen))) for name, chosen in rows.items()}


def sample_of(name: str, rollouts: Sequence[Mapping[str, Any]], source: str | None, options: Options) -> ShownSample:
    """Return a sample with its rollouts, and without a screenshot."""
    placed = [rollout for rollout in rollouts if rollout["x_unit"] is not None and rollout["y_unit"] is not None]
    first: Mapping[str, Any] = next((rollout for rollout in rollouts if rollout["target"] is not None), {})
    size = read_size(next((rollout["image_size"] for rollout in rollouts if rollout["image_size"] is not None), None))
    name_of_recipe = None if first.get("recipe") is None else RecordedName(first["recipe"])  # looked up, never loaded
    places = outlines(
        first.get("target"), size, name=name_of_recipe, target_space=options.target_space, recipe=options.recipe
    ) if first else ()  # fmt: skip
    clicks = [[rollout["x_unit"], rollout["y_unit"]] for rollout in placed]
    return ShownSample(
        sample_id=name,
        n=sum(rollout["acc"] is not None for rollout in rollouts),
        clicks=np.array(clicks, dtype=np.float64).reshape(-1, 2),
        right=np.array([rollout["acc"] == 1 for rollout in placed], dtype=np.bool_),
        outlines=places,
        image_size=size,
        instruction=next((str(rollout["instruction"]) for rollout in rollouts if rollout.get("instruction")), None),
        source=source,
        responses=commonest([rollout["response"] for rollout in rollouts]),
    )


def _other_aspect(shown: ShownSample, size: tuple[float, float] | None) -> list[str]:
    """Remark on a screenshot whose aspect differs from the image that clicks and target lie on."""
    if size is None or shown.image_size is None:
        return []
    (wide, high), (width, height) = size, shown.image_size
    if abs(wide * height - high * width) <= _ASPECT * high * width:  # of the aspects, without a division by 0
        return []
    return [f"{shown.sample_id!r} is {wide:g} x {high:g}, its image_size {width:g} x {height:g}"]


def _opened(image: Image, images: ImageFiles) -> tuple[str, tuple[float, float]]:
    """Return the URL of an image, turned as EXIF says, and its size."""
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(images.decode(image))  # as trainers do
    return picture(np.asarray(upright.convert("RGB"))), (float(upright.width), float(upright.height))


def drawn_target(shown: ShownSample) -> tuple[list[Block], list[Block]]:
    """Return the outlines of a sample's target, and a mark for each place of it that is a point."""
    return (
        [shape("target", each) for each in shown.outlines if len(each) > 1],
        [mark("point", each[0], "target") for each in shown.outlines if len(each) == 1],
    )


_LEAST, _TIGHT = 0.15, 0.25
"""Sides of a closer view, of the shorter side of the screen at least; and of clicks that agree, at most."""


def views(shown: ShownSample) -> list[Block]:
    """Return the whole screen and closer views: of a small target, and of clicks that agree outside of that view."""
    size, whole = np.array(shown.image_size or UNKNOWN_SIZE), np.array([0.0, 0.0, 1.0, 1.0])
    scale, found = np.tile(size, 2), list[tuple[str, Floats]]()
    boxes = [box_around(corners) for corners in shown.outlines]
    for focus in [box_around(*boxes), boxes[0]] if boxes else []:  # all of its places, or else one of them
        if (window := window_around(focus * scale, size, least=_LEAST)) and not found:
            found.append(("around the target", np.array(window) / scale))
    clicks = shown.clicks[shown.inside]
    if len(clicks) > 1:
        focus = box_around(*clicks)
        taken = any((focus[:2] >= each[:2]).all() and (focus[2:] <= each[2:]).all() for _, each in found)
        agree = (focus[2:] - focus[:2] <= _TIGHT).all()
        window = window_around(focus * scale, size, AROUND_ANSWERS, _LEAST) if agree and not taken else None
        found += [("around the clicks", np.array(window) / scale)] if window else []
    views = [view("", whole)]
    for number, (name, each) in enumerate(found, 1):
        wide = f", {(each[2] - each[0]) * size[0]:,.0f} px wide" if shown.image_size else ""
        views.append(view(f"{number}: {name}{wide}", each))
    return views
