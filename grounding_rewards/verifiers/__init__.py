"""Verifiers: rollouts to (n,) scores, one family a file.

A verifier is a frozen dataclass with ``low``, ``high`` and ``needs`` that maps ``Rollouts`` to n float64 scores within
its bounds. It never converts coordinates: predictions and targets come in one space.
"""

from typing import TYPE_CHECKING

from grounding_rewards._lazy import lazily

if TYPE_CHECKING:
    from grounding_rewards.verifiers.action_match import *
    from grounding_rewards.verifiers.alternatives import *
    from grounding_rewards.verifiers.critic import *
    from grounding_rewards.verifiers.distance import *
    from grounding_rewards.verifiers.each_row import *
    from grounding_rewards.verifiers.format import *
    from grounding_rewards.verifiers.group import *
    from grounding_rewards.verifiers.hit import *
    from grounding_rewards.verifiers.length import *
    from grounding_rewards.verifiers.match import *
    from grounding_rewards.verifiers.overlap import *
    from grounding_rewards.verifiers.points import *
    from grounding_rewards.verifiers.step_return import *
    from grounding_rewards.verifiers.terms import *

_NAMES = {
    "action_match": "ActionMatch CorrectRefusal FalseClick FalseRefusal RefusalMatch",
    "alternatives": "any_of if_placed same_action",
    "critic": "Suggestion Verdict",
    "distance": """
        Centredness CornerDistance DenseDistance GaussianCoverage GaussianPoint InsideDistance PointDistance
        ScreenDistance
    """,
    "each_row": "per_row",
    "format": "Format GradedFormat JudgedFormat",
    "group": "Consensus Difficulty InConsensus Noise Novelty Repetition",
    "hit": "Hit NearPoint",
    "length": "DastLength ThinkingLength",
    "match": "ActionType ArgumentMatch DirectionMatch DurationMatch EndHit KeysMatch TextMatch",
    "overlap": "BoxSize Overlap",
    "points": "Exploration MatchedF1 MatchedPrecision MatchedRecall NotCollinear",
    "step_return": "StepReturn",
    "terms": "Verifier verifier",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
