"""Comparison of methods: what each would keep of the same rollouts, or weigh, side by side."""

from grounding_rewards.pool.plan.comparison import Candidate, Plan, Row, candidates, compare

__all__ = ["Candidate", "Plan", "Row", "candidates", "compare"]
