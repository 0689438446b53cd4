"""Steps of rounds of training, each from files to files: screens, checkpoints, rollouts, GRPO.

A step that was killed has left nothing under its own name: folders are renamed once they are whole, and commands of
grounding-rewards see to their outputs themselves.
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from toy_eval import ANSWER_TOKENS, COORDINATES, RECIPE, WIDGETS, prompt, target
from toy_screens import DOT, HEIGHT, SHAPES, WIDTH, WORDS, Screen, draw_screen, places
from toy_vlm import ImageOnlyProcessor, build_model, build_processor
from toy_warm_start import warm_start
from train_trl_cpu import GENERATIONS, run_grpo
from transformers import AutoModelForImageTextToText, AutoProcessor, Qwen3VLConfig
from transformers.utils import logging as transformers_logging

from grounding_rewards import cli
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.recorder import close_all
from grounding_rewards_adapters.trl import reward_funcs

SIZES = SHAPES | DOT
MISLABELLED = 0.06
"""Share of the training screens whose target is another widget than the instruction names."""
BATCH = 128
"""Responses that are generated at once."""
LOSS = 0.05
"""A temperature has collapsed where its accuracy is shown to lie more than this below that at the lowest one."""

Say = Callable[[str, str], None]


@dataclass(frozen=True)
class Size:
    """Numbers of training screens, held-out ones, screens to try temperatures on, and steps."""

    tasks: int
    held_out: int
    tried: int
    temperatures: tuple[float, ...]
    warm: int
    steps: int


FULL = Size(tasks=480, held_out=384, tried=96, temperatures=(1.0, 1.2, 1.4), warm=500, steps=40)
QUICK = Size(tasks=40, held_out=16, tried=8, temperatures=(1.0, 1.2), warm=40, steps=2)


@dataclass(frozen=True)
class Task:
    """A screen with a name that no other has. Its source says what kind of widget is named."""

    name: str
    screen: Screen
    mislabelled: bool = False

    @property
    def row(self) -> dict[str, Any]:
        """The row of a data set that GRPOTrainer takes."""
        box = self.screen.others_px[0] if self.mislabelled else self.screen.target_px
        source = f"{self.screen.instruction.split()[-1]}s"
        shown = {"prompt": prompt(self.screen), "image": self.screen.image, "target": target(box)}
        return {"sample_id": self.name, "source": source, **shown}


def draw_tasks(kind: str, number: int, seed: int, *, held_out: bool = False, mislabelled: float = 0.0) -> list[Task]:
    """Tasks called KIND-0000 and so on; a share of them, in random places, mislabelled."""
    rng = random.Random(f"{kind} {seed}")
    corners = places(held_out=held_out)
    screens = [draw_screen(corners, WIDGETS, rng, SIZES) for _ in range(number)]
    wrong = set(rng.sample(range(number), round(mislabelled * number)))
    return [Task(f"{kind}-{place:04d}", screen, place in wrong) for place, screen in enumerate(screens)]


def training_tasks(size: Size, seed: int) -> list[Task]:
    """The screens that all rounds choose from."""
    return draw_tasks("train", size.tasks, seed, mislabelled=MISLABELLED)


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """Yield a folder to fill, which takes its name at the end."""
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    unfinished.rename(folder)


def quieten() -> None:
    """One thread, with which results repeat, and no messages of transformers."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(1)
    AutoProcessor.register(Qwen3VLConfig, ImageOnlyProcessor, exist_ok=True)  # the demo's works without torchvision


