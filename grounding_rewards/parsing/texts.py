"""Patterns over many texts at once: arrow's RE2 from a hundred rows or so, Python's re below, with the same result.

Patterns stay in the common subset of RE2 and re: explicit ASCII classes, no look-around, no back-references, no
backslash classes; ``$`` is the text's very end. Each is written so that re, too, needs time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT

VECTOR_ROWS = 128
"""Rows from which on the vectorised functions are faster, their setup included."""

LONG_TEXT = 4096
"""Characters from which on they are faster for a single text, too."""

_LONG = 40  # bytes a row, 8 of which are arrow's own

# All that str.strip() strips and re's \s matches; RE2's own \s is ASCII alone.
SPACE = "[ \t\n\r\f\v\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
NUMBER = r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"

END_TOKENS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<|finetune_right_pad_id|>",
    "<|end|>", "</s>", "<eos>", "<end_of_turn>", "<turn|>", "<end_of_utterance>", "<pad>", "<PAD>", "<|pad|>", "[EOS]",
    "[PAD]", "<|user|>", "<|observation|>", "<|return|>", "<|EOT|>", "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>",
)  # fmt: skip
"""Tokens by which models end a turn, and those that fill it up: no part of an answer."""

_LAST = {*" \t\r\n", *(token[-1] for token in END_TOKENS)}

PATTERN_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)>:]{0,3}[>:]?|\{[0-9]*,?[0-9]*\}\+?|[*+?]\+|.", re.DOTALL
)
"""An escape, a set, the opening of a group, a repeat, or any other character of a pattern."""

CUT = "\x00"
"""First character of a text that was cut."""


class Texts(Sequence[str]):
    """n texts, as a list or as one arrow array; the other of them is made on demand.

    ``vectorised`` is True if there is enough text for the vectorised functions to be faster; ``rows`` is n.
    """

    def __init__(self, values: list[str] | None, arrow: Any = None) -> None:
        """Hold texts; with None for the list those of an arrow array of VECTOR_ROWS or more, without nulls."""
        if values is not None:
            self.values = values
        self._arrow, self.rows = arrow, len(arrow if values is None else values)
        few = values is not None and self.rows < VECTOR_ROWS
        self._longest = max(map(len, values or ()), default=0) if few else None  # in characters
        self.vectorised = self._longest is None or self._longest > LONG_TEXT

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __getitem__(self, row: Any) -> Any:
        listed = self.is_listed or isinstance(row, slice)
        return self.values[row] if listed else self._arrow[int(row)].as_py()

    @cached_property
    def values(self) -> list[str]:
        """The texts as a list."""
        return cast("list[str]", self._arrow.to_pylist())

    @property
    def is_listed(self) -> bool:
        """True if the list is there."""
        return "values" in vars(self)

    @property
    def long(self) -> bool:
        """True if a pattern is faster than arrow's substring search, which goes byte by byte."""
        return bool(self.arrow.nbytes > _LONG * self.rows)

    @property
    def arrow(self) -> Any:
        """The texts as an arrow array, made once."""
        if self._arrow is None:
            self._arrow = _to_arrow(self.values)
        return self._arrow

    def capped(self, length: int) -> Texts:
        """Return the last ``length`` characters of each text; the first character of a text that was cut is ``CUT``.

        So no pattern for a whole text matches the rest of a longer one.
        """
        longest = self._longest
        if longest is None:
            import pyarrow.compute as pc

            longest = pc.max(pc.binary_length(self.arrow)).as_py()  # in bytes; a character has at least one
        if longest <= length:
            return self
        return Texts([text if len(text) <= length else CUT + text[1 - length :] for text in self.values])

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """Return the chosen rows; the same object if these are all."""
        if len(rows) == self.rows:
            return self
        if not self.is_listed and len(rows) >= VECTOR_ROWS:
            return Texts(None, self._arrow.take(rows))
        taken = Texts([self.values[row] for row in rows.tolist()])
        if self._arrow is not None and taken.vectorised:
            taken._arrow = self._arrow.take(rows)  # cheaper than encoding the texts again
        return taken


def trimmed(texts: Texts) -> Texts:
    """Return the texts without the tokens of ``END_TOKENS`` at their ends; the same object where none has any."""
    if _ends(texts).isdisjoint(_LAST):
        return texts
    values = [without_end(text) if text[-1:] in _LAST else text for text in texts.values]
    return texts if values == texts.values else Texts(values)


def _ends(texts: Texts) -> set[str]:
    """Return the last character of each text, once; of one that is not ASCII in arrow, its last byte."""
    if texts.is_listed:
        return {text[-1:] for text in texts.values}
    import pyarrow as pa
    import pyarrow.compute as pc

    last = pc.unique(pc.binary_slice(texts.arrow.view(pa.large_binary()), -1))
    return {end.decode("latin-1") for end in last.to_pylist()}


def without_end(text: str) -> str:
    """Return a text without the tokens that end it, and white space between and behind them."""
    last = end = len(text)
    tokens = END_TOKENS if "<s>" not in text else tuple(token for token in END_TOKENS if token != "</s>")  # a tag's end
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        if not text.endswith(tokens, 0, end):
            return text[:last]
        last = end = end - next(len(token) for token in tokens if text.endswith(token, 0, end))


