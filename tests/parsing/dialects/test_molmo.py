"""``<points coords="1 1 105 205 2 300 400">label</points>``: Molmo2's points."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing import MOLMO
from grounding_rewards.parsing.dialects.tags import read_points
from grounding_rewards.parsing.texts import compiled
from tests.parsing.reading import read, read_all


@pytest.mark.parametrize(
    "text",
    [
        '<points coords="1 1 105 205">save</points>', "<point coords='1 1 105 205'>save</point>",
        ' <points coords="1 7 105.0 205.0">a (b) [c]</points>\n', 'Here: <points coords="1  1 105 205">x</points>.',
        '<points coords="1 1 105 205"/>',
    ],
)  # fmt: skip
def test_reads_a_point_behind_two_numbers(text):
    assert read(text, MOLMO) == ([105, 205], "OK")


def test_several_points_are_several_answers():
    text = '<points coords="1 1 105 205 2 300 400">label</points>'
    assert read(text, MOLMO) == (None, "SEVERAL_ANSWERS")
    assert read(text, MOLMO, "first") == ([105, 205], "OK")
    assert read(text, MOLMO, "last") == ([300, 400], "OK")
    assert read_all(text, MOLMO) == [[105, 205], [300, 400]]


def test_points_of_several_images_and_of_several_tags_count_together():
    text = '<points coords="1 1 10 20;2 1 30 40 2 50 60">a</points> <points coords="1 1 70 80">b</points>'
    assert read_all(text, MOLMO) == [[10, 20], [30, 40], [50, 60], [70, 80]]


@pytest.mark.parametrize(
    "text",
    [
        '<points coords="1">a</points>', '<points coords="">a</points>', '<points coords="105 205">a</points>',
        '<points coords="1 1 105 205 2">a</points>', '<points coords="1 1 x y">a</points>',
        '<points coords="1 1 105 205',
        '<points coords="1 1 1e3 205">a</points>', '<points coords="1 1 -5 205">a</points>', "coords=1 1 105 205",
        '<points coords="1 1 １ 205">a</points>',
    ],
)  # fmt: skip
def test_what_does_not_come_in_threes_is_malformed(text):
    assert read(text, MOLMO) == (None, "MALFORMED")


def test_percent_is_a_unit_that_no_space_has():
    assert read('<point x="12.3" y="45.6" alt="save">save</point>', MOLMO) == (None, "NO_ANSWER")


@settings(deadline=None)
@given(st.text('<points coords="1 2.>/a;', max_size=20).map(lambda text: f'<points coords="1 1 {text}'))
def test_the_usual_pattern_takes_only_what_is_read_the_same(text):
    usual = compiled(MOLMO.pattern).search(text)
    if usual:
        assert read_points(text) == [(float(usual["x"]), float(usual["y"]))]


def test_a_number_of_5000_digits_is_far_away():
    text = f'<points coords="1 1 {"9" * 5000} 2">a</points>'
    assert read(text, MOLMO) == ([1e12, 2], "OK")
    assert read("so " + text, MOLMO) == ([1e12, 2], "OK")
