"""Columns of TRL's tables of completions by what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.trainer_logs.rollout import VERDICTS

USUAL = ("step", "prompt", "completion", "advantage")
"""What every table of completions has."""

OTHERS = ("reason", "source", "temperature", "round", "policy", "token_length")
"""Further columns of a rollout table that functions may have logged."""

_OWN = ("acc", "total", "sample_id", "target", "response", "rollout", "reason")
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)


@dataclass(frozen=True)
class Names:
    """Columns of the tables by what they hold.

    Attributes:
        prefix: what the adapter's columns begin with; None where another reward function wrote the log.
        verdict: whether a response was right; None where none says so.
        total: the reward; None where there were several reward functions, whose weights the log does not say.
        parts: other numbers, by the names of their columns.
        points: the points answered, by the space that they are in.
    """

    prefix: str | None
    verdict: str | None
    total: str | None
    parts: Mapping[str, str] = field(default_factory=dict)
    points: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, kinds: Mapping[str, Any], path: Path) -> Names:
        """From the columns and their types.

        Raises:
            TableError: several columns say what was right.
        """
        ending = [name for name in kinds if name.endswith("/acc")]
        verdicts = [name for name in VERDICTS if name in kinds][:1] or ending
        if len(verdicts) > 1:
            raise TableError(
                f"{path}: {', '.join(verdicts)} each say whether a response was right; drop these columns but one"
            )
        prefix = verdicts[0][: -len("/acc")] if verdicts and verdicts[0] in ending else None
        own = {} if prefix is None else {name: f"{prefix}/{name}" for name in _OWN}
        points = {
            name.removeprefix(f"{prefix}/xy_"): name for name in kinds if prefix and name.startswith(f"{prefix}/xy_")
        }
        known = {*USUAL, *verdicts, *own.values(), *points.values(), *OTHERS, "sample_id", "target"}
        rewards = [name for name, kind in kinds.items() if name not in known and _is_number(kind)]
        total = next((name for name in (own.get("total"), "total") if name in kinds), None)
        if total is None and len(rewards) == 1:
            total = rewards[0]
        rest = [name for name in rewards if name not in (total, prefix)]
        parts = {name: name.removeprefix(f"{prefix}/") for name in rest}
        parts = {name: part for name, part in parts.items() if part not in COLUMNS}
        return cls(prefix, verdicts[0] if verdicts else None, total, parts, points)

    def own(self, name: str) -> str:
        """The adapter's column of a name, or that of the name alone."""
        return name if self.prefix is None else f"{self.prefix}/{name}"

    @property
    def key(self) -> str:
        """The column that tells responses apart; empty where none does."""
        return "" if self.prefix is None else self.own("rollout")

    @property
    def read(self) -> list[str]:
        """All columns that are read."""
        others = (*OTHERS, *_OWN, "data_source")
        own = [*others, *(self.own(name) for name in others), *self.parts, *self.points.values()]
        return list(dict.fromkeys([*USUAL, *own, *(name for name in (self.verdict, self.total) if name)]))


def _is_number(kind: Any) -> bool:
    return any(test(kind) for test in _NUMBERS)
