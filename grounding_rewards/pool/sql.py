"""Columns of ``SampleStats`` in SQL, over rollouts grouped by sample; independent of the order of rollouts."""

from __future__ import annotations

import math
from collections.abc import Collection

from grounding_rewards.rollouts import PARSED, Reason
from grounding_rewards.tables.rollout_sql import quoted

LARGEST_TOTAL = 1e12
"""Totals of this size or beyond are errors: no reward is that large."""

_PARSED, _REASONS = (", ".join(f"'{reason.name}'" for reason in some) for some in (PARSED, Reason))
TOTAL = "CASE WHEN acc IS NOT NULL THEN total END"
"""Total of a scored rollout."""

_CLICK = "x_unit IS NOT NULL AND y_unit IS NOT NULL"
_SIDE = "image_size[{0}] > 0 AND isfinite(image_size[{0}])"
_SIZED = f"acc IS NOT NULL AND {_CLICK} AND {_SIDE.format(1)} AND {_SIDE.format(2)}"
_ACROSS = "sqrt(image_size[1] * image_size[1] + image_size[2] * image_size[2])"
_FAR, _FAR_BITS = 1000.0, 10
"""Points are clipped to so many image sizes, so that sums of integers do not overflow."""

CLICKS = ("x_unit", "y_unit")
"""Columns of the point of a rollout."""

GRID = 32
"""Cells along each side of an image, in which clicks count as the same answer."""


def counts(has: Collection[str], by: str | None, *, names: bool, rounds: bool) -> dict[str, str]:
    """Return the SQL of the columns that all statistics need, by name, over rollouts grouped by sample.

    ``unclear`` names samples with rollouts that may be repeated, ``several`` those with several sources. ``has`` names
    the table's columns; ``by`` becomes ``source``; ``names`` is True where ``sample_id`` is wanted, ``rounds`` for
    rollouts of several rounds.
    """
    columns = {"sample_id": "sample_id"} if names else {}
    columns |= {"unnamed": "coalesce(sample_id, '') = ''"}  # null = '' is null in SQL
    columns |= {"n": "count(acc)", "num_correct": "coalesce(count_if(acc = 1), 0)::BIGINT"}
    columns |= {"unscored": "count(*) - count(acc)", "wrong": "coalesce(count_if(acc <> 0 AND acc <> 1), 0)::BIGINT"}
    if by is not None and by in has:
        one, other = (f"{end}({quoted(by)}::VARCHAR)" for end in ("min", "max"))
        columns |= {"source": one, "several": f"CASE WHEN {one} <> {other} THEN sample_id END"}
        columns["other"] = f"CASE WHEN {one} <> {other} THEN {other} END"
    if "rollout" in has:
        # Rounds number their rollouts alike: 31, which is odd, moves each round to other bits.
        number = "(rollout & 63) + 31 * (coalesce(round, 0) & 63)" if rounds else "rollout"
        # Fewer distinct numbers modulo 64 than rollouts may mean a repeated one. Nulls set no bit: samples with
        # rollouts without a number are unclear here, and pass the check.
        bits = f"bit_count(bit_or(1::UBIGINT << (({number}) & 63)))"
        columns["unclear"] = f"CASE WHEN {bits} <> count(*) THEN sample_id END"
    return columns


def other_columns(has: Collection[str], largest: float) -> dict[str, str]:
    """Return the SQL of all other columns that a table's columns allow, with totals up to the size of the largest."""
    columns: dict[str, str] = {}
    if "total" in has:
        bits = max(0, math.ceil(math.log2(largest))) if largest else 0
        equal = f"WHEN min({TOTAL}) = max({TOTAL}) THEN min({TOTAL})"  # which a rounded mean need not be
        columns |= {"mean": f"CASE {equal} ELSE {_mean(TOTAL, bits)} END", "variance": _variance(TOTAL, bits)}
        columns |= {"lowest": f"min({TOTAL})", "highest": f"max({TOTAL})"}
    if "reason" in has:
        # Reasons of other programs count in neither.
        columns["parse_rate"] = f"count_if(reason IN ({_PARSED})) / nullif(count_if(reason IN ({_REASONS})), 0)"
    if {"x_unit", "y_unit"} <= set(has):
        columns |= _clicks("image_size" in has)
    if "response" in has:
        columns["distinct"] = "nullif(count(DISTINCT response) FILTER (acc IS NOT NULL), 0)"
    if {"target", "image_size"} <= set(has):
        columns |= {"target": "min(target)", "image_size": "min(image_size)"}  # the same in any order
        columns["recipe"] = "min(recipe)" if "recipe" in has else "NULL::VARCHAR"
    if "round" in has:
        columns["round"] = "max(round)"
    if "temperature" in has:
        columns["temperature"] = "CASE WHEN min(temperature) = max(temperature) THEN min(temperature) END"
    return columns


