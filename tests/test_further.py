"""Which recipes may look at lengths in tokens and further columns."""

from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.further import reads_further

OWN = """
import numpy as np

def own(rollouts):
    return np.zeros(len(rollouts))
"""


def composite(**part):
    return gr.recipe("composite", response_space="pixel", parts={"hit": 1, "other": {"weight": 1, **part}})


@pytest.mark.parametrize("name", ["gelato", "gta1", "gui-g2", "infigui-g1", "ui-agile", "se-gui", "ui-venus"])
def test_built_in_ones_do_not(name):
    assert not reads_further(gr.recipe(name))


@pytest.mark.parametrize("part", [{"verifier": "dast_length"}, {"verifier": "difficulty", "most": 2}])
def test_those_that_read_them_do(part):
    assert reads_further(composite(**part))
    assert not reads_further(composite(verifier="format"))


def test_ones_own_code_may(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    assert reads_further(composite(verifier=f"{tmp_path}/mine.py:own", low=0, high=1))
    lifted = gr.verifier(lambda rollouts: np.zeros(len(rollouts)), low=0, high=1)
    own = gr.recipe("composite", response_space="pixel", parts={"hit": 1}, success="hit")
    assert not reads_further(own)
    assert reads_further(replace(own, success=lifted))
