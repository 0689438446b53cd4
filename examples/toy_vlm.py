"""A tiny Qwen3-VL with random weights, its word-level tokenizer and processor, and the optimiser that trains it."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessorPil,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
)
from transformers.processing_utils import ProcessorMixin

PATCH, HIDDEN, LAYERS, HEADS, HEAD_DIM = 16, 64, 2, 4, 32
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)


class ImageOnlyProcessor(Qwen3VLProcessor):
    """Qwen3VLProcessor without its video processor, which exists only where torchvision is installed."""

    def __init__(
        self,
        image_processor: Any = None,
        tokenizer: Any = None,
        chat_template: str | None = None,
        **kwargs: Any,
    ) -> None:
        for name in ("image", "video"):
            setattr(self, f"{name}_token", f"<|{name}_pad|>")
            setattr(self, f"{name}_token_id", tokenizer.convert_tokens_to_ids(f"<|{name}_pad|>"))
        for name in ("start", "end"):
            setattr(self, f"vision_{name}_token", f"<|vision_{name}|>")
            setattr(self, f"vision_{name}_token_id", tokenizer.convert_tokens_to_ids(f"<|vision_{name}|>"))
        ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)


def build_tokenizer(words: list[str]) -> PreTrainedTokenizerFast:
    """One token for each word, number and punctuation mark; a word keeps the space before it."""
    vocabulary = ["<pad>", "<eos>", "<unk>", *SPECIAL, "user", "assistant", "(", ", ", ")", *words]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r", |[()]|\d+|user|assistant| ?[a-z]+"), behavior="isolated")
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
        additional_special_tokens=SPECIAL,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def build_processor(words: list[str], max_pixels: int) -> ImageOnlyProcessor:
    """Mean and deviation centre the light background near 0, so that widgets stand out for a random model."""
    images = Qwen2VLImageProcessorPil(
        patch_size=PATCH,
        merge_size=1,
        temporal_patch_size=1,
        min_pixels=PATCH**2,
        max_pixels=max_pixels,
        image_mean=[0.88] * 3,
        image_std=[0.25] * 3,
    )
    return ImageOnlyProcessor(images, build_tokenizer(words), chat_template=TEMPLATE)


def build_model(processor: ImageOnlyProcessor) -> Qwen3VLForConditionalGeneration:
    """About 230,000 random weights: one vision block, two text layers, an image token for each 16 x 16 pixels."""
    tokenizer = processor.tokenizer
    token_id = tokenizer.convert_tokens_to_ids
    shared = {"hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN, "initializer_range": 0.1}
    axis = HEAD_DIM // 6  # rotary pairs for the height, and for the width; the rest are for time
    text = shared | {
        "vocab_size": len(tokenizer),
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": 256,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 5e6,
            "mrope_interleaved": True,
            "mrope_section": [HEAD_DIM // 2 - 2 * axis, axis, axis],
        },
    }
    vision = shared | {
        "depth": 1,
        "num_heads": HEADS,
        "patch_size": PATCH,
        "spatial_merge_size": 1,
        "temporal_patch_size": 1,
        "out_hidden_size": HIDDEN,
        "num_position_embeddings": 256,
        "deepstack_visual_indexes": [0],
    }
    config = Qwen3VLConfig(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=True,
        image_token_id=token_id("<|image_pad|>"),
        video_token_id=token_id("<|video_pad|>"),
        vision_start_token_id=token_id("<|vision_start|>"),
        vision_end_token_id=token_id("<|vision_end|>"),
    )
    model = Qwen3VLForConditionalGeneration(config)
    # Pixels and positions must enter at a like size, or the model sees colours without knowing where they are.
    torch.nn.init.normal_(model.model.visual.patch_embed.proj.weight, std=0.03)
    torch.nn.init.normal_(model.model.visual.pos_embed.weight, std=1.0)
    return model


class Muon(torch.optim.Optimizer):
    """Muon for weight matrices, Adam for the rest. It learns to bind a word to a colour several times sooner than Adam.

    torch.optim.Muon takes matrices only and works in bfloat16, which is slow on CPUs.
    """

    def __init__(self, model: torch.nn.Module, matrix_lr: float, lr: float) -> None:
        named = list(model.named_parameters())
        matrices = [p for name, p in named if p.ndim == 2 and "embed" not in name]
        known = {id(p) for p in matrices}
        rest = [p for _, p in named if id(p) not in known]
        super().__init__([{"params": matrices, "lr": matrix_lr}, {"params": rest, "lr": lr}], {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        matrices, rest = self.param_groups
        for parameter in matrices["params"]:
            if parameter.grad is not None:
                update = self._orthogonal(parameter)
                parameter.add_(update, alpha=-0.2 * matrices["lr"] * max(parameter.shape) ** 0.5)
        for parameter in rest["params"]:
            if parameter.grad is not None:
                parameter.add_(self._adam(parameter), alpha=-rest["lr"])

    def _orthogonal(self, parameter: torch.Tensor) -> torch.Tensor:
        """Nesterov momentum, with all singular values brought near 1 by Newton-Schulz steps."""
        momentum = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
        momentum.mul_(0.95).add_(parameter.grad)
        x = parameter.grad + 0.95 * momentum
        tall = x.shape[0] > x.shape[1]
        x = (x.T if tall else x) / (x.norm() + 1e-7)
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (2.0315 * gram @ gram - 4.7750 * gram) @ x
        return x.T if tall else x

    def _adam(self, parameter: torch.Tensor) -> torch.Tensor:
        state = self.state[parameter]
        step = state["step"] = state.get("step", 0) + 1
        mean = state.setdefault("mean", torch.zeros_like(parameter))
        square = state.setdefault("square", torch.zeros_like(parameter))
        mean.lerp_(parameter.grad, 0.1)
        square.lerp_(parameter.grad**2, 0.05)
        return mean / (1 - 0.9**step) / ((square / (1 - 0.95**step)).sqrt() + 1e-8)
