"""Files of a benchmark as one table: chosen in a folder by their names, with what these say of all their rows."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grounding_rewards.batch.benchmarks.known import Benchmark
from grounding_rewards.errors import TableError
from grounding_rewards.tables.contents import stem_of
from grounding_rewards.tables.opening import ChainedTable, open_rows, splits_of
from grounding_rewards.tables.rows import ChangedTable, Note, Table

_CATEGORIES = '{"classified": {"category": [{"id": "..."}]}}'


def open_benchmark(
    benchmark: Benchmark, paths: Sequence[Path], split: str | None = None, note: Note = lambda text: None
) -> Table:
    """Open the files of a benchmark as one table."""
    tables = [table for path in paths for table in _tables(benchmark, path, split, note)]
    if len(tables) == 1:
        return tables[0]
    if len(paths) == 1:
        return ChainedTable(paths[0], tables)
    return ChainedTable(Path(os.path.commonpath([path.parent.absolute() for path in paths])), tables)


def _tables(benchmark: Benchmark, path: Path, split: str | None, note: Note) -> Iterator[Table]:
    there = [] if split is not None else splits_of(path)
    own = [each for each in there if _is_own(benchmark, each)]
    if own and (others := [each for each in there if each not in own]):
        note(f"{path}: left out, for {benchmark.title} has no files of these names: {', '.join(others)}")
    chosen: list[str | None] = [*own] or [split]
    for name in chosen:
        table = open_rows(path, name)
        labels = _labels(benchmark, name or stem_of(path))
        for part in table.tables if isinstance(table, ChainedTable) else [table]:
            yield _labelled(part, labels) if labels else part


def _labelled(table: Table, labels: Mapping[str, str]) -> Table:
    """Return a table with further columns, ``labels``, whose values are the same in all rows."""
    return ChangedTable(
        table,
        lambda batch: replace(batch, rows=[{**row, **labels} for row in batch.rows]),
        [*table.columns, *labels],
    )


def _is_own(benchmark: Benchmark, split: str) -> bool:
    return re.fullmatch(benchmark.files, split.rpartition("/")[2], re.IGNORECASE) is not None


def _labels(benchmark: Benchmark, stem: str) -> dict[str, str]:
    """Return the fields that a file's name says: where it holds that of one of the benchmark's files, this one's."""
    if not benchmark.named:
        return {}
    own = re.search(f"(?<![a-z])(?:{benchmark.files})(?![a-z])", stem, re.IGNORECASE)
    matches = re.finditer(benchmark.named, own.group() if own else stem, re.IGNORECASE)
    labels = [{name: value.lower() for name, value in match.groupdict().items()} for match in matches]
    for each in labels:
        if each != labels[0]:
            words, name = [" and ".join(label[key] for label in (labels[0], each)) for key in each], " and ".join(each)
            raise TableError(
                f"{stem}: its name says {', '.join(words)}; expected one {name}, as in names of {benchmark.title}: "
                "rename the file"
            )
    return labels[0] if labels else {}


def read_categories(path: Path) -> dict[str, list[str]]:
    """Return the categories of each id, several of one, from a file as OSWorld-G's classification_result.json."""
    try:
        classified = json.loads(path.read_text("utf-8"))["classified"]
        pairs = [(str(each["id"]), name) for name, samples in classified.items() for each in samples]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise TableError(
            f"{path}: is no file of categories ({type(error).__name__}: {error!s:.80}); expected {_CATEGORIES}"
        ) from None
    categories = dict[str, list[str]]()
    for sample, name in pairs:
        categories.setdefault(sample, []).append(name)
    return categories
