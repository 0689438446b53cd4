"""Thousands of characters of a dialect's own openers take linear time: no pattern reads a character again and again."""

import time

import pytest

from grounding_rewards import parsing
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AUTO, AUTO_ACTION, parse
from grounding_rewards.parsing.responses import MAX_LENGTH
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts
from tests.cases import cases
from tests.parsing.test_cases import texts_of

pytestmark = pytest.mark.slow

OPENERS = [
    "'", "<answer>", " ", "[-1,", "'point_2d': [-1", "-1 [", '-1"', "'coordinate': ",
    '{"coordinate": null, "label": "', ' {"point_2d": null', '"point_2d": null', "click(start_box='", "start_box=(",
    "a", "click(start_box='1 ", "click(a='b', ", "start_box= ", "pyautogui.", "pyautogui.click(",
    "pyautogui.click(1,", "pyautogui.click(x=1, ", "pyautogui.a(a=1,", "pyautogui.a(y=1, ", "y=1, ", '"arguments": {',
    "'arguments'", '"arguments": {"coordinate": [1', "tool_call>", '"point_2d": [', '"bbox_2d": [1, 2, ',
    "'point_2d' : ", "{'coordinate': [", '{"', "'coordinate'", "{'point'", '"POINT": [', '"POINT": [1, 2], ',
    "'POINT' ", "{'mean': [", '{"mean"', "'mean'", '{"x": 1, "y": ', '{"path": [{"x"', '{"x"', '{"x": [', '"x"[]',
    '{"y": 1, "x": ', '"y": 1, ', "<box>", "<|box_start|>(1,2),(", "<box>1 ", "<bbox>[[1,2] ", "<point>", "<point>1 ",
    "<point>(1,2", "<x>", "<x>1</x>", "<x>1</x><y>1", "<x> ", '<points coords="', '<points coords="1 1 1 ', "coords=",
    "(Image_0, (", "(Image_0, (1, 2), (", "Image_", "(Image_0 ", "click(", "click(x=1, ", "click(a=1, ", "a(",
    "click(y=1, ", ", y=1", "click(1, ", "left_", "click( ", "(", "(1, 2), (", "((1, 2)", "(1, 2) ", "( ", "(1, ",
    "1.", "[", "[[1, 2] ", "box=", "CLICK(box=[", "[1, 2], [", "[[1, 2]", "[1, 2] ", "[ ", "[1, 2, ", "': [", '"',
    "'  ",
]  # fmt: skip


ANSWERS = [
    "<answer> '( -1 , -1 )'. </answer>", "-1 [ { 'point_2d' : [ -1 , -1 ] } ]",
    'a [ { "point_2d": null , "label" : "a" } ] a',
    "scroll( a= 'b' , start_box= ' <|box_start|> ( 1 , 2 ) , ( 3 , 4 ) <|box_end|> ' )",
    "Thought: a\nAction: tap( point= ' <point> 1 2 </point> ' )", "pyautogui.click( a = b , x = 1 , y = 2 )",
    "pyautogui.scroll( -5 , x = 1 , y = 2 )", "pyautogui.click( a = b , y = 1 , a = b , x = 2 , a = b )",
    "pyautogui.click( 1 , y = 2 )", '<tool_call> { "arguments" : { "coordinate" : [ 1 , 2 ] , "action" : "a" } }',
    '[ { "bbox_2d" : [ 1 , 2 , 3 , 4 ] } ]', '{ "point_2d" : [ 1 , 2 ] }',
    "{ 'action' : 'a' , 'coordinate' : [ 1 , 2 ] }", "{ 'POINT' : [ 1 , 2 ] , 'to' : 1 }",
    "{ 'action' : 'a' , 'mean' : [ 1 , 2 ] }", '{ "x" : 1 , "y" : 2 , "a" : [ 1 ] }',
    '{ "a" : 1 , "path" : [ { "x" : 1 , "y" : 2 } ] , "b" : 1 }', '{ "y" : 1 , "a" : 1 , "x" : 2 , "b" : [ 1 ] }',
    "<|box_start|> ( 1 , 2 ) , ( 3 , 4 ) <|box_end|>", "<box> [ [ 1 2 3 4 ] ] </box>", "<point> ( 1 , 2 ) </point>",
    "<x> 1 </x> , <y> 2 </y>", '<points coords="1 1 2 3 4 5 6"> a </points>',
    "<crop> ( Image_0 , ( 1 , 2 ) , ( 3 , 4 ) ) </crop> ( Image_1 , ( 1 , 2 ) )", "click( a = b , x = 1 , y = 2 )",
    "click( y = 1 , a = b , x = 2 , a = b )", "left_click( 1 , 2 )", "( 1 , 2 ) , ( 3 , 4 )",
    "( ( 1 , 2 ) , ( 3 , 4 )", "( 1.5 , -2 )", "CLICK( box = [ [ 1 , 2 , 3 , 4 ] ] )", "[ 1 , 2 ] , [ 3 , 4 ]",
    "( [ 1 , 2 ] , [ 3 , 4 ]", "[ 1.5 , -2 ]", "' : [ 1 , 2 , 3 , 4 ]",
]  # fmt: skip
FILLERS = [" ", "\u3000", "1", "a", ",", "'", "(", "[", "{", "=", "1 ", "a="]


