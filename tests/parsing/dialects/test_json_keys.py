"""JSON objects whose keys mark a place: ``point_2d``, ``coordinate``, ``POINT``, ``mean``, and ``x`` with ``y``."""

from grounding_rewards.parsing import JSON_2D, JSON_COMPACT, JSON_COORDINATE, JSON_DISTRIBUTION, JSON_XY
from tests.cases import cases
from tests.parsing.reading import read, read_action, read_all, read_box


@cases(
    ("text", "point"),
    [
        ('[{"point_2d": [200, 150], "label": "save"}]', [200, 150]),
        ('{"point_2d": [512, 384], "label": "save"}', [512, 384]),
        ('<think>t</think>\n```json\n[\n\t{"point_2d": [200, 150], "label": "save"}\n]\n```', [200, 150]),
        ("[{'point_2d': [200, 150], 'label': 'save'}]", [200, 150]),
        ('{"label": "a ] or (b)", "point_2d":[ 3.5 , -2 ]}', [3.5, -2]),
        ('{"bbox_2d": [100, 200, 300, 250]}', [200, 225]),
        ('```json\n[{"bbox_2d": [1, 2, 4, 3], "label": "x"}]\n```', [2.5, 2.5]),
        ('{"Plan": "..", "Action": {"function": "Tap", "point_2d": [7, 8]}}', [7, 8]),
    ],
)
def test_reads_points_and_the_centres_of_boxes(text, point):
    assert read(text, JSON_2D) == (point, "OK")


def test_a_box_stays_as_it_was_written_even_inverted():
    assert read_box('{"bbox_2d": [300, 200, 100, 100]}', JSON_2D) == [300, 200, 100, 100]
    assert read_box('{"point_2d": [300, 200]}', JSON_2D) is None


@cases(
    "text",
    [
        '{"point_2d": ["a", "b"]}', '{"point_2d": [1]}', '{"point_2d": [1, 2, 3]}', '{"bbox_2d": [1, 2, 3]}',
        '{"bbox_2d": [[1, 2], [3, 4]]}', '{"point_2d": [1, 2', "point_2d: [1, 2]", '{"point_2d": {"x": 1, "y": 2}}',
        '{"point_2d": [NaN, Infinity]}', '{"point_2d": [1e3, 2]}', '{"my_point_2d": [1, 2]}',
    ],
)  # fmt: skip
def test_what_only_looks_like_point_2d_is_malformed(text):
    assert read(text, JSON_2D) == (None, "MALFORMED")


@cases("text", ['{"coordinate": [1, 2]}', "[1, 2]", '{"POINT": [1, 2]}', '{"point2d": [1, 2]}'])
def test_other_keys_than_point_2d_and_bbox_2d_are_no_answer(text):
    assert read(text, JSON_2D) == (None, "NO_ANSWER")


def test_points_and_boxes_count_together():
    text = '[{"point_2d": [1, 2]}, {"bbox_2d": [0, 0, 4, 8]}]'
    assert read(text, JSON_2D) == (None, "SEVERAL_ANSWERS")
    assert read(text, JSON_2D, "first") == ([1, 2], "OK")
    assert read(text, JSON_2D, "last") == ([2, 4], "OK")


@cases(
    ("text", "point", "action"),
    [
        ("<answer>[{'action': 'click', 'coordinate': [512, 384]}]</answer>", [512, 384], "click"),
        ("<answer>[{'action': 'click', 'point': [1, 2], 'input_text': 'no input text'}]</answer>", [1, 2], "click"),
        ('<action>{"action":"click","coordinate":[540,1200]}</action>', [540, 1200], "click"),
        ('<grounding_think>a</grounding_think>\n<answer>{"coordinate": [5, 6]}</answer>', [5, 6], ""),
        ("{'action': 'CLICK', 'value': None, 'position': [0.49, 0.42]}", [0.49, 0.42], "CLICK"),
        ('{ "coordinate" :\n[ -1.5 ,\n.5 ] , "action" : "tap" }', [-1.5, 0.5], "tap"),
        ('{"action": "swipe", "coordinate": [1, 2], "coordinate2": [3, 4]}', [1, 2], "swipe"),
        ('{"action": "drag", "start_coordinate": [1, 2], "end_coordinate": [3, 4]}', [1, 2], "drag"),
        ('{"action": "click", "args": {"coordinate": [1, 2]}}', [1, 2], ""),
        ('{"type": "click", "coordinate": [1, 2]}', [1, 2], "click"),
    ],
)
def test_reads_coordinate_and_action_in_any_order(text, point, action):
    assert read(text, JSON_COORDINATE) == (point, "OK")
    assert read_action(text, JSON_COORDINATE) == action