def _clicks(sized: bool) -> dict[str, str]:
    columns = {"clicks": f"coalesce(count_if({_CLICK}), 0)::BIGINT"}
    columns |= {name: _mean(_near(name, _CLICK), _FAR_BITS) for name in ("x_unit", "y_unit")}
    if sized:
        # In pixels: a share of the width and one of the height are of different lengths.
        sides = (_near(f"{axis}_unit", _SIZED, f" * image_size[{side}] / {_ACROSS}") for axis, side in ("x1", "y2"))
        squares = " + ".join(_variance(side, _FAR_BITS) for side in sides)
        columns["dispersion"] = f"CASE WHEN count_if({_SIZED}) >= 2 THEN sqrt({squares}) END"
    return columns


def _near(name: str, condition: str, times: str = "") -> str:
    return f"CASE WHEN {condition} THEN greatest(-{_FAR}, least({_FAR}, {name})){times} END"


def _mean(value: str, bits: int) -> str:
    """Return the SQL of the mean of values below 2^bits, rounded to 2^(bits - 60): sums of integers have no order."""
    fine = f"{2.0 ** (60 - bits)!r}::DOUBLE"
    return f"sum((({value}) * {fine})::HUGEINT)::DOUBLE / count({value}) / {fine}"


def _variance(value: str, bits: int) -> str:
    """Return the SQL of the variance, rounded to 2^(bits - 40), likewise: (n Σx² - (Σx)²) / n²."""
    whole = f"(({value}) * {2.0 ** (40 - bits)!r}::DOUBLE)::HUGEINT"
    of_squares = f"count({value}) * sum({whole} * {whole}) - sum({whole}) * sum({whole})"
    return f"({of_squares})::DOUBLE / count({value}) / count({value}) / {2.0 ** (80 - 2 * bits)!r}"


def answer(has: Collection[str]) -> str:
    """Return the SQL of a rollout's answer: its ``answer_key``, else the number of its cell; null without one."""
    across, down = (f"greatest(0, least({GRID - 1}, floor({name} * {GRID})))" for name in ("x_unit", "y_unit"))
    cell = f"CASE WHEN {_CLICK} THEN ({down} * {GRID} + {across})::INTEGER END"
    if "answer_key" not in has:
        return cell
    # Rollouts of another file may have no key, and keys may be the numbers of cells.
    return f"coalesce('key ' || answer_key, ({cell})::VARCHAR)" if set(CLICKS) <= set(has) else "answer_key"


def answered_by(has: Collection[str]) -> list[str]:
    """Return the columns that say what was answered, of those that there are; none where there are too few.

    >>> answered_by(["acc", "x_unit", "y_unit"]), answered_by(["answer_key", "x_unit"]), answered_by(["x_unit"])
    (['x_unit', 'y_unit'], ['answer_key'], [])
    """
    return [*({"answer_key"} & set(has)), *(CLICKS if set(CLICKS) <= set(has) else ())]


HASH = "hash(sample_id)"
"""Number that mostly stands for one name alone. Grouping by it takes half the time of grouping by names."""


def cells_of(has: Collection[str], where: str, key: str) -> str:
    """Return the query for the columns of ``SampleStats`` that count answers, sorted by ``key``, the SQL of a sample.

    Sums are of whole numbers, for those of floats depend on the order of rollouts.
    """
    by_answer = f"SELECT {key} AS key, {answer(has)} AS answer, count(acc) AS k FROM {{rollouts}}{where} GROUP BY 1, 2"
    n = "nullif(sum(k), 0)::DOUBLE"
    # Of one answer the difference of logarithms is a rounding, which a square root makes large.
    mixed = f"greatest(0, ln({n}) - {_of_counts('k * ln(k)')} / {n})"
    entropy = f"CASE WHEN sum(k) > 0 THEN CASE WHEN count_if(k > 0) = 1 THEN 0.0 ELSE {mixed} END END"
    return (
        f"SELECT key, nullif(count_if(k > 0), 0)::BIGINT AS cells, {entropy} AS cell_entropy, "
        f"{_of_counts('sqrt(k)')} / {n} AS cell_rarity FROM ({by_answer}) GROUP BY key ORDER BY key"
    )


def _of_counts(value: str) -> str:
    return f"sum(CASE WHEN k > 0 THEN ({value} * {_FINE!r})::HUGEINT END)::DOUBLE / {_FINE!r}"


_FINE = 2.0**40
