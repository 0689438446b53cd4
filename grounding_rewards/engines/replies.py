"""Replies of engines, checked: what a third party's engine gives may be anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from grounding_rewards.engines.protocol import Answer, Reply
from grounding_rewards.errors import EngineError, short_repr

_SILENT = "the engine gave no text and no reason"


def checked(replies: Any, expected: Sequence[int], place: str) -> list[Reply]:
    """Check replies, and return them; an answer with neither a text nor a problem gets a problem.

    >>> checked([Reply((Answer(None),))], [1], "a.jsonl, row 0")[0].answers[0].problem
    'the engine gave no text and no reason'
    >>> checked([Reply((Answer(5),))], [1], "a.jsonl, row 0")
    Traceback (most recent call last):
    grounding_rewards.errors.EngineError: the engine gave an answer with text 5; expected a text, or None; \
a.jsonl, row 0 and after
    """
    if problem := next(_problems(replies, expected), ""):
        raise EngineError(f"the engine gave {problem}; {place} and after")
    return [replace(reply, answers=tuple(map(_reasoned, reply.answers))) for reply in replies]


def _reasoned(answer: Answer) -> Answer:
    return replace(answer, problem=_SILENT) if answer.text is None and not answer.problem else answer


def _problems(replies: Any, expected: Sequence[int]) -> Iterator[str]:
    """Yield what does not fit."""
    if not isinstance(replies, list | tuple):
        yield f"{short_repr(replies)}; expected a list of replies"
        return
    for reply in replies:
        if not isinstance(reply, Reply):
            yield f"the reply {short_repr(reply)}; expected a grounding_rewards.engines.Reply"
        elif not isinstance(reply.answers, list | tuple):
            yield f"a reply with answers {short_repr(reply.answers)}; expected a tuple of answers"
    came = [len(reply.answers) for reply in replies]
    if came != [*expected]:
        yield (
            f"{sum(came)} answers in {len(came)} replies; expected {sum(expected)} in {len(expected)}, one reply a "
            "request and one answer a seed"
        )
    for reply in replies:
        if not (reply.prompt_tokens is None or _is_whole(reply.prompt_tokens, 0)):
            tokens = short_repr(reply.prompt_tokens)
            yield f"a reply with prompt_tokens {tokens}; expected a whole number from 0, or None"
        if not (reply.image_size is None or _is_size(reply.image_size)):
            yield f"a reply with image_size {short_repr(reply.image_size)}; expected (width, height) in pixels, or None"
        for answer in reply.answers:
            yield from _problems_of(answer)


def _problems_of(answer: Any) -> Iterator[str]:
    if not isinstance(answer, Answer):
        yield f"the answer {short_repr(answer)}; expected a grounding_rewards.engines.Answer"
        return
    if not isinstance(answer.text, str | None):
        yield f"an answer with text {short_repr(answer.text)}; expected a text, or None"
    if not isinstance(answer.problem, str):
        yield f"an answer with problem {short_repr(answer.problem)}; expected a text"
    if answer.text is not None and answer.problem:
        yield f"an answer with text {short_repr(answer.text)} and problem {short_repr(answer.problem)}; expected one"
    if not (answer.token_length is None or _is_whole(answer.token_length, 0)):
        yield f"an answer with token_length {short_repr(answer.token_length)}; expected a whole number from 0, or None"


def _is_size(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(_is_whole(side, 1) for side in value)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63
