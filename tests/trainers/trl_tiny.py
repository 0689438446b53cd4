"""Tiny policies, of text and of images, and a few steps of TRL's own trainers with them, on a CPU."""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

MARKS = [
    pytest.mark.slow,
    pytest.mark.xdist_group("trl"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("default"),  # the trainers and their dependencies warn about themselves
]

SETTINGS: dict[str, Any] = {
    "use_cpu": True, "bf16": False, "report_to": "none", "save_strategy": "no", "seed": 0, "disable_tqdm": True,
    "per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 6, "max_steps": 2,
    "logging_steps": 1, "gradient_checkpointing": False,
}  # fmt: skip

_SPECIAL = ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
_TEXT_TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
_IMAGE_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>{% endfor %}"
)


def text_policy() -> tuple[Any, Any]:
    """A randomly initialised model and its tokenizer, which knows little but digits, brackets and a comma."""
    torch = _torch()
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    tokenizer = _tokenizer([])
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return _guided(transformers.Qwen2ForCausalLM(config), tokenizer), tokenizer


def image_policy(kind: str, min_pixels: int, max_pixels: int) -> tuple[Any, Any]:
    """A randomly initialised ``qwen2_5_vl`` or ``qwen3_vl``, and a processor that keeps images within bounds."""
    torch = _torch()
    transformers = pytest.importorskip("transformers")
    from transformers.processing_utils import ProcessorMixin

    base = {"qwen2_5_vl": transformers.Qwen2_5_VLProcessor, "qwen3_vl": transformers.Qwen3VLProcessor}[kind]

    def init(
        self: Any, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None, **_: Any
    ) -> None:
        for name in ("image", "video"):
            setattr(self, f"{name}_token", f"<|{name}_pad|>")
            setattr(self, f"{name}_token_id", tokenizer.convert_tokens_to_ids(f"<|{name}_pad|>"))
        for name in ("vision_start", "vision_end"):
            setattr(self, f"{name}_token", f"<|{name}|>")
            setattr(self, f"{name}_token_id", tokenizer.convert_tokens_to_ids(f"<|{name}|>"))
        ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)

    # Without the video processor, which needs torchvision.
    processor_class = type(f"ImageOnly{base.__name__}", (base,), {"__init__": init})
    torch.manual_seed(0)
    tokenizer = _tokenizer(_SPECIAL)
    patch = {"qwen2_5_vl": 14, "qwen3_vl": 16}[kind]
    resizing = transformers.Qwen2VLImageProcessorPil(patch_size=patch, min_pixels=min_pixels, max_pixels=max_pixels)
    processor = processor_class(resizing, tokenizer, chat_template=_IMAGE_TEMPLATE)
    return _guided(_image_model(transformers, kind, tokenizer), tokenizer), processor


def image(width: int, height: int, mode: str = "RGB") -> Any:
    """Some image of this size."""
    from PIL import Image

    shades = np.arange(height)[:, None] * 3 + np.arange(width)
    return Image.fromarray((shades % 256).astype(np.uint8)).convert(mode)


def _image_model(transformers: Any, kind: str, tokenizer: Any) -> Any:
    ids = {
        f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{token}|>")
        for name, token in {"image": "image_pad", "video": "video_pad", "vision_start": "vision_start",
                            "vision_end": "vision_end"}.items()
    }  # fmt: skip
    text = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
        "bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2]},
    }  # fmt: skip
    seen = {"depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 32}
    if kind == "qwen3_vl":
        text["rope_parameters"]["mrope_interleaved"] = True
        seen |= {"patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]}
        config = transformers.Qwen3VLConfig(text_config=text, vision_config=seen, tie_word_embeddings=True, **ids)
        return transformers.Qwen3VLForConditionalGeneration(config)
    seen |= {"patch_size": 14, "window_size": 56, "fullatt_block_indexes": [0]}
    config = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=seen, tie_word_embeddings=True, **ids)
    return transformers.Qwen2_5_VLForConditionalGeneration(config)


def _guided(model: Any, tokenizer: Any) -> Any:
    """The model, made to answer with some point, or now and then with a broken one: which one is its own choice."""
    ids = tokenizer.convert_tokens_to_ids
    opened, comma, closed, end = ids("("), ids(", "), ids(")"), tokenizer.eos_token_id
    numbers = [ids(str(number)) for number in range(0, 1000, 125)]

    def allowed(_: int, said: Any) -> list[int]:
        last = int(said[-1])
        if last in numbers:
            return [comma] if int(said[-2]) == opened else [closed]
        return {opened: [*numbers, end], comma: numbers, closed: [end]}.get(last, [opened])

    model.generate = functools.partial(model.generate, prefix_allowed_tokens_fn=allowed)
    return model


def _torch() -> Any:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return torch


def _tokenizer(special: list[str]) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = ["<pad>", "<eos>", "<unk>", *special, "click", "(", ")", ", ", *map(str, range(0, 1000, 125))]
    model = tokenizers.models.WordLevel({word: code for code, word in enumerate(words)}, unk_token="<unk>")
    core = tokenizers.Tokenizer(model)
    core.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\d+|, |[()]|click"), behavior="isolated")
    core.decoder = tokenizers.decoders.Fuse()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left",
        additional_special_tokens=special,
    )  # fmt: skip
    tokenizer.chat_template = _TEXT_TEMPLATE
    return tokenizer


class Spy:
    """A reward function, to be given the weight 0, that keeps what it was called with."""

    __name__ = "spy"

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, **given: Any) -> list[float]:
        self.calls.append(given)
        return [0.0] * len(given["completions"])


def train(
    policy: tuple[Any, Any],
    rows: list[dict[str, Any]],
    functions: list[Any],
    out: Path,
    *,
    method: str = "GRPO",
    **settings: Any,
) -> list[dict[str, Any]]:
    """Two steps of one of TRL's trainers; what it logged. ``transform`` makes rows when they are looked up."""
    trl = pytest.importorskip("trl")
    model, processing_class = policy
    tools, transform = settings.pop("tools", None), settings.pop("transform", None)
    held = settings.pop("eval_rows", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = getattr(trl, f"{method}Config")(output_dir=str(out), **{**SETTINGS, **settings})
        trainer = getattr(trl, f"{method}Trainer")(
            model=model, reward_funcs=functions, args=args, processing_class=processing_class,
            train_dataset=_data(rows, transform),
            eval_dataset=_data(held) if held else None, **({"tools": tools} if tools else {}),
        )  # fmt: skip
        trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


def _data(rows: list[dict[str, Any]], transform: Any = None) -> Any:
    made = pytest.importorskip("datasets").Dataset.from_list(rows)
    return made if transform is None else made.with_transform(transform)
