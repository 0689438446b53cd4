"""Rounds of training on a CPU, each from a checkpoint to the next, on a pool that the policy's own rollouts chose.

The demo's policy (train_trl_cpu.py) learns to click widgets of three kinds: buttons and icons, which its warm start
showed it, and small dots, which it has never seen. Six in a hundred training screens have the wrong widget for a
target, as labels have. Then, as labs do with models of 7B, each round does this:

1. `rollout` at several temperatures, and `pool temperature`: the highest one whose accuracy does not collapse.
2. `rollout` of all training screens at it, 8 responses each, and `pool stats`.
3. `pool next`: no screen that is always solved, 20 % never solved to 80 % sometimes solved.
4. GRPO on the pool, at that temperature, by TRL; the checkpoint.
5. `rollout` of held-out screens, greedy, and `eval --paired` against the policy before.

After the last round steps 1 and 2 measure what became of the training screens: `pool transitions`, `pool report`.

    python examples/rounds.py                    two rounds, some minutes
    python examples/rounds.py --rounds 3         goes on with a third
    python examples/rounds.py --quick            some forty seconds, through every step, too short to learn
    python examples/rounds.py --arm control      trains on as many random screens instead

The same command goes on after a kill at any moment. One run says little about which pool is better;
benchmarks/next_round.py compares them over several seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from datasets import disable_progress_bars
from toy_rounds import FULL, QUICK, Steps, quieten, training_tasks
from train_trl_cpu import say

from grounding_rewards.tables.atomic import atomic_file

ZERO_SHARE = 0.2


def main() -> int:
    options = read_options()
    disable_progress_bars()
    quieten()
    steps = Steps(options.out, options.size, options.seed, say)
    check_settings(options)
    steps.prepare()
    evaluations, rounds = [steps.evaluate(0)], list[dict[str, Any]]()
    for number in range(1, options.rounds + 1):
        temperature = measure(steps, number)
        pool = next_pool(steps, number)
        rows = pool_of(steps, number, "" if options.arm == "pool" else ".control")
        steps.train(number, number - 1, rows, temperature)
        evaluations.append(steps.evaluate(number, number - 1))
        rounds.append({"round": number, "temperature": temperature, "pool": pool})
    measure(steps, options.rounds + 1)
    for each in rounds:
        each["transitions"] = compare(steps, each["round"])
        each["suspects"] = names_in(pool_of(steps, each["round"], ".suspects"))
    report(steps, options.rounds)
    wrong = sorted(task.name for task in training_tasks(options.size, options.seed) if task.mislabelled)
    result = {"settings": settings(options), "held_out": evaluations, "rounds": rounds, "mislabelled": wrong}
    write(options.out / "result.json", result)
    show(result, options.out)
    return 0


def measure(steps: Steps, number: int) -> float:
    """Choose a round's temperature, roll all training screens out at it and count them. Returns the temperature."""
    folder = steps.folder(number)
    temperature = steps.choose_temperature(number)
    steps.roll_out("train", number - 1, folder / "rollouts", (temperature,), number)
    if not (folder / "stats.parquet").exists():
        steps.command("pool", "stats", folder / "rollouts", "--out", folder / "stats.parquet")
    return temperature


def pool_of(steps: Steps, number: int, kind: str = "") -> Path:
    """The rows of a round's pool, or those that were drawn beside it (.control) or set aside (.suspects)."""
    return steps.folder(number) / f"pool-{number}{kind}.parquet"


def manifest_of(steps: Steps, number: int) -> Path:
    return steps.folder(number) / f"pool-{number}.parquet.manifest.json"


def next_pool(steps: Steps, number: int) -> dict[str, Any]:
    """Draw a round's pool. The command writes its rows, a random control, and, last, the manifest that is returned."""
    folder = steps.folder(number)
    manifest = manifest_of(steps, number)
    if not manifest.exists():
        files = [folder / "rollouts", "--data", steps.data("train"), "--out", pool_of(steps, number)]
        steps.command("pool", "next", *files, "--zero-share", ZERO_SHARE, "--seed", steps.seed, "--control")
    read: dict[str, Any] = json.loads(manifest.read_text("utf-8"))
    return read


def compare(steps: Steps, number: int) -> dict[str, Any]:
    """Return what became of the training screens in a round, beside what chance alone does."""
    before, after = (steps.folder(each) / "rollouts" for each in (number, number + 1))
    file = steps.folder(number) / "transitions.json"
    moved: dict[str, Any] = steps.command("pool", "transitions", before, after, "--json", into=file)
    return moved


