"""Runs the benchmarks behind the figures of README and docs, and writes what they print into one page.

    python benchmarks/every.py [NAME ...] [--out out/bench.md]

The page begins with versions and machine, so that a stale figure can be seen; each table names where its
figures stand. Run it on an idle machine: the whole takes an hour or more.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATED = {
    "score.py": "README.md", "adapters.py": "adapters/README.md", "adapters.py --record": "adapters/README.md",
    "pool.py": "README.md", "pool.py --large": "", "cluster.py": "docs/cluster.md", "paired.py": "docs/files.md",
    "next_round.py": "docs/rounds.md", "checks.py": "", "engines.py": "", "training_sets.py": "", "methods.py": "",
    "steps.py": "", "imports.py": "", "hostile.py": "",
}  # fmt: skip
"""Scripts with their arguments, and the page that states figures of each."""


def machine() -> str:
    """Return versions and machine in a few lines."""
    packages = ("grounding-rewards", "numpy", "pyarrow", "msgspec", "duckdb", "shapely", "scipy")
    info = Path("/proc/cpuinfo")
    models = [line for line in (info.read_text().split("\n") if info.exists() else []) if line.startswith("model name")]
    described = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(described, capture_output=True, text=True, check=False).stdout.strip()
    cpu = models[0].partition(": ")[2] if models else platform.processor()
    return (
        f"commit {commit or 'unknown'}, Python {platform.python_version()}, "
        f"{', '.join(f'{name} {version(name)}' for name in packages)}\n"
        f"{platform.platform()}, {os.cpu_count()} cores of {cpu}, load {os.getloadavg()[0]:.1f} at the start\n"
    )


def main() -> int:
    """Run them one after the other; return 1 where any failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="scripts to run, such as score.py; all without any")
    parser.add_argument("--out", type=Path, default=Path("out/bench.md"))
    asked = parser.parse_args()
    failed = 0
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with asked.out.open("w", encoding="utf-8") as page:
        page.write(f"# Figures\n\n{machine()}")
        for words in [each for each in STATED if not asked.names or each.split()[0] in asked.names]:
            page.write(f"\n## {words}{f', for {STATED[words]}' if STATED[words] else ''}\n\n```\n")
            script, *options = words.split()
            with subprocess.Popen([sys.executable, HERE / script, *options], stdout=subprocess.PIPE, text=True) as run:
                for line in run.stdout or ():
                    page.write(line)
                    print(line, end="", flush=True)
            failed |= run.returncode != 0
            page.write(f"```\n{f'failed with {run.returncode}' if run.returncode else ''}")
            page.flush()
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
