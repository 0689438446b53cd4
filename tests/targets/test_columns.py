"""Targets as columns: ragged places, mixed spaces, sizes, and a table that is read once and scored often."""

import json
from dataclasses import fields

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.targets.target import Action, RegionKind, Target
from grounding_rewards.targets.typed import Boxes

PIXEL = gr.recipe("click", response_space="pixel")
EVERY_PLACE = [
    {"bbox": [10, 20, 30, 40], "point": [12, 22], "image_size": [100, 200]},
    {"refusal": True, "id": "r"},
    {"regions": [{"polygon": [0, 0, 6, 0, 0, 3]}, {"circle": [50, 60, 5]}], "model_image_size": [50, 100]},
    {"action": "wait"},
    {"point": [7, 8], "space": "unit"},
]


def test_columns_hold_every_place_in_sample_order():
    targets = gr.Targets.from_list(EVERY_PLACE)
    regions = targets.regions
    assert len(targets) == 5
    assert regions.row.tolist() == [0, 2, 2, 4]
    assert [RegionKind(kind).name for kind in regions.kind] == ["BBOX", "POLYGON", "CIRCLE", "POINT"]
    assert regions.box.tolist() == [[10, 20, 30, 40], [0, 0, 6, 3], [45, 55, 55, 65], [7, 8, 7, 8]]
    assert regions.centre.tolist() == [[20, 30], [3, 1.5], [50, 60], [7, 8]]
    assert regions.point[[0, 2, 3]].tolist() == [[12, 22], [50, 60], [7, 8]]
    assert np.isnan(regions.point[1]).all()
    assert regions.radii[2].tolist() == [5, 5]
    assert np.isnan(regions.radii[[0, 1, 3]]).all()
    assert regions.vertices.tolist() == [[0, 0], [6, 0], [0, 3]]
    assert regions.offsets.tolist() == [0, 0, 3, 3, 3]


def test_columns_hold_what_stands_beside_the_places():
    targets = gr.Targets.from_list(EVERY_PLACE)
    assert targets.refusal.tolist() == [False, True, False, False, False]
    assert targets.valid.tolist() == [True] * 5
    assert targets.errors == {}
    assert targets.image_sizes[0].tolist() == [100, 200]
    assert np.isnan(targets.image_sizes[1:]).all()
    assert targets.model_image_sizes[2].tolist() == [50, 100]
    assert [targets.sample(row) for row in range(5)] == [0, "r", 2, 3, 4]
    assert targets.rows[3].action == Action("wait")
    assert [row.space for row in targets.rows] == [None] * 4 + [CoordSpace.UNIT]


def test_targets_that_are_lone_boxes_have_all_columns():
    lone = gr.Targets.from_list([{"bbox": [1, 2, 3, 4]}] * 3)
    assert type(lone.rows) is Boxes
    assert vars(lone).keys() == {each.name for each in fields(gr.Targets)}


def test_an_empty_list_is_a_table_of_no_rows():
    targets = gr.Targets.from_list([])
    assert (len(targets), targets.regions.box.shape, targets.image_sizes.shape) == (0, (0, 4), (0, 2))


@pytest.mark.parametrize("items", [
    [{"bbox": [0, 0, 9, 9]}, {"bbox": [1, 1, 2, 2]}],
    ([0, 0, 9, 9], [1, 1, 2, 2]),
    np.array([[0, 0, 9, 9], [1, 1, 2, 2]]),
    np.array([json.dumps({"bbox": [0, 0, 9, 9]}), json.dumps({"bbox": [1, 1, 2, 2]})], dtype=object),
    iter([[0, 0, 9, 9], {"regions": [[1, 1, 2, 2]]}]),
])  # fmt: skip
def test_any_iterable_of_targets_reads(items):
    assert gr.Targets.from_list(items).regions.box.tolist() == [[0, 0, 9, 9], [1, 1, 2, 2]]


