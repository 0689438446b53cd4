"""Our own recipe: 0.9 for the right click or the right refusal, 0.1 for an answer that can be read."""

from dataclasses import replace

import pytest

import grounding_rewards as gr
from grounding_rewards.parsing import AUTO

OWN = r"""
from types import SimpleNamespace
from grounding_rewards.parsing import PatternDialect
DIGITS = PatternDialect("digits", r"@(?P<x>\d+):(?P<y>\d+)")
SIGNS = PatternDialect("signs", "@(?P<x>[0-9]):(?P<y>[0-9])", signs="@")
NAMELESS = SimpleNamespace(names=("a",), find=len)
"""


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("DIGITS", r"^option dialect: .*own.py:DIGITS: dialect digits: got the pattern .* without \\d: write a set of"),
        ("SIGNS", "dialect signs: signs: got '@'; expected texts, such as"),
        ("NAMELESS", "NAMELESS is namespace.*; expected a dialect with name, names and one"),
        ("PatternDialect", "PatternDialect is <class .*; expected a dialect"),
    ],
)
def test_a_dialect_of_ones_own_is_checked_when_the_recipe_is_built(tmp_path, attribute, message):
    (tmp_path / "own.py").write_text(OWN)
    with pytest.raises(gr.RecipeError, match=message):
        gr.recipe("click", response_space="pixel", dialect=f"{tmp_path}/own.py:{attribute}")


WIDE = [10, 20, 40, 30]


LOOKING = replace(AUTO, tools=("peek",))


def test_tools_of_ones_own_dialect_stay_beside_those_that_the_caller_names():
    both = gr.recipe("click", response_space="pixel", dialect=f"{__name__}:LOOKING", tools="inspect")
    call = '{{"name": "{}_region", "arguments": {{"point": [30, 25]}}}}'
    answers = [call.format(tool) + "\n(30, 25)" for tool in ("peek", "inspect", "see")]
    assert both.score(answers, [WIDE] * 3).acc.tolist() == [1.0, 1.0, 0.0]
