"""Methods on the same rollouts, side by side: what each would keep or weigh, as numbers, on files and as a page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import GroundingRewardsError, PoolError, TableError
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.plugins.named import ALLOCATION, CHOICE, SELECTOR, kind_of
from grounding_rewards.plugins.registry import PATHS, registry
from grounding_rewards.pool import methods
from grounding_rewards.pool.aggregate import ALL, HISTORY, answered_by
from grounding_rewards.pool.command import figures, source
from grounding_rewards.pool.inputs import mixed
from grounding_rewards.pool.methods import allocate, choose, select
from grounding_rewards.pool.report.command import listing
from grounding_rewards.pool.report.rounds import Options, round_of
from grounding_rewards.pool.rollouts import RolloutColumns, read_columns
from grounding_rewards.pool.selection import next_pool, plain
from grounding_rewards.pool.stats import PASS_RATES, SampleStats, pass_rate_bins
from grounding_rewards.tables.reporting import SILENT, Advance, Reporting
from grounding_rewards.tables.rollout_table import RolloutTable
from grounding_rewards.tables.writing import check_output, write_file
from grounding_rewards.viewer.blocks import Block, bar, bars, heat, matrix, section
from grounding_rewards.viewer.page import check_page, write_page

REFERENCE = "reference"
"""Kind of the rows that methods are compared with."""


@dataclass(frozen=True)
class Candidate:
    """Method of a comparison, built where that can be."""

    name: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)  # the caller's arguments
    built: Any = None  # the method itself; None where it cannot be built
    needs: tuple[str, ...] = ()  # required arguments that are missing
    reason: str = ""  # a description of why it cannot run, if it cannot for another cause

    @property
    def label(self) -> str:
        """Return the name with the arguments."""
        listed = ", ".join(f"{name}={json.dumps(plain(value))}" for name, value in self.arguments.items())
        return f"{self.name}({listed})" if listed else self.name


_REFERENCES = (
    Candidate("control", REFERENCE, built=lambda stats: np.where(stats.n > 0, 1.0, 0.0)),
    Candidate("next", REFERENCE, built=lambda stats: np.bincount(next_pool(stats, seed=0).kept, minlength=len(stats))),
)


def candidates(specs: Iterable[str | Mapping[str, Any]] = ()) -> list[Candidate]:
    """Build methods for a comparison; those whose required arguments are missing only name them."""
    chosen = list[Candidate]()

    def by_kind(name: str) -> tuple[int, str]:
        return (SELECTOR, ALLOCATION, CHOICE).index(kind_of(registry().methods[name])), name

    try:
        for spec in list(specs) or ["all"]:
            chosen += map(_candidate, sorted(PATHS["methods"], key=by_kind) if spec == "all" else [spec])
    except RecursionError:  # specifications come from JSON, nested at will
        raise PoolError("method: is nested too deep") from None
    built = {each.name for each in chosen if each.built is not None}
    return list({each.label: each for each in chosen if each.built is not None or each.name not in built}.values())


def _candidate(spec: str | Mapping[str, Any]) -> Candidate:
    config = dict(spec) if isinstance(spec, Mapping) else {"name": spec}
    name = config.pop("name", None)
    thing = registry().methods.get(name) if isinstance(name, str) else None
    if thing is not None and (needs := _missing(thing, config)):
        return Candidate(str(name), kind_of(thing), config, needs=needs)
    built = methods.method({"name": name, **config})
    return Candidate(str(name), kind_of(built), config, built)


def _missing(thing: Any, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the required arguments that a config lacks; ``needs_one_of`` of a class names those of which one is."""
    if not isinstance(thing, type):
        return ()
    either: tuple[str, ...] = getattr(thing, "needs_one_of", ())
    if either and not set(either) & set(config):
        return (" or ".join(either),)
    parameters = inspect.signature(thing).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(
        each.name for each in parameters
        if each.default is each.empty and each.kind in named and each.name not in config
    )  # fmt: skip


_AT_ONCE = 1 << 14  # samples: the weights of all methods for so many stay in the processor's cache


