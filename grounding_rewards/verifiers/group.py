"""Scores beside the target: agreement and repetition in a group, noise against ties, and a sample's factor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import extents
from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.groups import consensus
from grounding_rewards.groups.blocks import LARGE, by_size, neighbours
from grounding_rewards.groups.exploration import answer_counts
from grounding_rewards.rollouts import Reason, Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.hit import check_sizes, within
from grounding_rewards.verifiers.options import Count, Length, Positive, Range
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, Term

NEEDS_GROUPS = frozenset({"groups"})
"""Compares the rollouts of one sample, and so needs the sample of each row."""


@dataclass(frozen=True)
class _Voting(Term):
    """Base of ``Consensus`` and ``InConsensus``."""

    size: Positive = consensus.SIZE

    needs = NEEDS_GROUPS

    def row_numbers(self, rollouts: Rollouts, row: int, score: float) -> dict[str, float | str]:
        """Return the largest number of votes of a row's group, and that at its point."""
        regions = _regions(rollouts, self.size)
        if np.isnan(regions[row]).any():
            return {"vote": "none: there is no place in the image"}
        here, most = consensus.votes_at(rollouts.predictions.xy, regions, rollouts.groups)
        return {"v_max": most[row].item(), "v at the point": here[row].item()}


@dataclass(frozen=True)
class Consensus(_Voting):
    """(1 / (|R| · v_max)) · ∫_R v: the agreement on the region about this rollout, as a share of the largest there is.

    Each rollout votes for its region R: the square of side ``size`` about its point, or the box that it answered (the
    square about its centre where that box has no area). v(x, y) counts the regions of the group that hold (x, y),
    v_max is its largest value, and the integral is Σ |R_j ∩ R|, exact. Regions that merely touch share nothing. 0.0 to
    1.0; 0.0 for rows without a place in the image, which do not vote either. 1.0 where all that vote agree, so also
    for the only one of its group; one that no other overlaps is worth 1 / v_max.

    Args:
        size: the side of the square, in units of the recipe's space; above 0. The paper's is 50 pixels.

    Source: GUI-RCPO, from the paper.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        return consensus.consensus_scores(_regions(rollouts, self.size), rollouts.groups)


@dataclass(frozen=True)
class InConsensus(_Voting):
    """1.0 where the point lies in the consensus of its group, else 0.0: where v = v_max, and v_max >= ``votes``.

    v and v_max are those of ``Consensus``, whose squares have the side ``size``. Where several places have equally many
    votes, each of them is the consensus. 0.0 for rows without a place in the image.

    Args:
        size: as in ``Consensus``.
        votes: how many rollouts must agree at least; a whole number from 1. Under 1, a rollout that stands alone is
            its own consensus.

    Source: GUI-RC, from the paper, which clicks there.
    """

    votes: Count = 2

    def __call__(self, rollouts: Rollouts) -> Floats:
        regions = _regions(rollouts, self.size)
        here, most = consensus.votes_at(rollouts.predictions.xy, regions, rollouts.groups)
        agreed: NDArray[np.bool_] = (here == most) & (most >= self.votes)
        return agreed.astype(np.float64)


def clicks(rollouts: Rollouts) -> Floats:
    """Return the points answered in the image: (n, 2), NaN in all other rows."""
    predictions = rollouts.predictions
    return np.where((predictions.reason == Reason.OK)[:, None], predictions.xy, np.nan)


def _regions(rollouts: Rollouts, size: float) -> Floats:
    return consensus.voting_regions(clicks(rollouts), rollouts.predictions.box, size)


Per = Literal["others", "group"]

Cells = Annotated[int, Range(1, 10_000, whole=True)]
"""Cells along a side: as many as a screen has pixels."""


@dataclass(frozen=True)
class _Near(Term):
    """Base of ``Repetition`` and ``Novelty``."""

    radius: Length | None = None
    share: Length | None = None
    grid: Cells | None = None

    rivals, needs_one = ("radius", "share", "grid"), True

    @property
    def needs(self) -> frozenset[str]:
        return NEEDS_GROUPS if self.radius is not None else NEEDS_GROUPS | NEEDS_SCREEN

    def repeated(self, rollouts: Rollouts, xy: Floats) -> Floats:
        """Return how many other rollouts of the group click near each point: (n,), 0.0 without one."""
        if self.grid is not None:
            size = _screens(rollouts, type(self).__name__, xy)
            others = answer_counts(_cells(xy / size, self.grid), rollouts.groups) - 1.0
            return np.where(others > 0, others, 0.0)
        scale = np.ones((1, 2)) if self.share is None else _screens(rollouts, type(self).__name__, xy)
        scale, reach = np.broadcast_to(scale, xy.shape), self.radius if self.share is None else self.share
        near = np.zeros(len(xy))
        for block in by_size(rollouts.groups, np.flatnonzero(~np.isnan((xy + scale).sum(axis=1)))):
            near[block] = _count_near(xy[block], scale[block], reach or 0.0) - 1  # itself is none of the others
        return near


@dataclass(frozen=True)
class Repetition(_Near):
    """The share of the other rollouts of its group that click within reach of this one: 0.0 to 1.0.

    Within reach is up to ``radius`` or ``share`` away, or in the same cell of ``grid``. Where ``per`` is "group", their
    number is divided by that of all rollouts of the group instead, and 1.0 is not reached.

    0.0 in a group of one, and for rows without a place in the image; these count among the others, near to nothing.
    The target does not matter. A part of negative weight keeps a policy from collapsing to one place, but also pushes
    it away from the right one: let it count among misses only.

    Args:
        radius: the reach in units of the recipe's space, itself within.
        share: the reach as a share of the screen, ||(dx / width, dy / height)||.
        grid: cells along each side of the screen; one of the three must be given.
        per: "others" or "group". With ``grid``, "group" and a negative weight it is the batch penalty of outcome-based
            exploration (arXiv 2509.06941, as reading notes on it say); cells of a grid are our own form of its answers.

    Raises:
        TargetError: ``share`` or ``grid`` is given, the recipe works in a pixel space, and the size of an image is
            unknown.

    A hit, or -0.2 of the share of rollouts that miss alike:

    >>> from grounding_rewards.combine import affine, gate, weighted
    >>> from grounding_rewards.verifiers import Hit
    >>> hit = Hit()
    >>> missed = affine("other", hit, scale=-1.0, shift=1.0)
    >>> again = gate(when=("missed", missed), then=("repetition", Repetition(radius=14)))
    >>> reward = weighted(hit=(1.0, hit), again=(-0.2, again))
    >>> reward.low, reward.high, sorted(reward.needs)
    (-0.2, 1.0, ['groups'])
    """

    per: Per = "others"

    def __call__(self, rollouts: Rollouts) -> Floats:
        return _share(rollouts, self.repeated(rollouts, clicks(rollouts)), itself=self.per == "group")


@dataclass(frozen=True)
class Novelty(_Near):
    """1 - repetition for rows that click in the image, else 0.0: the share of the others that click elsewhere.

    1.0 in a group of one. By itself, or with a weight of its own in ``weighted`` or ``composite``, it rewards a miss
    for being alone: gate it by a hit, so that among right clicks those that no other rollout found are worth more.

    Args:
        radius: the reach,
        share: and
        grid: as in ``Repetition``.

    Raises:
        TargetError: as in ``Repetition``.

    >>> from grounding_rewards.combine import gate, weighted
    >>> from grounding_rewards.verifiers import Hit
    >>> hit = Hit()
    >>> new = gate(when=("inside", hit), then=("novelty", Novelty(radius=14)))
    >>> reward = weighted(hit=(0.8, hit), new=(0.2, new))
    >>> reward.low, reward.high, sorted(reward.needs)
    (0.0, 1.0, ['groups'])
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        xy = clicks(rollouts)
        return np.where(np.isnan(xy[:, 0]), 0.0, 1.0 - _share(rollouts, self.repeated(rollouts, xy)))


