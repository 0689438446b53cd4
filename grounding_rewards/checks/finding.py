"""Findings: what looks wrong with rows, a recipe or its settings, with the fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

FIRST_ROWS = 5
"""Largest number of rows that a finding names."""


class Severity(StrEnum):
    """Weight of a finding."""

    WARNING = "warning"  #: probably a mistake; under ``--strict`` the command ends with exit status 1
    NOTE = "note"  #: right for some data, a mistake in others


class Code(StrEnum):
    """Kinds of findings."""

    BAD_TARGET = "bad-target"  #: targets cannot be used, and their rows count in no figure
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


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong, with the fix.

    >>> print(Finding(Code.EMPTY_RESPONSES, Severity.WARNING, 9, (0, 1), "9 of 10 responses are empty", "check them"))
    9 of 10 responses are empty; check them
    """

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
