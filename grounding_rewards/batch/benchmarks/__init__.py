"""Published benchmarks by name: layouts of their files, rules, groups and totals, as data."""

from grounding_rewards.batch.benchmarks.known import BENCHMARKS, Benchmark, Total, benchmark

__all__ = ["BENCHMARKS", "Benchmark", "Total", "benchmark"]
