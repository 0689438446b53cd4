"""Completions that TRL takes apart by a response template: what is put together again scores like what was said."""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards_adapters._trl_rows import response_text
from grounding_rewards_adapters.trl import reward_funcs
from tests.trainers.trl_tiny import MARKS, Spy, train

pytestmark = MARKS

BOX = [0.1, 0.1, 0.6, 0.6]
TEMPLATES = ["qwen2_5", "qwen3", "qwen3_vl"]
HEADER = "<|im_start|>assistant\n"
DIGITS = "123456789"


def characters(template: str) -> Any:
    """A tokenizer of single bytes with TRL's response template for this chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("jmespath")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        templates = pytest.importorskip("trl.chat_template_utils")
    before = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    core = tokenizers.Tokenizer(tokenizers.models.BPE({sign: code for code, sign in enumerate(alphabet)}, []))
    core.pre_tokenizer, core.decoder = before, tokenizers.decoders.ByteLevel()
    core.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    core.add_tokens(["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<|endoftext|>", eos_token="<|im_end|>", padding_side="left"
    )
    tokenizer.chat_template = getattr(templates, f"{template}_chat_template")
    return templates.add_response_schema(tokenizer)


def scripted(model: Any, tokenizer: Any, *turns: str) -> Any:
    """The model, made to say the turns one after another; it chooses each digit that they leave open by #."""
    digits = [tokenizer(digit)["input_ids"][0] for digit in DIGITS]
    scripts = [
        [digits if text == "#" else [code] for text in re.split("(#)", turn) for code in tokenizer(text)["input_ids"]]
        + [[tokenizer.eos_token_id]]
        for turn in turns
    ]
    header = tokenizer(HEADER)["input_ids"]

    def allowed(_: int, said: Any) -> list[int]:
        said = said.tolist()
        starts = [
            place + len(header) for place, code in enumerate(said)
            if code == header[0] and said[place : place + len(header)] == header
        ]  # fmt: skip
        script = scripts[min(len(starts), len(scripts)) - 1]
        done = len(said) - starts[-1]
        return script[done] if done < len(script) else [tokenizer.eos_token_id]

    model.generate = functools.partial(model.generate, prefix_allowed_tokens_fn=allowed)
    return model


def policy(*turns: str, template: str = "qwen3") -> tuple[Any, Any]:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = characters(template)
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=2048, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return scripted(transformers.Qwen2ForCausalLM(config), tokenizer, *turns), tokenizer


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_trl_takes_apart_scores_like_what_was_said(template: str) -> None:
    from trl.chat_template_utils import parse_response

    tokenizer = characters(template)
    prefix = tokenizer(f"<|im_start|>user\nclick<|im_end|>\n{HEADER}")["input_ids"]
    calls = 0
    for name in gr.list_recipes():
        recipe = gr.recipe(name, **shown_with(name))
        for each in [recipe.example, *(exploit.example for exploit in recipe.exploits)]:
            if each is None or "<blink>" in each.response:  # later templates lose what stands before thinking
                continue
            parsed = parse_response(tokenizer, tokenizer(f"{each.response}<|im_end|>")["input_ids"], prefix=prefix)
            calls += len(parsed.get("tool_calls") or [])
            sizes = {"image_sizes": [each.image_size], "model_image_sizes": [each.model_image_size]}
            given: dict[str, Any] = {key: value for key, value in sizes.items() if value != [None]}
            texts = each.response, response_text([parsed])
            said, rebuilt = (recipe.score([text], [each.target], groups=[0], **given) for text in texts)
            assert (said.total, said.acc, said.reason) == (rebuilt.total, rebuilt.acc, rebuilt.reason)
    assert calls > 2


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_call_with_parameters_scores_like_what_was_said(template: str) -> None:
    """TRL adds empty arguments to it."""
    from trl.chat_template_utils import parse_response

    tokenizer = characters(template)
    prefix = tokenizer(f"<|im_start|>user\nclick<|im_end|>\n{HEADER}")["input_ids"]
    said = CALL.replace("arguments", "parameters").replace("#", "5")
    parsed = parse_response(tokenizer, tokenizer(f"{said}<|im_end|>")["input_ids"], prefix=prefix)
    assert parsed["tool_calls"][0]["function"]["arguments"] == {}
    (reward,) = reward_funcs("click", response_space="pixel", format_weight=0.0)
    target = {"bbox": [540, 540, 560, 560]}
    assert reward(completions=[said, [parsed]], target=[target] * 2) == [1.0, 1.0]
    assert response_text([parsed]) == said


THOUGHT = "<think>\nIt is at the top.\n</think>\n\n"
CALL = (
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [#50, #50]}}\n'
    "</tool_call>"
)


def rows() -> list[dict[str, Any]]:
    return [{"prompt": [{"role": "user", "content": "click"}], "target": {"bbox": BOX, "space": "unit"}}] * 8


def test_calls_that_are_said_to_nobody_are_rewarded(tmp_path: Path) -> None:
    """A tokenizer with a response template gives empty content, also where the trainer has no tools."""
    spy, recipe = Spy(), gr.recipe("click", response_space="thousandths", format_weight=0.5)
    functions = [*reward_funcs(recipe), spy]
    settings = {"max_completion_length": 200, "max_steps": 1, "reward_weights": [1.0, 0.0]}
    rows_here = [{**row, "image_size": [1000, 1000]} for row in rows()]
    (entry,) = train(policy(THOUGHT + CALL), rows_here, functions, tmp_path, **settings)
    (call,) = spy.calls
    points = []
    for (message,) in call["completions"]:
        assert (message["content"], message["reasoning_content"].strip()) == ("", "It is at the top.")
        (made,) = message["tool_calls"]
        points.append(made["function"]["arguments"]["coordinate"])
    hits = [100 <= x <= 600 and 100 <= y <= 600 for x, y in points]
    assert entry["reward"] == pytest.approx(0.5 + 0.5 * sum(hits) / 8)
    assert entry["click/parsed"] == 1.0
    assert 0 < sum(hits) < 8


def computer_use(action: str, coordinate: list[int]) -> str:
    """Use the computer.

    Args:
        action: what to do.
        coordinate: where.
    """
    return f"{action} at {coordinate}"


def test_after_a_tool_the_last_message_counts(tmp_path: Path) -> None:
    spy = Spy()
    functions = [*reward_funcs("gelato", format_weight=0.5), spy]
    settings = {"max_completion_length": 400, "max_steps": 1, "reward_weights": [1.0, 0.0], "tools": [computer_use]}
    (entry,) = train(policy(CALL, "(#50, #50)"), rows(), functions, tmp_path, **settings)
    (call,) = spy.calls
    assert {tuple(message["role"] for message in said) for said in call["completions"]} == {
        ("assistant", "tool", "assistant")
    }
    last = [said[-1]["content"] for said in call["completions"]]
    total = gr.recipe("gelato", format_weight=0.5).score(last, [BOX] * 8).total
    assert entry["reward"] == pytest.approx(total.mean())
    assert entry["gelato/parsed"] == 1.0
    assert total.std() > 0
