"""Identity of a run of rollouts, and figures of its rows, for the manifest."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from grounding_rewards._version import __version__
from grounding_rewards.batch.rescore import summary
from grounding_rewards.engines.protocol import Engine
from grounding_rewards.engines.shard import ShardMaker
from grounding_rewards.plugins.sources import files_named, plugins_named
from grounding_rewards.tables.manifests import digest, fingerprint

_READ = ["sample_id", "temperature", "response", "acc", "problem", "cut", "token_length"]
_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d.,]*")
"""Parts of a problem that are the row's own: what is quoted, and numbers."""

_PIECE, _PIECES = 1 << 16, 256
"""Bytes of a piece of a checkpoint's file, and pieces of a file that are read."""

_PACKAGE = Path(__file__).absolute().parents[1]

_ALIKE = 8
"""Samples whose responses are all alike, from which the engine may be greedy."""

_LISTED, _SHOWN = 20, 5
"""Kinds of problems in the manifest, and among its warnings."""


def identity_of(maker: ShardMaker, engine: Engine, allocated: Path | None, engine_name: str = "") -> dict[str, Any]:
    """Return what a run is made of: only one with the same identity is gone on with."""
    config = None if maker.recipe is None else maker.recipe.to_dict()
    terms = {"name": engine_name, "selectors": [config or {}]}  # whatever names code
    files = dict.fromkeys([*(file.absolute() for file in files_named(terms)), *_file_of(engine)])
    own = asdict(maker.settings)
    own["max"] = own.pop("most")
    return {
        "version": __version__,
        "engine": {"name": type(engine).__name__, **_arguments(engine)},
        "checkpoint": checkpoint_of(engine.model),
        "prompt": {"template": maker.prompt.template, "system": maker.prompt.system},
        **own,
        "policy": maker.settings.policy or engine.model,
        "allocated": [fingerprint(allocated, [allocated])] if allocated else None,
        "resizing": None if maker.resizing is None else asdict(maker.resizing),
        "recipe": config,
        "code": [{"path": str(file), "sha256": digest(file)} for file in files],
        "plugins": plugins_named(terms),
        **maker.data.identity(),
    }


def _file_of(engine: Engine) -> list[Path]:
    """Return the file of an engine's class; none for one of this package, whose version is known."""
    place = getattr(sys.modules.get(type(engine).__module__), "__file__", None)
    file = None if place is None else Path(place).absolute()
    own = file is None or _PACKAGE in file.parents or not file.is_file()
    return [] if own or file is None else [file]


def _arguments(engine: Engine) -> dict[str, Any]:
    """Return the arguments of an engine that its answers depend on: those by which it is compared."""
    known = fields(engine) if hasattr(engine, "__dataclass_fields__") else ()  # type: ignore[arg-type]
    values = {each.name: getattr(engine, each.name) for each in known if each.compare} or {"model": engine.model}
    plain: dict[str, Any] = json.loads(json.dumps(values, default=str))
    return plain


