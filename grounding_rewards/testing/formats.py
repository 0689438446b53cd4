"""Answer formats of published models, each once right and once broken."""

from __future__ import annotations

from dataclasses import dataclass


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
