"""Choices of rollouts: which rows of a rollout table to train on, and columns that say more of them."""

from grounding_rewards.pool.rollout_choice.columns import RolloutColumns, read_columns
from grounding_rewards.pool.rollout_choice.protocol import Choice, RolloutChoice, choose

__all__ = ["Choice", "RolloutChoice", "RolloutColumns", "choose", "read_columns"]
