"""Tasks of the rows that ``grounding-rewards convert --for verifiers`` writes; the options name the recipe.

grounding-rewards convert clicks.parquet --out train.jsonl --for verifiers --target-space pixel
export GROUNDING_REWARDS_OPTIONS='{"recipe": "gelato", "format_weight": 0.1, "record": "out/record"}'
grounding-rewards check verifiers --dataset train.jsonl
pip install . && vf-eval @ eval.toml
"""

import base64
import json
import mimetypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from grounding_rewards_adapters import verifiers as grounding

__all__ = ["Clicks"]


class ClickData(vf.TaskData):
    """One screenshot, its instruction, and the truth."""

    target: str


class ClickTask(vf.Task[ClickData]):
    """A task whose reward is a recipe, and whose metrics are acc, valid and the parts."""

    @vf.reward
    async def recipe(self, trace: vf.Trace) -> float:
        return await grounding.reward(self.data, trace)

    @vf.metric
    async def parts(self, trace: vf.Trace) -> dict[str, float]:
        return await grounding.metrics(self.data, trace)


class ClickConfig(vf.TasksetConfig):
    """The place of the rows."""

    file: Path = Path("train.jsonl")


class Clicks(vf.Taskset[ClickTask, ClickConfig]):
    """Tasks in the order of the file."""

    def load(self) -> Iterator[ClickTask]:
        with self.config.file.open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                yield ClickTask(ClickData(prompt=asked(row), target=row["target"]), self.config.task)


def asked(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row's prompt with its images where they belong."""
    images, messages = iter(row.get("images") or ()), []
    for message in row["prompt"]:
        first, *rest = message["content"].split("<image>")
        parts = [{"type": "text", "text": first}]
        for text in rest:
            url = {"url": _data_url(Path(next(images)))}
            parts += [{"type": "image_url", "image_url": url}, {"type": "text", "text": text}]
        messages.append({**message, "content": [each for each in parts if each.get("text", True)]})
    return messages


def _data_url(path: Path) -> str:
    return f"data:{mimetypes.guess_type(path)[0]};base64,{base64.b64encode(path.read_bytes()).decode()}"
