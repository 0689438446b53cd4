"""Rollouts that answer with boxes."""

from dataclasses import replace

import numpy as np

from tests.verifiers.judging import rollouts


def boxed(boxes, targets, **more):
    """Boxes are (x1, y1, x2, y2) or None; each row has its own target."""
    table = np.array([(np.nan,) * 4 if box is None else box for box in boxes], dtype=float).reshape(-1, 4)
    centres = [None if box is None else ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2) for box in boxes]
    rows = rollouts(centres, targets, **more)
    return replace(rows, predictions=replace(rows.predictions, box=table))


def judge_boxes(verifier, boxes, target, **more):
    """The verifier's scores of several boxes on one target, each within the verifier's bounds."""
    scores = verifier(boxed(boxes, [target] * len(boxes), **more))
    assert (scores.dtype, scores.shape) == (np.float64, (len(boxes),))
    assert ((scores >= verifier.low) & (scores <= verifier.high)).all()
    return scores.tolist()
