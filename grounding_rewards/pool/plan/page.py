"""A comparison as a page: each method's weight by pass rate, and the overlaps of the methods."""

from __future__ import annotations

from collections.abc import Sequence

from grounding_rewards.pool.plan.comparison import PASS_RATES, Plan, in_per_cent
from grounding_rewards.viewer.blocks import Block, bar, bars, heat, matrix, section

_COLOURS = ("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725", "#cfcfcf")


def page_of(plan: Plan, rollouts: Sequence[Block] = ()) -> Block:
    """Return the data of a page, with the section of its rollouts."""
    names = _names(plan)
    kept = [[_kept(name), "kept"] for name in names]
    rows = [
        bar(
            name, row.measures.by_pass_rate, [f"{100 * share:.0f} %" for share in row.measures.by_pass_rate],
            f"{row.measures.kept:,} kept", links=[[["pass rate", rate], own] for rate in PASS_RATES],
        )
        for name, row, own in zip(names, plan.rows, kept, strict=True)
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
    return [f"{number}: {row.method.label}" for number, row in enumerate(plan.rows, 1)]


def _kept(name: str) -> str:
    return f"by {name}"
