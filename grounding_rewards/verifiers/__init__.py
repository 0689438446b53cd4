"""Verifiers: rollouts to (n,) scores, one family a file.

A verifier is a frozen dataclass with ``low``, ``high`` and ``needs`` that maps ``Rollouts`` to n float64 scores within
its bounds. It never converts coordinates: predictions and targets come in one space.
"""

from grounding_rewards.verifiers.action import ActionType
from grounding_rewards.verifiers.action_match import ActionMatch, RefusalMatch
from grounding_rewards.verifiers.any_of import any_of, if_placed, same_action
from grounding_rewards.verifiers.arguments import ArgumentMatch, DirectionMatch, DurationMatch, EndHit, KeysMatch
from grounding_rewards.verifiers.consensus import Consensus, InConsensus
from grounding_rewards.verifiers.critic import Suggestion, Verdict
from grounding_rewards.verifiers.difficulty import Difficulty
from grounding_rewards.verifiers.distance import (
    Centredness,
    CornerDistance,
    DenseDistance,
    InsideDistance,
    ScreenDistance,
)
from grounding_rewards.verifiers.each_row import per_row
from grounding_rewards.verifiers.exploration import Exploration, NotCollinear
from grounding_rewards.verifiers.format import Format, GradedFormat, JudgedFormat
from grounding_rewards.verifiers.gaussian import GaussianCoverage, GaussianPoint
from grounding_rewards.verifiers.hit import Hit, NearPoint
from grounding_rewards.verifiers.length import DastLength, ThinkingLength
from grounding_rewards.verifiers.matching import MatchedF1, MatchedPrecision, MatchedRecall
from grounding_rewards.verifiers.noise import Noise
from grounding_rewards.verifiers.overlap import BoxSize, Overlap
from grounding_rewards.verifiers.refusal import CorrectRefusal, FalseClick, FalseRefusal
from grounding_rewards.verifiers.repetition import Novelty, Repetition
from grounding_rewards.verifiers.step_return import StepReturn
from grounding_rewards.verifiers.terms import Verifier, verifier
from grounding_rewards.verifiers.text import TextMatch

__all__ = [
    "ActionMatch",
    "ActionType",
    "ArgumentMatch",
    "BoxSize",
    "Centredness",
    "Consensus",
    "CornerDistance",
    "CorrectRefusal",
    "DastLength",
    "DenseDistance",
    "Difficulty",
    "DirectionMatch",
    "DurationMatch",
    "EndHit",
    "Exploration",
    "FalseClick",
    "FalseRefusal",
    "Format",
    "GaussianCoverage",
    "GaussianPoint",
    "GradedFormat",
    "Hit",
    "InConsensus",
    "InsideDistance",
    "JudgedFormat",
    "KeysMatch",
    "MatchedF1",
    "MatchedPrecision",
    "MatchedRecall",
    "NearPoint",
    "Noise",
    "NotCollinear",
    "Novelty",
    "Overlap",
    "RefusalMatch",
    "Repetition",
    "ScreenDistance",
    "StepReturn",
    "Suggestion",
    "TextMatch",
    "ThinkingLength",
    "Verdict",
    "Verifier",
    "any_of",
    "if_placed",
    "per_row",
    "same_action",
    "verifier",
]
