"""Refusals: Gelato's word, UI-Venus's (-1, -1), VLM-R1's None; only where they are the whole answer."""

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AUTO, JSON_REFUSAL, REFUSAL, parse
from tests.cases import cases
from tests.parsing.reading import read


@cases(
    "text",
    [
        "refusal", "Refusal", "REFUSAL.", '"refusal"', "'refusal'", "`refusal`", "  refusal \n", "null", "None",
        "none.",
        "[-1,-1]", "[-1, -1]", "(-1, -1)", "( -1 ,\n-1 )", "(-100,-100)", "[-100, -100]", '"None".',
        "<think>nothing there</think>refusal", "There are none.", "there are None", '"There are none."',
        "<answer>refusal</answer>", "<answer> [-1, -1]\n</answer>", "<answer>None.</answer>",
        " <answer>(-100,-100)</answer>",
    ],
)  # fmt: skip
def test_the_whole_answer_refuses(text):
    assert read(text, REFUSAL) == (None, "REFUSED")


@cases(
    "text",
    [
        "refusal (1, 2)", "no refusal", "refusal refusal", "I refuse", "[-1, 5]", "(-1, -100)", "(-1)",
        "[-1, -1], [-1, -1]",
        "nonetheless", "nil", "There are none of them.", "There  are none.", "<answer>refusal", "refusal</answer>",
        "<answer></answer>", "<answer>refusal</answer> (1, 2)", "<answer>[-1, 5]</answer>",
        "{-1, -1}", "(-1.0, -1.0)", "(1, 1)", "refusal\x00",
    ],
)  # fmt: skip
def test_anything_else_does_not(text):
    assert read(text, REFUSAL) == (None, "NO_ANSWER")


def test_a_refusal_has_no_place_under_any_policy():
    for answers in ("only", "first", "last"):
        assert parse(["null"], REFUSAL, space=CoordSpace.PIXEL, answers=answers).points is None
    found = parse(["null", "x"], REFUSAL, space=CoordSpace.PIXEL, answers="all")
    assert (found.points.tolist(), found.offsets.tolist()) == ([], [0, 0, 0])


@cases(
    "text",
    [
        '{"point_2d": [-1, -1]}', '[{"point_2d": [-1,-1], "label": "save"}]', "{'coordinate': [ -100 , -100 ]}",
        "<answer>[{'action': 'click', 'point': [-100, -100], 'input_text': 'no input text'}]</answer>",
        '{"thought":"nothing","POINT":[-1,-1]}', '```json\n[{"point_2d": [-1, -1]}]\n```\n',
        '<tool_call>\n{"name": "a", "arguments": {"action": "left_click", "coordinate": [-1, -1]}}\n</tool_call>',
        '{"point_2d": null}', '{"point_2d":null}', '{"coordinate": null}', '{"coordinate": None}', "{'point_2d': None}",
        '[{"point_2d": null, "label": "save (all)"}]', '```json\n[ { "coordinate": null } ]\n```',
        "<answer>{'coordinate': None}</answer>", 'Not there: {"point_2d": null}.',
    ],
)  # fmt: skip
def test_the_only_point_in_json_refuses(text):
    assert read(text, JSON_REFUSAL) == (None, "REFUSED")
    assert read(text, AUTO) == (None, "REFUSED")


@cases(
    "text",
    [
        '[{"point_2d": [-1, -1]}, {"point_2d": [1, 2]}]', '[{"point_2d": [1, 2]}, {"point_2d": [-1, -1]}]',
        '{"point_2d": [-1, 5]}', '{"point_2d": [-1, -100]}', '{"foo": [-1, -1]}',
        '{"point_2d": [-1, -1, -1]}', '{"point_2d": [-1.0, -1.0]}',
        '{"point_2d": [-1, -1', "point_2d [-1, -1]", '{"coordinate2": [-1, -1]}',
    ],
)  # fmt: skip
def test_other_json_does_not(text):
    assert read(text, JSON_REFUSAL) == (None, "MALFORMED")
    # To auto the point (-1, -1) is a refusal wherever it is the sole answer.
    assert (read(text, AUTO)[1] == "REFUSED") == (text in ('{"point_2d": [-1.0, -1.0]}', "point_2d [-1, -1]"))


@cases(
    "text",
    [
        '{"coordinate": null, "action": "wait"}', '{"action": "type", "coordinate": null}', '{"point_2d": null',
        '{"point_2d": nullify}', '{"a_point_2d": null, "b": 1}', '{"point_2d": null} {"point_2d": null}',
        '{"coordinate": null, "x": 1, "y": 2}', '(1, 2) {"point_2d": null}', '[1, 2] {"point_2d": null}',
        '{"point_2d": null} or click(1, 2)', '{"a": {"point_2d": null}}',
    ],
)  # fmt: skip
def test_null_beside_anything_else_does_not(text):
    assert read(text, JSON_REFUSAL) == (None, "MALFORMED")
    assert read(text, AUTO)[1] != "REFUSED"


@cases("text", ['{"point_2d": [1, 2]}', '{"text": null}', "Answer: None of these", "None, null", '{"point": null}'])
def test_json_without_a_sentinel_is_no_refusal(text):
    assert read(text, JSON_REFUSAL) == (None, "NO_ANSWER")
