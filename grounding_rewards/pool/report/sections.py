"""Sections of a report: what its numbers mean, and the blocks that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from grounding_rewards.pool.inputs import mixed
from grounding_rewards.pool.report.rounds import COUNTED, OUTCOMES, Numbers
from grounding_rewards.pool.report.rows import moved as moved_filter
from grounding_rewards.pool.report.rows import right_in
from grounding_rewards.pool.report.samples import UNKNOWN_SIZE, ShownSample, drawn_target, shortened, views
from grounding_rewards.pool.transitions import SOURCES, facts_of, sources_of
from grounding_rewards.viewer.blocks import (
    VIRIDIS,
    Block,
    Cell,
    Link,
    Point,
    bar,
    bars,
    facts,
    heat,
    lines,
    link,
    mark,
    matrix,
    screen,
    section,
    table,
    text,
    to,
)
from grounding_rewards.wording import area, between, count, listed, percent, plural, points

DARK, MIDDLE, LIGHT = VIRIDIS[0], VIRIDIS[2], VIRIDIS[4]
_OUTCOMES = [("none correct", DARK), ("some correct", MIDDLE), ("all correct", LIGHT)]
_ROUNDS = ("#8058c0", "#21918c", "#d97706", "#3b82c4", "#5ea83a", "#b4459a")
_SHARES = [(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")]

MOST_ROUNDS, MOST_SOURCES = len(_ROUNDS), 30
"""Largest number of lines, and of bars of sources."""


def sections(report: Numbers) -> Iterator[Block]:
    """Yield all sections of a report, in order."""
    last = report["rounds"][-1]["round"] if report["rounds"] else "the last round"
    together = [f" {line['round']}: {said}." for line in report["rounds"] if (said := mixed(line["temperatures"]))]
    found: dict[str, tuple[str, str, Iterator[Block]]] = {
        "rounds": ("Rounds", f"{_ROUNDS_LEAD}{''.join(together)}", _rounds(report["rounds"])),
        "num_correct": ("Right rollouts of each sample", _NUM_CORRECT, map(_histogram, report["num_correct"])),
        "transitions": (
            "From round to round", _TRANSITIONS, (block for each in report["transitions"] for block in _moved(each))
        ),
        "sources": ("By source", _SOURCES, _sources(report)),
        "sizes": ("By size of the target", _SIZES, _sizes(report)),
        "signal": ("Samples without signal", _SIGNAL, _signal(report["signal"])),
        "temperature": ("Temperature", _TEMPERATURE, _temperature(report["temperature"] or {})),
        "pools": ("From pool to pool", _POOLS, _pools(report["pools"])),
        "hardest": (
            "The hardest samples", f"Never solved in {last}{_HARDEST}{_of(report, 'hardest')}",
            chain(_every(report, "hardest", last), _samples(report["hardest"])),
        ),
        "suspects": (
            "Suspects", f"Never solved in {last}{_SUSPECTS}{_of(report, 'suspects')}",
            chain(_every(report, "suspects", last), _samples(report["suspects"])),
        ),
    }  # fmt: skip
    for key, (title, lead, blocks) in found.items():
        missing = report["missing"].get(key, "")
        yield section(key, title, lead, () if missing else blocks, missing)


_ROUNDS_LEAD = (
    "A sample is never solved where none of its scored rollouts is right, and all correct where each is. Accuracy is "
    "the mean pass rate of the samples. Its 95 % interval, here and below, is Wilson's, clustered by sample: rollouts "
    "of one sample are alike, and count for fewer trials than their number."
)
_NUM_CORRECT = (
    "Samples of each round by how many of their rollouts are right. Only samples with some right give a signal to "
    "learn from."
)
_TRANSITIONS = (
    "Rows are right rollouts before, columns after. A second measurement of the same policy moves samples as well: "
    "beside the observed counts are those expected by chance alone. Cells hold samples and their share of the "
    "row, whose label has its number of samples. The interval of the mean pass rate's difference is a paired bootstrap "
    "over samples."
)
_SOURCES = (
    "The source with the largest share of never-solved samples is on top. The picture shows the last round. "
    "Samples without a scored rollout are left out."
)
_SIZES = (
    "Mean pass rate by the target's share of the screen, with its 95 % interval, Wilson's, clustered by sample. "
    f"Of more than {MOST_ROUNDS} rounds the picture shows the first and the last ones."
)
_SIGNAL = (
    "Groups whose totals lie within 0.000001 of each other give no signal: with totals of 0 and 1 these are the "
    "samples with none and with all right; shaped totals may differ among those too."
)
_TEMPERATURE = (
    "The highest temperature up to which accuracy has not collapsed, over the samples that all temperatures have. The "
    "rule uses the paired difference on the same samples, whose bootstrap interval is narrower than those of both "
    "accuracies."
)
_POOLS = "Samples that each step of drawing a pool kept and removed, from the manifests."
_HARDEST = (
    ": those with most rollouts first, and of these the ones with the smallest targets. Suspects are not among them."
)
_SUSPECTS = (
    ", yet their clicks agree tightly on another place: the label may be wrong, the instruction may fit two things, or "
    "the policy is sure and wrong. Look before you train on them."
)


def _of(report: Numbers, key: str) -> str:
    """Say how many samples there are, where not all are shown."""
    every, held = report["counted"].get(key, 0), len(report[key])
    return f" There are {count(every)}; the first {count(held)} are shown." if every > held else ""


def _rounds(rounds: Sequence[Numbers]) -> Iterator[Block]:
    heads = [
        "round", "samples", "rollouts", "not scored", "scored, each", "none correct", "mixed", "all correct", "right",
        "accuracy", "95 % interval", "answers read", "temperature",
    ]  # fmt: skip
    rows = [
        [
            line["round"],
            *(_counted(line[key], round=line["round"], **labels) for key, labels in _LED.items()),
            listed(line["rollouts_per_sample"]), *_outcomes(line, line["round"]),
            _counted(line["correct"], round=line["round"], outcome="right"), percent(line["accuracy"]),
            between(line["accuracy_low"], line["accuracy_high"]), percent(line["parse_rate"]),
            listed(line["temperatures"]),
        ]
        for line in rounds
    ]  # fmt: skip
    yield table("Samples and rollouts of each round", heads, rows)


_LED: dict[str, dict[str, str]] = {"samples": {}, "rollouts": {}, "unscored": {"outcome": "not scored"}}
_SOLVED = dict(zip(OUTCOMES, ("never", "sometimes", "always"), strict=True))


def _counted(value: int, **labels: str) -> Cell:
    """Return a count with a link to what it counts."""
    return link(count(value), to(**labels)) if value else count(value)


def _outcomes(line: Numbers, name: str, **labels: str) -> list[Cell]:
    """Return the counts of samples by outcome, each with a link to them."""
    return [_counted(line[key], round=name, solved=solved, **labels) for key, solved in _SOLVED.items()]


def _histogram(line: Numbers) -> Block:
    """Return a bar for each number of right rollouts: its length is a share of the largest bar's."""
    counts = np.array([line[outcome] for outcome in OUTCOMES])
    samples, longest = max(int(counts.sum()), 1), max(int(counts.sum(axis=0).max()), 1)
    rows = [
        bar(
            str(right),
            held / longest,
            map(count, held),
            f"{count(held.sum())} · {percent(held.sum() / samples)}",
            links=[to(round=line["round"], right=str(right), solved=solved) for solved in _SOLVED.values()],
        )
        for right, held in enumerate(counts.T)
    ]
    none, some, every = map(count, counts.sum(axis=1))
    alt = f"{line['round']}: {none} samples with none, {some} with some and {every} with all rollouts right"
    return bars(alt, _OUTCOMES, rows, title=f"{line['round']}: {plural(int(counts.sum()), 'sample')}", beside=True)