@dataclass(frozen=True)
class Steps:
    """Steps of rounds of training. Each is passed over where its output is there.

    Attributes:
        out: the folder of all outputs.
        size: how much of everything.
        seed: of weights, screens, sampling and draws.
        say: prints a phase and what it came to.
    """

    out: Path
    size: Size
    seed: int
    say: Say

    def folder(self, name: int | str) -> Path:
        """The folder of a round: what chose its pool, and the policy that was trained on it. Round 0 is the start."""
        return self.out / f"round-{name}"

    def data(self, name: str) -> Path:
        """Screens: ``train``, ``tried`` or ``held-out``."""
        return self.out / "data" / f"{name}.parquet"

    def prepare(self) -> None:
        """Draw the screens, and save the demo's policy after its warm start, which never shows a dot."""
        if not (self.out / "data").exists():
            tasks = {
                "train": training_tasks(self.size, self.seed),
                "tried": draw_tasks("tried", self.size.tried, self.seed),
                "held-out": draw_tasks("held-out", self.size.held_out, self.seed, held_out=True),
            }
            with whole(self.out / "data") as folder:
                for name, each in tasks.items():
                    Dataset.from_list([task.row for task in each]).to_parquet(folder / f"{name}.parquet")
        if not self.checkpoint(0).exists():
            torch.manual_seed(self.seed)
            names = [f" {name}" for name in DOT]
            processor = build_processor([*WORDS, *names, *map(str, COORDINATES)], max_pixels=WIDTH * HEIGHT)
            model = build_model(processor)
            warm_start(model, processor, random.Random(self.seed), self.size.warm, self.say)
            self._save(model, processor, self.checkpoint(0))

    def checkpoint(self, name: int | str) -> Path:
        """The policy after a round."""
        return self.folder(name) / "checkpoint"

    def choose_temperature(self, number: int) -> float:
        """Return the highest temperature at which the policy before a round does not collapse."""
        sweep, file = self.folder(number) / "sweep", self.folder(number) / "temperature.json"
        self.roll_out("tried", number - 1, sweep, self.size.temperatures, number)
        rule = ["--reference", self.size.temperatures[0], "--margin", LOSS]
        chosen = self.command("pool", "temperature", sweep, *rule, "--json", into=file)
        for row in chosen["rows"]:
            figures = f"accuracy {row['accuracy']:.3f}  parsed {row['parse_rate']:.3f}  mixed {row['mixed_share']:.3f}"
            mark = "  chosen" if row["temperature"] == chosen["chosen"] else ""
            self.say("sweep", f"at {row['temperature']:.1f}  {figures}{mark}")
        return float(chosen["chosen"])

    def roll_out(
        self, data: str, policy: int | str, out: Path, temperatures: tuple[float, ...], number: int | str | None = None
    ) -> None:
        """Sample responses to screens at some temperatures, or take the greedy one at 0."""
        out.parent.mkdir(exist_ok=True)
        n = 1 if temperatures == (0,) else GENERATIONS
        engine = ["--engine", "transformers", "--engine-option", "device=cpu", "--engine-option", f"batch={BATCH}"]
        model = ["--model", self.checkpoint(policy), "--policy", f"round-{policy}"]
        sampling = ["--n", n, "--temperature", ",".join(map(str, temperatures)), "--max-tokens", ANSWER_TOKENS]
        known = [] if number is None else ["--round", number]
        words = [*engine, *model, *sampling, "--seed", self.seed, *known, "--recipe", RECIPE, "--out", out]
        self.command("rollout", self.data(data), *words)

    def train(self, name: int | str, start: int, rows: Path, temperature: float, *, quiet: bool = False) -> None:
        """Train the policy of round ``start`` with TRL on rows, recording all rollouts. A killed run begins again."""
        folder = self.folder(name)
        if self.checkpoint(name).exists():
            return
        for part in ("training", "trainer"):
            shutil.rmtree(folder / part, ignore_errors=True)  # rollouts would be appended to those that are there
        self.say("GRPO", f"{self.size.steps} steps on {rows}, temperature {temperature:g}")
        model = AutoModelForImageTextToText.from_pretrained(self.checkpoint(start))
        processor = AutoProcessor.from_pretrained(self.checkpoint(start))
        data = Dataset.from_parquet(str(rows), cache_dir=str(folder / "trainer" / "cache"))
        known = {"round": start + 1, "temperature": temperature, "policy": f"round-{start}"}
        for column, value in known.items():
            data = data.add_column(column, [value] * len(data))
        rewards = reward_funcs(RECIPE, record=str(folder / "training"), diagnose=False)
        settings = {"steps": self.size.steps, "seed": self.seed, "temperature": temperature, "quiet": quiet}
        run_grpo(model, processor, data, rewards, out=folder / "trainer", **settings)
        close_all()  # the last rollouts, before the checkpoint says that all is there
        self._save(model, processor, self.checkpoint(name))

    def evaluate(self, name: int | str, before: int | str | None = None) -> dict[str, Any]:
        """Return what ``eval --json`` says of greedy answers to held-out screens, beside those of another policy."""
        answers = [self.folder(each) / "held-out" for each in (before, name) if each is not None]
        self.roll_out("held-out", name, answers[-1], (0,))
        words = ["--recipe", RECIPE, "--by", "source", *(["--paired"] if len(answers) > 1 else []), "--json"]
        read: dict[str, Any] = self.command("eval", *answers, *words, into=self.folder(name) / "eval.json")
        return read

    def command(self, *words: Any, into: Path | None = None) -> Any:
        """Run ``grounding-rewards WORDS``, here rather than in a process of its own, which would import all again.

        Args:
            words: of the command line.
            into: a file for what it prints, JSON, which is returned; it is passed over where the file is there.
        """
        texts = [str(word) for word in words]
        if into is None or not into.exists():
            self.say("command", shlex.join(["grounding-rewards", *texts]) + (f" > {into}" if into else ""))
            printed = StringIO()
            with redirect_stdout(printed) if into else nullcontext():
                try:
                    cli.main(texts)
                except SystemExit as done:
                    if done.code:
                        raise
            if into is not None:
                with atomic_file(into) as file:
                    file.write(printed.getvalue().encode())
        return None if into is None else json.loads(into.read_text("utf-8"))["result"]

    @staticmethod
    def _save(model: Any, processor: Any, folder: Path) -> None:
        with whole(folder) as unfinished:
            model.save_pretrained(unfinished)
            processor.save_pretrained(unfinished)