def _share(rollouts: Rollouts, near: Floats, *, itself: bool = False) -> Floats:
    """Return numbers of other rollouts as shares of all others of the group, or of all of it."""
    sizes = np.bincount(rollouts.groups)[rollouts.groups]
    share: Floats = near / np.maximum(sizes - (not itself), 1)
    return share


def _cells(unit: Floats, grid: int) -> NDArray[np.int64]:
    """Return the number of each point's cell, of places in shares of the screen: (n, 2) to (n,), -1 without one."""
    clicked = ~np.isnan(unit[:, 0] + unit[:, 1])
    column, row = np.clip(np.floor(np.where(clicked[:, None], unit, 0.0) * grid), 0, grid - 1).astype(np.int64).T
    return np.where(clicked, row * grid + column, -1)


def _count_near(xy: Floats, scale: Floats, reach: float) -> NDArray[np.int64]:
    """Count the points of a group within reach of each, itself included: (g, k, 2) to (g, k)."""
    if xy.shape[1] < LARGE:
        return np.asarray(np.count_nonzero(_is_near(xy, scale, xy, reach), axis=2), dtype=np.int64)
    rows, where, counts = np.unique(
        np.concatenate((xy, scale), axis=2)[0], axis=0, return_inverse=True, return_counts=True
    )
    span = reach * rows[:, 2]  # how far along x others can lie
    order = np.argsort(rows[:, 0] - span, kind="stable")  # neighbours asks for ascending beginnings
    points, scale, span, counts = rows[None, order, :2], rows[None, order, 2:], span[order], counts[order]
    counts_near = np.empty(len(rows), dtype=np.int64)
    for part, others in neighbours(points[0, :, 0] - span, points[0, :, 0] + span):
        near = _is_near(points[:, part], scale[:, part], points[:, others], reach)[0]
        counts_near[order[part]] = (near * counts[others]).sum(axis=1)  # each place as often as it was clicked
    return counts_near[where].reshape(1, -1)


