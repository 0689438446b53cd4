"""Declarations of verifiers: the columns beside responses and targets that they read, the targets that they judge."""

from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr

OWN = """
import numpy as np

def own(rollouts):
    return np.zeros(len(rollouts))

class Declared:
    low, high, needs, reads, judges = 0.0, 1.0, frozenset(), frozenset(), frozenset({"action"})
    def __call__(self, rollouts):
        return np.zeros(len(rollouts))
"""


def composite(**part):
    return gr.recipe("composite", response_space="pixel", parts={"hit": 1, "other": {"weight": 1, **part}})


@pytest.mark.parametrize("name", ["gelato", "gta1", "gui-g2", "infigui-g1", "ui-agile", "se-gui", "ui-venus"])
def test_built_in_ones_do_not(name):
    assert not gr.recipe(name).reads_extras


@pytest.mark.parametrize("part", [{"verifier": "dast_length"}, {"verifier": "difficulty", "most": 2}])
def test_those_that_read_them_do(part):
    assert composite(**part).reads_extras
    assert not composite(verifier="format").reads_extras


def test_ones_own_code_may(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    assert composite(verifier=f"{tmp_path}/mine.py:own", low=0, high=1).reads_extras
    lifted = gr.verifier(lambda rollouts: np.zeros(len(rollouts)), low=0, high=1)
    own = gr.recipe("composite", response_space="pixel", parts={"hit": 1}, success="hit")
    assert not own.reads_extras
    assert replace(own, success=lifted).reads_extras


def test_a_class_of_ones_own_says_what_it_reads_and_judges(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    recipe = composite(verifier=f"{tmp_path}/mine.py:Declared")
    assert not recipe.reads_extras
    assert recipe.accepts == {"bbox", "polygon", "circle", "refusal", "action"}
    assert recipe.dialect.name == "auto_action"
    part = {"verifier": f"{tmp_path}/mine.py:Declared", "weight": 1}
    with pytest.raises(gr.RecipeError, match=r"composite: mine: .*mine\.py:Declared compares with targets"):
        gr.recipe("composite", response_space="pixel", label_free=True, parts={"mine": part}, success="in_consensus")
