from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import UI_VENUS, parse
from grounding_rewards.parsing.published import FUNCTIONS, read_call
from grounding_rewards.rollouts import Reason
from grounding_rewards.testing import hostile_responses
from tests.cases import cases


def predicted(*responses):
    return parse(list(responses), UI_VENUS, space=CoordSpace.MODEL_PIXEL)


def rows(found):
    """Everything that was read of each row, as plain values."""
    text, app = found.arguments.column("text", len(found)), found.arguments.column("app", len(found))
    direction, to = found.arguments.column("direction", len(found)), found.arguments.column("to", len(found))
    columns = (found.reason, found.actions, found.xy, text, app, direction, to)
    return [repr([column[row].tolist() if hasattr(column[row], "tolist") else column[row] for column in columns])
            for row in range(len(found))]  # fmt: skip


@cases(
    ("call", "act"),
    [
        ("Click(box=(540, 180))", Act("Click", (540, 180))), (" Click( box = ( 5 ,1.5 ) ) ", Act("Click", (5, 1.5))),
        ("LongPress(box=(1,2))", Act("LongPress", (1, 2))), ("Wait()", Act("Wait")), ("Fly( )", Act("Fly")),
        ("Drag(start=(1, 2), end=(3, 4))", Act("Drag", (1, 2), {"to": (3, 4)})),
        ("Scroll(start=(5, 9), end=(5, 1), direction='down')",
         Act("Scroll", (5, 9), {"direction": "down", "to": (5, 1)})),
        ('Scroll(direction="up",)', Act("Scroll", (), {"direction": "up"})),
        ("Type(content='hi')", Act("Type", (), {"text": "hi"})), ("Type(content='')", Act("Type", (), {"text": ""})),
        ("Type(content='it's (1, 2)')", Act("Type", (), {"text": "it's (1, 2)"})),
        (r"Type(content='a\'b\n\d\\')", Act("Type", (), {"text": "a'b\n\\d\\"})),
        ('Launch(app="Clock = x")', Act("Launch", (), {"app": "Clock = x"})),
        ("Click(box=(-1, 9e9))", None), ("Click(box=(1))", None), ("Click(box=(1, 2)", None), ("Click", None),
        ("", None), ("Click(box=(1, 2), box=(3, 4))", None), ("Click(box=(1, 2), start=(3, 4))", None),
        ("Click((1, 2))", None),
        ("Click(box=(1, 2)) now", None), ("Type(content=hi)", None), ("Type(content='hi\")", None),
        ("Type(content=')", None), ("Type('hi')", None), ("f(box=(\u0661, 2))", None), ("(1, 2)", None),
        ("open('x').write(box=(1, 2))", None), ("Click(direction='up', direction='down')", None),
    ],
)  # fmt: skip
def test_one_call(call, act):
    assert read_call(call) == act


def test_names_and_arguments_come_in_the_vocabulary():
    found = predicted(
        "<action>Click(box=(540, 180))</action>", "<action>LongPress(box=(1, 2))</action>",
        "<action>Launch(app='Clock')</action>", "<action>PressRecent()</action>",
        "<action>CallUser(content='?')</action>",
        "<action>Scroll(start=(5, 9), end=(5, 1))</action>", "<action>Drag(start=(5, 9), end=(7, 1))</action>",
        "<action>Fly()</action>",
    )  # fmt: skip
    assert found.actions.tolist() == [
        "click", "long_press", "open_app", "recent", "call_user", "scroll", "drag", "Fly",
    ]  # fmt: skip
    assert found.arguments.app[2] == "Clock"
    assert found.arguments.text[4] == "?"
    assert found.arguments.direction is None  # found from end to end once spaces are converted
    assert found.arguments.to[5:7].tolist() == [[5, 1], [7, 1]]
    assert found.reason.tolist() == [Reason.OK] * 7 + [Reason.UNKNOWN_ACTION]


@cases(
    ("response", "reason"),
    [
        ("<think>a</think>\n<action>Wait()</action>\n<conclusion>Click(box=(1, 2))</conclusion>", Reason.OK),
        ("<think><action>Wait()</action></think><action>PressBack()</action>", Reason.OK),
        ("<think><action>Wait()</action>", Reason.UNFINISHED), ("Wait()", Reason.NO_ANSWER), ("", Reason.EMPTY),
        ("<action>Wait()", Reason.MALFORMED), ("<action>Wait</action>", Reason.MALFORMED),
        ("<action></action>", Reason.MALFORMED), ("<action>Wait()</action><action>", Reason.MALFORMED),
        ("<action>Wait()</action><action>Wait()</action>", Reason.SEVERAL_ANSWERS),
        ("<action>Wait()</action>" * 300, Reason.TOO_MANY),
    ],
)  # fmt: skip
def test_what_becomes_of_a_response(response, reason):
    assert predicted(response).reason.tolist() == [reason]


FRAGMENTS = st.sampled_from([
    *FUNCTIONS, "Fly", "(", ")", "()", "box=", "start=", "end=", "direction=", "content=", "app=", "'", '"', "(1, 2)",
    "( 3.5 ,-4)", "'up'", "'a b'", "it's", "\\", "\n", " ", ",", ", ", "<action>", "</action>", "<conclusion>",
    "</conclusion>", "</think>", "é", "\u3000", "９", "<",
])  # fmt: skip
CALLS = st.sampled_from([
    "Click(box=(1, 2))", "LongPress(box=(3.5,4))", "Wait()", "Type(content='a b')", "Type(content='')",
    "Type(content='a)')", "Launch(app='x=y')", "Finished(content='done\n')", "PressHome()", "CallUser(content='(')",
    "Scroll(start=(1, 2), end=(3, 4), direction='up')", "Click(box=(１, 2))", "Type(content='é')",
])  # fmt: skip
AFTER = st.sampled_from(
    ["", "\n", "<conclusion>done</conclusion>", " <conclusion></conclusion> \n", "<conclusion>", "x"]
)
TEXTS = st.lists(FRAGMENTS, max_size=14).map("".join) | st.builds(
    lambda before, call, after: f"{before}<action>{call}</action>{after}",
    st.sampled_from(["", "\n", "<think>hm</think>\n", "x"]), CALLS, AFTER,
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_many_are_read_like_one(texts):
    alone = [rows(predicted(text))[0] for text in texts]
    assert rows(predicted(*texts)) == alone
    assert rows(predicted(*texts * 60)) == alone * 60
    few = predicted(*texts, *["<action>Click(box=(1, 2))</action>"] * 60)
    assert rows(few)[: len(texts)] == alone


def test_hostile_responses_are_read_in_any_number():
    responses = hostile_responses(length=20000)
    responses += [f"<action>{response}</action>" for response in responses if response and len(response) < 500]
    assert rows(predicted(*responses)) == [rows(predicted(response))[0] for response in responses]
