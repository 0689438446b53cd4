"""The diagnosis of scored rows: what it says of wrong settings, and its silence about right ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, score_rows
from grounding_rewards.checks import diagnosis
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import PYTHON, Code, Finding, Naming, Severity, command_line
from grounding_rewards.checks.other_readings import SIZE, RowSample
from grounding_rewards.rollouts import Reason
from grounding_rewards.testing.hostile import hostile_shapes, short_responses

FLAGS = command_line("answer")
CLICK = gr.recipe("click", response_space="pixel")
BOX = {"bbox": [10, 10, 30, 20], "image_size": [1000, 800]}
RNG = np.random.default_rng(0)
CORNERS = np.column_stack([RNG.integers(0, 1800, 60), RNG.integers(0, 1000, 60)]).tolist()
BOXES = [{"bbox": [x, y, x + 60, y + 40], "image_size": [1920, 1080]} for x, y in CORNERS]
POINTS = [(x + 30, y + 20) for x, y in CORNERS]
IN_PIXELS = [f"({x}, {y})" for x, y in POINTS]
CALLS = [
    f'<tool_call>{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": [{x}, {y}]}}}}'
    "</tool_call>"
    for x, y in POINTS
]


def diagnosed(
    recipe: gr.Recipe, responses: Sequence[str | None], targets: Sequence[Any], naming: Naming = FLAGS, size: int = 1000
) -> list[Finding]:
    """Score rows in batches of a size, and return the findings."""
    scored = Diagnosis(recipe, naming)
    for start in range(0, len(responses), size):
        rows = slice(start, start + size)
        scored.add(score_rows(recipe, Inputs(responses[rows], targets[rows]), "abstain"))
    return scored.findings()


def texts(*arguments: Any, **further: Any) -> list[str]:
    return list(map(str, diagnosed(*arguments, **further)))


def test_right_settings_are_silent() -> None:
    assert diagnosed(CLICK, IN_PIXELS, BOXES) == []
    assert diagnosed(CLICK, CALLS, BOXES) == []
    assert diagnosed(CLICK, [], []) == []
    weak = [text if row % 4 == 0 else "(1, 1)" for row, text in enumerate(IN_PIXELS)]
    assert diagnosed(CLICK, weak, BOXES) == []
    some_unread = [text if row % 3 else "no idea" for row, text in enumerate(IN_PIXELS)]
    assert diagnosed(CLICK, some_unread, BOXES) == []


def test_another_dialect_of_the_same_recipe_reads_what_was_not_read() -> None:
    recipe = gr.recipe("click", response_space="pixel", dialect="bare_tuple_whole")
    (finding,) = diagnosed(recipe, CALLS, BOXES)
    assert finding == Finding(
        Code.UNREAD, Severity.WARNING, 60, (0, 1, 2, 3, 4),
        "0 of 60 responses were read as bare_tuple_whole; 60 of the others are read by tool_call",
        "use --option dialect=auto",
    )  # fmt: skip


def test_another_recipe_reads_what_was_not_read_with_the_spaces_of_this_one() -> None:
    answers = [f"click(x={x / 1.92:.0f}, y={y / 1.08:.0f})" for x, y in POINTS]
    targets = [{**target, "space": "pixel"} for target in BOXES]
    line = (
        "0 of 60 responses were read as bare_tuple_whole (answers such as '(200, 150)'); 60 of the others are read by "
        "keyword_call; "
    )
    recipe = gr.recipe("gelato", format_weight=0.1)
    assert texts(recipe, answers, targets) == [f"{line}use --recipe click --response-space thousandths"]
    assert texts(recipe, answers, targets, PYTHON) == [f"{line}build recipe('click', response_space='thousandths')"]
    shares = [{"bbox": [x / 1920, y / 1080, (x + 40) / 1920, (y + 30) / 1080]} for x, y in POINTS]
    (text,) = texts(recipe, answers, [{**each, "image_size": [1920, 1080]} for each in shares])
    assert text.endswith("; use --recipe click --response-space thousandths --target-space unit")


def test_of_several_answers_the_one_that_is_right_counts() -> None:
    for policy, text in (("first", "{} then (1, 1)"), ("last", "(1, 1) then {}")):
        (line,) = texts(CLICK, [text.format(each) for each in IN_PIXELS], BOXES)
        assert line == (
            "0 of 60 responses were read as auto (answers such as '(200, 150)'); 60 of the others are read where the "
            f"{policy} of several answers counts; use --option answers={policy}"
        )


def test_it_names_the_tokens_that_are_why_nothing_was_read() -> None:
    shares = [{"bbox": [x / 1920, y / 1080, (x + 40) / 1920, (y + 30) / 1080]} for x, y in POINTS]
    answers = [f"({(x + 20) / 1.92:.0f}, {(y + 15) / 1.08:.0f})<|im_end|>\n" for x, y in POINTS]
    (line,) = texts(gr.recipe("gelato", trim=False), answers, shares)
    assert line == (
        "0 of 60 responses were read as bare_tuple_whole (answers such as '(200, 150)'); 60 of the others are read "
        "without <|im_end|> at their end; use --option trim=true"
    )
    assert texts(gr.recipe("gelato"), answers, shares) == []


def test_box_formats_are_not_doubted_where_sizes_are_unknown() -> None:
    unsized = [{"bbox": target["bbox"]} for target in BOXES]
    answers = [f"({x / 1.92:.0f}, {y / 1.08:.0f})" for x, y in POINTS]
    assert "box-format" not in [each.code for each in diagnosed(CLICK, answers, unsized)]


IN_PIXELS_ALONE = [{**target, "space": "pixel"} for target in BOXES]
LISTS, Y_FIRST = [f"[{x}, {y}]" for x, y in POINTS], [f"[{y - 20}, {x - 30}, {y + 20}, {x + 30}]" for x, y in POINTS]
WRONG = {"response_space": "thousandths"}


@pytest.mark.parametrize(
    ("recipe", "answers", "targets", "end"),
    [
        (gr.recipe("gui-g2", alpha=0.4), CALLS, IN_PIXELS_ALONE,
         "read by tool_call; use --recipe click --response-space pixel, without the option alpha"),
        (gr.recipe("click", dialect="bare_tuple_whole", **WRONG), CALLS, BOXES,
         "; use --option dialect=auto --response-space pixel"),
        (gr.recipe("click", dialect="bare_tuple", **WRONG), LISTS, BOXES,
         "; use --option dialect=auto --response-space pixel"),
        (gr.recipe("click", response_space="pixel", dialect="bare_tuple"),
         [f'[{{"place": {answer}}}]' for answer in Y_FIRST], BOXES, "; use --option dialect=box_list --option axes=yx"),
    ],
)  # fmt: skip
def test_a_form_is_proposed_with_the_space_and_the_order_that_then_fit(
    recipe: gr.Recipe, answers: list[str], targets: list[Any], end: str
) -> None:
    (line,) = texts(recipe, answers, targets)
    assert line.endswith(end)


def test_of_long_responses_fewer_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_TEXT", sum(map(len, CALLS)) // 10)
    recipe = gr.recipe("click", response_space="pixel", dialect="bare_tuple_whole")
    assert "; 6 of 6 others that were tried are read by tool_call" in texts(recipe, CALLS, BOXES)[0]


def test_one_response_in_twenty_is_enough_where_another_dialect_reads_it() -> None:
    recipe = gr.recipe("click", response_space="pixel", dialect="bare_tuple_whole")
    assert diagnosed(recipe, [*CALLS[:3], *IN_PIXELS[3:], *IN_PIXELS], BOXES * 2) == []
    for wrong, count in ((2, 0), (3, 1)):
        mixed = [*CALLS[:wrong], *IN_PIXELS[wrong:]]
        assert len(diagnosed(recipe, mixed, BOXES)) == count
    assert texts(recipe, mixed, BOXES)[0].startswith(
        "57 of 60 responses were read as bare_tuple_whole; 3 of the others"
    )


def test_texts_that_are_no_answers_are_shown_with_an_example_of_an_answer() -> None:
    (finding,) = diagnosed(gr.recipe("gelato"), ["Open the menu"] * 6, [[0.0, 0.0, 0.5, 0.5]] * 6)
    assert (finding.code, finding.count, finding.message, finding.fix) == (
        "unread", 6,
        "0 of 6 responses were read as bare_tuple_whole (answers such as '(200, 150)'), and none of the others holds a "
        "number: NO_ANSWER in 6, such as 'Open the menu'",
        "check column 'answer' (--response-column)",
    )  # fmt: skip
    (line,) = texts(CLICK, ["It is number 7 on the list " + "x" * 200] * 6, [BOX] * 6)
    assert line.endswith(f"NO_ANSWER in 6, such as 'It is number 7 on the list {'x' * 93}'…; {FLAGS_CHECK}")


FLAGS_CHECK = "check column 'answer' (--response-column)"


def test_empty_responses_are_no_dialects_fault() -> None:
    assert texts(CLICK, [None, "", " ", "(20, 15)"], [BOX] * 4) == [f"3 of 4 responses are empty; {FLAGS_CHECK}"]
    assert diagnosed(CLICK, [None, "", "(20, 15)", "(20, 15)"], [BOX] * 4) == []


def test_another_space_fits() -> None:
    recipe = gr.recipe("click", response_space="thousandths")
    (finding,) = diagnosed(recipe, IN_PIXELS, BOXES)
    assert (finding.code, finding.severity, finding.fix) == ("space", "warning", "use --response-space pixel")
    assert finding.message.startswith("answers fit pixel better (100 % hit against 0 % as declared)")
    (finding,) = diagnosed(recipe, IN_PIXELS, BOXES, PYTHON)
    assert finding.fix == "build it with response_space='pixel'"
    many = diagnosed(recipe, IN_PIXELS * 10, BOXES * 10)[0]
    assert many.message.startswith("answers fit pixel better")
    assert many.message.endswith(", by a sample of 512 rows")


def test_another_box_format_fits() -> None:
    corners = [{"bbox": [x, y, 60, 40], "image_size": [1920, 1080]} for x, y in CORNERS]
    several = diagnosed(CLICK, IN_PIXELS, corners)
    assert [(each.code, each.fix) for each in several if each.code == "box-format"] == [
        ("box-format", "use --box-format xywh")
    ]


@pytest.mark.parametrize(("written", "fixes"), [("xywh", ["use --box-format xywh"]), ("xyxy", [])])
def test_boxes_near_the_corner_are_suspected_by_their_responses(written, fixes) -> None:
    # Each is a box in either format, and crops are full of such boxes: targets alone cannot tell.
    draw = np.random.default_rng(3)
    side = draw.uniform(60, 160, (60, 2))
    corner = side * draw.uniform(0, 1, (60, 2))
    boxes = np.hstack([corner, side if written == "xywh" else corner + side]).round(1).tolist()
    answers = [f"({x:.0f}, {y:.0f})" for x, y in corner + side * draw.uniform(0.1, 0.9, (60, 2))]
    found = diagnosed(CLICK, answers, [{"bbox": box, "image_size": [1920, 1080]} for box in boxes])
    assert [each.fix for each in found] == fixes


def test_targets_that_look_wrong() -> None:
    far = {"bbox": [-900, 100, 300, 200], "image_size": [1000, 800]}
    flat = {"bbox": [40, 40, 40, 90]}
    action = gr.recipe("action", response_space="pixel")
    several = diagnosed(action, ["click(20, 15)"] * 3, [{**BOX, "action": "clik"}, far, flat], size=1)
    assert [(each.code, each.count, each.rows, each.fix) for each in several] == [
        ("unknown-action", 1, (0,), "did you mean 'click'? Declare names of your own: option action_names"),
        ("outside-image", 1, (1,), "check the space and the size of the image, or leave the target out"),
        (
            "box-format", 1, (2,),
            "if boxes are x y w h: --box-format xywh where files are read or converted (or cxcywh, yxyx, xxyy, yyxx), "
            'box_format="xywh" in Python',
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 5])
def test_boxes_without_area_count_in_batches_as_together(size: int) -> None:
    clear, line, inverted = [60, 60, 90, 90], [20, 20, 50, 20], [50, 50, 10, 10]
    targets = [{"bbox": box, "image_size": [100, 100]} for box in (clear, clear, line, clear, inverted)]
    several = diagnosed(CLICK, ["(70, 70)"] * 5, targets, size=size)
    assert [each.count for each in several if each.code is Code.BOX_FORMAT] == [2]


def test_targets_that_cannot_be_used() -> None:
    (finding,) = diagnosed(CLICK, ["(20, 15)"] * 3, [BOX, {"bbox": [1]}, {"bbox": [2]}])
    assert (finding.code, finding.count, finding.rows) == ("bad-target", 2, (1, 2))
    assert finding.message == (
        "2 rows have targets that cannot be used, the first: target of row 1, field 'bbox': got [1]; expected 4 "
        "numbers x1 y1 x2 y2"
    )


REFUSAL = {"refusal": True}


def test_refusals_that_are_not_read_or_never_come() -> None:
    answers, targets = [*IN_PIXELS, *["Nope, not on this page."] * 4], [*BOXES, *[REFUSAL] * 4]
    (finding,) = diagnosed(CLICK, answers, targets)
    assert (finding.code, finding.severity, finding.count) == ("refusals", "warning", 4)
    assert finding.message == (
        "4 targets ask for a refusal, and no response to them is read as one, but for example 'Nope, not on this page.'"
    )
    (finding,) = diagnosed(CLICK, [*IN_PIXELS, *["(1, 2)"] * 4], targets)
    assert (finding.severity, str(finding)) == (
        "note", "4 targets ask for a refusal, and no response to them is read as one",
    )  # fmt: skip
    assert diagnosed(CLICK, [*IN_PIXELS, *["(1, 2)"] * 3, "refusal"], targets) == []
    failure = '{"action": "terminate", "status": "failure"}'
    assert diagnosed(gr.recipe("action", response_space="pixel"), [*IN_PIXELS, *[failure] * 4], targets) == []


def test_words_of_refusals_are_an_option_where_a_recipe_takes_them() -> None:
    recipe = gr.recipe(f"{__file__}:with_words")
    (finding,) = diagnosed(recipe, [*IN_PIXELS, *["Nope, not here."] * 4], [*BOXES, *[REFUSAL] * 4])
    assert finding.fix == """if that is a refusal: use --option 'refusal_words=["Nope, not here."]'"""


def test_common_words_of_refusals_are_offered_by_their_name() -> None:
    answers = [*IN_PIXELS, *["The element is not visible."] * 4]
    (finding,) = diagnosed(CLICK, answers, [*BOXES, *[REFUSAL] * 4])
    assert finding.fix == """if that is a refusal: use --option 'refusal_words=["common"]'"""


def test_right_refusals_are_not_too_many_where_success_is_a_hit_alone() -> None:
    hits = gr.recipe("composite", response_space="pixel", parts={"hit": 1.0}, accepts=["bbox", "refusal"])
    assert diagnosed(hits, ["refusal"] * 30 + IN_PIXELS[:30], [*[REFUSAL] * 30, *BOXES[:30]]) == []


def with_words(*, refusal_words: Sequence[str] = ()) -> gr.Recipe:
    return CLICK


def test_refusals_where_a_place_is_right() -> None:
    answers = ["refusal" if row < 13 else text for row, text in enumerate(IN_PIXELS)]
    (finding,) = diagnosed(CLICK, answers, BOXES)
    assert (str(finding), finding.rows) == (
        "13 of 60 responses refuse where something else is right, such as 'refusal'; check the images and the "
        "instructions",
        (0, 1, 2, 3, 4),
    )
    assert diagnosed(CLICK, ["refusal"] * 12 + IN_PIXELS[12:], BOXES) == []


def test_actions_that_are_never_done() -> None:
    action = gr.recipe("action", response_space="pixel")
    wanted = [{**BOX, "action": "tap"}, {"action": {"name": "input_text", "text": "hello"}}]
    (finding,) = diagnosed(action, ["click(20, 15)"] * 8, wanted * 4)
    assert finding == Finding(
        Code.NEVER_DONE, Severity.NOTE, 4, (1, 3, 5, 7), "asked for and never done: 'type' (4)",
        "check the prompt's list of actions",
    )  # fmt: skip
    assert diagnosed(action, ["click(20, 15)"] * 700, [*wanted[1:] * 2, *wanted[:1] * 698]) == []  # both are looked at


def test_actions_are_not_missed_where_answers_are_not_read() -> None:
    action = gr.recipe("ui-r1", model="qwen2_5_vl")
    wanted = {"bbox": [10, 10, 30, 20], "action": "click", "image_size": [1000, 800]}
    assert [each.code for each in diagnosed(action, ["click(20, 15)"] * 60, [wanted] * 60)] == ["unread"]


def test_answers_in_resized_pixels_that_miss() -> None:
    recipe = gr.recipe("click", model="qwen2_5_vl")
    (finding,) = diagnosed(
        recipe, ["(900, 600)"] * 60, [{"bbox": [100, 100, 110, 110], "image_size": [3840, 2160]}] * 60
    )
    assert (finding.code, finding.severity, str(finding)) == (
        "model-bounds", "warning",
        "answers are in pixels of the resized image, and most of them miss; compare the bounds that are set here with "
        "the launch's own: --max-pixels and --min-pixels",
    )  # fmt: skip
    some = ["(106, 107)"] * 10 + ["(900, 600)"] * 50
    (finding,) = diagnosed(recipe, some, [{"bbox": [100, 100, 110, 110], "image_size": [3840, 2160]}] * 60)
    assert finding.severity == "note"


def test_answers_outside_their_images() -> None:
    (finding,) = diagnosed(CLICK, ["(20, 15)"] * 70 + ["(5000, 15)"] * 30, [BOX] * 100)
    assert (finding.code, finding.severity, finding.count, str(finding)) == (
        "answers-outside", "warning", 30,
        "30 of 100 answers lie outside their images, such as '(5000, 15)'; check whether some are in another space "
        "than the rest, and the sizes of the images",
    )  # fmt: skip
    assert diagnosed(CLICK, ["(20, 15)"] * 80 + ["(5000, 15)"] * 20, [BOX] * 100) == []


def test_no_hits() -> None:
    (finding,) = diagnosed(CLICK, ["(900, 700)"] * 50, [BOX] * 50)
    assert (finding.code, str(finding)) == (
        "no-hits",
        "none of 50 responses that were read is right; check the targets and their space, the sizes of the images and "
        "column 'answer' (--response-column)",
    )
    assert diagnosed(CLICK, ["(900, 700)"] * 49, [BOX] * 49) == []
    assert texts(CLICK, ["(20, 15)"] + ["(900, 700)"] * 199, [BOX] * 200)[0].startswith("only 1 of 200 responses")
    assert diagnosed(CLICK, ["(20, 15)"] + ["(900, 700)"] * 99, [BOX] * 100) == []


def test_nothing_is_said_of_targets_that_nothing_is_compared_with() -> None:
    recipe = gr.recipe(
        "composite", response_space="pixel", parts={"form": {"verifier": "format", "weight": 1.0}}, label_free=True,
        success="form",
    )  # fmt: skip
    assert diagnosed(recipe, ["(5, 5)"] * 60, [None] * 60) == []
    assert [each.code for each in diagnosed(recipe, ["hm"] * 60, [None] * 60)] == ["unread"]


def test_findings_are_plain_values_and_back() -> None:
    for finding in diagnosed(CLICK, ["no idea"] * 6, [BOX] * 6):
        plain = json.loads(json.dumps(finding.to_dict()))
        assert list(plain) == ["code", "severity", "count", "rows", "message", "fix"]
        assert Finding.from_dict(plain) == finding


@settings(max_examples=8)
@given(st.lists(st.sampled_from([*CALLS[:3], *IN_PIXELS[:3], "no idea", "", None, "refusal"]), max_size=40), st.data())
def test_batches_change_nothing(answers: list[str | None], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    recipe = gr.recipe("click", response_space="thousandths", dialect="bare_tuple")
    wanted = [BOXES[row % 60] if row % 5 else REFUSAL for row in range(len(answers))]
    assert diagnosed(recipe, answers, wanted, size=size) == diagnosed(recipe, answers, wanted)


def test_batches_that_are_counted_apart_are_joined_to_the_same_counts() -> None:
    recipe = gr.recipe("action", response_space="pixel")
    odd = [{**BOX, "action": "odd"}, {}, REFUSAL, REFUSAL, BOX, {**BOX, "image_size": [50, 50]}, BOX, BOX]
    said = ["(1, 1)", "(2, 2)", "no such thing", "refusal", "(3, 3)", "(4, 4)", "refusal", None]
    whole, joined = Diagnosis(recipe, FLAGS), Diagnosis(recipe, FLAGS)
    for start in range(0, 1600, 400):
        first = [*IN_PIXELS[:12], *said], [*BOXES[:12], *odd]
        scored = score_rows(recipe, Inputs(*([*each] * 50 for each in ((said, odd) if start else first))), "abstain")
        own = Diagnosis(recipe, FLAGS, first=start)
        for each in (whole, own):
            each.add(scored, rows=400)
        joined.join(own)
    assert (joined.rows, len(joined.sample.rows)) == (1600, SIZE)
    assert [row.number for row in joined.sample.rows] == [row.number for row in whole.sample.rows]
    assert str({**vars(joined), "sample": ""}) == str({**vars(whole), "sample": ""})


def test_no_response_raises() -> None:
    hostile = [*short_responses(), *(text for _, text in hostile_shapes(256))]
    for name in ("click", "action", "gelato"):
        recipe = gr.recipe(name, **({} if name == "gelato" else {"response_space": "pixel"}))
        for finding in diagnosed(recipe, hostile, [{**BOX, "space": "pixel"}] * len(hostile)):
            json.dumps(finding.to_dict(), allow_nan=False)


def test_the_sample_is_spread_bounded_and_the_same_in_any_batches() -> None:
    answers = [f"({row}, 1)" for row in range(20_000)]
    scored = {size: RowSample() for size in (20_000, 777)}
    for size, sample in scored.items():
        for start in range(0, 20_000, size):
            part = answers[start : start + size]
            sample.add(score_rows(CLICK, Inputs(part, [BOX] * len(part)), "raise"), len(part), start)
    numbers = [row.number for row in scored[777].rows]
    assert numbers == [row.number for row in scored[20_000].rows]
    assert (len(numbers), max(np.diff([-1, *numbers, 20_000])) < 100, {number % 2 for number in numbers}) == (
        SIZE, True, {0, 1},
    )  # fmt: skip
    row = scored[777].rows[7]
    assert (row.response, row.target, row.reason, row.right) == (f"({row.number}, 1)", BOX, Reason.OK, False)


DATA = Path(__file__).parents[2].parent / "shared/data/model_responses"
FILES = sorted(DATA.glob("*.jsonl")) if DATA.is_dir() else []


@pytest.mark.skipif(not FILES, reason="published responses are not here: expected in ../shared/data/model_responses")
def test_real_answers_are_silent_in_their_space_alone() -> None:
    for file in FILES:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        answers = [row["response"] for row in rows]
        wanted = [
            {**row["target"], "image_size": row["image_size"], "model_image_size": row["model_image_size"]}
            for row in rows
        ]
        right = "thousandths" if "gelato-30b" in file.name and "uitars" not in file.name else "model_pixel"
        assert diagnosed(gr.recipe("click", response_space=right), answers, wanted) == [], file.name
        wrong = diagnosed(gr.recipe("click", response_space="unit"), answers, wanted)
        assert [each.fix for each in wrong if each.code == "space"] == [f"use --response-space {right}"], file.name


TYPING = '{{"action": "{}", "text": "hello"}}'
TO_TYPE = {"action": {"name": "type", "text": "hello"}}


def test_names_of_actions_that_nothing_knows_are_named_with_the_nearest_and_are_not_read() -> None:
    action = gr.recipe("action", response_space="pixel")
    answers = [TYPING.format(name) for name in ["enter_txt"] * 40 + ["type"] * 10 + ["qqq"] * 10]
    (finding,) = diagnosed(action, answers, [TO_TYPE] * 60)
    assert (finding.code, finding.severity, finding.count, finding.rows) == (
        "unknown-action", "warning", 50, (*range(5),),
    )  # fmt: skip
    assert finding.message == (
        "50 of 60 responses name an action that nothing knows: 'enter_txt' (40, nearest to 'enter'), 'qqq' (10)"
    )
    assert finding.fix == "have the prompt list known names, or declare names of your own: option action_names"
    assert action.score(answers[39:41], [TO_TYPE] * 2).predictions.parsed.tolist() == [False, True]
    few = diagnosed(action, answers[30:50], [TO_TYPE] * 20)
    assert [(each.code, each.severity, each.count) for each in few] == [("unknown-action", "note", 10)]
    declared = gr.recipe("action", response_space="pixel", action_names=["enter_txt", "qqq"])
    assert [each.code for each in diagnosed(declared, answers[:40], [TO_TYPE] * 40)] == ["never-done"]


def test_a_form_that_reads_corners_or_other_numbers_is_no_advice() -> None:
    # Of each box in the response the first corner lies just inside the target's, or on its border.
    inside = [f'{{"at": [{x + 1}, {y + 1}; {x + 61}, {y + 41}]' for x, y in CORNERS]
    edges = [f'{{"at": [{x}, {y}; {x + 60}, {y + 40}]' for x, y in CORNERS]
    numbered = [f"Step {row}, of 3: ({row}, 3) is no place at ({x} by {y})" for row, (x, y) in enumerate(POINTS)]
    for answers in (inside, edges, numbered):
        for finding in diagnosed(CLICK, [*IN_PIXELS, *answers], BOXES * 2):
            assert "dialect=" not in finding.fix, (answers[0], str(finding))


def test_no_other_reward_is_proposed_for_a_form_that_is_not_read() -> None:
    # Published recipes read such lists, and are other rewards.
    boxes = [f"[{x}, {y}, {x + 60}, {y + 40}" for x, y in CORNERS]
    for name in ("action", "groundnext", "gelato"):
        spaces = {"response_space": "pixel", **({"target_space": "pixel"} if name == "gelato" else {})}
        for finding in diagnosed(gr.recipe(name, **spaces), boxes, BOXES):
            assert "--recipe" not in finding.fix or finding.fix.startswith("use --recipe click"), str(finding)


def test_hits_that_are_no_more_than_by_chance() -> None:
    answers = [*IN_PIXELS[:2], *IN_PIXELS[3:], IN_PIXELS[2]]  # two right ones, and others' answers
    (finding,) = diagnosed(CLICK, answers, BOXES)
    assert (finding.code, finding.count, finding.message) == (
        "no-hits", 58, "only 2 of 60 responses that were read are right, no more than by chance",
    )  # fmt: skip
    assert diagnosed(CLICK, [*IN_PIXELS[:8], *IN_PIXELS[9:], IN_PIXELS[8]], BOXES) == []


def test_many_rows_that_are_left_out_come_first_with_their_share() -> None:
    edges = [{"bbox": [x, x + 60, y, y + 40], "image_size": [1920, 1080]} for x, y in CORNERS]
    several = diagnosed(CLICK, IN_PIXELS, edges)
    assert [each.code for each in several] == ["bad-target", "box-format"]
    left_out = several[0].count
    assert several[0].message.startswith(
        f"{left_out} of 60 rows ({100 * left_out / 60:.0f} %) are left out: they have targets that cannot be used"
    )
    assert several[1].fix == "use --box-format xxyy"
    (one,) = diagnosed(CLICK, IN_PIXELS, [*BOXES[:-1], {"bbox": [1]}])
    assert one.message.startswith("1 row has a target that cannot be used")
