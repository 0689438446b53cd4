"""Every registered verifier keeps what all verifiers promise, over generated rollouts of all kinds."""

import inspect

import pytest

from grounding_rewards.plugins.named import build
from grounding_rewards.plugins.registry import collect
from grounding_rewards.testing import check_verifier

VERIFIERS = collect([]).verifiers
SCALE, MOVES = {"scale": True}, {"translation": True}
BOTH = {**SCALE, **MOVES}
WORDS = {"positive": ["right", "1"], "negative": ["wrong"]}
JUDGED = {"target_extras": [{"verdict": each} for each in (True, False, 1, 0.0, "Wrong", " 1 ")]}
# What each is built with, and under what its scores do not change; one that is not named here, with nothing and none.
BUILT_WITH = {
    "action_match": [({}, BOTH), ({"text": "ratio", "text_threshold": 0.5, "enlarge": 1.5}, BOTH),
                     ({"point_radius": 9}, MOVES), ({"point_share": 0.05}, BOTH)],
    "action_type": [({}, BOTH), ({"names": "contained"}, BOTH)],
    "argument_match": [({"field": "app"}, BOTH), ({"field": "status", "case": True}, BOTH)],
    "box_size": [({}, SCALE)],
    "centredness": [({}, BOTH), ({"shape": "cosine"}, BOTH)],
    "consensus": [({}, MOVES)],
    "corner_distance": [({}, SCALE)],
    "correct_refusal": [({}, BOTH)],
    "dast_length": [({}, BOTH), ({"correct": {"verifier": "inside_distance"}, "above": 0.6}, BOTH)],
    "dense_distance": [({}, BOTH), ({"polygon": "strict", "point_share": 0.1}, BOTH), ({"point_radius": 9}, MOVES)],
    "difficulty": [({"most": 2.0}, BOTH)],
    "direction_match": [({}, BOTH), ({"response": "finger"}, BOTH)],
    "duration_match": [({}, BOTH), ({"tolerance": 1.0}, BOTH)],
    "end_hit": [({"radius": 9}, MOVES), ({"share": 0.05, "enlarge": 1.2}, BOTH)],
    "exploration": [({}, BOTH), ({"polygon": "half_open", "point_radius": 9}, MOVES)],
    "false_click": [({}, BOTH)],
    "false_refusal": [({}, BOTH)],
    "format": [({}, BOTH), ({"pattern": "^[^0-9]*$"}, BOTH)],
    "gaussian_coverage": [({}, BOTH), ({"least": 2.0, "digits": 3}, MOVES)],
    "gaussian_point": [({}, BOTH), ({"least": 2.0, "alpha": 1.0}, MOVES)],
    "graded_format": [({"steps": ["<think>", ["[0-9]", 0.5]], "parsed": 0.25}, BOTH)],
    "hit": [({}, BOTH), ({"border": "strict", "enlarge": 1.5}, BOTH),
            ({"polygon": "half_open", "point_radius": 9}, MOVES),
            ({"whole_edges": True}, {})],
    "in_consensus": [({"size": 400}, MOVES)],
    "inside_distance": [({}, BOTH), ({"polygon": "half_open"}, BOTH)],
    "keys_match": [({}, BOTH)],
    "matched_f1": [({}, BOTH), ({"polygon": "half_open", "point_radius": 9}, MOVES)],
    "matched_precision": [({}, BOTH)],
    "matched_recall": [({}, BOTH)],
    "near_point": [({"radius": 9}, MOVES), ({"share": 0.05}, BOTH)],
    "noise": [({"amplitude": 0.1}, BOTH)],
    "not_collinear": [({}, BOTH)],
    "novelty": [({"radius": 50}, MOVES), ({"share": 0.25}, BOTH)],
    "overlap": [({"kind": kind}, BOTH) for kind in ("iou", "giou", "diou", "ciou")] + [
        ({"pixel_convention": True}, MOVES)],
    "refusal_match": [({}, BOTH)],
    "repetition": [({"radius": 50}, MOVES), ({"share": 0.25}, BOTH), ({"grid": 4, "per": "group"}, SCALE)],
    "point_distance": [({}, SCALE)],
    "screen_distance": [({}, SCALE)],
    "suggestion": [({"tag": "better"}, BOTH), ({"tag": "better", "point_radius": 9}, MOVES)],
    "thinking_length": [({}, BOTH), ({"form": "plain"}, BOTH)],
    "text_match": [({"rule": rule}, BOTH) for rule in ("exact", "f1", "contains", "ratio")],
    "verdict": [({"tag": "score", **WORDS}, {**BOTH, **JUDGED})],
}  # fmt: skip
CASES = [(name, *case) for name in VERIFIERS for case in BUILT_WITH.get(name, [({}, {})])]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments", "invariant"), CASES, ids=[f"{name} {given}" for name, given, _ in CASES])
def test_it_keeps_its_promises(name, arguments, invariant):
    try:
        inspect.signature(VERIFIERS[name]).bind(**arguments)
    except TypeError as error:
        pytest.fail(f"{name}: {error}; say in BUILT_WITH what to build it with")
    check_verifier(build("verifiers", name, arguments), **invariant)


@pytest.mark.parametrize("name", VERIFIERS)
def test_it_declares_what_it_judges(name):
    assert "judges" in dir(VERIFIERS[name])