@cases(
    "text",
    [
        "[{'action': 'click', 'coordinate': [x, y]}]", '{"coordinate": [1]}', '{"coordinate": [1, 2, 3]}',
        '{"coordinate": "1, 2"}', '{"coordinate": [1, 2]', '"coordinate": [1, 2]', '{"coordinate": [1e3, 2]}',
        '{"coordinate": [true, 2]}', '{"coordinate": null}', '{"point": {"x": 1}}', '{"my_coordinate": [1, 2]}',
    ],
)  # fmt: skip
def test_what_only_looks_like_a_coordinate_is_malformed(text):
    assert read(text, JSON_COORDINATE) == (None, "MALFORMED")


@cases("text", ['{"action": "wait"}', '{"foo": [1, 2]}', "[1, 2]", "coordinate: [1, 2]"])
def test_objects_without_a_place_are_no_answer(text):
    assert read(text, JSON_COORDINATE) == (None, "NO_ANSWER")


def test_several_coordinates():
    text = "[{'action': 'click', 'coordinate': [1, 2]}, {'action': 'wait'}, {'action': 'tap', 'coordinate': [3, 4]}]"
    assert read(text, JSON_COORDINATE) == (None, "SEVERAL_ANSWERS")
    assert (read(text, JSON_COORDINATE, "first"), read_action(text, JSON_COORDINATE, "first")) == (
        ([1, 2], "OK"),
        "click",
    )
    assert (read(text, JSON_COORDINATE, "last"), read_action(text, JSON_COORDINATE, "last")) == (([3, 4], "OK"), "tap")


@cases(
    ("text", "point", "action"),
    [
        ('{"thought":"save {it}","POINT":[300,200]}', [300, 200], ""),
        ("{'POINT' : [ 300 ,\n200.5 ]}", [300, 200.5], ""),
        ('{"POINT":[500,500],"to":"up"}', [500, 500], "to"),
        ('{"POINT": [500, 500], "to": [1, 2]}', [500, 500], "to"),
        ('{"POINT":[500,500],"duration":1000}', [500, 500], ""),
        ('```json\n{"POINT":[1,2]}\n```', [1, 2], ""),
    ],
)
def test_reads_compact_json(text, point, action):
    assert read(text, JSON_COMPACT) == (point, "OK")
    assert read_action(text, JSON_COMPACT) == action


@cases("text", ['{"POINT":[x,y]}', '{"POINT":[1]}', '{"POINT":"1,2"}', "{POINT:[1,2]}", '{"POINT":[1,2'])
def test_what_only_looks_like_compact_json_is_malformed(text):
    assert read(text, JSON_COMPACT) == (None, "MALFORMED")


def test_compact_json_of_other_actions_and_of_several():
    assert read('{"TYPE":"hello"}', JSON_COMPACT) == (None, "NO_ANSWER")
    text = '{"POINT":[1,2]} {"POINT":[3,4],"to":"up"}'
    assert read(text, JSON_COMPACT) == (None, "SEVERAL_ANSWERS")
    assert (read(text, JSON_COMPACT, "last"), read_action(text, JSON_COMPACT, "last")) == (([3, 4], "OK"), "to")


@cases(
    ("text", "point", "action"),
    [
        ("{'action':'click','mean':[10,20],'variance':[3,4]}", [10, 20], "click"),
        ('<answer>[{"mean": [ 0.5 , -.25 ], "action": "click", "variance": [3, 4]}]</answer>', [0.5, -0.25], "click"),
        ("{'mean':[10,20]}", [10, 20], ""),
    ],
)
def test_reads_the_mean_of_a_distribution(text, point, action):
    assert read(text, JSON_DISTRIBUTION) == (point, "OK")
    assert read_action(text, JSON_DISTRIBUTION) == action


