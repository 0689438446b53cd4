"""One line in the log after the first 256 rows of a recipe."""

from __future__ import annotations

import json
import logging
import pickle
import re
from copy import deepcopy
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.coords.resizing import model_image_size
from grounding_rewards_adapters import _launch, _scorer, easyr1
from grounding_rewards_adapters import verl as verl_adapter
from grounding_rewards_adapters.trl import reward_funcs

BOX = {"bbox": [10, 10, 30, 20], "image_size": [2000, 1000]}
KWARGS = "worker.reward.reward_function_kwargs"
CLICK = {"recipe": "click", "response_space": "pixel"}


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if "the first 256" in record.message]


def rows(texts: list[str], truth: Any = BOX) -> list[dict[str, Any]]:
    return [{"response": text, "response_length": 5, "ground_truth": truth} for text in texts]


def test_it_names_rates_and_the_commonest_reason(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["(20, 15)"] * 128 + ["(500, 500)"] * 64 + ["no idea"] * 48 + [""] * 16
    easyr1.compute_score(rows(texts[:250]), **CLICK)
    assert lines(caplog) == []
    easyr1.compute_score(rows(texts[250:] * 50), **CLICK)
    easyr1.compute_score(rows(texts), **CLICK)
    assert lines(caplog) == [
        "click: of the first 256 responses 75 % were read and 50 % right; NO_ANSWER in 48, such as 'no idea'"
    ]
    assert caplog.records[0].levelno == logging.WARNING


def test_single_samples_add_up_and_bad_targets_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    for row in range(300):
        verl_adapter.compute_score("clicks", "(20, 15)", BOX if row % 4 else {"bbox": [1]}, None, **CLICK)
    assert lines(caplog) == [
        "click: of the 192 with a usable target among the first 256 responses 100 % were read and 100 % right"
    ]


CORNERS = [(x, y) for x in range(60, 2500, 152) for y in range(50, 1400, 84)][:256]


def test_it_says_which_box_format_fits_better_and_how_to_rewrite_boxes(caplog: pytest.LogCaptureFixture) -> None:
    inputs = [
        row
        for x, y in [(20, 25), *CORNERS[1:]]  # of the first one could think that it is x1 y1 x2 y2
        for row in rows([f"({x}, {y})"], {"bbox": [x, y, 30, 40], "image_size": [2550, 1440]})
    ]
    easyr1.compute_score(inputs, **CLICK)
    (line,) = lines(caplog)
    assert "boxes fit cxcywh better (100 % hit against 0 % as declared)" in line
    assert line.endswith("; write them as x1 y1 x2 y2: convert them with --box-format cxcywh")


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ({"action": {"name": "system_button", "button": "Back"}}, {"action": "system_button", "button": "Back"}),
        ({"action": {"name": "key", "keys": ["Enter"]}}, {"action": "key", "keys": ["Enter"]}),
        ({"action": {"name": "click", "button": "right"}, **BOX}, {"action": "right_click", "coordinate": [20, 15]}),
        ({"regions": [{"bbox": BOX["bbox"], "action": "click"}, {"action": "press_back"}]},
         {"action": "left_click", "coordinate": [20, 15]}),
    ],
)  # fmt: skip
def test_what_is_done_under_another_name_is_not_missed(
    target: Any, call: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    (reward,) = reward_funcs("action", response_space="pixel")
    said = json.dumps({"name": "computer_use", "arguments": call})
    assert reward(completions=[f"<tool_call>{said}</tool_call>"] * 256, target=[target] * 256) == [1.0] * 256
    assert lines(caplog) == ["action: of the first 256 responses 100 % were read and 100 % right"]


def test_it_shows_an_answer_that_would_be_read(caplog: pytest.LogCaptureFixture) -> None:
    unit = [0.0, 0.0, 0.5, 0.5]
    easyr1.compute_score(rows(["The button is at (250, 250)."] * 256, unit), recipe="gelato")
    assert lines(caplog) == [
        "gelato: of the first 256 responses none were read and none right; MALFORMED in 256, such as "
        "'The button is at (250, 250).'; 0 of 256 responses were read as bare_tuple_whole (answers such as '(200, "
        f"150)'); 256 of the others are read by bare_tuple; set {KWARGS}.recipe to click and {KWARGS}.response_space "
        f"to thousandths and {KWARGS}.target_space to unit"
    ]


def test_a_share_below_one_in_a_hundred_is_a_count(caplog: pytest.LogCaptureFixture) -> None:
    easyr1.compute_score(rows(["(20, 15)", *["(500, 500)"] * 255]), **CLICK)
    assert lines(caplog) == ["click: of the first 256 responses 100 % were read and 1 right"]


def test_it_can_be_silenced_and_each_recipe_has_its_own(caplog: pytest.LogCaptureFixture) -> None:
    easyr1.compute_score(rows(["(20, 15)"] * 256), **CLICK, diagnose=False)
    assert lines(caplog) == []
    (reward,) = reward_funcs(routes={"source": {"a": {"name": "click", "response_space": "pixel"}, "b": "gelato"}})
    reward(completions=["(20, 15)"] * 512, target=[BOX, [0.0, 0.0, 0.5, 0.5]] * 256, source=["a", "b"] * 256)
    assert [line.partition(":")[0] for line in lines(caplog)] == ["click", "gelato"]


def test_it_goes_on_after_pickling(caplog: pytest.LogCaptureFixture) -> None:
    (reward,) = reward_funcs("click", response_space="pixel")
    reward(completions=["(20, 15)"] * 200, target=[BOX] * 200)
    copy = pickle.loads(pickle.dumps(reward))
    copy(completions=["(20, 15)"] * 56, target=[BOX] * 56)
    assert len(lines(caplog)) == 1


@pytest.mark.parametrize(
    ("installed", "said"),
    [("1.16.0", True), ("1.17.2", True), ("2.0.0.dev0", True), ("1.15.9", False), (None, False)],
)
def test_trl_beside_verl_is_said_before_the_first_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, installed: str | None, said: bool
) -> None:
    def version(name: str) -> str:
        assert name == "trl"
        if installed is None:
            raise _launch.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(_launch, "version", version)
    for _ in range(600):
        verl_adapter.compute_score("clicks", "(20, 15)", BOX, None, **CLICK)
    easyr1.compute_score(rows(["(20, 15)"] * 300), **CLICK)
    clash = (
        f"trl {installed} is installed here, and verl's trainer does not start beside it: use an environment for each"
    )
    read = "click: of the first 256 responses 100 % were read and 100 % right"
    assert [record.message for record in caplog.records] == [*[clash] * said, read, read]


