"""Whatever the model writes: several dialects tried in a stated order; the first that finds an answer counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grounding_rewards.parsing.bare_tuple import BARE_TUPLE
from grounding_rewards.parsing.dialect import Answers, Dialect, Found, nothing, put
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
        """Names of the dialects tried, in order."""
        return tuple(name for dialect in self.dialects for name in dialect.names)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; ``dialect`` says which one matched."""
        found = nothing(len(texts), answers)
        left = np.arange(len(texts))
        first_index = 0
        for dialect in self.dialects:
            if not len(left):
                break
            some = dialect.find(texts.take(left), answers)
            index = np.where(some.dialect >= 0, some.dialect + first_index, -1)
            some = replace(some, dialect=index.astype(np.int8), begun=some.begun | found.begun[left])
            put(found, left, some)
            left = left[some.count == 0]
            first_index += len(dialect.names)
        return found


AUTO = AutoDialect((REFUSAL, TOOL_CALL, JSON_2D, BARE_TUPLE))
"""refusal, tool_call, json_2d, bare_tuple: what is most surely an answer comes first."""
