"""Cost of statistics of rollouts and of a new pool beside a plain scan of two columns of the same file.

    python benchmarks/pool.py [--samples 103000] [--rollouts 16] [--large] [--quick] [--json]

A Parquet file of made-up rollouts (sample_id, round, rollout, source, total, acc; a sample's rollouts side by side, as
trainers write them) is written once. Then each step runs in a process of its own, three times in turns, and the
quickest run counts: `scan` reads sample_id and acc of every row into Arrow, batch by batch, and all others are given in
scans; `aggregate` asks DuckDB for the last sample_id and the sum of acc; `counts` finds n and num_correct of
every sample, and that no rollout is there twice; `summary` is what `pool stats` prints; `statistics` are all columns,
sorted by sample; `next pool` draws 20/80 from these and adds a control; `command` is `grounding-rewards pool next`
itself, its start included. Memory is the largest that the process held, where the system tells. `--large` makes 100
million rollouts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

STEPS = ("scan", "aggregate", "counts", "summary", "statistics", "next pool", "command")
LARGE = 6_250_000
CHUNK = 62_500  # samples in a row group
AGGREGATE = "SELECT max(sample_id), sum(acc) FROM read_parquet(?)"


Making = Callable[[np.random.Generator, NDArray[np.int64]], Any]
"""Makes the values of a column, of rollouts of these samples by number."""


def write(
    path: Path,
    samples: int,
    rollouts: int,
    seed: int = 0,
    more: Mapping[str, tuple[pa.DataType, Making]] | None = None,
    rounds: int = 1,
) -> None:
    """Rollouts of samples whose chances of being solved pile up at both ends; ``more`` columns by name."""
    more = more or {}
    rng = np.random.default_rng(seed)
    kinds = {"sample_id": pa.string(), "round": pa.int64(), "rollout": pa.int64(), "source": pa.string()}
    schema = pa.schema([*kinds.items(), ("total", pa.float64()), ("acc", pa.float64())])
    for name, (kind, _) in more.items():
        schema = schema.append(pa.field(name, kind))
    sources = pa.array([f"source-{place}" for place in range(8)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, samples, CHUNK):
            some = min(CHUNK, samples - start)
            digits = rng.bytes(16 * some).hex()
            names = pa.array([digits[32 * place : 32 * place + 32] for place in range(some)])
            code = np.repeat(np.arange(some, dtype=np.int32), rollouts)
            acc = (rng.random(len(code)) < np.repeat(rng.beta(0.5, 0.5, some), rollouts)).astype(np.float64)
            total = acc * rng.integers(50, 101, len(code)) / 100
            columns = [
                pa.DictionaryArray.from_arrays(code, names).cast(pa.string()),
                np.tile(1 + np.arange(rollouts) * rounds // rollouts, some),
                np.tile(np.arange(rollouts), some),
                sources.take(pa.array(code % 8)),
                total,
                acc,
                *(make(rng, start + code.astype(np.int64)) for _, make in more.values()),
            ]
            writer.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema))


def run(step: str, path: str) -> dict[str, Any]:
    """One step, in this process."""
    import duckdb
    import pyarrow.dataset

    from grounding_rewards.pool.aggregate import stats_of
    from grounding_rewards.pool.selection import next_pool
    from grounding_rewards.pool.stats import SUMMED, summary
    from grounding_rewards.tables.rollout_table import open_rollouts

    start = time.perf_counter()
    if step == "scan":
        batches = pyarrow.dataset.dataset(path).scanner(columns=["sample_id", "acc"]).to_batches()
        sum(len(batch) for batch in batches)
    elif step == "aggregate":
        duckdb.connect().execute(AGGREGATE, [path]).fetchall()
    elif step == "counts":
        stats_of(open_rollouts([path]), columns=())
    elif step == "summary":
        summary(stats_of(open_rollouts([path]), columns=SUMMED))
    elif step == "statistics":
        stats_of(open_rollouts([path]))
    else:
        next_pool(stats_of(open_rollouts([path])), zero_share=0.2, seed=7, control=True)
    return {"seconds": time.perf_counter() - start, "bytes": peak()}


def peak() -> int | None:
    """The most memory that this process has held."""
    try:
        import resource
    except ImportError:
        return None
    return in_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def in_bytes(held: int) -> int:
    """Memory as the system tells it: macOS in bytes, others in KiB."""
    return held if sys.platform == "darwin" else 1024 * held


def measured(step: str, path: Path) -> dict[str, Any]:
    """The same in a process of its own."""
    if step == "command":
        words = ["pool", "next", str(path), "--out", str(path.with_name("pool.parquet")), "--seed", "7", "--control"]
        code = (
            f"import sys; sys.argv = ['grounding-rewards', *{words!r}]\nfrom grounding_rewards.cli import main\nmain()"
        )
        return timed([sys.executable, "-c", code])
    words = [sys.executable, __file__, "--step", step, "--path", str(path)]
    return dict(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def timed(words: list[str]) -> dict[str, Any]:
    """A command's seconds, and the most memory that it has held."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=said, stderr=said)
        if not hasattr(os, "wait4"):
            process.wait()
            held = None
        else:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            held = in_bytes(usage.ru_maxrss)
        seconds = time.perf_counter() - start
        said.seek(0)
        if process.returncode:
            raise SystemExit(said.read().decode())
    return {"seconds": seconds, "bytes": held}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=103_000)
    parser.add_argument("--rollouts", type=int, default=16)
    parser.add_argument("--large", action="store_true", help="100 million rollouts")
    parser.add_argument("--quick", action="store_true", help="a few thousand samples, once")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(run(given.step, given.path)))
        return
    samples = LARGE if given.large else 2000 if given.quick else given.samples
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rollouts.parquet")
        write(path, samples, given.rollouts)
        runs = [{step: measured(step, path) for step in STEPS} for _ in range(1 if given.quick else 3)]
    best = {step: min((each[step] for each in runs), key=lambda found: found["seconds"]) for step in STEPS}
    scan = best["scan"]["seconds"]
    found = [{"step": step, **best[step], "scans": best[step]["seconds"] / scan} for step in STEPS]
    if given.json:
        print(json.dumps({"samples": samples, "rollouts": given.rollouts, "steps": found}, indent=2))
        return
    print(f"{samples:,} samples x {given.rollouts} rollouts\n")
    print(f"{'step':12} {'seconds':>8} {'x scan':>7} {'GiB':>6}")
    for each in found:
        memory = "-" if each["bytes"] is None else f"{each['bytes'] / 2**30:.2f}"
        print(f"{each['step']:12} {each['seconds']:8.2f} {each['scans']:7.1f} {memory:>6}")


if __name__ == "__main__":
    main()
