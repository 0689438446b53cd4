"""Rollouts from actions and targets that share one space, without any text."""

from dataclasses import replace

import numpy as np

from grounding_rewards.actions import Arguments, columns
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import into_space
from tests.verifiers.judging import rollouts

REFUSED = "refused"


def acting(acts, targets, **more):
    """Each act is an ``Act``, ``REFUSED`` or None; each row has its own target."""
    places = [None if act in (None, REFUSED) or not act.place else act.place[:2] for act in acts]
    codes = {None: Reason.NO_ANSWER, REFUSED: Reason.REFUSED}
    table = rollouts(
        places, targets, actions=["" if act in (None, REFUSED) else act.name for act in acts],
        reasons=[codes.get(act, Reason.OK) if not isinstance(act, tuple) else Reason.OK for act in acts], **more,
    )  # fmt: skip
    arguments = columns([{} if act in (None, REFUSED) else act.arguments for act in acts])
    predictions = replace(table.predictions, arguments=Arguments(**arguments))
    return replace(table, predictions=into_space(predictions, predictions.space, table.targets))


def judged(verifier, acts, target, **more):
    """The verifier's scores of several acts on one target."""
    scores = verifier(acting(acts, [target] * len(acts), **more))
    assert scores.dtype == np.float64
    assert scores.shape == (len(acts),)
    return scores.tolist()
