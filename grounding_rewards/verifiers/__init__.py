"""Verifiers: rollouts to (n,) scores, one family a file.

A verifier is a frozen dataclass with ``low``, ``high`` and ``needs`` that maps ``Rollouts`` to n float64 scores within
its bounds. It never converts coordinates: predictions and targets come in one space.
"""

from grounding_rewards.verifiers.base import Verifier, verifier
from grounding_rewards.verifiers.distance import InsideDistance
from grounding_rewards.verifiers.format import Format
from grounding_rewards.verifiers.hit import Hit
from grounding_rewards.verifiers.refusal import CorrectRefusal

__all__ = ["CorrectRefusal", "Format", "Hit", "InsideDistance", "Verifier", "verifier"]
