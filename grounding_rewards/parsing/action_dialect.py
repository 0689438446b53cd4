"""Dialects of actions with arguments: a function defines the reading, patterns handle the usual forms fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import Act, Objects, columns, normalised
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.base import Answers, Found, OneDialect, alone, nothing, put
from grounding_rewards.parsing.pattern_dialect import places
from grounding_rewards.parsing.patterns import check_texts, groups_of
from grounding_rewards.parsing.reader_dialect import Place, as_place, likely_rows
from grounding_rewards.parsing.texts import Column, Texts, extract, strings

Read = Callable[[str], Sequence[Act] | None]

_Shape = tuple[tuple[float, float] | None, tuple[float, ...] | None]

_NOWHERE = (float("nan"), float("nan"))
_PLACES = {"x", "y", "x1", "y1", "x2", "y2", "action"}
_GROUPS = _PLACES | {"text", "direction", "app", "status", "button"}


@dataclass(frozen=True)
class ActionDialect(OneDialect):
    """A function that reads the actions of one text, and patterns that read texts in the usual forms for many at once.

    Args:
        name: the dialect's name.
        read: one text to its actions in order, () where one was begun and none can be used, None where nothing can be
            read. It is called with texts that contain a sign, and must not raise on any.
        patterns: whole texts in their usual forms, from ``^`` to ``$``, each with a group ``action`` and any of x and y
            (or x1, y1, x2 and y2), text, direction, app, status and button; every group takes part in every match. A
            text that one matches must be one in which ``read`` finds that one action and no other argument.
        signs: substrings that show that an answer was begun; every answer contains at least one.
        must: substrings that every answer contains; for speed alone.
        begin: a substring whose first occurrence starts the part that ``read`` reads; patterns then start there. It
            spares them long thinking.
        vocabulary: translate actions into the words of ``actions.ACTIONS`` by ``actions.normalised``; the patterns may
            then only match actions whose arguments stay as they are.
    """

    name: str
    read: Read = field(repr=False)
    patterns: tuple[str, ...] = field(default=(), repr=False)
    signs: tuple[str, ...] = ()
    must: tuple[str, ...] = field(default=(), repr=False)
    begin: str = field(default="", repr=False)
    vocabulary: bool = False

    trusted = True

    def check_patterns(self) -> None:
        """Check patterns and signs.

        Raises:
            RecipeError: RE2 and Python's re do not both read one alike, or has other groups.
        """
        check_texts(self, "signs", "must", "patterns")
        for pattern in self.patterns:
            groups = groups_of(self.name, pattern)
            if "action" not in groups or not groups <= _GROUPS:
                raise RecipeError(
                    f"dialect {self.name}: got groups {sorted(groups)}; expected action, and more of {sorted(_GROUPS)}"
                )

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        if len(texts) == 1 and not texts.vectorised:
            return self._find_one(texts.values[0], answers)
        table = nothing(len(texts), answers)
        left = self._find_usual(table, texts) if texts.vectorised else np.arange(len(texts))
        read = [(row, acts) for row in likely_rows(self, table, texts, left) if (acts := self.read(texts.values[row]))]
        if read:
            self._write(table, read, answers)
        return table

    def _find_one(self, text: str, answers: Answers) -> Found:
        begun = any([sign in text for sign in self.signs])  # noqa: C419 (faster so)
        acts = self.read(text) if begun else None
        if acts and len(acts) == 1:
            name, (point, box), fields = self._normalised(acts[0])
            table = alone(point or _NOWHERE, box, name, answers=answers)
            if fields:
                table.arguments.update(columns([fields]))
            return table
        table = nothing(1, answers)
        table.begun[0] = begun
        if acts:
            self._write(table, [(0, acts)], answers)
        return table

    def _normalised(self, act: Act) -> tuple[str, _Shape, dict[str, Any]]:
        """Return an action's name, its point and box, and its arguments, in the vocabulary's words if asked for."""
        name, fields = act.name, act.arguments
        if self.vocabulary:
            name, fields = normalised(name, fields)
        return str(_clean(name)), _place_of(act), {key: _clean(value) for key, value in fields.items()}

    def _find_usual(self, table: Found, texts: Texts) -> NDArray[np.int64]:
        """Write the answers of texts that a pattern matches; return the other rows."""
        left = np.arange(len(texts))
        if self.begin and self.patterns:
            # max, because find's -1 would leave the last character alone.
            texts = Texts([text[max(text.find(self.begin), 0) :] for text in texts.values])
        for pattern in self.patterns:
            if not len(left):
                break
            rest = texts.take(left)
            groups = extract(rest.column, pattern)
            matched = _matched(groups["action"])
            if not matched.any():
                continue
            some = nothing(len(rest), "first")  # one answer each, whatever the policy: no lists of points
            some.xy[:], some.box[:] = places(groups, len(rest))
            some.actions[:] = strings(groups["action"])  # patterns hold the names, which are ASCII
            some.count[:], some.begun[:], some.dialect[:] = 1, True, 0
            for name in set(groups) - _PLACES:
                some.arguments[name] = _texts(groups[name])
            put(table, left[matched], some, np.flatnonzero(matched))
            left = left[~matched]
        return left

    def _write(self, table: Found, read: list[tuple[int, Sequence[Act]]], answers: Answers) -> None:
        """Write the actions that were read in some rows."""
        rows, arguments = np.array([row for row, _ in read]), []
        some = nothing(len(read), answers)
        for index, (_, acts) in enumerate(read):
            name, (point, box), fields = self._normalised(acts[-1 if answers == "last" else 0])
            if point is not None:
                some.xy[index] = point
            if box is not None:
                some.box[index] = box
            some.actions[index] = name
            arguments.append(fields)
            some.count[index] = 1 if answers in ("first", "last") else len(acts)
            if some.points is not None and len(acts) > 1:
                some.points[index] = np.array([_place_of(act)[0] or _NOWHERE for act in acts])
        some.begun[:], some.dialect[:] = True, 0
        some.arguments.update(columns(arguments))
        put(table, rows, some)


def _place_of(act: Act) -> _Shape:
    place: Place = act.place
    return as_place(place) if place else (None, None)


def _clean(value: object) -> object:
    """Replace lone surrogates in a text, as arrow does; return anything else as it is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value


def _matched(column: Column) -> NDArray[np.bool_]:
    if isinstance(column, list):
        return np.array([value is not None for value in column], dtype=np.bool_)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _texts(column: Column) -> Objects:
    """Return a column of strings as an object array, None where there is no match."""
    values = [_clean(value) for value in column] if isinstance(column, list) else column.to_pylist()
    objects = np.empty(len(values), dtype=np.object_)
    objects[:] = values
    return objects
