"""UI-AGILE's rewards by hand: the action, how near a click is to the middle of the box, the format, the parameter."""

import json

import grounding_rewards as gr

AGILE = gr.recipe("ui-agile")


def solution(action, parameter=""):
    text = f"<answer>[{{'action': '{action}' ,'coordinate': [0, 0, 0, 0] }}]</answer>"
    return {"solution": text, "parameter": parameter}


def click(place, name="click"):
    return f"<think>-</think>\n<answer>[{{'action': '{name}', 'coordinate': {place}}}]</answer>"


def test_a_solution_beside_its_parameter_as_json():
    target = solution("type", "Save")
    texts = [json.dumps(target), json.dumps(target, indent=1), f" {json.dumps(target)}"]
    assert {AGILE.read_targets([each]).rows[0].action.text for each in (target, *texts)} == {"Save"}
