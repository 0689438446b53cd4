"""A comparison as a page: each method's weight by pass rate, and the overlaps of the methods."""

from __future__ import annotations

from grounding_rewards.pool.plan.comparison import Plan
from grounding_rewards.pool.plan.measures import PASS_RATES, in_per_cent
from grounding_rewards.viewer.blocks import Block, bar, bars, heat, matrix, section

_COLOURS = ("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725", "#cfcfcf")


def page_of(plan: Plan) -> Block:
    """Return the data of a page."""
    names = [f"{number}: {row.method.label}" for number, row in enumerate(plan.rows, 1)]
    shares = [row.measures.by_pass_rate for row in plan.rows]
    rows = [
        bar(name, each, [f"{100 * share:.0f} %" for share in each], f"{row.measures.kept:,} kept")
        for name, each, row in zip(names, shares, plan.rows, strict=True)
    ]
    overlap = [
        (name, [[in_per_cent(share), "", share] for share in each])
        for name, each in zip(names, plan.overlap.tolist(), strict=True)
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
        ],
    }  # fmt: skip
