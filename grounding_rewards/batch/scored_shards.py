"""Figures and findings of a run's scored shards, for its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from grounding_rewards.batch.columns import OWN
from grounding_rewards.batch.score_rows import Inputs, RecipeSlice
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import Severity
from grounding_rewards.checks.naming import command_line
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.rollouts import PARSED, Reason, Scores
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.box_format import BoxFormat

_JUDGED = ["sample_id", "response", "target", "image_size", "model_image_size", "total", "acc", "reason"]
"""Columns that a diagnosis is made of."""


def summary(
    folder: Path,
    names: Sequence[str],
    recipe: Recipe,
    response: str = OWN.response,
    box_format: BoxFormat | None = None,
    warned: Sequence[str] = (),
) -> dict[str, Any]:
    """Return figures and warnings of all shards, read from the files: the same however many runs made them.

    Args:
        folder: where the shards are.
        names: their names.
        recipe: the recipe that scored them.
        response: the column of responses in the input, for the words of fixes.
        box_format: how boxes of the input's targets were declared to be written.
        warned: further warnings, which come first.
    """
    rows, scored, hits, total, parsed = 0, 0, 0, 0.0, 0
    reasons: Counter[str | None] = Counter()
    written = box_format and BoxFormat.XYXY  # which the directory has, whatever was declared
    diagnosis = Diagnosis(recipe, command_line(response), written)
    parsed_reasons = pa.array([reason.name for reason in PARSED])
    for name in names:
        with (folder / name).open("rb") as opened, pq.ParquetFile(opened) as file:
            figures = file.read(["total", "acc", "reason"])
            for batch in file.iter_batches(columns=_JUDGED):
                _diagnose(diagnosis, batch.filter(batch.column("response").is_valid()), box_format)
        usable = figures.filter(figures.column("acc").is_valid())
        rows, scored = rows + len(figures), scored + len(usable)
        hits += int(np.count_nonzero(usable.column("acc").to_numpy() == 1.0))
        total += float(usable.column("total").to_numpy().sum())
        parsed += int(pc.sum(pc.is_in(usable.column("reason"), parsed_reasons)).as_py() or 0)
        counts = figures.column("reason").value_counts().to_pylist()
        reasons.update({each["values"]: each["counts"] for each in counts})
    findings = diagnosis.findings()
    return {
        **({"label_free": True} if recipe.label_free else {}),
        "rows": rows, "scored": scored, "unscored": rows - scored, "no_response": reasons[None],
        "mean_total": total / scored if scored else None, "hit_rate": hits / scored if scored else None,
        "parse_rate": parsed / scored if scored else None,
        "reasons": {reason.name: reasons[reason.name] for reason in Reason if reason.name in reasons},
        "warnings": [*warned, *(str(each) for each in findings if each.severity is not Severity.NOTE)],
        "findings": [each.to_dict() for each in findings],
    }  # fmt: skip


_CODES = {reason.name: int(reason) for reason in Reason}


def _diagnose(diagnosis: Diagnosis, rows: Any, declared: BoxFormat | None) -> None:
    """Count scored rows, which all have a response, in a diagnosis; boxes were ``declared`` to be of a format."""
    recipe = diagnosis.recipe
    names, texts, targets, *sizes = (rows.column(name).to_pylist() for name in _JUDGED[:5])
    read = recipe.read_targets(targets, bad_target="abstain", warn=False)
    read = read.changed(box_format=declared)
    rollouts = recipe.prepare(
        [None] * len(targets), read, image_sizes=sizes[0], model_image_sizes=sizes[1], groups=names,
        bad_target="abstain",
    )  # fmt: skip
    total, acc = (rows.column(name).fill_null(0.0).to_numpy(zero_copy_only=False) for name in ("total", "acc"))
    reason = np.array([_CODES[name] for name in rows.column("reason").to_pylist()], dtype=np.int8)
    scores = Scores(
        total, acc, (reason != Reason.BAD_TARGET).astype(np.float64), {}, reason, rollouts.predictions,
        rollouts.targets.errors,
    )  # fmt: skip
    outside = [
        None if all(size is None for size in each) else read_sizes("image_size", each, len(each)) for each in sizes
    ]
    scored = RecipeSlice(recipe, Inputs(texts, targets), rollouts, scores, sizes=(outside[0], outside[1]))
    diagnosis.add(scored, place=lambda row: f"sample {names[row]!r:.80}")
