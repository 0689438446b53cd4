"""Accuracy of scores: counts, Wilson intervals, the same by field, and single rollouts beside an answer of several."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.rollouts import CLICKED, PARSED, Reason, Scores
from grounding_rewards.stats.intervals import exact_mean, pass_at_k, wilson, wilson_of_samples
from grounding_rewards.verifiers.action_match import gave_up

NONE = "(none)"
"""Label of rows without a value."""


@dataclass(frozen=True)
class Refusals:
    """Counts of refusals, wanted and unwanted."""

    targets: int  # valid rows whose target is a refusal
    correct: int  # right ones among them, those with acc 1
    false_clicks: int  # wrong ones among them that answer with a place, in the image or outside it, or another action
    false_refusals: int  # wrong rows of other targets among valid ones that refuse or finish as impossible


@dataclass(frozen=True)
class Actions:
    """Counts of rows by the parts of their actions."""

    types: int  # valid rows whose type of action is right
    placed: int  # valid rows whose target has a place
    places: int  # those that hit it, whatever the action is


@dataclass(frozen=True)
class Evaluation:
    """Counts over rollouts, with rates and intervals."""

    valid: int  # rows with a usable target
    correct: int  # valid rows with acc 1
    parsed: int  # valid rows with a parsed response: a place or a refusal
    not_valid: int  # rows with an unusable target; they count only here and in reasons
    reasons: Mapping[str, int]  # rows by reason, by name, in the order of Reason; only those that occur
    refusals: Refusals | None = None  # counts of refusals; None if not requested
    actions: Actions | None = None  # counts of types and places; None where no target is a whole action
    # The same for the rows of each value of each field, the most frequent value first.
    by: Mapping[str, Mapping[str, Evaluation]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return self.valid + self.not_valid

    @property
    def accuracy(self) -> float | None:
        """Return the share of right rows, correct / valid; None where none is valid."""
        return self.correct / self.valid if self.valid else None

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % Wilson interval of the accuracy; (0, 1) where no row is valid."""
        low, high = wilson(self.correct, self.valid)
        return float(low), float(high)

    @property
    def parse_rate(self) -> float | None:
        """Return the share of parsed responses, parsed / valid; None where no row is valid."""
        return self.parsed / self.valid if self.valid else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; ``refusals``, ``actions`` and ``by`` only where there are some."""
        plain: dict[str, Any] = {
            "rows": self.rows,
            "valid": self.valid,
            "correct": self.correct,
            "accuracy": self.accuracy,
            "interval": list(self.interval),
            "parse_rate": self.parse_rate,
            "reasons": dict(self.reasons),
        }
        if self.refusals is not None:
            plain["refusals"] = asdict(self.refusals)
        if self.actions is not None:
            plain["actions"] = asdict(self.actions)
        if self.by:
            plain["by"] = {
                name: {value: part.to_dict() for value, part in parts.items()} for name, parts in self.by.items()
            }
        return plain


def evaluate(
    scores: Scores,
    *,
    refusals: NDArray[np.bool_] | None = None,
    places: Floats | None = None,
    by: Mapping[str, Sequence[Any]] | None = None,
) -> Evaluation:
    """Count n scores; ``refusals`` are True where the target is one, ``by`` has fields to break down by.

    ``places`` are 1.0 where the place of a whole action is hit, NaN where its target has none; None without actions.

    A field has n values. A list counts under each of its values, once; None, NaN and an empty list under "(none)".
    """
    for name, column in {"refusals": refusals, **(by or {})}.items():
        if column is not None and len(column) != len(scores):
            raise ValueError(f"{name}: got {len(column)} values; expected one for each of {len(scores)} rows")
    everything, refused = np.arange(len(scores)), gave_up(scores.predictions) | (scores.reason == Reason.REFUSED)

    def count(rows: NDArray[np.int64]) -> Evaluation:
        found = _count(scores, refusals, refused, rows)
        return found if places is None else replace(found, actions=_actions(scores, places, rows))

    return replace(
        count(everything),
        by={
            name: _ordered({value: count(rows) for value, rows in rows_by_value(column).items()})
            for name, column in (by or {}).items()
        },
    )


def merge(evaluations: Iterable[Evaluation]) -> Evaluation:
    """Merge evaluations of disjoint rows, such as those of a file's batches."""
    several = list(evaluations)
    refusals = [astuple(each.refusals) for each in several if each.refusals is not None]
    actions = [astuple(each.actions) for each in several if each.actions is not None]
    reasons: Counter[str] = sum((Counter(each.reasons) for each in several), Counter())
    parts: dict[str, dict[str, list[Evaluation]]] = {}
    for each in several:
        for name, values in each.by.items():
            for value, part in values.items():
                parts.setdefault(name, {}).setdefault(value, []).append(part)
    return Evaluation(
        valid=sum(each.valid for each in several),
        correct=sum(each.correct for each in several),
        parsed=sum(each.parsed for each in several),
        not_valid=sum(each.not_valid for each in several),
        reasons={reason.name: reasons[reason.name] for reason in Reason if reason.name in reasons},
        refusals=Refusals(*np.sum(refusals, axis=0).tolist()) if refusals else None,
        actions=Actions(*np.sum(actions, axis=0).tolist()) if actions else None,
        by={name: _ordered({value: merge(same) for value, same in values.items()}) for name, values in parts.items()},
    )


