"""Completions of one sample are recognized by runs of equal rows."""

from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards_adapters._trl_rows import repeated, same
from grounding_rewards_adapters.trl import reward_funcs


def picture(value: int, size: tuple[int, int] = (4, 4)) -> Image.Image:
    return Image.new("L", size, value)


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        ("", []),
        ("a", [0]),
        ("ab", [0, 1]),
        ("aabb", [0, 0, 1, 1]),
        ("aabbbb", [0, 0, 1, 1, 2, 2]),  # b twice in the data set, beside each other
        ("aaabbbbbb", [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        ("aaaabbbbbb", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),  # the largest size that divides both
        ("aabbbaa", [0, 1, 2, 3, 4, 5, 6]),
        ("aaaa", [0, 0, 0, 0]),
    ],
)
def test_size_is_the_greatest_that_divides_all_runs(rows: str, groups: list[int]) -> None:
    assert repeated([list(rows)], len(rows)).tolist() == groups


def test_every_column_can_tell_rows_apart() -> None:
    assert repeated([["p"] * 4, [[1], [1], [2], [2]]], 4).tolist() == [0, 0, 1, 1]
    assert repeated([], 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("rows", "sizes", "size"),
    [
        ("aaaabbbb", (4, 2), 4),  # training
        ("aabbcc", (4, 2), 2),  # evaluation
        ("aabbccdd", (4, 2), 2),
        ("abcd", (4, 1), 1),
        ("a", (4, 1), 1),
        ("aabbbb", (4, 2), 2),
        ("aaaabb", (2, 4), 2),  # more in evaluation than in training
        ("aaaabbbb", (2, 4), 4),
        ("", (4, 2), 0),
    ],
)
def test_of_two_numbers_the_larger_that_fits_is_taken(rows: str, sizes: tuple[int, int], size: int) -> None:
    assert repeated([list(rows)], len(rows), sizes).tolist() == [row // size for row in range(len(rows))]


def test_of_two_numbers_pictures_tell_which_it_is() -> None:
    pictures = [picture(shade) for shade in (1, 1, 2, 2)]
    assert repeated([["p"] * 4, pictures], 4, (4, 2)).tolist() == [0, 0, 1, 1]
    assert repeated([["p"] * 4, [pictures[0]] * 4], 4, (4, 2)).tolist() == [0] * 4


def test_two_numbers_of_which_none_fits_are_an_error() -> None:
    with pytest.raises(
        gr.RecipeError,
        match=r"num_generations=4, num_generations_eval=2: got another prompt or target in row 2 than in row 0; "
        r"expected 4 .* \(and num_generations_eval=",
    ):
        repeated([list("aabc")], 4, (4, 2))
    with pytest.raises(gr.RecipeError, match="num_generations=4, num_generations_eval=2: got 3 completions"):
        repeated([list("aaa")], 3, (4, 2))


@given(size=st.integers(2, 6), samples=st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_groups_of_one_size_are_found_or_joined_with_equal_neighbours(size: int, samples: list[int]) -> None:
    rows = [sample for sample in samples for _ in range(size)]
    groups = repeated([rows], len(rows))
    assert len(set(np.bincount(groups).tolist())) == 1
    assert len(rows) // (groups[-1] + 1) % size == 0
    for group in set(groups.tolist()):
        assert len({row for row, code in zip(rows, groups.tolist(), strict=True) if code == group}) == 1
    if 1 in [len(list(run)) for run in _runs(samples)]:
        assert groups.tolist() == [index // size for index in range(len(rows))]


def _runs(samples: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for sample in samples:
        if runs and runs[-1][0] == sample:
            runs[-1].append(sample)
        else:
            runs.append([sample])
    return runs


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (float("nan"), float("nan"), True),
        ({"bbox": [1.0, float("nan")]}, {"bbox": [1.0, float("nan")]}, True),
        ({"bbox": [1, 2]}, {"bbox": [1, 3]}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [1, 2, 3], False),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), True),
        (np.array([1.0, 2.0]), [1.0, 3.0], False),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        (picture(7), picture(7), True),
        (picture(7), picture(8), False),
        (picture(7), picture(7, (4, 5)), False),
        (picture(7), picture(7).convert("RGB"), False),
        (picture(7), "x", False),
        ([{"type": "image", "image": picture(7)}], [{"type": "image", "image": picture(7)}], True),
        ([{"type": "image", "image": picture(7)}], [{"type": "image", "image": picture(8)}], False),
    ],
)
def test_same(a: object, b: object, equal: bool) -> None:
    assert same(a, b) is same(b, a) is equal


def test_images_of_two_modes_are_two_whatever_their_bytes() -> None:
    grey, palette = Image.new("L", (2, 2)), Image.new("P", (2, 2))
    assert grey.tobytes() == palette.tobytes()
    assert not same(grey, palette)


def test_what_cannot_be_compared_is_not_the_same() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    assert not same(Odd(), Odd())


