"""One shard, as another scheduler makes it, and what a model saw that it was not sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.batch.columns import Columns
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import Answer, Reply, Request, shard
from grounding_rewards.engines.data import Data, open_data, plan_of, stretches
from grounding_rewards.engines.prompts import Prompt
from grounding_rewards.engines.rollout import roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.engines.shard import ShardMaker
from grounding_rewards.tables.image_files import ImageFiles
from tests.cli.command import write_rows
from tests.engines.seeded import Answering, Scripted
from tests.engines.test_rollout import CLICK, data, rows


def opened(source: Path) -> Data:
    return open_data(
        source, split=None, columns=Columns(), instruction=None, recipe=CLICK, box_format=None, files=ImageFiles(),
        note=lambda text: None, warn=lambda text: None,
    )  # fmt: skip


def test_a_shard_depends_on_its_rows_and_the_engine_alone(tmp_path):
    source, settings = data(tmp_path, *"abcdefg"), RolloutSettings(n=2, shard_rows=3)
    own = opened(source)
    plan = plan_of(own, settings, None, warn=lambda text: None)
    maker = ShardMaker(own, settings, "m", Prompt("plain"), CLICK)
    (stretch,) = stretches(own.table, plan, [1])
    made = maker.make(stretch, Answering(Scripted("m")))
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
    made = ShardMaker(own, settings, "m", Prompt("plain")).make(stretch, Resizer())
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
