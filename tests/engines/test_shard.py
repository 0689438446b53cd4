"""One shard, as another scheduler makes it, and what a model saw that it was not sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import Answer, Reply, Request, shard
from grounding_rewards.engines.data import Data, open_data, plan_of, stretches
from grounding_rewards.engines.prompts import Prompt
from grounding_rewards.engines.rollout import roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.engines.shard import ShardMaker, checked
from grounding_rewards.errors import EngineError
from tests.cli.command import write_rows
from tests.engines.seeded import Answering, Scripted
from tests.engines.test_rollout import CLICK, SMALL, contents, data, rows


def opened(source: Path) -> Data:
    return open_data(source, recipe=CLICK, note=lambda text: None, warn=lambda text: None)


def test_a_shard_depends_on_its_rows_and_the_engine_alone(tmp_path):
    source, settings = data(tmp_path, *"abcdefg"), RolloutSettings(n=2, shard_rows=3)
    own = opened(source)
    plan = plan_of(own, settings, None, warn=lambda text: None)
    maker = ShardMaker(own, settings, "m", Prompt("plain"), CLICK)
    (stretch,) = stretches(own.table, plan, [1])
    made = maker.answered(maker.prepared(stretch, None), Answering(Scripted("m")))
    roll_out(source, Scripted("m"), tmp_path / "out", settings=settings, recipe=CLICK)
    assert made.rows.to_pylist() == rows(tmp_path / "out")[6:12]
    assert made.remarks == {}
    assert plan.wanted.tolist() == np.full(7, 2).tolist()


@dataclass(frozen=True)
class Resizer:
    """Says that the model saw another size, with as many tokens as its own."""

    at_once: int = 1
    resizing: Resizing | None = field(default_factory=lambda: Resizing("qwen2_5_vl"))

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply((Answer("(1, 1)"),), prompt_tokens=9, image_size=(56, 28)) for _ in requests]


def test_a_model_that_saw_another_size_is_noticed_and_its_size_recorded(tmp_path):
    Image.new("RGB", (280, 140)).save(tmp_path / "a.png")
    source = write_rows(tmp_path / "data.jsonl", {"id": "a", "prompt": "go", "image": "a.png", "bbox": [1, 2, 3, 4]})
    own, settings = opened(source), RolloutSettings(n=1)
    plan = plan_of(own, settings, None, warn=lambda text: None)
    (stretch,) = stretches(own.table, plan, [0])
    maker = ShardMaker(own, settings, "m", Prompt("plain"))
    made = maker.answered(maker.prepared(stretch, Resizer().resizing), Resizer())
    (row,) = made.rows.to_pylist()
    assert (row["image_size"], row["model_image_size"], row["prompt_tokens"]) == ([280, 140], [56, 28], 9)
    assert made.remarks["size"] == (
        "sample 'a': the image was sent as 280 x 140 pixels, and the model saw 56 x 28, which is recorded; --pipeline "
        "and its bounds say how the model resizes"
    )
    assert made.remarks["tokens"].startswith("sample 'a': prompt of 9 tokens: expected 50 to ")


def test_a_size_that_nobody_knows_is_no_field_of_a_template(tmp_path):
    Image.new("RGB", (280, 140)).save(tmp_path / "a.png")
    source = write_rows(tmp_path / "data.jsonl", {"id": "a", "prompt": "go", "image": "a.png", "bbox": [1, 2, 3, 4]})
    own, settings = opened(source), RolloutSettings(n=1)
    (stretch,) = stretches(own.table, plan_of(own, settings, None, warn=lambda text: None), [0])
    text = "{{ instruction }}{% if width is defined %} {{ width }}{% endif %} {{ image_width }}"
    for resizing, shown in ((None, "<image>go 280"), (Resizing("qwen3_vl"), "<image>go 384 280")):
        (asked,) = ShardMaker(own, settings, "m", Prompt("mine", text)).prepared(stretch, resizing).asked
        assert [message.text for message in asked.messages] == [shown]


def test_what_no_response_can_be_scored_for_is_said_at_once(tmp_path):
    Image.new("RGB", (280, 140)).save(tmp_path / "a.png")
    row = {"id": "a", "prompt": "easy", "image": "a.png", "bbox": [1, 2, 3, 4], "width": 640, "height": 480}
    source, notes, warnings = write_rows(tmp_path / "data.jsonl", row), list[str](), list[str]()
    recipe = gr.recipe("click", response_space="model_pixel")
    settings = RolloutSettings(n=1)
    roll_out(
        source, Scripted("m"), tmp_path / "out", settings=settings, recipe=recipe, note=notes.append,
        warn=warnings.append,
    )  # fmt: skip
    assert notes[-1] == (
        "how the model resizes images is unknown, so that they are sent as they are; --pipeline says it"
    )
    stated, scores, finding = warnings
    assert stated == (
        "sample 'a': its row says an image of 640 x 480 pixels, and the image is 280 x 140; what the row says counts; "
        "--image-size-column names another column, or none"
    )
    assert scores.startswith(
        f"no response of a whole shard could be scored, the first for this: rollouts of {source}, sample 'a', rollout "
        "0: target of sample 'a', field 'model_image_size': got nothing"
    )
    assert finding.startswith("1 row has a target that cannot be used")


def test_responses_beyond_the_bytes_of_a_shard_are_problems(tmp_path, monkeypatch):
    monkeypatch.setattr(shard, "_TEXT", 50)
    done = roll_out(data(tmp_path, "a", "b"), Scripted("m"), tmp_path / "out", settings=RolloutSettings(n=2))
    problems = [row["problem"] for row in rows(tmp_path / "out", "problem")]
    assert problems == [None, None, *["the responses of the shard have more than 2 GiB"] * 2]
    assert done.manifest["answered"] == 2


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        (None, "None; expected a list of replies"),
        ([None], "the reply None; expected a grounding_rewards.engines.Reply"),
        ([Reply(None)], "a reply with answers None; expected a tuple of answers"),
        ([Reply(())], "0 answers in 1 replies; expected 1 in 1, one reply a request and one answer a seed"),
        ([Reply(("x",))], "the answer 'x'; expected a grounding_rewards.engines.Answer"),
        ([Reply((Answer(b"x"),))], "an answer with text b'x'; expected a text, or None"),
        ([Reply((Answer(None, problem=7),))], "an answer with problem 7; expected a text"),
        ([Reply((Answer("x", problem="y"),))], "an answer with text 'x' and problem 'y'; expected one"),
        ([Reply((Answer("x", -4),))], "an answer with token_length -4; expected a whole number from 0, or None"),
        ([Reply((Answer("x", 4.5),))], "an answer with token_length 4.5; expected a whole number from 0, or None"),
        ([Reply((Answer("x"),), 1.5)], "a reply with prompt_tokens 1.5; expected a whole number from 0, or None"),
        ([Reply((Answer("x"),), 1, (3,))], "a reply with image_size (3,); expected (width, height) in pixels, or None"),
        ([Reply((Answer("x"),), 1, (3, 0))], "a reply with image_size (3, 0); expected (width, height) in pixels"),
        ([Reply((Answer("x"),), 1, "ab")], "a reply with image_size 'ab'; expected (width, height) in pixels, or None"),
    ],
)
def test_what_is_no_reply_is_named(replies: Any, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        checked(replies, [1], "a.jsonl, row 0")
    assert str(caught.value).startswith(f"the engine gave {message}")
    assert str(caught.value).endswith("; a.jsonl, row 0 and after")


def test_replies_that_fit_stay_as_they_are() -> None:
    replies = [Reply((Answer("", 0), Answer(None, problem="no")), 0, (3, 4)), Reply((Answer("x", 5, True),))]
    assert checked(replies, [2, 1], "") == replies
    assert checked([Reply((Answer(None),))], [1], "") == [
        Reply((Answer(None, problem="the engine gave no text and no reason"),))
    ]


@dataclass(frozen=True)
class Gives:
    """Answers every seed with one thing."""

    model: str
    answer: Any

    @contextmanager
    def start(self) -> Iterator[Any]:
        def run(requests: Sequence[Request]) -> list[Reply]:
            return [Reply((self.answer,) * len(request.seeds)) for request in requests]

        run.at_once, run.resizing = 1, None  # type: ignore[attr-defined]
        yield run


def test_a_run_ends_at_what_is_no_reply_and_silence_has_a_reason(tmp_path: Path) -> None:
    source = data(tmp_path, "go")
    with pytest.raises(EngineError, match=r"an answer with text 5; expected a text, or None; .*data\.jsonl, row 0"):
        roll_out(source, Gives("m", Answer(5)), tmp_path / "out", settings=SMALL)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
    done = roll_out(source, Gives("m", Answer(None)), tmp_path / "out", settings=SMALL)
    assert {row["problem"] for row in rows(tmp_path / "out")} == {"the engine gave no text and no reason"}
    assert done.manifest["problems"][0]["rows"] == 2


def test_prompts_none_of_which_can_be_made_end_a_run_before_anything_is_asked(tmp_path: Path) -> None:
    log = tmp_path / "asked"
    engine, out = Scripted("m", log=str(log)), tmp_path / "out"
    wrong = Prompt("mine", "{{ row.instruktion }}")
    with pytest.raises(EngineError, match=r"no prompt of the first 3 samples can be made, that of .*instruktion"):
        roll_out(data(tmp_path, *"abcd"), engine, out, settings=SMALL, prompt=wrong)
    gone = [{"id": name, "prompt": "go", "image": f"{name}.png"} for name in "abcd"]
    with pytest.raises(EngineError, match=r"no prompt of the first 3 samples can be made, .*cannot read 'a\.png'"):
        roll_out(write_rows(tmp_path / "gone.jsonl", *gone), engine, out, settings=SMALL)
    assert not log.exists()
    assert not out.exists()


def test_a_later_shard_without_prompts_has_its_problems(tmp_path: Path) -> None:
    source = data(tmp_path, "go", "easy", "hard", "", "")
    roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL)
    problems = [row["problem"] for row in rows(tmp_path / "out")]
    assert problems[:6] == [None] * 6
    assert all(text.startswith("instruction: got ''") for text in problems[6:])


@dataclass(frozen=True)
class OneFails(Scripted):
    """Answers two batches at once, and fails in one of them."""

    @contextmanager
    def start(self) -> Iterator[Any]:
        both, own = Barrier(2), Scripted("m")
        with own.start() as running:

            def run(requests: Sequence[Request]) -> list[Reply]:
                both.wait(20)
                if any("easy" in request.messages[-1].text for request in requests):
                    raise EngineError("the server is down")
                return running(requests)

            run.at_once, run.resizing = 2, None  # type: ignore[attr-defined]
            yield run


def test_of_shards_that_end_at_once_those_that_are_made_are_kept(tmp_path: Path, monkeypatch: Any) -> None:
    from grounding_rewards.engines import rollout

    source, settings = data(tmp_path, "easy", "hard"), RolloutSettings(n=2, shard_rows=1)
    wait = rollout.wait
    monkeypatch.setattr(rollout, "wait", lambda flying, return_when: wait(flying))
    with pytest.raises(EngineError, match="the server is down; 1 of 2 shards are there"):
        roll_out(source, OneFails("m"), tmp_path / "out", settings=settings)
    kept = contents(tmp_path / ".out.unfinished")
    assert [name for name in kept if name.endswith(".parquet")] == ["rollouts-000001.parquet"]
