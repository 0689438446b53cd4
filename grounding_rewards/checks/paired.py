"""Paired comparison of two models: the samples that both answered, their difference, its interval and a test."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.checks.accuracy import rows_by_value
from grounding_rewards.errors import TableError
from grounding_rewards.stats.intervals import Bootstrap, exact_mean, mcnemar, sign_flip

DRAWS = 10_000
"""Draws of the bootstrap."""

_SHOWN = 3


@dataclass(frozen=True, eq=False)
class SampleScores:
    """Right answers of m samples in one file."""

    file: str
    names: Sequence[str]  # each once
    correct: Ints  # rollouts with acc 1
    n: Ints  # valid rollouts: those with a usable target
    images: Sequence[Hashable | None]  # what tells each sample's image from others; None where unknown
    targets: Floats  # (m, k) numbers that are equal where targets are; NaN where unknown
    # Fields to break down by, each with m values, as in accuracy.evaluate.
    by: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Return True where a sample has several rollouts."""
        return bool((self.n > 1).any())


@dataclass(frozen=True)
class Pairs:
    """Comparison of two models over the same samples."""

    n: int  # samples; each counts once, with the mean acc of its rollouts
    images: int  # clusters of samples that share an image; a sample whose image is unknown is one by itself
    first: float  # accuracy of the first model, 0 to 1
    second: float  # accuracy of the second one
    difference: float  # second - first, -1 to 1
    # Its 95 % interval, by a bootstrap over images; None for fewer than two of them.
    interval: tuple[float, float] | None
    p_value: float  # two-sided, by flips of the signs of images' summed differences (stats.intervals.sign_flip)
    only_first: int | None  # samples that the first model alone has right; None where a sample has several rollouts
    only_second: int | None  # samples that the second one alone has right, likewise
    mcnemar: float | None  # p-value of McNemar's exact test, which takes samples as independent; likewise
    # The same for the samples of each value of each field, the most frequent value first.
    by: Mapping[str, Mapping[str, Pairs]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; ``by`` only where there is some."""
        values = {name: value for name, value in vars(self).items() if name != "by"}
        plain = {**values, "interval": None if self.interval is None else [*self.interval]}
        if self.by:
            plain["by"] = {
                name: {value: pairs.to_dict() for value, pairs in parts.items()} for name, parts in self.by.items()
            }
        return plain


@dataclass(frozen=True)
class Comparison:
    """Comparison of the samples that both files have, and the samples that are in no pair."""

    pairs: Pairs
    only_first: tuple[str, ...]  # names of samples that the first file alone has, in its order
    only_second: tuple[str, ...]
    not_valid: int  # samples of both without a valid rollout in one of them
    differing: tuple[str, ...]  # names of samples in pairs whose targets differ
    clustered: bool  # True where any image is known

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: those of the pairs, and numbers of samples that are in none."""
        return {
            **self.pairs.to_dict(),
            "left_out": [len(self.only_first), len(self.only_second)],
            "not_valid": self.not_valid,
            "differing_targets": len(self.differing),
            "clustered": self.clustered,
        }

    def notes(self) -> list[str]:
        """Return sentences on how samples were counted."""
        texts, every = [], self.pairs
        if every.mcnemar is None:
            texts.append(
                "--paired: samples have several rollouts, and each counts with the mean acc of its own; McNemar's test "
                "is for one answer a sample, so that there is none"
            )
        if every.by:
            texts.append("--paired: each p is that of its own row; none is corrected for the number of rows")
        if every.interval is None:
            texts.append("--paired: all samples share one image, or there is one sample: no interval can be made of it")
        elif not self.clustered:
            texts.append(
                "--paired: no column of images is known, so that the interval and p take samples as independent; "
                "--image-column names one"
            )
        if self.not_valid:
            texts.append(f"--paired: samples without a target that can be used, which are in no pair: {self.not_valid}")
        return texts

    def warnings(self, files: Sequence[str]) -> list[str]:
        """Return sentences on samples that are left out, and on targets that differ."""
        texts = []
        for file, names in zip(files, (self.only_first, self.only_second), strict=True):
            if names:
                texts.append(f"samples that {file} alone has, which are left out: {len(names)}, such as {_some(names)}")
        if self.differing:
            texts.append(
                f"{len(self.differing)} of {self.pairs.n} samples have another target in {files[1]} than in {files[0]},"
                f" such as {_some(self.differing)}: each answer is compared with its own file's"
            )
        return texts


def compare(first: SampleScores, second: SampleScores, *, seed: int = 0) -> Comparison:
    """Compare two models over the samples that both have answered.

    A sample's score is the mean ``acc`` of its valid rollouts, s. The difference is the mean of s_second - s_first; its
    interval is the percentiles of 10,000 bootstrap means for which images are drawn, each with all of its samples
    (``stats.intervals.Bootstrap``). Its p-value is by flips of the signs of images' sums (``sign_flip``). McNemar's
    exact test (``mcnemar``) compares the samples that one model alone has right, as if these were independent; with
    several rollouts a sample there is no such test.

    Fields are the first's, and so are images where it has some; ``seed`` is of the bootstrap and of drawn signs. Where
    no sample is in both, or none is valid in both, a TableError names the files.

    >>> images, targets = ["1.png", "1.png", "2.png"], np.zeros((3, 1))
    >>> one = SampleScores("a", ["x", "y", "z"], np.array([1, 0, 0]), np.ones(3, int), images, targets)
    >>> other = SampleScores("b", ["z", "y", "x"], np.array([1, 1, 1]), np.ones(3, int), images, targets)
    >>> pairs = compare(one, other).pairs
    >>> round(pairs.difference, 4), pairs.interval, round(pairs.p_value, 4), pairs.only_first, pairs.only_second
    (0.6667, (0.5, 1.0), 0.5, 0, 2)
    """
    place = {name: row for row, name in enumerate(second.names)}
    shared = np.array([(row, place[name]) for row, name in enumerate(first.names) if name in place], dtype=np.int64)
    if not len(shared):
        had = "; ".join(f"{each.file} has {_some(each.names)}" for each in (first, second))
        raise TableError(f"--paired: no sample is in both files: {had}; --id-column names the column of their names")
    scored = (first.n[shared[:, 0]] > 0) & (second.n[shared[:, 1]] > 0)
    if not scored.any():
        raise TableError(
            f"--paired: no sample has a target that can be used in both {first.file} and {second.file}: "
            f"{len(shared)} are in both"
        )
    rows = shared[scored].T
    clusters, clustered = _clusters(first, second, rows)
    shares = first.correct[rows[0]] / first.n[rows[0]], second.correct[rows[1]] / second.n[rows[1]]
    tests, bootstrap = not (first.several or second.several), Bootstrap(DRAWS, seed, 0.95)

    def pairs(some: Ints) -> Pairs:
        """Compare some of the pairs."""
        one, other, images = shares[0][some], shares[1][some], len(np.unique(clusters[some]))
        only_first, only_second = int((other < one).sum()), int((other > one).sum())
        return Pairs(
            n=len(some),
            images=images,
            first=exact_mean(one),
            second=exact_mean(other),
            difference=exact_mean(other - one),
            interval=bootstrap.interval(other - one, clusters[some]) if images > 1 else None,
            p_value=sign_flip(other - one, clusters[some], seed),
            only_first=only_first if tests else None,
            only_second=only_second if tests else None,
            mcnemar=mcnemar(only_first, only_second) if tests else None,
        )

    parts = {}
    for name, column in first.by.items():
        values = rows_by_value([column[row] for row in rows[0].tolist()])
        order = sorted(values, key=lambda value: (-len(values[value]), value))
        parts[name] = {value: pairs(values[value]) for value in order}
    others = set(first.names)
    return Comparison(
        pairs=replace(pairs(np.arange(rows.shape[1])), by=parts),
        only_first=tuple(name for name in first.names if name not in place),
        only_second=tuple(name for name in second.names if name not in others),
        not_valid=int((~scored).sum()),
        differing=tuple(first.names[row] for row in rows[0][~close(first.targets[rows[0]], second.targets[rows[1]])]),
        clustered=clustered,
    )


def _clusters(first: SampleScores, second: SampleScores, rows: NDArray[np.int64]) -> tuple[Ints, bool]:
    """Return the cluster of each pair, and True where any image is known."""
    pairs = ((first.images[one], second.images[other]) for one, other in rows.T.tolist())
    images = [one if one is not None else other for one, other in pairs]
    codes: dict[Hashable, int] = {}
    # A pair's number is no image, which is a text or a tuple of them.
    numbers = [codes.setdefault(row if image is None else image, len(codes)) for row, image in enumerate(images)]
    return np.array(numbers, dtype=np.int64), any(image is not None for image in images)


def close(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Return True for each of m rows of numbers that are equal but for rounding, or unknown: (m, k) to (m,)."""
    # Places that were written in another space, and converted, differ in the last digits.
    same: NDArray[np.bool_] = np.isclose(one, other, rtol=1e-6, atol=1e-9) | np.isnan(one) | np.isnan(other)
    alike: NDArray[np.bool_] = np.logical_and.reduce(same, axis=1)
    return alike


def _some(names: Sequence[str]) -> str:
    return ", ".join(f"{name!r:.80}" for name in names[:_SHOWN])
