"""Numbers of rows of several columns of whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.arrays import numbered, packed

WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)


def test_rows_that_differ_by_one_in_one_column():
    assert numbered(np.array([0, 0, 1, 1]), np.array([8, 9, 8, 9])).tolist() == [0, 1, 2, 3]
    assert numbered(np.array([5, 5]), np.array([9, 8])).tolist() == [1, 0]


@given(st.lists(st.tuples(WHOLE, WHOLE, WHOLE), max_size=8))
def test_numbers_sort_as_rows_do(rows):
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)] or [np.zeros(0, dtype=np.int64)]
    assert numbered(*columns).tolist() == [sorted(set(rows)).index(row) for row in rows]
    assert np.argsort(packed(*columns), kind="stable").tolist() == sorted(range(len(rows)), key=rows.__getitem__)
