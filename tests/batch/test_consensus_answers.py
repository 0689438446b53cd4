"""One answer a sample, from the votes of its rollouts, judged by the sample's target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.batch.columns import Columns
from grounding_rewards.batch.samples import Answers
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import SingleAnswers
from grounding_rewards.errors import RecipeError, TableError
from grounding_rewards.groups.consensus import consensus_region
from grounding_rewards.rollouts import Reason, Scores
from grounding_rewards.tables import open_table
from grounding_rewards.tables.image_files import ImageFiles
from tests.cli.command import write_rows

BOX = {"bbox": [90, 70, 130, 110]}


def merged(
    path: Path, *rows: dict[str, Any], recipe: gr.Recipe | None = None, **options: Any
) -> tuple[Scores, SingleAnswers]:
    """Write rows, and return the scores of one answer a sample, and the counts of single rollouts."""
    table = open_table(write_rows(path, *rows))
    recipe = recipe or gr.recipe("click", response_space="pixel")
    answers = Answers(TableScorer(recipe, Columns(), **options).of(table), table, [], consensus=True)
    ((_, scored),) = answers.batches()
    assert answers.singles is not None
    return scored.scores, answers.singles


def rows(*texts: str | None, sample: str = "a", target: Any = BOX, **fields: Any) -> list[dict[str, Any]]:
    return [{"sample_id": sample, "response": text, "target": target, **fields} for text in texts]


def test_two_that_agree_outvote_two_that_do_not(tmp_path: Path) -> None:
    scores, singles = merged(tmp_path / "in.jsonl", *rows("(400, 300)", "(100, 80)", "(110, 90)", "(700, 10)"))
    assert scores.predictions.xy.tolist() == [[105.0, 85.0]]
    assert (scores.acc.tolist(), singles.accuracy, singles.pass_at_k) == ([1.0], 0.5, 1.0)


def test_rollouts_of_a_sample_need_not_stand_together(tmp_path: Path) -> None:
    first = rows("(100, 80)", "(100, 82)", "(300, 300)")
    second = rows("(300, 300)", "(302, 300)", "(100, 80)", sample="b")
    mixed = [row for pair in zip(second, first, strict=True) for row in pair]
    scores, singles = merged(tmp_path / "in.jsonl", *mixed)
    assert scores.predictions.xy.tolist() == [[301.0, 300.0], [100.0, 81.0]]  # b comes first
    assert (scores.acc.tolist(), singles.rollouts, singles.accuracy) == ([0.0, 1.0], 6, 0.5)


@pytest.mark.parametrize("text", ["(3, 2)", "[100, 80, 110, 90]", "refusal", "no idea", None])
def test_one_answer_is_the_consensus_as_it_is(tmp_path: Path, text: str | None) -> None:
    recipe = gr.recipe("click", response_space="pixel")
    alone = recipe.score([text], [BOX], image_sizes=[(640, 480)])
    scores, _ = merged(tmp_path / "in.jsonl", *rows(text, image_size=[640, 480]))
    for name in ("xy", "box", "reason"):
        np.testing.assert_array_equal(getattr(scores.predictions, name), getattr(alone.predictions, name))
    assert (scores.acc == alone.acc).all()


def test_what_is_not_read_lies_outside_or_refuses_does_not_vote(tmp_path: Path) -> None:
    texts = ["refusal", "?", None, "(900, 80)", "(900, 80)", "[700, 60, 780, 99]", "(110, 90)"]
    scores, _ = merged(tmp_path / "in.jsonl", *rows(*texts, image_size=[640, 480]))
    assert (scores.predictions.xy.tolist(), scores.acc.tolist()) == ([[110, 90]], [1])


def test_without_a_vote_the_first_refusal_is_the_answer_else_the_first_rollout(tmp_path: Path) -> None:
    refusal = {"refusal": True}
    some = [*rows("?", None, "refusal", target=refusal), *rows("(900, 80)", "?", sample="b", image_size=[640, 480])]
    scores, _ = merged(tmp_path / "in.jsonl", *some)
    assert [Reason(each).name for each in scores.reason] == ["REFUSED", "OUT_OF_IMAGE"]
    assert scores.acc.tolist() == [1, 0]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=1, max_size=8))
def test_targets_have_no_say_in_the_vote(tmp_path: Path, points: list[tuple[int, int]]) -> None:
    texts = [f"({x}, {y})" for x, y in points]
    answers = [
        merged(tmp_path / "in.jsonl", *rows(*texts, target=target))[0].predictions.xy.tolist()
        for target in (BOX, {"bbox": [0, 0, 9, 9]}, {"refusal": True})
    ]
    assert answers[0] == answers[1] == answers[2]
    region = consensus_region(points)
    assert region is not None
    expected = points[0] if len(points) == 1 else region.xy
    assert answers[0] == [pytest.approx(expected, abs=1e-9)]


def test_squares_are_50_pixels_of_the_image_whatever_the_answer_s_space(tmp_path: Path) -> None:
    recipe = gr.recipe("gelato")  # thousandths, judged in shares of the image
    near = rows("(100, 100)", "(149, 100)", target=[0.1, 0.05, 0.15, 0.2])
    for width, expected in ((1000, 0.1245), (1100, 0.1)):  # 49 and 53.9 pixels apart
        scores, _ = merged(
            tmp_path / "in.jsonl", *({**row, "image_size": [width, 1000]} for row in near), recipe=recipe
        )
        assert scores.predictions.xy.tolist() == [pytest.approx([expected, 0.1])]
    with pytest.raises(TableError, match=r"row 0 \(line 1\): image_size: got nothing; expected width and height"):
        merged(tmp_path / "in.jsonl", *near, recipe=recipe)


def test_sizes_are_read_from_images(tmp_path: Path) -> None:
    Image.new("RGB", (1000, 500)).save(tmp_path / "shot.png")
    near = rows("(100, 100)", "(149, 100)", target=[0.1, 0.05, 0.15, 0.2], image="shot.png")
    scores, _ = merged(tmp_path / "in.jsonl", *near, recipe=gr.recipe("gelato"), image_files=ImageFiles())
    assert scores.predictions.xy.tolist() == [pytest.approx([0.1245, 0.1])]


def test_pixels_are_those_that_the_model_answers_in(tmp_path: Path) -> None:
    # 30 pixels apart in the resized image are 60 in the original one.
    recipe = gr.recipe("click", response_space="model_pixel")
    sizes = {"image_size": [1000, 1000], "model_image_size": [500, 500]}
    scores, _ = merged(tmp_path / "in.jsonl", *rows("(100, 80)", "(130, 80)", **sizes), recipe=recipe)
    assert scores.predictions.xy.tolist() == [[230.0, 160.0]]


def test_each_sample_has_its_own_sizes(tmp_path: Path) -> None:
    recipe = gr.recipe("gelato")
    box = [0.1, 0.05, 0.15, 0.2]
    first = rows("(100, 100)", "(120, 100)", "(120, 100)", target=box, image_size=[1000, 1000])
    second = rows("(100, 100)", "(149, 100)", sample="b", target=box, image_size=[500, 250])
    scores, _ = merged(tmp_path / "in.jsonl", *first, *second, recipe=recipe)
    assert scores.predictions.xy.tolist() == [pytest.approx([0.11, 0.1]), pytest.approx([0.1245, 0.1])]


def test_squares_that_touch_stay_apart_in_whatever_space_the_recipe_judges(tmp_path: Path) -> None:
    texts = ["(599, 302)", "(684, 361)", "(570, 347)", "(588, 426)", "(600, 340)", "(605, 352)"]
    sizes = {"image_size": [1920, 1080], "model_image_size": [1904, 1064]}
    some = rows(*texts, target={"bbox": [654, 422, 721, 452]}, **sizes)
    recipe = gr.recipe("click", response_space="model_pixel")
    scores, _ = merged(tmp_path / "in.jsonl", *some, recipe=recipe)
    x, y = scores.predictions.xy[0] * [1904 / 1920, 1064 / 1080]
    region = consensus_region([[599, 302], [684, 361], [570, 347], [588, 426], [600, 340], [605, 352]])
    assert region is not None
    assert (region.area, region.votes) == (670.0, 3)
    assert (x, y) == (pytest.approx(587.127, abs=1e-3), pytest.approx(342.791, abs=1e-3))


def test_a_box_is_no_answer_of_a_consensus_of_points(tmp_path: Path) -> None:
    scores, _ = merged(tmp_path / "in.jsonl", *rows("[100, 80, 110, 90]", "[104, 80, 114, 90]"))
    assert (scores.predictions.xy.tolist(), np.isnan(scores.predictions.box).all()) == ([[107.0, 85.0]], True)


@pytest.mark.parametrize("numbers", [{"rollout": [0, 1, 0]}, {"rollout": [3, 3, 1], "round": [2, 2, 2]}])
def test_a_rollout_that_is_there_twice_is_an_error(tmp_path: Path, numbers: dict[str, list[int]]) -> None:
    some = rows("(1, 2)", "(3, 4)", "(5, 6)")
    for name, column in numbers.items():
        for row, number in zip(some, column, strict=True):
            row[name] = number
    first, last = (0, 2) if "round" not in numbers else (0, 1)
    number = numbers["rollout"][0]
    with pytest.raises(TableError) as caught:
        merged(tmp_path / "in.jsonl", *some)
    assert str(caught.value) == (
        f"{tmp_path / 'in.jsonl'}, row {last} (line {last + 1}): rollout {number} of sample 'a' is in row {first} "
        f"(line {first + 1}) already, and would vote twice; expected rollouts with numbers of their own in a column "
        "rollout, or no such column"
    )
    some = [{**row, "round": place} for place, row in enumerate(some)]
    assert len(merged(tmp_path / "in.jsonl", *some)[0].acc) == 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"target": {"bbox": [90, 70, 130, 111]}}, "targets"),
        ({"image_size": [640, 481]}, "image sizes"),
        ({"model_image_size": [320, 241]}, "model image sizes"),
    ],
)
def test_rollouts_of_a_sample_that_differ_are_a_warning(tmp_path: Path, change: dict[str, Any], what: str) -> None:
    sizes = {"image_size": [640, 480], "model_image_size": [320, 240]}
    some = [*rows("(100, 80)", "(110, 90)", **sizes), *rows("(1, 2)", "(3, 4)", sample="b", **sizes)]
    warned: list[str] = []
    merged(tmp_path / "in.jsonl", *some, on_warning=warned.append)
    assert warned == []
    some[3] = {**some[3], **change}
    merged(tmp_path / "in.jsonl", *some, on_warning=warned.append)
    assert warned == [
        f"--consensus: 1 of 2 samples have rollouts with different {what}, such as 'b': expected rollouts of one "
        "sample under one name; the answer is judged as that of the first rollout that agrees"
    ]


def test_an_action_is_that_of_the_first_that_agrees(tmp_path: Path) -> None:
    recipe = gr.recipe("action", response_space="pixel")
    texts = ["click(start_box='(400,20)')", "left_double(start_box='(100,80)')", "click(start_box='(104,80)')"]
    for action, acc in (("double_click", 1), ("click", 0)):
        scores, _ = merged(tmp_path / "in.jsonl", *rows(*texts, target={**BOX, "action": action}), recipe=recipe)
        assert (scores.predictions.xy.tolist(), scores.acc.tolist()) == ([[102.0, 80.0]], [acc])


def test_rows_with_a_bad_target_are_left_out(tmp_path: Path) -> None:
    some = [*rows("(100, 80)", "(100, 80)", target={"bbox": [1]}), *rows("(100, 80)", "(100, 80)", sample="b")]
    scores, singles = merged(tmp_path / "in.jsonl", *some, bad_target="abstain")
    assert (scores.valid.tolist(), scores.acc.tolist()) == ([0, 1], [0, 1])
    assert (singles.samples, singles.rollouts) == (1, 2)


@pytest.mark.parametrize(
    ("name", "does"),
    [("gui-rcpo", "compares rollouts"), ("infigui-g1", "reads several answers of one response")],
)
def test_recipes_that_judge_no_single_answer_are_refused(tmp_path: Path, name: str, does: str) -> None:
    recipe = gr.recipe(name, response_space="pixel")
    with pytest.raises(RecipeError, match=f"got recipe {name}, which {does}; expected one that judges one answer"):
        merged(tmp_path / "in.jsonl", *rows("(1, 2)"), recipe=recipe)
