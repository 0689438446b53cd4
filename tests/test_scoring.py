"""Arguments and result of `Recipe.score`."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import affine, weighted
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.verifiers import InsideDistance

PIXEL = gr.recipe("click", response_space="pixel")
UNIT = gr.recipe("click", response_space="unit")
BOX = {"bbox": [10, 10, 20, 20]}


def test_every_column_has_its_stated_type():
    scores = PIXEL.score(["(15, 15)", None, "refusal"], [BOX] * 3)
    for column in (scores.total, scores.acc, scores.valid, *scores.parts.values()):
        assert (type(column), column.dtype, column.shape) == (np.ndarray, np.float64, (3,))
    assert (scores.reason.dtype, scores.reason.shape) == (np.int8, (3,))
    assert (len(scores), scores.errors, len(scores.predictions)) == (3, {}, 3)


def test_literal_columns_of_a_hit_a_miss_a_refusal_and_silence():
    scores = PIXEL.score(["(15, 15)", "(5, 5)", "refusal", None], [BOX] * 4)
    assert scores.total.tolist() == [1, 0.1, 0.1, 0]
    assert scores.acc.tolist() == [1, 0, 0, 0]
    assert scores.valid.tolist() == [1, 1, 1, 1]
    assert {name: column.tolist() for name, column in scores.parts.items()} == {
        "hit": [1, 0, 0, 0], "refusal": [0, 0, 0, 0], "outcome": [1, 0, 0, 0], "format": [1, 1, 1, 0],
    }  # fmt: skip
    assert [gr.Reason(code).name for code in scores.reason] == ["OK", "OK", "REFUSED", "EMPTY"]


@pytest.mark.parametrize("rows", [1, 60])
def test_dtypes_hold_when_rows_abstain(rows):
    scores = PIXEL.score(["(15, 15)", "x"] * rows, [BOX, None] * rows, bad_target="abstain")
    assert [column.dtype for column in (scores.total, scores.acc, scores.valid)] == [np.float64] * 3
    assert scores.reason.dtype == np.int8
    assert scores.reason[:2].tolist() == [gr.Reason.OK, gr.Reason.BAD_TARGET]


@pytest.mark.parametrize("name", ["gelato", "gelato-pixel", "gta1"])
def test_keys_are_the_same_for_every_sample(name):
    recipe = gr.recipe(name)
    for responses in ([], [None], ["(1, 1)"], ["x"] * VECTOR_ROWS):
        scores = recipe.score(responses, [None] * len(responses), bad_target="abstain")
        assert tuple(scores.parts) == recipe.parts
        assert len(scores) == len(scores.reason) == len(responses)


def test_a_string_is_a_batch_of_one():
    one, batch = PIXEL.score("(15, 15)", BOX), PIXEL.score(["(15, 15)"], [BOX])
    assert one.total.tolist() == batch.total.tolist() == [1]
    assert PIXEL.score("(15, 15)", gr.Targets.from_list([BOX])).total.tolist() == [1]


@pytest.mark.parametrize(
    ("responses", "targets"), [(["(1, 1)"], [BOX] * 2), (["(1, 1)"] * 2, [BOX]), ([], [BOX]), ("a", [])]
)
def test_lengths_that_differ_are_an_error(responses, targets):
    targets = targets if isinstance(responses, list) else gr.Targets.from_list(targets)
    with pytest.raises(gr.RecipeError, match=r"click: got \d responses and \d targets; expected one for each"):
        PIXEL.score(responses, targets)


@pytest.mark.parametrize("other", [5, b"(1, 1)", ["(1, 1)"], {"role": "assistant"}, float("nan")])
def test_a_response_that_is_no_string_is_a_type_error_that_names_the_row(other):
    with pytest.raises(TypeError, match=r"response of row 1: got .*; expected a string or None"):
        PIXEL.score(["(1, 1)", other], [BOX] * 2)


@pytest.mark.parametrize(
    "sizes",
    [
        (100, 200), [100, 200], np.array([100, 200]), [(100, 200)] * 3, np.array([[100, 200]] * 3), ((100, 200),) * 3,
        np.array([[100, 200]] * 3, dtype=np.float32), [np.array([100, 200])] * 3, [None, (100, 200), (100.0, 200)],
    ],
    ids=range(9),
)  # fmt: skip
def test_image_sizes_come_in_many_forms(sizes):
    targets = [{"bbox": [10, 20, 10, 20], "image_size": [100, 200]}] * 3
    assert UNIT.score(["(0.1, 0.1)"] * 3, targets, image_sizes=sizes).acc.tolist() == [1, 1, 1]


def test_image_sizes_come_from_a_parquet_column():
    column = np.empty(3, dtype=object)
    column[:] = [np.array([100, 200]), None, np.array([50, 50])]
    targets = [{"bbox": [10, 20, 10, 20]}, {"refusal": True}, {"bbox": [5, 5, 5, 5]}]
    assert UNIT.score(["(0.1, 0.1)", "none", "(0.1, 0.1)"], targets, image_sizes=column).acc.tolist() == [1, 1, 1]


def test_two_rows_with_one_size_for_both():
    # A (2,) size and two rows: width and height for both, not one number a row.
    assert UNIT.score(["(0.1, 0.1)"] * 2, [{"bbox": [10, 20, 10, 20]}] * 2, image_sizes=(100, 200)).acc.tolist() == [
        1,
        1,
    ]


@pytest.mark.parametrize(
    "sizes",
    [(100,), [(100, 200)] * 2, [(100, 200)] * 4, "100x200", [(1, 2, 3)] * 3, ["a"] * 3, 100, [[100], [1, 2], 3], {}],
)
def test_other_image_sizes_are_an_error_that_names_them(sizes):
    for name in ("image_sizes", "model_image_sizes"):
        with pytest.raises(
            gr.RecipeError, match=rf"^{name}: got .* expected \[width, height\], or one such pair for each of 3"
        ):
            UNIT.score(["(0.1, 0.1)"] * 3, [{"refusal": True}] * 3, **{name: sizes})


@pytest.mark.parametrize("sizes", [None, [], np.zeros((0, 2)), (100, 200), np.array([])])
def test_a_batch_of_none_is_scored(sizes):
    scores = UNIT.score([], [], image_sizes=sizes, groups=[])
    assert (scores.total.tolist(), scores.acc.tolist(), len(scores.parts)) == ([], [], 4)


def test_points_outside_the_image_are_marked():
    responses = ["(0, 0)", "(1, 1)", "(1.001, 0.5)", "(0.5, -0.001)", "(0.5, 0.5)"]
    scores = UNIT.score(responses, [{"bbox": [0, 0, 100, 200]}] * 5, image_sizes=(100, 200))
    names = [gr.Reason(code).name for code in scores.reason]
    assert names == ["OK", "OK", "OUT_OF_IMAGE", "OUT_OF_IMAGE", "OK"]
    assert scores.acc.tolist() == [1, 1, 0, 0, 1]
    assert scores.parts["format"].tolist() == [1] * 5, "an answer outside the image is an answer"


def test_out_of_image_needs_an_image():
    box = {"bbox": [0, 0, 10, 10]}
    assert gr.Reason(PIXEL.score("(5000, 5000)", box).reason[0]).name == "OK"
    assert gr.Reason(PIXEL.score("(5000, 5000)", box, image_sizes=(100, 100)).reason[0]).name == "OUT_OF_IMAGE"
    assert gr.Reason(gr.recipe("gelato").score("(1001, 5)", [0.1, 0.1, 0.3, 0.2]).reason[0]).name == "OUT_OF_IMAGE"


def test_predictions_come_in_the_recipes_space():
    scores = UNIT.score(["(0.5, 0.25)"], [{"bbox": [0, 0, 9, 9]}], image_sizes=(100, 200))
    assert (scores.predictions.xy.tolist(), scores.predictions.space) == ([[50, 50]], gr.CoordSpace.PIXEL)
    boxed = UNIT.score('{"bbox_2d": [0.1, 0.1, 0.3, 0.2]}', {"bbox": [0, 0, 9, 9]}, image_sizes=(100, 200))
    assert boxed.predictions.box.tolist() == [pytest.approx([10, 20, 30, 40])]


def test_all_answers_come_in_the_recipes_space():
    every = gr.recipe("click", response_space="unit", answers="all")
    scores = every.score(
        ["(0.5, 0.5) (0.1, 0.1)", "x", "(1, 1)"],
        [{"bbox": [0, 0, 10, 20]}] * 3,
        image_sizes=[(10, 20), (50, 50), (100, 200)],
    )
    assert scores.predictions.points.tolist() == [[5, 10], [1, 2], [100, 200]]
    assert scores.predictions.offsets.tolist() == [0, 2, 2, 3]


def needs_group(rollouts):
    """The mean of each row's group: a score that one row alone does not have."""
    sums = np.bincount(rollouts.groups, weights=rollouts.predictions.parsed)
    return (sums / np.bincount(rollouts.groups))[rollouts.groups]


