"""UI-R1's rewards by hand: one point each for the action, its coordinate and the format."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import SPACE, VECTOR_ROWS
from tests.golden import harness
from tests.parsing.fragments import responses

UI_R1, DAST, UI_R1_E = gr.recipe("ui-r1"), gr.recipe("ui-r1", form="dast"), gr.recipe("ui-r1-e")
WITH_LENGTH = gr.recipe("ui-r1-dast")
TARGET = "<answer>[{'action': 'click' ,'coordinate': [100, 100, 300, 200] }]</answer>"
ORIGIN = "<answer>[{'action': 'click' ,'coordinate': [0, 0, 300, 200] }]</answer>"
SAME = {"image_sizes": (1000, 800), "model_image_sizes": (1000, 800)}


def written(coordinate, action="'click'", think="<think>t</think>"):
    return f"{think}<answer>[{{'action': {action}, 'coordinate': {coordinate}}}]</answer>"


def parts(text, target=TARGET, recipe=UI_R1, **sizes):
    """Action, coord and format, of one response and of many alike."""
    found = []
    for copies in (1, VECTOR_ROWS):
        scores = recipe.score([text] * copies, [target] * copies, **(sizes or SAME))
        assert scores.total.tolist() == sum(scores.parts.values()).tolist()
        assert scores.acc.tolist() == scores.parts["coord"].tolist()
        found += [[scores.parts[name][row] for name in ("action", "coord", "format")] for row in range(copies)]
    assert found.count(found[0]) == len(found)
    return found[0]


def test_a_click_that_is_wanted_nowhere_is_right_anywhere():
    """Targets that were read before need not have the place that the recipe's own reading asks for."""
    wanted = gr.Targets.from_list([{"action": "click"}])
    scores = UI_R1.score([written([900, 700])], wanted, **SAME)
    assert (scores.parts["action"].tolist(), scores.parts["coord"].tolist()) == ([1], [1])


DOUBLE = TARGET.replace("'", '"')
SPACED = TARGET.replace("'action':", "'action' :")


@pytest.mark.parametrize(
    ("text", "target", "name", "expected"),
    [
        (written("[200.0, 150.0]"), DOUBLE, "double-quotes", [1, 1]),
        (written("[200, 150]"), DOUBLE, "double-quotes", [1, 1]),
        (written("[200, 150]"), SPACED, "spaces", [1, 1]),
        (written("[200.5, 150.0]"), SPACED, "spaces", [1, 1]),
        (written("[200, 150]"), DOUBLE.replace(":", " :"), "double-quotes", [1, 1]),
        (written("[200, 150]").replace("'", '"').replace(":", " :"), TARGET, "double-quotes", [1, 1]),
        (written("[200, 150]").replace(":", " :"), TARGET, "spaces", [1, 1]),
        (written("[ 200, 150]"), TARGET, "spaces", [1, 1]),
        (written("[1.5, 2.5], [ 200, 150]"), TARGET, "spaces", [1, 1]),
        (written("[200.0, 150.0]"), TARGET, "decimals", [1, 1]),
        (written(f"[-{'9' * 400}, 150.0]"), TARGET, "decimals", [1, 0]),
        (written("[200, 150], [1.5, 2.5]"), TARGET, None, [1, 1]),
        (written("[200, 150], [ 1, 2]"), TARGET, None, [1, 1]),
        (written("[200, 150], [1.5, 2.5]"), TARGET.replace("[100", "[100.0"), "target-numbers", [1, 1]),
        ("<answer>[200, 150], {'action': 'click'}</answer>", ORIGIN, "no-coordinate", [1, 1]),
        ("<answer>{'action': 'click'}</answer>", ORIGIN, "no-coordinate", [1, 0]),
        (written("[200, 150]"), TARGET.replace("[100", "[1e2"), "bad-target", [0, 0]),
    ],
)
def test_what_a_deviation_states_is_what_is_scored(text, target, name, expected):
    line = {"response": text, "ground_truth": target, "extra": {"scale": [1.0, 1.0]}}
    found = harness.deviation("uir1", line)
    scores = harness.score("uir1", UI_R1, line)
    assert (found.name if found else None, [scores["action"], scores["coord"]]) == (name, expected)
    stated = harness.stated("uir1", UI_R1, found, line) if found else {}
    assert {key: scores[key] for key in stated} == stated


def test_a_small_scale_is_no_reason_to_abstain():
    target = "<answer>[{'action': 'click' ,'coordinate': [1600, 100, 1800, 200] }]</answer>"
    line = {"response": written("[17000, 1500]"), "ground_truth": target, "extra": {"scale": [0.1, 0.1]}}
    assert harness.evaluate("uir1", line)[0]["coord"] == 1.0


ANSWER = written("[200, 150]", think="")
THOUGHT = written("[200, 150]")


pieces = st.sampled_from(
    ["<think>", "</think>", "<answer>", "</answer>", THOUGHT, ANSWER, "\n", " ", "\xa0", "\x1c", "\x85", "a",
     "'action': ", "'click'", "[1, 2]", "[200.5, 150]"]
)  # fmt: skip
texts = st.lists(st.one_of(pieces, pieces, pieces, responses), max_size=8).map("".join)


@settings(max_examples=150)
@given(texts)
@example("<think></think><answer></answer>\n")
def test_the_format_is_that_of_the_published_patterns_but_for_space_around(text):
    for recipe, start in ((UI_R1, rf"<think>.*?</think>{SPACE}"), (UI_R1_E, "")):
        published = re.fullmatch(rf"{start}<answer>.*?</answer>", text.strip(), re.DOTALL)
        assert recipe.score([text], [TARGET], **SAME).parts["format"].tolist() == [published is not None]


RIGHT, MISS = written("[200, 150]"), written("[900, 150]")


def grouped(texts, recipe=WITH_LENGTH, **more):
    return recipe.score(texts, [TARGET] * len(texts), groups=[0] * len(texts), **SAME, **more)


def test_all_but_the_length_is_the_dast_form():
    texts = [RIGHT, MISS, RIGHT.replace("answer>", "answers>"), "", None, written("[1, 2]], [[200, 150]")]
    ours, theirs = grouped(texts), grouped(texts, DAST)
    for name in DAST.parts:
        assert ours.parts[name].tolist() == theirs.parts[name].tolist()
    assert ours.total == pytest.approx(theirs.total + ours.parts["length"], abs=1e-12)
    assert ours.acc.tolist() == theirs.acc.tolist()
    assert WITH_LENGTH.parts == (*DAST.parts, "length")
    assert (WITH_LENGTH.deviations, WITH_LENGTH.native, WITH_LENGTH.dialect, WITH_LENGTH.answers) == (
        DAST.deviations, DAST.native, DAST.dialect, DAST.answers,
    )  # fmt: skip


def test_what_it_needs_and_says():
    assert (WITH_LENGTH.low, WITH_LENGTH.high, WITH_LENGTH.needs) == (-1.0, 4.0, {"groups"})
    with pytest.raises(gr.RecipeError, match="ui-r1-dast compares the rollouts of one sample"):
        WITH_LENGTH.score([RIGHT], [TARGET], **SAME)
    assert WITH_LENGTH.source.files[-1].endswith("DAST_grpo_trainer.py")
