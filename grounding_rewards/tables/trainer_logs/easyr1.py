"""EasyR1's ``generations.log``: what its file logger appends for each response that it shows, mostly of validation.

A record is ``[prompt] P``, ``[output] O``, ``[ground_truth] G`` and ``[score] S``, each on lines of its own, and an
empty line: so much is known of the form, but its source was not at hand. Nothing in a text is escaped, so that a
response which writes whole records passes for them. Neither the step nor the verdict is there: the responses of all
steps stand in one table, of which none is scored yet.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.literals import literal
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.manifests import digest
from grounding_rewards.tables.trainer_logs.logged import TORN, Logged, TrainerLog

KIND = "easyr1"
NAME = "generations.log"

PROMPT, OUTPUT, TRUTH, SCORE = "[prompt] ", "\n[output] ", "\n[ground_truth] ", "\n[score] "
_SCORE_LINE = re.compile(r"\[score\] [-+.\w()]+\n", re.ASCII)


def step_files(folder: Path) -> list[Path]:
    """Return the log in a folder; none where there is none."""
    return regular_files(each for each in [folder / NAME] if os.path.lexists(each))


def open_log(path: Path, files: Sequence[Path]) -> TrainerLog | None:
    """Open a log of EasyR1's; None for a file that does not begin as one."""
    (file,) = files
    with file.open("rb") as opened:
        begin = opened.read(len(PROMPT))
    if begin == PROMPT.encode():
        return TrainerLog(KIND, path, files, partial(_read, file), verdicts=False)
    if file.name != NAME:
        return None
    raise TableError(
        f"{file}: {'is empty' if not begin else f'begins with {begin!r}'}; expected a log of EasyR1, whose first line "
        f"begins with {PROMPT!r}"
    )


def _read(file: Path, left_out: Counter[str]) -> Iterator[Logged]:
    held = digest(file)
    for at, (line, text) in enumerate(_records(file, left_out)):
        # Nothing is escaped: whatever a response holds, score and truth are the last of their kind.
        body, _, score = text.rpartition(SCORE)
        body, _, truth = body.rpartition(TRUTH)
        prompt, _, output = body.removeprefix(PROMPT).partition(OUTPUT)  # and the output begins with the first
        last = output.rfind(OUTPUT)
        again = output.rfind(PROMPT, 0, max(last, 0))
        if again >= 0:  # a run was killed in the middle of a record, and another one appended to it
            left_out[TORN] += 1
            prompt, _, output = output[again:].removeprefix(PROMPT).partition(OUTPUT)
        yield Logged(
            file, held, f"record {at} (line {line})", at, prompt, output, target=_truth(truth), total=score.strip()
        )


def _records(file: Path, left_out: Counter[str]) -> Iterator[tuple[int, str]]:
    """Yield each whole record, up to a score before an empty line and the next record or the end, and its line."""
    held, first, ended = list[str](), 1, False
    # newline: a response may hold \r, which ends no line.
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for at, line in enumerate(lines, 1):
            if ended and line.startswith(PROMPT) and _whole(held):
                yield first, "".join(held).rstrip("\n")
                held, first = [], at
            ended = line == "\n" and bool(held) and _SCORE_LINE.fullmatch(held[-1]) is not None
            held.append(line)
    if (
        not ended  # a run was killed in the first letters of the next record, after a whole one
        and len(held) > 2
        and held[-2] == "\n"
        and PROMPT.startswith(held[-1])
        and _SCORE_LINE.fullmatch(held[-3])
    ):
        left_out[TORN] += 1
        ended = bool(held.pop())
    ended |= bool(held) and _SCORE_LINE.fullmatch(held[-1]) is not None  # or before the empty line behind its score
    if ended and _whole(held):
        yield first, "".join(held).rstrip("\n")
    elif "".join(held).strip():
        left_out[TORN] += 1


def _whole(held: list[str]) -> bool:
    begun, output, rest = "".join(held).partition(OUTPUT)
    return begun.startswith(PROMPT) and bool(output) and TRUTH in rest


def _truth(text: str) -> Any:
    """Return a target as it was before its ``str``: an object, a list, a text, or None for an empty one."""
    if text in ("None", ""):
        return None
    return literal(text) if text.lstrip().startswith(("{", "[", "(")) else text