def test_groups_are_demanded_where_a_verifier_needs_them_and_are_compared_by_value():
    peers = replace(PIXEL, reward=gr.verifier(needs_group, low=0, high=1, needs=["groups"]))
    assert peers.needs == {"groups"}
    with pytest.raises(gr.RecipeError, match="give groups="):
        peers.score(["(1, 1)"], [BOX])
    responses = ["(1, 1)", "x", "(1, 1)", "(1, 1)"]
    assert peers.score(responses, [BOX] * 4, groups=["a", "a", "b", "b"]).total.tolist() == [0.5, 0.5, 1, 1]
    assert peers.score(responses, [BOX] * 4, groups=np.array([7, 3, 7, 3])).total.tolist() == [1, 0.5, 1, 0.5]
    with pytest.raises(gr.RecipeError, match="groups: got 1; expected one for each of 4 rows"):
        peers.score(responses, [BOX] * 4, groups=["a"])


def test_verifiers_see_texts_and_extras():
    seen = []

    def look(rollouts):
        seen.append((list(rollouts.text), dict(rollouts.extras), rollouts.groups.tolist(), rollouts.token_lengths))
        return np.zeros(len(rollouts))

    looking = replace(PIXEL, reward=gr.verifier(look, low=0, high=1))
    looking.score([None, "<think>a</think>(1, 1)"], [BOX] * 2, extras={"length": [1, 2]})
    assert seen == [(["", "<think>a</think>(1, 1)"], {"length": [1, 2]}, [0, 1], None)]


