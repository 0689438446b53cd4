"""Golden lines with one thing changed: nothing raises, and a deviation states what the recipe then returns."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

import grounding_rewards as gr
from tests.golden import harness
from tests.golden.test_golden import lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::grounding_rewards.TargetWarning"),  # published rows, and changed ones
]

LINES, EACH = 24, 10
"""Lines of each source, and changes of each of them."""

WORDS = ("", '""', "null", "true", "NaN", "Infinity", "-1", "1e400", "[]", "{}", '" "', "[1]", "1_0", "٣", "\x00")
VALUES = ("", None, True, -1, 3.5, math.nan, math.inf, [], {}, " ", "x", [1], [1, 2, 3, 4, 5], [[1, 2]], "UP", 1e15)
PIECE = re.compile(r"\"[^\"]*\"|'[^']*'|-?\d+(?:\.\d+)?|[\[\]{}():,]|</?\w+>")


def other_responses(text: str) -> Iterator[str]:
    yield from ("", text.upper(), text + text, f" {text}", f"{text}\n", text[: len(text) // 2], text.replace('"', "'"))
    for found in PIECE.finditer(text):
        yield from (text[: found.start()] + word + text[found.end() :] for word in WORDS)
        yield text[: found.end()] + found[0] + text[found.end() :]


def others(response: Any) -> Iterator[Any]:
    """Yield other responses; of several turns, or of a group, those with another text in the place of one."""
    if isinstance(response, str):
        yield from other_responses(response)
    else:
        for place, text in enumerate(response):
            yield from ([*response[:place], each, *response[place + 1 :]] for each in other_responses(text))


def other_targets(value: Any) -> Iterator[Any]:
    yield from VALUES
    if isinstance(value, dict):
        for key, item in value.items():
            yield {name: each for name, each in value.items() if name != key}
            yield from ({**value, key: other} for other in other_targets(item))
    if isinstance(value, list):
        yield from (value[::-1], [*value, 7], [value], [str(item) for item in value])
        for place, item in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in other_targets(item))


def changed(peer: str) -> Iterator[harness.Line]:
    """Golden lines of a source with another response or another target, drawn by a seed."""
    drawn = random.Random(peer)
    for line in drawn.sample([line for line in lines(peer) if isinstance(line["response"], str | list)], LINES):
        responses = list(others(line["response"]))
        yield from ({**line, "response": each} for each in drawn.sample(responses, min(EACH, len(responses))))
        targets = list(other_targets(inner(line["ground_truth"])))
        for each in drawn.sample(targets, min(EACH, len(targets))):
            yield {**line, "ground_truth": json.dumps(each) if isinstance(line["ground_truth"], str) else each}


def inner(truth: Any) -> Any:
    """Return a ground truth, decoded where it is JSON."""
    try:
        return json.loads(truth) if isinstance(truth, str) else truth
    except ValueError:
        return truth


@pytest.mark.parametrize("peer", harness.EVERY)
def test_a_changed_line_raises_nothing_and_is_worth_what_its_deviation_states(peer: str) -> None:
    for line in changed(peer):
        recipe, found = harness.build(peer, line), harness.deviation(peer, line)
        ours = harness.score(peer, recipe, line)
        assert all(map(math.isfinite, ours.values())), line
        assert found or ours.get("valid", 1.0), f"a bad target, and no deviation: {line}"
        stated = dict(harness.stated(peer, recipe, found, line)) if found else {}
        assert {key: ours[key] for key in stated} == pytest.approx(stated, abs=1e-9), (found, line)


@pytest.mark.parametrize("peer", harness.SINGLE)
def test_a_bad_target_names_its_field(peer: str) -> None:
    adapter, bad = harness.SINGLE[peer], 0
    for line in changed(peer):
        recipe, options = harness.build(peer, line), adapter.score_options(line)
        said = harness.said(peer, line)
        if not recipe.score([said], [adapter.target(line)], bad_target="abstain", **options).valid[0]:
            bad += 1
            with pytest.raises(gr.TargetError, match=r"target of \S.*, field '\S+': "):
                recipe.score([said], [adapter.target(line)], **options)
    assert bad > LINES, "most changes of a target make it a bad one"


@pytest.mark.parametrize("peer", harness.SINGLE)
def test_a_changed_line_is_worth_the_same_alone_and_among_many(peer: str) -> None:
    adapter, rows = harness.SINGLE[peer], list(changed(peer))
    rows = [line for line in rows if adapter.options(line) == adapter.options(rows[0])]
    recipe, options = harness.build(peer, rows[0]), [adapter.score_options(line) for line in rows]
    responses, targets = [harness.said(peer, line) for line in rows], [adapter.target(line) for line in rows]
    columns = {name: [each[name] for each in options] for name in options[0]}
    many = recipe.score(responses, targets, bad_target="abstain", **columns)
    for row, (response, target) in enumerate(zip(responses, targets, strict=True)):
        one = recipe.score([response], [target], bad_target="abstain", **options[row])
        for name in ("total", "acc", "valid", "reason"):
            assert getattr(one, name)[0].tobytes() == getattr(many, name)[row].tobytes(), (name, rows[row])
        assert {name: part[0] for name, part in one.parts.items()} == {
            name: part[row] for name, part in many.parts.items()
        }, rows[row]
