"""Step returns of trajectories in a rollout table: literal examples, gaps, and tables that cannot be read so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.methods import CHOICE, choose, method
from grounding_rewards.pool.rollouts import RolloutColumns, read_columns
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import write_rows


def table(folder, *totals, **columns):
    """A trajectory with a sample for each list of totals, in the order of steps; None was not scored."""
    rows = [
        {"sample_id": f"s{step}", "trajectory": "t", "step": step, "rollout": number, "total": total,
         "acc": None if total is None else float(total > 0)}
        for step, of_step in enumerate(totals) for number, total in enumerate(of_step)
    ]  # fmt: skip
    for name, column in columns.items():
        for row, value in zip(rows, column, strict=True):
            row[name] = value
    return write_rows(folder / "rollouts.jsonl", *rows)


def chosen(file, spec="step_returns"):
    choice = method(spec, CHOICE)
    rollouts = read_columns(open_rollouts([file]), choice.needs)
    return rollouts, choose(rollouts, choice)


def test_returns_are_those_of_the_kth_rollouts_of_each_step(tmp_path):
    rollouts, choice = chosen(table(tmp_path, [1, 0], [1, 1], [0, 1]))
    assert rollouts.named(0) == "sample 's0', rollout 0"
    assert choice.kept.tolist() == [0, 1, 2, 3, 4, 5]
    assert choice.columns["step_return"].tolist() == [1.5, 0, 1, 1.5, 0, 1]
    assert choice.columns["advantage"].round(3).tolist() == [1.414, -1.414, 0, 0, 0, 0]


def test_options_are_those_of_the_functions(tmp_path):
    spec = {"name": "step_returns", "gamma": 1, "episode_weight": 0, "step_weight": 2}
    _, choice = chosen(table(tmp_path, [1, 0], [1, 1]), spec)
    assert choice.columns["step_return"].tolist() == [2, 0, 1, 1]
    assert choice.columns["advantage"].round(3).tolist() == [1.414, -1.414, 0, 0]


def test_the_published_form_ends_before_a_miss_and_compares_rewards_over_the_task(tmp_path):
    """Attempts of rewards 1, 1 and 1, .55 with a miss: the sum of the second is 1, where the paper has 1.275."""
    file = table(tmp_path, [1, 1], [1, 0.55], acc=[1, 1, 1, 0])
    forms = ({"name": "step_returns", "form": form} for form in ("paper", "published"))
    paper, published = (chosen(file, form)[1].columns for form in forms)
    assert paper["step_return"].tolist() == [1.5, 1.275, 1, 0.55]
    assert published["step_return"].tolist() == [1.5, 1, 1, 0.55]
    assert paper["advantage"].round(3).tolist() == [1.414, -1.414, 1.414, -1.414]
    # Rewards 1, 1, 1, .55 have the mean .8875 and the deviation .225: .5 and -1.5, beside 1 / sqrt(2) of each step.
    assert published["advantage"].round(3).tolist() == [1.207, -0.207, 1.207, -2.207]


def test_epsilon_is_added_to_standard_deviations(tmp_path):
    _, choice = chosen(table(tmp_path, [1, 0]), {"name": "step_returns", "epsilon": 1})
    assert choice.columns["advantage"].round(3).tolist() == [0.586, -0.586]  # twice 0.5 / (0.7071 + 1)


def test_trajectories_may_have_different_numbers_of_attempts(tmp_path):
    places = {"trajectory": [*"tttt", *"uu"], "step": [0, 0, 1, 1, 0, 1]}
    _, choice = chosen(table(tmp_path, [1, 0], [1, 1], [1], [1], **places))
    assert choice.columns["step_return"].tolist() == [1.5, 0, 1, 1, 1.5, 1]


def test_many_attempts_are_joined_in_the_order_of_their_numbers(tmp_path):
    _, choice = chosen(table(tmp_path, [1] * 100, list(range(1, 101))))
    assert choice.columns["step_return"][:100].tolist() == [1 + 0.5 * number for number in range(1, 101)]


def test_a_rollout_that_was_not_scored_is_left_out_and_ends_the_sum(tmp_path):
    _, choice = chosen(table(tmp_path, [1, 1], [None, 1], [1, 1]))
    assert choice.kept.tolist() == [0, 1, 3, 4, 5]
    assert choice.columns["step_return"].tolist() == [1, 1.75, 1.5, 1, 1]


def test_rounds_and_trajectories_are_apart(tmp_path):
    _, choice = chosen(table(tmp_path, [1, 0], [1, 0], round=[1, 2, 1, 2]))
    assert choice.columns["step_return"].tolist() == [1.5, 0, 1, 0]
    assert choice.columns["advantage"].tolist() == [0, 0, 0, 0]
    _, choice = chosen(table(tmp_path, [1], [1], trajectory=["t", "u"]))
    assert choice.columns["step_return"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("totals", "columns", "message"),
    [
        ([[1], [1]], {"trajectory": ["t", None]}, "sample 's1', rollout 0: got no trajectory; expected one in each"),
        ([[1], [1]], {"step": [0, None]}, "sample 's1', rollout 0: got no step"),
        ([[1], [1]], {"step": [0, 0]}, "sample 's1', rollout 0 and sample 's0', rollout 0 are both step 0 of one traj"),
        ([[1, 1], [1]], {}, "sample 's1', rollout 0: step 1 of its trajectory has 1 rollouts in round -1, another.* 2"),
    ],
)
def test_tables_without_whole_trajectories(tmp_path, totals, columns, message):
    with pytest.raises(PoolError, match=message):
        chosen(table(tmp_path, *totals, **columns))


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_returns_are_finite_and_discounted_sums_up_to_the_first_wrong_step(steps, attempts, data):
    totals = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=steps * attempts,
                                         max_size=steps * attempts)))  # fmt: skip
    step = np.repeat(np.arange(steps), attempts)
    names = np.array([f"s{number}" for number in range(steps)], dtype=object)
    rollouts = RolloutColumns(
        names, step, (totals > 0).astype(float), totals, trajectory=np.zeros(len(step), dtype=int), step=step
    )  # fmt: skip
    choice = choose(rollouts, method("step_returns", CHOICE))
    assert choice.kept.tolist() == list(range(len(step)))
    for attempt in range(attempts):
        rewards = totals.reshape(steps, attempts)[:, attempt]
        for start in range(steps):
            right = np.append(np.flatnonzero(rewards[start:] == 0), steps - start - 1)[0]
            expected = sum(0.5**ahead * rewards[start + ahead] for ahead in range(right + 1))
            assert choice.columns["step_return"].reshape(steps, attempts)[start, attempt] == pytest.approx(expected)


def test_numbers_that_some_steps_share_must_be_those_of_all(tmp_path):
    """Rows are missing: ranks would join rollout 2 of the first step with rollout 1 of the second."""
    file = table(tmp_path, [1, 1, 1], [1, 1, 1], rollout=[0, 2, 3, 0, 1, 3])
    with pytest.raises(
        PoolError, match=r"sample 's0', rollout 2: other steps .* have no rollout 2 in round -1"
    ) as error:
        chosen(file)
    assert "expected the same numbers for each step, or numbers that no two steps share" in str(error.value)
    with pytest.raises(PoolError, match=r"sample 's0', rollout 0: other steps .* have no rollout 0 in round -1"):
        chosen(table(tmp_path, [1, 1], [1, 1], rollout=[0, 1, 1, 2]))
    _, choice = chosen(table(tmp_path, [1, 0], [1, 1], rollout=[70, 90, 80, 95]))
    assert choice.columns["step_return"].tolist() == [1.5, 0, 1, 1]


def test_a_scored_rollout_without_a_total_is_an_error():
    rollouts = RolloutColumns(
        np.array(["a"], dtype=object), np.array([0, 0]), np.array([1.0, 0.0]), np.array([np.nan, 0])
    )
    for spec in ({"name": "pods", "keep": 1}, {"name": "d3s", "keep": 1}):
        with pytest.raises(PoolError, match="total of sample 'a': got none; expected one for each scored rollout"):
            choose(rollouts, method(spec, CHOICE))
