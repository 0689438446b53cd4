"""Boxes to look at, by hand and against the definition."""

import json
import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.recipes.published.btl_ui import Blink, read_boxes
from tests.verifiers.judging import rollouts

BOX = (100, 100, 300, 200)
BLINK = Blink(CoordSpace.PIXEL)


def looking(*boxes):
    return fence(json.dumps([{"bbox_2d": list(box)} for box in boxes]))


def fence(body):
    return f"<blink>```json\n{body}\n```</blink>\n<think>t</think>"


def scores(texts, targets, verifier=BLINK, **more):
    """Alone and as many: the same."""
    many = verifier(rollouts([None] * len(texts), targets, text=list(texts), **more)).tolist()
    for row, text in enumerate(texts):
        assert verifier(rollouts([None], [targets[row]], text=[text], **more)).tolist() == [many[row]], text
    times = VECTOR_ROWS // len(texts) + 1
    batch = verifier(rollouts([None] * len(texts) * times, targets * times, text=list(texts) * times, **more))
    assert batch.tolist() == many * times
    return many


def on_box(*texts, target=None, **more):
    return scores(texts, [target or {"bbox": BOX}] * len(texts), **more)


def test_one_box_fits_or_not():
    # Half of the box exactly has an overlap of 0.5, which is not more.
    boxes = [
        BOX, (100, 100, 200, 200), (100, 100, 201, 200), (90, 100, 300, 200), (100, 100, 500, 200),
        (100, 100, 499, 200), (300, 200, 100, 100), (100, 200, 300, 100), (500, 500, 600, 600), (0, 0, 0, 0),
    ]  # fmt: skip
    assert on_box(*[looking(box) for box in boxes]) == [1, 0, 1, 1, 0, 1, 0, 0, 0, 0]


def test_several_boxes_that_are_not_alike():
    near = (110, 100, 310, 200)  # 0.905 of both
    beside = [(300 + 10 * each, 0, 310 + 10 * each, 9) for each in range(20)]
    texts = [
        looking(BOX, near), looking(near, (500, 500, 600, 600)),
        looking((500, 500, 600, 600), (501, 500, 601, 600), BOX),
        looking(*beside, BOX), looking(*beside), looking(BOX, *beside, BOX), looking(),
    ]  # fmt: skip
    assert on_box(*texts) == [0, 1, 0, 1, 0, 0, 0]


def test_a_target_without_a_box_rewards_any_look():
    texts = ["", "garbage", looking(BOX), looking()]
    assert on_box(*texts, target={"action": {"name": "Home"}}) == [1] * 4
    assert on_box(*texts, target={"point": [200, 150]}) == [1] * 4
    assert on_box(*texts) == [0, 0, 1, 0]
    assert scores([""] * 2, [{"bbox": BOX}, {"action": "Home"}]) == [0, 1]


def test_any_of_several_boxes():
    target = {"regions": [{"bbox": [0, 0, 9, 9]}, {"point": [5, 5]}, {"bbox": BOX}, {"action": "Home"}]}
    assert on_box(looking(BOX), looking((0, 0, 9, 9)), looking((5, 5, 9, 9)), target=target) == [1, 1, 0]


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        (looking(BOX), [BOX]), (looking((0.5, -1, 2, 3e3), BOX), [(0.5, -1, 2, 3000), BOX]),
        (f"So: {looking(BOX)}", [BOX]), (looking(BOX) + looking((1, 2, 3, 4)), [BOX]),
        (fence('[{"bbox_2d": [1, 2, 3, 4], "label": "[5]"}]'), [(1, 2, 3, 4)]),
        (fence('[{"bbox_2d": [' + "9" * 400 + ", NaN, -Infinity, true]}]"), [(1e12, 1e12, -1e12, 1)]),
        (fence('[{"bbox_2d": [' + "9" * 5000 + ", 2, 3, 4]}]"), []), (fence('[{"bbox_2d": [1, 2, 3]}]'), []),
        (fence('[{"bbox_2d": ["1", 2, 3, 4]}]'), []), (fence('[{"bbox_2d": 5}]'), []),
        (fence("[{'bbox_2d': [1, 2, 3, 4]}]"), []), (fence('[{"bbox_2d": [1, 2, 3, 4]}, {}]'), []),
        *[(fence(body), []) for body in ("[]", "{}", "null", "[1]", "", "[" * 5000)],
        (looking(BOX).replace("</blink>", ""), []), (looking(BOX).upper(), []), (looking(BOX)[1:], []),
        (looking(BOX).replace("json", ""), []),
    ],
)  # fmt: skip
def test_what_is_looked_at(text, boxes):
    assert read_boxes(text) == boxes
    on_box(text)  # alone and in a batch


def test_more_than_256_boxes_are_not_read():
    tiles = [(10 * x, 10 * y, 10 * x + 10, 10 * y + 10) for x in range(20) for y in range(13)]
    target = {"bbox": [0, 0, 10, 10]}
    assert on_box(looking(*tiles[:256]), looking(*tiles[:257]), target=target) == [1, 0]
    labelled = [looking(*tiles[:count]).replace("]}", '], "label": ""}') for count in (256, 257)]
    assert on_box(*labelled, target=target) == [1, 0]


def test_boxes_are_brought_into_the_space_of_the_target():
    thousandths = Blink(CoordSpace.THOUSANDTHS)
    texts = [looking((100, 125, 300, 250)), looking(BOX)]
    assert on_box(*texts, verifier=thousandths, size=(1000, 800)) == [1, 0]
    assert on_box(*texts, verifier=thousandths) == [0, 0], "a size that nobody knows"


def overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = width * height if width > 0 and height > 0 else 0
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared) if shared else 0


edges = st.integers(0, 6)
corners = st.tuples(edges, edges, edges, edges)
proper = corners.filter(lambda box: box[0] <= box[2] and box[1] <= box[3])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.lists(corners, max_size=5), st.lists(proper, max_size=3)), min_size=1, max_size=8))
def test_it_is_what_the_definition_says(rows):
    texts, targets, expected = [], [], []
    for boxes, truths in rows:
        texts.append(looking(*boxes))
        targets.append({"regions": [{"bbox": box} for box in truths]} if truths else {"action": "Home"})
        crowded = any(overlap(*pair) > 0.5 for pair in combinations(boxes, 2))
        fits = any(overlap(box, truth) > 0.5 for box in boxes for truth in truths)
        expected.append(float(not truths or (fits and not crowded)))
    assert scores(texts, targets) == expected


def test_many_boxes_take_no_time():
    text = looking(*[(3 * each, 0, 3 * each + 2, 9) for each in range(255)], BOX)
    start = time.process_time()
    table = rollouts([None] * 200, [{"bbox": BOX}] * 200, text=[text] * 200)
    assert BLINK(table).tolist() == [1.0] * 200
    assert time.process_time() - start < 5
    assert np.isfinite(BLINK(table)).all()
