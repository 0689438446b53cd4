"""Text that looks like an answer, nearly: the pieces from which hypothesis builds responses."""

from hypothesis import strategies as st

NUMERALS = [
    "0", "1", "-1", "007", "512", "-100", "3.5", "12.", ".5", "-.5", "-0", "0.0", "1e5", "1e999", "NaN", "inf", "-inf",
    "+5", "--5", "1_000", "0x1F", "1.2.3", "٣", "１２", "²", "9" * 30, "9" * 400, "0." + "0" * 330 + "7",
    "179769313486231580793728971405301", "2.2250738585072011e-308", "0.1", "0.30000000000000004", "1234567890123456.75",
]  # fmt: skip
SPACES = [
    "", " ", "\t", "\n", "\r\n", "\v", "\f", "\x1c", "\x85", "\xa0", "\u2003", "\u2028", "\u3000", "\u200b", "\ufeff",
]  # fmt: skip
GLUE = [
    "(", ")", "[", "]", "{", "}", ",", ":", "'", '"', "`", ".", ";", "|", "((", "))", "[[", "]]", "()", "(,)",
    '"point_2d"', "'point_2d'", '"bbox_2d"', '"coordinate"', "'coordinate'", '"arguments"', '"action"', '"left_click"',
    '"point_2d": [', '"bbox_2d": [', '{"arguments": {', '"coordinate": [', "<tool_call>", "</tool_call>", "<think>",
    "</think>", "</THINK>", "<answer>", "</answer>", "```json", "```", "refusal", "Refusal", "REFU\u017fAL", "null",
    "None",
    "none.", "click", "click(", "Click(", "scroll(", "x=", "y=", "pyautogui.", "start_box='", "point='", "<point>",
    "</point>", "<|box_start|>", "<|box_end|>", "<box>", "</box>", "<x>", "</x>", "<y>", "</y>", "<points coords=\"",
    "</points>", "Image_0, ", "(Image_1, (", "<crop>", "</crop>", '"POINT": [', '"to"', '"mean": [', '"x": ', '"y": ',
    '"path": [', "'point': [", "box=[[", "CLICK(", "There are none", "[-1, -1]", '"foo": [',
    "\x00", "\ud800", "\udfff", "\U0001f600", "é", "\\", "\\n", "^", "$", "*",
]  # fmt: skip
ANSWERS = [
    "(512, 384)", "( 1 , 2 )", "(-1, -1)", "[-1, -1]", "(-100,-100)", "(1, 2, 3)", "(1,2)(3,4)", "(0.5, .25)",
    '{"point_2d": [10, 20], "label": "save"}', '[{"bbox_2d": [1, 2, 3, 4]}]', "{'point_2d': [1.5, 2.5]}",
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [5, 6]}}\n</tool_call>',
    '{"arguments": {"coordinate": [7, 8]}}', '{"arguments": {"action": "wait"}}', "<think>(9, 9)</think>(1, 2)",
    '{"arguments": {"action": "type", "text": "(3, 4)"}}',
    '{"arguments": {"action": "type2", "coordinate": [1, 2]}}',
    '{"arguments": {"coordinate": [3, 4], "action": null}}', "{'arguments': {'action': '点击', 'coordinate': [5, 6]}}",
    "refusal", "'None'.", "<think>unfinished (1, 2)", "There are none.", "<answer>[-1, -1]</answer>",
    '[{"point_2d": [-1, -1], "label": "x"}]', "[512, 384]", "[1, 2, 3, 4]", "[1, 2],[3, 4]", "(1, 2),(3, 4)",
    "[[123, 456]]", "[[.1, .2, .3, .4]]", "CLICK(box=[[102,034,120,050]], element_info='x')", '{"foo": [1, 2]}',
    "<answer>[{'action': 'click', 'coordinate': [5, 6]}]</answer>", '{"action":"click","coordinate":[540,1200]}',
    "[{'action': 'click', 'point': [123, 300], 'input_text': 'no input text'}]", '{"POINT":[500,500],"to":"up"}',
    "Thought: a\nAction: click(start_box='<|box_start|>(512,384)<|box_end|>')", "click(start_box='(512,384)')",
    "click(point='<point>512 384</point>')", "drag(start_box='(1,2)', end_box='(3,4)')",
    "scroll(direction='down', start_box='[1, 2, 3, 4]')", "<|box_start|>(12,34),(56,78)<|box_end|>",
    "<box>12 34 56 78</box>", "<point>1, 2</point>", "<x>12</x><y>34</y>", "pyautogui.click(x=0.797, y=0.219)",
    "pyautogui.scroll(-5, x=1, y=2)", "click(button='left', x=1, y=2)", "Click(352, 348)", "(Image_0, (120, 45))",
    '<points coords="1 1 105 205 2 300 400">a</points>', '<points coords="1 1 105 205">a</points>',
    "<crop>(Image_0, (10,20), (110,100))</crop>(Image_1, (5, 6))", '{"type":"click","button":"left","x":100,"y":200}',
    "{'action': 'click', 'mean': [10, 20], 'variance': [3, 4]}",
    '{"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}',
    "pyautogui.click(y=0.219, x=0.797)", "click(y=1, button='left', x=2)", '{"y": 200, "button": "left", "x": 100}',
    "[[-1, -1]]", "[-1.0, -1.0]", "<point>-100 -100</point>", "click(start_box='(-1,-1)')", "[-1, -1, -1, -1]",
    '{"point_2d": null, "label": "x"}', '{"coordinate":null}', "{'coordinate': None}",
]  # fmt: skip

pieces = st.one_of(
    st.sampled_from(NUMERALS), st.sampled_from(SPACES), st.sampled_from(GLUE), st.sampled_from(ANSWERS),
    st.text(max_size=4), st.text(st.characters(categories=["Cs", "Nd", "Zs", "Cc"]), max_size=3),
)  # fmt: skip
pairs = st.builds(
    "({}{}{},{}{}{})".format, *(st.sampled_from(kind) for kind in (SPACES, NUMERALS, SPACES, SPACES, NUMERALS, SPACES))
)
responses = st.lists(st.one_of(pieces, pairs), max_size=12).map("".join)
