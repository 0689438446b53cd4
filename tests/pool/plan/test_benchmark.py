"""The benchmark of methods runs every method of the tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "methods.py"


@pytest.mark.slow
def test_every_step_is_a_multiple_of_pool_stats() -> None:
    words = [sys.executable, BENCHMARK, "--quick", "--json", "--method", "learnability", "--method", "every"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    (found,) = json.loads(done.stdout)
    assert [each["step"] for each in found["steps"]] == ["stats", "stats --out", "plan", "learnability"]
    assert found["steps"][0]["stats"] == 1.0
    assert all(each["seconds"] > 0 for each in found["steps"])
    assert found["steps"][3]["alone"] < found["steps"][3]["seconds"]
    assert [(each["step"], each["needs"]) for each in found["left_out"]] == [("every", ["selectors"])]
