"""Curriculum learning: stages by measured pass rate, the gate between them, and a check of declared difficulty."""

from grounding_rewards.pool.curriculum.band_check import check_bands, validate, validate_stats
from grounding_rewards.pool.curriculum.gate import StageGate
from grounding_rewards.pool.curriculum.sets import stage_sets, stage_weights
from grounding_rewards.pool.curriculum.stages import Curriculum, RateBand, Stage, assign

__all__ = [
    "Curriculum",
    "RateBand",
    "Stage",
    "StageGate",
    "assign",
    "check_bands",
    "stage_sets",
    "stage_weights",
    "validate",
    "validate_stats",
]
