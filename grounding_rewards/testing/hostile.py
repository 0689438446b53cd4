"""Responses that break reward functions: no parser may raise, hang or reward them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle


@dataclass(frozen=True)
class AnswerFormat:
    """One way of writing an answer."""

    name: str
    right: str  # an answer as it should be; where the format has a place, it is around (512, 384)
    broken: str  # the same with a slip that a model makes: cut off, a number missing, a wrong type


def _call(arguments: str, name: str = "computer_use") -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def _tagged(answer: str) -> str:
    return f"<think>The save button is at the top.</think><answer>{answer}</answer>"


_LINK = (
    '<blink>\n```json\n[{{"bbox_2d": [500, 370, 524, 398]}}]\n```\n</blink>\n<think>save it</think>\n'
    '<link>\n```json\n[{{"Plan": "tap save", "Action": {{"function": "Tap", "point_2d": {}}}}}]\n```\n</link>'
)

ANSWER_FORMATS = tuple(AnswerFormat(*row) for row in (
    ("bare tuple", "(512, 384)", "(512, 384"),
    ("bare list point", "[512,384]", "[512,]"),
    ("bare list box", "[500,370,524,398]", "[500,370,524]"),
    ("two corners", "[500,370],[524,398]", "[500,370],[524"),
    ("nested brackets", "[[512,384]]", "[[512],[384]]"),
    ("box after a word", "tap it box=[[0.48,0.49,0.52,0.51]]", "tap it box=[[0.48,0.49,0.52,0.51]"),
    ("tagged python dict", _tagged("[{'action': 'click', 'coordinate': [512, 384]}]"),
     _tagged("[{'action': 'click', 'coordinate': ['512', '384']}]")),
    ("tagged python dict with text", _tagged("[{'action': 'type', 'point': [-100, -100], 'input_text': 'it is'}]"),
     _tagged("[{'action': 'type', 'point': [-100, -100], 'input_text': 'it's'}]")),
    ("tagged click with text", _tagged("[{'action': 'click', 'point': [512, 384], 'input_text': 'no input text'}]"),
     _tagged("[{'action': 'click', 'point': [512, 384], 'input_text': 'no input text'}")),
    ("JSON list of points", '<think>top</think>\n```json\n[{"point_2d": [512, 384], "label": "save"}]\n```',
     '<think>top</think>\n```json\n[{"point_2d": [512, 384], "label": "save"},]\n```'),
    ("JSON list of many points",
     '<think>a</think>[{"point_2d": [512, 384]}, {"point_2d": [5, 9]}, {"point_2d": [7, 1]}]',
     '<think>a</think>[{"point_2d": [512, 384]}, {"point_2d": [5, true]}, {"point_2d": 7}]'),
    ("JSON object", '{"point_2d": [512, 384], "label": "save"}', '{"point_2d": [512, "b"], "label": "save"}'),
    ("JSON coordinate", '<grounding_think>top</grounding_think><answer>{"coordinate": [512,384]}</answer>',
     '<grounding_think>top</grounding_think><answer>{"coordinate": 512,384}</answer>'),
    ("JSON boxes", '```json\n[{"bbox_2d": [500, 370, 524, 398], "label": "save"}]\n```',
     '```json\n[{"bbox_2d": [500, 370, null, 398], "label": "save"}]\n```'),
    ("tool call", _call('{"action": "left_click", "coordinate": [512, 384]}'),
     _call('{"action": ["left_click"], "coordinate": {"x": 512, "y": 384}}', "")),
    ("grounding call", _call('{"action": "click", "coordinate": [512, 384]}', "grounding"),
     _call('{"action": "click", "coordinate": [512, 384]', "grounding")),
    ("drag call", _call('{"action": "left_click_drag", "start_coordinate": [5, 6], "end_coordinate": [512, 384]}'),
     _call('{"action": "left_click_drag", "start_coordinate": [5, 6]}')),
    ("action tags", '<think>top</think><action>{"action":"click","coordinate":[512,384]}</action>',
     '<think>top</think><action>{"action":"click","coordinate":[512,384]}'),
    ("conclusion", f"<thinking>top</thinking>{_call('''{'action': 'click', 'coordinate': [512, 384]}''')}"
     "<conclusion>Click save.</conclusion>", "<thinking>top</thinking><conclusion>Click save.</conclusion>"),
    ("compact point", '{"thought":"top","POINT":[512,384]}', '{"thought":"top","POINT":[512,384,1]}'),
    ("compact swipe", '{"POINT":[512,384],"to":"up"}', '{"POINT":[512,384],"to":"upwards","duration":"long"}'),
    ("compact text", '{"TYPE":"hello"}', '{"TYPE":["hello"],"PRESS":7}'),
    ("blink, think, link", _LINK.format("[512, 384]"), _LINK.format('"512"').replace("</link>", "")),
    ("point in a call", "Thought: top\nAction: click(point='<point>512 384</point>')",
     "Thought: top\nAction: click(point='<point>512</point>')"),
    ("start box", "Thought: top\nAction: click(start_box='(512,384)')",
     "Thought: top\nAction: click(start_box='(512,384')"),
    ("drag in a call", "Action: drag(start_point='<point>5 6</point>', end_point='<point>512 384</point>')",
     "Action: drag(start_point='<point>5 6</point>', end_point=''"),
    ("box tokens", "<|box_start|>(500,370),(524,398)<|box_end|>", "<|box_start|>(500,370),(524<|box_end|>"),
    ("box tokens around a point", "<|box_start|>(512,384)<|box_end|>", "<|box_start|>512,384<|box_end|>"),
    ("box tags", "<box>(500,370),(524,398)</box>", "<box>(500,370),(524,398)"),
    ("box tags with spaces", "<box>500 370 524 398</box>", "<box>500 370 524</box>"),
    ("pyautogui in shares", "pyautogui.click(x=0.512, y=0.384)", "pyautogui.click(x=0.512)"),
    ("pyautogui in pixels", "<action>\nclick(x=512, y=384)\n</action>", "<action>\nclick(x=512, y=)\n</action>"),
    ("named call", "Click(512, 384)", "Click(512 384)"),
    ("x and y tags", "<x>512</x><y>384</y>", "<x>512</x><y></y>"),
    ("point tags", "<point>512 384</point>", "<point>512,</point>"),
    ("point tags around a pair", "<point>(512, 384)</point>", "<point>(512, )</point>"),
    ("pointer tokens", "pyautogui.click(<|pointer_start|><|pointer_pad|><|pointer_end|>)", "<|pointer_start|>"),
    ("points with indices", '<points coords="1 1 512 384 2 300 400">save</points>',
     '<points coords="1 1 512">save</points>'),
    ("mean and variance", "{'action':'click','mean':[512,384],'variance':[9,9]}",
     "{'action':'click','mean':[512,384],'variance':[-9,0]}"),
    ("cropped image", "(Image_0, (512, 384))", "(Image_0, (512, 384)"),
    ("crop", "<crop>(Image_0, (10,20), (110,100))</crop>", "<crop>(Image_0, (110,100), (10,20))</crop>"),
    ("refusal", "refusal", "refusal refusal"),
    ("refusal as a point", "[-1,-1]", "[-1,-1"),
    ("refusal as a word", "None", "There are none."),
    ("refusal in JSON", '{"point_2d": null}', '{"point_2d": nul}'),
    ("navigation call", "<think>top</think><action>Click(box=(512, 384))</action><conclusion>It opens.</conclusion>",
     "<think>top</think><action>Click(box=(512, 384)</action>"),
    ("computer call", '{"type":"click","x":512,"y":384}', '{"type":"click","x":512,"y":"384px"}'),
    ("computer drag", '{"type":"drag","path":[{"x":5,"y":6},{"x":512,"y":384}]}', '{"type":"drag","path":[]}'),
))  # fmt: skip
"""Prompts and parsers of published models were the sources; the words and numbers are ours."""


MEGABYTE = 1_000_000
_MIDDLING = 4 * 1024

PROMPT = "You are a GUI grounding expert. Output the coordinate pair exactly:\n(x,y)\nClick the button: save."

_BAIT = "open('eval-bait.txt', 'w').write('1')"  # where this file appears, a response was run as code
_FAR, _FARTHER = "9" * 400, "9" * 5000  # beyond floats, and beyond the 4,300 digits that int reads


def hostile_responses(length: int = MEGABYTE) -> list[str | None]:
    """Return some hundreds of responses, None among them: every answer format right and broken, and known errors.

    Huge and non-ASCII digits, lone surrogates, NUL, not-a-number, inverted and empty boxes, prompts repeated, thinking
    in every state, text that hopes for ``eval``, calls with everything wrong, ``hostile_shapes``, and some of these as
    long as ``length``.

    >>> responses = hostile_responses(length=10)
    >>> None in responses, "(512, 384)" in responses, "[" * 10 in responses
    (True, True, True)
    """
    middling = [text for _, text in hostile_shapes(_MIDDLING)]
    long = [text for name, text in hostile_shapes(length) if name in _ALSO_LONG]
    return list(dict.fromkeys([*short_responses(), *middling, *long]))


@cache
def short_responses() -> tuple[str | None, ...]:
    """Return those of ``hostile_responses`` that are as short as an answer, each once."""
    formats = [text for form in ANSWER_FORMATS for text in (form.right, form.broken)]
    return tuple(dict.fromkeys([*formats, *_WORDS, *_NUMBERS, *_BOXES, *_THOUGHTS, *BAITS, *_CALLS]))


_WORDS = [
    None, "", " ", "\n\t\v\f\r\x1c\x85\u2028", "\x00", "\x00" * 1000, "(1, 2)\x00", "\x00(1, 2)", "\ud800",
    "\udc00\ud800", "(1, 2)\udfff", "(\ud8001, 2)", "\U0010ffff", "\ufffe", "\ufeff(512, 384)", "\u202e(1, 2)",
    "(1\u200d, 2)", "(1,\u00a02)", "é" * 300, "\U0001f5b1(512, 384)", PROMPT, PROMPT * 100, PROMPT + "(512, 384)",
    "(x,y)", "[x1, y1, x2, y2]", "(x1, y1), (x2, y2)", "true", "(true, true)", "null", "{}", "[]", "()", "[[]]",
    "[{}]", "[null]", '""', "''", "%s%s%s%n", "{0.__class__}", "refusal\x00", "REFU\u017fAL", "no refusal", "\\",
    "\\u0028512, 384)", "\\x28", "(512, 384)\\", "&#40;512, 384&#41;", "(512, 384)\r\n", "((512, 384))", "(512; 384)",
    "(512 384)", "512, 384", "at (512, 384).", "(1, 2)(3, 4)", "(512, 384) or (512, 384)", "(1, 2, 3)",
    "(1, 2, 3, 4)", "[512, 384] [1, 2]", "```", "```json\n```",
]  # fmt: skip
_NUMBERS = [
    f"({_FAR}, {_FAR})", f"({_FARTHER}, 1)", f"(-{_FAR}, -{_FARTHER})", f"(0.{'0' * 5000}1, 1)",
    f"({'0' * 5000}1, 2)", _FARTHER, f'{{"point_2d": [{_FARTHER}, 1]}}', f"[{_FARTHER},{_FARTHER}]",
    f"[{_FAR},{_FAR},{_FAR},{_FAR}]", f"(1.{'3' * 800}, 2)", "(179769313486231580793728971405301, 1)",
    "(2.2250738585072011e-308, 1)", "(NaN, NaN)", "(inf, -inf)", "(Infinity, 1)", "(1e999, 1)", "(1e308, 1e308)",
    "(+1, +2)", "(--1, 2)", "(1_000, 2)", "(0x1F, 0b1)", "(1.2.3, 4)", "(1., .5)", "(., .)", "(-0, -0)", "(0, 0)",
    "(1000, 1000)", "(1001, 1001)", "(-1, -1)", "(-100, -100)", "(500, 400)", "(0.5, 0.5)", "(1.0000001, 0)",
    "(1e2, 1E2)", "(1,000, 2,000)", "(٢٠٠, ١٥٠)", "(２００, １５０)", "(²,³)", "(½, ¾)", "(Ⅳ, Ⅴ)",
    "[５００,３７０,５２４,３９８]",
    '{"point_2d": [５１２, ３８４]}', '{"point_2d": [NaN, Infinity]}', '{"point_2d": [1e999, 1]}',
    '{"point_2d": [-1e999, 1e999]}', '[{"point_2d": [1e308, -1e308]}]', '{"point_2d": [true, false]}',
    '{"point_2d": [null, null]}', '{"point_2d": ["a", "b"]}', '{"point_2d": [[512], [384]]}',
    '{"point_2d": {"0": 5, "1": 6}}', '{"point_2d": []}', '{"point_2d": [512]}', '{"point_2d": [1, 2, 3, 4]}',
    '{"point_2d": "512, 384"}', '{"point_2d": 512384}', '{"point_2d": [512, 384], "point_2d": [1, 2]}',
    '{"POINT":[1e999,-1e999]}', '{"POINT":[512.5,384]}',
    "<answer>[{'action': 'click', 'coordinate': [1e999, nan]}]</answer>", "pyautogui.click(x=1e999, y=nan)",
]  # fmt: skip
_BOXES = [
    text.format(box)
    for box in (
        "524, 398, 500, 370", "500, 398, 524, 370", "512, 384, 512, 384", "500, 384, 524, 384", "0, 0, 0, 0",
        "-9, -9, -1, -1", "-1e5, -1e5, 1e5, 1e5", "-9999999999, -9999999999, 9999999999, 9999999999",
        "1e308, 1e308, 1e308, 1e308",
        "NaN, NaN, NaN, NaN", "0.1, 0.1, 0.12, 0.11", "500.5, 370.25, 524.125, 398.0625", "-1233.34, 100, 300, 200",
        "-1233.3334, 100, 300, 200", f"-{_FAR}, 0, {_FAR}, 0", ", ".join([_FAR] * 4), "1, 2, 3, 4, 5",
        "true, true, true, true",
    )
    for text in ("[{}]", '{{"bbox_2d": [{}]}}', '```json\n[{{"bbox_2d": [{}]}}]\n```', "assistant\n[{}]")
]  # fmt: skip
_THOUGHTS = [
    "<think>(512, 384)</think>", "<think>(512, 384)", "(512, 384)</think>", "top left</think>(512, 384)",
    "top left</think>\n[512,384]", 'top left</think>\n[{"point_2d": [512, 384]}]', "<think></think>(512, 384)",
    "<think></think>", "<think> </think> ", "</think><think>(512, 384)",
    "<think><think>(512, 384)</think>(1, 2)</think>", "<think>a</think>(512, 384)<think>b</think>",
    "<think>a</think><think>b</think>(512, 384)", "<THINK>a</THINK>(512, 384)", " <think>a</think>(512, 384)",
    "<think>a</think>\n\n(512, 384)\n", "<think>a</think(512, 384)", "< think >a</ think >(1, 2)",
    "<think><answer>(512, 384)</answer></think>", "<think><answer>(1, 2)</answer></think><answer>(512, 384)</answer>",
    "<think>[{'action': 'click', 'coordinate': [512, 384]}]</think><answer></answer>", "<answer>(512, 384)</answer>",
    "<answer>(512, 384)", "(512, 384)</answer>", "<answer></answer>", "<answer><answer>(512, 384)</answer></answer>",
    "<answer>(1, 2)</answer><answer>(512, 384)</answer>", "<think>a</think><answer>[]</answer>",
    "<think>a</think> <answer>[{'action': 'click'}]</answer>", "<think>a</think><answer>[{}]</answer>",
    "<think>a</think><answer>[[[[512, 384]]]]</answer>", 'See [1]: <think>a</think>[{"point_2d": [512, 384]}]',
    '<think>a</think>[{"point_2d": [512, 384], "label": "a ] b [ c"}]',
    '<think>a</think>See [1]: [{"point_2d": [512, 384]}]',
]  # fmt: skip
BAITS = [
    _BAIT, f"[{_BAIT}]", f"({_BAIT}, 1)", "__import__('os').abort()", "[__import__('os').abort()]", "exit()",
    "[exit()]", f"<think>t</think> <answer>[{_BAIT}]</answer>",
    f"<think>t</think><answer>[{{'action': {_BAIT}, 'point': [1, 2]}}]</answer>",
    f"<think>t</think><action>{{'action': 'click', 'coordinate': [{_BAIT}, 1]}}</action>",
    f"<tool_call>{_BAIT}</tool_call>",
    f'<tool_call>{{"arguments": {{"action": "left_click", "coordinate": [{_BAIT}, 1]}}}}</tool_call>',
    f"```json\n[{_BAIT}]\n```", f"```json\n[{{'bbox_2d': [{_BAIT}, 1, 2, 3]}}]\n```", f"{{'point_2d': [{_BAIT}, 1]}}",
    "9**9**9", "[9**9**9, 1]", "<answer>[{'action': 'click', 'coordinate': [9**9**9, 1]}]</answer>", "'a'*10**10",
    "[0]*10**10", "(lambda: (512, 384))()", "[512 for _ in iter(int, 1)]", "!!python/object/apply:os.abort []",
    "{**{}}", "{1, 2}", "[...]", "f'{(512, 384)}'", "512+0j, 384", "b'512'", "[512, 384] # save", "[512, 384,]",
    "{'a': 1, 'a': 2}", "(512,) (384,)",
]  # fmt: skip
_CALLS = [
    f'<tool_call>{{"arguments": {arguments}}}</tool_call>'
    for arguments in (
        '{"action": "' + "a" * 60_000 + '", "coordinate": [1, 2]}', "{}", "[1, 2]", "null", "7", '"coordinate"',
        '"{\\"coordinate\\": [512, 384]}"', '{"coordinate": null}', '{"coordinate": [null, null]}',
        '{"coordinate": []}', '{"coordinate": [512]}', '{"coordinate": [5, 6, 7]}', '{"coordinate": "512, 384"}',
        '{"coordinate": ["5", "6"]}', '{"coordinate": [true, true]}', '{"coordinate": {}}',
        '{"coordinate": [1e999, NaN]}', '{"coordinate": [5.5, 6]}', f'{{"coordinate": [{_FARTHER}, 1]}}',
        '{"coordinate": [[512, 384]]}', '{"coordinate": [512, 384], "coordinate": [1, 2]}', '{"action": "wait"}',
        '{"action": "terminate", "status": "success"}', '{"action": null, "coordinate": [1, 2]}',
        '{"action": "left_click", "action": "type", "coordinate": [512, 384]}',
        '{"action": 7, "coordinate": [512, 384]}', '{"nested": {"coordinate": [512, 384]}, "coordinate": [1, 2]}',
        '{"coordinate": [512, 384]', '"coordinate": [512, 384]}',
    )
]  # fmt: skip
_CALLS += [
    "<tool_call></tool_call>", "<tool_call>{}</tool_call>", "<tool_call>[]</tool_call>",
    "<tool_call>null</tool_call>", '<tool_call>"arguments"</tool_call>', "</tool_call><tool_call>",
    '<tool_call>{"name": "computer_use"}</tool_call>', '{"arguments": {"coordinate": [512, 384]}}',
    '{"arguments": {"coordinate": [512, 384]}}</tool_call>', '<tool_call>{"arguments": {"coordinate": [512, 384]}}',
    '<tool_call>{"arguments": {"coordinate": [1, 2]}}</tool_call>\n' * 2,
    "{'arguments': {'action': '点击', 'coordinate': [5, 6]}}", '{"type":"click","x":null,"y":{}}',
    "click(start_box='(,)')", "<action>null</action>", "<action>[]</action>",
    '<think>a</think><action>{"action": ["click"], "coordinate": 7}</action>',
    '<think>a</think><action>{"action": "type", "text": 7}</action>', '{"TYPE":null}', '{"POINT":null,"to":null}',
    '{"PRESS":[]}', '{"POINT":[512,384],"POINT":[1,2]}', '{"STATUS":"finish","duration":-1}', '{"duration":1e999}',
    '{"action": {"name": []}}',
]  # fmt: skip
_ALSO_LONG = frozenset({
    "[", "(", "{", "[]", "1", " ", '"', "\x00", "\ud800", "(1, 2)", '{"point_2d": [', "<think>", "</think>",
    "<tool_call>", "nested JSON", "(512, 384) …", " …(512, 384)",
})  # fmt: skip


def hostile_shapes(length: int = MEGABYTE) -> Iterator[tuple[str, str]]:
    """Yield names and texts of about ``length`` characters each that make careless parsers slow, one at a time.

    >>> dict(hostile_shapes(20))["(1, 2)"]
    '(1, 2)(1, 2)(1, 2)'
    """
    for unit in _UNITS:
        yield unit, repeated(unit, length)
    for head, body, tail in _LONG:
        yield f"{head}{body}…{tail}", head + repeated(body, length) + tail
    depth = max(length // 6, 1)  # six characters a level
    yield "nested JSON", '{"a":' * depth + "1" + "}" * depth
    yield "nested lists", "[" * (3 * depth) + "1" + "]" * (3 * depth)
    for form in ANSWER_FORMATS:
        yield f"{form.name}, again and again", repeated(form.right + "\n", length)


def begun_shapes(signs: Sequence[str]) -> list[str]:
    """Return short texts that begin an answer of a dialect again and again, one of its signs before each hostile unit.

    >>> begun_shapes(["<tap>"])[:2]
    ['<tap>[<tap>[<tap>[<tap>[', '<tap>(<tap>(<tap>(<tap>(']
    """
    return [(sign + unit) * 4 for sign, unit in zip(cycle(signs), _UNITS, strict=False)]


def shapes_of(answer: str, length: int) -> dict[str, str]:
    """Lengthen an answer in hostile ways: repeated as a whole or in part, its numbers and gaps blown up."""
    # An answer without digits is cut in the middle.
    digits = [place for place, sign in enumerate(answer) if sign.isdigit()] or [len(answer) // 2]
    first, last = digits[0], digits[-1] + 1
    return {
        "answers": repeated(answer, length),
        "beginnings": repeated(answer[:first] or "(", length),
        "beginnings before the end": repeated(answer[:first] or "(", length) + answer[first:],
        "ends": answer[:last] + repeated(answer[last:] or ")", length),
        "digits": answer[:first] + repeated(answer[first : first + 1] or "1", length) + answer[first + 1 :],
        "gaps": answer[:first] + " " * length + answer[first:],
        "gaps cut off": answer[:first] + " " * length,
        "gaps before the end": answer[:last] + " " * length + answer[last:],
        "words before": repeated("the save button is at the top, ", length) + answer,
        "words after": answer + repeated(" or so, I think", length),
    }


def repeated(unit: str, length: int) -> str:
    """Repeat a unit as often as it fits, at least once."""
    return unit * max(length // len(unit), 1)


_UNITS = [
    "[", "(", "{", "]", ")", "}", "[]", "()", "{}", "[[", "[{", '"', "'", "\\", '\\"', ",", ":", "-", ".", "1", "0.",
    "-1", "１", "a", " ", "\n", "\t", "\u3000", "\x00", "\ud800", "é", "\U0001f5b1", "(1, 2)", "(1,", "(1, ",
    "[1, 2], ", "[1,", "[[1, 2], ", "1, ", "1 2 ", "{'a': ", '{"a": [', '{"point_2d": [', '{"point_2d": [1, ',
    '"bbox_2d": [', "'coordinate': [", "'coordinate': ", "{'action': 'click', ", "'action': 'click", "<think>",
    "</think>", "<think></think>", "<think>a</think>", "<answer>", "</answer>", "<answer></answer>", "<answer>[",
    "<answer>{", "<tool_call>", "</tool_call>", "<tool_call>{", "<tool_call></tool_call>", "<tool_call>{[1, 2",
    "```json\n", "```", "```json\n[", "<action>", "<action>{", "<blink>", "<link>```json", "<|box_start|>(",
    "<point>1 ", "assistant\n", "assistant\n[1,", '"arguments": {', '"arguments": {"coordinate": [', "a b ",
    "pyautogui.click(", "Action: click(", "save ] the [ ", "nan, ", "1e9, ",
]  # fmt: skip
_LONG = [
    ("(512, 384)", " ", ""), ("", " ", "(512, 384)"), ("(", " ", "512, 384)"), ("(512", " ", ", 384)"),
    ("(512, 384", " ", ""), ("[512,", " ", "384]"), ("<think>", "a b ", "</think>(512, 384)"), ("<think>", "(1", ""),
    ("<think>", "a", "<answer>"), ("<think>", "</think", "</think>(1, 2)"), ("(512, 384)", "</think>", ""),
    ("<answer>", "a", ""), ("<tool_call>", "a", ""), ("<tool_call>{", "[1, 2", ""), ("<tool_call>", "{[1, 2]}", ""),
    ("<tool_call>{", "[1", "]}"), ("<think>a</think><answer>", " ", ""),
    ("<think>a</think><answer>[", "{'action': 'click', 'coordinate': [1, 2]}, ", "]</answer>"),
    ("<think>a</think>[", '{"point_2d": [1, 2]}, ', '{"point_2d": [1, 2]}]'),
    ('{"point_2d": [512, 384], "label": "', "a", '"}'), ('{"label": "', '\\"', '", "point_2d": [512, 384]}'),
    ('{"point_2d": [', "9", ", 1]}"), ("```json\n", "[", "\n```"), ("```json\n", "a\n", "```"), ("[", "9,", "9]"),
    ("[", "0.", "]"), ('{"TYPE":"', "ab ", '"}'), ("[", "[512, 384], ", "[1, 2]]"),
]  # fmt: skip
