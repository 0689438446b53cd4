"""Parts of two rounds of training: tasks with names and sources, GRPO on a data set, and measured rollouts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from toy_eval import COORDINATES, RECIPE, WIDGETS, answer, prompt, target
from toy_screens import DOT, HEIGHT, SHAPES, WIDTH, WORDS, Screen, draw_screen, places
from toy_vlm import build_model, build_processor
from toy_warm_start import warm_start
from train_trl_cpu import GENERATIONS, run_grpo
from transformers.utils import logging as transformers_logging

import grounding_rewards as gr
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.temperature import Sweep, sweep
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards_adapters.trl import reward_funcs

SIZES = SHAPES | DOT
MISLABELLED = 0.06
"""Share of the training screens whose target is another widget than the instruction names."""
BATCH = 32  # screens that are asked at once
TRAINED_AT = 1.0
"""The temperature of round 1."""
LOSS = 0.05
"""A temperature has collapsed where its accuracy is shown to lie more than this below that at ``TRAINED_AT``."""


@dataclass(frozen=True)
class Size:
    """Numbers of training tasks, held-out ones, tasks to try temperatures on, and steps."""

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


@dataclass(frozen=True)
class FirstRound:
    """The policy after round 1, and what was measured of it.

    Attributes:
        model: the policy.
        processor: its processor.
        tasks: what it trained on.
        held_out: what it is asked about.
        hits: which held-out tasks greedy answers solve, at the warm start and after round 1.
        sweep: how it fares at each temperature.
    """

    model: Any
    processor: Any
    tasks: list[Task]
    held_out: list[Task]
    hits: dict[str, np.ndarray]
    sweep: Sweep

    @property
    def known(self) -> dict[str, Any]:
        """Return the columns of all further rollouts of this policy."""
        return {"policy": "round-1", "temperature": self.sweep.chosen}


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


def first_round(size: Size, seed: int, out: Path, say: Callable[[str, str], None] | None = None) -> FirstRound:
    """GRPO on all tasks, the highest temperature that does not collapse, and all tasks measured at it.

    Args:
        size: how much of everything.
        seed: of weights, screens and sampling.
        out: gets the rollouts: ``training/round-1``, ``tried`` and ``measured/round-1``.
        say: prints a phase and what it came to; None for nobody.
    """
    tasks = draw_tasks("train", size.tasks, seed, mislabelled=MISLABELLED)
    held_out = draw_tasks("held-out", size.held_out, seed, held_out=True)
    tried = draw_tasks("tried", size.tried, seed)
    model, processor = warmed_up(seed, size.warm, say or _unsaid)
    hits = {"warm start": greedy_hits(model, processor, held_out)}
    training = {"steps": size.steps, "seed": seed, "quiet": say is None, "record": out / "training" / "round-1"}
    known = {"policy": "warm-start", "round_number": 1, "temperature": TRAINED_AT}
    grpo(model, processor, rows_of(tasks), **known, **training)
    hits["round 1"] = greedy_hits(model, processor, held_out)
    found = compare_temperatures(model, processor, tried, size.temperatures, out / "tried")
    done = FirstRound(model, processor, tasks, held_out, hits, found)
    measure(model, processor, tasks, round_number=1, record=out / "measured" / "round-1", **done.known)
    return done


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
    known = {"round": round_number, "temperature": temperature, "policy": policy}
    for name, value in known.items():
        rows = rows.add_column(name, [value] * len(rows))
    rewards = reward_funcs(RECIPE, record=str(record), diagnose=False)
    settings = {"steps": steps, "seed": seed, "temperature": temperature, "quiet": quiet}
    run_grpo(model, processor, rows, rewards, out=record.parent / "trainer", **settings)


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
) -> Sweep:
    """Sample answers at each temperature: `grounding-rewards pool temperature FOLDER --reference 1 --margin 0.05`."""
    known = {"policy": "round-1", "round_number": 1, "record": record}
    for each in temperatures:
        measure(model, processor, tasks, temperature=each, **known)
    table = open_rollouts([record])
    found = {each: stats_of(table, temperature=each) for each in temperatures}
    return sweep(found, reference=TRAINED_AT, margin=LOSS)


def greedy_hits(model: Any, processor: Any, tasks: list[Task]) -> np.ndarray:
    """Return True for each task that the policy's one greedy answer solves: (n,) bool."""
    texts = [text for start in range(0, len(tasks), BATCH) for text in _greedy(model, processor, tasks[start:][:BATCH])]
    return gr.recipe(RECIPE).score(texts, [task.target for task in tasks]).acc > 0


def by_source(tasks: list[Task], hits: np.ndarray) -> dict[str, list[int]]:
    """Hits and screens, of all and by the kind of widget that is named."""
    sources = np.array([task.source for task in tasks])
    found = {each: [int(hits[sources == each].sum()), int((sources == each).sum())] for each in sorted(set(sources))}
    return {"all": [int(hits.sum()), len(tasks)], **found}


def _unsaid(phase: str, text: str) -> None:
    """Nobody listens."""


def _greedy(model: Any, processor: Any, tasks: list[Task]) -> list[str]:
    return answer(model, processor, [task.screen for task in tasks])
