"""What two rounds of training need: tasks with names and sources, GRPO on a data set, and measured rollouts."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from toy_eval import ANSWER_TOKENS, COORDINATES, RECIPE, WIDGETS, answer, prompt, target
from toy_screens import DOT, HEIGHT, SHAPES, WIDTH, WORDS, Screen, draw_screen, places
from toy_vlm import build_model, build_processor
from toy_warm_start import warm_start
from train_trl_cpu import GENERATIONS, GROUPS, LR, Progress
from transformers import PrinterCallback
from transformers.utils import logging as transformers_logging
from trl import GRPOConfig, GRPOTrainer

import grounding_rewards as gr
from grounding_rewards.pool.grouped import stats_of
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.temperature import Sweep, sweep
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards_adapters.trl import reward_funcs

SIZES = SHAPES | DOT
MISLABELLED = 0.06
"""Of so large a share of the training screens the target is another widget than the instruction names."""
BATCH = 32  # screens that are asked at once
TRAINED_AT = 1.0
"""The temperature of round 1."""
LOSS = 0.05
"""A temperature has collapsed where its accuracy is shown to lie more than this below that at ``TRAINED_AT``."""


@dataclass(frozen=True)
class Size:
    """How much of everything: training tasks, held-out ones, tasks to try temperatures on, steps."""

    tasks: int
    held_out: int
    tried: int
    temperatures: tuple[float, ...]
    warm: int
    steps: int


FULL = Size(tasks=480, held_out=384, tried=96, temperatures=(TRAINED_AT, 1.2, 1.4, 1.7), warm=500, steps=40)
QUICK = Size(tasks=40, held_out=16, tried=8, temperatures=(TRAINED_AT, 1.2), warm=20, steps=2)


@dataclass(frozen=True)
class Task:
    """A screen with a name that no other has. Its source says what kind of widget is named."""

    name: str
    screen: Screen
    mislabelled: bool = False

    @property
    def source(self) -> str:
        return f"{self.screen.instruction.split()[-1]}s"

    @property
    def target(self) -> dict[str, Any]:
        return target(self.screen.others_px[0] if self.mislabelled else self.screen.target_px)

    @property
    def row(self) -> dict[str, Any]:
        """The row of a data set that GRPOTrainer takes."""
        shown = {"prompt": prompt(self.screen), "image": self.screen.image, "target": self.target}
        return {"sample_id": self.name, "source": self.source, **shown}


def draw_tasks(kind: str, number: int, seed: int, *, held_out: bool = False, mislabelled: float = 0.0) -> list[Task]:
    """Tasks called KIND-0000 and so on; a share of them, in random places, mislabelled."""
    rng = random.Random(f"{kind} {seed}")
    corners = places(held_out=held_out)
    screens = [draw_screen(corners, WIDGETS, rng, SIZES) for _ in range(number)]
    wrong = set(rng.sample(range(number), round(mislabelled * number)))
    return [Task(f"{kind}-{place:04d}", screen, place in wrong) for place, screen in enumerate(screens)]


def rows_of(tasks: list[Task]) -> Dataset:
    """A data set that GRPOTrainer takes; its column of images is Hugging Face's."""
    return Dataset.from_list([task.row for task in tasks])


def warmed_up(seed: int, warm_steps: int, say: Callable[[str, str], None]) -> tuple[Any, Any]:
    """The demo's policy and its processor after the demo's warm start, which shows buttons and icons, never a dot."""
    transformers_logging.set_verbosity_error()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    names = [f" {name}" for name in DOT]
    processor = build_processor([*WORDS, *names, *map(str, COORDINATES)], max_pixels=WIDTH * HEIGHT)
    model = build_model(processor)
    warm_start(model, processor, random.Random(seed), warm_steps, say)
    return model, processor


def grpo(
    model: Any,
    processor: Any,
    rows: Dataset,
    *,
    policy: str,
    round_number: int,
    temperature: float,
    steps: int,
    seed: int,
    record: Path,
    quiet: bool = False,
) -> None:
    """Train in place with TRL, and record every rollout with its round, temperature and source."""
    groups = min(GROUPS, len(rows))  # TRL trains on whole batches only, and silently on none where all rows are fewer
    known = {"round": round_number, "temperature": temperature, "policy": policy}
    for name, value in known.items():
        rows = rows.add_column(name, [value] * len(rows))
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward_funcs(RECIPE, record=str(record), diagnose=False),
        args=GRPOConfig(
            output_dir=str(record.parent / "trainer"),
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


def measure(
    model: Any,
    processor: Any,
    tasks: list[Task],
    *,
    policy: str,
    round_number: int,
    temperature: float,
    record: Path,
    rollouts: int = GENERATIONS,
) -> None:
    """Sample answers to each task, score them and add them to a rollout table, all by the function that TRL calls."""
    (reward,) = reward_funcs(RECIPE, record=str(record), diagnose=False)
    for start in range(0, len(tasks), BATCH):
        asked = [task for task in tasks[start : start + BATCH] for _ in range(rollouts)]
        texts = answer(model, processor, [task.screen for task in asked], sample=True, temperature=temperature)
        reward(
            completions=texts,
            target=[task.target for task in asked],
            sample_id=[task.name for task in asked],
            source=[task.source for task in asked],
            round=[round_number] * len(asked),
            temperature=[temperature] * len(asked),
            policy=[policy] * len(asked),
        )


def measured(folder: Path) -> SampleStats:
    """Statistics of a folder's rollouts by sample: `grounding-rewards pool stats FOLDER`."""
    return stats_of(open_rollouts([folder]))


def compare_temperatures(
    model: Any, processor: Any, tasks: list[Task], temperatures: tuple[float, ...], record: Path
) -> tuple[Sweep, Mapping[float, SampleStats]]:
    """Sample answers at each temperature: `grounding-rewards pool temperature FOLDER --reference 1 --margin 0.05`."""
    known = {"policy": "round-1", "round_number": 1, "record": record}
    for each in temperatures:
        measure(model, processor, tasks, temperature=each, **known)
    table = open_rollouts([record])
    found = {each: stats_of(table, temperature=each) for each in temperatures}
    return sweep(found, reference=TRAINED_AT, margin=LOSS), found


def greedy_hits(model: Any, processor: Any, tasks: list[Task]) -> np.ndarray:
    """Which tasks the policy's one greedy answer solves: (n,) bool."""
    texts = [text for start in range(0, len(tasks), BATCH) for text in _greedy(model, processor, tasks[start:][:BATCH])]
    return gr.recipe(RECIPE).score(texts, [task.target for task in tasks]).acc > 0


def by_source(tasks: list[Task], hits: np.ndarray) -> dict[str, list[int]]:
    """Hits and screens, of all and by the kind of widget that is named."""
    sources = np.array([task.source for task in tasks])
    found = {each: [int(hits[sources == each].sum()), int((sources == each).sum())] for each in sorted(set(sources))}
    return {"all": [int(hits.sum()), len(tasks)], **found}


def _greedy(model: Any, processor: Any, tasks: list[Task]) -> list[str]:
    return answer(model, processor, [task.screen for task in tasks])
