"""BTL-UI: the boxes that it looked at, what it thought, and in ``<link>`` what to do.

<blink>```json [{"bbox_2d": [500, 370, 524, 398]}] ```</blink>
<think>I save it.</think>
<link>```json [{"Plan": "tap save", "Action": {"function": "Tap", "point_2d": [512, 384]}}] ```</link>
"""

from __future__ import annotations

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.dialects.actions._keys import act_of
from grounding_rewards.parsing.dialects.actions._objects import objects

_OPEN, _CLOSE = "<link>", "</link>"


def read_link(text: str) -> list[Act] | None:
    """The acts in the last link, in order; an item that is nothing but a place is one without a name.

    >>> read_link('<link>[{"Plan": "go back", "Action": {"function": "Back"}}]</link>')
    [Act(name='Back', place=(), arguments={})]
    """
    if _OPEN not in text:
        return None
    acts = map(act_of, objects(text.rpartition(_OPEN)[2].partition(_CLOSE)[0]))
    return [act for act in acts if act is not None]


ACTION_BLINK = ActionDialect(name="action_blink", read=read_link, signs=(_OPEN,), must=("}",), vocabulary=True)
"""What is written before the link, the boxes of ``<blink>`` among it, is no answer. The fence does not matter."""
