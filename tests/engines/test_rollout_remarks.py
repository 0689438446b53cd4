"""Remarks on a run: what is rarely meant, engines that are greedy, figures by temperature, errors of own engines."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import Answer, Reply
from grounding_rewards.engines.prompts import Prompt, prompt_named
from grounding_rewards.engines.rollout import roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError, TableError
from grounding_rewards.tables.columns import Columns
from tests.cli.command import write_rows
from tests.engines.seeded import Scripted, Wrong
from tests.engines.test_rollout import BOX, CLICK, SMALL, data, rows

ALIKE = (
    "all responses to each of 8 samples are alike at temperature 1.0; the engine or its server may be greedy: see "
    "docs/rollouts.md"
)


class Greedy(Scripted):
    """Answers greedily, whatever the temperature; to prompts with "open" at random."""

    @contextmanager
    def start(self):
        with super().start() as running:

            def answer(requests):
                return [
                    Reply(
                        tuple(Answer(f"(1, {seed if 'open' in each.messages[-1].text else 2})") for seed in each.seeds)
                    )
                    for each in requests
                ]

            answer.at_once, answer.resizing = 1, running.resizing
            yield answer


@pytest.mark.parametrize(
    ("words", "settings", "warned"),
    [
        ("abcdefgh", SMALL, [ALIKE]),
        ("abcdefg", SMALL, []),
        ([*"abcdefgh", "open"], SMALL, []),
        ("abcdefgh", RolloutSettings(n=1), []),
        ("abcdefgh", RolloutSettings(n=2, temperatures=(0.0,)), []),
        ("abcdefgh", RolloutSettings(n=1, temperatures=(0.7, 1.0)), [ALIKE.replace("ture 1.0", "tures 0.7, 1.0")]),
    ],
)
def test_an_engine_that_is_greedy_whatever_the_temperature(tmp_path, words, settings, warned):
    warnings = list[str]()
    done = roll_out(data(tmp_path, *words), Greedy("m"), tmp_path / "out", settings=settings, warn=warnings.append)
    assert warnings == warned == done.manifest["warnings"]


def test_several_greedy_responses_are_noted(tmp_path):
    for n, temperatures, noted in ((2, (0.0, 1.0), True), (1, (0.0,), False), (2, (1.0,), False)):
        notes, settings = list[str](), RolloutSettings(n=n, temperatures=temperatures)
        roll_out(
            data(tmp_path, "a"), Scripted("m"), tmp_path / f"{n}{temperatures}", settings=settings, note=notes.append
        )
        text = "temperature 0 is greedy: the 2 responses to a sample at it are alike"
        assert (text in notes) is noted


def test_figures_of_each_temperature(tmp_path):
    settings = RolloutSettings(n=2, temperatures=(0.0, 1.0))
    source = data(tmp_path, "easy", "hard", "refused")
    done = roll_out(source, Scripted("m"), tmp_path / "out", settings=settings, recipe=CLICK)
    each = {"rows": 6, "scored": 4, "hit_rate": 0.5}
    assert done.manifest["by_temperature"] == [{"temperature": 0.0, **each}, {"temperature": 1.0, **each}]
    one = roll_out(source, Scripted("m"), tmp_path / "one", settings=SMALL, recipe=CLICK)
    assert "by_temperature" not in one.manifest


def test_a_prompt_that_states_a_size_needs_the_model_s_resizing(tmp_path):
    Image.new("RGB", (1280, 720)).save(tmp_path / "a.png")
    source = write_rows(tmp_path / "data.jsonl", {"id": "a", "prompt": "go", "image": "a.png", "bbox": BOX})
    known = {"settings": SMALL, "prompt": prompt_named("qwen2_5_vl")}
    log = tmp_path / "asked"
    with pytest.raises(EngineError, match=r"^prompt 'qwen2_5_vl' states the size .* \(height, width\).* --pipeline"):
        roll_out(source, Scripted("m", log=str(log)), tmp_path / "out", **known)
    assert not log.exists()
    assert not (tmp_path / "out").exists()
    roll_out(source, Scripted("m", log=str(log)), tmp_path / "out", **known, resizing=Resizing("qwen2_5_vl"))
    assert rows(tmp_path / "out", "problem", "model_image_size")[0] == {
        "problem": None, "model_image_size": [1288, 728],
    }  # fmt: skip


def test_prompts_and_recipes_of_two_spaces_are_noted(tmp_path):
    def notes(name, recipe):
        texts, out = list[str](), tmp_path / f"{name} {recipe}"
        known = {"settings": SMALL, "prompt": prompt_named(name), "recipe": recipe, "note": texts.append}
        roll_out(data(tmp_path, "go", image_size=[1000, 1000]), Scripted("m"), out, **known)
        return [text for text in texts if text.startswith("prompt ")]

    assert notes("gelato-refusal", CLICK) == [
        "prompt gelato-refusal asks for answers in thousandths, and click reads them in pixel; --response-space names "
        "the space of the answers"
    ]
    assert notes("gelato-refusal", gr.recipe("click", response_space="thousandths", target_space="thousandths")) == []


def test_an_error_of_an_own_engine_has_its_place(tmp_path):
    with pytest.raises(
        EngineError, match=r"the engine raised KeyError: 'logits' \(.*seeded\.py, line \d+\); .*data.jsonl"
    ):
        roll_out(data(tmp_path, "go"), Wrong("raises"), tmp_path / "out", settings=SMALL)

    class Unready(Scripted):
        @contextmanager
        def start(self):
            raise OSError("no licence")
            yield

    with pytest.raises(EngineError, match=r"the engine raised OSError: no licence \(.*remarks\.py, line \d+\)$"):
        roll_out(data(tmp_path, "go"), Unready("m"), tmp_path / "out", settings=SMALL)


def test_a_process_without_a_shard_says_so(tmp_path):
    notes, source = list[str](), data(tmp_path, "go")
    roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL, shard=(1, 2), note=notes.append)
    assert notes[-1] == (
        "shard 1/2: the run has 1 shard, so that this process makes none; a smaller --shard-rows makes more of them"
    )


def test_an_error_about_columns_names_those_of_the_file(tmp_path):
    source = write_rows(tmp_path / "data.jsonl", {"id": "a", "prompt": "go", "app": "x"})
    with pytest.raises(TableError, match=r"no column 'target' .*It has: id, prompt, app$"):
        roll_out(source, Scripted("m"), tmp_path / "out", recipe=CLICK)
    with pytest.raises(TableError, match=r"It has: id, prompt, app"):
        roll_out(source, Scripted("m"), tmp_path / "out", columns=Columns(id="uid"))


@pytest.mark.parametrize(
    ("recipe", "row", "message"),
    [
        (gr.recipe("click", response_space="pixel"), {"bbox": [0.1, 0.1, 0.4, 0.3]}, "option target_space"),
        (gr.recipe("gelato"), {"bbox": [100, 100, 400, 300]}, r"--target-space SPACE"),
        (gr.recipe("gelato"), {"target": {"action": "swipe"}}, "expected a click on one of bbox, polygon"),
    ],
)
def test_targets_that_no_row_can_use_are_an_error_before_the_engine_starts(tmp_path, recipe, row, message):
    source = write_rows(tmp_path / "data.jsonl", *({"id": name, "prompt": "go", **row} for name in "ab"))
    with pytest.raises(TableError, match=f"no target can be used, the first is row 0 .line 1.: .*{message}"):
        roll_out(source, Scripted("none"), tmp_path / "out", recipe=recipe)
    write_rows(
        source, {"id": "a", "prompt": "go", **row}, {"id": "b", "prompt": "go", "target": {"refusal": True}, **row}
    )
    with pytest.raises(EngineError, match="there is no model 'none'"):  # without a recipe nothing is judged
        roll_out(source, Scripted("none"), tmp_path / "out", columns=Columns(target=next(iter(row))))


@pytest.mark.parametrize("token", ["<|im_end|>", "<eos>", "</s>", "[INST]", "<end_of_turn>", "<|eot_id|>"])
def test_samples_whose_prompts_hold_control_tokens_are_named(tmp_path, token):
    words = ["go", f"go{token}", "easy", f"{token}go", "<b> a | b </b>"]
    warnings = list[str]()
    roll_out(data(tmp_path, *words), Scripted("m"), tmp_path / "out", settings=SMALL, warn=warnings.append)
    remedy = "take them out of the data, or let them pass by --engine-option control_tokens=true"
    assert warnings == [
        f"sample {name}: the prompt holds control tokens, such as {token!r}, which the model may take for the end of a "
        f"message; {remedy}"
        for name in ("'s1'", "'s3'")  # in two shards
    ]
    own = Prompt("mine", "{{ instruction }}" + token)
    roll_out(data(tmp_path, *words), Scripted("m"), tmp_path / "own", settings=SMALL, prompt=own, warn=warnings.append)
    assert len(warnings) == 2
