"""Sections of a report in words and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grounding_rewards.pool.report.data import Report
from grounding_rewards.pool.report.figures.curves import MOST
from grounding_rewards.pool.report.rounds import COUNTED, Numbers
from grounding_rewards.pool.report.samples import ShownSample, shortened
from grounding_rewards.pool.report.wording import area, between, count, listed, percent, plural, points
from grounding_rewards.pool.transitions.null import BETA_BINOMIAL
from grounding_rewards.pool.transitions.priors import describe_prior
from grounding_rewards.pool.transitions.warnings import mixed


@dataclass(frozen=True)
class TextTable:
    """Table of texts; the first cell of a row names it."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class SectionPart:
    """Part of a section: a picture by its number, facts, sentences and a table, all optional."""

    title: str = ""
    picture: int | None = None
    facts: Sequence[tuple[str, str]] = ()
    said: Sequence[str] = ()
    table: TextTable | None = None


@dataclass(frozen=True)
class Section:
    """Section; ``missing`` names the missing input of an empty one."""

    key: str
    title: str
    lead: str = ""
    parts: Sequence[SectionPart] = ()
    missing: str = ""


def sections(report: Report) -> Iterator[Section]:
    """Yield all sections of a report, in order."""
    last = report.rounds[-1]["round"] if report.rounds else "the last round"
    together = [f" {line['round']}: {text}." for line in report.rounds if (text := mixed(line["temperatures"]))]
    by_key = {
        "rounds": ("Rounds", f"{_ROUNDS}{''.join(together)}", [SectionPart(table=_rounds(report.rounds))]),
        "num_correct": ("Right rollouts of each sample", _NUM_CORRECT, [SectionPart(picture=0)]),
        "transitions": (
            "From round to round", _TRANSITIONS, [_moved(place, each) for place, each in enumerate(report.transitions)]
        ),
        "sources": ("By source", _SOURCES, _with_picture(_sources(report))),
        "sizes": ("By size of the target", _SIZES, _with_picture(_sizes(report))),
        "signal": ("Samples without signal", _SIGNAL, [SectionPart(picture=0, table=_signal(report.signal))]),
        "temperature": ("Temperature", _TEMPERATURE, [_temperature(report.temperature)] if report.temperature else []),
        "pools": ("From pool to pool", _POOLS, [SectionPart(picture=0, table=_pools(report.pools))]),
        "hardest": ("The hardest samples", f"Never solved in {last}{_HARDEST}", _samples(report.hardest)),
        "suspects": ("Suspects", f"Never solved in {last}{_SUSPECTS}", _samples(report.suspects)),
    }  # fmt: skip
    for key, (title, lead, parts) in by_key.items():
        missing = report.missing.get(key, "")
        yield Section(key, title, lead, () if missing else parts, missing)


_ROUNDS = (
    "A sample is never solved where none of its scored rollouts is right, and all correct where each is. Accuracy is "
    "the mean pass rate of the samples. Its 95 % interval, here and below, is Wilson's, clustered by sample: rollouts "
    "of one sample are alike, and count for fewer trials than their number."
)
_NUM_CORRECT = (
    "Shares of a round's samples by how many of their rollouts are right, with counts on top where there is room. Only "
    "samples with some right give a signal to learn from."
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
    f"Of more than {MOST} rounds the picture shows the first and the last ones."
)
_SIGNAL = (
    "Groups whose totals lie within 0.000001 of each other give no signal: with totals of 0 and 1 these are the "
    "samples with none and with all right; shaped totals may differ among those too."
)
_TEMPERATURE = (
    "The highest temperature up to which accuracy has not collapsed, over the samples that all temperatures have. The "
    "rule uses the paired difference on the same samples, whose bootstrap interval is narrower than those of both "
    "accuracies. "
    "Shares of parsed answers, of samples with some right and of different responses are below."
)
_POOLS = "Samples that each step of drawing a pool kept and removed, from the manifests."
_GREYED = "Screenshots are shown in pale shades of grey, dark ones inverted."
_HARDEST = (
    ": those with most rollouts first, and of these the ones with the smallest targets. "
    f"Suspects are not among them. {_GREYED}"
)
_SUSPECTS = (
    ", yet their clicks agree tightly on another place: the label may be wrong, the instruction may fit two things, or "
    f"the policy is sure and wrong. Look before you train on them. {_GREYED}"
)