def test_rows_of_different_spaces_come_into_one():
    targets = [
        {"bbox": [100, 100, 200, 200]},
        {"bbox": [0.1, 0.5, 0.2, 0.6], "space": "unit"},
        {"bbox": [100, 500, 200, 600], "space": "thousandths"},
        {"bbox": [50, 50, 100, 60], "space": "model_pixel"},
        {"polygon": [0.5, 0.5, 1, 0.5, 1, 1], "space": "unit"},
        {"circle": [250, 100, 10], "space": "model_pixel"},
        {"refusal": True},
    ]
    sizes = {"image_sizes": (1000, 800), "model_image_sizes": (500, 200)}
    inside = ["(100, 200)", "(200, 480)", "(150, 440)", "(200, 240)", "(900, 450)", "(520, 400)", "none"]
    outside = ["(99, 200)", "(201, 480)", "(150, 399)", "(201, 240)", "(600, 700)", "(521, 400)", "(1, 1)"]
    assert PIXEL.score(inside, targets, **sizes).acc.tolist() == [1] * 7
    assert PIXEL.score(outside, targets, **sizes).acc.tolist() == [0] * 7


def test_each_row_converts_alone():
    mixed = [{"bbox": [0.1, 0.1, 0.3, 0.3], "space": "unit"}, {"bbox": [10, 10, 30, 30]}] * 20
    sizes = np.array([[100, 200], [50, 60]] * 20)
    responses = ["(10, 20)", "(10, 20)"] * 20
    batch = PIXEL.score(responses, mixed, image_sizes=sizes)
    alone = [PIXEL.score(*pair, image_sizes=size) for *pair, size in zip(responses, mixed, sizes, strict=True)]
    assert batch.acc.tolist() == [scores.acc[0] for scores in alone] == [1, 1] * 20


def test_space_in_the_target_beats_the_option_and_the_option_beats_the_recipes_own():
    gelato = gr.recipe("gelato")
    in_thousandths = gr.recipe("gelato", target_space="thousandths")
    assert gelato.score("(200, 150)", [0.1, 0.1, 0.3, 0.2]).acc.tolist() == [1]
    assert in_thousandths.score("(200, 150)", [100, 100, 300, 200]).acc.tolist() == [1]
    assert in_thousandths.score("(200, 150)", {"bbox": [0.1, 0.1, 0.3, 0.2], "space": "unit"}).acc.tolist() == [1]


def test_the_best_region_counts():
    target = {"regions": [{"bbox": [0, 0, 10, 10]}, {"bbox": [100, 100, 110, 110]}, {"circle": [50, 50, 5]}]}
    responses = ["(5, 5)", "(105, 105)", "(53, 54)", "(54, 54)", "(60, 60)", "(10, 100)"]
    assert PIXEL.score(responses, [target] * 6).acc.tolist() == [1, 1, 1, 0, 0, 0]


def test_the_best_region_counts_for_a_shaped_score_too():
    # (150, 150) is a corner of the first box, worth 0.5, and the centre of the second, worth 1.
    regions = {"regions": [{"bbox": [0.05, 0.05, 0.15, 0.15]}, {"bbox": [0.1, 0.1, 0.2, 0.2]}]}
    gelato = gr.recipe("gelato")
    assert gelato.score("(150, 150)", regions).total.tolist() == pytest.approx([1.0])
    assert gelato.score("(50, 50)", regions).total.tolist() == pytest.approx([0.5])
    assert gelato.score("(300, 300)", regions).total.tolist() == [0]


def test_a_sample_without_regions_between_others_shifts_nothing():
    targets = [
        {"bbox": [0, 0, 5, 5]},
        {"refusal": True},
        {"regions": [[0, 0, 5, 5], [10, 10, 15, 15]]},
        {"refusal": True},
    ]
    responses = ["(1, 1)", "(1, 1)", "(12, 12)", "refusal"]
    assert PIXEL.score(responses, targets).acc.tolist() == [1, 0, 1, 1]