PUBLISHED = {
    "ui_agile": [
        "1", "1,", "1, ", "-1, 1", "[", "[1", "[1, ", "[1, 1, 1, 1", "(", "( ", "{1, ", "<point>", "<point>1 ", " ",
        "1 ", "'", "'action'", "'action': ", "'a': '", "'a':\"", "Action: ", "<|box_start|>(1,2)", "start_box",
        "start_box='[1, 2", "(x=1, ", "1.", "1_1, ", "1.1, -", "１", "<answer>", "</think>", "5, -1, 2 ", "1,\u00a0",
        "１, ", "'direction': '"
    ],
    "ui_r1": [
        "{", "{[1, 2 ", '"action"',
        "<answer>", "</answer>", "<answer>'action': ", "'action'", "'action' ", "'action': '", "[", "[1", "[1, ", "[ ",
        "[1, 2], ", "[1.", "[1,1", "'action': 'a", "a", " ", "<think>", "</think>", "<", "1"
    ],
    "ui_s1": [
        "<action>", "</action>", '<action>{"action": "a"}</action>', '{"action": "', '"action"', "[", "[1", "[1, ", "{",
        "a", " ", "\n", "<think>", "</think>", "<", '"', "\\", '"text": "', "1"
    ],
    "btl_ui": [
        "<link>", "<link> ```json ", "```</link>", "``` ", "<blink>", "</think>", "<link>```json [[",
        '{"point_2d": [1, 2]},', "<link>```json\n", " ", "`", "<think>", '<link>```json [{"Action": {"function": "'
    ],
    "agentcpm": ['{"POINT":[', '{"thought":"', '{"TYPE":"\\\\', "{", "/*", "{'a", "[", "1"],
    "json_point": ['{"point_2d": ', "```json", " ", '"'],
    "literal_box": ['[{"bbox_2d": [', "```json\n", "[", "'", '"bbox_2d": ('],
    "point_list": ['[{"point_2d": [', "[1] ", '[{"a": ', "<think>", "[ "],
    "box_list": ["[1, 2, ", "assistant\n", "[ ", "1."],
    "gui_r1": ["<answer>", "'action': '", "'point': [1, ", "'input_text': '", "'a' ", "[1,", "{"],
    "ui_venus": ["<action>", "<action>Click(box=(", "Type(content='", " ", "start=(1, 2), "],
    "literal_pair": ["<answer>", "<answer>(1, ", "<answer>\n", "</answer>", "("],
    "first_call": ["<tool_call>", "<tool_call>{", "</tool_call>", "["],
}  # fmt: skip
"""Beginnings of answers of the published forms, each of which has a reader of its own."""

WITHIN = {
    "action_calls": [
        "(", "a(", "a('", "click(", "click('", "click((", "click(1,", "click(a='", "a ", "click(a=1,", "Action:", "\n ",
        "\nAction:", "click(),", "'", "click('a' ", "click('a\\'", "click(x=1)", "a(a=,", "[", "click([", "a=(",
        "click( ", "click(a\u3000", "' ", "('", "click(a='1 ", "click(point='1,"
    ],
    "action_os_atlas": [
        "'", "'a", "' ", "'a': 'b', ", "\"'", "\\'", "{'a': 'it's', ", "a ", "aB ", "action: ", "action>\n",
        "Action:\n",
        "\nactions:", "\nactions: TYPE [", "TYPE [", "TYPE [a]", "TYPE [] ", "``` ", "WAIT\n", "(", "a(", "type(",
        "scroll (", "scroll at ", "scroll  ",
        "scroll:", "long press ", "type': ", "(5", "scroll((", "click [1, 2] ", "\u3000", "\n",
        "action=\u3000", "\nAction:a(", "Action:\u3000"
    ],
    "action_json": [
        "{", "{}", "{a}", '{"a"}', '{"', "'", "{'", "}", "}{", "{{}", '{"a":', '{"a":1}', "{'\\'", '{"\\"', "{'a' '",
    ],
}  # fmt: skip
"""Pieces that are repeated within an answer, which is then of no use."""


LENGTH = MAX_LENGTH // 4
"""Characters of a text: a quadratic pattern takes seconds for these, and a linear one a dozen milliseconds."""


