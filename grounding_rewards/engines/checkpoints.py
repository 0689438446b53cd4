"""Checkpoints of transformers: the model, its processor, and what generation needs to know of them."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from grounding_rewards.coords.families import resizing_by
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.errors import EngineError, in_one_line


@dataclass(frozen=True)
class Checkpoint:
    """Checkpoint in memory.

    Attributes:
        model: generates; its generation_config is empty.
        processor: makes tensors of prompts, and of images where the model sees them.
        tokenizer: the processor's, or the processor itself; pads on the left.
        device: where the model is.
        sees: True for a vision model.
        context: the most tokens of a prompt and its response; inf where the model has no bound.
        ends: the tokens that end a response.
        control_tokens: texts that the tokenizer takes for tokens of its own, such as the end of a message.
        patch: the side of the image's patches in pixels, where the processor says.
        resizing: the way of images into the model, where we know it.
    """

    model: Any
    processor: Any
    tokenizer: Any
    device: Any
    sees: bool
    context: float
    ends: tuple[int, ...]
    control_tokens: tuple[str, ...]
    patch: Any
    resizing: Resizing | None


def loaded(name: str, dtype: str, device: str) -> Checkpoint:
    """Load a checkpoint onto a device."""
    place = _device(device)
    transformers = package("transformers")
    package("jinja2")
    with _quiet(transformers.utils.logging):
        config = _read(name, transformers.AutoConfig)
        sees = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        processor = _processor(transformers, name, sees)
        model = _weights(transformers, name, dtype, config, sees)
    tokenizer = getattr(processor, "tokenizer", processor)
    ends = _ends(model.generation_config.eos_token_id, tokenizer.eos_token_id)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    model.generation_config = transformers.GenerationConfig()  # it would fill in what a call leaves open
    images = getattr(processor, "image_processor", None)
    return Checkpoint(
        model=_moved(model, name, place),
        processor=processor,
        tokenizer=tokenizer,
        device=place,
        sees=sees,
        context=getattr(config.get_text_config(), "max_position_embeddings", None) or float("inf"),
        ends=ends,
        control_tokens=_control_tokens(tokenizer),
        patch=getattr(images, "patch_size", None),
        resizing=resizing_by(images.to_dict()) if images is not None else None,
    )


def _control_tokens(tokenizer: Any) -> tuple[str, ...]:
    added = (str(each.content) for each in tokenizer.added_tokens_decoder.values() if each.special)
    return tuple(token for token in dict.fromkeys([*tokenizer.all_special_tokens, *added]) if len(token) > 1)


def _moved(model: Any, name: str, device: Any) -> Any:
    try:
        return model.to(device).eval()
    except RuntimeError as error:
        raise EngineError(f"model: {name} does not fit onto the device {device}: {in_one_line(error)}") from error


def _ends(*tokens: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return all tokens that end a response."""
    lists = [[each] if isinstance(each, int) else each or [] for each in tokens]
    return tuple(dict.fromkeys(token for each in lists for token in each))


def package(name: str) -> Any:
    """Import a package that only engines of this kind need."""
    try:
        return import_module(name)
    except ImportError as error:
        way = "pip install 'grounding-rewards[transformers]'"
        if name == "torch":
            way = "pip install torch, the build for your device, before anything else"
        raise EngineError(f"the engine transformers needs {name}: {way} ({in_one_line(error)})") from error


def _device(name: str) -> Any:
    torch = package("torch")
    if name == "auto":
        accelerated = torch.accelerator.is_available()
        return torch.accelerator.current_accelerator() if accelerated else torch.device("cpu")
    try:
        torch.empty(1, device=name)
        return torch.device(name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise EngineError(f"device: got {name!r}, which cannot be used here: {in_one_line(error)}") from error


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """Keep the library from printing bars and remarks while it loads."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _read(model: str, kind: Any, **options: Any) -> Any:
    """Load a part of a checkpoint; an error names the checkpoint in one line."""
    folder = Path(model)
    if not folder.is_dir() and (folder.is_absolute() or model[0] in ".~"):
        raise EngineError(f"model: there is no folder {model}; give a checkpoint's, or a name on the Hugging Face hub")
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise EngineError(f"model: the folder {model} has no config.json; expected what save_pretrained writes")
    try:
        return kind.from_pretrained(model, **options)
    except Exception as error:  # of its many packages, and of readers of files
        if out_of_memory(error):
            raise EngineError(f"model: {model} does not fit into memory: {in_one_line(error)}") from error
        raise EngineError(f"model: {model} cannot be loaded by {kind.__name__}: {in_one_line(error)}") from error


def _weights(transformers: Any, name: str, dtype: str, config: Any, sees: bool) -> Any:
    """Return the model; one without all of its weights would answer at random."""
    if config.is_encoder_decoder or not (sees or type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING):
        raise EngineError(
            f"model: {name} is a {config.model_type}; expected a decoder that AutoModelForImageTextToText "
            "or AutoModelForCausalLM loads"
        )
    kind = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
    model, report = _read(name, kind, dtype=dtype, output_loading_info=True)
    if missing := sorted(report["missing_keys"]):
        was = ", ".join(config.architectures or ["another model"])
        raise EngineError(
            f"model: {name} lacks {len(missing)} weights of {type(model).__name__}, such as {missing[0]}; "
            f"it was saved as {was}"
        )
    return model


def _processor(transformers: Any, model: str, sees: bool) -> Any:
    processor = _read(model, transformers.AutoProcessor if sees else transformers.AutoTokenizer)
    if sees and not hasattr(processor, "image_processor"):
        raise EngineError(f"model: {model} has no image processor; {_way(transformers, model)}")
    if sees:
        package("PIL")
    if not processor.chat_template:
        raise EngineError(
            f"model: {model} has no chat template; copy chat_template.jinja of the model that it was trained from "
            "into its folder"
        )
    return processor


def _way(transformers: Any, model: str) -> str:
    """Return what to do where no processor of images is found."""
    with suppress(OSError, ValueError, AttributeError):
        for name in ("processor_config.json", "preprocessor_config.json"):
            file = transformers.utils.cached_file(model, name, _raise_exceptions_for_missing_entries=False)
            kind = file and json.loads(Path(file).read_text()).get("processor_class")
            if kind and not hasattr(transformers, kind):
                return f"its processor class {kind} is not known; register it (docs/rollouts.md)"
    return "copy preprocessor_config.json of its base model"


def emptied() -> None:
    """Give memory that is no longer used back to the device."""
    gc.collect()
    package("torch").cuda.empty_cache()


def out_of_memory(error: Exception) -> bool:
    """Return True for an error of torch, of numpy or of Python that says so."""
    text = str(error).lower()
    short = any(sign in text for sign in ("out of memory", "not enough memory", "can't allocate memory"))
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and short)
