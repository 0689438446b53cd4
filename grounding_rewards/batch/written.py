"""Write scored shards as Parquet, and sum them up for the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from grounding_rewards.rollouts import PARSED, Reason
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.findings import Finding, described, findings

MANIFEST = "_score.manifest.json"
"""By its first letter, readers of a directory of Parquet pass it over."""

_HELD_BYTES = 1 << 26
_JUDGED = ["sample_id", "target", "image_size", "model_image_size"]


def write(file: IO[bytes], schema: Any, batches: Iterable[Any]) -> None:
    """Write batches as Parquet, in few row groups and bounded memory."""
    held, size = list[Any](), 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            held, size = [*held, batch], size + batch.nbytes
            if size > _HELD_BYTES:
                writer.write_table(pa.Table.from_batches(held))
                held, size = [], 0
        if held:
            writer.write_table(pa.Table.from_batches(held))


def summary(folder: Path, names: Sequence[str], recipe: Recipe, warned: Sequence[str]) -> dict[str, Any]:
    """Return figures and warnings of scored shards, counted anew: the same however many runs made them."""
    rows, scored, hits, total, parsed = 0, 0, 0, 0.0, 0
    reasons: Counter[str | None] = Counter()
    noticed = list[Finding]()
    read = pa.array([reason.name for reason in PARSED])
    for name in names:
        with (folder / name).open("rb") as opened, pq.ParquetFile(opened) as file:
            found = file.read(["total", "acc", "reason"])
            noticed += [each for batch in file.iter_batches(columns=_JUDGED) for each in _findings(batch, recipe)]
        usable = found.filter(found.column("acc").is_valid())
        rows, scored = rows + len(found), scored + len(usable)
        hits += int(np.count_nonzero(usable.column("acc").to_numpy() == 1.0))
        total += float(usable.column("total").to_numpy().sum())
        parsed += int(pc.sum(pc.is_in(usable.column("reason"), read)).as_py() or 0)
        counts = found.column("reason").value_counts().to_pylist()
        reasons.update({each["values"]: each["counts"] for each in counts})
    share = None if not scored else 1 / scored
    bad = reasons[Reason.BAD_TARGET.name]
    unusable = [f"{bad} rollouts are not scored, for their targets cannot be used"] if bad else []
    return {
        **({"label_free": True} if recipe.label_free else {}),
        "rows": rows, "scored": scored, "unscored": rows - scored, "no_response": reasons[None],
        "mean_total": share and total / scored, "hit_rate": share and hits / scored,
        "parse_rate": share and parsed / scored,
        "reasons": {reason.name: reasons[reason.name] for reason in Reason if reason.name in reasons},
        "warnings": [*warned, *unusable, *described(noticed)],
    }  # fmt: skip


def _findings(rows: Any, recipe: Recipe) -> list[Finding]:
    """Look at the targets of some rows."""
    names, targets, *sizes = (rows.column(name).to_pylist() for name in _JUDGED)
    rollouts = recipe.rollouts(
        [None] * len(targets), targets, image_sizes=sizes[0], model_image_sizes=sizes[1], groups=names,
        bad_target="abstain",
    )  # fmt: skip
    return [replace(each, first=f"sample {names[each.row]!r:.80}") for each in findings(rollouts.targets, recipe)]
