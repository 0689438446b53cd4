"""Advantages of rollouts within the groups of their samples: ``groups.advantages`` under a shorter name."""

from grounding_rewards.groups.advantages import (
    difficulty,
    dr_grpo,
    gdpo,
    grpo,
    leave_one_out,
    mc_grpo,
    no_signal_share,
)

__all__ = ["difficulty", "dr_grpo", "gdpo", "grpo", "leave_one_out", "mc_grpo", "no_signal_share"]
