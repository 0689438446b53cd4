"""UI-R1's rewards by hand: one point each for the action, its coordinate and the format."""

import re
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import SPACE, VECTOR_ROWS
from tests.golden import harness
from tests.parsing.fragments import responses

UI_R1, DAST, UI_R1_E = gr.recipe("ui-r1"), gr.recipe("ui-r1", form="dast"), gr.recipe("ui-r1-e")
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


@pytest.mark.parametrize(
    ("coordinate", "coord"),
    [
        ("[200, 150]", 1), ("[100, 100]", 1), ("[300, 200]", 1), ("[99, 150]", 0), ("[301, 150]", 0), ("[200, 201]", 0),
        ("[200,150]", 1), ("[ 200 , 150 ]", 1), ("[200,\n150]", 1), ("[0200, 00150]", 1), ("[200, 150, 7]", 0),
        ("[200.0, 150.0]", 1), ("[300.9, 200.9]", 1), ("[301.0, 150]", 0), ("[99.9, 150]", 0), ("[-200, 150]", 0),
        ("[２００, １５０]", 0), ('["200", "150"]', 0), ("[x, y]", 0), ("[]", 0), ("[NaN, 150]", 0),
        (f"[{'9' * 400}, 150]", 0), (f"[{'9' * 5000}, 1]", 0),
    ],
)  # fmt: skip
def test_a_click(coordinate, coord):
    assert parts(written(coordinate)) == [1, coord, 1]


@pytest.mark.parametrize(
    ("action", "expected"),
    [("'click'", 1), ("click", 1), ('"click"', 1), ("'Click'", 0), ("'tap'", 0), ("'clicks'", 0), ("''", 0), ("", 0)],
)
def test_the_coordinate_needs_the_action(action, expected):
    assert parts(written("[200, 150]", action)) == [expected, expected, 1]


def test_double_quotes_are_read():
    # Weakness 25: the source gives JSON 0.
    assert parts(written("[200, 150]").replace("'", '"')) == [1, 1, 1]


@pytest.mark.parametrize("name", ["scroll", "open_app", "navigate_back", "input_text"])
def test_of_other_actions_nothing_more_is_asked(name):
    target = f"<answer>[{{'action': '{name}' ,'coordinate': [0, 0, 0, 0] }}]</answer>"
    assert parts(f"<think></think><answer>{{'action': {name}}}</answer>", target) == [1, 1, 1]
    assert parts(written("[900, 700]", f"'{name}'"), target) == [1, 1, 1]
    assert parts(written("[0, 0]"), target) == [0, 0, 1]
    assert parts(written("[200, 150]", f"'{name}'")) == [0, 0, 1]
    assert parts(written("[200, 150]", "''"), target) == [0, 0, 1]


def test_a_click_that_is_wanted_nowhere_is_right_anywhere():
    """Targets that were read before need not have the place that the recipe's own reading asks for."""
    wanted = gr.Targets.from_list([{"action": "click"}])
    scores = UI_R1.score([written([900, 700])], wanted, **SAME)
    assert (scores.parts["action"].tolist(), scores.parts["coord"].tolist()) == ([1], [1])


def test_scaled_clicks_are_cut_to_whole_pixels():
    # Weakness 34: 300 * 1.003 = 300.9 counts as 300.
    sizes = {"image_sizes": (1003, 1003), "model_image_sizes": (1000, 1000)}
    assert parts(written("[300, 150]"), **sizes) == [1, 1, 1]
    assert parts(written("[301, 150]"), **sizes) == [1, 0, 1]
    assert parts(written("[66, 66]"), image_sizes=(1500, 1500), model_image_sizes=(1000, 1000)) == [1, 0, 1]
    assert parts(written("[67, 67]"), image_sizes=(1500, 1500), model_image_sizes=(1000, 1000)) == [1, 1, 1]


def test_outside_stays_outside():
    for coordinate in ("[-0.5, 5]", "[5, -.1]", "[-1, -1]"):
        assert parts(written(coordinate), ORIGIN) == [1, 0, 1]
    assert parts(written("[0.5, .1]"), ORIGIN) == [1, 1, 1]