def _with_picture(tables: Iterator[TextTable]) -> list[SectionPart]:
    """Return a part for each table; the picture goes with the first."""
    return [SectionPart(picture=None if place else 0, table=table) for place, table in enumerate(tables)]


def _rounds(rounds: Sequence[Numbers]) -> TextTable:
    heads = [
        "round", "samples", "rollouts", "not scored", "scored, each", "none correct", "mixed", "all correct", "right",
        "accuracy", "95 % interval", "answers read", "temperature",
    ]  # fmt: skip
    rows = [
        [
            line["round"], count(line["samples"]), count(line["rollouts"]), count(line["unscored"]),
            listed(line["rollouts_per_sample"]), count(line["none_correct"]), count(line["mixed"]),
            count(line["all_correct"]), count(line["correct"]), percent(line["accuracy"]),
            between(line["accuracy_low"], line["accuracy_high"]), percent(line["parse_rate"]),
            listed(line["temperatures"]),
        ]
        for line in rounds
    ]  # fmt: skip
    return TextTable("Samples and rollouts of each round", heads, rows)


def _moved(place: int, moved: Numbers) -> SectionPart:
    null, gap = moved["null"], moved["difference"]
    texts = [
        f"{plural(moved['both'], 'sample')} in both: {count(moved['up'])} up, {count(moved['same'])} the same, "
        f"{count(moved['down'])} down; {moved['net']:+,} right rollouts",
        f"mean pass rate {points(gap['mean'])} percentage points ({points(gap['low'])} to {points(gap['high'])})",
    ]
    if moved["never_solved"]:
        texts.append(
            f"of {plural(moved['never_solved'], 'never-solved sample')} {count(moved['escaped'])} "
            f"{'was' if moved['escaped'] == 1 else 'were'} solved at least once, {percent(moved['escape_share'])} "
            f"({between(moved['low'], moved['high'])}); by chance alone "
            f"{percent(null['escape_share'])} ({between(null['low'], null['high'])})"
        )
    if null["kind"] == BETA_BINOMIAL:
        prior = describe_prior(null["prior"]["a"], null["prior"]["b"])
        texts.append(
            "with one rollout a sample a lucky hit looks like a sure one: the expected counts are those of "
            f"the prior, {prior}, alone"
            if max(moved["n_before"]) == 1
            else f"the counts expected by chance use this prior of pass rates: {prior}"
        )
    if moved["discordant"]:
        pair = moved["discordant"]
        texts.append(
            f"one rollout each: {count(pair['only_before'])} right only before, {count(pair['only_after'])} only "
            f"after, p = {pair['p_value']:.2g} (McNemar, exact)"
        )
    if moved["dropped"] or moved["new"] or moved["unscored"]:
        texts.append(
            f"{plural(moved['dropped'], 'sample')} before alone, {count(moved['new'])} after alone, "
            f"{count(moved['unscored'])} not scored in one of the two"
        )
    return SectionPart(f"{moved['from']} to {moved['to']}", place, (), [*texts, *moved["warnings"]], _by_source(moved))


def _by_source(moved: Numbers) -> TextTable | None:
    lines = moved["by_source"]
    if all(line["source"] is None for line in lines):
        return None
    heads = ["source", "in both", "up", "same", "down", "never solved before", "solved after", "mean pass rate, points"]
    rows = [
        [
            line["source"] or "unknown", count(line["both"]), count(line["up"]), count(line["same"]),
            count(line["down"]), count(line["never_solved"]), count(line["escaped"]),
            points(line["difference"]["mean"]),
        ]
        for line in lines
    ]  # fmt: skip
    return TextTable(f"By source, from {moved['from']} to {moved['to']}", heads, rows)


def _sources(report: Report) -> Iterator[TextTable]:
    heads = [
        "source", "samples", "rollouts", "not scored", "right", "none correct", "mixed", "all correct", "never solved",
        "accuracy",
    ]  # fmt: skip
    for name, lines in reversed(report.sources):  # the last round first, as its picture is
        rows = [
            [
                line["source"], *(count(line[key]) for key in COUNTED), percent(line["zero_share"]),
                percent(line["accuracy"]),
            ]
            for line in lines
        ]  # fmt: skip
        yield TextTable(name, heads, rows)