def _moved(moved: Numbers) -> Iterator[Block]:
    warm = [listed(moved[name]) for name in ("temperatures_before", "temperatures_after")]
    alt = (
        f"Right rollouts in {moved['from']} against {moved['to']}, observed and by chance alone: of "
        f"{plural(moved['both'], 'sample')} {count(moved['up'])} went up, {count(moved['same'])} stayed and "
        f"{count(moved['down'])} went down"
    )
    yield heat(f"{moved['from']} to {moved['to']}", alt, list(_matrices(moved)))
    known = [] if warm == ["-", "-"] else [("temperature", " to ".join(warm))]
    yield facts([*known, *facts_of(moved)])
    leads = [
        link(f"the {count(moved[way])} that went {way}", [[moved_filter(moved["from"], moved["to"]), way]])
        for way in ("up", "down") if moved[way]
    ]  # fmt: skip
    yield text([*leads, *moved["warnings"]])
    if sources := sources_of(moved):
        rows: list[list[Cell]] = [
            [link(name, to(source=each["source"] or "")), *rest]
            for each, (name, *rest) in zip(moved["by_source"], sources, strict=True)
        ]
        yield table(f"By source, from {moved['from']} to {moved['to']}", SOURCES, rows)


def _matrices(moved: Numbers) -> Iterator[Block]:
    """Yield what was observed and what chance makes of it, without empty rows and columns at the ends."""
    observed = np.array(moved["counts"], dtype=np.float64)
    expected = np.array(moved["null"]["expected"], dtype=np.float64)
    high = int(np.flatnonzero(observed.sum(axis=1))[-1]) + 1
    # Chance leaves a trace everywhere: half a sample counts.
    wide = int(np.flatnonzero(observed.sum(axis=0) + np.nansum(expected, axis=0) >= 0.5)[-1]) + 1
    was, now = right_in(moved["from"]), right_in(moved["to"])
    sides = f"rows: right before, of {listed(moved['n_before'])}; columns: after, of {listed(moved['n_after'])}"
    for title, cells in (("observed", observed), (f"by chance ({moved['null']['kind']})", expected)):
        sums, led = np.nansum(cells, axis=1), title == "observed"
        rows = [
            (f"{row} ({count(observed[row].sum())})",
             [_cell(cell, sums[row], [[was, str(row)], [now, str(column)]] if led else None)
              for column, cell in enumerate(cells[row, :wide].tolist())])
            for row in range(high)
        ]  # fmt: skip
        yield matrix(f"{title}; {sides}", [str(column) for column in range(wide)], rows)


