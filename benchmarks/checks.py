"""Times ``check data``, ``check rollouts`` and ``compare`` on made rows, each in a process of its own.

    python benchmarks/checks.py [--rows 1000000] [--only data|rollouts|compare]

Prints processor seconds and the largest memory, for a tenth of the rows and for all: it hardly grows with them. Rows
are eight rollouts of each sample, which no column names, in JSON lines. A million rows, two busy cores: ``check data``
21.6 s and 210 MB, ``check rollouts`` 30.3 s and 393 MB. The latter took 67 s when each row had a name made for it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

OWN = """
import re


def reward(response, target):
    x, y = map(int, re.search(r"\\((\\d+), (\\d+)\\)", response).groups())
    x1, y1, x2, y2 = target["bbox"]
    return float(x1 < x < x2 and y1 < y < y2)
"""
COMMANDS = {
    "data": "check data {}",
    "rollouts": "check rollouts {} --response-space pixel",
    "compare": "compare {} --recipe own.py:reward --with click --response-space pixel",
}


def write(file: Path, count: int) -> None:
    """Write rollouts whose answers lie around their targets."""
    rng = np.random.default_rng(0)
    with file.open("w") as out:
        for sample in range(count // 8):
            x, y, width, height = rng.integers([0, 0, 10, 8], [1800, 1000, 120, 60]).tolist()
            row = {
                "image": f"shots/{sample // 4}.png", "instruction": f"open item {sample}",
                "target": {"bbox": [x, y, x + width, y + height], "image_size": [1920, 1080]},
            }  # fmt: skip
            for rollout, (a, b) in enumerate(rng.normal([x + width / 2, y + height / 2], 30, (8, 2)).tolist()):
                out.write(json.dumps({**row, "rollout": rollout, "response": f"({a:.0f}, {b:.0f})"}) + "\n")


def measured(words: list[str], folder: Path) -> tuple[float, float]:
    """Return processor seconds and megabytes of a command."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(sys.executable, [sys.executable, "-m", "grounding_rewards", *words])
    _, status, used = os.wait4(child, 0)
    assert not status, words
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=[*COMMANDS])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "own.py").write_text(OWN)
        for count in (asked.rows // 10, asked.rows):
            write(folder / "rows.jsonl", count)
            for command, words in COMMANDS.items():
                if asked.only in (None, command):
                    seconds, size = measured(words.format("rows.jsonl").split(), folder)
                    print(f"{command:9} {count:9,} rows  {seconds:7.1f} s  {size:6.0f} MB", flush=True)


if __name__ == "__main__":
    main()
