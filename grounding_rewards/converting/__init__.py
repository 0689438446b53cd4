"""Convert rows of a data set into the rows that a trainer reads; ``run`` handles the files."""

from grounding_rewards.converting.layouts import LAYOUTS, Layout, layout_of
from grounding_rewards.converting.prompts import Wording

__all__ = ["LAYOUTS", "Layout", "Wording", "layout_of"]