@pytest.mark.parametrize("name", PUBLISHED)
@cases("rows", [1, VECTOR_ROWS])
def test_openers_take_linear_time(name, rows):
    dialect = getattr(parsing, name.upper())
    sign = next(iter(getattr(dialect, "signs", ())), "")  # in front it lets the text through
    for opener in PUBLISHED[name]:
        text = sign + " " + opener * ((LENGTH - len(sign) - 1) // len(opener))
        assert costs_less(0.05 * rows, dialect, Texts([text] * rows)), opener


@pytest.mark.parametrize("dialect", [AUTO, AUTO_ACTION], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("name", WITHIN)
@cases("before", ["", "click(", "click(point='", "{'action': 'type', 'text': '", "actions:\n", "TYPE [", "{", '{"'])
def test_what_stands_in_an_answer_takes_linear_time(dialect, name, before):
    for unit in WITHIN[name]:
        for end in ("", "'})", "](5, 6)"):
            assert costs_less(0.15, dialect, Texts([before + unit * (LENGTH // len(unit)) + end])), (unit, end)


HALF_OPEN = [
    '{"action": "type", "text": "', "do(action=", "<function=", "<parameter=", "point:1,", "action:CLICK\tpoint:",
    "TYPE [", "click,", "Thought: a\nAction: ", "<tool_response>", "\nassistant\n", "<think", "[[1, 2], ",
    "（", "```json\n", "type(", '{"a": {', "[{'a': 1}, ", "x=", "1 ", "1, ", "\n", "WAIT\n", "<point>1 2<",
    "<thinking>", "-", "</tool_response>", r"\boxed{", r"\boxed{1, 2", "Answer: ", "Answer: 1, ", "x: 1, ", "left=1; ",
    "call:", "[THINK]", "<|channel|>", "size ", "hover\nAction Input:", "name: ", "[ARGS]",
]  # fmt: skip


@pytest.mark.parametrize("dialect", [AUTO, AUTO_ACTION], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("opener", [*OPENERS, *HALF_OPEN])
def test_a_megabyte_of_half_open_forms_takes_linear_time(dialect, opener):
    # The last 64 Ki of it are read, at worst in 0.08 s; a quadratic pattern would take half a minute.
    assert costs_less(1, dialect, Texts([opener * (2**20 // len(opener))]))


GOING_ON = [*((AUTO, answer) for answer in ANSWERS), *(
    (getattr(parsing, name.upper()), answer)
    for name in PUBLISHED
    for answer in [text for text in texts_of(name) if 20 < len(text) < 100][:3]
)]  # fmt: skip


@pytest.mark.parametrize(("dialect", "answer"), GOING_ON, ids=lambda each: getattr(each, "name", ""))
def test_an_answer_that_goes_on_for_ever_at_any_character_costs_little(dialect, answer):
    # Two runs of white space in a row would take a fifth of a second for these 8 Ki characters.
    for end in range(1, len(answer) + 1):
        for filler in FILLERS[end % 4 :: 4]:
            texts = Texts([answer[:end] + filler * (8192 // len(filler))])
            assert costs_less(0.05, dialect, texts), (answer[:end], filler)


OF_AUTO = [
    "type, hello", "Action: click, a", "WAIT", "long press at : ( 1 , 2 )", "TYPE [ a ]", "point: 1 , 2",
    "action:CLICK\tpoint:1,2", "x = 1 px , y = 2 px .", "do( action = 'Tap' , element = [ 1 , 2 ] )",
    "<function=click> <parameter=point> 1 2 </parameter> </function>", "<thinking> a </thinking> ( 1 , 2 )",
    "<loc0001><loc0002><loc0003><loc0004>", "<patch_index_0001><patch_index_0002>", '<point x="1" y="2">a</point>',
    r"\boxed{ 1 , 2 }", "Answer : 1 , 2", "** Action : ** click ( 1 , 2 )", "x : 1 ; y : 2 , w : 3 , h : 4",
    "Action: click\nAction Input: [ 1 , 2 ]", "size : ( 1 , 2 )", "call: click { x : 1 , y : 2 }",
    "( 1 , 2 )\nassistant\n[ 3 , 4 ] <|im_end|>", "Thought: a\nAction: tap ( 1 , 2 )",
]  # fmt: skip
"""Forms that ``auto`` alone reads."""


@pytest.mark.parametrize("answer", OF_AUTO)
def test_a_form_of_auto_that_goes_on_for_ever_anywhere_costs_little(answer):
    # Three runs of white space in a row would take seconds for these 2 Ki characters, two a hundred milliseconds.
    for end in range(len(answer) + 1):
        for filler in FILLERS:
            for rest in ("", answer[end:]):
                texts = Texts([answer[:end] + filler * (2048 // len(filler)) + rest])
                assert costs_less(0.05, AUTO_ACTION, texts), (answer[:end], filler, rest)


def costs_less(bound, dialect, texts, tries=5):
    """Return True if reading takes less time of this thread in one of a few tries: others can slow it down."""
    for _ in range(tries):
        start = time.thread_time()
        parse(texts, dialect, space=CoordSpace.PIXEL, answers="last", thinking="read")
        if time.thread_time() - start < bound:
            return True
    return False
