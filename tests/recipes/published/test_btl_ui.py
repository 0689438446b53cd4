"""BTL-UI's rewards by hand: the form, where to look, and what to do."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from grounding_rewards.recipes.published.btl_ui import _USUAL, is_well_formed
from tests.golden import harness
from tests.golden.departures.btl_ui import row_of
from tests.parsing.dialects.actions.test_btl_ui import links

BTL = gr.recipe("btl-ui")
SIZE = {"model_image_sizes": (1000, 1000)}
BOX = [100, 100, 300, 200]
LOOK = [{"bbox_2d": BOX}]
TAP = {"Plan": "p", "Action": {"function": "Tap", "point_2d": [200, 150]}}
TYPE = {"Plan": "p", "Action": {"function": "Type", "text": "hello world"}}
HOME = {"Plan": "p", "Action": {"function": "Home"}}
BARE = {"point_2d": [200, 150]}


def written(*items, look=LOOK, think="Here.", fence="json"):
    looks, link = (part if isinstance(part, str) else json.dumps(part) for part in (look, list(items)))
    return f"<blink>```json\n{looks}\n```</blink>\n<think>{think}</think>\n<link>```{fence}\n{link}\n```</link>"


def row(item, box=BOX):
    return {"solution": json.dumps([item]), "bbox": box}


def scored(text, target, recipe=BTL, **sizes):
    """The parts, the total and the success of a response, alone and in a batch."""
    found = []
    for rows in (1, VECTOR_ROWS):
        scores = recipe.score([text] * rows, [target] * rows, **(sizes or SIZE))
        assert scores.valid.tolist() == [1] * rows
        found.append([float(column[-1]) for column in (*scores.parts.values(), scores.total, scores.acc)])
    assert found[0] == found[1]
    return found[0]


def test_the_weights():
    assert scored(written(TAP), row(TAP)) == [1, 1, 1, 1, 1]
    assert scored(written(TAP, look=[]), row(TAP)) == [1, 0, 1, 0.7, 1]
    assert scored(written({"point_2d": [400, 150]}), row(TAP)) == [1, 1, 0, 0.4, 0]
    assert scored("", row(TAP)) == [0, 0, 0, 0, 0]
    assert scored("x" + written(TAP, look=[]), row(TAP)) == [0, 0, 1, 0.6, 1]
    assert (BTL.low, BTL.high, BTL.parts) == (0, 1, ("format", "blink", "link"))
    other = gr.recipe("btl-ui", format_weight=1, blink_weight=0, link_weight=2.5)
    assert scored(written(TAP), row(TAP), other) == [1, 1, 1, 3.5, 1]
    assert other.high == 3.5


def lines():
    path = Path(harness.__file__).parent / "btlui.jsonl"
    return [json.loads(text) for text in path.read_text("utf-8").splitlines()]


def test_where_to_look_and_what_to_do_are_as_published_on_every_line():
    # The two deviations are about the format: they change nothing else.
    table = lines()
    for some in (table, table[:20]):
        scores = BTL.score(
            [line["response"] for line in some],
            [row_of(line) for line in some],
            model_image_sizes=(1932, 1092),
        )
        assert scores.parts["blink"].tolist() == [line["expected"]["blink"] for line in some]
        assert scores.parts["link"].tolist() == [line["expected"]["accuracy"] for line in some]


def test_the_format_is_as_published_but_for_the_fence_and_leading_blanks():
    for line in lines():
        found = harness.deviation("btlui", line)
        ours = float(is_well_formed(line["response"]))
        assert ours == (1.0 if found else line["expected"]["format"]), line
        if found:
            assert line["expected"]["format"] == 0


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (written(TAP), 1), (written(BARE), 1), (written(HOME), 1), (written(TYPE), 1),
        (written(TAP, fence="js·on"), 1), (f" \n{written(TAP)}", 1), (f"{written(TAP)} (5, 5)", 1),
        (written(TAP, think="a </think> b <link> </blink>"), 1), (written(TAP, look="{}"), 1),
        (written({"point_2d": "anything"}), 1), (written({"point_2d": [float("nan"), 1], "label": 5}), 1),
        (written({"Plan": 1, "Action": None}), 1), (written(TAP).replace("\n", ""), 1),
        (written(TAP).replace("</blink>\n", "</blink>"), 1), (written(TAP, fence="JSON"), 0),
        (written(TAP, BARE), 0), (written(), 0), (written(5), 0), (written({"Action": TAP["Action"]}), 0),
        (written({"Plan": "p"}), 0), (f"So: {written(TAP)}", 0), (written(TAP)[:-1], 0), (written(TAP).upper(), 0),
        (written(TAP).replace('"', "'"), 0), (written(TAP, look="[1"), 0), (written(TAP).replace("</think>", ""), 0),
        (written(TAP, fence=""), 0), (written(TAP).replace("```json", "```"), 0), ("", 0), ("[" * 60_000, 0),
        (written(TAP, look="[" * 20_000), 0), (written({"point_2d": "X"}).replace('"X"', "9" * 5000), 0),
    ],
)  # fmt: skip
def test_the_form(text, form):
    assert is_well_formed(text) == bool(form)
    assert scored(text, row(TAP))[0] == form


@settings(max_examples=400, deadline=None)
@given(links)
@example(written(TAP))
def test_the_usual_form_is_well_formed(text):
    if compiled(_USUAL).search(text):
        assert is_well_formed(text)


def test_the_usual_forms_need_no_reader():
    for text in (written(TAP), written(BARE), written(HOME), written(TYPE), written(TAP, look=LOOK * 3, fence="js·on")):
        assert compiled(_USUAL).search(text)


def test_the_documented_fence_scores_and_the_typo_of_the_source_as_well():
    # The source gives the format to the second alone, and finds no link in it.
    assert scored(written(TAP), row(TAP)) == [1, 1, 1, 1, 1]
    assert scored(written(TAP, fence="js·on"), row(TAP)) == [1, 1, 0, 0.4, 0]


def test_a_bare_point_scores_for_any_step_but_is_no_success_of_typing():
    for asked, success in ((TAP, 1), (BARE, 1), (TYPE, 0), ({"Plan": "p", "Action": {"function": "LongPress"}}, 0)):
        assert scored(written(BARE), row(asked)) == [1, 1, 1, 1, success]
    assert scored(written(BARE), row(TYPE, [])) == [1, 1, 0, 0.4, 0]


def test_without_a_box_garbage_earns_the_look():
    assert scored("garbage", row(HOME, [])) == [0, 1, 0, 0.3, 0]
    assert scored("garbage", row(HOME)) == [0, 0, 0, 0, 0]


def test_borders_are_outside():
    points = [[x, 150] for x in (100, 100.5, 299.5, 300)] + [[200, y] for y in (100, 100.5, 199.5, 200)]
    for item in (lambda point: {"point_2d": point}, lambda point: {"Action": {"function": "Tap", "point_2d": point}}):
        found = [scored(written(item(point)), row(TAP))[2] for point in points]
        assert found == [0, 1, 1, 0, 0, 1, 1, 0]


def test_a_place_without_a_box_is_never_right():
    for asked in (TAP, BARE):
        assert scored(written(asked), row(asked, []))[2:] == [0, 0.4, 0]


@pytest.mark.parametrize("target", [
    row(TAP), json.dumps(row(TAP)), {"solution": [TAP], "bbox": np.array(BOX)}, {"solution": [TAP], "bbox": tuple(BOX)},
    {"solution": [TAP, HOME], "bbox": BOX}, {"bbox": BOX, "point": [200, 150], "action": {"name": "Tap"}},
    {"bbox": BOX, "point": [200, 150], "action": "click"}, {"bbox": BOX},
    {"solution": [{"Plan": "p", "Action": {"function": "Tap", "point_2d": [200, 150], "text": None}}], "bbox": BOX},
    {"bbox": [0.1, 0.1, 0.3, 0.2], "space": "unit", "action": "Tap"},
    {"bbox": [50, 50, 150, 100], "space": "pixel", "image_size": [500, 500], "action": "Tap"},
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert scored(written(TAP), target) == [1, 1, 1, 1, 1]
    assert scored(written(HOME), target) == [1, 1, 0, 0.4, 0]


def test_targets_without_a_box():
    for target in (row(TYPE, []), row(TYPE, None), {"solution": [TYPE]}, json.dumps([TYPE]), [TYPE],
                   {"action": {"name": "type", "text": "hello world"}}):  # fmt: skip
        assert scored(written(TYPE), target) == [1, 1, 1, 1, 1]
        assert BTL.score(written(TYPE), target).total.tolist() == [1], "no size is needed"
    sized = {**row(TAP), "model_image_size": [1000, 1000], "id": "a"}
    assert BTL.score(written(TAP), sized).total.tolist() == [1]


@pytest.mark.parametrize(("target", "message"), [
    (row(TAP, [300, 100, 100, 200]), "x1 <= x2"), (row(TAP, [0, 0, 9, 9]), "a point inside the bbox"),
    (row({"Plan": "p", "Action": {"text": "a"}}), "action.name"), (row(5), "solution"), ({"solution": "["}, "solution"),
    (row({"Plan": "p", "Action": {"function": "Swipe", "direction": "north"}}, []), "one of up, down, left, right"),
    (row({"Plan": "p"}), "solution"), ({"solution": [], "bbox": BOX}, "solution"), ([], "solution"), (None, "solution"),
    ({"circle": [5, 5, 2]}, "circle"), ({"refusal": True}, "refusal"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_bad_targets(target, message):
    with pytest.raises(gr.TargetError, match=message):
        BTL.score(written(TAP), target, **SIZE)
    scores = BTL.score([written(TAP)], [target], bad_target="abstain", **SIZE)
    assert (scores.total.tolist(), scores.acc.tolist(), scores.valid.tolist()) == ([0], [0], [0])


def test_places_need_the_size_that_the_model_saw():
    with pytest.raises(gr.TargetError, match="model_image_size"):
        BTL.score(written(TAP), row(TAP))
    scores = BTL.score([written(TAP)] * 2, [row(TAP)] * 2, model_image_sizes=[(1000, 1000), None], bad_target="abstain")
    assert scores.valid.tolist() == [1, 0]


def test_a_tap_is_less_than_14_percent_of_the_screen_away():
    wide = row({"Plan": "p", "Action": {"function": "Tap", "point_2d": [200, 150]}}, [0, 0, 900, 900])
    taps = [
        {"Action": {"function": "Tap", "point_2d": point}} for point in ([339, 150], [340, 150], [200, 289], [299, 249])
    ]
    assert [scored(written(tap), wide)[2] for tap in taps] == [1, 0, 1, 0]
    assert [scored(written(tap), wide, model_image_sizes=(2000, 1000))[2] for tap in taps] == [1, 1, 1, 1]


@pytest.mark.parametrize(("space", "scale"), [("model_pixel", 1), ("thousandths", 2), ("unit", 0.002), ("pixel", 4)])
def test_the_model_may_answer_in_any_space(space, scale):
    recipe = gr.recipe("btl-ui", response_space=space)
    tap = {"Action": {"function": "Tap", "point_2d": [200 * scale, 150 * scale]}}
    text = written(tap, look=[{"bbox_2d": [edge * scale for edge in BOX]}])
    sizes = {"image_sizes": (2000, 2000), "model_image_sizes": (500, 500)}
    assert scored(text, row(TAP), recipe, **sizes)[1:3] == [1, 1]
    assert recipe.example.response != BTL.example.response or scale <= 2


def test_home_is_right_where_all_that_is_said_is_the_same():
    more = {"Plan": "p", "Action": {"function": "Home", "x": 1}}
    for said, asked, right in [(HOME, HOME, 1), (more, more, 1), (HOME, more, 0), (more, HOME, 0)]:
        assert scored(written(said), row(asked, []))[2] == right


def test_a_bare_point_of_the_sources_rows_asks_for_a_bare_point():
    assert scored(written(TAP), row(BARE))[2] == 0
    assert scored(written(BARE), row(BARE))[2] == 1
    assert scored(written(TAP), {"bbox": BOX, "point": [200, 150]})[2] == 1


def test_a_key_that_comes_twice_in_a_solution_is_an_error():
    twice = '[{"Plan": "p", "Action": {"function": "Type", "function": "Tap", "point_2d": [200, 150]}}]'
    with pytest.raises(gr.TargetError):
        BTL.score(written(TAP), {"solution": twice, "bbox": BOX})