def test_a_prepared_table_scores_the_same_twice_and_as_its_list():
    targets = [
        {"bbox": [100, 100, 200, 200], "image_size": [1000, 500]},
        {"polygon": [0, 0, 9, 0, 0, 9]},
        {"refusal": True},
    ]
    recipe = gr.recipe("click", response_space="thousandths")
    table = recipe.read_targets(targets)
    responses = ["(150, 300)", "(1, 1)", "none"]
    sizes = [None, (1000, 1000), None]
    first, second = (recipe.score(responses, table, image_sizes=sizes) for _ in range(2))
    fresh = recipe.score(responses, targets, image_sizes=sizes)
    assert first.total.tolist() == second.total.tolist() == fresh.total.tolist() == [1, 1, 1]
    assert table.regions.box[0].tolist() == [100, 100, 200, 200], "scoring converts a copy"


def test_one_table_serves_recipes_that_work_in_different_spaces():
    table = gr.Targets.from_list([{"bbox": [100, 100, 300, 200], "space": "pixel", "image_size": [1000, 1000]}])
    assert gr.recipe("gelato").score("(200, 150)", table).total.tolist() == pytest.approx([1])
    assert PIXEL.score("(200, 150)", table).acc.tolist() == [1]
    assert gr.recipe("gta1").score("(100, 75)", table, model_image_sizes=(500, 500)).acc.tolist() == [1]


def test_a_table_without_a_space_takes_that_of_the_recipe_that_scores_it():
    table = gr.Targets.from_list([[0.1, 0.1, 0.3, 0.2]])
    assert gr.recipe("gelato").score("(200, 150)", table).total.tolist() == pytest.approx([1])
    declared = gr.Targets.from_list([[100, 100, 300, 200]], space="thousandths")
    assert gr.recipe("gelato").score("(200, 150)", declared).total.tolist() == pytest.approx([1])
    with pytest.raises(gr.SpaceError, match="unknown space 'pixels'"):
        gr.Targets.from_list([[0, 0, 1, 1]], space="pixels")


def test_sizes_from_outside_go_before_those_in_targets():
    recipe = gr.recipe("click", response_space="unit")
    target = {"bbox": [10, 10, 20, 20], "image_size": [1000, 1000]}
    assert recipe.score("(0.15, 0.15)", target).acc.tolist() == [0]
    assert recipe.score("(0.15, 0.15)", target, image_sizes=(100, 100)).acc.tolist() == [1]
    assert recipe.score("(0.015, 0.015)", [target][0], image_sizes=[None]).acc.tolist() == [1]


def test_a_target_that_is_scored_again_is_judged_once_for_each_size_from_outside():
    recipe = gr.recipe("click", response_space="unit")
    table = recipe.read_targets([{"bbox": [10, 10, 20, 20]}])
    size = np.array([[100.0, 100.0]])
    ready = recipe.prepare("(0.15, 0.15)", table, image_sizes=size).targets
    assert recipe.prepare("(0.9, 0.9)", table, image_sizes=(100, 100)).targets is ready
    size[:] = 1000.0
    assert ready.image_sizes.tolist() == [[100, 100]], "what is kept is not the caller's"
    for side in range(100, 300):
        assert recipe.score("(0.15, 0.15)", table, image_sizes=(side, side)).acc.tolist() == [side <= 133]
    assert recipe.score("(0.15, 0.15)", table, image_sizes=(100, 100), bad_target="abstain").acc.tolist() == [1]
    gta1 = gr.recipe("gta1", target_space="pixel")
    for seen, acc in ((50, 1), (500, 0), (50, 1)):
        assert gta1.score("(7, 7)", table, image_sizes=(100, 100), model_image_sizes=(seen, seen)).acc.tolist() == [acc]
    assert len(table._ready) <= 64


