"""Cost of `pool score`, `score` and `rollout` on Ray beside the same command without it, on this machine.

    python benchmarks/cluster.py [--command score] [--rows 400000] [--workers 1 2] [--repeat 1] [--json]

The command, a process of its own, takes a Parquet file of made-up rollouts with responses and targets, in row groups
of 65,536 rows, without Ray and on a Ray of each number of workers. `rollout` asks an engine that answers at once for 16
responses to each sample, and scores them; its rows are the responses. All must write the same bytes. Rows a second are
of the wall clock, the start of Ray left out. CPU seconds, which other work on the machine changes little, are those of
the command + of the workers + of Ray's own processes. The quickest of the runs counts, taken in turns. Memory is the
largest that one worker held.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
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
from grounding_rewards.cli import main
workers, words = int(sys.argv[1]), sys.argv[2:]
if workers:
    import ray
    ray.init("local", num_cpus=workers, object_store_memory=1 << 28, include_dashboard=False, log_to_driver=False)
    words += ["--ray", "auto"]
began = time.monotonic()
try:
    main(words)
finally:
    print("seconds", time.monotonic() - began, flush=True)
"""
ENGINE = """
from contextlib import contextmanager
from dataclasses import dataclass
from grounding_rewards.engines import Answer, Reply

@dataclass(frozen=True)
class Ready:
    model: str

    @contextmanager
    def start(self):
        yield Answering()

class Answering:
    at_once, resizing = 64, None

    def __call__(self, requests):
        return [Reply(tuple(Answer("(5, 5)") for _ in each.seeds)) for each in requests]
"""
SCORED = ["--recipe", "gta1", "--response-space", "pixel", "--target-space", "pixel"]
COMMANDS = {
    "pool score": (["pool", "score"], ""),
    "score": (["score"], "/scored.parquet"),
    "rollout": (["rollout", "--engine", "engine.py:Ready", "--model", "none", "--n", "16"], ""),
}
"""Words of a command beside its file and options, and what its output is called in a folder."""


def write(path: Path, rows: int, columns: list[str] | None = None) -> None:
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
                "instruction": np.full(len(number), "click on it"),
                "response": [f"({a}, {b})" for a, b in zip(x.tolist(), y.tolist(), strict=True)],
                "target": [
                    f'{{"bbox": [{a}, {b}, {a + 40}, {b + 40}], "image_size": {SIZE}, "model_image_size": {SIZE}}}'
                    for a, b in zip(left.tolist(), top.tolist(), strict=True)
                ],
            }
        )
        table = table.select(columns or table.column_names)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def run(words: list[str], folder: Path, workers: int) -> dict[str, float]:
    started = [sys.executable, "-c", RUN, str(workers), *words]
    child = subprocess.Popen(started, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    used, work, memory, own = dict[int, float](), set[int](), 0, psutil.Process(child.pid)
    while child.poll() is None:
        try:
            for each in [own, *own.children(recursive=True)]:
                times = each.cpu_times()
                if each.name().startswith(("ray::Map", "ray::_MapWorker")):  # its name between items is another
                    work.add(each.pid)
                used[each.pid] = times.user + times.system
                if each.pid in work:
                    memory = max(memory, each.memory_info().rss - each.memory_info().shared)
        except psutil.Error:  # it has ended meanwhile
            pass
        time.sleep(0.1)
    said, errors = child.communicate()
    assert child.returncode == 0, errors
    seconds = float(next(line for line in said.splitlines() if line.startswith("seconds")).split()[1])
    return {
        "seconds": seconds,
        "command": used.pop(own.pid),
        "workers": sum(used.pop(each) for each in work),
        "ray": sum(used.values()),
        "worker_mib": memory / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", choices=COMMANDS, default="pool score")
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: dict[int, list[dict[str, Any]]] = {}
    command, name = COMMANDS[options.command]
    with tempfile.TemporaryDirectory() as made:
        folder, source = Path(made), Path(made, "rows.parquet")
        if options.command == "rollout":
            (folder / "engine.py").write_text(ENGINE)
            write(source, options.rows // 16, ["rollout", "instruction", "target"])
        else:
            write(source, options.rows)
        for _ in range(options.repeat):
            written = set[str]()
            for workers in (0, *options.workers):
                out = folder / f"out-{workers}-{time.monotonic_ns()}"
                if name:
                    out.mkdir()
                words = [*command, str(source), *SCORED, "--out", f"{out}{name}"]
                results.setdefault(workers, []).append(run(words, folder, workers))
                files = sorted(each for each in out.rglob("*") if each.is_file())
                written.add(hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest())
                shutil.rmtree(out)
            assert len(written) == 1, "the outputs differ"
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
