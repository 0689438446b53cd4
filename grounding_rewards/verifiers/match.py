"""Scores of an action by its parts: its type, its text, and its other arguments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.actions import Arguments, Objects, canonical, key_name, opposite
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.rollouts import CLICKED, Predictions, Reason, Rollouts
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.edits import likeness
from grounding_rewards.verifiers.hit import GROWN, screens, within
from grounding_rewards.verifiers.options import Length, Part, Positive, ScreenShare
from grounding_rewards.verifiers.terms import Mask, OfAlternatives

Columns = tuple[NDArray[Any] | None, NDArray[Any] | None]
"""An argument as predicted and as wanted, a value for each of k alternatives; None where no row has one."""


def argument(rollouts: Rollouts, name: str, alternatives: Alternatives | None = None) -> Columns:
    """Return an argument of each alternative: its sample's response's, and the one that it wants itself."""
    alternatives = rollouts.targets.alternatives if alternatives is None else alternatives
    wanted: NDArray[Any] | None = getattr(alternatives.arguments, name)
    written: NDArray[Any] | None = getattr(rollouts.predictions.arguments, name)
    return None if written is None else alternatives.each(written), wanted


def compared(
    columns: Columns, rows: int, compare: Callable[[Any, Any], float], among: Mask = None, unasked: float = 1.0
) -> Floats:
    """Return compare(written, wanted) for each of k alternatives: (k,).

    ``unasked`` where nothing is wanted, or among others than those asked for; 0.0 where something is and the response
    has none.
    """
    written, wanted = columns
    if wanted is None:
        return np.full(rows, unasked)
    scores, rights = [unasked] * rows, wanted.tolist()
    values = [None] * rows if written is None else written.tolist()
    for row in range(rows) if among is None else np.flatnonzero(among).tolist():  # comparing texts takes longest
        right = rights[row]
        if right is not None:
            scores[row] = 0.0 if values[row] is None else compare(values[row], right)
    return np.array(scores, dtype=np.float64)


Names = Literal["vocabulary", "written", "lower", "contained"]
Presses = Literal["apart", "one"]

_PRESSED = ("back", "home", "menu", "recent", "enter")

# A table by code: looking up n rows is quicker than comparing each with several codes.
_ACTED = np.isin(np.arange(len(Reason)), [*CLICKED, Reason.UNKNOWN_ACTION])


@dataclass(frozen=True)
class ActionType(OfAlternatives):
    """1.0 where the action is of the target's kind, wherever it goes and whatever it says, else 0.0.

    A place without an action is a click, on both sides. No answer, a refusal, or a refusal target: 0.0. Of several
    alternatives any will do.

    Args:
        names: how names are compared. ``"vocabulary"``: equal once both are words of ``actions.ACTIONS``, for dialects
            that share the vocabulary (from others, names are looked up, but a swipe does not become a scroll).
            ``"written"``: equal. ``"lower"``: equal when lower-cased. ``"contained"``: the target's name is part of the
            response's, as in code that scores ``notclick`` for ``click``.
        presses: ``"one"`` where back, home, menu, recent and enter are one type, as AgentCPM-GUI's press.
    """

    names: Names = "vocabulary"
    presses: Presses = "apart"

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        predictions, alternatives = rollouts.predictions, rollouts.targets.alternatives
        actions, wanted = predictions.actions, alternatives.names
        if self.names == "vocabulary":
            actions, wanted = in_vocabulary(predictions), alternatives.canonical.names
        if self.names == "lower":
            actions, wanted = lowered(actions), lowered(wanted)
        if self.presses == "one":
            actions, wanted = _as_presses(actions), _as_presses(wanted)
        same = same_names(alternatives.each(actions), wanted, self.names == "contained")
        score: Floats = (same & alternatives.each(_ACTED[predictions.reason])).astype(np.float64)
        return score


def _as_presses(names: Objects) -> Objects:
    return np.where(np.isin(names, _PRESSED), "system_button", names)


def in_vocabulary(predictions: Predictions) -> NDArray[np.object_]:
    """Return (n,) the actions in the words of ``actions.ACTIONS``; a place without one is ``click``."""
    names = predictions.actions.tolist()
    known = {name: canonical(name) for name in set(names)}
    words = np.array([known[name] for name in names], dtype=np.object_)
    if "" in known:
        words[(predictions.actions == "") & ~np.isnan(predictions.xy[:, 0])] = "click"
    return words


def same_names(names: Objects, wanted: Objects | str, contained: bool = False) -> NDArray[np.bool_]:
    """Compare names row by row, or each with one: (k,) True where they are equal, or what is wanted is contained."""
    if contained:
        rights = repeat(wanted) if isinstance(wanted, str) else wanted.tolist()
        # strict=False, because repeat() has no end.
        return np.array([right in name for name, right in zip(names.tolist(), rights, strict=False)], dtype=np.bool_)
    same: NDArray[np.bool_] = names == wanted
    return same


def lowered(names: Objects) -> Objects:
    """Return the names in lower case; each that occurs is changed once."""
    listed = names.tolist()
    lower = {name: name.lower() for name in set(listed)}
    column = np.empty(len(listed), dtype=np.object_)
    column[:] = [lower[name] for name in listed]
    return column


TextRule = Literal["exact", "f1", "contains", "ratio", "edits"]
TextField = Literal["text", "direction", "button", "app", "status"]

MOST_COMPARED = 512
"""Characters of each text that ``similarity`` compares: its time grows with their product, and faster."""

MOST_PAIRS = 20_000
"""Pairs of equal characters, one of each text, with which it compares all of these; ordinary texts have fewer."""


def token_f1(a: str, b: str) -> float:
    """Return F1 of two sets of words, 2 · |A ∩ B| / (|A| + |B|), words lower-cased and split at white space; in 0..1.

    A word that occurs twice counts once. Without a common word 0.0, also where neither text has any.
    """
    first, second = set(a.lower().split()), set(b.lower().split())
    common = len(first & second)
    return 2.0 * common / (len(first) + len(second)) if common else 0.0


def either_contains(a: str, b: str) -> bool:
    """Return True where one of two texts is part of the other, lower-cased; the empty text is part of every text."""
    a, b = a.lower(), b.lower()
    return a in b or b in a


def similarity(a: str, b: str) -> float:
    """Return 2 · M / (len(a) + len(b)), M the characters that ``difflib.SequenceMatcher(None, a, b)`` matches; in 0..1.

    M is counted in the first 512 characters of each text, in fewer of texts of a few characters over and over, so that
    the time is bounded; what a text has beyond counts as different, unless the texts are equal. For shorter texts this
    is difflib's ``ratio()``, which passes over characters that make up more than a hundredth of a ``b`` of 200
    characters and more. Two empty texts are equal.
    """
    import difflib  # slow to import, and few recipes need it

    if a == b:  # whole texts, before they are cut
        return 1.0
    # Not ratio(), which knows the cut lengths.
    blocks = difflib.SequenceMatcher(None, *_compared(a, b)).get_matching_blocks()
    return 2.0 * sum(block.size for block in blocks) / (len(a) + len(b))


def _compared(a: str, b: str) -> tuple[str, str]:
    """Cut two texts to a size compared in short time, which grows with the pairs of equal characters."""
    a, b = a[:MOST_COMPARED], b[:MOST_COMPARED]
    held = Counter(b)
    pairs = sum(count * held[character] for character, count in Counter(a).items())
    if pairs <= MOST_PAIRS:
        return a, b
    share = (MOST_PAIRS / pairs) ** 0.5  # pairs grow with the square of the length
    return a[: int(len(a) * share)], b[: int(len(b) * share)]


@dataclass(frozen=True)
class TextMatch(OfAlternatives):
    """Agreement of the text of the action with the target's, 0.0 to 1.0.

    exact: 1.0 where they are equal, white space around them aside. f1: ``token_f1``. contains: 1.0 where one of the
    two is part of the other, under which single letters and the empty text score. ratio: ``similarity``. edits:
    ``edits.likeness``, 1 - characters to insert, delete or replace / the longer length. Equal texts score 1.0 under
    every rule. 1.0 where the target has no such text, whatever the response; 0.0 where it has one and the response
    none. Of several alternatives the best; 0.0 for a refusal.

    Args:
        rule: how texts are compared.
        field: which text of the action: text, direction, button, app or status.
        threshold: of f1, ratio and edits, 1.0 from this score on and 0.0 below it; None leaves the score as it is.
        case: whether case counts; f1 never looks at it.
    """

    rule: TextRule = "exact"
    field: TextField = "text"
    threshold: Part | None = None
    case: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self, "rule", "threshold", "case")

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives = rollouts.targets.alternatives.canonical
        compare = text_rule(self.rule, self.threshold, self.case)
        return compared(argument(rollouts, self.field, alternatives), len(alternatives), compare, among)


@dataclass(frozen=True)
class TextAs(OfAlternatives):
    """The rule's score of the texts of response and target as written, not in the vocabulary, 0.0 to 1.0.

    Where the target has no such text ``unasked``, whatever the response.
    """

    # Compares two texts, the response's first; a function of a module, so that recipes can be pickled.
    rule: Callable[[str, str], float]
    fields: tuple[str, ...] = ("text",)  # arguments of the action, of which the first that is there is its text
    missing: str | None = None  # the text of a response that has none; None scores it 0.0
    unasked: float = 1.0  # the score where the target has no text

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives = rollouts.targets.alternatives
        wanted = self._text(alternatives.arguments)
        if wanted is None:
            return np.full(len(alternatives), self.unasked)
        written = self._text(rollouts.predictions.arguments)
        if written is not None:
            written = alternatives.each(written)
        if self.missing is not None:
            texts = [None] * len(alternatives) if written is None else written.tolist()
            written = np.array([self.missing if text is None else text for text in texts], dtype=np.object_)
        return compared((written, wanted), len(alternatives), self.rule, among, self.unasked)

    def _text(self, arguments: Arguments) -> Objects | None:
        """Return the first text of each row, None where it has none; None where no row has any."""
        texts: Any = None
        for column in [getattr(arguments, field) for field in self.fields]:
            if column is not None:
                texts = column if texts is None else np.where(texts == None, column, texts)  # noqa: E711 (row by row)
        return texts  # type: ignore[no-any-return]


def check_text(owner: object, rule: str, threshold: str, case: str) -> None:
    """Check that the options of these names do something under the rule by which texts are compared."""
    chosen = getattr(owner, rule)
    if getattr(owner, threshold) is not None and chosen not in ("f1", "ratio", "edits"):
        raise options.wrong(owner, threshold, f"None, or {rule} f1, ratio or edits: {chosen} has no degrees")
    if getattr(owner, case) and chosen == "f1":
        raise options.wrong(owner, case, f"false, or another {rule}: f1 never looks at case")


def text_rule(rule: TextRule, threshold: float | None = None, case: bool = False) -> Callable[[str, str], float]:
    """Return the comparison of two texts that ``TextMatch`` of these options makes."""
    return partial(_compare, _RULES[rule], threshold, case)


def _compare(
    score: Callable[[str, str], float] | None, threshold: float | None, case: bool, text: str, wanted: str
) -> float:
    if not case:
        text, wanted = text.lower(), wanted.lower()
    if not wanted.strip():  # a blank or a line feed is itself what is wanted
        return float(text == wanted)
    text, wanted = text.strip(), wanted.strip()
    if text == wanted:
        return 1.0
    degree = 0.0 if score is None else float(score(text, wanted))
    return degree if threshold is None else float(degree >= threshold)


def _contains(a: str, b: str) -> bool:
    return a in b or b in a


_RULES: dict[str, Callable[[str, str], float] | None] = {
    "exact": None, "f1": token_f1, "contains": _contains, "ratio": similarity, "edits": likeness,
}  # fmt: skip


Field = Literal["app", "status", "button"]
Convention = Literal["content", "finger"]
_AXES = {"left": "across", "right": "across", "up": "along", "down": "along"}


@dataclass(frozen=True)
class ArgumentMatch(OfAlternatives):
    """1.0 where an argument of the action is the target's, white space around it aside, else 0.0.

    1.0 where the target has none, whatever the response; 0.0 where it has one and the response none. Of several
    alternatives the best; 0.0 for a refusal.

    Args:
        field: app, status or button.
        case: whether case counts.
    """

    field: Field
    case: bool = False

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        return TextMatch(field=self.field, case=self.case).each(rollouts, among)


@dataclass(frozen=True)
class DirectionMatch(OfAlternatives):
    """1.0 where the direction of the action is the target's, else 0.0; case does not count.

    Of what is called a scroll, the direction is the way the view goes (``"content"``: down shows what is further down)
    or the way the finger goes (``"finger"``), which is the opposite. Of a swipe, and of a scroll that has two ends and
    no direction, it always is the finger's, so that a swipe up is a scroll down. Two ends give the direction of their
    longer side in pixels of the screen (in the numbers as written where its size is unknown), vertical if both are
    equal. 1.0 where the target has no direction, whatever the response; 0.0 where it has one and the response none. Of
    several alternatives the best; 0.0 for a refusal.

    Args:
        response: what the directions of scrolls mean in responses. They must be read by a dialect that shares the
            vocabulary, such as ``auto_action``.
        target: what they mean in targets.
        axis: whether opposite directions are the same, as in AITW's evaluators.
    """

    response: Convention = "content"
    target: Convention = "content"
    axis: bool = False

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives = rollouts.targets.alternatives.canonical
        written, wanted = argument(rollouts, "direction", alternatives)
        swiped, meant = argument(rollouts, "swiped", alternatives)
        columns = _content(written, swiped, self.response), _content(wanted, meant, self.target)
        return compared(columns, len(alternatives), _same_axis if self.axis else _same_way, among)


def _content(directions: Objects | None, swiped: Objects | None, convention: Convention) -> Objects | None:
    """Return directions as those of the view; those of swipes already are."""
    if directions is None or convention == "content":
        return directions
    surely = [None] * len(directions) if swiped is None else swiped.tolist()
    pairs = zip(directions.tolist(), surely, strict=True)
    ways = np.empty(len(directions), dtype=np.object_)
    ways[:] = [way if way is None or sure else opposite(way.strip().lower()) for way, sure in pairs]
    return ways


def _same_way(way: str, wanted: str) -> float:
    return float(way.strip().lower() == wanted.lower())


def _same_axis(way: str, wanted: str) -> float:
    return float(_AXES.get(way.strip().lower(), "") == _AXES.get(wanted.lower()))


@dataclass(frozen=True)
class KeysMatch(OfAlternatives):
    """1.0 where the keys pressed are the target's, in any order and case, else 0.0.

    Names of one key that differ (``control`` and ``ctrl``, ``return`` and ``enter``, ``escape`` and ``esc``) are the
    same, and the action ``enter`` is that key. 1.0 where the target has no keys, whatever the response; 0.0 where it
    has some and the response none. Of several alternatives the best; 0.0 for a refusal.
    """

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives, predictions = rollouts.targets.alternatives.canonical, rollouts.predictions
        keys = alternatives.each(_with_enter(predictions.arguments.column("keys", len(rollouts)), predictions.actions))
        wanted = _with_enter(alternatives.arguments.column("keys", len(alternatives)), alternatives.names)
        return compared((keys, wanted), len(alternatives), same_keys, among)


def same_keys(keys: Iterable[str], wanted: Iterable[str]) -> float:
    """Return 1.0 for the same keys, in any order and case, else 0.0."""
    return float(_pressed(keys) == _pressed(wanted))


def _pressed(keys: Iterable[str]) -> list[str]:
    return sorted(map(key_name, keys))


def _with_enter(keys: Objects, names: Objects) -> Objects:
    """Return the keys of each action, with that of the action ``enter``."""
    entered = names == "enter"
    if not np.count_nonzero(entered):
        return keys
    column = keys.copy()
    for row in np.flatnonzero(entered).tolist():
        column[row] = ("enter",)
    return column


@dataclass(frozen=True)
class DurationMatch(OfAlternatives):
    """1.0 where the action takes as long as it should, else 0.0.

    With a tolerance: |duration - the target's| <= tolerance. Without one: low <= duration <= high. Either way only
    where the target has a duration; 1.0 where it has none, whatever the response; 0.0 where it has one and the
    response none. Of several alternatives the best; 0.0 for a refusal.

    Args:
        shortest: the least duration that counts, in the unit in which it is written.
        longest: the largest; None for no limit.
        tolerance: how far it may be from the target's, in place of the two.
    """

    shortest: Length = 0.0
    longest: Length | None = None
    tolerance: Length | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest is not None and self.longest < self.shortest:
            raise options.wrong(self, "longest", f"a number from {self.shortest:g}")
        if self.tolerance is not None and (self.shortest or self.longest is not None):
            raise RecipeError("DurationMatch: got a tolerance and limits; give one of them")

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        return durations(argument(rollouts, "duration"), len(rollouts.targets.alternatives), self.holds)

    def holds(self, given: Floats, wanted: Floats) -> geometry.Bools:
        """Test k durations; NaN is none."""
        if self.tolerance is not None:
            return np.abs(given - wanted) <= self.tolerance
        return (given >= self.shortest) & (given <= (math.inf if self.longest is None else self.longest))


def durations(columns: Columns, rows: int, holds: Callable[[Floats, Floats], geometry.Bools]) -> Floats:
    """Return 1.0 where no duration is wanted or the response's holds, else 0.0: (k,)."""
    written, wanted = columns
    if wanted is None:
        return np.ones(rows)
    return np.where(np.isnan(wanted), 1.0, 0.0 if written is None else holds(written, wanted))


