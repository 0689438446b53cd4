"""A tiny text model with random weights, saved as a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engines.tiny import toy

WORDS = ["say", " a", " number", *map(str, range(10, 60))]


def saved(folder: Path, context: int = 64, **generation: Any) -> Path:
    """Save a Llama of two layers with the demo's tokenizer; the same weights each time.

    Args:
        folder: for the checkpoint.
        context: the most tokens.
        generation: further settings for its generation_config.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(1)
    tokenizer = toy()[0].build_tokenizer(WORDS)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=context, initializer_range=0.5, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    for name, value in generation.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
