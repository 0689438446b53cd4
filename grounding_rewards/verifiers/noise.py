"""Noise, small and seeded, that breaks ties between scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import Term


@dataclass(frozen=True)
class Noise(Term):
    """amplitude · u, with u in [-1, 1) drawn from the response's text and the seed alone. A term for ``weighted``.

    Equal texts get equal noise, so that rollouts that say the same stay tied: they are one and the same action, and a
    difference between their rewards would push the policy towards and away from the very same words. Different texts
    differ, which gives a group of equal scores some variance. Neither order, batch, process nor platform matters. A
    policy can learn which texts the seed favours: keep the amplitude far below the smallest difference that counts,
    or change the seed from round to round.

    Args:
        amplitude: the largest noise; 0 adds nothing.
        seed: a whole number of at most 64 bits; another one draws other noise.

    >>> from grounding_rewards.combine import weighted
    >>> from grounding_rewards.verifiers import Hit
    >>> reward = weighted(hit=(1.0, Hit()), noise=(1.0, Noise(0.01, seed=7)))
    >>> reward.low, reward.high
    (-0.01, 1.01)
    """

    amplitude: Length
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.seed) is not int or not -(2**63) <= self.seed < 2**63:
            raise options.wrong(self, "seed", "a whole number of at most 64 bits")

    @property
    def low(self) -> float:
        """-amplitude."""
        return -float(self.amplitude)

    @property
    def high(self) -> float:
        """The amplitude."""
        return float(self.amplitude)

    def __call__(self, rollouts: Rollouts) -> Floats:
        if self.amplitude == 0:
            return np.zeros(len(rollouts))
        return self.amplitude * uniform(rollouts.text, self.seed)


def uniform(texts: Sequence[str], seed: int) -> Floats:
    """Return a number in [-1, 1) for each text: the first 53 bits of a keyed BLAKE2b hash of its UTF-8 form.

    >>> uniform(["(10, 20)", "(10, 21)", "(10, 20)"], seed=0).round(4)
    array([-0.7512,  0.8974, -0.7512])
    """
    from hashlib import blake2b

    key = seed.to_bytes(8, "little", signed=True)
    # "surrogatepass", because a response may hold lone surrogates, for which UTF-8 has no form.
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for text in texts]
    # 53 bits, as many as a float holds exactly, times 2^-52: from 0 to below 2.
    bits = np.frombuffer(b"".join(digests), dtype="<u8") >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-52 - 1.0
