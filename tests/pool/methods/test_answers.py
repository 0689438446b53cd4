"""Weights by different answers: PuzzleCraft's, and rare answers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from grounding_rewards.errors import SelectorError
from grounding_rewards.pool import DispersionWeighted, RareCells, select
from grounding_rewards.pool.aggregate import GRID, stats_of
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.pool.methods.test_filters import counted


def answered(folder, samples, right=1, **columns):
    """Statistics of samples by their rollouts' answers, a letter each, of which the first ones are right."""
    rows = [
        {"sample_id": name, "rollout": place, "acc": int(place < right), "answer_key": answer, **columns}
        for name, answers in samples.items()
        for place, answer in enumerate(answers)
    ]
    file = folder / "rollouts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return stats_of(open_rollouts([file]))


def test_entropy_over_six_choices(tmp_path):  # pool.md, example 12
    stats = answered(tmp_path, {"collapsed": "ABBBBBBB", "spread": "ABBCCDEF"})
    weigh = DispersionWeighted(choices=6)
    assert weigh.diversity(stats).round(4).tolist() == [0.2103, 0.9671]
    assert select(stats, weigh).round(4).tolist() == [0.2006, 0.4303]


def test_different_answers_over_the_most_there_can_be():  # pool.md, example 12
    stats = replace(counted((2, 8), (2, 8), (2, 8), (4, 8), (0, 8), (8, 8)), cells=np.array([1, 2, 8, 8, 8, 8]))
    weigh = DispersionWeighted(form="distinct")
    assert weigh.diversity(stats).tolist() == [0.0, 1 / 7, 1.0, 1.0, 1.0, 1.0]
    assert select(stats, weigh).tolist() == pytest.approx([0.0, 0.75 * 7**-0.5, 0.75, 1.0, 0.0, 0.0])
    assert select(stats, replace(weigh, gamma=1)).tolist() == pytest.approx([0.0, 0.75 / 7, 0.75, 1.0, 0.0, 0.0])


def test_without_choices_as_many_are_possible_as_there_are_rollouts(tmp_path):
    stats = answered(tmp_path, {"all differ": "ABCDEFGH", "two": "AAAABBBB"}, right=4)
    assert DispersionWeighted().diversity(stats).tolist() == pytest.approx([1.0, 1 / 3])  # ln 2 / ln 8
    assert select(stats, DispersionWeighted()).tolist() == pytest.approx([1.0, 3**-0.5])


def test_without_choices_as_many_are_possible_as_the_grid_has_cells():
    every = GRID * GRID
    stats = replace(counted((1, every - 1), (1, 4 * every)), cell_entropy=np.full(2, np.log(every) / 2))
    assert DispersionWeighted().diversity(stats).tolist() == pytest.approx(
        [0.5 * np.log(every) / np.log(every - 1), 0.5]
    )


def test_rollouts_without_an_answer_are_one_answer_more_up_to_all_choices(tmp_path):
    stats = answered(tmp_path, {"a": [None, None, "A", "B"]}, right=2)
    assert stats.cells.tolist() == [3]
    assert DispersionWeighted(choices=2).diversity(stats).tolist() == [1.0]


def test_one_choice_one_rollout_and_unknown_answers_weigh_nothing(tmp_path):
    stats = answered(tmp_path, {"a": "AB", "b": "A"})
    assert select(stats, DispersionWeighted(choices=1)).tolist() == [0.0, 0.0]
    assert select(stats, DispersionWeighted()).tolist() == [1.0, 0.0]
    assert DispersionWeighted(form="distinct").diversity(stats).tolist() == [1.0, 0.0]
    some = replace(stats, cells=np.array([2, -1]), cell_entropy=np.array([np.log(2), np.nan]))
    assert select(some, DispersionWeighted()).tolist() == [1.0, 0.0]
    assert select(some, DispersionWeighted(form="distinct")).tolist() == [1.0, 0.0]
    assert np.isnan(DispersionWeighted(choices=1).diversity(some)).tolist() == [False, True]


def test_more_answers_than_rollouts_count_as_all_different():
    stats = replace(counted((1, 2)), cells=np.array([3]), cell_rarity=np.array([1.0 + 1e-12]))
    assert DispersionWeighted(form="distinct").diversity(stats).tolist() == [1.0]
    assert select(stats, RareCells()).tolist() == [1.0]


def test_difficulty_by_mean_total(tmp_path):
    stats = answered(tmp_path, {"a": "AB", "b": "AB"}, total=0.25)
    assert select(stats, DispersionWeighted(of="mean")).tolist() == [0.75, 0.75]
    with pytest.raises(SelectorError, match=r"mean total of sample 'b': got -0\.5; expected 0 to 1, or of='pass_rate'"):
        select(replace(stats, mean=np.array([0.5, -0.5])), DispersionWeighted(of="mean"))
    with pytest.raises(SelectorError, match=r"mean total of sample 'a': got 1\.5; expected 0 to 1"):
        select(replace(stats, mean=np.array([1.5, 0.5])), DispersionWeighted(of="mean"))
    assert select(replace(stats, mean=np.array([0.0, 1.0])), DispersionWeighted(of="mean")).tolist() == [0.0, 0.0]
    some = replace(stats, mean=np.array([0.5, np.nan]))
    assert select(some, DispersionWeighted(of="mean")).tolist() == [1.0, 0.0]
    with pytest.raises(SelectorError, match=r"mean of sample 'a', as of all samples: got none; .* that have total"):
        select(replace(stats, mean=np.full(2, np.nan)), DispersionWeighted(of="mean"))


@pytest.mark.parametrize(
    ("weigh", "column"),
    [
        (DispersionWeighted(), "cell_entropy"),
        (DispersionWeighted(form="distinct"), "cells"),
        (RareCells(), "cell_rarity"),
    ],
)
def test_statistics_without_any_answer_are_refused(weigh, column):
    text = (
        f"{column} of sample '1', as of all samples: got none; .* rollouts that have x_unit and y_unit, or answer_key"
    )
    with pytest.raises(SelectorError, match=text):
        select(counted((0, 0), (1, 2), (2, 2)), weigh)
    nothing = counted((0, 0), (0, 0))
    assert select(nothing, weigh).tolist() == [1.0, 1.0] if weigh == RareCells() else [0.0, 0.0]


def test_rare_cells_over_all_rounds(tmp_path):  # pool.md, example 19: N(a) = 4, N(b) = 1
    stats = answered(tmp_path, {"a, a, a, b after one a": "aaaab", "all differ": "abcde", "all agree": "aaaa"})
    assert select(stats, RareCells()).tolist() == [(4 * 0.5 + 1.0) / 5, 0.5, 1.0]  # sorted by name


def test_rare_cells_where_answers_are_unknown():
    stats = replace(counted((1, 2), (1, 2), (0, 0)), cell_rarity=np.array([0.75, np.nan, np.nan]))
    assert select(stats, RareCells()).tolist() == [0.75, 0.0, 1.0]
