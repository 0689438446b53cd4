"""One line in the log after the first 256 rows of a recipe."""

from __future__ import annotations

import json
import logging
import pickle
from typing import Any

import pytest

from grounding_rewards_adapters import _launch, easyr1
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


def test_it_says_which_space_fits_better_and_what_to_set(caplog: pytest.LogCaptureFixture) -> None:
    boxes = [(x, y) for x in range(100, 1700, 100) for y in (50, 450)]
    inputs = [
        row
        for x, y in boxes
        for row in rows([f"({x + 5}, {y + 5})"] * 8, {"bbox": [x, y, x + 10, y + 10], "image_size": [2000, 1000]})
    ]
    easyr1.compute_score(inputs, recipe="click", response_space="thousandths")
    (line,) = lines(caplog)
    assert line.startswith("click: of the first 256 responses 100 % were read and none right")
    assert "answers fit pixel better (100 % hit against 0 % as declared)" in line
    assert line.endswith("; set worker.reward.reward_function_kwargs.response_space to pixel")


CORNERS = [(x, y) for x in range(60, 2500, 152) for y in range(50, 1400, 84)][:256]


def test_it_says_which_model_fits_better_and_all_that_is_to_set(caplog: pytest.LogCaptureFixture) -> None:
    # Images of 2550 x 1440, of which the model saw 2548 x 1428.
    inputs = [
        row
        for x, y in CORNERS
        for row in rows(
            [f"({(x + 10) * 2548 / 2550:.0f}, {(y + 10) * 1428 / 1440:.0f})"],
            {"bbox": [x, y, x + 20, y + 20], "image_size": [2550, 1440]},
        )
    ]
    easyr1.compute_score(inputs, **CLICK)
    (line,) = lines(caplog)
    assert "answers fit images resized as by qwen2_5_vl better (100 % hit against 8" in line
    assert line.endswith(
        "; set worker.reward.reward_function_kwargs.model to qwen2_5_vl and "
        "worker.reward.reward_function_kwargs.response_space to model_pixel"
    )


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


@pytest.mark.filterwarnings("error")
def test_it_names_targets_that_look_wrong(caplog: pytest.LogCaptureFixture) -> None:
    far = {"bbox": [-900, 100, 300, 200], "image_size": [1000, 800]}
    inputs = rows(["click(20, 15)"] * 128, {**BOX, "action": "clik", "id": "a7"}) + rows(["click(1, 2)"] * 128, far)
    easyr1.compute_score(inputs * 2, recipe="action", response_space="pixel", action_names=["zoom"])
    (line,) = lines(caplog)
    assert (
        "128 targets (first: sample 'a7'): action 'clik' is no known name, nor one of recipe 'action'; did you mean"
        in line
    )
    assert (
        "128 targets (first: row 128): the centre of bbox [-900.0, 100.0, 300.0, 200.0] lies outside its image" in line
    )


def test_it_names_boxes_that_are_no_corners(caplog: pytest.LogCaptureFixture) -> None:
    corner = {"bbox": [860, 540, 30, 20], "id": "a7"}
    inputs = rows(["(20, 15)"] * 200, BOX) + rows(["(870, 550)"] * 56, corner)
    easyr1.compute_score(inputs, recipe="click", response_space="pixel")
    (line,) = lines(caplog)
    assert (
        "56 targets (first: sample 'a7'): bbox [860, 540, 30, 20] has no area as x1 y1 x2 y2; if boxes are x y w h: "
        "--box-format xywh where files are read or converted" in line
    )


def test_it_names_actions_that_are_asked_for_and_never_done(caplog: pytest.LogCaptureFixture) -> None:
    (reward,) = reward_funcs("action", response_space="pixel")
    said = {"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [20, 15]}}
    click = f"<tool_call>{json.dumps(said)}</tool_call>"
    tapped = {"bbox": [10, 10, 30, 20], "action": "tap"}
    typed = {"action": {"name": "input_text", "text": "hello"}}
    reward(completions=[click] * 256, target=[tapped, typed] * 128)
    (line,) = lines(caplog)
    assert "asked for and never done: 'type' (128)" in line
    assert "click'" not in line


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


def test_it_doubts_the_bounds_where_answers_in_resized_pixels_miss(caplog: pytest.LogCaptureFixture) -> None:
    truth = {"bbox": [100, 100, 110, 110], "image_size": [3840, 2160]}
    easyr1.compute_score(rows(["(900, 600)"] * 256, truth), recipe="click", model="qwen2_5_vl")
    assert lines(caplog) == [
        "click: of the first 256 responses 100 % were read and none right; answers are in pixels of the resized image, "
        "and most of them miss; compare the bounds that are set here with the launch's own: "
        "max_pixels and min_pixels"
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