def test_no_coordinate_is_no_hit():
    # Weakness 12: the source reads it as the point (0, 0), and a box with decimals as four zeros.
    decimals = TARGET.replace("100, 100, 300, 200", "100.5, 100.0, 300.0, 200.0")
    for target in (TARGET, ORIGIN, decimals):
        assert parts("<think></think><answer>[{'action': 'click'}]</answer>", target) == [1, 0, 1]
        assert parts(written("[200 150]"), target) == [1, 0, 1]
    assert parts(written("[200, 150]"), decimals) == [1, 1, 1]
    assert parts(written("[101, 100]"), decimals) == [1, 1, 1]
    assert parts(written("[100, 100]"), decimals) == [1, 0, 1]


def test_which_coordinate_counts():
    # Weakness 35: the first in the source's main file, the last in the others.
    for pairs, first, last in (
        ("[200, 150], [1, 1]", 1, 0),
        ("[1, 1], [200, 150]", 0, 1),
        ("[1, 1], [2.5, 150]", 0, 0),
    ):
        assert [parts(written(pairs), recipe=each)[1] for each in (UI_R1, DAST, UI_R1_E)] == [first, last, last]


@pytest.mark.parametrize(
    ("answer", "main", "last"),
    [
        # Without a brace in front the source's other files find no coordinate.
        ("'action': 'click', 'coordinate': [200, 150]", 1, 0),
        ("[('action': 'click', 'coordinate': [200, 150]}]", 1, 0),
        ("'action': 'click', 'coordinate': [200.0, 150]", 1, 0),
        ("[200, 150], {'action': 'click', 'coordinate': [1, 1]}", 1, 0),
        ("[1, 1], {'action': 'click', 'coordinate': [200, 150]}", 0, 1),
        ("[1, 1], {'action': 'click', 'coordinate': [200.0, 150]}", 0, 1),
        ("[{\n'action': 'click',\n'coordinate': [200, 150]}]", 1, 1),
        # What the source reads goes before spaces, and these before decimals.
        ("{'action': 'click', 'coordinate': [200, 150], 'note': [1.5, 2.5]}", 1, 1),
        ("{'action': 'click', 'coordinate': [200, 150], 'note': [ 1, 2 ]}", 1, 1),
        ("{'action': 'click', 'note': [1.5, 2.5], 'coordinate': [200, 150]}", 1, 1),
        ("{'action': 'click', 'note': [1 , 2], 'coordinate': [200,150]}", 1, 1),
        ("{'action': 'click', 'note': [1.5, 2.5], 'coordinate': [ 200 , 150 ]}", 1, 1),
        ("{'action': 'click', 'note': [1.5, 2.5], 'coordinate': [200.0, 150.0]}", 0, 1),
    ],
)
def test_pairs_that_the_source_reads_go_first(answer, main, last):
    text = f"<think>t</think><answer>{answer}</answer>"
    assert [parts(text, recipe=each)[1] for each in (UI_R1, DAST)] == [main, last]


def test_names_that_the_source_reads_go_first():
    names = """{"action": "wait", 'action' : 'wait', 'action': 'click', 'coordinate': [200, 150]}"""
    assert parts(f"<think>t</think><answer>{names}</answer>") == [1, 1, 1]


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


def test_deviations_of_long_numbers_are_found_in_time():
    start = time.perf_counter()
    for pair in ("[{0}.{0}", "[{0}, {0}", "[1, {0}.{0}", "[ {0} , {0}.{0} x"):
        line = {"response": written(pair.format("9" * 20_000)), "ground_truth": TARGET, "extra": {"scale": [1.0, 1.0]}}
        assert harness.deviation("uir1", line) is None
    assert time.perf_counter() - start < 5


def test_a_small_scale_is_no_reason_to_abstain():
    target = "<answer>[{'action': 'click' ,'coordinate': [1600, 100, 1800, 200] }]</answer>"
    line = {"response": written("[17000, 1500]"), "ground_truth": target, "extra": {"scale": [0.1, 0.1]}}
    assert harness.evaluate("uir1", line)[0]["coord"] == 1.0


def test_the_first_answer_counts_in_thinking_too():
    # Weakness 35: as in the source.
    inside = f"<think>{written('[200, 150]', think='')}</think><answer>n</answer>"
    assert parts(inside) == [1, 1, 1]
    assert parts(f"<think>a</think><answer>x</answer>{written('[200, 150]', think='')}") == [0, 0, 1]
    assert parts(f"{written('[1, 1]')}{written('[200, 150]')}", recipe=DAST) == [1, 0, 1]


