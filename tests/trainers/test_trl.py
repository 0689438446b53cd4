"""The real GRPOTrainer on a tiny text policy: what it calls, what it logs, what abstaining does to it."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

pytestmark = [
    pytest.mark.xdist_group("trl"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("default"),  # the trainer and its dependencies warn about themselves
]


@pytest.fixture(scope="module")
def policy() -> tuple[Any, Any]:
    """A randomly initialised model whose vocabulary is little but digits, brackets and a comma."""
    torch = pytest.importorskip("torch")
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    words = ["<pad>", "<eos>", "<unk>", "click", "(", ")", ", ", *map(str, range(0, 1000, 125))]
    model = tokenizers.models.WordLevel({word: code for code, word in enumerate(words)}, unk_token="<unk>")
    core = tokenizers.Tokenizer(model)
    core.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\d+|, |[()]|click"), behavior="isolated")
    core.decoder = tokenizers.decoders.Fuse()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    config = transformers.Qwen2Config(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return transformers.Qwen2ForCausalLM(config), tokenizer


def train(policy: tuple[Any, Any], rows: list[dict[str, Any]], functions: list[Any], out: Path) -> list[dict[str, Any]]:
    """Two steps of GRPO; what the trainer logged."""
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    model, tokenizer = policy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = trl.GRPOConfig(
            output_dir=str(out), use_cpu=True, bf16=False, report_to="none", save_strategy="no", seed=0,
            disable_tqdm=True, per_device_train_batch_size=8, num_generations=4, max_completion_length=6, max_steps=2,
            logging_steps=1, gradient_checkpointing=False,
        )  # fmt: skip
        trainer = trl.GRPOTrainer(
            model=model, reward_funcs=functions, args=args, processing_class=tokenizer,
            train_dataset=datasets.Dataset.from_list(rows),
        )  # fmt: skip
        trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


@pytest.mark.parametrize("chat", [False, True], ids=["text", "conversation"])
def test_the_trainer_trains_on_a_recipe_and_logs_its_metrics(policy: Any, chat: bool, tmp_path: Path) -> None:
    from grounding_rewards_adapters.trl import reward_funcs

    prompt = [{"role": "user", "content": "click"}] if chat else "click"
    rows = [{"prompt": prompt, "target": [0.1, 0.1, 0.6, 0.6]} for _ in range(8)]
    logged = train(policy, rows, reward_funcs("gelato", format_weight=0.5), tmp_path)
    assert len(logged) == 2
    for entry in logged:
        assert 0.0 <= entry["rewards/gelato/mean"] <= 1.0
        assert entry["reward"] == entry["rewards/gelato/mean"]
        assert {"gelato/acc", "gelato/parsed", "gelato/distance", "gelato/format", "gelato/valid"} <= set(entry)
        assert entry["gelato/valid"] == 1.0


def test_unusable_targets_abstain_and_training_goes_on(policy: Any, tmp_path: Path) -> None:
    from grounding_rewards_adapters.trl import reward_funcs

    targets = ["[0.1, 0.1, 0.6, 0.6]", "[0.6, 0.6, 0.1, 0.1]"] * 4
    rows = [{"prompt": "click", "target": target} for target in targets]
    logged = train(policy, rows, reward_funcs("gelato", format_weight=0.5), tmp_path)
    assert len(logged) == 2
    assert {entry["gelato/valid"] for entry in logged} <= {0.0, 0.5, 1.0}
    assert any(entry["gelato/valid"] < 1.0 for entry in logged)
    assert all(entry["reward"] is None or math.isfinite(entry["reward"]) for entry in logged)
