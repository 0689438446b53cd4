"""Weights by the size of targets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import SelectorError
from grounding_rewards.pool import SampleStats, TargetSize, select


def sized(*areas):
    one = np.ones(len(areas), dtype=np.int64)
    return SampleStats(np.arange(len(areas)).astype(str).astype(object), one, one, target_area=np.array(areas))


def test_the_published_form_runs_from_a_half_to_one_and_a_half():  # GUI-G1, appendix C.3
    published = TargetSize(form="published")
    assert select(sized(0.04, 0.01, 0.0025), published).tolist() == pytest.approx([0.5, 0.7, 1.5])
    assert select(sized(0.01, 0.02, 0.05, 0.25), published).round(4).tolist() == [1.5, 0.9792, 0.6667, 0.5]
    assert select(sized(0.04, np.nan, 0.0025), published).tolist() == [0.5, 1.0, 1.5]
    assert select(sized(0.04, 0.04), published).tolist() == [1.0, 1.0]
    assert select(sized(0.061, 0.06100000000000001), published).tolist() == [1.0, 1.0]  # one size, at two places


def test_no_size_and_none_known_have_the_mean():
    weights = select(sized(0.04, np.nan, 0.01, 0.0, 0.0025), TargetSize())
    assert weights.round(3).tolist() == [0.143, 1.0, 0.571, 1.0, 2.286]
    assert select(sized(np.nan, 0.0), TargetSize()).tolist() == [1.0, 1.0]
    with pytest.raises(SelectorError, match=r"target_area of sample '0', as of all .* that have target and image_size"):
        select(sized(np.nan, np.nan), TargetSize())


def test_extreme_sizes_are_clipped_and_the_mean_stays():
    weights = select(sized(*[1.0] * 39, 1e-6), TargetSize())
    clipped = (39 * 0.1 + 10) / 40  # 1 / a over its mean is below 0.1, and 40
    assert weights.tolist() == pytest.approx([0.1 / clipped] * 39 + [10 / clipped])
    assert select(sized(5e-324, 1.0), TargetSize(smallest=0.5, largest=1.5)).tolist() == [1.5, 0.5]


AREAS = st.lists(st.one_of(st.floats(0, 4), st.just(np.nan)), min_size=1, max_size=20).map(lambda some: [*some, 0.5])


@given(AREAS, st.floats(1e-6, 1), st.floats(1, 1e6), st.randoms())
def test_the_sum_is_the_number_of_samples(areas, smallest, largest, shuffled):
    weigh = TargetSize(smallest, largest)
    weights = select(sized(*areas), weigh)  # checks that they are finite and within bounds
    assert weights.sum() == pytest.approx(len(areas))
    assert (weights > 0).all()
    order = list(range(len(areas)))
    shuffled.shuffle(order)
    assert select(sized(*np.array(areas)[order]), weigh).tolist() == pytest.approx(weights[order].tolist(), rel=1e-9)
