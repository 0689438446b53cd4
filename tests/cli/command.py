"""Runs the command line in this process, as a terminal would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.cli import main

BOX = {"bbox": [0.1, 0.1, 0.3, 0.2]}
HIT = {"sample_id": "a", "response": "(200, 150)", "target": BOX}
MISS = {"sample_id": "b", "response": "nothing here", "target": BOX}
CLICK = ("--recipe", "click", "--response-space", "pixel")


class Result(NamedTuple):
    """Exit code and streams of a command that ended."""

    code: int
    out: str
    err: str


class Runner:
    """Calls ``grounding-rewards`` with words, all turned into text."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: Any) -> Result:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        captured = self.capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return Result(caught.value.code, captured.out, captured.err)

    def error(self, *words: Any) -> str:
        """The message of a command that must fail: one line on stderr, nothing on stdout, code 2."""
        result = self(*words)
        assert (result.code, result.out) == (2, ""), result
        assert result.err.startswith("error: ")
        assert result.err.count("\n") == 1
        return result.err.removeprefix("error: ").rstrip("\n")


def write_rows(path: Path, *rows: Any) -> Path:
    """Write JSON lines, or Parquet."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([*rows]), path)
        return path
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def names(folder: Path) -> list[str]:
    """Names of the files in a folder, in order."""
    return sorted(path.name for path in folder.iterdir())


def result_of(text: str) -> Any:
    """Return the result that ``--json`` printed, with its findings and warnings; of a list alone the list."""
    whole = json.loads(text)
    result = whole["result"]
    if len(result) == 1 and isinstance(only := next(iter(result.values())), list):
        return only
    texts = [f"{each['message']}; {each['fix']}" if each.get("fix") else each["message"]
             for each in whole["findings"] if each["severity"] == "warning"]  # fmt: skip
    return {**result, "findings": [each for each in whole["findings"] if each["code"]], "warnings": texts}


def page_data(page: Path) -> Any:
    """Return the data of a page that a command wrote."""
    return json.loads(page.read_text().partition('<script type="application/json" id="data">')[2].partition("</")[0])
