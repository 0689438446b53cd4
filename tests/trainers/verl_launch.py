"""A launch of verl without its trainer: the composed config, a tiny tokenizer, batches, and reward managers."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import grounding_rewards_adapters
from grounding_rewards.plugins import registry as plugins
from tests.adapters.own_terms import BOX, TOTALS, write_plugin, write_terms

MARKS = [
    pytest.mark.slow,
    pytest.mark.xdist_group("verl"),
    pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed; it needs a Python below 3.13"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("default"),  # verl and its dependencies warn about themselves
]

FILE = Path(grounding_rewards_adapters.__file__).parent / "verl.py"
PACKAGE = "pkg://grounding_rewards_adapters.verl"
LAUNCH = "reward.custom_reward_function"

CLICK = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.9, "format": 0.1}}
KEYS = ["score", "acc", "valid", "parsed", "in_image", "hit", "format"]

DIGITS = f"({'9' * 400}, {'9' * 400})"
HOSTILE = (DIGITS, "(nan, 15)", "(20, 15" * 50, "\x00\ufffd", "<think>(20, 15)")
"""Responses that hold no point to reward."""
_CODES = {text: code for code, text in enumerate(["<pad>", "<eos>", "<unk>", *TOTALS, *HOSTILE])}


def write_tokenizer(folder: Path) -> None:
    """A tokenizer whose tokens are whole responses."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(_CODES, unk_token="<unk>"))
    core.decoder = tokenizers.decoders.Fuse()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder / "tokenizer")


@contextmanager
def lab_in(folder: Path) -> Iterator[Path]:
    """Own code, an installed plugin and the tokenizer in a folder, on PYTHONPATH too."""
    write_terms(folder)
    write_plugin(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.syspath_prepend(folder)
        plugins._registry.cache_clear()
        write_tokenizer(folder)
        yield folder
    plugins._registry.cache_clear()
    sys.modules.pop("lab_terms", None)
    sys.modules.pop("lab_plugin", None)


def compose(lab: Path, *overrides: str) -> Any:
    """verl's own config with the overrides of a launch line."""
    return composed(lab, "reward.num_workers=1", *overrides)


def composed(lab: Path, *overrides: str) -> Any:
    """The same with these overrides alone."""
    config = deepcopy(_composed(*overrides))
    config.actor_rollout_ref.model.path = str(lab / "tokenizer")
    return config


@lru_cache
def _composed(*overrides: str) -> Any:
    hydra = pytest.importorskip("hydra")
    folder = str(Path(importlib.import_module("verl").__file__ or "").parent / "trainer" / "config")
    with hydra.initialize_config_dir(folder, version_base=None):
        return hydra.compose("ppo_trainer", list(overrides))


def launched(base: Any, options: Mapping[str, Any], path: str = PACKAGE, *overrides: str) -> Any:
    """The config with overrides that hydra's own parser reads, as ``compose`` would add them, but sooner."""
    parser = importlib.import_module("hydra.core.override_parser.overrides_parser").OverridesParser.create()
    omegaconf = pytest.importorskip("omegaconf")
    given = [f"+{LAUNCH}.reward_kwargs.{key}={written(value)}" for key, value in options.items()]
    config = deepcopy(base)
    for override in parser.parse_overrides([f"{LAUNCH}.path={path}", *given, *overrides]):
        omegaconf.OmegaConf.update(config, override.key_or_group, override.value(), force_add=True)
    return config


def written(value: Any) -> str:
    """A value as a launch line writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else str(value)


def batch(texts: Sequence[str], truth: Any = None, **extra: Any) -> Any:
    """Return a batch as verl hands it over: one token a response, an end of sequence, one target for all rows."""
    truths = [json.dumps(BOX) if truth is None else truth] * len(texts)
    return rows(texts, truths, [{"index": row, **extra} for row in range(len(texts))])


def rows(
    texts: Sequence[str], truths: Sequence[Any], extras: Sequence[Any] | None, sources: Sequence[str] | None = None
) -> Any:
    """The same of rows that have a target and an ``extra_info`` each; without such a column for None."""
    torch = pytest.importorskip("torch")
    columns: dict[str, Any] = {
        "data_source": np.array(["clicks"] * len(texts) if sources is None else sources),  # as the agent loop makes it
        "reward_model": _objects([{"style": "rule", "ground_truth": truth} for truth in truths]),
    }
    return importlib.import_module("verl").DataProto.from_dict(
        tensors={
            "prompts": torch.zeros(len(texts), 1, dtype=torch.long),
            "responses": torch.tensor([[_CODES[text], 1] for text in texts]),
            "attention_mask": torch.ones(len(texts), 3, dtype=torch.long),
        },
        non_tensors=columns if extras is None else {**columns, "extra_info": _objects(extras)},
    )


def _objects(values: Sequence[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def tokenizer(lab: Path) -> Any:
    """The lab's tokenizer."""
    return pytest.importorskip("transformers").AutoTokenizer.from_pretrained(lab / "tokenizer")


def managed(lab: Path, config: Any, data: Any, **given: Any) -> list[dict[str, Any]]:
    """Score each row with the reward manager that a config names, all rows at once."""
    reward = importlib.import_module("verl.trainer.ppo.reward")

    async def run() -> list[dict[str, Any]]:
        manager = reward.load_reward_manager(config, tokenizer(lab), **given)
        return await asyncio.gather(*[manager.run_single(data[row : row + 1]) for row in range(len(data))])

    return asyncio.run(run())


def scored(lab: Path, config: Any, data: Any) -> Any:
    """The batch as verl's reward loop gives it back, without its Ray actors."""
    found = managed(lab, config, data)
    data = deepcopy(data)
    data.batch["rm_scores"] = _manager_class(config).assemble_rm_scores(data, [row["reward_score"] for row in found])
    for key in found[0]["reward_extra_info"]:
        data.non_tensor_batch[key] = np.array([row["reward_extra_info"][key] for row in found])
    return data


def _manager_class(config: Any) -> Any:
    return importlib.import_module("verl.trainer.ppo.reward").resolve_reward_manager_cls(config)


@contextmanager
def stand_ins() -> Iterator[None]:
    """Modules that verl's trainers import for serving models and passing tensors, and that plain verl lacks."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("cachetools", "fastapi", "uvicorn", "transfer_queue"):
            if find_spec(name) is None:
                patch.setitem(sys.modules, name, MagicMock(name=name))
        yield
