"""Quotas and draws: exact numbers of samples, and draws that depend on the seed and the samples' names alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError

_AT_ONCE = 1 << 16  # names hashed at once: the digests of millions, an object each, take more memory than the keys


def largest_remainder(shares: Sequence[Any], total: int) -> list[int]:
    """Split a total in proportion to shares: floors, and one more for the largest remainders.

    Of equal remainders the larger share is served first, then the earlier. Shares need not sum to 1.

    Source: Hamilton's method.
    """
    exact = [_exact("shares", share) for share in shares]  # fractions: floats would break ties by their rounding
    check_whole("total", total, 0)
    if any(share < 0 for share in exact) or not any(exact):
        raise PoolError(f"shares: got {list(shares)}; expected numbers from 0, and one above 0")
    unit = math.lcm(*(share.denominator for share in exact))
    numbers = [share.numerator * (unit // share.denominator) for share in exact]
    of = sum(numbers)
    whole, rest = map(list, zip(*(divmod(number * total, of) for number in numbers), strict=True))
    for place in sorted(range(len(rest)), key=lambda place: (-rest[place], -numbers[place]))[: total - sum(whole)]:
        whole[place] += 1
    return whole


def zero_quota(positive: int, zero_share: Any) -> int:
    """Return the number of never-solved samples to go with ``positive`` others, for a share of ``zero_share`` in both.

    ``f / (1 - f) * positive``, rounded to the nearest whole number and from the middle up, in exact arithmetic: 0.2 is
    one fifth here, not the float next to it.

    Source: the 20/80 split that the Gelato pipeline reports, positive samples fixing the size.
    """
    share = share_of_zeros(zero_share)
    check_whole("positive samples", positive, 0)
    return int(share / (1 - share) * positive + Fraction(1, 2))


def share_of_zeros(zero_share: Any) -> Fraction:
    """Return the share of never-solved samples as an exact fraction, as it is written."""
    share = _exact("zero_share", zero_share)
    if share == 1:
        raise PoolError(
            "zero_share: got 1; a pool of never-solved samples alone has no positive ones to fix its size; expected a "
            "number below 1, such as 0.2, or take the samples with num_correct 0 from `grounding-rewards pool stats`"
        )
    if not 0 <= share < 1:
        raise PoolError(f"zero_share: got {zero_share!r:.80}; expected a number from 0 to below 1, such as 0.2")
    return share


def most_positive(limit: int, zero_share: Any) -> int:
    """Return the largest number p of positive samples for which p + zero_quota(p) is at most ``limit``."""
    check_whole("limit", limit, 1)
    positive = int(limit * (1 - share_of_zeros(zero_share))) + 1  # + 1: zero_quota may round down
    while positive and positive + zero_quota(positive, zero_share) > limit:
        positive -= 1
    return positive


def draw(
    sample_ids: Sequence[Any] | NDArray[Any], count: int, *, seed: int, purpose: str, log_weights: Floats | None = None
) -> NDArray[np.int64]:
    """Draw ``count`` samples without replacement, or all that can be drawn, and return their rows.

    Every sample draws a number u from 0 to 1 that depends on the seed, the purpose and its name alone, and those with
    the largest u^(1 / weight) are taken. So the draw depends neither on the order of rows nor on other samples, and
    draws for different purposes are independent. ``log_weights`` are (m,) logarithms of the weights; minus infinity,
    that of 0, is never drawn, and None draws all alike.

    Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    """
    check_whole("count", count, 0)
    check_whole("seed", seed, 0)
    if count >= len(sample_ids) and (log_weights is None or not np.isneginf(log_weights).any()):
        return np.arange(len(sample_ids))  # nothing to choose: no need to hash millions of names
    keys = hashed(sample_ids, int(seed), purpose)
    if log_weights is None:
        return np.sort(np.argsort(~keys, kind="stable")[:count])  # ``~``: largest first; unsigned, so no minus
    usable = np.flatnonzero(~np.isneginf(log_weights))
    key, log = keys[usable], log_weights[usable]
    score = np.zeros(len(usable))
    if (log != log[:1]).any():  # equal weights draw as none do: by all 64 bits of the key
        # u^(1/w) is largest where log(-log u) - log w is smallest, which neither overflows nor underflows.
        score = np.log(-np.log(uniform(key))) - log
    order = np.lexsort((~key, score))  # its last key counts first
    return np.sort(usable[order[:count]])


def hashed(sample_ids: Sequence[Any] | NDArray[Any], seed: int, purpose: str) -> NDArray[np.uint64]:
    """Hash the seed, the purpose and each name to 64 bits; the number 1 and the text 1 differ."""
    # Hashed to the length of a salt, for a purpose may be longer.
    salt = blake2b(f"{seed} {purpose}".encode(), digest_size=blake2b.SALT_SIZE).digest()
    keys = np.empty(len(sample_ids), dtype=np.uint64)
    for start in range(0, len(keys), _AT_ONCE):
        names = map(_bytes, sample_ids[start : start + _AT_ONCE])
        digests = b"".join([blake2b(name, digest_size=8, salt=salt).digest() for name in names])
        keys[start : start + _AT_ONCE] = np.frombuffer(digests, dtype="<u8")  # the same on all machines
    return keys


def uniform(keys: NDArray[np.uint64]) -> Floats:
    """Return numbers between 0 and 1, without both ends, made of 64 random bits each."""
    return np.asarray(((keys >> np.uint64(11)) + 0.5) * 2.0**-53)


def _bytes(name: Any) -> bytes:
    written = str(name).encode("utf-8", "surrogatepass")  # names may hold lone surrogates
    return written if isinstance(name, str) else b"\xff" + written  # which no text holds


def _exact(name: str, value: Any) -> Fraction:
    try:
        return Fraction(value if type(value) is int else str(value))  # as it is written, and numpy's numbers too
    except (ValueError, ZeroDivisionError):
        raise PoolError(f"{name}: got {value!r:.80}; expected a number from 0") from None


def check_whole(name: str, value: Any, least: int) -> int:
    """Check a whole number, numpy's included, and return it as an int."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise PoolError(f"{name}: got {value!r:.80}; expected a whole number from {least}")
    return int(value)
