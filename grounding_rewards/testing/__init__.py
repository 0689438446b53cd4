"""Checks that authors of verifiers, dialects, recipes and methods run in their tests, and texts that break rewards.

Each check is a plain function that raises AssertionError with a message that names the fault, the row and the input;
it depends on no test framework.

>>> from grounding_rewards.verifiers import Hit
>>> check_verifier(Hit(), scale=True, translation=True)
"""

from grounding_rewards.testing.audit import Earned, Screens, audit
from grounding_rewards.testing.dialects import check_dialect
from grounding_rewards.testing.hostile import ANSWER_FORMATS, AnswerFormat, hostile_responses, hostile_shapes
from grounding_rewards.testing.methods import check_method
from grounding_rewards.testing.recipes import check_recipe
from grounding_rewards.testing.verifiers import check_verifier

__all__ = [
    "ANSWER_FORMATS", "AnswerFormat", "Earned", "Screens", "audit", "check_dialect", "check_method", "check_recipe",
    "check_verifier", "hostile_responses", "hostile_shapes",
]  # fmt: skip
