"""Rollouts into the same rollouts with a recipe's scores, shard by shard; ``cli/pool/score`` has the words."""

from grounding_rewards.batch.rescore import Rescored, rescore

__all__ = ["Rescored", "rescore"]
