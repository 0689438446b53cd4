"""Sessions of commands: each file holds command lines with all that they print, and parts of what they write.

A line after ``$`` is a command, whose lines on stderr stand behind ``!``; its status is 2 after an error, and 1 under
``--strict`` after a warning. ``... --json | KEY KEY`` shows some keys alone, ``... | N`` the first N lines. ``write
FILE`` makes a file of the lines behind ``>``; ``rows FILE [KEY ...]`` shows rows, ``json FILE [KEY ...]`` a manifest,
in which ``sha256`` is true where it is that of the file, and ``ls`` the files that were written. ``png WIDTH HEIGHT
FILE`` makes an image, and ``TESTS/`` stands for the folder of all tests. Inputs are those of ``pool.made``. After a
change that is meant, ``python -m tests.cli.test_sessions [FILE]`` writes what is printed now: read the difference.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from grounding_rewards.cli import application, main
from grounding_rewards.tables.manifests import digest
from tests.cli.command import read_rows, result_of, write_rows
from tests.cli.pool.made import INPUTS

TESTS = Path(__file__).parents[1]
SESSIONS = sorted(Path(__file__).parent.glob("**/sessions/*.txt"))


def plain(value: Any, folder: Path) -> Any:
    """Return a value with numbers of six digits, and with hashes as true where they are those of files."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case list():
            return [plain(each, folder) for each in value]
        case dict():
            found = {name: plain(each, folder) for name, each in value.items()}
            if value.get("sha256"):
                name = str(value.get("file") or value.get("path"))
                found["sha256"] = value["sha256"] == digest(folder / name if (folder / name).is_file() else Path(name))
            return found
    return value


def picked(found: Any, keys: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield a line for each key, ``a.b`` for one inside; all but the version where none is named."""
    for key in keys or [each for each in found if each != "version"]:
        value = found
        for part in key.split("."):
            value = value[int(part) if isinstance(value, list) else part]
        yield f"{key}: {json.dumps(plain(value, folder))}"


def called(words: Sequence[str], keys: Sequence[str] | None) -> Iterator[str]:
    """Run a command, and yield what it prints, without the lists of all methods."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(words)
    said = re.sub(r"There are: .*; your own", "There are: ...; your own", err.getvalue()).splitlines()
    warned = any(line.startswith("warning: ") for line in said)
    code = 2 if said and said[-1].startswith("error: ") else int("--strict" in words and warned)
    assert ended.value.code == code, said
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    if keys and keys[0].isdecimal() and "--json" not in words:
        shown: Any = lines[: int(keys[0])]
    else:
        shown = picked(result_of(out.getvalue()), keys, Path()) if keys else lines
    yield from (*shown, *(f"! {line}" for line in said))


def answered(line: str, given: Sequence[str]) -> Iterator[str]:
    """Yield what a line of a session prints."""
    words = shlex.split(line.replace("TESTS/", f"{TESTS}/"))
    match words:
        case [verb, *_] if verb in application._VERBS:
            end = words.index("|") if "|" in words else len(words)
            yield from called(words[:end], words[end + 1 :] or None)
        case ["write", name]:
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text("".join(f"{row}\n" for row in given))
        case ["png", width, height, name]:
            Path(name).parent.mkdir(exist_ok=True)
            Image.new("1", (int(width), int(height))).save(name)
        case ["ls"]:
            yield " ".join(sorted({*os.listdir()} - {*INPUTS}))
        case ["rows", name, *keys]:
            rows = read_rows(Path(name)) if name.endswith(".jsonl") else pq.read_table(name).to_pylist()
            if len(keys) == 1:
                yield " ".join(str(plain(row.get(keys[0]), Path())) for row in rows)
            else:
                chosen = ({key: row.get(key) for key in keys} if keys else row for row in rows)
                yield from (json.dumps(plain(row, Path())) for row in chosen)
        case ["json", name, *keys]:
            yield from picked(json.loads(Path(name).read_text()), keys, Path(name).parent)
        case _:
            raise ValueError(line)


def session(text: str) -> str:
    """Run a session in the current directory, and return it with what is printed now, without that directory."""
    done = list[str]()
    for name, rows in INPUTS.items():
        if name in text:
            write_rows(Path(name), *rows)
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if line.startswith(("#", ">")):
            done.append(line)
        elif line.startswith("$ "):
            given = [each[2:] for each in lines[place + 1 :] if each.startswith("> ")]
            following = next(
                (at for at, each in enumerate(lines[place + 1 :]) if not each.startswith("> ")), len(given)
            )
            done += [line, *answered(line[2:], given[:following])]
    text = "\n".join(done) + "\n"
    return text.replace(f"{Path.cwd()}/", "").replace(str(Path.cwd()), ".").replace(f"{TESTS}/", "TESTS/")


@pytest.mark.parametrize("file", SESSIONS, ids=lambda file: str(file.relative_to(Path(__file__).parent)))
def test_a_session_prints_what_it_says(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    text = file.read_text("utf-8")
    assert session(text).splitlines() == text.splitlines()


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    for each in [Path(word).resolve() for word in sys.argv[1:]] or SESSIONS:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            each.write_text(session(each.read_text("utf-8")), "utf-8")