def test_samples_that_differ_in_what_their_pictures_show_are_two() -> None:
    pictures = [picture(shade) for shade in (1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)]
    prompts = [[{"role": "user", "content": [{"type": "image", "image": each}]}] for each in pictures]
    assert repeated([prompts], 12).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert repeated([["p"] * 12, pictures], 12).tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize(("shades", "size"), [("aabbaa", 2), ("abab", 1), ("aabbaabb", 2), ("aabbbbaa", 2)])
def test_pictures_in_the_middle_count_too(shades: str, size: int) -> None:
    pictures = [picture(ord(shade)) for shade in shades]
    assert repeated([["p"] * len(shades), pictures], len(shades)).tolist() == [
        row // size for row in range(len(shades))
    ]


class Unread:
    """A picture that must not be read."""

    size = (4, 4)
    mode = "L"

    def __init__(self, filename: str = "") -> None:
        self.filename = filename

    def tobytes(self) -> bytes:
        raise AssertionError("read")


def test_pictures_are_not_read_where_the_rest_tells_rows_apart_or_the_file_is_the_same() -> None:
    assert repeated([list("abcd"), [Unread() for _ in range(4)]], 4).tolist() == [0, 1, 2, 3]
    assert repeated([list("aabb"), [Unread("x.png") for _ in range(4)]], 4).tolist() == [0, 0, 1, 1]
    assert repeated([list("aabb"), [Unread() for _ in range(4)]], 4, [2]).tolist() == [0, 0, 1, 1]
    with pytest.raises(AssertionError, match="read"):
        repeated([list("aabb"), [Unread() for _ in range(4)]], 4)


BOX, OTHER = [0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]


def group_code(rollouts: gr.Rollouts) -> Any:
    return rollouts.groups.astype(np.float64)


def tokens(rollouts: gr.Rollouts) -> Any:
    return np.zeros(len(rollouts)) if rollouts.token_lengths is None else rollouts.token_lengths.astype(np.float64)


GROUPS = gr.verifier(group_code, low=0.0, high=99.0, needs=["groups"])
TOKENS = gr.verifier(tokens, low=0.0, high=99.0)


def paying(term: gr.Verifier, **changes: Any) -> gr.Recipe:
    return replace(gr.recipe("gelato"), name="own", reward=weighted(own=(1.0, term)), **changes)


def free(term: gr.Verifier) -> gr.Recipe:
    return paying(term, label_free=True, success=gr.verifier(tokens, low=0.0, high=99.0))


@pytest.mark.parametrize("column", ["id", "sample_id"])
def test_ids_tell_equal_neighbours_apart(column: str) -> None:
    (reward,) = reward_funcs(paying(GROUPS))
    rows = {"prompts": ["p"] * 4, "target": [BOX] * 4}
    assert reward(completions=["?"] * 4, **rows) == [0.0] * 4
    assert reward(completions=["?"] * 4, **rows, **{column: list("aabb")}) == [0.0, 0.0, 1.0, 1.0]
    ids = [{"bbox": BOX, "id": name} for name in "aabb"]
    assert reward(completions=["?"] * 4, prompts=["p"] * 4, target=ids) == [0.0, 0.0, 1.0, 1.0]


def test_pictures_tell_samples_apart() -> None:
    (reward,) = reward_funcs(paying(GROUPS))
    pictures = [Image.new("L", (8, 8), shade) for shade in (0, 0, 9, 9)]
    assert reward(completions=["?"] * 4, target=[BOX] * 4, image=pictures) == [0.0, 0.0, 1.0, 1.0]


def test_num_generations_settles_it_and_is_checked() -> None:
    (reward,) = reward_funcs(paying(GROUPS), num_generations=2)
    assert reward(completions=["?"] * 4, prompts=["p"] * 4, target=[BOX] * 4) == [0.0, 0.0, 1.0, 1.0]
    with pytest.raises(
        gr.RecipeError, match=r"num_generations=2: got 3 completions in one call; expected whole groups"
    ):
        reward(completions=["?"] * 3, prompts=["p"] * 3, target=[BOX] * 3)
    with pytest.raises(gr.RecipeError, match="another prompt or target in row 1 than in row 0"):
        reward(completions=["?"] * 2, prompts=["p"] * 2, target=[BOX, OTHER])


def test_recipes_that_compare_nothing_pass_over_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of eight completions on each of two processes, and evaluation with other numbers: TRL's own business."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    (reward,) = reward_funcs("gelato", num_generations=8, num_generations_eval=2)
    assert reward(completions=["(250, 250)"] * 4, prompts=["p"] * 4, target=[BOX] * 4) == [1.0] * 4
    assert reward(completions=["(250, 250)"] * 3, prompts=list("pqr"), target=[BOX, OTHER, BOX]) == [1.0, 0.0, 1.0]


def evaluation(each: int) -> dict[str, Any]:
    targets = [[0.1 * place, 0.1, 0.9, 0.9] for place in range(4) for _ in range(each)]
    return {"completions": ["?"] * len(targets), "prompts": ["p"] * len(targets), "target": targets}