def test_scoring_leaves_its_inputs_alone():
    responses, targets, sizes = ["(0.1, 0.1)"], [{"bbox": [1, 1, 9, 9], "circle": None}], np.array([[100.0, 200.0]])
    UNIT.score(responses, targets, image_sizes=sizes)
    assert (responses, targets) == (["(0.1, 0.1)"], [{"bbox": [1, 1, 9, 9], "circle": None}])
    assert sizes.tolist() == [[100, 200]]


def test_threads_score_alike():
    from concurrent.futures import ThreadPoolExecutor

    responses = [f"({number}, {number})" for number in range(VECTOR_ROWS)]
    expected = PIXEL.score(responses, [BOX] * len(responses)).total.tolist()
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda _: PIXEL.score(responses, [BOX] * len(responses)).total.tolist(), range(16))
        assert all(result == expected for result in results)


def test_rows_that_abstain_get_the_total_nearest_to_nothing():
    shifted = replace(gr.recipe("gelato"), reward=affine("distance", InsideDistance(), shift=0.5))
    scores = shifted.score(["(1, 1)"] * 2, [[0, 0, 1, 1], [1]], bad_target="abstain")
    assert (scores.total[1], scores.acc[1], scores.parts["distance"][1]) == (0.5, 0.0, 0.0)
    below = replace(shifted, reward=affine("distance", InsideDistance(), shift=-3.0))
    assert below.score(["(1, 1)"], [[1]], bad_target="abstain").total.tolist() == [-2.0]


