"""Pictures of a report: their files, alternative texts and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from grounding_rewards.pool.report.data import Report
from grounding_rewards.pool.report.figures import bars, curves, heat
from grounding_rewards.pool.report.figures.sample import sample
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.report.samples import ShownSample
from grounding_rewards.pool.report.wording import count, percent, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FILES = re.compile(
    r"(num-correct|sources|target-sizes|no-signal|temperatures|pools|(transition|hardest|suspect)-[1-9]\d*)\.png"
)
"""Names of the pictures' files."""


@dataclass(frozen=True)
class Drawing:
    """One picture, with its section of the report, its number in it from 0, and its alternative text."""

    section: str
    place: int
    file: str
    alt: str
    draw: Callable[[], Figure]


def drawings(report: Report) -> Iterator[Drawing]:
    """Yield the pictures of a report, in its order."""
    if report.num_correct:
        draw = partial(bars.num_correct, report.num_correct)
        yield Drawing("num_correct", 0, "num-correct.png", _histograms(report), draw)
    for place, moved in enumerate(report.transitions):
        draw = partial(heat.heat_map, moved, moved["from"], moved["to"])
        yield Drawing("transitions", place, f"transition-{place + 1}.png", _heat(moved), draw)
    if report.sources:
        name, lines = report.sources[-1]
        yield Drawing("sources", 0, "sources.png", _sources(name, lines), partial(bars.sources, lines, name))
    if report.sizes:
        yield Drawing("sizes", 0, "target-sizes.png", _sizes(report), partial(curves.sizes, report.sizes))
    if any(line["mixed"] is not None for line in report.signal):
        yield Drawing("signal", 0, "no-signal.png", _signal(report), partial(bars.signals, report.signal))
    if report.temperature:
        draw = partial(curves.temperatures, report.temperature)
        yield Drawing("temperature", 0, "temperatures.png", _temperature(report.temperature), draw)
    if report.pools:
        yield Drawing("pools", 0, "pools.png", _pools(report), partial(bars.flow, report.pools))
    for section, file in (("hardest", "hardest"), ("suspects", "suspect")):
        for place, shown in enumerate(getattr(report, section)):
            if shown.drawable:
                yield Drawing(section, place, f"{file}-{place + 1}.png", _sample(shown), partial(sample, shown))


def _histograms(report: Report) -> str:
    lines = [
        f"{line['round']}: {count(line['none_correct'])} with none, {count(line['mixed'])} with some and "
        f"{count(line['all_correct'])} with all rollouts right"
        for line in report.rounds
    ]
    return f"Bars: shares of samples by their number of right rollouts. {'; '.join(lines)}."


def _heat(moved: Numbers) -> str:
    return (
        f"Two heat maps of right rollouts in {moved['from']} against {moved['to']}, observed and by chance alone: of "
        f"{count(moved['both'])} samples {count(moved['up'])} went up, {count(moved['same'])} stayed and "
        f"{count(moved['down'])} went down."
    )


def _sources(name: str, lines: list[Numbers]) -> str:
    first = lines[0]
    return (
        f"Bars by source in {name}: samples with none, some and all rollouts right. The largest never-solved share is "
        f"{percent(first['zero_share'])}, of {first['source']}."
    )


def _sizes(report: Report) -> str:
    name, lines = report.sizes[-1]
    held = [line for line in lines if line["samples"]]
    return (
        f"Lines: mean pass rate by the size of the target. In {name} it is {percent(held[0]['accuracy'])} for the "
        f"smallest and {percent(held[-1]['accuracy'])} for the largest."
    )


def _signal(report: Report) -> str:
    lines = [
        f"{line['round']}: {percent(line['none_correct'])} none correct, {percent(line['all_correct'])} all correct"
        for line in report.signal
    ]
    return f"Bars: shares of samples without signal. {'; '.join(lines)}."


def _temperature(swept: Numbers) -> str:
    lines = [f"{percent(row['accuracy'])} at {row['temperature']:g} ({row['verdict']})" for row in swept["rows"]]
    return (
        f"Accuracy, its difference to that at {swept['compared_with']:g}, and more, by temperature: "
        f"{', '.join(lines)}; chosen is {swept['chosen']:g}."
    )


def _pools(report: Report) -> str:
    lines = [f"{pool['pool']}: {count(pool['kept'])} of {count(pool['samples'])} samples kept" for pool in report.pools]
    return f"Bars: what each step of drawing a pool leaves. {'; '.join(lines)}."


def _sample(shown: ShownSample) -> str:
    clicks, right = int(shown.inside.sum()), int((shown.right & shown.inside).sum())
    facts = [
        "its target" if shown.outlines else "",
        f"{plural(clicks, 'click')}, {count(right)} of them right" if clicks else "",
        "its screenshot" if shown.image is not None else "an empty screen",
    ]
    return f"Sample {shown.sample_id}: {'; '.join(filter(None, facts))}."
