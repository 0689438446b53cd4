"""Why a response gets its reward: in words, in numbers and, in ``plot``, in pictures."""

from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explaining import compare, explain
from grounding_rewards.explain.explanation import Compared, Explanation

__all__ = ["Case", "Compared", "Explanation", "compare", "explain"]
