"""Whatever the model writes: several dialects tried in a stated order; the first that finds an answer counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grounding_rewards.parsing.bare_tuple import BARE_TUPLE
from grounding_rewards.parsing.dialect import Answers, Dialect, Found
from grounding_rewards.parsing.json_2d import JSON_2D
from grounding_rewards.parsing.refusal import REFUSAL
from grounding_rewards.parsing.texts import Texts
from grounding_rewards.parsing.tool_call import TOOL_CALL


@dataclass(frozen=True)
class AutoDialect:
    """Tries ``dialects`` in order, each on the texts in which the earlier ones found nothing."""

    dialects: tuple[Dialect, ...]
    name: str = "auto"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for dialect in self.dialects for name in dialect.names)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; ``dialect`` says which one matched."""
        found = _nothing(len(texts), answers)
        left = np.arange(len(texts))
        first_index = 0
        for dialect in self.dialects:
            if not len(left):
                break
            some = dialect.find(texts.take(left), answers)
            index = np.where(some.dialect >= 0, some.dialect + first_index, -1)
            some = replace(some, dialect=index.astype(np.int8), begun=some.begun | found.begun[left])
            _put(found, left, some)
            left = left[some.count == 0]
            first_index += len(dialect.names)
        return found


def _nothing(rows: int, answers: Answers) -> Found:
    return Found(
        xy=np.full((rows, 2), np.nan),
        box=np.full((rows, 4), np.nan),
        count=np.zeros(rows, dtype=np.int64),
        begun=np.zeros(rows, dtype=np.bool_),
        refused=np.zeros(rows, dtype=np.bool_),
        actions=np.full(rows, "", dtype=np.object_),
        dialect=np.full(rows, -1, dtype=np.int8),
        points=[np.zeros((0, 2)) for _ in range(rows)] if answers == "all" else None,
    )


def _put(found: Found, rows: np.ndarray[tuple[int], np.dtype[np.int64]], some: Found) -> None:
    for name in ("xy", "box", "count", "begun", "refused", "actions", "dialect"):
        getattr(found, name)[rows] = getattr(some, name)
    if found.points is not None and some.points is not None:
        for row, points in zip(rows, some.points, strict=True):
            found.points[row] = points


AUTO = AutoDialect((REFUSAL, TOOL_CALL, JSON_2D, BARE_TUPLE))
"""refusal, tool_call, json_2d, bare_tuple: what is most surely an answer comes first."""
