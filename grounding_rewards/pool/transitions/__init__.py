"""Transitions of samples from one round to the next, beside those expected by chance."""

from grounding_rewards.pool.transitions.matrix import Transitions, transitions

__all__ = ["Transitions", "transitions"]
