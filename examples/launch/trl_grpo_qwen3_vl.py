"""TRL: GRPO on Qwen3-VL with the reward of Gelato, on screenshots. A complete training script; it needs GPUs.

    pip install torch 'trl[vlm,peft]>=1.16', and grounding-rewards as its README says; then, for pixel boxes:
    mkdir -p data
    ask='{instruction} Answer with the place to click as (x, y), whole numbers, and nothing else.'
    grounding-rewards convert clicks.parquet --out data/train.parquet --for trl --target-space pixel --template "$ask"
    accelerate launch --num_processes 8 trl_grpo_qwen3_vl.py --train data/train.parquet --use_peft

Any option of GRPOConfig and ModelConfig can follow (--load_in_4bit needs bitsandbytes). Other checkpoints:
--model_name_or_path and --family, which says what coordinates a model answers in: thousandths (qwen3_vl) or pixels of
the image that it saw (qwen2_5_vl).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from datasets import Dataset, Image, List, load_dataset
from transformers import AutoConfig, AutoProcessor
from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser, get_peft_config, get_quantization_config

from grounding_rewards.coords.register import processors
from grounding_rewards_adapters.trl import reward_funcs

DEFAULTS = {
    "model_name_or_path": "Qwen/Qwen3-VL-8B-Instruct",
    "output_dir": "out/trl_grpo_qwen3_vl",
    "num_generations": 8,
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 8,
    "max_completion_length": 64,
    "temperature": 1.0,
    "beta": 0.0,
    "epsilon_high": 0.28,
    "learning_rate": 1e-6,
    "num_train_epochs": 1,
    "logging_steps": 1,
    "save_steps": 100,
    "gradient_checkpointing": True,
    "dtype": "bfloat16",
    "lora_r": 64,
    "lora_alpha": 128,
    "lora_target_modules": "all-linear",
}


@dataclass
class Launch:
    """Options of this script beside TRL's own."""

    train: str = field(metadata={"help": "Parquet as `grounding-rewards convert --for trl` writes it."})
    recipe: str = field(default="gelato", metadata={"help": "The reward; `grounding-rewards recipes` lists them."})
    family: str = field(default="qwen3_vl", metadata={"help": "qwen2_vl, qwen2_5_vl or qwen3_vl."})
    min_pixels: int | None = field(default=None, metadata={"help": "Bound of the processor; the checkpoint's without."})
    max_pixels: int | None = field(default=None, metadata={"help": "Likewise; 2097152 is 2048 tokens for Qwen3-VL."})
    record: str | None = field(default=None, metadata={"help": "Folder for a table of all rollouts."})


def options(arguments: list[str] | None = None) -> tuple[Launch, GRPOConfig, ModelConfig]:
    """Read the command line."""
    parser = TrlParser((Launch, GRPOConfig, ModelConfig))
    parser.set_defaults(**DEFAULTS)
    launch, config, model = parser.parse_args_and_config(arguments)
    if config.use_vllm and not launch.min_pixels is launch.max_pixels is None:
        parser.error(
            "vLLM's own processor reads the bounds from the checkpoint, and these would hold for the trainer's alone: "
            "write them to the checkpoint's preprocessor_config.json and leave out --min_pixels and --max_pixels"
        )
    return launch, config, model


def check_family(launch: Launch, config: GRPOConfig, model: ModelConfig) -> None:
    """Stop where the checkpoint is of another family than the reward assumes."""
    checkpoint = AutoConfig.from_pretrained(
        model.model_name_or_path, revision=model.model_revision, trust_remote_code=config.trust_remote_code
    )
    found = checkpoint.model_type.removesuffix("_moe")
    if found in processors() and found != launch.family:
        raise SystemExit(
            f"{model.model_name_or_path} is {checkpoint.model_type}, and its answers would be read as those of "
            f"{launch.family}: set --family {found}"
        )


def processor_of(launch: Launch, config: GRPOConfig, model: ModelConfig) -> Any:
    """The checkpoint's processor with the bounds of this launch."""
    processor = AutoProcessor.from_pretrained(
        model.model_name_or_path,
        revision=model.model_revision,
        trust_remote_code=config.trust_remote_code,
        padding_side="left",
        truncation_side="left",
    )
    size = dict(processor.image_processor.size)
    size["shortest_edge"] = launch.min_pixels or size["shortest_edge"]  # counts of pixels, whatever they are called
    size["longest_edge"] = launch.max_pixels or size["longest_edge"]
    processor.image_processor.size = type(processor.image_processor.size)(**size)
    return processor


def rewards_of(launch: Launch, config: GRPOConfig, processor: Any) -> list[Any]:
    """Build the reward with the bounds of the processor itself, so that both resize alike."""
    size = processor.image_processor.size
    return reward_funcs(
        launch.recipe,
        model=launch.family,
        min_pixels=size["shortest_edge"],
        max_pixels=size["longest_edge"],
        num_generations=config.num_generations,
        num_generations_eval=config.num_generations_eval,
        record=launch.record,
    )


def rows_of(path: str) -> Dataset:
    """The rows, with images that open as PIL images: the reward takes their sizes from them."""
    rows = load_dataset("parquet", data_files=path, split="train")
    for name, feature in (("image", Image()), ("images", List(Image()))):
        if name in rows.column_names and rows.features[name] != feature:
            rows = rows.cast_column(name, feature)
    return rows


def main(arguments: list[str] | None = None) -> GRPOTrainer:
    """Train."""
    launch, config, model = options(arguments)
    check_family(launch, config, model)
    config.model_init_kwargs = {
        "revision": model.model_revision,
        "trust_remote_code": config.trust_remote_code,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        **(config.model_init_kwargs or {}),
    }
    processor = processor_of(launch, config, model)
    trainer = GRPOTrainer(
        model=model.model_name_or_path,
        args=config,
        reward_funcs=rewards_of(launch, config, processor),
        train_dataset=rows_of(launch.train),
        processing_class=processor,
        quantization_config=get_quantization_config(model),
        peft_config=get_peft_config(model),
    )
    trainer.train(resume_from_checkpoint=config.resume_from_checkpoint)
    trainer.save_model(config.output_dir)
    return trainer


if __name__ == "__main__":
    main()
