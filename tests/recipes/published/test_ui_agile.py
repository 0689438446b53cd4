"""UI-AGILE: a parameter as JSON, lines to which its deviations apply, and the answers that these stand for."""

import json

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from tests.golden.departures import ORACLES

AGILE = gr.recipe("ui-agile")
SAME = {"image_sizes": (2000, 1000), "model_image_sizes": (2000, 1000)}
BOX = "<answer>[{'action': 'click' ,'coordinate': [100, 100, 300, 200] }]</answer>"


def click(place):
    return f"<think>-</think>\n<answer>[{{'action': 'click', 'coordinate': {place}}}]</answer>"


BY_NAME = {oracle.name: oracle for oracle in ORACLES["ui-agile"]}


def line(response, parameter=""):
    return {"response": response, "ground_truth": BOX, "extra": {"scale": [1.0, 1.0], "parameter": parameter}}


def named(row):
    return next((name for name, oracle in BY_NAME.items() if oracle.applies(row)), None)


@pytest.mark.parametrize(
    ("response", "name"),
    [
        (click("[-300, 200]"), "pieces-of-numbers"), (click("[-300, 200]") + "(5, 5)", "pieces-of-numbers"),
        (click("[-300, 200]") + click([1, 1]), "pieces-of-numbers"),
        (click("[1e400, 100, 300, 200]"), "pieces-of-numbers"),
        (click("[2e+200, 150]"), "pieces-of-numbers"), (click("[-3, ４]"), "pieces-of-numbers"),
        (click("[３００, ２００]"), "unicode-digits"), ("(5, 5)" + click("[３００, ２００]"), "unicode-digits"),
        (click("[３００, ２００]") + "[7, 8]", "unicode-digits"), (click("[200, 150０]"), "unicode-digits"),
        ("<point>２ 1</point>", "unicode-digits"), ("(x=1, y=２)", "unicode-digits"),
        (click("[５, 6, 7, 8]"), "unicode-digits"),
        (click("[200,\u00a0150]"), None), (click("[200, 150e0]"), None), (click("[200, 1_50]"), None),
        (click("[+200, 150]"), None), (click([1, 1]) + click("[-300, 200]"), None), ("-3, 4" + click([1, 1]), None),
        ("<think>-3, 4</think>", None), ("<think>-3, 4", None), ("<think>a</think>-3, 4", "pieces-of-numbers"),
        (click("[1, 1], -3, 4"), None), ("-3, 4 <point>1 2</point>", None), ("３, 4 [1, 2]", None),
        (click([1, 2, 3]), None), ("5, 6, ７", None), (click("[-3, x]"), None), (click([1, 2]) + "\n", "spaces"),
    ],
)  # fmt: skip
def test_where_deviations_apply(response, name):
    assert named(line(response)) == name


@pytest.mark.parametrize(
    ("response", "same"),
    [
        (click("[-300, 200]"), click("[x, y]")), (click("[2_00, 150]"), click("[x, y]")),
        (click("[３００, ２００]"), click("[x, y]")), (click("[1e400, 100, 300, 200]"), click("[x, y]")),
        (click("[-300, 200], [-300, 200]"), click("[x, y], [x, y]")),
        (click("[-300, 200]") + "-1, 2", click("[x, y]") + "-1, 2"),
        ("<think>-1, 2</think>-1, 2", "<think>-1, 2</think>x, y"),
        ("-1, 2 or 3, 4", "x, y or 3, 4"), ("box-3, 4", "boxx, y"), ("(x=1, y=２)", "(x=1, y=②)"),
        ("{'text': '-3, 4'} -3, 4", "{'text': '-3， 4'} x, y"),
    ],
)  # fmt: skip
def test_what_lines_of_unread_numbers_stand_for(response, same):
    row = line(response, "at -3, 4")
    found = BY_NAME[named(row)].same_as(row)
    assert (found["response"], found["extra"]["parameter"]) == (same, "at -3， 4")
    assert named(found) is None


PARTS = [
    "<think>", "</think>", "<answer>", "</answer>", "'action': 'click'", "'action': 'scroll'", "'text': '", "'", '"',
    "[", "]", "(", ")", "<point>", "</point>", "(x=", "y=", ", ", ",", " ", "\n", "-", "+", "_", ".", "e", "e+",
    "1", "20", "150", "2.5", "３", "４.５", "x", "200, 150", "[200, 150]", "-3, 4", "start_box='", "<|box_start|>",
]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join), st.sampled_from(["", "-3, 4", "200, 150", "３ a"]))
@example("-3, 4'action': 'click'200, 150-3, 4", "")
def test_lines_score_as_those_that_they_stand_for(response, parameter):
    # A quote without its other half leaves open which numbers are text, and so compared with the parameter.
    assume(not parameter or not (response.count("'") % 2 or response.count('"') % 2))
    row = line(response, parameter)
    for name in ("pieces-of-numbers", "unicode-digits"):
        if BY_NAME[name].applies(row):
            other = BY_NAME[name].same_as(row)
            rows = [{"solution": BOX, "parameter": each["extra"]["parameter"]} for each in (row, other)]
            scores = AGILE.score([response, other["response"]], rows, **SAME)
            for column in (scores.total, scores.acc, *scores.parts.values()):
                assert column[0] == column[1]


def solution(action, parameter=""):
    text = f"<answer>[{{'action': '{action}' ,'coordinate': [0, 0, 0, 0] }}]</answer>"
    return {"solution": text, "parameter": parameter}


def test_a_solution_beside_its_parameter_as_json():
    target = solution("type", "Save")
    texts = [json.dumps(target), json.dumps(target, indent=1), f" {json.dumps(target)}"]
    assert {AGILE.read_targets([each]).rows[0].action.text for each in (target, *texts)} == {"Save"}
