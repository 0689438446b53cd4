"""A JSON file: an array of objects, or an object that holds one."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import length_hint
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.json_lines import JsonLinesTable, Read, kind, not_json
from grounding_rewards.targets.unique_keys import unique_keys

_EXPECTED = "expected an array of objects, or an object that holds one such array; one object a line is a .jsonl file"


class JsonArrayTable(JsonLinesTable):
    """A JSON file, which is read once and held in memory; its rows are then those of JSON lines."""

    @contextmanager
    def _reading(self) -> Iterator[tuple[Iterator[Read], Callable[[], float]]]:
        """Yield the rows, and a function that returns the share that has been taken."""
        rows = iter(self._held)
        yield rows, lambda: 1 - length_hint(rows) / len(self._held)

    @cached_property
    def _held(self) -> list[Read]:
        with self.source.opened() as (stream, _):
            content = stream.read()
        twice = list[tuple[dict[str, Any], str]]()

        def keyed(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            try:
                return unique_keys(pairs)
            except ValueError as error:  # kept, because only the whole tells in which row it is
                twice.append((dict(pairs), f"not JSON that can be read ({error})"))
                return twice[-1][0]

        value = self._parsed(content, keyed)
        reasons = {id(fields): why for fields, why in twice}
        if id(value) in reasons:
            raise TableError(f"{self.path}: {reasons[id(value)]}")
        rows = self._array(value)
        size = len(content) // max(len(rows), 1)
        return [_read(row, size, reasons) for row in rows]

    def _parsed(self, content: bytes, keyed: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
        try:
            return json.loads(content.removeprefix(codecs.BOM_UTF8).decode(), object_pairs_hook=keyed)
        except UnicodeDecodeError as error:
            why = f": not UTF-8 ({error.reason} at byte {error.start + 1})"
        except json.JSONDecodeError as error:
            lines = "; one object a line is a .jsonl file" if error.msg == "Extra data" else ""
            why = f", line {error.lineno}: {not_json(error, error.colno)}{lines}"
        except ValueError as error:  # a number of thousands of digits
            why = f": not JSON that can be read ({error})"
        except RecursionError:
            why = ": nested too deeply"
        raise TableError(f"{self.path}{why}")

    def _array(self, value: Any) -> Sequence[Any]:
        """Return the rows of a file."""
        if isinstance(value, list):
            return value
        if not isinstance(value, dict):
            raise TableError(f"{self.path}: got {kind(value)}; {_EXPECTED}")
        arrays = {name: rows for name, rows in value.items() if isinstance(rows, list) and any(map(_is_object, rows))}
        if len(arrays) == 1:
            return next(iter(arrays.values()))
        if not arrays:
            raise TableError(f"{self.path}: got an object without an array of objects; {_EXPECTED}")
        names = ", ".join(f"{name!r:.60}" for name in arrays)
        raise TableError(
            f"{self.path}: holds several arrays of objects: {names}; expected one: write the one with the rows to a "
            "file of its own"
        )


def _read(row: Any, size: int, reasons: Mapping[int, str]) -> Read:
    """Return a row as it was read; ``reasons`` are those of objects that cannot be read, by their identity."""
    if not isinstance(row, dict):
        return {}, size, None, f"got {kind(row)}; expected a JSON object"
    why = next((reasons[id(each)] for each in _objects(row) if id(each) in reasons), "") if reasons else ""
    return {} if why else row, size, None, why


def _objects(value: Any) -> Iterator[Any]:
    """Yield an object and those in it, at any depth."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            yield each
        left += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
