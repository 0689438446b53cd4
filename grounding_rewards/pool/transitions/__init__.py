"""What became of samples from one round to the next, beside what would have become of them by chance."""

from grounding_rewards.pool.transitions.table import Transitions, transitions

__all__ = ["Transitions", "transitions"]