def test_a_verifier_that_is_reward_and_success_runs_once():
    calls = []
    both = gr.verifier(lambda rollouts: calls.append(len(rollouts)) or np.ones(len(rollouts)), low=0, high=1)
    scores = replace(gr.recipe("gelato"), reward=weighted(mine=(0.5, both)), success=both).score(
        ["?"] * 2, [[0, 0, 1, 1]] * 2
    )
    assert (calls, scores.total.tolist(), scores.acc.tolist()) == ([2], [0.5, 0.5], [1.0, 1.0])


def test_what_is_outside_the_image_does_not_depend_on_other_rows():
    unsized, sized = {"bbox": [0, 0, 9, 9]}, {"bbox": [0, 0, 9, 9], "image_size": [20, 20]}
    both = PIXEL.score(["(-5, 3)", "(-5, 3)"], [unsized, sized])
    assert [gr.Reason(code).name for code in both.reason] == ["OK", "OUT_OF_IMAGE"]
    assert PIXEL.score("(-5, 3)", unsized).reason.tolist() == [gr.Reason.OK]


def test_what_is_left_of_a_long_text_is_not_taken_for_the_whole():
    gelato, target = gr.recipe("gelato"), [0.1, 0.1, 0.3, 0.2]
    text = "I will not answer. " * 3000 + " " * 70_000 + "(200, 150)"
    for rows in (1, 60):
        assert gelato.score([text] * rows, [target] * rows).acc.tolist() == [0.0] * rows
    assert PIXEL.score("x" * 100_000 + "(5, 3)", {"bbox": [0, 0, 9, 9]}).acc.tolist() == [1.0], "the end is read"


def test_axes_of_responses_turn_places_and_ends():
    seen = gr.recipe("action", response_space="pixel", axes="yx").prepare(
        ["(12, 3)", "left_click_drag((1, 2), (3, 4))"], [{"bbox": [0, 0, 5, 20]}] * 2
    )
    assert seen.predictions.xy.tolist() == [[3, 12], [2, 1]]
    assert seen.predictions.arguments.to.tolist()[1] == [4, 3]
    assert PIXEL.prepare(["(12, 3)"], [{"bbox": [0, 0, 5, 20]}]).predictions.xy.tolist() == [[12, 3]]


def test_a_wrong_number_of_targets_is_said_before_a_lack_of_groups():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    with pytest.raises(gr.RecipeError, match="got 2 responses and 1 targets"):
        recipe.score(["(1, 1)"] * 2, [{"bbox": [0, 0, 1, 1]}])
    with pytest.raises(gr.RecipeError, match="give groups=, the sample of each row"):
        recipe.score(["(1, 1)"], [{"bbox": [0, 0, 1, 1]}])


def test_responses_may_come_from_an_iterator():
    assert PIXEL.score(iter(["(5, 3)", None]), [{"bbox": [0, 0, 9, 9]}] * 2).acc.tolist() == [1.0, 0.0]


def test_the_target_of_a_single_call_is_read_once_by_what_it_holds():
    recipe, target = gr.recipe("gelato"), {"bbox": [0.1, 0.1, 0.3, 0.2], "id": "a"}
    first = recipe.read_targets([target])
    assert recipe.read_targets([json.loads(json.dumps(target))]) is first
    assert recipe.read_targets([target], bad_target="abstain") is not first
    target["bbox"][2] = 0.4
    assert recipe.read_targets([target]).regions.box.tolist() == [[0.1, 0.1, 0.4, 0.2]]
    recipe.read_targets([[0, 0, 1, 1]])
    with pytest.raises(gr.TargetError):
        recipe.read_targets([[0, 0, True, 1]])
    assert recipe.read_targets([{**target, "extra": {}}]) is not recipe.read_targets([{**target, "extra": {}}])
    for row in range(1500):
        recipe.score("(200, 150)", {"bbox": [0.1, 0.1, 0.3, 0.2], "id": str(row)})
    assert len(recipe._read) <= 1024
    assert len(pickle.dumps(recipe)) < 10_000


def test_a_single_target_that_looks_wrong_is_said_at_each_call():
    beside = {"bbox": [900, 90, 1300, 95], "image_size": [1000, 100]}
    for _ in range(2):
        with pytest.warns(gr.TargetWarning, match="outside"):
            PIXEL.score("(15, 15)", beside)