def _count(
    scores: Scores, refusals: NDArray[np.bool_] | None, refused: NDArray[np.bool_], rows: NDArray[np.int64]
) -> Evaluation:
    # A bad target says nothing of the model, so its row counts in no rate.
    valid, right, reason = scores.valid[rows] == 1, scores.acc[rows] == 1, scores.reason[rows]
    codes, found = np.bincount(reason, minlength=len(Reason)), None
    if refusals is not None:
        asked, wrong, gone = refusals[rows], valid & ~right, refused[rows]
        found = Refusals(
            targets=int((asked & valid).sum()),
            correct=int((asked & right).sum()),
            false_clicks=int((asked & wrong & ~gone & np.isin(reason, CLICKED)).sum()),
            false_refusals=int((~asked & wrong & gone).sum()),
        )
    return Evaluation(
        valid=int(valid.sum()),
        correct=int(right.sum()),
        parsed=int((valid & np.isin(reason, PARSED)).sum()),
        not_valid=int((~valid).sum()),
        reasons={name.name: int(codes[name]) for name in Reason if codes[name]},
        refusals=found,
    )


def _actions(scores: Scores, places: Floats, rows: NDArray[np.int64]) -> Actions:
    rows = rows[scores.valid[rows] == 1]
    types, hit = scores.parts["type"][rows] > 0, places[rows]
    return Actions(int(types.sum()), int((~np.isnan(hit)).sum()), int((hit > 0).sum()))


def rows_by_value(column: Sequence[Any]) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each value of a field, as in ``evaluate``."""
    rows_of: dict[str, list[int]] = {}
    for row, value in enumerate(column):
        # Parquet gives arrays and scalars of numpy, which JSON does not write.
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        values = value if isinstance(value, list | tuple) else [value]
        for label in dict.fromkeys(map(_label, values)) or [NONE]:  # a list may hold a value twice; the row counts once
            rows_of.setdefault(label, []).append(row)
    return {label: np.array(rows, dtype=np.int64) for label, rows in rows_of.items()}


def _label(value: Any) -> str:
    if value is None or value != value:
        return NONE
    # As JSON: true and 1 stay apart, and all labels are texts, which sort.
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _ordered(parts: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    return dict(sorted(parts.items(), key=lambda part: (-part[1].rows, part[0])))


@dataclass(frozen=True)
class SingleAnswers:
    """Accuracy of single rollouts."""

    samples: int  # samples with a valid rollout
    rollouts: int  # valid rollouts of all of them
    accuracy: float | None  # mean over samples of the share of right rollouts; None without samples
    interval: tuple[float, float]  # its 95 % interval, of wilson_of_samples
    k: int  # the smallest number of valid rollouts of a sample; 0 without samples
    # Mean over samples of the unbiased chance that one of k rollouts is right; None without samples.
    pass_at_k: float | None

    @classmethod
    def of(cls, correct: Ints, n: Ints) -> SingleAnswers:
        """Count the right ones of n valid rollouts of m samples, both (m,); samples without any do not count."""
        correct, n = correct[n > 0], n[n > 0]
        if not len(n):
            return cls(0, 0, None, (0.0, 1.0), 0, None)
        k = int(n.min())
        chance = exact_mean(pass_at_k(n, correct, k))
        return cls(len(n), int(n.sum()), exact_mean(correct / n), wilson_of_samples(correct, n), k, chance)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "interval": [*self.interval]}
