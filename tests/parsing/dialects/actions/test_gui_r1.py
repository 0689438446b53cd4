"""GUI-R1's answers: the first action and text between the first answer tags, and the last pair of numbers there."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import GUI_R1, parse
from grounding_rewards.parsing.published import read_answer_point
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from grounding_rewards.rollouts import Reason
from tests.cases import cases
from tests.parsing.fragments import responses

ITEM = "{'action': 'click', 'point': [200, 150], 'input_text': 'x'}"


def answered(content):
    return f"<think>-</think> <answer>{content}</answer>"


@cases(
    ("content", "name", "place", "text"),
    [
        (f"[{ITEM}]", "click", (200, 150), "x"),
        (ITEM, "click", (200, 150), "x"),
        ("[{'action': 'click', 'point': [200,150]}]", "click", (200, 150), None),
        ("[{'action': 'click', 'point': [ 200 ,\n150 ]}]", "click", (200, 150), None),
        ("[{'action': 'click', 'point': [200.5, .25]}]", "click", (200.5, 0.25), None),
        ("[{'action': 'click', 'point': [0200, 150.]}]", "click", (200, 150), None),
        ("[{'action': 'click', 'point': [1, 1], [2, 3]}]", "click", (2, 3), None),
        ("[{'action': 'click', 'point': [1, 1], [2, 3.5]}]", "click", (1, 1), None),
        ("[{'action': 'click', 'point': [1, 1], [ 2, 3]}]", "click", (1, 1), None),
        ("[{'action': 'click', 'point': [1.5, 1], [ 2, 3]}]", "click", (2, 3), None),
        ("[{'action': 'cl\"ick', \"action\": 'wait'}]", "wait", (), None),
        (f"[{ITEM}, {{'action': 'type', 'point': [3, 4], 'input_text': 'y'}}]", "click", (3, 4), "x"),
        ('[{"action": "click", "point": [200, 150], "input_text": "x"}]', "click", (200, 150), "x"),
        ("[{'action' : 'long press', 'point': [1, 2]}]", "long press", (1, 2), None),
        ("[{'action': 'type', 'point': [-100, -100], 'input_text': \"don't\"}]", "type", (), "don't"),
        ("[{'action': 'type', 'point': [-100, -100], 'input_text': 'don\\'t'}]", "type", (), "don't"),
        ("[{'action': 'type', 'point': [-100, -100], 'input_text': 'don't stop'}]", "type", (), "don't stop"),
        ("[{'action': 'type', 'point': [-100, -100], 'input_text': 'a\\nb'}]", "type", (), "a\nb"),
        ("[{'action': 'type', 'input_text': 'the dogs' tail'}]", "type", (), "the dogs"),
        ("[{'action': 'type', 'input_text': 'a' 'b' \"'c\"\n}]", "type", (), "ab'c"),
        ("[{'action': 'type', 'input_text': '''a'''}]", "type", (), "a"),
        ("[{'action': 'type', 'input_text': 'a'; 'b': 'c'}]", "type", (), "a"),
        ("[{'action': 'type', 'input_text': 'a\nb', 'input_text': 'c'}]", "type", (), "c"),
        ("[{'action': 'type', 'point': [-100, -100], 'input_text': 'a", "type", (), None),
        ("[{'action': 'type', 'point': [-100, -100], 'input_text': 'a\nb'}]", "type", (), None),
        ("[{'action': 'click', 'point': [200, 150", "click", (), None),
        ("'action': 'click', [200, 150]", "click", (), None),
        *[
            (f"[{{'action': 'click', 'point': {point}}}]", "click", (), None)
            for point in (
                "[200]", "[200, 150, 7]", "[]", "[x, y]", "[200 150]", "['200', '150']", "[True, False]", "[+1, 2]",
                "[1, -2]", "(200, 150)", "[２００, １５０]", "[200，150]", "[2_00, 150]", "[2e2, 150]", "None",
            )
        ],
    ],
)  # fmt: skip
def test_reads_name_place_and_text(content, name, place, text):
    (act,) = read_answer_point(answered(content))
    assert act == (name, place, {} if text is None else {"text": text})


@cases(
    ("response", "reason"),
    [
        (answered(f"[{ITEM}]"), "OK"), (answered("[]"), "MALFORMED"), (answered("[{'action': ''}]"), "MALFORMED"),
        (answered("[{'action': 'wait', 'point': [-100, -100]}]"), "OK"), ("<answer>", "MALFORMED"), ("", "EMPTY"),
        (f"[{ITEM}]", "NO_ANSWER"), ("<answer>[]</answer>" + answered(f"[{ITEM}]"), "MALFORMED"),
    ],
)  # fmt: skip
@cases("count", [1, VECTOR_ROWS])
def test_reasons(response, reason, count):
    found = parse([response] * count, GUI_R1, space=CoordSpace.PIXEL, thinking="read")
    assert {Reason(code).name for code in found.reason} == {reason}


def test_the_first_tags_count_in_thinking_too():
    text = f"<think><answer>[{ITEM}]</answer></think>" + answered("[{'action': 'wait'}]")
    assert read_answer_point(text)[0].name == "click"


@cases("digits", [30, 400, 5000])
def test_numbers_of_any_length_stay_finite(digits):
    texts = [answered(f"[{{'action': 'click', 'point': [{'9' * digits}, 1]}}]")]
    assert parse(texts, GUI_R1, space=CoordSpace.PIXEL, thinking="read").xy.tolist() == [[1e12, 1]]


def check(text):
    """Check that ``read`` finds the action that a pattern matches."""
    for pattern in GUI_R1.usual:
        found = compiled(pattern).search(text[max(text.find(GUI_R1.begin), 0) :])
        if found:
            groups = found.groupdict()
            place = (float(groups["x"]), float(groups["y"])) if "x" in groups else ()
            assert read_answer_point(text) == [(groups["action"], place, {"text": groups["text"]})]
            return True
    return False


NUMERALS = st.sampled_from(["0", "5", "007", "-3", "-0", "123456789012345", "1234567890123456", "1.5", "+2", "x"])
USUAL = st.builds(
    "{}<think>{}</think>{}<answer>[{{'action': '{}', 'point': [{}, {}], 'input_text': '{}'}}]</answer>{}".format,
    st.sampled_from(["", " ", "\n", "x"]), st.sampled_from(["", "It is", "a\nb", "<answer>", "[1, 2]"]),
    st.sampled_from(["", " ", "\n\n"]), st.sampled_from(["click", "open_app", "", "a b", "é"]), NUMERALS, NUMERALS,
    st.one_of(
        st.sampled_from(["", "no input text", "a'b", "[3, 4]", "\\", "\x00", "\u2028", "}", '"']), st.text(max_size=4)
    ),
    st.sampled_from(["", "\n", " .", "</answer>"]),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.one_of(USUAL, responses))
@example(answered(f"[{ITEM}]"))
def test_the_patterns_agree_with_the_reader(text):
    check(text)


def test_the_patterns_take_the_usual_forms():
    assert check(answered(f"[{ITEM}]"))
    assert check(answered(f"[{ITEM}]".replace("200, 150", "-100, -100")))
    assert not check(answered(f"[{ITEM}]".replace("200", "0200")))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(USUAL, responses), min_size=1, max_size=6))
def test_many_texts_are_read_as_one_alone(texts):
    many = parse(texts * VECTOR_ROWS, GUI_R1, space=CoordSpace.PIXEL, thinking="read")
    for row, text in enumerate(texts):
        one = parse([text], GUI_R1, space=CoordSpace.PIXEL, thinking="read")
        assert many.xy[row].tobytes() == one.xy[0].tobytes()
        assert (many.actions[row], many.reason[row]) == (one.actions[0], one.reason[0])
        column = many.arguments.column("text", len(many))[row]
        assert column == one.arguments.column("text", 1)[0]
