"""Comparison of texts: typed, answered or selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from grounding_rewards.actions import Arguments, Objects
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.alternatives import argument, compared
from grounding_rewards.verifiers.options import Part
from grounding_rewards.verifiers.terms import Mask, OfAlternatives

TextRule = Literal["exact", "f1", "contains", "ratio"]
TextField = Literal["text", "direction", "button", "app", "status"]

MOST_COMPARED = 512
"""Characters of each text that ``similarity`` compares: its time grows with their product, and faster."""

MOST_PAIRS = 20_000
"""Pairs of equal characters, one of each text, with which it compares all of these; ordinary texts have fewer."""


def token_f1(a: str, b: str) -> float:
    """Return F1 of two sets of words, 2 · |A ∩ B| / (|A| + |B|), words lower-cased and split at white space; in 0..1.

    A word that occurs twice counts once. Without a common word 0.0, also where neither text has any.

    >>> token_f1("the red Hat", "the red shoe"), token_f1("", "")
    (0.6666666666666666, 0.0)
    """
    first, second = set(a.lower().split()), set(b.lower().split())
    common = len(first & second)
    return 2.0 * common / (len(first) + len(second)) if common else 0.0


def either_contains(a: str, b: str) -> bool:
    """Return True where one of two texts is part of the other, lower-cased; the empty text is part of every text.

    >>> either_contains("Restaurants nearby", "restaurants"), either_contains("e", "hello"), either_contains("a", "b")
    (True, True, False)
    """
    a, b = a.lower(), b.lower()
    return a in b or b in a


def similarity(a: str, b: str) -> float:
    """Return 2 · M / (len(a) + len(b)), M the characters that ``difflib.SequenceMatcher(None, a, b)`` matches; in 0..1.

    M is counted in the first 512 characters of each text, in fewer of texts of a few characters over and over, so that
    the time is bounded; what a text has beyond counts as different, unless the texts are equal. For shorter texts this
    is difflib's ``ratio()``, which passes over characters that make up more than a hundredth of a ``b`` of 200
    characters and more. Two empty texts are equal.

    >>> similarity("hello", "hallo"), similarity("", "a"), similarity("x" * 9999, "x" * 9999)
    (0.8, 0.0, 1.0)
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
    two is part of the other, ``either_contains``, under which single letters and the empty text score. ratio:
    ``similarity``. Equal texts score 1.0 under every rule. 1.0 where the target has no such text, whatever the
    response; 0.0 where it has one and the response none. Of several alternatives the best; 0.0 for a refusal.

    Args:
        rule: how texts are compared.
        field: which text of the action: text, direction, button, app or status.
        threshold: of f1 and ratio, 1.0 from this score on and 0.0 below it; None leaves the score as it is.
        case: whether case counts in exact and ratio; f1 and contains never look at it.

    Raises:
        RecipeError: an option does not fit.
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

    Args:
        rule: compares two texts, the response's first; a function of a module, so that recipes can be pickled.
        fields: arguments of the action, of which the first that is there is its text.
        missing: the text of a response that has none; None scores it 0.0.
        unasked: the score where the target has no text.
    """

    rule: Callable[[str, str], float]
    fields: tuple[str, ...] = ("text",)
    missing: str | None = None
    unasked: float = 1.0

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
    """Check that the options of these names do something under the rule by which texts are compared.

    Raises:
        RecipeError: one does nothing.
    """
    chosen = getattr(owner, rule)
    if getattr(owner, threshold) is not None and chosen not in ("f1", "ratio"):
        raise options.wrong(owner, threshold, f"None, or {rule} f1 or ratio: {chosen} has no degrees")
    if getattr(owner, case) and chosen not in ("exact", "ratio"):
        raise options.wrong(owner, case, f"false, or {rule} exact or ratio: {chosen} never looks at case")


def text_rule(rule: TextRule, threshold: float | None = None, case: bool = False) -> Callable[[str, str], float]:
    """Return the comparison of two texts that ``TextMatch`` of these options makes.

    >>> text_rule("f1", threshold=0.5)("red hat", "red shoe"), text_rule("exact")(" Hello ", "hello")
    (1.0, 1.0)
    """
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


_RULES: dict[str, Callable[[str, str], float] | None] = {
    "exact": None, "f1": token_f1, "contains": either_contains, "ratio": similarity,
}  # fmt: skip
