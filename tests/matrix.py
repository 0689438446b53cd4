"""`make matrix`: tests against versions of trainers and of Python, each in an environment of its own."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "trainers.md"
AGREE = "tests/contracts/test_trainers.py"
PLAIN = ["pytest", "pytest-timeout", "hypothesis", "pillow"]
CORE = [".[dev,docs,openai,ray]", "datasets", "hatchling", "pandas", "pyyaml"]
TORCH = "torch==2.13.0"
VERL = ["tests/trainers/test_verl.py", "tests/trainers/test_verl_managers.py", "tests/trainers/test_verl_processes.py"]


@dataclass(frozen=True)
class Row:
    """Packages, and tests that they must pass."""

    packages: list[str]
    tests: list[str]
    python: str = ""  # such as "3.13"; the one that runs this without

    @property
    def installed(self) -> str:
        """The cell of the table of results."""
        return "no trainer" if self.packages is CORE else ", ".join(self.packages).replace("==", " ")


TABLE = {
    "swift": Row([TORCH, "ms-swift==4.6.0"], [AGREE, "tests/trainers/test_swift.py", "-k", "swift"]),
    "nemo_gym": Row(["nemo-gym==0.4.0", "httpx"], [AGREE, "-k", "nemo_gym"], "3.12"),
    "verifiers": Row(["verifiers==0.4.0"], [AGREE, "-k", "verifiers"]),
    "skyrl_gym": Row(["skyrl-gym==0.4.0"], [AGREE, "-k", "skyrl"]),
    "openenv": Row(["openenv==0.10.0", "httpx"], [AGREE, "-k", "openenv"]),
    "inspect_ai": Row(["inspect_ai==0.3.285"], ["tests/contracts/test_inspect.py"]),
    "trl-1.0": Row([TORCH, "trl==1.0.0", "transformers==5.10.4", "requests"], ["tests/trainers/test_trl.py"]),
    "trl-1.10": Row([TORCH, "trl==1.10.0", "transformers==5.10.4", "requests"], ["tests/trainers/test_trl.py"]),
    # verl asks for NumPy 1 up to 0.8, and pyarrow for NumPy 2 from 26 on
    "verl-0.6": Row([TORCH, "verl==0.6.1", "pyarrow<26"], [AGREE, "tests/trainers/test_verl_earlier.py", "-k", "verl"]),
    "verl-0.7": Row([TORCH, "verl==0.7.0", "pyarrow<26"], [AGREE, "tests/trainers/test_verl_earlier.py", "-k", "verl"]),
    "verl-0.7.1": Row([TORCH, "verl==0.7.1", "pyarrow<26"], [AGREE, *VERL, "-k", "verl"]),
    "verl-0.8": Row([TORCH, "verl==0.8.0", "pyarrow<26"], [AGREE, *VERL, "-k", "verl"]),
    "verl-0.9": Row([TORCH, "verl==0.9.1"], [AGREE, *VERL, "-k", "verl"]),
    "python-3.13": Row(CORE, ["tests", "grounding_rewards", "-n", "2", "--dist", "loadgroup"], "3.13"),
    "python-3.14": Row(CORE, ["tests", "grounding_rewards", "-n", "2", "--dist", "loadgroup"], "3.14"),
}


def interpreter(wanted: str) -> str | None:
    """Return a Python of this version: the one that runs this, one of the PATH, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for each in [sys.executable, f"python{wanted}", *map(str, pyenv.glob(f"versions/{wanted}.*/bin/python"))]:
        try:
            said = subprocess.run([each, "--version"], capture_output=True, text=True, check=False).stdout
        except OSError:
            continue
        if said.startswith(f"Python {wanted}"):
            return each
    return None


def tried(name: str, folder: Path) -> tuple[str, str]:
    """Install one environment and run its tests; return its version of Python, and what became of it."""
    row = TABLE[name]
    if (base := interpreter(row.python)) is None:
        return row.python, "no such Python"
    place = folder / name
    python = str(place / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet"]
    steps = [
        [base, "-m", "venv", str(place)],
        [*pip, *(each for each in row.packages if each == TORCH), "pip"],  # so that what needs it takes this one
        [*pip, *row.packages],
        [*pip, str(ROOT), *PLAIN],
    ]
    for step in steps:
        if subprocess.run(step, cwd=ROOT, check=False).returncode:
            return row.python, "not installed"
    test = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", *row.tests]
    real = {**os.environ, "GROUNDING_REWARDS_REAL": name.partition("-")[0]}
    version = subprocess.run([python, "--version"], capture_output=True, text=True, check=False).stdout.split()[-1]
    with subprocess.Popen(test, cwd=ROOT, env=real, stdout=subprocess.PIPE, text=True) as run:
        last = ""
        for last in run.stdout or ():
            print(last, end="", flush=True)
    return version, outcome(last, run.returncode)


def outcome(last: str, code: int) -> str:
    """Return what the last line of pytest says; of a run that ended otherwise, such as by a signal, that it failed."""
    said = re.sub(r", \d+ (deselected|warnings?)", "", last.partition(" in ")[0]).strip("= \n")
    return said if code == 0 or "failed" in said or "error" in said else f"failed, by ending with {code}"


def written(page: str, results: dict[str, str]) -> str:
    """Return the page with these lines in its table of the last results, and those of other rows as they were."""
    head, begin, rest = page.partition("| environment |")
    table, end, tail = rest.partition("\n\n")
    titles, rule, *lines = table.splitlines()
    known = {line.split("|")[1].strip(): line for line in lines} | results
    return head + begin + "\n".join([titles, rule, *(known[name] for name in TABLE if name in known)]) + end + tail


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TABLE)}; all without")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "matrix")
    parser.add_argument("--write", action="store_true", help=f"put the results into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    results, seconds = {}, {}
    for name in given.names or TABLE:
        start = time.monotonic()
        version, result = tried(name, given.folder)
        results[name] = f"| {name} | {TABLE[name].installed} | {version} | {result} | {time.strftime('%Y-%m-%d')} |"
        seconds[name] = f"{time.monotonic() - start:.0f} s"
    for name, line in results.items():
        print(line, seconds[name])
    if given.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), results), "utf-8")
    return int(any("failed" in line or "error" in line for line in results.values()))


if __name__ == "__main__":
    sys.exit(main())
