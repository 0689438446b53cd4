"""Published benchmarks by name: layouts of their files, rules, groups and totals, as data."""

from grounding_rewards.batch.benchmarks.benchmark import Benchmark, Total
from grounding_rewards.batch.benchmarks.known import BENCHMARKS, benchmark

__all__ = ["BENCHMARKS", "Benchmark", "Total", "benchmark"]
