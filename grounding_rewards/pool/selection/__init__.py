"""Selection of the next round's pool: filters, samples set aside, and draws by quota and seed."""

from grounding_rewards.pool.selection.filters import suspects
from grounding_rewards.pool.selection.steps import NextPool, next_pool

__all__ = ["NextPool", "next_pool", "suspects"]
