"""Curriculum learning: stages by measured pass rate, the gate between them, and a check of declared difficulty."""

from grounding_rewards.pool.curriculum.stages import StageGate

__all__ = ["StageGate"]
