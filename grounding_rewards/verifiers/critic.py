"""Scores of a critic, which judges a proposed action and suggests another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import MISSING, RecipeError, TargetError
from grounding_rewards.parsing.reading import Dialect
from grounding_rewards.parsing.responses import answer_texts
from grounding_rewards.parsing.texts import as_texts, tag_texts
from grounding_rewards.rollouts import Reason, Rollouts
from grounding_rewards.targets.target import Target
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.action_match import ActionMatch
from grounding_rewards.verifiers.terms import ACTIONS, Term, Verifier, walk

_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_UNFINISHED = np.int8(Reason.UNFINISHED)


def _tag(value: Any) -> Any:
    if not isinstance(value, str) or not _TAG.fullmatch(value) or value == "think":
        raise ValueError("the name of a tag, such as score: a letter first, then letters, digits, _, . or -; not think")
    return value


@dataclass(frozen=True)
class Verdict(Term):
    """1.0 where the verdict between the tags is that of the target's ``extra.verdict``, else 0.0.

    The verdict is right or wrong: one of the words for either, as the whole text between ``<tag>`` and ``</tag>``, case
    and white space around it aside. Only the answer is read, never the thinking before ``</think>``. Several pairs of
    tags must agree; a pair that holds anything else makes it no verdict, and so does a tag without its other half.

    The target's own is true or false, 1 or 0, or one of the words: whether the proposed action is right.

    Args:
        tag: the name of the tags that hold the verdict, such as "score".
        positive: the words that call the proposed action right.
        negative: the words that call it wrong.

    Raises:
        TargetError: a target has no ``extra.verdict``, or one that is none of these.

    >>> judge = Verdict("score", positive=["right", "1"], negative=["wrong", "0"])
    >>> judge.verdict("It fits: <score> Right </score>"), judge.verdict("<score>right, or wrong</score>")
    (True, None)

    Source: the setting of GUI-Critic-R1, whose training code is not public; the form is our own.
    """

    tag: Annotated[str, _tag]
    positive: tuple[str, ...]
    negative: tuple[str, ...]

    judges = ACTIONS | {"refusal"}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("positive", "negative"):
            if not getattr(self, name) or not all(map(_word, getattr(self, name))):
                raise options.wrong(self, name, "a list of words, at least one")
        if not set(map(_word, self.positive)).isdisjoint(map(_word, self.negative)):
            raise options.wrong(self, "negative", "other words than those of positive")

    def __call__(self, rollouts: Rollouts) -> Floats:
        targets, score = rollouts.targets, np.zeros(len(rollouts))
        verdicts = self.verdicts(rollouts)
        for row in np.flatnonzero(targets.valid).tolist():
            if error := self.target_error(targets.rows[row], targets.sample(row)):
                raise error
            score[row] = verdicts[row] is self.truth(targets.rows[row])  # None is neither
        return score

    def row_numbers(self, rollouts: Rollouts, row: int, score: float) -> dict[str, str]:
        """Return what the response and the target say."""
        said = {True: "right", False: "wrong", None: "no verdict"}
        return {
            "response": said[self.verdicts(rollouts)[row]], "target": said[self.truth(rollouts.targets.rows[row])],
        }  # fmt: skip

    def verdicts(self, rollouts: Rollouts) -> list[bool | None]:
        """Return the verdict of each response; None for no verdict, or thinking that never ends."""
        answers, _ = answer_texts(as_texts(rollouts.text), "closed")
        # A prompt may have opened the thinking: the text alone does not say so.
        unfinished = (rollouts.predictions.reason == _UNFINISHED).tolist()
        return [None if open_ else self.verdict(text) for text, open_ in zip(answers, unfinished, strict=True)]

    def verdict(self, answer: str) -> bool | None:
        """Return the verdict of an answer, which has no thinking; None for no verdict, or several."""
        texts = tag_texts(answer, self.tag)
        if not len(texts) == answer.count(f"<{self.tag}>") == answer.count(f"</{self.tag}>"):
            return None  # a tag that is open, or opened twice, may hide another verdict
        verdicts = {self._meaning(each) for each in texts}
        return verdicts.pop() if len(verdicts) == 1 else None

    def target_error(self, target: Target | None, sample: str | int) -> TargetError | None:
        """Return the error about a target without a verdict of its own; None for others."""
        if self.truth(target) is not None:
            return None
        came = _extra(target)
        words = ", ".join([*self.positive, *self.negative])
        expected = f"whether the proposed action is right: true or false, 1 or 0, or one of {words}"
        return TargetError(sample, "extra.verdict", MISSING if came is None else came, expected)

    def truth(self, target: Target | None) -> bool | None:
        """Return the target's own verdict; None where it has none."""
        value = _extra(target)
        if isinstance(value, str):
            return self._meaning(value)
        return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None

    def _meaning(self, text: str) -> bool | None:
        word = _word(text)
        if word in map(_word, self.positive):
            return True
        return False if word in map(_word, self.negative) else None


@dataclass(frozen=True, kw_only=True)
class Suggestion(ActionMatch):
    """1.0 where the action between the tags is one of the target's alternatives in every respect, else 0.0.

    It is ``ActionMatch`` of what stands between ``<tag>`` and ``</tag>``, which the recipe's dialect reads as if it
    were the whole answer; the proposed action, which a critic often repeats, is not read. Without the tags 0.0, and
    where several hold different texts.

    Args:
        tag: the name of the tags that hold the suggested action, such as "suggestion"; the others are those of
            ``ActionMatch``.

    Raises:
        RecipeError: an option does not fit; or a recipe's dialect reads more than the tag (``composite`` limits it,
            elsewhere ``TaggedDialect`` does).
        TargetError: as in ``ActionMatch``.

    Source: the setting of GUI-Critic-R1, whose training code is not public; the form is our own.
    """

    tag: Annotated[str, _tag]


def suggestion_tag(terms: Iterable[Verifier]) -> str | None:
    """Return the tag of the suggestions that are among the terms, or inside them; None where there are none."""
    every = [each for term in terms for each in walk(term, arguments=True)]
    tags = list(dict.fromkeys([each.tag for each in every if isinstance(each, Suggestion)]))
    if len(tags) > 1:
        raise RecipeError(
            f"suggestion: got the tags {', '.join(tags)}; expected one, because a recipe reads one answer"
        )
    return tags[0] if tags else None


def check_tag(recipe: str, dialect: Dialect, terms: Iterable[Verifier]) -> None:
    """Check that a recipe reads nothing but the tag of the suggestions that it judges."""
    tag = suggestion_tag(terms)
    if tag and getattr(dialect, "tag", None) != tag:
        expected = f"TaggedDialect(..., {tag!r}), because suggestion judges what that tag holds"
        raise RecipeError(f"{recipe}: dialect: got {dialect.name}; expected {expected}")


def _word(text: str) -> str:
    return text.strip().casefold()


def _extra(target: Target | None) -> Any:
    value = target.extra.get("verdict") if target and isinstance(target.extra, Mapping) else None
    return value.item() if isinstance(value, np.generic) else value  # numpy's bool is none of Python's
