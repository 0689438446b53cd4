"""Warnings about targets that are no errors: unknown names of actions, and places out of reach."""

import pickle
import warnings

import pytest

import grounding_rewards as gr
from grounding_rewards.targets import columns
from grounding_rewards.targets.suspects import described, merged, suspect_targets

ACTION = gr.recipe("action", response_space="pixel")
SIZE = [1000, 800]
BOX = {"bbox": [100, 100, 300, 200], "image_size": SIZE}


def said(recipe, targets, **given):
    """The lines that ``Recipe.score`` warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recipe.score(["(1, 2)"] * len(targets), targets, **given)
    assert {each.category for each in caught} <= {gr.TargetWarning}
    return [str(each.message) for each in caught]


def test_an_unknown_name_is_one_warning_with_the_nearest_name():
    targets = [{**BOX, "action": "clik", "id": "a7"}, BOX, {**BOX, "action": {"name": "clik"}}]
    assert said(ACTION, targets) == [
        "2 targets (first: sample 'a7'): action 'clik' is no known name, nor one of recipe 'action'; did you mean "
        "'click'? Declare names of your own: option action_names"
    ]


def test_a_name_far_from_all_others_goes_without_a_suggestion():
    assert said(ACTION, [{"action": "qqqq"}]) == [
        "1 target (first: row 0): action 'qqqq' is no known name, nor one of recipe 'action'; declare names of your "
        "own: option action_names"
    ]


def test_names_of_all_sources_are_known():
    for name in ["click", "CLICK", "left_click", "PressBack", "DONE", "hotkey", "system_button", "swipe"]:
        assert said(ACTION, [{**BOX, "action": name}]) == [], name


@pytest.mark.parametrize("name", ["close", "close/delete", "no action"])
def test_a_source_knows_its_own_names(name):
    row = {"action": name, "gt_bbox": [-100, -100], "input_text": "no input text"}
    assert said(gr.recipe("gui-r1"), [row]) == []
    assert len(said(gr.recipe("ui-r1"), [{**BOX, "action": name}], model_image_sizes=SIZE)) == 1


@pytest.mark.parametrize("names", [["snap", "zoom"], ("snap", "zoom"), {"snap": 1, "zoom": 2}.keys()])
def test_a_lab_declares_its_own_names(names):
    recipe = gr.recipe("action", response_space="pixel", action_names=list(names))
    assert said(recipe, [{"action": "snap"}, {"action": "zoom"}]) == []
    assert len(said(recipe, [{"action": "snop"}])) == 1
    assert recipe.to_dict() == {"name": "action", "response_space": "pixel", "action_names": ("snap", "zoom")}
    assert gr.recipe(recipe.to_dict()) == recipe == pickle.loads(pickle.dumps(recipe))
    assert recipe != ACTION


def test_declared_names_stand_beside_those_of_the_source():
    recipe = gr.recipe("gui-r1", action_names="snap")
    assert recipe.action_names == ("close", "close/delete", "no action", "snap")
    assert gr.recipe("gui-r1").to_dict() == {"name": "gui-r1"}


@pytest.mark.parametrize("names", [3, [""], ["snap", 3], [["snap"]]])
def test_names_that_are_none_are_an_error(names):
    with pytest.raises(gr.RecipeError, match=r"option action_names: got .*; expected names such as"):
        gr.recipe("action", response_space="pixel", action_names=names)


def test_a_recipe_that_judges_no_actions_takes_no_names():
    with pytest.raises(gr.RecipeError, match=r"gelato: option action_names: .* this recipe judges no actions"):
        gr.recipe("gelato", action_names=["snap"])


def test_a_place_whose_centre_lies_outside_the_image_is_a_warning():
    for place in [
        {"bbox": [-900, 100, 300, 200]},
        {"bbox": [100, 100, 2000, 200]},
        {"bbox": [100, -300, 300, 299]},
        {"bbox": [100, 700, 300, 901]},
        {"polygon": [900, 100, 1200, 100, 1200, 200]},
        {"circle": [1001, 100, 50]},
        {"regions": [{"bbox": [0, 0, 10, 10]}, {"bbox": [990, 0, 1020, 10]}]},
    ]:
        (line,) = said(ACTION, [{**place, "image_size": SIZE}, BOX])
        assert line.startswith("1 target (first: row 0): the centre of "), place
        assert (
            "lies outside its image (0..1000 by 0..800, in pixel); check the space and the size of the image" in line
        ), place


@pytest.mark.parametrize(
    "box", [[-100, 100, 300, 200], [0, 100, 2000, 200], [100, 700, 300, 900], [1000, 0, 1000, 800]]
)
def test_a_box_that_reaches_over_the_edge_is_none(box):
    assert said(ACTION, [{"bbox": box, "image_size": SIZE}]) == []


def test_places_are_counted_and_the_first_is_shown_as_written():
    unit = gr.recipe("gelato")
    targets = [[0.1, 0.1, 0.3, 0.2], [-0.6, 0.1, 0.3, 0.2], [0.9, 0.1, 1.3, 0.2]]
    assert said(unit, targets) == [
        "2 targets (first: row 1): the centre of bbox [-0.6, 0.1, 0.3, 0.2] lies outside its image (0..1 by 0..1, in "
        "unit); check the space and the size of the image, or leave the target out"
    ]


def test_where_no_size_is_known_only_the_left_and_the_top_are_judged():
    assert said(ACTION, [{"bbox": [5000, 100, 6000, 200]}]) == []
    (line,) = said(ACTION, [{"bbox": [-900, 100, 300, 200]}])
    assert "lies outside its image (left of it or above it, in pixel)" in line


def test_sizes_from_outside_count():
    box = {"bbox": [900, 100, 1200, 200]}
    assert said(ACTION, [box], image_sizes=(1200, 800)) == []
    assert len(said(ACTION, [box], image_sizes=(1000, 800))) == 1


def test_a_declared_name_is_read_and_known():
    own = gr.recipe("action", response_space="pixel", action_names=["snap"])
    responses = ["Action: snap()", '{"action_type": "snap"}', "Action: spin()"]
    scores = own.score(responses, [{"action": "snap"}] * 3)
    assert scores.acc.tolist() == [1.0, 1.0, 0.0]
    assert [gr.Reason(code).name for code in scores.reason] == ["OK", "OK", "UNKNOWN_ACTION"]


def test_several_names_are_a_list():
    with pytest.raises(gr.RecipeError, match=r"got \('snap,zoom',\); write several as a list: \['snap', 'zoom'\]"):
        gr.recipe("action", response_space="pixel", action_names=["snap,zoom"])


def test_a_recipe_of_places_names_the_nearest_click():
    click = gr.recipe("click", response_space="pixel")
    with pytest.raises(gr.TargetError, match=r"got 'clik'; expected a click .*no other action; did you mean 'click'\?"):
        click.score("(1, 2)", {**BOX, "action": "clik"})


def test_targets_are_looked_at_once():
    targets = [{**BOX, "action": "clik"}]
    with pytest.warns(gr.TargetWarning, match="'clik'"):
        ready = ACTION.read_targets(targets)
    assert said(ACTION, ready) == []
    unsaid = ACTION.read_targets(targets, warn=False)
    assert [len(said(ACTION, unsaid)) for _ in range(2)] == [1, 0]


def test_prepared_targets_are_judged_once_however_often_they_are_scored(monkeypatch):
    ready = ACTION.read_targets([BOX, {**BOX, "image_size": SIZE}])
    first = ACTION.prepare(["(1, 2)"] * 2, ready).targets
    ACTION.score(["(1, 2)"] * 2, ready)
    for name in ("surely_usable", "violations", "suspect_targets"):
        monkeypatch.delattr(columns, name)
    assert ACTION.score(["(1, 2)"] * 2, ready).acc.tolist() == [0.0, 0.0]
    assert ACTION.prepare(["(1, 2)"] * 2, ready).targets is first


def test_places_that_surely_lie_in_their_images_are_known_from_the_check_of_the_targets():
    inside = {"bbox": [0, 0, 1000, 800], "image_size": SIZE}
    beyond = {"bbox": [990, 0, 1001, 800], "image_size": SIZE}
    for targets, known in (([inside], True), ([BOX], True), ([inside, beyond], False), ([inside, {"bbox": 3}], False)):
        ready = ACTION.prepare(["(1, 2)"] * len(targets), targets, bad_target="abstain").targets
        assert ready.in_image is known


def test_prepared_targets_are_looked_at_with_the_sizes_that_scoring_knows():
    ready = gr.Targets.from_list([{"bbox": [300, 2, 1900, 40], "action": "clik"}])
    assert len(said(ACTION, ready)) == 1
    (line,) = said(ACTION, ready, image_sizes=[(1000, 1000)])
    assert "lies outside its image (0..1000 by 0..1000, in pixel)" in line
    assert said(ACTION, ready, image_sizes=[(1000, 1000)]) == []


def test_the_warning_names_the_callers_line():
    with pytest.warns(gr.TargetWarning) as scored:
        ACTION.score("(1, 2)", {**BOX, "action": "clik"})
    with pytest.warns(gr.TargetWarning) as read:
        ACTION.read_targets([{**BOX, "action": "clik"}])
    assert [each.filename for each in (*scored, *read)] == [__file__] * 2


def test_rows_that_cannot_be_used_are_left_to_their_errors():
    targets = [{"bbox": [5000, 0, 6000, 10], "image_size": SIZE, "action": "clik"}, {"bbox": 3}, BOX]
    assert said(ACTION, targets, bad_target="abstain") == []


def test_who_compares_nothing_with_targets_looks_at_none():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    assert suspect_targets(recipe.read_targets([{**BOX, "action": "clik"}]), recipe.requirements) == []


def test_suspects_of_batches_add_up_and_many_names_are_cut():
    batches = [
        suspect_targets(ACTION.read_targets([{"action": f"qq{row}"}] * 2, warn=False), ACTION.requirements)
        for row in range(8)
    ]
    found = merged([*batches[0], *(each for batch in batches for each in batch)])
    assert (found[0].count, found[0].row, found[0].first, found[0].action) == (4, 0, "row 0", "qq0")
    assert len(found) == 8
    assert described(found)[5:] == ["3 further names of actions are unknown, also to recipe 'action', in 6 targets"]


@pytest.mark.parametrize("count", [1, 2, 31, 32, 100])
@pytest.mark.parametrize("odd", [[40, 50, 40, 90], [40, 50, 80, 50]])  # no width, no height
def test_a_flat_box_is_seen_among_few_and_among_many(count, odd):
    recipe, boxes = gr.recipe("click", response_space="pixel"), [{"bbox": [10, 20, 30, 40]}] * (count - 1)
    assert said(recipe, boxes) == []
    (line,) = said(recipe, [*boxes, {"bbox": odd}])
    assert line.startswith(f"1 target (first: row {count - 1}): ")


@pytest.mark.parametrize("count", [1, 2, 31, 32, 100])
@pytest.mark.parametrize("odd", [[-90, 20, 30, 40], [10, -90, 30, 40]])
def test_a_box_left_of_its_image_or_above_it_is_seen_among_few_and_among_many(count, odd):
    recipe = gr.recipe("click", response_space="thousandths", target_space="thousandths")
    (line,) = said(recipe, [*[{"bbox": [10, 20, 30, 40]}] * (count - 1), {"bbox": odd}])
    assert line.startswith(f"1 target (first: row {count - 1}): the centre of bbox ")


@pytest.mark.parametrize("count", [1, 2, 31, 32, 100])
@pytest.mark.parametrize("odd", [[1100, 20, 1900, 40], [10, 1100, 30, 1900], [0.1, 0.2, 0.3, 0.4]])
def test_a_box_of_another_space_is_refused_among_few_and_among_many(count, odd):
    recipe = gr.recipe("click", response_space="thousandths", target_space="thousandths")
    with pytest.raises(gr.TargetError, match=f"row {count - 1}, field 'bbox': got "):
        recipe.score(["(1, 2)"] * count, [*[{"bbox": [10, 20, 30, 40]}] * (count - 1), {"bbox": odd}])


def test_a_box_beyond_its_own_image_is_refused_though_another_image_is_larger():
    small = {"bbox": [200, 200, 300, 300], "image_size": [100, 100]}
    large = {"bbox": [1, 1, 9, 9], "image_size": [1000, 1000]}
    for rows in ([small, large], [large, small]):
        with pytest.raises(gr.TargetError, match=f"row {rows.index(small)}, field 'bbox': got "):
            gr.recipe("click", response_space="pixel").score(["(1, 2)"] * 2, rows)


def test_rows_in_the_own_form_of_a_recipe_are_known_whether_read_at_once_or_one_by_one():
    read, box = gr.recipe("gelato").read_targets, [0.1, 0.2, 0.3, 0.4]
    assert [*read([box, box]).own_form] == [0, 1]
    assert [*read([{"bbox": box}, box]).own_form] == [1]
    assert [*read([{"bbox": box}] * 2).own_form] == []
