"""Typed errors: settings and targets raise, responses never do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class GroundingRewardsError(Exception):
    """Base of every error this package raises on purpose.

    Attributes:
        term: the verifier or dialect at fault, until scoring has added the plugin that it comes from to the message.
    """

    term: Any = None

    @property
    def problem(self) -> str:
        """The message, of a TargetError without the name of the sample."""
        return str(self)


class SpaceError(GroundingRewardsError, ValueError):
    """A coordinate space is unknown or was not declared where one is needed."""


class ResizeError(SpaceError):
    """A model's image pipeline does not take an image of this size."""


class RecipeError(GroundingRewardsError, ValueError):
    """A recipe, an option or a composition cannot be built."""


class PluginError(GroundingRewardsError):
    """A plugin does not load, offers what does not fit, or claims a name that is taken."""


class VerifierError(GroundingRewardsError):
    """A verifier returned something other than n finite scores inside its bounds."""


class DialectError(GroundingRewardsError):
    """A dialect raised on a text, or returned something other than answers to n texts."""


class SelectorError(GroundingRewardsError):
    """A selector raised, or returned something other than n finite weights inside its bounds."""


class EngineError(GroundingRewardsError):
    """An engine cannot be built, or cannot answer any more."""


class ClusterError(GroundingRewardsError):
    """A Ray cluster that cannot be joined, or a worker of it that cannot work."""


class PoolError(GroundingRewardsError, ValueError):
    """Rollouts do not make statistics of samples."""


class TableError(GroundingRewardsError, ValueError):
    """A file of rows cannot be read or written."""


class ConvertError(GroundingRewardsError, ValueError):
    """Rows cannot be brought into the form that a trainer reads."""


class PictureError(GroundingRewardsError, ValueError):
    """A picture cannot be drawn, read or written."""


class DataPathError(GroundingRewardsError, ValueError):
    """A file that data name may not or cannot be read; the message says why and leaves out its name.

    Attributes:
        elsewhere: True where the file may lie in another folder.
    """

    def __init__(self, why: str, *, elsewhere: bool = False) -> None:
        super().__init__(why)
        self.elsewhere = elsewhere


class TargetError(GroundingRewardsError, ValueError):
    """A target cannot be read, or lacks what a recipe needs from it.

    Attributes:
        sample: the target's ``id``, or its row number where it has none.
        field: the field at fault.
        came: the value there.
        expected: the value that fits, and how to fix it.
        inverted: whether it is a box whose second corner lies left of the first one or above it, as that of most boxes
            of x y w h does that are read as x1 y1 x2 y2.
        own_form: whether such a box stands in a recipe's own form of targets.

    >>> print(TargetError("a7", "bbox", [3, 1], "4 numbers x1 y1 x2 y2"))
    target of sample 'a7', field 'bbox': got [3, 1]; expected 4 numbers x1 y1 x2 y2
    """

    inverted = False
    own_form = False

    def __init__(self, sample: str | int, field: str, came: Any, expected: str) -> None:
        super().__init__(sample, field, came, expected)
        self.sample, self.field, self.came, self.expected = sample, field, came, expected

    def __str__(self) -> str:
        sample = f"row {self.sample}" if isinstance(self.sample, int) else f"sample {self.sample!r}"
        return f"target of {sample}, {self.problem}"

    @property
    def problem(self) -> str:
        """The message without the sample."""
        came = "nothing" if self.came is MISSING else short_repr(self.came, 120)
        return f"field {self.field!r}: got {came}; expected {self.expected}"

    def named(self, sample: str | int) -> TargetError:
        """Return the same error under another name of the sample; a name that the target has itself stays."""
        return self if isinstance(self.sample, str) else TargetError(sample, self.field, self.came, self.expected)


class TargetWarning(UserWarning):
    """Targets can be used and look wrong: an action of an unknown name, or a place that no click reaches."""


def near(name: Any, known: Iterable[str]) -> str:
    """Return a hint such as "; did you mean 'hit'?" for errors about an unknown name; "" where none is close."""
    import difflib  # for errors alone

    names = list(known)
    meant = {**{each.rpartition("/")[2]: each for each in names}, **{each: each for each in names}}
    closest = difflib.get_close_matches(f"{name!s:.80}", meant, n=1)
    return f"; did you mean {meant[closest[0]]!r}?" if closest else ""


class _Missing:
    """Placeholder of a missing field, so that errors can print "nothing"."""

    def __reduce__(self) -> str:
        return "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


def printable(text: str) -> str:
    r"""Escape control characters and lone surrogates of a text."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def short_repr(thing: Any, limit: int = 80) -> str:
    """Return the beginning of a repr, for errors, whatever the thing."""
    try:
        text = repr(thing[: limit + 1] if isinstance(thing, str | list) else thing)
    except Exception:  # a repr is third-party code, and a whole number of 5,000 digits has none
        return f"a {type(thing).__name__} that cannot be printed"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def in_one_line(error: BaseException, named: bool = False) -> str:
    """Return the text of an error in one line of at most 300 characters, after its name if asked or without a text."""
    name, text = type(error).__name__, " ".join(str(error).split())[:300]
    return f"{name}: {text}" if named and text else text or name
