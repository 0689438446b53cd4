"""Samples of a trainer's log: a name for each row, and the rounds in which the log goes through all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards.tables.trainer_logs.rollout import Logged, own_name


class Samples(NamedTuple):
    """The samples of a log."""

    names: list[str]  # the name of each row's sample
    rounds: list[int] | None  # the round of each row, where the log repeats its samples; else None
    doubts: list[str]  # warnings of rows that may be of other samples or rounds than these say


def samples_of(rows: Iterable[Logged]) -> Samples:
    """Tell the samples of a log apart by their names, else by all that rows say: see ``Logged.apart``.

    Rows of one content in one step that have several prompts (verl's ``uid``) or row numbers are several samples.
    """
    names, steps, marks, unsure = list[str](), list[Any](), list[Mapping[str, Any]](), list[int]()
    for row in rows:
        names.append(row.value("sample_id"))
        steps.append(row.value("train_step"))
        marks.append(row.apart)
        if own_name(row) is None:
            unsure.append(len(names) - 1)
    for mark in ("uid", "index"):
        values = {place: marks[place][mark] for place in unsure if mark in marks[place]}
        marked = [(steps[place], names[place], value) for place, value in values.items()]
        several = _several(marked) if mark == "uid" or _of_rows(marked) else set()
        for place in values:
            if names[place] in several:
                names[place] = sample_id(target=names[place], index=values[place])
    rounds = _rounds(names, steps)
    doubts = [text for text in (_sizes(names, steps, rounds, unsure), _again(names, steps, rounds)) if text]
    return Samples(names, rounds, doubts)


def _of_rows(marked: Sequence[tuple[Any, str, Any]]) -> bool:
    """Return True for numbers of a data set's rows: each belongs to one content, and some stand at several rollouts."""
    contents = defaultdict[Any, set[str]](set)
    for _, name, value in marked:
        contents[value].add(name)
    times = Counter((step, value) for step, _, value in marked)
    return all(len(each) == 1 for each in contents.values()) and max(times.values(), default=0) > 1


def _several(rows: Iterable[tuple[Any, str, Any]]) -> set[str]:
    """Return the names that stand for several values in one step."""
    values = defaultdict[tuple[Any, str], set[Any]](set)
    for step, name, value in rows:
        values[step, name].add(value)
    return {name for (_, name), each in values.items() if len(each) > 1}


def _rounds(names: Sequence[str], steps: Sequence[Any]) -> list[int] | None:
    """Return the round of each row: its step where steps repeat the samples, else a number from 1; None for one round.

    At least half of the rounds must hold every sample, the others may be cut off; and there must be two samples.
    """
    if len({*names}) < 2:
        return None
    if None not in steps:
        return list(steps) if _whole(names, steps) >= 0.5 and len({*steps}) > 1 else None
    tries = [_by_period(names), _by_runs(names, parted=False), _by_runs(names, parted=True)]
    rated = [(_whole(names, each), each) for each in tries if each[-1] > 1]
    if not rated:
        return None
    share, best = max(rated, key=lambda pair: (pair[0], pair[1][-1]))
    return best if share >= 0.5 else None


def _whole(names: Sequence[str], rounds: Sequence[Any]) -> float:
    """Return the share of rounds that hold every sample, and each as often as most of these rounds do."""
    held = defaultdict[Any, Counter[str]](Counter)
    for name, number in zip(names, rounds, strict=True):
        held[number][name] += 1
    whole = Counter(frozenset(each.items()) for each in held.values() if len(each) == len({*names}))
    return max(whole.values(), default=0) / len(held)


def _by_period(names: Sequence[str]) -> list[int]:
    """Number repetitions of the shortest run of rows by which the whole log repeats; of the last, two samples count."""
    borders = [0] * len(names)  # the longest proper beginning of each beginning that is its end, too (Knuth's)
    length = 0
    for place in range(1, len(names)):
        while length and names[place] != names[length]:
            length = borders[length - 1]
        length += names[place] == names[length]
        borders[place] = length
    period = len(names) - borders[-1]
    uniform = len({*Counter(names[:period]).values()}) == 1
    if len(names) < 2 * period and not uniform and len({*names[period:]}) < 2:
        return [1] * len(names)
    return [1 + place // period for place in range(len(names))]


def _by_runs(names: Sequence[str], *, parted: bool) -> list[int]:
    """Number rounds that begin where a sample comes again after others.

    ``parted`` takes runs of twice the commonest length for two, of which the second begins a round.
    """
    runs = [(name, len([*rows])) for name, rows in groupby(names)]
    common = Counter(length for _, length in runs).most_common(1)[0][0]
    rounds, seen, number = list[int](), set[str](), 1
    for name, length in runs:
        parts = [common, length - common] if parted and length == 2 * common else [length]
        for part in parts:
            if name in seen:
                seen, number = set(), number + 1
            seen.add(name)
            rounds += [number] * part
    return rounds


def _sizes(names: Sequence[str], steps: Sequence[Any], rounds: Sequence[int] | None, unsure: Sequence[int]) -> str:
    """Warn of samples without a name that have twice, three times, ... the rollouts of most of a step; "" without."""
    at = steps if rounds is None else rounds
    groups = defaultdict[Any, Counter[str]](Counter)
    for place in unsure:
        groups[at[place]][names[place]] += 1
    large = Counter[tuple[int, int]]()
    for sizes in groups.values():
        times = Counter(sizes.values())
        common = min(size for size, count in times.items() if count == max(times.values()))
        large.update((size, common) for size in sizes.values() if size > common and size % common == 0)
    if not large:
        return ""
    (size, common), _ = large.most_common(1)[0]
    every = sum(map(len, groups.values()))
    return (
        f"{large.total()} of {every} groups are too large, such as {size} rollouts where others have {common}: rows "
        "that share prompt and target count as one sample, and these may be several, of other screens. Give targets an "
        "id, as `grounding-rewards convert` does, or have the trainer log a column image or uid"
    )


def _again(names: Sequence[str], steps: Sequence[Any], rounds: Sequence[int] | None) -> str:
    """Warn of a log without steps that comes back to samples in no order that tells rounds; "" without."""
    if rounds is not None or None not in steps or len({*names}) < 2:
        return ""
    runs = [name for name, _ in groupby(names)]
    again = sum(count > 1 for count in Counter(runs).values())
    if not again:
        return ""
    return (
        f"{again} of {len({*names})} samples come again after others, in no order that tells rounds apart, so all "
        "rollouts count together; cut the log into a file for each round"
    )
