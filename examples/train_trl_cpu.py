"""A tiny vision-language model learns from pixels to click the widget that an instruction names, on a CPU.

A Qwen3-VL of about 230,000 random weights sees drawn screens with three widgets, a red, a green and a blue one, and an
instruction such as "click the red button". It answers "(525, 175)", in thousandths of the image. A supervised warm
start teaches it to see, to read and to write such answers, but from sloppy lessons: they point at the upper left corner
of the named widget, where about one click in four hits. Then trl.GRPOTrainer trains it on the `gelato` reward, which
scores 1 in the middle of the target, 0.5 at its corners and nothing outside.

Before and after, it is asked about held-out screens: all their widgets stand at places where no widget of a training
screen stood (see toy_screens.py).

    python examples/train_trl_cpu.py                     a few minutes; writes curve.png, clicks.png, result.json
    python examples/train_trl_cpu.py --quick             half a minute, through every step, too short to learn
    python examples/train_trl_cpu.py --control           the reward looks at another screen's target: must not learn
"""

# ruff: noqa: E402 (the clock and two settings come before the imports that take seconds)

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

START = time.monotonic()
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")  # before transformers is imported

import numpy as np
import torch
from datasets import Dataset
from toy_eval import ANSWER_TOKENS, COORDINATES, RECIPE, WIDGETS, Outcome, answer, chance, judge, prompt, target
from toy_report import draw_clicks, draw_curve
from toy_screens import HEIGHT, WIDTH, WORDS, draw_screen, places
from toy_vlm import build_model, build_processor
from toy_warm_start import warm_start
from transformers import PrinterCallback, TrainerCallback
from transformers.utils import logging as transformers_logging
from trl import GRPOConfig, GRPOTrainer

from grounding_rewards_adapters.trl import reward_funcs

STEPS, GROUPS, GENERATIONS, LR = 100, 16, 8, 7e-4
WARM_STEPS, HELD_OUT = 500, 256
QUICK = {"steps": 3, "warm": 20, "held_out": 32}


def say(phase: str, text: str) -> None:
    print(f"[{time.monotonic() - START:6.1f} s] {phase:<10} {text}", flush=True)


def of_another_screen(reward: Callable[..., list[float | None]]) -> Callable[..., list[float | None]]:
    """The control's reward: the same, but for the target of the group before."""

    def control(*, target: list[Any], **columns: Any) -> list[float | None]:
        return reward(target=target[-GENERATIONS:] + target[:-GENERATIONS], **columns)

    return control


class Progress(TrainerCallback):
    """Prints the means of the last steps."""

    def __init__(self, every: int) -> None:
        self.every = every

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        last = [row for row in state.log_history if "reward" in row][-self.every :]
        if "reward" in (logs or {}) and state.global_step % self.every == 0:
            names = {"reward": "reward", "hit": f"{RECIPE}/acc", "parsed": f"{RECIPE}/parsed", "entropy": "entropy"}
            means = (f"{name} {np.mean([row[key] for row in last]):.3f}" for name, key in names.items())
            say("GRPO", f"step {state.global_step:3d}  sampled: {'  '.join(means)}")


def train(model: Any, processor: Any, rng: random.Random, options: argparse.Namespace) -> list[dict[str, Any]]:
    """GRPO on screens that are drawn again. Returns the log, one row a step."""
    corners = places(held_out=False)
    screens = [draw_screen(corners, WIDGETS, rng) for _ in range(options.steps * GROUPS)]
    rows = [{"prompt": prompt(s), "image": s.image, "target": target(s.target_px)} for s in screens]
    rewards = reward_funcs(RECIPE)
    if options.control:
        rewards = [of_another_screen(reward) for reward in rewards]
    known = {"out": options.out, "steps": options.steps, "seed": options.seed}
    return run_grpo(model, processor, Dataset.from_list(rows), rewards, **known)


