"""Small checkpoints with random weights, in sizes for which vLLM has kernels; a vision model needs torchvision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engines.tiny import toy

WORDS = ["click", " the", *(f" {name}" for name in ("red", "blue", "square", "circle")), *map(str, range(40))]
TEXT = {
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "max_position_embeddings": 2048, "initializer_range": 0.1,
}  # fmt: skip
PIXELS = (32 * 32, 256 * 256)


def text(folder: Path) -> Path:
    """Save a Qwen3."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    tokenizer = toy()[0].build_tokenizer(WORDS)
    config = Qwen3Config(**TEXT, **_tokens(tokenizer), vocab_size=len(tokenizer), tie_word_embeddings=True)
    return _saved(folder, Qwen3ForCausalLM, config, tokenizer)


def vision(folder: Path) -> Path:
    """Save a Qwen3-VL."""
    from transformers import Qwen2VLImageProcessorPil, Qwen3VLForConditionalGeneration, Qwen3VLProcessor
    from transformers import Qwen3VLVideoProcessor as Videos

    vlm = toy()[0]
    tokenizer = vlm.build_tokenizer(WORDS)
    images = Qwen2VLImageProcessorPil(patch_size=16, merge_size=2, min_pixels=PIXELS[0], max_pixels=PIXELS[1])
    processor = Qwen3VLProcessor(images, tokenizer, Videos(), chat_template=vlm.TEMPLATE)
    return _saved(folder, Qwen3VLForConditionalGeneration, vision_config(tokenizer), processor)


def vision_config(tokenizer: Any) -> Any:
    """Return the config of the Qwen3-VL."""
    from transformers import Qwen3VLConfig

    rope = {"rope_type": "default", "rope_theta": 5e6, "mrope_interleaved": True, "mrope_section": [12, 10, 10]}
    return Qwen3VLConfig(
        text_config={**TEXT, **_tokens(tokenizer), "vocab_size": len(tokenizer), "rope_parameters": rope},
        vision_config={
            "depth": 2, "hidden_size": 128, "intermediate_size": 256, "num_heads": 2, "patch_size": 16,
            "out_hidden_size": TEXT["hidden_size"], "num_position_embeddings": 256, "deepstack_visual_indexes": [0],
            "initializer_range": 0.1,
        },
        tie_word_embeddings=True,
        **{
            f"{name}_id": tokenizer.convert_tokens_to_ids(f"<|{token}|>")
            for name, token in {
                "image_token": "image_pad", "video_token": "video_pad", "vision_start_token": "vision_start",
                "vision_end_token": "vision_end",
            }.items()
        },
    )  # fmt: skip


def _tokens(tokenizer: Any) -> dict[str, Any]:
    return {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}


def _saved(folder: Path, kind: Any, config: Any, processor: Any) -> Path:
    import torch

    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
