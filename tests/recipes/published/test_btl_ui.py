"""BTL-UI's rewards by hand: the form, where to look, and what to do."""

import json
from pathlib import Path

from hypothesis import example, given, settings

import grounding_rewards as gr
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.recipes.published.btl_ui import _USUAL, is_well_formed
from tests.golden import harness
from tests.golden.departures.btl_ui import row_of
from tests.parsing.dialects.actions.test_btl_ui import links

BTL = gr.recipe("btl-ui")
BOX = [100, 100, 300, 200]
LOOK = [{"bbox_2d": BOX}]
TAP = {"Plan": "p", "Action": {"function": "Tap", "point_2d": [200, 150]}}
TYPE = {"Plan": "p", "Action": {"function": "Type", "text": "hello world"}}
HOME = {"Plan": "p", "Action": {"function": "Home"}}
BARE = {"point_2d": [200, 150]}


def written(*items, look=LOOK, think="Here.", fence="json"):
    looks, link = (part if isinstance(part, str) else json.dumps(part) for part in (look, list(items)))
    return f"<blink>```json\n{looks}\n```</blink>\n<think>{think}</think>\n<link>```{fence}\n{link}\n```</link>"


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


@settings(max_examples=400, deadline=None)
@given(links)
@example(written(TAP))
def test_the_usual_form_is_well_formed(text):
    if compiled(_USUAL).search(text):
        assert is_well_formed(text)


def test_the_usual_forms_need_no_reader():
    for text in (written(TAP), written(BARE), written(HOME), written(TYPE), written(TAP, look=LOOK * 3, fence="js·on")):
        assert compiled(_USUAL).search(text)
