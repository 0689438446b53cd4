"""`make matrix`: adapters' tests against versions of trainers, each in an environment of its own; prints a table."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
AGREE = "tests/contracts/test_trainers.py"
PLAIN = ["pytest", "pytest-timeout", "hypothesis", "pillow"]
TABLE = {
    "swift": (["torch==2.13.0", "ms-swift==4.6.0"], AGREE, "swift"),
    "nemo_gym": (["nemo-gym==0.4.0", "httpx"], AGREE, "nemo_gym"),
    "verifiers": (["verifiers==0.4.0"], AGREE, "verifiers"),
    "skyrl_gym": (["skyrl-gym==0.4.0"], AGREE, "skyrl"),
    "openenv": (["openenv==0.10.0", "httpx"], AGREE, "openenv"),
    "inspect_ai": (["inspect_ai==0.3.285"], "tests/contracts/test_inspect.py", ""),
    "trl-1.0": (["torch==2.13.0", "trl==1.0.0", "transformers==5.10.4", "requests"], "tests/trainers/test_trl.py", ""),
    "trl-1.10": (
        ["torch==2.13.0", "trl==1.10.0", "transformers==5.10.4", "requests"],
        "tests/trainers/test_trl.py",
        "",
    ),
}
"""Packages, test file and the tests of it, by name; Python 3.12 for NeMo-Gym."""


def tried(name: str, folder: Path) -> str:
    """Install one environment and run its tests; return what became of it."""
    packages, file, chosen = TABLE[name]
    place = folder / name
    python = place / "bin" / "python"
    steps = [
        [sys.executable, "-m", "venv", str(place)],
        [str(python), "-m", "pip", "install", "--quiet", *packages],
        [str(python), "-m", "pip", "install", "--quiet", str(ROOT), *PLAIN],
    ]
    for step in steps:
        if subprocess.run(step, cwd=ROOT, check=False).returncode:
            return "not installed"
    test = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", file, "-k", chosen]
    real = {**os.environ, "GROUNDING_REWARDS_REAL": "" if name.startswith("trl") else name}
    return "passed" if not subprocess.run(test, cwd=ROOT, check=False, env=real).returncode else "failed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TABLE)}; all without")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "matrix")
    given = parser.parse_args()
    results = []
    for name in given.names or TABLE:
        start = time.monotonic()
        results.append((name, tried(name, given.folder), f"{time.monotonic() - start:.0f} s"))
    print(f"{time.strftime('%Y-%m-%d')}, Python {sys.version.split()[0]}")
    for row in results:
        print("  ".join(f"{cell:14}" for cell in row).rstrip())
    return int(any(result == "failed" for _, result, _ in results))


if __name__ == "__main__":
    sys.exit(main())
