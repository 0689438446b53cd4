"""Counts, intervals and breakdowns."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.checks.accuracy import Actions, Evaluation, Refusals, SingleAnswers, evaluate, merge
from grounding_rewards.stats.intervals import wilson

BOX = {"bbox": [0, 0, 10, 10]}
REFUSAL = {"refusal": True}


def scored(responses, targets, bad_target="raise"):
    recipe = gr.recipe("click", response_space="pixel")
    table = recipe.read_targets(targets, bad_target=bad_target)
    return recipe.score(responses, table, image_sizes=[100, 100], bad_target=bad_target), table.refusal


def test_counts_of_every_kind_of_row():
    responses = ["(5, 5)", "(50, 50)", "(500, 5)", "hm", "(5, 5)", "(5, 5)"]
    scores, refusals = scored(responses, [BOX] * 5 + [{"bbox": [1]}], bad_target="abstain")
    found = evaluate(scores, refusals=refusals)
    assert (found.valid, found.correct, found.parsed, found.not_valid) == (5, 2, 4, 1)
    assert (found.accuracy, found.parse_rate) == (0.4, 0.8)
    assert found.interval == tuple(map(float, wilson(2, 5)))
    assert found.reasons == {"OK": 3, "NO_ANSWER": 1, "OUT_OF_IMAGE": 1, "BAD_TARGET": 1}
    assert list(found.reasons) == ["OK", "NO_ANSWER", "OUT_OF_IMAGE", "BAD_TARGET"]
    assert found.refusals == Refusals(targets=0, correct=0, false_clicks=0, false_refusals=0)


def test_refusals_are_distinguished_from_clicks():
    responses = ["refusal", "(5, 5)", "(500, 5)", "hm", "refusal", "(5, 5)"]
    scores, refusals = scored(responses, [REFUSAL] * 4 + [BOX] * 2)
    found = evaluate(scores, refusals=refusals)
    assert found.refusals == Refusals(targets=4, correct=1, false_clicks=2, false_refusals=1)
    assert evaluate(scores).refusals is None


def test_a_task_that_finishes_as_impossible_refuses_as_far_as_the_recipe_has_it_so():
    failure, wait = '{"action": "terminate", "status": "failure"}', '{"action": "wait"}'
    targets = [REFUSAL] * 4 + [BOX, BOX, {"action": {"name": "finished", "status": "infeasible"}}, {"bbox": [1]}]
    responses = [failure, "refusal", "(5, 5)", wait, failure, "(5, 5)", failure, failure]
    recipe = gr.recipe("action", response_space="pixel")
    table = recipe.read_targets(targets, bad_target="abstain")
    scores = recipe.score(responses, table, image_sizes=[100, 100], bad_target="abstain")
    found = evaluate(scores, refusals=table.refusal, by={"kind": [*"aaaabbbb"]})
    assert found.refusals == Refusals(targets=4, correct=2, false_clicks=2, false_refusals=1)
    assert found.by["kind"]["a"].refusals == Refusals(targets=4, correct=2, false_clicks=2, false_refusals=0)
    wrong = evaluate(replace(scores, acc=np.zeros(8)), refusals=table.refusal)  # of a recipe to which it is no refusal
    assert wrong.refusals == Refusals(targets=4, correct=0, false_clicks=2, false_refusals=2)
    assert (found.correct, found.valid) == (4, 7)


def test_breakdown_by_value():
    scores, refusals = scored(["(5, 5)", "hm", "(5, 5)", "(5, 5)", "(50, 50)"], [BOX] * 5)
    values = ["icon", ["icon", "text", "icon"], None, [], np.array(["text"])]
    found = evaluate(scores, refusals=refusals, by={"kind": values, "step": [1, 2, True, float("nan"), {"a": 1}]})
    counts = {value: (part.valid, part.correct) for value, part in found.by["kind"].items()}
    assert counts == {"(none)": (2, 2), "icon": (2, 1), "text": (2, 0)}
    assert list(found.by["step"]) == ["(none)", "1", "2", "true", '{"a": 1}']


def test_most_frequent_value_first():
    scores, _ = scored(["(5, 5)"] * 4, [BOX] * 4)
    assert list(evaluate(scores, by={"kind": ["b", "c", "c", "a"]}).by["kind"]) == ["c", "a", "b"]


def test_lengths_must_agree():
    scores, _ = scored(["(5, 5)"], [BOX])
    with pytest.raises(ValueError, match="kind: got 2 values; expected one for each of 1 rows"):
        evaluate(scores, by={"kind": ["a", "b"]})
    with pytest.raises(ValueError, match="refusals: got 0 values"):
        evaluate(scores, refusals=np.zeros(0, dtype=bool))


def test_nothing_at_all():
    scores, refusals = scored(["(5, 5)"], [{"bbox": [1]}], bad_target="abstain")
    plain = evaluate(scores, refusals=refusals).to_dict()
    assert plain == {
        "rows": 1,
        "valid": 0,
        "correct": 0,
        "accuracy": None,
        "interval": [0.0, 1.0],
        "parse_rate": None,
        "reasons": {"BAD_TARGET": 1},
        "refusals": {"targets": 0, "correct": 0, "false_clicks": 0, "false_refusals": 0},
    }


def test_dict_is_json_through_and_through():
    scores, refusals = scored(["(5, 5)", "hm"], [BOX, REFUSAL])
    plain = evaluate(scores, refusals=refusals, by={"kind": ["a", "b"]}).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["by"]["kind"]["b"]["refusals"]["targets"] == 1


@given(
    st.lists(
        st.tuples(st.sampled_from(["(5, 5)", "(50, 50)", "hm", ""]), st.sampled_from(["a", "b", None])), min_size=2
    )
)
def test_merged_parts_equal_the_whole(rows):
    responses, kinds = [list(column) for column in zip(*rows, strict=True)]
    cut = len(rows) // 2

    def part(start, stop):
        scores, refusals = scored(responses[start:stop], [BOX] * (stop - start))
        return evaluate(scores, refusals=refusals, by={"kind": kinds[start:stop]})

    whole, merged = part(0, len(rows)), merge([part(0, cut), part(cut, len(rows))])
    assert merged == whole
    assert list(merged.by["kind"]) == list(whole.by["kind"])
    assert list(merged.reasons) == list(whole.reasons)


def test_merge_of_none_is_empty():
    assert merge([]) == Evaluation(valid=0, correct=0, parsed=0, not_valid=0, reasons={})


RIGHT_OF = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=6
)


@given(RIGHT_OF)
def test_pass_at_k_is_the_mean_over_all_draws_of_k(counts):
    correct, n = np.array(counts).T
    single = SingleAnswers.of(correct, n)
    k = min(of for _, of in counts)
    shares = []
    for right, of in counts:
        draws = list(combinations([True] * right + [False] * (of - right), k))
        shares.append(sum(map(any, draws)) / len(draws))
    assert (single.samples, single.rollouts, single.k) == (len(counts), sum(of for _, of in counts), k)
    assert single.pass_at_k == pytest.approx(np.mean(shares))
    assert single.accuracy == pytest.approx(np.mean([right / of for right, of in counts]))


def test_samples_without_a_valid_rollout_do_not_count():
    assert SingleAnswers.of(np.array([1, 0]), np.array([4, 0])) == SingleAnswers.of(np.array([1]), np.array([4]))
    nothing = SingleAnswers.of(np.array([0]), np.array([0]))
    assert nothing.to_dict() == {
        "samples": 0, "rollouts": 0, "accuracy": None, "interval": [0.0, 1.0], "k": 0, "pass_at_k": None,
    }  # fmt: skip


def test_whole_actions_have_types_and_places_of_their_own():
    click = {"bbox": [0, 0, 10, 10], "action": "click"}
    rows = [
        ('{"action": "click", "coordinate": [5, 5]}', click),  # all right
        ('{"action": "click", "coordinate": [50, 50]}', click),  # the type alone
        ('{"action": "long_press", "coordinate": [5, 5]}', click),  # the place alone
        ("nothing", click),
        ('{"action": "wait"}', {"action": "wait"}),  # no place is asked for
        ('{"action": "click", "coordinate": [5, 5]}', {"bbox": [1], "action": "click"}),  # a bad target
    ]
    found = gr.evaluate(
        [{"response": response, "target": target, "image_size": [100, 100], "kind": str(row % 2)}
         for row, (response, target) in enumerate(rows)],
        "action", response_space="pixel", bad_target="abstain", by="kind",
    )  # fmt: skip
    assert found.actions == Actions(types=3, placed=4, places=2)
    assert found.to_dict()["actions"] == {"types": 3, "placed": 4, "places": 2}
    assert found.by["kind"]["0"].actions == Actions(types=2, placed=2, places=2)
    assert merge([found, found]).actions == Actions(types=6, placed=8, places=4)
    assert gr.evaluate([{"response": "(5, 5)", "target": BOX}], "action", response_space="pixel").actions is None
