"""Check declared difficulty bands against measured pass rates: rates in order, and intervals apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

from numpy.typing import NDArray

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum.stages import Curriculum
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import wilson

Counts = Mapping[str, tuple[int, int]]
"""Right and scored rollouts by band."""

_NONE = (0, 0)


def check_bands(
    counts: Mapping[str, Counts], ranges: Mapping[str, tuple[float, float]], needed: Collection[str] = ()
) -> dict[str, Any]:
    """Check declared bands, easiest first, of all types together and of each, as plain values.

    Every easier band's pass rate must be above every harder one's, and Wilson's 95 % intervals apart. Rollouts count as
    independent, so that intervals are on the narrow side where a sample has many. ``needed`` bands must have scored
    rollouts; a rate outside of its band's range is reported, and no problem.
    """
    total = {
        band: tuple(sum(each.get(band, _NONE)[at] for each in counts.values()) for at in (0, 1)) for band in ranges
    }
    overall = _checked(total, ranges)
    overall["problems"] += [f"{band} has no scored rollouts" for band in overall["missing"] if band in needed]
    there = len(ranges) - len(overall["missing"])
    if there < 2:
        overall["problems"].append(
            f"{there} of {len(ranges)} bands have scored rollouts; expected two at least to compare"
        )
    # A single type is all of them, checked already.
    types = {kind: _checked(counts[kind], ranges) for kind in (sorted(counts) if len(counts) > 1 else ())}
    named = {"all types": overall, **{f"type {kind!r}": each for kind, each in types.items()}}
    problems = [f"{name}: {problem}" for name, each in named.items() for problem in each["problems"]]
    remarks = [
        f"{name}: no scored rollouts of {', '.join(each['missing'])}"
        + ("; so there is nothing to compare" if len(ranges) - len(each["missing"]) < 2 else "")
        for name, each in named.items()
        if each["missing"]
    ]
    return {"passed": not problems, "problems": problems, "remarks": remarks, "overall": overall, "types": types}


def _checked(counts: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Check the bands of one type."""
    bands = list[dict[str, Any]]()
    for band, (least, most) in ranges.items():
        correct, n = counts.get(band, _NONE)
        low, high = map(float, wilson(correct, n))
        rate = correct / n if n else None
        inside = None if rate is None else least <= rate <= most
        bands.append(
            {"band": band, "correct": correct, "n": n, "low": low, "high": high, "inside": inside, "rate": rate}
        )
    there = [each for each in bands if each["n"]]
    problems = [problem for easier, harder in combinations(there, 2) if (problem := _problem(easier, harder))]
    return {"bands": bands, "problems": problems, "missing": [each["band"] for each in bands if not each["n"]]}


def _problem(easier: Mapping[str, Any], harder: Mapping[str, Any]) -> str | None:
    pair = f"{easier['band']} and {harder['band']}"
    one, other = ("{band} {rate:.3f} [{low:.3f}, {high:.3f}]".format(**each) for each in (easier, harder))
    if easier["rate"] < harder["rate"]:
        return f"{pair} are inverted: {one} is below {other}"
    if easier["rate"] == harder["rate"]:
        return f"{pair} are equal: {one} is not above {other}"
    apart = easier["low"] > harder["high"]
    return None if apart else f"{pair} are not apart: the intervals of {one} and {other} overlap"


def check_stats(stats: SampleStats, declared: Sequence[Any] | NDArray[Any], curriculum: Curriculum) -> dict[str, Any]:
    """Check the bands that samples declare, None for none, by their source; see ``check_bands``."""
    known = {band.name: (band.low, band.high) for band in curriculum.easiest_first()}
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for row, band in enumerate(declared):
        if band is None or band != band:  # null, as Parquet's NaN too
            continue
        if band not in known:
            raise PoolError(f"{stats.named(row)} declares the band {band!r:.80}; expected one of {', '.join(known)}")
        kind = "unknown" if stats.source[row] is None else str(stats.source[row])
        correct, n = counts.setdefault(kind, {}).get(band, _NONE)
        counts[kind][band] = correct + int(stats.num_correct[row]), n + int(stats.n[row])
    if not counts:
        raise PoolError(f"no sample declares a band; expected {', '.join(known)} in the column of declared bands")
    return check_bands(counts, known, {name for stage in curriculum.stages for name in stage.bands})
