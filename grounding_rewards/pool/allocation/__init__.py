"""Allocations map statistics of samples to numbers of further rollouts."""

from grounding_rewards.pool.allocation.protocol import Allocation, allocate

__all__ = ["Allocation", "allocate"]
