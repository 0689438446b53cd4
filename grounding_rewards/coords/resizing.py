"""Image sizes as the model sees them: the resizing of trainers and image processors, computed from width and height.

A *pipeline* is a trainer's own resize, if it has one, with ``min_pixels`` and ``max_pixels``, and the model's image
processor after it, with ``processor_min_pixels`` and ``processor_max_pixels``; without a trainer the two pairs are one.
docs/reference/spaces.md says where a launch sets them. With one bound of ``mm_processor_kwargs`` alone, transformers
5.10 keeps to the checkpoint's. verl without bounds has qwen_vl_utils' own, 4 and 16384 · factor².

None for a processor's bound is the checkpoint's, as commonly published: 3136 and 12845056 pixels for Qwen2-VL and
Qwen2.5-VL (factor 28), 65536 and 16777216 for Qwen3-VL (factor 32). ``qwen2_vl`` is resized as ``qwen2_5_vl``.
``phi_ground`` fits images into the upper left corner of a canvas of 1008 x 672, and has no bounds.

Sources: ``Qwen2VLImageProcessorPil`` of transformers 5.10, ``fetch_image`` of qwen_vl_utils 0.0.14, EasyR1 b44b311.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.coords.register import processors
from grounding_rewards.errors import ResizeError, SpaceError, near

Size = tuple[int, int]
Step = Callable[[int, int], Size]

_LARGEST = 10**12  # no image is larger
_LARGEST_RATIO = 200  # transformers and qwen_vl_utils refuse longer strips


TRAINERS = ("", "easyr1+", "verl+")


@cache
def pipelines() -> tuple[str, ...]:
    """Return the names of all pipelines."""
    named = processors().items()
    return tuple(trainer + name for trainer in TRAINERS for name, own in named if own.canvas is None or not trainer)


@dataclass(frozen=True)
class Resizing:
    """The way of images into a model: a pipeline and its bounds, as ``model_image_size`` takes them.

    Raises:
        SpaceError: the pipeline is unknown, or does not take such bounds.
    """

    model: str  # one of ``pipelines()``; a model's bare name is the pipeline that resizes once
    min_pixels: int | None = None  # least number of pixels after the first step
    max_pixels: int | None = None  # the most
    processor_min_pixels: int | None = None  # least number of pixels after the processor
    processor_max_pixels: int | None = None  # the most

    def __post_init__(self) -> None:
        _steps(self)
        # EasyR1 takes a bound that contradicts its own default, and verl says so itself.
        for name in ("processor_min_pixels",) if "+" in self.model else ("min_pixels", "processor_min_pixels"):
            highest = name.replace("min", "max")
            least, most = getattr(self, name), getattr(self, highest)
            if least and most and least > most:
                raise SpaceError(f"{name}: got {least}, above {highest} {most}; expected {most} or less")

    @property
    def factor(self) -> int:
        """Pixels along each side of an image token of the model."""
        return processors()[self.model.rpartition("+")[2]].factor

    @property
    def canvas(self) -> Size | None:
        """Width and height of the canvas in whose upper left corner the image is; None for none."""
        return processors()[self.model.rpartition("+")[2]].canvas

    @property
    def processor(self) -> Resizing:
        """Return the step of the model's processor alone, without that of a trainer."""
        trainer, _, model = self.model.rpartition("+")
        return replace(self, model=model, min_pixels=None, max_pixels=None) if trainer else self

    def sizes(self, image_sizes: Any) -> tuple[NDArray[np.float64], dict[int, str]]:
        """Compute ``model_image_size`` of n images, each size once.

        Sizes are (n, 2) width and height in pixels, NaN where unknown, or, in a list, None. Those that are returned are
        NaN also where the pipeline refuses the original's; why it does is returned beside them, by row.
        """
        steps, table = _steps(self), size_table(image_sizes)
        table = np.zeros((0, 2)) if table.shape == (0,) else table  # an empty list has one axis
        if table.ndim != 2 or table.shape[1] != 2:
            raise SpaceError(f"image sizes: got {image_sizes!r:.80}; expected [width, height] for each image")
        resized: NDArray[np.float64] = np.full((len(table), 2), np.nan)
        known: dict[tuple[float, float], Size | str] = {}
        refused: dict[int, str] = {}
        for row in np.flatnonzero(~np.isnan(table).any(axis=1)).tolist():
            width, height = table[row].tolist()
            if (width, height) not in known:
                try:
                    known[width, height] = _resized(width, height, self.model, steps)
                except SpaceError as error:
                    known[width, height] = str(error)
            size = known[width, height]
            if isinstance(size, str):
                refused[row] = size
            else:
                resized[row] = size
        return resized, refused


