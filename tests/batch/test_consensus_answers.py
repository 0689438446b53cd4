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
from grounding_rewards.batch.samples import Answers
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.checks.accuracy import SingleAnswers
from grounding_rewards.errors import RecipeError, TableError
from grounding_rewards.groups.consensus import consensus_region
from grounding_rewards.rollouts import Reason, Scores
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.tables.opening import open_table
from tests.cli.command import write_rows

BOX = {"bbox": [90, 70, 130, 110]}


def merged(
    path: Path, *rows: dict[str, Any], recipe: gr.Recipe | None = None, **options: Any
) -> tuple[Scores, SingleAnswers]:
    """Write rows, and return the scores of one answer a sample, and the counts of single rollouts."""
    table = open_table(write_rows(path, *rows))
    recipe = recipe or gr.recipe("click", response_space="pixel")
    answers = Answers(Scoring(recipe, Columns(), **options).of(table), [], consensus=True)
    ((_, scored),) = answers.batches()
    assert answers.singles is not None
    return scored.scores, answers.singles


def rows(*texts: str | None, sample: str = "a", target: Any = BOX, **fields: Any) -> list[dict[str, Any]]:
    return [{"sample_id": sample, "response": text, "target": target, **fields} for text in texts]


CLICK, GELATO = gr.recipe("click", response_space="pixel"), gr.recipe("gelato")  # which judges in shares of the image
RESIZED = gr.recipe("click", response_space="model_pixel")
HALF = {"image_size": [1000, 1000], "model_image_size": [500, 500]}
SHARES = [0.1, 0.05, 0.15, 0.2]
FIRST = rows("(100, 80)", "(100, 82)", "(300, 300)")
SECOND = rows("(300, 300)", "(302, 300)", "(100, 80)", sample="b")
UNREAD = ["refusal", "?", None, "(900, 80)", "(900, 80)", "[700, 60, 780, 99]", "(110, 90)"]
NEAR, SMALL = rows("(100, 100)", "(149, 100)", target=SHARES), {"sample_id": "b", "image_size": [500, 250]}


@pytest.mark.parametrize(
    ("recipe", "some", "xy", "acc", "singles"),
    [
        (CLICK, rows("(400, 300)", "(100, 80)", "(110, 90)", "(700, 10)"), [[105, 85]], [1], (4, 2)),
        # Rollouts of a sample need not stand together, and b comes first.
        (CLICK, [row for pair in zip(SECOND, FIRST, strict=True) for row in pair], [[301, 300], [100, 81]], [0, 1],
         (6, 3)),
        # What is not read, lies outside or refuses does not vote.
        (CLICK, rows(*UNREAD, image_size=[640, 480]), [[110, 90]], [1], (7, 1)),
        (CLICK, rows("[100, 80, 110, 90]", "[104, 80, 114, 90]"), [[107, 85]], [1], (2, 2)),
        # Squares are 50 pixels of the image, whatever the answer's space: these are 49 and 53.9 apart.
        (GELATO, [{**row, "image_size": [1000, 1000]} for row in NEAR], [[0.1245, 0.1]], [1], (2, 2)),
        (GELATO, [{**row, "image_size": [1100, 1000]} for row in NEAR], [[0.1, 0.1]], [1], (2, 2)),
        (GELATO, [*rows("(100, 100)", "(120, 100)", "(120, 100)", target=SHARES, image_size=[1000, 1000]),
                  *({**row, **SMALL} for row in NEAR)], [[0.11, 0.1], [0.1245, 0.1]], [1, 1], (5, 5)),
        # 30 pixels apart in the resized image are 60 in the original one.
        (RESIZED, rows("(100, 80)", "(130, 80)", **HALF), [[230, 160]], [0], (2, 0)),
    ],
)  # fmt: skip
def test_the_answer_is_the_middle_of_where_most_rollouts_agree(tmp_path: Path, recipe, some, xy, acc, singles) -> None:
    scores, single = merged(tmp_path / "in.jsonl", *some, recipe=recipe)
    assert scores.predictions.xy.tolist() == [pytest.approx(each) for each in xy]
    assert np.isnan(scores.predictions.box).all()
    assert (scores.acc.tolist(), single.rollouts, single.accuracy) == (acc, singles[0], singles[1] / singles[0])


def test_a_size_that_votes_need_and_nothing_says_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"row 0 \(line 1\): image_size: got nothing; expected width and height"):
        merged(tmp_path / "in.jsonl", *NEAR, recipe=GELATO)


@pytest.mark.parametrize("text", ["(3, 2)", "[100, 80, 110, 90]", "refusal", "no idea", None])
def test_one_answer_is_the_consensus_as_it_is(tmp_path: Path, text: str | None) -> None:
    recipe = gr.recipe("click", response_space="pixel")
    alone = recipe.score([text], [BOX], image_sizes=[(640, 480)])
    scores, _ = merged(tmp_path / "in.jsonl", *rows(text, image_size=[640, 480]))
    for name in ("xy", "box", "reason"):
        np.testing.assert_array_equal(getattr(scores.predictions, name), getattr(alone.predictions, name))
    assert (scores.acc == alone.acc).all()


def test_without_a_vote_the_first_refusal_is_the_answer_else_the_first_rollout(tmp_path: Path) -> None:
    refusal = {"refusal": True}
    some = [*rows("?", None, "refusal", target=refusal), *rows("(900, 80)", "?", sample="b", image_size=[640, 480])]
    scores, _ = merged(tmp_path / "in.jsonl", *some)
    assert [Reason(each).name for each in scores.reason] == ["REFUSED", "OUT_OF_IMAGE"]
    assert scores.acc.tolist() == [1, 0]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


def test_sizes_are_read_from_images(tmp_path: Path) -> None:
    Image.new("RGB", (1000, 500)).save(tmp_path / "shot.png")
    near = [{**row, "image": "shot.png"} for row in NEAR]
    scores, _ = merged(tmp_path / "in.jsonl", *near, recipe=GELATO, image_files=ImageFiles())
    assert scores.predictions.xy.tolist() == [pytest.approx([0.1245, 0.1])]


def test_squares_that_touch_stay_apart_in_whatever_space_the_recipe_judges(tmp_path: Path) -> None:
    texts = ["(599, 302)", "(684, 361)", "(570, 347)", "(588, 426)", "(600, 340)", "(605, 352)"]
    sizes = {"image_size": [1920, 1080], "model_image_size": [1904, 1064]}
    some = rows(*texts, target={"bbox": [654, 422, 721, 452]}, **sizes)
    scores, _ = merged(tmp_path / "in.jsonl", *some, recipe=RESIZED)
    x, y = scores.predictions.xy[0] * [1904 / 1920, 1064 / 1080]
    region = consensus_region([[599, 302], [684, 361], [570, 347], [588, 426], [600, 340], [605, 352]])
    assert region is not None
    assert (region.area, region.votes) == (670.0, 3)
    assert (x, y) == (pytest.approx(587.127, abs=1e-3), pytest.approx(342.791, abs=1e-3))


@pytest.mark.parametrize(
    "numbers",
    [
        {"rollout": [0, 1, 0]}, {"rollout": [3, 3, 1], "round": [2, 2, 2]},
        {"rollout": [3, 3, 1], "round": [2, 2.0, 2]}, {"rollout": [3, 3, 1], "round": [None, np.nan, None]},
    ],
)  # fmt: skip
def test_a_rollout_that_is_there_twice_is_an_error(tmp_path: Path, numbers: dict[str, list[Any]]) -> None:
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
