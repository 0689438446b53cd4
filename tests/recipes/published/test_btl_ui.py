"""BTL-UI's rewards by hand: the form, where to look, and what to do."""

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from grounding_rewards.recipes.published.btl_ui import (
    _USUAL,
    Blink,
    LinkMatch,
    OwnAction,
    is_well_formed,
    read_boxes,
)
from tests.parsing.test_cases import changed, texts_of
from tests.verifiers.acting import REFUSED, acting, judged
from tests.verifiers.judging import rollouts

BOX = (100, 100, 300, 200)
WIDE, SIZE = [100, 100, 600, 200], (1000, 1000)
LINK, OWN, BLINK = LinkMatch(), OwnAction(), Blink(CoordSpace.PIXEL)
LOOK = [{"bbox_2d": BOX}]
TAP = {"Plan": "p", "Action": {"function": "Tap", "point_2d": [200, 150]}}
TYPE = {"Plan": "p", "Action": {"function": "Type", "text": "hello world"}}
HOME = {"Plan": "p", "Action": {"function": "Home"}}
BARE = {"point_2d": [200, 150]}


def written(*items, look=LOOK, think="Here.", fence="json"):
    looks, link = (part if isinstance(part, str) else json.dumps(part) for part in (look, list(items)))
    return f"<blink>```json\n{looks}\n```</blink>\n<think>{think}</think>\n<link>```{fence}\n{link}\n```</link>"


@settings(max_examples=400)
@given(changed(texts_of("btl_ui")))
@example(written(TAP))
def test_the_usual_form_is_well_formed(text):
    if compiled(_USUAL).search(text):
        assert is_well_formed(text)


def test_the_usual_forms_need_no_reader():
    for text in (written(TAP), written(BARE), written(HOME), written(TYPE), written(TAP, look=LOOK * 3, fence="js·on")):
        assert compiled(_USUAL).search(text)


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
proper = corners.map(lambda box: (*map(min, box[:2], box[2:]), *map(max, box[:2], box[2:])))


@settings(max_examples=200)
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


def target(name=None, point=None, box=WIDE, **said):
    wire = {} if box is None else {"bbox": box}
    wire |= {} if point is None else {"point": point}
    return wire if name is None else {**wire, "action": {"name": name, **said}}


def link(acts, wanted, verifier=LINK):
    return judged(verifier, acts, wanted, size=SIZE)


@pytest.mark.parametrize("name", ["Tap", "LongPress"])
def test_a_tap_is_in_the_box_and_near_the_point(name):
    across = [(350, 150), (210.1, 150), (210, 150), (489.9, 150), (490, 150)]
    places = [*across, (100, 150), (350, 100), (350, 201), (-5, 5)]
    acts = [*(Act(name, place) for place in places), Act(name), Act("Wait", (350, 150)), None, REFUSED]
    assert link(acts, target(name, [350, 150])) == [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert link(acts, target(name)) == [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0], "no point is marked"
    assert link(acts, target(name, [350, 150], box=None)) == [0] * 13, "no box holds it"


def test_how_near_is_measured_on_both_axes():
    wide = {"bbox": [0, 0, 900, 900], "point": [400, 400], "action": "Tap"}
    places = [(499, 400), (400, 499), (498, 498), (499.0, 499.0), (400, 541), (400, 539)]
    assert link([Act("Tap", place) for place in places], wide) == [1, 1, 1, 0, 0, 1]
    table = acting([Act("Tap", (500, 400))], [wide], size=(500, 1000))
    assert LinkMatch()(table).tolist() == [0]
    assert LinkMatch(share=0.2001)(table).tolist() == [1]


def test_its_own_action_is_asked_for_where_no_tap_is_wanted():
    acts = [Act("", (590, 190)), Act("", (600, 190)), Act("Tap"), Act("Type"), None]
    for wanted in (target(), target("Tap"), target("click")):
        assert link(acts, wanted, OWN) == [1, 0, 1, 1, 0]
    for wanted in (target("LongPress"), target("Type", text="a"), target("Home", box=None)):
        assert link(acts, wanted, OWN) == [0, 0, 1, 1, 0]
    assert link(acts[2:4], target("Home"), OWN) == [1, 1]


@pytest.mark.parametrize("name", ["Home", "Back"])
def test_a_button_and_nothing_else(name):
    acts = [Act(name), Act(name, (1, 1)), Act(name, (), {"text": ""}), Act(name, (), {"direction": "up"}),
            Act(name, (), {"raw": {"function": name, "n": 1}}), Act("Wait"), Act(name.lower())]  # fmt: skip
    assert link(acts, target(name, box=None)) == [1, 0, 0, 0, 0, 0, 0]
    assert link(acts[:1], target(name)) == [1]


def test_targets_may_use_the_common_names():
    said = [("click", "Tap", {}), ("long_press", "LongPress", {}), ("type", "Type", {"text": "a"}),
            ("swipe", "Swipe", {"direction": "up"})]  # fmt: skip
    for common, name, fields in said:
        acts = [Act(name, (350, 150), fields), Act(common, (350, 150), fields)]
        assert link(acts, target(common, **fields)) == [1, 0]
    assert link([Act("Home"), Act("Back")], target("home", box=None)) == [1, 0]
    assert link([Act("Tap", (350, 150)), Act("LongPress", (350, 150))], target()) == [1, 0]


def test_any_of_several_alternatives():
    wanted = {"regions": [
        {"bbox": [0, 0, 9, 9], "action": {"name": "Tap"}},
        {"bbox": WIDE, "action": {"name": "Type", "text": "a"}}, {"action": {"name": "Back"}},
    ]}  # fmt: skip
    typing = Act("Type", (), {"text": "a"})
    acts = [Act("Tap", (5, 5)), Act("Tap", (350, 150)), typing, Act("Back"), Act("", (350, 150)), Act("", (5, 5)),
            Act("Home")]  # fmt: skip
    assert link(acts, wanted) == [1, 0, 1, 1, 1, 1, 0]
    assert link(acts, wanted, OWN) == [1, 1, 1, 1, 0, 1, 1]


def test_an_unknown_size_is_an_error_that_says_who_asks():
    with pytest.raises(gr.TargetError, match="LinkMatch measures in shares of the screen"):
        LINK(acting([Act("Tap", (350, 150))], [target("Tap", [350, 150])]))
    assert LINK(acting([Act("Tap", (350, 150))], [target("Tap")])).dtype == np.float64
