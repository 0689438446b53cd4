"""Progress of a run through the stages of a curriculum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grounding_rewards.pool.curriculum.gate import ROUNDING, Move, StageGate, scored


@dataclass(frozen=True)
class Progress:
    """Position of a run in a curriculum; each step makes a new one.

    Attributes:
        stage: number of the stage, counted from 0.
        results: results of this stage that still count for the gate, oldest first.
        samples: number of samples of this stage trained on so far; fractions for a part of a sample's rollouts.
    """

    stage: int = 0
    results: tuple[float, ...] = ()
    samples: float = 0.0

    def after(
        self,
        results: Sequence[float | None],
        *,
        gate: StageGate | None,
        epochs: Sequence[int],
        samples: float = 0.0,
        size: int = 1,
    ) -> tuple[Progress, Move]:
        """Return the position after a batch, and the move made.

        With a gate, the gate decides; without one a stage ends after its epochs. A move resets the counts. Up from the
        last stage, and down from the first, is to stay.

        Args:
            results: results of the batch's rollouts; None for unscored ones.
            gate: the gate; None moves on after ``epochs``.
            epochs: passes over a stage's samples, one number a stage.
            samples: number of the stage's samples in the batch.
            size: number of the stage's samples.

        Raises:
            PoolError: a result is not a number from 0 to 1.

        >>> now, move = Progress().after([1, 1, 1, None], gate=StageGate(last_k=4), epochs=[1, 1])
        >>> now.results, move, now.after([1], gate=StageGate(last_k=4), epochs=[1, 1])
        ((1.0, 1.0, 1.0), 'stay', (Progress(stage=1, results=(), samples=0.0), 'up'))
        """
        counted = [*self.results, *scored(results)]
        done = self.samples + samples
        if gate is None:
            move: Move = "up" if done >= epochs[self.stage] * size - ROUNDING else "stay"
            counted = []
        else:
            move, counted = gate.decide(counted), counted[-gate.last_k :]
        stage = self.stage + {"up": 1, "stay": 0, "down": -1}[move]
        if stage == self.stage or not 0 <= stage < len(epochs):
            return replace(self, results=tuple(counted), samples=done), "stay"
        return Progress(stage), move
