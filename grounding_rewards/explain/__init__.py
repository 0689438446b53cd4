"""Why a response is paid what it is paid."""

from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explaining import explain
from grounding_rewards.explain.explanation import Explanation

__all__ = ["Case", "Explanation", "explain"]