def run_grpo(
    model: Any,
    processor: Any,
    rows: Dataset,
    rewards: list[Any],
    *,
    out: Path,
    steps: int,
    seed: int,
    temperature: float = 1.0,
    quiet: bool = False,
) -> list[dict[str, Any]]:
    """Train in place with TRL. Returns the log, one row a step."""
    groups = min(GROUPS, len(rows))  # TRL trains on whole batches only: on none where all rows are fewer
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=rewards,
        args=GRPOConfig(
            output_dir=str(out),
            use_cpu=True,
            bf16=False,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            seed=seed,
            max_steps=steps,
            logging_steps=1,
            per_device_train_batch_size=groups * GENERATIONS,
            num_generations=GENERATIONS,
            max_completion_length=ANSWER_TOKENS,
            temperature=temperature,
            learning_rate=LR,
            lr_scheduler_type="linear",
            warmup_steps=5,
            gradient_checkpointing=False,
        ),
        processing_class=processor,
        train_dataset=rows,
        callbacks=[] if quiet else [Progress(every=min(10, steps))],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [row for row in trainer.state.log_history if "reward" in row]


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="A tiny vision-language model learns from pixels to click what an instruction names, on a CPU.",
        epilog="example: python examples/train_trl_cpu.py --seed 1 --out out/demo-1",
    )
    parser.add_argument("--seed", type=int, default=0, help="weights, screens and sampling (default 0)")
    parser.add_argument("--steps", type=int, help=f"GRPO steps (default {STEPS}, with --quick {QUICK['steps']})")
    parser.add_argument("--control", action="store_true", help="reward every answer for another screen's target")
    parser.add_argument("--quick", action="store_true", help="a run of seconds that is too short to learn")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1: 2 are slow on busy machines)")
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for results (default out/demo)")
    options = parser.parse_args()
    options.steps = options.steps or (QUICK["steps"] if options.quick else STEPS)
    return options


def main() -> int:
    options = read_options()
    transformers_logging.set_verbosity_error()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    processor = build_processor([*WORDS, *map(str, COORDINATES)], max_pixels=WIDTH * HEIGHT)
    model = build_model(processor)
    corners = places(held_out=True)
    held_out = [draw_screen(corners, WIDGETS, rng) for _ in range(QUICK["held_out"] if options.quick else HELD_OUT)]
    blind = chance(held_out)
    say("start", f"{sum(p.numel() for p in model.parameters()):,} weights, seed {options.seed}")
    say("chance", "  ".join(f"{name} {value:.3f}" for name, value in blind.items()))

    warm_steps = warm_start(model, processor, rng, QUICK["warm"] if options.quick else WARM_STEPS, say)
    before = judge(answer(model, processor, held_out), held_out)
    say("held out", f"before GRPO, greedy: {before}")
    log = train(model, processor, rng, options)
    after = judge(answer(model, processor, held_out), held_out)
    say("held out", f"after GRPO, greedy:  {after}")

    options.out.mkdir(parents=True, exist_ok=True)
    note = ", CONTROL: rewarded for another screen's target" if options.control else ""
    draw_curve(options.out / "curve.png", log, before, after, RECIPE, note)
    draw_clicks(options.out / "clicks.png", held_out, before, after, note)
    result = {
        "seed": options.seed,
        "control": options.control,
        "quick": options.quick,
        "threads": options.threads,
        "warm_start_steps": warm_steps,
        "grpo_steps": options.steps,
        "held_out_screens": len(held_out),
        "chance": blind,
        "before": before.means(),
        "after": after.means(),
        "seconds": round(time.monotonic() - START, 1),
        "cpu_seconds": round(time.process_time(), 1),
    }
    (options.out / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    summarise(before, after, options)
    return 0 if after.parsed > 0 else 1


def summarise(before: Outcome, after: Outcome, options: argparse.Namespace) -> None:
    print(f"\nheld-out screens, greedy answers{' (CONTROL)' if options.control else ''}:   before -> after")
    for name, value in before.means().items():
        print(f"  {name.replace('_', ' '):<14}{value:.3f} -> {after.means()[name]:.3f}")
    print(f"{time.monotonic() - START:.0f} s, of which {time.process_time():.0f} s of CPU time")
    print(f"curve.png, clicks.png and result.json are in {options.out}/")


if __name__ == "__main__":
    sys.exit(main())
