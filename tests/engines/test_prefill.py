"""Beginnings and ends of responses that a family has: what engines are sent, and what is recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from grounding_rewards.coords.register import families, further_family
from grounding_rewards.engines.prompts import Prompt
from grounding_rewards.engines.rollout import MANIFEST, roll_out
from grounding_rewards.errors import EngineError
from tests.cli.command import Runner, write_rows
from tests.engines import tiny, tiny_text
from tests.engines.scripted import completion, scripted
from tests.engines.seeded import Scripted
from tests.engines.test_rollout import SMALL, data, rows
from tests.engines.test_transformers import GREEDY, click, say, started

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # transformers on numpy 2
CALL = '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": ['
REST = "140, 70]}}\n</tool_call>"


def test_a_family_has_its_own_beginning_and_ends_and_none_of_the_family_it_is_like():
    known = families()
    assert known["qwen2_5_vl"].prefill == known["se_gui"].prefill == CALL
    assert (known["aguvis"].stop, known["aria_ui"].stop) == (("<|diff_marker|>",), ("<|im_end|>",))
    assert (known["gta1"].prefill, known["showui"].stop) == ("", ())
    row = {"like": "se_gui", "names": "mine", "source": "us", "seen": "code", "prefill": "(", "stop": [")"]}
    mine = further_family("lab/mine", {**row, "example": ["(1, 2)", [9, 9], [1, 2]]}, known)
    assert (mine.prefill, mine.stop) == ("(", (")",))


@pytest.mark.parametrize("answer", [REST, CALL + REST], ids=["the rest", "all again"])
def test_a_family_sends_its_beginning_and_the_whole_is_recorded(capsys, tmp_path: Path, answer: str):
    run = Runner(capsys)
    Image.new("RGB", (280, 140)).save(tmp_path / "a.png")
    row = {"id": "a", "instruction": "go", "image": "a.png", "bbox": [130, 60, 150, 80]}
    source, out = write_rows(tmp_path / "data.jsonl", row), tmp_path / "out"
    with scripted(lambda body: completion(answer)) as server:
        words = ("rollout", source, "--engine", "openai", "--engine-option", f"base_url={server.url}", "--n", 1)
        asked = (*words, "--model", "tiny", "--recipe", "click", "--target-space", "pixel")
        assert run(*asked, "--family", "qwen2_5_vl", "--out", out).code == 0
        assert run(*asked, "--family", "qwen2_5_vl", "--prompt", "plain", "--out", tmp_path / "plain").code == 0
        assert run(*asked, "--family", "aguvis", "--out", tmp_path / "stopped").code == 0
        named = run(*words, "--model", "lab/Qwen2.5-VL-7B", "--family", "auto", "--out", tmp_path / "named")
    begun, plain, stopped, _, by_name = server.bodies
    assert "note: lab/Qwen2.5-VL-7B is of family qwen2_5_vl by its name" in named.err
    assert by_name["messages"][-1] == begun["messages"][-1]
    assert begun["messages"][-1] == {"role": "assistant", "content": CALL}
    assert (begun["continue_final_message"], begun["add_generation_prompt"], "stop" in begun) == (True, False, False)
    assert plain["messages"][-1]["role"] == stopped["messages"][-1]["role"] == "user"
    assert "continue_final_message" not in plain
    assert stopped["stop"] == ["<|diff_marker|>"]
    assert [(row["response"], row["acc"]) for row in rows(out)] == [(CALL + REST, 1.0)]
    assert json.loads((out / MANIFEST).read_text())["prompt"]["prefill"] == CALL
    assert "prefill" not in json.loads((tmp_path / "plain" / MANIFEST).read_text())["prompt"]


def test_an_engine_that_continues_nothing_is_an_error(tmp_path: Path):
    with pytest.raises(EngineError, match=r"the engine does not continue the beginning of a response, '\(';"):
        roll_out(data(tmp_path, "go"), Scripted("m"), tmp_path / "out", settings=SMALL, prompt=Prompt("p", prefill="("))


def test_transformers_continue_and_end(tmp_path: Path):
    tiny.register()
    (tmp_path / "seeing").mkdir()
    for folder, plain in ((tiny_text.saved(tmp_path), say("say")), (tiny.saved(tmp_path / "seeing"), click(1))):
        with started(folder) as running:
            begun = replace(plain, prefill="25")
            made, asked = (running._inputs([each])["input_ids"][0].tolist() for each in (begun, plain))
            assert (made[: len(asked)], running.tokenizer.decode(made[len(asked) :])) == (asked, "25")
            whole, other, again = (reply.answers[0] for reply in running([plain, begun, plain]))
            assert whole == again != other
            stop = whole.text[4:6]
            ended = running([replace(plain, sampling=replace(GREEDY, stop=("never", stop)))])[0].answers[0]
            assert (ended.text, ended.cut) == (whole.text.partition(stop)[0], False)
            assert 0 < ended.token_length < whole.token_length
