"""Write a report on rounds of rollouts: one page that opens without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.errors import PictureError
from grounding_rewards.pool.report.inputs import Options, read_inputs
from grounding_rewards.pool.report.rounds import Numbers, report
from grounding_rewards.pool.report.samples import Screenshots, shown_samples
from grounding_rewards.pool.report.sections import sections
from grounding_rewards.pool.report.view import listing
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.data_paths import made_directory
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.viewer import Block, write_page

PAGE = "report.html"


def write_report(
    inputs: Sequence[str],
    out: Path,
    *,
    title: str = "Pools by round",
    by: str = "source",
    target_space: str | None = None,
    recipe: Recipe | None = None,
    samples: int = 6,
    data: Screenshots | None = None,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    """Write a report from files, as ``grounding-rewards pool report`` does."""
    if out.exists() and not out.is_dir():
        raise PictureError(f"{out}: is not a directory")
    warnings = dict[str, None]()  # a set in order: every round warns of the same recipes
    options = Options(by, target_space, recipe, lambda text: warnings.update({text: None}))
    with reporting.progress("counting rollouts") as advance:
        read = read_inputs(inputs, options)
        advance(1.0)
    found = shown_samples(read.parts[-1], samples, options) if read.parts and samples else {}
    each = [sample for _, some in found.values() for sample in some]
    if data is not None:
        each, remarks = data.shown(each)  # all at once: the data are read once
        warnings |= dict.fromkeys(remarks)
    hardest = len(found["hardest"][1]) if found else 0
    numbers = report(
        title, read.parts, by_temperature=read.by_temperature, unswept=read.unswept, pools=read.pools,
        hardest=each[:hardest], suspects=each[hardest:], counted={name: many for name, (many, _) in found.items()},
        remarks=list(warnings),
    )  # fmt: skip
    with made_directory(out):
        write_page(out / PAGE, page_of(numbers, listing(read.parts, options, each)))
    unread = [sample for sample in each if not sample.outlines]
    table = read.parts[-1].table if read.parts else None
    if unread and table and "target" in table.columns and recipe is None and target_space is None:
        reporting.note(
            f"the page shows no target of {len(unread)} of {len(each)} samples, which name no space, and rollouts no "
            "installed recipe; give --recipe NAME or --target-space SPACE"
        )
    for text in warnings:
        reporting.warn(text)
    shown = {key: [sample.to_json() for sample in numbers[key]] for key in ("hardest", "suspects")}
    return {"page": str(out / PAGE), "warnings": list(warnings), **numbers, **shown}


def page_of(numbers: Numbers, rollouts: Sequence[Block] = ()) -> Block:
    """Return the data of a page, with the section of its rollouts."""
    return {
        "title": numbers["title"], "remarks": numbers["remarks"], "sections": [*sections(numbers), *rollouts],
        "made_by": "grounding-rewards pool report",
    }  # fmt: skip
