"""Rewards for touch screens: a plugin of grounding-rewards."""

from grounding_rewards_touch.dialects import TAP_TAG
from grounding_rewards_touch.methods import Firsts, Learnable, TopUp
from grounding_rewards_touch.recipes import tap
from grounding_rewards_touch.verifiers import EdgeMargin

__all__ = ["TAP_TAG", "EdgeMargin", "Firsts", "Learnable", "TopUp", "tap"]