ANSWER = written("[200, 150]", think="")
THOUGHT = written("[200, 150]")


@pytest.mark.parametrize(
    ("text", "thought", "alone"),
    [
        (THOUGHT, 1, 0), (ANSWER, 0, 1), (f"{THOUGHT}\n", 1, 0), (f" \t{THOUGHT}\xa0", 1, 0), (f"{ANSWER}\n\n", 0, 1),
        (f"{THOUGHT} done.", 0, 0), (f"a {THOUGHT}", 0, 0), (f"{ANSWER}.", 0, 0), (THOUGHT[1:], 0, 0),
        (THOUGHT[:-1], 0, 0), (THOUGHT.upper(), 0, 0), (f"```\n{THOUGHT}\n```", 0, 0), (THOUGHT * 2, 1, 0),
        (ANSWER * 2, 0, 1), ("<think></think><answer></answer>", 1, 0), ("<answer></answer>", 0, 1),
        ("<think></think>\u3000\n<answer>\n</answer>", 1, 0), ("<think></think>a<answer></answer>", 0, 0),
        ("<think></answer></think><answer></answer>", 1, 0), ("<think><answer></answer>", 0, 0), ("<answer>", 0, 0),
        ("<think>a<think>b</think></think><answer></answer>", 1, 0), ("</think><answer><think></answer>", 0, 0),
        ("<think></think><answer>", 0, 0), ("", 0, 0), ("\n", 0, 0),
    ],
)  # fmt: skip
def test_format(text, thought, alone):
    # Weakness 29: a last line feed costs a point in the source.
    assert parts(text)[2] == parts(text, recipe=DAST)[2] == thought
    assert parts(text, recipe=UI_R1_E)[2] == alone


@pytest.mark.parametrize(
    ("target", "hits"),
    [
        (TARGET, [1, 0]),
        (TARGET.replace("'", '"'), [1, 0]),
        (f" {TARGET}\n", [1, 0]),
        ({"bbox": [100, 100, 300, 200]}, [1, 0]),
        ({"bbox": [100, 100, 300, 200], "action": "click"}, [1, 0]),
        ({"bbox": np.array([100, 100, 300, 200]), "action": {"name": "click", "text": None}}, [1, 0]),
        ('{"bbox": [100, 100, 300, 200]}', [1, 0]),
        ({"bbox": [0.1, 0.125, 0.3, 0.25], "space": "unit", "image_size": [1000, 800]}, [1, 0]),
        ({"bbox": [50, 50, 150, 100], "space": "model_pixel", "model_image_size": [500, 400]}, [1, 0]),
        ({"regions": [{"bbox": [0, 0, 9, 9]}, {"bbox": [100, 100, 300, 200]}]}, [1, 0]),
        ({"regions": [{"action": "wait"}, {"bbox": [100, 100, 300, 200], "action": "click"}]}, [1, 0]),
        ({"regions": [{"bbox": [100, 100, 300, 200], "action": "tap"}, {"bbox": [301, 200, 400, 400]}]}, [0, 1]),
        ({"action": "tap"}, [0, 0]),
        ({"bbox": [100, 100, 300, 200], "action": "tap"}, [0, 0]),
    ],
)
def test_targets_in_the_sources_form_and_in_the_wire_form(target, hits):
    texts = [written("[150, 100]"), written("[151, 100]")]
    for copies in (1, VECTOR_ROWS):
        sizes = {"image_sizes": (1000, 800), "model_image_sizes": (500, 400)}
        scores = UI_R1.score(texts * copies, [target] * 2 * copies, **sizes)
        assert scores.acc.tolist() == hits * copies


