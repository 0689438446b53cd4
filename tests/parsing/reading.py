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
