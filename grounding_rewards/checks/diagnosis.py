"""The diagnosis at the end of a run: what scored rows show about wrong settings, columns and data.

Rows come batch by batch. Outcomes are counted over all of them; what is costly is asked of a sample of rows that is
spread over them: other dialects for unread responses, other spaces, and actions that no response takes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import WRITTEN
from grounding_rewards.checks.finding import BOX_FORMAT, FIRST_ROWS, PYTHON, Code, Finding, Naming, Severity
from grounding_rewards.checks.landing import Landing
from grounding_rewards.checks.other_readings import Reading, Row, RowSample, fitted, other_reading, prepared, takes
from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL
from grounding_rewards.errors import TargetError
from grounding_rewards.parsing.refusal_words import COMMON, with_refusal_words
from grounding_rewards.parsing.responses import MAX_LENGTH, parse
from grounding_rewards.rollouts import PARSED, Reason
from grounding_rewards.scoring import ACTION, Recipe
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.suspects import NAMED, SuspectTargets, merged, reported, suspect_targets
from grounding_rewards.verifiers.action_match import gave_up
from grounding_rewards.verifiers.match import in_vocabulary

if TYPE_CHECKING:
    from grounding_rewards.batch.score_rows import RecipeSlice
    from grounding_rewards.checks.space_fit import SpaceFit


Place = Callable[[int], str]

_FEW = 3
"""So many rows of a kind may be chance."""

_SOME, _REFUSED, _OUTSIDE, _HITS, _RESIZED_HITS = 0.05, 0.2, 0.2, 0.01, 0.25
"""Shares of rows: unread, refused and outside ones above these, and hits below, are findings."""

_FEW_ROWS = 20
"""Below this many rows a share says nothing."""

_TEXT = 1 << 22
"""Characters that other settings are tried on: each reads all texts again, and hostile ones are slow to read."""

_ENOUGH = 50
"""Rows that are read, and could be right."""

_UNREAD = [each for each in Reason if each not in (*PARSED, Reason.EMPTY, Reason.BAD_TARGET, Reason.UNKNOWN_ACTION)]
"""Reasons under which a text was not read."""

_CHANCE, _MOST_BY_CHANCE = 0.05, 0.2
"""Chance from which hits are no more than by chance, and the share of hits above which they are."""

_NEAR = 0.4
"""Likeness of names, of 0 to 1, from which one is named for another."""

_UNKNOWN = [Reason.UNKNOWN_ACTION]

_WARNING, _NOTE = Severity.WARNING, Severity.NOTE
_FINE = (Reason.OK, Reason.REFUSED, Reason.BAD_TARGET)


@dataclass(eq=False)
class Diagnosis:
    """Findings about rows that one recipe scored."""

    recipe: Recipe  # the recipe
    naming: Naming = PYTHON  # names of settings, for fixes
    box_format: BoxFormat | None = None  # how boxes of targets were declared to be written
    first: int = 0  # number of the first row, where others are counted elsewhere and joined
    rows: int = 0  # number of rows so far
    hits: int = 0  # number of right ones
    _outcomes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(Reason), dtype=np.int64))
    _first: dict[Reason, tuple[str, list[int]]] = field(default_factory=dict)
    _bad_target: str = ""
    _suspects: list[SuspectTargets] = field(default_factory=list)
    _to_refuse: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(Reason), dtype=np.int64))
    _unrefused: str = ""  # the first unread response to a target that asks for a refusal
    _wrong_refusals: int = 0
    _refused: bool = False  # True where a response to such a target refuses, or finishes as impossible
    sample: RowSample = field(default_factory=RowSample)  # rows that are kept to try other settings on
    _faults: dict[int, str] = field(default_factory=dict)  # of a function that is a recipe, by row
    _fit: tuple[int, SpaceFit] | None = None  # the search for other spaces, and the number of rows by then

    def add(self, scored: RecipeSlice, rows: int | None = None, place: Place | None = None) -> None:
        """Count scored rows."""
        count = len(scored.scores) if rows is None else min(rows, len(scored.scores))
        reason = scored.scores.reason[:count]
        self._outcomes += np.bincount(reason, minlength=len(Reason))
        self.hits += int(np.count_nonzero(scored.scores.acc[:count] > 0))
        self._keep_first(reason, scored.inputs.responses)
        self.sample.add(scored, count, self.number)
        for row, fault in getattr(scored.scores, "faults", {}).items():
            self._faults[self.number + row] = fault if place is None else f"{fault} ({place(row)})"
        if scored.scores.errors and not self._bad_target:
            self._bad_target = _named(*next(iter(scored.scores.errors.items())), place)
        if not self.recipe.label_free:
            targets = scored.rollouts.targets
            # Boxes that are no lines only clear others: once is enough.
            partly = targets.flat or not any(each.against for each in self._suspects)
            noticed = suspect_targets(targets, self.recipe.requirements, count, partly=partly)
            named = [each if place is None else replace(each, first=place(each.row)) for each in noticed]
            self._suspects = merged([*self._suspects, *(replace(each, row=self.number + each.row) for each in named)])
            self._look_at_refusals(scored, reason)
        self.rows += count

    def _keep_first(self, reason: NDArray[np.int8], responses: Sequence[str | None]) -> None:
        for code in np.flatnonzero(np.bincount(reason)).tolist():
            kind = Reason(code)
            if len(self._first.get(kind, ("", ()))[1]) < FIRST_ROWS:
                rows = np.flatnonzero(reason == code)[:FIRST_ROWS].tolist()
                _, known = self._first.setdefault(kind, (responses[rows[0]] or "", []))
                known += [self.number + row for row in rows[: FIRST_ROWS - len(known)]]

    def _look_at_refusals(self, scored: RecipeSlice, reason: NDArray[np.int8]) -> None:
        targets, refused = scored.rollouts.targets, reason == Reason.REFUSED
        wrong = refused & ~(scored.scores.acc[: len(reason)] > 0)
        if targets.has_actions_or_refusals:
            to_refuse = targets.refusal[: len(reason)]
            self._to_refuse += np.bincount(reason[to_refuse], minlength=len(Reason))
            self._refused |= bool((refused | gave_up(scored.rollouts.predictions)[: len(reason)])[to_refuse].any())
            unread = np.flatnonzero(to_refuse & np.isin(reason, _UNREAD) & (reason != Reason.UNFINISHED))
            if len(unread) and not self._unrefused:
                self._unrefused = scored.inputs.responses[int(unread[0])] or ""
            wrong &= ~to_refuse
        self._wrong_refusals += int(np.count_nonzero(wrong))

    @property
    def number(self) -> int:
        """Number of the next row."""
        return self.first + self.rows

    def join(self, other: Diagnosis) -> None:
        """Add the rows that another one has counted, which follow these."""
        self._outcomes += other._outcomes
        self._to_refuse += other._to_refuse
        self.hits += other.hits
        self._wrong_refusals += other._wrong_refusals
        self._refused |= other._refused
        self._bad_target = self._bad_target or other._bad_target
        self._unrefused = self._unrefused or other._unrefused
        for kind, (text, rows) in other._first.items():
            _, known = self._first.setdefault(kind, (text, []))
            known += rows[: FIRST_ROWS - len(known)]
        self._suspects = merged([*self._suspects, *other._suspects])
        self._faults |= other._faults
        self.sample.join(other.sample)
        self.rows += other.rows

    @property
    def valid(self) -> int:
        """Number of rows with a usable target."""
        return self.rows - int(self._outcomes[Reason.BAD_TARGET])

    @property
    def parsed(self) -> int:
        """Number of rows among them whose response was read."""
        return int(self._outcomes[list(PARSED)].sum())

    def commonest(self) -> str:
        """Return the commonest reason for which a response was not read or lies outside, with one; "" for none."""
        wrong = [(int(self._outcomes[reason]), reason) for reason in Reason if reason not in _FINE]
        count, reason = max(wrong, key=lambda each: each[0])
        return f"{reason.name} in {count:,}, such as {_shortened(self._first[reason][0])}" if count else ""

    def fit(self) -> SpaceFit:
        """Return the search for other spaces, over the rows that were kept for it."""
        if self._fit is None or self._fit[0] != self.rows:
            self._fit = self.rows, fitted(self.recipe, self._rows_to_try(), self.box_format)
        return self._fit[1]

    def findings(self) -> list[Finding]:
        """Return what looks wrong so far, the gravest first."""
        if self.recipe.reads_itself:
            return [*self._bad_targets(), *self._failed()]
        rows = self._rows_to_try()
        unread = self._empty() or self._unread(rows)
        space = self._space(rows)
        several = [*self._bad_targets(), *unread, *self._unknown_actions(rows), *space, *self._suspicious(space)]
        if unread:  # where answers are not read, actions and refusals are not either, and nothing hits
            return several
        return [*several, *self._never_done(rows), *self._refusals(), *([] if space else self._misses(rows))]

    def _rows_to_try(self) -> list[Row]:
        """Return the kept rows; where their texts are long, every second, third, ... of them."""
        rows = self.sample.rows
        length = sum(min(len(row.response or ""), MAX_LENGTH) for row in rows)
        return rows[:: max(1, -(-length // _TEXT))]

    def _finding(
        self, code: Code, count: int, message: str, fix: str, reasons: Sequence[Reason] = (), *, note: bool = False
    ) -> Finding:
        """Return a warning or a note; its rows are the first that have one of the reasons."""
        rows = sorted(row for reason in reasons for row in self._first.get(reason, ("", ()))[1])
        return Finding(code, _NOTE if note else _WARNING, count, tuple(rows[:FIRST_ROWS]), message, fix)

    def _bad_targets(self) -> list[Finding]:
        count = self.rows - self.valid
        if not count:
            return []
        have = f"{count:,} rows have targets" if count > 1 else "1 row has a target"
        if count > _SOME * self.rows and self.rows >= _FEW_ROWS:  # figures are of the rest
            have = f"{count:,} of {self.rows:,} rows ({100 * count / self.rows:.0f} %) are left out: they have targets"
        first = self._bad_target and f", the first: {self._bad_target}"
        fix = "such rows count in no figure: correct them or leave them out"
        return [self._finding(Code.BAD_TARGET, count, f"{have} that cannot be used{first}", fix, [Reason.BAD_TARGET])]

    def _failed(self) -> list[Finding]:
        count, rows = len(self._faults), tuple(self._faults)[:FIRST_ROWS]
        if not count:
            return []
        have = f"{count:,} of {self.rows:,} rows" if count > 1 else f"1 of {self.rows:,} rows"
        message = f"{self.recipe.name} gave no usable number for {have}, which score 0: it {self._faults[rows[0]]}"
        return [Finding(Code.FAILED, _WARNING, count, rows, message, "")]

    def _empty(self) -> list[Finding]:
        count = int(self._outcomes[Reason.EMPTY])
        if count < _FEW or 2 * count <= self.valid:
            return []
        message, fix = f"{count:,} of {self.valid:,} responses are empty", f"check {self.naming.responses}"
        return [self._finding(Code.EMPTY_RESPONSES, count, message, fix, [Reason.EMPTY])]

    def _unread(self, sample: Sequence[Row]) -> list[Finding]:
        count = int(self._outcomes[_UNREAD].sum())
        if count < _FEW or count < _SOME * self.valid:
            return []
        rows = [row for row in sample if row.reason in _UNREAD]
        numbers = any(re.search("[0-9]", row.response or "") for row in rows)
        accuracy = self.hits / self.parsed if self.parsed else 0.0
        other = other_reading(self.recipe, rows, self.box_format, accuracy) if numbers else None
        example = self.recipe.example and f" (answers such as {_shortened(self.recipe.example.response)})"
        was = f"{self.parsed:,} of {self.valid:,} responses were read as {self.recipe.dialect.name}{example or ''}"
        if other is not None:
            tried = "the others" if len(rows) == count else f"{len(rows)} others that were tried"
            message = f"{was}; {other.count} of {tried} are read {other.how}"
            return [self._finding(Code.UNREAD, count, message, self._use(other, sample), _UNREAD)]
        if 2 * count <= self.valid:
            return []
        message = f"{was}{'' if numbers else ', and none of the others holds a number'}: {self.commonest()}"
        return [self._finding(Code.UNREAD, count, message, f"check {self.naming.responses}", _UNREAD)]

    def _use(self, other: Reading, sample: Sequence[Row]) -> str:
        """Return how to read responses otherwise, with the space that then fits."""
        better = fitted(other.recipe, sample, self.box_format).better
        settings = {**other.settings, **(dict(better.settings) if better else {})}
        without = f", without the option {', '.join(other.without)}" if other.without else ""
        lacks = f"; it also needs {other.lacks}" if other.lacks else ""
        return f"{self.naming.use(settings)}{without}{lacks}"

    def _space(self, sample: Sequence[Row]) -> list[Finding]:
        misses = tuple(row.number for row in sample if row.reason in PARSED and not row.right)
        if not misses and self.valid == self.rows:  # else rows without a usable target may have been read
            return []
        fit = self.fit()
        if fit.better is None:
            return []
        better, why = dict(fit.better.settings), f"{fit}"
        if len(sample) < self.rows:
            why = f"{why}, by a sample of {len(sample)} rows"
        code = Code.BOX_FORMAT if BOX_FORMAT in better else Code.SPACE
        return [Finding(code, _WARNING, len(misses), misses[:FIRST_ROWS], why, self.naming.use(better))]

    def _suspicious(self, known: Sequence[Finding]) -> list[Finding]:
        """Return the targets that look wrong, but for kinds that other findings explain better."""
        return [
            Finding(Code(each.code), _WARNING, each.count, (each.row,), each.message, each.fix)
            for each in reported(self._suspects)
            if each.code not in {finding.code for finding in known}
        ]

    def _unknown_actions(self, sample: Sequence[Row]) -> list[Finding]:
        """Return the names of actions that responses use and nothing knows, with the nearest known ones."""
        count, rows = int(self._outcomes[Reason.UNKNOWN_ACTION]), [row for row in sample if row.reason in _UNKNOWN]
        if count < _FEW or count < _SOME * self.valid or not rows:
            return []
        names = Counter(prepared(self.recipe, rows, self.box_format).predictions.actions.tolist())
        known = (*WRITTEN, *self.recipe.action_names)
        nearest = {name: get_close_matches(name, known, 1, _NEAR) for name, _ in names.most_common(NAMED)}
        named = ", ".join(
            f"{name!r:.80} ({names[name]}{f', nearest to {near[0]!r}' if near else ''})"
            for name, near in nearest.items()
        )
        message = f"{count:,} of {self.valid:,} responses name an action that nothing knows: {named}"
        fix = "have the prompt list known names, or declare names of your own: option action_names"
        few = 2 * count <= self.valid
        return [self._finding(Code.UNKNOWN_ACTION, count, message, fix, _UNKNOWN, note=few)]

    def _refusals(self) -> list[Finding]:
        """Return what is wrong with refusals: none was read, or too many are."""
        findings = []
        to_refuse = int(self._to_refuse.sum() - self._to_refuse[Reason.BAD_TARGET])
        if to_refuse >= _FEW and not self._refused:
            unread = 2 * int(self._to_refuse[_UNREAD].sum()) > to_refuse
            such = f", but for example {_shortened(self._unrefused)}" if unread else ""
            message = f"{to_refuse:,} targets ask for a refusal, and no response to them is read as one{such}"
            fix = self._refusal_words() if unread else ""
            findings.append(self._finding(Code.REFUSALS, to_refuse, message, fix, note=not unread))
        count, others = self._wrong_refusals, self.valid - to_refuse
        if count >= _FEW and count > _REFUSED * others:
            example = _shortened(self._first[Reason.REFUSED][0])
            message = f"{count:,} of {others:,} responses refuse where something else is right, such as {example}"
            fix = "check the images and the instructions"
            findings.append(self._finding(Code.REFUSALS, count, message, fix, [Reason.REFUSED]))
        return findings

    def _refusal_words(self) -> str:
        """Return the fix of refusals that are not read."""
        if takes(self.recipe, "refusal_words"):
            common = with_refusal_words(self.recipe.dialect, [COMMON])
            (reason,) = parse([self._unrefused], common, space=PIXEL).reason
            words = COMMON if reason == Reason.REFUSED else self._unrefused[:80]
            return f"if that is a refusal: {self.naming.use({'refusal_words': [words]})}"
        return f"{self.recipe.name} reads no such words as a refusal"

    def _never_done(self, sample: Sequence[Row]) -> list[Finding]:
        """Return the actions that targets ask for and no response takes."""
        if ACTION not in self.recipe.accepts or not sample:
            return []
        rollouts = prepared(self.recipe, sample, self.box_format)
        done = set(in_vocabulary(rollouts.predictions)[rollouts.predictions.parsed])
        done |= {"scroll"} if "swipe" in done else set()
        done |= {each.action for each in self._suspects}  # nothing knows these
        failed = {place for place, row in enumerate(sample) if row.reason in PARSED and not row.right}
        wanted = rollouts.targets.alternatives
        pairs = set(zip(wanted.row.tolist(), wanted.canonical.names.tolist(), strict=True))
        asked = Counter(name for place, name in pairs if place in failed and name not in done)
        least = 1 if len(sample) == self.rows else _FEW  # a rare action may be done in other rows
        never = {name: count for name, count in asked.most_common(3) if count >= least}
        if not never:
            return []
        where = "" if len(sample) == self.rows else f" in {len(sample)} of {self.rows:,} rows"
        named = ", ".join(f"{name!r} ({count})" for name, count in never.items())
        rows = sorted(sample[place].number for place, name in pairs if place in failed and name in never)
        message, fix = f"asked for and never done{where}: {named}", "check the prompt's list of actions"
        return [Finding(Code.NEVER_DONE, _NOTE, sum(never.values()), tuple(rows[:FIRST_ROWS]), message, fix)]

    def _is_chance(self, sample: Sequence[Row]) -> bool:
        """Return True where hits are as rare as those of answers to other rows, by a Poisson test at 0.05."""
        if not sample or self.hits > _MOST_BY_CHANCE * self.parsed:
            return False
        rollouts = prepared(self.recipe, sample, self.box_format)
        places = Landing.of(rollouts.targets, self.recipe.space)
        share = places.hit_by(rollouts.predictions.xy, rollouts.targets.valid).by_chance()
        if share is None:
            return False
        expected = max(1.0, share * self.parsed)
        fewer = sum(math.exp(hits * math.log(expected) - expected - math.lgamma(hits + 1)) for hits in range(self.hits))
        return 1 - fewer > _CHANCE

    def _misses(self, sample: Sequence[Row]) -> list[Finding]:
        """Return why responses are read and hardly any is right, where no other space fits."""
        if self.recipe.label_free:
            return []
        outside = int(self._outcomes[Reason.OUT_OF_IMAGE])
        off = outside > _OUTSIDE * self.parsed
        hardly = self.parsed >= _ENOUGH and (self.hits < _HITS * self.parsed or self._is_chance(sample))
        resized = self.recipe.response_space == MODEL_PIXEL and self.recipe.resizing is not None
        if resized and self.parsed >= _FEW and self.hits < _RESIZED_HITS * self.parsed:
            message = "answers are in pixels of the resized image, and most of them miss"
            fix = f"compare the bounds that are set here with the launch's own: {self.naming.bounds}"
            doubtful = self.parsed < _ENOUGH or not (hardly or off)
            return [self._finding(Code.MODEL_BOUNDS, self.parsed - self.hits, message, fix, note=doubtful)]
        if self.parsed >= _ENOUGH and hardly:
            none = f"only {self.hits:,}" if self.hits else "none"
            message = f"{none} of {self.parsed:,} responses that were read {'are' if self.hits > 1 else 'is'} right"
            message += ", no more than by chance" if self.hits >= _HITS * self.parsed else ""
            fix = f"check the targets and their space, the sizes of the images and {self.naming.responses}"
            return [self._finding(Code.NO_HITS, self.parsed - self.hits, message, fix)]
        if self.parsed >= _ENOUGH and off:
            example = _shortened(self._first[Reason.OUT_OF_IMAGE][0])
            message = f"{outside:,} of {self.parsed:,} answers lie outside their images, such as {example}"
            fix = "check whether some are in another space than the rest, and the sizes of the images"
            return [self._finding(Code.ANSWERS_OUTSIDE, outside, message, fix, [Reason.OUT_OF_IMAGE])]
        return []


def _named(row: int, error: TargetError, place: Place | None) -> str:
    """Return the text of an error, with the place of its row."""
    if place is None:
        return str(error)
    return f"{place(row)}: {error.problem if isinstance(error.sample, int) else error}"


def _shortened(text: str) -> str:
    return repr(text) if len(text) <= 120 else f"{text[:120]!r}…"
