"""The next round's pool: what is dropped, what is set aside, and what is drawn by quota and seed."""

from grounding_rewards.pool.selection.steps import NextPool, next_pool
from grounding_rewards.pool.selection.suspects import suspects

__all__ = ["NextPool", "next_pool", "suspects"]