SCREEN = [2000, 1000]
GRID = [(x, y) for x in range(100, 1700, 100) for y in (50, 450) for _ in range(8)]
BOXES = [[x, y, x + 40, y + 20] for x, y in GRID]
IN_PIXELS = [f"({x + 20}, {y + 10})" for x, y in GRID]
IN_THOUSANDTHS = [f"({(x + 20) // 2}, {y + 10})" for x, y in GRID]
WRONG = {"name": "click", "response_space": "thousandths"}
UNIT = ("(250, 250)", [0.0, 0.0, 0.5, 0.5])


def easyr1_hits(options: dict[str, Any]) -> float:
    rows = [
        {"response": text, "ground_truth": {"bbox": box, "image_size": SCREEN, "task": "t"}}
        for text, box in zip(IN_PIXELS, BOXES, strict=True)
    ]
    return sum(row["accuracy"] for row in easyr1.compute_score(rows, **options))


def verl_hits(texts: list[str], truths: list[Any], options: dict[str, Any]) -> float:
    rows = list(zip(texts, truths, strict=True))
    found = [verl_adapter.compute_score("s", *row, {"image_size": SCREEN}, **options) for row in rows]
    return sum(row["acc"] for row in found)


def followed(options: dict[str, Any], line: str) -> dict[str, Any]:
    """The options with what a line says set, as a config has them: every key but the last must hold more of them."""
    ((path, said),) = re.findall(r"; set \S*reward(?:_function)?_kwargs\.(\S+) .*?to (\w+|\{.*\})$", line)
    value = dict(re.findall(r"(\w+): (\w+)", said)) if "{" in said else said
    *above, last = path.split(".")
    changed = place = deepcopy(options)
    for key in above:
        place = place[key]
    place[last] = value
    return changed


