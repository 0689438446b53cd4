"""Samples that bear one name."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from grounding_rewards.converting.samples import Sample


class Names:
    """The names of samples, kept as 16 bytes each."""

    def __init__(self) -> None:
        self._digests, self._rows = array("Q"), array("Q")

    def add(self, samples: Iterable[Sample]) -> None:
        """Take note of samples."""
        for sample in samples:
            digest = blake2b(sample.name.encode(), digest_size=8).digest()
            self._digests.append(int.from_bytes(digest, "little"))
            self._rows.append(sample.index)

    def repeated(self, most: int = 5) -> tuple[int, list[tuple[int, int]]]:
        """How many bear the name of an earlier one, and the rows of the first of them, each behind its namesake's.

        >>> from grounding_rewards.targets.target import Target
        >>> names = Names()
        >>> names.add([Sample(row, "", Target(id=name), "", ()) for row, name in enumerate("abcb")])
        >>> names.repeated()
        (1, [(1, 3)])
        """
        digests, rows = (np.array(column, dtype=np.uint64) for column in (self._digests, self._rows))
        order = np.argsort(digests, kind="stable")
        again = np.flatnonzero(digests[order][1:] == digests[order][:-1])
        first = again[np.argsort(rows[order][again + 1], kind="stable")][:most]
        return len(again), [(int(rows[order][place]), int(rows[order][place + 1])) for place in first]
