"""AReaL 1.0: GRPO on Qwen3-VL with the reward of Gelato. One node with 8 GPUs of 80 GB.

pip install areal[cuda]==1.0.4, and grounding-rewards as its README says. Then, for pixel boxes:
grounding-rewards convert clicks.parquet --out train.parquet --for areal --target-space pixel
export GROUNDING_REWARDS_OPTIONS='{"recipe": "gelato", "format_weight": 0.1, "record": "out/record"}'
grounding-rewards check areal --dataset train.parquet
python areal_grpo_qwen3_vl.py --config areal_grpo_qwen3_vl.yaml [KEY=VALUE ...]
"""

import sys
from collections.abc import Mapping
from typing import Any

IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"


def asked(row: Mapping[str, Any], tokenizer: Any) -> dict[str, str]:
    """Return the prompt of a row as the text that AReaL's workflow gives to the processor."""
    messages = [{**each, "content": each["content"].replace("<image>", IMAGE)} for each in row["messages"]]
    return {"messages": tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)}


def train(words: list[str]) -> None:
    """Train as the config and the words after it say."""
    from areal import PPOTrainer
    from areal.api.cli_args import GRPOConfig, load_expr_config
    from areal.utils.hf_utils import load_hf_tokenizer
    from datasets import Image, List, load_dataset

    config, _ = load_expr_config(words, GRPOConfig)
    rows = load_dataset("parquet", data_files=config.train_dataset.path, split="train")
    rows = rows.map(asked, fn_kwargs={"tokenizer": load_hf_tokenizer(config.tokenizer_path)})
    workflow = {
        "reward_fn": "grounding_rewards_adapters.areal.reward", "gconfig": config.gconfig, "enable_thinking": False,
        "tokenizer": config.tokenizer_path, "processor": config.tokenizer_path,
    }  # fmt: skip
    with PPOTrainer(config, train_dataset=rows.cast_column("images", List(Image()))) as trainer:
        trainer.train(workflow="areal.workflow.vision_rlvr.VisionRLVRWorkflow", workflow_kwargs=workflow)


if __name__ == "__main__":
    train(sys.argv[1:])
