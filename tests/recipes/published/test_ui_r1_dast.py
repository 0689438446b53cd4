"""UI-R1's first stage: the three points of its dast form, and the length among the group."""

import pytest

import grounding_rewards as gr

DAST, PLAIN = gr.recipe("ui-r1-dast"), gr.recipe("ui-r1", form="dast")
TARGET = "<answer>[{'action': 'click' ,'coordinate': [100, 100, 300, 200] }]</answer>"
SAME = {"image_sizes": (1000, 800), "model_image_sizes": (1000, 800)}


def written(coordinate, thought="t", tag="answer"):
    return f"<think>{thought}</think><{tag}>[{{'action': 'click', 'coordinate': {coordinate}}}]</{tag}>"


RIGHT, MISS, UNTAGGED = written("[200, 150]"), written("[900, 150]"), written("[200, 150]", tag="answers")


def score(texts, recipe=DAST, **more):
    return recipe.score(texts, [TARGET] * len(texts), groups=[0] * len(texts), **SAME, **more)


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
