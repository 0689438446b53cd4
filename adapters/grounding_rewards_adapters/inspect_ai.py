"""Inspect: ``inspect eval grounding_rewards/screenspot-pro -T files=FOLDER -T response_space=pixel --model MODEL``.

Each benchmark is a task by its name, judged row by row as ``eval --benchmark`` judges it. The scorer
``grounding_rewards/grounding`` is for tasks of one's own: a sample's target is the truth as JSON. Unlike most others,
this file imports its trainer: it exists to register in it.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, accuracy, grouped, metric, scorer, stderr
from inspect_ai.solver import TaskState
from pydantic import TypeAdapter

import grounding_rewards as gr
from grounding_rewards.batch.benchmarks import BENCHMARKS, Benchmark, benchmark
from grounding_rewards.batch.benchmarks.evaluation import (
    CLICK,
    by_the_rule,
    evaluate_benchmark,
    open_benchmark,
    options_of,
)
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.converting.prompts import messages_with_images
from grounding_rewards.coords.image_sizes import image_format
from grounding_rewards.engines.prompts import PLAIN, Prompt, prompt_named
from grounding_rewards.tables.columns import NONE, Columns, find_columns
from grounding_rewards.tables.image_files import Image, ImageFiles, read_images
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.rows import Table, value_at
from grounding_rewards.targets.write import to_wire
from grounding_rewards_adapters import _scorer, _small

_TRAINER = replace(_small.trainer("Inspect", "the samples' targets"), option="-T {}", outside_first=True)
_MESSAGES = TypeAdapter(list[ChatMessage])


def _ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that Inspect registers as ``grounding_rewards/...``: it goes by the package of the module."""
    function.__module__ = gr.__name__
    return function


@metric(name="stderr")  # type: ignore[untyped-decorator]  # its types are not read
@_ours
def stderr_of_images() -> Metric:
    """Return the standard error of accuracy, clustered by the screenshot, where all samples' metadata name theirs."""

    def of(scores: list[SampleScore]) -> Any:
        named = all((each.sample_metadata or {}).get("image") is not None for each in scores)
        return stderr(cluster="image" if named else None)(scores)

    return of


@scorer(metrics=[accuracy(), stderr_of_images()])  # type: ignore[untyped-decorator]
@_ours
def grounding(recipe: Any = None, benchmark: str | None = None, **options: Any) -> Scorer:
    """Score the answer: its value is acc; total, valid, the reason and the parts are its metadata.

    Options that are not given here come from the variable GROUNDING_REWARDS_OPTIONS. ``image_size`` in a sample's
    metadata is the size of its image.
    """
    named, given = _given(recipe, benchmark, options)

    async def score(state: TaskState, target: Target) -> Score:
        return await asyncio.to_thread(_score, named, given, state.output.completion, target.text, state.metadata)

    return score


def _given(recipe: Any, name: str | None, options: dict[str, Any]) -> tuple[Benchmark | None, dict[str, Any]]:
    """Return the benchmark, and the options of its recipe."""
    named, shared = None if name is None else benchmark(name), {**_small.options(), **options}
    recipe = recipe or shared.pop("recipe", None) or (CLICK if named else None)
    return named, {"recipe": recipe, **options_of(named, recipe, shared)}


def _score(named: Benchmark | None, given: dict[str, Any], answer: str, target: str, metadata: dict[str, Any]) -> Score:
    scored = _scorer.samples(_TRAINER, given, [answer], [target], [metadata])
    (part,), (row,) = scored.slices, _scorer.rows(scored.columns)
    scores = part.scores if named is None else by_the_rule(named, part)
    sizes = (None if each is None else tuple(each[0].tolist()) for each in part.sizes)
    image_size, model_image_size = sizes
    why = gr.explain(part.recipe, answer, target, image_size=image_size, model_image_size=model_image_size)
    point = scores.predictions.xy[0]
    return Score(
        value=float(scores.acc[0]),
        answer=None if (point != point).any() else f"{point[0]:g}, {point[1]:g}",
        explanation=str(why),
        metadata={**row, "acc": float(scores.acc[0]), "reason": gr.Reason(int(scores.reason[0])).name},
    )


