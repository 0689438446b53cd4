"""Differences in reward inside groups of rollouts: how many groups have any, and what makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.checks.finding import Code, Finding, Severity
from grounding_rewards.groups.spread import NO_SIGNAL

_MOST = 0.5
"""Share of groups without any difference, and of the variance that form alone makes, above which it is a finding."""

_ENOUGH = 10
"""Number of groups from which a share is said."""


@dataclass(frozen=True)
class GroupFigures:
    """Figures of the groups of two rollouts and more."""

    groups: int  # their number
    equal: int  # those of which all rollouts earn the same, within 1e-6, so that every advantage is 0
    right: int  # those of them that are all right
    wrong: int  # those of them that are all wrong
    # share of the variance of rewards inside groups that whether an answer was read explains; None without any
    form: float | None
    place: float | None  # share that whether it was right explains beyond that

    def findings(self) -> list[Finding]:
        """Return what looks wrong."""
        several = list[Finding]()
        if self.groups >= _ENOUGH and self.equal > _MOST * self.groups:
            message = (
                f"rollouts of {self.equal:,} of {self.groups:,} groups all earn the same, so that nothing is learnt of "
                f"them: {self.right:,} are all right, {self.wrong:,} all wrong"
            )
            fix = "choose samples by pool next, or a temperature by pool temperature"
            several.append(Finding(Code.NO_VARIANCE, Severity.WARNING, self.equal, (), message, fix))
        if self.groups >= _ENOUGH and self.form is not None and self.form > _MOST:
            message = (
                f"{100 * self.form:.0f} % of the variance of rewards inside groups is whether an answer can be read, "
                f"and {100 * (self.place or 0):.0f} % whether it is right"
            )
            fix = "have the prompt show the form, or lower the weight of the form"
            several.append(Finding(Code.FORM_ALONE, Severity.WARNING, self.groups, (), message, fix))
        return several


@dataclass(eq=False)
class Groups:
    """Rewards by group, batch by batch; rows whose target cannot be used count nowhere.

    >>> groups = Groups()
    >>> groups.add(["a", "a", "b", "b"], np.array([1, 0.1, 0, 0]), np.array([1, 0, 0, 0]), np.ones(4), np.ones(4))
    >>> groups.figures()
    GroupFigures(groups=2, equal=1, right=0, wrong=1, form=0.0, place=1.0)
    """

    _names: dict[Any, int] = field(default_factory=dict)
    _group: list[Ints] = field(default_factory=list)
    _values: list[Floats] = field(default_factory=list)  # total, acc and parsed of each row

    def add(self, names: Any, total: Floats, acc: Floats, parsed: Floats, valid: Floats) -> None:
        """Add the rows of a batch, each with the name of its group."""
        known, kept = self._names, np.flatnonzero(valid > 0)
        self._group.append(np.array([known.setdefault(names[row], len(known)) for row in kept.tolist()], np.int64))
        self._values.append(np.stack([total, acc, parsed])[:, kept])

    def figures(self) -> GroupFigures:
        """Return the figures so far."""
        group = np.concatenate([np.zeros(0, np.int64), *self._group])
        total, acc, parsed = np.concatenate([np.zeros((3, 0)), *self._values], axis=1)
        size = np.bincount(group, minlength=len(self._names))
        several = size > 1
        low, high = np.full(len(size), np.inf), np.full(len(size), -np.inf)
        np.minimum.at(low, group, total)
        np.maximum.at(high, group, total)
        right = np.bincount(group, acc, len(size))
        equal = several & (high - low <= NO_SIGNAL)
        total = np.where(equal[group], low[group], total)  # so that nothing explains what rounding leaves
        inside = [_centred(values, group, size)[several[group]] for values in (total, parsed, acc)]
        form, both = _explained(inside[0], inside[1:2]), _explained(inside[0], inside[1:])
        return GroupFigures(
            groups=int(several.sum()),
            equal=int(equal.sum()),
            right=int((equal & (right == size)).sum()),
            wrong=int((equal & (right == 0)).sum()),
            form=form,
            place=None if both is None or form is None else max(0.0, both - form),
        )


def _centred(values: Floats, group: Ints, size: Ints) -> Floats:
    """Return values less the mean of their group; exactly 0 where all of a group are alike."""
    first = np.zeros(len(size))
    first[group[::-1]] = values[::-1]
    apart = values - first[group]
    centred: Floats = apart - (np.bincount(group, apart, len(size)) / np.maximum(1, size))[group]
    return centred


def _explained(values: Floats, by: list[Floats]) -> float | None:
    """Return the share of the sum of squares that a least-squares fit of ``by`` explains; None of nothing."""
    whole = float(values @ values)
    if not whole:
        return None
    columns = np.stack(by, axis=1)
    rest = values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
    return round(max(0.0, 1 - float(rest @ rest) / whole), 12)
