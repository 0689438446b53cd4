"""ms-swift from its command line: GRPO of a tiny policy, with the reward in the file that ``where swift`` prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.tables.recorder import read_rollouts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_spec("swift") is None, reason="ms-swift is not installed; it needs TRL below 1.0"),
]

OPTIONS = {"recipe": "gelato", "format_weight": 0.1, "record": "rollouts"}
BOX = {"bbox": [0.1, 0.1, 0.5, 0.5]}
LAUNCH = """swift rlhf --rlhf_type grpo --model policy --model_type qwen2 --template qwen --dataset rows.jsonl \
  --external_plugins "$(grounding-rewards where swift)" --reward_funcs grounding_rewards --num_generations 4 \
  --per_device_train_batch_size 8 --max_completion_length 2 --max_steps 2 --logging_steps 1 --log_completions true \
  --tuner_type full --torch_dtype float32 --attn_impl eager --use_cpu true --save_strategy no --report_to none \
  --seed 0 --output_dir out"""


def write_policy(folder: Path) -> None:
    """A randomly initialised Qwen2, some of whose tokens are whole answers, as ms-swift loads it."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    words = ["<pad>", "<unk>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "(250, 250)", "(300, 301)", "(900, 900)"]
    core = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: code for code, word in enumerate(words)}, unk_token="<unk>")
    )
    core.decoder = tokenizers.decoders.Fuse()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", unk_token="<unk>", eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>", "<|endoftext|>"],
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    pytest.importorskip("torch").manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = transformers.Qwen2ForCausalLM(config)
    model.generation_config.suppress_tokens = [0, 1, 2, 3]  # ms-swift 4.6 fails on a response that is empty
    model.save_pretrained(folder)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_command_line_trains_on_the_reward_of_our_file(tmp_path: Path) -> None:
    write_policy(tmp_path / "policy")
    row = {"messages": [{"role": "user", "content": "click"}]}
    rows = [json.dumps({**row, "target": {**BOX, "id": f"sample-{number}"}}) for number in range(4)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), "utf-8")
    variables = {
        **os.environ, "GROUNDING_REWARDS_OPTIONS": json.dumps(OPTIONS), "USE_HF": "1", "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1", "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    ran = subprocess.run(
        ["bash", "-c", LAUNCH], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (out,) = (tmp_path / "out").iterdir()
    steps = {entry["step"][0]: entry for entry in lines(out / "completions.jsonl")}
    assert set(steps) == {"1", "2"}
    texts = [text for entry in steps.values() for text in entry["completion"]]
    totals = [total for entry in steps.values() for total in entry["gelato"]]
    wanted = gr.recipe("gelato", format_weight=0.1, trim=True).score(texts, [BOX] * 16).total
    assert totals == wanted.astype(np.float32).tolist()
    assert "(300, 301)<|endoftext|>" in texts
    assert 1 < len(set(totals)) < 16
    logged = [entry for entry in lines(out / "logging.jsonl") if "rewards/gelato/mean" in entry]
    assert [entry["reward"] for entry in logged] == pytest.approx(wanted.reshape(2, 8).mean(axis=1), abs=1e-5)
    recorded = read_rollouts(tmp_path / "rollouts").to_pylist()
    assert [row["total"] for row in recorded] == wanted.tolist()
    assert {row["sample_id"] for row in recorded} == {f"sample-{number}" for number in range(4)}
