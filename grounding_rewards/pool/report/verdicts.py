"""What a report calls each temperature of a sweep."""

from __future__ import annotations

from grounding_rewards.pool.report.rounds import Numbers

HELD, LOWER, COLLAPSED, ABOVE = "held", "lower accuracy", "collapsed", "above one that collapsed"


def verdict(row: Numbers, swept: Numbers) -> str:
    """Held, collapsed, or neither: only what lies above the temperature that is compared with can collapse.

    Args:
        row: one of the sweep's.
        swept: what ``Sweep.to_json`` says.

    >>> swept = {"compared_with": 1.0, "chosen": 1.0}
    >>> [verdict({"temperature": each, "collapsed": each != 1.0}, swept) for each in (0.7, 1.0, 1.4)]
    ['lower accuracy', 'held', 'collapsed']
    >>> verdict({"temperature": 1.7, "collapsed": False}, swept)
    'above one that collapsed'
    """
    if row["collapsed"]:
        return LOWER if row["temperature"] < swept["compared_with"] else COLLAPSED
    return ABOVE if row["temperature"] > swept["chosen"] else HELD
