"""Composites of parts that judge actions."""

import pytest

import grounding_rewards as gr
from tests.recipes.test_composite import BOX, build, error


def test_parts_that_judge_actions():
    recipe = gr.recipe(
        "composite", response_space="pixel",
        parts={"kind": {"verifier": "action_type", "weight": 0.4}, "words": {"verifier": "text_match", "weight": 0.6}},
    )  # fmt: skip
    assert (recipe.dialect.name, type(recipe.success).__name__) == ("auto_action", "ActionMatch")
    assert recipe.accepts >= {"action", "refusal", "bbox"}
    target = {"action": {"name": "type", "text": "hello"}}
    typed = [
        f'<tool_call>{{"name": "computer_use", "arguments": {{"action": "type", "text": "{text}"}}}}</tool_call>'
        for text in ("hello", "bye")
    ]
    scores = recipe.score([*typed, "pyautogui.write('hello')"], [target] * 3)
    assert scores.total.tolist() == [1.0, 0.4, 1.0]
    assert scores.acc.tolist() == [1.0, 0.0, 1.0]
    assert gr.recipe("composite", response_space="pixel", parts={"hit": 1.0}).dialect.name == "auto"
    near = {"verifier": "action_match", "weight": 1.0, "point_radius": 14}
    assert "point" in gr.recipe("composite", response_space="pixel", parts={"right": near}).accepts


def test_the_default_success_reaches_as_far_as_the_parts():
    drag = {"bbox": [0, 0, 10, 10], "action": {"name": "drag", "to": [50, 50]}}
    said = (
        '<tool_call>{"name": "computer_use", "arguments": {"action": "left_click_drag", "start_coordinate": [5, 5], '
        '"end_coordinate": [53, 54]}}</tool_call>'
    )
    near = build({"end_hit": {"weight": 1, "radius": 5}})
    scores = near.score(said, drag)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([1.0], [1.0])
    assert build({"end_hit": {"weight": 1, "radius": 4}}).score(said, drag).acc.tolist() == [0.0]
    shared = build({"end_hit": {"weight": 1, "share": 0.05}})
    assert shared.score(said, drag, image_sizes=(100, 100)).acc.tolist() == [0.0]
    assert shared.score(said, drag, image_sizes=(101, 101)).acc.tolist() == [1.0]


@pytest.mark.parametrize(
    ("parts", "reach"),
    [
        ({"action_type": 1}, (None, None, 1.0)),
        ({"hit": 1, "end_hit": {"weight": 1, "radius": 5}}, (5, None, 1.0)),
        ({"hit": {"weight": 1, "point_radius": 3, "enlarge": 1.5}, "end_hit": {"weight": 1, "radius": 5}},
         (3, None, 1.5)),
        ({"end_hit": {"weight": 1, "share": 0.1, "enlarge": 1.2}}, (None, 0.1, 1.2)),
        ({"near_point": {"weight": 1, "share": 0.2}, "action_type": 1}, (None, 0.2, 1.0)),
        ({"hit": {"weight": 1, "point_radius": 3},
          "right": {"verifier": "action_match", "weight": 1, "point_radius": 9}}, (9, None, 1.0)),
        ({"done": {"weight": 1, "any_of": {"product": {"kind": "action_type",
                                                       "place": {"verifier": "hit", "point_radius": 7}}}}},
         (7, None, 1.0)),
    ],
)  # fmt: skip
def test_the_reach_of_the_default_success(parts, reach):
    success = build(parts).success
    assert (success.point_radius, success.point_share, success.enlarge) == reach


@pytest.mark.parametrize("dialect", ["ui_s1", "tool_call", "auto"])
@pytest.mark.parametrize("name", ["action_type", "text_match", "keys_match", "action_match", "end_hit"])
def test_actions_in_other_words_than_the_vocabulary_are_errors(name, dialect):
    message = error({name: 1}, dialect=dialect)
    assert message.startswith(f"option dialect: {dialect} does not share the vocabulary of actions")
    assert name.replace("_", "") in message.lower()
    assert "use auto_action" in message


def test_names_as_written_need_no_vocabulary():
    kind = {"verifier": "action_type", "weight": 1, "names": "lower"}
    assert "in which the default success (ActionMatch) compares" in error({"kind": kind}, dialect="ui_s1")
    recipe = build({"kind": kind}, dialect="ui_s1", success="kind")
    answers = ['<action>{"action": "CLICK", "coordinate": [15, 15]}</action>', '<action>{"action": "tap"}</action>']
    assert recipe.score(answers, [{**BOX, "action": "click"}] * 2).acc.tolist() == [1.0, 0.0]
    assert "success (TextMatch)" in error({"hit": 1}, dialect="ui_s1", success="text_match")
