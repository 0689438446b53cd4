"""How deep brackets nest, told without recursion: Python's JSON reader recurses, and gives up by the caller's stack."""

from __future__ import annotations

import re

DEEPEST = 32
"""Levels of brackets that are read; answers have three or four."""

_TOKEN = re.compile(r'[\[{]|[\]}]|"(?:[^"\\]|\\.)*"?', re.DOTALL)


def is_shallow(text: str) -> bool:
    """Whether brackets outside strings nest no deeper than ``DEEPEST``.

    >>> is_shallow('{"point_2d": [1, 2], "label": "[[["}'), is_shallow("[" * 33), is_shallow("[]" * 33)
    (True, False, True)
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return True
    depth = 0
    for found in _TOKEN.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > DEEPEST:
            return False
    return True
