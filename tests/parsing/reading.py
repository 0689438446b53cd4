"""One text through one dialect, as plain values."""

import math

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import parse
from grounding_rewards.rollouts import Reason


def read(text, dialect, answers="only", thinking="closed"):
    """The point, as a list or None, and the name of the reason."""
    found = parse([text], dialect, space=CoordSpace.PIXEL, answers=answers, thinking=thinking)
    point = found.xy[0].tolist()
    return (None if math.isnan(point[0]) else point, Reason(found.reason[0]).name)


def read_box(text, dialect):
    """The box, as a list or None."""
    box = parse([text], dialect, space=CoordSpace.PIXEL).box[0].tolist()
    return None if math.isnan(box[0]) else box


def read_action(text, dialect, answers="only"):
    """The action named with the answer."""
    return parse([text], dialect, space=CoordSpace.PIXEL, answers=answers).actions[0]


def read_all(text, dialect):
    """The points of all answers."""
    return parse([text], dialect, space=CoordSpace.PIXEL, answers="all").points.tolist()
