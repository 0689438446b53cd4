"""Actions by BTL-UI's rules, by hand."""

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.actions import Act
from grounding_rewards.recipes.published.btl_ui import LinkMatch, OwnAction
from tests.verifiers.acting import REFUSED, acting, judged

BOX, SIZE = [100, 100, 600, 200], (1000, 1000)
LINK, OWN = LinkMatch(), OwnAction()


def target(name=None, point=None, box=BOX, **said):
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


def test_a_bare_point_is_right_in_the_box_of_any_target():
    for wanted in (target(), target("Tap", [110, 110]), target("LongPress"), target("Type", text="a"), target("Wait")):
        assert link([Act("", (590, 190)), Act("", (600, 190)), Act("")], wanted) == [1, 0, 0]


def test_its_own_action_is_asked_for_where_no_tap_is_wanted():
    acts = [Act("", (590, 190)), Act("", (600, 190)), Act("Tap"), Act("Type"), None]
    for wanted in (target(), target("Tap"), target("click")):
        assert link(acts, wanted, OWN) == [1, 0, 1, 1, 0]
    for wanted in (target("LongPress"), target("Type", text="a"), target("Home", box=None)):
        assert link(acts, wanted, OWN) == [0, 0, 1, 1, 0]
    assert link(acts[2:4], target("Home"), OWN) == [1, 1]


def test_a_swipe_goes_the_same_way():
    ways = [Act("Swipe", (), {"direction": way}) for way in ("up", "Up", "down", "")]
    acts = [*ways, Act("Swipe"), Act("Swipe", (1, 1))]
    assert link(acts, target("Swipe", box=None, direction="up")) == [1, 0, 0, 0, 0, 0]
    assert link(acts, target("Swipe", box=None)) == [0] * 6


def test_a_text_shares_half_of_its_words():
    texts = ["hello world", "HELLO", "hello there big world", "hello a b", "hello a b c", "", "world world"]
    acts = [*(Act("Type", (), {"text": text}) for text in texts), Act("Type"), Act("Type", (), {"direction": "up"})]
    assert link(acts, target("Type", box=None, text="hello world")) == [1, 1, 1, 0, 0, 0, 1, 0, 0]
    assert link(acts, target("Type", box=None)) == [0] * 9
    assert link(acts, target("Type", text="hello world"), LinkMatch(words=0.9)) == [1, 0, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("name", ["Home", "Back"])
def test_a_button_and_nothing_else(name):
    acts = [Act(name), Act(name, (1, 1)), Act(name, (), {"text": ""}), Act(name, (), {"direction": "up"}),
            Act(name, (), {"raw": {"function": name, "n": 1}}), Act("Wait"), Act(name.lower())]  # fmt: skip
    assert link(acts, target(name, box=None)) == [1, 0, 0, 0, 0, 0, 0]
    assert link(acts[:1], target(name)) == [1]


def test_other_actions_are_never_right():
    for name in ("Wait", "Open", "Enter", "wait"):
        assert link([Act(name), Act(name, (350, 150))], target(name)) == [0, 0]


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
        {"bbox": BOX, "action": {"name": "Type", "text": "a"}}, {"action": {"name": "Back"}},
    ]}  # fmt: skip
    typing = Act("Type", (), {"text": "a"})
    acts = [Act("Tap", (5, 5)), Act("Tap", (350, 150)), typing, Act("Back"), Act("", (350, 150)), Act("", (5, 5)),
            Act("Home")]  # fmt: skip
    assert link(acts, wanted) == [1, 0, 1, 1, 1, 1, 0]
    assert link(acts, wanted, OWN) == [1, 1, 1, 1, 0, 1, 1]


def test_rows_with_places_and_without_in_one_batch():
    acts = [Act("Tap", (350, 150)), Act("Home"), None, Act("", (1, 1)), Act("Swipe", (), {"direction": "up"})]
    targets = [target("Tap", [350, 150]), target("Home", box=None), target("Tap"), target("Home", box=None),
               target("Swipe", direction="up")]  # fmt: skip
    for times in (1, 20):
        table = acting(acts * times, targets * times, size=SIZE)
        assert LINK(table).tolist() == [1, 1, 0, 0, 1] * times
        assert OWN(table).tolist() == [1, 1, 0, 0, 1] * times


def test_an_unknown_size_is_an_error_that_says_who_asks():
    with pytest.raises(gr.TargetError, match="LinkMatch measures in shares of the screen"):
        LINK(acting([Act("Tap", (350, 150))], [target("Tap", [350, 150])]))
    assert LINK(acting([Act("Tap", (350, 150))], [target("Tap")])).dtype == np.float64
