"""Inspect's tasks judge as ``eval`` does, row by row.

Through Inspect itself and its mock model where it is installed (`make matrix`), else through what it was seen to do
with tasks, samples and scorers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import grounding_rewards as gr
from tests.cli.command import write_rows

REAL = os.environ.get("GROUNDING_REWARDS_REAL") == "inspect_ai"
NAME = "grounding_rewards_adapters.inspect_ai"
OPTIONS = {"response_space": "pixel"}


def decorator(*_: Any, **given: Any) -> Any:
    return lambda function: (TASKS.update({given["name"]: function} if "name" in given else {}), function)[1]


TASKS: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def adapter(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the adapter; without Inspect, over a package that has what the adapter takes from it."""
    if not REAL:
        pytest.importorskip("pydantic")
        some = dict.fromkeys(("Metric", "SampleScore", "Scorer", "Target", "TaskState"), object)
        some |= {"ChatMessage": dict, "MemoryDataset": lambda samples, name: samples}
        some |= dict.fromkeys(("Task", "Sample", "Score"), SimpleNamespace)
        some |= {name: lambda *_, name=name, **given: (name, given) for name in ("accuracy", "stderr", "grouped")}
        some |= dict.fromkeys(("task", "metric", "scorer"), decorator)
        for part in ("", ".dataset", ".model", ".scorer", ".solver"):
            module = ModuleType(f"inspect_ai{part}")
            vars(module).update(some)
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.delitem(sys.modules, NAME, raising=False)
    return import_module(NAME)


def answered(name: str, answers: list[str], **given: Any) -> list[tuple[Any, Any]]:
    """Return the samples of a task, each with its score."""
    if not REAL:
        task = TASKS[name](**given)
        states = [
            SimpleNamespace(output=SimpleNamespace(completion=answer), metadata=sample.metadata)
            for sample, answer in zip(task.dataset, answers, strict=True)
        ]
        targets = [SimpleNamespace(text=sample.target) for sample in task.dataset]
        return [
            (sample, asyncio.run(task.scorer(*each)))
            for sample, *each in zip(task.dataset, states, targets, strict=True)
        ]
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    outputs = [ModelOutput.from_content("mock", answer) for answer in answers]
    for each in outputs:
        each.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    model = get_model("mockllm/model", custom_outputs=outputs)
    folder = str(Path(given["files"]).parent / "logs")
    (log,) = eval(
        f"grounding_rewards/{name}", model=model, task_args=given, max_samples=1, display="none", log_dir=folder
    )
    assert log.status == "success", log.error
    metrics = {key: each.value for score in log.results.scores for key, each in score.metrics.items()}
    scores = [sample.scores["grounding"] for sample in log.samples]
    assert metrics["accuracy"] == sum(score.value for score in scores) / len(scores)
    assert metrics["stderr"] > 0
    return list(zip(log.samples, scores, strict=True))


def test_a_task_of_a_benchmark_judges_every_row_as_eval_does(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (1000, 800)).save(tmp_path / "a.png")
    image.new("RGB", (500, 400)).save(tmp_path / "b.png")
    places: list[tuple[str, list[float], str, str, float]] = [
        ("bbox", [40, 310, 88, 28], "a.png", "(80, 320)", 1.0),
        ("bbox", [40, 310, 88, 28], "a.png", "(80, 500)", 0.0),
        ("bbox", [40, 310, 88, 28], "b.png", "(128, 338)<|im_end|>", 1.0),
        ("bbox", [9000, 310, 88, 28], "b.png", "(9010, 320)", 0.0),  # beside its image: no answer hits it
        ("polygon", [0, 0, 10, 0, 10, 10], "a.png", "(9, 1)", 1.0),
        ("refusal", [0, 0, 0, 0], "a.png", "(-1, -1)", 1.0),
        ("refusal", [0, 0, 0, 0], "b.png", "(80, 320)", 0.0),
        ("bbox", [40, 310, 88, 28], "b.png", f"({'9' * 400}, 1)", 0.0),
    ]
    sizes = {"a.png": [1000, 800], "b.png": [500, 400]}
    rows = [
        {"id": f"s{n}", "instruction": f"press {n}", "box_type": kind, "box_coordinates": box, "image_path": name,
         "image_size": sizes[name]}
        for n, (kind, box, name, _, _) in enumerate(places)
    ]  # fmt: skip
    answers = [answer for *_, answer, _ in places]
    file = write_rows(tmp_path / "OSWorld-G.jsonl", *rows)
    found = answered("osworld-g", answers, files=str(file), **OPTIONS)

    write_rows(
        tmp_path / "answered.jsonl", *({**row, "response": text} for row, text in zip(rows, answers, strict=True))
    )
    wanted = gr.evaluate(tmp_path / "answered.jsonl", benchmark="osworld-g", by="id", **OPTIONS)
    for (sample, score), (*_, name, _, acc), row in zip(found, places, rows, strict=True):
        judged = wanted.by["id"][row["id"]]
        assert (score.value, score.metadata["acc"]) == (acc, acc)
        assert acc == judged.accuracy
        assert [score.metadata["reason"]] in ([*judged.reasons], ["BAD_TARGET"])
        assert sample.metadata["image"] == str(tmp_path / name)
    assert found[0][1].answer == "80, 320"
    assert "total 1 · acc 1 · OK" in found[0][1].explanation
    message = found[0][0].input[0]
    content = message["content"] if isinstance(message, dict) else [part.model_dump() for part in message.content]
    assert [part["type"] for part in content] == ["image", "text"]
    assert content[1]["text"] == "press 0"


def test_what_is_wrong_is_an_error_before_a_model_is_asked(adapter: Any, tmp_path: Path) -> None:
    row = {"instruction": "press", "box_type": "bbox", "box_coordinates": [1, 2, 3, 4], "image_path": "a.png"}
    file = write_rows(tmp_path / "OSWorld-G.jsonl", {**row, "id": "a"})
    lookup = import_module("inspect_ai._util.registry").registry_lookup if REAL else lambda _, name: TASKS[name[18:]]
    task = lookup("task", "grounding_rewards/osworld-g")
    with pytest.raises(gr.SpaceError, match=r"click needs response_space.*set as -T NAME"):
        task(files=str(file))
    (tmp_path / "sized.jinja").write_text("{{ instruction }} in {{ width }}")
    with pytest.raises(gr.RecipeError, match=r"prompt .* states the size .* set -T prompt"):
        task(files=str(file), prompt=str(tmp_path / "sized.jinja"), **OPTIONS)
    with pytest.raises(gr.TableError, match="image_size"):
        task(files=str(file), response_space="unit")


def test_the_scorer_is_for_tasks_of_ones_own(adapter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", json.dumps({"recipe": "gelato", "diagnose": False}))
    output, target = SimpleNamespace(completion="(300, 300)"), SimpleNamespace(text='{"bbox": [100, 100, 500, 300]}')
    state = SimpleNamespace(output=output, metadata={"image_size": [1000, 500]})
    score = asyncio.run(adapter.grounding(target_space="pixel")(state, target))
    assert (score.value, score.metadata["reason"]) == (1.0, "OK")
