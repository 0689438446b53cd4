"""One page for looking at rollouts, pools and rewards: it opens without a network, and its script draws plain data."""

from grounding_rewards.viewer.blocks import Block
from grounding_rewards.viewer.page import check_page, page, picture, write_page
from grounding_rewards.viewer.server import serve

__all__ = ["Block", "check_page", "page", "picture", "serve", "write_page"]
