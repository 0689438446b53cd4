"""One text through one dialect of actions, as plain values."""

import math

from grounding_rewards.actions import ARGUMENTS
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import parse
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason


def act(text, dialect, answers="only", thinking="closed"):
    """The action, its point or None, and its arguments by name; of a text that is not read, the reason."""
    found = parse([text], dialect, space=CoordSpace.PIXEL, answers=answers, thinking=thinking)
    reason = Reason(found.reason[0])
    if reason not in (Reason.OK, Reason.UNKNOWN_ACTION):
        return reason.name
    return found.actions[0], place(found.xy[0]), arguments(found, 0)


def place(xy):
    return None if math.isnan(xy[0]) else xy.tolist()


def arguments(found, row):
    """The arguments of a row that it has."""
    fields = {name: getattr(found.arguments, name) for name in ARGUMENTS}
    values = {name: column[row] for name, column in fields.items() if column is not None}
    values = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}
    return {name: value for name, value in values.items() if value not in (None, [math.nan] * 2) and value == value
            and not (name == "to" and math.isnan(value[0]))}  # fmt: skip


def row(found, index):
    """Everything about a row, floats as their repr, so that -0.0 is not 0.0."""
    points = ""
    if found.points is not None:
        points = repr(found.points[found.offsets[index] : found.offsets[index + 1]].tolist())
    return (
        repr(found.xy[index].tolist()), repr(found.box[index].tolist()), int(found.reason[index]),
        int(found.dialect[index]), found.actions[index], repr(arguments(found, index)), points,
    )  # fmt: skip


def agree(texts, dialect, answers="only", thinking="read", times=VECTOR_ROWS):
    """Each text alone, and all of them so often that there are enough for the vectorised functions."""
    together = parse(texts * times, dialect, space=CoordSpace.PIXEL, answers=answers, thinking=thinking)
    few = parse(texts[:40], dialect, space=CoordSpace.PIXEL, answers=answers, thinking=thinking)
    for index, text in enumerate(texts):
        alone = row(parse([text], dialect, space=CoordSpace.PIXEL, answers=answers, thinking=thinking), 0)
        assert row(together, index) == alone, text
        assert index >= 40 or row(few, index) == alone, text
        assert row(together, index + len(texts)) == alone, text