def _cell(samples: float, row: float, to: Link) -> list[object] | None:
    if not row > 0 or np.isnan(samples) or samples < 0.0005 * row:  # a row without a sample, or an empty cell
        return None
    share = samples / row
    # 0.04 would be written as 0.0.
    few = count(samples) if samples >= 9.95 or samples == round(samples) else f"{samples:.1f}"  # 10, not 10.0
    return [few if samples >= 0.05 else "", f"{100 * share:.0f} %" if share >= 0.005 else "", share, to]


def _sources(report: Numbers) -> Iterator[Block]:
    heads = [
        "source", "samples", "rollouts", "not scored", "right", "none correct", "mixed", "all correct", "never solved",
        "accuracy",
    ]  # fmt: skip
    for place, each in enumerate(reversed(report["sources"])):  # the last round first
        name, found = each["round"], each["by_source"]
        if not place:
            rows = [
                bar(line["source"], *_split([line[key] / line["samples"] for key in OUTCOMES], 0),
                    f"n = {count(line['samples'])}",
                    links=[to(round=name, source=line["source"], solved=solved) for solved in _SOLVED.values()])
                for line in _fewer_sources(found)
            ]  # fmt: skip
            alt = (
                f"Samples by source in {name}. The largest never-solved share is {percent(found[0]['zero_share'])}, of "
                f"{found[0]['source']}"
            )
            yield bars(alt, _OUTCOMES, rows, title=name)
        cells: list[list[Cell]] = [
            [
                link(line["source"], to(round=name, source=line["source"])),
                *(count(line[key]) for key in COUNTED if key not in OUTCOMES),
                *_outcomes(line, name, source=line["source"]),
                percent(line["zero_share"]),
                percent(line["accuracy"]),
            ]
            for line in found
        ]
        yield table(name, heads, cells)