def checkpoint_of(model: str) -> str | None:
    """Return a hash of the files in a checkpoint's folder; None where the model is a name.

    Of large files only pieces are read, spread evenly: training changes all weights, and files hold many gigabytes.

    >>> checkpoint_of("Qwen/Qwen3-VL-8B-Instruct") is None
    True
    """
    folder, known = Path(model), sha256()
    if not folder.is_dir():
        return None
    for path in sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith(".")):
        size = path.stat().st_size
        known.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            for place in range(0, size, max(_PIECE, size // _PIECES)):
                file.seek(place)
                known.update(file.read(_PIECE))
    return known.hexdigest()


def facts_of(
    folder: Path, names: Sequence[str], maker: ShardMaker, samples: int, warned: Sequence[str]
) -> dict[str, Any]:
    """Return figures of all rows, read from the shards: the same however many runs made them."""
    rows = answered = cut = tokens = known = 0
    reasons, examples = Counter[str](), dict[str, Mapping[str, Any]]()
    each_temperature, responses = _Temperatures(), _Alike()
    for name in names:
        with (folder / name).open("rb") as opened, pq.ParquetFile(opened) as file:
            read = file.read(_READ)
        rows += len(read)
        answered += len(read) - read.column("response").null_count
        cut += int(np.count_nonzero(read.column("cut").fill_null(False).to_numpy()))
        lengths = read.column("token_length").drop_null().to_numpy()
        tokens, known = tokens + int(lengths.sum()), known + len(lengths)
        each_temperature.add(read)
        responses.add(read)
        for each in read.filter(read.column("problem").is_valid()).to_pylist():
            kind = _OWN.sub("...", each["problem"])
            reasons[kind] += 1
            examples.setdefault(kind, {"sample_id": each["sample_id"], "problem": each["problem"]})
    problems = [{"rows": count, **examples[kind]} for kind, count in reasons.most_common(_LISTED)]
    recipe, scorer = maker.recipe, maker.data.reader.scorer
    scored = {} if recipe is None else summary(folder, names, recipe, box_format=scorer.box_format)
    return {
        "samples": samples,
        "rows": rows, "answered": answered, "problems": problems, "further_problems": len(reasons) - len(problems),
        "cut": cut, "mean_token_length": tokens / known if known else None, **scored, **each_temperature.figures(),
        "warnings": [*warned, *map(_text, problems[:_SHOWN]), *responses.warnings(), *scored.get("warnings", ())],
    }  # fmt: skip


class _Temperatures:
    """Counts of rows, of scored ones and of right ones by temperature."""

    def __init__(self) -> None:
        self.counts = dict[float, list[int]]()

    def add(self, rows: Any) -> None:
        for temperature in rows.column("temperature").unique().to_pylist():
            acc = rows.filter(pc.equal(rows.column("temperature"), temperature)).column("acc")
            new = len(acc), len(acc) - acc.null_count, int(np.count_nonzero(acc.drop_null().to_numpy() == 1.0))
            old = self.counts.get(temperature, [0, 0, 0])
            self.counts[temperature] = [one + other for one, other in zip(old, new, strict=True)]

    def figures(self) -> dict[str, Any]:
        """Return the figures of each temperature, where there are several."""
        each = [
            {"temperature": temperature, "rows": rows, "scored": scored, "hit_rate": right / scored if scored else None}
            for temperature, (rows, scored, right) in sorted(self.counts.items())
        ]
        return {"by_temperature": each} if len(each) > 1 else {}


class _Alike:
    """Samples of which several responses were drawn, and those of them whose responses are all alike."""

    def __init__(self) -> None:
        self.several = self.alike = 0
        self.temperatures = set[float]()

    def add(self, rows: Any) -> None:
        of_sample = dict[str, list[str]]()
        drawn = rows.filter(pc.and_(pc.greater(rows.column("temperature"), 0), rows.column("response").is_valid()))
        for name, text in zip(*(drawn.column(each).to_pylist() for each in ("sample_id", "response")), strict=True):
            of_sample.setdefault(name, []).append(text)
        several = [texts for texts in of_sample.values() if len(texts) > 1]
        self.several += len(several)
        self.alike += sum(len({*texts}) == 1 for texts in several)
        self.temperatures.update(drawn.column("temperature").unique().to_pylist())

    def warnings(self) -> list[str]:
        """Return a warning where all are alike."""
        if not self.several == self.alike >= _ALIKE:
            return []
        several = len(self.temperatures) > 1
        where = f"temperature{'s' * several} {', '.join(map(str, sorted(self.temperatures)))}"
        return [
            f"all responses to each of {self.several:,} samples are alike at {where}; the engine or its server may be "
            "greedy: see docs/rollouts.md"
        ]


def _text(problem: Mapping[str, Any]) -> str:
    rows, sample = problem["rows"], f"sample {problem['sample_id']!r:.80}"
    which = f"{rows:,} rollouts have no response, the first is of {sample}" if rows > 1 else f"no response to {sample}"
    return f"{which}: {problem['problem']}"
