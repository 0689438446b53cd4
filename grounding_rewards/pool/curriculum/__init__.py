"""Curriculum learning: stages by measured pass rate, the gate between them, and a check of declared difficulty."""

from grounding_rewards.pool.curriculum.band_check import validate, validate_stats
from grounding_rewards.pool.curriculum.stages import (
    Curriculum,
    RateBand,
    Stage,
    StageGate,
    assign,
    stage_sets,
    stage_weights,
)

__all__ = [
    "Curriculum", "RateBand", "Stage", "StageGate", "assign", "stage_sets", "stage_weights", "validate",
    "validate_stats",
]  # fmt: skip
