"""A dialect for what stands between a pair of tags, such as the suggestion of a critic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.parsing.base import Answers, Dialect, Found, find, nothing, put
from grounding_rewards.parsing.patterns import check_patterns
from grounding_rewards.parsing.texts import Texts, tag_texts


@dataclass(frozen=True)
class TaggedDialect:
    """A dialect that reads nothing but what stands between ``<tag>`` and ``</tag>``.

    Tags that hold the same text, white space around it aside, are one. Of several that differ the first or the last one
    is read where that is the policy; else they are several answers (malformed under ``"all"``). A tag that is never
    closed, or holds what ``dialect`` does not read, is malformed.

    Args:
        dialect: reads the text between the tags as if it were the whole response.
        tag: the name of the tags.

    >>> from grounding_rewards.coords.spaces import CoordSpace
    >>> from grounding_rewards.parsing import BARE_TUPLE, parse
    >>> parse(["(9, 9): no. <better>(1, 2)</better>"], TaggedDialect(BARE_TUPLE, "better"), space=CoordSpace.PIXEL).xy
    array([[1., 2.]])
    """

    dialect: Dialect
    tag: str

    trusted = True

    @property
    def name(self) -> str:
        """Name of the dialect inside, and the tag."""
        return f"{self.dialect.name} in <{self.tag}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects inside."""
        return self.dialect.names

    @property
    def vocabulary(self) -> bool:
        """True where the dialect inside names actions in the shared vocabulary."""
        return bool(getattr(self.dialect, "vocabulary", False))

    def check_patterns(self) -> None:
        """Check the patterns inside."""
        check_patterns(self.dialect)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        table = nothing(len(texts), answers)
        table.begun[:] = [f"<{self.tag}>" in text for text in texts.values]
        held = [[each.strip() for each in tag_texts(text, self.tag)] for text in texts.values]
        alike = np.array([len(set(each)) for each in held], dtype=np.int64)
        rows = np.flatnonzero(alike > 0 if answers in ("first", "last") else alike == 1)
        if len(rows):
            end = -1 if answers == "last" else 0
            put(table, rows, find(self.dialect, Texts([held[row][end] for row in rows.tolist()]), answers))
            table.begun[rows] = True
        if answers == "only":
            table.count[alike > 1] = alike[alike > 1]
        return table
