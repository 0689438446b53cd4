"""The real GRPOTrainer with images: sizes are theirs as it hands them over, and as its processor makes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards_adapters.trl import reward_funcs
from tests.trainers.trl_tiny import MARKS, Spy, image, image_policy, train

pytestmark = MARKS

MIXED = {"num_generations": 2, "shuffle_dataset": False}
"""Four samples a step."""
SIZES = [(400, 300), (640, 360), (90, 200), (333, 77)]
MIN_PIXELS, MAX_PIXELS = 56 * 56, 280 * 280


@pytest.fixture(scope="module", params=["qwen2_5_vl", "qwen3_vl"])
def seeing(request: Any) -> tuple[str, Any]:
    return request.param, image_policy(request.param, MIN_PIXELS, MAX_PIXELS)


def samples(column: str) -> list[dict[str, Any]]:
    """Eight samples whose target is the upper left quarter of their image, in its pixels."""
    rows = []
    for width, height in SIZES * 2:
        shown = image(width, height, "RGBA" if width == 640 else "RGB")
        rows.append({
            "prompt": [{"role": "user", "content": "click"}],
            column: shown if column == "image" else [shown],
            "target": {"bbox": [0, 0, width / 2, height / 2], "space": "pixel"},
        })  # fmt: skip
    return rows


@pytest.mark.parametrize("column", ["image", "images"])
def test_answers_are_brought_into_the_images_space(seeing: Any, tmp_path: Path, column: str) -> None:
    """gelato works in shares of the image: targets in its pixels and answers in the resized one's need both sizes."""
    model, policy = seeing
    spy = Spy()
    functions = reward_funcs(
        "gelato", format_weight=0.5, model=model, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS, name="seen"
    )
    logged = train(policy, samples(column), [*functions, spy], tmp_path, reward_weights=[1.0, 0.0], **MIXED)
    assert len(logged) == len(spy.calls) == 2
    space = "thousandths" if model == "qwen3_vl" else "model_pixel"
    recipe = gr.recipe("gelato", format_weight=0.5, response_space=space)
    for entry, call in zip(logged, spy.calls, strict=True):
        shown = [row if column == "image" else row[0] for row in call[column]]
        made = policy[1].image_processor(images=shown)["image_grid_thw"]
        patch = policy[1].image_processor.patch_size
        scores = recipe.score(
            [said[0]["content"] for said in call["completions"]],
            call["target"],
            image_sizes=[each.size for each in shown],
            model_image_sizes=[(int(wide) * patch, int(high) * patch) for _, high, wide in made],
        )
        assert entry["rewards/seen/mean"] == pytest.approx(scores.total.mean(), abs=1e-6)
        assert entry["seen/acc"] == pytest.approx(scores.acc.mean())
        assert entry["seen/valid"] == 1.0


def test_images_may_stand_in_prompts_alone(seeing: Any, tmp_path: Path) -> None:
    """A data set that makes its rows when they are looked up can hold such images."""
    model, policy = seeing

    def transform(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        shown = [{"type": "image", "image": image(*SIZES[row % 4])} for row in batch["row"]]
        said = [[{"role": "user", "content": [each, {"type": "text", "text": "click"}]}] for each in shown]
        targets = [{"bbox": [0, 0, *SIZES[row % 4]], "space": "pixel"} for row in batch["row"]]
        return {"prompt": said, "target": targets}

    functions = reward_funcs("gelato", model=model, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS)
    rows = [{"row": row, "prompt": ""} for row in range(8)]
    (entry,) = train(policy, rows, functions, tmp_path, transform=transform, max_steps=1, **MIXED)
    assert entry["gelato/valid"] == 1.0


def test_sizes_are_those_that_the_model_was_shown(seeing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes that score are those of the patches from which the model generates."""
    kind, (model, processor) = seeing
    shown: list[Any] = []
    seen: list[Any] = []
    generate = model.generate

    def watched(*args: Any, **given: Any) -> Any:
        shown.append(given["image_grid_thw"][:, 1:].flip(1) * processor.image_processor.patch_size)
        return generate(*args, **given)

    def record(rollouts: gr.Rollouts) -> Any:
        seen.append((rollouts.image_sizes.tolist(), rollouts.model_image_sizes.tolist()))
        return np.zeros(len(rollouts))

    monkeypatch.setattr(model, "generate", watched)
    own = gr.recipe("click", response_space="model_pixel", target_space="pixel")
    recipe = replace(own, name="own", reward=weighted(recorded=(1.0, gr.verifier(record, low=0.0, high=0.0))))
    functions = reward_funcs(recipe, model=kind, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS)
    train((model, processor), samples("image"), functions, tmp_path, max_steps=1, **MIXED)
    ((image_sizes, model_sizes),) = seen
    assert [tuple(size) for size in image_sizes] == [size for size in SIZES for _ in range(2)]
    assert model_sizes == shown[0].tolist()
    assert model_sizes != image_sizes
