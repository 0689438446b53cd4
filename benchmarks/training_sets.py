"""Rows a second of a nested training set, read as a stream, against ``json.load``, and the memory of both.

python benchmarks/training_sets.py [MEGABYTES]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_READ = """
from grounding_rewards.tables.opening import open_rows
from grounding_rewards.tables.training_sets import BY_FIELDS
rows = sum(len(batch) for batch in open_rows({file!r}, shape=BY_FIELDS).batches(whole=False))
"""
_LOADED = """
import json
with open({file!r}, encoding="utf-8") as file:
    rows = sum(len(each["elements"]) for each in json.load(file))
"""
_MEASURED = """
import resource
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def write(file: Path, size: int) -> None:
    """Write screens of 50 elements, as OS-Atlas has them, until a file has this many bytes."""
    elements = [
        {
            "instruction": f"open item {n}: settings",
            "bbox": [n / 100, 0.25, n / 100 + 0.01, 0.3125],
            "data_type": "text",
        }
        for n in range(50)
    ]
    text = json.dumps({"img_filename": "screens/0000.png", "elements": elements})
    with file.open("w", encoding="utf-8") as out:
        out.write("[" + text)
        for _ in range(size // len(text)):
            out.write(",\n" + text)
        out.write("]")


def measured(code: str, file: Path) -> tuple[int, int, float]:
    """Return rows, megabytes of memory at most, and seconds of CPU time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = code.format(file=str(file)) + _MEASURED
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows, memory = map(int, done.stdout.split())
    return rows, memory, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(size: int) -> None:
    """Print a line for each way of reading."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.json")
        write(file, size << 20)
        for name, code in (("as a training set", _READ), ("by json.load", _LOADED)):
            if name == "by json.load" and size > 512:
                break  # of which it takes more than ten times the bytes
            started = time.perf_counter()
            rows, memory, seconds = measured(code, file)
            print(f"{name}: {rows:,} rows of {size} MB, {rows / seconds:,.0f} rows a second of CPU, {memory:,} MB "
                  f"of memory, {time.perf_counter() - started:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
