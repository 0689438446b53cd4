"""The demo's supervised warm start: it teaches a random model to read, to see, and to answer in the right form."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from toy_eval import ANSWER_TOKENS, CELLS, COORDINATES, WIDGETS, answer, encode, judge
from toy_screens import HEIGHT, WIDTH, Screen, draw_screen, places
from toy_vlm import Muon

BATCH, LR, MATRIX_LR = 32, 2e-3, 6e-3
MIXED, CHECK, WATCHED, ENOUGH = 100, 20, 128, 0.6


def warm_start(model: Any, processor: Any, rng: random.Random, max_steps: int, say: Callable[[str, str], None]) -> int:
    """Supervised steps on fresh screens, until enough sampled answers to training screens are like the lesson."""
    corners = places(held_out=False)
    watched = [draw_screen(corners, WIDGETS, rng) for _ in range(WATCHED)]
    optimiser = Muon(model, MATRIX_LR, LR)
    model.train()
    for step in range(1, max_steps + 1):
        # Screens with a single widget teach where things are, soon; only the others teach which one is meant.
        count = [rng.randint(1, WIDGETS) if step <= MIXED else WIDGETS for _ in range(BATCH)]
        loss = supervised_loss(model, processor, [draw_screen(corners, n, rng) for n in count])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % CHECK == 0 or step == max_steps:
            outcome = judge(answer(model, processor, watched, sample=True), watched)
            near = float(np.mean([imitates(*pair) for pair in zip(outcome.clicks, watched, strict=True)]))
            say("warm start", f"step {step:3d}  loss {loss.item():.3f}  sampled: like the lesson {near:.3f}  {outcome}")
            if step >= MIXED and near >= ENOUGH:
                break
    return step


def lesson(screen: Screen) -> tuple[int, int]:
    """Return the click of the warm start: the upper left corner of the named widget: about one click in four hits."""
    x, y = screen.target_px[0] / WIDTH, screen.target_px[1] / HEIGHT
    return COORDINATES[int(x * CELLS)], COORDINATES[int(y * CELLS)]


def imitates(click: tuple[float, ...] | None, screen: Screen) -> bool:
    return click is not None and max(abs(a - b) for a, b in zip(click, lesson(screen), strict=True)) <= 100


def supervised_loss(model: Any, processor: Any, screens: list[Screen]) -> torch.Tensor:
    inputs = encode(processor, screens)
    words = [("(", str(x), ", ", str(y), ")", "<eos>") for x, y in map(lesson, screens)]
    answers = torch.tensor([processor.tokenizer.convert_tokens_to_ids(list(tokens)) for tokens in words])
    outputs = model(
        input_ids=torch.cat([inputs["input_ids"], answers], 1),
        attention_mask=torch.cat([inputs["attention_mask"], torch.ones_like(answers)], 1),
        mm_token_type_ids=torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(answers)], 1),
        pixel_values=inputs["pixel_values"],
        image_grid_thw=inputs["image_grid_thw"],
        logits_to_keep=ANSWER_TOKENS + 1,
    )
    return torch.nn.functional.cross_entropy(outputs.logits[:, :-1].flatten(0, 1), answers.flatten())
