"""AgentCPM-GUI: the keys of a compact JSON object, and how right their values are."""

from __future__ import annotations

from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AGENTCPM
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.recipes._shared import BAD_TARGET, deviations
from grounding_rewards.recipes.published._agentcpm_gui_parts import FullMatch, KeysAndValues, SameKeys, SchemaKept
from grounding_rewards.recipes.published._agentcpm_gui_targets import NATIVE
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.verifiers.options import Share

_PAPER = "AgentCPM-GUI: Building Mobile-Use Agents with Reinforcement Fine-Tuning"
_SCREEN = (1080, 2400)


def agentcpm_gui(*, format_weight: Share = 0.0) -> Recipe:
    """AgentCPM-GUI's reward: objects such as ``{"POINT": [x, y], "to": "up"}``, points in thousandths.

    total = type + args + w · schema. type = 1 where the response has the target's keys and no others (``thought``
    aside), else 0. args = the mean over the target's keys of how right each value is, 0 where it is missing, less 0.3
    for each key missing, 0.1 for each that the target has not, and 0.05 for a ```json fence. Both are -1 where the
    response is no JSON5, breaks the schema or says nothing but a thought. schema = 1 where the response keeps to the
    schema, 0.5 where it does so in a fence, 0.3 where it is other JSON5, else 0.

    A ``POINT`` in the target's box, borders included and the point cut to whole pixels, is worth 0.95 + 0.05 · (1 - d /
    1000)³, d the larger distance to the box's centre along x or y in pixels; outside, 1 - (dx + dy) / 2, dx and dy the
    distances to the target's ``POINT`` in shares of the screen. Without a box it is worth 1 up to 0.01 along both, and
    beyond that as outside of one. ``TYPE`` is worth the ``similarity`` of both texts, ``duration`` 1 from 151 to 5000
    milliseconds, whatever the target's, all others 1 where they are equal. A target that is a free text scores type and
    args the ``similarity`` of the whole response with it.

    Targets in the wire form are brought to such objects: a scroll down is ``"to": "up"``, since AgentCPM-GUI says how
    the finger moves, and a long press has some ``duration``. A box whose image's size is not known, which only one that
    is not in pixels can be, is measured as if that were 1000 x 1000.

    Args:
        format_weight: w, the weight of format, 0 to 1; the source's is 0.3 where it uses the schema at all.

    Returns:
        A recipe with parts ``type`` (-1 to 1), ``args`` (-1.65 to 1) and ``schema``; ``acc`` is 1 where the keys are
        the target's, the point hits (its box, or within 0.01 of a point), and every other value is worth 1.

    Source: AgentCPM-GUI acbaf50, ``rft/trainer/utils/gui_eval.py``.
    """
    return Recipe(
        name="agentcpm-gui",
        dialect=AGENTCPM,
        reward=weighted(type=(1.0, SameKeys()), args=(1.0, KeysAndValues()), schema=(format_weight, SchemaKept())),
        success=FullMatch(),
        space=CoordSpace.THOUSANDTHS,
        response_space=CoordSpace.THOUSANDTHS,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset({ACTION, BBOX, POINT}),
        source=Source(_PAPER, "AgentCPM-GUI", "acbaf50", ("rft/trainer/utils/gui_eval.py",)),
        thinking="read",
        native=NATIVE,
        deviations=deviations(_DEVIATIONS),
        exploits=_exploits(format_weight),
        formula=(
            "total = type + args + format_weight · schema, type = [the target's keys and no others]\n"
            "args = mean of values - 0.3 · [keys missing] - 0.1 · [other keys] - 0.05 · [fence]\n"
            "POINT: 0.95 + 0.05 · (1 - d / 1000)³ in the box, 1 - (|dx| + |dy|) / 2 outside; -1 unread"
        ),
        example=Example('{"thought": "The button.", "POINT": [546, 252]}', _target(), image_size=_SCREEN),
    )


def _target(**own: Any) -> Any:
    return frozen(own or {"POINT": [546, 252], "bbox": [[567, 568], [612, 642]]})


def _exploits(weight: float) -> tuple[Exploit, ...]:
    small = _target(POINT=[546, 252], bbox=[[585, 600], [594, 609]])
    every = '{"POINT":[500,500],"to":"up","duration":1000,"TYPE":"a","PRESS":"HOME","STATUS":"finish"}'
    examples = {
        "near-miss": ("a miss 12 pixels below a small box earns more than an off-centre hit in a large one (1.957)",
                      1.9965, '{"POINT":[546,259]}', small),
        "same-row": ("a click half a screen away on the same row loses a quarter of one of two points",
                     1.75, '{"POINT":[46,252]}', small),
        "every-key": ("all six keys at once: the value that is right scores in full, each key too many costs 0.1",
                      0.5, every, _target(PRESS="HOME")),
        "any-duration": ("whatever the target's duration, 151 to 5000 is right",
                         2.0, '{"duration":151}', _target(duration=5000)),
    }  # fmt: skip
    return tuple([
        Exploit(name, what, payoff + weight, Example(response, target, image_size=_SCREEN))
        for name, (what, payoff, response, target) in examples.items()
    ])  # fmt: skip


_DEVIATIONS = {
    **BAD_TARGET,
    "long-texts": "Of texts that are not equal 512 characters are compared, fewer where a few characters come over and "
    "over, and the rest counts as different; the source gives them whole to difflib, whose time has no bound.",
}
