"""The demo's tiny vision model with random weights, saved as a checkpoint, and screens for it."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from grounding_rewards.engines.transformers import Transformers

NUMBERS = range(25, 1000, 50)
"""The numbers that the model can say."""

EXAMPLES = Path(__file__).parents[2] / "examples"


def toy() -> tuple[Any, Any]:
    """The demo's modules ``toy_vlm`` and ``toy_screens``."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    import toy_screens
    import toy_vlm

    return toy_vlm, toy_screens


def register() -> None:
    """Have AutoProcessor find the demo's processor, which works without torchvision."""
    from transformers import AutoProcessor, Qwen3VLConfig

    AutoProcessor.register(Qwen3VLConfig, toy()[0].ImageOnlyProcessor, exist_ok=True)


@dataclass(frozen=True)
class Tiny(Transformers):
    """The engine for it, which any process can start."""

    def start(self) -> Any:
        register()
        return super().start()


def saved(folder: Path) -> Path:
    """Save the model with its processor; the same weights each time."""
    import torch

    torch.set_num_threads(1)  # so small a model is no quicker with more
    vlm, screens = toy()
    torch.manual_seed(0)
    processor = vlm.build_processor([*screens.WORDS, *map(str, NUMBERS)], max_pixels=screens.WIDTH * screens.HEIGHT)
    vlm.build_model(processor).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def screen(seed: int) -> tuple[bytes, str, tuple[int, int, int, int]]:
    """One of the demo's screens as a PNG file, its instruction and the box of its target."""
    _, screens = toy()
    drawn = screens.draw_screen(screens.places(held_out=False), 2, random.Random(seed))
    file = BytesIO()
    drawn.image.save(file, "PNG")
    return file.getvalue(), drawn.instruction, drawn.target_px