def measures(stats: SampleStats, weights: Floats) -> dict[str, Any]:
    """Return the measures of (m,) weights from 0, one of them above 0; None where no sample has what is measured."""
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # exact; sums of the largest floats would overflow
    shares = np.bincount(pass_rate_bins(stats), weights, len(PASS_RATES)) / weights.sum()
    return {
        "kept": int((weights > 0).sum()),
        # as many samples of one weight would be as uneven
        "effective": float(weights.sum() ** 2 / (weights**2).sum()),
        "zero_share": float(weights[stats.none_correct].sum() / weights.sum()),
        "mean_p": _mean(stats.pass_rate, weights),
        "zero_signal_share": _mean(np.where(np.isnan(stats.spread), np.nan, stats.spread <= NO_SIGNAL), weights),
        "by_pass_rate": shares.tolist(),
    }


def overlaps(weights: Sequence[Floats]) -> Floats:
    """Return the overlap of each two methods, (k, k): the sum over samples of the smaller of their shares."""
    shared = np.zeros((len(weights), len(weights)))
    largest = np.array([each.max() for each in weights])[:, None]  # sums near the largest float would overflow
    totals = np.array([(each / each.max()).sum() for each in weights])[:, None]
    for start in range(0, len(weights[0]) if weights else 0, _AT_ONCE):
        parts = np.array([each[start : start + _AT_ONCE] for each in weights]) / largest / totals
        for place, part in enumerate(parts):
            shared[place, place:] += np.minimum(part, parts[place:]).sum(axis=1)
    shared = np.minimum(np.maximum(shared, shared.T), 1.0)
    np.fill_diagonal(shared, 1.0)
    return shared


def in_per_cent(share: float) -> str:
    """Format an overlap, with 100 for methods that weigh alike and a point for those without a common sample."""
    if share == 0:
        return "."
    rounded = round(100 * share) if share >= 1.0 - 1e-9 else min(round(100 * share), 99)
    return f"{rounded}" if share >= 0.01 else "<1"


def _mean(values: Floats, weights: Floats) -> float | None:
    """Return the weighted mean of known values; None without one."""
    known = ~np.isnan(values)
    total = weights[known].sum()
    return float((weights[known] * values[known]).sum() / total) if total else None


@dataclass(frozen=True, eq=False)
class Plan:
    """Comparison of methods."""

    samples: int  # number of samples
    measured: int  # number of samples with a scored rollout
    rollouts: int  # number of rollouts, unscored ones included
    # methods that ran with their measures, and the rollouts that a choice keeps or an allocation asks for, else None
    rows: tuple[tuple[Candidate, dict[str, Any]], ...]
    left_out: tuple[Candidate, ...]  # methods that did not, with the arguments that they need, or a reason
    overlap: Floats = field(repr=False)  # (k, k) overlap of the rows' methods with each other
    sample_id: NDArray[np.object_] = field(repr=False)  # (m,) names of the samples
    weights: tuple[Floats, ...] = field(repr=False)  # (m,) weights of the samples by each of the rows' methods

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "samples": self.samples,
            "measured": self.measured,
            "rollouts": self.rollouts,
            "pass_rates": list(PASS_RATES),
            "methods": [
                {**_identity(method), **found, "overlap": shared}
                for (method, found), shared in zip(self.rows, self.overlap.tolist(), strict=True)
            ],
            "left_out": [
                {**_identity(each), "needs": list(each.needs), "reason": each.reason or None} for each in self.left_out
            ],
        }  # fmt: skip


def compare(
    stats: SampleStats,
    methods: Sequence[Candidate],
    rollouts: RolloutColumns | None = None,
    *,
    advance: Advance = lambda done: None,
) -> Plan:
    """Compare methods by the weights that they give to samples, two references first.

    The weight of a sample is a selector's, the number of further rollouts of an allocation, or that of its rollouts
    that a choice keeps, whose mean pass rate and share without signal are those of these rollouts.
    """
    if not stats.n.any():
        raise PoolError("no sample has a scored rollout; expected one or more to compare methods")
    place = None if rollouts is None else _places(stats, rollouts)
    every = [*_REFERENCES, *methods]
    rows, weights, left_out = list[tuple[Candidate, dict[str, Any]]](), list[Floats](), list[Candidate]()
    for done, method in enumerate(every):
        advance(done / len(every))
        if not (method.needs or method.reason):
            try:
                weighed, number, kept = _weighed(stats, method, rollouts, place)
            except (Exception, SystemExit) as error:  # one method is anybody's code, and must not end the others
                method = replace(method, reason=_reason(error))
        if method.needs or method.reason:
            left_out.append(method)
        else:
            rows.append((method, {"rollouts": number, **measures(stats, weighed), **kept}))
            weights.append(weighed)
    counts = len(stats), int((stats.n > 0).sum()), int((stats.n + stats.unscored).sum())
    return Plan(*counts, tuple(rows), tuple(left_out), overlaps(weights), stats.sample_id, tuple(weights))


