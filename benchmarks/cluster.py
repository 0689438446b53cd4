"""Cost of `pool score` on Ray beside the same command without it, on this machine.

    python benchmarks/cluster.py [--rows 400000] [--workers 1 2] [--repeat 1] [--json]

A Parquet file of made-up rollouts with responses and targets, in row groups of 65,536 rows, is scored in a process of
its own by what `pool score --recipe gta1` calls, without Ray and on a Ray of so many workers. All must write the same
manifest. Rows a second are of the wall clock, the start of Ray left out. CPU seconds, which other work on the machine
changes little, are those of the command + of the workers + of Ray's own processes. The quickest of the runs counts,
taken in turns. Memory is the largest that one worker held.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

GROUP, SIZE = 1 << 16, [1920, 1080]
RUN = """
import sys, time
import grounding_rewards as gr
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.cluster import joined
source, out, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
if workers:
    import ray
    ray.init("local", num_cpus=workers, object_store_memory=1 << 28, include_dashboard=False, log_to_driver=False)
with joined("auto" if workers else None) as cluster:
    began = time.monotonic()
    rescore([source], gr.recipe("gta1", response_space="pixel", target_space="pixel"), out, cluster=cluster)
    print("seconds", time.monotonic() - began, flush=True)
"""


def write(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, GROUP):
        number = np.arange(start, min(start + GROUP, rows))
        left, top = number // 16 * 37 % 1800, number // 16 * 91 % 1000
        x, y = left + rng.integers(-40, 80, len(number)), top + rng.integers(-40, 80, len(number))
        table = pa.table(
            {
                "sample_id": [f"sample-{each}" for each in (number // 16).tolist()],
                "round": np.zeros(len(number), dtype=np.int64),
                "rollout": number % 16,
                "response": [f"({a}, {b})" for a, b in zip(x.tolist(), y.tolist(), strict=True)],
                "target": [
                    f'{{"bbox": [{a}, {b}, {a + 40}, {b + 40}], "image_size": {SIZE}, "model_image_size": {SIZE}}}'
                    for a, b in zip(left.tolist(), top.tolist(), strict=True)
                ],
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def run(source: Path, out: Path, workers: int) -> dict[str, float]:
    words = [sys.executable, "-c", RUN, str(source), str(out), str(workers)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    used, memory, own = dict[str, dict[int, float]](command={}, workers={}, ray={}), 0, psutil.Process(child.pid)
    while child.poll() is None:
        try:
            for each in [own, *own.children(recursive=True)]:
                times = each.cpu_times()
                works = "default_worker" in " ".join(each.cmdline()) or each.name().startswith("ray::Map")
                kind = "command" if each == own else "workers" if works else "ray"
                used[kind][each.pid] = times.user + times.system
                if works:
                    memory = max(memory, each.memory_info().rss - each.memory_info().shared)
        except psutil.Error:  # it has ended meanwhile
            pass
        time.sleep(0.1)
    assert child.stdout is not None
    seconds = float(next(line for line in child.stdout if line.startswith("seconds")).split()[1])
    return {
        "seconds": seconds,
        **{kind: sum(each.values()) for kind, each in used.items()},
        "worker_mib": memory / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: dict[int, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rollouts.parquet")
        write(source, options.rows)
        for _ in range(options.repeat):
            shards = set[bytes]()
            for workers in (0, *options.workers):
                out = Path(folder, f"out-{workers}-{time.monotonic_ns()}")
                results.setdefault(workers, []).append(run(source, out, workers))
                shards.add((out / "_score.manifest.json").read_bytes())
            assert len(shards) == 1, "the manifests differ"
    best = {workers: min(each, key=lambda one: one["seconds"]) for workers, each in results.items()}
    if options.json:
        print(json.dumps(best))
        return
    for workers, each in best.items():
        print(
            f"{f'{workers} workers' if workers else 'without Ray':12} {options.rows / each['seconds']:10,.0f} rows/s "
            f"{each['command']:8.1f} + {each['workers']:.1f} + {each['ray']:.1f} CPU s "
            f"{each['worker_mib']:8.0f} MiB a worker"
        )


if __name__ == "__main__":
    main()