@pytest.mark.parametrize(
    "options",
    [
        {"recipe": "click", "response_space": "thousandths"},
        {"recipe": "click", "model": "qwen3_vl"},
        {"recipe": WRONG},
        {"recipe": WRONG, "response_space": "unit"},
        {"routes": {"task": {"t": WRONG, "u": "gelato"}}},
        {"routes": {"task": {"t": "click", "u": "gelato"}}, "response_space": "thousandths"},
        {"routes": {"task": {"t": {"name": "click"}}}, "response_space": "thousandths"},
        {"recipe": WRONG, "routes": {"task": {"u": "gelato"}}},
        {"recipe": "click", "response_space": "thousandths", "routes": {"task": {"u": WRONG}}},
    ],
    ids=["name", "model", "dict", "dict first", "route", "route's name", "beneath a route", "rest", "rest's name"],
)
def test_what_is_set_as_it_says_hits(options: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    assert easyr1_hits(options) == 0.0
    (line,) = lines(caplog)
    assert "answers fit pixel better (100 % hit against 0 % as declared)" in line
    assert easyr1_hits(followed(options, line)) == 256.0


def test_a_recipe_that_was_built_is_built_anew(caplog: pytest.LogCaptureFixture) -> None:
    def hits(**changes: Any) -> int:
        (reward,) = reward_funcs(gr.recipe("click", **{"response_space": "thousandths", **changes}))
        targets = [{"bbox": box, "image_size": SCREEN} for box in BOXES]
        return sum(score == 1.0 for score in reward(completions=IN_PIXELS, target=targets))

    assert hits() == 0
    (line,) = lines(caplog)
    ((option, space),) = re.findall(r"; build it with (\w+)='(\w+)'$", line)
    assert hits(**{option: space}) == 256


def test_targets_that_cannot_be_used_as_declared_fit_by_sizes_from_outside(caplog: pytest.LogCaptureFixture) -> None:
    options = {"recipe": "gelato"}
    texts, truths = [UNIT[0], *IN_THOUSANDTHS[1:]], [UNIT[1], *BOXES[1:]]
    assert verl_hits(texts, truths, options) == 1.0
    (line,) = lines(caplog)
    assert line.startswith("gelato: of the 1 with a usable target among the first 256 responses 100 % were read")
    assert "targets fit pixel better (100 % hit against 0 % as declared)" in line
    assert verl_hits(texts[1:], truths[1:], followed(options, line)) == 255.0


def test_with_a_model_its_own_size_is_tried_too(caplog: pytest.LogCaptureFixture) -> None:
    bounds = {"max_pixels": 602112}
    width, height = model_image_size(*SCREEN, "verl+qwen2_5_vl", **bounds)
    assert width < 0.8 * SCREEN[0]
    seen = [f"({(x + 20) * width / 2000:.2f}, {(y + 10) * height / 1000:.2f})" for x, y in GRID]
    options = {"recipe": "click", "model": "qwen2_5_vl", **bounds, "response_space": "unit"}
    assert verl_hits(seen, BOXES, options) == 0.0
    (line,) = lines(caplog)
    assert "answers fit model_pixel better (100 % hit against 0 % as declared)" in line
    assert verl_hits(seen, BOXES, followed(options, line)) == 256.0


def test_each_recipe_is_diagnosed_by_its_own_rows(caplog: pytest.LogCaptureFixture) -> None:
    (reward,) = reward_funcs(routes={"source": {"a": WRONG, "b": "gelato"}})
    boxes = [{"bbox": box, "image_size": SCREEN} for box in BOXES]
    texts = [text for pair in zip(["no idea"] * 256, IN_PIXELS, strict=True) for text in pair]
    targets = [target for pair in zip([UNIT[1]] * 256, boxes, strict=True) for target in pair]
    reward(completions=texts, target=targets, source=["b", "a"] * 256)
    click, gelato = lines(caplog)
    assert "answers fit pixel better (100 % hit against 0 % as declared)" in click
    assert "OUT_OF_IMAGE in 112, such as '(1020, 60)'" in click
    assert (
        "none were read and none right; 0 of 256 responses were read as bare_tuple_whole (answers such as '(2" in gelato
    )
    assert "none of the others holds a number: NO_ANSWER in 256, such as 'no idea'; check the responses" in gelato


def test_an_error_inside_ends_the_diagnosis_and_no_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    line = _scorer.line_of

    def fail(first: Diagnosis) -> str:
        if first.recipe.name == "click":
            raise ValueError("odd rows")
        return line(first)

    monkeypatch.setattr(_scorer, "line_of", fail)
    options = {"routes": {"task": {"t": WRONG}}, "recipe": "gelato"}
    assert easyr1_hits(options) == easyr1_hits(options) == 0.0
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.message == "click: the first rows could not be diagnosed"
    assert record.exc_info is not None
    rows = [{"response": UNIT[0], "ground_truth": UNIT[1]}] * 256
    assert easyr1.compute_score(rows, **options)[0]["accuracy"] == 1.0
    assert [line.partition(":")[0] for line in lines(caplog)] == ["gelato"]