def _weighed(
    stats: SampleStats, method: Candidate, rollouts: RolloutColumns | None, place: Ints | None
) -> tuple[Floats, int | None, dict[str, Any]]:
    """Return the (m,) weights of the samples, the rollouts that are kept or asked for, and measures of those kept."""
    weights: Floats
    number, own = None, {}
    if method.kind == CHOICE:
        if rollouts is None or place is None:
            raise PoolError("needs rollouts; these are statistics of samples")
        kept = choose(rollouts, method.built).kept
        number, weights = len(kept), np.bincount(place[rollouts.sample[kept]], minlength=len(stats)).astype(np.float64)
        after = figures(rollouts, kept)
        own = {"mean_p": after["mean_p"], "zero_signal_share": after["no_signal"]}
    elif method.kind == ALLOCATION:
        further = allocate(stats, method.built)
        number, weights = int(further.sum()), further.astype(np.float64)
    else:
        weights = method.built(stats).astype(np.float64) if method.kind == REFERENCE else select(stats, method.built)
    for row in np.flatnonzero(weights < 0)[:1]:
        raise PoolError(
            f"keeps nothing: {stats.named(row)} has the weight {weights[row]:g}, and a pool is drawn by weights from 0"
        )
    if not weights.any():
        raise PoolError("keeps nothing: all weights are 0")
    return weights, number, own


def _reason(error: BaseException) -> str:
    """Return the message in one line; of a selector's own error without what ``select`` puts before it."""
    own = error.__cause__ if isinstance(error.__cause__, GroundingRewardsError) else error
    return " ".join(f"{own}".split()) or type(own).__name__


def _places(stats: SampleStats, rollouts: RolloutColumns) -> Ints:
    """Return the row of each of the rollouts' samples, by their names."""
    rows = {str(name): row for row, name in enumerate(stats.sample_id.tolist())}
    names = map(str, rollouts.sample_id.tolist())
    try:
        return np.fromiter(map(rows.__getitem__, names), dtype=np.int64, count=len(rollouts.sample_id))
    except KeyError as error:
        raise PoolError(
            f"rollouts of sample {error}, of which there are no statistics; expected the same samples"
        ) from None


def _identity(method: Candidate) -> dict[str, Any]:
    return {"name": method.name, "kind": method.kind, "arguments": plain(method.arguments)}


def plan_rollouts(
    rollouts: Sequence[Path],
    methods: Sequence[str | Mapping[str, Any]] = (),
    *,
    picture: Path | None = None,
    weights: Path | None = None,
    reporting: Reporting = SILENT,
    **reading: Any,
) -> tuple[Plan, list[int | None]]:
    """Compare methods on rollouts, as ``grounding-rewards pool plan`` does."""
    chosen = candidates(methods)  # this and the next lines before the long work
    given = source(rollouts, **reading)
    table, rounds = given.table, given.rounds
    if picture is not None:
        check_page(picture, given.files)
    if weights is not None:
        check_output(weights, given.files)
    columns, counted = None, list[int | None]()
    with reporting.progress("comparing methods") as advance:
        stats = given.stats(reporting.warn, (*ALL, HISTORY))
        advance(0.4)
        if table is not None:  # rollouts are read one by one only where a choice of rollouts can run
            chosen = [_checked(method, table) for method in chosen]
            choices = [each for each in chosen if each.kind == CHOICE and each.built is not None and not each.reason]
            columns, failed = _read(table, choices, rounds)
            chosen = [replace(each, reason=failed.get(each.label, each.reason)) for each in chosen]
            counted = list(table.rounds(rounds))
            if text := mixed(table.temperatures(rounds)):
                reporting.warn(text)
        advance(0.6)
        plan = compare(stats, chosen, columns, advance=lambda done: advance(0.6 + 0.4 * done))
        if picture is not None:
            of, own = Options(given.by, given.target_space, given.recipe), None if rounds is None else tuple(rounds)
            part = None if table is None else round_of("rollouts", table, own, of)
            write_page(picture, page_of(plan, [] if part is None else listing([part], of, labels=labels_of(plan))))
        if weights is not None:
            write_file(weights, _weights(plan))
    return plan, counted


