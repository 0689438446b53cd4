"""Lists of two whole numbers: ``[512,384]``, as UI-Ins reads them out of its tool calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.parsing.dialect import Answers, Found, PatternDialect
from grounding_rewards.parsing.texts import SPACE, Texts, matches

_LISTS = PatternDialect(
    name="integer_list",
    pattern=rf"\[{SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\]",
)


@dataclass(frozen=True)
class IntegerListDialect:
    """A pattern without signs: in texts with long reasoning, looking for [ first takes longer than the pattern."""

    name: str = _LISTS.name

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return (self.name,)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        found = _LISTS.find(texts, answers)
        left = np.flatnonzero(found.count == 0)
        found.begun[:] = True
        found.begun[left] = matches(texts.take(left), r"\[")
        return found


INTEGER_LIST = IntegerListDialect()
"""Two unsigned whole numbers in square brackets, anywhere in the text; lists of anything else are no answer."""