def _task(name: str) -> None:
    @task(name=name)  # type: ignore[untyped-decorator]
    @_ours
    def made(
        files: Any, recipe: Any = None, prompt: str = PLAIN, image_root: str = "", split: str | None = None,
        **options: Any,
    ) -> Task:  # fmt: skip
        """Return the task of a benchmark's files; ``options`` are those of the recipe and of all adapters."""
        named, given = _given(recipe, name, options)
        assert named is not None
        paths = [Path(each) for each in (files if isinstance(files, list | tuple) else [files])]
        table = open_benchmark(named, paths, split)
        built = _scorer.scorer(_TRAINER, given).recipes[0]
        samples = [*_samples(named, table, built, prompt_named(prompt), ImageFiles(root=image_root))]
        groups = [each for each in named.names if all(sample.metadata.get(each) is not None for sample in samples)]
        return Task(
            dataset=MemoryDataset(samples, name=name),
            scorer=grounding(recipe, name, **options),
            metrics=[
                accuracy(), stderr_of_images(),
                *(grouped(accuracy(), each, all="groups", all_label=f"mean of {each}") for each in groups),
            ],
        )  # fmt: skip


def _samples(named: Benchmark, table: Table, recipe: gr.Recipe, prompt: Prompt, files: ImageFiles) -> Iterator[Sample]:
    if sizes := sorted({"width", "height"} & prompt.fields):
        raise gr.RecipeError(
            f"prompt {prompt.name!r:.200} states the size of the image that the model sees ({', '.join(sizes)}), which "
            "nobody knows here; expected a prompt without it: set -T prompt"
        )
    own = Scoring(
        recipe, Columns(response=NONE), "abstain", image_files=files, layouts=named.layouts, answered=False
    ).of(table)
    evaluate_benchmark(named, replace(own, bad_target="raise"))  # for its errors, before a model is asked
    first = next(iter(table.batches(whole=False))).rows
    (instruction,) = find_columns(first, {"instruction": None}, needed=("instruction",)).columns.values()
    root = own.images.files.root if own.images else None
    for batch in table.batches(whole=False):
        targets, known = own.read_targets(own.targets(batch)).rows, own.needed_sizes(batch)
        for place, (row, target) in enumerate(zip(batch.rows, targets, strict=True)):
            images = [each.within(root) for each in read_images(value_at(row, own.columns.image))]
            size = None if known is None else known[place]
            width, height = size or (None, None)
            messages = prompt.messages(
                value_at(row, instruction), len(images), {"image_width": width, "image_height": height, "row": row}
            )
            shown = [{"type": "image", "image": _shown(each)} for each in images]
            labels = {name: named.label(row, group) for name, group in zip(named.names, named.groups, strict=True)}
            yield Sample(
                id=batch.number(place) + 1,
                input=_MESSAGES.validate_python(messages_with_images(messages, shown)),
                target=dumps(target if target is None else to_wire(target)).decode(),
                metadata={**labels, "image": _screenshot(images[-1]), "image_size": size and [*size]},
            )


def _screenshot(image: Image) -> str:
    """Return what tells a screenshot from others: its path, or a hash of its bytes."""
    return str(image.path) if image.data is None else blake2b(image.data, digest_size=12).hexdigest()


def _shown(image: Image) -> str:
    """Return the path of an image, which Inspect reads, or a data URL of its bytes."""
    if image.data is None:
        return str(image.path)
    return f"data:image/{(image_format(image.data) or 'png').lower()};base64,{b64encode(image.data).decode()}"


for _name_of_task in BENCHMARKS:
    _task(_name_of_task)
