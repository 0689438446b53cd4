"""A setting is declared once, as a field of a frozen dataclass: its default, bounds, help and option."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, field, fields
from typing import Any, get_type_hints

from grounding_rewards.errors import EngineError, GroundingRewardsError

MOST = 2**63 - 1  # largest whole number of a setting


def option(
    help: str,
    default: Any = MISSING,
    *,
    least: int | None = None,
    choices: Iterable[str] = (),
    metavar: str = "",
    panel: str = "",
    flags: Iterable[str] = (),
    read: Callable[[str], Any] | None = None,
) -> Any:
    """Declare a setting: its help, default, least number, texts and option; ``read`` makes its value of a text."""
    said = {"help": help, "least": least, "choices": (*choices,), "metavar": metavar, "panel": panel, "read": read}
    return field(default=default, metadata={**said, "flags": (*flags,)})


def flags_of(declared: Field[Any]) -> tuple[str, ...]:
    """Return the names of a setting's option."""
    flags: tuple[str, ...] = declared.metadata["flags"]
    return flags or (f"--{declared.name.replace('_', '-')}",)


def typed(*groups: type) -> dict[str, tuple[Field[Any], Any]]:
    """Return the settings of groups by name, each with its type."""
    hints = [(own, get_type_hints(own)) for own in groups]
    return {each.name: (each, kinds[each.name]) for own, kinds in hints for each in fields(own)}


def declared(group: type, name: str) -> Field[Any]:
    """Return a field of a group of settings by its name."""
    return next(each for each in fields(group) if each.name == name)


def check(settings: Any, error: type[Exception] = EngineError) -> None:
    """Check whole numbers against their bounds; the error names the option."""
    for each in fields(settings):
        value, least = getattr(settings, each.name), each.metadata["least"]
        if least is not None and not (value is None and "None" in str(each.type)):
            check_whole(flags_of(each)[0].removeprefix("--").replace("-", "_"), value, least, error)


def check_whole(name: str, value: Any, least: int, error: type[Exception] = EngineError) -> None:
    """Check a whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise error(f"{name}: got {value!r:.60}; expected a whole number from {least}")
    if value > MOST:
        raise error(f"{name}: got {value!r:.60}; expected a whole number of 64 bits, up to {MOST}")


def is_whole(value: Any, least: int) -> bool:
    """Return True for a whole number of 64 bits from ``least`` on."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST


def is_number(value: Any) -> bool:
    """Return True for a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


_WORDS = "and|lets|makes|name|names|or|out|says|to|twice|which"  # words behind a flag that are no value of it
_VALUE = r"""\b(?:got|sample) (?:'[^']*'|"[^"]*")"""  # what data hold is quoted as it is
_FLAG = re.compile(rf"{_VALUE}|(?<![\w/-])--([a-z][a-z-]*[a-z])(?![\w/-])(?: (?!(?:{_WORDS})\b)([^\s;:]*[^\s;:),.]))?")
# Texts that name an argument, too.
_BOTH = re.compile(r" \(on the command line [^)]*\)|--\S+ \w+ where files are read [^,]*\([^)]*\), ")
_IN_FILES = ("encoding", "explode", "layout")  # functions take them from settings files alone


def in_keywords(text: str, **own: str) -> str:
    """Return a text with the arguments of functions in place of options of the command line; ``own`` renames some.

    >>> print(in_keywords("--by/a.csv: no column 'a' (--by); give --box-format xywh, or name another by --id-column"))
    --by/a.csv: no column 'a' (by=); give box_format="xywh", or name another by columns={"id": ...}
    """

    def keyword(flag: re.Match[str]) -> str:
        if flag[1] is None:
            return flag[0]
        name, value = flag[1].replace("-", "_"), f'"{flag[2]}"' if flag[2] else ""
        if name in own:
            return f"{own[name]}={value}"
        if name.endswith("_column"):
            return f'columns={{"{name.removesuffix("_column")}": {value or "..."}}}'
        return f"{name}={value}{' in settings=' if name in _IN_FILES else ''}"

    own = {"pipeline": "model", **own}
    return _FLAG.sub(keyword, _BOTH.sub("", text))


@contextmanager
def errors_in_keywords(**own: str) -> Iterator[None]:
    """Name arguments of functions in the errors of what runs inside, not options of the command line."""
    try:
        yield
    except GroundingRewardsError as error:
        error.args = tuple([in_keywords(each, **own) if isinstance(each, str) else each for each in error.args])
        raise