def _is_near(xy: Floats, scale: Floats, others: Floats, reach: float) -> NDArray[np.bool_]:
    """Test which others lie within reach of each point: (g, c, 2) and (g, k, 2) to (g, c, k)."""
    away = (xy[:, :, None] - others[:, None]) / scale[:, :, None]
    return within(away.reshape(-1, 2), np.zeros((1, 2)), reach).reshape(away.shape[:3])


def _screens(rollouts: Rollouts, verifier: str, xy: Floats) -> Floats:
    """Return width and height of each row's image, in the space of the points; rows that click need them."""
    sizes = extents(rollouts.predictions.space, rollouts.image_sizes, rollouts.model_image_sizes)
    check_sizes(rollouts, verifier, sizes, np.arange(len(rollouts)), ~np.isnan(xy[:, 0]))
    return sizes


def _seed(value: Any) -> Any:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError("a whole number of at most 64 bits")
    return value


@dataclass(frozen=True)
class Noise(Term):
    """amplitude · u, with u in [-1, 1) drawn from the response's text and the seed alone. A term for ``weighted``.

    Equal texts get equal noise, so that rollouts that say the same stay tied: they are one and the same action, and a
    difference between their rewards would push the policy towards and away from the very same words. Different texts
    differ, which gives a group of equal scores some variance. Neither order, batch, process nor platform matters. A
    policy can learn which texts the seed favours: keep the amplitude far below the smallest difference that counts,
    or change the seed from round to round.

    Args:
        amplitude: the largest noise; 0 adds nothing.
        seed: a whole number of at most 64 bits; another one draws other noise.

    >>> from grounding_rewards.combine import weighted
    >>> from grounding_rewards.verifiers import Hit
    >>> reward = weighted(hit=(1.0, Hit()), noise=(1.0, Noise(0.01, seed=7)))
    >>> reward.low, reward.high
    (-0.01, 1.01)
    """

    amplitude: Length
    seed: Annotated[int, _seed] = 0

    @property
    def low(self) -> float:
        """-amplitude."""
        return -float(self.amplitude)

    @property
    def high(self) -> float:
        """The amplitude."""
        return float(self.amplitude)

    def __call__(self, rollouts: Rollouts) -> Floats:
        if self.amplitude == 0:
            return np.zeros(len(rollouts))
        return self.amplitude * uniform(rollouts.text, self.seed)


