"""Completions of one sample are recognized by runs of equal rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import grounding_rewards as gr
from grounding_rewards_adapters._trl_rows import repeated, same


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


def test_a_number_that_is_given_settles_equal_neighbours() -> None:
    assert repeated([["a"] * 4], 4, [2]).tolist() == [0, 0, 1, 1]
    assert repeated([], 4, [2]).tolist() == [0, 0, 1, 1]


def test_a_number_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(
        gr.RecipeError,
        match=r"num_generations=4: got 6 completions.*per_device_train_batch_size \* steps_per_generation",
    ):
        repeated([list("aaaabb")], 6, [4])
    with pytest.raises(gr.RecipeError, match="num_generations=2: got another prompt or target in row 3 than in row 2"):
        repeated([list("aabccc")], 6, [2])


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


@settings(deadline=None)
@given(
    size=st.integers(2, 6),
    samples=st.lists(st.integers(0, 3), min_size=1, max_size=8),
)
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
