"""Every golden line: equal to the published value, or to what a named deviation states.

``restated.jsonl`` holds inputs of this project's own, which nobody gave to the published code: each names the deviation
that applies, and what it states.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.golden import harness

pytestmark = pytest.mark.filterwarnings("ignore::grounding_rewards.TargetWarning")  # published rows, and changed ones


def lines(peer: str) -> list[dict[str, Any]]:
    every = map(json.loads, harness.file_of(peer).read_text("utf-8").splitlines())
    return [line for line in every if harness.EVERY[peer].only(line)]


RESTATED = [json.loads(text) for text in (Path(__file__).parent / "restated.jsonl").read_text("utf-8").splitlines()]


def numbers(expected: dict[str, Any]) -> dict[str, Any]:
    """The published values that are numbers; "pred" is a text, and an exception or a non-finite one never equals.

    A list is what a parser read; booleans count as 0 and 1; those of "b" under "a" are called "a.b".
    """
    kept: dict[str, Any] = {}
    for key, value in expected.items():
        if isinstance(value, dict):
            kept |= {f"{key}.{name}": each for name, each in numbers(value).items()}
        elif key != "pred" and not isinstance(value, list):
            kept[key] = value
    return {key: float(value) if isinstance(value, bool) else value for key, value in kept.items()}


def identity(line: harness.Line) -> str:
    """A line's input, whatever its category."""
    return json.dumps([line[key] for key in ("response", "ground_truth", "extra")])


@pytest.mark.parametrize("peer", harness.PEERS)
def test_equals_published_reward_or_stated_deviation(peer: str) -> None:
    wrong, used, checked, recorded = [], Counter[str](), Counter[str](), 0
    unlike = harness.PEERS[peer].unlike
    published = {
        identity(line): {key: each for key, each in numbers(line["expected"]).items() if key not in unlike}
        for line in lines(peer)
    }
    for row, line in enumerate(lines(peer)):
        expected = published[identity(line)]
        nested, name = harness.evaluate(peer, line)
        values = numbers(nested)
        if name is None:
            good = values == pytest.approx(expected, abs=1e-9)
        else:
            used[name] += 1
            recipe, found = harness.build(peer, line), harness.deviation(peer, line)
            assert found is not None
            stated = harness.stated(peer, recipe, found, line)
            ours = harness.score(peer, recipe, line)
            good = {key: ours[key] for key in stated} == pytest.approx(stated, abs=1e-9)
            rewritten = found.same_as(line) if found.same_as else None
            if rewritten is not None and identity(rewritten) in published:
                recorded += 1
                if harness.deviation(peer, rewritten) is None:
                    checked[name] += 1
                    good = good and values == pytest.approx(published[identity(rewritten)], abs=1e-9)
        if not good:
            wrong.append((row, name, str(line)[:300], values, expected))
    assert not wrong, f"{len(wrong)} lines differ; the first: {wrong[0]}"
    names = [deviation.name for deviation in harness.build(peer, {"extra": {}}).deviations]
    print(f"{peer}: {dict(used)}; also equal to the published value of the line that they stand for: {dict(checked)}")
    assert checked or not recorded, "a recorded line that a deviation stands for is compared with what was published"
    used.update(line["deviation"] for line in RESTATED if line["peer"] == peer)
    assert sorted(used) == sorted(names), "each deviation applies to at least one line"


@pytest.mark.parametrize("peer", harness.GROUPS)
def test_groups_equal_the_published_reward_or_stated_deviation(peer: str) -> None:
    used = set()
    for line in lines(peer):
        values, name = harness.evaluate(peer, line)
        used.add(name)
        found = harness.deviation(peer, line)
        stated = harness.stated(peer, harness.build(peer, line), found, line).values() if found else None
        expected = line["expected"]["rewards"] if stated is None else list(stated)
        assert values["rewards"] == pytest.approx(expected, abs=1e-9), (name, line)
    assert used - {None} == {deviation.name for deviation in harness.build(peer, {"extra": {}}).deviations}


@pytest.mark.parametrize("peer", harness.EPISODES)
def test_episodes_equal_the_published_reward_or_stated_deviation(peer: str) -> None:
    used = set()
    for line in lines(peer):
        values, name = harness.evaluate(peer, line)
        used.add(name)
        recipe, found = harness.build(peer, line), harness.deviation(peer, line)
        ours = harness.score(peer, recipe, line) if found else values["reward"]
        stated = dict(harness.stated(peer, recipe, found, line)) if found else line["expected"]["reward"]
        wanted = stated if found else {key: stated[key] for key in ours}
        assert {key: ours[key] for key in wanted} == pytest.approx(wanted, abs=1e-9), (name, line)
    assert used - {None} == {deviation.name for deviation in harness.build(peer, {"extra": {}}).deviations}


@pytest.mark.parametrize("line", RESTATED, ids=lambda line: f"{line['peer']}-{line['deviation']}")
def test_restated_lines_are_worth_what_their_deviation_states(line: dict[str, Any]) -> None:
    peer, expected = line["peer"], line["stated"]
    _, name = harness.evaluate(peer, line)
    assert name == line["deviation"]
    recipe, found = harness.build(peer, line), harness.deviation(peer, line)
    assert found is not None
    ours, stated = harness.score(peer, recipe, line), dict(harness.stated(peer, recipe, found, line))
    assert {key: ours[key] for key in expected} == pytest.approx(expected, abs=1e-12)
    assert {key: ours[key] for key in stated} == pytest.approx(stated, abs=1e-12)