def report(steps: Steps, rounds: int) -> None:
    """Write the page of all rounds; the temperatures, measured on other screens, are on one of their own."""
    measured = [steps.folder(number) / "rollouts" for number in range(1, rounds + 2)]
    pools = [manifest_of(steps, number) for number in range(1, rounds + 1)]
    more = ["--data", steps.data("train"), "--samples", 4, "--title", f"{rounds} rounds"]
    steps.command("pool", "report", *measured, *pools, *more, "--out", steps.out / "report")
    last = rounds + 1
    more = ["--samples", 0, "--title", f"Temperatures of the policy after round {rounds}"]
    steps.command("pool", "report", steps.folder(last) / "sweep", *more, "--out", steps.out / "report-temperature")


def names_in(file: Path) -> list[str]:
    """The samples of a file of a pool; none where nothing was set aside, and no file written."""
    return pq.read_table(file, columns=["sample_id"])["sample_id"].to_pylist() if file.exists() else []


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """Settings that results depend on; the number of rounds is none, for more go on with what is there."""
    sizes = json.loads(json.dumps(asdict(options.size)))
    return {"seed": options.seed, "arm": options.arm, **sizes}


def check_settings(options: argparse.Namespace) -> None:
    """Leave with an error where the folder was made with other settings."""
    file, mine = options.out / "settings.json", settings(options)
    if not file.exists():
        options.out.mkdir(parents=True, exist_ok=True)
        write(file, mine)
    others = json.loads(file.read_text("utf-8"))
    differing = [f"{name} {others.get(name)}, not {value}" for name, value in mine.items() if others.get(name) != value]
    if differing:
        sys.exit(f"{options.out} was made with {'; '.join(differing)}. Give the same settings, or another --out.")


def write(file: Path, values: dict[str, Any]) -> None:
    with atomic_file(file) as opened:
        opened.write(f"{json.dumps(values, indent=2)}\n".encode())


def show(result: dict[str, Any], out: Path) -> None:
    print(f"\nheld-out screens, greedy answers; each round trains on its {result['settings']['arm']}")
    for number, each in enumerate(result["held_out"]):
        print(f"  {'warm start' if not number else f'round {number}':<12}{held_out(each)}")
    wrong = set(result["mislabelled"])
    for each in result["rounds"]:
        pool, moved, suspects = each["pool"], each["transitions"], set(each["suspects"])
        print(
            f"round {each['round']}, temperature {each['temperature']:g}: pool of {pool['kept']} of {pool['samples']} "
            f"screens, {pool['zero']} never solved and {pool['positive']} at times ({pool['shortfall']} short); "
            f"{pool['dropped_all_correct']} always solved are left out; {len(suspects)} suspects set aside, "
            f"{len(suspects & wrong)} of {len(wrong)} mislabelled screens among them\n"
            f"  training screens: {moved['up']} up, {moved['down']} down; of {moved['never_solved']} never solved "
            f"{moved['escaped']} were solved once; by chance alone {percent(moved['null']['escape_share'])}"
        )
    print(f"result.json, report/report.html and a folder for each round are in {out}/")


def held_out(evaluation: Any) -> str:
    """One line of an evaluation: accuracy with its interval, by kind, and the difference to the round before."""
    one = evaluation["files"][-1]
    low, high = one["interval"]
    kinds = "  ".join(f"{kind} {each['accuracy']:.3f}" for kind, each in one["by"]["source"].items())
    line = f"{one['accuracy']:.3f} [{low:.3f}, {high:.3f}]  {kinds}"
    if "paired" not in evaluation:
        return line
    paired = evaluation["paired"]
    low, high = paired["interval"]
    return f"{line}  {paired['difference']:+.3f} [{low:+.3f}, {high:+.3f}], p = {paired['p_value']:.2g}"


def percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.0%}"


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Rounds of training on a CPU, each on a pool that the policy's own rollouts chose.",
        epilog="example: python examples/rounds.py --seed 1 --out out/rounds-1",
    )
    parser.add_argument("--rounds", type=int, default=2, help="default 2; more go on with those that are there")
    parser.add_argument("--seed", type=int, default=0, help="weights, screens, sampling and draws (default 0)")
    parser.add_argument("--steps", type=int, help=f"GRPO steps of each round (default {FULL.steps})")
    parser.add_argument("--arm", choices=("pool", "control"), default="pool", help="what rounds train on")
    parser.add_argument("--quick", action="store_true", help="a run of seconds that is too short to learn")
    parser.add_argument("--out", type=Path, default=Path("out/rounds"), help="default out/rounds")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds: got {options.rounds}; expected a number from 1")
    size = QUICK if options.quick else FULL
    options.size = replace(size, steps=options.steps or size.steps)
    return options


if __name__ == "__main__":
    sys.exit(main())
