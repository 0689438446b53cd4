"""Asking the demo's model about screens, and judging its answers with the package."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from toy_screens import HEIGHT, WIDTH, Box, Screen

import grounding_rewards as gr

RECIPE = "gelato"
WIDGETS, CELLS = 3, 20
COORDINATES = [round(1000 * (i + 0.5) / CELLS) for i in range(CELLS)]  # the numbers that the model can say: 25, 75, ...
ANSWER_TOKENS = 6  # ( x , y ) and the end


@dataclass(frozen=True)
class Outcome:
    """Scores of the answers to a set of screens: means, and the place of each click, in thousandths."""

    hit: float
    wrong_widget: float
    parsed: float
    reward: float
    clicks: list[tuple[float, ...] | None]

    def __str__(self) -> str:
        return "  ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in self.means().items())

    def means(self) -> dict[str, float]:
        return {name: value for name, value in asdict(self).items() if name != "clicks"}


def target(box: Box) -> dict[str, Any]:
    """A box in the wire form. A pixel ends where the next one begins, so that the target covers all drawn pixels."""
    x1, y1, x2, y2 = box
    return {"bbox": [x1, y1, x2 + 1, y2 + 1], "space": "pixel", "image_size": [WIDTH, HEIGHT]}


def prompt(screen: Screen, **image: Any) -> list[dict[str, Any]]:
    # The instruction comes first, so that the image tokens, which look back, can tell whether they are what it names.
    content = [{"type": "text", "text": screen.instruction}, {"type": "image", **image}]
    return [{"role": "user", "content": content}]


def encode(processor: Any, screens: list[Screen]) -> Any:
    return processor.apply_chat_template(
        [prompt(screen, image=screen.image) for screen in screens],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )


@torch.no_grad()
def answer(
    model: Any, processor: Any, screens: list[Screen], sample: bool = False, temperature: float = 1.0
) -> list[str]:
    model.eval()
    inputs = encode(processor, screens)
    sampling = {"do_sample": True, "top_k": 0, "temperature": temperature} if sample else {"do_sample": False}
    output = model.generate(**inputs, max_new_tokens=ANSWER_TOKENS, **sampling)
    model.train()
    return processor.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def judge(texts: list[str], screens: list[Screen]) -> Outcome:
    recipe = gr.recipe(RECIPE)
    scores = recipe.score(texts, [target(screen.target_px) for screen in screens])
    others = [recipe.score(texts, [target(screen.others_px[i]) for screen in screens]).acc for i in range(WIDGETS - 1)]
    parsed = scores.reason == gr.Reason.OK
    places = np.rint(1000 * scores.predictions.xy).tolist()  # the recipe works in unit space
    clicks = [tuple(place) if ok else None for place, ok in zip(places, parsed, strict=True)]
    wrong = np.maximum.reduce(others)
    return Outcome(*(float(np.mean(v)) for v in (scores.acc, wrong, parsed, scores.total)), clicks=clicks)


def chance(screens: list[Screen]) -> dict[str, float]:
    """Hit rates of clicks that are random, that always go to the one best place, and on any of a screen's widgets."""
    grid = [f"({x}, {y})" for x in COORDINATES for y in COORDINATES]
    recipe = gr.recipe(RECIPE)
    hits = sum(recipe.score(grid, [target(screen.target_px)] * len(grid)).acc for screen in screens) / len(screens)
    return {"random click": float(np.mean(hits)), "best fixed click": float(np.max(hits)), "random widget": 1 / WIDGETS}