@cases("text", ["{'mean':[mx,my],'variance':[vx,vy]}", "{'mean': 10}", "'mean': [1, 2]", "{'mean': [1, 2]"])
def test_what_only_looks_like_a_mean_is_malformed(text):
    assert read(text, JSON_DISTRIBUTION) == (None, "MALFORMED")


def test_other_means_and_several():
    assert read("the mean is [1, 2]", JSON_DISTRIBUTION) == (None, "NO_ANSWER")
    assert read("{'variance':[3,4]}", JSON_DISTRIBUTION) == (None, "NO_ANSWER")
    text = "{'mean':[1,2]},{'mean':[3,4]}"
    assert read(text, JSON_DISTRIBUTION) == (None, "SEVERAL_ANSWERS")
    assert read(text, JSON_DISTRIBUTION, "last") == ([3, 4], "OK")


@cases(
    ("text", "point", "action"),
    [
        ('{"type":"click","button":"left","x":100,"y":200}', [100, 200], "click"),
        ('{"type": "double_click", "x": 100, "y": 200, "keys": ["ctrl"]}', [100, 200], "double_click"),
        ("{'action': 'click', 'x': 0.5, 'y': .25}", [0.5, 0.25], "click"),
        ('{"x": 352, "y": 348}', [352, 348], ""),
        ('{"type":"scroll","x":1,"y":2,"scroll_x":0,"scroll_y":-100}', [1, 2], "scroll"),
        ('{"type":"drag","path":[{"x":1,"y":2},{"x":3,"y":4}]}', [1, 2], "drag"),
        ('{"path": [ {"x": 1, "y": 2}, {"x": 3, "y": 4} ], "type": "drag"}', [1, 2], "drag"),
        ('{"type":"computer_call","action":{"type":"click","x":1,"y":2},"call_id":"a"}', [1, 2], "click"),
        ('{"x": 1, "y": 2\n}', [1, 2], ""),
        ('{"y": 540, "x": 960}', [960, 540], ""),
        ('{"action":"click","y":540,"x":960}', [960, 540], "click"),
        ('{"type":"click","x":960,"button":"left","y":540}', [960, 540], "click"),
        ("{'y' : .5 , 'keys': ['a'], 'x' :\n12. }", [12, 0.5], ""),
        ('{"x": 1, "z": 0, "y": 2}', [1, 2], ""),
        ('{"type":"drag","path":[{"y":2,"x":1},{"y":4,"x":3}]}', [1, 2], "drag"),
        ('{"x":1,"y":2,"path":[{"x":3,"y":4}]}', [1, 2], ""),
    ],
)
def test_reads_x_and_y(text, point, action):
    assert read(text, JSON_XY) == (point, "OK")
    assert read_action(text, JSON_XY) == action


@cases(
    "text",
    [
        '{"type":"click","x":x,"y":y}', '{"x": 1}', '{"y": 1, "x": x}', '{"x": 1, "y": 2', '{"x": "1", "y": "2"}',
        '{"x": 1, "y": 2e3}', '{"x": 1e3, "y": 2}', '{"y": 1, "x": 2', '"x": 1, "y": 2', '{"x": 1, "y": 2px}',
        '{"y": 2px, "x": 1}', '{"path":[{"x":1},{"y":2}]}', '{"x": 1, "size": {"y": 2}}', '{"x": 1, "x": 2}',
    ],
)  # fmt: skip
def test_what_only_looks_like_x_and_y_is_malformed(text):
    assert read(text, JSON_XY) == (None, "MALFORMED")


def test_two_clicks_in_a_list_are_several():
    for text in (
        '[{"x":1,"y":2},{"x":3,"y":4}]',
        '[{"y":2,"x":1},{"y":4,"a":0,"x":3}]',
        '{"actions":[{"type":"a","x":1,"y":2},{"type":"b","x":3,"y":4}]}',
    ):
        assert read(text, JSON_XY) == (None, "SEVERAL_ANSWERS")
        assert read(text, JSON_XY, "first") == ([1, 2], "OK")
        assert read_all(text, JSON_XY) == [[1, 2], [3, 4]]


def test_objects_without_x_are_no_answer():
    assert read('{"type":"wait"}', JSON_XY) == (None, "NO_ANSWER")
