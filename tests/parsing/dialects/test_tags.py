"""Places between tokens and tags: Qwen2-VL, OS-Atlas, Qwen-VL, SeeClick, MiniCPM-V, InternVL, Phi-Ground, Molmo2."""

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing import AUTO, BOX_TOKENS, MOLMO, POINT_TAG, XY_TAGS
from grounding_rewards.parsing.readers import read_points
from grounding_rewards.parsing.texts import compiled
from tests.cases import cases
from tests.parsing.reading import read, read_all, read_box


@cases(
    "text",
    [
        "<|box_start|>(12,34),(56,78)<|box_end|>", "<box>(12,34),(56,78)</box>", "<box>12 34 56 78</box>",
        "<box>[[12, 34, 56, 78]]</box>", "<bbox>12 34 56 78</bbox>", "<box>12,34,56,78</box>",
        "<box>( 12 , 34 ) , ( 56 , 78 )</box>", "<box>(12.0 34.0) (56.0 78.0)</box>", "<box>\n12\n34\n56\n78\n</box>",
        "<|object_ref_start|>save<|object_ref_end|><|box_start|>(12,34),(56,78)<|box_end|><|im_end|>",
        "<ref>save</ref><box>(12,34),(56,78)</box>",
    ],
)  # fmt: skip
def test_reads_boxes_between_tokens(text):
    assert read(text, BOX_TOKENS) == ([34, 56], "OK")
    assert read_box(text, BOX_TOKENS) == [12, 34, 56, 78]


@cases(
    ("text", "point"),
    [
        ("<|box_start|>(12,34)<|box_end|>", [12, 34]),
        ("<box>12 34</box>", [12, 34]),
        ("<box>(0.5, .25)</box>", [0.5, 0.25]),
        ("<box>-1 -2</box>", [-1, -2]),
    ],
)
def test_reads_points_between_tokens(text, point):
    assert read(text, BOX_TOKENS) == (point, "OK")
    assert read_box(text, BOX_TOKENS) is None


@cases(
    "text",
    [
        "<|box_start|>(x1,y1),(x2,y2)<|box_end|>", "<box>x1 y1 x2 y2</box>", "<box>12 34 56</box>", "<box></box>",
        "<box>12 34 56 78 90</box>", "<|box_start|>(12,34),(56,78)", "<|box_start|>(12,34),(56,7", "<box>1234</box>",
        "<box>(12,34),(56,78),(90,12)</box>", "<box>12 34 56 78</bo", "<box>1e2 34</box>", "<box>((((1,2))))</box>",
    ],
)  # fmt: skip
def test_echoes_cut_off_answers_and_other_counts_of_numbers_are_malformed(text):
    assert read(text, BOX_TOKENS) == (None, "MALFORMED")


def test_several_boxes():
    text = "<box>0 0 2 2</box><box>(4,4),(6,6)</box>"
    assert read(text, BOX_TOKENS) == (None, "SEVERAL_ANSWERS")
    assert read(text, BOX_TOKENS, "first") == ([1, 1], "OK")
    assert read(text, BOX_TOKENS, "last") == ([5, 5], "OK")


@cases(
    ("text", "without"),
    [
        ("<|box_start|>(12,34),(56,78)<|box_end|>", "(12,34),(56,78)"),
        ("<|box_start|>(12,34)<|box_end|>", "(12,34)"),
        ("click(start_box='<|box_start|>(12,34)<|box_end|>')", "click(start_box='(12,34)')"),
    ],
)
def test_auto_reads_the_same_where_decoding_dropped_the_special_tokens(text, without):
    assert read(text, AUTO) == read(without, AUTO)
    assert read(text, AUTO)[1] == "OK"
    assert read_box(text, AUTO) == read_box(without, AUTO)


@cases(
    ("text", "point"),
    [
        ("<point>512 384</point>", [512, 384]),
        ("<point>512, 384</point>", [512, 384]),
        ("<point> (0.5 , .25) </point>", [0.5, 0.25]),
        ("<point>[512,384]</point>", [512, 384]),
        ("<point>0 0 4 8</point>", [2, 4]),
        ("so <point>512 384</point>.", [512, 384]),
    ],
)
def test_reads_point_tags(text, point):
    assert read(text, POINT_TAG) == (point, "OK")


@cases("text", ["<point>x y</point>", "<point>512</point>", "<point>512 384", "<point>1 2 3</point>"])
def test_what_only_looks_like_a_point_tag_is_malformed(text):
    assert read(text, POINT_TAG) == (None, "MALFORMED")


@cases(
    ("text", "point"),
    [
        ("<x>12</x><y>34</y>", [12, 34]),
        ("<x> 0.5 </x>\n<y>.25</y>", [0.5, 0.25]),
        ("<click><x>12</x>, <y>34</y></click>", [12, 34]),
        ("<x>-1</x><y>-2.5</y>", [-1, -2.5]),
    ],
)
def test_reads_a_tag_for_each_coordinate(text, point):
    assert read(text, XY_TAGS) == (point, "OK")


@cases("text", ["<x>x</x><y>y</y>", "<x>12</x>", "<x>1 2</x><y>3</y>", "<x>12</x>and<y>34</y>"])
def test_other_tags_are_malformed(text):
    assert read(text, XY_TAGS) == (None, "MALFORMED")


def test_y_before_x_is_none_and_two_pairs_are_several():
    assert read("<y>12</y><x>34</x>", XY_TAGS) == (None, "MALFORMED")
    text = "<x>1</x><y>2</y><x>3</x><y>4</y>"
    assert read(text, XY_TAGS) == (None, "SEVERAL_ANSWERS")
    assert read(text, XY_TAGS, "last") == ([3, 4], "OK")


@cases(
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


@cases(
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
    usual = compiled(MOLMO.usual[0]).search(text)
    if usual:
        assert read_points(text) == [(float(usual["x"]), float(usual["y"]))]


def test_a_number_of_5000_digits_is_far_away():
    text = f'<points coords="1 1 {"9" * 5000} 2">a</points>'
    assert read(text, MOLMO) == ([1e12, 2], "OK")
    assert read("so " + text, MOLMO) == ([1e12, 2], "OK")


@cases(
    ("text", "place", "reason"),
    [
        ("<loc0097><loc0563><loc0159><loc0665> search", [128, 614], "OK"),
        ("search<loc_550><loc_95><loc_650><loc_155></s>", [600, 125], "OK"),
        ("<loc0097><loc0563><loc0159>", None, "MALFORMED"),
        ("<loc0097><loc0563><loc0159><loc06", None, "MALFORMED"),
        ("<loc_1><loc_2><loc_3><loc_4><loc_5><loc_6>", None, "MALFORMED"),
        ("<loc_1><loc_2><loc_3><loc_4> ; <loc_5><loc_6><loc_7><loc_8>", None, "SEVERAL_ANSWERS"),
        ("<object><patch_index_0113><patch_index_0149></object>", [19.5, 4], "OK"),
        ("<patch_index_0113>", None, "MALFORMED"),
        ('<point x="75.0" y="25.0" alt="gear">gear</point>', [75, 25], "OK"),
        ('<points x1="75.0" y1="25.0" x2="5" y2="6" alt="a">a</points>', None, "SEVERAL_ANSWERS"),
        ('<point x="75.0" y="2', None, "MALFORMED"),
        ("1159, 136]}}\n</tool_call>", [1159, 136], "OK"),
        ("1159, 136", [1159, 136], "OK"),
    ],
)
def test_tokens_and_attributes_that_hold_places(text, place, reason):
    assert read(text, AUTO) == (place, reason)
