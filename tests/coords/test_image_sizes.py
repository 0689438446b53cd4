"""The size of an image as data sets write it."""

import numpy as np

from grounding_rewards.coords.image_sizes import read_size


def test_sizes():
    for value in [[16, 8], (16, 8), [16.0, 8], "[16, 8]", np.array([16, 8]), [np.int64(16), np.float32(8)]]:
        assert read_size(value) == (16.0, 8.0), value


def test_what_is_none():
    for value in [
        None, "junk", "[16, 8", "[" * 99_999, "16", [16], [16, 8, 3], [0, 8], [-1, 8], [16, np.nan], [np.inf, 8],
        [1e13, 8], ["16", 8], [True, 8], [None, None], {"w": 16}, {16, 8}, 16, b"16",
        np.zeros((2, 2)), "[NaN, 8]",
    ]:  # fmt: skip
        assert read_size(value) is None, value
