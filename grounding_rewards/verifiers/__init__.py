"""Verifiers: rollouts to (n,) scores, one family a file.

A verifier is a frozen dataclass with ``low``, ``high`` and ``needs`` that maps ``Rollouts`` to n float64 scores within
its bounds. It never converts coordinates: predictions and targets come in one space.
"""

from grounding_rewards.verifiers.action_match import ActionMatch, CorrectRefusal, FalseClick, FalseRefusal, RefusalMatch
from grounding_rewards.verifiers.any_of import any_of, if_placed, same_action
from grounding_rewards.verifiers.critic import Suggestion, Verdict
from grounding_rewards.verifiers.distance import (
    Centredness,
    CornerDistance,
    DenseDistance,
    GaussianCoverage,
    GaussianPoint,
    InsideDistance,
    ScreenDistance,
)
from grounding_rewards.verifiers.each_row import per_row
from grounding_rewards.verifiers.format import Format, GradedFormat, JudgedFormat
from grounding_rewards.verifiers.group import Consensus, Difficulty, InConsensus, Noise, Novelty, Repetition
from grounding_rewards.verifiers.hit import Hit, NearPoint
from grounding_rewards.verifiers.length import DastLength, ThinkingLength
from grounding_rewards.verifiers.match import (
    ActionType,
    ArgumentMatch,
    DirectionMatch,
    DurationMatch,
    EndHit,
    KeysMatch,
    TextMatch,
)
from grounding_rewards.verifiers.overlap import BoxSize, Overlap
from grounding_rewards.verifiers.points import Exploration, MatchedF1, MatchedPrecision, MatchedRecall, NotCollinear
from grounding_rewards.verifiers.step_return import StepReturn
from grounding_rewards.verifiers.terms import Verifier, verifier

__all__ = [
    "ActionMatch", "ActionType", "ArgumentMatch", "BoxSize", "Centredness", "Consensus", "CornerDistance",
    "CorrectRefusal", "DastLength", "DenseDistance", "Difficulty", "DirectionMatch", "DurationMatch", "EndHit",
    "Exploration", "FalseClick", "FalseRefusal", "Format", "GaussianCoverage", "GaussianPoint", "GradedFormat",
    "Hit", "InConsensus", "InsideDistance", "JudgedFormat", "KeysMatch", "MatchedF1", "MatchedPrecision",
    "MatchedRecall", "NearPoint", "Noise", "NotCollinear", "Novelty", "Overlap", "RefusalMatch", "Repetition",
    "ScreenDistance", "StepReturn", "Suggestion", "TextMatch", "ThinkingLength", "Verdict", "Verifier",
    "any_of", "if_placed", "per_row", "same_action", "verifier",
]  # fmt: skip
