"""The TRL script of examples/launch: its options, its rows, its reward, and two steps with a tiny Qwen3-VL."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grounding_rewards.cli import main

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

EXAMPLES = Path(__file__).parents[2] / "examples"
BOX = [0.0, 0.0, 0.5, 0.5]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("trl"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("default"),  # the trainer and its dependencies warn about themselves
]


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    for needed in ("trl", "datasets", "PIL"):
        pytest.importorskip(needed)
    pytest.importorskip("torch").set_num_threads(1)
    folders = [str(EXAMPLES), str(EXAMPLES / "launch")]
    sys.path[:0] = folders
    try:
        yield importlib.import_module("trl_grpo_qwen3_vl")
    finally:
        for folder in folders:
            sys.path.remove(folder)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Screenshots of two sizes, as ``grounding-rewards convert --for trl --recipe gelato`` packs them."""
    monkeypatch.setattr(pytest.importorskip("datasets").config, "HF_DATASETS_CACHE", tmp_path / "cache")
    lines = []
    for row, size in enumerate([(64, 64), (96, 48)] * 4):
        importlib.import_module("PIL.Image").new("RGB", size, (200, 40, 40)).save(tmp_path / f"{row}.png")
        lines.append({"image": f"{tmp_path}/{row}.png", "instruction": "click", "bbox": BOX, "id": f"a{row}"})
    (tmp_path / "clicks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = str(tmp_path / "train.parquet")
    with pytest.raises(SystemExit, match="0"):
        main(["convert", str(tmp_path / "clicks.jsonl"), "--out", out, "--for", "trl", "--recipe", "gelato"])
    return out


def test_options(script: Any, tmp_path: Path) -> None:
    launch, config, model = script.options(
        ["--train", "t.parquet", "--max_pixels", "2097152", "--output_dir", str(tmp_path), "--bf16", "false"]
    )
    assert (launch.recipe, launch.family, launch.max_pixels) == ("gelato", "qwen3_vl", 2097152)
    assert (config.num_generations, config.beta, config.epsilon_high) == (8, 0.0, 0.28)
    assert (config.per_device_train_batch_size * config.gradient_accumulation_steps) % config.num_generations == 0
    assert model.model_name_or_path == "Qwen/Qwen3-VL-8B-Instruct"
    assert launch.family.replace("_", "-") in model.model_name_or_path.lower()


def test_bounds_beside_vllm_are_refused(script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--train", "t.parquet", "--use_vllm", "true", "--output_dir", str(tmp_path), "--bf16", "false"]
    assert script.options(given)[1].use_vllm
    with pytest.raises(SystemExit):
        script.options([*given, "--max_pixels", "2097152"])
    assert "preprocessor_config.json" in capsys.readouterr().err


@pytest.mark.parametrize("bounds", [(None, None), (4096, None), (4096, 100352)])
def test_the_reward_takes_its_bounds_from_the_processor(
    script: Any, monkeypatch: pytest.MonkeyPatch, bounds: tuple[int | None, int | None]
) -> None:
    images = pytest.importorskip("transformers").Qwen2VLImageProcessorPil(min_pixels=3136, max_pixels=1003520)
    processor = SimpleNamespace(image_processor=images)
    monkeypatch.setattr(script, "AutoProcessor", SimpleNamespace(from_pretrained=lambda *given, **named: processor))
    launch = script.Launch("t.parquet", family="qwen2_5_vl", min_pixels=bounds[0], max_pixels=bounds[1])
    config = SimpleNamespace(num_generations=1, num_generations_eval=None, trust_remote_code=False)
    found = script.processor_of(launch, config, SimpleNamespace(model_name_or_path="", model_revision="main"))
    (reward,) = script.rewards_of(launch, config, found)
    picture = importlib.import_module("PIL.Image").new("RGB", (1920, 1080))
    _, down, right = images(picture, do_rescale=False, do_normalize=False)["image_grid_thw"][0]
    width, height = 14 * int(right), 14 * int(down)
    texts = [f"({width // 2}, {height // 2})", f"({width // 2 + 8}, {height // 2})"]
    scores = reward(completions=texts, prompts=["", ""], image=[picture] * 2, target=[[0.497, 0.497, 0.503, 0.503]] * 2)
    assert scores == [pytest.approx(1.0, abs=0.1), 0.0]


def checkpoint(folder: Path, model_type: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    return str(folder)


@pytest.mark.parametrize(
    ("model_type", "family", "wanted"),
    [
        ("qwen2_5_vl", "qwen3_vl", "qwen2_5_vl"),
        ("qwen2_vl", "qwen2_5_vl", "qwen2_vl"),
        ("qwen3_vl_moe", "qwen2_5_vl", "qwen3_vl"),
        ("qwen2_5_vl", "qwen2_5_vl", None),
        ("qwen3_vl_moe", "qwen3_vl", None),
        ("llava", "qwen3_vl", None),
    ],
)
def test_a_checkpoint_of_another_family_is_refused(
    script: Any, tmp_path: Path, model_type: str, family: str, wanted: str | None
) -> None:
    path = checkpoint(tmp_path / "model", model_type)
    given = ["--train", "t.parquet", "--model_name_or_path", path, "--output_dir", str(tmp_path), "--bf16", "false"]
    options = script.options([*given, "--family", family])
    if wanted is None:
        script.check_family(*options)
    else:
        with pytest.raises(SystemExit, match=f"is {model_type}, .* those of {family}: set --family {wanted}$"):
            script.check_family(*options)


def test_what_the_command_line_says_reaches_the_trainer(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    class Trainer:
        def __init__(self, **given: Any) -> None:
            seen.update(given)

        def train(self, **given: Any) -> None:
            seen.update(given)

        def save_model(self, folder: str) -> None:
            seen["saved"] = folder

    images = pytest.importorskip("transformers").Qwen2VLImageProcessorPil(min_pixels=3136, max_pixels=1003520)
    loaded: list[dict[str, Any]] = []
    monkeypatch.setattr(script, "GRPOTrainer", Trainer)
    monkeypatch.setattr(script, "get_quantization_config", lambda model: ("quantized", model.load_in_4bit))
    monkeypatch.setattr(script, "rows_of", lambda path: [path])
    monkeypatch.setattr(script, "AutoProcessor", SimpleNamespace(
        from_pretrained=lambda *given, **named: loaded.append(named) or SimpleNamespace(image_processor=images)
    ))  # fmt: skip
    script.main([
        "--train", "t.parquet", "--output_dir", str(tmp_path), "--bf16", "false", "--use_cpu", "true",
        "--model_name_or_path", checkpoint(tmp_path / "model", "qwen3_vl"), "--load_in_4bit", "true",
        "--resume_from_checkpoint", "out/checkpoint-100", "--trust_remote_code", "true",
        "--model_init_kwargs", '{"device_map": null, "dtype": "float16"}', "--num_generations_eval", "2",
    ])  # fmt: skip
    assert (seen["resume_from_checkpoint"], seen["saved"]) == ("out/checkpoint-100", str(tmp_path))
    assert seen["quantization_config"] == ("quantized", True)
    assert seen["args"].model_init_kwargs == {
        "revision": "main", "trust_remote_code": True, "attn_implementation": None, "dtype": "float16",
        "device_map": None,
    }  # fmt: skip
    assert loaded[0]["trust_remote_code"] is True
    assert seen["reward_funcs"][0].batches.group_sizes == (8, 2)


def test_two_steps_of_training(script: Any, rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = importlib.import_module("toy_vlm")
    importlib.import_module("torch").manual_seed(0)
    processor = toy.build_processor(["click", *map(str, range(0, 1000, 125))], max_pixels=16 * 16 * 64)
    toy.build_model(processor).save_pretrained(tmp_path / "model")
    monkeypatch.setattr(script, "AutoProcessor", SimpleNamespace(from_pretrained=lambda *given, **named: processor))
    trainer = script.main([
        "--train", rows, "--model_name_or_path", str(tmp_path / "model"), "--output_dir", str(tmp_path / "out"),
        "--max_steps", "2", "--use_cpu", "true", "--bf16", "false", "--dtype", "float32", "--report_to", "none",
        "--per_device_train_batch_size", "8", "--gradient_accumulation_steps", "1", "--max_completion_length", "6",
        "--gradient_checkpointing", "false", "--save_strategy", "no", "--disable_tqdm", "true",
        "--min_pixels", "256", "--max_pixels", "8192", "--record", str(tmp_path / "rollouts"),
    ])  # fmt: skip
    steps = [line for line in trainer.state.log_history if "gelato/valid" in line]
    assert [line["gelato/valid"] for line in steps] == [1.0, 1.0]
    assert (tmp_path / "out" / "model.safetensors").is_file()
    assert dict(processor.image_processor.size)["longest_edge"] == 8192
    assert any((tmp_path / "rollouts").iterdir())
    sizes = {picture.size for (picture,) in script.rows_of(rows)["images"]}
    assert sizes == {(64, 64), (96, 48)}
