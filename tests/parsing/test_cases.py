"""Texts and what each dialect reads in them: ``cases/``, a dialect a file, alone and among many.

An object begins the cases of the policy and the thinking that it names. A case is a text, then the reason why it is not
read, or the action's name, its place (under ``all`` every place), its arguments, and of several forms the one that it
has. ``make cases`` reads all texts again; what has changed shows as a diff, to be read line by line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import parse, published
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.plugins.registry import collect
from grounding_rewards.rollouts import Predictions, Reason
from tests.parsing.acts import agree, arguments
from tests.parsing.fragments import GLUE, NUMERALS, SPACES, responses

FILES = {file.stem: file for file in sorted((Path(__file__).parent / "cases").glob("*.jsonl"))}
DIALECTS = {**collect([]).parsers, "ui_r1_braced": published.UI_R1_BRACED}
POLICIES = ("only", "first", "last", "all")
READ = (Reason.OK, Reason.UNKNOWN_ACTION)


def groups(name: str) -> Iterator[tuple[dict[str, Any], list[list[Any]]]]:
    """Yield the options of each group of cases, and its lines."""
    options: dict[str, Any] = {}
    lines: list[list[Any]] = []
    for text in FILES[name].read_text("utf-8").splitlines():
        line = json.loads(text)
        if isinstance(line, dict):
            if lines:
                yield options, lines
            options, lines = line, []
        else:
            lines.append(line)
    yield options, lines


def texts_of(name: str) -> list[str]:
    return [line[0] for _, lines in groups(name) for line in lines]


def said(found: Predictions, row: int) -> list[Any]:
    """Return what was read in a row, as a case writes it."""
    reason = Reason(found.reason[row])
    form = [found.dialects[found.dialect[row]]] if len(found.dialects) > 1 and found.dialect[row] >= 0 else []
    if reason not in READ:
        return [reason.name, *form]
    box, xy = found.box[row].tolist(), found.xy[row].tolist()
    place = box if box[0] == box[0] else xy if xy[0] == xy[0] else None
    if found.points is not None:
        place = found.points[found.offsets[row] : found.offsets[row + 1]].tolist()
    unknown = [reason.name] if reason is Reason.UNKNOWN_ACTION else []
    fields = {key: list(value) if isinstance(value, tuple) else value for key, value in arguments(found, row).items()}
    return [found.actions[row], place, fields, *form, *unknown]


def predictions(name: str, texts: list[str], options: dict[str, Any]) -> Predictions:
    return parse(texts, DIALECTS[name], space=CoordSpace.PIXEL, **options)


@pytest.mark.parametrize("name", FILES)
def test_every_text_is_read_as_its_line_says(name: str) -> None:
    for options, lines in groups(name):
        texts = [line[0] for line in lines]
        many = predictions(name, texts * (1 + 200 // len(texts)), options)
        for row, (text, *answer) in enumerate(lines):
            assert repr(said(predictions(name, [text], options), 0)) == repr(answer), (text, options)
            assert repr(said(many, row)) == repr(answer), (text, options)


def test_every_dialect_has_cases() -> None:
    assert set(FILES) == set(DIALECTS)


@pytest.mark.parametrize("name", FILES)
def test_every_usual_form_is_that_of_a_case(name: str) -> None:
    begin, texts = getattr(DIALECTS[name], "begin", ""), texts_of(name)
    for pattern in getattr(DIALECTS[name], "usual", ()):
        assert any(compiled(pattern).search(text[max(text.find(begin), 0) :]) for text in texts), pattern


def changed(texts: list[str]) -> st.SearchStrategy[str]:
    """Texts as they are, and with a piece put in, taken out or in another's place."""
    pieces = st.sampled_from([*GLUE, *NUMERALS, *SPACES, "a", "<", "it's"])

    def change(text: str, piece: str, place: float, much: int) -> str:
        at = int(place * len(text))
        return text[:at] + piece + text[at + much :]

    one = st.builds(change, st.sampled_from(texts), st.just("") | pieces, st.floats(0, 1), st.integers(0, 3))
    return st.sampled_from(texts) | one | st.builds("{}{}".format, one, st.sampled_from(texts)) | responses


@pytest.mark.parametrize("name", FILES)
def test_many_texts_are_read_as_each_alone(name: str) -> None:
    texts = [text for text in texts_of(name) if len(text) < 1000]

    @settings(max_examples=25)
    @given(st.lists(changed(texts), min_size=1, max_size=6), st.sampled_from(POLICIES),
           st.sampled_from(["closed", "open", "read"]))  # fmt: skip
    def whatever_the_text(some: list[str], answers: str, thinking: str) -> None:
        agree(some, DIALECTS[name], answers, thinking)

    whatever_the_text()


def main() -> None:
    """Read all texts again."""
    for name, file in FILES.items():
        lines = []
        for options, cases in groups(name):
            lines += [options] * bool(options) + [
                [text, *said(predictions(name, [text], options), 0)] for text, *_ in cases
            ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
