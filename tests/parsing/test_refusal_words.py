"""Further phrases that count as a refusal: the caller's, and the common ones of models."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AUTO, AUTO_ACTION, BARE_TUPLE, TOOL_CALL, parse
from grounding_rewards.parsing.auto import AnyForm
from grounding_rewards.parsing.reading import check_patterns
from grounding_rewards.parsing.refusal_words import with_refusal_words
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts
from grounding_rewards.rollouts import Reason
from grounding_rewards.testing import check_recipe
from grounding_rewards.testing.hostile import ANSWER_FORMATS
from tests.cases import cases
from tests.parsing.test_all import RESPONSES
from tests.parsing.test_linear import costs_less

COMMON = with_refusal_words(AUTO, "common")
OWN = with_refusal_words(AUTO, ["Nicht  da", "can't (see) it.", "[0, 0]", "$^|"])
BOX, NOTHING = {"bbox": [10, 10, 20, 20]}, {"refusal": True}


def reasons(texts, dialect):
    few = [Reason(parse([text], dialect, space=CoordSpace.PIXEL).reason[0]).name for text in texts]
    many = parse(list(texts) * VECTOR_ROWS, dialect, space=CoordSpace.PIXEL).reason
    assert [Reason(code).name for code in many] == few * VECTOR_ROWS
    return few


@cases(
    "text",
    [
        "Infeasible", "not found", "Not found.", "The element does not exist", "the ELEMENT doesn\u2019t exist!",
        "The target element is not visible on the screen.", "cannot be located", "It cannot be found in the image.",
        "N/A", "Unable to locate the element.", "<answer>Not found.</answer>", "<think>x</think> element\nnot found",
        "[]", "```json\n[]\n```", "[ ]", "'not visible'", "refusal", "[-1, -1]", "none", '{"point_2d": null}',
        "屏幕上没有这个元素\u3002", "找不到该元素",
    ],
)  # fmt: skip
def test_common_phrases_of_models_are_refusals(text):
    assert reasons([text], COMMON) == ["REFUSED"]


@cases(
    "text",
    [
        "The element is not visible, click (1, 2)", "not", "the element", "not found not found", "it is found",
        "I think that the element does not exist", "elementnot found", "on the screen", "common", "<answer>not found",
    ],
)  # fmt: skip
def test_no_more_than_whole_answers_are(text):
    assert reasons([text], COMMON) != ["REFUSED"]


def test_auto_reads_none_of_them_without_the_option():
    texts = ["infeasible", "not found", "The element does not exist", "[]", "nichts"]
    assert "REFUSED" not in reasons(texts, AUTO)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nicht da", "REFUSED"), ("NICHT\tDA!", "REFUSED"), ("nichtda", "NO_ANSWER"), ("CAN'T (SEE) IT", "REFUSED"),
        ("[0, 0]", "REFUSED"), ("[0,\n0]", "REFUSED"), ("[0, 1]", "OK"), ("$^|", "REFUSED"), ("", "EMPTY"),
        ("refusal", "REFUSED"), ("(3, 4)", "OK"), ('{"point_2d": [3, 4]}', "OK"), ("infeasible", "NO_ANSWER"),
    ],
)  # fmt: skip
def test_phrases_of_ones_own(text, reason):
    assert reasons([text], OWN) == [reason]


@pytest.mark.parametrize("phrase", ["(0, 0)", "0"])
def test_a_place_may_stand_for_a_refusal(phrase):
    dialect = with_refusal_words(AUTO, phrase)
    assert reasons([phrase, "(0, 1)"], dialect) == ["REFUSED", "OK"]


def test_letters_beyond_ascii_in_either_case():
    dialect = with_refusal_words(BARE_TUPLE, ["Кнопка не видна", "straße", "이미지에 없음", "İ"])
    texts = ["кнопка НЕ видна.", "STRAßE", "STRASSE", "이미지에 없음", "İ", "i"]
    assert reasons(texts, dialect) == ["REFUSED", "REFUSED", "NO_ANSWER", "REFUSED", "REFUSED", "NO_ANSWER"]


def test_without_words_the_dialect_is_the_same_object():
    assert with_refusal_words(AUTO, None) is AUTO
    assert with_refusal_words(AUTO, []) is AUTO
    assert gr.recipe("click", response_space="pixel").dialect is AUTO


def test_names_stay():
    assert (COMMON.names, COMMON.name) == (AUTO.names, "auto")
    assert with_refusal_words(AUTO_ACTION, "common").names == AUTO_ACTION.names
    other = with_refusal_words(TOOL_CALL, "common")
    assert (other.name, other.names) == ("tool_call", ("refusal", "tool_call"))


def test_all_other_answers_are_read_as_before():
    texts = [text for form in ANSWER_FORMATS for text in (form.right, form.broken)]
    for plain in (AUTO, AUTO_ACTION):
        old = parse(texts, plain, space=CoordSpace.PIXEL)
        new = parse(texts, with_refusal_words(plain, "common"), space=CoordSpace.PIXEL)
        assert new.reason.tolist() == old.reason.tolist()
        np.testing.assert_array_equal(new.xy, old.xy)
        assert new.dialect.tolist() == old.dialect.tolist()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (5, r'got 5; expected phrases such as \["not found", "cannot be located"\], and "common" for those of models'),
        (["a", 5], "got .'a', 5.; expected phrases"),
        ("", "got ''; expected a phrase that is more than quotes and full stops"),
        ([" '...' "], "expected a phrase that is more than quotes"),
        (["a" * 201], "expected a phrase of at most 200 printable characters"),
        (["a\x00"], "expected a phrase of at most 200 printable characters"),
        (["\ud800"], "expected a phrase of at most 200 printable characters"),
        (["what? where"], "without a question mark"),
        ([str(number) for number in range(101)], "got 101 phrases; expected 100 at most"),
    ],
)
def test_phrases_that_cannot_be_one(words, message):
    with pytest.raises(gr.RecipeError, match=f"option refusal_words: .*{message}"):
        gr.recipe("click", response_space="pixel", refusal_words=words)


def test_as_many_and_as_long_as_may_be():
    words = [f"{number:03} {'ä€' * 98}" for number in range(100)]
    dialect = with_refusal_words(AUTO, words)
    check_patterns(dialect)
    assert reasons([words[0], words[99].upper(), words[0][:-1]], dialect) == ["REFUSED", "REFUSED", "NO_ANSWER"]


@pytest.mark.parametrize("name", ["click", "action"])
def test_recipes_take_them(name):
    plain = gr.recipe(name, response_space="pixel")
    wider = gr.recipe(name, response_space="pixel", refusal_words=["common", "nichts da"])
    texts, targets = ["not found", "Nichts da.", "refusal", "(15, 15)"], [NOTHING, NOTHING, NOTHING, BOX]
    assert plain.score(texts, targets).acc.tolist() == [0, 0, 1, 1]
    assert wider.score(texts, targets).acc.tolist() == [1, 1, 1, 1]
    assert wider.score(texts, [BOX] * 4).acc.tolist() == [0, 0, 0, 1]
    assert wider.to_dict()["refusal_words"] == ("common", "nichts da")
    assert gr.recipe(wider.to_dict()) == wider != plain


def test_composite_takes_them():
    reward = gr.recipe(
        "composite", response_space="pixel", dialect="tool_call", refusal_words="common",
        parts={"hit": 0.5, "correct_refusal": 0.5},
    )  # fmt: skip
    assert reward.score(["not found", "(15, 15)"], [NOTHING, BOX]).total.tolist() == [0.5, 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["click", "action"])
def test_no_response_raises(name):
    words = ["common", "[0, 0]", "nichts da"]
    check_recipe(gr.recipe(name, response_space="pixel", refusal_words=words), responses=RESPONSES)


PIECES = st.sampled_from(
    ["'", '"', "`", " ", "\n", "the ", "element ", "is ", "not ", "found", "visible", ".", "!", "?", "[", "]", "json",
     "```", "<answer>", "</answer>", "none", "(1, 2)", "\ud800", "\u017f", "nicht", "da", "\u2019", "t", "can"]
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=4), st.booleans())
@example(["[] ```", "json[]```", "'not found'!"], True)
def test_one_text_and_many_are_read_alike(texts, common):
    reasons(texts, COMMON if common else OWN)


ANSWERS = [
    "<answer> 'the element is not visible on the screen'. </answer>",
    "'```json [ ] ```'.",
    " 'can't  (see) it'. ",
]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [COMMON, OWN], ids=["common", "own"])
@cases("answer", ANSWERS)
def test_an_answer_that_goes_on_for_ever_at_any_character_costs_little(dialect, answer):
    refusals = dialect.refusal if isinstance(dialect, AnyForm) else dialect.dialects[0]
    for end in range(len(answer) + 1):
        for filler in (" ", "'", ".", "the ", "[", "] ", "not found "):
            text = answer[:end] + filler * (8192 // len(filler)) + "x"
            assert costs_less(0.05, refusals, Texts([text])), (answer[:end], filler)
