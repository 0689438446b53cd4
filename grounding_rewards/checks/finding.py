"""Findings: what looks wrong with rows, a recipe or its settings, with the fix."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from shlex import quote
from typing import Any

from msgspec import Struct

from grounding_rewards.coords.resizing import RESIZING

FIRST_ROWS = 5
"""Largest number of rows that a finding names."""


class Severity(StrEnum):
    """Weight of a finding."""

    ERROR = "error"  #: surely a mistake; ``check`` ends with exit status 1
    WARNING = "warning"  #: probably a mistake; under ``--strict`` the command ends with exit status 1
    NOTE = "note"  #: right for some data, a mistake in others


class Code(StrEnum):
    """Kinds of findings."""

    BAD_TARGET = "bad-target"  #: targets cannot be used, and their rows count in no figure
    FAILED = "failed"  #: a reward function of one's own raises, or returns no usable number
    EMPTY_RESPONSES = "empty-responses"  #: most responses are empty
    UNREAD = "unread"  #: many responses are not in the form that the recipe reads
    SPACE = "space"  #: another space or model fits clearly better
    BOX_FORMAT = "box-format"  #: boxes cannot be, or are hardly, in the format that they are read as
    OUTSIDE_IMAGE = "outside-image"  #: targets whose centre lies outside their image
    UNKNOWN_ACTION = "unknown-action"  #: targets ask for actions, or responses name some, that nothing knows
    REFUSALS = "refusals"  #: refusals are not read, never come, or come where a place is the right answer
    NEVER_DONE = "never-done"  #: targets ask for actions that no response takes
    MODEL_BOUNDS = "model-bounds"  #: answers in pixels of the resized image mostly miss
    ANSWERS_OUTSIDE = "answers-outside"  #: many answers lie outside their images, and no other space fits better
    FARMED = "farmed"  #: policies without any skill earn more of a reward than they are right
    NO_HITS = "no-hits"  #: responses are read, and hardly any is right
    NO_VARIANCE = "no-variance"  #: rollouts of most groups earn the same, so that nothing is learnt of them
    FORM_ALONE = "form-alone"  #: rewards differ by whether an answer can be read rather than by its place
    LAUNCH = "launch"  #: a trainer would not get its rewards, or get other ones
    INVERTED_BOX = "inverted-box"  #: boxes whose second corner lies before the first, among others that are well formed
    NOT_FINITE = "not-finite"  #: targets with numbers that are not finite
    ZERO_AREA = "zero-area"  #: boxes without width or height
    TINY_TARGET = "tiny-target"  #: targets smaller than any element of a screen
    GIANT_TARGET = "giant-target"  #: targets that are most of the screen
    POINT_TARGET = "point-target"  #: targets that are a point without reach
    CROSSING_POLYGON = "crossing-polygon"  #: polygons whose sides cross
    REFUSAL_WITH_PLACE = "refusal-with-place"  #: refusals with a place beside them
    UNREACHABLE = "unreachable-target"  #: targets in which no answer in whole numbers lies
    IMAGE_SIZE = "image-size"  #: sizes of images are missing or cannot be one
    OTHER_SIZE = "other-image-size"  #: images have another size than their rows say
    MISSING_IMAGE = "missing-image"  #: images that cannot be read
    AMBIGUOUS = "ambiguous-sample"  #: the same image and instruction with different targets
    SEEN_IMAGE = "seen-image"  #: images that stand in the other data set, too


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong, with the fix."""

    code: Code  # the kind
    severity: Severity  # the weight
    count: int  # number of rows that show it
    rows: tuple[int, ...]  # numbers of the first of them, counted from 0 in the order in which rows were read
    message: str  # what looks wrong, with the evidence
    fix: str  # what to do about it; "" where the message says enough

    def __str__(self) -> str:
        return f"{self.message}; {self.fix}" if self.fix else self.message

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "code": str(self.code), "severity": str(self.severity), "rows": list(self.rows)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Finding:
        """Return the finding of which ``to_dict`` made these values."""
        code, severity = Code(plain["code"]), Severity(plain["severity"])
        return cls(code, severity, plain["count"], tuple(plain["rows"]), plain["message"], plain["fix"])


BOX_FORMAT = "box_format"

_FLAGS = {"recipe", "response_space", "target_space", BOX_FORMAT, *RESIZING}
"""Settings with a flag of their own; others are options of the recipe."""

_CALLED = {"model": "pipeline"}
"""Flags that are not called as their settings: ``rollout --model`` is the model that runs."""


class Naming(Struct, frozen=True):
    """Names of what users set."""

    # Makes a request of settings: "recipe", "box_format", and options of the recipe; None is to leave one out.
    use: Callable[[Mapping[str, Any]], str]
    responses: str  # where responses come from
    bounds: str = "max_pixels and min_pixels"  # the bounds of resizing


def in_python(settings: Mapping[str, Any]) -> str:
    """Return how to set something in Python."""
    options = dict(settings)
    name, box_format = options.pop("recipe", None), options.pop(BOX_FORMAT, None)
    words = [f"{option}={_plain(value)!r}" for option, value in options.items() if value is not None]
    requests = []
    if name is not None:
        requests.append(f"build recipe({', '.join([repr(name), *words])})")
    elif words:
        requests.append(f"build it with {', '.join(words)}")
    if box_format is not None:
        requests.append(f"read the targets with box_format={str(box_format)!r}")
    return f"{' and '.join(requests)}{without(options)}"


def as_flags(settings: Mapping[str, Any]) -> str:
    """Return how to set something on the command line."""
    return f"use {flags(settings)}{without(settings)}"


def flags(settings: Mapping[str, Any]) -> str:
    """Return the words that set something on the command line."""
    return " ".join(
        f"--{_CALLED.get(name, name).replace('_', '-')} {value}"
        if name in _FLAGS
        else f"--option {quote(f'{name}={option_text(value)}')}"
        for name, value in settings.items()
        if value is not None
    )


def without(settings: Mapping[str, Any]) -> str:
    """Return the end of a request that says which settings to leave out; "" for none."""
    gone = [name for name, value in settings.items() if value is None]
    return f", without {', '.join(gone)}" if gone else ""


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value  # no members of an enum


def option_text(value: Any) -> str:
    """Return the value of an option as the command line takes it."""
    return value if isinstance(value, str) else json.dumps(value)


PYTHON = Naming(in_python, "the responses")


def command_line(column: str) -> Naming:
    """Return the names of a command that reads responses from a column of files."""
    return Naming(as_flags, f"column {column!r} (--response-column)", "--max-pixels and --min-pixels")