def resizing_by(settings: Mapping[str, Any]) -> Resizing | None:
    """Return the resizing by an image processor of Qwen's; None for others, and without all settings."""
    if not str(settings.get("image_processor_type")).startswith("Qwen2VLImageProcessor"):
        return None
    size = settings.get("size") or {}
    least = settings.get("min_pixels") or size.get("shortest_edge")
    most = settings.get("max_pixels") or size.get("longest_edge")
    factor = settings.get("patch_size", 0) * settings.get("merge_size", 0)
    models = {each.factor: name for name, each in processors().items() if name != "qwen2_vl"}  # resized as qwen2_5_vl
    return Resizing(models[factor], least, most) if factor in models and least and most else None


RESIZING = tuple(each.name for each in fields(Resizing))
"""The options of every recipe that say how images are resized."""


def model_image_size(
    width: int,
    height: int,
    pipeline: str,
    min_pixels: int | None = None,
    max_pixels: int | None = None,
    processor_min_pixels: int | None = None,
    processor_max_pixels: int | None = None,
) -> Size:
    """Compute width and height of the image that the model saw.

    Args:
        width: width of the original image, in pixels; a whole number from 1.
        height: its height.
        pipeline: one of ``pipelines()``.
        min_pixels: least number of pixels after the first step, as the launch sets it; see the top of this file.
        max_pixels: the most.
        processor_min_pixels: least number of pixels after the processor; None for the checkpoint's.
        processor_max_pixels: the most.

    Returns:
        (width, height) in pixels. The bounds are the pipeline's own: where they contradict each other, it does not
        keep to them either.

    Raises:
        ResizeError: the pipeline refuses such an image, with such bounds.
        SpaceError: the pipeline is unknown, or a number is not whole or below 1.

    >>> model_image_size(1920, 1080, "qwen2_5_vl", max_pixels=2007040)
    (1876, 1036)
    >>> model_image_size(1920, 1080, "verl+qwen2_5_vl", processor_max_pixels=2007040)  # 1932 x 1092 in between
    (1876, 1064)
    >>> model_image_size(6000, 30, "easyr1+qwen2_5_vl", min_pixels=262144, max_pixels=4194304)
    Traceback (most recent call last):
    grounding_rewards.errors.ResizeError: pipeline 'easyr1+qwen2_5_vl' refuses an image of 6000 x 30, which its first \
step made 7240 x 36: one side is 201.1 times the other, and 200 is the most; leave the image out, or crop or pad it
    """
    resizing = Resizing(pipeline, min_pixels, max_pixels, processor_min_pixels, processor_max_pixels)
    return _resized(width, height, pipeline, _steps(resizing))


