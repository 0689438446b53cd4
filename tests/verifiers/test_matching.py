"""Precision, recall and F1 of one-to-one matches between all answers and all places."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.verifiers import Hit, MatchedF1, MatchedPrecision, MatchedRecall
from tests.testing.linear import check_linear
from tests.verifiers.judging import judge_all

A, B, C = (10, 20, 30, 40), (50, 20, 70, 40), (90, 20, 110, 40)
IN_A, IN_B, IN_C, OUT = (20, 30), (60, 30), (100, 30), (200, 200)
FAMILY = MatchedPrecision, MatchedRecall, MatchedF1


def boxes(*places):
    return {"regions": [{"bbox": list(place)} for place in places]}


def family(row, target, **options):
    """Precision, recall and F1 of one response."""
    return [judge_all(verifier(**options), [row], [target])[0] for verifier in FAMILY]


def test_answers_without_a_place_do_not_count():
    nowhere = (np.nan, np.nan)
    assert family([nowhere, IN_A], boxes(A)) == [1, 1, 1]
    assert family([nowhere], boxes(A)) == [0, 0, 0]


@pytest.mark.parametrize("verifier", FAMILY)
def test_what_it_declares(verifier):
    assert verifier().judges == {"bbox", "polygon", "circle"}
    assert verifier(point_radius=2).judges == {"bbox", "polygon", "circle", "point"}
    assert (verifier().low, verifier().high, verifier().needs, verifier().reads) == (0, 1, {"points"}, frozenset())


small = st.tuples(st.integers(0, 9), st.integers(0, 9))
corners = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.integers(1, 9))
place = corners.map(lambda c: (c[0], c[1], c[0] + c[2], c[1] + c[3]))
as_box = place.map(lambda b: {"bbox": list(b)})
as_polygon = place.map(lambda b: {"polygon": [b[0], b[1], b[2], b[1], b[2], b[3], b[0], b[3]]})
one = st.tuples(st.lists(small, max_size=4), st.lists(st.one_of(as_box, as_polygon), min_size=1, max_size=4))


def by_brute_force(row, regions):
    """The largest number of matches, over every way to give the points places of their own."""
    inside = [[judge_all(Hit(), [[point]], [each])[0] for each in regions] for point in row]
    size = max(len(row), len(regions))
    orders = itertools.permutations(range(size))
    return max(sum(inside[p][r] for p, r in enumerate(order) if p < len(row) and r < len(regions)) for order in orders)


@settings(max_examples=150)
@given(st.lists(one, min_size=1, max_size=4))
def test_no_other_matching_has_more_and_batches_are_rows(samples):
    rows, targets = [row for row, _ in samples], [{"regions": regions} for _, regions in samples]
    k = [by_brute_force(row, regions) for row, regions in samples]
    n, m = map(len, rows), [len(regions) for _, regions in samples]
    expected = [[each / count if count else 0 for each, count in zip(k, n, strict=True)]]
    expected.append([each / count for each, count in zip(k, m, strict=True)])
    expected.append([2 * each / (len(row) + count) for each, row, count in zip(k, rows, m, strict=True)])
    for verifier, scores in zip(FAMILY, expected, strict=True):
        assert judge_all(verifier(), rows, targets) == scores
        assert [judge_all(verifier(), [row], [each])[0] for row, each in zip(rows, targets, strict=True)] == scores


def test_256_answers_and_256_overlapping_places():
    places = [(step, 0, step + 40, 9) for step in range(256)]
    assert family([(step + 39.5, 5) for step in range(256)], boxes(*places)) == [1, 1, 1]
    assert family([(0.5, 5)] * 256, boxes(*places)) == [1 / 256] * 3


def test_the_work_grows_with_the_rows():
    check_linear(MatchedF1())


def composed(**options):
    return gr.recipe("composite", response_space="pixel", **options)


def test_a_composite_reads_all_answers_and_is_right_where_f1_is_1():
    reward = composed(parts={"matched_f1": 0.9, "format": 0.1})
    assert (reward.answers, reward.needs) == ("all", {"points"})
    texts = ["(20, 30) (60, 30)", "(60, 30) and (20, 30)", "(20, 30) (60, 30) (60, 31)", "(20, 30)", "none", None]
    scores = reward.score(texts, [boxes(A, B)] * 6)
    assert scores.parts["matched_f1"].tolist() == [1, 1, 4 / 5, 2 / 3, 0, 0]
    assert scores.acc.tolist() == [1, 1, 0, 0, 0, 0]
    assert gr.recipe(reward.to_dict()) == reward
    assert composed(parts={"matched_f1": 0.9, "format": 0.1}, answers="all") == reward
    assert composed(parts={"hit": 1}).answers == "only"


def test_answered_boxes_count_by_their_centres():
    answer = '[{"bbox_2d": [12, 22, 28, 38], "label": "a"}, {"bbox_2d": [0, 0, 200, 60], "label": "b"}]'
    scores = composed(parts={"matched_precision": 1}).score([answer], [boxes(A, C)])
    assert scores.total.tolist() == [1]


def test_the_pages_warning_of_two_tuples_and_a_comma():
    text, target = "(20, 30), (60, 30)", boxes(A, B)
    assert composed(parts={"matched_f1": 1}).score([text], [target]).total.tolist() == [0], (
        "a box from corner to corner"
    )
    assert composed(parts={"matched_f1": 1}, dialect="bare_tuple").score([text], [target]).total.tolist() == [1]


def test_refusals_beside_it():
    f1 = {"best": {"f1": {"verifier": "matched_f1"}, "refusal": "correct_refusal"}}
    reward = composed(parts={"found_all": {"weight": 1, **f1}})
    texts = ["refusal", "(20, 30)", "(20, 30)", "refusal"]
    scores = reward.score(texts, [{"refusal": True}, {"refusal": True}, boxes(A), boxes(A)])
    assert scores.total.tolist() == scores.acc.tolist() == [1, 0, 1, 0]


def test_the_success_takes_over_the_arguments():
    part = {"verifier": "matched_recall", "weight": 1, "point_radius": 3}
    reward = composed(parts={"recall": part})
    scores = reward.score(["(5, 5) (99, 99)", "(5, 5)"], [{"point": [7, 5]}] * 2)
    assert scores.total.tolist() == [1, 1]
    assert scores.acc.tolist() == [0, 1]


@pytest.mark.parametrize("answers", ["only", "first", "last"])
def test_a_policy_that_drops_answers_is_refused(answers):
    expected = f"answers: got '{answers}'; expected 'all', because MatchedF1 judges all answers of a response"
    with pytest.raises(gr.RecipeError, match=f"composite: {expected}"):
        composed(
            parts={"a": {"weight": 1, "clip": {"part": {"b": "matched_f1"}, "low": 0, "high": 1}}}, answers=answers
        )
    with pytest.raises(gr.RecipeError, match=f"composite: {expected}"):
        composed(parts={"hit": 0.5, "matched_f1": 0.5}, answers=answers)
    click = gr.recipe("click", response_space="pixel", answers=answers)
    with pytest.raises(gr.RecipeError, match=f"click: {expected}"):
        replace(click, reward=MatchedF1())
