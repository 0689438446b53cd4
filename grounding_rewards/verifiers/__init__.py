"""Verifiers: rollouts to (n,) scores, one family a file.

A verifier is a frozen dataclass with ``low``, ``high`` and ``needs`` that maps ``Rollouts`` to n float64 scores within
its bounds. It never converts coordinates: predictions and targets come in one space.
"""

from typing import TYPE_CHECKING

from grounding_rewards._lazy import lazily

if TYPE_CHECKING:
    from grounding_rewards.verifiers.action_match import (
        ActionMatch as ActionMatch,
    )  # fmt: skip
    from grounding_rewards.verifiers.action_match import (
        CorrectRefusal as CorrectRefusal,
    )
    from grounding_rewards.verifiers.action_match import (
        FalseClick as FalseClick,
    )
    from grounding_rewards.verifiers.action_match import (
        FalseRefusal as FalseRefusal,
    )
    from grounding_rewards.verifiers.action_match import (
        RefusalMatch as RefusalMatch,
    )
    from grounding_rewards.verifiers.alternatives import (
        any_of as any_of,
    )  # fmt: skip
    from grounding_rewards.verifiers.alternatives import (
        if_placed as if_placed,
    )
    from grounding_rewards.verifiers.alternatives import (
        same_action as same_action,
    )
    from grounding_rewards.verifiers.critic import Suggestion as Suggestion
    from grounding_rewards.verifiers.critic import Verdict as Verdict
    from grounding_rewards.verifiers.distance import (
        Centredness as Centredness,
    )  # fmt: skip
    from grounding_rewards.verifiers.distance import (
        CornerDistance as CornerDistance,
    )
    from grounding_rewards.verifiers.distance import (
        DenseDistance as DenseDistance,
    )
    from grounding_rewards.verifiers.distance import (
        GaussianCoverage as GaussianCoverage,
    )
    from grounding_rewards.verifiers.distance import (
        GaussianPoint as GaussianPoint,
    )
    from grounding_rewards.verifiers.distance import (
        InsideDistance as InsideDistance,
    )
    from grounding_rewards.verifiers.distance import (
        ScreenDistance as ScreenDistance,
    )
    from grounding_rewards.verifiers.each_row import per_row as per_row
    from grounding_rewards.verifiers.format import (
        Format as Format,
    )  # fmt: skip
    from grounding_rewards.verifiers.format import (
        GradedFormat as GradedFormat,
    )
    from grounding_rewards.verifiers.format import (
        JudgedFormat as JudgedFormat,
    )
    from grounding_rewards.verifiers.group import (
        Consensus as Consensus,
    )  # fmt: skip
    from grounding_rewards.verifiers.group import (
        Difficulty as Difficulty,
    )
    from grounding_rewards.verifiers.group import (
        InConsensus as InConsensus,
    )
    from grounding_rewards.verifiers.group import (
        Noise as Noise,
    )
    from grounding_rewards.verifiers.group import (
        Novelty as Novelty,
    )
    from grounding_rewards.verifiers.group import (
        Repetition as Repetition,
    )
    from grounding_rewards.verifiers.hit import Hit as Hit
    from grounding_rewards.verifiers.hit import NearPoint as NearPoint
    from grounding_rewards.verifiers.length import DastLength as DastLength
    from grounding_rewards.verifiers.length import ThinkingLength as ThinkingLength
    from grounding_rewards.verifiers.match import (
        ActionType as ActionType,
    )  # fmt: skip
    from grounding_rewards.verifiers.match import (
        ArgumentMatch as ArgumentMatch,
    )
    from grounding_rewards.verifiers.match import (
        DirectionMatch as DirectionMatch,
    )
    from grounding_rewards.verifiers.match import (
        DurationMatch as DurationMatch,
    )
    from grounding_rewards.verifiers.match import (
        EndHit as EndHit,
    )
    from grounding_rewards.verifiers.match import (
        KeysMatch as KeysMatch,
    )
    from grounding_rewards.verifiers.match import (
        TextMatch as TextMatch,
    )
    from grounding_rewards.verifiers.overlap import BoxSize as BoxSize
    from grounding_rewards.verifiers.overlap import Overlap as Overlap
    from grounding_rewards.verifiers.points import (
        Exploration as Exploration,
    )  # fmt: skip
    from grounding_rewards.verifiers.points import (
        MatchedF1 as MatchedF1,
    )
    from grounding_rewards.verifiers.points import (
        MatchedPrecision as MatchedPrecision,
    )
    from grounding_rewards.verifiers.points import (
        MatchedRecall as MatchedRecall,
    )
    from grounding_rewards.verifiers.points import (
        NotCollinear as NotCollinear,
    )
    from grounding_rewards.verifiers.step_return import StepReturn as StepReturn
    from grounding_rewards.verifiers.terms import Verifier as Verifier
    from grounding_rewards.verifiers.terms import verifier as verifier

_NAMES = {
    "action_match": "ActionMatch CorrectRefusal FalseClick FalseRefusal RefusalMatch",
    "alternatives": "any_of if_placed same_action",
    "critic": "Suggestion Verdict",
    "distance": "Centredness CornerDistance DenseDistance GaussianCoverage GaussianPoint InsideDistance ScreenDistance",
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