def uniform(texts: Sequence[str], seed: int) -> Floats:
    """Return a number in [-1, 1) for each text: the first 53 bits of a keyed BLAKE2b hash of its UTF-8 form.

    >>> uniform(["(10, 20)", "(10, 21)", "(10, 20)"], seed=0).round(4)
    array([-0.7512,  0.8974, -0.7512])
    """
    from hashlib import blake2b

    key = seed.to_bytes(8, "little", signed=True)
    # "surrogatepass", because a response may hold lone surrogates, for which UTF-8 has no form.
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for text in texts]
    # 53 bits, as many as a float holds exactly, times 2^-52: from 0 to below 2.
    bits = np.frombuffer(b"".join(digests), dtype="<u8") >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-52 - 1.0


@dataclass(frozen=True)
class Difficulty(Term):
    """The sample's own factor, limited to least..most; 1.0 where the sample has none. A factor for ``product``.

    It comes from the column ``extras[key]`` of ``Recipe.score``, else from the target's ``{"extra": {key: 0.7}}``;
    None and NaN are none. A trainer that divides advantages by a group's standard deviation takes such a factor out
    again: use it where it does not, as GUI-G1 did with its ``rate``.

    Args:
        most: the largest factor.
        least: the smallest, from 0.
        key: where the factor stands.

    Raises:
        TargetError: a factor is not a number.
        RecipeError: ``extras[key]`` has another length than the responses.

    >>> from grounding_rewards.combine import product
    >>> from grounding_rewards.verifiers import Hit
    >>> reward = product(hit=Hit(), rate=Difficulty(most=2.0))
    >>> reward.low, reward.high
    (0.0, 2.0)
    """

    most: Length
    least: Length = 0.0
    key: str = "difficulty"

    reads = frozenset({"extras"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.most:
            raise options.wrong(self, "most", f"a number from least, {self.least:g}")
        if not isinstance(self.key, str) or not self.key:
            raise options.wrong(self, "key", "the name of a field")

    @property
    def low(self) -> float:
        """The smallest factor."""
        return float(self.least)

    @property
    def high(self) -> float:
        """The largest factor."""
        return float(self.most)

    def __call__(self, rollouts: Rollouts) -> Floats:
        valid, sample = rollouts.targets.valid.tolist(), rollouts.targets.sample
        rows = rollouts.targets.rows
        own = [row.extra.get(self.key) if row and isinstance(row.extra, Mapping) else None for row in rows]
        factors = _numbers(own, valid, f"extra.{self.key}", sample)
        if rollouts.extras.get(self.key) is not None:
            values = rollouts.extras[self.key]
            if len(values) != len(own):
                raise RecipeError(f"extras[{self.key!r}]: got {len(values)}; expected one for each of {len(own)} rows")
            column = _numbers(values, valid, f"extras.{self.key}", sample)
            factors = np.where(np.isnan(column), factors, column)
        return np.clip(np.where(np.isnan(factors), 1.0, factors), self.least, self.most)


def _numbers(values: Iterable[Any], valid: list[bool], field: str, sample: Callable[[int], str | int]) -> Floats:
    """Read the factors of all rows, NaN where there is none and where the target is not valid."""
    factors = np.full(len(valid), np.nan)
    for row, value in enumerate(values):
        value = value.item() if isinstance(value, np.generic) else value  # numpy's float32 is no float of Python's
        if value is None or not valid[row]:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TargetError(sample(row), field, value, "a number, or nothing")
        # In this order a NaN stays one; a whole number of 400 digits would not fit into a float.
        factors[row] = max(min(value, sys.float_info.max), -sys.float_info.max)
    return factors
