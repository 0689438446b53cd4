"""Similarities of two texts by their edits, in bits of whole numbers: the time grows with the longer text."""

from __future__ import annotations

import numpy as np


def edits(a: str, b: str) -> int:
    """Return how many characters to insert, delete or replace to make one text of another (Levenshtein's distance)."""
    a, b = sorted((a, b), key=len)  # the time is that of the longer text, times a 64th of the shorter one
    if not a:
        return len(b)
    whole, last, at = (1 << len(a)) - 1, 1 << (len(a) - 1), _places(a, b)
    more, less, count = whole, 0, len(a)  # bits of a column of distances: where it grows, and where it falls
    for character in b:
        here = at.get(character, 0)
        same = (((here & more) + more) ^ more) | here | less
        grows, falls = (less | ~(same | more)) & whole, same & more
        count += bool(grows & last) - bool(falls & last)
        grows, falls = (grows << 1 | 1) & whole, falls << 1 & whole
        more, less = (falls | ~(same | grows)) & whole, grows & same
    return count


def likeness(a: str, b: str) -> float:
    """Return 1 - edits / length of the longer text; two empty texts are equal."""
    long = max(len(a), len(b))
    return (long - edits(a, b)) / long if long else 1.0  # rounds once: 1 - 7 / 100 is less than 0.93


def common_ratio(a: str, b: str) -> float:
    """Return 2 · (longest common subsequence) / (length of both texts), which is Levenshtein's ratio."""
    a, b = sorted((a, b), key=len)
    if not b:
        return 1.0
    whole, at = (1 << len(a)) - 1, _places(a, b)
    left = whole
    for character in b:
        here = left & at.get(character, 0)
        left = (left + here | left - here) & whole
    return 2 * (len(a) - left.bit_count()) / (len(a) + len(b))


def _places(text: str, characters: str) -> dict[str, int]:
    """Return the places of each of some characters in a text, as bits."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return {
        each: int.from_bytes(np.packbits(codes == ord(each), bitorder="little").tobytes(), "little")
        for each in set(characters)
    }
