"""Answers to the tab key in bash, zsh and fish, from a table of all options: importing them takes half a second.

`make docs` writes the table, completion.json, and a test compares it with the live options, which answer where a plugin
may add names, and lines with quotes or ``=``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

COMPLETE = "_GROUNDING_REWARDS_COMPLETE"  # the variable by which a shell asks what may stand behind a line
_ZSH = str.maketrans({'"': '""', "'": "''", "$": r"\$", "`": r"\`", ":": r"\\:"})

Proposals = Sequence[tuple[str, str]]  # texts that may stand next, each with its help or ""


def answered() -> int | None:
    """Answer what may stand next in a line; return the exit status, None where the live options are to answer."""
    asked, cursor = os.environ.get(COMPLETE, ""), os.environ.get("COMP_CWORD", "")
    line = os.environ.get("COMP_WORDS" if asked == "complete_bash" else "_TYPER_COMPLETE_ARGS", "")
    if asked not in ("complete_bash", "complete_zsh", "complete_fish") or {*line} & {*"\"'\\="}:
        return None
    words = line.split()[1:]
    last = int(cursor) - 1 if asked == "complete_bash" else len(words) - (not line.endswith(" "))
    found = proposals(words[:last], "".join(words[last : last + 1]))
    if found is None:
        return None
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args" and asked == "complete_fish":
        return 0 if found else 1
    sys.stdout.write(f"{_shown(asked, found)}\n")
    return 0


def _shown(asked: str, found: Proposals) -> str:
    if asked == "complete_zsh":
        texts = [":".join(f'"{each.translate(_ZSH)}"' for each in both if each) for both in found]
        return "_arguments '*: :((" + "\n".join(texts) + "))'" if texts else "_files"
    return "\n".join("\t".join(filter(None, both)) if asked == "complete_fish" else both[0] for both in found)


def proposals(words: Sequence[str], begun: str) -> Proposals | None:
    """Return what may stand behind words, by what is begun; None where the live options are to say it."""
    whole: Any = json.loads(Path(__file__).with_name("completion.json").read_text("utf-8"))
    table, rest = whole["program"], iter(words)
    for word in rest:
        if not word.startswith("-"):
            if word not in table.get("commands", ()):
                return None
            table = table["commands"][word]
            if "commands" not in table:
                break
    if "commands" in table and not begun.startswith("-"):
        return [(name, each["help"]) for name, each in table["commands"].items() if name.startswith(begun)]
    params, left = [whole["options"][number] for number in table["params"]], [*rest]
    flags = {flag: each for each in params for flag in each["flags"]}
    if "--" in left:
        return None
    given = [flags.get(word) for word in left]
    if begun.startswith("-"):
        free = [each for each in params if each["many"] or each not in given]
        return [(flag, each["help"]) for each in free for flag in each["flags"] if flag.startswith(begun)]
    wanted = given[-1] if given and given[-1] and given[-1]["value"] else None
    if wanted is None:
        values = [bool(each and each["value"]) for each in (None, *given)]  # whose next word is a value
        place = sum(1 for own, after in zip(given, values, strict=False) if own is None and not after)
        wanted = next(iter([each for each in params if not each["flags"]][place:]), None)
    return _values(wanted, begun) if wanted else []


def _values(of: Any, begun: str) -> Proposals | None:
    before, comma, last = begun.rpartition(",") if of["commas"] else ("", "", begun)
    if of["commas"] and of["names"] and next(_plugins(), None):
        return None
    return [(f"{before}{comma}{name}", "") for name in of["names"] if name.startswith(last)]


def _plugins() -> Iterator[str]:
    """Yield the plugins that are installed and wanted."""
    wanted = os.environ.get("GROUNDING_REWARDS_PLUGINS")
    if wanted != "":
        from importlib.metadata import entry_points

        yield from (each.name for each in entry_points(group="grounding_rewards"))
