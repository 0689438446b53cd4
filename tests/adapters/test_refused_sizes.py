"""``model``, where an image's size is refused, missing, or bounded by half of what a processor wants."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards_adapters import easyr1
from grounding_rewards_adapters import verl as verl_adapter
from grounding_rewards_adapters._scorer import REPORTED
from grounding_rewards_adapters.trl import reward_funcs

BOX = {"bbox": [1, 1, 5, 5]}
QWEN = {"recipe": "click", "model": "qwen2_5_vl"}
BOTH = {"min_pixels": 3136, "max_pixels": 1003520}
GOOD = ("(3, 3)", {**BOX, "image_size": [280, 280]})


def valid(*pairs: tuple[str, Any], **options: Any) -> list[float]:
    rows = [{"response": text, "response_length": 5, "ground_truth": truth} for text, truth in pairs]
    return [row["valid"] for row in easyr1.compute_score(rows, **(options or QWEN))]


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno == logging.ERROR]


def thin(width: int, **named: Any) -> tuple[str, Any]:
    return "(3, 3)", {**BOX, "image_size": [width, 10], **named}


def test_a_flood_of_refused_sizes_stops_being_logged(caplog: pytest.LogCaptureFixture) -> None:
    found = valid(GOOD, *[thin(width) for width in range(30000, 33000)])
    assert found == [1.0, *[0.0] * 3000]
    assert valid(GOOD, *[thin(width) for width in range(33000, 33100)]) == [1.0, *[0.0] * 100]
    lines = errors(caplog)
    assert len(lines) == REPORTED + 1
    assert lines[-1] == f"{REPORTED} targets cannot be used; further ones are not logged"
    assert all("refuses an image of" in line for line in lines[:-1])
    assert lines[0].startswith("target of row 1, field 'image_size': got [30000.0, 10.0]; expected what can be resized")


def test_why_a_size_is_refused_is_said_in_the_targets_own_line(caplog: pytest.LogCaptureFixture) -> None:
    assert valid(GOOD, thin(30000, id="a7"), GOOD, thin(31000, id="b2"), thin(30000, id="a7")) == [1, 0, 1, 0, 0]
    first, second = errors(caplog)
    assert first.startswith("target of sample 'a7', field 'image_size': got [30000.0, 10.0]; expected what can be resi")
    assert "refuses an image of 30000 x 10" in first
    assert first.endswith("; the sample gets 0.0, and 0.0 for valid")
    assert second.startswith("target of sample 'b2', field 'image_size': got [31000.0, 10.0]")


@pytest.mark.parametrize("bad_target", ["abstain", "raise"])
def test_a_refused_size_does_no_harm_where_none_is_needed(bad_target: str) -> None:
    options = {**QWEN, "response_space": "pixel", "bad_target": bad_target}
    assert valid(GOOD, thin(30000), **options) == [1.0, 1.0]


def test_another_fault_of_a_refused_row_is_said_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    bad = thin(30000, id="a7", bbox=[1, 1, 5, 9000])
    assert valid(GOOD, bad, **QWEN, response_space="pixel") == [1.0, 0.0]
    (line,) = errors(caplog)
    assert line.startswith("target of sample 'a7', field 'bbox': got [1.0, 1.0, 5.0, 9000.0]; expected coordinates in")
    with pytest.raises(gr.TargetError, match="target of sample 'a7', field 'bbox': got"):
        valid(GOOD, bad, **QWEN, response_space="pixel", bad_target="raise")


def test_a_refused_size_names_its_row_in_the_whole_batch() -> None:
    routes = {"task": {"a": "gelato", "b": {"name": "click"}}}
    unit = ("(3, 3)", {"bbox": [0.0, 0.0, 0.5, 0.5], "task": "a", "image_size": [280, 280]})
    with pytest.raises(gr.TargetError, match=r"target of row 2, field 'image_size': got \[30000\.0, 10\.0\]"):
        valid(unit, unit, thin(30000, task="b"), routes=routes, model="qwen2_5_vl", bad_target="raise")
    with pytest.raises(gr.TargetError, match=r"target of sample 'a7', field 'image_size': got \[31000\.0, 10\.0\]"):
        valid(GOOD, thin(31000, id="a7"), thin(30000, id="b2"), **QWEN, bad_target="raise")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({**QWEN, "target_space": "pixel"}, "image_size"),
        ({"recipe": "gelato", "model": "qwen2_5_vl"}, "model_image_size"),
        ({"routes": {"task": {"t": "gelato"}}, "model": "qwen2_5_vl"}, "model_image_size"),
    ],
)
def test_with_a_model_a_missing_size_is_the_images(options: dict[str, Any], field: str) -> None:
    """``model`` is set already: it is not to be set again."""
    box = [1, 1, 5, 5] if "target_space" in options else [0.0, 0.0, 0.5, 0.5]
    with pytest.raises(gr.RecipeError, match=f"target of row 0, field '{field}': got nothing") as caught:
        valid(("(3, 3)", {"bbox": box, "task": "t"}), **options)
    assert str(caught.value).endswith("; give image_size: in the target")
    assert "reward_function_kwargs.model" not in str(caught.value)


@pytest.mark.parametrize("bound", ["processor_min_pixels", "processor_max_pixels"])
def test_verl_passes_over_one_of_the_processors_bounds(bound: str) -> None:
    def call(**options: Any) -> dict[str, float]:
        return verl_adapter.compute_score("s", *GOOD, None, **{**QWEN, **options})

    with pytest.raises(gr.SpaceError, match=r"expected both or none, because verl.* of them alone: set both there"):
        call(**{bound: 200704})
    assert call(processor_min_pixels=3136, processor_max_pixels=200704)["valid"] == 1.0
    assert call(min_pixels=3136)["valid"] == call(max_pixels=1003520)["valid"] == 1.0
    assert valid(GOOD, **QWEN, **{bound: 200704}) == [1.0]
    assert reward_funcs(**QWEN, max_pixels=1003520)
