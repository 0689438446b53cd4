"""A click as a normal distribution, of which the mean is the place.

{'action': 'click', 'mean': [512, 384], 'variance': [25, 16]}
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import BRACKETED_POINT, JSON_ACTION, JSON_OBJECT, KEY

JSON_DISTRIBUTION = PatternDialect(
    name="json_distribution",
    pattern=JSON_OBJECT,
    inner=(rf"""["']mean{KEY}{BRACKETED_POINT}""", JSON_ACTION),
    signs=('"mean"', "'mean'"),
)
"""The object's ``mean`` and action; the variance is not read."""