def test_rows_with_and_without_an_action_in_one_batch():
    other = TARGET.replace("click", "scroll")
    targets = [TARGET, other, {"action": "wait"}, "x", {"bbox": [0, 0, 9, 9]}, TARGET]
    texts = [THOUGHT, written("[1, 1]", "'scroll'"), written("[1, 1]", "wait"), THOUGHT, THOUGHT, None]
    scores = UI_R1.score(texts, targets, **SAME, bad_target="abstain")
    assert scores.parts["action"].tolist() == [1, 1, 1, 0, 1, 0]
    assert scores.parts["coord"].tolist() == [1, 1, 1, 0, 0, 0]
    assert scores.total.tolist() == [3, 3, 3, 0, 2, 0]
    assert scores.valid.tolist() == [1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ("", "target"),
        ("<answer></answer>", "target"),
        ("<answer>[{'coordinate': [1, 2, 3, 4]}]</answer>", "target"),
        (TARGET[8:], "target"),
        ([100, 100, 300, 200], "target"),
        (TARGET.replace(", 300, 200", ""), "bbox"),
        (TARGET.replace("[100, 100, 300, 200]", "x"), "bbox"),
        (TARGET.replace("100, 100, 300, 200", "300, 200, 100, 100"), "bbox"),
        (TARGET.replace("100, 100, 300, 200", "a, b, c, d"), "bbox"),
        (TARGET.replace("300", "nan"), "bbox"),
        (TARGET.replace("300", "9000"), "bbox"),
        (TARGET.replace("200]", "2_00]"), "bbox"),
        (TARGET.replace("[100", "[1e2"), "bbox"),
        (TARGET.replace("[100", "[１００"), "bbox"),
        ({"action": "click"}, "bbox"),
        ('{"action": {"name": "click"}, "bbox": null}', "bbox"),
        ({"regions": [{"bbox": [100, 100, 300, 200]}, {"action": "click"}]}, "regions[1].bbox"),
        ({"refusal": True}, "refusal"),
        ({"polygon": [0, 0, 9, 0, 0, 9]}, "polygon"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_a_target_that_does_not_fit_is_an_error_and_no_silent_zero(target, field):
    with pytest.raises(gr.TargetError) as error:
        UI_R1.score([THOUGHT], [target], **SAME)
    assert error.value.field == field
    scores = UI_R1.score([THOUGHT], [target], **SAME, bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0], [0])


def test_sizes_are_asked_for():
    for missing in ("image_size", "model_image_size"):
        sizes = {name: size for name, size in SAME.items() if name != f"{missing}s"}
        with pytest.raises(gr.TargetError, match=missing):
            UI_R1.score([THOUGHT], [TARGET], **sizes)
    target = {"bbox": [100, 100, 300, 200], "image_size": [1000, 800], "model_image_size": [1000, 800]}
    assert UI_R1.score(THOUGHT, target).total.tolist() == [3]


def test_options():
    assert [recipe.high for recipe in (UI_R1, gr.recipe("ui-r1", format_weight=0.5))] == [3, 2.5]
    assert gr.recipe("ui-r1-e", format_weight=0).score([ANSWER], [TARGET], **SAME).total.tolist() == [2]
    nothink = gr.recipe("ui-r1", form="nothink")
    assert nothink.score([ANSWER, THOUGHT], [TARGET] * 2, **SAME).total.tolist() == [3, 2]
    assert (nothink.answers, nothink.source) == (UI_R1_E.answers, UI_R1_E.source)


pieces = st.sampled_from(
    ["<think>", "</think>", "<answer>", "</answer>", THOUGHT, ANSWER, "\n", " ", "\xa0", "\x1c", "\x85", "a",
     "'action': ", "'click'", "[1, 2]", "[200.5, 150]"]
)  # fmt: skip
texts = st.lists(st.one_of(pieces, pieces, pieces, responses), max_size=8).map("".join)


@settings(max_examples=150, deadline=None)
@given(texts)
@example("<think></think><answer></answer>\n")
def test_the_format_is_that_of_the_published_patterns_but_for_space_around(text):
    for recipe, start in ((UI_R1, rf"<think>.*?</think>{SPACE}"), (UI_R1_E, "")):
        published = re.fullmatch(rf"{start}<answer>.*?</answer>", text.strip(), re.DOTALL)
        assert recipe.score([text], [TARGET], **SAME).parts["format"].tolist() == [published is not None]


@pytest.mark.parametrize("piece", ["</think>", "</think><answer>", "</think> ", "</answer>", "</answer> ", "<think>"])
def test_long_texts_take_no_longer_than_their_length(piece):
    text = "<think>" + piece * (60_000 // len(piece))
    start = time.perf_counter()
    for recipe in (UI_R1, UI_R1_E):
        recipe.score([text], [TARGET], **SAME)
        recipe.score([text] * VECTOR_ROWS, [TARGET] * VECTOR_ROWS, **SAME)
    assert time.perf_counter() - start < 5