def _weights(plan: Plan) -> Iterator[pa.Table]:
    """Yield a table of weights for each method, but for the rows that are only compared with."""
    names = pa.array([str(name) for name in plan.sample_id.tolist()], pa.string())
    methods = zip(plan.rows, plan.weights, strict=True)
    chosen = [(method.label, weights) for (method, _), weights in methods if method.kind != REFERENCE]
    for label, weights in chosen or [("", np.zeros(0))]:
        labels = pa.repeat(pa.scalar(label, pa.string()), len(weights))
        yield pa.table({"sample_id": names[: len(weights)], "method": labels, "weight": weights})


def _checked(method: Candidate, table: RolloutTable) -> Candidate:
    """Give a choice of rollouts a reason where a file of the table lacks a column that it needs."""
    there = _in_all_files(table)
    lacking = [name for name in getattr(method.built, "needs", ()) if method.kind == CHOICE and name not in there]
    listed = ", ".join("clicks" if name == "answer" else f"column {name}" for name in lacking)
    return replace(method, reason=f"the rollouts have no {listed}") if lacking else method


def _in_all_files(table: RolloutTable) -> set[str]:
    there = set.intersection(*(set(each.columns) for each in table.each))
    return there | ({"answer"} if answered_by(there) else set())


def _read(
    table: RolloutTable, choices: Sequence[Candidate], rounds: Collection[int] | None
) -> tuple[RolloutColumns | None, dict[str, str]]:
    """Read the columns that choices need, and return the reasons why some cannot run, by their labels."""
    if not choices:
        return None, {}
    needed = {name for each in choices for name in each.built.needs}
    totals = {"total"} & _in_all_files(table)  # by which groups have a signal or not
    try:
        return read_columns(table, totals | needed, rounds=rounds), {}
    except (PoolError, TableError) as error:
        failed = {each.label: str(error) for each in choices}
    if len(choices) > 1:  # a wrong value in a column leaves out those alone that need it
        failed = {label: why for each in choices for label, why in _read(table, [each], rounds)[1].items()} or failed
    able = [each for each in choices if each.label not in failed]
    return _read(table, able, rounds)[0], failed


_COLOURS = ("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725", "#cfcfcf")


def page_of(plan: Plan, rollouts: Sequence[Block] = ()) -> Block:
    """Return the data of a page, with the section of its rollouts."""
    names = _names(plan)
    kept = [[_kept(name), "kept"] for name in names]
    rows = [
        bar(
            name, found["by_pass_rate"], [f"{100 * share:.0f} %" for share in found["by_pass_rate"]],
            f"{found['kept']:,} kept", links=[[["pass rate", rate], own] for rate in PASS_RATES],
        )
        for name, (_, found), own in zip(names, plan.rows, kept, strict=True)
    ]  # fmt: skip
    overlap = [
        (name, [[in_per_cent(share), "", share, [own, other]] for share, other in zip(each, kept, strict=True)])
        for name, each, own in zip(names, plan.overlap.tolist(), kept, strict=True)
    ]
    numbers = [str(number + 1) for number in range(len(names))]
    weights = bars("Shares of each method's weight by pass rate", list(zip(PASS_RATES, _COLOURS, strict=True)), rows)
    shared = heat("", "Overlap of each two methods", [matrix("overlap in per cent", numbers, overlap)])
    lead = f"{plan.measured:,} measured samples with {plan.rollouts:,} rollouts."
    return {
        "title": "Methods on the same rollouts", "made_by": "grounding-rewards pool plan",
        "sections": [
            section("weights", "Weight by pass rate of the samples", lead, [weights]),
            section("overlap", "Overlap", "The weight that two methods share, 100 where they agree.", [shared]),
            *rollouts,
        ],
    }  # fmt: skip


def labels_of(plan: Plan) -> dict[str, dict[str, str]]:
    """Return filters of the rollouts by the methods that keep their sample, with its label by its name."""
    return {
        _kept(name): {
            str(sample): "kept" if weight > 0 else "left out"
            for sample, weight in zip(plan.sample_id, weights, strict=True)
        }
        for name, weights in zip(_names(plan), plan.weights, strict=True)
    }


def _names(plan: Plan) -> list[str]:
    return [f"{number}: {method.label}" for number, (method, _) in enumerate(plan.rows, 1)]


def _kept(name: str) -> str:
    return f"by {name}"