def size_table(sizes: Any) -> NDArray[np.float64]:
    """Return sizes as an array of floats, NaN where there is None; of shape (1,) where they are not numbers."""
    if isinstance(sizes, list | tuple) or getattr(sizes, "dtype", None) == np.object_:
        sizes = [(np.nan, np.nan) if size is None else size for size in sizes]
    try:
        return np.asarray(sizes, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(1)


def _resized(width: float, height: float, pipeline: str, steps: tuple[Step, ...]) -> Size:
    """Return a size after all steps; an error names the image, its size so far, and how to fix it."""
    now = size = _whole("width", width), _whole("height", height)
    for step in steps:
        try:
            now = step(*now)
        except _Refused as refusal:
            became = "" if now == size else f", which its first step made {now[0]} x {now[1]}"
            came = f"an image of {size[0]} x {size[1]}{became}"
            raise ResizeError(
                f"pipeline {pipeline!r} refuses {came}: {refusal}; leave the image out, or crop or pad it"
            ) from None
    return now


class _Refused(Exception):
    """A step refuses an image; the message says why."""


def _steps(resizing: Resizing) -> tuple[Step, ...]:
    """Return the steps of a pipeline, in order."""
    pipeline = resizing.model
    if pipeline not in pipelines():
        hint = near(pipeline, pipelines()) or "."
        raise SpaceError(f"unknown pipeline {pipeline!r}{hint} There are: {', '.join(pipelines())}")
    bounds = ((name, getattr(resizing, name)) for name in RESIZING[1:])
    least, most, low, high = (None if bound is None else _whole(name, bound) for name, bound in bounds)
    trainer, _, model = pipeline.rpartition("+")
    own = processors()[model]
    if own.canvas is not None:
        if bound := next((name for name in RESIZING[1:] if getattr(resizing, name) is not None), ""):
            raise SpaceError(f"pipeline {pipeline!r} fits images into {own.canvas}: got {bound}; leave it out")
        return (partial(_fit, canvas=own.canvas),)
    if not trainer:
        low, high = _either("min_pixels", least, low, pipeline), _either("max_pixels", most, high, pipeline)
    processor = partial(_process, factor=own.factor, least=low or own.min_pixels, most=high or own.max_pixels, side=0)
    if not trainer:
        return (processor,)
    if trainer == "easyr1":
        return partial(_scale, least=least, most=most), processor
    least, most = least or 4 * own.factor**2, most or 16384 * own.factor**2  # qwen_vl_utils' own
    if least > most:
        raise SpaceError(
            f"pipeline {pipeline!r}: got bounds of {least} to {most} pixels in the image dict; qwen_vl_utils takes no "
            "image then: set min_pixels below max_pixels"
        )
    return partial(_process, factor=own.factor, least=least, most=most, side=own.factor), processor


def _either(name: str, bound: int | None, processors: int | None, pipeline: str) -> int | None:
    """Return the bound of a pipeline that has no first step, whichever of its two names was used."""
    if bound and processors and bound != processors:
        raise SpaceError(
            f"pipeline {pipeline!r} resizes once: got {name} {bound} and processor_{name} {processors}; give one"
        )
    return bound or processors


def _process(width: int, height: int, factor: int, least: int, most: int, side: int) -> Size:
    """Resize as the image processor does, or, with ``side`` f instead of 0, as ``fetch_image``.

    Sides to the nearest multiple of the factor f, halves to the even one, and at least ``side``. Where their product is
    above ``most``, floor(side / beta / f) · f with beta = √(w · h / most), by the processor at least f; below
    ``least``, ceil(side · beta / f) · f with beta = √(least / (w · h)).
    """
    ratio = max(width, height) / min(width, height)
    if ratio > _LARGEST_RATIO:
        raise _Refused(f"one side is {ratio:.1f} times the other, and {_LARGEST_RATIO} is the most")
    nearest = max(side, round(width / factor) * factor), max(side, round(height / factor) * factor)
    if nearest[0] * nearest[1] > most:
        beta = math.sqrt(height * width / most)
        wide, high = math.floor(width / beta / factor) * factor, math.floor(height / beta / factor) * factor
        return _not_empty(wide, high) if side else (max(factor, wide), max(factor, high))
    if nearest[0] * nearest[1] < least:
        beta = math.sqrt(least / (height * width))
        return math.ceil(width * beta / factor) * factor, math.ceil(height * beta / factor) * factor
    return nearest


def _scale(width: int, height: int, least: int | None, most: int | None) -> Size:
    """Resize as EasyR1 does: int(side · √(bound / (w · h))), for the upper bound, then for the lower."""
    if most is not None and width * height > most:
        scale = math.sqrt(most / (width * height))
        width, height = _not_empty(int(width * scale), int(height * scale))
    if least is not None and width * height < least:
        scale = math.sqrt(least / (width * height))
        width, height = _not_empty(int(width * scale), int(height * scale))
    return width, height


def _fit(width: int, height: int, canvas: Size) -> Size:
    """Resize to the largest size in a canvas: one side is the canvas's, the other int(side · scale)."""
    wide, high = canvas
    if width * high > height * wide:
        return _not_empty(wide, int(height * wide / width))
    return _not_empty(int(width * high / height), high)


def _not_empty(width: int, height: int) -> Size:
    if not width or not height:
        raise _Refused(f"it would become {width} x {height}")
    return width, height


def _whole(name: str, value: Any) -> int:
    """Read a whole number from 1, of Python or numpy, as int or float."""
    number = value.item() if isinstance(value, np.generic) else value
    if type(number) not in (int, float) or not 1 <= number <= _LARGEST or number != int(number):
        raise SpaceError(f"{name}: got {value!r:.80}; expected a whole number from 1")
    return int(number)
