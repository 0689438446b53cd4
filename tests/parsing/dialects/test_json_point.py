from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.parsing import JSON_POINT, parse
from grounding_rewards.parsing.readers import decoded, point_of, read_json_point
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from grounding_rewards.testing import check_dialect
from tests.cases import cases
from tests.parsing.fragments import NUMERALS, SPACES, responses
from tests.parsing.reading import read
from tests.parsing.test_paths_agree import agree

POINT = '{"point_2d": [200, 150], "label": "save"}'


@cases(
    ("text", "point"),
    [
        (POINT, [200, 150]), (f" {POINT}\n", [200, 150]), (f"```json\n{POINT}\n```", [200, 150]),
        (f"\t```json\n{POINT}\n```  ", [200, 150]), (f"```json{POINT}```", [200, 150]),
        (f"```json\n{POINT}", [200, 150]),
        (f"{POINT}\n```", [200, 150]), ('{"point_2d":[200,\n150]}', [200, 150]), ('{ "point_2d" : [ 1 , 2 ] }', [1, 2]),
        ('{"point_2d": [200.5, 150e0]}', [200.5, 150]), ('{"label": "a", "point_2d": [-200, 150]}', [-200, 150]),
        ('{"point_2d": [1, 2], "label": "a]\\"[b"}', [1, 2]), ('{"point_2d": [1, 2], "point_2d": [3, 4]}', [3, 4]),
        ('{"point_2d": [true, false]}', [1, 0]), ('{"point_2d": [0, -0.0]}', [0, 0]),
        ('{"point_2d": [Infinity, 1]}', [COORDINATE_LIMIT, 1]),
        ('{"point_2d": [1, -Infinity]}', [1, -COORDINATE_LIMIT]), ('{"point_2d": [NaN, 1]}', [COORDINATE_LIMIT, 1]),
        (f'{{"point_2d": [-{"9" * 400}, 1e999]}}', [-COORDINATE_LIMIT, COORDINATE_LIMIT]),
    ],
)  # fmt: skip
def test_one_object_in_a_fence_or_not(text, point):
    assert read(text, JSON_POINT, thinking="read") == (point, "OK")


@cases(
    "text",
    [
        f"The element is here: {POINT}", f"{POINT} done.", f"{POINT} {POINT}", f"```\n{POINT}\n```", f"[{POINT}]",
        f"``json\n{POINT}\n```", f"```json\n{POINT}\n``", f"```JSON\n{POINT}\n```", f"```json\n```json\n{POINT}\n```",
        f"<think>a</think>{POINT}", '{"point_2d": [200, 150, 7]}', '{"point_2d": [200]}', '{"point_2d": 5}',
        '{"point_2d": ["200", "150"]}', '{"point_2d": [null, 1]}', '{"point_2d": [[1], [2]]}', '{"point_2d": [.5, 1]}',
        '{"point_2d": [5., 1]}', '{"point_2d": [+5, 1]}', '{"point_2d": [007, 1]}', '{"point_2d": [1_0, 1]}',
        '{"point_2d": [2\xa0, 1]}', '{"point_2d": [２, 1]}', "{'point_2d': [1, 2]}", '{"point_2d": [1, 2]',
        f'{{"point_2d": [{"9" * 5000}, 1]}}', '{"point_2d": ' * 50_000, '"point_2d"',
    ],
)  # fmt: skip
def test_everything_else_is_malformed(text):
    assert read(text, JSON_POINT, thinking="read") == (None, "MALFORMED")


@cases("text", ["null", "{}", "[200, 150]", "refusal", '{"POINT_2D": [200, 150]}', "(200, 150)"])
def test_without_the_key_there_is_no_answer(text):
    assert read(text, JSON_POINT, thinking="read") == (None, "NO_ANSWER")


def test_values_beyond_json():
    assert str(decoded("[NaN, 1e999]")) == "[nan, inf]"
    assert decoded('x{"a": [1]} y', 1) == {"a": [1]}
    assert decoded('x{"a": [1]} y', 0) is None
    assert [decoded(text) for text in ("", "[", "[1", "9" * 5000, "{" * 100_000, "nul")] == [None] * 6
    assert [point_of(item) for item in (None, 5, [1, 2], {}, {"point_2d": (1, 2)})] == [None] * 5


labels = st.sampled_from(["", '"label"', '"label": "a"', '"label": "a]"', '"label":"\\""', '"label" : "é\n"', '"x": 1'])
gaps = st.sampled_from([*SPACES[:12], "x"])
objects = st.builds(
    '{}{}{{{}"point_2d":{}[{},{}{}]{}{}{}}}{}{}'.format,
    st.sampled_from(["", "```json", "```", "```json\n"]), gaps, gaps, gaps, st.sampled_from(NUMERALS), gaps,
    st.sampled_from(NUMERALS), st.sampled_from(["", ",", ", "]), labels, gaps, gaps, st.sampled_from(["", "```", "``"]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(objects, responses), min_size=1, max_size=6), st.sampled_from(["only", "first", "last", "all"])
)
@example([POINT, f"```json\n{POINT}\n```"], "all")
@example(['{"point_2d": [-0, 0]}', '{"point_2d": [999999999999.5, -999999999999.25]}'], "only")
def test_many_texts_are_read_like_one(texts, answers):
    agree(texts, JSON_POINT, answers, "read")


@settings(max_examples=150, deadline=None)
@given(objects)
@example(POINT)
def test_what_the_pattern_captures_is_what_reading_finds(text):
    found = compiled(JSON_POINT.usual[0]).search(text)
    if found:
        assert read_json_point(text) == [(float(found["x"]), float(found["y"]))]


def test_the_usual_forms_need_no_reading():
    usual = [POINT, f"```json\n{POINT}\n```", '{"point_2d":[1.5,-2]}\n', '{\n  "point_2d": [\n    7,\n    8\n  ]\n}']
    assert all(compiled(JSON_POINT.usual[0]).search(text) for text in usual)


def test_it_keeps_every_dialects_promises():
    check_dialect(
        JSON_POINT, [POINT, f"```json{POINT}```", "", None, " " * 60_000, "```json" + " " * 60_000, POINT * 9]
    )
    found = parse([POINT] * VECTOR_ROWS, JSON_POINT, space=CoordSpace.PIXEL)
    assert found.xy.tolist() == [[200, 150]] * VECTOR_ROWS