@pytest.mark.parametrize("number", [1, 2, 8])
def test_evaluation_may_have_a_number_of_its_own(number: int, caplog: pytest.LogCaptureFixture) -> None:
    (reward,) = reward_funcs(paying(GROUPS), num_generations=4, num_generations_eval=number)
    with caplog.at_level(logging.ERROR):
        for each in (4, number, 4, number):
            assert reward(**evaluation(each)) == [float(row // each) for row in range(4 * each)]
    assert not caplog.records


def test_evaluation_that_goes_first_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """A part of a group, on one of several processes, looks the same."""
    (reward,) = reward_funcs(paying(GROUPS), num_generations=4, num_generations_eval=1)
    with caplog.at_level(logging.ERROR):
        assert reward(**evaluation(1)) == [0.0, 1.0, 2.0, 3.0]
        assert reward(**evaluation(4)) == [float(row // 4) for row in range(16)]
        assert reward(**evaluation(1)) == [0.0, 1.0, 2.0, 3.0]
    (record,) = caplog.records
    assert record.message.startswith(
        "own: the first call holds groups of num_generations_eval=1, and none of num_generations=4. "
        "If it is no evaluation, set per_device_train_batch_size"
    )


def test_the_number_of_evaluation_alone_is_refused() -> None:
    with pytest.raises(gr.RecipeError, match="num_generations_eval=2 says one of two numbers; give num_generations"):
        reward_funcs("gelato", num_generations_eval=2)
    assert reward_funcs("gelato", num_generations=4, num_generations_eval=None)[0].batches.group_sizes == (4,)
    assert reward_funcs("gelato", num_generations=4, num_generations_eval=4)[0].batches.group_sizes == (4,)


@pytest.mark.parametrize("number", [0, -1, 2.0, True, "8"])
def test_num_generations_is_a_whole_number(number: Any) -> None:
    with pytest.raises(gr.RecipeError, match=r"num_generations: got .*; expected a whole number from 1"):
        reward_funcs("gelato", num_generations=number)
    with pytest.raises(gr.RecipeError, match=r"num_generations_eval: got .*; expected a whole number from 1"):
        reward_funcs("gelato", num_generations=2, num_generations_eval=number)


def test_a_first_batch_without_groups_is_wiring_and_a_later_one_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    (reward,) = reward_funcs(paying(GROUPS))
    apart = {"completions": ["?"] * 2, "prompts": ["p", "q"], "target": [BOX] * 2}
    with pytest.raises(
        gr.RecipeError, match=r"own compares the rollouts of one sample; got 2 completions, .*num_generations be 2"
    ):
        reward(**apart)
    assert reward(completions=["?"], prompts=["p"], target=[BOX]) == [0.0]
    with caplog.at_level(logging.ERROR):
        assert reward(**apart) == reward(**apart) == [0.0, 1.0]
    assert len(caplog.records) == 1


def test_several_processes_ask_for_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"completions": ["?"] * 2, "prompts": ["p"] * 2, "target": [BOX] * 2}
    monkeypatch.setenv("WORLD_SIZE", "4")
    (reward,) = reward_funcs(paying(GROUPS))
    with pytest.raises(gr.RecipeError, match=r"own compares .*, and 4 processes train: give .*num_generations="):
        reward(**rows)
    (set_by_caller,) = reward_funcs(paying(GROUPS), num_generations=2)
    assert set_by_caller(**rows) == [0.0, 0.0]
    (plain,) = reward_funcs("gelato")
    assert plain(**rows) == [0.0, 0.0]
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert reward(**rows) == [0.0, 0.0]


def test_lengths_in_tokens_are_the_trainers() -> None:
    (reward,) = reward_funcs(paying(TOKENS))
    rows = {"completions": ["?"] * 2, "target": [BOX] * 2}
    assert reward(**rows, completion_ids=[[1], [1, 2, 3]]) == [1.0, 3.0]
    assert reward(**rows) == [0.0, 0.0]


def test_a_label_free_recipe_needs_no_target_column() -> None:
    (reward,) = reward_funcs(free(GROUPS))
    assert reward(completions=["?"] * 4, prompts=list("ppqq")) == [0.0, 0.0, 1.0, 1.0]
    targets = [{"id": "a"}, {"id": "a"}, None, None]
    assert reward(completions=["?"] * 4, prompts=["p"] * 4, target=targets) == [0.0, 0.0, 1.0, 1.0]


def test_plain_texts_as_targets_are_left_out_of_a_label_free_recipe() -> None:
    (reward,) = reward_funcs(free(GROUPS))
    targets = ["OK button", "OK button", "Cancel", "Cancel"]
    assert reward(completions=["?"] * 4, prompts=["p"] * 4, target=targets) == [0.0, 0.0, 1.0, 1.0]


def test_it_still_pickles() -> None:
    (reward,) = reward_funcs(paying(GROUPS), num_generations=2)
    copy = pickle.loads(pickle.dumps(reward))
    assert copy.batches.group_sizes == (2,)
    assert copy(completions=["?"] * 4, prompts=["p"] * 4, target=[BOX] * 4) == [0.0, 0.0, 1.0, 1.0]
