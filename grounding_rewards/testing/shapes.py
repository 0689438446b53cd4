"""Long responses by shape: what makes careless patterns and parsers slow, or run out of stack."""

from __future__ import annotations

from collections.abc import Iterator

from grounding_rewards.testing.formats import ANSWER_FORMATS

MEGABYTE = 1_000_000


def hostile_shapes(length: int = MEGABYTE) -> Iterator[tuple[str, str]]:
    """Name and text, one at a time, of about ``length`` characters each: what makes careless parsers slow.

    >>> dict(hostile_shapes(20))["(1, 2)"]
    '(1, 2)(1, 2)(1, 2)'
    """
    for unit in _UNITS:
        yield unit, repeated(unit, length)
    for head, body, tail in _LONG:
        yield f"{head}{body}…{tail}", head + repeated(body, length) + tail
    depth = max(length // 6, 1)
    yield "nested JSON", '{"a":' * depth + "1" + "}" * depth
    yield "nested lists", "[" * (3 * depth) + "1" + "]" * (3 * depth)
    for form in ANSWER_FORMATS:
        yield f"{form.name}, again and again", repeated(form.right + "\n", length)


def shapes_of(answer: str, length: int) -> dict[str, str]:
    """An answer made long in the ways that hurt: repeated as a whole or in part, its numbers and gaps blown up.

    >>> shapes_of("at (5, 6)", 8)["digits"]
    'at (55555555, 6)'
    """
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
    """A unit as often as it fits, at least once."""
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
