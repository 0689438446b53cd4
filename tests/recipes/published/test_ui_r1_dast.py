"""UI-R1's first stage: the three points of its dast form, and the length among the group."""

import pytest

import grounding_rewards as gr
from grounding_rewards.explain.case import Case

DAST, PLAIN = gr.recipe("ui-r1-dast"), gr.recipe("ui-r1", form="dast")
TARGET = "<answer>[{'action': 'click' ,'coordinate': [100, 100, 300, 200] }]</answer>"
SAME = {"image_sizes": (1000, 800), "model_image_sizes": (1000, 800)}


def written(coordinate, thought="t", tag="answer"):
    return f"<think>{thought}</think><{tag}>[{{'action': 'click', 'coordinate': {coordinate}}}]</{tag}>"


RIGHT, MISS, UNTAGGED = written("[200, 150]"), written("[900, 150]"), written("[200, 150]", tag="answers")


def score(texts, recipe=DAST, **more):
    return recipe.score(texts, [TARGET] * len(texts), groups=[0] * len(texts), **SAME, **more)


def test_a_group_by_hand():
    # Right, right, a miss and a broken tag, of 10, 30, 40 and 20 tokens: p = 1/2, L_r = 20, L_max = 40, B = 30.
    # λ = -2/3, 0, 1/3, -1/3: 0.5 + 1/3, 0.5, min(0.2, -0.1) and -0.4.
    scores = score([RIGHT, RIGHT, MISS, UNTAGGED], token_lengths=[10, 30, 40, 20])
    assert scores.parts["length"] == pytest.approx([5 / 6, 0.5, -0.1, -0.4], abs=1e-12)
    assert scores.total == pytest.approx([3 + 5 / 6, 3.5, 1.9, -0.4], abs=1e-12)
    assert scores.acc.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_characters_without_tokens():
    long = written("[200, 150]", "t" * (1 + len(RIGHT)))  # twice as long: B = 1.5 · L, λ = -1/3 and 1/3
    assert score([RIGHT, long]).parts["length"] == pytest.approx([2 / 3, 1 / 3], abs=1e-12)


def test_right_means_all_three_points():
    unthought = RIGHT.replace("<think>t</think>", "")
    scores = score([unthought])
    assert (scores.parts["coord"].tolist(), scores.parts["format"].tolist()) == ([1.0], [0.0])
    assert scores.parts["length"].tolist() == [-0.1]
    assert scores.acc.tolist() == [1.0]


@pytest.mark.parametrize("weight", [0, 0.25, 1])
def test_whatever_the_format_weighs_it_is_asked_for(weight):
    recipe = gr.recipe("ui-r1-dast", format_weight=weight)
    assert score([RIGHT], recipe).total.tolist() == [2 + weight + 0.5]
    assert score([RIGHT.replace("t<", "<").replace("<think>", "")], recipe).parts["length"].tolist() == [-0.1]
    assert (recipe.low, recipe.high) == (-1, 3 + weight)


def test_all_but_the_length_is_the_dast_form():
    texts = [RIGHT, MISS, UNTAGGED, "", None, written("[1, 2]], [[200, 150]")]
    ours, theirs = score(texts), score(texts, PLAIN)
    for name in PLAIN.parts:
        assert ours.parts[name].tolist() == theirs.parts[name].tolist()
    assert ours.total == pytest.approx(theirs.total + ours.parts["length"], abs=1e-12)
    assert ours.acc.tolist() == theirs.acc.tolist()
    assert DAST.parts == (*PLAIN.parts, "length")
    assert (DAST.deviations, DAST.native, DAST.dialect, DAST.answers) == (
        PLAIN.deviations, PLAIN.native, PLAIN.dialect, PLAIN.answers,
    )  # fmt: skip


def test_what_it_needs_and_says():
    assert (DAST.low, DAST.high, DAST.needs) == (-1.0, 4.0, {"groups"})
    with pytest.raises(gr.RecipeError, match="ui-r1-dast compares the rollouts of one sample"):
        DAST.score([RIGHT], [TARGET], **SAME)
    assert DAST.source.files[-1].endswith("DAST_grpo_trainer.py")


def test_padding_a_miss_is_rewarded():
    found = {exploit.name: exploit for exploit in DAST.exploits}
    scores = Case.of(found["padded-miss"].example).score(DAST)
    assert scores.total[0] == pytest.approx(1.9)
    assert (scores.total[1:] < 1.3).all(), "the same answer, shorter"


def test_ui_agiles_variant_takes_more_than_2_for_right():
    recipe = gr.recipe("ui-agile", thinking_length="dast", length_weight=0.5)
    plain = gr.recipe("ui-agile")
    # 1 for the action, 2 in the middle of the box, 1 for the format; the miss is worth 1 + 1, which is not above 2.
    texts = [RIGHT, RIGHT, MISS]
    ours, theirs = score(texts, recipe, token_lengths=[10, 30, 40]), score(texts, plain)
    assert theirs.total.tolist() == [4.0, 4.0, 2.0]
    # p = 2/3, L_r = 20, L_max = 40: B = 80/3, λ = -0.625, 0.125, 0.5.
    assert ours.parts["length"] == pytest.approx([0.8125, 0.4375, -0.1], abs=1e-12)
    assert ours.total == pytest.approx([4.40625, 4.21875, 1.95], abs=1e-12)
    assert (recipe.low, recipe.high, recipe.needs, plain.needs) == (-0.5, 5.5, {"groups"}, frozenset())
    assert " + length_weight · length\n" in recipe.formula
    for exploit in recipe.exploits:
        assert Case.of(exploit.example).score(recipe).total[0] == pytest.approx(exploit.payoff, abs=1e-12), exploit.name


def test_a_bad_target_abstains_within_the_bounds():
    scores = DAST.score([RIGHT, MISS], ["click", TARGET], groups=[0, 1], bad_target="abstain", **SAME)
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0.0, 1.9], [0.0, 1.0])