@dataclass(frozen=True)
class EndHit(OfAlternatives):
    """1.0 where the drag ends in the target's ``to``, borders included (as ``Hit(border="rounded")``), else 0.0.

    A ``to`` that is a box counts as ``enlarge`` times its size about its centre; one that is a point is reached from at
    most ``radius`` or ``share`` away, and without either only exactly. 1.0 where the target has no ``to``, whatever the
    response; 0.0 where it has one and the response ends nowhere. Of several alternatives the best; 0.0 for a refusal.

    Args:
        radius: the reach around points in units of the recipe's space.
        share: the same as a share of the screen, ||(dx / width, dy / height)||; in place of ``radius``.
        enlarge: how much larger boxes count.

    Raises:
        TargetError: ``share`` is given, the recipe works in a pixel space, and the image size of a target whose ``to``
            is a point is unknown.
    """

    radius: Length | None = None
    share: ScreenShare | None = None
    enlarge: Positive = 1.0

    rivals = "radius", "share"

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        ends, wanted = argument(rollouts, "to")
        if wanted is None:
            return np.ones(len(rollouts.targets.alternatives))
        unasked = np.isnan(wanted[:, 0])
        if ends is None:
            return unasked.astype(np.float64)
        point = (wanted[:, :2] == wanted[:, 2:]).all(axis=1)  # a point is kept as a box without extent
        boxes = np.where(point[:, None], wanted, geometry.enlarged(wanted, self.enlarge))
        inside = geometry.in_box(ends, boxes + GROWN)
        if point.any() and (self.radius or self.share):
            inside |= point & self._near(rollouts, ends, wanted[:, :2], point)
        return np.where(unasked, 1.0, inside)

    def _near(self, rollouts: Rollouts, ends: Floats, wanted: Floats, point: geometry.Bools) -> geometry.Bools:
        if self.share is None:
            return within(ends, wanted, self.radius, "rounded")
        size = screens(rollouts, "EndHit", point, of=rollouts.targets.alternatives)
        return within(ends / size, wanted / size, self.share, "rounded")
