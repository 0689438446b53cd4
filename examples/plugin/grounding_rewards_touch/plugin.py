"""The hooks that grounding-rewards calls: each declares what this distribution adds, under names without ``touch/``."""

from __future__ import annotations

from grounding_rewards.hookspecs import Register, hookimpl
from grounding_rewards_touch.dialects import TAP_TAG
from grounding_rewards_touch.methods import Firsts, Learnable, TopUp
from grounding_rewards_touch.recipes import tap
from grounding_rewards_touch.verifiers import EdgeMargin


@hookimpl
def register_parsers(register: Register) -> None:
    """Offer the dialect."""
    register("tap_tag", TAP_TAG)


@hookimpl
def register_verifiers(register: Register) -> None:
    """Offer the verifier's class; a config gives its arguments."""
    register("edge_margin", EdgeMargin)


@hookimpl
def register_recipes(register: Register) -> None:
    """Offer the function that builds the recipe."""
    register("tap", tap)


@hookimpl
def register_methods(register: Register) -> None:
    """Offer a selector, an allocation and a choice of rollouts, by their classes."""
    register("learnable", Learnable)
    register("top_up", TopUp)
    register("firsts", Firsts)
