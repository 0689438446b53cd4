"""Cost of `from grounding_rewards import *` against `import numpy` in one run: CPU seconds of fresh processes.

    python benchmarks/imports.py

The best of nine processes each, taken in turns. numpy is most of it, so the figure to watch is what comes on top.
"""

import subprocess
import sys


def seconds(statement: str) -> float:
    """The CPU seconds that a fresh process spends on a statement."""
    code = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print both and their ratio."""
    pairs = [(seconds("import numpy"), seconds("from grounding_rewards import *")) for _ in range(9)]
    numpy, ours = (min(column) for column in zip(*pairs, strict=True))
    print(f"numpy {numpy:.3f} s, grounding_rewards with it {ours:.3f} s: {ours / numpy:.2f}x")


if __name__ == "__main__":
    main()