def test_a_size_is_demanded_only_where_a_conversion_reads_it():
    assert PIXEL.score("(5, 5)", {"bbox": [0, 0, 10, 10]}).acc.tolist() == [1]
    thousandths = gr.recipe("click", response_space="thousandths")
    assert thousandths.score("none", {"refusal": True}).acc.tolist() == [1], "a refusal has no place to convert"
    assert thousandths.score("(5, 5)", {"refusal": True}).acc.tolist() == [0]


def test_abstaining_keeps_errors_and_rows():
    targets = gr.Targets.from_list([[0, 0, 1, 1], [1, 2, 3], None, {"refusal": True}], bad_target="abstain")
    assert targets.valid.tolist() == [True, False, False, True]
    assert [row is None for row in targets.rows] == [False, True, True, False]
    assert [(row, error.sample) for row, error in targets.errors.items()] == [(1, 1), (2, 2)]
    assert [targets.sample(row) for row in range(4)] == [0, 1, 2, 3]


def test_a_batch_of_nothing_but_unreadable_targets_abstains_in_every_row():
    scores = PIXEL.score(["(1, 1)"] * 3, [None, [1], "x"], bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0] * 3, [0] * 3)
    assert len(scores.errors) == 3


def test_unknown_sizes_of_abstaining_rows_touch_no_other_row():
    targets = [
        {"polygon": [0, 0, 1, 0, 1, 1], "space": "unit"}, {"polygon": [0, 0, 100, 0, 100, 100]},
        {"bbox": [0, 0, 1, 1], "space": "unit", "image_size": [10, 10]}, {"circle": [5, 5, 1], "space": "model_pixel"},
    ]  # fmt: skip
    scores = PIXEL.score(["(5, 2)"] * 4, targets, bad_target="abstain")
    assert scores.valid.tolist() == [0, 1, 1, 0]
    assert scores.acc.tolist() == [0, 1, 1, 0]


def test_a_size_of_zero_abstains_without_a_warning():
    gelato = gr.recipe("gelato", response_space="pixel")
    scores = gelato.score(["(5, 5)"] * 2, [[0, 0, 1, 1]] * 2, image_sizes=[(0, 0), (10, 10)], bad_target="abstain")
    assert (scores.valid.tolist(), scores.acc.tolist()) == ([0, 1], [0, 1])


def test_rows_unreadable_before_raise_when_scoring_may_not_abstain():
    targets = gr.Targets.from_list([[0, 0, 1, 1], {"bbox": [1], "id": "a7"}], bad_target="abstain")
    with pytest.raises(gr.TargetError, match="sample 'a7', field 'bbox'"):
        gr.recipe("gelato").score(["(1, 1)"] * 2, targets)


@pytest.mark.parametrize("one", ["[0, 0, 1, 1]", {"bbox": [0, 0, 1, 1]}])
def test_one_target_where_a_list_belongs_is_a_type_error(one):
    with pytest.raises(TypeError, match="expected a list"):
        gr.recipe("gelato").score(["(1, 1)"], one)


def test_none_is_a_batch_of_one_empty_response():
    scores = gr.recipe("gelato").score(None, [0, 0, 1, 1])
    assert [gr.Reason(code).name for code in scores.reason] == ["EMPTY"]


def test_targets_without_labels_lose_actions_and_refusals_too():
    table = gr.Targets.from_list([{"refusal": True, "id": "a"}, {"action": "click"}], label_free=True)
    assert list(table.rows) == [Target(id="a"), Target()]


def test_what_is_beside_a_lone_box_is_its_alternatives_raw():
    table = gr.Targets.from_list([{"bbox": [0, 0, 1, 1], "extra": {"k": 1}}, {"bbox": [0, 0, 1, 1]}])
    assert table.alternatives.arguments.raw.tolist() == [{"k": 1}, None]
    assert gr.Targets.from_list([{"bbox": [0, 0, 1, 1]}]).alternatives.arguments.raw is None