def as_texts(values: Sequence[str]) -> Texts:
    """Return the texts as ``Texts``."""
    return values if isinstance(values, Texts) else Texts(list(values))


def _to_arrow(values: list[str]) -> Any:
    import pyarrow as pa  # on the first batch: it is slow to import, and single calls need none

    try:
        return pa.array(values, pa.large_string())  # 64-bit offsets: 32 bits end at 2 GiB of text
    except UnicodeEncodeError:  # lone surrogates, which no pattern here tells from other non-ASCII characters
        return pa.array([text.encode("utf-8", "replace").decode() for text in values], pa.large_string())


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for Python's re, once."""
    return re.compile(for_re(pattern))


class _OnUse:
    """A regular expression of Python's re that is compiled when it is first used: few texts need all of them."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, value)  # the next call finds it here
        return value


def on_use(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used."""
    return cast("re.Pattern[str]", _OnUse(pattern, flags))


def for_re(pattern: str) -> str:
    """Give ``$`` RE2's meaning, the text's very end; Python's re also allows a last line feed after it."""
    if "$" not in pattern:
        return pattern
    return "".join([r"\Z" if token == "$" else token for token in PATTERN_TOKEN.findall(pattern)])


def matches(texts: Texts, pattern: str) -> NDArray[np.bool_]:
    """Return True for each text in which the pattern occurs: (n,)."""
    if not texts.vectorised:
        search = compiled(pattern).search
        return np.array([search(text) is not None for text in texts.values], dtype=np.bool_)
    import pyarrow.compute as pc

    held = pc.match_substring_regex(texts.arrow, pattern=pattern)
    return np.asarray(held.to_numpy(zero_copy_only=False), dtype=np.bool_)


def contains(texts: Texts, part: str) -> NDArray[np.bool_]:
    """Return True for each text in which this very string occurs: (n,)."""
    if not texts.vectorised:
        return np.array([part in text for text in texts.values], dtype=np.bool_)
    import pyarrow.compute as pc

    if texts.long:
        return matches(texts, re.escape(part))
    held = pc.match_substring(texts.arrow, pattern=part)
    return np.asarray(held.to_numpy(zero_copy_only=False), dtype=np.bool_)


def occurrences(texts: Texts, part: str) -> NDArray[np.int64]:
    """Count this very string in each text, without overlaps: (n,)."""
    if not texts.vectorised:
        return np.array([text.count(part) for text in texts.values], dtype=np.int64)
    import pyarrow.compute as pc

    if texts.long:
        counts = pc.count_substring_regex(texts.arrow, pattern=re.escape(part))
    else:
        counts = pc.count_substring(texts.arrow, pattern=part)
    return np.array(counts.to_numpy(zero_copy_only=False), dtype=np.int64)  # a copy: arrow's own is read-only


def extract(column: Any, pattern: str) -> dict[str, Any]:
    """Return the named groups of the leftmost match in each text of an arrow array, by name.

    They are null where there is no match, and "" where a group took no part in it.
    """
    import pyarrow.compute as pc

    groups = pc.extract_regex(column, pattern=pattern)
    return {name: pc.struct_field(groups, name) for name in compiled(pattern).groupindex}


def number(numeral: str | None) -> float:
    """Read a numeral as ``floats`` does; NaN for None and ""."""
    return min(max(float(numeral), -COORDINATE_LIMIT), COORDINATE_LIMIT) if numeral else np.nan


def limited(value: float) -> float:
    """Return a number as a float, limited to ±COORDINATE_LIMIT; of NaN the limit."""
    # In this order NaN gives the limit, and whole numbers too large for a float are compared as they are.
    return float(max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, value)))


def tag_span(text: str, name: str, start: int = 0) -> tuple[int, int] | None:
    """Return start and end of what the first pair of tags of a name from ``start`` on holds; None without a pair."""
    opened = text.find(f"<{name}>", start)
    inside = opened + len(name) + 2
    closed = text.find(f"</{name}>", inside) if opened >= 0 else -1
    return None if closed < 0 else (inside, closed)


def tag_text(text: str, name: str) -> str | None:
    """Return what the first pair of tags of a name holds; None without a pair."""
    span = tag_span(text, name)
    return None if span is None else text[slice(*span)]


def tag_texts(text: str, name: str) -> list[str]:
    """Return what each pair of tags of a name holds, in order; of tags opened twice, what stands behind the second."""
    opened, close = text.split(f"<{name}>")[1:], f"</{name}>"
    return [held for held, closed, _ in (part.partition(close) for part in opened) if closed]


def floats(column: Any) -> Floats:
    """Read an arrow array of numerals as float64, limited to ±COORDINATE_LIMIT; NaN for null and ""."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        cast = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:  # "", from a group that took no part
        cast = pc.cast(pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column), pa.float64())
    values: Floats = cast.to_numpy(zero_copy_only=False)
    return np.clip(values, -COORDINATE_LIMIT, COORDINATE_LIMIT)


def strings(column: Any) -> NDArray[np.object_]:
    """Return an arrow array of strings as an object array; "" for null."""
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(pc.fill_null(column, ""))  # names recur: each is decoded once
    names = np.array(encoded.dictionary.to_pylist(), dtype=np.object_)
    return names[encoded.indices.to_numpy()] if len(names) else np.zeros(0, dtype=np.object_)