def _split(shares: Sequence[float], digits: int) -> tuple[Sequence[float], list[str]]:
    return shares, [f"{100 * share:.{digits}f} %" for share in shares]


def _fewer_sources(found: Sequence[Numbers]) -> list[Numbers]:
    """Return lines of sources; those with the fewest samples share the last one."""
    if len(found) <= MOST_SOURCES:
        return list(found)
    largest = sorted(found, key=lambda line: (-line["samples"], line["source"]))
    kept = {line["source"] for line in largest[: MOST_SOURCES - 1]}
    rest = [line for line in found if line["source"] not in kept]
    own = [line for line in found if line["source"] in kept]
    summed = {key: sum(line[key] for line in rest) for key in COUNTED}
    return [*own, {"source": f"{len(rest)} other sources", **summed}]


def _sizes(report: Numbers) -> Iterator[Block]:
    each = [(line["round"], line["by_size"]) for line in report["sizes"]]
    shown = each
    if len(shown) > MOST_ROUNDS:
        shown = [*shown[: MOST_ROUNDS // 3], *shown[MOST_ROUNDS // 3 - MOST_ROUNDS :]]
    every = sorted({(line["area_from"], line["area_to"]) for _, found in shown for line in found})
    series, most = [], dict.fromkeys(every, 0)
    for colour, (name, found) in zip(_ROUNDS, shown, strict=False):
        known = {(line["area_from"], line["area_to"]): line for line in found}
        series.append((name, colour, [_rate(known.get(edges), name) for edges in every]))
        most |= {edges: max(most[edges], line["samples"]) for edges, line in known.items()}
    labels = [(area(*edges), f"n = {count(most[edges])}") for edges in every]
    yield lines("Mean pass rate by the size of the target, a line a round", labels, series, _SHARES)
    heads = [
        "target's share of the screen", "samples", "rollouts", "not scored", "right", "mean pass rate", "95 % interval",
    ]  # fmt: skip
    for name, found in reversed(each):
        rows: list[list[Cell]] = [
            [
                link(area(line["area_from"], line["area_to"]), _sized(line, name)), count(line["samples"]),
                count(line["rollouts"]), count(line["unscored"]), count(line["correct"]), percent(line["accuracy"]),
                between(line["accuracy_low"], line["accuracy_high"]),
            ]
            for line in found
        ]  # fmt: skip
        yield table(name, heads, rows)


def _rate(line: Numbers | None, name: str) -> Point:
    if line is None or not line["samples"]:
        return None, None, None, "", None
    low, high = line["accuracy_low"], line["accuracy_high"]
    return line["accuracy"], low, high, f"{percent(line['accuracy'])} ({between(low, high)})", _sized(line, name)


def _sized(line: Numbers, name: str) -> Link:
    return to(round=name, target_size=area(line["area_from"], line["area_to"]))


def _signal(rounds: Sequence[Numbers]) -> Iterator[Block]:
    keys, order = ("none_correct", "all_correct", "mixed"), (_OUTCOMES[0], _OUTCOMES[2], _OUTCOMES[1])
    rows = [
        bar(
            line["round"], *_split([line[key] for key in keys], 1), mark=line["no_spread"],
            links=[to(round=line["round"], solved=_SOLVED[key]) for key in keys],
        )
        for line in rounds if line["mixed"] is not None
    ]  # fmt: skip
    marked = "totals do not differ" if any(row["mark"] is not None for row in rows) else ""
    yield bars("Shares of samples without signal, as in the table below", order, rows, mark=marked)
    heads = ["round", "none correct", "all correct", "mixed", "totals do not differ"]
    cells = [[line["round"], *(percent(line[key]) for key in (*keys, "no_spread"))] for line in rounds]
    yield table("Shares of the scored samples of each round", heads, cells)


def _temperature(swept: Numbers) -> Iterator[Block]:
    rows = swept["rows"]
    labels = [(f"{row['temperature']:g}", "chosen" if row["temperature"] == swept["chosen"] else "") for row in rows]
    rates: list[Point] = [
        (row["accuracy"], row["low"], row["high"], f"{percent(row['accuracy'])}, {row['verdict']}", _warm(row))
        for row in rows
    ]
    yield lines("Accuracy by temperature", labels, [("accuracy", MIDDLE, rates)], _SHARES, "Accuracy")
    gaps: list[Point] = [
        (row["difference"], row["difference_low"], row["difference_high"], f"{points(row['difference'])} points", None)
        for row in rows
    ]
    far = max([0.01, *(abs(each) for point in gaps for each in point[:3] if each is not None)])
    ends = [(far * step, points(far * step) if step else "0") for step in (-1, 0, 1)]
    yield lines(
        "Paired difference of accuracy by temperature", labels, [("difference", MIDDLE, gaps)], ends,
        f"Points from {swept['compared_with']:g}, on the same samples",
    )  # fmt: skip
    series = [
        (name, colour, [(row[key], None, None, percent(row[key]), None) for row in rows])
        for (key, name), colour in zip(_BESIDE.items(), _ROUNDS, strict=False)
    ]
    yield lines("Other shares by temperature", labels, series, _SHARES, "Other shares")
    yield text([
        f"{swept['chosen']:g} is chosen by the rule {swept['rule']}, over {plural(swept['samples'], 'sample')}",
        *([f"{plural(swept['left_out'], 'sample')} not at every temperature"] if swept["left_out"] else []),
        *swept["warnings"],
    ])  # fmt: skip
    heads = [
        "temperature", "accuracy", "95 % interval", "answers read", "mixed", "never solved", "different", "verdict",
        "why",
    ]  # fmt: skip
    cells = [
        [
            link(f"{row['temperature']:g}{' (chosen)' if row['temperature'] == swept['chosen'] else ''}", _warm(row)),
            percent(row["accuracy"]), between(row["low"], row["high"]), percent(row["parse_rate"]),
            percent(row["mixed_share"]), percent(row["zero_share"]), percent(row["distinct_share"]),
            row["verdict"], row["why"],
        ]
        for row in rows
    ]  # fmt: skip
    yield table("Rollouts at each temperature", heads, cells)


def _warm(row: Numbers) -> Link:
    return to(temperature=f"{row['temperature']:g}")


_BESIDE = {
    "parse_rate": "answers read", "mixed_share": "samples with some correct", "zero_share": "never-solved samples",
    "distinct_share": "different responses",
}  # fmt: skip
_FUNNEL = [("left after the step", "#a6d3d0"), ("removed by it", "#cfcfcf"), ("in the pool: never solved", DARK),
           ("in the pool: partly solved", MIDDLE)]  # fmt: skip


def _pools(pools: Sequence[Numbers]) -> Iterator[Block]:
    for pool in pools:
        steps = [(step["step"], step["kept"], step["removed"]) for step in pool["steps"] if step["removed"]]
        steps = [("measured", pool["samples"], 0), *steps]
        most = max(*(left + removed for _, left, removed in steps), pool["kept"], 1)
        funnel = [(name, (left, removed, 0, 0), f"{count(left)}{f' (-{count(removed)})' if removed else ''}")
                  for name, left, removed in steps]  # fmt: skip
        funnel.append(("the pool", (0, 0, pool["zero"], pool["positive"]), count(pool["kept"])))
        rows = [bar(name, [part / most for part in parts], map(count, parts), end) for name, parts, end in funnel]
        share = "" if pool["zero_share"] is None else f", {percent(pool['zero_share'])} of them never solved"
        short = f"; {count(pool['shortfall'])} never-solved too few" if pool.get("shortfall") else ""
        kept = f"{count(pool['kept'])} of {plural(pool['samples'], 'sample')} kept{share}{short}"
        yield bars(f"{pool['pool']}: {kept}", _FUNNEL, rows, title=f"{pool['pool']}: {kept}")
    heads = ["pool", "measured", "removed", "kept", "never solved", "others", "share", "asked for", "too few"]
    cells = []
    for pool in pools:
        removed = "; ".join(f"{step['step']} {count(step['removed'])}" for step in pool["steps"] if step["removed"])
        cells.append([
            pool["pool"], count(pool["samples"]), removed or "-", count(pool["kept"]), count(pool["zero"]),
            count(pool["positive"]), percent(pool["zero_share"]), percent(pool["zero_share_asked"]),
            count(pool.get("shortfall")),
        ])  # fmt: skip
    yield table("Pools in the order given", heads, cells)


def _every(report: Numbers, key: str, name: str) -> Iterator[Block]:
    """Yield a link to all samples of a kind."""
    suspect = "suspect" if key == "suspects" else "not suspect"
    if many := report["counted"].get(key, 0):
        yield text([link(f"all {count(many)} in the list", to(round=name, solved="never", suspect=suspect))])


def _samples(several: Sequence[ShownSample]) -> Iterator[Block]:
    for shown in several:
        yield {
            **(_screen(shown) if shown.drawable else text([])),
            "title": link(shown.sample_id, to(sample=shown.sample_id)),
        }  # fmt: skip
        answers = "\n".join(f"{count(times)} x {said}" for said, times in shown.responses)
        unscored = f"{count(shown.unscored)} of them not scored, " if shown.unscored else ""
        yield facts([
            ("instruction", "" if shown.instruction is None else shortened(shown.instruction)),
            ("source", shown.source or ""),
            ("rollouts", f"{count(shown.n + shown.unscored)}, {unscored}none of them right"),
            ("clicks", _clicks(shown)),
            ("target", "" if shown.outlines else "its place is not known"),
            ("answers", answers),
        ])  # fmt: skip


def _screen(shown: ShownSample) -> Block:
    right = [shown.right & shown.inside, ~shown.right & shown.inside]
    named = [f"{plural(int(which.sum()), f'{look} click')}" for which, look in zip(right, _LOOKS, strict=True)]
    said = [
        "its target" if shown.outlines else "",
        *(name for name, which in zip(named, right, strict=True) if which.any()),
    ]
    seen = "its screenshot" if shown.image is not None else "an empty screen"
    marks = [mark(_LOOKS[0] if hit else _LOOKS[1], at, f"{'right' if hit else 'wrong'}: {_place(at, shown)}")
             for at, hit in zip(shown.clicks[shown.inside], shown.right[shown.inside], strict=True)]  # fmt: skip
    shapes, points_of = drawn_target(shown)
    return screen(
        "", f"Sample {shown.sample_id}: {'; '.join([*filter(None, said), seen])}",
        shown.image_size or UNKNOWN_SIZE, views(shown),
        shapes, [*points_of, *marks],
        {"target": "target", "point": "target", **dict(zip(_LOOKS, named, strict=True))},
        image=shown.image,
    )  # fmt: skip


_LOOKS = ("right", "wrong")


def _place(at: np.ndarray, shown: ShownSample) -> str:
    if shown.image_size is None:
        return f"{at[0]:.3f}, {at[1]:.3f} of the screen"
    x, y = at * np.array(shown.image_size)
    return f"{x:.0f}, {y:.0f} px"


def _clicks(shown: ShownSample) -> str:
    outside = int((~shown.inside).sum())
    if not len(shown.clicks):
        return "none of them answers with a place that is known"
    return f"{count(outside)} of {count(len(shown.clicks))} outside of the screen" if outside else ""
