"""Writing one target: what is written reads back as the same target."""

import json

from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.targets.read import DIRECTIONS, read_target
from grounding_rewards.targets.target import Action, Listed, Region, RegionKind, Target, placed
from grounding_rewards.targets.write import to_wire

NUMBERS = st.floats(-1e6, 1e6) | st.integers(-1000, 1000).map(float)
TEXTS = st.text(max_size=8)


def maybe(strategy):
    return st.none() | strategy


@st.composite
def boxes(draw):
    x, y, w, h = draw(NUMBERS), draw(NUMBERS), draw(st.floats(0, 100)), draw(st.floats(0, 100))
    return (x, y, x + w, y + h)


@st.composite
def actions(draw):
    return Action(
        name=draw(st.text(min_size=1, max_size=8)),
        text=draw(maybe(TEXTS)),
        direction=draw(maybe(st.sampled_from(DIRECTIONS))),
        to=draw(maybe(st.tuples(NUMBERS, NUMBERS) | boxes())),
        button=draw(maybe(TEXTS)),
        keys=draw(maybe(st.lists(TEXTS, min_size=1, max_size=3).map(tuple))),
        app=draw(maybe(TEXTS)),
        status=draw(maybe(TEXTS)),
        duration=draw(maybe(st.floats(0, 1e6))),
    )


@st.composite
def regions(draw, own_action=False):
    kind = draw(st.sampled_from(RegionKind))
    point = None
    if kind == RegionKind.BBOX:
        numbers = draw(boxes())
        point = draw(maybe(st.just(numbers[:2])))
    elif kind == RegionKind.POLYGON:
        x, y = draw(NUMBERS), draw(NUMBERS)
        numbers = (x, y, x + 10.5, y, x, y + 10)
    elif kind == RegionKind.CIRCLE:
        numbers = (draw(NUMBERS), draw(NUMBERS), draw(st.floats(0.5, 100)))
    else:
        numbers = (draw(NUMBERS), draw(NUMBERS))
    return Region(kind, numbers, point, draw(maybe(actions())) if own_action else None)


@st.composite
def targets(draw):
    several = tuple(draw(st.lists(regions(own_action=True), max_size=3)))
    others = tuple(draw(st.lists(actions(), max_size=2)))
    action = draw(maybe(actions()))
    refusal = not several and draw(st.booleans())
    if not (several or others or action or refusal):
        refusal = True
    circle = any(region.kind == RegionKind.CIRCLE for region in several)
    spaces = (CoordSpace.PIXEL, CoordSpace.MODEL_PIXEL) if circle else tuple(CoordSpace)
    sizes = st.tuples(st.integers(1, 9999).map(float), st.floats(1, 9999))
    return Target(
        **placed(several), refusal=refusal, action=action, space=draw(maybe(st.sampled_from(spaces))),
        image_size=draw(maybe(sizes)), model_image_size=draw(maybe(sizes)),
        id=draw(maybe(TEXTS | st.integers(-(2**62), 2**62))), task=draw(maybe(TEXTS)),
        trajectory=draw(maybe(TEXTS | st.integers(0, 99))), step=draw(maybe(st.integers(0, 99))),
        num_steps=draw(maybe(st.integers(0, 99))),
        extra=draw(maybe(st.dictionaries(TEXTS, st.integers(), max_size=2))), actions=Listed(others),
    )  # fmt: skip


@given(targets())
def test_what_is_written_reads_back_as_the_same_target(target):
    wire = to_wire(target)
    assert read_target(wire) == target
    assert read_target(json.dumps(wire)) == target


def test_the_wire_form_of():
    for target, wire in [
        ([10, 20.0, 30.5, 40], {"bbox": [10, 20, 30.5, 40]}),
        ({"bbox": [1, 2, 3, 4], "point": [2.0, 3]}, {"bbox": [1, 2, 3, 4], "point": [2, 3]}),
        ({"refusal": True, "id": 7, "task": None}, {"refusal": True, "id": 7}),
        ({"action": {"name": "back", "text": None}}, {"action": "back"}),
        (
            {"point": [5, 6], "action": {"name": "press", "keys": "ctrl"}, "space": "unit"},
            {"point": [5, 6], "action": {"name": "press", "keys": ["ctrl"]}, "space": "unit"},
        ),
        (
            {"regions": [[1, 2, 3, 4], {"action": "back"}, {"circle": [5, 6, 7], "action": "click"}]},
            {"regions": [{"bbox": [1, 2, 3, 4]}, {"circle": [5, 6, 7], "action": "click"}, {"action": "back"}]},
        ),
        (
            {"regions": [{"bbox": [1, 2, 3, 4], "action": "click"}]},
            {"regions": [{"bbox": [1, 2, 3, 4], "action": "click"}]},
        ),
        ({"polygon": [0, 0, 4, 0, 0, 4], "step": 1.0}, {"polygon": [0, 0, 4, 0, 0, 4], "step": 1}),
    ]:  # fmt: skip
        written = to_wire(read_target(target))
        assert written == wire, (target, wire)
        assert json.dumps(written) == json.dumps(wire), (target, wire)


def test_what_somebody_keeps_under_extra_stays_as_it_is():
    extra = {"a": (1, 2), "b": None}
    assert to_wire(read_target({"bbox": [1, 2, 3, 4], "extra": extra}))["extra"] is extra