def _sizes(report: Report) -> Iterator[TextTable]:
    heads = [
        "target's share of the screen", "samples", "rollouts", "not scored", "right", "mean pass rate", "95 % interval",
    ]  # fmt: skip
    for name, lines in reversed(report.sizes):
        rows = [
            [
                area(line["area_from"], line["area_to"]), count(line["samples"]),
                count(line["rollouts"]), count(line["unscored"]), count(line["correct"]), percent(line["accuracy"]),
                between(line["accuracy_low"], line["accuracy_high"]),
            ]
            for line in lines
        ]  # fmt: skip
        yield TextTable(name, heads, rows)


def _signal(rounds: Sequence[Numbers]) -> TextTable:
    heads = ["round", "none correct", "all correct", "mixed", "totals do not differ"]
    keys = ("none_correct", "all_correct", "mixed", "no_spread")
    rows = [[line["round"], *(percent(line[key]) for key in keys)] for line in rounds]
    return TextTable("Shares of the scored samples of each round", heads, rows)


def _temperature(swept: Numbers) -> SectionPart:
    heads = [
        "temperature", "accuracy", "95 % interval", "answers read", "mixed", "never solved", "different", "verdict",
        "why",
    ]  # fmt: skip
    rows = [
        [
            f"{row['temperature']:g}{' (chosen)' if row['temperature'] == swept['chosen'] else ''}",
            percent(row["accuracy"]), between(row["low"], row["high"]), percent(row["parse_rate"]),
            percent(row["mixed_share"]), percent(row["zero_share"]), percent(row["distinct_share"]),
            row["verdict"], row["why"],
        ]
        for row in swept["rows"]
    ]  # fmt: skip
    texts = [
        f"{swept['chosen']:g} is chosen by the rule {swept['rule']}, over {plural(swept['samples'], 'sample')}",
        *([f"{plural(swept['left_out'], 'sample')} not at every temperature"] if swept["left_out"] else []),
        *swept["warnings"],
    ]
    return SectionPart(picture=0, said=texts, table=TextTable("Rollouts at each temperature", heads, rows))


def _pools(pools: Sequence[Numbers]) -> TextTable:
    heads = ["pool", "measured", "removed", "kept", "never solved", "others", "share", "asked for", "too few"]
    rows = []
    for pool in pools:
        removed = "; ".join(f"{step['step']} {count(step['removed'])}" for step in pool["steps"] if step["removed"])
        rows.append(
            [
                pool["pool"], count(pool["samples"]), removed or "-", count(pool["kept"]), count(pool["zero"]),
                count(pool["positive"]), percent(pool["zero_share"]), percent(pool["zero_share_asked"]),
                count(pool.get("shortfall")),
            ]
        )  # fmt: skip
    return TextTable("Pools in the order given", heads, rows)


def _samples(several: Sequence[ShownSample]) -> list[SectionPart]:
    return [_sample(place, each) for place, each in enumerate(several)]


def _sample(place: int, shown: ShownSample) -> SectionPart:
    answers = "\n".join(f"{count(times)} x {text}" for text, times in shown.responses)
    unscored = f"{count(shown.unscored)} of them not scored, " if shown.unscored else ""
    facts = [
        ("instruction", "" if shown.instruction is None else shortened(shown.instruction)),
        ("source", shown.source or ""),
        ("rollouts", f"{count(shown.n + shown.unscored)}, {unscored}none of them right"),
        ("clicks", _clicks(shown)),
        ("target", "" if shown.outlines else "its place is not known"),
        ("answers", answers),
    ]
    return SectionPart(shown.sample_id, place, [(name, fact) for name, fact in facts if fact])


def _clicks(shown: ShownSample) -> str:
    outside = int((~shown.inside).sum())
    if not len(shown.clicks):
        return "none of them answers with a place that is known"
    return f"{count(outside)} of {count(len(shown.clicks))} outside of the screen" if outside else ""
